"""What the table of ops cannot say: infinities, NaN, zeros, ties, exact whole numbers, and what happens twice."""

import math
import warnings

import numpy as np
import pytest

from minitorch import Tensor, bool_, cat, float32, float64, int32, int64, no_grad, tensor, where, zeros
from tests.op_table import ELEMENTWISE, SELECTIONS

INF, NAN = math.inf, math.nan


def gradient(f, values):
    """The gradient of the sum of f at these values, as nested lists."""
    x = tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


# What floats do at their ends

ENDS = [NAN, INF, -INF, 0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, 710.0, -710.0, 1e300, -1e300, 1e-300]


@pytest.mark.parametrize("op", [op for op in (*ELEMENTWISE, *SELECTIONS) if {*op.domains} != {"mask"}], ids=lambda op: op.name)
def test_infinities_nan_and_overflow_are_numpys(op):
    pairs = np.array([(a, b) for a in ENDS for b in ENDS])
    columns = iter(pairs.T)
    arrays = [np.arange(len(pairs)) % 3 == 0 if domain == "mask" else next(columns).copy() for domain in op.domains]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = op.numpy(*arrays)
    np.testing.assert_allclose(op.ours(*[tensor(array) for array in arrays]).to_numpy(), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("values", "largest", "smallest"),
    [
        ([1.0, NAN, 3.0], NAN, NAN), ([NAN, NAN], NAN, NAN), ([-INF, -INF], -INF, -INF), ([INF, 1.0], INF, 1.0),
        ([-INF, INF], INF, -INF), ([-3.0], -3.0, -3.0),
    ],
)  # fmt: skip
def test_max_and_min_of_what_is_not_finite(values, largest, smallest):
    x = tensor(values)
    assert x.max().tolist() == pytest.approx([largest], nan_ok=True)
    assert x.min().tolist() == pytest.approx([smallest], nan_ok=True)
    assert x.argmax().item() == np.argmax(values)
    assert x.argmin().item() == np.argmin(values)


@pytest.mark.parametrize("dtype", [int64, int32])
def test_max_and_min_find_the_ends_of_whole_numbers(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for values in ([low, low], [high, high], [low, high]):
        x = tensor(np.array(values, dtype))
        assert (x.max().tolist(), x.min().tolist()) == ([max(values)], [min(values)])


# Where a derivative is a matter of choice


@pytest.mark.parametrize("f", [Tensor.max, lambda x: (-x).min() * -1], ids=["max", "min"])
def test_the_gradient_of_the_largest_goes_to_the_first_of_several(f):
    assert gradient(f, [2.0, 3.0, 3.0, 1.0, 3.0]) == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("dim", [None, (0, 1), (1, 0), (-1, -2)])
def test_the_first_of_several_is_the_first_in_reading_order(dim):
    assert gradient(lambda x: x.max(dim), [[1.0, 2.0], [2.0, 1.0]]) == [[0, 1], [0, 0]]
    assert gradient(lambda x: x.min(dim), [[2.0, 1.0], [1.0, 2.0]]) == [[0, 1], [0, 0]]


def test_the_gradient_of_a_maximum_that_is_nan_goes_to_the_nan():
    assert gradient(Tensor.max, [1.0, NAN, 3.0, NAN]) == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0, 3.0, 4.0], [12, 8, 6]), ([2.0, 0.0, 4.0], [0, 8, 0]), ([0.0, 3.0, 0.0], [0, 0, 0]), ([5.0], [1]), ([0.0], [1])],
)
def test_the_gradient_of_a_product_is_the_product_of_the_others_zeros_or_not(values, expected):
    assert gradient(Tensor.prod, values) == expected


def test_the_gradient_of_a_product_of_nothing_is_empty():
    assert gradient(Tensor.prod, []) == []
    assert gradient(lambda x: x.prod(1), [[], []]) == [[], []]


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (abs, 0.0, 0.0), (Tensor.relu, 0.0, 0.0), (Tensor.sqrt, 0.0, INF), (Tensor.std, 1.0, NAN), (lambda x: x / 0.0, 1.0, INF),
        # at a limit the gradient is that of a constant, as in PyTorch
        (lambda x: x.clip(-1, 1), 1.0, 0.0), (lambda x: x.clip(-1, 1), -1.0, 0.0), (lambda x: x.clip(-1, 1), 1.5, 0.0),
        (lambda x: x.clip(-1, 1), NAN, 0.0), (lambda x: x**0, 0.0, 0.0), (lambda x: x**0, 3.0, 0.0), (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**2, 0.0, 0.0), (lambda x: x**0.5, 0.0, INF), (lambda x: x**3, -2.0, 12.0), (lambda x: x**-1, -2.0, -0.25),
        (lambda x: 0.0**x, 2.0, 0.0), (lambda x: 2.0**x, 0.0, math.log(2.0)), (lambda x: (-2.0) ** x, 2.0, NAN),
        (Tensor.sigmoid, 1000.0, 0.0), (Tensor.sigmoid, -1000.0, 0.0), (Tensor.tanh, 1000.0, 0.0),
    ],
)  # fmt: skip
def test_the_gradient_at_a_kink_a_pole_or_an_end(f, at, expected):
    assert gradient(f, [at]) == pytest.approx([expected], rel=1e-15, nan_ok=True)


def test_what_where_does_not_pick_spoils_neither_value_nor_gradient():
    x = tensor([0.0, 4.0], requires_grad=True)
    assert where(x > 0, x, 1.0 / x).tolist() == [INF, 4.0]  # 1 / 0 is infinite, and is picked
    where(x > 0, x, tensor([NAN, NAN])).sum().backward()
    assert x.grad.tolist() == [0, 1]
    assert where(tensor([True, False]), tensor([1.0, NAN]), tensor([NAN, 2.0])).tolist() == [1, 2]


def test_where_takes_any_number_as_a_condition():
    assert where(tensor([2.0, 0.0, -1.0, NAN]), 1.0, 0.0).tolist() == [1, 0, 1, 1]
    condition = tensor([2.0, 0.0], requires_grad=True)
    where(condition, 3.0, 1.0).sum().backward()
    assert condition.grad.tolist() == [0, 0]


def test_where_of_two_numbers_has_their_dtype():
    condition = tensor([True, False])
    assert [where(condition, x, y).dtype for x, y in ((1, 0), (1.5, 0), (True, False))] == [int64, float64, bool_]


@pytest.mark.parametrize("name", ["var", "std"])
def test_of_too_few_elements_there_is_no_variance(name):
    for values in ([1.0], []):
        assert math.isnan(getattr(tensor(values), name)().item())
    assert getattr(tensor([1.0]), name)(correction=0).item() == 0
    assert getattr(tensor([1.0, 2.0]), name)(correction=3).item() == INF  # 0.5 / 0


# Whole numbers


def test_powers_of_whole_numbers_are_exact():
    assert (tensor([3], dtype=int64) ** 39).tolist() == [4052555153018976267]  # as a float it would end in 300
    assert (tensor([-7], dtype=int64) ** 3).tolist() == [-343]
    assert (tensor([0, 2], dtype=int32) ** 0).tolist() == [1, 1]


def test_sums_and_products_of_whole_numbers_are_exact():
    big, most = 2**53, tensor(np.array([2**31 - 1] * 2, np.int32))
    x = tensor(np.array([big, 1, 1]))
    assert (x.sum().tolist(), x.cumsum(0).tolist()) == ([big + 2], [big, big + 1, big + 2])
    assert (most.sum().tolist(), most.prod().tolist()) == ([2**32 - 2], [(2**31 - 1) ** 2])


def test_numbers_become_whole_by_cutting_off_their_fraction():
    x = tensor([2.9, -2.9, 0.5, -0.0, 1e18])
    assert x.to(int64).tolist() == [2, -2, 0, 0, 10**18]
    assert tensor([-(2.0**31) - 0.5, 2.0**31 - 0.5]).to(int32).tolist() == [-(2**31), 2**31 - 1]
    assert tensor([-(2.0**63)]).to(int64).tolist() == [-(2**63)]
    assert x.to(bool).tolist() == [True, True, True, False, True]
    assert tensor([NAN]).to(bool).tolist() == [True]


# Twice, and in between


def test_gradients_are_storages_of_their_own():
    x, y, seed = (tensor([1.0, 2.0], requires_grad=grad) for grad in (True, True, False))
    (x + y).backward(seed)
    parts = [x, y, seed, x.grad, y.grad]
    assert not any(np.shares_memory(a.numpy(), b.numpy()) for i, a in enumerate(parts) for b in parts[:i])


def test_pieces_that_were_split_and_joined_again_are_the_whole():
    for shape in [(5, 2), (0, 2), (1, 2)]:
        x = tensor(np.arange(math.prod(shape)).reshape(shape), dtype=float64)
        assert cat(x.split(2)).tolist() == x.tolist()
    assert [piece.shape for piece in zeros((5, 2)).split(2)] == [(2, 2), (2, 2), (1, 2)]
    assert [piece.shape for piece in zeros((0, 2)).split(2)] == [(0, 2)]
    assert [piece.shape for piece in zeros((3, 2)).split([0, 3, 0])] == [(0, 2), (3, 2), (0, 2)]
    assert zeros((0, 2)).split([]) == []


def test_joined_tensors_of_which_one_records_give_it_its_own_gradient():
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0])
    joined = cat([y, x, y, x])
    (joined * tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).sum().backward()
    assert x.grad.tolist() == [7, 9]
    assert y.grad is None
    assert not cat([y, y]).requires_grad


def test_reshape_and_contiguous_copy_only_when_they_must():
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.contiguous() is x
    assert np.shares_memory(x.reshape(4).numpy(), x.numpy())
    assert not np.shares_memory(x.t().reshape(4).numpy(), x.numpy())
    assert x.to(float64) is x
    assert x.to(x.backend) is x


def test_a_tensor_has_a_length_and_gives_its_rows():
    first, second = x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (len(x), first.tolist(), second.tolist()) == (2, [1, 2], [3, 4])
    assert (list(x[0]), list(tensor([]))) == ([1.0, 2.0], [])
    assert np.shares_memory(first.numpy(), x.numpy())


def test_tensors_are_told_apart_by_identity_not_by_value():
    x, y = tensor([1.0]), tensor([1.0])
    assert len({x, y, x}) == 2
    assert {x: "first", y: "second"}[y] == "second"


def test_no_grad_makes_constants_of_every_kind_of_op():
    x = tensor([[1.0, 2.0]], requires_grad=True)
    with no_grad():
        results = [x + 1, x.exp(), x.sum(), x.view(2), x[0], x.max(), cat([x, x]), x.to(float32), x @ x.t(), x.cumsum(0)]
    assert [result.requires_grad for result in results] == [False] * len(results)


def test_the_largest_of_negative_zeros_keeps_its_sign():
    assert math.copysign(1.0, tensor([-0.0, -0.0]).max().item()) == -1.0


@pytest.mark.parametrize("n", range(10))
def test_cumulative_sums_of_any_length_and_their_gradients(n):
    numbers, weights = np.arange(1, 3 * n + 1).reshape(n, 3), np.arange(3 * n)[::-1].reshape(n, 3) - 4.0
    x = tensor(numbers.astype(float)).requires_grad_()
    for dim, other in ((0, tensor(numbers)), (1, tensor(numbers.T).transpose(0, 1))):
        np.testing.assert_array_equal(other.cumsum(dim).to_numpy(), np.cumsum(numbers, dim))
    out = x.cumsum(0)
    np.testing.assert_array_equal(out.to_numpy(), np.cumsum(numbers, 0))
    out.backward(tensor(weights))
    np.testing.assert_array_equal(x.grad.to_numpy(), np.cumsum(weights[::-1], 0)[::-1])
    assert not np.shares_memory(out._tensor._storage, x._tensor._storage)
