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

shapes = lists(integers(0, 4), max_size=4).map(tuple)


def message(call, *args, **kwargs):
    """The type and text of the error that a call raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the tests compare type and message
        call(*args, **kwargs)
    return caught.type, str(caught.value)


def counting_tensor(*shape):
    """A contiguous tensor whose elements are their positions."""
    return TensorData(np.arange(float(np.prod(shape, dtype=int))), shape)


# Shapes and strides


@pytest.mark.parametrize(
    ("shape", "strides"), [((2, 3, 4), (12, 4, 1)), ((5,), (1,)), ((), ()), ((1, 1), (1, 1)), ([4, 2, 2], (4, 2, 1)), ((3, 0), (0, 1))]
)
def test_contiguous_strides_count_the_elements_of_later_dimensions(shape, strides):
    assert strides_from_shape(shape) == strides


@pytest.mark.parametrize(
    ("shape", "strides", "big_shape", "expected"),
    [
        ((3,), (1,), (2, 3), (0, 1)),
        ((2, 1), (5, 1), (2, 3), (5, 0)),
        ((), (), (2, 2), (0, 0)),
        ((2, 3), (1, 2), (2, 3), (1, 2)),
        ((1, 0), (7, 7), (4, 0), (0, 0)),
    ],
)
def test_a_broadcast_dimension_has_stride_0(shape, strides, big_shape, expected):
    assert broadcast_strides(shape, strides, big_shape) == expected


@given(lists(integers(0, 3), max_size=3), integers(0, 3))
@example([], 1)
@example([2, 0, 3], 1)
@example([2, 3], 0)
def test_positions_lists_the_position_of_every_index_in_order(shape, gap):
    strides = [gap * (i + 1) for i in range(len(shape))]
    expected = [sum(i * stride for i, stride in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    assert positions(shape, strides) == expected


def test_a_shape_is_read_from_any_sequence_of_integers():
    assert as_shape([2, 3]) == (2, 3)
    assert as_shape(4) == (4,)
    assert as_shape(np.array([2, 0])) == (2, 0)
    assert as_shape(()) == ()
    assert all(type(size) is int for size in as_shape(np.array([2, 3])))
    assert len(as_shape((1,) * MAX_DIMS)) == MAX_DIMS


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        ((2.0, 3), TypeError, "view expected whole numbers, got (2.0, 3); write it as (2, 3)"),
        (float("nan"), TypeError, "view expected whole numbers, got nan; write it as (2, 3)"),
        ("ab", TypeError, "view expected whole numbers, got 'ab'; write it as (2, 3)"),
        (None, TypeError, "view expected whole numbers, got None; write it as (2, 3)"),
        ((2, -1), ValueError, "view expected sizes of at least 0, got (2, -1)"),
        ((1,) * 33, ValueError, "view expected at most 32 dimensions, got 33"),
    ],
)
def test_an_invalid_shape_is_refused(shape, kind, text):
    assert message(as_shape, shape, "view") == (kind, text)


def test_an_error_names_both_shapes_that_do_not_broadcast():
    assert message(shape_broadcast, (5, 2), [5]) == (
        IndexingError,
        "shapes (5, 2) and (5,) do not broadcast: aligned from the right, 2 does not match 5; "
        "sizes must be equal, or one of them 1 (view can insert a 1)",
    )
    assert message(shape_broadcast, (2, 3), (4, 3))[1].startswith(
        "shapes (2, 3) and (4, 3) do not broadcast: aligned from the right, 2 does not match 4;"
    )


def test_an_indexing_error_is_an_index_error():
    assert issubclass(IndexingError, RuntimeError)
    assert issubclass(IndexingError, IndexError)


def test_the_published_method_name_broadcasts_shapes():
    assert TensorData.shape_broadcast((2, 1), (3,)) == (2, 3)


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


def test_strides_and_offset_select_elements_of_the_storage():
    storage = np.arange(10.0)
    assert TensorData(storage, (2, 3), (1, 2), 3).array().tolist() == [[3, 5, 7], [4, 6, 8]]
    assert TensorData(storage, (2, 2), (0, 1), 8).array().tolist() == [[8, 9], [8, 9]]
    assert TensorData(storage, (), (), 9).array() == 9
    assert TensorData(storage, (2,), offset=8).array().tolist() == [8, 9]


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
    ("args", "kind", "text"),
    [
        (([1, 2], (3,)), ValueError, "shape (3,) needs 3 elements, got a storage of 2"),
        (([1, 2, 3, 4], (3,)), ValueError, "shape (3,) needs 3 elements, got a storage of 4"),
        (([1, 2], ()), ValueError, "shape () needs 1 elements, got a storage of 2"),
        (([1, 2, 3, 4], (2, 2), (3, 1)), ValueError, "shape (2, 2) needs 5 elements, got a storage of 4"),
        (([1, 2, 3, 4], (2, 2), (2, 1), 1), ValueError, "shape (2, 2) needs 5 elements, got a storage of 4"),
        (([1, 2], (2,), None, 1), ValueError, "shape (2,) needs 3 elements, got a storage of 2"),
        (([1, 2], (0,), (1,), 3), ValueError, "shape (0,) needs 3 elements, got a storage of 2"),
        (([1, 2], (2,), (2, 1)), IndexingError, "expected as many strides as dimensions, got shape (2,) with strides (2, 1)"),
        (([1, 2], (2, 1), (1,)), IndexingError, "expected as many strides as dimensions, got shape (2, 1) with strides (1,)"),
        (
            ([1, 2], (2,), (-1,), 1),
            ValueError,
            "expected strides and offset of at least 0, got strides (-1,), offset 1; copy the values",
        ),
        (
            ([1, 2], (1,), (1,), -1),
            ValueError,
            "expected strides and offset of at least 0, got strides (1,), offset -1; copy the values",
        ),
        (([1, 2], (2, -1)), ValueError, "a shape expected sizes of at least 0, got (2, -1)"),
        (
            (np.zeros((2, 3)), (2, 3)),
            ValueError,
            "a storage expected one dimension, got an array of shape (2, 3); pass array.reshape(-1)",
        ),
        (
            (np.zeros(6)[::2], (3,)),
            ValueError,
            "a storage expected a contiguous array; pass array.copy()",
        ),
        (
            (np.zeros(2, "complex128"), (2,)),
            TypeError,
            "expected a dtype of float64, float32, int64, int32, bool, float16, bfloat16, int16, int8, uint8, got 'complex128'; "
            "convert the values to one of these first",
        ),
    ],
)
def test_a_layout_that_exceeds_its_storage_is_refused(args, kind, text):
    assert message(TensorData, *args) == (kind, text)


def test_zeros_refuses_an_invalid_shape():
    assert message(TensorData.zeros, (2, -1)) == (ValueError, "a shape expected sizes of at least 0, got (2, -1)")


# Text representation


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        ((3, 5), (5, 1), True),
        ((5, 3), (1, 5), False),
        ((2, 3), (6, 2), False),
        ((2, 3), (4, 1), False),
        ((3,), (1,), True),
        ((3,), (2,), False),
        ((), (), True),
        ((1, 3), (99, 1), True),
        ((3, 1), (1, 99), True),
        ((2, 2), (0, 1), False),
        ((0, 3), (1, 7), True),
    ],
)
def test_contiguous_means_adjacent_elements_in_row_major_order(shape, strides, contiguous):
    """The stride of a dimension of size 1 does not matter; if there are no elements, no stride matters."""
    assert TensorData(np.zeros(100), shape, strides).is_contiguous() is contiguous


def test_a_view_with_an_offset_may_be_contiguous():
    assert TensorData(np.zeros(9), (2, 3), (3, 1), 3).is_contiguous()


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
    assert TensorData([], (2, 0)).array().shape == (2, 0)


def test_the_text_of_a_tensor_is_nested_brackets():
    assert counting_tensor(2, 2).to_string() == "[[0., 1.],\n [2., 3.]]"
    assert TensorData([7.0], ()).to_string() == "7."
    assert TensorData([], (0,)).to_string() == "[]"
    assert TensorData([float("nan"), float("-inf")], (2,)).to_string() == "[ nan, -inf]"
    assert "..." in counting_tensor(2000).to_string()


def test_the_repr_of_tensor_data_is_its_layout():
    assert repr(TensorData(np.arange(9), (2, 2), (1, 3), 4)) == "TensorData(shape=(2, 2), strides=(1, 3), offset=4, dtype=int64)"


# Elements


def test_an_index_gives_a_position_in_storage():
    data = TensorData(np.arange(20.0), (2, 3), (1, 4), 5)
    assert data.index((1, 2)) == 14
    assert data.index([1, 2]) == 14
    assert data.index(np.array([0, 0])) == 5
    assert TensorData(np.arange(3.0), (3,)).index(2) == 2
    assert TensorData([4.0], ()).index(()) == 0


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ((1,), "expected an index of 2 numbers for shape (2, 3), got (1,)"),
        (1, "expected an index of 2 numbers for shape (2, 3), got (1,)"),
        ((0, 0, 0), "expected an index of 2 numbers for shape (2, 3), got (0, 0, 0)"),
        ((2, 0), "index (2, 0) is out of range for shape (2, 3): in dimension 0 it must be 0 to 1"),
        ((1, 3), "index (1, 3) is out of range for shape (2, 3): in dimension 1 it must be 0 to 2"),
        ((1, -1), "index (1, -1) is out of range for shape (2, 3): in dimension 1 it must be 0 to 2"),
    ],
)
def test_an_index_outside_the_shape_is_refused(index, text):
    assert message(counting_tensor(2, 3).index, index) == (IndexingError, text)


def test_an_empty_tensor_has_no_index():
    assert message(TensorData([], (2, 0)).index, (1, 0)) == (
        IndexingError,
        "index (1, 0) is out of range for shape (2, 0): in dimension 1 there are no elements",
    )


@given(shapes)
@example(())
@example((2, 0, 3))
def test_indices_yields_every_index_once(shape):
    data = TensorData.zeros(shape)
    assert list(data.indices()) == list(np.ndindex(*shape))
    assert list(data.indices()) == list(data.indices())


@given(lists(integers(1, 3), max_size=3))
@example([])
def test_sample_returns_one_of_the_indices(shape):
    data = TensorData.zeros(shape)
    assert data.sample() in set(data.indices())


def test_samples_cover_every_element():
    data = counting_tensor(2, 2)
    assert {data.sample() for _ in range(500)} == set(data.indices())


def test_an_empty_tensor_has_no_sample():
    assert message(TensorData([], (2, 0)).sample) == (IndexingError, "sample expected a tensor with elements, got shape (2, 0)")


def test_elements_are_python_numbers():
    assert type(TensorData(np.array([1], "int32"), (1,)).get((0,))) is int
    assert type(TensorData(np.array([True]), (1,)).get((0,))) is bool
    assert type(counting_tensor(1).get((0,))) is float


def test_get_and_set_access_the_same_element_through_every_view():
    data = TensorData(np.arange(20.0), (2, 3), (1, 4), 5)
    data.set((1, 2), -1.0)
    assert data.get((1, 2)) == -1.0
    assert data._storage[14] == -1.0
    assert (data._storage == -1).sum() == 1


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


def test_tensors_with_one_element_and_empty_tensors_can_be_reshaped():
    assert TensorData([5.0], ()).reshape((1, 1)).array().tolist() == [[5.0]]
    assert TensorData([], (0, 3)).reshape((2, 0)).shape == (2, 0)


def test_an_impossible_reshape_is_refused():
    data = counting_tensor(2, 3)
    assert message(data.reshape, (4,)) == (ValueError, "view expected a shape of 6 elements like (2, 3), got (4,) of 4")
    assert message(data.permute(1, 0).reshape, (6,)) == (
        ValueError,
        "view expected contiguous elements, got shape (3, 2) with strides (1, 3); call contiguous() first, or reshape",
    )


def test_an_order_that_is_not_a_permutation_is_refused():
    assert message(counting_tensor(2, 3).permute, 0, 2) == (
        IndexingError,
        "permute expected each of the dimensions (0, 1) of shape (2, 3) once, got (0, 2)",
    )
    assert message(TensorData([1.0], ()).permute, 0) == (
        IndexingError,
        "permute expected each of the dimensions () of shape () once, got (0,)",
    )


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
    assert message(data.set, (0, 0), 9.0) == (ValueError, "assignment destination is read-only")
    assert data.version == 0


def test_the_package_exports_the_published_names():
    for name in (
        "index_to_position",
        "to_index",
        "broadcast_index",
        "shape_broadcast",
        "strides_from_shape",
        "TensorData",
        "IndexingError",
    ):
        assert getattr(minitorch, name) is getattr(minitorch.tensor_data, name)
