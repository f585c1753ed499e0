"""Tasks 2.3 and 2.4: functions and methods of tensors, compared with NumPy; gradients, compared with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Layout
from course.explain.divergence import Difference, format_number
from course.oracles.finite_differences import agrees, numerical_derivative
from course.oracles.scalars import saved_values
from course.oracles.strided import Index, Strided, first_difference, grid

NUMPY = "NumPy on the same arrays"
DIFFERENCES = "central differences of the function in NumPy, entry by entry"

ENTRIES = 64
"""The number of entries at which the gradients of larger tensors are compared."""


def _sigmoid(a: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -a))


FORWARDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "Neg": ("-a", lambda a: -a),
    "Inv": ("1 / a", lambda a: 1 / a),
    "Add": ("a + b", lambda a, b: a + b),
    "Mul": ("a · b, element by element", lambda a, b: a * b),
    "Sigmoid": ("1 / (1 + e^-a)", _sigmoid),
    "ReLU": ("a where a > 0, else 0", lambda a: np.where(a > 0, a, a.dtype.type(0))),
    "Log": ("ln(a + 0.000001)", lambda a: np.log(a + 1e-6)),
    "Exp": ("e^a", lambda a: np.exp(a)),
    "LT": ("whether a < b", lambda a, b: a < b),
    "EQ": ("whether a == b", lambda a, b: a == b),
    "IsClose": ("whether |a - b| < 0.01", lambda a, b: np.abs(a - b) < 1e-2),
    "Sum": ("the sum along dim, which keeps size 1", lambda a, dim: a.sum(dim, keepdims=True)),
    "Permute": ("the dimensions in another order", lambda a, order: a.transpose(order)),
}
"""The functions of tensors: what they compute, in words, and their values."""


def _reduction(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction with the arguments of the tensor methods: without a dimension it reduces all elements, to shape (1,)."""

    def reduce(a: Any, dim: Any = None, keepdim: bool = True) -> Any:
        if dim is None:
            return reduction(a.reshape(-1), axis=0, keepdims=keepdim)
        return reduction(a, axis=tuple(dim) if isinstance(dim, list | tuple) else dim, keepdims=keepdim)

    return reduce


def _one_or_many(values: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(values[0] if len(values) == 1 and isinstance(values[0], list | tuple) else values)


def _view(a: Any, *shape: Any) -> Any:
    """A contiguous array in another shape.

    Raises:
        ValueError: If the array is not contiguous.
    """
    if not a.flags.c_contiguous:
        raise ValueError
    return a.reshape(_one_or_many(shape))


METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "__add__": ("self + b", lambda a, b: a + b),
    "__radd__": ("b + self", lambda a, b: b + a),
    "__sub__": ("self - b", lambda a, b: a - b),
    "__mul__": ("self · b", lambda a, b: a * b),
    "__rmul__": ("b · self", lambda a, b: b * a),
    "__neg__": ("-self", lambda a: -a),
    "__lt__": ("whether self < b", lambda a, b: a < b),
    "__gt__": ("whether self > b", lambda a, b: a > b),
    "__eq__": ("whether self == b", lambda a, b: a == b),
    "is_close": FORWARDS["IsClose"],
    "sigmoid": FORWARDS["Sigmoid"],
    "relu": FORWARDS["ReLU"],
    "log": FORWARDS["Log"],
    "exp": FORWARDS["Exp"],
    "all": ("whether no element is 0", _reduction(np.all)),
    "sum": ("the sum of the elements", _reduction(np.sum)),
    "mean": ("the mean of the elements", _reduction(np.mean)),
    "permute": ("the dimensions in another order", lambda a, *order: a.transpose(_one_or_many(order))),
    "view": ("the same elements in another shape", _view),
}
"""The methods of tensors, in the same form."""

VIEWS = ("Permute.forward", "permute", "view")
"""These return a view of the same storage."""


def array(value: Any) -> Any:
    """The NumPy array of a snapshot or of a tensor; other values unchanged."""
    if isinstance(value, Layout):
        return value.array
    if hasattr(value, "_tensor"):
        data = value._tensor
        return Strided("", data._storage, data.shape, data.strides, data.offset).array
    return value


def forward(call: Call) -> Difference | None:
    """Compare the value of a function of tensors."""
    words, oracle = FORWARDS[call.owner]
    return value(call, f"{call.owner}.forward", words, oracle, call.before[1:])


def method(call: Call) -> Difference | None:
    """Compare the value of a method."""
    words, oracle = METHODS[call.outer]
    names = call.code.co_varnames[1 : call.code.co_argcount]
    keywords = {"keepdim": call.closure["keepdim"]} if "keepdim" in names else {}
    return value(call, f"Tensor.{call.outer}", words, oracle, call.before[: 2 if keywords else None], keywords)


def value(
    call: Call, name: str, words: str, oracle: Callable[..., Any], values: Sequence[Any], keywords: dict[str, Any] | None = None
) -> Difference | None:
    """Compare a result with the value of the oracle for the same tensors, in shape and in every element."""
    with np.errstate(all="ignore"):
        expected = np.asarray(oracle(*map(array, values), **(keywords or {})))
    rows = [("Call", f"{name}({', '.join(_argument(value) for value in values)})"), ("It should be", words)]
    if call.result is None:
        return Difference(NOTHING, (*rows, ("Expected", f"a tensor of shape {expected.shape}")), NUMPY)
    if not hasattr(call.result, "_tensor"):
        return Difference("the type of the result", (*rows, ("Expected", "a Tensor"), ("Yours", f"a {type(call.result).__name__}")), NUMPY)
    got = array(call.result)
    if got.shape != expected.shape:
        return Difference("the shape of the result", (*rows, ("Expected", str(expected.shape)), ("Yours", str(got.shape))), NUMPY)
    index = first_difference(expected, got)
    if index is not None:
        return Difference(f"element {index} of the result", (*rows, *_comparison(expected, got, index), *_operands(values, index)), NUMPY)
    if name.rpartition("Tensor.")[2] in VIEWS and not _shares_storage(call.result, values[0]):
        rows += [("Expected", "a view of the same storage"), ("Yours", "a copy with another storage")]
        return Difference("the storage of the result, which is a different one", tuple(rows), NUMPY)
    return None


def _shares_storage(result: Any, given: Layout) -> bool:
    name = "cell" if hasattr(result._tensor, "cell") else "_storage"
    return getattr(result._tensor, name) is getattr(given.itself._tensor, name)


def _argument(value: Any) -> str:
    if not isinstance(value, Layout):
        return format_number(value) if isinstance(value, float) else repr(value)[:30]
    return f"tensor of shape {value.shape}"


def _comparison(expected: Any, got: Any, index: Index) -> list[tuple[str, str]]:
    return [
        ("Expected", "\n".join([format_number(expected[index]), *(grid(expected, {index: "[]"}) if expected.size > 1 else [])])),
        ("Yours", "\n".join([format_number(got[index]), *(grid(got, {index: "><"}) if got.size > 1 else [])])),
    ]


def _operands(values: Sequence[Any], index: Index) -> list[tuple[str, str]]:
    """The tensors of a call; in each, the element that a result element was computed from is marked, if there is one."""
    rows = []
    for name, value in zip("abcd", values, strict=False):
        if isinstance(value, Layout):
            x = Strided(name, value.storage, value.shape, value.strides, value.offset)
            plain = len(value.shape) <= len(index) and all(
                s == 1 or i < s for i, s in zip(reversed(index), reversed(value.shape), strict=False)
            )
            rows.append((name, x.diagram({x.source(index): "[]"} if plain else {})))
    return rows


# Gradients


def backward(call: Call) -> Difference | None:
    """Compare gradients with finite differences at the arguments of the call of forward that had the same context."""
    forward = call.recorder.forwards[id(call.arguments[0])]
    inputs = forward.before[1:]
    oracle = FORWARDS[call.owner][1]
    return gradients(call, inputs, oracle, array(call.before[1]), call.result)


def gradients(call: Call, inputs: Sequence[Any], oracle: Callable[..., Any], grad_output: Any, result: Any) -> Difference | None:
    """Compare the result of backward with the gradients of a function at the inputs of forward."""
    got = list(result) if isinstance(result, list | tuple) else [result]
    tensors = [place for place, x in enumerate(inputs) if isinstance(x, Layout)]
    rows = [("At", f"{call.owner}({', '.join(_argument(x) for x in inputs)}), grad_output of shape {grad_output.shape}")]
    if result is None and len(tensors) > 1:
        rows += [("Expected", f"{len(tensors)} gradients, one for every tensor"), ("Yours", "None")]
        return Difference(NOTHING, tuple(rows), DIFFERENCES)
    if len(got) < len(tensors):
        rows += [("Expected", f"{len(tensors)} gradients, one for every tensor"), ("Yours", str(len(got)))]
        return Difference(f"the number of gradients, {len(got)} instead of {len(tensors)}", tuple(rows), DIFFERENCES)
    for place, name in zip(tensors, "abc", strict=False):
        x = inputs[place]
        if got[place] is None:
            if x.constant:
                continue
            rows += [("Expected", f"a gradient of shape {x.shape}"), ("Yours", "None")]
            return Difference(NOTHING if result is None else f"the gradient of {name}, which is missing", tuple(rows), DIFFERENCES)
        if wrong := gradient(call.owner, inputs, place, name, oracle, grad_output, np.asarray(array(got[place])), rows, saved_values(call)):
            return wrong
    return None


def gradient(
    kind: str,
    inputs: Sequence[Any],
    place: int,
    name: str,
    oracle: Callable[..., Any],
    grad_output: Any,
    got: Any,
    rows: Sequence[tuple[str, str]],
    saved: Sequence[tuple[str, str]] = (),
) -> Difference | None:
    """Compare the gradient of one input; it may have the shape to which the input was broadcast."""
    x = inputs[place].array
    scale = float(np.abs(grad_output[np.isfinite(grad_output)]).max(initial=1.0))
    summed = unbroadcast(got, x.shape)
    if summed is None:
        more = (("Expected", f"shape {x.shape} as {name} has, or the shape to which it was broadcast"), ("Yours", f"shape {got.shape}"))
        return Difference(f"the shape of the gradient of {name}", (*rows, *more), DIFFERENCES)
    for index in list(np.ndindex(*x.shape))[:ENTRIES]:
        expected = entry(kind, inputs, place, oracle, grad_output, index)
        if expected is None or not math.isfinite(expected):
            continue
        if not agrees(expected, summed[index], scale):
            shown = [("Expected", format_number(float(f"{expected:.6g}"))), ("Yours", format_number(summed[index]))]
            shown.append(("Its gradient", "\n".join([f"shape {summed.shape}", *grid(summed, {index: "><"})])))
            shown.append((name, "\n".join([f"shape {x.shape}", *grid(x, {index: "[]"})])))
            shown.append(("grad_output", "\n".join(grid(grad_output, {}))))
            shown += saved
            return Difference(f"entry {index} of the gradient of {name}", (*rows, *shown), DIFFERENCES)
    return None


def unbroadcast(got: Any, shape: Index) -> Any:
    """A gradient reduced to the shape of its input by sums over the broadcast dimensions; None if the shapes do not broadcast."""
    try:
        big = np.broadcast_shapes(got.shape, shape)
    except ValueError:
        return None
    if big == shape:
        return np.broadcast_to(got, shape)
    missing = len(big) - len(shape)
    got = np.broadcast_to(got, big)
    got = got.sum(tuple(range(missing)))
    return got.sum(tuple(d for d, size in enumerate(shape) if size == 1 and got.shape[d] > 1), keepdims=True).reshape(shape)


def entry(kind: str, inputs: Sequence[Any], place: int, oracle: Callable[..., Any], grad_output: Any, index: Index) -> float | None:
    """The derivative of Σ grad_output · f with respect to one entry of an input, using the course's convention at a kink."""
    values = [array(x) for x in inputs]
    x = values[place].astype(np.float64)
    if kind in ("LT", "EQ"):
        return 0.0
    if kind == "ReLU":  # finite differences are unreliable near the kink
        return float(np.heaviside(x[index], 0.0) * np.broadcast_to(grad_output, x.shape)[index])
    if kind == "Sum":
        return float(np.broadcast_to(grad_output, x.shape)[index])

    def terms(number: float) -> Any:
        perturbed = x.copy()
        perturbed[index] = number
        with np.errstate(all="ignore"):
            return oracle(*values[:place], perturbed, *values[place + 1 :]) * grad_output

    here = float(x[index])
    return numerical_derivative(lambda number: float(terms(number).sum()), here, float(np.abs(terms(here)).sum()))


JUDGES: dict[str, Judge] = (
    {f"minitorch.tensor_functions:{name}.forward": forward for name in FORWARDS}
    | {f"minitorch.tensor_functions:{name}.backward": backward for name in FORWARDS if name != "IsClose"}
    | {f"minitorch.tensor:Tensor.{name}": method for name in METHODS}
)
