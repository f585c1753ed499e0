"""Task 4.5: a convolution layer over words, and Kim's network, which uses it to classify sentences."""

import numpy as np
import pytest

from minitorch import FastBackend, Module, Tensor, manual_seed, tensor
from project.run_sentiment import CNNSentimentKim, Conv1d, Linear, SentenceSentimentTrain


def made(values: np.ndarray | list, requires_grad: bool = False) -> Tensor:
    """A tensor on the backend of the program."""
    return tensor(values, backend=FastBackend, requires_grad=requires_grad)


def fill(module: Module, seed: int) -> Module:
    """Set all parameters to different numbers between -1 and 1."""
    numbers = np.random.default_rng(seed)
    for parameter in module.parameters():
        parameter.update(made(numbers.uniform(-1, 1, parameter.value.shape)))
    return module


def convolved(x: np.ndarray, layer: Conv1d) -> np.ndarray:
    """The expected output of a layer for sentences of shape (batch, words, numbers): shape (batch, words, filters), by NumPy."""
    weights, bias = layer.weights.value.to_numpy(), layer.bias.value.to_numpy()
    behind = np.concatenate([x, np.zeros((x.shape[0], weights.shape[2], x.shape[2]))], 1)
    taps = [behind[:, k : k + x.shape[1]] @ weights[:, :, k].T for k in range(weights.shape[2])]
    return sum(taps) + bias[0, :, 0]


def expected_outputs(network: CNNSentimentKim, x: np.ndarray) -> np.ndarray:
    """The probabilities of a network without dropout, by NumPy."""
    layers = [layer for layer in network.modules() if isinstance(layer, Conv1d)]
    (linear,) = [layer for layer in network.modules() if isinstance(layer, Linear)]
    maxima = sum(np.maximum(convolved(x, layer), 0).max(1) for layer in layers)
    output = maxima @ linear.weights.value.to_numpy() + linear.bias.value.to_numpy()
    return 1 / (1 + np.exp(-output[:, 0]))


def small(seed: int = 1, dropout: float = 0.25) -> CNNSentimentKim:
    """A network for words of three numbers, with four filters of each of the widths 2, 3 and 4."""
    network = CNNSentimentKim(feature_map_size=4, embedding_size=3, filter_sizes=[2, 3, 4], dropout=dropout)
    fill(network, seed)
    return network


def sentences(count: int, words: int, numbers: int = 3, seed: int = 2) -> np.ndarray:
    """Random word vectors of sentences."""
    return np.random.default_rng(seed).uniform(-1, 1, (count, words, numbers))


# Conv1d


@pytest.mark.task4_5
def test_an_output_is_the_bias_plus_the_convolution_at_its_place() -> None:
    layer = Conv1d(1, 1, 3)
    layer.weights.update(made([[[1.0, 2, 3]]]))
    layer.bias.update(made([[[0.5]]]))
    # 0·1 + 1·2 + 2·3, 1·1 + 2·2 + 3·3, 2·1 + 3·2, 3·1, and 0.5 each
    assert layer.forward(made([[[0.0, 1, 2, 3]]])).tolist() == [[[8.5, 14.5, 8.5, 3.5]]]


@pytest.mark.task4_5
def test_every_filter_has_a_bias_of_its_own_at_all_places_and_in_all_sentences() -> None:
    layer = Conv1d(2, 3, 2)
    layer.weights.update(made(np.zeros((3, 2, 2))))
    layer.bias.update(made([[[1.0], [-2], [5]]]))
    out = layer.forward(made(np.ones((2, 2, 4))))
    assert out.tolist() == [[[1.0] * 4, [-2.0] * 4, [5.0] * 4]] * 2


@pytest.mark.task4_5
@pytest.mark.parametrize(("batch", "channels", "filters", "width", "kernel"), [(1, 1, 1, 1, 1), (2, 3, 4, 6, 3), (3, 2, 5, 2, 4)])
def test_a_layer_convolves_every_channel_of_every_sentence(batch: int, channels: int, filters: int, width: int, kernel: int) -> None:
    layer = Conv1d(channels, filters, kernel)
    assert layer.weights.value.shape == (filters, channels, kernel)
    assert layer.bias.value.shape == (1, filters, 1)
    fill(layer, 3)
    x = sentences(batch, width, channels)
    out = layer.forward(made(x).permute(0, 2, 1))
    assert out.shape == (batch, filters, width)
    np.testing.assert_allclose(out.to_numpy(), convolved(x, layer).transpose(0, 2, 1), atol=1e-12)


@pytest.mark.task4_5
def test_gradients_flow_through_a_layer_to_its_weights_its_biases_and_its_inputs() -> None:
    layer = Conv1d(1, 1, 2)
    layer.weights.update(made([[[3.0, 4]]]))
    x = made([[[5.0, 6, 7]]], requires_grad=True)
    (layer.forward(x) * made([[[1.0, 10, 100]]])).sum().backward()
    # the outputs are 3·5 + 4·6, 3·6 + 4·7 and 3·7, each with the bias
    assert layer.weights.value.grad is not None
    assert layer.weights.value.grad.tolist() == [[[5 + 60 + 700, 6 + 70]]]
    assert layer.bias.value.grad is not None
    assert layer.bias.value.grad.tolist() == [[[111.0]]]
    assert x.grad is not None
    assert x.grad.tolist() == [[[3.0, 4 + 30, 40 + 300]]]


# CNNSentimentKim


@pytest.mark.task4_5
@pytest.mark.parametrize(("maps", "numbers", "widths"), [(100, 50, (3, 4, 5)), (7, 3, (1, 2, 6)), (1, 1, (2, 2, 2))])
def test_the_network_has_three_convolutions_and_a_linear_layer(maps: int, numbers: int, widths: tuple[int, int, int]) -> None:
    network = CNNSentimentKim(maps, numbers, widths)
    shapes = sorted(parameter.value.shape for parameter in network.parameters())
    convolutions = [shape for width in widths for shape in ((maps, numbers, width), (1, maps, 1))]
    assert shapes == sorted([*convolutions, (maps, 1), (1,)])
    assert len({id(parameter) for parameter in network.parameters()}) == 8  # no layer is used twice


@pytest.mark.task4_5
def test_left_to_itself_it_has_100_filters_of_the_widths_3_4_and_5_over_50_numbers() -> None:
    network = CNNSentimentKim()
    # 100 · 50 · (3 + 4 + 5) weights, 3 · 100 biases, and 100 + 1 of the Linear layer
    assert sum(parameter.value.size for parameter in network.parameters()) == 60_401
    assert isinstance(network, Module)
    assert network.training


@pytest.mark.task4_5
def test_a_new_network_starts_with_weights_that_differ() -> None:
    start = [number for parameter in CNNSentimentKim(4, 3).parameters() for number in parameter.value.to_numpy().reshape(-1).tolist()]
    assert len(set(start)) == len(start)


@pytest.mark.task4_5
@pytest.mark.parametrize(("count", "words"), [(1, 4), (3, 9), (2, 1)])
def test_the_output_is_the_sigmoid_of_the_linear_layer_over_the_sums_of_the_maxima(count: int, words: int) -> None:
    network, x = small(), sentences(count, words)
    network.eval()
    out = network.forward(made(x))
    assert out.shape == (count,)
    np.testing.assert_allclose(out.to_numpy(), expected_outputs(network, x), atol=1e-9)


@pytest.mark.task4_5
def test_relu_stands_before_the_maxima_are_added() -> None:
    network = small()
    for layer in network.modules():
        if isinstance(layer, Conv1d):  # one convolution detects nothing, the others do
            layer.weights.update(made(np.zeros(layer.weights.value.shape)))
            layer.bias.update(made(np.full((1, 4, 1), -10.0 if layer.weights.value.shape[2] == 3 else 1.0)))
        elif isinstance(layer, Linear):
            layer.weights.update(made(np.ones((4, 1))))
            layer.bias.update(made([0.0]))
    network.eval()
    out = network.forward(made(sentences(1, 6)))
    np.testing.assert_allclose(out.to_numpy(), [1 / (1 + np.exp(-8))], atol=1e-9)  # four filters, 1 + 0 + 1 each


@pytest.mark.task4_5
def test_what_a_filter_finds_counts_the_same_wherever_it_stands() -> None:
    network = small()
    network.eval()
    outputs = []
    for place in (4, 5, 9):
        x = np.zeros((1, 16, 3))
        x[:, place : place + 3] = sentences(1, 3)
        outputs.append(network.forward(made(x)).item())
    np.testing.assert_allclose(outputs, outputs[0], atol=1e-12)
    x[:, 9:12] = sentences(1, 3)[:, ::-1]  # but the order of the words matters
    assert abs(network.forward(made(x)).item() - outputs[0]) > 1e-6


@pytest.mark.task4_5
def test_a_sentence_is_read_alike_in_any_company() -> None:
    network, x = small(), sentences(5, 7)
    network.eval()
    together = network.forward(made(x)).to_numpy()
    alone = [network.forward(made(x[i : i + 1])).item() for i in range(5)]
    np.testing.assert_allclose(together, alone, atol=1e-12)
    assert len(set(together.round(9))) == 5


# Dropout


@pytest.mark.task4_5
def test_without_training_nothing_is_dropped() -> None:
    network, x = small(dropout=1.0), sentences(3, 8)
    network.eval()
    np.testing.assert_allclose(network.forward(made(x)).to_numpy(), expected_outputs(network, x), atol=1e-9)


@pytest.mark.task4_5
def test_in_training_the_outputs_of_the_linear_layer_are_dropped_at_the_rate_that_was_given() -> None:
    manual_seed(3)
    x = np.repeat(sentences(1, 6), 400, 0)
    for rate, least, most in ((0.0, 0, 0), (0.25, 0.15, 0.35), (0.75, 0.65, 0.85), (1.0, 1, 1)):
        network = small(dropout=rate)
        outputs = network.forward(made(x)).to_numpy()
        whole = expected_outputs(network, x)[0]
        dropped = outputs == 0.5  # the sigmoid of 0
        np.testing.assert_allclose(outputs[~dropped], whole, atol=1e-9)
        assert least <= dropped.mean() <= most


@pytest.mark.task4_5
def test_training_can_be_taken_up_again_after_evaluation() -> None:
    network, x = small(dropout=1.0), made(sentences(2, 5))
    network.eval()
    network.forward(x)
    network.train()
    assert network.forward(x).tolist() == [0.5, 0.5]


# Training


@pytest.mark.task4_5
def test_gradients_of_all_parameters_are_those_of_central_differences() -> None:
    network, x = small(seed=5), sentences(3, 6)
    network.eval()
    network.forward(made(x)).sum().backward()
    gradients = [parameter.value.grad for parameter in network.parameters()]
    for parameter, gradient in zip(network.parameters(), gradients, strict=True):
        assert gradient is not None
        assert np.abs(gradient.to_numpy()).max() > 0
        values = parameter.value.to_numpy().copy()
        for index in np.ndindex(values.shape):
            start, sums = values[index], []
            for moved in (start + 1e-5, start - 1e-5):
                values[index] = moved
                parameter.update(made(values))
                sums.append(expected_outputs(network, x).sum())
            values[index] = start
            assert gradient[index] == pytest.approx((sums[0] - sums[1]) / 2e-5, abs=1e-6)
        parameter.update(made(values))


@pytest.mark.task4_5
def test_a_short_training_tells_one_word_from_another_in_sentences_it_has_not_seen() -> None:
    numbers = np.random.default_rng(7)
    words = numbers.uniform(-1, 1, (6, 8))  # the first is positive, the second negative, the others are neutral
    labels = np.arange(60) % 2
    x = words[numbers.integers(2, 6, (60, 7))]
    x[np.arange(60), numbers.integers(0, 7, 60)] = words[1 - labels]
    manual_seed(8)
    network = CNNSentimentKim(feature_map_size=10, embedding_size=8, filter_sizes=[1, 2, 3])
    heard = []
    trainer = SentenceSentimentTrain(network).train(
        (x[:40], labels[:40]), 0.3, 10, 40, (x[40:], labels[40:]), lambda *told: heard.append(told)
    )
    assert trainer.history[-1].loss < trainer.history[0].loss
    assert trainer.history[-1].valid >= 0.9
    assert [told[0] for told in heard] == list(range(1, 41))
