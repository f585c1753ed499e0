"""Stage 6 - Training at scale: AdamW, a schedule with warm-up, clipped and accumulated gradients, and a run that resumes bit for bit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from minitorch.language.model import cross_entropy
from minitorch.language.weights import load_weights, named_weights
from minitorch.module import Module, Parameter
from minitorch.optim.adam import Adam
from minitorch.optim.optimizer import Optimizer, Setting
from minitorch.tensor import tensor

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

Part = tuple["Tensor", "Tensor"]
"""Tokens, int64 of shape (B, T), and the token that follows each of them, of the same shape."""


# The optimizer


class AdamW(Optimizer):
    """Adam with decoupled weight decay: the decay shrinks the value itself, and the gradient does not know of it.

    Args:
        params: Parameters to update, or groups of them; see `Optimizer`.
        lr: Learning rate; not negative.
        betas: Decay rates of the moving averages of the gradient and its square, each from 0 to below 1.
        eps: Added to the denominator; not negative.
        weight_decay: Weight decay coefficient; not negative.

    Raises:
        TypeError: If a setting has the wrong type.
        ValueError: If a setting is out of range, infinite or NaN.

    Source: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2, with α = lr and a constant η.
    """

    settings: ClassVar[Mapping[str, Setting]] = Adam.settings
    state_names = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def update(self, value: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        """See `Optimizer.update`."""
        value[...] = self.new_value(value, gradient, state, group)
        return value

    def new_value(self, value: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        """Return the new value of a parameter, which `update` writes into it. With the settings of the group:

        * mean m ← β₁ · m + (1 - β₁) · gradient and square s ← β₂ · s + (1 - β₂) · gradient², both 0 before the first step;
        * both begin too small; after step t, m / (1 - β₁ᵗ) and s / (1 - β₂ᵗ) are not;
        * value ← value · (1 - lr · weight_decay) - lr · corrected m / (√(corrected s) + eps).

        Args:
            value: A tensor without history; it is not changed.
            gradient: Shape of value; it is not changed.
            state: Empty before the first step; afterwards "step" is t, an int, "exp_avg" is m and "exp_avg_sq" is s, not corrected.
            group: Holds "lr", "betas", "eps" and "weight_decay".
        """
        beta1, beta2 = group["betas"]
        step = state["step"] = 1 + state.get("step", 0)
        mean = state["exp_avg"] = state.get("exp_avg", value.zeros()) * beta1 + gradient * (1 - beta1)
        square = state["exp_avg_sq"] = state.get("exp_avg_sq", value.zeros()) * beta2 + gradient * gradient * (1 - beta2)
        mean, square = mean / (1 - beta1**step), square / (1 - beta2**step)
        return value * (1 - group["lr"] * group["weight_decay"]) - mean / (square.sqrt() + group["eps"]) * group["lr"]


def decay_groups(model: Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return two groups for an optimizer: matrices with weight decay, and vectors, which are biases and normalizations, without.

    Args:
        model: The model. A parameter with two or more dimensions is a matrix.
        weight_decay: The coefficient for the matrices.

    Returns:
        Dictionaries with the entries "params", a list in the order of `model.parameters()`, and "weight_decay"; first that of the
        matrices. A group without parameters is left out.
    """
    matrices = [parameter for parameter in model.parameters() if parameter.value.dims >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.value.dims < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


# The schedule


class Schedule(NamedTuple):
    """A learning rate over time.

    Attributes:
        steps: The step at which the rate becomes the smallest.
        warmup: The step at which it is the largest; less than steps.
        largest: The largest rate.
        smallest: The smallest rate.
    """

    steps: int
    warmup: int = 0
    largest: float = 3e-3
    smallest: float = 3e-4


def learning_rate(step: int, schedule: Schedule) -> float:
    """Return the rate of a step: first on a straight line from 0 up to the largest rate, then on half a cosine down to the smallest.

    The rate is 0 at step 0, the largest at step `warmup`, halfway between largest and smallest in the middle of `warmup` and `steps`, and
    the smallest from `steps` on. Without warm-up it is the largest at step 0.

    Args:
        step: 0 or more. The first step of a training is step 1.
        schedule: The schedule.

    Raises:
        ValueError: If the step is negative, or the schedule is impossible; `_check_schedule` says so.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5, after a linear warm-up.
    """
    _check_schedule(step, schedule)
    steps, warmup, largest, smallest = schedule
    if step < warmup:
        return largest * step / warmup
    if step >= steps:
        return smallest
    progress = (step - warmup) / (steps - warmup)
    return smallest + (largest - smallest) * (1 + math.cos(math.pi * progress)) / 2


# Gradients


def clip_gradients(parameters: Sequence[Parameter], largest_norm: float) -> float:
    """Make the gradients of all parameters shorter if they are too long; they keep their direction.

    The norm is that of a single vector of all elements of all gradients, the square root of the sum of their squares, computed in float64.
    If it is above largest_norm, each gradient is multiplied by largest_norm / norm. Otherwise nothing changes.

    Args:
        parameters: The parameters; those without a gradient, whose `value.grad` is None, are skipped.
        largest_norm: Above 0.

    Returns:
        The norm before; 0 if there is no gradient.

    Raises:
        ValueError: If largest_norm is not above 0, `_check_largest_norm` says so.
        NonFiniteGradients: If the norm is infinite or NaN, `_check_norm` says so. Then nothing has changed.

    Source: Pascanu et al. 2013, arXiv:1211.5063, algorithm 1.
    """
    _check_largest_norm(largest_norm)
    values = [parameter.value for parameter in parameters if parameter.value.grad is not None]
    norm = math.sqrt(sum(float(np.square(value.grad.to_numpy(), dtype=np.float64).sum()) for value in values))
    _check_norm(norm)
    if norm > largest_norm:
        for value in values:
            value.grad = value.grad * (largest_norm / norm)
    return norm


def accumulate(model: Any, parts: Sequence[Part]) -> float:
    """Compute the gradients of a batch that is too large for the memory, part by part.

    Each parameter gets the gradient of the mean of -ln p over all tokens of all parts, as if the parts were one batch. They may have
    different numbers of tokens. Only one part has a computational graph at a time: its backward pass runs before the next part is read.
    Earlier gradients are cleared first, with `zero_grad_()` of each value.

    Args:
        model: A function of tokens that returns logits, shape (B, T, V), with `parameters()`.
        parts: Tokens and targets of each part, which `cross_entropy` compares.

    Returns:
        The mean loss over all tokens.

    Raises:
        ValueError: If there is no part, or tokens and targets differ in shape; `_check_parts` says so.
    """
    _check_parts(parts)
    for parameter in model.parameters():
        parameter.value.zero_grad_()
    total, loss = sum(targets.numel() for _, targets in parts), 0.0
    for tokens, targets in parts:
        share = cross_entropy(model(tokens), targets) * (targets.numel() / total)
        share.backward()
        loss += share.item()
    return loss


# The training


class StepReport(NamedTuple):
    """What a step of a training did.

    Attributes:
        loss: The mean loss before the step.
        norm: The norm of the gradients before they were clipped.
        rate: The learning rate.
    """

    loss: float
    norm: float
    rate: float


class Training:
    """The training of a language model on a text. It can stop after any step, and resume as if nothing had happened.

    To save it, `minitorch.save(training.state_dict(), path)` writes a file atomically. To resume it, build the model and the training as
    before, and call `training.load_state_dict(minitorch.load(path))`.

    Args:
        model: A model such as `GPT2`.
        text: The tokens of the text, int64, shape (N,).
        schedule: The learning rate of each step.
        batch: Number of sequences in a batch, each as long as the context of the model.
        parts: Number of parts that a batch is computed in; at most batch. They differ by at most one sequence.
        largest_norm: See `clip_gradients`.
        weight_decay: See `decay_groups`.
        seed: Determines the sequences.

    Attributes:
        model: The model.
        optimizer: An `AdamW` with the groups of `decay_groups`.
        schedule: The schedule.
        largest_norm: See `clip_gradients`.
        finished: Number of finished steps.
        random: The generator that draws the sequences.

    Raises:
        ValueError: If the text is too short, the batch or the parts do not fit, or the schedule is impossible.
    """

    def __init__(
        self,
        model: Any,
        text: np.ndarray,
        schedule: Schedule,
        batch: int = 16,
        parts: int = 1,
        largest_norm: float = 1.0,
        weight_decay: float = 0.1,
        seed: int = 0,
    ) -> None:
        _check_schedule(0, schedule)
        _check_largest_norm(largest_norm)
        if len(text) <= model.context:
            raise ValueError(f"Training expected a text longer than the context, {model.context}, got {len(text)} tokens; take more")
        if not 1 <= parts <= batch:
            raise ValueError(f"Training expected from 1 to {batch} parts, as many as sequences in a batch, got {parts}; change one of them")
        self.model, self.text, self.schedule, self.largest_norm = model, text, schedule, largest_norm
        self.batch, self.parts = batch, parts
        self.optimizer = AdamW(decay_groups(model, weight_decay))
        self.finished = 0
        self.random = np.random.default_rng(seed)

    def draw(self) -> list[Part]:
        """Draw the next batch, sequences from anywhere in the text, and return it in parts."""
        length, backend = self.model.context, self.model.parameters()[0].value.backend
        starts = self.random.integers(0, len(self.text) - length, self.batch)
        pieces = self.text[starts[:, None] + np.arange(length + 1)]
        return [(tensor(part[:, :-1], backend), tensor(part[:, 1:], backend)) for part in np.array_split(pieces, self.parts)]

    def step(self) -> StepReport:
        """Train on the next batch: accumulate its gradients, clip them, set the rate of the optimizer (`optimizer.lr`), and update.

        The first step has the rate of step 1 of the schedule.

        Raises:
            NonFiniteGradients: If a gradient is infinite or NaN. Then the step does not count, and the parameters are as before.
        """
        loss = accumulate(self.model, self.draw())
        norm = clip_gradients(self.model.parameters(), self.largest_norm)
        self.optimizer.lr = learning_rate(self.finished + 1, self.schedule)
        self.optimizer.step()
        self.finished += 1
        return StepReport(loss, norm, self.optimizer.lr)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes from step to step, as a dictionary that does not change with later steps.

        * "model": the weights, see `named_weights`;
        * "optimizer": `state_dict()` of the optimizer;
        * "finished": the number of finished steps;
        * "random": the state of the generator, its `bit_generator.state`.
        """
        return {
            "model": named_weights(self.model),
            "optimizer": self.optimizer.state_dict(),
            "finished": self.finished,
            "random": self.random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where a training with the same model, text and settings was when `state_dict` was called.

        Args:
            state: A result of `state_dict`, or what `minitorch.load` reads of it, with weights as tensors; see `load_weights`.

        Raises:
            ValueError: If a part is missing, `_check_state` says so; or if weights or optimizer do not fit.
        """
        _check_state(state)
        load_weights(self.model, state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.finished = state["finished"]
        self.random.bit_generator.state = state["random"]


# Checks


def _check_schedule(step: int, schedule: Schedule) -> None:
    """Check the arguments of `learning_rate`."""
    steps, warmup, largest, smallest = schedule
    if not 0 <= warmup < steps:
        raise ValueError(f"Schedule expected a warm-up of at least 0 and less than the {steps} steps, got {warmup}; warm up for fewer")
    if not 0 <= smallest <= largest < math.inf:
        raise ValueError(f"Schedule expected 0 <= smallest <= largest rate, got {smallest} and {largest}; try 3e-4 and 3e-3")
    if step < 0:
        raise ValueError(f"learning_rate expected a step of at least 0, got {step}; count from 1")


def _check_largest_norm(largest_norm: float) -> None:
    """Check the limit of `clip_gradients`."""
    if not largest_norm > 0:  # also refuses NaN
        raise ValueError(f"clip_gradients expected a largest norm above 0, got {largest_norm}; try 1")


class NonFiniteGradients(ValueError):
    """Gradients that are infinite or NaN, as those of a training that diverges."""


def _check_norm(norm: float) -> None:
    """Check that the norm of the gradients is finite."""
    if not math.isfinite(norm):
        raise NonFiniteGradients(
            f"clip_gradients expected finite gradients, got the norm {norm}; "
            "train again with a smaller rate or a longer warm-up, or find the operation that makes it"
        )


def _check_parts(parts: Sequence[Part]) -> None:
    """Check the parts of `accumulate`."""
    if not parts:
        raise ValueError("accumulate expected at least one part, got none; draw a batch first")
    for number, (tokens, targets) in enumerate(parts):
        if tokens.shape != targets.shape:
            raise ValueError(
                f"accumulate expected a target for each token, got tokens {tokens.shape} and targets {targets.shape} in part {number}; "
                "shift the same sequences by one token"
            )


def _check_state(state: Mapping[str, Any]) -> None:
    """Check that a state of a training has all its parts."""
    if missing := [name for name in ("model", "optimizer", "finished", "random") if name not in state]:
        raise ValueError(f"load_state_dict expected a state of a Training, got none of {', '.join(missing)}; pass what state_dict returned")
