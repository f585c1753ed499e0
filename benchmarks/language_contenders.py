"""What `benchmarks.language` measures in each library: attention forward and backward, ours in tiles and composed, and PyTorch's; and the
product of a vector with a matrix of int8, and with one of float32 in the library and in NumPy.

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


def integers(name: str) -> list[np.ndarray]:
    """A vector, as a matrix of one row, and the rows of a matrix, both of int8, for a name such as "int8 512"."""
    width = int(name.split()[1])
    random = np.random.default_rng(0)
    return [random.integers(-127, 128, (rows, width)).astype(np.int8) for rows in (1, width)]


def of_int8(name: str) -> Run:
    """The product of whole numbers."""
    from minitorch.language.quantization import int_product

    x, weight = integers(name)
    out = np.empty((1, len(weight)), np.int32)

    def run() -> Any:
        int_product(out, x, weight)
        return out

    return run


def of_float32(name: str) -> Run | None:
    """The same product of float32 in our library, with the weight as `Linear` stores it."""
    if not name.startswith("int8"):
        return None
    from minitorch import FastBackend, from_numpy

    x, weight = (
        from_numpy(np.ascontiguousarray(array, np.float32), backend=FastBackend) for array in (integers(name)[0], integers(name)[1].T)
    )
    return lambda: x @ weight


def of_numpy(name: str) -> Run | None:
    """The same product of float32 in NumPy."""
    if not name.startswith("int8"):
        return None
    x, weight = (array.astype(np.float32) for array in integers(name))
    out = np.empty(len(weight), np.float32)
    return lambda: np.matmul(weight, x[0], out=out)


def of_minitorch(name: str) -> Run:
    """A row in our library."""
    if name.startswith("int8"):
        return of_int8(name)
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import scaled_dot_product_attention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=is_causal), inputs, gradient)


def of_composed(name: str) -> Run | None:
    """A row in our library, composed of products and softmax."""
    if name.startswith("int8"):
        return None
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import FusedAttention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: FusedAttention.composed(q, k, v, None, is_causal, SIZE**-0.5), inputs, gradient)


def of_torch(name: str) -> Run | None:
    """A row in PyTorch."""
    if name.startswith("int8"):
        return None
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    is_causal, given = arrays(name)
    *inputs, gradient = map(torch.from_numpy, given)
    attention = torch.nn.functional.scaled_dot_product_attention
    return both(lambda q, k, v: attention(q, k, v, is_causal=is_causal), inputs, gradient)


LIBRARIES: dict[str, Callable[[str], Run | None]] = {
    "minitorch": of_minitorch, "torch": of_torch, "composed": of_composed, "float32": of_float32, "numpy": of_numpy,
}  # fmt: skip


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
