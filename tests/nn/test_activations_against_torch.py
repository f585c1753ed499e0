"""Every activation against PyTorch's of the same name: values, gradients, and states in both directions; and extreme inputs."""

import numpy as np
import pytest

from .torch_comparison import EDGES, FINITE, argument, build, check_function, check_layer, leaves, part, row, uniform, x

CURVES = ("ReLU", "SiLU", "Sigmoid", "Tanh", "LeakyReLU", "GELU")
HARD = ("ReLU6", "Hardtanh", "Hardswish", "Hardshrink", "Softshrink")
SMOOTH = ("ELU", "CELU", "SELU", "Softplus", "Softsign", "LogSigmoid", "Mish", "Tanhshrink")
CORNERS = np.array([-6.5, -6.0, -3.5, -3.0, -2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 3.5, 6.0, 6.5])
"""Inputs at, below and above the points between two pieces of an activation."""

INFINITE = np.array([[0.0, np.inf, -np.inf], [-np.inf, -np.inf, -np.inf], [np.nan, 0.0, 1.0], [1e300, -1e300, 0.0]])

OUTSIDE = np.array([-np.inf, -1e300, -3.5, -3.0, 3.0, 3.5, 1e300, np.inf])
"""Inputs for hardsigmoid: between -3 and 3, PyTorch's gradient has the precision of float32; see the last test."""

ON_EDGES = {
    **dict.fromkeys(["ReLU6", "Hardtanh", "Hardshrink", "Softshrink"], EDGES[:-1]),  # for NaN, PyTorch's gradient is 0
    **dict.fromkeys(["ELU", "CELU", "SELU", "Softplus", "LogSigmoid", "Tanhshrink"], EDGES),
    **dict.fromkeys(["Softsign", "Mish"], FINITE),
    "Hardswish": FINITE[:-1],
}
"""The extreme inputs for which PyTorch has no other result than the limit."""

LAYERS = [
    *[row(name, on=[values]) for name in CURVES for values in (x(2, 3, 4), x(0, 3))],
    *[row(name, on=[EDGES]) for name in ("ReLU", "Sigmoid", "Tanh", "LeakyReLU")],
    *[row(name, on=[FINITE]) for name in ("SiLU", "GELU")],
    row("LeakyReLU", 0.3, on=[EDGES]),
    row("LeakyReLU", 0.0, on=[EDGES]),
    row("LeakyReLU", -0.5, on=[x(7)]),
    row("GELU", "tanh", on=[EDGES[2:-3]]),  # from 1e300 on, PyTorch's gradient is NaN
    *[row(name, dim, on=[x(2, 3, 4)]) for name in ("Softmax", "LogSoftmax") for dim in (0, 1, -1)],
    *[row(name, 1, on=[INFINITE]) for name in ("Softmax", "LogSoftmax")],
    *[row(name, on=[values]) for name in (*HARD, *SMOOTH) for values in (x(0, 3), CORNERS)],
    *[row("Hardsigmoid", on=[values]) for values in (x(0, 3), OUTSIDE)],
    *[row(name, on=[values]) for name, values in ON_EDGES.items()],
    row("Hardtanh", -2.0, 0.5, on=[CORNERS]),
    row("Hardshrink", 2.0, on=[CORNERS]),
    row("Softshrink", 2.0, on=[CORNERS]),
    row("Softshrink", 0.0, on=[CORNERS]),
    row("Threshold", 0.5, -7.0, on=[CORNERS]),
    row("Threshold", -1.0, 2.5, on=[EDGES]),
    row("ELU", 0.3, on=[CORNERS]),
    row("CELU", 0.5, on=[CORNERS]),
    row("Softplus", 2.0, 3.0, on=[CORNERS]),
    row("Softplus", beta=0.5, threshold=1.0, on=[CORNERS]),
    *[row(name, dim, on=[x(2, 4, 6)]) for name in ("Softmin", "GLU") for dim in (0, 1, -1)],
    row("Softmin", 1, on=[INFINITE]),
    row("GLU", on=[x(3, 2)]),
    row("PReLU", on=[x(2, 3, 4)]),
    row("PReLU", init=0.7, on=[EDGES]),
    row("PReLU", 4, on=[x(2, 4, 3, 2)]),
    row("PReLU", num_parameters=3, init=-0.5, on=[x(2, 3)]),
    row("RReLU", 0.3, 0.3, on=[CORNERS]),  # without chance
]

FUNCTIONS = [
    row("sigmoid", on=[EDGES]),
    row("tanh", on=[EDGES]),
    row("relu", on=[EDGES]),
    row("silu", on=[FINITE]),
    row("gelu", on=[FINITE]),
    row("gelu", approximate="tanh", on=[x(2, 3)]),
    row("leaky_relu", on=[EDGES]),
    row("leaky_relu", 1.5, on=[x(2, 3)]),
    *[row(name, dim, on=[values]) for name in ("softmax", "logsoftmax") for dim, values in ((0, x(3, 2)), (1, INFINITE))],
    *[row(name.lower(), on=[CORNERS]) for name in (*HARD, *SMOOTH)],
    *[row(name.lower(), on=[values]) for name, values in ON_EDGES.items()],
    row("hardsigmoid", on=[OUTSIDE]),
    row("hardtanh", -2.0, 0.5, on=[x(5)]),
    row("hardshrink", 2.0, on=[CORNERS]),
    row("softshrink", lambd=2.0, on=[CORNERS]),
    row("threshold", 0.5, -7.0, on=[CORNERS]),
    row("elu", alpha=0.3, on=[CORNERS]),
    row("celu", alpha=0.5, on=[CORNERS]),
    row("softplus", 2.0, 3.0, on=[CORNERS]),
    row("softmin", 0, on=[x(3, 2)]),
    row("glu", 0, on=[x(4, 3)]),
    row("prelu", on=[CORNERS, uniform(1)]),
    row("prelu", on=[x(2, 3, 4), uniform(3)]),
    row("rrelu", on=[EDGES]),
    row("rrelu", 0.1, 0.7, on=[CORNERS]),
    row("rrelu", 0.4, 0.4, training=True, on=[CORNERS]),
]


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs):
    check_layer(name, args, settings, inputs)


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    check_function(name, args, settings, inputs)


@pytest.mark.parametrize("library", ["ours", "theirs"])
def test_random_slopes_fill_the_range_that_is_given(library):
    layer = build(library, part("RReLU", 0.2, 0.6))
    slopes = -np.array(layer(argument(library, np.full(2000, -1.0))).tolist())
    assert 0.2 <= slopes.min() < 0.205
    assert 0.595 < slopes.max() <= 0.6


def test_hardsigmoid_agrees_with_pytorch_between_its_corners():
    layer, other = (build(library, part("Hardsigmoid")) for library in ("ours", "theirs"))
    (a,), (b,) = leaves([CORNERS])
    out, expected = layer(a), other(b)
    out.sum().backward(), expected.sum().backward()
    np.testing.assert_allclose(out.to_numpy(), expected.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(a.grad.to_numpy(), b.grad.numpy(), rtol=1e-7)
