"""The complete loader: what samplers and functions of one's own add, which arguments exclude each other, and going on exactly."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minitorch
from minitorch.data import (
    ArrayDataset,
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from minitorch.data.loader import DataLoader as CourseLoader

NUMBERS = ArrayDataset(np.arange(10) / 1, -np.arange(10))

SAMPLERS = {
    "random": lambda: RandomSampler(NUMBERS, replacement=True, num_samples=13, seed=3),
    "subset": lambda: SubsetRandomSampler([1, 4, 6, 8, 9], seed=3),
    "weighted": lambda: WeightedRandomSampler(range(10), 9, seed=3),
    "distributed": lambda: DistributedSampler(NUMBERS, 2, 1, seed=3),
    "list": lambda: [5, 3, 3, 8, 1],
    "array": lambda: np.array([5, 3, 3, 8]),
}


class Words(Dataset):
    """Sentences of one letter each, of any length."""

    sentences = ("a", "bb", "ccc", "dd")

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return self.sentences[index], index


def dealt(loader):
    """The numbers that come in an epoch, a list for each batch."""
    return [x.to_numpy().tolist() for x, _ in loader]


def refused(kind, message):
    """A context in which exactly this message is raised."""
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


# Beside the loader of the course


@given(st.integers(0, 12), st.integers(1, 5), st.booleans(), st.booleans(), st.integers(0, 2))
@example(count=6, size=3, shuffle=True, drop=True, seed=0)
@example(count=0, size=3, shuffle=True, drop=False, seed=0)
def test_without_its_own_arguments_it_is_the_loader_of_the_course(count, size, shuffle, drop, seed):
    data = ArrayDataset(np.arange(count) / 1, np.arange(count))

    def noisy(x, generator):
        return x + generator.random(x.shape)

    plain, complete = (kind(data, size, shuffle, seed, drop, transform=noisy) for kind in (CourseLoader, DataLoader))
    assert len(plain) == len(complete)
    for _ in range(2):
        assert dealt(plain) == dealt(complete)
        assert plain.state() == complete.state()


def test_a_state_of_the_loader_of_the_course_can_be_restored():
    plain, complete = (kind(NUMBERS, 3, shuffle=True) for kind in (CourseLoader, DataLoader))
    for _ in plain:
        break
    complete.restore(plain.state())
    assert dealt(complete) == dealt(CourseLoader(NUMBERS, 3, shuffle=True))[1:]


# Orders of one's own


def test_a_sampler_decides_the_order():
    assert dealt(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2])) == [[9, 0], [0, 5], [2]]
    assert dealt(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2], drop_last=True)) == [[9, 0], [0, 5]]
    assert len(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2])) == 3


def test_a_random_sampler_is_what_shuffling_is():
    for x, y in zip(
        dealt(DataLoader(NUMBERS, 3, shuffle=True, seed=4)),
        dealt(DataLoader(NUMBERS, 3, sampler=RandomSampler(NUMBERS, seed=4))),
        strict=True,
    ):
        assert x == y


def test_a_batch_sampler_decides_the_batches():
    loader = DataLoader(NUMBERS, batch_sampler=[[1, 2, 3], [7], [0, 9]])
    assert dealt(loader) == [[1, 2, 3], [7], [0, 9]]
    assert len(loader) == 3
    assert dealt(DataLoader(NUMBERS, batch_sampler=BatchSampler(range(5), 2, True))) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("wrap", [lambda sampler: {"sampler": sampler}, lambda sampler: {"batch_sampler": BatchSampler(sampler, 2, False)}])
def test_every_loop_names_its_epoch_to_the_sampler(wrap):
    sampler = RandomSampler(NUMBERS, seed=1)
    loader = DataLoader(NUMBERS, **wrap(sampler))
    orders = [[number for batch in dealt(loader) for number in batch] for _ in range(3)]
    for epoch, order in enumerate(orders):
        sampler.set_epoch(epoch)
        assert order == list(sampler)
    assert orders[0] != orders[1] != orders[2]


def test_loaders_of_several_processes_deal_every_example_once():
    loaders = [DataLoader(NUMBERS, 2, sampler=DistributedSampler(NUMBERS, 5, rank)) for rank in range(5)]
    for _ in range(2):
        assert sorted(number for loader in loaders for batch in dealt(loader) for number in batch) == list(range(10))


def test_an_epoch_can_be_named():
    whole, loader = (DataLoader(NUMBERS, 3, shuffle=True) for _ in range(2))
    third = [dealt(whole) for _ in range(3)][2]
    loader.set_epoch(2)
    assert (loader.state()["epoch"], loader.state()["batch"]) == (2, 0)
    assert dealt(loader) == third
    with refused(ValueError, "DataLoader.set_epoch expected the epoch >= 0, got -1; give a larger one"):
        loader.set_epoch(-1)


# Functions of one's own that put a batch together


def test_collate_fn_makes_the_batch_of_a_list_of_examples():
    seen = []

    def padded(examples):
        seen.append(examples)
        width = max(len(word) for word, _ in examples)
        return np.array([[ord(letter) for letter in word.ljust(width)] for word, _ in examples]), [word for word, _ in examples]

    (first, words), (second, _) = DataLoader(Words(), 2, collate_fn=padded)
    assert seen[0] == [("a", 0), ("bb", 1)]
    assert first.to_numpy().tolist() == [[97, 32], [98, 98]]
    assert second.shape == (2, 3)
    assert words == ["a", "bb"]


def test_arrays_in_what_collate_fn_returns_become_tensors_of_the_loader():
    made = {"x": np.zeros(2, np.float32), "more": [np.zeros(1, bool), (np.arange(3), "text")], "n": 2}
    (batch,) = DataLoader(Words(), 4, collate_fn=lambda examples: made, backend=minitorch.SimpleBackend)
    assert (batch["x"].dtype.name, batch["x"].backend) == ("float64", minitorch.SimpleBackend)
    assert batch["more"][0].dtype.name == "bool"
    assert isinstance(batch["more"][1], tuple)
    assert batch["more"][1][0].to_numpy().tolist() == [0, 1, 2]
    assert (batch["more"][1][1], batch["n"]) == ("text", 2)
    (batch,) = DataLoader(Words(), 4, collate_fn=lambda examples: np.ones(3))
    assert batch.to_numpy().tolist() == [1, 1, 1]
    tensor = minitorch.tensor([1.0])
    (batch,) = DataLoader(Words(), 4, collate_fn=lambda examples: tensor)
    assert batch is tensor


def test_collate_fn_sees_the_examples_of_an_array_data_set_too():
    (batch,) = DataLoader(NUMBERS, 10, collate_fn=lambda examples: np.array([x * y for x, y in examples]))
    assert batch.to_numpy().tolist() == [-(i * i) for i in range(10)]


@pytest.mark.parametrize("made", [lambda x: x, lambda x: (x, 7), lambda x: [x, 7]])
def test_a_transform_changes_the_first_of_what_collate_fn_returns(made):
    (batch,) = DataLoader(Words(), 4, collate_fn=lambda examples: made(np.ones(2)), transform=lambda x, generator: 3 * x)
    first = batch if isinstance(batch, minitorch.Tensor) else batch[0]
    assert first.to_numpy().tolist() == [3, 3]
    assert type(batch) in (minitorch.Tensor, type(made(0)))


@pytest.mark.parametrize(("made", "kind"), [({"x": np.ones(2)}, "dict"), (("text", np.ones(2)), "tuple"), ([], "list")])
def test_a_transform_without_an_array_is_refused(made, kind):
    message = (
        "DataLoader expected an array for its transform, or a tuple or list that begins with one, "
        f"got {kind} from collate_fn; transform the inputs there"
    )
    with refused(TypeError, message):
        list(DataLoader(Words(), 4, collate_fn=lambda examples: made, transform=lambda x, generator: x))


# Going on where a run stopped


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("done", range(8))
def test_a_restored_loader_goes_on_with_the_batch_that_follows(name, done):
    def new():
        return DataLoader(NUMBERS, 3, sampler=SAMPLERS[name](), transform=lambda x, generator: x + generator.random())

    whole = new()
    batches = [batch for _ in range(5) for batch in dealt(whole)]
    loader, seen = new(), []
    while len(seen) < done:
        for x, _ in loader:
            seen.append(x.to_numpy().tolist())
            if len(seen) == done:
                break
    resumed = new()
    resumed.restore(json.loads(json.dumps(loader.state())))
    while len(seen) < len(batches):
        seen += dealt(resumed)
    assert seen == batches


def test_a_state_is_refused_where_the_order_is_another():
    state = DataLoader(NUMBERS, sampler=RandomSampler(NUMBERS, seed=1)).state()
    message = (
        "restore expected a loader with the settings of the interrupted run, "
        "sampler='RandomSampler(examples=10, replacement=False, num_samples=10, seed=1)', "
        "got sampler='RandomSampler(examples=10, replacement=False, num_samples=10, seed=2)'; create it with those"
    )
    with refused(ValueError, message):
        DataLoader(NUMBERS, sampler=RandomSampler(NUMBERS, seed=2)).restore(state)
    with refused(ValueError, f"restore expected what DataLoader.state() returns, got {state!r}"):
        DataLoader(NUMBERS).restore(state)


# What is given wrongly


@pytest.mark.parametrize(
    ("others", "names"),
    [
        ({"batch_size": 2}, "batch_size"),
        ({"shuffle": True}, "shuffle"),
        ({"sampler": [0]}, "sampler"),
        ({"drop_last": True}, "drop_last"),
        ({"batch_size": 2, "drop_last": True}, "batch_size and drop_last"),
    ],
)
def test_a_batch_sampler_excludes_what_else_would_make_batches(others, names):
    message = f"DataLoader expected batch_sampler alone to make the batches, got {names} too; give one or the other"
    with refused(ValueError, message):
        DataLoader(NUMBERS, batch_sampler=[[0]], **others)


def test_a_sampler_excludes_shuffling():
    message = "DataLoader expected sampler or shuffle=True, got both; the sampler decides the order: leave out shuffle"
    with refused(ValueError, message):
        DataLoader(NUMBERS, shuffle=True, sampler=[0])


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
@pytest.mark.parametrize(("given", "kind"), [(iter([0]), "list_iterator"), (3, "int")])
def test_what_can_be_looped_over_only_once_is_no_sampler(name, given, kind):
    message = f"DataLoader expected a {name} that can be looped over in every epoch, got {kind}; give a Sampler or a list"
    with refused(TypeError, message):
        DataLoader(NUMBERS, **{name: given})


@pytest.mark.parametrize("number", [-1, 10])
def test_a_number_that_the_data_set_does_not_have_is_refused(number):
    message = f"DataLoader expected numbers from 0 to 9 from its sampler, got {number}; make it for this data set"
    with refused(IndexError, message):
        list(DataLoader(NUMBERS, 3, sampler=[0, number]))


def test_the_batches_before_a_number_that_is_none_are_dealt():
    given = []
    with pytest.raises(IndexError):
        given += (x.to_numpy().tolist() for x, _ in DataLoader(NUMBERS, 2, sampler=[0, 1, 2, 3, 10]))
    assert given == [[0, 1], [2, 3]]


@pytest.mark.parametrize("chosen", [[True, False], [0.5], ["a"], [], [[0, 1]]])
def test_what_are_no_numbers_are_refused(chosen):
    message = f"DataLoader expected a list of integers from its sampler, got {chosen!r}; give numbers of examples"
    with refused(TypeError, message):
        list(DataLoader(NUMBERS, batch_sampler=[chosen]))


def test_what_excludes_what_is_as_in_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    choices = {"batch_size": 2, "shuffle": True, "sampler": [1, 0], "batch_sampler": [[0, 1], [2]], "drop_last": True}
    for chosen in itertools.product([False, True], repeat=len(choices)):
        arguments = {name: value for (name, value), is_chosen in zip(choices.items(), chosen, strict=True) if is_chosen}
        found = []
        for loader, data in ((DataLoader, NUMBERS), (torch.utils.data.DataLoader, range(10))):
            try:
                found.append(len(loader(data, **arguments)))
            except ValueError:
                found.append("refused")
        assert found[0] == found[1], arguments
