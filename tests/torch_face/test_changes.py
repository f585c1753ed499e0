"""Functions of minitorch/torch/names.py on layouts, sizes of 0 and 1, dtypes and invalid arguments: as on a copy, and as in PyTorch."""

import importlib.util
import zlib
from typing import Any

import pytest

import minitorch.torch as ours
from tests.errors import raises
from tests.torch_face.calls import CALLS, functions
from tests.torch_face.changes import OTHERS, Call, calls, changes, difference, run

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

NAMES = functions()
INTERNAL = (
    "has no attribute",
    "storage expected",
    "numba",
    "not subscriptable",
    "unsupported operand",
    "tuple index",
    "AxisError",
    "cannot unpack",
)
"""What only errors say that were not made for a user."""


def sampled(name: str, kinds: str, count: int) -> list[Call]:
    """Some of the changes of a function's calls, the same every time: those whose checksums are smallest."""
    found = [call for base in calls(name) for call in changes(base, kinds)]
    return sorted(found, key=lambda call: zlib.crc32(f"{call.change} {call}".encode()))[:count]


def assert_no_internal_error(call: Call, found: object) -> None:
    """Fail if a call raised an error that was not made for a user."""
    if isinstance(found, Exception):
        assert isinstance(found, (ValueError, TypeError, RuntimeError)), (str(call), call.change, found)
        assert not any(word in str(found) for word in INTERNAL), (str(call), call.change, found)


def assert_like_pytorch(call: Call) -> None:
    """Fail unless a call computes what PyTorch computes, and refuses what PyTorch refuses."""
    if not f"{call.name} {call.change}".startswith(tuple(OTHERS)):
        assert difference(call, run(call, ours), run(call, torch)) == "", (str(call), call.change)


def test_the_table_has_a_call_of_every_function():
    assert sorted(CALLS) == sorted(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_does_not_matter(name):
    for call in changes(calls(name)[0], "layouts"):
        found = run(call, ours)
        assert_no_internal_error(call, found)
        if name != "view":  # which refuses layouts
            assert difference(call, found, run(call, ours, contiguous=True)) == "", (str(call), call.change)


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_made_for_users(name):
    for call in sampled(name, "sizes dtypes values", 4):
        assert_no_internal_error(call, run(call, ours, gradient=False))


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed; pip install -r requirements.torch.txt")
@pytest.mark.parametrize("name", NAMES)
def test_sizes_dtypes_and_values_are_taken_and_refused_as_in_pytorch(name):
    for call in [*calls(name)[:1], *sampled(name, "sizes dtypes values", 4)]:
        assert_like_pytorch(call)


X = ours.arange(12.0).reshape(3, 4)

KNOWN = {
    "softmax": (lambda: ours.zeros(2, 0).softmax(1).shape, (2, 0)),
    "log_softmax": (lambda: ours.zeros(0).log_softmax(0).shape, (0,)),
    "logsumexp": (lambda: ours.zeros(2, 0).logsumexp(1).tolist(), [-float("inf")] * 2),
    "logsumexp, none": (lambda: ours.zeros(0, 2).logsumexp(1).shape, (0,)),
    "amax": (lambda: ours.zeros(0, 2).amax(1).shape, (0,)),
    "sum": (lambda: ours.zeros(0, 2).sum(0).tolist(), [0, 0]),
    "prod": (lambda: ours.zeros(0, 2).prod(0).tolist(), [1, 1]),
    "einsum": (lambda: ours.einsum("bij,bjk->bik", ours.ones(1, 2, 3), ours.ones(4, 3, 2)).shape, (4, 2, 2)),
    "einsum, inner": (lambda: ours.einsum("ij,jk->ik", ours.ones(2, 1), ours.ones(3, 2)).tolist(), [[3, 3], [3, 3]]),
    "tensordot": (lambda: ours.tensordot(ours.ones(2, 1), ours.ones(3, 2), 1).tolist(), [[3, 3], [3, 3]]),
    "where": (lambda: [x.tolist() for x in ours.where(ours.tensor([[True, False], [True, True]]))], [[0, 1, 1], [0, 0, 1]]),
    "diag": (lambda: ours.diag(ours.zeros(0), 1).tolist(), [[0]]),
    "chunk": (lambda: [x.shape for x in ours.zeros(0, 2).chunk(2)], [(0, 2), (0, 2)]),
    "median": (lambda: ours.zeros(0).median().isnan().item(), True),
    "sort": (lambda: ours.tensor(2.0).sort().indices.shape, ()),
    "norm": (lambda: ours.tensor([0.0, 3.0, -1.0]).norm(0).item(), 2),
    "index_put": (lambda: ours.zeros(3).index_put_([ours.tensor([0, 0, 2])], ours.tensor([1.0, 2.0, 3.0]), True).tolist(), [3, 0, 3]),
    "index_put, last": (lambda: ours.zeros(3).index_put([ours.tensor([2])], ours.tensor(1.0)).tolist(), [0, 0, 1]),
    "scatter_reduce": (
        lambda: [
            ours.ones(2).scatter_reduce(0, ours.tensor([0, 0]), ours.tensor([2.0, 5.0]), reduce).tolist()[0]
            for reduce in ("sum", "prod", "amax", "amin")
        ],
        [8, 10, 5, 1],
    ),
    "scatter_reduce, mean": (
        lambda: ours.ones(2).scatter_reduce(0, ours.tensor([0, 0]), ours.tensor([2.0, 5.0]), "mean", include_self=False).tolist(),
        [3.5, 1],
    ),
    "narrow": (lambda: X.narrow(1, -1, 1).tolist(), [[3], [7], [11]]),
    "arange": (lambda: ours.arange(5, 0, -2).tolist(), [5, 3, 1]),
    "all": (lambda: ours.tensor([2, 0], dtype=ours.uint8).all(), 0),
    "where, numbers": (lambda: [x.tolist() for x in ours.where(ours.tensor([[2.5, 0.0], [-1.0, 3.0]]))], [[0, 1, 1], [0, 0, 1]]),
    "block_diag": (lambda: str(ours.block_diag(ours.ones(2), ours.tensor(1.0, dtype=ours.float64)).dtype), "float32"),
    "triangular_solve": (lambda: [x.shape for x in ours.triangular_solve(ours.ones(2, 3, 1), ours.eye(3))], [(2, 3, 1), (2, 3, 3)]),
}
"""Calls whose results are known without PyTorch."""


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_known(name):
    call, wanted = KNOWN[name]
    assert call() == wanted


REFUSED = [
    (lambda: ours.arange(3.0).narrow(0, 2, 2), (ValueError, RuntimeError, IndexError),
     "narrow expected a part of the 3 elements along dimension 0, got start 2 and length 2"),
    (lambda: ours.bernoulli(ours.tensor(1.5)), (ValueError, RuntimeError),
     "bernoulli expected probabilities from 0 to 1, got others; limit them: x.clamp(0, 1), or x.sigmoid()"),
    (lambda: ours.bernoulli(1.5), (TypeError,), "bernoulli expected a Tensor as input, got float; convert it with torch.tensor(...)"),
    (lambda: ours.arange(5, 0), (ValueError, RuntimeError),
     "arange expected a step from 5 towards 0, got 1; pass a step of the other sign"),
    (lambda: X.sum("a"), (TypeError,), "sum expected dim of type int | Sequence[int] | None, got str 'a'"),
    (lambda: X.sum(0, keepdim=1), (TypeError,), "sum expected keepdim of type bool, got int 1"),
    (lambda: X.sum(2), (IndexError, RuntimeError), "dimension 2 is out of range for shape torch.Size([3, 4]), which has 2"),
    (lambda: X.long().softmax(0), (TypeError, RuntimeError),
     "softmax expected floating-point numbers, got int64; convert them first: x.float()"),
    (lambda: X @ X.T.double(), (TypeError, RuntimeError),
     "matmul expected tensors of one dtype, not of bools, got float32 and float64; convert one of them: x.to(y.dtype)"),
    (lambda: (X > 1).argmax(), (TypeError, RuntimeError), "argmax expected numbers, got a bool tensor; convert it first: x.long()"),
    (lambda: X.isclose(X.double()), (TypeError, RuntimeError),
     "isclose expected tensors of one dtype, got float32 and float64; convert one of them: x.to(y.dtype)"),
    (lambda: X.long() // 0, (ZeroDivisionError, RuntimeError),
     "a division of integers expected a divisor other than 0; convert to floating-point numbers for infinity"),
    (lambda: ours.cat([1, 2]), (TypeError,), "cat expected tensors, got an argument of another type among list"),
    (lambda: ours.linalg.inv(ours.zeros(2, 2)), (ours.linalg.LinAlgError, ValueError, RuntimeError),
     "inv expected matrices of full rank, got a singular one"),
    (lambda: X.masked_fill(X, 1.0), (TypeError, RuntimeError),
     "masked_fill expected a mask of bools, got float32; compare first, such as x > 0"),
    (lambda: X.masked_fill(X > 1, X), (ValueError, RuntimeError),
     "masked_fill expected a value without dimensions, got shape (3, 4); use torch.where"),
    (lambda: X.unflatten(1, (3, 2)), (ValueError, RuntimeError),
     "unflatten expected sizes that multiply to 4, the size of dimension 1, got (3, 2)"),
    (lambda: X.chunk(0), (ValueError, RuntimeError), "chunk expected at least one piece, got 0"),
    (lambda: ours.meshgrid(X, X), (ValueError, RuntimeError),
     "meshgrid expected tensors of one dimension and one dtype, got shapes [torch.Size([3, 4]), torch.Size([3, 4])]"),
    (lambda: ours.diag(ours.zeros(1, 1, 1)), (ValueError, RuntimeError),
     "diag expected one dimension or two, got shape torch.Size([1, 1, 1]); use diagonal or diag_embed"),
    (lambda: ours.zeros(3).vsplit(3), (ValueError, RuntimeError), "vsplit expected at least 2 dimensions, got shape torch.Size([3])"),
    (lambda: ours.cartesian_prod(X), (ValueError, RuntimeError),
     "cartesian_prod expected tensors of one dimension, got shapes [torch.Size([3, 4])]"),
    (lambda: ours.block_diag(ours.zeros(1, 1, 1)), (ValueError, RuntimeError),
     "block_diag expected at most two dimensions, got shapes [torch.Size([1, 1, 1])]"),
    (lambda: ours.tensor(1.0).flipud(), (ValueError, RuntimeError), "flipud expected at least one dimension, got shape ()"),
    (lambda: X.index_select(0, ours.zeros(1, 1).long()), (ValueError, RuntimeError, IndexError),
     "index_select expected an index of one dimension, got shape torch.Size([1, 1])"),
    (lambda: X.index_select(0, ours.zeros(1)), (TypeError, RuntimeError, IndexError),
     "index_select expected an index of int64 or int32, got float32; convert it: index.long()"),
    (lambda: X.index_add(0, ours.tensor([0]), X), (ValueError, RuntimeError, IndexError),
     "index_add expected a source of shape (1, 4), got torch.Size([3, 4])"),
    (lambda: X.index_add(0, ours.tensor([3]), X[:1]), (RuntimeError, IndexError), "index_add expected indices from 0 to 2, got 3 to 3"),
    (lambda: X.index_copy(0, ours.tensor([0]), X[:1].double()), (TypeError, RuntimeError),
     "index_copy expected a source of float32, got float64; convert it: source.to(input.dtype)"),
    (lambda: X.scatter(0, ours.tensor([[0]]), X[0]), (ValueError, RuntimeError, IndexError),
     "scatter expected values for an index of shape torch.Size([1, 1]), got shape torch.Size([4])"),
    (lambda: X.scatter_add(0, ours.tensor([[0]]), X.long()), (TypeError, RuntimeError),
     "scatter expected values of float32, got int64; convert them: src.to(input.dtype)"),
    (lambda: X.scatter_reduce(0, ours.tensor([[0]]), X, "max"), (ValueError, RuntimeError),
     "scatter_reduce expected reduce to be one of sum, mean, prod, amax, amin, got 'max'"),
    (lambda: X.index_put(ours.tensor([0]), X[:1]), (TypeError,), "index_put expected a tuple of tensors, got tensor([0])"),
    (lambda: X.index_put([ours.tensor([0])], X[None, :1]), (ValueError, RuntimeError),
     "index_put expected values that broadcast to (1, 4), the shape at the index, got torch.Size([1, 1, 4])"),
    (lambda: X.index_put([ours.tensor([0])], X[:1].long()), (TypeError, RuntimeError),
     "index_put expected values of float32, got int64; convert them: values.to(input.dtype)"),
    (lambda: X.bincount(minlength=-1), (TypeError, RuntimeError), "bincount expected integers, got float32; convert them first: x.long()"),
    (lambda: ours.tensor([1]).bincount(minlength=-1), (ValueError, RuntimeError),
     "bincount expected a minlength from 0 on and weights of shape (1,), got minlength=-1"),
    (lambda: ours.zeros(0, 2).nanmedian(0), (ValueError, RuntimeError, IndexError),
     "nanmedian expected at least one element along dimension 0, got shape torch.Size([0, 2])"),
    (lambda: X.diff(prepend=X[0]), (ValueError, RuntimeError),
     "diff expected prepend and append with dimensions like input, got shapes [torch.Size([4]), torch.Size([3, 4])]"),
    (lambda: ours.trapezoid(X, X[:, 0]), (ValueError, RuntimeError),
     "trapezoid expected a point for each of the 4 elements along dimension 1, got shape torch.Size([3])"),
    (lambda: ours.outer(X, X[0]), (ValueError, RuntimeError),
     "outer expected two vectors, got shapes torch.Size([3, 4]) and torch.Size([4])"),
    (lambda: ours.addmm(X[0].long(), X, X.T), (TypeError, RuntimeError),
     "a sum with a product expected tensors of one dtype, not of bools, got int64 and float32; convert one of them: x.to(y.dtype)"),
    (lambda: ours.addmm(ours.tensor([1]), ours.tensor([[1]]), ours.tensor([[1]]), beta=0.5), (ValueError, RuntimeError),
     "a sum with a product of integers expected integers beta and alpha, got 0.5 and 1"),
    (lambda: ours.einsum("ij,jk", X, X.T.double()), (TypeError, RuntimeError),
     "einsum expected tensors of one dtype, got float32 and float64; convert one: x.to(y.dtype)"),
    (lambda: ours.inner(X, X[:, :3]), (ValueError, RuntimeError),
     "inner expected equal last sizes, got shapes torch.Size([3, 4]) and torch.Size([3, 3])"),
    (lambda: ours.tensordot(X, X, 3), (ValueError, RuntimeError), "tensordot expected dims from 0 to 2, got 3"),
    (lambda: ours.cross(X, X[0], 0), (ValueError, RuntimeError),
     "cross expected as many dimensions of both tensors, got shapes torch.Size([3, 4]) and torch.Size([4])"),
    (lambda: ours.cdist(X, X, -1.0), (ValueError, RuntimeError),
     "cdist expected matrices with as many columns, and p from 0 on, got shapes torch.Size([3, 4]) and torch.Size([3, 4]), p=-1.0"),
    (lambda: X[0].trace(), (ValueError, RuntimeError), "trace expected a matrix, got shape torch.Size([4])"),
    (lambda: X.matrix_power(2), (ValueError, RuntimeError), "matrix_power expected square matrices, got shape torch.Size([3, 4])"),
    (lambda: ours.linalg.matrix_norm(X, dim=(0,)), (ValueError, RuntimeError), "matrix_norm expected two dimensions, got (0,)"),
    (lambda: ours.linalg.norm(ours.tensor(1.0), 2), (ValueError, RuntimeError),
     "norm expected one dimension or two, or dim, got shape torch.Size([])"),
    (lambda: ours.linalg.solve(ours.eye(2), ours.ones(3, 1)), (ValueError, RuntimeError),
     "solve expected matrices of one dtype with as many rows, got shapes torch.Size([2, 2]) and torch.Size([3, 1])"),
    (lambda: ours.tril_indices(-1, 2), (ValueError, RuntimeError), "sizes expected integers from 0 on, got (-1, 2)"),
    (lambda: ours.normal(0.0, -1.0, (2,)), (ValueError, RuntimeError), "normal expected standard deviations from 0 on, got -1.0"),
    (lambda: ours.multinomial(ours.ones(2), 0), (ValueError, RuntimeError),
     "multinomial expected one sample or more of one or two dimensions, got 0 of shape (2,)"),
    (lambda: ours.tensordot(X, X, 1.5), (TypeError,), "tensordot expected a number of dimensions or two lists, got 1.5"),
    (lambda: ours.tensordot(X, X, [1]), (ValueError, RuntimeError), "tensordot expected a number of dimensions or two lists, got [1]"),
    (lambda: ours.diag_embed(ours.tensor(1.0)), (ValueError, RuntimeError, IndexError),
     "a diagonal expected at least one dimension, got shape ()"),
    (lambda: ours.trapezoid(X, ours.tensor(1.0)), (ValueError, RuntimeError), "trapezoid expected points with a dimension, got shape ()"),
    (lambda: X.take_along_dim(ours.tensor([1]), 0), (ValueError, RuntimeError),
     "take_along_dim expected an index of 2 dimensions, got shape torch.Size([1])"),
    (lambda: X.clamp_min(None), (TypeError,), "clamp_min expected min of type float | Tensor, got NoneType None"),
    (lambda: X.max((0, 1)), (TypeError,), "max expected dim of type int | Tensor | None, got tuple (0, 1)"),
    (lambda: ours.tensor(1.0).amax(1), (IndexError, RuntimeError), "dimension 1 is out of range for shape torch.Size([1]), which has 1"),
    (lambda: X.diagonal(0, 1, -1), (RuntimeError,), "expected each dimension at most once for shape torch.Size([3, 4]), got (1, -1)"),
    (lambda: ours.chain_matmul(X[0], X.T), (ValueError, RuntimeError),
     "chain_matmul expected one or more matrices, got shapes [torch.Size([4]), torch.Size([4, 3])]; linalg.multi_dot takes vectors, too"),
    (lambda: ours.randint(3, (2,), dtype=ours.bool), (ValueError, RuntimeError), "randint expected a number from 0 to 1 for bool, got 2"),
    (lambda: X.repeat_interleave(X[0]), (TypeError, NotImplementedError),
     "repeat_interleave expected repeats of int32 or int64, got float32; convert them: repeats.long()"),
    (lambda: ours.normal("a", X), (TypeError,), "normal expected mean of type float | Tensor, got str 'a'"),
    (lambda: ours.multinomial(ours.ones(0, 0), 2), (ValueError, RuntimeError),
     "multinomial expected at least 2 weights above 0 to draw without replacement; pass replacement=True"),
    (lambda: ~X, (TypeError, RuntimeError), "bitwise_not expected integers or bools, got float32; compare first, such as x > 0"),
]  # fmt: skip
"""Invalid calls, the classes that catch the error, and its message."""


@pytest.mark.parametrize(("call", "classes", "message"), REFUSED)
def test_an_invalid_call_is_refused(call, classes, message):
    for each in classes:
        with raises(each, message):
            call()
