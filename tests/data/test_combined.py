"""Data sets of tensors, several as one, streams, and one in parts."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.torch as torch
from minitorch.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    Digits,
    ImageDataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tests.errors import raises
from tests.nn.checks import refuses


class Squares(Dataset):
    """i and i², from `first` on."""

    def __init__(self, first, count):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.first + index, (self.first + index) ** 2


# Tensors


@pytest.mark.parametrize("backend", [minitorch.SimpleBackend, minitorch.FastBackend])
def test_an_example_of_tensors_is_a_tuple_of_tensors(backend):
    x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], backend=backend)
    y = minitorch.tensor([7, 8, 9], backend=backend, dtype="int64")
    data = TensorDataset(x, y)
    assert len(data) == 3
    row, label = data[1]
    assert (row.to_numpy().tolist(), label, type(label), row.backend) == ([3, 4], 8, int, backend)
    assert data[-1][1] == 9
    assert data.tensors[0] is x
    rows, labels = data[::2]
    assert (rows.to_numpy().tolist(), labels.to_numpy().tolist(), rows.backend) == ([[1, 2], [5, 6]], [7, 9], backend)


def test_examples_of_pytorch_s_tensors_are_its_tensors():
    row, label = TensorDataset(torch.ones(2, 3), torch.arange(2))[1]
    assert isinstance(label, torch.Tensor)
    assert (row.shape, label.shape, label.item()) == ((3,), (), 1)


def test_tensors_are_dealt_in_batches():
    data = TensorDataset(minitorch.tensor([[1.0], [2.0], [3.0]]), minitorch.tensor([4, 5, 6], dtype="int64"))
    first, second = DataLoader(data, batch_size=2, dtype="float32")
    assert [part.to_numpy().tolist() for part in first] == [[[1], [2]], [4, 5]]
    assert [part.dtype.name for part in second] == ["float32", "int64"]


@pytest.mark.parametrize("make", [minitorch.tensor, torch.tensor])
def test_a_batch_holds_the_rows_of_its_examples_in_any_layout(make):
    whole = make(np.arange(24.0).reshape(2, 4, 3))
    data = TensorDataset(whole.permute(1, 0, 2), whole[0, :, 1], whole[0, :, :0])
    for indices in ([2, 0, 2], [-1], np.array([3, 1])):
        batch = data.batch(indices)
        for part, column in zip(batch, zip(*[data[int(i)] for i in indices], strict=True), strict=True):
            assert (type(part), part.history) == (type(whole), None)
            np.testing.assert_array_equal(part.to_numpy(), np.stack([np.asarray(x) for x in column]))
    batch[0][...] = 7  # a copy
    assert whole.to_numpy().tolist() == np.arange(24.0).reshape(2, 4, 3).tolist()
    order = [torch.tensor(3), torch.tensor(0)]
    assert [x.to_numpy().tolist() for x, *_ in DataLoader(data, 2, sampler=order)] == [[whole[:, i].to_numpy().tolist() for i in (3, 0)]]
    for sampler in ([4], [-5]):
        with pytest.raises(minitorch.IndexingError, match=f"this index does not fit shape .*: index {sampler[0]} is out of bounds"):
            list(DataLoader(data, sampler=sampler))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16"])
def test_tensors_of_narrow_numbers_are_dealt_too(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    ((x,),) = DataLoader(TensorDataset(minitorch.tensor([[1.0], [2.0]], dtype=dtype)), batch_size=2, dtype="float32")
    assert x.to_numpy().tolist() == [[1], [2]]
    assert x.dtype.name == ("uint8" if dtype == "uint8" else "float32")
    if dtype != "uint8":
        ((x,),) = DataLoader(TensorDataset(minitorch.tensor([[1.5]])), dtype=dtype)
        assert (x.dtype.name, x.item()) == (dtype, 1.5)


def test_gradients_reach_the_tensors_of_a_batch_unless_it_is_cast():
    x = minitorch.tensor([[1.0], [2.0]], requires_grad=True)
    ((batch,),) = DataLoader(TensorDataset(x), batch_size=2)
    batch.sum().backward()
    assert x.grad.to_numpy().tolist() == [[1], [1]]
    ((batch,),) = DataLoader(TensorDataset(x), batch_size=2, dtype="float64")
    assert not batch.requires_grad


# Several as one


def test_the_examples_of_one_set_follow_those_of_another():
    data = ConcatDataset([Squares(0, 3), Squares(0, 0), Squares(10, 2)])
    rows = [(0, 0), (1, 1), (2, 4), (10, 100), (11, 121)]
    assert len(data) == 5
    assert [data[index] for index in range(5)] == rows
    assert [data[index] for index in range(-5, 0)] == rows
    assert list(data[1:4]) == rows[1:4]
    assert data.cumulative_sizes == [3, 3, 5]
    with raises(IndexError, "ConcatDataset has 5 examples, got the index 5; use 0 to 4"):
        data[5]


def test_anything_with_a_length_is_joined_and_divided():
    both = ConcatDataset([[5, 6], range(3)])
    assert list(both) == [5, 6, 0, 1, 2]
    assert list(Squares(0, 2) + both) == [(0, 0), (1, 1), 5, 6, 0, 1, 2]
    assert list(Subset("abc", [2, -3])) == ["c", "a"]
    parts = random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(0))
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(x for part in parts for x in part) == list(range(10))
    again = random_split(range(10), [7, 3], torch.Generator().manual_seed(0))
    assert [list(part) for part in again] == [list(part) for part in parts]


def test_a_list_of_indices_is_passed_on_by_a_subset():
    (x,) = Subset(TensorDataset(torch.arange(5)), [4, 2, 0])[[2, 0]]
    assert x.tolist() == [0, 4]


class Count(IterableDataset):
    """A stream of 0 to 2."""

    def __iter__(self):
        return iter(range(3))


def test_streams_follow_one_another():
    assert list(Count() + Count()) == list(ChainDataset([Count(), Count()])) == [0, 1, 2, 0, 1, 2]
    assert len(ChainDataset([[1], [2, 3]])) == 3
    with raises(TypeError, "Count has no length; define __len__(self) in the subclass"):
        len(Count() + Count())
    with raises(NotImplementedError, "IterableDataset has no examples; define __iter__(self) in the subclass"):
        iter(IterableDataset())


def test_the_data_sets_of_both_packages_are_the_same():
    for name in ("Dataset", "TensorDataset", "Subset", "ConcatDataset", "IterableDataset", "ChainDataset", "random_split"):
        assert getattr(torch.utils.data, name) is getattr(torch.utils.data.dataset, name) is getattr(minitorch.data, name)


# Parts


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 2))
@example(sizes=[3], seed=0)
@example(sizes=[0, 5], seed=0)
@example(sizes=[1, 0], seed=0)
def test_parts_of_given_lengths_have_every_example_once(sizes, seed):
    data = Squares(0, sum(sizes))
    parts = random_split(data, sizes, seed=seed)
    assert [len(part) for part in parts] == sizes
    assert sorted(part[index] for part in parts for index in range(len(part))) == [(i, i * i) for i in range(sum(sizes))]
    again = random_split(data, sizes, seed=seed)
    assert [[part[i] for i in range(len(part))] for part in parts] == [[part[i] for i in range(len(part))] for part in again]


def test_parts_are_drawn_by_chance():
    first, second = ([part[i][0] for i in range(30)] for seed in (0, 1) for part in random_split(Squares(0, 30), [30], seed=seed))
    assert first != second
    assert list(range(30)) not in (first, second)


@pytest.mark.parametrize(
    ("count", "fractions", "sizes"),
    [
        (10, [0.7, 0.3], [7, 3]),
        (10, [0.7, 0.2, 0.1], [7, 2, 1]),
        (11, [0.5, 0.25, 0.25], [6, 3, 2]),  # 5, 2, 2 and one more for the first two
        (10, [1 / 3, 1 / 3, 1 / 3], [4, 3, 3]),
        (4, [1.0], [4]),
        (4, [1.0, 0.0], [4, 0]),
        (1, [1], [1]),
        (0, [0.5, 0.5], [0, 0]),
    ],
)
@pytest.mark.filterwarnings("ignore:random_split leaves")
def test_fractions_are_rounded_down_and_the_rest_goes_round(count, fractions, sizes):
    assert [len(part) for part in random_split(Squares(0, count), fractions)] == sizes


def test_a_part_without_examples_is_warned_of():
    with pytest.warns(UserWarning, match=r"^random_split leaves part 1 of 0\.1 without examples of 5; give it more$"):
        parts = random_split(Squares(0, 5), [0.9, 0.1])
    assert [len(part) for part in parts] == [5, 0]


@pytest.mark.parametrize("lengths", [[], [3, 3], [9, 3], [-1, 11], [0.5, 0.4], [0.5, 0.6], [1.5, -0.5], [7.0, 3.0], [1], [float("nan")]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    message = (
        f"random_split expected whole numbers >= 0 that add up to 10, or fractions >= 0 that add up to 1, got {lengths}; "
        "with fractions all examples are used"
    )
    with raises(ValueError, message):
        random_split(Squares(0, 10), lengths)


def test_what_is_no_data_set_is_refused():
    refuses(TypeError, "… expected tensors, got ndarray; of arrays make an ArrayDataset", TensorDataset, np.zeros(2))
    for tensors, shapes in [([2, 3], "(2,), (3,)"), ([], "none")]:
        refuses(ValueError, f"… expected tensors of equal length, got shapes {shapes}", TensorDataset, *map(torch.ones, tensors))
    refuses(ValueError, "… expected tensors of equal length, got shapes ()", TensorDataset, torch.ones(()))
    refuses(ValueError, "… expected data sets to put together, got none; give it a list of at least one", ConcatDataset, [])
    refuses(ValueError, "… expected seed >= 0, got -1; give a larger one", random_split, Squares(0, 1), [1], seed=-1)
    refuses(TypeError, "… expected a Generator, got 3; pass seed=3", random_split, Squares(0, 1), [1], 3)
    refuses(ValueError, "… expected generator or seed, got both; leave one out", random_split, [0], [1], torch.Generator(), seed=0)


def test_parts_of_images_are_images_and_a_subset_can_be_made_by_name():
    train, valid, test = random_split(Digits(), [0.8, 0.1, 0.1])
    assert [len(part) for part in (train, valid, test)] == [1438, 180, 179]
    assert isinstance(valid, ImageDataset)
    assert valid.classes == tuple("0123456789")
    part = Subset(Squares(0, 9), [7, -1])
    assert [part[0], part[1]] == [(7, 49), (8, 64)]


@pytest.mark.filterwarnings("ignore:random_split leaves", "ignore:Length of split")
def test_lengths_are_pytorchs():
    pytorch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for count in (7, 10, 101):
        for fractions in ([0.5, 0.5], [0.7, 0.2, 0.1], [0.26, 0.24, 0.5]):
            ours = [len(part) for part in random_split(Squares(0, count), fractions)]
            assert ours == [len(part) for part in pytorch.utils.data.random_split(range(count), fractions)]
