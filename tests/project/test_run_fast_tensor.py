"""Task 3.5: the layers of a network that uses matrix products, on any backend, and training on the compiled one."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, Module, SimpleOps, Tensor, TensorBackend, tensor
from project.lab.training.fast_trainer import FastSetting, FastTrainer
from project.run_fast_tensor import Linear, Network

PRODUCTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
"""The shapes of all matrix products so far."""


class Watched(SimpleOps):
    """Operations that record every matrix product; its tensors cannot be combined with those of other backends."""

    name = "watched"

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """Compute the product and record its shapes."""
        PRODUCTS.append((a.shape, b.shape))
        return SimpleOps.matrix_multiply(a, b)


BACKEND = TensorBackend(Watched)


def made(values: list[list[float]] | list[float], requires_grad: bool = False) -> Tensor:
    """A tensor on the recording backend."""
    return tensor(values, backend=BACKEND, requires_grad=requires_grad)


def fill(layer: Linear, weights: list[list[float]], bias: list[float]) -> Linear:
    """Set a layer's weights, weights[i][j] from input i to output j, and its biases."""
    assert layer.weights.value.shape == (len(weights), len(bias))
    assert layer.bias.value.shape == (len(bias),)
    backend = layer.bias.value.backend
    layer.weights.update(tensor(weights, backend=backend))
    layer.bias.update(tensor(bias, backend=backend))
    return layer


def check(outputs: Tensor, expected: list[list[float]]) -> None:
    """Check a layer's outputs: one row for every point."""
    assert isinstance(outputs, Tensor)
    assert outputs.shape == (len(expected), len(expected[0]))
    assert outputs.to_numpy().round(9).tolist() == expected


def draw_weights(network: Network) -> Network:
    """Initialize a network independently of the order in which its layers were created."""
    numbers = np.random.default_rng(1)
    for layer in (network.layer1, network.layer2, network.layer3):
        in_size, out_size = layer.weights.value.shape
        fill(layer, numbers.uniform(-1, 1, (in_size, out_size)).tolist(), numbers.uniform(-1, 1, out_size).tolist())
    return network


# Linear


@pytest.mark.task3_5
def test_an_output_is_its_bias_plus_every_input_times_its_weight() -> None:
    layer = fill(Linear(2, 3, BACKEND), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    # 1·10 + 4·100 + 0.5, 2·10 + 5·100 - 1, 3·10 + 6·100 + 2
    check(layer.forward(made([[10, 100]])), [[410.5, 519, 632]])


@pytest.mark.task3_5
def test_every_point_has_a_row_of_outputs() -> None:
    layer = fill(Linear(2, 3, BACKEND), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    points = [[10, 100], [0, 0], [1, 0], [0, 1]]
    check(layer.forward(made(points)), [[410.5, 519, 632], [0.5, -1, 2], [1.5, 1, 5], [4.5, 4, 8]])


@pytest.mark.task3_5
def test_in_a_square_layer_neither_weights_nor_biases_nor_points_are_turned() -> None:
    layer = fill(Linear(2, 2, BACKEND), [[1, 2], [3, 4]], [10, 20])
    check(layer.forward(made([[1, 2]])), [[17, 30]])  # 1·1 + 3·2 + 10, 2·1 + 4·2 + 20
    check(layer.forward(made([[1, 2], [-1, 1]])), [[17, 30], [12, 22]])


@pytest.mark.task3_5
def test_one_input_and_one_output_make_a_layer() -> None:
    layer = fill(Linear(1, 1, BACKEND), [[-3]], [1])
    check(layer.forward(made([[2], [0]])), [[-5], [1]])  # a layer may return values below 0


@pytest.mark.task3_5
def test_points_in_another_order_of_storage_give_the_same() -> None:
    layer = fill(Linear(2, 3, BACKEND), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    check(layer.forward(made([[10, 0, 1], [100, 0, 0]]).permute(1, 0)), [[410.5, 519, 632], [0.5, -1, 2], [1.5, 1, 5]])


@pytest.mark.task3_5
def test_the_sums_of_a_layer_are_one_matrix_product() -> None:
    layer = Linear(3, 4, BACKEND)
    PRODUCTS.clear()
    layer.forward(made([[1, 2, 3], [4, 5, 6]]))
    assert PRODUCTS == [((2, 3), (3, 4))]


@pytest.mark.task3_5
def test_gradients_flow_through_a_layer_to_its_weights_its_biases_and_its_inputs() -> None:
    layer = fill(Linear(2, 2, BACKEND), [[1, 2], [3, 4]], [10, 20])
    x = made([[5, 6], [7, 8]], requires_grad=True)
    only_output_1 = made([[0, 1], [0, 10]])  # of the first point once, of the second ten times
    (layer.forward(x) * only_output_1).sum().backward()
    # for weight i, 1: input i of the first point, plus ten times that of the second
    np.testing.assert_allclose(layer.weights.value.grad.to_numpy(), [[0, 75], [0, 86]])
    np.testing.assert_allclose(layer.bias.value.grad.to_numpy(), [0, 11])
    np.testing.assert_allclose(x.grad.to_numpy(), [[2, 4], [20, 40]])


# Network


@pytest.mark.task3_5
@pytest.mark.parametrize("hidden", [1, 2, 10])
def test_the_layers_lead_from_2_numbers_over_twice_hidden_to_1(hidden: int) -> None:
    network = Network(hidden, BACKEND)
    shapes = {name: parameter.value.shape for name, parameter in network.named_parameters()}
    assert shapes == {
        "layer1.weights": (2, hidden),
        "layer1.bias": (hidden,),
        "layer2.weights": (hidden, hidden),
        "layer2.bias": (hidden,),
        "layer3.weights": (hidden, 1),
        "layer3.bias": (1,),
    }
    assert len({id(parameter) for parameter in network.parameters()}) == 6  # no layer is used twice
    # (2·hidden + hidden) + (hidden·hidden + hidden) + (hidden + 1)
    assert sum(parameter.value.size for parameter in network.parameters()) == hidden * hidden + 5 * hidden + 1


@pytest.mark.task3_5
def test_every_parameter_lies_on_the_backend_that_is_asked_for() -> None:
    assert [parameter.value.backend.ops for parameter in Network(3, BACKEND).parameters()] == [Watched] * 6


@pytest.mark.task3_5
def test_a_new_network_starts_with_weights_that_differ() -> None:
    start = [number for parameter in Network(5, BACKEND).parameters() for number in parameter.value.to_numpy().reshape(-1).tolist()]
    assert len(set(start)) == len(start)
    assert all(-1 <= number <= 1 for number in start)


@pytest.mark.task3_5
def test_a_network_is_a_module_in_training_mode() -> None:
    network = Network(2, BACKEND)
    assert isinstance(network, Module)
    assert network.training


@pytest.mark.task3_5
def test_the_outputs_are_the_sigmoids_of_the_third_layer() -> None:
    network = Network(2, BACKEND)  # with weights for which relu sets one of each two to 0 at (1, 2)
    fill(network.layer1, [[1, -1], [1, -1]], [0, 0])  # (1, 2) → (3, -3) → (3, 0); (0, 0) → (0, 0)
    fill(network.layer2, [[1, 2], [5, 7]], [0.5, -8])  # → (3.5, -2) → (3.5, 0); (0.5, -8) → (0.5, 0)
    fill(network.layer3, [[0.2], [9]], [0.3])  # → 1; 0.4
    outputs = network(made([[1, 2], [0, 0]]))
    assert outputs.shape == (2,)
    np.testing.assert_allclose(outputs.to_numpy(), [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-0.4))], atol=1e-9)


@pytest.mark.task3_5
def test_gradients_of_all_parameters_are_those_of_central_differences() -> None:
    network, points = draw_weights(Network(3, BACKEND)), np.random.default_rng(2).uniform(0, 1, (4, 2))
    network(made(points.tolist())).sum().backward()
    parameters = [
        parameter.value.to_numpy().copy() for layer in (network.layer1, network.layer2, network.layer3) for parameter in layer.parameters()
    ]
    gradients = [
        parameter.value.grad.to_numpy() for layer in (network.layer1, network.layer2, network.layer3) for parameter in layer.parameters()
    ]

    def total() -> float:
        """The sum of the outputs, computed by NumPy."""
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = np.maximum(np.maximum(points @ w1 + b1, 0) @ w2 + b2, 0)
        return float((1 / (1 + np.exp(-(hidden @ w3 + b3)))).sum())

    for parameter, gradient in zip(parameters, gradients, strict=True):
        for index in np.ndindex(parameter.shape):
            start, sums = parameter[index], []
            for moved in (start + 1e-5, start - 1e-5):
                parameter[index] = moved
                sums.append(total())
            parameter[index] = start
            assert gradient[index] == pytest.approx((sums[0] - sums[1]) / 2e-5, abs=1e-6)


@pytest.mark.task3_5
def test_a_short_training_on_simple_on_the_compiled_backend_gets_most_points_right() -> None:
    def network_of_drawn_weights(hidden: int, backend: TensorBackend) -> Network:
        assert backend is FastBackend
        return draw_weights(Network(hidden, backend))

    trainer = FastTrainer(FastSetting("Simple", points=20, hidden=6, rate=0.3, epochs=40, seed=1), network_of_drawn_weights)
    while not trainer.done:
        trainer.run_epoch()
    assert trainer.losses[-1] < trainer.losses[0] / 2
    assert trainer.correct[-1] >= 18
