"""Task 1.5: the layers of a network of Scalars, and its training."""

import math
from collections.abc import Sequence

import pytest

from minitorch import Module, Scalar
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.trainer import Setting
from project.run_scalar import Linear, Network
from tests.strategies import assert_close


def fill(layer: Linear, weights: Sequence[Sequence[float]], bias: Sequence[float]) -> Linear:
    """Set a layer's weights, weights[i][j] from input i to output j, and its biases."""
    assert [len(row) for row in layer.weights] == [len(row) for row in weights]
    assert len(layer.bias) == len(bias)
    for parameters, values in zip([*layer.weights, layer.bias], [*weights, bias], strict=True):
        for parameter, value in zip(parameters, values, strict=True):
            parameter.update(Scalar(value))
    return layer


def values(outputs: Sequence[Scalar]) -> list[float]:
    return [output.data for output in outputs]


def small_network() -> Network:
    """A network with two units in each hidden layer, of which relu sets one to 0 at (1, 2)."""
    network = Network(2)
    fill(network.layer1, [[1, -1], [1, -1]], [0, 0])  # (1, 2) → (3, -3) → (3, 0)
    fill(network.layer2, [[1, 2], [5, 7]], [0.5, -8])  # → (3.5, -2) → (3.5, 0)
    fill(network.layer3, [[0.2], [9]], [0.3])  # → 1
    return network


# Linear


@pytest.mark.task1_5
def test_an_output_is_its_bias_plus_every_input_times_its_weight() -> None:
    layer = fill(Linear(2, 3), [[1, 2, 3], [4, 5, 6]], [0.5, -1, 2])
    # 1·10 + 4·100 + 0.5, 2·10 + 5·100 - 1, 3·10 + 6·100 + 2
    assert values(layer.forward([Scalar(10), Scalar(100)])) == pytest.approx([410.5, 519, 632])


@pytest.mark.task1_5
def test_in_a_square_layer_the_first_index_of_a_weight_is_the_input() -> None:
    layer = fill(Linear(2, 2), [[1, 2], [3, 4]], [10, 20])
    # 1·1 + 3·2 + 10, 2·1 + 4·2 + 20
    assert values(layer.forward([Scalar(1), Scalar(2)])) == pytest.approx([17, 30])


@pytest.mark.task1_5
def test_one_input_and_one_output_make_a_layer() -> None:
    layer = fill(Linear(1, 1), [[-3]], [1])
    assert values(layer.forward([Scalar(2)])) == pytest.approx([-5])  # a layer may return values below 0


@pytest.mark.task1_5
def test_inputs_of_zero_leave_the_biases() -> None:
    layer = fill(Linear(3, 2), [[1, 2], [3, 4], [5, 6]], [-7, 8])
    assert values(layer.forward([Scalar(0), Scalar(0), Scalar(0)])) == pytest.approx([-7, 8])


@pytest.mark.task1_5
def test_asking_a_layer_twice_gives_the_same_twice() -> None:
    layer = Linear(2, 2)
    point = [Scalar(0.25), Scalar(0.75)]
    assert values(layer.forward(point)) == values(layer.forward(point))


@pytest.mark.task1_5
def test_derivatives_flow_through_a_layer_to_its_weights_its_biases_and_its_inputs() -> None:
    """backward reaches the weights, the biases and the inputs of a layer; None means that no recorded operation leads to a Scalar."""
    layer = fill(Linear(2, 2), [[1, 2], [3, 4]], [10, 20])
    x = [Scalar(5), Scalar(6)]
    layer.forward(x)[1].backward()
    assert [row[1].value.derivative for row in layer.weights] == pytest.approx([5, 6])  # the derivative of a weight is its input
    assert layer.bias[1].value.derivative == pytest.approx(1)
    assert [x_i.derivative for x_i in x] == pytest.approx([2, 4])  # and that of an input its weight
    for parameter in (layer.weights[0][0], layer.weights[1][0], layer.bias[0]):
        assert parameter.value.derivative in (None, 0.0)  # output 1 does not depend on them


# Network


@pytest.mark.task1_5
@pytest.mark.parametrize("hidden", [1, 2, 10])
def test_the_layers_lead_from_2_numbers_over_twice_hidden_to_1(hidden: int) -> None:
    network = Network(hidden)
    sizes = [(len(layer.weights), len(layer.bias)) for layer in (network.layer1, network.layer2, network.layer3)]
    assert sizes == [(2, hidden), (hidden, hidden), (hidden, 1)]


@pytest.mark.task1_5
@pytest.mark.parametrize("hidden", [1, 2, 10])
def test_a_network_has_the_parameters_of_three_layers_and_no_others(hidden: int) -> None:
    network = Network(hidden)
    expected = {
        f"layer{k}.{name}"
        for k, in_size, out_size in [(1, 2, hidden), (2, hidden, hidden), (3, hidden, 1)]
        for name in [f"weight_{i}_{j}" for i in range(in_size) for j in range(out_size)] + [f"bias_{j}" for j in range(out_size)]
    }
    assert {name for name, _ in network.named_parameters()} == expected
    assert len({id(parameter) for parameter in network.parameters()}) == len(expected)  # no layer is used twice


@pytest.mark.task1_5
def test_a_new_network_starts_with_weights_that_differ_and_lie_between_minus_1_and_1() -> None:
    start = [parameter.value.data for parameter in Network(5).parameters()]
    assert len(set(start)) == len(start)
    assert all(-1 <= value <= 1 for value in start)


@pytest.mark.task1_5
def test_a_network_is_a_module_in_training_mode() -> None:
    network = Network(2)
    assert isinstance(network, Module)
    assert network.training


@pytest.mark.task1_5
def test_the_output_is_the_sigmoid_of_the_third_layer() -> None:
    output = small_network()((Scalar(1), Scalar(2)))
    assert isinstance(output, Scalar)
    assert_close(output.data, 1 / (1 + math.exp(-1)), tolerance=1e-9)


@pytest.mark.task1_5
def test_one_backward_reaches_every_parameter() -> None:
    network = Network(3)
    for layer in (network.layer1, network.layer2, network.layer3):
        fill(layer, [[0.1] * len(layer.bias)] * len(layer.weights), [0.1] * len(layer.bias))  # all sums are positive: relu sets none to 0
    network((Scalar(0.5), Scalar(1))).backward()
    unreached = [name for name, parameter in network.named_parameters() if not parameter.value.derivative]
    assert unreached == []


@pytest.mark.task1_5
def test_a_short_training_on_simple_lowers_the_loss_and_gets_most_points_right() -> None:
    trainer = ScalarTrainer(Setting("Simple", points=30, hidden=10, rate=0.5, epochs=60, seed=1), Network)
    while not trainer.done:
        trainer.run_epoch()
    assert trainer.losses[-1] < trainer.losses[0] / 2
    assert trainer.correct[-1] >= 27
