"""Stage 6 - A simulated network: processes that are threads of this program, of which one runs at a time, and their messages."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

READY, ENDED = -1, -2
"""States of a process that does not wait for another one."""


class Peer(Protocol):
    """A process as its own program sees it, in a simulated network or in a real one.

    Attributes:
        rank: The number of this process, from 0.
        size: The number of processes.
    """

    rank: int
    size: int

    def send(self, array: np.ndarray, to: int) -> None:
        """Send a copy of an array to another process, without waiting until it is received."""

    def receive(self, source: int) -> np.ndarray:
        """Wait for the next array from another process. Arrays of one process arrive in the order in which it sends them."""
        ...


class Message(NamedTuple):
    """What a process sent.

    Attributes:
        source: The process that sent it.
        to: The process that gets it.
        array: A copy of the array.
    """

    source: int
    to: int
    array: np.ndarray


class Network:
    """Processes that run the same program. A process runs until it waits for a message; then the next one that can goes on.

    So a program does the same each time, and a deadlock is an error instead of a program that never ends.

    Args:
        size: The number of processes.

    Attributes:
        messages: All messages in the order in which they were sent.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"Network expected at least 1 process, got {size}; try 4")
        self.size, self.messages = size, list[Message]()
        self._changed = threading.Condition()
        self._reset()

    def run(self, program: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Run a program in each process.

        Args:
            program: A function of a `Peer`, and of one element of each of the arguments.
            arguments: Each has an element for each process.

        Returns:
            The result of each process.

        Raises:
            RuntimeError: If all processes wait for each other, or a message is never received.
            Exception: The first exception that a process raises.
        """
        self._reset()
        results: list[Any] = [None] * self.size
        threads = [
            threading.Thread(target=self._process, args=(rank, results, program, given), daemon=True)
            for rank, given in enumerate(zip(*arguments, strict=True) if arguments else [()] * self.size)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error
        left = [f"{len(messages)} from process {source} to process {to}" for (source, to), messages in self._inbox.items() if messages]
        if left:
            raise RuntimeError(f"run expected every message to be received, got {', '.join(left)} left; receive as often as you send")
        return results

    def _reset(self) -> None:
        """Prepare a run: no process has begun, and no message is on its way."""
        self._states, self._turn = [READY] * self.size, 0
        self._error: BaseException | None = None
        self._inbox = {(source, to): deque[np.ndarray]() for source in range(self.size) for to in range(self.size)}

    def _process(self, rank: int, results: list[Any], program: Callable[..., Any], given: Sequence[Any]) -> None:
        """Run the program of a process in its thread."""
        try:
            self._await_turn(rank)
            results[rank] = program(_Process(self, rank), *given)
        except BaseException as error:  # raised again by run, in its thread
            self._error = self._error or error
        self._pause(rank, ENDED)

    def _pause(self, rank: int, state: int) -> None:
        """Let the next process run that can."""
        with self._changed:
            self._states[rank] = state
            turns = [(rank + step) % self.size for step in range(1, self.size + 1)]
            self._turn = next(filter(self._can_run, turns), -1)
            deadlock = None
            if self._turn < 0 and self._error is None and any(each != ENDED for each in self._states):
                self._error = deadlock = RuntimeError(self._deadlock())
            self._changed.notify_all()
        if deadlock and state != ENDED:
            raise deadlock  # here, so that its traceback has the line that waits

    def _await_turn(self, rank: int) -> None:
        """Wait until a process may run."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn == rank or self._error is not None)
            if self._error is not None:
                raise _Stopped
            self._states[rank] = READY

    def _can_run(self, rank: int) -> bool:
        """Whether a process need not wait."""
        state = self._states[rank]
        return state == READY or (state != ENDED and bool(self._inbox[state, rank]))

    def _deadlock(self) -> str:
        """Say which process waits for which one."""
        ended = [f"process {rank} has ended" for rank, state in enumerate(self._states) if state == ENDED]
        waits = [f"process {rank} waits for process {state}" for rank, state in enumerate(self._states) if state != ENDED]
        return f"receive expected a message, got a deadlock: {', '.join(waits + ended)}; send before you receive, and as often"


class _Process:
    """A process of a simulated network."""

    def __init__(self, network: Network, rank: int) -> None:
        self._network, self.rank, self.size = network, rank, network.size

    def send(self, array: np.ndarray, to: int) -> None:
        """Send a copy of an array to another process."""
        self._check("send", to)
        if not isinstance(array, np.ndarray):
            raise TypeError(f"send expected a NumPy array, got {type(array).__name__}; pass x.to_numpy() of a tensor")
        self._network.messages.append(Message(self.rank, to, array.copy()))
        self._network._inbox[self.rank, to].append(array.copy())

    def receive(self, source: int) -> np.ndarray:
        """Wait for the next array from another process."""
        self._check("receive", source)
        inbox = self._network._inbox[source, self.rank]
        if not inbox:
            self._network._pause(self.rank, source)
            self._network._await_turn(self.rank)
        return inbox.popleft()

    def _check(self, call: str, other: int) -> None:
        """Check the number of another process."""
        if other not in range(self.size) or other == self.rank:
            raise ValueError(f"{call} expected the number of another of {self.size} processes, got {other} in process {self.rank}")


class _Stopped(BaseException):
    """Ends a process after an error in another one; not an Exception, so that no program catches it."""
