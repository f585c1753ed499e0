"""Probes of Task 4.5: the digit network and the sentiment network."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, printable
from course.staff.probes.convolutions import convolution_gradients, convolve, windows
from course.staff.probes.layers import linear_layer_probe, source_of, write
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS
from course.staff.probes.module4_functional import SHIFTED, logsoftmax
from course.staff.probes.plain import TensorSnapshot
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

IMAGES, WORDS = "project.run_mnist_multiclass", "project.run_sentiment"
STEP = 1e-5
"""The step of finite differences."""

Parameters = dict[str, np.ndarray]


def fast(p: Program) -> Value:
    """The backend that both networks compute on."""
    return p.find("minitorch:FastBackend")


# The networks in NumPy


def shapes_of_images(side: int, pool: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of the digit network."""
    convolutions = {"conv1.weights": (4, 1, 3, 3), "conv1.bias": (4, 1, 1), "conv2.weights": (8, 4, 3, 3), "conv2.bias": (8, 1, 1)}
    features = 8 * (side // pool) ** 2
    return convolutions | {"linear1.weights": (features, 64), "linear1.bias": (64,), "linear2.weights": (64, 10), "linear2.bias": (10,)}


def shapes_of_words(maps: int, embedding: int, widths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of the sentiment network."""
    shapes: dict[str, tuple[int, ...]] = {}
    for n, width in enumerate(widths, 1):
        shapes |= {f"conv{n}.weights": (maps, embedding, width), f"conv{n}.bias": (1, maps, 1)}
    return shapes | {"linear.weights": (maps, 1), "linear.bias": (1,)}


def random_parameters(shapes: dict[str, tuple[int, ...]], seed: int) -> Parameters:
    """Random parameters, scaled so that sums over many of them stay small."""
    draw = rng(seed)
    return {name: draw.uniform(-1, 1, shape) / math.sqrt(math.prod(shape[1:]) or 1) for name, shape in shapes.items()}


def image_steps(w: Parameters, x: np.ndarray, pool: int, mean: bool = False) -> list[np.ndarray]:
    """Outputs of the first convolution, the second, and the whole network in evaluation mode."""
    mid = np.maximum(convolve(x, w["conv1.weights"]) + w["conv1.bias"], 0)
    out = np.maximum(convolve(mid, w["conv2.weights"]) + w["conv2.bias"], 0)
    pooled = windows(out, (pool, pool))
    row = (pooled.mean(-1) if mean else pooled.max(-1)).reshape(len(x), -1)
    hidden = np.maximum(row @ w["linear1.weights"] + w["linear1.bias"], 0)
    return [mid, out, logsoftmax(hidden @ w["linear2.weights"] + w["linear2.bias"], 1)]


def word_probabilities(w: Parameters, x: np.ndarray) -> np.ndarray:
    """The probability of each sentence in evaluation mode."""
    total: Any = 0.0
    for n in (1, 2, 3):
        total = total + np.maximum(convolve(x.transpose(0, 2, 1), w[f"conv{n}.weights"]) + w[f"conv{n}.bias"], 0).max(2)
    return 1 / (1 + np.exp(-(total @ w["linear.weights"] + w["linear.bias"])[:, 0]))


# The layers

linear_layer_probe("4.5", IMAGES, ["minitorch:FastBackend"], takes_backend=False)
linear_layer_probe("4.5", WORDS, ["minitorch:FastBackend"], takes_backend=False)


def conv_layer_probe(program: str, dims: int) -> None:
    """Register the probe of a convolution layer."""

    def check(p: Program, inputs: int, outputs: int, seed: int) -> Check:
        draw, kernel, sizes = rng(seed), (3, 2)[:dims], (5, 4)[:dims] if seed % 2 else (outputs, outputs)[:dims]
        x, w, bias = numbers((2, inputs, *sizes), draw), numbers((outputs, inputs, *kernel), draw), numbers((outputs, *[1] * dims), draw)
        layer, made = p.find(f"{program}:Conv{dims}d")(inputs, outputs, *kernel), tensor(p, x, fast(p), grad=True)
        layer.weights.update(tensor(p, w, fast(p)))
        layer.bias.update(tensor(p, bias if dims == 2 else bias[None], fast(p)))
        out = layer(made)
        grad_output = numbers((2, outputs, *sizes), draw)
        out.backward(tensor(p, grad_output, fast(p)))
        got = yield [out, made.grad, layer.weights.value.grad, layer.bias.value.grad, p.find("builtins:len")(layer.parameters())]
        grad_bias = grad_output.sum((0, *range(2, 2 + dims))).reshape(-1)
        for one, right in zip(got[:3], [convolve(x, w) + bias, *convolution_gradients(x, w, grad_output)], strict=True):
            check_equal(one, right, EXACT)
        check_equal(got[3].array.reshape(-1), grad_bias, EXACT, of="gradient of the bias")
        check_equal(got[4], 2, of="number of parameters")

    examples = [(1, 2, 1), (2, 3, 2), (3, 2, 4), (2, 4, 3)]
    says = f"Conv{dims}d adds a bias to each output channel, and propagates gradients"
    probe("4.5", says, weight=2, examples=examples, seconds=COMPILE_SECONDS, own_package=False, source=source_of("4.5", program))(check)


conv_layer_probe(IMAGES, 2)
conv_layer_probe(WORDS, 1)


def check_layers(p: Program, network: Value, shapes: dict[str, tuple[int, ...]]) -> Check:
    """That a network has just these parameters, which start with different numbers; for `yield from`."""
    named = p.find("builtins:dict")(network.named_parameters())
    names, *values = yield [p.find("builtins:list")(named), *(named[name].value for name in shapes)]
    check_equal(sorted(map(str, names)), sorted(shapes), of="parameter names")
    for (name, shape), one in zip(shapes.items(), values, strict=True):
        check_equal(one.array.shape if isinstance(one, TensorSnapshot) else None, shape, of=f"shape of {name}")
        if one.array.size > 1 and len(set(one.array.reshape(-1).tolist())) == 1:
            raise Wrong(f"expected {name} to be initialized to different values, got {one.array.reshape(-1)[0]} everywhere")


@probe(
    "4.5",
    "the digit network has two convolutions and two linear layers of the right sizes",
    weight=2,
    examples=[(28, 4), (8, 2), (6, 3)],
    own_package=False,
    source=source_of("4.5", IMAGES),
)
def image_layers(p: Program, side: int, pool: int) -> Check:
    """Checked through the names and shapes of the parameters."""
    yield from check_layers(p, p.find(f"{IMAGES}:Network")(side, pool), shapes_of_images(side, pool))


@probe(
    "4.5",
    "the sentiment network has three convolutions of the given widths and a linear layer",
    weight=2,
    examples=[(20, 50, (3, 4, 5)), (4, 3, (1, 2, 2)), (3, 5, (2, 2, 2))],
    own_package=False,
    source=source_of("4.5", WORDS),
)
def word_layers(p: Program, maps: int, embedding: int, widths: tuple[int, int, int]) -> Check:
    """Checked through the names and shapes of the parameters."""
    yield from check_layers(p, p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths), shapes_of_words(maps, embedding, widths))


# The networks


@probe(
    "4.5",
    "the digit network returns log probabilities, and stores the outputs of its convolutions",
    weight=4,
    examples=[(6, 2, 1), (4, 4, 2), (6, 3, 3)],
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", IMAGES),
)
def image_forward(p: Program, side: int, pool: int, seed: int) -> Check:
    """In evaluation mode; the network may use max or average pooling."""
    w, x = random_parameters(shapes_of_images(side, pool), seed), numbers((3, 1, side, side), rng(seed))
    network = p.find(f"{IMAGES}:Network")(side, pool)
    write(p, network, w, fast(p))
    network.eval()
    out = network(tensor(p, x, fast(p)))
    got = yield [network.mid, network.out, out]
    largest, mean = image_steps(w, x, pool), image_steps(w, x, pool, mean=True)[2]
    check_equal(got[0], largest[0], SHIFTED, of="mid")
    check_equal(got[1], largest[1], SHIFTED, of="out")
    if isinstance(got[2], TensorSnapshot) and got[2].array.shape == mean.shape and np.allclose(got[2].array, mean, atol=SHIFTED):
        return
    check_equal(got[2], largest[2], SHIFTED)


@probe(
    "4.5",
    "the sentiment network returns the probability of each sentence",
    weight=4,
    examples=[(3, 4, (1, 2, 3), 6, 1), (5, 2, (2, 2, 2), 5, 2), (4, 3, (3, 1, 2), 4, 3)],
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", WORDS),
)
def word_forward(p: Program, maps: int, embedding: int, widths: tuple[int, int, int], words: int, seed: int) -> Check:
    """In evaluation mode."""
    w, x = random_parameters(shapes_of_words(maps, embedding, widths), seed), numbers((3, words, embedding), rng(seed))
    network = p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths)
    write(p, network, w, fast(p))
    network.eval()
    (got,) = yield [network(tensor(p, x, fast(p)))]
    check_equal(got, word_probabilities(w, x), SHIFTED)


def check_gradients(grads: Sequence[Any], w: Parameters, losses: Callable[[Parameters], list[float]], seed: int) -> None:
    """Check that gradients agree with finite differences along a random direction of each parameter.

    Args:
        grads: Gradients of the parameters, in order.
        w: The parameters.
        losses: Computes the loss, or several alternatives of which one must match.
        seed: For the directions.

    Raises:
        Wrong: If a gradient differs.
    """
    draw = rng(seed)
    for (name, array), grad in zip(w.items(), grads, strict=True):
        if not isinstance(grad, TensorSnapshot) or grad.array.shape != array.shape:
            raise Wrong(f"expected a gradient of shape {array.shape} for {name}, got {printable(grad)}")
        along = draw.uniform(-1, 1, array.shape)
        above, below = (losses(w | {name: array + step * along}) for step in (STEP, -STEP))
        derivatives = [(high - low) / (2 * STEP) for high, low in zip(above, below, strict=True)]
        got = float((grad.array * along).sum())
        if not any(abs(got - derivative) <= 1e-4 * (1 + abs(derivative)) for derivative in derivatives):
            raise Wrong(f"expected the gradient of {name} along a direction to be {derivatives[0]:.6g}, got {got:.6g}")


@probe(
    "4.5",
    "gradients reach all parameters of the digit network",
    weight=2,
    examples=[(4, 2, 1)],
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", IMAGES),
)
def image_gradients(p: Program, side: int, pool: int, seed: int) -> Check:
    """For a weighted sum of its outputs, compared with finite differences."""
    w, x = random_parameters(shapes_of_images(side, pool), seed), rng(seed).uniform(-1, 1, (2, 1, side, side))
    network, grad_output = p.find(f"{IMAGES}:Network")(side, pool), rng(seed + 1).uniform(-1, 1, (2, 10))
    write(p, network, w, fast(p))
    network.eval()
    network(tensor(p, x, fast(p))).backward(tensor(p, grad_output, fast(p)))
    named = p.find("builtins:dict")(network.named_parameters())
    got = yield [named[name].value.grad for name in w]
    check_gradients(got, w, lambda w: [float((image_steps(w, x, pool, mean)[2] * grad_output).sum()) for mean in (False, True)], seed)


@probe(
    "4.5",
    "gradients reach all parameters of the sentiment network",
    weight=2,
    examples=[(3, 2, (1, 2, 3), 1)],
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", WORDS),
)
def word_gradients(p: Program, maps: int, embedding: int, widths: tuple[int, int, int], seed: int) -> Check:
    """For a weighted sum of its outputs, compared with finite differences."""
    w, x = random_parameters(shapes_of_words(maps, embedding, widths), seed), rng(seed).uniform(-1, 1, (3, 5, embedding))
    network, grad_output = p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths), rng(seed + 1).uniform(-1, 1, 3)
    write(p, network, w, fast(p))
    network.eval()
    network(tensor(p, x, fast(p))).backward(tensor(p, grad_output, fast(p)))
    named = p.find("builtins:dict")(network.named_parameters())
    got = yield [named[name].value.grad for name in w]
    check_gradients(got, w, lambda w: [float(word_probabilities(w, x) @ grad_output)], seed)


# Dropout


@probe(
    "4.5",
    "the digit network drops a quarter of its 64 features, and only in training mode",
    weight=2,
    seed=seeds,
    count=1,
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", IMAGES),
)
def image_dropout(p: Program, seed: int) -> Check:
    """With parameters for which the first output counts the kept features."""
    w = {name: np.zeros(shape) for name, shape in shapes_of_images(4, 4).items()}
    w["linear1.bias"] += 1.0
    w["linear2.weights"][:, 0] = 1.0
    network = p.find(f"{IMAGES}:Network")(4, 4)
    write(p, network, w, fast(p))
    x = tensor(p, np.zeros((60, 1, 4, 4)), fast(p))
    network.train()
    dropped = network(x)
    network.eval()
    got, whole = yield [dropped, network(x)]
    left = got.array[:, 0] - got.array[:, 1]
    check_equal(whole.array[:, 0] - whole.array[:, 1], np.full(60, 64.0), SHIFTED, of="kept features in evaluation mode")
    if np.abs(left - left.round()).max() > 1e-3 or not 45 < left.mean() < 51 or len(set(left.round())) < 3:
        raise Wrong(f"expected about 48 of 64 features to be kept for each image in training mode, got {printable(left)}")


@probe(
    "4.5",
    "the sentiment network drops its outputs at the given rate, and only in training mode",
    weight=2,
    examples=[(0.25, 1), (0.75, 2)],
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", WORDS),
)
def word_dropout(p: Program, rate: float, seed: int) -> Check:
    """A dropped output has the probability 1/2."""
    w = {name: np.zeros(shape) for name, shape in shapes_of_words(1, 2, (1, 1, 1)).items()}
    w["linear.bias"] += 2.0
    network = p.find(f"{WORDS}:CNNSentimentKim")(1, 2, (1, 1, 1), rate)
    write(p, network, w, fast(p))
    x = tensor(p, np.zeros((400, 3, 2)), fast(p))
    network.train()
    dropped = network(x)
    network.eval()
    got, whole = yield [dropped, network(x)]
    kept = 1 / (1 + math.exp(-2.0))
    check_equal(whole, np.full(400, kept), SHIFTED)
    check_equal(got, np.where(got.array < 0.7, 0.5, kept), SHIFTED)
    if abs((got.array < 0.7).mean() - rate) > 0.1:
        raise Wrong(f"expected about {rate:.0%} of 400 sentences to be dropped in training mode, got {(got.array < 0.7).mean():.0%}")


# Training


@probe(
    "4.5",
    "the digit network learns to classify unseen images within 30 steps",
    weight=2,
    seed=seeds,
    count=1,
    seconds=COMPILE_SECONDS,
    own_package=False,
    source=source_of("4.5", IMAGES),
)
def image_training(p: Program, seed: int) -> Check:
    """Images with bright upper or lower halves; thirty steps of gradient descent."""
    draw = rng(seed)
    labels, x = np.arange(20) % 2, draw.uniform(0, 0.3, (40, 1, 4, 4))
    for n in range(40):
        x[n, 0, 2 * (n % 2) : 2 * (n % 2) + 2] += 0.7
    reseed, network = p.find("minitorch:manual_seed"), p.find(f"{IMAGES}:Network")
    reseed(seed)
    made = network(4, 2)
    chosen = tensor(p, np.eye(10)[labels], fast(p))
    optimizer = p.find("minitorch:SGD")(made.parameters(), 0.5)
    for _ in range(30):
        (-(made(tensor(p, x[:20], fast(p))) * chosen).sum() * 0.05).backward()
        optimizer.step()
    made.eval()
    (got,) = yield [made(tensor(p, x[20:], fast(p)))]
    right = float((got.array.argmax(1) == labels).mean())
    if got.array.shape != (20, 10) or right < 0.8:
        raise Wrong(f"expected at least 16 of 20 unseen images to be classified correctly, got {right * 20:.0f}")
