"""Tasks 0.1 and 0.3: functions on numbers and on lists, compared with the standard library and NumPy."""

from __future__ import annotations

import math
import operator as op
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Difference, format_number, same
from course.oracles.strided import ABSOLUTE, tolerance

EPS = 1e-6
"""The shift of the course's logarithm."""

ORACLE = "Python's standard library and NumPy"


def derivative(f: Callable[[Any], Any], x: float) -> float:
    """The derivative of ln or of 1 / x, exact to rounding: the imaginary part of a complex step (Squire and Trapp, 1998).

    Raises:
        ZeroDivisionError: At a pole.
        OverflowError: If the derivative is too large or too small for a float with all digits.
    """
    if not math.isfinite(x):
        return 1 / x
    if not math.isfinite(f(x)):  # it may also raise an error
        raise ZeroDivisionError
    step = 1e-20 * abs(x)
    slope = complex(f(complex(x, step))).imag / step if step else math.inf
    if not sys.float_info.min <= abs(slope) < math.inf:
        raise OverflowError
    return slope


OPERATORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "mul": ("x · y", op.mul),
    "id": ("x", op.pos),
    "add": ("x + y", op.add),
    "neg": ("-x", op.neg),
    "lt": ("1.0 if x < y, else 0.0", lambda x, y: float(x < y)),
    "eq": ("1.0 if x == y, else 0.0", lambda x, y: float(x == y)),
    "max": ("the larger of x and y", lambda x, y: float(np.fmax(x, y))),
    "is_close": ("whether |x - y| < 0.01", lambda x, y: math.dist([x], [y]) < 1e-2),
    "sigmoid": ("1 / (1 + e^-x)", lambda x: float(np.exp(-np.logaddexp(0.0, -x)))),
    "relu": ("x above 0, else 0.0", lambda x: float(np.where(x > 0, x, 0.0))),
    "log": ("ln(x + 0.000001)", lambda x: math.log(x + EPS)),
    "exp": ("e^x", math.exp),
    "log_back": ("d / (x + 0.000001)", lambda x, d: d * derivative(lambda z: np.log(math.copysign(1, x + EPS) * z), x + EPS)),
    "inv": ("1 / x", lambda x: math.pow(x, -1.0)),
    "inv_back": ("-d / x²", lambda x, d: d * derivative(lambda z: z**-1, x)),
    "relu_back": ("d if x > 0, else 0.0", lambda x, d: float(np.where(x > 0, d, 0.0))),
}
"""The functions on numbers: a description, and an implementation that differs from the task's solution."""


def operator(call: Call) -> Difference | None:
    """Compare the value of a function on numbers."""
    words, oracle = OPERATORS[call.outer]
    return compare(call.outer, words, oracle, call.before, call.result)


def compare(name: str, words: str, oracle: Callable[..., Any], values: Sequence[Any], got: Any) -> Difference | None:
    """Compare a result with the value of the oracle; if all arguments are Python floats, the type of the result as well."""
    plain = all(type(value) is float for value in values)
    made = f"{name}({', '.join(map(format_number, values))})"
    shown = (("Call", made), ("It should be", words))
    try:
        with np.errstate(all="ignore"):
            expected = oracle(*map(float, values))
    except (ArithmeticError, ValueError) as error:
        if got is None:
            raise
        if not plain or isinstance(error, OverflowError) or not all(map(math.isfinite, values)):
            return None
        return Difference(f"the value of {made}", (*shown, ("Expected", type(error).__name__), ("Yours", format_number(got))), ORACLE)
    rows = (*shown, ("Expected", format_number(expected)), ("Yours", format_number(got)))
    if got is None:
        return Difference(NOTHING, rows, ORACLE)
    if expected == expected and any(map(math.isnan, values)) and (got != got or got in (0, 1, *values)):
        return None  # which of two numbers is larger, for example, is not defined for NaN
    if not same(expected, got) and (plain or not _same_narrow(expected, got, values)):
        return Difference(f"the value of {made}", rows, ORACLE)
    if plain and type(got) is not type(expected) and type(got).__name__ in ("bool", "int"):
        what = type(expected).__name__
        return Difference(
            f"the type of {made}", (*rows[:2], ("Expected", f"a {what}"), ("Yours", f"{got!r}, a {type(got).__name__}")), ORACLE
        )
    return None


def _same_narrow(expected: float, got: Any, values: Sequence[Any]) -> bool:
    """Whether two numbers are equal within the digits and the range of arguments of float32."""
    dtype = np.result_type(*[value.dtype for value in values if hasattr(value, "dtype")] or [float])
    share = tolerance(np.empty(0, dtype))
    with np.errstate(over="ignore"):
        return share > 1e-6 and (same(expected, got, share, ABSOLUTE * share) or same(dtype.type(expected), got))


# Functions on lists


def as_list(value: Any) -> list[Any]:
    """The elements of a list or tuple.

    Raises:
        TypeError: If it is another iterable, whose elements are unknown because reading them would use them up.
    """
    if not isinstance(value, list | tuple):
        raise TypeError("not a list")
    return list(value)


def enclosing_value(call: Call, name: str, place: int) -> Any:
    """An argument of the enclosing function of an inner one, by its name or its position.

    Raises:
        ValueError: If the inner function does not use it, and the enclosing function was called with several values of it.
    """
    outer = call.target.function.__code__
    name = name if name in call.closure else outer.co_varnames[place]
    if name in call.closure:
        return call.closure[name]
    calls = call.recorder.observed.get(outer, ())  # the inner function does not use it
    (value,) = {each.arguments[place] for each in calls if _is_running(call, each.result)}
    return value


def _is_running(call: Call, function: Any) -> bool:
    """Whether a call may be one of this function: its code and the values from the enclosing function are the same."""
    cells = getattr(function, "__closure__", None) or ()
    values = [call.closure.get(name) for name in call.code.co_freevars]
    return getattr(function, "__code__", None) is call.code and all(a.cell_contents is b for a, b in zip(cells, values, strict=True))


def map_result(call: Call) -> Difference | None:
    """Compare the list that the result of `map` returns."""
    fn, values = enclosing_value(call, "fn", 0), as_list(call.before[0])
    return elements(call, list(map(fn, values)), f"map({_name(fn)})", "the function of every element, in order")


def zip_result(call: Call) -> Difference | None:
    """Compare the list that the result of `zipWith` returns."""
    fn, left, right = enclosing_value(call, "fn", 0), as_list(call.before[0]), as_list(call.before[1])
    expected = list(map(fn, left, right))
    return elements(call, expected, f"zipWith({_name(fn)})", "the function of every pair; elements without a partner are dropped")


def reduce_result(call: Call) -> Difference | None:
    """Compare the value that the result of `reduce` returns."""
    fn, start, values = enclosing_value(call, "fn", 0), enclosing_value(call, "start", 1), as_list(call.before[0])
    totals = list(accumulate(values, fn, initial=start))
    steps = [f"{format_number(start)}, the start"]
    steps += [
        f"{_name(fn)}({format_number(a)}, {format_number(x)}) = {format_number(b)}"
        for a, x, b in zip(totals, values, totals[1:], strict=False)
    ]
    if wrong := _changed_argument(call):
        return wrong
    if same(totals[-1], call.result):
        return None
    made = f"reduce({_name(fn)}, {format_number(start)})({_format_list(values)})"
    rows = [
        ("Call", made),
        ("Step by step", "\n".join(steps[:6])),
        ("Expected", format_number(totals[-1])),
        ("Yours", format_number(call.result)),
    ]
    partial = [i for i, total in enumerate(totals[:-1]) if same(total, call.result)]
    if partial:
        rows.append(("Which is", f"the total after {partial[-1]} of {len(values)} elements"))
    elif same(reduce(lambda a, b: fn(b, a), values, start), call.result):
        rows.append(("Which is", "the result if the function takes the element first and the total second"))
    elif same(reduce(fn, values[::-1], start), call.result):
        rows.append(("Which is", "the result from right to left"))
    elif len(values) and same(reduce(fn, values[1:], values[0]), call.result):
        rows.append(("Which is", "the result without the start"))
    return Difference(NOTHING if call.result is None else "the total", tuple(rows), ORACLE)


LISTS: dict[str, tuple[str, Callable[..., list[Any]]]] = {
    "negList": ("every element negated", lambda ls: np.negative(ls).tolist()),
    "addLists": ("the sums, element by element", lambda *lists: list(map(op.add, *lists))),
}

TOTALS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "sum": ("the sum of the elements; 0 for an empty list", math.fsum),
    "prod": ("the product of the elements; 1 for an empty list", math.prod),
}


def list_of(call: Call) -> Difference | None:
    """Compare the list that a function of lists returns."""
    words, oracle = LISTS[call.outer]
    return elements(call, oracle(*map(as_list, call.before)), call.outer, words)


def total_of(call: Call) -> Difference | None:
    """Compare the number that a function of a list returns."""
    words, oracle = TOTALS[call.outer]
    values = as_list(call.before[0])
    expected = oracle(values)
    rows = (
        ("Call", f"{call.outer}({_format_list(values)})"),
        ("It should be", words),
        ("Expected", format_number(expected)),
        ("Yours", format_number(call.result)),
    )
    size = sum(map(abs, values)) if call.outer == "sum" else 0  # bounds the rounding error of a sum whose terms cancel
    if same(expected, call.result, 1e-7, 1e-9 * size):
        return None
    return Difference(NOTHING if call.result is None else "the total", rows, ORACLE)


def elements(call: Call, expected: list[Any], name: str, words: str) -> Difference | None:
    """Compare the elements of a list, and the arguments with their state before the call."""
    given = ", ".join(_format_list(as_list(value)) for value in call.before)
    rows = [("Call", f"{name}({given})"), ("It should be", words)]
    if wrong := _changed_argument(call):
        return wrong
    if call.result is None:
        return Difference(NOTHING, (*rows, ("Expected", _format_list(expected)), ("Yours", "None")), ORACLE)
    got = list(call.result) if isinstance(call.result, list | tuple) else as_list(call.result)
    first = next((i for i, (e, g) in enumerate(zip(expected, got, strict=False)) if not same(e, g)), None)
    if first is None and len(expected) == len(got):
        return None
    if first is None:
        first = min(len(expected), len(got))
    rows += [("Expected", _format_list(expected, first)), ("Yours", _format_list(got, first))]
    place = f"element {first}" if first < len(got) and first < len(expected) else f"the length, {len(got)} instead of {len(expected)}"
    return Difference(place, tuple(rows), ORACLE)


def _changed_argument(call: Call) -> Difference | None:
    """Compare the lists that were passed with their state before the call."""
    for place, (before, after) in enumerate(zip(call.before, call.after or call.arguments, strict=True)):
        if isinstance(before, list) and (len(before) != len(after) or any(x is not y for x, y in zip(before, after, strict=True))):
            name = call.code.co_varnames[place]
            rows = (("Before", _format_list(before)), ("After", _format_list(list(after))))
            return Difference(f"the list {name}, which the call changed", rows, "the list as it was before the call")
    return None


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", "fn").replace("<lambda>", "fn")


def _format_list(values: Sequence[Any], mark: int | None = None) -> str:
    """A list in one line, with one element marked."""
    words = [format_number(value) for value in values]
    if mark is not None and mark < len(words):
        words[mark] = f">{words[mark]}<"
    start = max(0, (mark or 0) - 6)
    shown = words[start : start + 12]
    return f"[{'… ' if start else ''}{', '.join(shown)}{', …' if start + 12 < len(words) else ''}]"


JUDGES: dict[str, Judge] = (
    {f"minitorch.operators:{name}": operator for name in OPERATORS}
    | {f"minitorch.operators:{name}": list_of for name in LISTS}
    | {f"minitorch.operators:{name}": total_of for name in TOTALS}
)

INNER: dict[str, Judge] = {
    "minitorch.operators:map": map_result,
    "minitorch.operators:zipWith": zip_result,
    "minitorch.operators:reduce": reduce_result,
}
"""The calls of the functions that these return are compared."""
