"""The report of a folder of trials: tables, comparisons and figures, without TensorFlow.

:mod:`.reading` makes a frame of the records, :mod:`.statistics` the numbers, :mod:`.contents` the
contents of the report, and :mod:`.files` writes it.
"""
