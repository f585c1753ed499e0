"""Tasks 2.1 and 2.2: positions and indices in strided storage, permuted views, and broadcasting. NumPy is the reference."""

import math

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import booleans, composite, data, integers, just, lists, permutations, sampled_from
from numba.extending import register_jitable

from minitorch import IndexingError, TensorData, broadcast_index, index_to_position, shape_broadcast, to_index
from minitorch.tensor_data import MAX_DIMS

shapes = lists(integers(1, 4), max_size=4).map(tuple)
"""Shapes of tensors that have elements, from () on."""


@composite
def layouts(draw, min_size=1):
    """A view of a storage, and the same elements as a NumPy array. Element values identify their positions; any order, offset and gaps."""
    shape = draw(lists(integers(min_size, 3), max_size=4))
    order = draw(permutations(range(len(shape))))
    strides, step = [0] * len(shape), draw(integers(1, 2))
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1) + draw(integers(0, 1))
    if draw(booleans()):
        strides = [draw(sampled_from([stride, 0])) for stride in strides]
    offset = draw(integers(0, 3))
    size = offset + sum(max(length - 1, 0) * stride for length, stride in zip(shape, strides, strict=True)) + 1
    storage = np.arange(float(size))
    array = np.lib.stride_tricks.as_strided(storage[offset:], shape, [8 * stride for stride in strides])
    return TensorData(storage, tuple(shape), tuple(strides), offset), array


def compiled(fn):
    """An index function as a kernel of Module 3 calls it, compiled even where the compiler is off (NUMBA_DISABLE_JIT=1)."""
    for each in (index_to_position, to_index, broadcast_index):
        register_jitable(each)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 0)
        return numba.njit(error_model="numpy")(fn)


def ints(*numbers):
    """An index, shape or strides as Module 3 passes them."""
    return np.array(numbers, np.int32)


# Task 2.1: index_to_position


@pytest.mark.task2_1
@pytest.mark.parametrize(
    ("index", "strides", "position"),
    [
        ((1, 2), (3, 1), 5),
        ((1, 2), (1, 2), 5),
        ((2, 1), (1, 3), 5),
        ((0, 0), (3, 1), 0),
        ((1, 0), (3, 1), 3),
        ((0, 2), (3, 1), 2),
        ((1, 2, 3), (12, 4, 1), 23),
        ((3, 2, 1), (10, 100, 1000), 1230),
    ],
)
def test_every_dimension_adds_its_steps(index, strides, position):
    """A position is the sum of index times stride over all dimensions: (1, 2) with strides (3, 1) is 1 · 3 + 2 · 1 = 5."""
    assert index_to_position(index, strides) == position


@pytest.mark.task2_1
def test_the_only_element_of_a_tensor_without_dimensions_stands_at_0():
    """With no index and no strides there is nothing to add: the position is 0."""
    assert index_to_position((), ()) == 0


@pytest.mark.task2_1
def test_a_stride_of_0_stays_where_it_is():
    """With a stride of 0, every index leads to the same position: the dimension repeats its elements."""
    assert index_to_position((4, 2), (0, 1)) == 2


@pytest.mark.task2_1
@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_index_and_strides_may_be_tuples_lists_or_arrays_and_stay_as_they_are(kind):
    """Indices and strides may be tuples, lists or NumPy arrays, and are not modified."""
    index, strides = kind((1, 2)), kind((3, 1))
    assert index_to_position(index, strides) == 5
    assert tuple(index) == (1, 2)
    assert tuple(strides) == (3, 1)


@pytest.mark.task2_1
def test_an_index_may_stand_in_a_longer_buffer():
    """An index may be longer than the strides; numbers past their end are ignored."""
    index = np.full(MAX_DIMS, 7)
    index[:2] = 1, 2
    assert index_to_position(index, (3, 1)) == 5


@pytest.mark.task2_1
@given(layouts(), data())
def test_positions_in_views_of_every_layout(layout, data):
    """In every view, contiguous or not, index_to_position gives the distance of an element from the view's first element."""
    view, array = layout
    index = tuple(data.draw(integers(0, length - 1)) for length in view.shape)
    first = array[(0,) * array.ndim]
    assert index_to_position(index, view.strides) == array[index] - first


@pytest.mark.task2_1
def test_module_3_compiles_index_to_position():
    """Module 3 compiles this function: it may use loops over range, indexing and arithmetic, but no generator expression."""
    position = compiled(index_to_position)
    assert position(ints(1, 2, 3), ints(12, 4, 1)) == 23
    assert position(ints(1, 2, 9), ints(1, 2)) == 5
    assert position(ints(9), ints()) == 0


# Task 2.1: to_index


@pytest.mark.task2_1
def test_the_last_dimension_runs_fastest():
    """The elements of shape (2, 3) are numbered row by row: (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)."""
    found = []
    for ordinal in range(6):
        index = [0, 0]
        to_index(ordinal, (2, 3), index)
        found.append(tuple(index))
    assert found == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


@pytest.mark.task2_1
@pytest.mark.parametrize(
    ("ordinal", "shape", "expected"),
    [
        (0, (2, 3, 4), [0, 0, 0]),
        (23, (2, 3, 4), [1, 2, 3]),
        (17, (2, 3, 4), [1, 1, 1]),
        (4, (5,), [4]),
        (0, (1,), [0]),
        (2, (1, 3, 1), [0, 2, 0]),
        (3, (4, 1), [3, 0]),
    ],
)
def test_an_ordinal_is_taken_apart(ordinal, shape, expected):
    """In shape (2, 3, 4), element 17 has the index (1, 1, 1): 17 = 1 · 12 + 1 · 4 + 1."""
    index = [9] * len(shape)
    to_index(ordinal, shape, index)
    assert index == expected


@pytest.mark.task2_1
def test_the_index_is_written_not_returned():
    """to_index overwrites out_index and returns nothing."""
    index = [-5, 99]
    assert to_index(4, (2, 3), index) is None
    assert index == [1, 1]


@pytest.mark.task2_1
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_out_index_may_be_an_array_that_is_longer(dtype):
    """out_index may be a NumPy array longer than the shape; the rest of it does not change."""
    index = np.full(MAX_DIMS, -1, dtype)
    to_index(17, (2, 3, 4), index)
    assert index[:3].tolist() == [1, 1, 1]
    assert index[3:].tolist() == [-1] * (MAX_DIMS - 3)


@pytest.mark.task2_1
def test_the_index_of_a_tensor_without_dimensions_is_empty():
    """A tensor of shape () has one element and no dimensions: to_index writes nothing."""
    index = [8, 9]
    to_index(0, (), index)
    assert index == [8, 9]


@pytest.mark.task2_1
@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_the_shape_may_be_a_tuple_list_or_array_and_stays_as_it_is(kind):
    """The shape may be a tuple, a list or a NumPy array, and is not modified."""
    shape, index = kind((2, 3)), [0, 0]
    to_index(5, shape, index)
    assert index == [1, 2]
    assert tuple(shape) == (2, 3)


@pytest.mark.task2_1
@given(shapes)
@example(())
@example((1, 1))
@example((4, 1, 3, 2))
def test_every_index_comes_once_and_in_order(shape):
    """The ordinals from 0 to size - 1 give every index once, in NumPy's order."""
    found = []
    for ordinal in range(math.prod(shape)):
        index = [-1] * len(shape)
        to_index(ordinal, shape, index)
        found.append(tuple(index))
    assert found == list(np.ndindex(*shape))


@pytest.mark.task2_1
def test_module_3_compiles_to_index():
    """Module 3 compiles this function: it may use loops over range, indexing and arithmetic, but not reversed."""
    index_of = compiled(to_index)
    for ordinal, shape, expected in ((17, (2, 3, 4), [1, 1, 1]), (5, (3, 2), [2, 1]), (2, (1, 3, 1), [0, 2, 0]), (0, (), [])):
        index = np.full(MAX_DIMS, -1, np.int32)
        index_of(np.uint64(ordinal), ints(*shape), index)  # the variable of a prange is unsigned
        assert index.tolist() == expected + [-1] * (MAX_DIMS - len(shape))


# Task 2.1: permute


@pytest.mark.task2_1
@pytest.mark.parametrize(
    ("order", "shape", "strides"),
    [
        ((0, 1, 2), (2, 3, 4), (12, 4, 1)),
        ((2, 1, 0), (4, 3, 2), (1, 4, 12)),
        ((1, 2, 0), (3, 4, 2), (4, 1, 12)),
        ((2, 0, 1), (4, 2, 3), (1, 12, 4)),
        ((0, 2, 1), (2, 4, 3), (12, 1, 4)),
    ],
)
def test_shape_and_strides_change_places_together(order, shape, strides):
    """permute(1, 2, 0): the first dimension of the result is the old dimension 1, with its size and its stride."""
    permuted = TensorData(list(range(24)), (2, 3, 4)).permute(*order)
    assert (permuted.shape, permuted.strides) == (shape, strides)


@pytest.mark.task2_1
@given(layouts(min_size=0), data())
def test_permuting_is_transposing(layout, data):
    """permute(*order) of any view holds the same elements as NumPy's transpose(order)."""
    view, array = layout
    order = data.draw(permutations(range(view.dims)))
    permuted = view.permute(*order)
    expected = array.transpose(order)
    assert permuted.shape == expected.shape
    assert (permuted.size, permuted.dims) == (expected.size, expected.ndim)
    assert permuted.array().tolist() == expected.tolist()
    assert permuted.offset == view.offset


@pytest.mark.task2_1
def test_permuting_a_permuted_view_goes_on_from_there():
    """Dimensions refer to the view that is permuted: (1, 2, 0) three times gives the original view."""
    data = TensorData(list(range(24)), (2, 3, 4))
    once = data.permute(1, 2, 0)
    twice = once.permute(1, 2, 0)
    thrice = twice.permute(1, 2, 0)
    assert (twice.shape, twice.strides) == ((4, 2, 3), (1, 12, 4))
    assert (thrice.shape, thrice.strides) == (data.shape, data.strides)


@pytest.mark.task2_1
def test_elements_are_found_in_a_permuted_view():
    """The element at (i, j) of a tensor is at (j, i) of its transpose."""
    data = TensorData([0, 1, 2, 3, 4, 5], (2, 3))
    permuted = data.permute(1, 0)
    assert [[permuted.get((j, i)) for j in range(3)] for i in range(2)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.task2_1
def test_permute_copies_nothing():
    """A permuted view shares the storage: a write through one of the two shows in the other."""
    data = TensorData([0, 1, 2, 3, 4, 5], (2, 3))
    permuted = data.permute(1, 0)
    permuted.set((2, 0), 20.0)
    data.set((1, 0), 30.0)
    assert data.get((0, 2)) == 20.0
    assert permuted.get((0, 1)) == 30.0
    assert permuted.dtype == data.dtype


@pytest.mark.task2_1
def test_a_view_that_begins_later_in_its_storage_is_permuted_where_it_is():
    """The offset stays the same: the transposed view of a table's last two columns still begins at the second column."""
    storage = np.array([0, 1, 2, 3, 4, 5])
    permuted = TensorData(storage, (2, 2), (3, 1), 1).permute(1, 0)
    assert permuted.array().tolist() == [[1, 4], [2, 5]]
    permuted.set((1, 0), 20)
    assert storage.tolist() == [0, 1, 20, 3, 4, 5]


@pytest.mark.task2_1
def test_a_write_through_a_permuted_view_is_counted_by_all():
    """Views of one storage share its version counter: the result must come from as_view, not from a new TensorData."""
    data = TensorData([0, 1, 2, 3], (2, 2))
    permuted = data.permute(1, 0)
    permuted.set((0, 1), 9.0)
    assert (data.version, permuted.version) == (1, 1)


@pytest.mark.task2_1
def test_permute_leaves_the_tensor_as_it_was():
    """permute returns a new view; the old one keeps its shape and strides."""
    data = TensorData(list(range(6)), (2, 3))
    assert data.permute(1, 0) is not data
    assert (data.shape, data.strides) == ((2, 3), (3, 1))


@pytest.mark.task2_1
def test_a_tensor_without_dimensions_is_permuted_by_nothing():
    """A tensor of shape () has no dimensions to reorder: permute() is a view of the same element."""
    permuted = TensorData([7.0], ()).permute()
    assert (permuted.shape, permuted.strides) == ((), ())
    assert permuted.array() == 7.0


@pytest.mark.task2_1
def test_an_empty_tensor_can_be_permuted():
    """A dimension of size 0 moves like any other."""
    permuted = TensorData([], (0, 3)).permute(1, 0)
    assert (permuted.shape, permuted.size) == ((3, 0), 0)


@pytest.mark.task2_1
@pytest.mark.parametrize("order", [(), (0,), (1,), (0, 0), (1, 1), (0, 2), (1, 2), (-1, 0), (0, -1), (0, 1, 2), (0, 1, 1)])
def test_an_order_names_each_dimension_once(order):
    """An order with a missing, repeated or nonexistent dimension raises IndexingError."""
    with pytest.raises(IndexingError):
        TensorData(list(range(6)), (2, 3)).permute(*order)


# Task 2.2: shape_broadcast


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("shape1", "shape2", "together"),
    [
        ((1,), (5, 5), (5, 5)),
        ((1, 5, 5), (5, 5), (1, 5, 5)),
        ((5, 1, 5, 1), (1, 5, 1, 5), (5, 5, 5, 5)),
        ((2, 5), (5,), (2, 5)),
        ((2, 3), (2, 3), (2, 3)),
        ((4, 3), (4, 1), (4, 3)),
        ((3, 1), (1, 4), (3, 4)),
        ((7, 1, 5), (6, 1), (7, 6, 5)),
        ((), (2, 3), (2, 3)),
        ((), (), ()),
        ((1,), (), (1,)),
        ((1, 1), (1,), (1, 1)),
    ],
)
def test_shapes_meet_at_their_right_ends(shape1, shape2, together):
    """Shapes are aligned from the right; where one has size 1 or no dimension, the other's size counts, in both argument orders."""
    assert shape_broadcast(shape1, shape2) == together
    assert shape_broadcast(shape2, shape1) == together


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("shape1", "shape2"), [((5, 7, 5, 1), (1, 5, 1, 5)), ((5, 2), (5,)), ((2,), (3,)), ((2, 3), (3, 2)), ((2, 3), (6,)), ((4, 3), (2, 3))]
)
def test_sizes_that_differ_and_are_not_1_raise(shape1, shape2):
    """Two sizes that differ, neither of them 1, raise IndexingError, in both argument orders: (5, 2) and (5,) pair 2 with 5."""
    with pytest.raises(IndexingError):
        shape_broadcast(shape1, shape2)
    with pytest.raises(IndexingError):
        shape_broadcast(shape2, shape1)


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("shape1", "shape2", "together"),
    [((0,), (1,), (0,)), ((0, 3), (3,), (0, 3)), ((0,), (0,), (0,)), ((0,), (), (0,)), ((3, 1), (0,), (3, 0)), ((1, 0), (4, 1), (4, 0))],
)
def test_a_size_of_0_is_a_size_like_any_other(shape1, shape2, together):
    """0 and 1 broadcast to 0, as 5 and 1 broadcast to 5."""
    assert shape_broadcast(shape1, shape2) == together
    assert shape_broadcast(shape2, shape1) == together


@pytest.mark.task2_2
@pytest.mark.parametrize(("shape1", "shape2"), [((0,), (2,)), ((3, 0), (3, 2))])
def test_a_size_of_0_does_not_stretch(shape1, shape2):
    """0 and 2 do not broadcast: only a size of 1 stretches."""
    with pytest.raises(IndexingError):
        shape_broadcast(shape1, shape2)
    with pytest.raises(IndexingError):
        shape_broadcast(shape2, shape1)


@pytest.mark.task2_2
def test_the_shape_together_is_a_tuple_and_the_shapes_stay_as_they_are():
    """shape_broadcast returns a tuple, also for lists, and modifies neither argument."""
    shape1, shape2 = [2, 1], [3]
    assert shape_broadcast(shape1, shape2) == (2, 3)
    assert (shape1, shape2) == ([2, 1], [3])


@pytest.mark.task2_2
@given(lists(integers(0, 3), max_size=4).map(tuple), lists(integers(0, 3), max_size=4).map(tuple))
@example((2, 1, 3), (2, 3))
@example((1, 2), (3, 1, 1))
def test_shapes_go_together_where_numpys_do(shape1, shape2):
    """Two shapes broadcast exactly if NumPy broadcasts them, and to the same shape."""
    try:
        together = np.broadcast_shapes(shape1, shape2)
    except ValueError:
        with pytest.raises(IndexingError):
            shape_broadcast(shape1, shape2)
    else:
        assert shape_broadcast(shape1, shape2) == together


# Task 2.2: broadcast_index


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("big_index", "big_shape", "shape", "expected"),
    [
        ((1, 2), (2, 3), (2, 3), [1, 2]),
        ((1, 2), (2, 3), (3,), [2]),
        ((1, 2), (2, 3), (1, 3), [0, 2]),
        ((1, 2), (2, 3), (2, 1), [1, 0]),
        ((1, 2), (2, 3), (1,), [0]),
        ((1, 2), (2, 3), (1, 1), [0, 0]),
        ((3, 1, 2), (4, 2, 3), (2, 1), [1, 0]),
        ((3, 1, 2), (4, 2, 3), (4, 1, 3), [3, 0, 2]),
        ((0, 1), (1, 2), (1, 2), [0, 1]),
        ((1, 2), (2, 3), (), []),
        ((), (), (), []),
    ],
)
def test_an_index_of_the_big_tensor_becomes_one_of_the_small(big_index, big_shape, shape, expected):
    """Index (1, 2) of shape (2, 3) becomes (2,) of shape (3,): missing dimensions are dropped, and where the size is 1 the index is 0."""
    index = [9] * len(shape)
    broadcast_index(big_index, big_shape, shape, index)
    assert index == expected


@pytest.mark.task2_2
def test_the_small_index_is_written_not_returned():
    """broadcast_index overwrites out_index, returns nothing and does not modify big_index."""
    big_index, index = [1, 2], [-5, 99]
    assert broadcast_index(big_index, (2, 3), (2, 1), index) is None
    assert index == [1, 0]
    assert big_index == [1, 2]


@pytest.mark.task2_2
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_indices_may_stand_in_longer_buffers(dtype):
    """Both indices may be NumPy arrays longer than their shapes; numbers past the end are neither read nor written."""
    big_index, index = np.full(MAX_DIMS, 7, dtype), np.full(MAX_DIMS, -1, dtype)
    big_index[:3] = 3, 1, 2
    broadcast_index(big_index, (4, 2, 3), (2, 3), index)
    assert index[:2].tolist() == [1, 2]
    assert index[2:].tolist() == [-1] * (MAX_DIMS - 2)


@pytest.mark.task2_2
@pytest.mark.parametrize("kind", [tuple, list, np.array])
def test_the_shapes_may_be_tuples_lists_or_arrays(kind):
    """Both shapes may be tuples, lists or NumPy arrays."""
    index = [9, 9]
    broadcast_index((3, 1, 2), kind((4, 2, 3)), kind((1, 3)), index)
    assert index == [0, 2]


@composite
def pairs(draw):
    """A shape, and a smaller one that broadcasts to it."""
    big = draw(shapes)
    small = big[draw(integers(0, len(big))) :]
    return big, tuple(draw(just(length) | just(1)) for length in small)


@pytest.mark.task2_2
@given(pairs())
@example(((2, 3, 4), (1, 3, 1)))
@example(((3, 2), (2,)))
def test_the_small_tensor_has_at_its_index_what_numpy_repeats_there(pair):
    """For every index of the big shape, the small tensor's element is the one that NumPy's broadcast_to shows there."""
    big_shape, shape = pair
    small = np.arange(math.prod(shape)).reshape(shape)
    big = np.broadcast_to(small, big_shape)
    for big_index in np.ndindex(*big_shape):
        index = [-1] * len(shape)
        broadcast_index(big_index, big_shape, shape, index)
        assert all(0 <= i < length for i, length in zip(index, shape, strict=True))
        assert small[tuple(index)] == big[big_index]


@pytest.mark.task2_2
def test_module_3_compiles_broadcast_index():
    """Module 3 compiles this function: it may use loops over range, indexing and arithmetic, but neither reversed nor zip_longest."""
    index_of = compiled(broadcast_index)
    for shape, expected in (((2, 1), [1, 0]), ((4, 1, 3), [3, 0, 2]), ((3,), [2]), ((), [])):
        index = np.full(MAX_DIMS, -1, np.int32)
        index_of(ints(3, 1, 2), ints(4, 2, 3), ints(*shape), index)
        assert index.tolist() == expected + [-1] * (MAX_DIMS - len(shape))
