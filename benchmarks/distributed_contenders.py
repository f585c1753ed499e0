"""One process of `benchmarks.distributed`: times messages and training steps, and prints them as lines of JSON on rank 0.

Usage: distributed_contenders.py REPEATS NETWORK…
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minitorch
from minitorch import FastBackend, distributed, models, nn
from minitorch.nn.parallel import DistributedDataParallel
from project.lab.language_model import make_model

SMALL, LARGE = 8, 8 * 2**20
"""Bytes of the messages from which latency and bandwidth are computed."""

ROUNDS = {SMALL: 50, LARGE: 1}
"""Messages in one measurement."""


class Network(NamedTuple):
    """A network of the course.

    Attributes:
        make: Creates it, in float32.
        shape: Shape of an input.
        tokens: Number of tokens if the inputs are integers, else 0.
        batch: Inputs in a batch.
    """

    make: Callable[[], Any]
    shape: tuple[int, ...]
    tokens: int
    batch: int


def _published() -> Any:
    from project.run_mnist_multiclass import Network as Published

    network = Published()
    for parameter in network.parameters():
        parameter.update(parameter.value.detach().to("float32"))
    return network


NETWORKS = {
    "published": Network(_published, (1, 28, 28), 0, 32),
    "lenet": Network(lambda: models.lenet(device=FastBackend, dtype="float32"), (1, 28, 28), 0, 32),
    "mlp": Network(lambda: models.mlp([784, 256, 256, 10], device=FastBackend, dtype="float32"), (784,), 0, 128),
    "gpt": Network(lambda: make_model(96, {"context": 64, "layers": 4, "heads": 4, "width": 64}), (64,), 96, 8),
}
"""The networks by name."""


def parameters(name: str) -> int:
    """Number of parameters of a network."""
    return sum(parameter.value.numel() for parameter in NETWORKS[name].make().parameters())


def make_step(name: str, batch: int, averaged: bool) -> Callable[[], None]:
    """A training step on a batch of this process.

    Args:
        name: Name of the network.
        batch: Number of examples.
        averaged: Whether the gradients are averaged over the processes.
    """
    made = NETWORKS[name]
    random = np.random.default_rng(distributed.get_rank())
    minitorch.manual_seed(0)
    network = made.make()
    parallel = DistributedDataParallel(network) if averaged else network
    optimizer = minitorch.SGD(network.parameters(), 0.01)
    values = random.integers(0, made.tokens, (batch, *made.shape)) if made.tokens else random.random((batch, *made.shape), np.float32)
    labels = random.integers(0, 10, (batch, *made.shape) if made.tokens else batch)
    x, y = minitorch.from_numpy(values, backend=FastBackend), minitorch.from_numpy(labels.reshape(-1), backend=FastBackend)

    def step() -> None:
        optimizer.zero_grad()
        logits = parallel(x)
        nn.cross_entropy(logits.view(len(labels.reshape(-1)), logits.shape[-1]), y).backward()
        optimizer.step()

    return step


def seconds_of(action: Callable[[], object], rounds: int, repeats: int) -> float:
    """Seconds of one call, the least of several measurements of some rounds that all processes begin together.

    The least, because other programs can only lengthen a measurement, and two processes are disturbed more often than one.
    """
    action()
    found = []
    for _ in range(repeats):
        distributed.barrier()
        begun = time.perf_counter()
        for _ in range(rounds):
            action()
        found.append((time.perf_counter() - begun) / rounds)
    return min(found)


def main(repeats: int, names: list[str]) -> None:
    """Time messages, and for each network a step on a whole and on half a batch in every process, with and without averaging."""
    distributed.init_process_group()
    results: dict[str, Any] = {}
    if distributed.get_world_size() > 1:
        for size in (SMALL, LARGE):
            numbers = minitorch.zeros((size // 8,), FastBackend)
            results[str(size)] = seconds_of(lambda numbers=numbers: distributed.all_reduce(numbers), ROUNDS[size], repeats)
    for name in names:
        batch = NETWORKS[name].batch
        for averaged in (False, True):
            label = f"{name} averaged" if averaged else name
            results[label] = {count: seconds_of(make_step(name, count, averaged), 1, repeats) for count in (batch, batch // 2)}
    if distributed.get_rank() == 0:
        print(json.dumps(results))
    distributed.destroy_process_group()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose course.py would hide the package of that name
    main(int(sys.argv[1]), sys.argv[2:])
