"""Stage 7 - LBFGS: a quasi-Newton method that estimates second derivatives from the last gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.optim.arithmetic import with_gradients
from minitorch.optim.optimizer import Optimizer

Function = Callable[[float], tuple[float, np.ndarray]]
"""The loss and its gradient at a distance along the direction."""


class LBFGS(Optimizer):
    """Limited-memory BFGS. `step` needs a closure, which it calls several times.

    Args:
        params: Tensors to update, in one group.
        lr: Length of a step; with a line search that of the first trial.
        max_iter: Most iterations of one step.
        max_eval: Most evaluations of the closure in one step; max_iter · 5 // 4 by default.
        tolerance_grad: Largest element of the gradient at which it ends.
        tolerance_change: Change of the loss or of the parameters at which it ends.
        history_size: Number of gradients that are kept.
        line_search_fn: None or "strong_wolfe".

    Raises:
        ValueError: If there are several groups, or line_search_fn is unknown.

    Source: Nocedal and Wright 2006, Numerical Optimization, algorithms 7.4 and 7.5; line search: algorithms 3.5 and 3.6.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(f'LBFGS expected line_search_fn None or "strong_wolfe", got {line_search_fn!r}')
        if not lr >= 0:
            raise ValueError(f"LBFGS expected a learning rate lr of at least 0, got {lr}")
        defaults = {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        defaults |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size}
        super().__init__(params, defaults | {"line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS expected one group of parameters, got several; pass module.parameters()")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to max_iter iterations.

        Args:
            closure: Clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns:
            The loss before the first of them.

        Raises:
            TypeError: If there is no closure.
        """
        if closure is None:
            raise TypeError("LBFGS.step expected a closure that computes the loss again; pass step(closure)")
        closure = partial(with_gradients, closure)
        group, state = self.param_groups[0], self.state[self._params[0]]
        first = closure()
        loss, gradient, evaluations = float(first), self._gradient(), 1
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        for iteration in range(group["max_iter"]):
            if np.abs(gradient).max(initial=0) <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            start, slope = self._vector(), float(gradient @ direction)
            length = min(1.0, 1.0 / np.abs(gradient).sum()) * group["lr"] if state["n_iter"] == 1 else group["lr"]
            if slope > -group["tolerance_change"]:
                break
            before, state["prev_flat_grad"] = loss, gradient
            along = self._along(closure, start, direction)
            if group["line_search_fn"]:
                length, loss, gradient, used = strong_wolfe(along, length, loss, slope, gradient, direction)
                self._assign(start + gradient.dtype.type(length) * direction)
                evaluations += used
            else:
                self._assign(start + gradient.dtype.type(length) * direction)
                if iteration + 1 < group["max_iter"]:
                    loss, gradient = float(closure()), self._gradient()
                    evaluations += 1
            state["t"], state["d"] = length, direction
            change = max(np.abs(length * direction).max(initial=0), 0.0)
            if evaluations >= group["max_eval"] or change <= group["tolerance_change"] or abs(loss - before) < group["tolerance_change"]:
                break
        state["func_evals"] += evaluations
        return first

    def _direction(self, state: dict[str, Any], gradient: np.ndarray, history: int) -> np.ndarray:
        """The product of the estimated inverse Hessian with the negative gradient, by the two-loop recursion."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        y, s = gradient - state["prev_flat_grad"], state["d"] * gradient.dtype.type(state["t"])
        curvature = float(y @ s)
        if curvature > 1e-10:
            for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / curvature)):
                state[name] = [*state[name], value][-history:]
            state["H_diag"] = curvature / float(y @ y)
        pairs = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
        q, factors = -gradient, []
        for y, s, ro in reversed(pairs):
            factors.append(gradient.dtype.type(float(s @ q) * ro))
            q = q - factors[-1] * y
        r = q * gradient.dtype.type(state["H_diag"])
        for (y, s, ro), factor in zip(pairs, reversed(factors), strict=True):
            r = r + s * (factor - gradient.dtype.type(float(y @ r) * ro))
        return r

    def _along(self, closure: Callable[[], Any], start: np.ndarray, direction: np.ndarray) -> Function:
        """The loss and its gradient as a function of the distance from start."""

        def along(length: float) -> tuple[float, np.ndarray]:
            self._assign(start + direction.dtype.type(length) * direction)
            return float(closure()), self._gradient()

        return along

    def _vector(self) -> np.ndarray:
        """All parameters as one vector."""
        return np.concatenate([x.detach().to_numpy().reshape(-1) for x in self._params])

    def _gradient(self) -> np.ndarray:
        """All gradients as one vector; zeros for those that are missing."""
        parts = [x.grad if x.grad is not None else x.zeros() for x in self._params]
        return np.concatenate([part.detach().to_numpy().reshape(-1) for part in parts])

    def _assign(self, vector: np.ndarray) -> None:
        """Write a vector into the parameters."""
        start = 0
        with no_grad():
            for x in self._params:
                own = x
                own[...] = vector[start : start + own.numel()].reshape(own.shape)
                start += own.numel()


def strong_wolfe(
    along: Function,
    length: float,
    loss: float,
    slope: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    c1: float = 1e-4,
    c2: float = 0.9,
    most: int = 25,
) -> tuple[float, float, np.ndarray, int]:
    """A length that satisfies the strong Wolfe conditions, or the best one found.

    Args:
        along: The loss and its gradient as a function of the length.
        length: First trial.
        loss: The loss at 0.
        slope: Its derivative along the direction at 0, negative.
        gradient: Its gradient at 0.
        direction: The direction.
        c1: Share of the slope by which the loss must fall.
        c2: Share of the slope that may remain.
        most: Most evaluations.

    Returns:
        The length, the loss and the gradient there, and the number of evaluations.
    """
    low, high = (0.0, loss, slope, gradient), None
    trial, evaluations = length, 0
    best = low
    while evaluations < most:
        value, found = along(trial)
        evaluations += 1
        here = (trial, value, float(found @ direction), found)
        if value > loss + c1 * trial * slope or (low[0] and value >= low[1]):
            high = here
        elif abs(here[2]) <= -c2 * slope:
            return trial, value, found, evaluations
        else:
            if here[2] * ((high[0] if high else np.inf) - low[0]) >= 0:
                high = low
            low = here
        best = low if low[0] else best
        if high is None:
            trial *= 2
            continue
        trial = interpolate_cubic(low, high)
        if abs(high[0] - low[0]) * abs(slope) < 1e-12:
            break
    return best[0], best[1], best[3], evaluations


def interpolate_cubic(a: tuple[Any, ...], b: tuple[Any, ...]) -> float:
    """The minimum of the cubic polynomial with given values and derivatives at two points, kept away from both."""
    (x1, f1, g1, _), (x2, f2, g2, _) = a, b
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    low, high = min(x1, x2), max(x1, x2)
    trial = (low + high) / 2
    if square >= 0:
        d2 = np.sqrt(square) * (1 if x2 > x1 else -1)
        if (denominator := g2 - g1 + 2 * d2) != 0:
            trial = x2 - (x2 - x1) * (g2 + d2 - d1) / denominator
    margin = 0.1 * (high - low)
    return float(min(max(trial, low + margin), high - margin))
