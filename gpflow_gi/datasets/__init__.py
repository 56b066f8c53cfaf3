"""Tables of numbers and images: their sources, their splits and their standardisation.

Nothing here depends on models, and nothing imports TensorFlow.
"""

from .csv import read_csv
from .diabetes import diabetes
from .duplicates import rows_in_both
from .elevation import elevation
from .errors import DataError
from .flights import airline, flights
from .image_set import Images, as_images
from .images import IMAGE_SETS, images
from .splits import standard_split, train_test_split
from .standardiser import Standardiser
from .table import MIN_ROWS, Array, Table
from .uci import num_splits, uci, uci_table
from .uci_sets import UCI_SETS, UCISet, uci_set

__all__ = [
    "IMAGE_SETS",
    "MIN_ROWS",
    "UCI_SETS",
    "Array",
    "DataError",
    "Images",
    "Standardiser",
    "Table",
    "UCISet",
    "airline",
    "as_images",
    "diabetes",
    "elevation",
    "flights",
    "images",
    "num_splits",
    "read_csv",
    "rows_in_both",
    "standard_split",
    "train_test_split",
    "uci",
    "uci_set",
    "uci_table",
]
