"""Probes of Module 0: operators on floats, and functions of lists."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

from hypothesis.strategies import floats, lists, tuples

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, is_published, number, raises, same
from course.staff.probes.plain import Raised
from course.staff.probes.program import Program, Value

OPERATORS = "minitorch.operators"

EXACT = 1e-9
"""Tolerance where only the last digits may differ."""

SHIFT = 1e-6
"""What log adds to its argument."""

NO_SHIFT = 1e-2
"""From here on it does not matter whether log has a shift, or another one, and where relu has its kink."""

some = floats(-100, 100, allow_nan=False)
away = some.filter(lambda x: abs(x) >= 1e-3)
above = floats(0, 100)
numbers = lists(floats(-10, 10), max_size=6)


# Task 0.1


def operator(
    name: str,
    says: str,
    expected: Callable[..., float],
    *drawn: Any,
    close: float = 0.0,
    examples: list[tuple[float, ...]] | None = None,
    edges: dict[str, Callable[..., bool]] | None = None,
    published: bool | Callable[..., bool] = True,
) -> None:
    """Enter the probe of a function of floats.

    Args:
        name: The function.
        says: What must hold.
        expected: What it must return.
        drawn: What its arguments are drawn from.
        close: Tolerance.
        examples: Arguments that are always tried.
        edges, published: See `probe`.
    """

    def check(p: Program, *arguments: float) -> Check:
        (got,) = yield [p.find(f"{OPERATORS}:{name}")(*arguments)]
        same(got, expected(*arguments), close)

    inputs = dict(zip("xy", drawn, strict=False))
    probe("0.1", says, count=20, examples=examples or [], edges=edges, published=published, **inputs)(check)


WITH_NAN: dict[str, Callable[..., bool]] = {"lt and eq of NaN are 0.0": lambda x, y: math.isnan(x) or math.isnan(y)}


def stable_sigmoid(x: float) -> float:
    """1 / (1 + e^-x), where e is raised to negative powers alone."""
    power = math.exp(-abs(x))
    return (1.0 if x >= 0 else power) / (1.0 + power)


operator("mul", "mul(x, y) is x · y", lambda x, y: x * y, some, some, examples=[(0.0, 1.0), (2.0, 3.0)])
operator("id", "id(x) is x", lambda x: x, some, examples=[(0.5,), (-2.0,)])
operator("add", "add(x, y) is x + y", lambda x, y: x + y, some, some, examples=[(2.0, 3.0)])
operator("neg", "neg(x) is -x", lambda x: -x, some, examples=[(2.0,), (-2.0,)])
operator(
    "lt",
    "lt(x, y) is 1.0 where x < y, else 0.0",
    lambda x, y: float(x < y),
    some,
    some,
    examples=[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (math.nan, 1.0), (-2.0, -1.0)],
    edges=WITH_NAN,
)
operator(
    "eq",
    "eq(x, y) is 1.0 where x and y are the same number, else 0.0",
    lambda x, y: float(x == y),
    some,
    some,
    examples=[(2.0, 2.0), (2.0, -2.0), (1.0, 1.0 + 1e-12), (math.nan, math.nan), (0.0, 1e-300)],
    edges=WITH_NAN,
)
operator(
    "max",
    "max(x, y) is the larger of the two",
    lambda x, y: x if x >= y else y,
    some,
    some,
    examples=[(-3.0, -2.0), (-3.0, 2.0), (2.0, 2.0), (0.0, -5.0)],
)
operator(
    "sigmoid",
    "sigmoid(x) is 1 / (1 + e^-x)",
    stable_sigmoid,
    some,
    close=EXACT,
    examples=[(0.0,), (2.0,), (-2.0,)],
)
operator("relu", "relu(x) is x where x > 0, else 0.0", lambda x: max(x, 0.0), some, examples=[(-1.0,), (0.0,), (1e-300,), (2.0,)])
operator(
    "log",
    "log(x) is ln(x + 1e-6)",
    lambda x: math.log(x + SHIFT),
    above,
    close=EXACT,
    examples=[(0.0,), (SHIFT,), (1.0,), (SHIFT / 2,)],
    published=lambda x: x >= NO_SHIFT,
)
operator("exp", "exp(x) is e^x", math.exp, some, close=EXACT, examples=[(0.0,), (1.0,), (-100.0,), (100.0,)])
operator(
    "log_back",
    "log_back(x, d) is d / (x + 1e-6)",
    lambda x, d: d / (x + SHIFT),
    above,
    some,
    close=EXACT,
    examples=[(0.0, 1.0), (SHIFT, 1.0), (2.0, -3.0)],
    published=lambda x, d: x >= NO_SHIFT,
)
operator(
    "inv",
    "inv(x) is 1 / x",
    lambda x: 1.0 / x,
    away,
    close=EXACT,
    examples=[(-2.0,), (1e-300,), (4.0,)],
    published=lambda x: abs(x) >= NO_SHIFT,
)
operator(
    "inv_back",
    "inv_back(x, d) is -d / x²",
    lambda x, d: -d / x**2,
    away,
    some,
    close=EXACT,
    examples=[(2.0, 1.0), (-2.0, 1.0), (2.0, -4.0)],
)
operator(
    "relu_back",
    "relu_back(x, d) is d where x > 0, else 0.0",
    lambda x, d: d if x > 0 else 0.0,
    some,
    some,
    examples=[(0.0, 5.0), (-1.0, 5.0), (1.0, -5.0), (1e-300, 2.0)],
    published=lambda x, d: abs(x) >= NO_SHIFT,
)


@probe(
    "0.1",
    "is_close(x, y) holds where x and y are less than 1e-2 apart",
    count=20,
    examples=[(1.0, 0.0099), (1.0, -0.0099), (0.0, 1e-2), (0.0, -1e-2), (50.0, 0.4), (3.0, -40.0), (0.0, 0.0)],
    edges={"is_close does not hold for numbers exactly 1e-2 apart": lambda x, gap: abs(gap) == 1e-2},
    x=floats(-64, 64),
    gap=floats(-0.1, 0.1),
)
def is_close(p: Program, x: float, gap: float) -> Check:
    """The two numbers are x and x + gap."""
    (got,) = yield [p.find(f"{OPERATORS}:is_close")(x, x + gap)]
    if type(got) not in (bool, int, float) or got not in (0, 1):
        raise Wrong(f"expected a truth value, got {got!r}")
    difference = (x + gap) - x
    same(bool(got), abs(difference) < 1e-2)


@probe("0.1", "sigmoid does not overflow at -1000 and 1000", edge=True, examples=[(1000.0, 1.0), (-1000.0, 0.0)])
def far_from_zero(p: Program, x: float, expected: float) -> Check:
    """Nor lose the digits of small values."""
    sigmoid = p.find(f"{OPERATORS}:sigmoid")
    far, tiny = yield [sigmoid(x), sigmoid(-50.0)]
    same(far, expected)
    same(number(tiny) / math.exp(-50.0), 1.0, EXACT)


@probe("0.1", "inv(0.0) raises ZeroDivisionError", edge=True)
def at_the_pole(p: Program) -> Check:
    """As 1 / 0 does."""
    yield from raises(p.find(f"{OPERATORS}:inv")(0.0), "ZeroDivisionError")


# Task 0.3


def linear(p: Program) -> Value:
    """A function of one number in the child, 3 x - 1."""
    return p.function(1, lambda p, x: x * 3.0 - 1.0)


def lopsided(p: Program) -> Value:
    """A function of two numbers in the child, x - 2 y: neither commutative nor associative."""
    return p.function(2, lambda p, x, y: x - y * 2.0)


def a_list(p: Program, values: list[float]) -> Value:
    """A list in the child that stays the same object."""
    return p.find("builtins:list")(values)


def higher_order(
    p: Program, name: str, fn: Callable[[Program], Value], ask: Callable[[Program, Any], list[Value]], *more: Any
) -> Generator[Sequence[Value], list[Any], list[Any]]:
    """What a function of functions makes of one; the original course leaves open whether it is given the lists at once.

    Args:
        p: The program.
        name: The function.
        fn: The function that it is given, in a program.
        ask: What is asked of the function that it makes.
        more: What else it is given, behind the function or the lists.
    """
    try:
        return (yield ask(p, p.find(f"{OPERATORS}:{name}")(fn(p), *more)))
    except Raised:
        if not is_published():
            raise
    at_once = Program()
    return (yield ask(at_once, lambda *lists: at_once.find(f"{OPERATORS}:{name}")(fn(at_once), *lists, *more)))


@probe("0.3", "map(f) gives f of every element of a list, at each call, and leaves the list as it was", examples=[([],)], ls=numbers)
def map_lists(p: Program, ls: list[float]) -> Check:
    """Two calls of one function that map has made."""

    def ask(p: Program, over: Any) -> list[Value]:
        given, as_list = a_list(p, ls), p.find("builtins:list")
        return [as_list(over(given)), as_list(over(given)), given]

    got = yield from higher_order(p, "map", linear, ask)
    expected = [3.0 * x - 1.0 for x in ls]
    same(got, [expected, expected, ls])


@probe("0.3", "map takes an iterator", edge=True, ls=numbers, count=8)
def map_once(p: Program, ls: list[float]) -> Check:
    """An iterator has no length."""
    over = p.find(f"{OPERATORS}:map")(linear(p))
    (got,) = yield [p.find("builtins:list")(over(p.find("builtins:iter")(ls)))]
    same(got, [3.0 * x - 1.0 for x in ls])


@probe(
    "0.3",
    "zipWith(f) combines two lists pairwise",
    edges={"zipWith stops at the end of the shorter list": lambda a, b: len(a) != len(b)},
    examples=[([], []), ([1.0], []), ([1.0, 2.0], [5.0]), ([5.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 4.0])],
    a=numbers,
    b=numbers,
)
def zip_lists(p: Program, a: list[float], b: list[float]) -> Check:
    """By a function in which the order matters."""
    (got,) = yield from higher_order(p, "zipWith", lopsided, lambda p, over: [p.find("builtins:list")(over(a, b))])
    same(got, [x - 2.0 * y for x, y in zip(a, b, strict=False)])


@probe(
    "0.3",
    "reduce(f, start) folds a list from the left, at each call, and leaves the list as it was",
    examples=[([], 4.0), ([1.0], 4.0), ([1.0, 2.0, 3.0], 0.0)],
    ls=numbers,
    start=floats(-10, 10),
)
def reduce_lists(p: Program, ls: list[float], start: float) -> Check:
    """Two calls, by a function in which the order matters."""

    def ask(p: Program, fold: Any) -> list[Value]:
        given = a_list(p, ls)
        return [fold(given), fold(given), given]

    def plus(p: Program) -> Value:  # the original course leaves open which argument is which
        return p.function(2, lambda p, x, y: x + y)

    first, second, left = yield from higher_order(p, "reduce", plus if is_published() else lopsided, ask, start)
    expected = math.fsum([*ls, start]) if is_published() else functools.reduce(lambda x, y: x - y * 2.0, ls, start)
    same((number(first), number(second), left), (expected, expected, ls), EXACT)


@probe("0.3", "negList gives every element negated, in order", examples=[([],), ([1.0, 2.0],)], ls=numbers)
def neg_list(p: Program, ls: list[float]) -> Check:
    """Each in its place."""
    (got,) = yield [p.find("builtins:list")(p.find(f"{OPERATORS}:negList")(ls))]
    same(got, [-x for x in ls])


@probe(
    "0.3", "addLists adds two lists element by element", examples=[([(1.0, 3.0), (2.0, 4.0)],)], pairs=lists(tuples(some, some), max_size=5)
)
def add_lists(p: Program, pairs: list[tuple[float, float]]) -> Check:
    """Lists of one length."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    (got,) = yield [p.find("builtins:list")(p.find(f"{OPERATORS}:addLists")(a, b))]
    same(got, [x + y for x, y in pairs])


@probe("0.3", "sum adds all elements; of none it is 0", examples=[([],), ([2.0, 2.0, 2.0],), ([1.0, -4.0],)], ls=numbers)
def sum_list(p: Program, ls: list[float]) -> Check:
    """Equal elements count as often as they stand there."""
    (got,) = yield [p.find(f"{OPERATORS}:sum")(ls)]
    same(number(got), math.fsum(ls), EXACT)


@probe("0.3", "prod multiplies all elements; of none it is 1", examples=[([],), ([2.0, 2.0, 2.0],), ([3.0, -4.0],)], ls=numbers)
def prod_list(p: Program, ls: list[float]) -> Check:
    """From the left."""
    (got,) = yield [p.find(f"{OPERATORS}:prod")(ls)]
    same(number(got), math.prod(ls, start=1.0), EXACT)
