"""Stage 7 - torch.multiprocessing: one function in several processes, whose errors reach the process that started them."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection
from typing import Any

TRACEBACK = 30_000
"""Characters of a traceback that are sent: fewer than a pipe takes before somebody reads."""


class ProcessException(Exception):
    """A process failed.

    Args:
        message: What happened.
        error_index: Number of the process, from 0.
        pid: Its PID.
    """

    def __init__(self, message: str, error_index: int, pid: int) -> None:
        super().__init__(message)
        self.msg, self.error_index, self.pid = message, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process raised an exception; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit status other than 0.

    Args:
        message: What happened.
        error_index: Number of the process, from 0.
        error_pid: Its PID.
        exit_code: Its exit status; negative if a signal ended it.
        signal_name: The name of the signal.
    """

    def __init__(self, message: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(message, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _call(fn: Callable[..., Any], index: int, args: Sequence[Any], failures: Any) -> None:
    """Call the function in its process; its traceback goes to the parent."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it, too
    except Exception:
        failures.send(traceback.format_exc()[-TRACEBACK:])
        sys.exit(1)


class ProcessContext:
    """Processes that `start_processes` started.

    Args:
        processes: The processes.
        failures: For each the connection from which its traceback comes.
    """

    def __init__(self, processes: Sequence[Any], failures: Sequence[Any]) -> None:
        self.processes, self._failures = list(processes), list(failures)

    def pids(self) -> list[int]:
        """The PIDs."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; returns whether all have. If one failed, end the others and raise its error.

        Args:
            timeout: Seconds to wait at most.
            grace_period: Seconds for the others to end by themselves after one has failed.

        Raises:
            ProcessRaisedException: If one raised an exception.
            ProcessExitedException: If one ended in another way.
        """
        running = [process.sentinel for process in self.processes if process.is_alive()]
        if running:
            connection.wait(running, timeout)
        failed = next((index for index, process in enumerate(self.processes) if process.exitcode), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        self._end(grace_period)
        self._raise(failed)
        return False

    def _end(self, grace_period: float | None) -> None:
        """End the processes that still run."""
        deadline = time.monotonic() + (grace_period or 0.0)
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            for process in self.processes:
                if process.is_alive():
                    getattr(process, end)()
            for process in self.processes:
                process.join(30 if end == "terminate" else None)

    def _raise(self, index: int) -> None:
        """Raise the error of a process."""
        process = self.processes[index]
        with suppress(EOFError):  # it ended without a traceback
            text = self._failures[index].recv()
            raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext
"""The older name."""


def start_processes(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Call `fn(i, *args)` in nprocs processes, i from 0.

    Args:
        fn: A function of a module, which the processes can import.
        args: Further arguments, which can be pickled.
        nprocs: Number of processes.
        join: Whether to wait for all; otherwise the context is returned.
        daemon: Whether the processes end with this one.
        start_method: "spawn", "fork" or "forkserver".

    Raises:
        ProcessRaisedException: If one raised an exception; the others are ended.
        ProcessExitedException: If one ended in another way.
        ValueError: If there is no such start method, or nprocs is below 1.
    """
    if nprocs < 1:
        raise ValueError(f"start_processes expected nprocs of at least 1, got {nprocs}")
    context = multiprocessing.get_context(start_method)
    processes, failures = [], []
    for index in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process: Any = context.Process(target=_call, args=(fn, index, args, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()
        processes.append(process)
        failures.append(receiver)
    started = ProcessContext(processes, failures)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """`start_processes` with new interpreters, which import the module of the function."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
