"""The loader: batches, orders, dtypes, and a run that goes on where it stopped."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.data import ArrayDataset, DataLoader, Dataset
from minitorch.data.loader import DataLoader as CourseLoader
from tests.errors import raises


@pytest.fixture(scope="module", autouse=True, params=[CourseLoader, DataLoader], ids=["of the course", "complete"])
def _loader(request):
    """Every test is of both loaders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "DataLoader", request.param)
        yield


def numbers(n):
    """A data set of the numbers from 0, each with its negative as a label."""
    return ArrayDataset(np.arange(n) / 1, -np.arange(n))


def dealt(loader):
    """The numbers that come in an epoch, a list for each batch."""
    return [x.to_numpy().tolist() for x, _ in loader]


def flat(batches):
    """The numbers of all batches in a row."""
    return [number for batch in batches for number in batch]


class Words(Dataset):
    """Given examples."""

    def __init__(self, *examples):
        self.examples = examples

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, index):
        return self.examples[index]


@settings(max_examples=40)
@given(st.integers(0, 12), st.integers(1, 13), st.booleans())
@example(n=5, size=2, drop=False)
@example(n=4, size=4, drop=True)
@example(n=4, size=5, drop=True)
@example(n=4, size=5, drop=False)
@example(n=0, size=1, drop=False)
def test_there_are_as_many_batches_as_len_says(n, size, drop):
    loader = DataLoader(numbers(n), batch_size=size, drop_last=drop)
    rows = list(range(n // size * size if drop else n))
    batches = [rows[at : at + size] for at in range(0, len(rows), size)]
    assert dealt(loader) == dealt(loader) == batches
    assert len(loader) == len(batches)


def test_every_epoch_and_every_seed_has_an_order_of_its_own_and_all_examples_with_their_labels():
    def epochs(seed):
        loader = DataLoader(numbers(30), batch_size=7, shuffle=True, seed=seed)
        batches = [list(loader) for _ in range(3)]
        assert all((-x.to_numpy()).tolist() == y.to_numpy().tolist() for epoch in batches for x, y in epoch)
        return [[number for x, _ in epoch for number in x.to_numpy().tolist()] for epoch in batches]

    first, other = epochs(5), epochs(6)
    assert first == epochs(5)
    assert all(sorted(epoch) == list(range(30)) for epoch in first + other)
    assert len({tuple(epoch) for epoch in [*first, *other, range(30)]}) == 7


def test_inputs_come_in_the_default_dtype_and_labels_as_they_are():
    data = ArrayDataset(np.zeros((4, 2), np.float32), np.zeros(4, np.int64), np.zeros(4, bool))
    (batch,) = DataLoader(data, batch_size=4)
    assert [x.dtype.name for x in batch] == ["float64", "int64", "bool"]
    (batch,) = DataLoader(data, batch_size=4, dtype="float32")
    assert [x.dtype.name for x in batch] == ["float32", "int64", "bool"]
    assert [x.shape for x in batch] == [(4, 2), (4,), (4,)]
    assert not any(x.requires_grad for x in batch)


def test_the_backend_is_the_compiled_one_or_the_one_that_is_named():
    ((x, y),) = DataLoader(numbers(2), batch_size=2)
    assert x.backend is y.backend is minitorch.FastBackend
    ((x, y),) = DataLoader(numbers(2), batch_size=2, backend=minitorch.SimpleBackend)
    assert x.backend is y.backend is minitorch.SimpleBackend


@pytest.mark.parametrize("shuffle", [False, True])
def test_writing_into_a_batch_leaves_the_data_as_they_are(shuffle):
    data = numbers(4)
    for batch in DataLoader(data, batch_size=4, shuffle=shuffle, backend=minitorch.SimpleBackend):
        for x in batch:
            x._tensor._storage[:] = 99
    assert data.arrays[0].tolist() == [0, 1, 2, 3]
    assert data.arrays[1].tolist() == [0, -1, -2, -3]


def test_examples_of_another_class_are_gathered_one_by_one():
    data = Words((np.array([1.0, 2.0]), 3, True), (np.array([4.0, 5.0]), 6, False), (minitorch.tensor([7.0, 8.0]), 9, True))
    first, second = DataLoader(data, batch_size=2, dtype="float64")
    assert [x.to_numpy().tolist() for x in first] == [[[1.0, 2.0], [4.0, 5.0]], [3, 6], [True, False]]
    assert [x.dtype.name for x in first] == ["float64", "int64", "bool"]
    assert [x.to_numpy().tolist() for x in second] == [[[7.0, 8.0]], [9], [True]]


def test_whole_numbers_of_any_size_are_gathered_as_int64():
    data = Words((np.uint8(255), np.array([1, 2], np.int32)), (np.uint8(0), np.array([3, 4], np.int32)))
    (batch,) = DataLoader(data, batch_size=2, dtype="float64")
    assert [x.to_numpy().tolist() for x in batch] == [[255, 0], [[1, 2], [3, 4]]]
    assert [x.dtype.name for x in batch] == ["int64", "int64"]


def test_an_example_of_one_part_needs_no_tuple():
    (batch,) = DataLoader(Words(1.5, 2.5), batch_size=2, dtype="float64")
    assert [x.to_numpy().tolist() for x in batch] == [[1.5, 2.5]]


@pytest.mark.parametrize("seed", [0, 1])
def test_no_batch_of_an_epoch_draws_what_another_or_the_order_drew(seed):
    drawn = []
    loader = DataLoader(numbers(6), batch_size=2, seed=seed, transform=lambda x, generator: drawn.append(generator.random()) or x)
    for _ in range(3):
        list(loader)
    drawn += [np.random.default_rng([seed, epoch]).random() for epoch in range(3)]  # what an epoch is shuffled by
    assert len(set(drawn)) == 12


# Going on where a run stopped


@settings(max_examples=15)
@given(st.integers(0, 11), st.booleans())
@example(done=0, shuffle=True)
@example(done=3, shuffle=True)
@example(done=4, shuffle=True)
def test_a_restored_loader_goes_on_with_the_batch_that_follows(done, shuffle):
    def new():
        return DataLoader(numbers(10), batch_size=3, shuffle=shuffle, seed=2, transform=lambda x, generator: x + generator.random())

    whole = new()
    batches = [batch for _ in range(3) for batch in dealt(whole)]

    loader, seen = new(), []
    for _ in range(3):
        if len(seen) == done:
            break
        for x, _ in loader:
            seen.append(x.to_numpy().tolist())
            if len(seen) == done:
                break
    state = json.loads(json.dumps(loader.state()))

    resumed = new()
    resumed.restore(state)
    assert resumed.state() == state
    while len(seen) < len(batches):
        seen += dealt(resumed)
    assert seen == batches


def test_a_loop_that_was_left_is_over_and_the_next_one_is_a_new_epoch():
    loader, whole = (DataLoader(numbers(10), batch_size=3, shuffle=True, seed=0) for _ in range(2))
    next(iter(loader))
    list(whole)
    assert dealt(loader) == dealt(whole)


def test_a_state_says_where_the_loader_stands():
    loader = DataLoader(numbers(5), batch_size=2, shuffle=True, seed=7)
    rest = {"examples": 5, "batch_size": 2, "shuffle": True, "seed": 7, "drop_last": False}
    assert loader.state() == {"epoch": 0, "batch": 0} | rest
    places = [(loader.state()["epoch"], loader.state()["batch"]) for _ in loader]
    assert places == [(0, 1), (0, 2), (1, 0)]


def test_a_state_of_other_settings_is_refused():
    state = DataLoader(numbers(5), batch_size=2, shuffle=True, seed=7).state()
    message = (
        "restore expected a loader with the settings of the interrupted run, batch_size=2, seed=7, "
        "got batch_size=3, seed=8; create it with those"
    )
    with raises(ValueError, message):
        DataLoader(numbers(5), batch_size=3, shuffle=True, seed=8).restore(state)


@pytest.mark.parametrize("state", [None, {}, {"epoch": 1, "batch": 0}])
def test_what_is_no_state_is_refused(state):
    with raises(ValueError, f"restore expected what DataLoader.state() returns, got {state!r}"):
        DataLoader(numbers(5)).restore(state)


# What cannot be dealt


@pytest.mark.parametrize(
    ("error", "wrong", "message"),
    [
        (ValueError, {"batch_size": 0}, "batch_size >= 1, got 0"),
        (ValueError, {"batch_size": -1}, "batch_size >= 1, got -1"),
        (TypeError, {"batch_size": 1.5}, "a whole number as batch_size, got 1.5"),
        (TypeError, {"seed": 1.5}, "a whole number as seed, got 1.5"),
        (TypeError, {"dtype": "int64"}, "a dtype of float64 or float32 for the inputs, got int64"),
    ],
)
def test_wrong_settings_are_refused(error, wrong, message):
    with raises(error, f"DataLoader expected {message}"):
        DataLoader(numbers(5), **wrong)


@pytest.mark.parametrize(
    ("examples", "kind", "message"),
    [
        (("good", "bad"), TypeError, "DataLoader expected examples of numbers, got <U4; convert words with Vocabulary.encode"),
        ((np.zeros(2), np.zeros(3)), ValueError, "DataLoader expected examples of one shape, got (2,) and (3,); pad them"),
        (((1, 2), (1,)), ValueError, "DataLoader expected examples with the same number of parts, got [1, 2]"),
    ],
)
def test_examples_that_make_no_tensor_are_refused(examples, kind, message):
    with raises(kind, message):
        list(DataLoader(Words(*examples), batch_size=2, dtype="float64"))
