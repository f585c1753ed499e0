"""Probes of Module 0: operators on floats, and functions of lists."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

from hypothesis.strategies import floats, lists, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, check_raises, is_published, number
from course.staff.probes.plain import Raised
from course.staff.probes.program import Program, Value

OPERATORS = "minitorch.operators"

EXACT = 1e-9
"""Tolerance where only the last digits may differ."""

SHIFT = 1e-6
"""The constant that log adds to its argument."""

PUBLISHED_DOMAIN = 1e-2
"""From here on, the shift of log and the derivative of relu at 0 do not matter."""

finite = floats(-100, 100, allow_nan=False)
nonzero = finite.filter(lambda x: abs(x) >= 1e-3)
nonnegative = floats(0, 100)
numbers = lists(floats(-10, 10), max_size=6)


# Task 0.1


def operator_probe(
    name: str,
    says: str,
    expected: Callable[..., float],
    *strategies: Any,
    close: float = 0.0,
    examples: list[tuple[float, ...]] | None = None,
    edges: dict[str, Callable[..., bool]] | None = None,
    published: bool | Callable[..., bool] = True,
    source: str,
) -> None:
    """Register the probe of a function of floats.

    Args:
        name: The function.
        says: The requirement.
        expected: Computes the expected value.
        strategies: Strategies for its arguments.
        close: Tolerance.
        examples: Arguments that are always checked.
        edges, published, source: See `probe`.
    """

    def check(p: Program, *arguments: float) -> Check:
        (got,) = yield [p.find(f"{OPERATORS}:{name}")(*arguments)]
        check_equal(got, expected(*arguments), close)

    inputs = dict(zip("xy", strategies, strict=False))
    probe("0.1", says, count=20, examples=examples or [], edges=edges, published=published, source=source, **inputs)(check)


WITH_NAN: dict[str, Callable[..., bool]] = {"lt and eq return 0.0 if an argument is NaN": lambda x, y: math.isnan(x) or math.isnan(y)}


def stable_sigmoid(x: float) -> float:
    """1 / (1 + e^-x), computed with the exponential of negative numbers only."""
    exponential = math.exp(-abs(x))
    return (1.0 if x >= 0 else exponential) / (1.0 + exponential)


operator_probe(
    "mul", "mul(x, y) is x · y", lambda x, y: x * y, finite, finite, examples=[(0.0, 1.0), (2.0, 3.0)], source="test_same_as_python"
)
operator_probe("id", "id(x) is x", lambda x: x, finite, examples=[(0.5,), (-2.0,)], source="test_id")
operator_probe("add", "add(x, y) is x + y", lambda x, y: x + y, finite, finite, examples=[(2.0, 3.0)], source="test_same_as_python")
operator_probe("neg", "neg(x) is -x", lambda x: -x, finite, examples=[(2.0,), (-2.0,)], source="test_same_as_python")
operator_probe(
    "lt",
    "lt(x, y) is 1.0 if x < y, else 0.0",
    lambda x, y: float(x < y),
    finite,
    finite,
    examples=[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (math.nan, 1.0), (-2.0, -1.0)],
    edges=WITH_NAN,
    source="test_lt",
)
operator_probe(
    "eq",
    "eq(x, y) is 1.0 if x and y are the same number, else 0.0",
    lambda x, y: float(x == y),
    finite,
    finite,
    examples=[(2.0, 2.0), (2.0, -2.0), (1.0, 1.0 + 1e-12), (math.nan, math.nan), (0.0, 1e-300)],
    edges=WITH_NAN,
    source="test_eq",
)
operator_probe(
    "max",
    "max(x, y) is the larger of the two",
    lambda x, y: x if x >= y else y,
    finite,
    finite,
    examples=[(-3.0, -2.0), (-3.0, 2.0), (2.0, 2.0), (0.0, -5.0)],
    source="test_max",
)
operator_probe(
    "sigmoid",
    "sigmoid(x) is 1 / (1 + e^-x)",
    stable_sigmoid,
    finite,
    close=EXACT,
    examples=[(0.0,), (2.0,), (-2.0,)],
    source="docstring of sigmoid",
)
operator_probe(
    "relu",
    "relu(x) is x if x > 0, else 0.0",
    lambda x: max(x, 0.0),
    finite,
    examples=[(-1.0,), (0.0,), (1e-300,), (2.0,)],
    source="test_relu",
)
operator_probe(
    "log",
    "log(x) is ln(x + 1e-6)",
    lambda x: math.log(x + SHIFT),
    nonnegative,
    close=EXACT,
    examples=[(0.0,), (SHIFT,), (1.0,), (SHIFT / 2,)],
    published=lambda x: x >= PUBLISHED_DOMAIN,
    source="docstring of log",
)
operator_probe(
    "exp", "exp(x) is e^x", math.exp, finite, close=EXACT, examples=[(0.0,), (1.0,), (-100.0,), (100.0,)], source="docstring of exp"
)
operator_probe(
    "log_back",
    "log_back(x, d) is d / (x + 1e-6)",
    lambda x, d: d / (x + SHIFT),
    nonnegative,
    finite,
    close=EXACT,
    examples=[(0.0, 1.0), (SHIFT, 1.0), (2.0, -3.0)],
    published=lambda x, d: x >= PUBLISHED_DOMAIN,
    source="docstring of log_back; test_backs",
)
operator_probe(
    "inv",
    "inv(x) is 1 / x",
    lambda x: 1.0 / x,
    nonzero,
    close=EXACT,
    examples=[(-2.0,), (1e-300,), (4.0,)],
    published=lambda x: abs(x) >= PUBLISHED_DOMAIN,
    source="test_same_as_python",
)
operator_probe(
    "inv_back",
    "inv_back(x, d) is -d / x²",
    lambda x, d: -d / x**2,
    nonzero,
    finite,
    close=EXACT,
    examples=[(2.0, 1.0), (-2.0, 1.0), (2.0, -4.0)],
    source="docstring of inv_back; test_backs",
)
operator_probe(
    "relu_back",
    "relu_back(x, d) is d if x > 0, else 0.0",
    lambda x, d: d if x > 0 else 0.0,
    finite,
    finite,
    examples=[(0.0, 5.0), (-1.0, 5.0), (1.0, -5.0), (1e-300, 2.0)],
    published=lambda x, d: abs(x) >= PUBLISHED_DOMAIN,
    source="test_relu_back",
)


@probe(
    "0.1",
    "is_close(x, y) is true if x and y differ by less than 1e-2",
    count=20,
    examples=[(1.0, 0.0099), (1.0, -0.0099), (0.0, 1e-2), (0.0, -1e-2), (50.0, 0.4), (3.0, -40.0), (0.0, 0.0)],
    edges={"is_close is false for numbers that differ by exactly 1e-2": lambda x, gap: abs(gap) == 1e-2},
    x=floats(-64, 64),
    gap=floats(-0.1, 0.1),
    source="docstring of is_close",
)
def is_close(p: Program, x: float, gap: float) -> Check:
    """The two numbers are x and x + gap."""
    (got,) = yield [p.find(f"{OPERATORS}:is_close")(x, x + gap)]
    if type(got) not in (bool, int, float) or got not in (0, 1):
        raise Wrong(f"expected a bool, got {got!r}")
    difference = (x + gap) - x
    check_equal(bool(got), abs(difference) < 1e-2)


@probe("0.1", "sigmoid does not overflow at -1000 and 1000", edge=True, examples=[(1000.0, 1.0), (-1000.0, 0.0)])
def sigmoid_of_large_inputs(p: Program, x: float, expected: float) -> Check:
    """It also keeps the precision of small values."""
    sigmoid = p.find(f"{OPERATORS}:sigmoid")
    far, tiny = yield [sigmoid(x), sigmoid(-50.0)]
    check_equal(far, expected)
    check_equal(number(tiny) / math.exp(-50.0), 1.0, EXACT)


@probe("0.1", "inv(0.0) raises ZeroDivisionError", edge=True)
def inv_of_zero(p: Program) -> Check:
    """Like 1 / 0 in Python."""
    yield from check_raises(p.find(f"{OPERATORS}:inv")(0.0), "ZeroDivisionError")


# Task 0.3


def linear(p: Program) -> Value:
    """The function 3 x - 1 in the child."""
    return p.function(1, lambda p, x: x * 3.0 - 1.0)


def noncommutative(p: Program) -> Value:
    """The function x - 2 y in the child: neither commutative nor associative."""
    return p.function(2, lambda p, x, y: x - y * 2.0)


def child_list(p: Program, values: list[float]) -> Value:
    """A list object in the child, which later steps can refer to."""
    return p.find("builtins:list")(values)


def higher_order(
    p: Program, name: str, fn: Callable[[Program], Value], ask: Callable[[Program, Any], list[Value]], *more: Any
) -> Generator[Sequence[Value], list[Any], list[Any]]:
    """Results of a higher-order function; the original course leaves open which arguments stand in which call.

    Args:
        p: The program.
        name: The higher-order function.
        fn: Creates its function argument in a program.
        ask: The requested values, computed from the returned function.
        more: Further arguments, after the function or the lists.
    """
    try:
        return (yield ask(p, p.find(f"{OPERATORS}:{name}")(fn(p), *more)))
    except Raised as raised:
        if not is_published():
            raise
        first = raised
    for call in CALLS:
        direct = Program()
        function = direct.find(f"{OPERATORS}:{name}")
        try:
            return (yield ask(direct, lambda *lists, call=call, q=direct, of=function: call(of, fn(q), lists, more)))
        except Raised:
            continue
    raise first


CALLS: list[Callable[..., Value]] = [
    lambda of, fn, lists, more: of(fn, *lists, *more),
    lambda of, fn, lists, more: of(fn, *more, *lists),
    lambda of, fn, lists, more: of(fn)(*lists, *more),
    lambda of, fn, lists, more: of(fn)(*more, *lists),
    lambda of, fn, lists, more: of(fn, *lists),
    lambda of, fn, lists, more: of(fn)(*lists),
]
"""Ways to call a higher-order function; the last ones have no start."""


@probe(
    "0.3",
    "map(f) applies f to every element of a list, on every call, and does not change the list",
    examples=[([],)],
    ls=numbers,
    source="docstring of map",
)
def map_lists(p: Program, ls: list[float]) -> Check:
    """Two calls of the function that map returns."""

    def ask(p: Program, over: Any) -> list[Value]:
        given, as_list = child_list(p, ls), p.find("builtins:list")
        return [as_list(over(given)), as_list(over(given)), given]

    got = yield from higher_order(p, "map", linear, ask)
    expected = [3.0 * x - 1.0 for x in ls]
    check_equal(got, [expected, expected, ls])


@probe("0.3", "map accepts an iterator", edge=True, ls=numbers, count=8)
def map_iterator(p: Program, ls: list[float]) -> Check:
    """An iterator has no length."""
    over = p.find(f"{OPERATORS}:map")(linear(p))
    (got,) = yield [p.find("builtins:list")(over(p.find("builtins:iter")(ls)))]
    check_equal(got, [3.0 * x - 1.0 for x in ls])


@probe(
    "0.3",
    "zipWith(f) applies f to the pairs of elements of two lists",
    edges={"zipWith stops at the end of the shorter list": lambda a, b: len(a) != len(b)},
    examples=[([], []), ([1.0], []), ([1.0, 2.0], [5.0]), ([5.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 4.0])],
    a=numbers,
    b=numbers,
    source="docstring of zipWith",
)
def zip_lists(p: Program, a: list[float], b: list[float]) -> Check:
    """With a function that is not commutative."""
    (got,) = yield from higher_order(p, "zipWith", noncommutative, lambda p, over: [p.find("builtins:list")(over(a, b))])
    check_equal(got, [x - 2.0 * y for x, y in zip(a, b, strict=False)])


@probe(
    "0.3",
    "reduce(f, start) reduces a list from the left, on every call, and does not change the list",
    examples=[([], 4.0), ([1.0], 4.0), ([1.0, 2.0, 3.0], 0.0)],
    published=lambda ls, start: bool(ls),
    ls=numbers,
    start=floats(-10, 10),
    source="docstring of reduce",
)
def reduce_lists(p: Program, ls: list[float], start: float) -> Check:
    """Two calls, with a function that is not commutative; in the original course, a start is not needed."""
    start = 0.0 if is_published() else start

    def ask(p: Program, reduce: Any) -> list[Value]:
        given = child_list(p, ls)
        return [reduce(given), reduce(given), given]

    def plus(p: Program) -> Value:  # the original course does not specify the order of the arguments
        return p.function(2, lambda p, x, y: x + y)

    first, second, left = yield from higher_order(p, "reduce", plus if is_published() else noncommutative, ask, start)
    expected = math.fsum([*ls, start]) if is_published() else functools.reduce(lambda x, y: x - y * 2.0, ls, start)
    check_equal((number(first), number(second), left), (expected, expected, ls), EXACT)


@probe("0.3", "negList returns every element negated, in order", examples=[([],), ([1.0, 2.0],)], ls=numbers, source="test_negList")
def neg_list(p: Program, ls: list[float]) -> Check:
    """In the order of the list."""
    (got,) = yield [p.find("builtins:list")(p.find(f"{OPERATORS}:negList")(ls))]
    check_equal(got, [-x for x in ls])


@probe(
    "0.3",
    "addLists adds two lists element by element",
    examples=[([(1.0, 3.0), (2.0, 4.0)],)],
    pairs=lists(tuples(finite, finite), max_size=5),
    source="test_zip_with",
)
def add_lists(p: Program, pairs: list[tuple[float, float]]) -> Check:
    """Lists of the same length."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    (got,) = yield [p.find("builtins:list")(p.find(f"{OPERATORS}:addLists")(a, b))]
    check_equal(got, [x + y for x, y in pairs])


@probe(
    "0.3",
    "sum adds all elements; the sum of an empty list is 0",
    examples=[([],), ([2.0, 2.0, 2.0],), ([1.0, -4.0],)],
    published=bool,
    ls=numbers,
    source="test_sum",
)
def sum_list(p: Program, ls: list[float]) -> Check:
    """Repeated elements count every time."""
    (got,) = yield [p.find(f"{OPERATORS}:sum")(ls)]
    check_equal(number(got), math.fsum(ls), EXACT)


@probe(
    "0.3",
    "prod multiplies all elements; the product of an empty list is 1",
    examples=[([],), ([2.0, 2.0, 2.0],), ([3.0, -4.0],)],
    published=bool,
    ls=numbers,
    source="test_prod",
)
def prod_list(p: Program, ls: list[float]) -> Check:
    """From the left."""
    (got,) = yield [p.find(f"{OPERATORS}:prod")(ls)]
    check_equal(number(got), math.prod(ls, start=1.0), EXACT)
