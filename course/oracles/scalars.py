"""Module 1 but for its graphs: one function of scalars, forward and backward, and a layer of Scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Number
from course.explain.divergence import Wrong, same, shown_number
from course.oracles.finite_differences import agrees, slope
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
"""What the functions of scalars compute, in words and in Python."""

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
"""What the methods of Scalar compute."""

DIFFERENCES = "central differences of the function in Python's own arithmetic"


def central_difference(call: Call) -> Wrong | None:
    """Whether the derivative is the difference of f at the two right points: f is asked once more, and the points are noted."""
    f, *rest = call.before
    names = call.code.co_varnames[: call.code.co_argcount + call.code.co_kwonlyargcount]
    values = list(rest[len(names) - 1 - call.code.co_kwonlyargcount :])
    arg, epsilon = call.closure["arg"], call.closure["epsilon"]
    if not all(isinstance(value, float | int) for value in values):
        return None
    above, below = list(values), list(values)
    above[arg] += epsilon
    below[arg] -= epsilon
    asked: list[tuple[Any, ...]] = []

    def noted(*point: Any) -> Any:
        asked.append(point)
        return f(*point)

    got = call.target.function(noted, *values, arg=arg, epsilon=epsilon)
    expected = float(np.gradient([f(*below), f(*above)], 2 * epsilon)[0])
    made = f"central_difference({getattr(f, '__name__', 'f').replace('<lambda>', 'f')}, {', '.join(map(shown_number, values))}"
    rows = [
        ("Call", f"{made}, arg={arg}, epsilon={epsilon:g})"),
        ("It should ask", f"f{_point(above)} and f{_point(below)}"),
        ("It asks", ", ".join(f"f{_point(point)}" for point in asked[:4]) or "nothing"),
        ("Expected", shown_number(expected)),
        ("Yours", shown_number(got)),
    ]
    oracle = "(f(x + ε) - f(x - ε)) / 2ε in Python's own arithmetic"
    if sorted(map(list, asked)) != sorted([above, below]):
        return Wrong("the points at which f is asked", tuple(rows), oracle)
    if not same(expected, got, 1e-6) and abs(expected - got) > 1e-6:
        return Wrong("what is made of the two values", tuple(rows), oracle)
    return None


def _point(values: Sequence[float]) -> str:
    return f"({', '.join(f'{value:.10g}' for value in values)})"


def forward(call: Call) -> Wrong | None:
    """Whether a function's value is that of Python's floats."""
    words, oracle = FORWARDS[call.owner]
    return compare(f"{call.owner}.forward", words, oracle, call.before[1:], call.result)


def backward(call: Call) -> Wrong | None:
    """Whether the derivatives are those of finite differences, at the numbers that forward was given with the same context."""
    forward = call.recorder.forwards[id(call.arguments[0])]
    values, d_output = [float(value) for value in forward.before[1:]], float(call.before[1])
    oracle = FORWARDS[call.owner][1]
    expected = [derivative(call.owner, oracle, values, place) for place in range(len(values))]
    got = list(call.result) if isinstance(call.result, tuple) else [call.result]
    words = [shown_number(d_output * e) if e is not None else "?" for e in expected]
    rows = (
        ("At", f"{call.owner}({', '.join(map(shown_number, values))}), d_output = {shown_number(d_output)}"),
        ("Expected", f"({', '.join(words)})" if len(words) > 1 else words[0]),
        ("Yours", f"({', '.join(map(shown_number, got))})" if len(got) > 1 else shown_number(got[0])),
    )
    if call.result is None:
        return Wrong(NOTHING, rows, DIFFERENCES)
    if len(got) != len(expected):
        return Wrong(f"the number of derivatives, {len(got)} for {len(expected)}", rows, DIFFERENCES)
    for place, (e, g) in enumerate(zip(expected, got, strict=True)):
        if e is not None and math.isfinite(d_output * e) and not agrees(d_output * e, g, abs(d_output)):
            return Wrong(f"the derivative of input {place}" if len(got) > 1 else "the derivative", rows, DIFFERENCES)
    return None


def derivative(name: str, oracle: Callable[..., float], values: Sequence[float], place: int) -> float | None:
    """The derivative of a function by one of its inputs; at its kink that of ReLU is 0 by agreement, and comparisons are flat."""
    if name in ("LT", "EQ"):
        return 0.0
    if name == "ReLU" and values[0] == 0:
        return 0.0
    return slope(lambda x: oracle(*values[:place], x, *values[place + 1 :]), values[place])


def method(call: Call) -> Wrong | None:
    """Whether an operator's value is that of floats, and whether its result remembers all operands that are not constant."""
    words, oracle = METHODS[call.outer]
    operands = [value for value in call.before if isinstance(value, Number)]
    values = [value.data if isinstance(value, Number) else value for value in call.before]
    for operand in operands:
        if not same(operand.data, operand.itself.data):
            rows = (("It was", shown_number(operand.data)), ("It is", shown_number(operand.itself.data)))
            return Wrong("an operand, which has changed", rows, "the operand as it was before the call")
    made = f"Scalar.{call.outer}({', '.join(map(shown_number, values))})"
    if call.result is not None and not hasattr(call.result, "history"):
        rows = (("Call", made), ("Expected", "a Scalar"), ("Yours", f"{call.result!r}, a {type(call.result).__name__}"))
        return Wrong("the type of the result", rows, "a method of Scalar answers with a Scalar")
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
                kind = "it is a leaf, a Scalar that the user made"
            else:
                kind = f"{history.last_fn.__name__} of {', '.join(map(repr, history.inputs))}"
            rows = (
                ("Call", made),
                ("Expected", f"a result computed from {'both operands' if len(operands) > 1 else 'its operand'}, as its history tells"),
                ("Yours", kind),
            )
            which = ("the left operand", "the right operand")[place] if len(values) > 1 else "the operand"
            return Wrong(f"{which}, which the result does not remember", rows, "the histories, followed from the result")
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


def chain_rule(call: Call) -> Wrong | None:
    """Whether there is a pair for every input, with the derivative that backward returns for it."""
    history, kept = call.start
    d_output = call.arguments[1]
    oracle = "the variable's history, and what its function's backward returns for it"
    if history is None or history.last_fn is None:
        rows = (("Expected", "a RuntimeError: no function made it"), ("Yours", repr(call.result)[:60]))
        return None if call.result is None else Wrong("what has no inputs", rows, oracle)
    if call.result is None:
        return Wrong(NOTHING, (("Expected", "a pair (input, derivative) for every input"), ("Yours", "None")), oracle)
    for before, now in zip(kept, call.end, strict=True):
        if now != before:
            rows = (("It was", str(before)), ("It is", str(now)))
            return Wrong("the derivative that an input keeps, which has changed", rows, "the input as it was before the call")
    if not isinstance(call.result, list | tuple):  # to look into an iterator would empty it
        return None
    made_by, saved = history.last_fn, history.ctx
    derivatives = made_by._backward(saved, d_output)
    pairs = list(call.result)
    values = ", ".join(shown_number(x.data) for x in history.inputs)
    rows = (
        ("At", f"{history.last_fn.__name__} of {values}, d_output = {shown_number(d_output)}"),
        ("Expected", "\n".join(f"(input {i}, {shown_number(d)})" for i, d in enumerate(derivatives))),
        ("Yours", "\n".join(_pair(pair, history.inputs) for pair in pairs) or "no pairs"),
    )
    for place, (x, d) in enumerate(zip(history.inputs, derivatives, strict=True)):
        if place >= len(pairs) or not isinstance(pairs[place], tuple) or pairs[place][0] is not x:
            return Wrong(f"input {place}", rows, oracle)
        if not same(d, pairs[place][1]):
            return Wrong(f"the derivative of input {place}", rows, oracle)
    return Wrong(f"pair {len(derivatives)}, which is one too many", rows, oracle) if len(pairs) > len(derivatives) else None


def history_of(call: Call) -> tuple[Any, list[float | None]]:
    """The history of a variable, and what its inputs keep, when the call begins."""
    history = call.arguments[0].history
    return history, [x.derivative for x in history.inputs] if history is not None else []


def inputs_kept(call: Call) -> list[float | None]:
    """What the inputs keep when the call returns; backpropagate is told that it went this way."""
    call.recorder.note("minitorch.autodiff:backpropagate", (call.arguments[0], call.arguments[1]))
    history = call.start[0]
    return [x.derivative for x in history.inputs] if history is not None else []


def _pair(pair: Any, inputs: Sequence[Any]) -> str:
    """A pair of the student's, its input by its number."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        return repr(pair)[:60]
    number = next((str(i) for i, x in enumerate(inputs) if x is pair[0]), None)
    return f"({f'input {number}' if number else repr(pair[0])}, {shown_number(pair[1])})"


def linear_of_scalars(call: Call) -> Wrong | None:
    """Whether a layer of Scalars gives weighted sums."""
    layer, inputs = call.arguments[0], [x.data if hasattr(x, "data") else float(x) for x in call.before[1]]
    weights = [[weight.value.data for weight in line] for line in layer.weights]
    bias = [bias.value.data for bias in layer.bias]
    expected = [sum(x * line[j] for x, line in zip(inputs, weights, strict=True)) + bias[j] for j in range(len(bias))]
    rows = [("Inputs", ", ".join(map(shown_number, inputs)))]
    oracle = "sums of products in Python's own arithmetic"
    if call.result is None:
        return Wrong(NOTHING, tuple(rows), oracle)
    got = list(call.result)
    if len(got) != len(expected):
        rows += [("Expected", f"{len(expected)} outputs"), ("Yours", str(len(got)))]
        return Wrong(f"the number of outputs, {len(got)} for {len(expected)}", tuple(rows), oracle)
    for j, (e, g) in enumerate(zip(expected, got, strict=True)):
        number = getattr(g, "data", g)
        if not same(e, number, 1e-7):
            terms = " + ".join(f"{shown_number(x)}·{shown_number(w)}" for x, w in zip(inputs, (line[j] for line in weights), strict=True))
            rows += [("Expected", f"{shown_number(e)} = {terms} + {shown_number(bias[j])}, the bias"), ("Yours", shown_number(number))]
            return Wrong(f"output {j}", tuple(rows), oracle)
    return None


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

PREPARE: dict[str, Callable[[Call], Any]] = {"minitorch.scalar:Scalar.chain_rule": history_of}
"""What is looked at when a call begins."""

FINISH: dict[str, Callable[[Call], Any]] = {"minitorch.scalar:Scalar.chain_rule": inputs_kept}
"""What is looked at when it returns."""

LATER = ("minitorch.autodiff:central_difference", "minitorch.scalar:Scalar.chain_rule")
"""Their judges call the test's functions again."""
