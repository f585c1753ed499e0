"""The complete loader: what samplers and functions of one's own add, which arguments exclude each other, and going on exactly."""

import itertools
import json

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch.data import (
    ArrayDataset,
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from minitorch.data.loader import DataLoader as CourseLoader
from tests.data.test_loader import Words, dealt
from tests.errors import raises
from tests.nn.checks import refuses

NUMBERS = ArrayDataset(np.arange(10) / 1, -np.arange(10))

SAMPLERS = {
    "random": lambda: RandomSampler(NUMBERS, replacement=True, num_samples=13, seed=3),
    "subset": lambda: SubsetRandomSampler([1, 4, 6, 8, 9], seed=3),
    "weighted": lambda: WeightedRandomSampler(range(10), 9, seed=3),
    "distributed": lambda: DistributedSampler(NUMBERS, 2, 1, seed=3),
    "list": lambda: [5, 3, 3, 8, 1],
    "array": lambda: np.array([5, 3, 3, 8]),
}


WORDS = Words(("a", 0), ("bb", 1), ("ccc", 2), ("dd", 3))
"""Sentences of one letter each, of any length."""

# Beside the loader of the course


@pytest.mark.parametrize("shuffle", [False, True])
def test_it_goes_on_where_the_loader_of_the_course_stopped(shuffle):
    def noisy(x, generator):
        return x + generator.random(x.shape)

    plain, complete, whole = (kind(NUMBERS, 3, shuffle, seed=2, transform=noisy) for kind in (CourseLoader, DataLoader, CourseLoader))
    for _ in plain:
        break
    assert len(complete) == len(plain)
    complete.restore(plain.state())
    assert complete.state() == plain.state()
    assert dealt(complete) + dealt(complete) == dealt(whole)[1:] + dealt(whole)


# PyTorch's loader


def test_it_is_the_loader_of_both_packages():
    for name in ("DataLoader", "default_collate", "default_convert"):
        assert getattr(torch.utils.data, name) is getattr(torch.utils.data.dataloader, name) is getattr(minitorch.data, name)


def test_examples_become_tensors_of_pytorch_unless_an_argument_of_the_course_is_given():
    data = Words((np.float32(1.5), 2), (np.float32(2.5), 3))
    (batch,) = DataLoader(data, 2)
    assert type(batch) is list
    assert [(type(part), part.dtype.name, part.tolist()) for part in batch] == [
        (torch.Tensor, "float32", [1.5, 2.5]),
        (torch.Tensor, "int64", [2, 3]),
    ]
    for given in ({"dtype": "float64"}, {"backend": minitorch.SimpleBackend}, {"transform": lambda x, generator: x}):
        (batch,) = DataLoader(data, 2, **given)
        assert type(batch) is tuple
        assert [(type(part), part.dtype.name) for part in batch] == [(minitorch.Tensor, "float64"), (minitorch.Tensor, "int64")]


def test_tensors_keep_their_class():
    for make in (minitorch.tensor, torch.tensor):
        x = make([[1.0, 2.0], [3.0, 4.0]])
        for data in (TensorDataset(x), Words((x[0],), (x[1],))):
            ((batch,),) = DataLoader(data, 2)
            assert type(batch) is type(x)
            assert batch.to_numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, {"num_workers": 1, "prefetch_factor": 4}, {"prefetch": 3}])
def test_the_order_of_a_generator_does_not_depend_on_the_thread(workers):
    def epochs(**options):
        loader = DataLoader(NUMBERS, 3, shuffle=True, generator=torch.Generator().manual_seed(3), **options)
        return [dealt(loader) for _ in range(2)]

    assert epochs(**workers) == epochs()
    assert epochs()[0] != epochs()[1]
    minitorch.manual_seed(5)
    expected = [dealt(DataLoader(NUMBERS, 3, shuffle=True)), minitorch.rand((1,)).item()]
    minitorch.manual_seed(5)
    loop = iter(DataLoader(NUMBERS, 3, shuffle=True, **workers))
    first = next(loop)
    drawn = minitorch.rand((1,)).item()  # while the thread works
    assert [[x.to_numpy().tolist() for x, _ in [first, *loop]], drawn] == expected


def test_the_thread_is_prepared_by_worker_init_fn():
    called = []
    loader = DataLoader(NUMBERS, 5, num_workers=2, worker_init_fn=called.append)
    assert len(list(loader)) == 2
    assert called == [0]


def test_single_examples_are_dealt_without_batches():
    loader = DataLoader(Words(np.ones(2), {"x": np.zeros(1), "y": "text"}, (np.zeros(3), 5)), batch_size=None)
    array, mapping, pair = loader
    assert (len(loader), loader.batch_size, type(array), array.tolist()) == (3, None, torch.Tensor, [1, 1])
    assert (mapping["x"].tolist(), mapping["y"], pair[0].shape, pair[1]) == ([0], "text", (3,), 5)
    data = ArrayDataset(np.ones((3, 2), np.float32), np.arange(3))
    x, y = next(iter(DataLoader(data, batch_size=None, sampler=[2, 1])))
    assert (type(x), x.dtype.name, x.to_numpy().tolist(), y) == (minitorch.Tensor, "float64", [1, 1], 2)


class Count(IterableDataset):
    """A stream of 0 to 6 that counts what is read."""

    read = 0

    def __len__(self):
        return 7

    def __iter__(self):
        for number in range(7):
            self.read += 1
            yield float(number)


def test_a_stream_is_read_no_further_than_its_batch():
    data = Count()
    loader = DataLoader(data, 2)
    assert next(iter(loader)).tolist() == [0, 1]
    assert data.read == 2
    assert len(loader) == 4
    assert [x.tolist() for x in DataLoader(Count(), 2, drop_last=True, prefetch=3)] == [[0, 1], [2, 3], [4, 5]]
    assert len(DataLoader(Count(), 2, drop_last=True)) == 3
    assert [x.item() for (x,) in DataLoader(Count(), dtype="float32")] == list(range(7))
    assert list(DataLoader(Count(), batch_size=None)) == list(range(7))


def test_keys_of_any_kind_are_passed_on_to_the_data_set():
    assert [x.tolist() for x in DataLoader({"a": 1, "b": 2}, 2, sampler=["b", "a", "a"])] == [[2, 1], [1]]  # a dictionary has both methods


# Orders of one's own


def test_a_sampler_decides_the_order():
    assert dealt(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2])) == [[9, 0], [0, 5], [2]]
    assert dealt(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2], drop_last=True)) == [[9, 0], [0, 5]]
    assert len(DataLoader(NUMBERS, 2, sampler=[9, 0, 0, 5, 2])) == 3


def test_a_random_sampler_is_what_shuffling_is():
    shuffled = DataLoader(NUMBERS, 3, shuffle=True, seed=4)
    assert dealt(shuffled) == dealt(DataLoader(NUMBERS, 3, sampler=RandomSampler(NUMBERS, seed=4)))


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
    whole, loader = (DataLoader(NUMBERS, 3, shuffle=True, seed=0) for _ in range(2))
    third = [dealt(whole) for _ in range(3)][2]
    loader.set_epoch(2)
    assert (loader.state()["epoch"], loader.state()["batch"]) == (2, 0)
    assert dealt(loader) == third
    with raises(ValueError, "DataLoader.set_epoch expected the epoch >= 0, got -1; give a larger one"):
        loader.set_epoch(-1)


# Functions of one's own that put a batch together


def test_collate_fn_makes_the_batch_of_a_list_of_examples():
    seen = []

    def padded(examples):
        seen.append(examples)
        width = max(len(word) for word, _ in examples)
        return np.array([[ord(letter) for letter in word.ljust(width)] for word, _ in examples]), [word for word, _ in examples]

    (first, words), (second, _) = DataLoader(WORDS, 2, collate_fn=padded, dtype="float64")
    assert seen[0] == [("a", 0), ("bb", 1)]
    assert first.to_numpy().tolist() == [[97, 32], [98, 98]]
    assert second.shape == (2, 3)
    assert words == ["a", "bb"]


def test_arrays_in_what_collate_fn_returns_become_tensors_of_the_loader():
    made = {"x": np.zeros(2, np.float32), "more": [np.zeros(1, bool), (np.arange(3), "text")], "n": 2}
    (batch,) = DataLoader(WORDS, 4, collate_fn=lambda examples: made, backend=minitorch.SimpleBackend)
    assert (batch["x"].dtype.name, batch["x"].backend) == ("float64", minitorch.SimpleBackend)
    assert batch["more"][0].dtype.name == "bool"
    assert isinstance(batch["more"][1], tuple)
    assert batch["more"][1][0].to_numpy().tolist() == [0, 1, 2]
    assert (batch["more"][1][1], batch["n"]) == ("text", 2)
    (batch,) = DataLoader(WORDS, 4, collate_fn=lambda examples: np.ones(3))
    assert isinstance(batch, np.ndarray), "without an argument of the course, what collate_fn returns stays as it is"
    tensor = minitorch.tensor([1.0])
    (batch,) = DataLoader(WORDS, 4, collate_fn=lambda examples: tensor)
    assert batch is tensor


def test_collate_fn_sees_the_examples_of_an_array_data_set_too():
    (batch,) = DataLoader(NUMBERS, 10, collate_fn=lambda examples: np.array([x * y for x, y in examples]), dtype="float32")
    assert batch.to_numpy().tolist() == [-(i * i) for i in range(10)]


@pytest.mark.parametrize("made", [lambda x: x, lambda x: (x, 7), lambda x: [x, 7]])
def test_a_transform_changes_the_first_of_what_collate_fn_returns(made):
    (batch,) = DataLoader(WORDS, 4, collate_fn=lambda examples: made(np.ones(2)), transform=lambda x, generator: 3 * x)
    first = batch if isinstance(batch, minitorch.Tensor) else batch[0]
    assert first.to_numpy().tolist() == [3, 3]
    assert type(batch) in (minitorch.Tensor, type(made(0)))


@pytest.mark.parametrize(("made", "kind"), [({"x": np.ones(2)}, "dict"), (("text", np.ones(2)), "tuple"), ([], "list")])
def test_a_transform_without_an_array_is_refused(made, kind):
    message = (
        "DataLoader expected an array for its transform, or a tuple or list that begins with one, "
        f"got {kind} from collate_fn; transform the inputs there"
    )
    with raises(TypeError, message):
        list(DataLoader(WORDS, 4, collate_fn=lambda examples: made, transform=lambda x, generator: x))


# Going on where a run stopped


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("done", range(8))
def test_a_restored_loader_goes_on_with_the_batch_that_follows(name, done):
    def new():
        return DataLoader(NUMBERS, 3, sampler=SAMPLERS[name](), seed=0, transform=lambda x, generator: x + generator.random())

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
    refuses(ValueError, message, DataLoader(NUMBERS, sampler=RandomSampler(NUMBERS, seed=2)).restore, state)
    refuses(ValueError, f"restore expected what DataLoader.state() returns, got {state!r}", DataLoader(NUMBERS).restore, state)


@pytest.mark.parametrize("order", [{"sampler": RandomSampler(NUMBERS)}, {"batch_sampler": BatchSampler(RandomSampler(NUMBERS), 2, False)}])
def test_an_order_without_a_seed_has_no_state(order):
    message = "the state of a DataLoader expected an order with a seed, got a RandomSampler without one; pass seed=0"
    refuses(ValueError, message, DataLoader(NUMBERS, **order).state)
    message = "the state of a DataLoader expected a seed for its transform, got none; pass seed=0"
    refuses(ValueError, message, DataLoader(NUMBERS, transform=lambda x, generator: x).state)


def test_a_transform_without_a_seed_draws_from_the_generator():
    def drawn():
        loader = DataLoader(NUMBERS, 5, generator=torch.Generator().manual_seed(1), transform=lambda x, generator: x + generator.random())
        return [dealt(loader) for _ in range(2)]

    first, second = drawn()
    assert drawn() == [first, second]
    assert first != second


# What is given wrongly


ALONE = "batch_sampler alone to make the batches, got {} too; give one or the other"
ONCE = "a {} that can be looped over in every epoch, got {}; give a Sampler or a list"


@pytest.mark.parametrize(
    ("error", "settings", "message"),
    [
        (ValueError, {"batch_sampler": [[0]], "batch_size": 2}, ALONE.format("batch_size")),
        (ValueError, {"batch_sampler": [[0]], "shuffle": True}, ALONE.format("shuffle")),
        (ValueError, {"batch_sampler": [[0]], "sampler": [0]}, ALONE.format("sampler")),
        (ValueError, {"batch_sampler": [[0]], "drop_last": True}, ALONE.format("drop_last")),
        (ValueError, {"batch_sampler": [[0]], "batch_size": 2, "drop_last": True}, ALONE.format("batch_size and drop_last")),
        (
            ValueError,
            {"shuffle": True, "sampler": [0]},
            "sampler or shuffle=True, got both; the sampler decides the order: leave out shuffle",
        ),
        (ValueError, {"generator": torch.Generator(), "seed": 0}, "generator or seed, got both; leave one out"),
        (ValueError, {"batch_size": None, "drop_last": True}, "drop_last=False without batches, got True; name a batch_size"),
        (ValueError, {"num_workers": -1}, "num_workers >= 0, got -1; give a larger one"),
        (ValueError, {"prefetch_factor": 2}, "num_workers above 0 for a prefetch_factor, got 0"),
        *[(TypeError, {name: iter([0])}, ONCE.format(name, "list_iterator")) for name in ("sampler", "batch_sampler")],
        *[(TypeError, {name: 3}, ONCE.format(name, "int")) for name in ("sampler", "batch_sampler")],
    ],
)
def test_arguments_that_exclude_each_other_are_refused(error, settings, message):
    with raises(error, f"DataLoader expected {message}"):
        DataLoader(NUMBERS, **settings)


def test_what_a_thread_cannot_do_is_refused():
    message = "DataLoader supports timeout=0 and multiprocessing_context=None only; batches are prepared by a thread"
    for settings in ({"timeout": 1}, {"multiprocessing_context": "spawn"}):
        with raises(NotImplementedError, message):
            DataLoader(NUMBERS, **settings)
    with raises(ValueError, "DataLoader with IterableDataset expected no shuffle, sampler or batch_sampler; the stream has its own order"):
        DataLoader(Count(), shuffle=True)


NOT_THERE = "numbers from 0 to 9 from its sampler, got {}; make it for this data set"
NO_NUMBERS = "a list of integers from its sampler, got {!r}; give numbers of examples"


@pytest.mark.parametrize(
    ("error", "chosen", "message"),
    [(IndexError, [0, number], NOT_THERE.format(number)) for number in (-1, 10)]
    + [(TypeError, chosen, NO_NUMBERS.format(chosen)) for chosen in ([True, False], [0.5], ["a"], [], [[0, 1]])],
)
def test_numbers_that_the_data_set_does_not_have_are_refused(error, chosen, message):
    with raises(error, f"DataLoader expected {message}"):
        list(DataLoader(NUMBERS, batch_sampler=[chosen]))


def test_the_batches_before_a_number_that_is_none_are_dealt():
    given = []
    with pytest.raises(IndexError):
        given += (x.to_numpy().tolist() for x, _ in DataLoader(NUMBERS, 2, sampler=[0, 1, 2, 3, 10]))
    assert given == [[0, 1], [2, 3]]


def test_what_excludes_what_is_as_in_pytorch():
    pytorch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    choices = {"batch_size": 2, "shuffle": True, "sampler": [1, 0], "batch_sampler": [[0, 1], [2]], "drop_last": True}
    for chosen in itertools.product([False, True], repeat=len(choices)):
        arguments = {name: value for (name, value), is_chosen in zip(choices.items(), chosen, strict=True) if is_chosen}
        found = []
        for loader, data in ((DataLoader, NUMBERS), (pytorch.utils.data.DataLoader, range(10))):
            try:
                found.append(len(loader(data, **arguments)))
            except ValueError:
                found.append("refused")
        assert found[0] == found[1], arguments
