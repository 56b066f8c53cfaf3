"""The error for data that cannot be used."""


class DataError(ValueError):
    """A table that cannot be used. The message is one line and names the file, column and row."""
