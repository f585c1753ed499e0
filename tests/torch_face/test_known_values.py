"""Further functions of minitorch.torch without PyTorch: values are NumPy's or written out, and wrong arguments are named."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch

X = np.random.default_rng(0).standard_normal((3, 4))
Y = np.random.default_rng(1).standard_normal((3, 4))
HOLES = np.where(X > 1, np.nan, X)


def given(values: Any) -> Any:
    """Numbers as a tensor."""
    return torch.tensor(np.asarray(values))


VALUES: dict[str, tuple[Callable[[], Any], Any]] = {
    "atan2": (lambda: torch.atan2(given(X), given(Y)), np.arctan2(X, Y)),
    "copysign": (lambda: torch.copysign(given([1, -2, 0, 3]), given([-0.0, 0.0, -1.0, np.inf])), [-1, 2, 0, 3]),
    "signbit": (lambda: torch.signbit(given([0.0, -0.0, 2.0, -2.0, -np.inf])), [False, True, False, True, True]),
    "signbit, integers": (lambda: given([-1, 0, 1]).signbit(), [True, False, False]),
    "signbit of copysign": (lambda: given([0.0, -0.0, 1.0]).copysign(-0.0).signbit(), [True, True, True]),
    "nextafter": (
        lambda: torch.nextafter(given([1.0, 1.0, 0.0, 2.0]), given([2, 0, 1, 2])) - given([1, 1, 0, 2]),
        [2.0**-52, -(2.0**-53), 2.0**-1074, 0],
    ),
    "<<": (lambda: given([1, -3, 5, 1, 1]) << given([3, 2, 0, 64, -1]), [8, -12, 5, 0, 0]),
    ">>": (lambda: given([8, -9, 5, -8, 8]) >> given([3, 1, 0, 64, 64]), [1, -5, 5, -1, 0]),
    "5 << x": (lambda: 5 << given([0, 1, 2]), [5, 10, 20]),
    "-5 >> x": (lambda: -5 >> given([0, 1, 2]), [-5, -3, -2]),
    "int8": (lambda: given(np.array([1, 127, 64], np.int8)) << 1, [2, -2, -128]),
    "uint8": (lambda: torch.bitwise_left_shift(given(np.array([255, 3], np.uint8)), 2), [252, 12]),
    "vecdot": (lambda: torch.linalg.vecdot(given(X), given(Y)), (X * Y).sum(1)),
    "vecdot, dimension": (lambda: torch.linalg.vecdot(given(X), given(Y[:, :1]), dim=0), Y[:, 0] @ X),
    "vecdot, integers": (lambda: torch.linalg.vecdot(given([1, 2]), given([[3, 4], [5, 6]])), [11, 17]),
    "hypot": (lambda: torch.hypot(given(X * 1e200), given(Y * 1e200)), np.hypot(X * 1e200, Y * 1e200)),
    "fmod": (lambda: given(X * 5).fmod(-1.5), np.fmod(X * 5, -1.5)),
    "fmod, integers": (lambda: torch.fmod(given([7, -7, 7, -7]), given([3, 3, -3, -3])), [1, -1, 1, -1]),
    "logaddexp": (lambda: torch.logaddexp(given(X + 800), given(Y + 800)), np.logaddexp(X + 800, Y + 800)),
    "nan_to_num": (lambda: torch.nan_to_num(given([np.nan, np.inf, -np.inf, 2]), 1.0, 5.0, -5.0), [1, 5, -5, 2]),
    "nansum": (lambda: torch.nansum(given(HOLES), 1), np.nansum(HOLES, 1)),
    "nanmean": (lambda: torch.nanmean(given(HOLES), 0), np.nanmean(HOLES, 0)),
    "cummax": (lambda: torch.cummax(given([1, 3, 2, 3]), 0).indices, [0, 1, 1, 3]),
    "cummin": (lambda: torch.cummin(given(X), 1).values, np.minimum.accumulate(X, 1)),
    "logcumsumexp": (lambda: torch.logcumsumexp(given(X + 800), 1), np.logaddexp.accumulate(X + 800, 1)),
    "diff": (lambda: torch.diff(given(X), 2, 0, append=given(Y)), np.diff(X, 2, 0, append=Y)),
    "trapezoid": (lambda: torch.trapezoid(given(X), dx=0.5), np.trapezoid(X, dx=0.5)),
    "quantile": (lambda: torch.quantile(given(X), given([0.1, 0.5, 0.9]), 1), np.quantile(X, [0.1, 0.5, 0.9], 1)),
    "quantile, lower": (lambda: torch.quantile(given(X), 0.3, interpolation="lower"), np.quantile(X, 0.3, method="lower")),
    "nanquantile": (lambda: torch.nanquantile(given(HOLES), 0.7, 1, True), np.nanquantile(HOLES, 0.7, 1, keepdims=True)),
    "histc": (lambda: torch.histc(given(X), 5, -1, 1), np.histogram(X, 5, (-1, 1))[0]),
    "cov": (lambda: torch.cov(given(X)), np.cov(X)),
    "corrcoef": (lambda: torch.corrcoef(given(X)), np.corrcoef(X)),
    "rot90": (lambda: torch.rot90(given(X), -1), np.rot90(X, -1)),
    "unfold": (lambda: given(X).unfold(1, 2, 1), np.lib.stride_tricks.sliding_window_view(X, 2, 1)),
    "unfold, steps": (lambda: given(np.arange(7)).unfold(0, 3, 2), [[0, 1, 2], [2, 3, 4], [4, 5, 6]]),
    "dstack": (lambda: torch.dstack([given(X), given(Y)]), np.dstack([X, Y])),
    "column_stack": (lambda: torch.column_stack([given(X), given([1, 2, 3])]), np.column_stack([X, [1, 2, 3]])),
    "cartesian_prod": (lambda: torch.cartesian_prod(given([1, 2]), given([3, 4])), [[1, 3], [1, 4], [2, 3], [2, 4]]),
    "combinations": (lambda: torch.combinations(given([1, 2, 3])), [[1, 2], [1, 3], [2, 3]]),
    "block_diag": (lambda: torch.block_diag(given([[1, 2]]), given([3])), [[1, 2, 0], [0, 0, 3]]),
    "diag_embed": (lambda: torch.diag_embed(given([[1, 2], [3, 4]])), [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]),
    "take_along_dim": (lambda: torch.take_along_dim(given(X), given([[3, 0]]), 1), np.take_along_axis(X, np.array([[3, 0]]), 1)),
    "index_fill": (lambda: given(X).index_fill(1, given([0, 2]), 9.0), np.where(np.arange(4) % 2, X, 9)),
    "index_fill_": (lambda: given([1, 2, 3]).index_fill_(0, given([1]), 7), [1, 7, 3]),
    "searchsorted": (lambda: torch.searchsorted(given([1, 3, 5]), given([[3, 0], [6, 4]])), [[1, 0], [3, 2]]),
    "bucketize": (lambda: torch.bucketize(given([3, 4]), given([1, 3, 5]), right=True), [2, 2]),
    "isin": (lambda: torch.isin(given([1, 2, 3]), given([3, 1])), [True, False, True]),
    "tensordot": (lambda: torch.tensordot(given(X), given(Y), ([1], [1])), np.tensordot(X, Y, ([1], [1]))),
    "kron": (lambda: torch.kron(given(X), given([1.0, 2.0])), np.kron(X, [1.0, 2.0])),
    "cross": (lambda: torch.cross(given(X), given(Y)), np.cross(X, Y, axis=0)),
    "baddbmm": (lambda: torch.baddbmm(given([[[np.nan]]]), given(X[None, :1]), given(Y[None, :1]).mT, beta=0), [[[X[0] @ Y[0]]]]),
    "inner": (lambda: torch.inner(given(X), given(Y[0])), X @ Y[0]),
    "atanh": (lambda: torch.atanh(given([0.5, 1.0, -1.0])), [math.atanh(0.5), np.inf, -np.inf]),
    "logit": (lambda: torch.logit(given([0.2, 0.0]), 1e-3), [math.log(0.25), math.log(0.001 / 0.999)]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_known(name: str) -> None:
    call, wanted = VALUES[name]
    found = call()
    assert tuple(found.shape) == np.shape(wanted)
    np.testing.assert_allclose(found.numpy(), wanted, 1e-12, 1e-12)


def test_plus_is_the_tensor_itself() -> None:
    x = given(X).requires_grad_()
    assert +x is x
    assert torch.positive(x) is x


def test_the_gradient_of_copysign_is_the_change_of_sign() -> None:
    x, y = given([1.0, -2.0, 0.0, 3.0, -0.0]).requires_grad_(), given([-1.0, -0.0, -1.0, 2.0, 1.0]).requires_grad_()
    torch.copysign(x, y).backward(given([2.0, 3.0, 5.0, 7.0, 11.0]))
    assert x.grad.tolist() == [-2, 3, 0, 7, 0]
    assert y.grad.tolist() == [0, 0, 0, 0, 0]


def test_shifts_change_integers_in_place() -> None:
    x = same = given([1, 2, 3])
    x <<= 2
    assert (same.tolist(), x is same) == ([4, 8, 12], True)
    x >>= given([1, 2, 3])
    assert same.tolist() == [2, 2, 1]


def test_pieces_join_to_the_tensor_again() -> None:
    x = given(X)
    for pieces, dim in ((torch.tensor_split(x, 3, 1), 1), (torch.hsplit(x, 2), 1), (torch.vsplit(x, (1,)), 0), (x.tensor_split(5), 0)):
        assert torch.cat(pieces, dim).tolist() == x.tolist()
    assert [piece.shape[1] for piece in torch.tensor_split(x, 3, 1)] == [2, 1, 1]
    assert [piece.shape[0] for piece in x.tensor_split(5)] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize(("join", "numpys", "dims"), [(torch.cat, np.concatenate, (-2, -1, 0, 1)), (torch.stack, np.stack, range(-3, 3))])
def test_tensors_of_one_shape_join_along_every_dimension_and_get_their_parts_of_the_gradient(join, numpys, dims) -> None:
    for dim in dims:
        a, b = given(X).requires_grad_(), given(Y).requires_grad_()
        out = join([a, b * 2], dim)
        np.testing.assert_array_equal(out.detach().numpy(), numpys([X, 2 * Y], dim))
        (out * out).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), 2 * X)
        np.testing.assert_allclose(b.grad.numpy(), 8 * Y)


def test_tensors_without_elements_join_and_get_gradients_without_elements() -> None:
    a, b = torch.zeros(0, 3, requires_grad=True), torch.zeros(0, 3, requires_grad=True)
    torch.cat([a, b]).sum().backward()
    assert (a.grad.shape, b.grad.shape) == ((0, 3), (0, 3))


def test_a_copy_within_one_memory_reads_the_numbers_as_they_were() -> None:
    x = given([1, 2, 3, 4])
    x[1:].copy_(x[:-1])
    assert x.tolist() == [1, 1, 2, 3]
    x.copy_(x.flip(0))
    assert x.tolist() == [3, 2, 1, 1]


def test_gradients_flow_to_every_window_of_unfold() -> None:
    x = torch.zeros(4, requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]


def test_shapes_change_in_place() -> None:
    x = given(X[:1])
    assert tuple(x.t_().shape) == (4, 1)
    assert tuple(x.squeeze_(1).shape) == (4,)
    assert tuple(x.unsqueeze_(0).transpose_(0, 1).shape) == (4, 1)
    assert x.clamp_min_(0).clamp_max_(0.1).max().item() <= 0.1
    torch.manual_seed(0)
    assert 300 < torch.zeros(1000, dtype=torch.int64).bernoulli_(0.4).sum().item() < 500


def test_one_element_is_nonzero_or_not() -> None:
    assert [torch.is_nonzero(torch.tensor([value])) for value in (0.0, 2.0)] == [False, True]
    with pytest.raises(RuntimeError, match=r"is_nonzero expected one element, got shape \(2,\)"):
        torch.ones(2).is_nonzero()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.quantile(given(X), 1.5), ValueError, "quantile expected some elements, and q from 0 to 1"),
        (lambda: torch.quantile(given(X), 0.5, interpolation="cubic"), ValueError, 'quantile expected interpolation "linear"'),
        (lambda: torch.quantile(given([1, 2]), 0.5), TypeError, "quantile expected floating-point numbers, got int64"),
        (lambda: torch.nanmean(given([1, 2])), TypeError, "nanmean expected floating-point numbers, got int64"),
        (lambda: torch.histc(given(X), 0), ValueError, "histc expected one bin or more"),
        (lambda: torch.hsplit(given(X), 3), ValueError, "hsplit expected a number of pieces that divides 4, got 3"),
        (lambda: torch.tensor_split(given(X), 0), ValueError, "tensor_split expected at least one piece, got 0"),
        (lambda: torch.rot90(given(X), 1, (0, -2)), ValueError, "rot90 expected two different dimensions"),
        (lambda: given(X).unfold(1, 5, 1), ValueError, "unfold expected a size from 0 to 4 and a step of at least 1, got 5 and 1"),
        (lambda: torch.combinations(given(X)), ValueError, "combinations expected one dimension"),
        (lambda: torch.tensordot(given(X), given(X), 1), ValueError, "tensordot expected equal sizes"),
        (lambda: torch.cross(given(X), given(Y), 1), ValueError, "cross expected tensors of size 3 in dimension 1"),
        (lambda: torch.fmod(given([1]), 0), ZeroDivisionError, "a divisor other than 0"),
        (lambda: given(X).index_fill(0, given([0]), given([1.0, 2.0])), ValueError, "index_fill expected a number"),
        (lambda: torch.searchsorted(given([1, 2]), 1, side="up"), ValueError, 'searchsorted expected side "left", or "right"'),
        (lambda: torch.searchsorted(given(X), given(Y[:2])), ValueError, "searchsorted expected equal shapes before the last dimension"),
        (lambda: torch.searchsorted(given([1]), 1, sorter=given([0])), NotImplementedError, "searchsorted supports sorter=None only"),
        (lambda: torch.diff(given(1.0)), ValueError, "diff expected a tensor with dimensions"),
        (lambda: torch.cov(given(X[None])), ValueError, "cov expected a matrix with a row for each variable"),
        (lambda: given(X) << 1, TypeError, "bitwise_left_shift expected integers, got float64; convert them first: x.long()"),
        (lambda: given([True]) >> True, TypeError, "bitwise_right_shift expected integers, got bool; convert them first: x.long()"),
        (lambda: +given([True]), TypeError, "positive expected numbers, got a bool tensor; convert it first: x.long()"),
        (lambda: torch.nextafter(given([1]), given([2])), TypeError,
         "nextafter expected floating-point numbers, got int64; convert them first: x.float()"),
        (lambda: given([1]).copysign_(-2), RuntimeError, "a tensor of int64 cannot hold a result of float32"),
        (lambda: torch.linalg.vecdot(given([True]), given([True])), TypeError,
         "vecdot expected numbers, got bool tensors; convert them first: x.float()"),
        (lambda: torch.linalg.vecdot(given([1, 2]), given([1, 2, 3])), IndexError, "shapes (2,) and (3,) do not broadcast"),
        (lambda: torch.cosine_similarity(given([[1]]), given([[1]])), TypeError,
         "norm expected floating-point numbers, got int64; convert them first: x.float()"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()
