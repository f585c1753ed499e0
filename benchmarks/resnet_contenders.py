"""ResNet-18 in `benchmarks.train`, ours and PyTorch's: a forward pass in evaluation mode, with the same weights and images."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

import numpy as np

NETWORKS = {"resnet18": 18}
"""The number of layers of each network."""

IMAGES = (8, 3, 64, 64)


def weights(shapes: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, np.ndarray]:
    """Values for a state_dict, whose names are the same in both libraries: normal with variance 2 / fan_in, scales about 1."""
    random, made = np.random.default_rng(0), {}
    for name, shape in sorted(shapes):
        if name.endswith("num_batches_tracked"):
            values = np.zeros(shape, np.int64)
        elif len(shape) > 1:
            values = random.standard_normal(shape, np.float32) * np.float32((2 / np.prod(shape[1:])) ** 0.5)
        elif name.endswith(("weight", "var")):
            values = random.uniform(0.5, 1.5, shape).astype(np.float32)
        else:
            values = random.uniform(-0.1, 0.1, shape).astype(np.float32)
        made[name] = values
    return made


def batches(network: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images and labels, always the same."""
    random = np.random.default_rng(1)
    return repeat((random.standard_normal(IMAGES, np.float32), random.integers(0, 1000, IMAGES[0])))


def of_minitorch(network: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """A forward pass in our library; returns the loss."""
    from minitorch import FastBackend, from_numpy, nn, no_grad
    from minitorch.models import resnet18

    model = resnet18(device=FastBackend, dtype="float32")
    model.load_state_dict(weights((name, values.shape) for name, values in model.state_dict().items()))
    model.eval()

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        with no_grad():
            logits = model(from_numpy(images, backend=FastBackend))
            return nn.cross_entropy(logits, from_numpy(labels, backend=FastBackend)).item()

    return step


def of_torch(network: str) -> Callable[[np.ndarray, np.ndarray], float]:
    """A forward pass in PyTorch; returns the loss."""
    import torch
    import torch.nn.functional as F

    from project.reproductions.torch_resnet import torch_resnet

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    model = torch_resnet(False, [2, 2, 2, 2])
    made = weights((name, tuple(values.shape)) for name, values in model.state_dict().items())
    model.load_state_dict({name: torch.from_numpy(values) for name, values in made.items()})
    model.eval()

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        with torch.no_grad():
            return F.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels)).item()

    return step


LIBRARIES: dict[str, Callable[[str], Callable[..., float]]] = {"minitorch": of_minitorch, "torch": of_torch}
