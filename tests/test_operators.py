"""Tasks 0.1 to 0.3: the scalar operators, the tests that students write, and the higher-order functions."""

import dis
import inspect
import math
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis.strategies import floats, lists, tuples

from minitorch import operators
from minitorch.operators import (
    add,
    addLists,
    eq,
    exp,
    id,
    inv,
    inv_back,
    is_close,
    log,
    log_back,
    lt,
    map,
    max,
    mul,
    neg,
    negList,
    prod,
    reduce,
    relu,
    relu_back,
    sigmoid,
    sum,
    zipWith,
)

from .strategies import assert_close, small_floats

OPERATORS = [mul, id, add, neg, lt, eq, max, is_close, sigmoid, relu, log, exp, log_back, inv, inv_back, relu_back]
"""The functions of Task 0.1."""

EXACT = 1e-9
"""Tolerance where only the last digits may differ."""

SHIFT = 1e-6
"""What log adds to its argument."""


# Task 0.1: operators


@pytest.mark.task0_1
@given(small_floats, small_floats)
def test_mul_is_the_product(x: float, y: float) -> None:
    """mul(x, y) is x · y."""
    assert mul(x, y) == x * y


@pytest.mark.task0_1
@given(small_floats)
def test_id_is_its_argument(x: float) -> None:
    """id(x) is x, unchanged."""
    assert id(x) == x


@pytest.mark.task0_1
@given(small_floats, small_floats)
def test_add_is_the_sum(x: float, y: float) -> None:
    """add(x, y) is x + y."""
    assert add(x, y) == x + y


@pytest.mark.task0_1
@given(small_floats)
def test_neg_is_the_opposite(x: float) -> None:
    """neg(x) is -x."""
    assert neg(x) == -x


@pytest.mark.task0_1
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(1.0, 2.0, 1.0), (2.0, 1.0, 0.0), (3.0, 3.0, 0.0), (-2.0, -1.0, 1.0), (-1.0, -2.0, 0.0), (math.nan, 1.0, 0.0), (1.0, math.nan, 0.0)],
)
def test_lt_is_1_only_when_x_is_smaller(x: float, y: float, expected: float) -> None:
    """lt(x, y) is 1.0 if x < y, and 0.0 if x is larger, equal or NaN."""
    assert lt(x, y) == expected


@pytest.mark.task0_1
@given(small_floats, floats(min_value=1e-3, max_value=100))
def test_lt_sees_which_of_two_numbers_is_smaller(x: float, gap: float) -> None:
    """lt(x, x + gap) is 1.0 and lt(x + gap, x) is 0.0, for a gap above 0."""
    assert lt(x, x + gap) == 1.0
    assert lt(x + gap, x) == 0.0


@pytest.mark.task0_1
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (2.0, 2.0, 1.0),
        (2.0, 3.0, 0.0),
        (3.0, 2.0, 0.0),
        (2.0, -2.0, 0.0),
        (0.0, 1e-300, 0.0),
        (1.0, 1.0 + 1e-12, 0.0),
        (math.nan, math.nan, 0.0),
    ],
)
def test_eq_is_1_only_for_the_same_number(x: float, y: float, expected: float) -> None:
    """eq(x, y) is 1.0 if x and y are the same number, and 0.0 if they differ, however little, or are NaN."""
    assert eq(x, y) == expected


@pytest.mark.task0_1
@given(small_floats, small_floats)
@example(x=2.0, y=2.0)
@example(x=-3.0, y=-2.0)
@example(x=-3.0, y=2.0)
@example(x=0.0, y=-5.0)
def test_max_is_the_larger(x: float, y: float) -> None:
    """max(x, y) is one of the two, and neither is larger; the order of the arguments does not matter."""
    larger = max(x, y)
    assert larger in (x, y)
    assert larger >= x
    assert larger >= y
    assert max(y, x) == larger


@pytest.mark.task0_1
@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (1.0, 1.0, True),
        (1.0, 1.0099, True),
        (-1.0, -1.0099, True),
        (-0.004, 0.004, True),
        (0.0, 1e-2, False),
        (1.0, 1.0101, False),
        (-1.0, -1.0101, False),
        (0.0, 100.0, False),
        (5.0, -5.0, False),
        (1000.0, 1001.0, False),
    ],
)
def test_is_close_means_less_than_a_hundredth_apart(x: float, y: float, expected: bool) -> None:
    """is_close(x, y) is true if x and y differ by less than 1e-2, whichever is larger, and false if they differ by exactly 1e-2."""
    assert bool(is_close(x, y)) is expected
    assert bool(is_close(y, x)) is expected


@pytest.mark.task0_1
@given(small_floats)
@example(x=0.0)
@example(x=100.0)
@example(x=-100.0)
def test_sigmoid_has_its_values(x: float) -> None:
    """sigmoid(x) is (1 + tanh(x / 2)) / 2, another way to write 1 / (1 + e^-x)."""
    assert_close(sigmoid(x), (1.0 + math.tanh(x / 2.0)) / 2.0, EXACT)


@pytest.mark.task0_1
@pytest.mark.parametrize(("x", "expected"), [(1000.0, 1.0), (-1000.0, 0.0)])
def test_sigmoid_does_not_overflow(x: float, expected: float) -> None:
    """sigmoid(1000) is 1 and sigmoid(-1000) is 0: do not compute a large power of e."""
    assert sigmoid(x) == expected


@pytest.mark.task0_1
def test_sigmoid_is_precise_where_it_is_tiny() -> None:
    """sigmoid(-50) is about e^-50, a tiny number but not 0."""
    assert_close(sigmoid(-50.0) / 1.928749847963918e-22, 1.0, EXACT)


@pytest.mark.task0_1
@given(floats(min_value=1e-300, max_value=100))
@example(x=2.0)
@example(x=1e-300)
def test_relu_keeps_what_is_positive(x: float) -> None:
    """relu(x) is x if x > 0."""
    assert relu(x) == x


@pytest.mark.task0_1
@given(floats(min_value=-100, max_value=0))
@example(x=0.0)
@example(x=-1e-300)
def test_relu_is_0_elsewhere(x: float) -> None:
    """relu(x) is 0 if x <= 0."""
    assert relu(x) == 0.0


@pytest.mark.task0_1
@given(floats(min_value=0, max_value=100))
@example(x=0.0)
@example(x=SHIFT)
@example(x=1.0)
def test_log_is_the_shifted_logarithm(x: float) -> None:
    """log(x) is ln(x + 1e-6), so log(0) is about -13.8."""
    assert_close(log(x), math.log(x + SHIFT), EXACT)


@pytest.mark.task0_1
@given(small_floats)
@example(x=0.0)
@example(x=1.0)
@example(x=-100.0)
def test_exp_is_the_power_of_e(x: float) -> None:
    """exp(x) is e^x."""
    assert_close(exp(x), math.exp(x), EXACT)


@pytest.mark.task0_1
@given(floats(min_value=0, max_value=100), small_floats)
@example(x=0.0, d=1.0)
@example(x=SHIFT, d=1.0)
@example(x=2.0, d=-3.0)
def test_log_back_is_d_times_the_derivative_of_log(x: float, d: float) -> None:
    """log_back(x, d) is d / (x + 1e-6): the derivative is shifted like log itself."""
    assert_close(log_back(x, d), d / (x + SHIFT), EXACT)


@pytest.mark.task0_1
@given(small_floats)
@example(x=-2.0)
@example(x=1e-300)
@example(x=-1e-300)
def test_inv_is_one_over_x(x: float) -> None:
    """inv(x) is 1 / x, also for a very small x."""
    assume(math.fabs(x) >= 1e-300)  # 1 / x of a still smaller number leaves the range of a float
    assert_close(inv(x), 1.0 / x, EXACT)


@pytest.mark.task0_1
def test_inv_of_0_is_an_error() -> None:
    """inv(0) raises ZeroDivisionError, because no number is correct."""
    with pytest.raises(ZeroDivisionError):
        inv(0.0)


@pytest.mark.task0_1
@given(small_floats, small_floats)
@example(x=2.0, d=1.0)
@example(x=-2.0, d=1.0)
@example(x=2.0, d=-4.0)
@example(x=1e-3, d=1.0)
def test_inv_back_is_d_times_the_derivative_of_inv(x: float, d: float) -> None:
    """inv_back(x, d) is -d / x²."""
    assume(math.fabs(x) >= 1e-3)  # x² of a much smaller number is 0
    assert_close(inv_back(x, d), -d / x**2, EXACT)


@pytest.mark.task0_1
@given(floats(min_value=1e-300, max_value=100), small_floats)
@example(x=7.0, d=2.0)
@example(x=1e-300, d=-3.0)
def test_relu_back_passes_d_on_where_relu_rises(x: float, d: float) -> None:
    """relu_back(x, d) is d if x > 0."""
    assert relu_back(x, d) == d


@pytest.mark.task0_1
@given(floats(min_value=-100, max_value=0), small_floats)
@example(x=0.0, d=5.0)
@example(x=-1e-300, d=5.0)
def test_relu_back_is_0_elsewhere(x: float, d: float) -> None:
    """relu_back(x, d) is 0 if x <= 0, also at the kink, x = 0."""
    assert relu_back(x, d) == 0.0


@pytest.mark.task0_1
@pytest.mark.parametrize(
    ("fn", "args"),
    [
        pytest.param(fn, args, id=f"{fn.__name__}({', '.join(repr(arg) for arg in args)})")
        for fn, args in [
            (mul, (2.0, 3.0)),
            (id, (2.0,)),
            (add, (2.0, 3.0)),
            (neg, (2.0,)),
            (lt, (2.0, 3.0)),
            (lt, (3.0, 2.0)),
            (eq, (2.0, 2.0)),
            (eq, (2.0, 3.0)),
            (max, (2.0, 3.0)),
            (sigmoid, (1000.0,)),
            (sigmoid, (-1000.0,)),
            (relu, (2.0,)),
            (relu, (-2.0,)),
            (log, (2.0,)),
            (exp, (2.0,)),
            (log_back, (2.0, 3.0)),
            (inv, (2.0,)),
            (inv_back, (2.0, 3.0)),
            (relu_back, (2.0, 3.0)),
            (relu_back, (-2.0, 3.0)),
        ]
    ],
)
def test_every_result_is_a_float(fn: Callable[..., float], args: tuple[float, ...]) -> None:
    """Floats give floats: 0.0 and not 0, 1.0 and not True, because the results are used in further arithmetic."""
    assert type(fn(*args)) is float


@pytest.mark.task0_1
@pytest.mark.parametrize("fn", OPERATORS)
def test_no_function_calls_another_of_its_file(fn: Callable[..., object]) -> None:
    """Each function computes its result itself, with math at most: Module 3 compiles each one alone, without access to the others."""
    fn(*[2.0] * len(inspect.signature(fn).parameters))  # what is not written yet says so here
    in_file = {name for name, value in vars(operators).items() if inspect.isfunction(value) and value.__module__ == operators.__name__}
    found = sorted(in_file & {step.argval for step in dis.get_instructions(fn) if step.opname == "LOAD_GLOBAL"})
    expected = f"{fn.__name__} to call no function of operators.py"
    assert not found, f"expected {expected}, got a call of {', '.join(found)}; write out what it computes"


# Task 0.2: tests of one's own. They draw their inputs with @given, and must fail when the function that they test is wrong.


@pytest.mark.task0_2
@given(small_floats)
def test_sigmoid(x: float) -> None:
    """sigmoid(x) is never outside [0, 1], is 0.5 at 0, has sigmoid(-x) = 1 - sigmoid(x), and sigmoid(x) < sigmoid(x + 1) where |x| < 30."""
    assert 0.0 <= sigmoid(x) <= 1.0
    assert sigmoid(0.0) == 0.5
    assert_close(sigmoid(-x), 1.0 - sigmoid(x))
    if math.fabs(x) < 30.0:
        assert sigmoid(x) < sigmoid(x + 1.0)


@pytest.mark.task0_2
@given(small_floats, small_floats, small_floats)
def test_transitive(x: float, y: float, z: float) -> None:
    """lt is transitive: if x is less than y, and y less than z, then x is less than z."""
    if lt(x, y) == 1.0 and lt(y, z) == 1.0:
        assert lt(x, z) == 1.0


@pytest.mark.task0_2
@given(small_floats, small_floats)
def test_symmetric(x: float, y: float) -> None:
    """mul is symmetric: it gives the same result for both orders of its arguments, whatever their signs."""
    assert mul(x, y) == mul(y, x)


@pytest.mark.task0_2
@given(small_floats, small_floats, small_floats)
def test_distribute(x: float, y: float, z: float) -> None:
    """mul distributes over add: a number times a sum is the sum of the two products, whatever the signs."""
    assert_close(mul(z, add(x, y)), add(mul(z, x), mul(z, y)))


@pytest.mark.task0_2
@given(small_floats)
def test_other(x: float) -> None:
    """A property of your own choice, of one or more of the operators of Task 0.1."""
    assert add(relu(x), neg(relu(neg(x)))) == x


def swap(monkeypatch: pytest.MonkeyPatch, name: str, function: Callable[..., object]) -> None:
    """Replace an operator by another function, for tests that call `mul` and for tests that call `operators.mul`."""
    monkeypatch.setitem(globals(), name, function)
    monkeypatch.setattr(operators, name, function)


def fails(test: Callable[[], None]) -> bool:
    """Whether an assertion of the test fails; any other error, such as that of unwritten code, is raised."""
    for _ in range(10):  # other inputs each time: a test that can fail should not pass by bad luck
        try:
            test()
        except AssertionError:
            return True
        except BaseExceptionGroup as errors:  # Hypothesis found several
            if errors.split(AssertionError)[1] is not None:
                raise
            return True
    return False


WRONG_SIGMOIDS = {
    "is 0.5 everywhere": lambda x: 0.5,
    "jumps from 0 to 1": lambda x: 0.5 + 0.5 * ((x > 0) - (x < 0)),
    "is a straight line that stops at 0 and 1": lambda x: 0.0 if x < -0.5 else 1.0 if x > 0.5 else 0.5 + x,
    "is a straight line that does not stop at 0 and 1": lambda x: 0.5 + x,
    "falls": lambda x: 0.5 - math.atan(x) / math.pi,
    "is 0.5 at 1 instead of 0": lambda x: 0.5 + math.atan(x - 1) / math.pi,
    "rises more slowly above 0 than below": lambda x: 0.5 + math.atan(x if x < 0 else x / 3) / math.pi,
    "is the hyperbolic tangent": math.tanh,
}


@pytest.mark.task0_2
@pytest.mark.parametrize("how", WRONG_SIGMOIDS)
def test_your_test_sigmoid_notices(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_sigmoid fails for functions that lack one of the properties of sigmoid."""
    swap(monkeypatch, "sigmoid", WRONG_SIGMOIDS[how])
    assert fails(test_sigmoid), f"your test_sigmoid passes with a sigmoid that {how}"


WRONG_LTS = {
    "says whether x and y are more than 30 apart": lambda x, y: float(math.fabs(x - y) > 30),
    "says whether x and y have different signs": lambda x, y: float(x * y < 0),
    "says whether one is odd and the other even, rounded down": lambda x, y: float((math.floor(x) + math.floor(y)) % 2),
}


@pytest.mark.task0_2
@pytest.mark.parametrize("how", WRONG_LTS)
def test_your_test_transitive_notices(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_transitive fails for comparisons that are not transitive."""
    swap(monkeypatch, "lt", WRONG_LTS[how])
    assert fails(test_transitive), f"your test_transitive passes with an lt that {how}"


WRONG_MULS = {
    "subtracts": lambda x, y: x - y,
    "gives its first argument": lambda x, y: x,
    "adds twice its second argument": lambda x, y: x + 2 * y,
    "is symmetric for positive numbers only": lambda x, y: x + y if x >= 0 else x - y,
}


@pytest.mark.task0_2
@pytest.mark.parametrize("how", WRONG_MULS)
def test_your_test_symmetric_notices(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_symmetric fails for functions whose result changes when the arguments are swapped."""
    swap(monkeypatch, "mul", WRONG_MULS[how])
    assert fails(test_symmetric), f"your test_symmetric passes with a mul that {how}"


WRONG_MULS_AND_ADDS = {
    ("mul", "adds"): lambda x, y: x + y,
    ("mul", "subtracts"): lambda x, y: x - y,
    ("mul", "squares its second argument"): lambda x, y: y * y,
    ("mul", "gives the size of its second argument"): lambda x, y: math.fabs(y),
    ("add", "adds 1 too much"): lambda x, y: x + y + 1,
    ("add", "gives the larger of the two"): lambda x, y: x if y < x else y,
}


@pytest.mark.task0_2
@pytest.mark.parametrize(("name", "how"), WRONG_MULS_AND_ADDS)
def test_your_test_distribute_notices(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_distribute fails when mul does not distribute over add."""
    swap(monkeypatch, name, WRONG_MULS_AND_ADDS[name, how])
    assert fails(test_distribute), f"your test_distribute passes with a function {name} that {how}"


@pytest.mark.task0_2
def test_your_test_other_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_other fails when all operators of Task 0.1 return NaN, or all return 0.0, or all return 1.0; one of the three suffices."""
    noticed = False
    for value in (math.nan, 0.0, 1.0):
        for fn in OPERATORS:
            swap(monkeypatch, fn.__name__, lambda *args, value=value: value)
        noticed = noticed or fails(test_other)
        monkeypatch.undo()
    assert noticed, "your test_other passes when every operator gives NaN, when every one gives 0.0 and when every one gives 1.0"


# Task 0.3: functional Python


@pytest.mark.task0_3
def test_map_applies_the_function_to_every_element() -> None:
    """map(f)([3, -1, 2]) is the list [f(3), f(-1), f(2)]."""
    assert list(map(lambda x: 10 * x + 1)([3.0, -1.0, 2.0])) == [31.0, -9.0, 21.0]


@pytest.mark.task0_3
def test_map_of_an_empty_list_is_empty() -> None:
    """map(f)([]) is [], and f is not called."""
    assert list(map(lambda x: 1 / 0)([])) == []


@pytest.mark.task0_3
def test_zipwith_combines_pairs() -> None:
    """zipWith(f)([1, 2, 3], [30, 20, 10]) is [f(1, 30), f(2, 20), f(3, 10)], with the arguments in that order."""
    assert list(zipWith(lambda x, y: x - y)([1.0, 2.0, 3.0], [30.0, 20.0, 10.0])) == [-29.0, -18.0, -7.0]


@pytest.mark.task0_3
@pytest.mark.parametrize(
    ("ls1", "ls2", "expected"),
    [([1.0, 2.0, 3.0], [10.0], [11.0]), ([1.0], [10.0, 20.0], [11.0]), ([], [10.0], []), ([1.0], [], []), ([], [], [])],
)
def test_zipwith_leaves_out_what_has_no_partner(ls1: list[float], ls2: list[float], expected: list[float]) -> None:
    """zipWith of lists of different lengths is as long as the shorter one."""
    assert list(zipWith(lambda x, y: x + y)(ls1, ls2)) == expected


@pytest.mark.task0_3
def test_reduce_goes_from_the_left() -> None:
    """reduce(f, 100)([1, 2, 3]) is f(f(f(100, 1), 2), 3): 94 with subtraction, 16.75 with x / 2 + y."""
    assert reduce(lambda x, y: x - y, 100.0)([1.0, 2.0, 3.0]) == 94.0
    assert reduce(lambda x, y: x / 2 + y, 100.0)([1.0, 2.0, 3.0]) == 16.75


@pytest.mark.task0_3
def test_reduce_of_an_empty_list_is_the_start() -> None:
    """reduce(f, 7)([]) is 7, and f is not called."""
    assert reduce(lambda x, y: 1 / 0, 7.0)([]) == 7.0


@pytest.mark.task0_3
@given(lists(small_floats, max_size=10))
@example(ls=[])
@example(ls=[1.0, -2.0, 0.0, 1.0])
def test_neglist_negates_every_element(ls: list[float]) -> None:
    """negList(ls) is the list of all -x, in order."""
    assert list(negList(ls)) == [-x for x in ls]


@pytest.mark.task0_3
@given(small_floats, small_floats, small_floats, small_floats)
def test_addlists_adds_element_by_element(a: float, b: float, c: float, d: float) -> None:
    """addLists([a, b], [c, d]) is [a + c, b + d]."""
    assert list(addLists([a, b], [c, d])) == [a + c, b + d]


@pytest.mark.task0_3
@given(lists(small_floats, max_size=10))
@example(ls=[])
@example(ls=[4.0])
@example(ls=[2.0, 2.0, -1.0])
def test_sum_adds_all_elements(ls: list[float]) -> None:
    """sum(ls) is the sum of the elements, 0 for an empty list."""
    assert_close(sum(ls), math.fsum(ls), EXACT)


@pytest.mark.task0_3
@given(lists(small_floats, max_size=10))
@example(ls=[])
@example(ls=[4.0])
@example(ls=[2.0, 2.0, -1.0])
@example(ls=[3.0, 0.0])
def test_prod_multiplies_all_elements(ls: list[float]) -> None:
    """prod(ls) is the product of the elements, 1 for an empty list."""
    assert_close(prod(ls), math.prod(ls), EXACT)


@pytest.mark.task0_3
def test_a_function_that_was_made_can_be_used_again() -> None:
    """The function that map, zipWith or reduce returns starts from scratch at every call."""
    increment, add_pairs, total = map(lambda x: x + 1), zipWith(lambda x, y: x + y), reduce(lambda x, y: x + y, 5.0)
    for _ in range(2):
        assert list(increment([1.0, 2.0])) == [2.0, 3.0]
        assert list(add_pairs([1.0], [2.0])) == [3.0]
        assert total([1.0, 2.0]) == 8.0


@pytest.mark.task0_3
def test_any_iterable_will_do() -> None:
    """A generator can be iterated over once and has no length; every function of this task accepts one."""
    assert list(map(lambda x: x + 1)(x for x in (1.0, 2.0))) == [2.0, 3.0]
    assert list(zipWith(lambda x, y: x * y)((x for x in (2.0, 3.0)), (y for y in (5.0, 7.0)))) == [10.0, 21.0]
    assert reduce(lambda x, y: x - y, 9.0)(x for x in (1.0, 2.0)) == 6.0
    assert list(negList(x for x in (1.0, -2.0))) == [-1.0, 2.0]
    assert list(addLists((x for x in (1.0, 2.0)), (y for y in (10.0, 20.0)))) == [11.0, 22.0]
    assert sum(x for x in (1.0, 2.0)) == 3.0
    assert prod(x for x in (2.0, 3.0)) == 6.0


@pytest.mark.task0_3
def test_the_input_stays_as_it_was() -> None:
    """No function modifies the list that it receives."""
    ls1, ls2 = [3.0, 1.0, 2.0], [5.0, 4.0, 6.0]
    list(map(lambda x: x + 1)(ls1))
    list(zipWith(lambda x, y: x + y)(ls1, ls2))
    reduce(lambda x, y: x + y, 0.0)(ls1)
    list(negList(ls1))
    list(addLists(ls1, ls2))
    sum(ls1)
    prod(ls1)
    assert ls1 == [3.0, 1.0, 2.0]
    assert ls2 == [5.0, 4.0, 6.0]


@pytest.mark.task0_3
@given(lists(tuples(small_floats, small_floats), max_size=10))
def test_sum_distribute(pairs: list[tuple[float, float]]) -> None:
    """For two lists of the same length, the sum of one plus the sum of the other is the sum of addLists of the two."""
    ls1 = [x for x, _ in pairs]
    ls2 = [y for _, y in pairs]
    assert_close(add(sum(ls1), sum(ls2)), sum(addLists(ls1, ls2)))


WRONG_SUMS_AND_ADDLISTS = {
    ("sum", "counts the elements"): lambda ls: float(len([*ls])),
    ("sum", "multiplies the elements"): math.prod,
    ("sum", "gives the largest element"): lambda ls: sorted([0.0, *ls])[-1],
    ("addLists", "gives its first list"): lambda ls1, ls2: [*ls1],
    ("addLists", "gives its second list twice"): lambda ls1, ls2: [*ls2, *ls2],
}


@pytest.mark.task0_3
@pytest.mark.parametrize(("name", "how"), WRONG_SUMS_AND_ADDLISTS)
def test_your_test_sum_distribute_notices(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_sum_distribute fails when sum or addLists is wrong."""
    swap(monkeypatch, name, WRONG_SUMS_AND_ADDLISTS[name, how])
    assert fails(test_sum_distribute), f"your test_sum_distribute passes with a function {name} that {how}"
