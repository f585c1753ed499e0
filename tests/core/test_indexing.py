"""Indexing against NumPy: what is read, what is written, what shares storage, and where gradients go."""

import enum
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitorch import Tensor, bool_, float32, from_numpy, int32, int64, no_grad, tensor
from minitorch.core.indexing import as_index, is_basic
from minitorch.tensor_data import IndexingError
from tests.errors import raises
from tests.tensor_strategies import laid_out, layouts

FEW = settings(max_examples=40, deadline=None)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
spread = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def counted(shape):
    """An array whose elements are all different."""
    return np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)


@st.composite
def steps(draw, length):
    """A slice, perhaps out of range, perhaps backwards."""
    ends = st.none() | st.integers(-length - 2, length + 2)
    return slice(draw(ends), draw(ends), draw(st.none() | st.integers(1, 3) | st.integers(-3, -1)))


@st.composite
def lists_of(draw, length, shape):
    """Integers of one shape, as a list, a tuple, an array or a tensor."""
    numbers = draw(st.lists(st.integers(-length, length - 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    array = np.array(numbers, draw(st.sampled_from([np.int64, np.int32]))).reshape(shape)
    return draw(st.sampled_from([array, array.tolist(), from_numpy(array)]))


@st.composite
def masks(draw, shape):
    """Truth values, as a list, an array or a tensor."""
    truths = draw(st.lists(st.booleans(), min_size=math.prod(shape), max_size=math.prod(shape)))
    array = np.array(truths, bool).reshape(shape)
    return draw(st.sampled_from([array, from_numpy(array)] if 0 in shape else [array, array.tolist(), from_numpy(array)]))


@st.composite
def indices(draw, shape, advanced=True):
    """An index of parts of every kind, all in range, for some of the dimensions; integers not beside lists and masks."""
    shared = draw(st.sampled_from([(2,), (3,), (2, 3), (1,), (0,)]))
    parts, dim, masked = [], 0, False
    while dim < len(shape) and draw(st.integers(0, 5)):
        length = shape[dim]
        kinds = (
            ["slice", "whole"] + ["integer"] * (length > 0) + ["list"] * (advanced and length > 0) + ["mask"] * (advanced and not masked)
        )
        kind = draw(st.sampled_from(kinds))
        if kind == "integer":
            parts.append(draw(st.integers(-length, length - 1)))
        elif kind == "list":
            parts.append(draw(lists_of(length, draw(st.sampled_from([shared, shared[-1:], (1,)])))))
        elif kind == "mask":
            width = draw(st.integers(1, len(shape) - dim))
            mask = draw(masks(shape[dim : dim + width]))
            parts.append(mask)
            dim, masked = dim + width - 1, True
        else:
            parts.append(draw(steps(length)) if kind == "slice" else slice(None))
        dim += 1
    if any(isinstance(part, (list, np.ndarray, Tensor)) for part in parts):
        parts = [slice(part, part + 1 or None) if isinstance(part, int) else part for part in parts]
    for extra in draw(st.lists(st.sampled_from([None, ...]), max_size=2, unique=True)):
        parts.insert(draw(st.integers(0, len(parts))), extra)
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


def for_numpy(index):
    """The index as NumPy is given it."""
    parts = [np.asarray(part) if isinstance(part, (Tensor, list)) else part for part in (index if isinstance(index, tuple) else (index,))]
    return tuple(
        part.astype(np.int64) if isinstance(part, np.ndarray) and part.size == 0 and part.dtype.kind == "f" else part for part in parts
    )


def fits(array, index):
    """Whether NumPy takes the index: lists and masks may pick numbers of elements that do not broadcast."""
    try:
        array[for_numpy(index)]
    except IndexError:
        return False
    return True


@st.composite
def cases(draw, advanced=True, shape=shapes):
    """An array, a tensor with its elements in some layout, and an index."""
    array = counted(draw(shape))
    x = Tensor(laid_out(array, *draw(layouts(array.shape)))) if array.size else tensor(array)
    return array, x, draw(indices(array.shape, advanced).filter(lambda index: fits(array, index)))


# Reading


def assert_read(array, x, index):
    found, expected = x[index], array[for_numpy(index)]
    if isinstance(expected, np.float64) and is_element_index(index):
        assert (type(found), found) == (float, expected)
        return
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.to_numpy(), expected)
    if expected.size:
        assert np.shares_memory(found.numpy(), x.numpy()) == is_basic(as_index(index))


def is_element_index(index):
    return all(isinstance(part, int) and not isinstance(part, bool) for part in (index if isinstance(index, tuple) else (index,)))


@given(cases(advanced=False))
@FEW
def test_integers_slices_none_and_dots_pick_what_they_pick_from_an_array(case):
    assert_read(*case)


@given(cases())
@FEW
def test_lists_and_masks_pick_what_they_pick_from_an_array(case):
    assert_read(*case)


@pytest.mark.parametrize(
    "index",
    [
        (slice(None), 1, [2, 0]), ([[0], [1]], [0, 2]), (True, 0), (False,),
        ([0, 1], slice(None), [2, 0]),  # lists apart: their dimension comes first
        (slice(None), [0, 1], [2, 0]),  # lists side by side: their dimension stays
        (np.array([True, False]), slice(None), 1), (np.bool_(True),), (None, [1, 0], None), (..., [1, 0]), (..., None, 1),
        (slice(None, None, -1), slice(None, None, -2)), (slice(3, 1),), (slice(5, None, 2), 0), ([],), ([], [], 0), (range(2),),
        ((1, 0), 0), (np.int64(1), np.int32(0), -1), (np.array(1),), (np.array(1), np.array(0), 2),
    ],
    ids=repr,
)  # fmt: skip
def test_such_an_index_picks_what_it_picks_from_an_array(index):
    array = counted((2, 3, 4))
    found, expected = tensor(array)[index], array[index]
    np.testing.assert_array_equal(found if isinstance(found, float) else found.to_numpy(), expected)
    assert np.shape(found) == expected.shape


@pytest.mark.parametrize(
    ("index", "first", "rest"),
    [
        ((1, slice(None), [2, 0]), (1,), (slice(None), [2, 0])),
        ((0, slice(None), [1]), (0,), (slice(None), [1])),
        (([1, 0], slice(None), 2), (..., 2), ([1, 0],)),
        (([1, 0, 1], 2, [2, 0, 1]), (slice(None), 2), ([1, 0, 1], [2, 0, 1])),
        ((1, None, [2, 0]), (1,), (None, [2, 0])),
        ((-1, ..., [True, False, True, True]), (-1,), (..., [True, False, True, True])),
        ((0, [[True, False, True, True], [False] * 4, [True] * 4]), (0,), ([[True, False, True, True], [False] * 4, [True] * 4],)),
        ((True, 0, [1, 2]), (0,), (True, [1, 2])),
    ],
    ids=repr,
)
def test_integers_are_applied_before_lists_and_masks(index, first, rest):
    array = counted((2, 3, 4))
    expected = array[first][rest]
    np.testing.assert_array_equal(tensor(array)[index].to_numpy(), expected)
    x, written = tensor(array), array.copy()
    x[index] = -1.0
    view = written[first]
    view[rest] = -1.0
    np.testing.assert_array_equal(x.to_numpy(), written)


def test_dots_for_no_dimensions_do_not_separate_lists():
    array = counted((2, 3, 4))
    assert tensor(array)[:, [0, 1], ..., [2, 0]].tolist() == array[:, [0, 1], [2, 0]].tolist()


def test_a_mask_of_no_elements_does_not_fit_a_dimension():
    with raises(IndexingError, "Select: a mask expected shape (1,), that of its dimensions of shape (0, 1), got (0,)"):
        tensor(np.zeros((0, 1)))[:, np.zeros(0, bool)]


@pytest.mark.parametrize("dtype", [int64, int32])
def test_a_whole_number_in_a_tensor_is_an_integer(dtype):
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    i = tensor(1, dtype=dtype)
    assert x[i].tolist() == [3.0, 4.0]
    assert np.shares_memory(x[i].numpy(), x.numpy())
    assert x[i, i] == 4.0
    assert type(x[i, 0]) is float


def test_an_integer_for_every_dimension_gives_a_python_number():
    assert (type(tensor([1.5])[0]), tensor([1.5])[0]) == (float, 1.5)
    assert (type(tensor([[True]])[0, -1]), tensor([[True]])[0, -1]) == (bool, True)
    assert (type(tensor([7], dtype=int32)[0]), tensor([7], dtype=int32)[0]) == (int, 7)
    assert tensor(2.5)[()] == 2.5


def test_an_enumeration_is_an_integer():
    column = enum.IntEnum("column", {"first": 0, "second": 1})
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x[column.second].tolist(), type(x[0, column.second]), x[0, column.second]) == ([3.0, 4.0], float, 2.0)


def test_an_empty_view_begins_inside_the_storage():
    x = tensor(counted((2, 3)))
    for empty in (x[2:], x[2:, 1:], x[5:, 2:][:, 1:]):
        assert empty.size == 0
        assert empty.storage_offset() < 6


# Writing


@st.composite
def values_for(draw, array, index):
    """What may be written there: a number, or numbers whose shape broadcasts to what the index picks."""
    shape = array[for_numpy(index)].shape
    kept = tuple(draw(st.sampled_from([length, length, 1])) for length in shape)
    kept = (1,) * draw(st.integers(0, 1)) + kept[draw(st.integers(0, len(kept))) :]
    block = -counted(kept)
    return draw(st.sampled_from([-1.5, 7, True, block, block.tolist() if block.size else block, tensor(block)]))


@st.composite
def writings(draw, advanced=True):
    array, x, index = draw(cases(advanced))
    return array, x, index, draw(values_for(array, index))


def assert_written(array, x, index, values):
    flat = x._tensor._storage.copy()
    values_there, there = np.asarray(values), array[for_numpy(index)]
    ones = max(0, values_there.ndim - there.ndim)  # dimensions of size 1 in front: NumPy drops them, too, but not everywhere
    array[for_numpy(index)] = np.broadcast_to(values_there.reshape(values_there.shape[ones:]), there.shape)
    before = x._tensor.version
    x[index] = values
    np.testing.assert_array_equal(x.to_numpy(), array)
    assert x._tensor.version == before + 1
    assert np.array_equal(np.isnan(flat), np.isnan(x._tensor._storage))  # what lies between the elements is not touched


@given(writings(advanced=False))
@FEW
def test_assignment_writes_what_it_writes_into_an_array(case):
    assert_written(*case)


@given(writings())
@FEW
def test_assignment_by_lists_and_masks_writes_what_it_writes_into_an_array(case):
    assert_written(*case)


def test_assignment_takes_numbers_tensors_lists_and_arrays():
    x = tensor(np.zeros((2, 3)))
    x[0, 0] = 1
    x[0, 1] = np.float64(2.5)
    x[1] = [3, 4.5, True]
    x[0, 2] = tensor([8.0]).sum()  # shape (1,) into one element
    assert x.tolist() == [[1.0, 2.5, 8.0], [3.0, 4.5, 1.0]]
    x[:, 1:] = np.array([[5], [6]])
    assert x.tolist() == [[1.0, 5.0, 5.0], [3.0, 6.0, 6.0]]
    x[x > 4] = 0
    assert x.tolist() == [[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    x[x == 0] = (10, 20, 30, 40)
    assert x.tolist() == [[1.0, 10.0, 20.0], [3.0, 30.0, 40.0]]
    x[...] = 0
    assert x.tolist() == [[0.0] * 3] * 2


def test_assignment_keeps_the_dtype():
    x = tensor([1, 2, 3], dtype=float32)
    x[0], x[1:] = 0.1, [1, True]
    assert (x.dtype, x.tolist()) == (float32, [float(np.float32(0.1)), 1.0, 1.0])
    x[0] = tensor([1e300])
    assert x[0] == math.inf
    whole = tensor([1, 2], dtype=int32)
    whole[0], whole[1] = tensor(5, dtype=int64), True
    assert (whole.dtype, whole.tolist()) == (int32, [5, 1])
    mask = tensor([True, True])
    mask[0] = False
    assert (mask.dtype, mask.tolist()) == (bool_, [False, True])


def test_of_several_values_for_one_element_the_last_stays():
    x = tensor([0.0, 0.0])
    x[[1, 1, 1]] = [1, 2, 3]
    assert x.tolist() == [0.0, 3.0]


@pytest.mark.parametrize("step", [1, -1, 2])
def test_source_and_target_may_overlap(step):
    array = counted((3, 3))
    x = tensor(array)
    x[...] = x.permute(1, 0)
    assert x.tolist() == array.T.tolist()
    row, line = counted((9,)), tensor(counted((9,)))
    line[1:], row[1:] = line[:-1], row[:-1].copy()
    assert line.tolist() == row.tolist()
    line[:-1], row[:-1] = line[1:], row[1:].copy()
    assert line.tolist() == row.tolist()
    line[::step], row[::step] = line[::-step], row[::-step].copy()
    assert line.tolist() == row.tolist()
    line[[1, 2, 3]], row[[1, 2, 3]] = line[:3], row[:3].copy()
    assert line.tolist() == row.tolist()


def test_writing_into_a_copy_is_not_seen():
    x = tensor(np.zeros((2, 3)))
    for copied in (x[[0, 1]], x[::-1], x[x == 0], x.clone(), x.permute(1, 0).contiguous()):
        copied[...] = 1
    assert x.tolist() == [[0] * 3] * 2


def test_one_row_of_an_expanded_tensor_may_be_written():
    x = tensor([1.0, 2.0])
    x.expand(3, 2)[1][0] = 5
    assert x.tolist() == [5.0, 2.0]


def test_writing_outside_an_empty_slice_does_nothing():
    x = tensor([1.0, 2.0])
    for nothing in (slice(2, None), [], x > 9):
        x[nothing] = 5
    assert x.tolist() == [1.0, 2.0]


# Gradients


def assert_gradient(array, x, index):
    picked = array[for_numpy(index)]
    weights = counted(picked.shape)
    expected = np.zeros(array.shape)
    np.add.at(expected, for_numpy(index), weights)
    leaf = x.detach().requires_grad_()
    found = leaf[index]
    if isinstance(found, float):
        return  # a plain number: no gradient flows through it
    (found * tensor(weights)).sum().backward()
    assert leaf.grad.shape == array.shape
    np.testing.assert_array_equal(leaf.grad.to_numpy(), expected)


@given(cases(advanced=False, shape=spread))
@FEW
def test_the_gradient_goes_where_a_view_came_from(case):
    assert_gradient(*case)


@given(cases(shape=spread))
@FEW
def test_the_gradient_goes_where_the_elements_came_from(case):
    assert_gradient(*case)


def test_a_changed_index_does_not_change_the_gradient():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    mask, numbers, array = tensor([True, False, True]), [0, 1], np.array([2])
    total = x[mask].sum() + 10 * x[numbers].sum() + 100 * x[array].sum()
    mask[1], numbers[0], array[0] = True, 2, 0
    total.backward()
    assert x.grad.tolist() == [11.0, 10.0, 101.0]


def test_what_is_written_in_no_grad_is_there_for_the_next_forward():
    x = tensor([1.0, 2.0], requires_grad=True)
    with no_grad():
        x[0] = 5
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 4.0]
