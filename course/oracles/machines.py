"""Task 6.10: sums over processes, the waves of a pipeline, and a pipeline's step, compared with all processes of a network together."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, product, zip_longest
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from course.explain.calls import NOTHING, Call, Judge, Observed
from course.explain.divergence import Difference
from course.oracles.language import mean_loss
from course.oracles.modules import tree
from course.oracles.parts import ORACLE, Part, compare_parts, compare_result, refusal
from course.oracles.tensors import array
from course.oracles.training import slopes

MODULE = "minitorch.language.machines"


def _together(call: Call) -> list[Call]:
    """The calls of all processes that belong to this one, by rank: the first one of each, or the second one, and so on.

    Raises:
        ValueError: If a process has made no such call, unless this call has raised an error before.
    """
    peer = call.arguments[0]
    calls = [each for each in call.recorder.waiting if each.target is call.target and each.arguments[0]._network is peer._network]
    by_rank = [[each for each in calls if each.arguments[0].rank == rank] for rank in range(peer.size)]
    place = by_rank[peer.rank].index(call)
    together = [own[place] for own in by_rank if place < len(own)]
    if len(together) < peer.size and not _has_raised(call):
        raise ValueError("another process made no such call")
    return together


def _has_raised(call: Call) -> bool:
    """Whether the error that ended the network was raised in this call; a deadlock may be the mistake of another process."""
    peer = call.arguments[0]
    in_call = [frame for frame in _frames(peer) if frame.f_code is call.code and any(each is peer for each in frame.f_locals.values())]
    return bool(in_call) and "deadlock" not in str(peer._network._error)


def _frames(peer: Any) -> list[FrameType]:
    """The running functions when the error was raised that ended the network; none if there was no error."""
    error = peer._network._error
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)] if error else []


def messages_before(call: Call) -> int:
    """The number of messages that the network has sent."""
    return len(call.arguments[0]._network.messages)


def _sent(call: Call, before: int) -> list[Any]:
    """The messages of this process since then."""
    peer = call.arguments[0]
    return [message for message in peer._network.messages[before:] if message.source == peer.rank]


# The sum


class Sum(NamedTuple):
    """What all_reduce has done.

    Attributes:
        result: A copy of its result.
        is_new: Whether the result shares no memory with the array.
        sent: The messages of its process.
    """

    result: Any
    is_new: bool
    sent: list[Any]


def sum_at_the_end(call: Call) -> Sum:
    """What is known at the end of all_reduce, before a test changes the result."""
    is_new = isinstance(call.result, np.ndarray) and not np.shares_memory(call.result, call.arguments[1])
    return Sum(np.array(call.result), is_new, _sent(call, call.start))


def summed(call: Call) -> Difference | None:
    """Compare the sum of the arrays of all processes, and the messages."""
    together = _together(call)
    arrays = [each.before[1] for each in together]
    if len({(each.shape, each.dtype) for each in arrays}) > 1:
        raise ValueError("the arrays differ in shape or dtype")

    def parts() -> Iterator[Part]:
        end, peer = call.end, call.arguments[0]
        yield "the result", np.asarray(np.add.reduce(np.stack(arrays), axis=0, dtype=arrays[0].dtype)), end.result
        yield "the dtype of the result", arrays[0].dtype.name, end.result.dtype.name
        yield "the array, which must not change", call.before[1], call.after[1]
        yield "whether the result is a new array", True, end.is_new
        size = peer.size
        yield "the processes that it sends to", [(peer.rank + 1) % size] * 2 * (size - 1), [message.to for message in end.sent]
        sizes = {arrays[0].size // size, -(-arrays[0].size // size)}
        for number, message in enumerate(end.sent):
            yield f"whether message {number} has {' or '.join(map(str, sorted(sizes)))} elements", True, message.array.size in sizes
        yield "whether its bits are those of process 0", True, end.result.tobytes() == together[0].end.result.tobytes()

    words = "the sum of the arrays of all processes, by 2 · (size - 1) messages to the next process, each of a chunk"
    return compare_result(call, words, parts(), "the sum, in a new array")


# Gradients


class Gradient(NamedTuple):
    """A value of a model with its gradient.

    Attributes:
        value: The value.
        grad: A copy of the gradient; None if there is none.
        tensor: The gradient itself.
    """

    value: Any
    grad: Any
    tensor: Any


def _gradient(parameter: Any) -> Gradient:
    value = parameter.value
    return Gradient(value, None if value.grad is None else array(value.grad).copy(), value.grad)


def gradients(call: Call) -> tuple[dict[str, Gradient], int]:
    """The gradients of a model by name, and the number of messages."""
    named = {name: entry for name, entry in tree(call.arguments[1]) if not hasattr(entry, "_modules")}
    return {name: _gradient(entry) for name, entry in named.items()}, messages_before(call)


def gradients_at_the_end(call: Call) -> tuple[dict[str, Gradient], list[Any]]:
    """The gradients of the model by name, and the messages of the process."""
    return gradients(call)[0], _sent(call, call.start[1])


def summed_gradients(call: Call) -> Difference | None:
    """Compare the gradients with the sums over all processes, and count the messages."""
    together = _together(call)
    words = "for each value that requires a gradient, the sum of the gradients of all processes, by one all_reduce; none is zeros"
    if not call.returned:
        return Difference(NOTHING, (("It should be", words),), ORACLE)

    def parts() -> Iterator[Part]:
        found, sent = call.end
        for name, before in call.start[0].items():
            value, got = before.value, found[name]
            if not value.requires_grad:
                yield f"the gradient of {name}, a constant", before.grad, got.grad
                continue
            yield f"the gradient of {name}", np.add.reduce([_or_zeros(each.start[0][name]) for each in together]), got.grad
            yield f"the dtype of the gradient of {name}", array(value).dtype.name, got.grad.dtype.name
            yield f"whether the gradient of {name} has the backend of its value", True, got.tensor.backend is value.backend
            yield f"whether the gradient of {name} needs a gradient", False, got.tensor.requires_grad
        yield "the number of messages", 2 * (call.arguments[0].size - 1), len(sent)

    return compare_parts(call, words, parts())


def _or_zeros(gradient: Gradient) -> Any:
    """A gradient; zeros if there is none."""
    return np.zeros(gradient.value.shape) if gradient.grad is None else gradient.grad


# The pipeline


def waves(call: Call) -> Difference | None:
    """Compare the waves of a pipeline with all pairs, sorted."""
    micro_batches, stages = call.before
    if micro_batches < 1 or stages < 1:
        raise ValueError("no pipeline")

    def parts() -> Iterator[Part]:
        pairs = sorted(product(range(micro_batches), range(stages)), key=lambda pair: (sum(pair), pair[1]))
        for number, (_, wave) in enumerate(groupby(pairs, key=sum)):
            yield f"wave {number}", str(list(wave)), str(list(call.result[number])) if number < len(call.result) else "none"
        yield "the number of waves", micro_batches + stages - 1, len(call.result)

    return compare_result(call, "in each wave the pairs (micro-batch, stage) whose sum is its number, in the order of the stages", parts())


class Step(NamedTuple):
    """What is known at the beginning of a step of a pipeline.

    Attributes:
        stage: The code of its stage; None if it has none.
        actions: What all processes send, receive and compute, in order; the list grows.
        first: The number of actions before the step.
        parameters: The parameters of its stage, as far as they are found, with their gradients.
    """

    stage: Any
    actions: list[Observed]
    first: int
    parameters: list[tuple[Any, Gradient]]


def step_before(call: Call) -> Step:
    """Observe what the processes send and receive, and what their stages compute."""
    peer, stage = call.arguments[:2]
    code = getattr(getattr(stage, "__func__", stage), "__code__", None)
    codes, observed = [type(peer).send.__code__, type(peer).receive.__code__, *([code] if code else [])], call.recorder.observed
    actions = next((observed[each] for each in codes if each in observed), [])
    observed.update(dict.fromkeys(codes, actions))
    parameters = {id(each): each for each in _parameters(stage)}.values()
    return Step(code, actions, len(actions), [(each, _gradient(each)) for each in parameters])


def _parameters(value: Any, depth: int = 3) -> Iterator[Any]:
    """The parameters of models that a function uses, as values from outside or as defaults."""
    if hasattr(value, "_modules"):
        yield from (entry for _, entry in tree(value) if not hasattr(entry, "_modules"))
    elif inspect.isfunction(value) and depth:
        for inner in (*(cell.cell_contents for cell in value.__closure__ or ()), *(value.__defaults__ or ())):
            yield from _parameters(inner, depth - 1)


def step_after(call: Call) -> tuple[list[Observed], list[Gradient]]:
    """What this process has sent, received and computed, and the gradients of its parameters."""
    peer, start = call.arguments[0], call.start
    own = [each for each in start.actions[start.first :] if each.thread == call.thread]
    actions = [each for each in own if each.code is start.stage or each.arguments[0] is peer]
    return actions, [_gradient(parameter) for parameter, _ in start.parameters]


def piped(call: Call) -> Difference | None:
    """Compare what a process does in a pipeline, its loss, and for process 0 the gradients of all of them."""
    inputs, targets = call.before[2:4]
    if not inputs or [each.shape for each in inputs] != [each.shape for each in targets]:
        return refusal(call, "a ValueError", "there is no micro-batch, or one without a target for each token")
    words = "each micro-batch goes forward: receive, compute, send; then its gradient goes backward, the last one first: receive, send"
    if difference := compare_parts(call, words, _step_parts(call)):
        return difference
    together = _together(call)
    if not call.returned:
        if any(frame.f_code is call.start.stage for frame in _frames(call.arguments[0])):
            raise ValueError("the stage raised the error, for what it should get")
        return Difference(NOTHING, (("It should be", words), ("Expected", "the loss, or 0.0")), ORACLE)
    if call.arguments[0].rank or not all(each.returned for each in together):
        return None
    slope, found = _slopes(call, together)
    words = "the gradients of the mean of -ln p over all tokens of all micro-batches, added to earlier ones"
    return compare_parts(call, words, [("the gradients of all processes: the derivative in a random direction", slope, found)])


def _step_parts(call: Call) -> Iterator[Part]:
    """What a process does, up to where it was stopped by an error; and its loss."""
    peer, _, inputs, targets = call.before
    before, after = peer.rank > 0, peer.rank < peer.size - 1
    names = ["compute" if each.code is call.start.stage else _message(each) for each in call.end[0]]
    forward = [f"receive from {peer.rank - 1}"] * before + ["compute"] * bool(call.start.stage) + [f"send to {peer.rank + 1}"] * after
    backward = [f"receive from {peer.rank + 1}"] * after + [f"send to {peer.rank - 1}"] * before
    expected = [*forward * len(inputs), *backward * len(inputs)]
    for number, (right, name) in enumerate(zip_longest(expected, names, fillvalue="nothing more")):
        if number < len(names) or call.returned:
            yield f"action {number} of process {peer.rank}", right, name
    actions = {name: [each for each, other in zip(call.end[0], names, strict=True) if other == name] for name in names}
    computed, place = actions.get("compute", []), int(hasattr(call.arguments[1], "__self__"))  # the input of a method comes second
    for number, each in enumerate(computed):
        received = actions[f"receive from {peer.rank - 1}"][number].result if before else None
        yield from _input_parts(f"what the stage gets of micro-batch {number}", each.arguments[place], inputs[number], received)
    for number, (each, message) in enumerate(zip(computed, actions.get(f"send to {peer.rank + 1}", []), strict=False)):
        yield f"what it sends of micro-batch {number}", array(each.result), message.arguments[1]
    for number, message in zip(reversed(range(len(computed))), actions.get(f"send to {peer.rank - 1}", []), strict=False):
        x = computed[number].arguments[place]
        if x.grad is not None:
            yield f"the gradient that it sends of micro-batch {number}", array(x.grad), message.arguments[1]
    if call.returned and (after or computed):
        yield "the result", *_loss(call.result, [] if after else [array(each.result) for each in computed], targets)


def _loss(result: float, logits: Sequence[Any], targets: Sequence[Any]) -> tuple[float, float]:
    """The loss of a process, 0.0 without logits; and the result, which is equal if it is close."""
    losses = [mean_loss(each, array(right)).item() for each, right in zip(logits, targets, strict=False)]
    loss = float(np.average(losses, weights=[each.numel() for each in targets])) if losses else 0.0
    rounding = 1e-5 if logits and logits[0].dtype == np.float32 else 1e-9
    return loss, loss if abs(result - loss) <= rounding * abs(loss) else result


def _message(action: Observed) -> str:
    """A message in words: `receive` has two arguments, `send` three."""
    return f"receive from {action.arguments[1]}" if len(action.arguments) == 2 else f"send to {action.arguments[2]}"


def _input_parts(name: str, x: Any, tokens: Any, received: Any) -> Iterator[Part]:
    """What a stage gets: the tokens, or a tensor of what was received."""
    if received is None:
        yield name, array(tokens), array(x)
        return
    yield name, received, array(x)
    yield f"the dtype of {name}", received.dtype.name, array(x).dtype.name
    yield f"whether {name} needs a gradient", True, x.requires_grad
    yield f"whether {name} has the backend of the tokens", True, x.backend is tokens.backend


def _slopes(call: Call, together: Sequence[Call]) -> tuple[float, float]:
    """The derivative of the loss of the whole pipeline, by a central difference and by the gradients that its processes have added."""
    first, last = dict[int, tuple[Any, Gradient]](), dict[int, Gradient]()
    for each in sorted(together, key=call.recorder.waiting.index):  # processes may share parameters
        for (parameter, before), after in zip(each.start.parameters, each.end[1], strict=True):
            first.setdefault(id(parameter), (parameter, before))
            last[id(parameter)] = after

    def model(x: Any) -> Any:
        for each in together:
            x = each.arguments[1](x)
        return x

    start = [(parameter, array(parameter.value).copy()) for parameter, _ in first.values()]
    added = [_or_zeros(last[key]) - _or_zeros(before) for key, (_, before) in first.items()]
    slope, found, _ = slopes(model, list(zip(*call.before[2:4], strict=True)), start, added)
    return slope, found


JUDGES: dict[str, Judge] = {
    f"{MODULE}:all_reduce": summed,
    f"{MODULE}:sum_gradients": summed_gradients,
    f"{MODULE}:schedule": waves,
    f"{MODULE}:pipeline_step": piped,
}

PREPARE: dict[str, Callable[[Call], Any]] = {
    f"{MODULE}:all_reduce": messages_before,
    f"{MODULE}:sum_gradients": gradients,
    f"{MODULE}:pipeline_step": step_before,
}
"""What is read at the beginning of a call."""

FINISH: dict[str, Callable[[Call], Any]] = {
    f"{MODULE}:all_reduce": sum_at_the_end,
    f"{MODULE}:sum_gradients": gradients_at_the_end,
    f"{MODULE}:pipeline_step": step_after,
}
"""What is read at the end of a call."""

LATER = (f"{MODULE}:all_reduce", f"{MODULE}:sum_gradients", f"{MODULE}:pipeline_step")
"""Compared after the test, when the calls of all processes are known."""
