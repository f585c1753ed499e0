"""The given parts of `minitorch.tensor_data`: layouts and their checks, views, elements, and every message."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import integers, lists

import minitorch
from minitorch import IndexingError, TensorData, shape_broadcast, strides_from_shape
from minitorch.core import dtypes
from minitorch.tensor_data import MAX_DIMS, as_shape, broadcast_strides, positions

from .errors import raises

shapes = lists(integers(0, 4), max_size=4).map(tuple)


def counting_tensor(*shape):
    """A contiguous tensor whose elements are their positions."""
    return TensorData(np.arange(float(np.prod(shape, dtype=int))), shape)


# Shapes and strides


COLUMNS = TensorData(np.arange(20.0), (2, 3), (1, 4), 5)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # Contiguous strides count the elements of later dimensions.
        (lambda: strides_from_shape((2, 3, 4)), (12, 4, 1)),
        (lambda: strides_from_shape((5,)), (1,)),
        (lambda: strides_from_shape(()), ()),
        (lambda: strides_from_shape((1, 1)), (1, 1)),
        (lambda: strides_from_shape([4, 2, 2]), (4, 2, 1)),
        (lambda: strides_from_shape((3, 0)), (0, 1)),
        # A broadcast dimension has stride 0.
        (lambda: broadcast_strides((3,), (1,), (2, 3)), (0, 1)),
        (lambda: broadcast_strides((2, 1), (5, 1), (2, 3)), (5, 0)),
        (lambda: broadcast_strides((), (), (2, 2)), (0, 0)),
        (lambda: broadcast_strides((2, 3), (1, 2), (2, 3)), (1, 2)),
        (lambda: broadcast_strides((1, 0), (7, 7), (4, 0)), (0, 0)),
        # The published name.
        (lambda: TensorData.shape_broadcast((2, 1), (3,)), (2, 3)),
        # Strides and an offset select elements of the storage.
        (lambda: TensorData(np.arange(10.0), (2, 3), (1, 2), 3).array().tolist(), [[3, 5, 7], [4, 6, 8]]),
        (lambda: TensorData(np.arange(10.0), (2, 2), (0, 1), 8).array().tolist(), [[8, 9], [8, 9]]),
        (lambda: TensorData(np.arange(10.0), (), (), 9).array().tolist(), 9),
        (lambda: TensorData(np.arange(10.0), (2,), offset=8).array().tolist(), [8, 9]),
        (lambda: TensorData([], (2, 0)).array().shape, (2, 0)),
        # An index gives a position in the storage.
        (lambda: COLUMNS.index((1, 2)), 14),
        (lambda: COLUMNS.index([1, 2]), 14),
        (lambda: COLUMNS.index(np.array([0, 0])), 5),
        (lambda: TensorData(np.arange(3.0), (3,)).index(2), 2),
        (lambda: TensorData([4.0], ()).index(()), 0),
        # The text is nested brackets, and the repr the layout.
        (lambda: counting_tensor(2, 2).to_string(), "[[0., 1.],\n [2., 3.]]"),
        (lambda: TensorData([7.0], ()).to_string(), "7."),
        (lambda: TensorData([], (0,)).to_string(), "[]"),
        (lambda: TensorData([float("nan"), float("-inf")], (2,)).to_string(), "[ nan, -inf]"),
        (lambda: "..." in counting_tensor(2000).to_string(), True),
        (lambda: repr(TensorData(np.arange(9), (2, 2), (1, 3), 4)), "TensorData(shape=(2, 2), strides=(1, 3), offset=4, dtype=int64)"),
        # Elements are Python's numbers.
        (lambda: type(TensorData(np.array([1], "int32"), (1,)).get((0,))), int),
        (lambda: type(TensorData(np.array([True]), (1,)).get((0,))), bool),
        (lambda: type(counting_tensor(1).get((0,))), float),
        # Tensors with one element and empty tensors can be reshaped.
        (lambda: TensorData([5.0], ()).reshape((1, 1)).array().tolist(), [[5.0]]),
        (lambda: TensorData([], (0, 3)).reshape((2, 0)).shape, (2, 0)),
    ],
)
def test_a_call_has_its_value(call, expected):
    assert call() == expected


@given(lists(integers(0, 3), max_size=3), integers(0, 3))
@example([], 1)
@example([2, 0, 3], 1)
@example([2, 3], 0)
def test_positions_lists_the_position_of_every_index_in_order(shape, gap):
    strides = [gap * (i + 1) for i in range(len(shape))]
    expected = [sum(i * stride for i, stride in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    assert positions(shape, strides) == expected


@pytest.mark.parametrize(
    ("given", "shape"), [([2, 3], (2, 3)), (4, (4,)), (np.array([2, 0]), (2, 0)), ((), ()), ((1,) * MAX_DIMS, (1,) * MAX_DIMS)]
)
def test_a_shape_is_read_from_any_sequence_of_integers(given, shape):
    assert as_shape(given) == shape
    assert all(type(size) is int for size in as_shape(given))


BROADCAST = "sizes must be equal, or one of them 1 (view can insert a 1)"
STRIDES = "expected as many strides as dimensions, got"
NEGATIVE = "expected strides and offset of at least 0, got"
DTYPES = "expected a dtype of float64, float32, int64, int32, bool, float16, bfloat16, int16, int8, uint8, got"
TABLE = counting_tensor(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # Shapes
        (lambda: as_shape((2.0, 3), "view"), TypeError, "view expected whole numbers, got (2.0, 3); write it as (2, 3)"),
        (lambda: as_shape(float("nan"), "view"), TypeError, "view expected whole numbers, got nan; write it as (2, 3)"),
        (lambda: as_shape("ab", "view"), TypeError, "view expected whole numbers, got 'ab'; write it as (2, 3)"),
        (lambda: as_shape(None, "view"), TypeError, "view expected whole numbers, got None; write it as (2, 3)"),
        (lambda: as_shape((2, -1), "view"), ValueError, "view expected sizes of at least 0, got (2, -1)"),
        (lambda: as_shape((1,) * 33, "view"), ValueError, "view expected at most 32 dimensions, got 33"),
        (lambda: shape_broadcast((5, 2), [5]), IndexingError,
         f"shapes (5, 2) and (5,) do not broadcast: aligned from the right, 2 does not match 5; {BROADCAST}"),
        (lambda: shape_broadcast((2, 3), (4, 3)), IndexingError,
         f"shapes (2, 3) and (4, 3) do not broadcast: aligned from the right, 2 does not match 4; {BROADCAST}"),
        (lambda: TensorData.zeros((2, -1)), ValueError, "a shape expected sizes of at least 0, got (2, -1)"),
        # Layouts that exceed their storage
        (lambda: TensorData([1, 2], (3,)), ValueError, "shape (3,) needs 3 elements, got a storage of 2"),
        (lambda: TensorData([1, 2, 3, 4], (3,)), ValueError, "shape (3,) needs 3 elements, got a storage of 4"),
        (lambda: TensorData([1, 2], ()), ValueError, "shape () needs 1 elements, got a storage of 2"),
        (lambda: TensorData([1, 2, 3, 4], (2, 2), (3, 1)), ValueError, "shape (2, 2) needs 5 elements, got a storage of 4"),
        (lambda: TensorData([1, 2, 3, 4], (2, 2), (2, 1), 1), ValueError, "shape (2, 2) needs 5 elements, got a storage of 4"),
        (lambda: TensorData([1, 2], (2,), None, 1), ValueError, "shape (2,) needs 3 elements, got a storage of 2"),
        (lambda: TensorData([1, 2], (0,), (1,), 3), ValueError, "shape (0,) needs 3 elements, got a storage of 2"),
        (lambda: TensorData([1, 2], (2,), (2, 1)), IndexingError, f"{STRIDES} shape (2,) with strides (2, 1)"),
        (lambda: TensorData([1, 2], (2, 1), (1,)), IndexingError, f"{STRIDES} shape (2, 1) with strides (1,)"),
        (lambda: TensorData([1, 2], (2,), (-1,), 1), ValueError, f"{NEGATIVE} strides (-1,), offset 1; copy the values"),
        (lambda: TensorData([1, 2], (1,), (1,), -1), ValueError, f"{NEGATIVE} strides (1,), offset -1; copy the values"),
        (lambda: TensorData([1, 2], (2, -1)), ValueError, "a shape expected sizes of at least 0, got (2, -1)"),
        (lambda: TensorData(np.zeros((2, 3)), (2, 3)), ValueError,
         "a storage expected one dimension, got an array of shape (2, 3); pass array.reshape(-1)"),
        (lambda: TensorData(np.zeros(6)[::2], (3,)), ValueError, "a storage expected a contiguous array; pass array.copy()"),
        (lambda: TensorData(np.zeros(2, "complex128"), (2,)), TypeError,
         f"{DTYPES} 'complex128'; convert the values to one of these first"),
        # Elements
        (lambda: TABLE.index((1,)), IndexingError, "expected an index of 2 numbers for shape (2, 3), got (1,)"),
        (lambda: TABLE.index(1), IndexingError, "expected an index of 2 numbers for shape (2, 3), got (1,)"),
        (lambda: TABLE.index((0, 0, 0)), IndexingError, "expected an index of 2 numbers for shape (2, 3), got (0, 0, 0)"),
        (lambda: TABLE.index((2, 0)), IndexingError, "index (2, 0) is out of range for shape (2, 3): in dimension 0 it must be 0 to 1"),
        (lambda: TABLE.index((1, 3)), IndexingError, "index (1, 3) is out of range for shape (2, 3): in dimension 1 it must be 0 to 2"),
        (lambda: TABLE.index((1, -1)), IndexingError, "index (1, -1) is out of range for shape (2, 3): in dimension 1 it must be 0 to 2"),
        (lambda: TensorData([], (2, 0)).index((1, 0)), IndexingError,
         "index (1, 0) is out of range for shape (2, 0): in dimension 1 there are no elements"),
        (lambda: TensorData([], (2, 0)).sample(), IndexingError, "sample expected a tensor with elements, got shape (2, 0)"),
        # Views
        (lambda: TABLE.reshape((4,)), ValueError, "view expected a shape of 6 elements like (2, 3), got (4,) of 4"),
        (lambda: TABLE.permute(1, 0).reshape((6,)), ValueError,
         "view expected contiguous elements, got shape (3, 2) with strides (1, 3); call contiguous() first, or reshape"),
        (lambda: TABLE.permute(0, 2), IndexingError, "permute expected each of the dimensions (0, 1) of shape (2, 3) once, got (0, 2)"),
        (lambda: TensorData([1.0], ()).permute(0), IndexingError, "permute expected each of the dimensions () of shape () once, got (0,)"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_refused(call, error, message):
    with raises(error, message):
        call()


def test_an_indexing_error_is_an_index_error():
    assert issubclass(IndexingError, RuntimeError)
    assert issubclass(IndexingError, IndexError)


# Construction


def test_a_list_becomes_a_storage_of_the_default_dtype():
    data = TensorData([1, 2, 3, 4, 5, 6], [2, 3])
    assert (data.shape, data.strides, data.offset) == ((2, 3), (3, 1), 0)
    assert (data.dims, data.size, data.dtype) == (2, 6, np.dtype("float64"))
    assert data.array().tolist() == [[1, 2, 3], [4, 5, 6]]
    dtypes.set_default_dtype("float32")
    try:
        assert TensorData([1, 2], (2,)).dtype == np.dtype("float32")
    finally:
        dtypes.set_default_dtype("float64")


@pytest.mark.parametrize("dtype", dtypes.DTYPES, ids=str)
def test_an_array_becomes_the_storage_without_a_copy(dtype):
    array = np.array([0, 1, 1, 0], dtype)
    data = TensorData(array, (2, 2))
    assert data.dtype == dtype
    assert data._storage is array
    data.set((0, 0), 1)
    assert array.tolist() == [1, 1, 1, 0]


def test_shape_strides_and_offset_become_python_integers():
    data = TensorData(np.arange(6.0), np.array([2, 2]), np.array([2, 1]), np.int64(1))
    assert (data.shape, data.strides, data.offset) == ((2, 2), (2, 1), 1)
    assert {type(number) for number in (*data.shape, *data.strides, data.offset)} == {int}


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 4)])
def test_zeros_creates_zeros_of_any_shape(shape):
    data = TensorData.zeros(shape, "int32")
    assert np.array_equal(data.array(), np.zeros(shape))
    assert (data.shape, data.dtype) == (shape, np.dtype("int32"))


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        *(((3, 5), (5, 1), True), ((5, 3), (1, 5), False), ((2, 3), (6, 2), False), ((2, 3), (4, 1), False), ((3,), (1,), True)),
        *(((3,), (2,), False), ((), (), True), ((1, 3), (99, 1), True), ((3, 1), (1, 99), True), ((2, 2), (0, 1), False)),
        ((0, 3), (1, 7), True),
    ],
)
def test_contiguous_means_adjacent_elements_in_row_major_order(shape, strides, contiguous):
    """The stride of a dimension of size 1 does not matter; if there are no elements, no stride matters; nor does the offset."""
    assert TensorData(np.zeros(100), shape, strides).is_contiguous() is contiguous
    assert TensorData(np.zeros(103), shape, strides, 3).is_contiguous() is contiguous


def test_a_kernel_receives_the_storage_from_the_first_to_the_last_element():
    storage = np.arange(10.0)
    part, shape, strides = TensorData(storage, (2, 3), (1, 2), 3).tuple()
    assert (part.tolist(), shape, strides) == ([3, 4, 5, 6, 7, 8], (2, 3), (1, 2))
    assert np.shares_memory(part, storage)
    assert TensorData(storage, (10,)).tuple()[0] is storage
    assert TensorData(storage, (0, 2), (2, 1), 4).tuple()[0].tolist() == []
    assert TensorData(storage, (), (), 4).tuple()[0].tolist() == [4]
    assert TensorData(storage, (10,), (0,), 4).tuple()[0].tolist() == [4]


def test_published_solutions_receive_shape_and_strides_as_arrays():
    data = counting_tensor(2, 3)
    assert (data._shape.tolist(), data._strides.tolist()) == ([2, 3], [3, 1])
    assert data._shape.dtype.kind == data._strides.dtype.kind == "i"


def test_the_array_is_a_view_without_a_copy():
    data = counting_tensor(2, 3)
    data.permute(1, 0).array()[2, 1] = 50.0
    assert data.array().tolist() == [[0, 1, 2], [3, 4, 50]]


# Elements


@given(shapes)
@example(())
@example((2, 0, 3))
def test_indices_yields_every_index_once(shape):
    data = TensorData.zeros(shape)
    assert list(data.indices()) == list(np.ndindex(*shape))
    assert list(data.indices()) == list(data.indices())


def test_samples_cover_every_element():
    data = counting_tensor(2, 2)
    assert {data.sample() for _ in range(500)} == set(data.indices())


def test_get_and_set_access_the_same_element_through_every_view():
    data = TensorData(np.arange(20.0), (2, 3), (1, 4), 5)
    data.set((1, 2), -1.0)
    assert data.get((1, 2)) == -1.0
    assert np.flatnonzero(data._storage == -1.0).tolist() == [14]


# Views


def test_every_write_is_counted_in_all_views():
    data = counting_tensor(2, 3)
    views = [data.permute(1, 0), data.reshape((6,)), data.as_view((3,), (1,), 3)]
    assert {view.version for view in [data, *views]} == {0}
    views[0].set((0, 0), 1.0)
    data.bump_version()
    assert {view.version for view in [data, *views]} == {2}
    assert counting_tensor(2, 3).version == 0


def test_a_view_has_another_layout_of_the_same_storage():
    data = counting_tensor(2, 3)
    column = data.as_view((2,), (3,), 1)
    column.set((1,), 40.0)
    assert column.array().tolist() == [1, 40]
    assert data.get((1, 1)) == 40.0
    assert (column.dims, column.size, column.offset) == (1, 2, 1)


@pytest.mark.parametrize("shape", [(6,), (3, 2), (1, 6, 1), (2, 3)])
def test_reshaping_keeps_elements_order_and_storage(shape):
    data = TensorData(np.arange(8.0), (2, 3), (3, 1), 2)
    view = data.reshape(shape)
    assert np.array_equal(view.array(), np.arange(2.0, 8.0).reshape(shape))
    assert view._storage is data._storage


@pytest.mark.parametrize("again", [copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_a_copy_has_its_own_storage(again):
    data = counting_tensor(2, 3).permute(1, 0)
    other = again(data)
    other.set((0, 0), 9.0)
    assert (other.shape, other.strides, other.array().tolist()) == ((3, 2), (1, 3), [[9, 3], [1, 4], [2, 5]])
    assert (data.get((0, 0)), data.version, other.version) == (0.0, 0, 1)


def test_a_read_only_array_is_not_written():
    array = np.arange(4.0)
    array.flags.writeable = False
    data = TensorData(array, (2, 2))
    assert data.array().flags.writeable is False
    with raises(ValueError, "assignment destination is read-only"):
        data.set((0, 0), 9.0)
    assert data.version == 0


def test_the_package_exports_the_published_names():
    functions = ("index_to_position", "to_index", "broadcast_index", "shape_broadcast", "strides_from_shape")
    for name in (*functions, "TensorData", "IndexingError"):
        assert getattr(minitorch, name) is getattr(minitorch.tensor_data, name)
