"""Train a small network on digits twice, in float32 and in mixed precision, and print both losses side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

import minitorch
from minitorch import FastBackend, GradScaler, Tensor, tensor
from minitorch.core import dtypes
from minitorch.data import Digits
from minitorch.nn import Module, Parameter, cross_entropy, linear
from minitorch.optim import SGD
from project.lab.training import command_line

PROGRAM = "mixed_precision.py"

BATCH = 64
"""Images of a step."""


class Network(Module):
    """64 pixels → hidden → 10 logits, with weights in float32 that take part in forward as another dtype.

    Args:
        hidden: Numbers between the two layers.
        dtype: What is computed in; gradients flow back through it into the float32 weights.
    """

    def __init__(self, hidden: int, dtype: str) -> None:
        super().__init__()
        self.dtype = dtype
        for name, rows, columns in (("first", hidden, 64), ("second", 10, hidden)):
            weight = (minitorch.rand((rows, columns), FastBackend, dtype="float32") - 0.5) * (2 / math.sqrt(columns))
            setattr(self, f"{name}_weight", Parameter(weight))
            setattr(self, f"{name}_bias", Parameter(minitorch.zeros((rows,), FastBackend, dtype="float32")))

    def forward(self, images: Tensor) -> Tensor:
        """The logits of images, shape (B, 64): (B, 10), in float32, where the loss is computed."""

        def kept(name: str) -> Tensor:
            return getattr(self, name).value.to(self.dtype)

        hidden = linear(images.to(self.dtype), kept("first_weight"), kept("first_bias")).relu()
        return linear(hidden, kept("second_weight"), kept("second_bias")).float()


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Images and labels in an order that the seed decides, without end."""
    digits, generator = Digits(), np.random.default_rng(seed)
    images = digits.images.reshape(len(digits), 64)
    while True:
        order = generator.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            picked = order[start : start + BATCH]
            yield tensor(images[picked], FastBackend), tensor(digits.labels[picked], FastBackend)


def losses(dtype: str, steps: int, hidden: int, lr: float, seed: int, scaler: GradScaler) -> Iterator[tuple[float, float, bool]]:
    """Train; after every step its loss, the scale that it was taken with, and whether it was taken."""
    minitorch.manual_seed(seed)
    network = Network(hidden, dtype)
    optimizer = SGD(network.parameters(), lr=lr, momentum=0.9)
    for _, (images, labels) in zip(range(steps), batches(seed), strict=False):
        loss, scale = cross_entropy(network(images), labels), scaler.get_scale()
        scaler.scale(loss).backward()
        taken = scaler.step(optimizer)
        scaler.update()
        yield loss.item(), scale, taken


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says.

    Returns:
        The exit status: 1 if the last tenth of the losses lies further apart than a twentieth.
    """
    parser = command_line.Parser(PROGRAM, __doc__)
    parser.add_argument("--steps", type=command_line.number, default=400, metavar="N", help=f"batches of {BATCH} images")
    parser.add_argument("--hidden", type=command_line.number, default=32, metavar="N", help="numbers between the two layers")
    parser.add_argument("--lr", type=command_line.decimal, default=0.1, metavar="RATE", help="learning rate")
    parser.add_argument("--dtype", choices=("float16", "bfloat16"), default="float16", help="of forward and backward in mixed precision")
    parser.add_argument("--scale", type=command_line.decimal, default=2.0**24, metavar="S", help="the first scale of the loss")
    parser.add_argument("--growth", type=command_line.number, default=100, metavar="N", help="steps until the scale is doubled")
    parser.add_argument("--seed", type=command_line.number, default=0, metavar="N", help="where random numbers begin")
    options = parser.parse_args(arguments)
    for name, least in {"steps": 1, "hidden": 1, "growth": 1, "seed": 0}.items():
        value = getattr(options, name)
        if not isinstance(value, int) or value < least:
            parser.refuse(f"{name} expected a whole number of at least {least}, got {value!r}")
    for name in ("lr", "scale"):
        value = getattr(options, name)
        if not isinstance(value, float) or not 0 < value < math.inf:
            parser.refuse(f"{name} expected a number above 0, got {value!r}")
    if options.dtype == "bfloat16":
        try:
            dtypes.as_dtype("bfloat16")
        except ImportError as error:
            parser.refuse(str(error))
    scaler = GradScaler(options.scale, growth_interval=options.growth)
    given = options.steps, options.hidden, options.lr, options.seed
    plain, mixed, skipped = [], [], 0
    print(f"{'step':>5} {'float32':>9} {options.dtype:>9} {'scale':>10}")
    pairs = zip(losses("float32", *given, GradScaler(enabled=False)), losses(options.dtype, *given, scaler), strict=True)
    for i, ((one, _, _), (other, scale, taken)) in enumerate(pairs):
        plain.append(one)
        mixed.append(other)
        skipped += not taken
        if not taken or i % max(1, options.steps // 20) == 0 or i == options.steps - 1:
            print(f"{i:>5} {one:>9.4f} {other:>9.4f} {scale:>10.0f}{'' if taken else '  overflow: step left out'}", flush=True)
    last = slice(-max(1, options.steps // 10), None)
    one, other = sum(plain[last]) / len(plain[last]), sum(mixed[last]) / len(mixed[last])
    apart = abs(other - one)
    print(f"last tenth: float32 {one:.4f}, {options.dtype} {other:.4f}, {apart:.4f} apart; {skipped} of {options.steps} steps left out")
    return 0 if apart <= 0.05 * max(1.0, one) else 1


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
