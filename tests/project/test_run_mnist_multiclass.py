"""Task 4.5: the layers of a network that classifies digits, its outputs in training and evaluation, and its training."""

from collections.abc import Callable

import numpy as np
import pytest

from minitorch import FastBackend, Module, Tensor, manual_seed, tensor
from minitorch.data import Digits
from project.lab.training.image_trainer import ImageSetting, ImageTrainer
from project.run_mnist_multiclass import Conv2d, Network

LAYERS = ("conv1", "conv2", "linear1", "linear2")

SHIFTED = 1e-5
"""Tolerance where the logarithm may be that of x + 1e-6."""


def made(values: np.ndarray | list, requires_grad: bool = False) -> Tensor:
    """A tensor on the compiled backend."""
    return tensor(np.asarray(values, float), backend=FastBackend, requires_grad=requires_grad)


def draw_weights(network: Network, seed: int = 1) -> Network:
    """Initialize a network independently of the order in which its layers were created."""
    numbers = np.random.default_rng(seed)
    for name in LAYERS:
        layer = getattr(network, name)
        weights = layer.weights.value.shape
        bound = (np.prod(weights[1:]) if len(weights) == 4 else weights[0]) ** -0.5
        for parameter in (layer.weights, layer.bias):
            parameter.update(made(numbers.uniform(-bound, bound, parameter.value.shape)))
    return network


# Expected outputs for the same weights, computed by NumPy


def convolution(images: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A convolution with as many outputs as pixels: each from the pixel at its position, those below it and those to its right."""
    (_, _, height, width), (_, _, kh, kw) = images.shape, weights.shape
    padded = np.pad(images, [(0, 0), (0, 0), (0, kh - 1), (0, kw - 1)])
    return sum(
        np.einsum("bchw,oc->bohw", padded[:, :, i : i + height, j : j + width], weights[:, :, i, j]) for i in range(kh) for j in range(kw)
    )


def windows(images: np.ndarray, pool: int) -> np.ndarray:
    """The elements of every window in the last dimension."""
    batch, channels, height, width = images.shape
    split = images.reshape(batch, channels, height // pool, pool, width // pool, pool).transpose(0, 1, 2, 4, 3, 5)
    return split.reshape(batch, channels, height // pool, width // pool, pool * pool)


def arrays(network: Network) -> list[np.ndarray]:
    """Weights and biases, layer by layer."""
    return [parameter.value.to_numpy() for name in LAYERS for parameter in (getattr(network, name).weights, getattr(network, name).bias)]


def steps(parameters: list[np.ndarray], images: np.ndarray, pool: int, pooled: Callable[..., np.ndarray]) -> list[np.ndarray]:
    """The outputs of the first convolution, of the second, and of the whole network, without dropout."""
    w1, b1, w2, b2, w3, b3, w4, b4 = parameters
    mid = np.maximum(convolution(images, w1) + b1, 0)
    out = np.maximum(convolution(mid, w2) + b2, 0)
    row = pooled(windows(out, pool), axis=-1).reshape(len(images), -1)
    logits = np.maximum(row @ w3 + b3, 0) @ w4 + b4
    return [mid, out, logits - np.log(np.exp(logits).sum(1, keepdims=True))]


def pooling_of(network: Network, images: np.ndarray, pool: int) -> Callable[..., np.ndarray]:
    """The pooling of the network: maximum or mean; anything else fails here."""
    network.eval()
    given = network(made(images)).to_numpy()
    network.train()
    errors = {f: np.abs(steps(arrays(network), images, pool, f)[-1] - given).max() for f in (np.max, np.mean)}
    assert min(errors.values()) < SHIFTED, f"neither with max nor with average pooling does NumPy find this; off by {errors}"
    return min(errors, key=lambda f: errors[f])


# Conv2d


@pytest.mark.task4_5
def test_a_layer_of_convolutions_adds_to_every_channel_its_own_bias() -> None:
    layer = Conv2d(1, 2, 2, 2)
    layer.weights.update(made([[[[1, 0], [0, 0]]], [[[0, 10], [100, 0]]]]))  # the first copies; the second reads from the right and below
    layer.bias.update(made([[[0.5]], [[-1]]]))
    out = layer.forward(made([[[[1, 2], [3, 4]]]]))
    assert out.shape == (1, 2, 2, 2)
    # at (0, 0): 10·2 + 100·3; at (0, 1): 100·4; at (1, 0): 10·4; at (1, 1): no pixels are left
    np.testing.assert_allclose(out.to_numpy(), [[[[1.5, 2.5], [3.5, 4.5]], [[319, 399], [39, -1]]]])


@pytest.mark.task4_5
def test_a_layer_sums_over_the_channels_that_come_in_for_each_image() -> None:
    numbers = np.random.default_rng(3)
    layer, images = Conv2d(3, 2, 2, 3), numbers.normal(size=(2, 3, 4, 5))
    out = layer.forward(made(images))
    expected = convolution(images, layer.weights.value.to_numpy()) + layer.bias.value.to_numpy()
    np.testing.assert_allclose(out.to_numpy(), expected, atol=1e-9)


@pytest.mark.task4_5
def test_gradients_flow_through_a_layer_to_its_kernels_its_biases_and_the_images() -> None:
    layer = Conv2d(1, 1, 1, 2)
    layer.weights.update(made([[[[2, 3]]]]))
    layer.bias.update(made([[[1]]]))
    images = made([[[[5, 7, 11]]]], requires_grad=True)
    (layer.forward(images) * made([1, 10, 100])).sum().backward()
    np.testing.assert_allclose(layer.weights.value.grad.to_numpy(), [[[[1175, 117]]]])  # 5 + 70 + 1100; 7 + 110
    np.testing.assert_allclose(layer.bias.value.grad.to_numpy(), [[[111]]])
    np.testing.assert_allclose(images.grad.to_numpy(), [[[[2, 23, 230]]]])  # 2; 3 + 20; 30 + 200


# Network


@pytest.mark.task4_5
@pytest.mark.parametrize(
    ("side", "pool", "features", "count"),
    [
        (28, 4, 392, 26138),  # (9·4 + 4) + (4·9·8 + 8) + (392·64 + 64) + (64·10 + 10)
        (8, 2, 128, 9242),
    ],
)
def test_the_layers_fit_the_images_and_have_so_many_parameters(side: int, pool: int, features: int, count: int) -> None:
    network = Network(side, pool)
    shapes = {name: parameter.value.shape for name, parameter in network.named_parameters()}
    assert shapes == {
        "conv1.weights": (4, 1, 3, 3),
        "conv1.bias": (4, 1, 1),
        "conv2.weights": (8, 4, 3, 3),
        "conv2.bias": (8, 1, 1),
        "linear1.weights": (features, 64),
        "linear1.bias": (64,),
        "linear2.weights": (64, 10),
        "linear2.bias": (10,),
    }
    assert sum(parameter.value.size for parameter in network.parameters()) == count
    assert len({id(parameter) for parameter in network.parameters()}) == 8  # no layer is used twice
    assert isinstance(network, Module)
    assert network.training


@pytest.mark.task4_5
def test_a_network_is_made_for_images_of_28_by_28_unless_told_otherwise() -> None:
    assert Network().linear1.weights.value.shape == (392, 64)
    assert Network()(made(np.zeros((1, 1, 28, 28)))).shape == (1, 10)


@pytest.mark.task4_5
def test_a_new_network_starts_with_weights_that_differ() -> None:
    start = np.concatenate([array.reshape(-1) for array in arrays(Network(8, 2))])
    assert len(set(start.tolist())) == start.size
    assert np.abs(start).max() < 1


@pytest.mark.task4_5
def test_the_outputs_are_the_logarithms_of_ten_probabilities_for_every_image() -> None:
    images = np.random.default_rng(4).uniform(0, 1, (3, 1, 8, 8))
    out = Network(8, 2)(made(images))
    assert out.shape == (3, 10)
    np.testing.assert_allclose(np.exp(out.to_numpy()).sum(1), 1, atol=SHIFTED)


@pytest.mark.task4_5
def test_without_dropout_every_step_is_what_numpy_makes_of_the_same_weights() -> None:
    images = np.random.default_rng(5).uniform(0, 1, (3, 1, 8, 8))
    network = draw_weights(Network(8, 2))
    pooled = pooling_of(network, images, 2)
    mid, out, _ = steps(arrays(network), images, 2, pooled)
    np.testing.assert_allclose(network.mid.to_numpy(), mid, atol=1e-9)  # kept for pages that show the outputs of the layers
    np.testing.assert_allclose(network.out.to_numpy(), out, atol=1e-9)
    assert network.mid.shape == (3, 4, 8, 8)
    assert network.out.shape == (3, 8, 8, 8)


@pytest.mark.task4_5
def test_images_of_28_by_28_are_pooled_by_windows_of_4_by_4() -> None:
    images = np.random.default_rng(6).uniform(0, 1, (2, 1, 28, 28))
    pooling_of(draw_weights(Network()), images, 4)


def kept(network: Network) -> np.ndarray:
    """For each of 100 images, the number of the 64 outputs of the first linear layer that dropout keeps; without dropout, each is 1."""
    for name in LAYERS:
        for parameter in (getattr(network, name).weights, getattr(network, name).bias):
            parameter.update(made(np.zeros(parameter.value.shape)))
    network.linear1.bias.update(made(np.ones(64)))
    to_the_first = np.zeros((64, 10))
    to_the_first[:, 0] = 1
    network.linear2.weights.update(made(to_the_first))
    out = network(made(np.zeros((100, 1, 8, 8)))).to_numpy()
    return out[:, 0] - out[:, 1]  # the logits of all others are 0


@pytest.mark.task4_5
def test_in_training_dropout_takes_a_quarter_of_the_numbers_behind_the_first_linear_layer() -> None:
    manual_seed(7)
    network = Network(8, 2)
    left = kept(network)
    assert len(set(left.round(6).tolist())) > 5  # others for every image
    assert 0.71 < left.mean() / 64 < 0.79  # 0.75 ± 7 standard deviations


@pytest.mark.task4_5
def test_in_evaluation_nothing_is_dropped() -> None:
    network = Network(8, 2)
    network.eval()
    np.testing.assert_allclose(kept(network), 64)


@pytest.mark.task4_5
def test_gradients_reach_every_parameter_and_are_those_of_central_differences() -> None:
    numbers = np.random.default_rng(8)
    images, weights = numbers.uniform(0, 1, (4, 1, 8, 8)), numbers.normal(size=(4, 10))
    network = draw_weights(Network(8, 2))
    network.conv1.bias.update(made(np.ones((4, 1, 1))))  # no windows of equal elements, in which the maximum would have several gradients
    pooled = pooling_of(network, images, 2)
    network.eval()
    (network(made(images)) * made(weights)).sum().backward()
    gradients = [
        parameter.value.grad.to_numpy() for name in LAYERS for parameter in (getattr(network, name).weights, getattr(network, name).bias)
    ]
    parameters = arrays(network)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert np.abs(gradient).max() > 0
        for place in numbers.choice(parameter.size, min(parameter.size, 8), replace=False):
            index, sums = np.unravel_index(place, parameter.shape), []
            start = parameter[index]
            for moved in (start + 1e-6, start - 1e-6):
                parameter[index] = moved
                sums.append((steps(parameters, images, 2, pooled)[-1] * weights).sum())
            parameter[index] = start
            assert gradient[index] == pytest.approx((sums[0] - sums[1]) / 2e-6, abs=1e-5)


@pytest.mark.task4_5
def test_a_short_training_on_a_few_digits_gets_most_of_them_right() -> None:
    digits = Digits()
    ones_and_zeros = digits.subset(np.flatnonzero(digits.labels < 2)[:60])
    setting = ImageSetting(epochs=20, rate=0.1, batch=10, seed=1, dtype="float64")
    trainer = ImageTrainer(setting, lambda side, pool: draw_weights(Network(side, pool)), (ones_and_zeros[:40], ones_and_zeros[40:]))
    while not trainer.done:
        trainer.run_epoch()
    assert trainer.history[-1].loss < trainer.history[0].loss / 4
    assert trainer.history[-1].valid >= 0.9
