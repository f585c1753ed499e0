"""Probes of Task 4.5: a network that reads digits, and one that reads sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, same, shown
from course.staff.probes.convolutions import convolved, flows, windows
from course.staff.probes.layers import linear_layer, write
from course.staff.probes.module2 import drawn
from course.staff.probes.module3 import COMPILING
from course.staff.probes.module4_functional import SHIFTED, logsoftmax
from course.staff.probes.plain import Seen
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

IMAGES, WORDS = "project.run_mnist_multiclass", "project.run_sentiment"
STEP = 1e-5
"""Of finite differences."""

Parameters = dict[str, np.ndarray]
Here = Callable[[Parameters, np.ndarray], np.ndarray]


def fast(p: Program) -> Value:
    """The backend that both networks compute on."""
    return p.find("minitorch:FastBackend")


# What NumPy makes of the same parameters


def shapes_of_images(side: int, pool: int) -> dict[str, tuple[int, ...]]:
    """The parameters of the network that reads digits."""
    convolutions = {"conv1.weights": (4, 1, 3, 3), "conv1.bias": (4, 1, 1), "conv2.weights": (8, 4, 3, 3), "conv2.bias": (8, 1, 1)}
    features = 8 * (side // pool) ** 2
    return convolutions | {"linear1.weights": (features, 64), "linear1.bias": (64,), "linear2.weights": (64, 10), "linear2.bias": (10,)}


def shapes_of_words(maps: int, embedding: int, widths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The parameters of the network that reads sentences."""
    found: dict[str, tuple[int, ...]] = {}
    for n, width in enumerate(widths, 1):
        found |= {f"conv{n}.weights": (maps, embedding, width), f"conv{n}.bias": (1, maps, 1)}
    return found | {"linear.weights": (maps, 1), "linear.bias": (1,)}


def some(shapes: dict[str, tuple[int, ...]], seed: int) -> Parameters:
    """Numbers for parameters, so small that sums of many stay so."""
    draw = drawn(seed)
    return {name: draw.uniform(-1, 1, shape) / math.sqrt(math.prod(shape[1:]) or 1) for name, shape in shapes.items()}


def image_steps(w: Parameters, x: np.ndarray, pool: int, mean: bool = False) -> list[np.ndarray]:
    """What comes out of the first convolution, of the second, and of the whole network in evaluation."""
    mid = np.maximum(convolved(x, w["conv1.weights"]) + w["conv1.bias"], 0)
    out = np.maximum(convolved(mid, w["conv2.weights"]) + w["conv2.bias"], 0)
    cut = windows(out, (pool, pool))
    row = (cut.mean(-1) if mean else cut.max(-1)).reshape(len(x), -1)
    hidden = np.maximum(row @ w["linear1.weights"] + w["linear1.bias"], 0)
    return [mid, out, logsoftmax(hidden @ w["linear2.weights"] + w["linear2.bias"], 1)]


def word_probabilities(w: Parameters, x: np.ndarray) -> np.ndarray:
    """The probability of each sentence in evaluation."""
    total: Any = 0.0
    for n in (1, 2, 3):
        total = total + np.maximum(convolved(x.transpose(0, 2, 1), w[f"conv{n}.weights"]) + w[f"conv{n}.bias"], 0).max(2)
    return 1 / (1 + np.exp(-(total @ w["linear.weights"] + w["linear.bias"])[:, 0]))


# The layers

linear_layer("4.5", IMAGES, ["minitorch:FastBackend"], told=False)
linear_layer("4.5", WORDS, ["minitorch:FastBackend"], told=False)


def conv_layer(program: str, dims: int) -> None:
    """Enter the probe of a layer of convolutions."""

    def check(p: Program, inputs: int, outputs: int, seed: int) -> Check:
        draw, kernel, sizes = drawn(seed), (3, 2)[:dims], (5, 4)[:dims] if seed % 2 else (outputs, outputs)[:dims]
        x, w, bias = numbers((2, inputs, *sizes), draw), numbers((outputs, inputs, *kernel), draw), numbers((outputs, *[1] * dims), draw)
        layer, made = p.find(f"{program}:Conv{dims}d")(inputs, outputs, *kernel), tensor(p, x, fast(p), grad=True)
        layer.weights.update(tensor(p, w, fast(p)))
        layer.bias.update(tensor(p, bias if dims == 2 else bias[None], fast(p)))
        out = layer(made)
        arriving = numbers((2, outputs, *sizes), draw)
        out.backward(tensor(p, arriving, fast(p)))
        got = yield [out, made.grad, layer.weights.value.grad, layer.bias.value.grad, p.find("builtins:len")(layer.parameters())]
        by_bias = arriving.sum((0, *range(2, 2 + dims))).reshape(-1)
        for one, right in zip(got[:3], [convolved(x, w) + bias, *flows(x, w, arriving)], strict=True):
            same(one, right, EXACT)
        same(got[3].array.reshape(-1), by_bias, EXACT, of="the gradient of the biases")
        same(got[4], 2, of="as many parameters as")

    examples = [(1, 2, 1), (2, 3, 2), (3, 2, 4), (2, 4, 3)]
    says = f"Conv{dims}d adds to every channel its own bias, and passes gradients on"
    probe("4.5", says, weight=2, examples=examples, seconds=COMPILING)(check)


conv_layer(IMAGES, 2)
conv_layer(WORDS, 1)


def has_layers(p: Program, network: Value, shapes: dict[str, tuple[int, ...]]) -> Check:
    """That a network has just these parameters, which start with different numbers; for `yield from`."""
    named = p.find("builtins:dict")(network.named_parameters())
    names, *values = yield [p.find("builtins:list")(named), *(named[name].value for name in shapes)]
    same(sorted(map(str, names)), sorted(shapes), of="the parameters")
    for (name, shape), one in zip(shapes.items(), values, strict=True):
        same(one.array.shape if isinstance(one, Seen) else None, shape, of=f"{name} of shape")
        if one.array.size > 1 and len(set(one.array.reshape(-1).tolist())) == 1:
            raise Wrong(f"expected {name} to start with different numbers, got {one.array.reshape(-1)[0]} everywhere")


@probe(
    "4.5",
    "the network that reads digits has two convolutions and two linear layers that fit its images",
    weight=2,
    examples=[(28, 4), (8, 2), (6, 3)],
)
def image_layers(p: Program, side: int, pool: int) -> Check:
    """By the names and shapes of the parameters."""
    yield from has_layers(p, p.find(f"{IMAGES}:Network")(side, pool), shapes_of_images(side, pool))


@probe(
    "4.5",
    "the network that reads sentences has three convolutions of its widths and a linear layer",
    weight=2,
    examples=[(20, 50, (3, 4, 5)), (4, 3, (1, 2, 2)), (3, 5, (2, 2, 2))],
)
def word_layers(p: Program, maps: int, embedding: int, widths: tuple[int, int, int]) -> Check:
    """By the names and shapes of the parameters."""
    yield from has_layers(p, p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths), shapes_of_words(maps, embedding, widths))


# The networks


@probe(
    "4.5",
    "the network that reads digits gives the logarithms of the probabilities, and keeps what its convolutions put out",
    weight=4,
    examples=[(6, 2, 1), (4, 4, 2), (6, 3, 3)],
    seconds=COMPILING,
)
def image_forward(p: Program, side: int, pool: int, seed: int) -> Check:
    """In evaluation; pooling may be by the maximum or the mean."""
    w, x = some(shapes_of_images(side, pool), seed), numbers((3, 1, side, side), drawn(seed))
    network = p.find(f"{IMAGES}:Network")(side, pool)
    write(p, network, w, fast(p))
    network.eval()
    out = network(tensor(p, x, fast(p)))
    got = yield [network.mid, network.out, out]
    largest, mean = image_steps(w, x, pool), image_steps(w, x, pool, mean=True)[2]
    same(got[0], largest[0], SHIFTED, of="mid")
    same(got[1], largest[1], SHIFTED, of="out")
    if isinstance(got[2], Seen) and got[2].array.shape == mean.shape and np.allclose(got[2].array, mean, atol=SHIFTED):
        return
    same(got[2], largest[2], SHIFTED)


@probe(
    "4.5",
    "the network that reads sentences gives their probabilities",
    weight=4,
    examples=[(3, 4, (1, 2, 3), 6, 1), (5, 2, (2, 2, 2), 5, 2), (4, 3, (3, 1, 2), 4, 3)],
    seconds=COMPILING,
)
def word_forward(p: Program, maps: int, embedding: int, widths: tuple[int, int, int], words: int, seed: int) -> Check:
    """In evaluation."""
    w, x = some(shapes_of_words(maps, embedding, widths), seed), numbers((3, words, embedding), drawn(seed))
    network = p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths)
    write(p, network, w, fast(p))
    network.eval()
    (got,) = yield [network(tensor(p, x, fast(p)))]
    same(got, word_probabilities(w, x), SHIFTED)


def agrees(grads: Sequence[Any], w: Parameters, losses: Callable[[Parameters], list[float]], seed: int) -> None:
    """That gradients agree with finite differences along a random direction of each parameter.

    Args:
        grads: What reached the parameters, in order.
        w: The parameters.
        losses: The loss by them, or several, of which one must fit.
        seed: For the directions.

    Raises:
        Wrong: If one does not.
    """
    draw = drawn(seed)
    for (name, array), grad in zip(w.items(), grads, strict=True):
        if not isinstance(grad, Seen) or grad.array.shape != array.shape:
            raise Wrong(f"expected a gradient of shape {array.shape} for {name}, got {shown(grad)}")
        along = draw.uniform(-1, 1, array.shape)
        above, below = (losses(w | {name: array + step * along}) for step in (STEP, -STEP))
        slopes = [(high - low) / (2 * STEP) for high, low in zip(above, below, strict=True)]
        got = float((grad.array * along).sum())
        if not any(abs(got - slope) <= 1e-4 * (1 + abs(slope)) for slope in slopes):
            raise Wrong(f"expected the gradient of {name} along a direction to be {slopes[0]:.6g}, got {got:.6g}")


@probe("4.5", "gradients reach all parameters of the network that reads digits", weight=2, examples=[(4, 2, 1)], seconds=COMPILING)
def image_gradients(p: Program, side: int, pool: int, seed: int) -> Check:
    """Of a weighted sum of its outputs, beside finite differences."""
    w, x = some(shapes_of_images(side, pool), seed), drawn(seed).uniform(-1, 1, (2, 1, side, side))
    network, arriving = p.find(f"{IMAGES}:Network")(side, pool), drawn(seed + 1).uniform(-1, 1, (2, 10))
    write(p, network, w, fast(p))
    network.eval()
    network(tensor(p, x, fast(p))).backward(tensor(p, arriving, fast(p)))
    named = p.find("builtins:dict")(network.named_parameters())
    got = yield [named[name].value.grad for name in w]
    agrees(got, w, lambda w: [float((image_steps(w, x, pool, mean)[2] * arriving).sum()) for mean in (False, True)], seed)


@probe(
    "4.5",
    "gradients reach all parameters of the network that reads sentences",
    weight=2,
    examples=[(3, 2, (1, 2, 3), 1)],
    seconds=COMPILING,
)
def word_gradients(p: Program, maps: int, embedding: int, widths: tuple[int, int, int], seed: int) -> Check:
    """Of a weighted sum of its outputs, beside finite differences."""
    w, x = some(shapes_of_words(maps, embedding, widths), seed), drawn(seed).uniform(-1, 1, (3, 5, embedding))
    network, arriving = p.find(f"{WORDS}:CNNSentimentKim")(maps, embedding, widths), drawn(seed + 1).uniform(-1, 1, 3)
    write(p, network, w, fast(p))
    network.eval()
    network(tensor(p, x, fast(p))).backward(tensor(p, arriving, fast(p)))
    named = p.find("builtins:dict")(network.named_parameters())
    got = yield [named[name].value.grad for name in w]
    agrees(got, w, lambda w: [float(word_probabilities(w, x) @ arriving)], seed)


# Dropout


@probe(
    "4.5",
    "the network that reads digits drops a quarter of its 64 numbers in training alone",
    weight=2,
    seed=seeds,
    count=1,
    seconds=COMPILING,
)
def image_dropout(p: Program, seed: int) -> Check:
    """With parameters by which the first output counts what is left."""
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
    same(whole.array[:, 0] - whole.array[:, 1], np.full(60, 64.0), SHIFTED, of="in evaluation all of 64 to be left,")
    if np.abs(left - left.round()).max() > 1e-3 or not 45 < left.mean() < 51 or len(set(left.round())) < 3:
        raise Wrong(f"expected in training about 48 of 64 numbers to be left for each image, got {shown(left)}")


@probe(
    "4.5",
    "the network that reads sentences drops its outputs in training alone, at the rate that it is given",
    weight=2,
    examples=[(0.25, 1), (0.75, 2)],
    seconds=COMPILING,
)
def word_dropout(p: Program, rate: float, seed: int) -> Check:
    """What is dropped has the probability 1/2."""
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
    same(whole, np.full(400, kept), SHIFTED)
    same(got, np.where(got.array < 0.7, 0.5, kept), SHIFTED)
    if abs((got.array < 0.7).mean() - rate) > 0.1:
        raise Wrong(f"expected about {rate:.0%} of 400 sentences to be dropped in training, got {(got.array < 0.7).mean():.0%}")


# Training


@probe(
    "4.5",
    "the network that reads digits learns: hidden images are told apart after some steps",
    weight=2,
    seed=seeds,
    count=1,
    seconds=COMPILING,
)
def image_training(p: Program, seed: int) -> Check:
    """Bright upper halves against bright lower ones; thirty steps of gradient descent."""
    draw = drawn(seed)
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
        raise Wrong(f"expected at least 16 of 20 hidden images to be told apart, got {right * 20:.0f}")
