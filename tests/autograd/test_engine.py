"""The engine against independent arithmetic: random graphs, rules at special points, memory."""

import copy
import gc
import math
import pickle
import subprocess
import sys
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minitorch import History, Module, Parameter, Scalar, ScalarFunction, backpropagate, dot, jvp


class Op(NamedTuple):
    """One step of a random program, once by the math module and once by ours."""

    floats: object
    ours: object
    kink: object = lambda a, b: math.inf  # distance to the nearest point without a derivative


def same(function, kink=lambda a, b: math.inf):
    """A step that reads the same for floats and for Scalars."""
    return Op(function, function, kink)


OPS = {
    "a + b": same(lambda a, b: a + b),
    "a - b": same(lambda a, b: a - b),
    "a * b": same(lambda a, b: a * b),
    "a / b": same(lambda a, b: a / b),
    "-a": same(lambda a, b: -a),
    "a + 3": same(lambda a, b: a + 3),
    "3 + a": same(lambda a, b: 3 + a),
    "2.5 - a": same(lambda a, b: 2.5 - a),
    "a - 2.5": same(lambda a, b: a - 2.5),
    "0.5 * a": same(lambda a, b: 0.5 * a),
    "a * 0.5": same(lambda a, b: a * 0.5),
    "3 / a": same(lambda a, b: 3 / a),
    "a / 3": same(lambda a, b: a / 3),
    "a ** 3": Op(lambda a, b: math.pow(a, 3), lambda a, b: a**3),
    "a ** -2": Op(lambda a, b: math.pow(a, -2), lambda a, b: a**-2),
    "2 ** a": Op(lambda a, b: math.pow(2, a), lambda a, b: 2**a),
    "|a| ** b": Op(lambda a, b: math.pow(math.fabs(a), b), lambda a, b: abs(a) ** b, lambda a, b: abs(a)),
    "|a|": Op(lambda a, b: math.fabs(a), lambda a, b: abs(a), lambda a, b: abs(a)),
    "a < b": Op(lambda a, b: float(a < b), lambda a, b: a < b, lambda a, b: abs(a - b)),
    "a > b": Op(lambda a, b: float(a > b), lambda a, b: a > b, lambda a, b: abs(a - b)),
    "a == b": Op(lambda a, b: float(a == b), lambda a, b: a == b, lambda a, b: abs(a - b)),
    "relu": Op(lambda a, b: max(a, 0.0), lambda a, b: a.relu(), lambda a, b: abs(a)),
    "exp": Op(lambda a, b: math.exp(a), lambda a, b: a.exp()),
    "log": Op(lambda a, b: math.log(a + 1e-6), lambda a, b: a.log(), lambda a, b: a),
    "sigmoid": Op(lambda a, b: 1 / (1 + math.exp(-a)), lambda a, b: a.sigmoid()),
    "sin": Op(lambda a, b: math.sin(a), lambda a, b: a.sin()),
    "cos": Op(lambda a, b: math.cos(a), lambda a, b: a.cos()),
    "tanh": Op(lambda a, b: math.tanh(a), lambda a, b: a.tanh()),
    "sqrt": Op(lambda a, b: math.sqrt(a), lambda a, b: a.sqrt(), lambda a, b: a),
    "dot": Op(lambda a, b: a * b + b * 3.0 + a * a, lambda a, b: dot([a, b, a], [b, 3.0, a])),
}

Program = list[tuple[str, int, int]]
"""Steps (op, place of a, place of b); a place counts the inputs first, then the results so far."""


def run(program: Program, point, world: str):
    """The sum of all values of a program, so that every step counts; in the world of "floats" or of "ours"."""
    values = list(point)
    for op, a, b in program:
        values.append(getattr(OPS[op], world)(values[a], values[b]))
    return sum(values)


@st.composite
def programs(draw) -> tuple[Program, list[float]]:
    """A program and a point at which every value is below 20 and a thousandth away from every kink and pole."""
    point = draw(st.lists(st.floats(1e-3, 2) | st.floats(-2, -1e-3), min_size=2, max_size=3))
    values, program = list(point), []
    for op in draw(st.lists(st.sampled_from(sorted(OPS)), min_size=1, max_size=12)):
        a, b = (draw(st.integers(0, len(values) - 1)) for _ in "ab")
        try:
            value = OPS[op].floats(values[a], values[b])
        except (ArithmeticError, ValueError):
            continue
        if 1e-3 < abs(value) < 20 and OPS[op].kink(values[a], values[b]) > 1e-3:
            program.append((op, a, b))
            values.append(value)
    assume(program)
    return program, point


def differences(program: Program, point, epsilon: float) -> list[float]:
    """Central differences by each input, on floats."""

    def moved(i: int, by: float) -> float:
        return run(program, [x + by * (i == j) for j, x in enumerate(point)], "floats")

    return [(moved(i, epsilon) - moved(i, -epsilon)) / (2 * epsilon) for i in range(len(point))]


def check(program: Program, point, expected: list[float]) -> None:
    """Our value and derivatives, both ways, against floats and the expected derivatives."""
    inputs = [Scalar(x) for x in point]
    out = run(program, inputs, "ours")
    out.backward()
    assert math.isclose(out.data, run(program, point, "floats"), rel_tol=1e-12, abs_tol=1e-12)
    for i, x in enumerate(inputs):
        value, tangent = jvp(lambda *xs: run(program, xs, "ours"), point, [float(i == j) for j in range(len(point))])
        assert value == out.data
        assert math.isclose(x.derivative, expected[i], rel_tol=1e-3, abs_tol=1e-3)
        assert math.isclose(x.derivative, tangent, rel_tol=1e-7, abs_tol=1e-7)


@given(programs())
@example(([("a * b", 0, 0), ("a + b", 2, 2), ("a * b", 3, 2)], [1.5, -0.5]))  # shared nodes
@example(([("a + b", 0, 1), ("sin", 2, 2), ("a * b", 2, 3), ("a - b", 4, 2), ("dot", 5, 3)], [0.3, 0.9]))
def test_the_derivatives_of_random_graphs_agree_with_differences_and_with_forward_mode(drawn):
    program, point = drawn
    coarse, fine = differences(program, point, 1e-5), differences(program, point, 1e-6)
    assume(all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) for a, b in zip(coarse, fine, strict=True)))  # else it is too wild to tell
    check(program, point, fine)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("point", [(0.7, 1.3), (1.9, -0.4), (-1.2, 0.6)])
def test_the_derivatives_of_every_operator_agree_with_differences_and_with_forward_mode(op, point):
    program = [(op, 0, 1)]
    if point[0] < 0 and op in ("log", "sqrt"):
        with pytest.raises(ValueError, match=r"math domain error|expected a .*positive input"):
            run(program, [Scalar(x) for x in point], "ours")
        return
    check(program, point, differences(program, point, 1e-6))


def test_the_example_of_micrograd():
    a, b = Scalar(-4.0), Scalar(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    assert [round(x, 4) for x in (g.data, a.derivative, b.derivative)] == [24.7041, 138.8338, 645.5773]

    g.backward()  # once more: derivatives add up
    assert [round(x / 2, 4) for x in (a.derivative, b.derivative)] == [138.8338, 645.5773]


@pytest.mark.parametrize(
    ("base", "exponent", "value", "by_base"),
    [(0.0, 2, 0.0, 0.0), (0.0, 1, 0.0, 1.0), (0.0, 0, 1.0, 0.0), (-2.0, 3, -8.0, 12.0), (-2.0, -1, -0.5, -0.25), (0.0, 0.5, 0.0, math.inf)],
)
def test_a_power_with_a_plain_exponent_has_no_nan_in_its_derivative(base, exponent, value, by_base):
    x = Scalar(base)
    y = x**exponent
    y.backward()
    assert (y.data, x.derivative) == (value, by_base)


def test_a_power_has_a_derivative_by_its_exponent_where_the_base_is_positive():
    a, b = Scalar(3.0), Scalar(2.0)
    (a**b).backward()
    assert (a.derivative, b.derivative) == (6.0, pytest.approx(9 * math.log(3)))


def test_zero_to_a_positive_power_does_not_change_with_the_power():
    a, b = Scalar(0.0), Scalar(2.0)
    (a**b).backward()
    assert (a.derivative, b.derivative) == (0.0, 0.0)


@pytest.mark.parametrize(("base", "power"), [(-3.0, 2.0), (0.0, 0.0)])
def test_a_power_has_no_derivative_by_its_exponent_elsewhere(base: float, power: float):
    a, b = Scalar(base), Scalar(power)
    (a**b).backward()
    assert a.derivative == power * base
    assert b.derivative is not None
    assert math.isnan(b.derivative)


def test_the_derivative_of_a_number_to_the_power_0_is_0_however_tiny_it_is():
    a = Scalar(1e-320)
    (a**0).backward()
    assert a.derivative == 0.0


def test_the_derivative_of_the_inverse_of_a_tiny_number_is_infinite():
    a = Scalar(1e-200)
    (1 / a).backward()
    assert a.derivative == -math.inf


def test_a_power_that_is_no_real_number_is_refused():
    for base, exponent in ((-8.0, 1 / 3), (0.0, -1.0)):
        with pytest.raises(ValueError, match="math domain error"):
            Scalar(base) ** exponent


def test_the_square_root_rises_infinitely_steep_at_0():
    x = Scalar(0.0)
    x.sqrt().backward()
    assert x.derivative == math.inf


@pytest.mark.parametrize(("x", "value", "derivative"), [(-3.0, 3.0, -1.0), (0.0, 0.0, 0.0), (-0.0, 0.0, 0.0), (3.0, 3.0, 1.0)])
def test_the_absolute_value_is_taken_as_flat_at_0(x, value, derivative):
    s = Scalar(x)
    y = abs(s)
    y.backward()
    assert (y.data, s.derivative) == (value, derivative)


def test_nan_and_infinity_flow_as_they_do_in_floats():
    x = Scalar(math.inf)
    (x * 2 - x).backward()  # the value is NaN, the derivative is not
    assert x.derivative == 1.0
    y = Scalar(math.nan)
    (y * y).backward()
    assert math.isnan(y.derivative)


def test_a_derivative_of_the_users_choice_is_passed_on():
    x = Scalar(3.0)
    (x * x).backward(d_output=0.5)
    assert x.derivative == 3.0


def test_nothing_flows_into_constants():
    x, c = Scalar(3.0), Scalar(2.0, None)
    (x * c + c).backward()
    assert (x.derivative, c.derivative) == (2.0, None)
    c.backward()
    assert c.derivative is None


class Total:
    """A variable that holds a NumPy array: a leaf, or the sum of its inputs."""

    def __init__(self, *inputs):
        self.parents = inputs
        self.history = History("sum" if inputs else None, inputs=inputs)
        self.derivative = None

    def accumulate_derivative(self, x):
        self.derivative = x

    def chain_rule(self, d_output):
        return [(x, d_output) for x in self.parents]  # one array for all of them


def test_the_engine_serves_arrays_too_and_never_writes_into_them():
    a, b = Total(), Total()
    start = np.ones(2)
    backpropagate(Total(Total(a, b), a), start)
    assert [a.derivative.tolist(), b.derivative.tolist(), start.tolist()] == [[2, 2], [1, 1], [1, 1]]


# Memory


class Witness:
    """Something that tells when it is gone."""


class Keep(ScalarFunction):
    """x itself; its graph holds on to a Witness."""

    @staticmethod
    def forward(ctx, x):
        witness = Witness()
        Keep.last = weakref.ref(witness)
        ctx.save_for_backward(witness)
        return x

    @staticmethod
    def backward(ctx, d_output):
        return d_output


def test_a_graph_is_freed_without_the_collector():
    gc.disable()
    try:
        x = Scalar(2.0)
        y = Keep.apply(x)
        loss = (y * y + y.sin()) * x
        loss.backward()
        assert Keep.last() is not None
        del loss, y
        assert Keep.last() is None
    finally:
        gc.enable()


def test_a_step_that_is_not_differentiated_keeps_nothing():
    y = Keep.apply(Scalar(2.0, None))
    assert y.is_constant()
    assert Keep.last() is None


def test_a_long_chain_is_walked_and_freed_without_recursion():
    program = (
        "from minitorch import Scalar\nx = Scalar(0.0); y = x\nfor _ in range(100_000): y = y + x\ny.backward()\ndel y\nprint(x.derivative)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100001.0\n", "")


# Copies


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_of_a_graph_is_a_graph_of_its_own(duplicate):
    x = Scalar(3.0, name="x")
    y = x * x + Scalar(1.0, None)
    x_copy, y_copy = duplicate((x, y))
    y_copy.backward()
    assert (y_copy.data, x_copy.name, x_copy.derivative, x.derivative) == (10.0, "x", 6.0, None)
    y.backward()
    assert (x.derivative, x_copy.derivative) == (6.0, 6.0)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_of_a_module_has_parameters_of_its_own(duplicate):
    model = Module()
    model.layer = Module()
    model.layer.weight = Parameter(Scalar(2.0), name="weight")
    twin = duplicate(model)
    (twin.layer.weight.value * 5).backward()
    assert [name for name, _ in twin.named_parameters()] == ["layer.weight"]
    assert twin.layer.weight.value.derivative == 5.0
    assert model.layer.weight.value.derivative is None
    twin.layer.weight.update(Scalar(9.0))
    assert (model.layer.weight.value.data, twin.layer.weight.value.name) == (2.0, "weight")
