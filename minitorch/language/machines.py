"""Stage 6 - Several machines: an all-reduce in a ring, gradients of several processes, and a pipeline of micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from minitorch.language.model import cross_entropy
from minitorch.language.network import Peer
from minitorch.module import Module
from minitorch.tensor import tensor

if TYPE_CHECKING:
    from minitorch.language.model import GPT2
    from minitorch.tensor import Tensor


# Sums


def all_reduce(peer: Peer, array: np.ndarray) -> np.ndarray:
    """The sum of the arrays of all processes, the same to the last bit in each of them.

    Each array is cut into `peer.size` chunks, whose sizes differ by at most 1. In each of 2 · (size - 1) steps, a process sends one chunk
    to the next process, and receives one from the process before it; after the last process comes process 0. In the first half of the
    steps, a process adds what it receives to its own chunk. Then each process has one chunk of the sum. In the second half, these go
    around, and a process replaces its own chunk by what it receives. So a process sends 2 · (size - 1) messages of about
    `array.size / size` elements; a chunk may be empty.

    Args:
        peer: This process. Every process makes the call.
        array: Numbers, of the same shape and dtype in every process. It is not changed.

    Returns:
        A new array of the same shape and dtype.

    Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
    """
    out, size = array.flatten(), peer.size
    chunks = np.array_split(out, size)  # views of out
    after, before = (peer.rank + 1) % size, (peer.rank - 1) % size
    for step in range(size - 1):
        peer.send(chunks[(peer.rank - step) % size], after)
        chunks[(peer.rank - step - 1) % size] += peer.receive(before)
    for step in range(size - 1):
        peer.send(chunks[(peer.rank + 1 - step) % size], after)
        chunks[(peer.rank - step) % size][:] = peer.receive(before)
    return out.reshape(array.shape)


def sum_gradients(peer: Peer, model: Module) -> None:
    """Replace the gradient of each trained parameter by its sum over all processes, with one `all_reduce` for all of them together.

    Processes may have computed gradients of different parameters: one that has no gradient counts as zeros, and gets the sum. A parameter
    that is a constant, because its value does not require a gradient, is left out.

    Args:
        peer: This process.
        model: This process's copy of the model, with the same names, shapes and constants in every process.
    """
    values = [x for x in (each.value for each in model.parameters()) if x.requires_grad]
    gradients = [(x.zeros() if x.grad is None else x.grad).to_numpy() for x in values]
    sums = all_reduce(peer, np.concatenate([each.reshape(-1) for each in gradients]))
    for x, part in zip(values, np.split(sums, np.cumsum([each.size for each in gradients])[:-1]), strict=True):
        x.grad = tensor(part.reshape(x.shape), x.backend)


# The pipeline


def schedule(micro_batches: int, stages: int) -> list[list[tuple[int, int]]]:
    """The waves of a pipeline: what all stages compute at the same time.

    Stage 0 begins with micro-batch 0. A micro-batch is in each wave at one stage, and in the next wave at the next one; the micro-batches
    enter one after the other. So the numbers of micro-batch and stage add up to the number of the wave.

    Args:
        micro_batches: Their number, at least 1.
        stages: Their number, at least 1.

    Returns:
        For each of the micro_batches + stages - 1 waves, the pairs (micro-batch, stage) in the order of the stages.

    Source: Huang et al. 2019, arXiv:1811.06965, section 2.
    """
    return [
        [(wave - stage, stage) for stage in range(stages) if 0 <= wave - stage < micro_batches]
        for wave in range(micro_batches + stages - 1)
    ]


def model_stage(model: GPT2, stage: int, stages: int) -> Callable[[Tensor], Tensor]:
    """The part of a model that one stage of a pipeline computes.

    The blocks are divided among the stages, in order, as evenly as possible; with more stages than blocks, some compute nothing.

    Args:
        model: The model.
        stage: The number of the stage. The first one also embeds the tokens, the last one also computes the logits.
        stages: The number of stages.

    Returns:
        A function of the previous stage's output; the first stage's is one of tokens, (B, T).
    """
    first, end = (model.layers * number // stages for number in (stage, stage + 1))
    blocks = list(model.h.modules())[first:end]

    def part(x: Tensor) -> Tensor:
        if stage == 0:
            x = model.wte(x) + model.wpe(tensor(np.arange(x.shape[1]), x.backend))
        for block in blocks:
            x = block(x)
        return model.ln_f(x) @ model.wte.weight.value.transpose(0, 1) if stage == stages - 1 else x

    return part


def pipeline_step(peer: Peer, stage: Callable[[Tensor], Tensor], inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> float:
    """Compute the gradients of a batch with a model whose stages belong to different processes, micro-batch by micro-batch.

    Process 0 has the first stage, the next process the next one. First all micro-batches go forward, in the order of `schedule`: a process
    receives the output of the stage before, computes its own, and sends it on at once, before it waits for the next micro-batch. Then
    their gradients go backward, in the opposite order: a process receives the gradient of what it has sent, and sends that of what it has
    received. All parameters get the gradients of the mean of -ln p over all tokens of all micro-batches, as if these were one batch, which
    are added to earlier ones.

    Args:
        peer: This process.
        stage: Its stage, a function of the output of the stage before.
        inputs: The tokens of each micro-batch, which process 0 reads. Micro-batches may have different sizes.
        targets: Their targets, which the last process compares with its outputs by `cross_entropy`.

    Returns:
        The mean loss over all tokens in the last process, 0.0 in the others.

    Raises:
        ValueError: If there is no micro-batch, or inputs and targets differ in shape; `_check_parts` says so.
    """
    _check_parts(inputs, targets)
    last, loss, kept = peer.size - 1, 0.0, []
    total = sum(each.numel() for each in targets)
    own = [micro_batch for wave in schedule(len(inputs), peer.size) for micro_batch, number in wave if number == peer.rank]
    for number in own:
        x = inputs[number]
        if peer.rank > 0:
            x = tensor(peer.receive(peer.rank - 1), x.backend, requires_grad=True)
        out = stage(x)
        if peer.rank < last:
            peer.send(out.to_numpy(), peer.rank + 1)
        else:
            out = cross_entropy(out, targets[number]) * (targets[number].numel() / total)
            loss += out.item()
        kept.append((x, out))
    for x, out in reversed(kept):
        out.backward(tensor(peer.receive(peer.rank + 1), out.backend) if peer.rank < last else None)
        if peer.rank > 0:
            peer.send(x.grad.to_numpy(), peer.rank - 1)
    return loss


def _check_parts(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    """Check the micro-batches of `pipeline_step`."""
    shapes = [[each.shape for each in parts] for parts in (inputs, targets)]
    if not inputs or shapes[0] != shapes[1]:
        raise ValueError(
            f"pipeline_step expected at least one micro-batch, and targets of the same shape for each, got inputs {shapes[0]} and targets "
            f"{shapes[1]}; cut a batch and its targets at the same places"
        )
