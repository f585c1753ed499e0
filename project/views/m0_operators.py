"""Module 0: every operator with its curve, its derivative and its source."""

import inspect
import math
import operator
from collections.abc import Callable, Sequence

import streamlit as st

from project.lab.cards import WrongResult, number
from project.lab.charts import plots
from project.lab.charts.drawing import draw
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS

ONE = ("sigmoid", "relu", "log", "exp", "inv", "neg", "id")
TWO = ("add", "mul", "max", "lt", "eq", "is_close")
DERIVATIVES = {"log": "log_back", "inv": "inv_back", "relu": "relu_back"}
RIGHT: dict[str, Callable[..., float]] = FUNCTIONS | {
    "inv": lambda x: 1 / x,
    "neg": operator.neg,
    "id": lambda x: x,
    "log_back": lambda x, d: d / (x + 1e-6),
    "inv_back": lambda x, d: -d / x**2,
    "relu_back": lambda x, d: d if x > 0 else 0,
    "add": operator.add,
    "mul": operator.mul,
    "max": max,
    "lt": operator.lt,
    "eq": operator.eq,
    "is_close": lambda x, y: abs(x - y) < 1e-2,
}
"""What each operator returns."""

LISTS = {  # name: how it is called on the two lists
    "map": "map(neg)(a)",
    "zipWith": "zipWith(mul)(a, b)",
    "reduce": "reduce(add, 0.0)(a)",
    "negList": "negList(a)",
    "addLists": "addLists(a, b)",
    "sum": "sum(a)",
    "prod": "prod(a)",
}

st.title("Operators")
st.write("The functions on which the rest of the library is built, plotted from your own code.")

with task_guard():
    from minitorch import operators


def curve_page(name: str) -> None:
    """Show a scalar operator: its curve over a range and its value at one point."""
    left, picture = st.columns([2, 3], gap="large")
    with left:
        low, high = sorted(st.slider("Range of x", -20.0, 20.0, (-5.0, 5.0), 0.5, key="operator_range", bind="query-params"))
        if low == high:
            high = low + 0.5
        x = st.slider("x", low, high, min(max(1.0, low), high))
        y = st.slider("y", -5.0, 5.0, 1.0, key="operator_y", bind="query-params") if name in TWO else None
    with task_guard(stop=False):
        shown = {(name, y): f"{name}(x)" if y is None else f"{name}(x, {y:g})"}
        if name in DERIVATIVES:
            shown[DERIVATIVES[name], 1.0] = f"{DERIVATIVES[name]}(x, 1)"
        series = {label: plots.sample(of_x(*function), low, high) for function, label in shown.items()}
        wrong = {label: mistake for function, label in shown.items() if (mistake := first_mistake(*function, series[label]))}
        expected = {
            f"{label}, expected": plots.sample(correct(*function), low, high) for function, label in shown.items() if label in wrong
        }
        with picture:
            words = f"{' and '.join(series | expected)} for x from {low:g} to {high:g}, with gaps where the value is undefined."
            value = plots.value(of_x(name, y), x)
            draw(plots.curves(series | expected, words, mark=None if value is None else (x, value)), "operator_curve")
            st.caption(words)
        with left:
            for function, label in shown.items():
                st.metric(label.replace("(x", f"({x:g}"), f"{of_x(*function)(x):.6g}")
        if wrong:
            raise WrongResult(next(iter(wrong.values())))


def correct(name: str, y: float | None) -> Callable[[float], float]:
    """Return what the operator should be, as a function of x."""
    others = () if y is None else (y,)
    return lambda x: float(RIGHT[name](x, *others))


def first_mistake(name: str, y: float | None, points: Sequence[tuple[float, float | None]]) -> str | None:
    """Describe the first point of a curve that is wrong; None if there is none. At a jump, both sides are right."""
    for x, got in points:
        nearby = [plots.value(correct(name, y), x + step) for step in (0, -1e-9, 1e-9)]
        if got is None or None in nearby:
            continue
        if not any(math.isclose(got, near or 0, rel_tol=1e-3, abs_tol=1e-3) for near in nearby):
            given = ", ".join(f"{value:g}" for value in ((x,) if y is None else (x, y)))
            return f"{name}({given}) expected {nearby[0]:g}, got {got:g}"
    return None


def of_x(name: str, y: float | None) -> Callable[[float], float]:
    """Return the operator as a function of x that raises WrongResult unless the operator returns a number."""
    function = getattr(operators, name)
    if y is None:
        return lambda x: number(function(x), f"{name}({x:g})")
    return lambda x: number(function(x, y), f"{name}({x:g}, {y:g})")


def lists_page(name: str) -> None:
    """Show a list operator and its result."""
    left, right = st.columns(2)
    first = parse_numbers(left.text_input("a", "1, 2, 3", key="list_a", bind="query-params", help="Numbers, separated by commas"))
    second = parse_numbers(right.text_input("b", "10, 20, 30", key="list_b", bind="query-params"))
    call = LISTS[name]
    with task_guard():
        results = {
            "map": lambda: operators.map(operators.neg)(first),
            "zipWith": lambda: operators.zipWith(operators.mul)(first, second),
            "reduce": lambda: operators.reduce(operators.add, 0.0)(first),
            "negList": lambda: operators.negList(first),
            "addLists": lambda: operators.addLists(first, second),
            "sum": lambda: operators.sum(first),
            "prod": lambda: operators.prod(first),
        }
        result = results[name]()
        if result is not None and not isinstance(result, float | int):
            result = list(result)
        st.code(f"a = {first}\nb = {second}\n{call} = {result}", language="python")


def parse_numbers(text: str) -> list[float]:
    """Return the numbers in a text field. Invalid input ends the page with an error."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        refuse(f"expected numbers separated by commas, got {text!r}", "For example: 1, 2.5, -3.")


chosen = st.selectbox("Operator", [*ONE, *TWO, *LISTS], key="operator", bind="query-params", help="On one number, on two, and on lists")
if chosen in LISTS:
    lists_page(chosen)
else:
    curve_page(chosen)
with task_guard():
    st.write("**Source code**")
    st.code(
        "\n\n".join(inspect.getsource(getattr(operators, name)) for name in (chosen, DERIVATIVES.get(chosen)) if name), language="python"
    )
