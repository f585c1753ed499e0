"""The articles that build ResNet by hand: shapes and parameter counts of five networks, outputs equal to PyTorch's, and training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import minitorch
from minitorch import FastBackend, float32, tensor
from minitorch.data import Digits
from minitorch.models import resnet18, resnet34, resnet50, resnet101, resnet152
from minitorch.nn import cross_entropy
from project.reproductions.results import Row, at_least, at_most, equal, not_run, reproduction
from project.reproductions.torch_resnet import torch_resnet

PARAMETERS: dict[Callable[..., Any], int] = {
    resnet18: 11_689_512,
    resnet34: 21_797_672,
    resnet50: 25_557_032,
    resnet101: 44_549_160,
    resnet152: 60_192_808,
}
"""For 1,000 classes, as given on torchvision's pages."""


@reproduction("resnet", "The ResNet articles: 18, 34, 50, 101 and 152 layers by hand")
def resnets() -> Iterator[Row]:
    """Counts and shapes, equality with PyTorch, and a batch that a network memorizes."""
    for make, count in PARAMETERS.items():
        model = make(device=FastBackend, dtype=float32)
        yield equal(f"{make.__name__}, parameters", f"{count:,}", f"{sum(each.numel() for each in model.parameters()):,}")
        if make in (resnet18, resnet50):
            x = tensor(np.random.default_rng(0).standard_normal((2, 3, 64, 64)), FastBackend, dtype=float32)
            with minitorch.no_grad():
                yield equal(f"{make.__name__}, shape of 2 outputs", (2, 1000), model.eval()(x).shape)
            yield from _beside_torch(make, model, x)
    yield at_least("resnet18 memorizes 16 digits", "overfits a batch", 100 * _learned(), 100.0, " %")


def _beside_torch(make: Callable[..., Any], model: Any, x: minitorch.Tensor) -> Iterator[Row]:
    """Compare the outputs with those of a network of PyTorch's layers that has the same weights."""
    what = f"{make.__name__}, difference from PyTorch's outputs"
    if find_spec("torch") is None:
        yield not_run(what, "at most 1e-4", "PyTorch is not installed: pip install -r requirements.torch.txt")
        return
    import torch  # type: ignore[import-not-found]

    torch.manual_seed(0)
    theirs = torch_resnet(make is resnet50, [3, 4, 6, 3] if make is resnet50 else [2, 2, 2, 2]).eval()
    model.load_state_dict(theirs.state_dict())
    with minitorch.no_grad(), torch.no_grad():
        ours, expected = model.eval()(x).to_numpy(), theirs(torch.from_numpy(x.to_numpy())).numpy()
    yield at_most(what, "at most 1e-4", float(np.abs(ours - expected).max() / np.abs(expected).max()), 1e-4)


def _learned(steps: int = 25) -> float:
    """Train on 16 digits, enlarged four times, and return the accuracy on them."""
    digits = Digits()
    images = np.repeat(np.repeat(digits.images[:16], 4, 2), 4, 3).repeat(3, 1)
    x, y = tensor(images, FastBackend, dtype=float32), tensor(digits.labels[:16], FastBackend)
    minitorch.manual_seed(0)
    model = resnet18(num_classes=10, device=FastBackend, dtype=float32)
    optimizer = minitorch.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for _ in range(steps):
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with minitorch.no_grad():
        return float((model(x).to_numpy().argmax(1) == digits.labels[:16]).mean())
