"""The engine against independent arithmetic: every operator, rules at special points, memory."""

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest

from minitorch import History, Module, Parameter, Scalar, ScalarFunction, backpropagate, dot, jvp

EITHER = [  # read the same for floats and for Scalars; in the last two, results are used several times
    "a + b", "a - b", "a * b", "a / b", "-a", "a + 3", "3 + a", "2.5 - a", "a - 2.5", "0.5 * a", "a * 0.5", "3 / a", "a / 3",
    "(c := a * a) + c + (c + c) * c", "((c := a + b) * (d := c / 3) - c) * d + a",
]  # fmt: skip
OPS = {text: [eval(f"lambda a, b: {text}")] * 2 for text in EITHER} | {  # once by the math module and once by ours
    "a ** 3": (lambda a, b: math.pow(a, 3), lambda a, b: a**3),
    "a ** -2": (lambda a, b: math.pow(a, -2), lambda a, b: a**-2),
    "2 ** a": (lambda a, b: math.pow(2, a), lambda a, b: 2**a),
    "|a| ** b": (lambda a, b: math.pow(math.fabs(a), b), lambda a, b: abs(a) ** b),
    "|a|": (lambda a, b: math.fabs(a), lambda a, b: abs(a)),
    "a < b": (lambda a, b: float(a < b), lambda a, b: a < b),
    "a > b": (lambda a, b: float(a > b), lambda a, b: a > b),
    "a == b": (lambda a, b: float(a == b), lambda a, b: a == b),
    "relu": (lambda a, b: max(a, 0.0), lambda a, b: a.relu()),
    "exp": (lambda a, b: math.exp(a), lambda a, b: a.exp()),
    "log": (lambda a, b: math.log(a + 1e-6), lambda a, b: a.log()),
    "sigmoid": (lambda a, b: 1 / (1 + math.exp(-a)), lambda a, b: a.sigmoid()),
    "sin": (lambda a, b: math.sin(a), lambda a, b: a.sin()),
    "cos": (lambda a, b: math.cos(a), lambda a, b: a.cos()),
    "tanh": (lambda a, b: math.tanh(a), lambda a, b: a.tanh()),
    "sqrt": (lambda a, b: math.sqrt(a), lambda a, b: a.sqrt()),
    "dot": (lambda a, b: a * b + b * 3.0 + a * a, lambda a, b: dot([a, b, a], [b, 3.0, a])),
    "a shared sum": (lambda a, b: a + math.sin(a + b) * (a + b) + b, lambda a, b: a + (c := a + b).sin() * c + b),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("a", "b"), [(0.7, 1.3), (1.9, -0.4), (-1.2, 0.6)])
def test_derivatives_agree_with_differences_and_with_forward_mode(op, a, b):
    floats, function = OPS[op]
    x, y = Scalar(a), Scalar(b)
    if a < 0 and op in ("log", "sqrt"):
        with pytest.raises(ValueError, match=r"math domain error|expected a .*positive input"):
            function(x, y)
        return
    out = x + y + function(x, y)  # every derivative arrives, also one of 0
    out.backward()
    assert out.data == pytest.approx(a + b + floats(a, b), rel=1e-12, abs=1e-12)
    differences = (floats(a + 1e-6, b) - floats(a - 1e-6, b)) / 2e-6, (floats(a, b + 1e-6) - floats(a, b - 1e-6)) / 2e-6
    assert (x.derivative - 1, y.derivative - 1) == pytest.approx(differences, rel=1e-3, abs=1e-3)
    for leaf, direction in ((x, (1.0, 0.0)), (y, (0.0, 1.0))):
        value, tangent = jvp(lambda a, b: a + b + function(a, b), (a, b), direction)
        assert (value, tangent) == (out.data, pytest.approx(leaf.derivative, rel=1e-7, abs=1e-7))


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
    [
        (0.0, 2, 0.0, 0.0), (0.0, 1, 0.0, 1.0), (0.0, 0, 1.0, 0.0), (-2.0, 3, -8.0, 12.0), (-2.0, -1, -0.5, -0.25),
        (0.0, 0.5, 0.0, math.inf), (1e-320, 0, 1.0, 0.0),
    ],
)  # fmt: skip
def test_a_power_with_a_plain_exponent_has_no_nan_in_its_derivative(base, exponent, value, by_base):
    x = Scalar(base)
    y = x**exponent
    y.backward()
    assert (y.data, x.derivative) == (value, by_base)


@pytest.mark.parametrize(
    ("base", "power", "by_base", "by_power"),
    [(3.0, 2.0, 6.0, 9 * math.log(3)), (0.0, 2.0, 0.0, 0.0), (-3.0, 2.0, -6.0, math.nan), (0.0, 0.0, 0.0, math.nan)],
)
def test_a_power_has_a_derivative_by_its_exponent_only_where_powers_nearby_are_real(base, power, by_base, by_power):
    a, b = Scalar(base), Scalar(power)
    (a**b).backward()
    assert (a.derivative, b.derivative) == (by_base, pytest.approx(by_power, nan_ok=True))


@pytest.mark.parametrize(("base", "exponent"), [(-8.0, 1 / 3), (0.0, -1.0)])
def test_a_power_that_is_no_real_number_is_refused(base, exponent):
    with pytest.raises(ValueError, match="math domain error"):
        Scalar(base) ** exponent


@pytest.mark.parametrize(
    ("function", "x", "value", "derivative"),
    [
        (abs, -3.0, 3.0, -1.0), (abs, 0.0, 0.0, 0.0), (abs, -0.0, 0.0, 0.0), (abs, 3.0, 3.0, 1.0),  # taken as flat at 0
        (Scalar.sqrt, 0.0, 0.0, math.inf), (lambda x: 1 / x, 1e-200, 1e200, -math.inf),
    ],
)  # fmt: skip
def test_the_derivative_at_a_kink_or_near_a_pole(function, x, value, derivative):
    s = Scalar(x)
    y = function(s)
    y.backward()
    assert (y.data, s.derivative) == (value, derivative)


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


# Copies


duplicates = pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))], ids=["copy", "pickle"])


@duplicates
def test_a_copy_of_a_graph_is_a_graph_of_its_own(duplicate):
    x = Scalar(3.0, name="x")
    y = x * x + Scalar(1.0, None)
    x_copy, y_copy = duplicate((x, y))
    y_copy.backward()
    assert (y_copy.data, x_copy.name, x_copy.derivative, x.derivative) == (10.0, "x", 6.0, None)
    y.backward()
    assert (x.derivative, x_copy.derivative) == (6.0, 6.0)


@duplicates
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
