"""Functions of minitorch.torch.nn.functional against PyTorch's: the same values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from tests.torch_face.test_nn_layers import check_close, convert, flat, floats, indices

theirs = pytest.importorskip("torch", reason="compares with PyTorch")

ROWS, THIRDS = floats(6, 4), floats(6, 4, seed=2)
IMAGES, LABELS = floats(2, 4, 6, 5), indices(4, 6)

CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("softmax", lambda F, torch, x: F.softmax(x, dim=0, dtype=torch.float64), (ROWS,)),
    ("log_softmax", lambda F, torch, x: F.log_softmax(x, 1), (ROWS,)),
    ("softmax of no dimensions", lambda F, torch, x: F.softmax(x, 0), (floats(),)),
    ("normalize", lambda F, torch, x: F.normalize(x, dim=1), (ROWS,)),
    ("normalize of zeros", lambda F, torch, x: F.normalize(x), (np.zeros((2, 3), np.float32),)),
    ("normalize, p=1", lambda F, torch, x: F.normalize(x, p=1.0, dim=0), (ROWS,)),
    ("cosine_similarity", lambda F, torch, x, y: F.cosine_similarity(x, y, dim=-1), (ROWS, THIRDS)),
    ("pairwise_distance", lambda F, torch, *x: F.pairwise_distance(*x), (ROWS, THIRDS)),
    ("one_hot", lambda F, torch, x: F.one_hot(x, num_classes=5), (LABELS,)),
    ("one_hot, own number", lambda F, torch, *x: F.one_hot(*x), (LABELS,)),
    ("linear", lambda F, torch, *x: F.linear(*x), (ROWS, floats(3, 4), floats(3))),
    ("embedding", lambda F, torch, i, w: F.embedding(i, w, padding_idx=1), (LABELS, floats(4, 3))),
    ("prelu", lambda F, torch, *x: F.prelu(*x), (ROWS, floats(4))),
    ("glu", lambda F, torch, *x: F.glu(*x), (ROWS,)),
    ("leaky_relu", lambda F, torch, x: F.leaky_relu(x, 0.3), (ROWS,)),
    ("gelu", lambda F, torch, x: F.gelu(x, approximate="tanh"), (ROWS,)),
    ("bilinear", lambda F, torch, *x: F.bilinear(*x), (ROWS, floats(6, 3), floats(2, 4, 3), floats(2))),
]  # fmt: skip


def compare(mine: Callable[..., Any], other: Callable[..., Any], inputs: tuple[Any, ...], name: str) -> None:
    """Compare value and gradients of a function with PyTorch's."""
    a, b = convert(ours, inputs), convert(theirs, inputs)
    outputs, expected = flat(mine(*a)), flat(other(*b))
    assert len(outputs) == len(expected)
    for x, y in zip(outputs, expected, strict=True):
        check_close(x, y, name)
    if not expected[0].requires_grad:
        return
    weights = [floats(*y.shape, seed=9) for y in expected]
    sum((x * ours.from_numpy(w)).sum() for x, w in zip(outputs, weights, strict=True)).backward()
    sum((y * theirs.from_numpy(w)).sum() for y, w in zip(expected, weights, strict=True)).backward()
    for x, y in zip(a, b, strict=True):
        if y.grad is not None:
            check_close(x.grad, y.grad, f"gradient of {name}")


@pytest.mark.parametrize(("name", "make", "inputs"), CASES, ids=[name for name, _, _ in CASES])
def test_a_function_computes_what_pytorch_s_does(name: str, make: Any, inputs: tuple[Any, ...]) -> None:
    compare(*[lambda *x, torch=torch: make(torch.nn.functional, torch, *x) for torch in (ours, theirs)], inputs, name)
