"""What `benchmarks.language` measures in each library: attention forward and backward, ours in tiles and composed, and PyTorch's.

As a program, this is the process of one library; see `benchmarks.contenders`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import Run, work

HEADS, SIZE = 8, 64


def arrays(name: str) -> tuple[bool, list[np.ndarray]]:
    """Whether a row is causal, and its queries, keys, values and gradient of the result.

    Args:
        name: Kind and length, as in "causal 512".
    """
    kind, length = name.split()
    random = np.random.default_rng(0)
    return kind == "causal", [random.standard_normal((1, HEADS, int(length), SIZE)).astype(np.float32) for _ in range(4)]


def both(attention: Callable[..., Any], inputs: list[Any], gradient: Any) -> Run:
    """Attention and its gradients."""
    for x in inputs:
        x.requires_grad_()

    def run() -> Any:
        out = attention(*inputs)
        out.backward(gradient)
        grads = [x.grad for x in inputs]
        for x in inputs:
            x.grad = None
        return out, grads

    return run


def of_minitorch(name: str) -> Run:
    """A row in our library."""
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import scaled_dot_product_attention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=is_causal), inputs, gradient)


def of_composed(name: str) -> Run:
    """A row in our library, composed of products and softmax."""
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import FusedAttention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: FusedAttention.composed(q, k, v, None, is_causal, SIZE**-0.5), inputs, gradient)


def of_torch(name: str) -> Run:
    """A row in PyTorch."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    is_causal, given = arrays(name)
    *inputs, gradient = map(torch.from_numpy, given)
    attention = torch.nn.functional.scaled_dot_product_attention
    return both(lambda q, k, v: attention(q, k, v, is_causal=is_causal), inputs, gradient)


LIBRARIES: dict[str, Callable[[str], Run]] = {"minitorch": of_minitorch, "torch": of_torch, "composed": of_composed}


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
