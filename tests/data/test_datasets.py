"""Data sets: counting, looking up, parting; and the digits that come with the package."""

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest

import minitorch
from course.manifest import ROOT
from minitorch.data import ArrayDataset, Dataset, Digits, ImageDataset, TextDataset
from tests.data.test_combined import Squares
from tests.errors import raises

LETTERS = "abcde"


def test_an_array_data_set_has_an_example_for_each_row():
    x, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([7, 8, 9])
    data = ArrayDataset(x, y)
    assert len(data) == 3
    row, label = data[1]
    assert row.tolist() == [3.0, 4.0]
    assert (label, type(label)) == (8, int)
    assert (data[-1][1], data[-3][1]) == (9, 7)
    assert data[np.int64(2)][1] == 9
    assert [label for _, label in data] == [7, 8, 9]


def test_a_slice_of_a_data_set_is_one():
    data = ArrayDataset(np.arange(10))
    assert isinstance(data[2:8:3], ArrayDataset)
    assert data[2:8:3].arrays[0].tolist() == [2, 5]
    assert data[::-1].arrays[0].tolist() == list(range(9, -1, -1))
    assert len(data[20:]) == 0
    part = Squares(0, 10).subset([9, 4, 7, 2])[1::2]
    assert [part[i] for i in range(len(part))] == [(4, 16), (2, 4)]


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (ArrayDataset(np.arange(5) * 10, np.arange(5)), lambda i: (i * 10, i)),
        (Squares(0, 10), lambda i: (i, i * i)),
        (TextDataset(LETTERS, range(5), LETTERS), lambda i: (LETTERS[i], i)),
    ],
    ids=["arrays", "own class", "text"],
)
def test_a_subset_has_the_examples_of_these_numbers_in_this_order(data, row):
    chosen = data.subset([3, 0, -1, 3])
    last = len(data) - 1
    assert [chosen[i] for i in range(len(chosen))] == [row(3), row(0), row(last), row(3)]
    assert [chosen.subset([2, 1])[i] for i in range(2)] == [row(last), row(0)]
    assert len(data.subset([])) == 0


def test_a_subset_does_not_share_memory():
    x = np.zeros(4)
    part = ArrayDataset(x)[:2]
    part.arrays[0][:] = 1
    assert x.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("data", [ArrayDataset(np.arange(10), np.arange(10) ** 2), Squares(0, 10)], ids=["arrays", "own class"])
def test_a_split_parts_the_examples_by_chance_and_loses_none(data):
    a, b = data.split(0.8, seed=1)
    numbers = [a[i][0] for i in range(len(a))] + [b[i][0] for i in range(len(b))]
    assert (len(a), len(b)) == (8, 2)
    assert numbers != sorted(numbers)
    assert sorted(numbers) == list(range(10))
    again, other = data.split(0.8, seed=1)[0], data.split(0.8, seed=2)[0]
    assert [again[i] for i in range(8)] == [a[i] for i in range(8)]
    assert [other[i] for i in range(8)] != [a[i] for i in range(8)]


def test_a_split_rounds_to_the_nearest_number():
    assert [len(part) for part in Squares(0, 10).split(0.26)] == [3, 7]
    assert [len(part) for part in Squares(0, 10).split(0.94)] == [9, 1]


THREE = ArrayDataset(np.zeros(3))
SPLIT = "split expected a fraction that leaves examples on both sides, got {} of 10; try 0.8"
OUTSIDE = "ArrayDataset has 3 examples, got the index {}; use 0 to 2"
NO_INDEX = "a data set expected an integer or a slice, got {!r}; for a list, call subset(list)"
NO_LIST = "subset expected a list of integers, got {!r}; for a mask, pass np.flatnonzero(mask)"
LENGTHS = "ArrayDataset expected arrays of equal length, one row per example, got shapes {}"
DTYPE = "ArrayDataset expected arrays of a dtype that tensors support, got {}; convert it: array.astype(…)"
LABELS = "TextDataset expected a label for each of 2 sentences, got shape (1,)"


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [
        *[(ValueError, lambda x=x: Squares(0, 10).split(x), SPLIT.format(x)) for x in (0, 0.04, 0.96, 1, -0.5, 1.5, float("nan"))],
        *[(IndexError, lambda index=index: THREE[index], OUTSIDE.format(index)) for index in (3, -4)],
        *[(IndexError, lambda index=index: THREE.subset([0, index]), OUTSIDE.format(index)) for index in (3, -4)],
        *[(TypeError, lambda index=index: THREE[index], NO_INDEX.format(index)) for index in ("1", 1.0, None, [1, 2])],
        *[(TypeError, lambda n=n: Squares(0, 10).subset(n), NO_LIST.format(n)) for n in ([0.5], [True, False], [[0]], 1, "ab")],
        (ValueError, lambda: ArrayDataset(np.zeros(3), np.zeros((2, 3))), LENGTHS.format("(3,), (2, 3)")),
        (ValueError, lambda: ArrayDataset(np.float64(1)), LENGTHS.format("()")),
        (ValueError, lambda: ArrayDataset(), LENGTHS.format("none")),
        *[(TypeError, lambda x=x: ArrayDataset(np.zeros(2, x)), DTYPE.format(x)) for x in ("complex128", "<U2", "object")],
        (TypeError, lambda: len(Dataset()), "Dataset has no length; define __len__(self) in the subclass"),
        (NotImplementedError, lambda: Dataset()[0], "Dataset has no examples; define __getitem__(self, index) in the subclass"),
        (ValueError, lambda: TextDataset(["good", "bad"], [1], ["negative", "positive"]), LABELS),
    ],
)
def test_what_makes_no_data_set_or_part_is_refused(error, call, message):
    with raises(error, message):
        call()


# Digits


@pytest.fixture(scope="module")
def digits():
    return Digits()


def test_the_digits_are_the_published_ones(digits):
    assert len(digits) == 1797
    assert (digits.images.shape, digits.images.dtype) == ((1797, 1, 8, 8), np.float32)
    assert (digits.labels.shape, digits.labels.dtype) == ((1797,), np.int64)
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert digits.images.sum(dtype=np.float64) * 16 == 561718
    assert digits.labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    zero = [
        [0, 0, 5, 13, 9, 1, 0, 0],
        [0, 0, 13, 15, 10, 15, 5, 0],
        [0, 3, 15, 2, 0, 11, 8, 0],
        [0, 4, 12, 0, 0, 8, 8, 0],
        [0, 5, 8, 0, 0, 9, 8, 0],
        [0, 4, 11, 0, 1, 12, 7, 0],
        [0, 2, 14, 5, 10, 12, 0, 0],
        [0, 0, 6, 13, 10, 0, 0, 0],
    ]
    image, label = digits[0]
    assert (image[0] * 16).tolist() == zero
    assert (label, type(label)) == (0, int)


def test_parts_of_the_digits_are_images_too(digits):
    assert repr(digits) == "Digits(1797 images of 1×8×8, 10 classes)"
    train, valid = digits.split(0.8)
    assert (len(train), len(valid)) == (1438, 359)
    for part in (train, digits[:5]):
        assert isinstance(part, ImageDataset)
        assert part.classes == tuple("0123456789")
        assert len(part.images) == len(part.labels) == len(part)
    assert np.array_equal(digits[:5].images, digits.images[:5])
    assert repr(digits[:5]) == "ImageDataset(5 images of 1×8×8, 10 classes)"


def test_the_digits_come_with_their_license():
    text = (Path(minitorch.__file__).parent / "data" / "digits.txt").read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert "E. Alpaydin and C. Kaynak" in text


def test_what_is_built_from_the_package_holds_the_digits():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["minitorch.data"]
    files = [path.name for path in (ROOT / "minitorch" / "data").iterdir() if path.is_file() and path.suffix != ".py"]
    assert sorted(files) == ["digits-images.gz", "digits-labels.gz", "digits.txt"]
    assert all(any(fnmatch(name, pattern) for pattern in patterns) for name in files)


def test_the_library_loads_what_downloads_only_when_it_is_needed():
    program = "import sys, minitorch.data\nprint(sorted({'pooch', 'platformdirs', 'requests'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"
