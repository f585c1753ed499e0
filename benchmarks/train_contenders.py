"""The networks for images in `benchmarks.train`, ours and PyTorch's: training steps from the same weights on the same data.

As a program, this is the process of one library, also for the networks of `benchmarks.point_contenders` and `benchmarks.resnet_contenders`.
For the name of a network, it prepares that network; for a number, it runs that many steps and answers "seconds loss loss …"; for "memory",
it answers with the peak memory in bytes since before the first network, minus the memory that it used then; for "arrays", with the bytes
of its arrays between two steps plus the most that a step adds, which is known only with PYTHONTRACEMALLOC=1.
"""

from __future__ import annotations

import functools
import gc
import os
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import point_contenders, resnet_contenders

RATE = 0.05

SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "lenet": {
        "conv1": (6, 1, 5, 5), "conv1_bias": (6,), "conv2": (16, 6, 5, 5), "conv2_bias": (16,),
        "linear1": (400, 120), "bias1": (120,), "linear2": (120, 84), "bias2": (84,), "linear3": (84, 10), "bias3": (10,),
    },
    "published": {
        "conv1": (4, 1, 3, 3), "conv1_bias": (4, 1, 1), "conv2": (8, 4, 3, 3), "conv2_bias": (8, 1, 1),
        "linear1": (392, 64), "bias1": (64,), "linear2": (64, 10), "bias2": (10,),
    },
    "mlp": {
        "linear1": (784, 256), "bias1": (256,), "linear2": (256, 256), "bias2": (256,), "linear3": (256, 10), "bias3": (10,),
    },
}  # fmt: skip
"""The parameters of each network, by name, in the order in which they are used."""

BATCH = {"lenet": 16, "published": 16, "mlp": 128}
"""Images per step."""


def weights(network: str) -> dict[str, np.ndarray]:
    """The initial parameters of a network, normal with variance 2 / fan_in; biases are 0."""
    random = np.random.default_rng(0)
    made = {}
    for name, shape in SHAPES[network].items():
        fan_in = np.prod(shape[1:]) if "conv" in name else shape[0]
        values = np.zeros(shape) if "bias" in name else random.standard_normal(shape) * (2 / fan_in) ** 0.5
        made[name] = values.astype(np.float32)
    return made


def batches(network: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images and labels, always the same in the same order: noise around one pattern for each of ten classes."""
    random = np.random.default_rng(1)
    patterns = random.standard_normal((10, 1, 28, 28))
    while True:
        labels = random.integers(0, 10, BATCH[network])
        yield (patterns[labels] + random.standard_normal((len(labels), 1, 28, 28))).astype(np.float32), labels


def as_it_is(function: Any) -> Any:
    """The function itself: what is compared with compiled ones."""
    return function


def of_minitorch(network: str, compiled: Callable[[Any], Any] = as_it_is) -> Callable[[np.ndarray, np.ndarray], float]:
    """A training step in our library: forward, backward, optimizer; returns the loss. `compiled` makes what is called of the step."""
    import minitorch
    from minitorch import FastBackend, Parameter, from_numpy, nn

    class Weights(minitorch.Module):
        """The parameters, by name."""

        def __init__(self) -> None:
            super().__init__()
            for name, values in weights(network).items():
                setattr(self, name, Parameter(from_numpy(values.copy(), backend=FastBackend)))

        def values(self) -> list[Any]:
            """The tensors, in order."""
            return [parameter.value for parameter in self.parameters()]

    def lenet(x: Any, w: list[Any]) -> Any:
        x = nn.max_pool2d(nn.conv2d(x, w[0], w[1], padding=2).relu(), 2)
        x = nn.max_pool2d(nn.conv2d(x, w[2], w[3]).relu(), 2)
        return mlp(x.view(x.shape[0], 400), w[4:])

    def published(x: Any, w: list[Any]) -> Any:
        x = (minitorch.conv2d(x, w[0]) + w[1]).relu()
        x = (minitorch.conv2d(x, w[2]) + w[3]).relu()
        return mlp(minitorch.avgpool2d(x, (4, 4)).view(x.shape[0], 392), w[4:])

    def mlp(x: Any, w: list[Any]) -> Any:
        x = x.view(x.shape[0], w[0].shape[0])
        for matrix, bias in zip(w[:-2:2], w[1:-2:2], strict=True):
            x = nn.bias_relu(x @ matrix, bias)
        return x @ w[-2] + w[-1]

    forward = {"lenet": lenet, "published": published, "mlp": mlp}[network]
    module = Weights()
    optimizer = minitorch.SGD(module.parameters(), RATE)

    def learn(images: Any, labels: Any) -> Any:
        loss = nn.cross_entropy(forward(images, module.values()), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    learn = compiled(learn)

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        return learn(from_numpy(images, backend=FastBackend), from_numpy(labels, backend=FastBackend)).item()

    return step


def of_torch(network: str, compiled: Callable[[Any], Any] = as_it_is) -> Callable[[np.ndarray, np.ndarray], float]:
    """A training step in PyTorch; `compiled` makes what is called of the function that computes the loss."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    w = [torch.from_numpy(values.copy()).requires_grad_() for values in weights(network).values()]

    def lenet(x: Any) -> Any:
        x = F.max_pool2d(F.conv2d(x, w[0], w[1], padding=2).relu(), 2)
        x = F.max_pool2d(F.conv2d(x, w[2], w[3]).relu(), 2)
        return mlp(x, w[4:])

    def published(x: Any) -> Any:
        for weight, bias in ((w[0], w[1]), (w[2], w[3])):
            x = F.conv2d(F.pad(x, (0, 2, 0, 2)), weight, bias.view(-1)).relu()  # a window anchored at the left and the top
        return mlp(F.avg_pool2d(x, 4), w[4:])

    def mlp(x: Any, w: list[Any] = w) -> Any:
        x = x.flatten(1)
        for matrix, bias in zip(w[:-2:2], w[1:-2:2], strict=True):
            x = torch.addmm(bias, x, matrix).relu()
        return torch.addmm(w[-1], x, w[-2])

    forward = {"lenet": lenet, "published": published, "mlp": mlp}[network]
    optimizer = torch.optim.SGD(w, RATE)

    loss_of = compiled(lambda images, labels: F.cross_entropy(forward(images), labels))

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        loss = loss_of(torch.from_numpy(images), torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


LIBRARIES: dict[str, Callable[[str], Callable[..., float]]] = {"minitorch": of_minitorch, "torch": of_torch}


def prepared(library: str, network: str) -> tuple[Callable[..., float], Iterator[tuple[Any, ...]]]:
    """A library's step of a network, and an iterator over its arguments."""
    for others in (point_contenders, resnet_contenders):
        if network in others.NETWORKS:
            return others.LIBRARIES[library](network), others.batches(network)
    return LIBRARIES[library](network), batches(network)


def peak() -> int:
    """The peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def arrays() -> int:
    """The bytes of all arrays of this process."""
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    return sum(trace.size for trace in found.traces)


def added(call: Callable[[], Any]) -> int:
    """The bytes that a call has allocated at once, at most."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    call()
    return tracemalloc.get_traced_memory()[1] - before


def work(library: str, prepare: Callable[[str], tuple[Callable[..., float], Iterator[tuple[Any, ...]]]]) -> None:
    """The main loop of one library's process; `prepare` makes the step of a network and its arguments."""
    __import__(library)
    before, arrays_before = peak(), arrays() if tracemalloc.is_tracing() else 0
    step, data = None, iter(())
    print("ready", flush=True)
    for line in sys.stdin:
        asked = line.strip()
        if asked == "memory":
            print(peak() - before, flush=True)
        elif asked == "arrays":
            assert step is not None
            given = [next(data)]  # and no longer those of the steps before
            print(arrays() - arrays_before + added(functools.partial(step, *given[0])), flush=True)
        elif not asked.isdigit():
            step, data = prepare(asked)
            print("ready", flush=True)
        else:
            assert step is not None
            given = [next(data) for _ in range(int(asked))]
            start = time.perf_counter()
            losses = [step(*batch) for batch in given]
            print(time.perf_counter() - start, *losses, flush=True)


if __name__ == "__main__":
    work(sys.argv[1], lambda network: prepared(sys.argv[1], network))
