"""Task 2.5: the layers of a network of Tensors, and its training."""

import math

import numpy as np
import pytest

from minitorch import Module, Tensor, tensor
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting
from project.run_tensor import Linear, Network


def fill(layer: Linear, weights: list[list[float]], bias: list[float]) -> Linear:
    """Set a layer's weights, weights[i][j] from input i to output j, and its biases."""
    assert layer.weights.value.shape == (len(weights), len(bias))
    assert layer.bias.value.shape == (len(bias),)
    layer.weights.update(tensor(weights))
    layer.bias.update(tensor(bias))
    return layer


def check(outputs: Tensor, expected: list[list[float]]) -> None:
    """Check a layer's outputs: one row for every point."""
    assert isinstance(outputs, Tensor)
    assert outputs.shape == (len(expected), len(expected[0]))
    assert outputs.to_numpy().round(9).tolist() == expected


def small_network() -> Network:
    """A network with two units in each hidden layer, of which relu sets one to 0 at (1, 2)."""
    network = Network(2)
    fill(network.layer1, [[1, -1], [1, -1]], [0, 0])  # (1, 2) → (3, -3) → (3, 0); (0, 0) → (0, 0)
    fill(network.layer2, [[1, 2], [5, 7]], [0.5, -8])  # → (3.5, -2) → (3.5, 0); (0.5, -8) → (0.5, 0)
    fill(network.layer3, [[0.2], [9]], [0.3])  # → 1; 0.4
    return network


def network_of_drawn_weights(hidden: int) -> Network:
    """A network initialized independently of the order in which its layers are created."""
    network, numbers = Network(hidden), np.random.default_rng(1)
    for layer in (network.layer1, network.layer2, network.layer3):
        in_size, out_size = layer.weights.value.shape
        fill(layer, numbers.uniform(-1, 1, (in_size, out_size)).tolist(), numbers.uniform(-1, 1, out_size).tolist())
    return network


# Linear


@pytest.mark.task2_5
def test_an_output_is_its_bias_plus_every_input_times_its_weight() -> None:
    layer = fill(Linear(2, 3), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    # 1·10 + 4·100 + 0.5, 2·10 + 5·100 - 1, 3·10 + 6·100 + 2
    check(layer.forward(tensor([[10, 100]])), [[410.5, 519, 632]])


@pytest.mark.task2_5
def test_every_point_has_a_row_of_outputs() -> None:
    layer = fill(Linear(2, 3), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    points = [[10, 100], [0, 0], [1, 0], [0, 1]]
    check(layer.forward(tensor(points)), [[410.5, 519, 632], [0.5, -1, 2], [1.5, 1, 5], [4.5, 4, 8]])


@pytest.mark.task2_5
def test_in_a_square_layer_the_first_dimension_of_the_weights_is_the_input() -> None:
    layer = fill(Linear(2, 2), [[1, 2], [3, 4]], [10, 20])
    # 1·1 + 3·2 + 10, 2·1 + 4·2 + 20
    check(layer.forward(tensor([[1, 2]])), [[17, 30]])


@pytest.mark.task2_5
def test_as_many_points_as_inputs_and_outputs_are_not_mixed_up() -> None:
    layer = fill(Linear(2, 2), [[1, 2], [3, 4]], [10, 20])
    check(layer.forward(tensor([[1, 2], [-1, 1]])), [[17, 30], [12, 22]])


@pytest.mark.task2_5
def test_one_input_and_one_output_make_a_layer() -> None:
    layer = fill(Linear(1, 1), [[-3]], [1])
    check(layer.forward(tensor([[2], [0]])), [[-5], [1]])  # a layer may return values below 0


@pytest.mark.task2_5
def test_asking_a_layer_twice_gives_the_same_twice() -> None:
    layer = Linear(3, 2)
    points = tensor([[0.25, 0.75, 0.5], [1, 0, 1]])
    first = layer.forward(points).to_numpy()
    assert layer.forward(points).to_numpy().tolist() == first.tolist()


@pytest.mark.task2_5
def test_gradients_flow_through_a_layer_to_its_weights_its_biases_and_its_inputs() -> None:
    layer = fill(Linear(2, 2), [[1, 2], [3, 4]], [10, 20])
    x = tensor([[5, 6], [7, 8]], requires_grad=True)
    only_output_1 = tensor([[0, 1], [0, 10]])  # of the first point once, of the second ten times
    (layer.forward(x) * only_output_1).sum().backward()
    # for weight i, 1: input i of the first point, plus ten times that of the second
    np.testing.assert_allclose(layer.weights.value.grad.to_numpy(), [[0, 75], [0, 86]])
    np.testing.assert_allclose(layer.bias.value.grad.to_numpy(), [0, 11])
    np.testing.assert_allclose(x.grad.to_numpy(), [[2, 4], [20, 40]])


# Network


@pytest.mark.task2_5
@pytest.mark.parametrize("hidden", [1, 2, 10])
def test_the_layers_lead_from_2_numbers_over_twice_hidden_to_1(hidden: int) -> None:
    network = Network(hidden)
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


@pytest.mark.task2_5
def test_a_new_network_starts_with_weights_that_differ_and_lie_between_minus_1_and_1() -> None:
    start = [number for parameter in Network(5).parameters() for number in parameter.value.to_numpy().reshape(-1).tolist()]
    assert len(set(start)) == len(start)
    assert all(-1 <= number <= 1 for number in start)


@pytest.mark.task2_5
def test_a_network_is_a_module_in_training_mode() -> None:
    network = Network(2)
    assert isinstance(network, Module)
    assert network.training


@pytest.mark.task2_5
def test_the_outputs_are_the_sigmoids_of_the_third_layer() -> None:
    outputs = small_network()(tensor([[1, 2], [0, 0]]))
    assert outputs.shape == (2,)
    np.testing.assert_allclose(outputs.to_numpy(), [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-0.4))], atol=1e-9)


@pytest.mark.task2_5
def test_one_backward_reaches_every_parameter() -> None:
    network = Network(3)
    for layer in (network.layer1, network.layer2, network.layer3):
        in_size, out_size = layer.weights.value.shape
        fill(layer, [[0.1] * out_size] * in_size, [0.1] * out_size)  # all sums are positive: relu sets none to 0
    network(tensor([[0.5, 1]])).sum().backward()
    unreached = [
        name for name, parameter in network.named_parameters() if parameter.value.grad is None or not parameter.value.grad.to_numpy().all()
    ]
    assert unreached == []


@pytest.mark.task2_5
def test_a_short_training_on_simple_lowers_the_loss_and_gets_most_points_right() -> None:
    trainer = TensorTrainer(Setting("Simple", points=20, hidden=6, epochs=60, seed=1), network_of_drawn_weights)
    while not trainer.done:
        trainer.run_epoch()
    assert trainer.losses[-1] < trainer.losses[0] / 2
    assert trainer.correct[-1] >= 18
