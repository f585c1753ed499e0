"""Tasks 1.1 to 1.3 and 1.5: functions and methods of Scalars, the chain rule, and a layer of Scalars."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Number, Observed
from course.explain.divergence import Difference, format_number, same
from course.oracles.finite_differences import agrees, numerical_derivative
from course.oracles.operators import OPERATORS, compare

FORWARDS: dict[str, tuple[str, Callable[..., float]]] = {
    "Add": OPERATORS["add"],
    "Mul": OPERATORS["mul"],
    "Inv": OPERATORS["inv"],
    "Neg": OPERATORS["neg"],
    "Sigmoid": OPERATORS["sigmoid"],
    "ReLU": OPERATORS["relu"],
    "Log": OPERATORS["log"],
    "Exp": OPERATORS["exp"],
    "LT": OPERATORS["lt"],
    "EQ": OPERATORS["eq"],
}
"""The functions of scalars: what they compute, in words, and their values."""

METHODS: dict[str, tuple[str, Callable[..., float]]] = {
    "__add__": ("self + b", lambda a, b: a + b),
    "__sub__": ("self - b", lambda a, b: a - b),
    "__neg__": ("-self", lambda a: -a),
    "__lt__": ("1.0 if self < b, else 0.0", lambda a, b: float(a < b)),
    "__gt__": ("1.0 if self > b, else 0.0", lambda a, b: float(a > b)),
    "__eq__": ("1.0 if self == b, else 0.0", lambda a, b: float(a == b)),
    "log": OPERATORS["log"],
    "exp": OPERATORS["exp"],
    "sigmoid": OPERATORS["sigmoid"],
    "relu": OPERATORS["relu"],
}
"""The methods of Scalar, in the same form."""

DIFFERENCES = "central differences of the function with Python floats"


def central_difference(call: Call) -> Difference | None:
    """Compare the points at which f is called, which takes another call of central_difference, and the value computed from them."""
    f, *rest = call.before
    names = call.code.co_varnames[: call.code.co_argcount + call.code.co_kwonlyargcount]
    given = list(rest[len(names) - 1 - call.code.co_kwonlyargcount :])
    values = [value.data if isinstance(value, Number) else value for value in given]
    arg, epsilon = call.closure["arg"], call.closure["epsilon"]
    if not all(isinstance(value, float | int) and value == value for value in values):
        return None

    def scalars(numbers: Sequence[float]) -> list[Any]:
        return [type(value.itself)(x) if isinstance(value, Number) else x for value, x in zip(given, numbers, strict=True)]

    points = (np.array(values) + np.outer([-epsilon, epsilon], np.eye(len(values))[arg])).tolist()
    called: list[tuple[Any, ...]] = []

    def observe(*point: Any) -> Any:
        called.append(tuple(getattr(x, "data", x) for x in point))
        return f(*point)

    got = call.target.function(observe, *scalars(values), arg=arg, epsilon=epsilon)
    got = getattr(got, "data", got)
    heights = [f(*scalars(point)) for point in points]
    expected = float(np.gradient([getattr(y, "data", y) for y in heights], 2 * epsilon)[0])
    made = f"central_difference({getattr(f, '__name__', 'f').replace('<lambda>', 'f')}, {', '.join(map(format_number, values))}"
    rows = [
        ("Call", f"{made}, arg={arg}, epsilon={epsilon:g})"),
        ("It should call", f"f{_point(points[1])} and f{_point(points[0])}"),
        ("It calls", ", ".join(f"f{_point(point)}" for point in called[:4]) or "nothing"),
        ("Expected", format_number(expected)),
        ("Yours", format_number(got)),
    ]
    oracle = "numpy.gradient of the values of f"
    if sorted(map(list, called)) != sorted(points):
        return Difference("the points at which it calls f", tuple(rows), oracle)
    if not same(expected, got, 1e-6, 1e-6):
        return Difference(NOTHING if got is None else "the value computed from the two values of f", tuple(rows), oracle)
    return None


def _point(values: Sequence[float]) -> str:
    return f"({', '.join(f'{value:.10g}' for value in values)})"


def forward(call: Call) -> Difference | None:
    """Compare the value of a function of scalars."""
    words, oracle = FORWARDS[call.owner]
    return compare(f"{call.owner}.forward", words, oracle, call.before[1:], call.result)


def backward(call: Call) -> Difference | None:
    """Compare derivatives with finite differences at the arguments of the call of forward that had the same context."""
    forward = call.recorder.forwards[id(call.arguments[0])]
    values, d_output = [float(value) for value in forward.before[1:]], float(call.before[1])
    oracle = FORWARDS[call.owner][1]
    expected = [derivative(call.owner, oracle, values, place) for place in range(len(values))]
    got = list(call.result) if isinstance(call.result, tuple) else [call.result]
    words = [format_number(d_output * e) if e is not None else "?" for e in expected]
    rows = (
        ("At", f"{call.owner}({', '.join(map(format_number, values))}), d_output = {format_number(d_output)}"),
        ("Expected", f"({', '.join(words)})" if len(words) > 1 else words[0]),
        ("Yours", f"({', '.join(map(format_number, got))})" if len(got) > 1 else format_number(got[0])),
        *saved_values(call),
    )
    if call.result is None:
        return Difference(NOTHING, rows, DIFFERENCES)
    if len(got) != len(expected):
        return Difference(f"the number of derivatives, {len(got)} instead of {len(expected)}", rows, DIFFERENCES)
    for place, (e, g) in enumerate(zip(expected, got, strict=True)):
        if e is not None and math.isfinite(d_output * e) and not agrees(d_output * e, g, abs(d_output)):
            return Difference(f"the derivative of input {place}" if len(got) > 1 else "the derivative", rows, DIFFERENCES)
    return None


def saved_values(call: Call) -> list[tuple[str, str]]:
    """The row with the values that forward saved: a wrong one of them may be the cause of a wrong derivative."""
    with contextlib.suppress(Exception):  # a tensor that was changed in place cannot be read
        values = [value.to_numpy().tolist() if hasattr(value, "to_numpy") else value for value in call.arguments[0].saved_values]
        return [("Saved", ", ".join(map(format_number, values)))] if values else []
    return []


def derivative(name: str, oracle: Callable[..., float], values: Sequence[float], place: int) -> float | None:
    """The derivative of a function with respect to one of its inputs; 0 for comparisons and, by convention, for ReLU at 0."""
    if name in ("LT", "EQ"):
        return 0.0
    if name == "ReLU":  # finite differences are unreliable near the kink
        return float(np.heaviside(values[0], 0.0))
    return numerical_derivative(lambda x: oracle(*values[:place], x, *values[place + 1 :]), values[place])


def method(call: Call) -> Difference | None:
    """Compare the value of a method, and the history of its result, which must lead to every operand that is not a constant."""
    words, oracle = METHODS[call.outer]
    operands = [value for value in call.before if isinstance(value, Number)]
    values = [value.data if isinstance(value, Number) else value for value in call.before]
    for operand in operands:
        if not same(operand.data, operand.itself.data):
            rows = (("Before", format_number(operand.data)), ("After", format_number(operand.itself.data)))
            return Difference("an operand, which the call changed", rows, "the operand as it was before the call")
    made = f"Scalar.{call.outer}({', '.join(map(format_number, values))})"
    if call.result is not None and not hasattr(call.result, "history"):
        rows = (("Call", made), ("Expected", "a Scalar"), ("Yours", f"{call.result!r}, a {type(call.result).__name__}"))
        return Difference("the type of the result", rows, "methods of Scalar return a Scalar")
    result = None if call.result is None else call.result.data
    if wrong := compare(f"Scalar.{call.outer}", words, oracle, values, result):
        return wrong
    if call.result is None:
        return None
    for place, operand in enumerate(operands):
        if not operand.constant and not _leads_to(call.result, operand.itself):
            history = call.result.history
            if history is None:
                kind = "it is a constant"
            elif history.last_fn is None:
                kind = "it is a leaf, as if the user had created it"
            else:
                kind = f"{history.last_fn.__name__} of {', '.join(map(repr, history.inputs))}"
            rows = (
                ("Call", made),
                ("Expected", f"a result whose history leads to {'both operands' if len(operands) > 1 else 'its operand'}"),
                ("Yours", kind),
            )
            which = ("the left operand", "the right operand")[place] if len(values) > 1 else "the operand"
            return Difference(f"{which}, to which the history of the result does not lead", rows, "the histories, followed from the result")
    return None


def _leads_to(result: Any, operand: Any) -> bool:
    """Whether the history of a result leads to an operand."""
    waiting, seen = [result], set()
    while waiting:
        node = waiting.pop()
        if node is operand:
            return True
        if id(node) not in seen and node.history is not None:
            seen.add(id(node))
            waiting += node.history.inputs
    return False


@dataclass(frozen=True)
class Backward:
    """Observations from a call of chain_rule.

    Attributes:
        history: The history of the variable.
        kept: The derivatives that its inputs had accumulated before the call.
        calls: The calls of the `backward` of its function.
    """

    history: Any
    kept: list[float | None]
    calls: list[Observed]


def chain_rule(call: Call) -> Difference | None:
    """Compare the pairs with the inputs and with what `backward` returned to chain_rule."""
    observed: Backward = call.start
    history, d_output = observed.history, call.arguments[1]
    oracle = "the history of the variable, and the derivatives that backward returned"
    if history is None or history.last_fn is None:
        rows = (("Expected", "a RuntimeError: no function computed this variable"), ("Yours", repr(call.result)[:60]))
        return None if call.result is None else Difference("the result for a variable without inputs", rows, oracle)
    if call.result is None:
        return Difference(NOTHING, (("Expected", "a pair (input, derivative) for every input"), ("Yours", "None")), oracle)
    for before, now in zip(observed.kept, call.end, strict=True):
        if now != before:
            rows = (("Before", str(before)), ("After", str(now)))
            return Difference("the derivative of an input, which the call changed", rows, "the input as it was before the call")
    if not isinstance(call.result, list | tuple) or len(observed.calls) != 1:  # inspecting an iterator would exhaust it
        return None
    (ctx, given), returned = observed.calls[0].arguments, observed.calls[0].result
    derivatives = returned if isinstance(returned, tuple) else (returned,)
    pairs, name = list(call.result), history.last_fn.__name__
    at = ("At", f"{name} of {', '.join(format_number(x.data) for x in history.inputs)}, d_output = {format_number(d_output)}")
    if ctx is not history.ctx:
        rows = (at, ("Expected", "the context of the history"), ("Yours", "another one"))
        return Difference(f"the context passed to {name}.backward", rows, oracle)
    if not same(d_output, given):
        rows = (at, ("Expected", f"d_output = {format_number(d_output)}"), ("Yours", format_number(given)))
        return Difference(f"the derivative passed to {name}.backward", rows, oracle)
    rows = (
        at,
        ("Expected", "\n".join(f"(input {i}, {format_number(d)})" for i, d in enumerate(derivatives))),
        ("Yours", "\n".join(_pair(pair, history.inputs) for pair in pairs) or "no pairs"),
    )
    if len(derivatives) != len(history.inputs):
        rows = (at, ("Expected", f"a ValueError: {len(derivatives)} derivatives for {len(history.inputs)} inputs"), rows[2])
        return Difference("the result for a wrong number of derivatives", rows, oracle)
    for place, derivative in enumerate(derivatives):
        if place >= len(pairs) or not isinstance(pairs[place], tuple) or pairs[place][0] is not history.inputs[place]:
            return Difference(f"input {place}", rows, oracle)
        if not same(derivative, pairs[place][1]):
            return Difference(f"the derivative of input {place}", rows, oracle)
    return Difference(f"pair {len(derivatives)}, one too many", rows, oracle) if len(pairs) > len(derivatives) else None


def observe_backward(call: Call) -> Backward:
    """At the beginning of chain_rule: the history and the derivatives of the inputs; from then on, the calls of `backward`."""
    history = call.arguments[0].history
    if history is None or history.last_fn is None:
        return Backward(history, [], [])
    calls = call.recorder.observe(inspect.unwrap(history.last_fn.backward).__code__)
    return Backward(history, [x.derivative for x in history.inputs], calls)


def derivatives_of_inputs(call: Call) -> list[float | None]:
    """At the end of chain_rule: the derivatives of the inputs. The judge of backpropagate learns which variables were visited."""
    call.recorder.note("minitorch.autodiff:backpropagate", (call.arguments[0], call.arguments[1]))
    observed: Backward = call.start
    return [x.derivative for x in observed.history.inputs] if observed.kept else []


def _pair(pair: Any, inputs: Sequence[Any]) -> str:
    """A pair that the student returned, with the number of its input."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        return repr(pair)[:60]
    number = next((str(i) for i, x in enumerate(inputs) if x is pair[0]), None)
    return f"({f'input {number}' if number else repr(pair[0])}, {format_number(pair[1])})"


def linear_of_scalars(call: Call) -> Difference | None:
    """Compare the weighted sums of a layer of Scalars."""
    layer, inputs = call.arguments[0], [x.data if hasattr(x, "data") else float(x) for x in call.before[1]]
    weights = np.array([[weight.value.data for weight in line] for line in layer.weights])
    bias = np.array([bias.value.data for bias in layer.bias])
    expected = np.einsum("i,ij->j", inputs, weights) + bias
    rows = [("Inputs", ", ".join(map(format_number, inputs)))]
    oracle = "numpy.einsum"
    if call.result is None:
        return Difference(NOTHING, tuple(rows), oracle)
    got = [getattr(output, "data", output) for output in call.result]
    if len(got) != len(expected):
        rows += [("Expected", f"{len(expected)} outputs"), ("Yours", str(len(got)))]
        return Difference(f"the number of outputs, {len(got)} instead of {len(expected)}", tuple(rows), oracle)
    wrong = [j for j in range(len(got)) if not same(expected[j], got[j], 1e-7)]
    if not wrong:
        return None
    j = wrong[0]
    terms = " + ".join(f"{format_number(x)}·{format_number(w)}" for x, w in zip(inputs, weights[:, j], strict=True))
    rows += [("Expected", f"{format_number(expected[j])} = {terms} + {format_number(bias[j])}, the bias"), ("Yours", format_number(got[j]))]
    return Difference(f"output {j}", tuple(rows), oracle)


JUDGES: dict[str, Judge] = (
    {
        "minitorch.autodiff:central_difference": central_difference,
        "minitorch.scalar:Scalar.chain_rule": chain_rule,
        "project.run_scalar:Linear.forward": linear_of_scalars,
    }
    | {f"minitorch.scalar_functions:{name}.forward": forward for name in FORWARDS}
    | {f"minitorch.scalar_functions:{name}.backward": backward for name in FORWARDS}
    | {f"minitorch.scalar:Scalar.{name}": method for name in METHODS}
)

PREPARE: dict[str, Callable[[Call], Any]] = {"minitorch.scalar:Scalar.chain_rule": observe_backward}
"""What is read at the beginning of a call."""

FINISH: dict[str, Callable[[Call], Any]] = {"minitorch.scalar:Scalar.chain_rule": derivatives_of_inputs}
"""What is read at the end of a call."""

LATER = ("minitorch.autodiff:central_difference", "minitorch.scalar:Scalar.chain_rule")
"""Compared after the test, because comparing them may call functions of the test again."""
