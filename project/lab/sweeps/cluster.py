"""Trials on a Dask cluster: `project/sweep.py … --scale dask://host:port`. Every node has this repository, its requirements, and Dask.

Results are written on the machine that started the sweep.
"""

from __future__ import annotations

import importlib
import logging
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any

from project.lab.sweeps.store import Outcome, Request, Trial
from project.lab.sweeps.trials import TICK, Events, Process
from project.lab.training import run_files

CONNECT_SECONDS = 10
"""Time limit for connecting to the scheduler."""

ATTEMPTS = 2
"""How often a trial is sent if its node fails. Dask itself also repeats the trials of a worker that died, on the others."""

STOP_SECONDS = 1.0
"""Seconds from one question of a node whether the sweep has been stopped to the next."""


class ClusterError(Exception):
    """The cluster cannot be used; the message is one line."""


def connect(address: str) -> Any:
    """Return a client of a cluster, to be closed after use.

    Args:
        address: The scheduler, as "dask://host:port".

    Raises:
        ValueError: If the address is invalid, distributed is not installed here, or no scheduler answers; the message is one line.
    """
    match = re.fullmatch(r"dask://([\w.:\[\]-]+:\d+)", address)
    if match is None:
        raise ValueError(f"--scale expected dask://host:port, got {address!r}")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ValueError("--scale dask:// needs Dask, which is not installed here; run: pip install distributed") from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # it prints tracebacks when the scheduler ends
    try:
        return distributed.Client(f"tcp://{match[1]}", timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise ValueError(f"no Dask scheduler answers at {match[1]} ({error}); start one: dask scheduler") from None


def run_on_cluster(request: Request, trials: Sequence[Trial], *, client: Any, threads: int) -> Events:
    """Run trials on all workers of a cluster, as many at a time as it has threads. Closing the generator ends those that are running.

    Args:
        request: The sweep.
        trials: The trials.
        client: As returned by `connect`.
        threads: Number of threads of each trial's compiled kernels.

    Yields:
        A trial that has finished, or None at least every TICK seconds, so that the caller can stop.

    Raises:
        ClusterError: If the connection to the scheduler is lost, or a node has other source code.
    """
    stop = importlib.import_module("distributed").Event(f"sweep-{secrets.token_hex(8)}", client)
    sent: dict[Any, tuple[Trial, int]] = {}

    def send(trial: Trial, attempt: int) -> None:
        words = (request.program, request.flags(trial), threads, request.digest, stop.name)
        sent[client.submit(run_on_node, *words, pure=False)] = trial, attempt

    try:
        for trial in trials:
            send(trial, 1)
        while sent:
            _check_connection(client)
            for future in [future for future in sent if future.done()]:
                trial, attempt = sent.pop(future)
                outcome = _outcome(future, attempt)
                if outcome is None:
                    send(trial, attempt + 1)
                else:
                    yield trial, outcome
            yield None
            time.sleep(TICK)
    finally:
        if sent and client.status == "running":
            stop.set()
            client.cancel(list(sent))


def _check_connection(client: Any) -> None:
    """Check that the scheduler is there.

    Raises:
        ClusterError: If it is not.
    """
    if client.status != "running":
        raise ClusterError("The connection to the Dask scheduler was lost")


def _outcome(future: Any, attempt: int) -> Outcome | None:
    """Return what a trial reached; None if it must be sent again."""
    try:
        return future.result()
    except ClusterError:
        raise
    except Exception as error:  # any error of the node or of the transfer
        _check_connection(future.client)
        if attempt < ATTEMPTS and type(error).__name__ != "KilledWorker":  # Dask has tried several workers before it raises this
            return None
        return Outcome(f"its node failed: {type(error).__name__}: {' '.join(str(error).split())}"[: run_files.MOST_CHARACTERS], {}, 0.0, "")


def run_on_node(program: str, flags: Sequence[str], threads: int, digest: str, stop: str) -> Outcome:
    """Run one trial on a node.

    Args:
        program: A file in project/, without .py.
        flags: Its command-line options.
        threads: Number of threads of its compiled kernels.
        digest: Of the source code on the machine that started the sweep.
        stop: The name of the event that ends the trial.

    Raises:
        ClusterError: If this node has other source code, or the sweep was stopped.
    """
    if run_files.digest(program) != digest:
        raise ClusterError("A node of the cluster has other source code; copy this repository to every node")
    stopped, asked = importlib.import_module("distributed").Event(stop), time.monotonic()
    process = Process(program, flags, threads)
    try:
        while (outcome := process.poll()) is None:
            time.sleep(TICK)
            if time.monotonic() - asked > STOP_SECONDS:
                if stopped.is_set():
                    raise ClusterError("the sweep was stopped")
                asked = time.monotonic()
        return outcome
    finally:
        process.stop()
