"""MNIST: the IDX format byte by byte, every way in which a file can be wrong, and the transforms of images."""

import gzip
import hashlib
import os
import re

import numpy as np
import pytest

from minitorch.data import MNIST, ArrayDataset, Compose, DataLoader, ImageDataset, Normalize, Shift
from minitorch.data import mnist as module
from minitorch.data.idx import read_idx

NAMES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(array):
    """The IDX file of an array of bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return b"\0\0\x08" + bytes([array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def refused(kind, message):
    """A context in which exactly this message is raised."""
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


# The format


def test_an_idx_file_is_read_byte_by_byte(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 10, 20, 30, 40, 50, 255]))
    assert read_idx(path, 3).tolist() == [[[10, 20, 30]], [[40, 50, 255]]]
    path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 1, 2]) + bytes(258))
    assert read_idx(path, 1).shape == (258,), "the most significant byte of a size stands first"


@pytest.mark.parametrize(
    ("content", "begins"),
    [
        (bytes([0, 0, 8, 1, 0, 0, 0, 0]), "00 00 08 01"),
        (bytes([0, 0, 9, 3]) + bytes(12), "00 00 09 03"),
        (b"<html>", "3c 68 74 6d"),
        (b"\0\0", "00 00"),
        (b"", "nothing"),
    ],
)
def test_a_file_with_another_beginning_is_refused(tmp_path, content, begins):
    path = tmp_path / "file"
    path.write_bytes(content)
    message = (
        f"{path} expected an IDX file of 3 dimensions, which begins with 00 00 08 03, got {begins}; "
        "put the right file there, or delete it to download it again"
    )
    with refused(ValueError, message):
        read_idx(path, 3)


@pytest.mark.parametrize(
    ("content", "expected", "shape"),
    [
        (idx(np.zeros((2, 3)))[:-1], 18, "(2, 3)"),
        (idx(np.zeros((2, 3))) + b"\0", 18, "(2, 3)"),
        (idx(np.zeros((2, 3)))[:9], 12, "(2, 0)"),  # within the sizes
        (bytes([0, 0, 8, 2]), 12, "(0, 0)"),
    ],
)
def test_a_file_of_another_length_is_refused(tmp_path, content, expected, shape):
    path = tmp_path / "file"
    path.write_bytes(content)
    message = (
        f"{path} expected {expected} bytes for the sizes {shape} in its header, got {len(content)}; "
        "the file is truncated or damaged: delete it to download it again, or copy it again"
    )
    with refused(ValueError, message):
        read_idx(path, 2)


# The set

IMAGES = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
LABELS = np.array([7, 0, 9])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of MNIST in a data directory of its own; nothing can be downloaded."""
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setattr(module, "MIRRORS", ())
    (tmp_path / "mnist").mkdir()
    return tmp_path / "mnist"


def write(folder, images=IMAGES, labels=LABELS):
    """Both files of the test set."""
    for name, array in zip(NAMES, (images, labels), strict=True):
        (folder / name).write_bytes(idx(array))


def test_the_test_set_needs_only_its_own_two_files(folder):
    write(folder)
    data = MNIST("test")
    assert isinstance(data, ImageDataset)
    assert (data.images.shape, data.images.dtype) == ((3, 1, 28, 28), np.float32)
    assert np.array_equal(data.images[:, 0], (IMAGES / 255).astype(np.float32))
    assert (data.labels.tolist(), data.labels.dtype) == ([7, 0, 9], np.int64)
    assert data.classes == tuple("0123456789")
    assert repr(data) == "MNIST(3 images of 1×28×28, 10 classes)"


@pytest.mark.parametrize("packed", NAMES)
def test_either_file_may_be_compressed(folder, packed):
    write(folder)
    (folder / f"{packed}.gz").write_bytes(gzip.compress((folder / packed).read_bytes()))
    (folder / packed).unlink()
    assert MNIST("test").labels.tolist() == [7, 0, 9]


def test_the_training_set_has_files_of_its_own(folder):
    write(folder)
    for name in NAMES:
        (folder / name).rename(folder / name.replace("t10k", "train"))
    assert len(MNIST()) == 3
    with pytest.raises(OSError, match=re.escape("t10k-images-idx3-ubyte.gz expected to be downloaded")):
        MNIST("test")


def test_a_split_of_another_name_is_refused():
    with refused(ValueError, 'MNIST expected split="train" or "test", got \'valid\''):
        MNIST("valid")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_there_is_named(folder, name):
    write(folder)
    (folder / name).unlink()
    message = (
        f"{folder / name}.gz expected to be downloaded, got nothing usable:\n  \n"
        "try again with a network connection, or fetch the file by other means and put it there"
    )
    with refused(OSError, message):
        MNIST("test")


def test_images_of_another_size_are_refused(folder):
    write(folder, images=np.zeros((3, 28, 27)))
    message = f"{folder / NAMES[0]} expected images of 28×28, got 28×27; put the files of MNIST there"
    with refused(ValueError, message):
        MNIST("test")


@pytest.mark.parametrize("count", [2, 4])
def test_as_many_labels_as_images_are_asked_for(folder, count):
    write(folder, labels=np.zeros(count))
    message = (
        f"{folder / NAMES[1]} expected 3 labels, one for each image of {NAMES[0]}, got {count}; "
        "the files belong to different data sets: copy both again"
    )
    with refused(ValueError, message):
        MNIST("test")


def test_a_label_that_is_no_digit_is_refused(folder):
    write(folder, labels=np.array([9, 10, 255]))
    with refused(ValueError, f"{folder / NAMES[1]} expected labels from 0 to 9, got 10 at index 1; put the file of MNIST there"):
        MNIST("test")


def test_what_is_missing_is_downloaded_and_checked(folder, monkeypatch):
    fetched = []
    monkeypatch.setattr(module, "MIRRORS", ("https://a", "https://b"))

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        path.write_bytes(gzip.compress(idx(IMAGES if "images" in path.name else LABELS)))

    monkeypatch.setattr(module, "download", download)
    assert len(MNIST("test")) == 3
    names = [f"{name}.gz" for name in NAMES]
    assert fetched == [(folder / name, [f"https://a/{name}", f"https://b/{name}"], module.HASHES[name]) for name in names]
    assert len(MNIST("test")) == 3
    assert len(fetched) == 2, "what is there is not fetched again"


@pytest.mark.skipif(not os.environ.get("MINITORCH_DATA"), reason="needs the real files: name their folder in MINITORCH_DATA")
def test_the_real_test_set_is_read():
    if not (module.data_home() / "mnist" / f"{NAMES[0]}.gz").is_file():
        pytest.skip("there is no mnist/t10k-images-idx3-ubyte.gz in MINITORCH_DATA")
    for name in NAMES:
        content = (module.data_home() / "mnist" / f"{name}.gz").read_bytes()
        assert module.HASHES[f"{name}.gz"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    data = MNIST("test")
    assert data.images.shape == (10000, 1, 28, 28)
    assert data.labels[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert np.bincount(data.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert data.images.mean() == pytest.approx(0.1325, abs=1e-4)


# Transforms


def test_a_batch_is_normalized_by_channel_or_as_a_whole():
    images = np.array([[[[1.0, 3.0]], [[10.0, 30.0]]]])  # (1, 2, 1, 2)
    generator = np.random.default_rng(0)
    assert Normalize(1, 2)(images, generator).tolist() == [[[[0, 1]], [[4.5, 14.5]]]]
    assert Normalize([1, 10], [2, 20])(images, generator).tolist() == [[[[0, 1]], [[0, 1]]]]
    assert Normalize(0.5, 0.5)(images.astype(np.float32), generator).dtype == np.float32
    assert Normalize(0.5, 0.25)(np.array([[[[0, 1]]]]), generator).tolist() == [[[[-2, 2]]]]  # of whole numbers, too


@pytest.mark.parametrize("std", [0, -1, [1, 0], float("nan")])
def test_a_standard_deviation_that_is_not_positive_is_refused(std):
    with refused(ValueError, f"Normalize expected a standard deviation std > 0, got {std}; do not normalize constant images"):
        Normalize(0, std)


def moved(image, down, right, fill):
    """The image moved point by point."""
    out = np.full_like(image, fill)
    for row, column in np.ndindex(image.shape):
        if 0 <= row + down < image.shape[0] and 0 <= column + right < image.shape[1]:
            out[row + down, column + right] = image[row, column]
    return out


def test_every_image_is_shifted_by_its_own_whole_number_of_points():
    images = np.arange(1, 400 * 2 * 3 * 4 + 1).reshape(400, 2, 3, 4) / 1
    before = images.copy()
    shifted = Shift(1, fill=-5)(images, np.random.default_rng(0))
    assert np.array_equal(images, before)
    assert shifted.shape == images.shape
    steps = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    seen = []
    for image, result in zip(images, shifted, strict=True):
        found = [step for step in steps if np.array_equal(result, [moved(channel, *step, -5) for channel in image])]
        assert len(found) == 1
        seen += found
    assert min(seen.count(step) for step in steps) > 20, "each of nine steps comes about 44 times"


def test_a_shift_by_nothing_changes_nothing():
    images = np.ones((2, 1, 3, 3), np.float32)
    assert np.array_equal(Shift(0)(images, np.random.default_rng(0)), images)


@pytest.mark.parametrize("pixels", [-1, 0.5, "1"])
def test_a_shift_that_is_no_number_of_points_is_refused(pixels):
    with refused(ValueError, f"Shift expected an integer number of pixels >= 0, got {pixels!r}; try 1"):
        Shift(pixels)


def test_transforms_follow_each_other():
    both = Compose(Normalize(1, 2), Normalize(10, 1))
    assert both(np.full((1, 1, 1, 1), 5.0), np.random.default_rng(0)).item() == -8


def test_a_loader_transforms_the_inputs_alone_and_alike_in_every_run():
    data = ArrayDataset(np.ones((6, 1, 3, 3)), np.ones(6))

    def epochs():
        loader = DataLoader(data, batch_size=4, transform=Compose(Normalize(0, 0.5), Shift(2)))
        return [[(x.to_numpy().tolist(), y.to_numpy().tolist()) for x, y in loader] for _ in range(2)]

    first, second = epochs()
    assert [y for _, y in first] == [[1] * 4, [1] * 2]
    assert {value for x, _ in first for image in x for value in np.ravel(image)} == {0, 2}
    assert first != second
    assert epochs() == [first, second]
