"""What the functions of a graph have saved for the backward pass, and when it can be freed."""

from __future__ import annotations

from project.lab.explorers.graph import Recording


def last_visits(recording: Recording) -> dict[int, int]:
    """The number of the last frame in which each node is visited, by node."""
    return {frame.current: number for number, frame in enumerate(recording.frames) if frame.current is not None}


def alive(recording: Recording, moment: int) -> dict[int, bool]:
    """Whether the saved values of each node that has any are still needed after the frame `moment`."""
    last = last_visits(recording)
    forever = len(recording.frames)  # a node that is never visited keeps its values until the graph itself is freed
    return {i: moment < last.get(i, forever) for i, node in enumerate(recording.nodes) if node.saved}


def in_words(recording: Recording, moment: int) -> str:
    """How many saved numbers are alive, and how many were freed."""
    states = alive(recording, moment)
    counts = {i: sum(count for _, count in recording.nodes[i].saved) for i in states}
    total = sum(counts.values())
    kept = sum(counts[i] for i, needed in states.items() if needed)
    if not total:
        return "No function of this graph has saved a number for the backward pass."
    numbers = "1 number" if total == 1 else f"{total} numbers"
    return f"Saved in the forward pass: {numbers}. Still needed: {kept}. Freed: {total - kept}."
