"""A comparison of two implementations, timed in turns: their times, the ratio, and whether their losses agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import minitorch
from minitorch import Tensor


@dataclass
class Contest:
    """Two implementations of a training step, timed in turns.

    Attributes:
        name: The name of the step.
        steps: A training step with the custom operator, and one with the built-in operator; each returns its loss.
        seconds: The time of every step, for both.
        losses: The loss of every step, for both.
    """

    name: str
    steps: tuple[Callable[[], float], Callable[[], float]]
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    losses: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def run(self, repeats: int) -> None:
        """Run both steps `repeats` times, alternating which goes first, after one step each that compiles and is not timed."""
        for turn in range(repeats + 1):
            for side in (0, 1) if turn % 2 else (1, 0):
                begun = time.perf_counter()
                loss = self.steps[side]()
                if turn:
                    self.seconds[side].append(time.perf_counter() - begun)
                self.losses[side].append(loss)

    def apart(self) -> float:
        """Return the largest relative difference between the losses."""
        return max(abs(own - other) / max(abs(other), 1e-300) for own, other in zip(*self.losses, strict=True))

    def row(self, bound: float) -> str:
        """Return one line of the table."""
        ratios = [other / own for own, other in zip(*self.seconds, strict=True)]
        low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        own, other = (f"{median(seconds) * 1e3:.3f} ms" for seconds in self.seconds)
        verdict = "equal" if self.apart() <= bound else f"DIFFER by {self.apart():.1e}"
        return f"{self.name:<22} {len(ratios):>7} {own:>12} {other:>12} {median(ratios):>7.2f} {f'{low:.2f} to {high:.2f}':>14}  {verdict}"


HEAD = f"{'a training step':<22} {'repeats':>7} {'own':>12} {'built-in':>12} {'ratio':>7} {'half of them':>14}  losses"


def training_step(network: Any, inputs: Tensor, loss: Callable[[Tensor], Tensor], lr: float) -> Callable[[], float]:
    """Return a function that takes one step of gradient descent and returns the loss before it."""
    optimizer = minitorch.SGD(network.parameters(), lr=lr)

    def step() -> float:
        optimizer.zero_grad()
        inputs.zero_grad_()
        value = loss(network(inputs))
        value.backward()
        optimizer.step()
        return value.item()

    return step
