"""Stage 7 - Connectionist temporal classification: the likelihood of a sequence of labels over all its alignments to a longer input.

An alignment assigns to each step a label or the blank; without repetitions and then without blanks, it reads as the target. The path of a
target of S labels has 2 · S + 1 positions: blank, label, blank, …, label, blank. At each step an alignment stays at its position, moves to
the next one, or skips a blank between two different labels.

Source: Graves et al. 2006, ICML, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.creation import cat, full, stack, where
from minitorch.core.errors import DtypeError
from minitorch.core.math_functions import ExactLog
from minitorch.core.recording import call, constant
from minitorch.nn.functional import max as maximum
from minitorch.nn.losses import check_reduction, loss_layer, reduce_losses
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

FLOOR = -1e30
"""The logarithm of 0 in `CTC.composed`, where infinities would become NaN."""


def predecessors(before: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """Log-probabilities of the three ways to reach each position: staying, moving on and skipping a blank.

    Args:
        before: Log-probabilities of the positions one step earlier, shape (N, P).
        skips: Whether a position can be reached by skipping a blank, shape (N, P).

    Returns:
        Shape (3, N, P).
    """
    ways = np.full((3, *before.shape), -np.inf, before.dtype)
    ways[0] = before
    ways[1, :, 1:] = before[:, :-1]
    ways[2, :, 2:] = np.where(skips[:, 2:], before[:, :-2], -np.inf)
    return ways


def log_likelihood(alphas: np.ndarray, steps: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log-probability of each target: an alignment ends at the last label or at the blank after it. See `ctc_forward`."""
    rows = np.arange(len(steps))
    last = alphas[steps - 1, rows]
    at_label = np.where(labels > 0, last[rows, np.maximum(2 * labels - 1, 0)], -np.inf)
    return np.logaddexp(last[rows, 2 * labels], at_label).astype(alphas.dtype)


def ctc_forward(losses, alphas, log_probs, path, skips, steps, labels, zero_infinity):
    """Compute the log-probabilities of all beginnings of alignments, and the losses.

    Args:
        losses: Output, shape (N,).
        alphas: Output: log-probability of all alignments of the first t + 1 steps that end at a position, shape (T, N, P).
        log_probs: Log-probabilities of the classes, shape (T, N, C).
        path: Class at each position, shape (N, P).
        skips: Whether a position can be reached by skipping a blank, shape (N, P).
        steps: Number of steps of each input, shape (N,).
        labels: Number of labels of each target, shape (N,).
        zero_infinity: Whether infinite losses become 0.
    """
    rows = np.arange(len(path))[:, None]
    alphas[0] = -np.inf
    alphas[0, :, :2] = log_probs[0, rows, path[:, :2]]
    for t in range(1, len(alphas)):
        alphas[t] = np.logaddexp.reduce(predecessors(alphas[t - 1], skips)) + log_probs[t, rows, path]
    losses[...] = -log_likelihood(alphas, steps, labels)
    if zero_infinity:
        losses[np.isposinf(losses)] = 0


def ctc_backward(grad, grad_losses, alphas, path, skips, steps, labels, zero_infinity):
    """Compute the gradient of the log-probabilities: minus the probability that an alignment is at a label, for each step.

    From the last step to the first, the probability of a position is shared among its predecessors.

    Args:
        grad: Output, shape (T, N, C).
        grad_losses: Gradient of the losses, shape (N,).
        alphas: As computed by `ctc_forward`, which also describes the others.
        zero_infinity: Whether the gradient of an infinite loss is 0 instead of NaN.
    """
    rows, likelihood = np.arange(len(path)), log_likelihood(alphas, steps, labels)
    possible = np.isfinite(likelihood)
    grad[...] = 0
    occupied = np.zeros_like(alphas[0])
    for t in reversed(range(len(grad))):
        for n in np.flatnonzero((steps == t + 1) & possible):
            ends = slice(max(2 * labels[n] - 1, 0), 2 * labels[n] + 1)
            occupied[n, ends] = np.exp(alphas[t, n, ends] - likelihood[n])
        np.subtract.at(grad[t], (rows[:, None], path), occupied * grad_losses[:, None])
        if t:
            ways = predecessors(alphas[t - 1], skips)
            total = np.logaddexp.reduce(ways)
            shares = np.exp(ways - np.where(np.isneginf(total), 0, total)) * occupied
            occupied = shares[0]
            occupied[:, :-1] += shares[1, :, 1:]
            occupied[:, :-2] += shares[2, :, 2:]
    for n in np.flatnonzero(~possible):
        grad[: steps[n], n] = 0 if zero_infinity else np.nan


class CTC(Function):
    """The loss of each sample, shape (N,)."""

    @staticmethod
    def forward(
        ctx: Context, log_probs: Tensor, path: np.ndarray, skips: np.ndarray, steps: np.ndarray, labels: np.ndarray, zero_infinity: bool
    ) -> Tensor:
        losses = TensorData.empty(steps.shape, log_probs.dtype)
        alphas, target = np.empty((log_probs.shape[0], *path.shape), log_probs.dtype), tuple(map(constant, (path, skips, steps, labels)))
        call(ctc_forward, losses._storage, alphas, log_probs._tensor.array(), *target, zero_infinity)
        ctx.save_for_backward(alphas, target, zero_infinity, log_probs.shape)
        return log_probs._like(losses)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        alphas, target, zero_infinity, shape = ctx.saved_values
        grad = TensorData.empty(shape, alphas.dtype)
        call(ctc_backward, grad._storage.reshape(shape), grad_output._tensor.array(), alphas, *target, zero_infinity)
        return grad_output._like(grad)

    @staticmethod
    def composed(
        log_probs: Tensor, path: np.ndarray, skips: np.ndarray, steps: np.ndarray, labels: np.ndarray, zero_infinity: bool
    ) -> Tensor:
        """The same computation composed of differentiable tensor operations; a loss above 10²⁹ counts as infinite."""
        rows, (samples, positions) = np.arange(len(path)), path.shape
        allowed = log_probs._like(TensorData(skips.reshape(-1).copy(), skips.shape))
        floor = full((samples, positions), FLOOR, log_probs.backend, dtype=log_probs.dtype)
        alphas = [cat([log_probs[0][rows[:, None], path[:, :2]], floor[:, 2:]], 1)]
        for t in range(1, log_probs.shape[0]):
            padded = cat([floor[:, :2], alphas[-1]], 1)
            skipped = where(allowed, padded[:, :positions], floor)
            reached = _logsumexp(stack([alphas[-1], padded[:, 1 : 1 + positions], skipped]))
            alphas.append(reached + log_probs[t][rows[:, None], path])
        last = stack(alphas)[steps - 1, rows]
        ends = stack([cat([floor[:, :1], last], 1)[rows, 2 * labels], last[rows, 2 * labels]])
        losses = -_logsumexp(ends)
        infinite = losses.detach() > -FLOOR / 10
        return losses.where(~infinite, 0.0 if zero_infinity else np.inf)


def _logsumexp(x: Tensor) -> Tensor:
    """ln Σ e^x over the first dimension of a tensor."""
    largest = maximum(x.detach(), 0)
    return (ExactLog.apply(Tensor.sum((x - largest).exp(), 0)) + largest).squeeze(0)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of each target, summed over all its alignments to the input.

    The gradient is that of a function of independent log_probs. Through `logsoftmax` it is the one that PyTorch computes; with respect to
    log_probs themselves, PyTorch's has their exponential added, which `logsoftmax` cancels.

    Args:
        log_probs: Log-probabilities of the classes at each step, shape (T, N, C), or (T, C) for a single sample.
        targets: Labels other than the blank, from 0 to C - 1: shape (N, S), padded, or (sum of target_lengths,), one after the other.
        input_lengths: Number of steps of each sample, from 1 to T, shape (N,).
        target_lengths: Number of labels of each sample, shape (N,).
        blank: The class that stands for no label.
        reduction: "mean", where each loss is divided by its number of labels (if it has any); "sum" or "none".
        zero_infinity: Whether the loss and the gradient are 0 if the input is too short for its target, instead of infinite and NaN.

    Returns:
        Shape (), or (N,) if reduction is "none" and there is a batch.

    Raises:
        TypeError: If log_probs is not a Tensor of float64 or float32, or targets is not one of integers.
        ValueError: If a shape, a length or a label does not match, or reduction is unknown.
    """
    check_reduction(reduction, "ctc_loss")
    if not isinstance(log_probs, Tensor) or log_probs.dtype.name not in ("float64", "float32"):
        got = log_probs.dtype.name if isinstance(log_probs, Tensor) else type(log_probs).__name__
        raise DtypeError(f"ctc_loss expected log_probs as a Tensor of float64 or float32, got {got}; convert it: x.to(float32)")
    if log_probs.dims not in (2, 3):
        raise ValueError(f"ctc_loss expected log_probs of shape (T, N, C) or (T, C), got {log_probs.shape}")
    batch = log_probs if log_probs.dims == 3 else log_probs.unsqueeze(1)
    length, samples, classes = batch.shape
    if not 0 <= blank < classes:
        raise ValueError(f"ctc_loss expected blank from 0 to {classes - 1}, got {blank}")
    steps = _lengths(input_lengths, "input_lengths", samples, 1, length)
    rows = _labels(targets, _lengths(target_lengths, "target_lengths", samples, 0, None), blank, classes)
    losses = CTC.apply(batch, *_paths(rows, blank), steps, np.array([len(row) for row in rows]), zero_infinity)
    if reduction == "mean":
        shares = np.array([1 / max(len(row), 1) for row in rows], losses.dtype)
        losses = losses * losses._like(TensorData(constant(shares), shares.shape))
    return losses.squeeze(0) if reduction == "none" and log_probs.dims == 2 else reduce_losses(losses, reduction)


def _lengths(lengths: Any, name: str, samples: int, smallest: int, largest: int | None) -> np.ndarray:
    """Lengths as an array of shape (N,), each at least smallest and at most largest."""
    found = np.atleast_1d(lengths.to_numpy() if isinstance(lengths, Tensor) else np.asarray(lengths))
    fits = found.shape == (samples,) and found.dtype.kind in "iu" and found.min() >= smallest
    if not fits or (largest is not None and found.max() > largest):
        allowed = f"of at least {smallest}" if largest is None else f"from {smallest} to {largest}"
        raise ValueError(f"ctc_loss expected {samples} {name} {allowed}, got {found.tolist()}")
    return found.astype(np.int64)


def _labels(targets: Any, lengths: np.ndarray, blank: int, classes: int) -> list[np.ndarray]:
    """The labels of each sample."""
    if not isinstance(targets, Tensor) or targets.dtype.kind not in "iu":
        got = targets.dtype.name if isinstance(targets, Tensor) else type(targets).__name__
        raise DtypeError(f"ctc_loss expected targets as a Tensor of int64, got {got}; convert it: x.to(int64)")
    padded, total = targets.dims == 2, int(lengths.sum())
    if targets.shape != (total,) and not (padded and targets.shape[0] == len(lengths) and targets.shape[1] >= lengths.max()):
        raise ValueError(
            f"ctc_loss expected targets of shape ({len(lengths)}, {lengths.max()}) or longer rows, or ({total},), got {targets.shape}"
        )
    numbers = targets.to_numpy().astype(np.int64)
    rows = [row[:count] for row, count in zip(numbers, lengths, strict=True)] if padded else np.split(numbers, np.cumsum(lengths)[:-1])
    for label in np.concatenate(rows):
        if not 0 <= label < classes or label == blank:
            raise ValueError(f"ctc_loss expected labels from 0 to {classes - 1} other than the blank, {blank}, got {label}")
    return rows


def _paths(rows: list[np.ndarray], blank: int) -> tuple[np.ndarray, np.ndarray]:
    """The class at each position of every path, and whether the position can be reached by skipping a blank; both (N, P)."""
    path = np.full((len(rows), 2 * max(map(len, rows)) + 1), blank, np.int64)
    for number, row in enumerate(rows):
        path[number, 1 : 2 * len(row) : 2] = row
    skips = np.zeros(path.shape, bool)
    skips[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    return path, skips


CTCLoss = loss_layer("CTCLoss", ctc_loss)
