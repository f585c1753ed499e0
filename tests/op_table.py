"""The table of ops: every public operation on tensors, its equivalent in NumPy and PyTorch, and its domain.

A new op is a new row. The tests that read this table run it on every backend, layout and dtype, check its gradient, and compare it with
PyTorch. Give `result=float_dtype` if integers give floats, and `torch=` if PyTorch spells it differently.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import minitorch
from minitorch import Tensor, TensorData, bool_, float32, float64, int32, int64

DTYPES = (float64, float32, int64, int32, bool_)


# The dtype of a result, from the dtypes of the operands. The default is NumPy's rule.


def promoted_dtype(*dtypes):
    """NumPy's promotion."""
    return np.result_type(*dtypes)


def float_dtype(*dtypes):
    """float32 stays; integers and bools become float64."""
    found = np.result_type(*dtypes)
    return found if found in (float64, float32) else float64


def number_dtype(*dtypes):
    """NumPy's promotion, but bools are counted: int64."""
    found = np.result_type(*dtypes)
    return int64 if found == bool_ else found


def sum_dtype(*dtypes):
    """A sum of integers or bools is int64."""
    found = np.result_type(*dtypes)
    return found if found in (float64, float32) else int64


def quotient_dtype(*dtypes):
    """As NumPy's true division."""
    return np.true_divide(*(np.ones((), dtype) for dtype in dtypes)).dtype


def bool_dtype(*dtypes):
    """The result of a comparison."""
    return bool_


def index_dtype(*dtypes):
    """The index of an element."""
    return int64


@dataclass(frozen=True)
class Op:
    """A row of the table.

    Attributes:
        name: The text of the call.
        covers: The public name that it calls, such as "Tensor.sum" or "cat".
        ours: The call on tensors.
        numpy: The same call on arrays; it must give exactly the values and the shape of `ours`.
        shapes: The shapes of the operands, for every trial.
        domains: The domain of each operand's values; see `sample`.
        result: The dtype of the result, from those of the operands.
        gradient: Whether gradients flow through it.
        view: Whether the result must (True) or must not (False) share storage with the operand; None: either.
        distinct: Whether its gradient exists only for distinct elements, so that it is not checked on repeated ones.
        layouts: The layouts in which it can be called.
        torch: The same call on PyTorch's tensors; None if PyTorch lacks it.
    """

    name: str
    covers: str
    ours: Callable[..., Any]
    numpy: Callable[..., Any]
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    domains: tuple[str, ...]
    result: Callable[..., np.dtype] = promoted_dtype
    gradient: bool = True
    view: bool | None = False
    distinct: bool = False
    layouts: tuple[str, ...] = ("contiguous", "offset", "permuted", "sliced", "expanded")
    torch: Callable[..., Any] | None = None


# Values and layouts


def sample(domain, shape, dtype=float64, seed=0):
    """Values of a shape, always the same for the same arguments.

    Floats are all different, also from those of the next seeds. None is an integer, because functions have kinks and steps there.
    """
    rng = np.random.default_rng([seed, *shape])
    size = int(np.prod(shape))
    if domain == "mask" or dtype == bool_:
        low = 1 if domain in ("positive", "nonzero") else 0
        return rng.integers(low, 2, shape).astype(bool)
    if dtype.kind == "i":
        values = {"positive": [1, 2, 3], "exponent": [0, 1, 2], "nonzero": [-3, -2, -1, 1, 2]}.get(domain, [-3, -2, -1, 0, 1, 2])
        return rng.choice(values, shape).astype(dtype)
    steps = rng.permutation(size).reshape(shape)
    if domain in ("positive", "exponent"):
        return np.asarray(0.4 + 1.7 * (steps + 0.3 * (seed + 1)) / (size + 1), dtype)
    return np.asarray(steps * 8 % 77 / 11 - 3 + 0.04 - 0.01 * (seed % 3), dtype)


def samples(op, shapes, dtypes=None, seed=0):
    """Values for every operand of a row; masks are bools whatever the dtypes."""
    dtypes = dtypes or [float64] * len(shapes)
    trials = zip(op.domains, shapes, dtypes, strict=True)
    return [sample(domain, shape, bool_ if domain == "mask" else dtype, seed + i) for i, (domain, shape, dtype) in enumerate(trials)]


def in_layout(values, layout):
    """Possible memory layouts: one-dimensional storage, and the view of it with their shape. Only "expanded" repeats some values."""
    if layout == "contiguous":
        base = values.copy().reshape(-1)
        return base, base.reshape(values.shape)
    if layout == "offset":
        base = np.full(values.size + 5, 77).astype(values.dtype)
        base[3 : 3 + values.size] = values.reshape(-1)
        return base, base[3 : 3 + values.size].reshape(values.shape)
    if layout == "permuted":
        base = values.T.copy().reshape(-1)
        return base, base.reshape(values.T.shape).T
    if layout == "sliced":
        base = np.full([2 * length + 1 for length in values.shape], 77).astype(values.dtype)
        view = base[tuple(slice(1, None, 2) for _ in values.shape)] if values.shape else base
        view[...] = values
        return base.reshape(-1), view
    assert layout == "expanded"
    repeated = next((dim for dim, length in enumerate(values.shape) if length > 1), None)
    if repeated is None:
        return in_layout(values, "contiguous")
    once = values[(slice(None),) * repeated + (slice(0, 1),)].copy()
    return once.reshape(-1), np.broadcast_to(once, values.shape)


def layout_of(base, view):
    """Shape, strides and offset of a view, counted in elements."""
    step = base.itemsize
    return view.shape, tuple(stride // step for stride in view.strides), (view.ctypes.data - base.ctypes.data) // step if view.size else 0


def tensor_in(values, layout="contiguous"):
    """A tensor with these values in a layout, and the array of its values."""
    base, view = in_layout(values, layout)
    return Tensor(TensorData(base, *layout_of(base, view))), np.array(view)


# The rows

ONE = (((2, 3),), ((2, 1, 3),), ((),), ((0, 3),))
TWO = (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((3,), ()), ((), (2, 2)), ((0, 3), (1, 3)), ((), ()))
CUBE = (((2, 3, 2),), ((2, 1, 3),), ((2, 3, 0),))
SAME = "same"


def row(name, covers, ours, numpy=SAME, domain="any", shapes=None, torch=SAME, **rest):
    """An Op with defaults: `numpy` and `torch` have the same expression as `ours` unless they are given."""
    domains = tuple(domain.split())
    shapes = shapes or (ONE if len(domains) == 1 else TWO)
    return Op(name, covers, ours, ours if numpy is SAME else numpy, shapes, domains, torch=ours if torch is SAME else torch, **rest)


ELEMENTWISE = [
    row("-x", "Tensor.__neg__", lambda x: -x, lambda x: 0 - x, result=number_dtype),
    row("abs(x)", "Tensor.__abs__", lambda x: abs(x)),
    row("x.abs()", "Tensor.abs", lambda x: x.abs(), np.abs),
    row("x.sqrt()", "Tensor.sqrt", lambda x: x.sqrt(), np.sqrt, "positive", result=float_dtype),
    row("x.tanh()", "Tensor.tanh", lambda x: x.tanh(), np.tanh, result=float_dtype),
    row("x.sin()", "Tensor.sin", lambda x: x.sin(), np.sin, result=float_dtype),
    row("x.cos()", "Tensor.cos", lambda x: x.cos(), np.cos, result=float_dtype),
    row("x.exp()", "Tensor.exp", lambda x: x.exp(), np.exp, result=float_dtype),
    # The course's logarithm is that of x + 1e-6.
    row("x.log()", "Tensor.log", lambda x: x.log(), lambda x: np.log(x + 1e-6), "positive",
        torch=lambda x: (x + 1e-6).log(), result=float_dtype),
    row("x.sigmoid()", "Tensor.sigmoid", lambda x: x.sigmoid(), lambda x: 0.5 * (1.0 + np.tanh(x / 2)), result=float_dtype),
    row("x.relu()", "Tensor.relu", lambda x: x.relu(), lambda x: np.where(x > 0, x, 0)),  # the course's relu turns NaN into 0
    row("x.clip(-1, 1)", "Tensor.clip", lambda x: x.clip(-1, 1), result=number_dtype),
    row("x.clip(low=1)", "Tensor.clip", lambda x: x.clip(low=1), lambda x: np.maximum(x, 1),
        torch=lambda x: x.clip(min=1), result=number_dtype),
    row("x.clip(high=-1)", "Tensor.clip", lambda x: x.clip(high=-1), lambda x: np.minimum(x, -1),
        torch=lambda x: x.clip(max=-1), result=number_dtype),
    row("x.clip()", "Tensor.clip", lambda x: x.clip(), lambda x: x, torch=None),
    row("x.clip(0.5, 2.5)", "Tensor.clip", lambda x: x.clip(0.5, 2.5), result=float_dtype),
    row("x + y", "Tensor.__add__", lambda x, y: x + y, domain="any any"),
    row("x - y", "Tensor.__sub__", lambda x, y: x - y, domain="any any", result=lambda x, y: number_dtype(x, y)),
    row("x * y", "Tensor.__mul__", lambda x, y: x * y, domain="any any"),
    row("x / y", "Tensor.__truediv__", lambda x, y: x / y, domain="any nonzero", result=quotient_dtype),
    row("x ** y", "Tensor.__pow__", lambda x, y: x**y, domain="positive exponent", result=number_dtype),
    row("x + x", "Tensor.__add__", lambda x: x + x),
    row("x * x", "Tensor.__mul__", lambda x: x * x),
    # Python numbers are weak: next to one, a tensor keeps its dtype if it can.
    row("x + 2", "Tensor.__add__", lambda x: x + 2, result=number_dtype),
    row("2 + x", "Tensor.__radd__", lambda x: 2 + x, result=number_dtype),
    row("x - 2.5", "Tensor.__sub__", lambda x: x - 2.5, result=float_dtype),
    row("2 - x", "Tensor.__rsub__", lambda x: 2 - x, result=number_dtype),
    row("x * 2.5", "Tensor.__mul__", lambda x: x * 2.5, result=float_dtype),
    row("3 * x", "Tensor.__rmul__", lambda x: 3 * x, result=number_dtype),
    row("x / 2", "Tensor.__truediv__", lambda x: x / 2, result=float_dtype),
    row("2 / x", "Tensor.__rtruediv__", lambda x: 2 / x, domain="nonzero", result=float_dtype),
    row("x ** 3", "Tensor.__pow__", lambda x: x**3, result=number_dtype),
    row("x ** 2.5", "Tensor.__pow__", lambda x: x**2.5, domain="positive", result=float_dtype),
    row("x ** -1.0", "Tensor.__pow__", lambda x: x**-1.0, domain="nonzero", result=float_dtype),
    row("2 ** x", "Tensor.__rpow__", lambda x: 2**x, domain="exponent", result=number_dtype),
    row("x < y", "Tensor.__lt__", lambda x, y: x < y, domain="any any", result=bool_dtype),
    row("x <= y", "Tensor.__le__", lambda x, y: x <= y, domain="any any", result=bool_dtype),
    row("x > y", "Tensor.__gt__", lambda x, y: x > y, domain="any any", result=bool_dtype),
    row("x >= y", "Tensor.__ge__", lambda x, y: x >= y, domain="any any", result=bool_dtype),
    row("x == y", "Tensor.__eq__", lambda x, y: x == y, domain="any any", result=bool_dtype),
    row("x != y", "Tensor.__ne__", lambda x, y: x != y, domain="any any", result=bool_dtype),
    row("x <= 1", "Tensor.__le__", lambda x: x <= 1, result=bool_dtype),
    row("1 < x", "Tensor.__gt__", lambda x: 1 < x, result=bool_dtype),  # noqa: SIM300  # the reflected spelling is the point
    row("x.is_close(y)", "Tensor.is_close", lambda x, y: x.is_close(y), lambda x, y: np.abs(x - y) < 1e-2, "any any",
        result=bool_dtype, gradient=False, torch=None),
    row("~x", "Tensor.__invert__", lambda x: ~x, domain="mask", gradient=False, result=bool_dtype),
    row("x & y", "Tensor.__and__", lambda x, y: x & y, domain="mask mask", gradient=False, result=bool_dtype),
    row("x | y", "Tensor.__or__", lambda x, y: x | y, domain="mask mask", gradient=False, result=bool_dtype),
]  # fmt: skip

THREE = (((2, 3), (2, 3), (2, 3)), ((3, 1, 2), (4, 1), ()), ((), (2, 1), (3,)), ((2, 1), (0,), (1, 1)))

SELECTIONS = [
    row("where(c, x, y)", "where", lambda c, x, y: minitorch.where(c, x, y), np.where, "mask any any", THREE,
        torch=lambda c, x, y: x.where(c, y), result=lambda c, x, y: promoted_dtype(x, y)),
    row("where(c, x, 2.5)", "where", lambda c, x: minitorch.where(c, x, 2.5), lambda c, x: np.where(c, x, 2.5), "mask any",
        torch=lambda c, x: x.where(c, 2.5), result=lambda c, x: float_dtype(x)),
    row("where(c, 2.5, x)", "where", lambda c, x: minitorch.where(c, 2.5, x), lambda c, x: np.where(c, 2.5, x), "mask any",
        torch=lambda c, x: x.where(~c, 2.5), result=lambda c, x: float_dtype(x)),
    row("x.where(c, y)", "Tensor.where", lambda c, x, y: x.where(c, y), np.where, "mask any any", THREE,
        result=lambda c, x, y: promoted_dtype(x, y)),
]  # fmt: skip


def reduced(f, dim, keepdim, x):
    """A NumPy reduction with our shapes: without dim, all elements form one row."""
    return f(x.reshape(-1), axis=0, keepdims=keepdim) if dim is None else f(x, axis=dim, keepdims=keepdim)


def torch_reduced(name, dim, keepdim, x):
    """A PyTorch reduction with our shapes; there, prod, any and all accept only one dimension, and max and min return a pair."""
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    if isinstance(dim, tuple) and name in ("prod", "any", "all"):
        for d in sorted(d % x.ndim for d in dim)[::-1]:
            x = torch_reduced(name, d, keepdim, x)
        return x
    name = {"max": "amax", "min": "amin"}.get(name, name)
    return getattr(x, name)(dim=dim, keepdim=keepdim)


def reduction_rows(name, f, result, **rest):
    """The rows of one reduction."""
    found = []
    some = [(None, True), (None, False), (0, True), (-1, False), (1, True), ((0, 2), True), ((-1, 0), False), ((0, 1, 2), False)]
    for dim, keepdim in some:
        shapes = CUBE if dim is not None else (*ONE[:3], *(() if name in ("max", "min", "argmax", "argmin") else ONE[3:]))
        if name in ("max", "min", "argmax", "argmin") and dim not in (0, 1, None):
            shapes = CUBE[:2]  # an empty tensor has no maximum
        if name.startswith("arg") and isinstance(dim, tuple):
            continue
        ours = lambda x, dim=dim, keepdim=keepdim: getattr(x, name)(dim=dim, keepdim=keepdim)  # noqa: E731  # one of many in a table
        theirs = partial(reduced, f, dim, keepdim), partial(torch_reduced, name, dim, keepdim)
        call = f"x.{name}({dim}, keepdim={keepdim})"
        found.append(row(call, f"Tensor.{name}", ours, theirs[0], shapes=shapes, torch=theirs[1], result=result, **rest))
    return found


REDUCTIONS = [
    *reduction_rows("sum", np.sum, sum_dtype),
    *reduction_rows("mean", np.mean, float_dtype),
    *reduction_rows("prod", np.prod, sum_dtype, domain="positive"),
    *reduction_rows("var", partial(np.var, ddof=1), float_dtype),
    *reduction_rows("std", partial(np.std, ddof=1), float_dtype, distinct=True),
    *reduction_rows("max", np.max, promoted_dtype, distinct=True),
    *reduction_rows("min", np.min, promoted_dtype, distinct=True),
    *reduction_rows("any", np.any, bool_dtype),
    *reduction_rows("all", np.all, bool_dtype, gradient=False),
    *reduction_rows("argmax", np.argmax, index_dtype, gradient=False),
    *reduction_rows("argmin", np.argmin, index_dtype, gradient=False),
    row("x.var(1, correction=0)", "Tensor.var", lambda x: x.var(1, correction=0), lambda x: np.var(x, 1, keepdims=True), shapes=CUBE,
        torch=lambda x: x.var(1, correction=0, keepdim=True), result=float_dtype),
    row("x.std(correction=0)", "Tensor.std", lambda x: x.std(correction=0), lambda x: np.std(x).reshape(1), shapes=CUBE[:1],
        torch=lambda x: x.std(correction=0).reshape(1), result=float_dtype, distinct=True),
    *[row(f"x.cumsum({dim})", "Tensor.cumsum", lambda x, dim=dim: x.cumsum(dim), shapes=CUBE, result=sum_dtype) for dim in (0, 1, -1)],
]  # fmt: skip

MATRICES = (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (3, 3, 1)), ((3, 2), (2, 3, 2, 2)),
            ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2,), (3, 2, 2)), ((2, 2, 3), (3,)), ((2, 0), (0, 3)),
            ((0, 2), (2, 3)), ((0,), (0,)))  # fmt: skip
PAIR = (((2, 3), (2, 3)), ((1, 2), (1, 2)))


def torch():
    """PyTorch, which only the comparison tests import."""
    return import_module("torch")


LAYOUTS = [
    row("x @ y", "Tensor.__matmul__", lambda x, y: x @ y, domain="any any", shapes=MATRICES),
    row("x.view(6)", "Tensor.view", lambda x: x.view(6), lambda x: x.reshape(6), shapes=(((2, 3),), ((1, 6),), ((3, 1, 2),)),
        view=True, layouts=("contiguous", "offset")),
    row("x.view((3, -1))", "Tensor.view", lambda x: x.view((3, -1)), lambda x: x.reshape(3, -1), shapes=(((2, 3),), ((0, 4),)),
        view=True, layouts=("contiguous", "offset")),
    row("x.reshape(3, 2)", "Tensor.reshape", lambda x: x.reshape(3, 2), shapes=(((2, 3),), ((3, 2, 1),)), view=None),
    row("x.reshape(-1)", "Tensor.reshape", lambda x: x.reshape(-1), shapes=(*ONE, ((3, 0, 2),)), view=None),
    row("x.reshape((2, -1, 1))", "Tensor.reshape", lambda x: x.reshape((2, -1, 1)), shapes=(((2, 3),), ((4, 3),), ((2, 0),)), view=None),
    row("x.permute(1, 2, 0)", "Tensor.permute", lambda x: x.permute(1, 2, 0), lambda x: x.transpose(1, 2, 0), shapes=CUBE, view=True),
    row("x.permute((-1, 0, -2))", "Tensor.permute", lambda x: x.permute((-1, 0, -2)), lambda x: x.transpose(2, 0, 1), shapes=CUBE,
        view=True),
    row("x.permute() of a number", "Tensor.permute", lambda x: x.permute(), lambda x: x, shapes=(((),),), view=True,
        torch=lambda x: x.permute(())),
    row("x.flip(0)", "Tensor.flip", lambda x: x.flip(0), lambda x: np.flip(x, 0), shapes=CUBE),
    row("x.flip()", "Tensor.flip", lambda x: x.flip(), np.flip, torch=None),
    row("x.flip(-1, 0)", "Tensor.flip", lambda x: x.flip(-1, 0), lambda x: np.flip(x, (-1, 0)), shapes=CUBE),
    row("x.transpose(0, -1)", "Tensor.transpose", lambda x: x.transpose(0, -1), lambda x: np.swapaxes(x, 0, -1), shapes=CUBE, view=True),
    row("x.t()", "Tensor.t", lambda x: x.t(), lambda x: x.T, shapes=(((2, 3),), ((3,),), ((),), ((0, 2),)), view=True),
    row("x.flatten()", "Tensor.flatten", lambda x: x.flatten(), lambda x: x.reshape(-1), shapes=(*ONE, *CUBE), view=None),
    row("x.flatten(1)", "Tensor.flatten", lambda x: x.flatten(1), lambda x: x.reshape(x.shape[0], int(np.prod(x.shape[1:]))), shapes=CUBE,
        view=None),
    row("x.flatten(0, 1)", "Tensor.flatten", lambda x: x.flatten(0, 1), lambda x: x.reshape(-1, x.shape[2]), shapes=CUBE[:2], view=None),
    row("x.squeeze()", "Tensor.squeeze", lambda x: x.squeeze(), shapes=(((1, 2, 1),), ((1, 1),), ((2, 3),), ((),), ((1, 0),)), view=True),
    row("x.squeeze(-1)", "Tensor.squeeze", lambda x: x.squeeze(-1), shapes=(((1, 2, 1),), ((1,),)), view=True),
    row("x.squeeze(1)", "Tensor.squeeze", lambda x: x.squeeze(1), lambda x: x, shapes=(((1, 2, 1),), ((2, 3),)), view=True),
    row("x.squeeze((0, 2))", "Tensor.squeeze", lambda x: x.squeeze((0, 2)), shapes=(((1, 2, 1),), ((1, 0, 1),)), view=True),
    row("x.unsqueeze(0)", "Tensor.unsqueeze", lambda x: x.unsqueeze(0), lambda x: x[None], shapes=ONE, view=True),
    row("x.unsqueeze(-1)", "Tensor.unsqueeze", lambda x: x.unsqueeze(-1), lambda x: x[..., None], shapes=ONE, view=True),
    row("x.unsqueeze(1)", "Tensor.unsqueeze", lambda x: x.unsqueeze(1), lambda x: x[:, None], shapes=CUBE, view=True),
    row("x.expand(3, 2, 4)", "Tensor.expand", lambda x: x.expand(3, 2, 4), lambda x: np.broadcast_to(x, (3, 2, 4)),
        shapes=(((2, 1),), ((3, 1, 4),), ((4,),), ((),), ((3, 2, 4),)), view=True),
    row("x.expand((-1, 3))", "Tensor.expand", lambda x: x.expand((-1, 3)), lambda x: np.broadcast_to(x, (x.shape[0], 3)),
        shapes=(((2, 1),), ((2, 3),), ((0, 1),)), view=True),
    row("x.expand(2, 0)", "Tensor.expand", lambda x: x.expand(2, 0), lambda x: np.broadcast_to(x, (2, 0)),
        shapes=(((2, 1),), ((0,),), ((),)), view=None),
    row("x.split(2, 1)[1]", "Tensor.split", lambda x: x.split(2, 1)[1], lambda x: x[:, 2:4], shapes=(((2, 3),), ((1, 5, 2),)), view=True),
    row("x.split([1, 0, 2])[2]", "Tensor.split", lambda x: x.split([1, 0, 2])[2], lambda x: x[1:], shapes=(((3, 2),), ((3, 0),)),
        view=True),
    row("cat([x, y], 1)", "cat", lambda x, y: minitorch.cat([x, y], 1), lambda x, y: np.concatenate([x, y], 1), "any any",
        (((2, 3), (2, 1)), ((2, 0), (2, 2)), ((0, 2), (0, 1)), ((2, 2, 2), (2, 1, 2))), torch=lambda x, y: torch().cat([x, y], 1)),
    row("cat([x, y])", "cat", lambda x, y: minitorch.cat([x, y]), lambda x, y: np.concatenate([x, y]), "any any",
        (((2,), (3,)), ((2, 3), (1, 3)), ((0, 3), (2, 3))), torch=lambda x, y: torch().cat([x, y])),
    row("cat([x, x], -1)", "cat", lambda x: minitorch.cat([x, x], -1), lambda x: np.concatenate([x, x], -1), shapes=CUBE, torch=None),
    row("stack([x, y], -1)", "stack", lambda x, y: minitorch.stack([x, y], -1), lambda x, y: np.stack([x, y], -1), "any any", PAIR,
        torch=lambda x, y: torch().stack([x, y], -1)),
    row("stack([x, y])", "stack", lambda x, y: minitorch.stack([x, y]), lambda x, y: np.stack([x, y]), "any any",
        (*PAIR, ((), ()), ((0, 2), (0, 2))), torch=lambda x, y: torch().stack([x, y])),
    row("x.contiguous()", "Tensor.contiguous", lambda x: x.contiguous(), lambda x: x, shapes=(*ONE, *CUBE), view=None),
    row("x.clone()", "Tensor.clone", lambda x: x.clone(), lambda x: x, shapes=(*ONE, *CUBE)),
    row("x.detach()", "Tensor.detach", lambda x: x.detach(), lambda x: x, gradient=False, view=True),
    row("x.to(float64)", "Tensor.to", lambda x: x.to(float64), lambda x: x, result=lambda x: float64, view=None, torch=None),
    row("x.to('float32')", "Tensor.to", lambda x: x.to("float32"), lambda x: x.astype(float32), result=lambda x: float32, view=None,
        gradient=False, torch=None),  # float32 cannot resolve differences of 1e-6; its gradient has a separate test
    row("x.to(int64)", "Tensor.to", lambda x: x.to(int64), lambda x: x.astype(int64), result=lambda x: int64, view=None, torch=None),
    row("x.to(bool)", "Tensor.to", lambda x: x.to(bool), lambda x: x.astype(bool), result=bool_dtype, view=None, torch=None),
    row("x.to(backend)", "Tensor.to", lambda x: x.to(minitorch.SimpleBackend), lambda x: x, view=None, torch=None),
]  # fmt: skip


def getitem(written, index, view=True, shapes=CUBE[:2], torch=SAME):
    """A row for reading by an index."""
    return row(f"x[{written}]", "Tensor.__getitem__", lambda x: x[index], shapes=shapes, view=view, torch=torch)


TALL = (((3, 3, 2),), ((4, 3, 3),))

INDICES = [
    getitem("0", 0), getitem("-1, 0", (-1, 0)), getitem("..., -1", (..., -1)), getitem("...", ...), getitem("()", ()),
    getitem("1:", slice(1, None)), getitem(":, ::2", (slice(None), slice(None, None, 2))), getitem("5:", slice(5, None), view=None),
    getitem("-1, ..., None", (-1, ..., None)), getitem("None, :, None", (None, slice(None), None)),
    getitem("1:, :, :1", (slice(1, None), slice(None), slice(None, 1))),
    getitem("2:0:-1", slice(2, 0, -1), False, TALL, None), getitem("..., ::-2", (..., slice(None, None, -2)), False, TALL, None),
    getitem("[0, 2, 0]", [0, 2, 0], False, TALL), getitem("[-1, 0], [1, 1]", ([-1, 0], [1, 1]), False, TALL),
    getitem(":, [2, 2, 1], 1:", (slice(None), [2, 2, 1], slice(1, None)), False, TALL),
    getitem("[0, 1], :, [1, 0]", ([0, 1], slice(None), [1, 0]), False, TALL),
    getitem("[[0, 1], [2, 0]]", [[0, 1], [2, 0]], False, TALL, None),
    getitem("[True, False, True]", [True, False, True], False, TALL[:1]),
    getitem("1, [0, 2]", (1, [0, 2]), False, TALL),
    row("x[m]", "Tensor.__getitem__", lambda m, x: x[m], domain="mask any", shapes=PAIR, result=lambda m, x: x),
    row("x[m] of a longer x", "Tensor.__getitem__", lambda m, x: x[m], domain="mask any", shapes=(((3,), (3, 2)),), result=lambda m, x: x),
]  # fmt: skip

OPS = [*ELEMENTWISE, *SELECTIONS, *REDUCTIONS, *LAYOUTS, *INDICES]

ELSEWHERE = {
    "what a tensor is": "Tensor.make Tensor.zeros Tensor.numel Tensor.tuple Tensor.stride Tensor.storage_offset Tensor.is_contiguous "
    "Tensor.__init__",
    "autograd, in core/test_gradients": "Tensor.requires_grad_ Tensor.is_leaf Tensor.is_constant Tensor.zero_grad_ Tensor.register_hook "
    "Tensor.accumulate_derivative Tensor.chain_rule Tensor.backward grad_check grad_central_difference",
    "conversions, in core/test_conversion": "Tensor.item Tensor.tolist Tensor.numpy Tensor.to_numpy Tensor.__float__ Tensor.__int__ "
    "Tensor.__index__ Tensor.__bool__ Tensor.__array__ Tensor.__dlpack__ Tensor.__dlpack_device__ Tensor.__reduce__ Tensor.__deepcopy__ "
    "from_numpy from_dlpack",
    "printing, in core/test_printing": "Tensor.__str__ Tensor.__repr__ Tensor.__format__",
    "assignment, in core/test_indexing": "Tensor.__setitem__",
    "identity and iteration, in core/test_ops_by_hand": "Tensor.__hash__ Tensor.__len__ Tensor.__iter__",
    "layouts of storages, in test_tensor_data": "shape_broadcast broadcast_index index_to_position strides_from_shape to_index",
    "by the name of a dtype, in core/test_half_precision": "Tensor.double Tensor.float Tensor.half Tensor.bfloat16 Tensor.long Tensor.int "
    "Tensor.bool",
    "to a device, in core/test_devices": "Tensor.cpu Tensor.cuda",
    "settings, in core/test_dtypes": "get_default_dtype set_default_dtype",
    "made from nothing, in core/test_creation": "zeros ones full arange linspace eye rand randn tensor manual_seed",
}
"""Names that the table does not cover, and where they are tested."""
