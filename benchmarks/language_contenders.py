"""What `benchmarks.language` measures in each library: attention forward and backward, ours in tiles and composed, and PyTorch's; the
product of a vector with a matrix of int8, and with one of float32 in the library and in NumPy; attention of Tasks 6.5 and 6.3; a training
step and generation.

As a program, this is the process of one library; see `benchmarks.contenders`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import compiled_contenders
from benchmarks.contenders import Run, work

HEADS, SIZE = 8, 64

SIZES = compiled_contenders.GPTS["language model"]

MODEL_ROWS = ("step", "generate")
"""The rows of the language model."""


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


PROMPT, NEW = 8, 100
"""The numbers of tokens that generation begins with, and that it adds."""


def step(form: str) -> Run:
    """A training step of the language model in a form of `benchmarks.compiled_contenders`."""
    function, batches = compiled_contenders.prepared(form, "language model")
    for _ in range(3):  # those of ours are recorded, checked and fused
        function(*next(batches))
    return lambda: function(*next(batches))


def generation() -> Run:
    """Generation with our cache, of a model with random weights."""
    from minitorch.language import generate
    from project.lab.language_model import make_model

    model = make_model(SIZES.vocabulary, SIZES._asdict())
    return lambda: list(generate(model, range(PROMPT), NEW))


def generation_of_torch() -> Run:
    """The same in PyTorch: the same architecture, and a cache whose memory is taken once."""
    import torch
    from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

    vocabulary, context, layers, heads, width, _ = SIZES
    size = width // heads
    table, positions, *others = (torch.randn(rows, width) * 0.02 for rows in (vocabulary, context, *[3 * width, width, 4 * width] * layers))
    out, one, zero = [torch.randn(width, 4 * width) * 0.02 for _ in range(layers)], torch.ones(width), torch.zeros(4 * width)

    def logits(tokens: list[int], start: int, caches: list[Any]) -> Any:
        x = table[torch.tensor(tokens)] + positions[start : start + len(tokens)]
        for number, (keys, values) in enumerate(caches):
            inner, merge, up = others[3 * number : 3 * number + 3]
            parts = linear(layer_norm(x, (width,), one, zero[:width]), inner, zero[: 3 * width])
            query, key, value = parts.view(len(tokens), 3, heads, size).permute(1, 2, 0, 3)
            keys[:, start : start + len(tokens)], values[:, start : start + len(tokens)] = key, value
            end = start + len(tokens)
            attended = scaled_dot_product_attention(query, keys[:, :end], values[:, :end], is_causal=len(tokens) > 1)
            x = x + linear(attended.transpose(0, 1).reshape(len(tokens), width), merge, zero[:width])
            hidden = gelu(linear(layer_norm(x, (width,), one, zero[:width]), up, zero), approximate="tanh")
            x = x + linear(hidden, out[number], zero[:width])
        return linear(layer_norm(x[-1], (width,), one, zero[:width]), table)

    @torch.inference_mode()
    def run() -> list[int]:
        caches = [(torch.zeros(heads, context, size), torch.zeros(heads, context, size)) for _ in range(layers)]
        new, start, made = list(range(PROMPT)), 0, []
        for _ in range(NEW):
            chances = torch.softmax(logits(new, start, caches), 0)
            start += len(new)
            new = [int(torch.multinomial(chances, 1))]
            made += new
        return made

    return run


def of_task(name: str) -> Run:
    """Attention as students write it: fused in Task 6.5."""
    from minitorch import FastBackend, from_numpy
    from minitorch.language.fused_attention import fused_attention

    _, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: fused_attention(q, k, v, causal=True), inputs, gradient)


def of_textbook(name: str) -> Run | None:
    """The same composed of operations, as in Task 6.3, on the textbook kernels of Module 3."""
    if not name.startswith("task"):
        return None
    import minitorch
    from minitorch.fast_ops import FastOps
    from minitorch.language.attention import attention, causal_mask

    FastOps.optimized = False
    backend = minitorch.TensorBackend(FastOps)
    _, given = arrays(name)
    *inputs, gradient = (minitorch.from_numpy(array, backend=backend) for array in given)
    return both(lambda q, k, v: attention(q, k, v, causal_mask(q.shape[2], k.shape[2], backend)), inputs, gradient)


def of_minitorch(name: str) -> Run:
    """A row in our library."""
    if name.startswith("task"):
        return of_task(name)
    if name.startswith("int8"):
        return of_int8(name)
    if name in MODEL_ROWS:
        return step("minitorch.compiled") if name == "step" else generation()
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import scaled_dot_product_attention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=is_causal), inputs, gradient)


def of_composed(name: str) -> Run | None:
    """A row in our library, composed of products and softmax."""
    if name.startswith(("int8", "task")) or name in MODEL_ROWS:
        return None
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.attention import FusedAttention

    is_causal, given = arrays(name)
    *inputs, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    return both(lambda q, k, v: FusedAttention.composed(q, k, v, None, is_causal, SIZE**-0.5), inputs, gradient)


def of_torch(name: str) -> Run | None:
    """A row in PyTorch."""
    if name.startswith(("int8", "task")):
        return None
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if name in MODEL_ROWS:
        return step("torch") if name == "step" else generation_of_torch()
    is_causal, given = arrays(name)
    *inputs, gradient = map(torch.from_numpy, given)
    attention = torch.nn.functional.scaled_dot_product_attention
    return both(lambda q, k, v: attention(q, k, v, is_causal=is_causal), inputs, gradient)


def of_compiled_torch(name: str) -> Run | None:
    """A row with `torch.compile`."""
    return step("torch.compiled") if name == "step" else None


LIBRARIES: dict[str, Callable[[str], Run | None]] = {
    "minitorch": of_minitorch, "torch": of_torch, "torch.compile": of_compiled_torch, "composed": of_composed, "float32": of_float32,
    "numpy": of_numpy, "textbook": of_textbook,
}  # fmt: skip


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
