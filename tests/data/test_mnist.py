"""MNIST and Fashion-MNIST: the IDX format byte by byte, and every way in which a file can be wrong."""

import gzip
import hashlib
import os

import numpy as np
import pytest

from minitorch.data import ImageDataset, fashion, load_fashion_mnist, load_mnist, mnist
from minitorch.data.idx import read_idx
from tests.errors import raises

NAMES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(array):
    """The IDX file of an array of bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return b"\0\0\x08" + bytes([array.ndim]) + sizes + array.astype(np.uint8).tobytes()


# The format


def test_an_idx_file_is_read_byte_by_byte(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 10, 20, 30, 40, 50, 255]))
    assert read_idx(path, 3).tolist() == [[[10, 20, 30]], [[40, 50, 255]]]
    path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 1, 2]) + bytes(258))
    assert read_idx(path, 1).shape == (258,), "the most significant byte of a size stands first"


BEGINNING = (
    "expected an IDX file of 3 dimensions, which begins with 00 00 08 03, got {}; "
    "put the right file there, or delete it to download it again"
)
LENGTH = (
    "expected {} bytes for the sizes {} in its header, got {}; "
    "the file is truncated or damaged: delete it to download it again, or copy it again"
)


@pytest.mark.parametrize(
    ("content", "dimensions", "message"),
    [
        (bytes([0, 0, 8, 1, 0, 0, 0, 0]), 3, BEGINNING.format("00 00 08 01")),
        (bytes([0, 0, 9, 3]) + bytes(12), 3, BEGINNING.format("00 00 09 03")),
        (b"<html>", 3, BEGINNING.format("3c 68 74 6d")),
        (b"\0\0", 3, BEGINNING.format("00 00")),
        (b"", 3, BEGINNING.format("nothing")),
        (idx(np.zeros((2, 3)))[:-1], 2, LENGTH.format(18, "(2, 3)", 17)),
        (idx(np.zeros((2, 3))) + b"\0", 2, LENGTH.format(18, "(2, 3)", 19)),
        (idx(np.zeros((2, 3)))[:9], 2, LENGTH.format(12, "(2, 0)", 9)),  # within the sizes
        (bytes([0, 0, 8, 2]), 2, LENGTH.format(12, "(0, 0)", 4)),
    ],
)
def test_a_file_with_another_beginning_or_length_is_refused(tmp_path, content, dimensions, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with raises(ValueError, f"{path} {message}"):
        read_idx(path, dimensions)


# The sets

IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
LABELS = np.array([7, 0, 9])


@pytest.fixture(params=[(load_mnist, mnist, "mnist"), (load_fashion_mnist, fashion, "fashion-mnist")], ids=["digits", "clothes"])
def of(request, tmp_path, monkeypatch):
    """What reads a set, its module and its folder in a data directory of its own, with the files of the test set; no downloads."""
    load, module, name = request.param
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setattr(module, "MIRRORS", ())
    (tmp_path / name).mkdir()
    write(tmp_path / name)
    return load, module, tmp_path / name


def write(folder, images=IMAGES, labels=LABELS):
    """Both files of the test set."""
    for name, array in zip(NAMES, (images, labels), strict=True):
        (folder / name).write_bytes(idx(array))


def test_the_test_set_needs_only_its_own_two_files(of):
    data = of[0]("test")
    assert isinstance(data, ImageDataset)
    assert (data.images.shape, data.images.dtype) == ((3, 1, 28, 28), np.float32)
    assert np.array_equal(data.images[:, 0], (IMAGES / 255).astype(np.float32))
    assert (data.labels.tolist(), data.labels.dtype) == ([7, 0, 9], np.int64)
    assert repr(data) == "ImageDataset(3 images of 1×28×28, 10 classes)"
    clothes = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
    assert data.classes == (tuple("0123456789") if of[1] is mnist else clothes)


@pytest.mark.parametrize("packed", NAMES)
def test_either_file_may_be_compressed(of, packed):
    load, _, folder = of
    (folder / f"{packed}.gz").write_bytes(gzip.compress((folder / packed).read_bytes()))
    (folder / packed).unlink()
    assert load("test").labels.tolist() == [7, 0, 9]


def unavailable(path):
    """What is said of a file that is not there."""
    remedy = "try again with a network connection, or fetch the file by other means and put it there"
    return f"{path}.gz expected to be downloaded, got nothing usable:\n  \n{remedy}"


def test_the_training_set_has_files_of_its_own(of):
    load, _, folder = of
    for name in NAMES:
        (folder / name).rename(folder / name.replace("t10k", "train"))
    assert len(load()) == 3
    with raises(OSError, unavailable(folder / NAMES[0])):
        load("test")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_there_is_named(of, name):
    load, _, folder = of
    (folder / name).unlink()
    with raises(OSError, unavailable(folder / name)):
        load("test")


def test_a_split_of_another_name_is_refused(of):
    with raises(ValueError, 'split expected "train" or "test", got \'valid\''):
        of[0]("valid")


OTHERS = f"expected 3 labels, one for each image of {NAMES[0]}, got {{}}; the files belong to different data sets: copy both again"


@pytest.mark.parametrize(
    ("changed", "file", "message"),
    [
        ({"images": np.zeros((3, 28, 27))}, 0, "expected images of 28×28, got 28×27; put the files of {name} there"),
        ({"images": np.zeros((3, 27, 28))}, 0, "expected images of 28×28, got 27×28; put the files of {name} there"),
        ({"labels": np.zeros(2)}, 1, OTHERS.format(2)),
        ({"labels": np.zeros(4)}, 1, OTHERS.format(4)),
        ({"labels": np.array([9, 10, 255])}, 1, "expected labels from 0 to 9, got 10 at index 1; put the files of {name} there"),
    ],
    ids=["narrow images", "low images", "too few labels", "too many labels", "a label of no class"],
)
def test_files_that_do_not_fit_are_refused(of, changed, file, message):
    load, module, folder = of
    write(folder, **changed)
    with raises(ValueError, f"{folder / NAMES[file]} {message.format(name='MNIST' if module is mnist else 'Fashion-MNIST')}"):
        load("test")


def test_a_damaged_file_is_refused_by_name(of):
    load, _, folder = of
    (folder / NAMES[1]).write_bytes(idx(LABELS)[:-1])
    with raises(ValueError, f"{folder / NAMES[1]} {LENGTH.format(11, '(3,)', 10)}"):
        load("test")


@pytest.mark.parametrize("of", [(load_fashion_mnist, fashion, "fashion-mnist")], ids=["clothes"], indirect=True)
def test_the_digits_of_mnist_are_not_taken_for_clothes(of):
    digits = np.repeat(np.arange(10), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])  # as often as in the test set
    write(of[2], np.zeros((10_000, 28, 28)), digits)
    message = (
        f"{of[2] / NAMES[1]} expected 1000 labels of each class, got 980 of class 0, as another set has it, such as MNIST; "
        "put the files of Fashion-MNIST there"
    )
    with raises(ValueError, message):
        load_fashion_mnist("test")
    write(of[2], np.zeros((10_000, 28, 28)), np.arange(10_000) % 10)
    assert len(load_fashion_mnist("test")) == 10_000


def test_what_is_missing_is_downloaded_and_checked(of, monkeypatch):
    (load, module, folder), fetched = of, []
    monkeypatch.setattr(module, "MIRRORS", ("https://a", "https://b"))
    for name in NAMES:
        (folder / name).unlink()

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        path.write_bytes(gzip.compress(idx(IMAGES if "images" in path.name else LABELS)))

    monkeypatch.setattr(mnist, "download", download)
    assert len(load("test")) == 3
    names = [f"{name}.gz" for name in NAMES]
    assert fetched == [(folder / name, [f"https://a/{name}", f"https://b/{name}"], module.HASHES[name]) for name in names]
    assert len(load("test")) == 3
    assert len(fetched) == 2, "what is there is not fetched again"


@pytest.mark.skipif(not os.environ.get("MINITORCH_DATA"), reason="needs the real files: name their folder in MINITORCH_DATA")
@pytest.mark.parametrize(("load", "module", "name"), [(load_mnist, mnist, "mnist"), (load_fashion_mnist, fashion, "fashion-mnist")])
def test_the_real_test_set_is_read(load, module, name):
    folder = module.data_home() / name
    if not (folder / f"{NAMES[0]}.gz").is_file():
        pytest.skip(f"there is no {name}/t10k-images-idx3-ubyte.gz in MINITORCH_DATA")
    for each in NAMES:
        content = (folder / f"{each}.gz").read_bytes()
        assert module.HASHES[f"{each}.gz"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    data = load("test")
    assert data.images.shape == (10000, 1, 28, 28)
    if module is fashion:
        assert data.labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
        return
    assert data.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert np.bincount(data.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.images.mean() == pytest.approx(0.1325, abs=1e-4)
