"""Initial weights: bounds and spread from their papers, written in place, reproducible for a seed."""

import math

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float32, manual_seed, zeros
from minitorch.nn import Linear, Parameter, init
from tests.nn.checks import refuses

UNIFORM = [
    (lambda x: init.uniform_(x, -3.0, 1.0), -1.0, 2.0),
    (init.xavier_uniform_, 0.0, math.sqrt(6 / (300 * 4 + 200 * 4))),
    (lambda x: init.xavier_uniform_(x, 2.0), 0.0, 2 * math.sqrt(6 / 2000)),
    (init.kaiming_uniform_, 0.0, math.sqrt(6 / 800)),
    (lambda x: init.kaiming_uniform_(x, math.sqrt(5)), 0.0, 1 / math.sqrt(800)),  # PyTorch's own layers are initialized like this
    (lambda x: init.kaiming_uniform_(x, mode="fan_out", nonlinearity="relu"), 0.0, math.sqrt(6 / 1200)),
    (lambda x: init.kaiming_uniform_(x, nonlinearity="tanh"), 0.0, math.sqrt(3) * 5 / 3 / math.sqrt(800)),
]


@pytest.mark.parametrize(("fill", "middle", "bound"), UNIFORM)
def test_uniform_weights_cover_their_range(fill, middle, bound):
    manual_seed(1)
    values = fill(zeros((300, 200, 2, 2))).to_numpy()
    assert abs(values - middle).max() <= bound
    assert abs(values - middle).max() > 0.999 * bound
    assert values.mean() == pytest.approx(middle, abs=0.01 * bound)
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.01)


@pytest.mark.parametrize(
    ("fill", "mean", "std"),
    [
        (lambda x: init.normal_(x, 2.0, 3.0), 2.0, 3.0),
        (init.xavier_normal_, 0.0, math.sqrt(2 / 2000)),
        (lambda x: init.kaiming_normal_(x, mode="fan_out"), 0.0, math.sqrt(2 / 1200)),
    ],
)
def test_normal_weights_have_the_given_mean_and_standard_deviation(fill, mean, std):
    manual_seed(1)
    values = fill(zeros((300, 200, 2, 2))).to_numpy()
    assert values.mean() == pytest.approx(mean, abs=0.02 * std)
    assert values.std() == pytest.approx(std, rel=0.01)
    assert abs(values - mean).max() > 4 * std


def test_constants_fill_the_whole_tensor():
    assert init.constant_(zeros((2, 2)), 5.0).tolist() == [[5.0, 5.0], [5.0, 5.0]]
    assert init.ones_(zeros((2,))).tolist() == [1.0, 1.0]
    assert init.zeros_(init.ones_(zeros((2,)))).tolist() == [0.0, 0.0]


def test_parameters_are_written_in_place_in_their_own_dtype_and_stay_leaves():
    parameter = Parameter(zeros((3, 2), FastBackend, dtype=float32))
    before = parameter.value
    manual_seed(3)
    assert init.kaiming_uniform_(parameter) is before
    assert parameter.value is before
    assert (before.dtype, before.is_leaf) == (float32, True)
    first = before.tolist()
    manual_seed(3)
    assert init.kaiming_uniform_(zeros((3, 2), dtype=float32)).tolist() == first


def test_a_network_is_initialized_by_apply():
    network = Linear(3, 2).apply(lambda module: init.constant_(module.weight, 0.5) if isinstance(module, Linear) else None)
    np.testing.assert_array_equal(network.weight.value.to_numpy(), np.full((2, 3), 0.5))


def test_gains_agree_with_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for name in (*init.GAINS, "leaky_relu"):
        assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name)), name
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", 0.2))


def test_unknown_names_are_refused():
    message = "initial weights expected a Tensor or a Parameter of one, got {}; pass layer.weight"
    for fill in (init.zeros_, init.uniform_, init.xavier_uniform_, init.kaiming_normal_):
        for wrong in (None, np.zeros((2, 2)), minitorch.Parameter(1.0)):
            kind = "float" if isinstance(wrong, minitorch.Parameter) else type(wrong).__name__
            refuses(TypeError, message.format(kind), fill, wrong)
    refuses(ValueError, "… expected a of at most b, got 1.0 and 0.5", init.uniform_, zeros((3,)), 1.0, 0.5)
    refuses(ValueError, "… expected std of at least 0, got -1", init.normal_, zeros((3,)), std=-1)
    for shape in ((0, 0), (3,)):
        message = f"a fan expected weights of shape (out, in, …), got {shape}; for a bias use zeros_ or uniform_"
        refuses(ValueError, message, init.xavier_normal_, zeros(shape))
    refuses(ValueError, 'Kaiming weights expected mode "fan_in" or "fan_out", got \'fan\'', init.kaiming_normal_, zeros((3, 2)), mode="fan")
    message = "calculate_gain expected one of linear, conv1d, conv2d, sigmoid, tanh, relu, selu, leaky_relu, got 'swish'"
    refuses(ValueError, message, init.kaiming_uniform_, zeros((3, 2)), nonlinearity="swish")
