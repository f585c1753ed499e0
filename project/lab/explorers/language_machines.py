"""The student's all-reduce step by step, what it costs, and the student's pipeline, each with a check of its results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitorch.language import machines as student
from minitorch.language.network import Network, Peer
from project.lab.cards import WrongResult
from project.lab.charts.cells import Cell, grid
from project.lab.guard import limited

MOST_PROCESSES = 8
FEWEST_PROCESSES = 2


@dataclass(frozen=True)
class Transfer:
    """What one process sends in a step.

    Attributes:
        source, target: The processes.
        chunk: The number of the chunk.
        added: Whether the target adds the chunk to its own; otherwise it replaces its own.
    """

    source: int
    target: int
    chunk: int
    added: bool


@dataclass(frozen=True)
class Moment:
    """The state after a step.

    Attributes:
        held: For each process and chunk, the processes whose numbers are in its sum, in order.
        transfers: What was sent in this step; empty before the first.
    """

    held: list[list[tuple[int, ...]]]
    transfers: list[Transfer]


def moments(processes: int) -> list[Moment]:
    """Return the states of the student's all-reduce: before the first step, and after each of the 2 (p - 1) steps.

    Every process begins with a number for each chunk in which a single bit is set, a different one for each process and chunk. So a sum
    says which processes are in it, and of which chunk it is.

    Args:
        processes: Their number p.

    Raises:
        WrongResult: If a sum is wrong, or a process does not send one chunk in each step.
    """
    arrays = [np.array([1 << (chunk * processes + rank) for chunk in range(processes)], np.uint64) for rank in range(processes)]
    network = Network(processes)
    sums = network.run(_limited, arrays)
    expected = np.bitwise_or.reduce(arrays)
    for rank, total in enumerate(sums):
        if not isinstance(total, np.ndarray) or not np.array_equal(total, expected):
            raise WrongResult(
                f"all_reduce(peer, array) expected the sum of all arrays in process {rank}, got {_in_words(total, processes)}"
            )
    held: list[list[tuple[int, ...]]] = [[(process,)] * processes for process in range(processes)]
    found = [Moment(held, [])]
    sent = [[each for each in network.messages if each.source == source] for source in range(processes)]
    for step in range(2 * (processes - 1)):
        transfers, held = [], [list(row) for row in held]
        for source, messages in enumerate(sent):
            target = (source + 1) % processes
            if len(messages) != 2 * (processes - 1) or messages[step].to != target or messages[step].array.size != 1:
                raise WrongResult(
                    f"all_reduce expected {2 * (processes - 1)} messages of one chunk from process {source} to process {target}, "
                    f"got {[(each.to, each.array.size) for each in messages]}: to whom, and how many chunks"
                )
            chunk, members = _decoded(int(messages[step].array.reshape(-1)[0]), processes)
            added = len(members) < processes
            transfers.append(Transfer(source, target, chunk, added))
            held[target][chunk] = tuple(sorted({*held[target][chunk], *members}))
        found.append(Moment(held, transfers))
    return found


def _limited(peer: Peer, array: np.ndarray) -> np.ndarray:
    """Call the student's function; its process is a thread, which has a limit of its own."""
    with limited():
        return student.all_reduce(peer, array)


def _decoded(number: int, processes: int) -> tuple[int, tuple[int, ...]]:
    """Return the chunk of a sum and the processes in it."""
    bits = [bit for bit in range(processes * processes) if number >> bit & 1]
    return bits[0] // processes if bits else 0, tuple(bit % processes for bit in bits)


def _in_words(found: object, processes: int) -> str:
    """Say which processes are in each chunk of a wrong sum."""
    if not isinstance(found, np.ndarray):
        return repr(found)[:60]
    if found.shape != (processes,) or found.dtype != np.uint64:
        return f"an array of shape {found.shape} and dtype {found.dtype}"
    sums = ["+".join(map(str, _decoded(int(number), processes)[1])) for number in found]
    return f"in its chunks the sums of process {', '.join(sums)}"


def sentence(processes: int, number: int) -> str:
    """What happens in a step, in a sentence or two."""
    if number == 0:
        return (
            f"Each of {processes} processes has gradients of its own, divided into {processes} chunks. All of them need the sum, and each "
            "process can send to its right neighbor."
        )
    half = processes - 1
    if number <= half:
        done = " Now each process has one chunk with the whole sum." if number == half else ""
        return f"Reduce-scatter, step {number} of {half}: every process sends a chunk, and its neighbor adds it to its own.{done}"
    done = " Now every process has the whole sum." if number == 2 * half else ""
    return f"All-gather, step {number - half} of {half}: every process sends a finished chunk, and its neighbor keeps it.{done}"


def panel(moment: Moment, values: list[list[int]]) -> str:
    """Return the markup of all chunks: one row per process, one column per chunk.

    Args:
        moment: The state after a step.
        values: The value of each chunk of each process before the first step.
    """
    processes = len(values)
    sent = {(each.source, each.chunk) for each in moment.transfers}
    received = {(each.target, each.chunk) for each in moment.transfers}
    cells = []
    for process in range(processes):
        for chunk in range(processes):
            members = moment.held[process][chunk]
            total = sum(values[member][chunk] for member in members)
            look = "changed" if (process, chunk) in received else "read" if (process, chunk) in sent else ""
            done = len(members) == processes
            small = "all" if done else "+".join(map(str, members)) if len(members) <= 3 else f"{len(members)} of {processes}"
            note = f"process {process}, chunk {chunk}: {total}, the sum of process {', '.join(map(str, members))}"
            tag = f"c{chunk}"
            cells.append(Cell(str(total), tag, (tag,), note, look, small=small, shade=done))
    return grid("Rows: processes. Columns: chunks.", (processes, processes), cells, width=3.4 if processes <= 6 else 2.6)


# What it costs


@dataclass(frozen=True)
class Cost:
    """What an all-reduce of n bytes costs.

    Attributes:
        name: The algorithm.
        steps: Messages that follow one another.
        busiest: Bytes that the busiest process sends and receives.
        seconds: Predicted time.
    """

    name: str
    steps: int
    busiest: float
    seconds: float


def costs(processes: int, size: float, latency: float, bandwidth: float) -> list[Cost]:
    """Predict the time of three algorithms with the cost model latency + bytes / bandwidth per message.

    Args:
        processes: Number of processes p.
        size: Bytes of the gradients n.
        latency: Seconds of an empty message.
        bandwidth: Bytes per second of a link, in each direction at the same time.
    """
    others = processes - 1
    doublings = others.bit_length()  # log2 p, rounded up
    ring = 2 * others
    return [
        Cost("through one process", 2 * others, 2 * others * size, 2 * others * (latency + size / bandwidth)),
        Cost("tree, up and down", 2 * doublings, 2 * doublings * size, 2 * doublings * (latency + size / bandwidth)),
        Cost("ring", ring, 2 * 2 * others / processes * size, ring * (latency + size / processes / bandwidth)),
    ]


# The pipeline


def waves(micro_batches: int, stages: int) -> list[list[tuple[int, int]]]:
    """Return the student's schedule.

    Raises:
        WrongResult: If a wave is wrong, or there are too many or too few.
    """
    call, found = f"schedule({micro_batches}, {stages})", student.schedule(micro_batches, stages)
    pairs = [(micro_batch, stage) for stage in range(stages) for micro_batch in range(micro_batches)]
    count = max(map(sum, pairs)) + 1
    if not isinstance(found, list) or len(found) != count:
        raise WrongResult(f"{call} expected a list of {count} waves, got {len(found) if isinstance(found, list) else repr(found)[:60]}")
    for number, wave in enumerate(found):
        expected = [pair for pair in pairs if sum(pair) == number]
        if wave != expected:
            raise WrongResult(f"{call} expected wave {number} to be {expected}, got {repr(wave)[:60]}")
    return found


def pipeline(found: list[list[tuple[int, int]]], stages: int) -> str:
    """Return the markup of a pipeline: one row per stage, one column per wave, first forward and then backward."""
    computed = [{stage: micro_batch for micro_batch, stage in wave} for wave in [*found, *reversed(found)]]
    cells = []
    for stage in range(stages):
        for number, wave in enumerate(computed):
            backward, micro_batch = number >= len(found), wave.get(stage)
            way = "backward" if backward else "forward"
            note = f"wave {number}, stage {stage}: " + ("idle" if micro_batch is None else f"micro-batch {micro_batch} {way}")
            tag = f"m{micro_batch}"
            cells.append(
                Cell("", "", (), note, "idle") if micro_batch is None else Cell(str(micro_batch), tag, (tag,), note, shade=backward)
            )
    return grid("Rows: stages. Columns: waves.", (stages, len(computed)), cells, width=2)


def idle_share(micro_batches: int, stages: int) -> float:
    """Return the share of its time in which a stage has nothing to compute."""
    return (stages - 1) / (micro_batches + stages - 1)
