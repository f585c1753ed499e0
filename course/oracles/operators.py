"""Module 0: functions on numbers and on lists, compared with Python's own arithmetic."""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Wrong, same, shown_number

EPS = 1e-6
"""The shift of the course's logarithm."""

ORACLE = "Python's own arithmetic on floats"


OPERATORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "mul": ("x · y", op.mul),
    "id": ("x", op.pos),
    "add": ("x + y", op.add),
    "neg": ("-x", op.neg),
    "lt": ("1.0 if x < y, else 0.0", lambda x, y: float(x < y)),
    "eq": ("1.0 if x == y, else 0.0", lambda x, y: float(x == y)),
    "max": ("the larger of x and y", max),
    "is_close": ("whether |x - y| < 0.01", lambda x, y: math.dist([x], [y]) < 1e-2),
    "sigmoid": ("1 / (1 + e^-x)", lambda x: float(np.exp(-np.logaddexp(0.0, -x)))),
    "relu": ("x above 0, else 0.0", lambda x: float(np.maximum(x, 0.0))),
    "log": ("ln(x + 0.000001)", lambda x: math.log(x + EPS)),
    "exp": ("e^x", math.exp),
    "log_back": ("d / (x + 0.000001)", lambda x, d: d / (x + EPS)),
    "inv": ("1 / x", lambda x: 1.0 / x),
    "inv_back": ("-d / x²", lambda x, d: -d / x / x),
    "relu_back": ("d if x > 0, else 0.0", lambda x, d: float(np.where(x > 0, d, 0.0))),
}
"""What each function on numbers computes, in words, and what knows its value: the standard library and NumPy, where they have it."""


def operator(call: Call) -> Wrong | None:
    """Whether a function on numbers is right."""
    words, oracle = OPERATORS[call.outer]
    return compare(call.outer, words, oracle, call.before, call.result)


def compare(name: str, words: str, oracle: Callable[..., Any], values: Sequence[Any], got: Any) -> Wrong | None:
    """Whether a result is what the oracle has for these numbers; where all of these are Python's floats, it must be one, too."""
    plain = all(type(value) is float for value in values)
    made = f"{name}({', '.join(map(shown_number, values))})"
    shown = (("Call", made), ("It should be", words))
    try:
        expected = oracle(*map(float, values))
    except (ArithmeticError, ValueError) as error:
        if got is None or not plain or isinstance(error, OverflowError):
            return None
        return Wrong(f"the value of {made}", (*shown, ("Expected", type(error).__name__), ("Yours", shown_number(got))), ORACLE)
    rows = (*shown, ("Expected", shown_number(expected)), ("Yours", shown_number(got)))
    if got is None:
        return Wrong(NOTHING, rows, ORACLE)
    if not same(expected, got):
        return Wrong(f"the value of {made}", rows, ORACLE)
    if plain and type(got) is not type(expected) and type(got).__name__ in ("bool", "int"):
        what = type(expected).__name__
        return Wrong(f"the type of {made}", (*rows[:2], ("Expected", f"a {what}"), ("Yours", f"{got!r}, a {type(got).__name__}")), ORACLE)
    return None


# Functions on lists


def as_list(value: Any) -> list[Any]:
    """A list that was copied when the call began; of other iterables nobody knows what they held."""
    if not isinstance(value, list | tuple):
        raise TypeError("not a list")
    return list(value)


def around(call: Call, name: str, place: int) -> Any:
    """A value that an inner function has from the function around it: by the name that this gave to its argument number `place`."""
    names = call.target.function.__code__.co_varnames
    return call.closure[name if name in call.closure else names[place]]


def mapped(call: Call) -> Wrong | None:
    """Whether what `map` has made is right."""
    fn, values = around(call, "fn", 0), as_list(call.before[0])
    return elements(call, list(map(fn, values)), f"map({_name(fn)})", "the function of every element, in order")


def zipped(call: Call) -> Wrong | None:
    """Whether what `zipWith` has made is right."""
    fn, left, right = around(call, "fn", 0), as_list(call.before[0]), as_list(call.before[1])
    expected = list(map(fn, left, right))
    return elements(call, expected, f"zipWith({_name(fn)})", "the function of every pair; elements without a partner are left out")


def folded(call: Call) -> Wrong | None:
    """Whether what `reduce` has made is right."""
    fn, start, values = around(call, "fn", 0), around(call, "start", 1), as_list(call.before[0])
    totals = list(accumulate(values, fn, initial=start))
    steps = [f"{shown_number(start)}, the start"]
    steps += [
        f"{_name(fn)}({shown_number(a)}, {shown_number(x)}) = {shown_number(b)}"
        for a, x, b in zip(totals, values, totals[1:], strict=False)
    ]
    if wrong := _changed(call):
        return wrong
    if same(totals[-1], call.result):
        return None
    made = f"reduce({_name(fn)}, {shown_number(start)})({_shown(values)})"
    rows = [
        ("Call", made),
        ("Step by step", "\n".join(steps[:6])),
        ("Expected", shown_number(totals[-1])),
        ("Yours", shown_number(call.result)),
    ]
    partial = [i for i, total in enumerate(totals[:-1]) if same(total, call.result)]
    if partial:
        rows.append(("Which is", f"the total after {partial[-1]} of {len(values)} elements"))
    elif same(reduce(lambda a, b: fn(b, a), values, start), call.result):
        rows.append(("Which is", "what comes out if the total stands second and the element first"))
    elif same(reduce(fn, values[::-1], start), call.result):
        rows.append(("Which is", "what comes out from the right to the left"))
    elif len(values) and same(reduce(fn, values[1:], values[0]), call.result):
        rows.append(("Which is", "what comes out without the start"))
    return Wrong(NOTHING if call.result is None else "the total", tuple(rows), ORACLE)


LISTS: dict[str, tuple[str, Callable[..., list[Any]]]] = {
    "negList": ("every element negated", lambda ls: list(map(op.neg, ls))),
    "addLists": ("element by element, the sum", lambda *lists: list(map(op.add, *lists))),
}

TOTALS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "sum": ("the sum of the elements, 0 of none", lambda ls: reduce(op.add, ls, 0.0)),
    "prod": ("the product of the elements, 1 of none", lambda ls: reduce(op.mul, ls, 1.0)),
}


def list_of(call: Call) -> Wrong | None:
    """Whether a function from lists to a list is right."""
    words, oracle = LISTS[call.outer]
    return elements(call, oracle(*map(as_list, call.before)), call.outer, words)


def total_of(call: Call) -> Wrong | None:
    """Whether a function from a list to a number is right."""
    words, oracle = TOTALS[call.outer]
    values = as_list(call.before[0])
    rows = (
        ("Call", f"{call.outer}({_shown(values)})"),
        ("It should be", words),
        ("Expected", shown_number(oracle(values))),
        ("Yours", shown_number(call.result)),
    )
    size = sum(map(abs, values))  # what rounding may do to a sum whose terms cancel
    if same(oracle(values), call.result, 1e-7) or (call.outer == "sum" and abs(oracle(values) - call.result) <= 1e-9 * size):
        return None
    return Wrong(NOTHING if call.result is None else "the total", rows, ORACLE)


def elements(call: Call, expected: list[Any], name: str, words: str) -> Wrong | None:
    """Whether a list has the expected elements, and the lists that were given are as they were."""
    given = ", ".join(_shown(as_list(value)) for value in call.before)
    rows = [("Call", f"{name}({given})"), ("It should be", words)]
    if wrong := _changed(call):
        return wrong
    if call.result is None:
        return Wrong(NOTHING, (*rows, ("Expected", _shown(expected)), ("Yours", "None")), ORACLE)
    got = list(call.result) if isinstance(call.result, list | tuple) else as_list(call.result)
    first = next((i for i, (e, g) in enumerate(zip(expected, got, strict=False)) if not same(e, g)), None)
    if first is None and len(expected) == len(got):
        return None
    if first is None:
        first = min(len(expected), len(got))
    rows += [("Expected", _shown(expected, first)), ("Yours", _shown(got, first))]
    place = f"element {first}" if first < len(got) and first < len(expected) else f"the length, {len(got)} for {len(expected)}"
    return Wrong(place, tuple(rows), ORACLE)


def _changed(call: Call) -> Wrong | None:
    """What was done to a list that was given."""
    for place, (before, after) in enumerate(zip(call.before, call.after or call.arguments, strict=True)):
        if isinstance(before, list) and (len(before) != len(after) or any(x is not y for x, y in zip(before, after, strict=True))):
            name = call.code.co_varnames[place]
            rows = (("It was", _shown(before)), ("It is", _shown(list(after))))
            return Wrong(f"the list {name} that was given, which has changed", rows, "the list as it was before the call")
    return None


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", "fn").replace("<lambda>", "fn")


def _shown(values: Sequence[Any], mark: int | None = None) -> str:
    """A list in one line, one element of it in marks."""
    words = [shown_number(value) for value in values]
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

INNER: dict[str, Judge] = {"minitorch.operators:map": mapped, "minitorch.operators:zipWith": zipped, "minitorch.operators:reduce": folded}
"""Of what these return the calls are judged."""
