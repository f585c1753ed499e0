"""Custom operators: two layers with their own forward and backward kernels, checked and then timed against the built-in ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numba import prange

import minitorch
import minitorch.torch as torch
from minitorch import FastBackend, Function, Tensor, from_numpy, grad_check, tensor
from minitorch.kernels.cuda.device import available, blocks_for, cuda, device_name, jit, launch
from minitorch.kernels.cuda.storage import DeviceData
from minitorch.kernels.jit import IN_ANY_ORDER, code_key, compiler_is_off, jitable, parallel, serial, threads
from minitorch.kernels.jit import launch as launch_on_cpu
from minitorch.kernels.vector_math import sigmoid
from minitorch.nn import Linear, Module, Parameter, ReLU, Sequential, cross_entropy, linear, silu
from project.lab.explorers.contest import HEAD, Contest, training_step
from project.lab.training import command_line

PROGRAM = "custom_op.py"

EQUAL = {"float32": 1e-4, "float64": 1e-9}
"""The largest relative difference at which two losses count as equal."""

THREADS = 256
"""Threads per block on the GPU."""


# 1. Kernels: loops over arrays, compiled at their first call and cached on disk until their source changes


@cache
def linear_kernels() -> tuple[Any, ...]:
    """Return kernels for x @ weight.t() + bias and its gradients, which process x row by row."""

    def forward(out, x, weight, bias):
        for i in range(x.shape[0]):
            for o in range(weight.shape[0]):
                total = bias[o]
                for k in range(x.shape[1]):  # both rows are contiguous, so the compiler vectorizes the loop
                    total += x[i, k] * weight[o, k]
                out[i, o] = total

    @serial
    def by_input(grad_x, weight, grad_output):
        for i in range(grad_x.shape[0]):
            for o in range(weight.shape[0]):
                for k in range(weight.shape[1]):
                    grad_x[i, k] += grad_output[i, o] * weight[o, k]

    @serial
    def by_weight(grad_weight, grad_bias, x, grad_output):
        for i in range(x.shape[0]):
            for o in range(grad_weight.shape[0]):
                grad_bias[o] += grad_output[i, o]
                for k in range(x.shape[1]):
                    grad_weight[o, k] += grad_output[i, o] * x[i, k]

    return serial(forward, IN_ANY_ORDER), by_input, by_weight


@cache
def bias_silu_kernels() -> tuple[Any, ...]:
    """Return kernels for z · sigmoid(z) with z = x + bias, and its gradients, each in one pass; threads share the columns."""
    key = code_key(sigmoid, values_of_row, gradients_of_row)  # numba would not notice a change in a function that the kernel calls

    @parallel
    def forward(out, x, bias, parts):
        _ = key
        for part in prange(parts):
            mine = slice(np.int64(part) * x.shape[1] // parts, (np.int64(part) + 1) * x.shape[1] // parts)
            for i in range(x.shape[0]):
                values_of_row(out[i, mine], x[i, mine], bias[mine])

    @parallel
    def backward(grad_x, grad_bias, x, bias, grad_output, parts):
        _ = key
        for part in prange(parts):  # if threads shared the rows instead, all of them would add to the same elements of grad_bias
            mine = slice(np.int64(part) * x.shape[1] // parts, (np.int64(part) + 1) * x.shape[1] // parts)
            for i in range(x.shape[0]):
                gradients_of_row(grad_x[i, mine], grad_bias[mine], x[i, mine], bias[mine], grad_output[i, mine])

    return forward, backward


@jitable
def values_of_row(out, x, bias):
    """Compute z · sigmoid(z) for a part of one row."""
    for j in range(len(x)):
        z = x[j] + bias[j]
        out[j] = z * sigmoid(z)


@jitable
def gradients_of_row(grad_x, grad_bias, x, bias, grad_output):
    """Compute the gradients for a part of one row; that of bias is added to the values in its array."""
    one = x.dtype.type(1)  # a plain 1 would turn float32 into float64
    for j in range(len(x)):
        z = x[j] + bias[j]
        s = sigmoid(z)
        d = grad_output[j] * s * (one + z * (one - s))
        grad_x[j] = d
        grad_bias[j] += d


@cache
def gpu_kernels() -> tuple[Any, ...]:
    """Return the same kernels for the GPU, one element per thread; autograd sums the gradient of x to get that of bias."""
    return jit(gpu_forward), jit(gpu_backward)


def gpu_forward(out, x, bias, size, columns, one):
    """Compute the values."""
    i = cuda.grid(1)
    if i < size:
        z = x[i] + bias[i % columns]
        out[i] = z / (one + math.exp(-z))


def gpu_backward(grad_x, x, bias, grad_output, size, columns, one):
    """Compute the gradients."""
    i = cuda.grid(1)
    if i < size:
        z = x[i] + bias[i % columns]
        s = one / (one + math.exp(-z))
        grad_x[i] = grad_output[i] * s * (one + z * (one - s))


# 2. Functions: forward and backward side by side


def array(x: Tensor) -> np.ndarray:
    """Return the elements of a tensor as a contiguous array, for a kernel."""
    return x.detach().contiguous().numpy()


class LinearFunction(Function):
    """x @ weight.t() + bias; bias may be None."""

    composed = staticmethod(linear)  # the same, built from the library's operations; second derivatives are computed through it

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Shapes (N, in_features), (out_features, in_features) and (out_features,) to (N, out_features)."""
        ctx.save_for_backward(x, weight)
        out = np.empty((x.shape[0], weight.shape[0]), x.dtype)
        linear_kernels()[0](out, array(x), array(weight), np.zeros(weight.shape[0], x.dtype) if bias is None else array(bias))
        return from_numpy(out, x.backend)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """Return a gradient for each argument, None if it is not needed or if there is no bias."""
        x, weight = ctx.saved_values
        _, by_input, by_weight = linear_kernels()
        grads = [np.zeros(shape, x.dtype) for shape in (x.shape, weight.shape, weight.shape[:1])]
        wanted = ctx.needs_input_grad
        if wanted[0]:
            by_input(grads[0], array(weight), array(grad_output))
        if wanted[1] or wanted[2]:
            by_weight(grads[1], grads[2], array(x), array(grad_output))
        return tuple(from_numpy(grad, x.backend) if needed else None for grad, needed in zip(grads, wanted, strict=True))


class BiasSiLUFunction(Function):
    """z · sigmoid(z) with z = x + bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        """Shapes (N, C) and (C,) to (N, C)."""
        ctx.save_for_backward(x, bias)  # not z or its sigmoid: recomputing them costs less than reading them
        if x.backend.cuda:
            return on_gpu(gpu_kernels()[0], x, bias)
        out = np.empty(x.shape, x.dtype)
        launch_on_cpu(bias_silu_kernels()[0], out, array(x), array(bias), threads())
        return from_numpy(out, x.backend)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of both."""
        x, bias = ctx.saved_values
        if x.backend.cuda:
            grad = on_gpu(gpu_kernels()[1], x, bias, grad_output)
            return grad, grad  # the gradient of x + bias; autograd sums the second one over the rows
        grad_x, grad_bias = np.empty(x.shape, x.dtype), np.zeros(bias.shape, x.dtype)
        launch_on_cpu(bias_silu_kernels()[1], grad_x, grad_bias, array(x), array(bias), array(grad_output), threads())
        return from_numpy(grad_x, x.backend), from_numpy(grad_bias, x.backend)

    @staticmethod
    def composed(x: Tensor, bias: Tensor) -> Tensor:
        """Return the same, built from the library's operations, for second derivatives."""
        z = x + bias
        return z * z.sigmoid()


def on_gpu(kernel: Any, x: Tensor, *others: Tensor) -> Tensor:
    """Run a kernel on tensors on the GPU and return its output, of x's shape."""
    out = DeviceData.zeros(x.shape, x.dtype)
    sources = [each.contiguous()._tensor.source() for each in (x, *others)]  # type: ignore[attr-defined]  # of a DeviceData
    if x.size:
        launch(kernel, blocks_for(x.size, THREADS), THREADS, out.target(), *sources, x.size, x.shape[1], x.dtype.type(1))
    return Tensor(out, backend=x.backend)


# 3. Modules: the parts of a network


class MyLinear(Linear):
    """nn.Linear with a custom function and the same parameters."""

    def forward(self, input: Tensor) -> Tensor:
        """Shape (…, in_features) to (…, out_features)."""
        weight = self.weight
        if input.backend.cuda or input.dtype != weight.dtype or not input.dims or input.shape[-1] != weight.shape[1]:
            raise ValueError(
                f"MyLinear expected input of shape (…, {weight.shape[1]}) and {weight.dtype.name} on the CPU, got {input.shape} and "
                f"{input.dtype.name} on {input.device}; pass such input, or use nn.Linear"
            )
        rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
        return LinearFunction.apply(rows, weight, self.bias).view(*input.shape[:-1], weight.shape[0])


class BiasSiLU(Module):
    """z · sigmoid(z) with z = x + bias, in one pass.

    Args:
        features: Size of the last dimension of x; the bias is initialized to zeros.
        device: Where the bias is stored.
        dtype: The dtype of the bias.

    Source: Elfwing et al. 2017, arXiv:1702.03118, eq. 4.
    """

    def __init__(self, features: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.bias = Parameter(torch.zeros(features, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        """Shape (…, features) to (…, features)."""
        bias = self.bias
        if not input.dims or input.shape[-1:] != bias.shape or input.dtype != bias.dtype:
            raise ValueError(
                f"BiasSiLU expected input of shape (…, {bias.numel()}) and {bias.dtype.name}, got {input.shape} and {input.dtype.name}; "
                "build it for that size, or convert it"
            )
        return BiasSiLUFunction.apply(input.reshape(math.prod(input.shape[:-1]), bias.numel()), bias).view(*input.shape)


class ComposedSiLU(BiasSiLU):
    """The same, built from the library's operations: a sum, a sigmoid and a product, each a separate pass."""

    def forward(self, input: Tensor) -> Tensor:
        """Shape (…, features) to (…, features)."""
        return BiasSiLUFunction.composed(input, self.bias)


class SummedSiLU(BiasSiLU):
    """The same, built from a sum and the library's own SiLU, which is a single pass."""

    def forward(self, input: Tensor) -> Tensor:
        """Shape (…, features) to (…, features)."""
        return silu(input + self.bias)


# 4. Checks


def check(own: Callable[..., Tensor], other: Callable[..., Tensor], *shapes: tuple[int, ...], backend: Any = FastBackend) -> None:
    """Compare gradients with central differences, and values and gradients with another implementation.

    Args:
        own: The function to check; it takes one tensor per shape.
        other: The function that it must equal.
        shapes: Shapes of the tensors.
        backend: Backend of the tensors.

    Raises:
        AssertionError: If anything differs; the message names it.
    """
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape) for shape in shapes]
    grad_check(own, *(tensor(value, backend) for value in values))
    upstream = tensor(random.standard_normal(other(*map(tensor, values)).shape))
    found = []
    for fn, place in ((own, backend), (other, FastBackend)):
        leaves = [tensor(value, place, requires_grad=True) for value in values]
        out = fn(*leaves)
        out.backward(upstream.to(place))
        found.append([out.to_numpy(), *(np.asarray(leaf.grad) for leaf in leaves)])
    for name, mine, theirs in zip(["value", *(f"gradient {i}" for i in range(len(values)))], *found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12, err_msg=name)


CHECKS: dict[str, Callable[[], None]] = {
    "linear with bias": lambda: check(LinearFunction.apply, linear, (3, 4), (5, 4), (5,)),
    "linear without bias": lambda: check(lambda x, weight: LinearFunction.apply(x, weight, None), linear, (3, 4), (5, 4)),
    "bias and SiLU": lambda: check(BiasSiLUFunction.apply, BiasSiLUFunction.composed, (3, 4), (4,)),
}
"""The checks on the CPU, by name."""


def check_gpu() -> str:
    """Check the GPU kernel as well; return where it ran, or that it did not run."""
    if not available():
        return "NOT RUN: no NVIDIA GPU here; NUMBA_ENABLE_CUDASIM=1 before the command runs it in numba's simulator"
    check(BiasSiLUFunction.apply, BiasSiLUFunction.composed, (2, 3), (3,), backend=minitorch.cuda_backend())
    return f"PASS ({device_name()})"


# 5. Comparison


def linear_contest(batch: int, hidden: int, dtype: str, seed: int) -> Contest:
    """Return a comparison of MyLinear and nn.Linear in a network of two layers that classifies random images."""
    random = np.random.default_rng(seed)
    images = tensor(random.standard_normal((batch, 784)), FastBackend, dtype=dtype)
    labels = tensor(random.integers(10, size=batch), FastBackend)

    def step(layer: type[Linear]) -> Callable[[], float]:
        minitorch.manual_seed(seed)
        sizes: dict[str, Any] = {"device": FastBackend, "dtype": dtype}
        layers = layer(784, hidden, **sizes), ReLU(), layer(hidden, 10, **sizes)
        return training_step(Sequential(*layers), images, lambda logits: cross_entropy(logits, labels), 0.01)

    return Contest("linear", (step(MyLinear), step(Linear)))


def silu_contest(other: type[BiasSiLU], name: str, batch: int, width: int, dtype: str, seed: int) -> Contest:
    """Return a comparison of BiasSiLU and another layer, in a step that trains the bias and computes the gradient of the input."""
    values = np.random.default_rng(seed).standard_normal((batch, width))

    def step(layer: type[BiasSiLU]) -> Callable[[], float]:
        inputs = tensor(values, FastBackend, dtype=dtype, requires_grad=True)
        return training_step(layer(width, FastBackend, dtype), inputs, lambda y: y.mean(), 0.1)

    return Contest(name, (step(BiasSiLU), step(other)))


def checked() -> bool:
    """Print the result of every check; return whether all passed."""
    good = True
    print("gradients against central differences, values and gradients against the built-in:")
    for name, run in [*CHECKS.items(), ("bias and SiLU on the GPU", None)]:
        try:
            verdict = check_gpu() if run is None else run() or "PASS"
        except AssertionError as error:
            verdict, good = f"FAIL: {error}", False
        print(f"  {name}: {verdict}", flush=True)
    return good


def compared(batch: int, hidden: int, width: int, dtype: str, seed: int, repeats: int) -> bool:
    """Print the table; return whether all losses are equal."""
    good, count = True, threads()
    print(f"\n{dtype}, {count} thread{'s' * (count != 1)}; a ratio over 1: our own is faster")
    print(f"linear: {batch} rows of 784, {hidden} hidden; SiLU: {batch} rows of {width}\n{HEAD}", flush=True)
    for contest in (
        linear_contest(batch, hidden, dtype, seed),
        silu_contest(ComposedSiLU, "SiLU against 3 ops", batch, width, dtype, seed),
        silu_contest(SummedSiLU, "SiLU against 2 ops", batch, width, dtype, seed),
    ):
        contest.run(repeats)
        good = good and contest.apart() <= EQUAL[dtype]
        print(contest.row(EQUAL[dtype]), flush=True)
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    repeats: Annotated[int, command_line.whole(1, "timed steps of each, in turns")] = 20,
    batch: Annotated[int, command_line.whole(1, "rows of every layer's input")] = 128,
    hidden: Annotated[int, command_line.whole(1, "columns between the linear layers")] = 256,
    width: Annotated[int, command_line.whole(1, "columns of the bias")] = 4096,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="of the numbers")] = "float32",
    seed: Annotated[int, command_line.whole(0, "seed of the random numbers")] = 0,
) -> int:
    """Check the operators and compare them with the built-in ones.

    Returns:
        The exit status: 1 if a check fails or two losses differ.
    """
    if compiler_is_off():
        raise command_line.UsageError("expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it")
    good = checked()
    return 0 if compared(batch, hidden, width, dtype, seed, repeats) and good else 1


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
