"""Probes of Module 6: sums in a ring, and pipelines, in a simulated network in the child."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis.strategies import integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.module6_generation import array
from course.staff.probes.module6_layers import differences
from course.staff.probes.module6_model import Weights, draw_weights, linear, load
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

MACHINES, NETWORK = "minitorch.language.machines", "minitorch.language.network"

CLOSE = 1e-6

CUTS = [(1,), (2, 1), (1, 1, 1), (1, 3)]
"""Numbers of texts in the micro-batches of a batch."""

SHAPES = {"0.weight": (4, 3), "1.weight": (3, 3), "1.bias": (3,), "2.weight": (3, 4), "2.bias": (4,)}
"""Shapes of the stages of a pipeline: a table, and two linear layers."""


def network(p: Program, size: int) -> Value:
    """A network in the child."""
    return p.find(f"{NETWORK}:Network")(size)


def sent(p: Program, made: Value) -> Value:
    """Source, target and array of each message, as lists."""
    as_list = p.find("builtins:list")
    return as_list(p.find("builtins:map")(as_list, made.messages))


def drawn(seed: int, processes: int, size: int) -> list[np.ndarray]:
    """An array of each process, of numbers of very different sizes."""
    draw = rng(seed)
    return [draw.normal(size=size) * 10.0 ** draw.integers(0, 5, size) for _ in range(processes)]


@probe(
    "6.10",
    "all_reduce returns the sum, with the same bits in every process, and changes no array",
    weight=4,
    seed=seeds,
    processes=integers(1, 5),
    size=integers(0, 12),
    examples=[(0, 1, 2), (1, 2, 1), (2, 4, 0), (3, 3, 7), (4, 4, 8)],
)
def sums(p: Program, seed: int, processes: int, size: int) -> Check:
    """For chunks that differ in size, and empty ones."""
    arrays = drawn(seed, processes, size)
    given = [array(p, x) for x in arrays]
    found = yield [network(p, processes).run(p.find(f"{MACHINES}:all_reduce"), given), *given]
    for rank, each in enumerate(found[0]):
        check_equal(each, np.sum(arrays, 0), CLOSE, of=f"the sum in process {rank}")
        check_equal(each, np.array(found[0][0]), of=f"the sum in process {rank}, which in process 0")
    for each, before in zip(found[1:], arrays, strict=True):
        check_equal(each, before, of="the array after all_reduce")


@probe("6.10", "all_reduce keeps shape and dtype", weight=1, dtype=sampled_from(["float32", "int64"]), count=2)
def keeps(p: Program, dtype: str) -> Check:
    """Of a matrix whose size is no multiple of the number of processes."""
    arrays = [np.arange(5).reshape(5, 1).astype(dtype) + rank for rank in range(3)]
    found = network(p, 3).run(p.find(f"{MACHINES}:all_reduce"), [array(p, x) for x in arrays])
    first = p.find("operator:getitem")(found, 0)
    check_equal((yield [first.dtype.name]), [dtype], of="the dtype")
    check_equal((yield [first])[0], sum(arrays[1:], arrays[0]), of="the sum")


@probe(
    "6.10",
    "a process of all_reduce sends 2 (k - 1) messages of one chunk, all to the next process",
    weight=2,
    processes=integers(1, 5),
    size=integers(0, 12),
    count=10,
    examples=[(1, 3), (3, 7), (4, 2)],
)
def sends(p: Program, processes: int, size: int) -> Check:
    """Also of empty chunks."""
    made = network(p, processes)
    made.run(p.find(f"{MACHINES}:all_reduce"), [array(p, x) for x in drawn(1, processes, size)])
    (messages,) = yield [sent(p, made)]
    for source in range(processes):
        own = [each for each in messages if each[0] == source]
        check_equal(
            [each[1] for each in own], [(source + 1) % processes] * (2 * (processes - 1)), of=f"who gets messages of process {source}"
        )
        sizes = {np.size(each[2]) for each in own}
        check_equal(sorted(sizes - {size // processes, -(-size // processes)}), [], of="sizes of messages that are not those of a chunk")
    check_equal(sum(np.size(each[2]) for each in messages), 2 * (processes - 1) * size, of="the number of elements sent")


@probe("6.10", "sum_gradients sums all gradients with one all_reduce, and leaves constants out", weight=3, seed=seeds, count=5)
def sums_gradients(p: Program, seed: int) -> Check:
    """A gradient that is missing counts as zeros."""
    draw = rng(seed)
    weights, biases = numbers((2, 2, 3), draw), numbers((2, 3), draw)
    models = []
    for rank in range(2):
        model = p.find("minitorch:Module")()
        for name, trained in (("first", True), ("second", False)):
            layer = p.find("minitorch.language.layers:Linear")(2, 3, p.find("minitorch:SimpleBackend"))
            layer.bias.value.requires_grad_(trained)
            p.find("builtins:setattr")(model, name, layer)
        p.find("builtins:setattr")(model.first.weight.value, "grad", tensor(p, weights[rank]))
        if rank == 1:
            p.find("builtins:setattr")(model.first.bias.value, "grad", tensor(p, biases[1]))
        models.append(model)
    made = network(p, 2)
    made.run(p.find(f"{MACHINES}:sum_gradients"), models)
    asked = [x.value.grad for model in models for layer in (model.first, model.second) for x in (layer.weight, layer.bias)]
    found = yield [p.find("builtins:len")(made.messages), *asked]
    check_equal(found[0], 4, of="the number of messages of two processes")
    expected = [weights.sum(0), biases[1], np.zeros((2, 3)), None] * 2
    names = ["first.weight", "first.bias", "second.weight", "second.bias"] * 2
    for name, got, right in zip(names, found[1:], expected, strict=True):
        check_equal(got, right, EXACT, of=f"gradient of {name}")


@probe("6.10", "a pair is in the wave of its sum", weight=3, micro_batches=integers(1, 8), stages=integers(1, 8), examples=[(1, 1), (3, 2)])
def waves(p: Program, micro_batches: int, stages: int) -> Check:
    """In the order of the stages."""
    (got,) = yield [p.find(f"{MACHINES}:schedule")(micro_batches, stages)]
    pairs = [(m, s) for s in range(stages) for m in range(micro_batches)]
    check_equal(got, [[pair for pair in pairs if sum(pair) == number] for number in range(micro_batches + stages - 1)])


def loss(w: Weights, tokens: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean of -ln p of the three stages one after the other."""
    logits = linear(w, "2", linear(w, "1", w["0.weight"][tokens]))
    right = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return np.array((np.logaddexp.reduce(logits, axis=-1) - right).mean())


def run(p: Program, made: Value, w: Weights, parts: Sequence[Sequence[np.ndarray]]) -> tuple[Value, list[Value]]:
    """The losses of three processes, and their layers in the child."""
    backend = p.find("minitorch:SimpleBackend")
    layers = [p.find("minitorch.language.layers:Embedding")(4, 3, backend)]
    layers += [p.find("minitorch.language.layers:Linear")(*sizes, backend) for sizes in ((3, 3), (3, 4))]
    for number, layer in enumerate(layers):
        load(p, layer, {name[2:]: x for name, x in w.items() if name[0] == str(number)})
    given = [[[tensor(p, x) for x in part]] * 3 for part in parts]
    return made.run(p.find(f"{MACHINES}:pipeline_step"), layers, *given), layers


@probe(
    "6.10", "the gradients of a pipeline are those of the whole batch", weight=5, seed=seeds, cuts=sampled_from(CUTS), count=8,
    examples=[(1, (2, 1)), (2, (1, 3))],
)  # fmt: skip
def pipelines(p: Program, seed: int, cuts: tuple[int, ...]) -> Check:
    """For micro-batches of different sizes; process 2 returns the loss."""
    w, draw = draw_weights(SHAPES, seed), rng(seed)
    tokens, targets = (draw.integers(0, 4, (sum(cuts), 2)) for _ in range(2))
    losses, layers = run(p, network(p, 3), w, [np.split(x, np.cumsum(cuts)[:-1]) for x in (tokens, targets)])
    values = [getattr(layers[int(name[0])], name[2:]).value.grad for name in SHAPES]
    found = yield [losses, *values]
    check_equal([float(x) for x in found[0]], [0.0, 0.0, float(loss(w, tokens, targets))], CLOSE, of="the losses of the processes")
    for name, got in zip(SHAPES, found[1:], strict=True):
        slope = differences(lambda x, name=name: loss({**w, name: x}, tokens, targets), w[name], np.array(1.0))
        check_equal(got, slope, CLOSE, of=f"gradient of stage {name}")


@probe("6.10", "micro-batches go forward in order, and backward in the opposite order", weight=2)
def order(p: Program) -> Check:
    """As the sizes of the messages say."""
    made, parts = network(p, 3), [np.zeros((texts, 1), int) for texts in (1, 2, 3)]
    run(p, made, draw_weights(SHAPES, 0), [parts, parts])
    (messages,) = yield [sent(p, made)]
    sizes = [[[to, np.shape(x)[0]] for source, to, x in messages if source == rank] for rank in range(3)]
    forward, backward = [1, 2, 3], [3, 2, 1]
    check_equal(sizes[0], [[1, size] for size in forward], of="messages of process 0: to whom, and with how many texts")
    check_equal(
        sizes[1], [[2, s] for s in forward] + [[0, s] for s in backward], of="messages of process 1: to whom, and with how many texts"
    )
    check_equal(sizes[2], [[1, size] for size in backward], of="messages of process 2: to whom, and with how many texts")


@probe("6.10", "micro-batches without targets are refused", weight=1)
def refuses(p: Program) -> Check:
    """With a ValueError."""
    part = tensor(p, np.zeros((1, 1), int))
    yield from check_raises(network(p, 1).run(p.find(f"{MACHINES}:pipeline_step"), [None], [[part]], [[]]), "ValueError")
