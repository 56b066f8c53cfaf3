"""Readers for the published formats of image sets: bytes to arrays. Nothing runs a pickle."""

import gzip
import tarfile
import zlib
from hashlib import sha256
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]

CIFAR_TRAIN = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
CIFAR_TEST = ("test_batch.bin",)


def read_mnist(content: bytes) -> tuple[tuple[Pixels, Labels], tuple[Pixels, Labels]]:
    """Read Keras' mnist.npz: training images [N, 28, 28, 1] and labels [N], and those for testing.

    :param content: the bytes of the file.
    """
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        train, test = (
            (arrays[f"x_{part}"][..., None], arrays[f"y_{part}"].astype(np.int64))
            for part in ("train", "test")
        )
    return train, test


def hash_of_mnist(content: bytes) -> str | None:
    """SHA-256 of the bytes of x_train, x_test, y_train and y_test, one after the other.

    It is the same for every way to pack the arrays into a file.

    :param content: the bytes of the file.
    :return: 64 hexadecimal digits; None if the file does not hold these arrays of bytes.
    """
    hashed = sha256()
    try:
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            for name in ("x_train", "x_test", "y_train", "y_test"):
                array = arrays[name]
                if array.dtype != np.uint8:
                    return None
                hashed.update(array.tobytes())
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None
    return hashed.hexdigest()


def read_cifar10(content: bytes) -> tuple[tuple[Pixels, Labels], tuple[Pixels, Labels]]:
    """Read cifar-10-binary.tar.gz: images [N, 32, 32, 3] and labels [N], for training and testing.

    A record is a byte for the label and 1024 for each of red, green and blue, row by row.

    :param content: the bytes of the file.
    """
    # Read at once, since members may be in another order than they are read here.
    with tarfile.open(fileobj=BytesIO(gzip.decompress(content))) as archive:

        def read(files: tuple[str, ...]) -> tuple[Pixels, Labels]:
            members = [archive.extractfile(f"cifar-10-batches-bin/{file}") for file in files]
            content = b"".join(member.read() for member in members if member is not None)
            records = np.frombuffer(content, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
            planes = records[:, 1:].reshape(-1, 3, 32, 32)
            return planes.transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)

        return read(CIFAR_TRAIN), read(CIFAR_TEST)


def read_svhn(content: bytes) -> tuple[Pixels, Labels]:
    """Read a file of SVHN's cropped digits: images [N, 32, 32, 3] and labels [N].

    :param content: the bytes of train_32x32.mat or test_32x32.mat.
    """
    from scipy.io import loadmat

    arrays = loadmat(BytesIO(content), variable_names=("X", "y"))
    labels = arrays["y"].astype(np.int64).ravel()
    # The digit 0 has the label 10.
    return arrays["X"].transpose(3, 0, 1, 2), labels % 10
