"""Stage 7 - The process group: the processes of a job, their ranks, and waiting for each other with a time limit.

The engine is MPI through mpi4py, which is imported only in a process that mpiexec has started. A program that runs alone is a group of one
process and needs neither.
"""

from __future__ import annotations

import io
import os
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np

from minitorch.core.errors import ArgumentError
from minitorch.distributed.staging import select_device

LAUNCHED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK")
"""Variables that the launchers of MPICH, Open MPI and Slurm set for every process of a job."""

YIELDING = 0.01
"""Seconds for which a waiting process only yields the processor; after that, it sleeps between checks."""

POLL_INTERVAL = 0.0001
"""Seconds of one such sleep: short compared with the latency of a network, long enough for another process to use the processor."""

GRACE_PERIOD = 2.0
"""Seconds for which a failing process lets the others print their own errors before it ends the job."""

DELIVERY = 0.2
"""Seconds for mpiexec to read what the processes have printed; it discards the rest when one of them ends the job."""

EXCHANGE = 32767
"""Tag of the messages of exchanges: the largest that every MPI has."""

ARRAY = 32766
"""Tag of the messages of `send`."""

DESCRIPTION = 256
"""Bytes in which a process describes its call where the processes disagree."""


class ProcessGroup:
    """The processes of a job as one of them sees it.

    Args:
        comm: Communicator of MPI, or None for a group of one process.
        local_rank: Number of this process among those of its machine.
        timeout: Seconds to wait for the other processes.

    Attributes:
        rank: Number of this process, from 0.
        size: Number of processes.
    """

    def __init__(self, comm: Any, local_rank: int, timeout: float) -> None:
        self.comm, self.local_rank, self.timeout = comm, local_rank, timeout
        self.rank, self.size = (0, 1) if comm is None else (comm.rank, comm.size)
        self._sending: list[tuple[Any, np.ndarray]] = []  # requests of `send` and what they send

    backend = "mpi"
    """What carries the messages, by PyTorch's name."""

    def close(self) -> None:
        """Leave the group, after what was sent has been delivered. MPI itself ends with the process."""
        self.wait([request for request, _ in self._sending], "destroy_process_group")

    def duplicate(self) -> ProcessGroup:
        """The same processes with a communicator of their own, whose messages cannot match those of another."""
        return ProcessGroup(None if self.comm is None else self.comm.Dup(), self.local_rank, self.timeout)

    def subset(self, ranks: Sequence[int]) -> ProcessGroup | None:
        """Some of the processes with a communicator of their own; every process calls it. None in a process that is not among them.

        Args:
            ranks: The ranks in this group, in the order of those in the new one.
        """
        if self.comm is None:
            return self.duplicate()
        inside = self.rank in ranks
        comm = self.comm.Split(0 if inside else _mpi().UNDEFINED, ranks.index(self.rank) if inside else 0)
        return ProcessGroup(comm, self.local_rank, self.timeout) if inside else None

    def start_sum(self, numbers: np.ndarray, op: str = "SUM") -> Any:
        """Start to replace contiguous arrays by their sum over all processes; returns the request to wait for.

        Args:
            numbers: The array of this process.
            op: Another operation in place of the sum: PROD, MIN, MAX, BAND, BOR or BXOR.
        """
        return self.comm.Iallreduce(_mpi().IN_PLACE, numbers, op=getattr(_mpi(), op))

    def start_broadcast(self, elements: np.ndarray, src: int) -> Any:
        """Start to replace contiguous arrays by that of rank src; returns the request to wait for."""
        return self.comm.Ibcast(elements.view(np.uint8), root=src)  # bytes: MPI has no type for every dtype

    def start_gather(self, own: np.ndarray, found: np.ndarray) -> Any:
        """Start to collect a contiguous array of every process in the rows of found; returns the request to wait for."""
        return self.comm.Iallgather(own.view(np.uint8), found.view(np.uint8))

    def start_send(self, elements: np.ndarray, dst: int, tag: int) -> Any:
        """Start to send a contiguous array to rank dst, where the tag must match; returns the request to wait for."""
        return self.comm.Isend(elements.view(np.uint8), dst, tag)

    def start_receive(self, place: np.ndarray, src: int | None, tag: int) -> Any:
        """Start to receive a contiguous array from rank src, or from any; returns the request, whose `source` is the rank."""
        return _Receipt(self.comm.Irecv(place.view(np.uint8), _mpi().ANY_SOURCE if src is None else src, tag))

    def start_exchange(self, sent: Mapping[int, np.ndarray], received: Mapping[int, np.ndarray]) -> list[Any]:
        """Start to send an array to each of some other ranks and to receive one from each of some; returns the requests to wait for."""
        receipts = [self.start_receive(place, rank, EXCHANGE) for rank, place in received.items()]
        return receipts + [self.start_send(part, rank, EXCHANGE) for rank, part in sent.items()]

    def send(self, array: np.ndarray, to: int) -> None:
        """Send a copy of an array of any shape and dtype to rank `to`, without waiting until it is received there by `receive`."""
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        data = np.frombuffer(file.getvalue(), np.uint8)
        self._sending = [each for each in self._sending if not each[0].Test()]
        self._sending += [(self.start_send(part, to, ARRAY), part) for part in (np.array([data.size]), data)]

    def receive(self, source: int) -> np.ndarray:
        """Wait for the next array that rank `source` sends to this one by `send`.

        Raises:
            RuntimeError: If none comes within the time limit.
        """
        size = np.zeros(1, np.int64)
        self.wait([self.start_receive(size, source, ARRAY)], "receive")
        data = np.zeros(size[0], np.uint8)
        self.wait([self.start_receive(data, source, ARRAY)], "receive")
        return np.load(io.BytesIO(data.tobytes()), allow_pickle=False)

    def wait(self, requests: Sequence[Any], op: str) -> None:
        """Wait until requests are complete.

        Args:
            requests: Requests of the messages.
            op: The operation, for the message.

        Raises:
            RuntimeError: If the other processes do not take part within the time limit.
        """
        start = time.monotonic()
        while sum(not request.Test() for request in requests):  # every look lets all of them progress
            waited = time.monotonic() - start
            if waited > self.timeout:
                raise RuntimeError(
                    f"{op} on rank {self.rank} expected all {self.size} processes to take part within {self.timeout:g} s, but some did "
                    "not; one may have ended or stopped early, so look at its output, or pass a longer timeout to init_process_group"
                )
            time.sleep(0 if waited < YIELDING else POLL_INTERVAL)

    def check_same(self, op: str, call: str) -> None:
        """Check that every process makes the same call, with one reduction of 16 bytes.

        Args:
            op: The operation, for the message.
            call: Description of the call, at most DESCRIPTION bytes of which are shown.

        Raises:
            RuntimeError: If two processes make different calls; it is raised on every process.
        """
        if self.size == 1:
            return
        checksum = zlib.crc32(call.encode())
        extremes = np.array([checksum, -checksum], np.int64)
        self.wait([self.start_sum(extremes, "MAX")], op)
        if extremes[0] == -extremes[1]:
            return
        calls = self.gather_texts(call, op)
        listed = "".join(f"\n  {_ranks(calls, each)}: {each}" for each in dict.fromkeys(calls))
        raise RuntimeError(f"{op} expected the same call on every rank, got{listed}\nmake the program do the same on every rank")

    def gather_texts(self, text: str, op: str) -> list[str]:
        """The texts of all processes in the order of their ranks, for a message; DESCRIPTION bytes of each.

        Args:
            text: That of this process.
            op: The operation, for the message if others do not take part.
        """
        own, found = np.zeros(DESCRIPTION, np.uint8), np.zeros((self.size, DESCRIPTION), np.uint8)
        shown = np.frombuffer(text.encode()[:DESCRIPTION], np.uint8)
        own[: len(shown)] = shown
        self.wait([self.start_gather(own, found)], op)
        return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in found]


class _Receipt:
    """A request of MPI that keeps the rank from which the message came, as `source`."""

    def __init__(self, request: Any) -> None:
        self._request, self._status = request, _mpi().Status()

    def Test(self) -> bool:
        """Whether the message has come."""
        return self._request.Test(self._status)

    @property
    def source(self) -> int:
        """The rank that sent it."""
        return self._status.source


def _ranks(calls: Sequence[str], call: str) -> str:
    """The ranks that make a call, in words."""
    ranks = [str(rank) for rank, each in enumerate(calls) if each == call]
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks[:8])}{' …' if len(ranks) > 8 else ''}"


def _mpi() -> Any:
    """The module mpi4py.MPI, which initializes MPI when it is first imported."""
    return import_module("mpi4py.MPI")


# The group of this process

_groups: list[ProcessGroup] = []
_excepthooks: list[Callable[..., Any]] = []


def init_process_group(timeout: float = 300.0) -> None:
    """Join the processes that mpiexec has started with this one; a program that runs alone becomes a group of one.

    From here on, an exception that nobody catches ends the whole job after its traceback, because the other processes would wait forever.

    Args:
        timeout: Seconds to wait for the other processes before a call raises an error.

    Raises:
        TypeError: If timeout is not a number.
        ValueError: If it is not above 0 and finite.
        RuntimeError: If the group exists, mpi4py is missing, or mpiexec belongs to another MPI than mpi4py's.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"init_process_group expected timeout in seconds, got {timeout!r}; pass a number such as 300.0")
    if not (timeout > 0 and isfinite(timeout)):
        raise ValueError(f"init_process_group expected a finite timeout > 0 seconds, got {timeout}; a day is 86400.0")
    if _groups:
        raise RuntimeError("init_process_group expected to be called once, but the group exists; call destroy_process_group() first")
    if not any(name in os.environ for name in LAUNCHED):
        _groups.append(ProcessGroup(None, 0, timeout))
        return
    try:
        mpi = _mpi()
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py found no MPI library
        raise RuntimeError(
            f"init_process_group expected mpi4py in a job of several processes, got {type(error).__name__}: {error}; "
            "install it: pip install -r requirements.distributed.txt"
        ) from error
    world = mpi.COMM_WORLD
    promised = int(os.environ.get("PMI_SIZE") or os.environ.get("OMPI_COMM_WORLD_SIZE") or world.size)
    if promised != world.size:
        raise RuntimeError(
            f"init_process_group expected {promised} processes as mpiexec said, got {world.size}: mpiexec belongs to another MPI than "
            "mpi4py's; start the program with python -m minitorch.distributed.run"
        )
    local_rank = world.Split_type(mpi.COMM_TYPE_SHARED).rank
    select_device(local_rank)
    _groups.append(ProcessGroup(world.Dup() if world.size > 1 else None, local_rank, timeout))
    _excepthooks.append(sys.excepthook)
    sys.excepthook = _print_and_abort


def destroy_process_group() -> None:
    """Leave the group; every process calls it at the end.

    Raises:
        RuntimeError: If there is no group.
    """
    current_group("destroy_process_group").close()
    if _excepthooks:
        sys.excepthook = _excepthooks.pop()
    _groups.clear()


def join(group: ProcessGroup) -> None:
    """Make a group that was built in another way that of this process. Raises RuntimeError if there is one."""
    if _groups:
        raise ArgumentError("init_process_group expected to be called once, but the group exists; call destroy_process_group() first")
    _groups.append(group)


def is_initialized() -> bool:
    """Whether `init_process_group` has been called."""
    return bool(_groups)


def current_group(op: str) -> ProcessGroup:
    """The group of this process, which the function op needs. Raises RuntimeError if there is none."""
    if not _groups:
        raise RuntimeError(f"{op} expected a process group, got none; call minitorch.distributed.init_process_group() first")
    return _groups[0]


def get_rank() -> int:
    """Number of this process, from 0.

    Raises:
        RuntimeError: If there is no group.
    """
    return current_group("get_rank").rank


def get_world_size() -> int:
    """Number of processes.

    Raises:
        RuntimeError: If there is no group.
    """
    return current_group("get_world_size").size


def get_local_rank() -> int:
    """Number of this process among those of its machine, from 0; the number of its GPU, where each process has one.

    Raises:
        RuntimeError: If there is no group.
    """
    return current_group("get_local_rank").local_rank


def _print_and_abort(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """Print an exception that nobody caught, and end all processes of the job."""
    _excepthooks[-1](kind, error, traceback)
    abort(130 if issubclass(kind, KeyboardInterrupt) else 1)


def abort(status: int, patience: float = GRACE_PERIOD) -> None:
    """End all processes of the job, as soon as all fail or after a moment in which others that fail too print their errors.

    Args:
        status: Exit status of the job.
        patience: Seconds of that moment.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if not _groups or _groups[0].comm is None:  # alone, or connected by sockets, whose end the others see
        return
    world = _mpi().COMM_WORLD
    failed, start = world.Ibarrier(), time.monotonic()  # complete if every process fails; nothing else uses the world's communicator
    while not failed.Test() and time.monotonic() - start < patience:
        time.sleep(POLL_INTERVAL)
    time.sleep(DELIVERY)
    world.Abort(status)
