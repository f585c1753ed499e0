"""Probes of the training tasks on a hand-in of the original course in its own package: what its networks compute.

The original course leaves open what layers and parameters are called. A probe asks for the shapes of the parameters first, and finds the
weights and the bias of each layer by them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis.strategies import integers

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, number, printable
from course.staff.probes.layers import source_of
from course.staff.probes.module1_backpropagation import parameters
from course.staff.probes.module2 import rng
from course.staff.probes.module3 import COMPILE_SECONDS
from course.staff.probes.module4_networks import image_steps, random_parameters, shapes_of_images, shapes_of_words, word_probabilities
from course.staff.probes.networks import Perceptron, labelled_points
from course.staff.probes.own_package import support
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import tensor

IMAGES, WORDS = "project.run_mnist_multiclass:Network", "project.run_sentiment:CNNSentimentKim"


@dataclass(frozen=True)
class Names:
    """The hand-in's names of parameters.

    Attributes:
        of: By the names of this course.
        transposed: Whether matrices have a row for each output.
    """

    of: dict[str, str]
    transposed: bool = False


def make(p: Program, network: str, *arguments: Any) -> Value:
    """A network of a hand-in."""
    return p.label(p.find(support("network"))(network, *arguments), network.partition(":")[2])


def find_parameters(network: str, arguments: Sequence[Any], known: dict[str, np.ndarray]) -> Generator[Sequence[Value], list[Any], Names]:
    """The hand-in's names of parameters, by those of this course; sizes of 1 do not count. For `yield from`.

    Args:
        network: The class of the network.
        arguments: Its arguments; a hand-in's may take fewer.
        known: The parameters, a layer's weights before its bias.

    Raises:
        Wrong: If the network has other parameters.
    """
    p = Program()
    (listed,) = yield [p.find(support("shapes"))(make(p, network, *_in_child(p, arguments)))]
    layers: dict[str, dict[tuple[int, ...], str]] = {}
    for name, shape in listed:
        layers.setdefault(str(name).rpartition(".")[0], {})[_squeezed(shape)] = str(name)
    found = _match(layers, known)
    if found is None and (found := _match(layers, _transposed(known))) is not None:
        return Names(found, transposed=True)
    if found is None:
        shapes = ", ".join(str(array.shape) for array in known.values())
        raise Wrong(f"expected layers with parameters of the shapes {shapes}, got {printable(listed)}")
    return Names(found)


def _match(layers: Mapping[str, dict[tuple[int, ...], str]], known: dict[str, np.ndarray]) -> dict[str, str] | None:
    """The names of parameters in layers that have these shapes; None if one is missing or left."""
    left, found, names = dict(layers), {}, list(known)
    for weights, bias in zip(names[::2], names[1::2], strict=True):
        wanted = {_squeezed(known[name].shape): name for name in (weights, bias)}
        layer = next((layer for layer, parameters in left.items() if set(parameters) == set(wanted)), None)
        if layer is None:
            return None
        found |= {wanted[shape]: name for shape, name in left.pop(layer).items()}
    return None if left else found


def _transposed(known: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array.T if array.ndim == 2 else array for name, array in known.items()}


def _in_child(p: Program, arguments: Sequence[Any]) -> list[Any]:
    """Arguments of a network; the name of a backend becomes the backend."""
    return [p.find(one) if isinstance(one, str) else one for one in arguments]


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def with_parameters(p: Program, network: str, arguments: Sequence[Any], names: Names, known: dict[str, np.ndarray]) -> Value:
    """A network with these parameters."""
    made = make(p, network, *_in_child(p, arguments))
    arrays = _transposed(known) if names.transposed else known
    p.find(support("write"))(made, [[names.of[name], array.reshape(-1).tolist()] for name, array in arrays.items()])
    return made


def on_its_backend(p: Program, network: Value, x: np.ndarray) -> Value:
    """A tensor on the backend of a network."""
    return tensor(p, x, p.find(support("backend_of"))(network))


def outputs(p: Program, network: Value, x: np.ndarray) -> Value:
    """The numbers that a network returns for inputs."""
    return p.find(support("values"))(network.forward(on_its_backend(p, network, x)))


# Networks for points


def points_probes(task: str, network: str, backend: str = "") -> None:
    """Register the probes of a network of three linear layers; on a compiled backend without training, which takes long to compile."""

    def forward(p: Program, hidden: int, seed: int) -> Check:
        known, arguments = Perceptron(hidden, seed), [hidden, *([backend] if backend else [])]
        names = yield from find_parameters(network, arguments, known.parameters())
        points = rng(seed).uniform(0, 1, (5, 2))
        (got,) = yield [outputs(p, with_parameters(p, network, arguments, names, known.parameters()), points)]
        check_equal([number(one) for one in got], known(points).tolist(), 1e-6)

    def training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
        known, arguments = Perceptron(hidden, seed), [hidden, *([backend] if backend else [])]
        names = yield from find_parameters(network, arguments, known.parameters())
        points, labels = labelled_points(dataset, 10, seed)
        made = with_parameters(p, network, arguments, names, known.parameters())
        p.find(support("train_tensors"))(made, points.tolist(), labels.tolist(), 0.5, 8)
        hidden_points = rng(seed).uniform(0, 1, (5, 2))
        (got,) = yield [outputs(p, made, hidden_points)]
        for _ in range(8):
            known.descend(points, labels, 0.5)
        check_equal([number(one) for one in got], known(hidden_points).tolist(), 1e-6)

    more: dict[str, Any] = {"own_package": "only", "seconds": COMPILE_SECONDS}
    says = "the network has layers 2 → H → H → 1 and returns the probability of each point"
    probe(
        task,
        says,
        weight=3,
        examples=[(3, 0), (5, 1)],
        count=2,
        hidden=integers(3, 6),
        seed=integers(0, 99),
        source=source_of(task, network),
        **more,
    )(forward)
    if backend:
        return
    says = "trained with gradient descent, the network returns the probabilities that NumPy computes"
    probe(task, says, weight=3, examples=[("Xor", 3, 1), ("Diag", 4, 2)], source=source_of(task, network), **more)(training)


points_probes("2.5", "project.run_tensor:Network")
points_probes("3.5", "project.run_fast_tensor:Network", "minitorch:FastBackend")


# Networks of scalars

SCALARS = "project.run_scalar:Network"


def find_layers(hidden: int) -> Generator[Sequence[Value], list[Any], dict[int, str]]:
    """The hand-in's names of the three layers of a network of scalars, by number; for `yield from`.

    Raises:
        Wrong: If the network has other layers.
    """
    p = Program()
    names = p.find("builtins:list")(p.find("builtins:dict")(make(p, SCALARS, hidden).named_parameters()))
    (listed,) = yield [names]
    layers = Counter(str(name).rpartition(".")[0] for name in listed)
    sizes = {2 * hidden + hidden: 1, hidden * hidden + hidden: 2, hidden + 1: 3}
    found = {sizes[count]: layer for layer, count in layers.items() if count in sizes}
    if len(found) < 3 or len(layers) > 3:
        raise Wrong(f"expected three layers with {', '.join(map(str, sizes))} parameters, got {dict(layers)}")
    return found


def scalar_network(p: Program, hidden: int, layers: dict[int, str], known: Perceptron) -> Value:
    """A network of scalars with these parameters."""
    made = make(p, SCALARS, hidden)
    named = {name.replace(f"layer{n}", layer): array for n, layer in layers.items() for name, array in known.parameters("weight").items()
             if name.startswith(f"layer{n}.")}  # fmt: skip
    parameters(p, made, named)
    return made


def scalar_outputs(p: Program, network: Value, points: np.ndarray) -> list[Value]:
    """The probability of each point."""
    scalar = p.find("minitorch.scalar:Scalar")
    return [network.forward([scalar(x), scalar(y)]).data for x, y in points.tolist()]


@probe(
    "1.5",
    "the network of scalars has layers 2 → H → H → 1 and returns the probability of each point",
    weight=3,
    examples=[(3, 0), (4, 1)],
    own_package="only",
    source=source_of("1.5", "project.run_scalar"),
)
def scalar_forward(p: Program, hidden: int, seed: int) -> Check:
    """With given parameters."""
    known, layers = Perceptron(hidden, seed), (yield from find_layers(hidden))
    points = rng(seed).uniform(0, 1, (4, 2))
    got = yield scalar_outputs(p, scalar_network(p, hidden, layers, known), points)
    check_equal([number(one) for one in got], known(points).tolist(), 1e-6)


@probe(
    "1.5",
    "trained with gradient descent, the network of scalars returns the probabilities that NumPy computes",
    weight=3,
    seconds=60,
    examples=[("Xor", 3, 1), ("Simple", 4, 2)],
    own_package="only",
    source=source_of("1.5", "project.run_scalar"),
)
def scalar_training(p: Program, dataset: str, hidden: int, seed: int) -> Check:
    """Six epochs on 12 points."""
    known, layers = Perceptron(hidden, seed), (yield from find_layers(hidden))
    network = scalar_network(p, hidden, layers, known)
    points, labels = labelled_points(dataset, 12, seed)
    p.find(support("train_scalars"))(network, points.tolist(), labels.tolist(), 0.5, 6)
    hidden_points = rng(seed).uniform(0, 1, (5, 2))
    got = yield scalar_outputs(p, network, hidden_points)
    for _ in range(6):
        known.descend(points, labels, 0.5)
    check_equal([number(one) for one in got], known(hidden_points).tolist(), 1e-6)


# Task 4.5

SIDE, POOL = 28, 4
"""The sizes of the original course's digits and of its pooling windows."""

DIGITS, SENTENCES = 16, 10
"""The sizes of its batches; a network may count on them."""


@probe(
    "4.5",
    "the network of digits returns the log probabilities of ten classes",
    weight=4,
    examples=[(1,)],
    seconds=COMPILE_SECONDS,
    own_package="only",
    source=source_of("4.5", "project.run_mnist_multiclass"),
)
def digits(p: Program, seed: int) -> Check:
    """In evaluation mode; the network may use max or average pooling."""
    w = random_parameters(shapes_of_images(SIDE, POOL), seed)
    names = yield from find_parameters(IMAGES, [], w)
    x = rng(seed).uniform(0, 1, (DIGITS, 1, SIDE, SIDE))
    network = with_parameters(p, IMAGES, [], names, w)
    network.eval()
    (got,) = yield [outputs(p, network, x)]
    largest, mean = (image_steps(w, x, POOL, mean)[2].reshape(-1).tolist() for mean in (False, True))
    if len(got) != len(mean) or not np.allclose([number(one) for one in got], mean, atol=1e-2):
        check_equal([number(one) for one in got], largest)


@probe(
    "4.5",
    "the network of digits drops a quarter of its 64 features, and only in training mode",
    weight=2,
    examples=[(1,)],
    seconds=COMPILE_SECONDS,
    own_package="only",
    source=source_of("4.5", "project.run_mnist_multiclass"),
)
def dropped_features(p: Program, seed: int) -> Check:
    """With parameters for which the first output counts the kept features."""
    w = {name: np.zeros(shape) for name, shape in shapes_of_images(SIDE, POOL).items()}
    names = yield from find_parameters(IMAGES, [], w)
    w["linear1.bias"] += 1.0
    w["linear2.weights"][:, 0] = 1.0
    network, x = with_parameters(p, IMAGES, [], names, w), np.zeros((DIGITS, 1, SIDE, SIDE))
    network.train()
    dropped = outputs(p, network, x)
    network.eval()
    got, whole = yield [dropped, outputs(p, network, x)]
    left, kept = (np.array([number(one) for one in numbers]).reshape(DIGITS, 10) for numbers in (got, whole))
    check_equal(kept[:, 0] - kept[:, 1], np.full(DIGITS, 64.0), of="kept features in evaluation mode")
    counted = left[:, 0] - left[:, 1]
    if np.abs(counted - counted.round()).max() > 1e-2 or not 43 < counted.mean() < 53 or len(set(counted.round())) < 3:
        raise Wrong(f"expected about 48 of 64 features to be kept for each image in training mode, got {printable(counted)}")


@probe(
    "4.5",
    "the network of sentences returns the probability of each sentence",
    weight=4,
    examples=[(5, 4, (1, 2, 3), 6, 1)],
    seconds=COMPILE_SECONDS,
    own_package="only",
    source=source_of("4.5", "project.run_sentiment"),
)
def sentences(p: Program, maps: int, embedding: int, widths: tuple[int, ...], words: int, seed: int) -> Check:
    """In evaluation mode."""
    w, x = random_parameters(shapes_of_words(maps, embedding, widths), seed), rng(seed).uniform(-1, 1, (SENTENCES, words, embedding))
    arguments = [maps, embedding, list(widths), 0.25]
    names = yield from find_parameters(WORDS, arguments, w)
    network = with_parameters(p, WORDS, arguments, names, w)
    network.eval()
    (got,) = yield [outputs(p, network, x)]
    check_equal([number(one) for one in got], word_probabilities(w, x).tolist())


@probe(
    "4.5",
    "the network of sentences drops its outputs at the given rate, and only in training mode",
    weight=2,
    examples=[(0.25, 1)],
    seconds=COMPILE_SECONDS,
    own_package="only",
    source=source_of("4.5", "project.run_sentiment"),
)
def dropped_outputs(p: Program, rate: float, seed: int) -> Check:
    """A dropped output has the probability 1/2; with dropout before the last layer nothing is dropped from a bias."""
    w = {name: np.zeros(shape) for name, shape in shapes_of_words(4, 3, (1, 2, 3)).items()}
    arguments = [4, 3, [1, 2, 3], rate]
    names = yield from find_parameters(WORDS, arguments, w)
    for n in (1, 2, 3):
        w[f"conv{n}.bias"] += 1.0
    w["linear.weights"] += 0.5
    network, x = with_parameters(p, WORDS, arguments, names, w), np.zeros((SENTENCES, 5, 3))
    network.train()
    dropped = [outputs(p, network, x) for _ in range(6)]
    network.eval()
    *got, whole = yield [*dropped, outputs(p, network, x)]
    probabilities = np.array([number(one) for batch in got for one in batch])
    logits = np.log(probabilities) - np.log1p(-probabilities)
    check_equal([number(one) for one in whole], [1 / (1 + math.exp(-6.0))] * SENTENCES)
    if not 1 - rate - 0.2 < logits.mean() / 6.0 < 1 - rate + 0.2:
        raise Wrong(f"expected about {1 - rate:.0%} to be kept in training mode, got {logits.mean() / 6.0:.0%}")
