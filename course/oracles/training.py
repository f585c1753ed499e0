"""Task 6.7: AdamW, a schedule, clipped and accumulated gradients, and the state of a training, compared with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.language import mean_loss
from course.oracles.modules import tree
from course.oracles.operators import compare
from course.oracles.parts import Part, compare_parts, compare_result, refusal
from course.oracles.tensors import array

MODULE = "minitorch.language.training"
STEP = f"{MODULE}:Training.step"

LENGTH = 1e-4
"""The distance that all parameters together are moved for a central difference."""


def _named(model: Any) -> dict[str, Any]:
    """The parameters of a model by name."""
    return {name: entry for name, entry in tree(model) if not hasattr(entry, "_modules")}


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and arrays of a nested state, each with its path; a number of the optimizer may be a float or an int."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}[{key!r}]", inner)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _flat(f"{name}[{place}]", inner)
    else:
        found = array(value)
        yield name, found.copy() if isinstance(found, np.ndarray) else found


def _same_state(expected: list[tuple[str, Any]], got: list[tuple[str, Any]]) -> Iterator[Part]:
    found = dict(got)
    for name, value in expected:
        yield f"whether there is {name}", True, name in found
        yield name, value, found[name]
    yield "the names of all parts", sorted(name for name, _ in expected), sorted(found)


# The optimizer


def averages(call: Call) -> tuple[int, Any, Any]:
    """The number of steps of a parameter, and copies of its averages."""
    _, value, _, state, group = call.before
    call.recorder.note(STEP, ("update", group["lr"]))
    zeros = np.zeros_like(value.array)
    mean, square = (np.array(array(state.get(name, zeros))) for name in ("exp_avg", "exp_avg_sq"))
    return state.get("step", 0), mean, square


def new_value(call: Call) -> Difference | None:
    """Compare a parameter after a step of AdamW, and its state."""
    _, value, gradient, state, group = call.before
    steps, mean, square = call.start
    kept, changes = group["betas"], (gradient.array, np.square(gradient.array))
    pairs = zip((mean, square), changes, kept, strict=True)
    mean, square = (np.average([old, new], axis=0, weights=[beta, 1 - beta]) for old, new, beta in pairs)
    sums = [(1 - beta) * math.fsum(beta**age for age in range(steps + 1)) for beta in kept]  # how much of the averages is known
    step = np.divide(mean / sums[0], np.sqrt(square / sums[1]) + group["eps"])
    expected = value.array - group["lr"] * (step + group["weight_decay"] * value.array)

    def parts() -> Iterator[Part]:
        yield "the result", expected, array(call.result)
        yield "state['step']", steps + 1, state["step"]
        yield "state['exp_avg'], which is not corrected", mean, array(state["exp_avg"])
        yield "state['exp_avg_sq'], which is not corrected", square, array(state["exp_avg_sq"])
        yield "value, which must not change", value.array, array(call.arguments[1])
        yield "gradient, which must not change", gradient.array, array(call.arguments[2])

    return compare_result(
        call, "value · (1 - lr · weight_decay) - lr · m / (√s + eps), with m and s corrected for their beginning", parts()
    )


def groups(call: Call) -> Difference | None:
    """Compare the groups of parameters."""
    model, weight_decay = call.before
    names = {id(parameter): name for name, parameter in _named(model).items()}
    ranks = {names[id(parameter)]: len(parameter.value.shape) for parameter in _named(model).values()}
    matrices, vectors = ([name for name, rank in ranks.items() if (rank > 1) is wide] for wide in (True, False))
    expected = [(found, decay) for found, decay in ((matrices, weight_decay), (vectors, 0.0)) if found]

    def parts() -> Iterator[Part]:
        for place, ((found, decay), group) in enumerate(zip(expected, call.result, strict=False)):
            yield f"the parameters of group {place}", found, [names.get(id(parameter), "?") for parameter in group["params"]]
            yield f"the weight decay of group {place}", float(decay), group["weight_decay"]
        yield "the number of groups", len(expected), len(call.result)

    return compare_result(call, "a group of all matrices with weight decay, and one of all vectors without", parts())


# The schedule


def rate(call: Call) -> Difference | None:
    """Compare the rate of a step."""
    words = "on the line from 0 to the largest rate before the end of the warm-up; then on half a cosine down to the smallest"
    step, (steps, warmup, largest, smallest) = call.before
    if not (0 <= warmup < steps and 0 <= smallest <= largest < math.inf and step >= 0):
        return refusal(call, "a ValueError", "the step or the schedule is impossible")
    return compare("learning_rate", words, rate_of, [step, steps, warmup, largest, smallest], call.result)


def rate_of(step: float, steps: float, warmup: float, largest: float, smallest: float) -> float:
    """The rate of a step."""
    if step < warmup:
        return float(np.interp(step, [0, warmup], [0, largest]))
    turn = np.pi * np.clip((step - warmup) / (steps - warmup), 0, 1)
    return float(np.average([largest, smallest], weights=[1 + np.cos(turn), 1 - np.cos(turn)]))


# Gradients


def gradients(call: Call) -> list[tuple[Any, Any]]:
    """The values of parameters, and copies of their gradients."""
    call.recorder.note(STEP, ("clip", call))
    values = [parameter.value for parameter in call.before[0]]
    return [(value, None if value.grad is None else array(value.grad).copy()) for value in values]


def clipped(call: Call) -> Difference | None:
    """Compare the norm of gradients, and the gradients after they were clipped."""
    largest, flat = call.before[1], [grad.astype(np.float64).ravel() for _, grad in call.start if grad is not None]
    norm = float(np.linalg.norm(np.concatenate([np.zeros(1), *flat])))
    if not largest > 0 or not math.isfinite(norm):
        return refusal(call, "a ValueError", f"the norm is {norm}, and the largest norm {largest}", _grads(call, 1.0))

    def parts() -> Iterator[Part]:
        yield "the result, the norm before", norm, call.result
        yield from _grads(call, min(1.0, largest / norm) if norm else 1.0)

    return compare_result(call, "the norm of all gradients together; if it is too large, each gradient times largest_norm / norm", parts())


def _grads(call: Call, factor: float) -> Iterator[Part]:
    for place, (value, before) in enumerate(call.start):
        name = f"the gradient of parameter {place}"
        yield name, before if before is None else (before * before.dtype.type(factor)), array(value.grad)


def values(call: Call) -> list[tuple[Any, Any]]:
    """The parameters of a model, and copies of their values."""
    call.recorder.note(STEP, ("accumulate", call))
    return [(parameter, array(parameter.value).copy()) for parameter in call.before[0].parameters()]


def gradients_after(call: Call) -> list[Any]:
    """Copies of the gradients."""
    grads = [array(parameter.value.grad) for parameter, _ in call.start]
    return [np.zeros_like(value) if grad is None else grad.copy() for grad, (_, value) in zip(grads, call.start, strict=True)]


def accumulated(call: Call) -> Difference | None:
    """Compare a mean loss, and its gradient in a random direction with a central difference."""
    model, parts = call.before
    if not parts or any(tokens.shape != targets.shape for tokens, targets in parts):
        return refusal(call, "a ValueError", "there is no part, or one without a target for each token")
    slope, found, result = slopes(model, parts, call.start, call.end)
    words = "the mean of -ln p over all tokens of all parts, and its gradient for each parameter"

    def checks() -> Iterator[Part]:
        yield "the result", result, call.result
        yield "the type of the result", "float", type(call.result).__name__
        yield "the gradients: the derivative in a random direction", slope, found

    return compare_result(call, words, checks())


def slopes(model: Any, parts: Any, start: Sequence[tuple[Any, Any]], gradients: Sequence[Any]) -> tuple[float, float, float]:
    """The derivative of a mean loss in a random direction.

    Args:
        model: The model, or a function that computes what it does.
        parts: Pairs of tokens and targets.
        start: The parameters with their values.
        gradients: Their gradients.

    Returns:
        The derivative by a central difference; that by the gradients, equal if they are close; and the loss.

    Raises:
        TypeError: If a value is not of float64: a central difference needs its digits.
    """
    if any(value.dtype != np.float64 for _, value in start):
        raise TypeError
    draw = np.random.default_rng(0)
    direction = [draw.normal(size=value.shape) for _, value in start]
    unit = LENGTH / math.sqrt(sum(np.square(each).sum() for each in direction))

    def loss(steps: int) -> float:
        moved = [value + steps * unit * each for (_, value), each in zip(start, direction, strict=True)]
        return _loss(model, parts, [parameter for parameter, _ in start], moved)

    slope = (loss(1) - loss(-1)) / (2 * LENGTH)
    found = float(sum((grad * each).sum() for grad, each in zip(gradients, direction, strict=True)) * unit / LENGTH)
    is_close = abs(slope - found) <= 1e-4 * max(abs(slope), abs(found)) + 1e-6
    return slope, slope if is_close else found, loss(0)


def _loss(model: Any, parts: Any, parameters: list[Any], values: list[Any]) -> float:
    """The mean loss with other values of the parameters, which get their own ones back."""
    storages = [parameter.value._tensor._storage for parameter in parameters]
    own = [storage.copy() for storage in storages]
    try:
        for storage, value in zip(storages, values, strict=True):
            storage[:] = value.reshape(storage.shape)
        logits = [array(model(tokens)) for tokens, _ in parts]
    finally:
        for storage, value in zip(storages, own, strict=True):
            storage[:] = value
    targets = [array(each) for _, each in parts]
    losses = [mean_loss(*pair).item() for pair in zip(logits, targets, strict=True)]
    return float(np.average(losses, weights=[each.size for each in targets]))


# The training


def finished(call: Call) -> int:
    """The number of steps before this one."""
    return call.arguments[0].finished


def step(call: Call) -> Difference | None:
    """Compare the report of a step with what the functions returned that it called, and their order."""
    training = call.arguments[0]
    if not call.returned:
        return compare_parts(call, "a step that fails does not count", [("finished", call.start, training.finished)])
    notes = dict(reversed(call.inside))
    expected = rate_of(call.start + 1, *training.schedule)

    def parts() -> Iterator[Part]:
        order = list(dict.fromkeys(name for name, _ in call.inside))
        yield "the order of what it does", ["accumulate", "clip", "update"][: max(2, len(order))], order
        for name, result in call.inside:
            if name == "update":
                yield "the learning rate of the update", expected, result
        yield "the largest norm of clip_gradients", float(training.largest_norm), notes["clip"].before[1]
        yield "the rate that it reports", expected, call.result.rate
        yield "the loss that it reports", float(notes["accumulate"].result), call.result.loss
        yield "the norm that it reports", float(notes["clip"].result), call.result.norm
        yield "finished", call.start + 1, training.finished

    words = "accumulate, clip_gradients, then the update with the rate of this step, the first of which is step 1"
    return compare_result(call, words, parts(), "a StepReport")


def _state(training: Any) -> list[tuple[str, Any]]:
    """All that changes from step to step, as it is now."""
    parts = {
        "model": {name: parameter.value for name, parameter in _named(training.model).items()},
        "optimizer": training.optimizer.state_dict(),
        "finished": training.finished,
        "random": training.random.bit_generator.state,
    }
    return list(_flat("state", parts))


def saved(call: Call) -> Difference | None:
    """Compare a state with the training."""
    training = call.arguments[0]

    def parts() -> Iterator[Part]:
        yield from _same_state(_state(training), list(_flat("state", call.result)))
        for name, parameter in _named(training.model).items():
            shared = np.shares_memory(array(call.result["model"][name]), array(parameter.value))
            yield f"whether state['model'][{name!r}] shares its memory with the weight, which later steps change", False, shared

    return compare_result(call, "all that changes from step to step, as copies", parts(), "a dictionary")


def given_state(call: Call) -> list[tuple[str, Any]] | None:
    """The state that is loaded; None if a part is missing."""
    state = call.before[1]
    return list(_flat("state", state)) if {"model", "optimizer", "finished", "random"} <= {*state} else None


def restored(call: Call) -> Difference | None:
    """Compare a training with the state that it has loaded."""
    if call.start is None:
        return refusal(call, "a ValueError", "a part of the state is missing")
    if not call.returned:
        raise ValueError  # a weight does not fit, or the like
    return compare_parts(call, "the training as it was when state_dict was called", _same_state(call.start, _state(call.arguments[0])))


JUDGES: dict[str, Judge] = {
    f"{MODULE}:AdamW.new_value": new_value,
    f"{MODULE}:decay_groups": groups,
    f"{MODULE}:learning_rate": rate,
    f"{MODULE}:clip_gradients": clipped,
    f"{MODULE}:accumulate": accumulated,
    STEP: step,
    f"{MODULE}:Training.state_dict": saved,
    f"{MODULE}:Training.load_state_dict": restored,
}

PREPARE: dict[str, Callable[[Call], Any]] = {
    f"{MODULE}:AdamW.new_value": averages,
    f"{MODULE}:clip_gradients": gradients,
    f"{MODULE}:accumulate": values,
    STEP: finished,
    f"{MODULE}:Training.load_state_dict": given_state,
}
"""What is read at the beginning of a call."""

FINISH: dict[str, Callable[[Call], Any]] = {f"{MODULE}:accumulate": gradients_after}
"""What is read at the end of a call."""

LATER = (f"{MODULE}:accumulate",)
"""Compared after the test, because that calls models of the test again."""
