"""Stage 7 - The launcher: `python -m minitorch.distributed.run --nproc-per-node 4 SCRIPT ARGS` runs a program in several processes.

It calls mpiexec, prints what the processes print, each line with its rank, and ends all of them at Ctrl-C or when one of them fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit the threads of a process. Unset, every process would use all cores, and they would wait for each other."""

OVERSUBSCRIBE = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
"""Settings with which Open MPI 4 and 5 run more processes than there are cores; MPICH always does."""

GRACE = 10.0
"""Seconds from Ctrl-C to the end of processes that do not stop by themselves."""

NOISE = re.compile(
    r"|=.*|\[(mpiexec|proxy)\b.*|Abort\(\d+\) on node .*|application called MPI_Abort.*|YOUR APPLICATION TERMINATED .*"
    r"|This typically refers to a problem with your application.*|Please see the FAQ page.*"
)
"""Lines of MPICH about a job that failed, and those by which processes name their PIDs; `_ending` says in one line what they mean."""

KILLED = re.compile(r"EXIT STRING: (.+) \(signal (\d+)\)")
"""How MPICH reports that a signal ended a process."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program in several processes.

    Args:
        arguments: The command line; that of the process if None.

    Returns:
        The exit status: 0 if every process ended with 0.
    """
    parser = argparse.ArgumentParser("python -m minitorch.distributed.run", description="Run a program in several processes, through MPI.")
    parser.add_argument("--nproc-per-node", type=_count, default=1, metavar="N", help="number of processes; 1 by default")
    parser.add_argument("--hosts", metavar="A,B", help="machines, N processes on each; this one alone by default")
    parser.add_argument("script", help="path of the program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its command line")
    given = parser.parse_args(arguments)
    if not Path(given.script).is_file():
        parser.error(f"expected the path of a program, got {given.script!r}, which is no file")
    mpiexec = find_mpiexec()
    if mpiexec is None:
        parser.error("expected mpiexec, got none; install it: pip install -r requirements.distributed.txt, or the MPI of your system")
    hosts = given.hosts.split(",") if given.hosts else []
    placed = ["-hosts", given.hosts, "-ppn", str(given.nproc_per_node)] if hosts else []
    count = given.nproc_per_node * max(1, len(hosts))
    worker = [sys.executable, str(Path(__file__).with_name("worker.py")), given.script, *given.args]
    return _run([mpiexec, *placed, "-n", str(count), *worker], environment(given.nproc_per_node))


def _count(text: str) -> int:
    """A number of processes from the command line."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of processes of at least 1, got {text!r}")
    return int(text)


def find_mpiexec() -> str | None:
    """The path of mpiexec: that of Python's environment, where pip installs it, or else that of the system."""
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def environment(processes: int) -> dict[str, str]:
    """The environment of the processes of this machine: an equal part of the cores for each, and this copy of the library."""
    threads = dict.fromkeys(THREADS, str(max(1, (os.cpu_count() or 1) // processes)))
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return OVERSUBSCRIBE | threads | os.environ | {"PYTHONPATH": path}


def _run(command: Sequence[str], variables: dict[str, str]) -> int:
    """Run mpiexec and return its exit status; Ctrl-C is passed on to all processes.

    mpiexec gets a session of its own, so that a terminal's Ctrl-C reaches it once, through this process.
    """
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    job = subprocess.Popen(command, env=variables, start_new_session=True, text=True, errors="replace", **pipes)  # type: ignore[call-overload]
    reports: list[str] = []
    readers = [threading.Thread(target=_copy, args=pair) for pair in ((job.stdout, sys.stdout, reports), (job.stderr, sys.stderr, reports))]
    for reader in readers:
        reader.start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's request to stop is like Ctrl-C
    try:
        status = job.wait()
    except KeyboardInterrupt:
        status = 130
        _stop(job)
    for reader in readers:
        reader.join()
    if status and (ending := _ending(reports, status)):
        print(ending, file=sys.stderr)
    return status if status >= 0 else 128 - status


def _stop(job: subprocess.Popen[str]) -> None:
    """End a job as Ctrl-C does; a second Ctrl-C, or the end of GRACE, ends it at once."""
    job.send_signal(signal.SIGINT)
    try:
        job.wait(GRACE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        job.terminate()
        job.wait()


def _copy(source: IO[str], target: IO[str], reports: list[str]) -> None:
    """Copy lines from a pipe to a stream, except those that MPICH writes about a failed job, which are collected."""
    for line in source:
        if NOISE.fullmatch(line.strip()):
            reports.append(line.strip())
        else:
            target.write(line)
            target.flush()


def _ending(reports: Sequence[str], status: int) -> str:
    """Why a job failed, in one line, from what MPICH reports and the exit status."""
    text = "\n".join(reports)
    killed, pid = KILLED.search(text), re.search(r"=\s+PID (\d+) RUNNING AT", text)
    if status == 130:
        return "run: stopped; all processes have ended"
    if killed and pid:
        rank = re.search(rf"= (rank \d+) has PID {pid[1]}$", text, re.MULTILINE)
        return f"run: signal {killed[2]} ({killed[1]}) ended {rank[1] if rank else 'a process'}; all processes have ended"
    return f"run: a process failed with exit status {status}, see its output above; all processes have ended"


if __name__ == "__main__":
    raise SystemExit(main())
