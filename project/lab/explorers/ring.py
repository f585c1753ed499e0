"""Ring all-reduce step by step: every process ends up with the sum of all, and sends little more than its own numbers twice."""

from __future__ import annotations

from dataclasses import dataclass

from project.lab.charts.cells import Cell, grid

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
    """The states of an all-reduce: before the first step, and after each of the 2 (p - 1) steps.

    Every process divides its numbers into p chunks. In step s of the first half, process i sends chunk i - s to its neighbor, which adds
    it; in the second half, process i sends the finished chunk i + 1 - s, which replaces the neighbor's.

    Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.

    Args:
        processes: Their number p.
    """
    held: list[list[tuple[int, ...]]] = [[(process,)] * processes for process in range(processes)]
    found = [Moment(held, [])]
    for step in range(2 * (processes - 1)):
        added = step < processes - 1
        shift = step if added else step - (processes - 1) - 1
        transfers = [Transfer(i, (i + 1) % processes, (i - shift) % processes, added) for i in range(processes)]
        before, held = held, [list(row) for row in held]
        for each in transfers:
            sent = before[each.source][each.chunk]
            own = before[each.target][each.chunk]
            held[each.target][each.chunk] = tuple(sorted((*own, *sent))) if added else sent
        found.append(Moment(held, transfers))
    return found


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


def panel(processes: int, number: int, values: list[list[int]]) -> str:
    """Return the markup of all chunks: one row per process, one column per chunk.

    Args:
        processes: Number of processes.
        number: The step.
        values: The value of each chunk of each process before the first step.
    """
    moment = moments(processes)[number]
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
    return grid("Rows: processes. Columns: chunks.", (processes, processes), cells, width=3.4)


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
