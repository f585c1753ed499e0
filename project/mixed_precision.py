"""Train a small network on digits twice, in float32 and in mixed precision, and print both losses side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
import typer

import minitorch
from minitorch import FastBackend, GradScaler, Tensor, tensor
from minitorch.core import dtypes
from minitorch.data import Digits
from minitorch.nn import Module, Parameter, cross_entropy, linear
from minitorch.optim import SGD
from project.lab.training import command_line

PROGRAM = "mixed_precision.py"

BATCH = 64
"""Images per batch."""


class Network(Module):
    """64 pixels → hidden → 10 logits, with float32 weights that are cast to another dtype in the forward pass.

    Args:
        hidden: Number of hidden units.
        dtype: The dtype of the computation; gradients flow through the cast to the float32 weights.
    """

    def __init__(self, hidden: int, dtype: str) -> None:
        super().__init__()
        self.dtype = dtype
        for name, rows, columns in (("first", hidden, 64), ("second", 10, hidden)):
            weight = (minitorch.rand((rows, columns), FastBackend, dtype="float32") - 0.5) * (2 / math.sqrt(columns))
            setattr(self, f"{name}_weight", Parameter(weight))
            setattr(self, f"{name}_bias", Parameter(minitorch.zeros((rows,), FastBackend, dtype="float32")))

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of images, shape (B, 64) to (B, 10), in float32, because the loss is computed in float32."""

        def kept(name: str) -> Tensor:
            return getattr(self, name).value.to(self.dtype)

        hidden = linear(images.to(self.dtype), kept("first_weight"), kept("first_bias")).relu()
        return linear(hidden, kept("second_weight"), kept("second_bias")).float()


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images and labels without end, in an order determined by the seed."""
    digits, generator = Digits(), np.random.default_rng(seed)
    images = digits.images.reshape(len(digits), 64)
    while True:
        order = generator.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            picked = order[start : start + BATCH]
            yield tensor(images[picked], FastBackend), tensor(digits.labels[picked], FastBackend)


def losses(dtype: str, steps: int, hidden: int, lr: float, seed: int, scaler: GradScaler) -> Iterator[tuple[float, float, bool]]:
    """Train, and yield for every step its loss, the scale of the loss, and whether the weights were updated."""
    minitorch.manual_seed(seed)
    network = Network(hidden, dtype)
    optimizer = SGD(network.parameters(), lr=lr, momentum=0.9)
    for _, (images, labels) in zip(range(steps), batches(seed), strict=False):
        loss, scale = cross_entropy(network(images), labels), scaler.get_scale()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        yield loss.item(), scale, scaler.get_scale() >= scale


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    steps: Annotated[int, command_line.whole(1, f"batches of {BATCH} images")] = 400,
    hidden: Annotated[int, command_line.whole(1, "features between the two layers")] = 32,
    lr: Annotated[float, typer.Option(parser=command_line.positive, metavar="RATE", help="learning rate")] = 0.1,
    dtype: Annotated[Literal["float16", "bfloat16"], typer.Option(help="of forward and backward in mixed precision")] = "float16",
    scale: Annotated[float, typer.Option(parser=command_line.positive, metavar="S", help="initial scale of the loss")] = 2.0**24,
    growth: Annotated[int, command_line.whole(1, "steps until the scale is doubled")] = 100,
    seed: Annotated[int, command_line.whole(0, "seed of the random numbers")] = 0,
) -> int:
    """Train in float32 and in mixed precision, and compare the losses.

    Returns:
        The exit status: 1 if the means of the last tenth of the losses differ by more than a twentieth.
    """
    if dtype == "bfloat16":
        try:
            dtypes.as_dtype("bfloat16")
        except ImportError as error:
            raise command_line.UsageError(str(error)) from None
    scaler = GradScaler(init_scale=scale, growth_interval=growth)
    given = steps, hidden, lr, seed
    plain, mixed, skipped = [], [], 0
    print(f"{'step':>5} {'float32':>9} {dtype:>9} {'scale':>10}")
    pairs = zip(losses("float32", *given, GradScaler(enabled=False)), losses(dtype, *given, scaler), strict=True)
    for i, ((one, _, _), (other, current, taken)) in enumerate(pairs):
        plain.append(one)
        mixed.append(other)
        skipped += not taken
        if not taken or i % max(1, steps // 20) == 0 or i == steps - 1:
            print(f"{i:>5} {one:>9.4f} {other:>9.4f} {current:>10.0f}{'' if taken else '  overflow: step skipped'}", flush=True)
    last = slice(-max(1, steps // 10), None)
    one, other = sum(plain[last]) / len(plain[last]), sum(mixed[last]) / len(mixed[last])
    apart = abs(other - one)
    print(f"last tenth: float32 {one:.4f}, {dtype} {other:.4f}, difference {apart:.4f}; {skipped} of {steps} steps skipped")
    return 0 if apart <= 0.05 * max(1.0, one) else 1


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
