"""Stage 7 - The launcher: `python -m minitorch.torch.distributed.run --nproc_per_node 2 SCRIPT ARGS`, as torchrun.

It starts processes of this machine with the variables that `init_process_group` reads. It needs no MPI. If one process fails, it ends the
others.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from minitorch.distributed.run import GRACE, environment

POLL_INTERVAL = 0.05
"""Seconds between looks at the processes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program in several processes.

    Args:
        arguments: The command line; that of the process if None.

    Returns:
        The exit status: 0 if every process ended with 0.
    """
    parser = argparse.ArgumentParser("python -m minitorch.torch.distributed.run", description="Run a program in several processes.")
    number = {"type": _count, "default": 1, "metavar": "N"}
    parser.add_argument("--nproc-per-node", "--nproc_per_node", help="number of processes on this machine; 1 by default", **number)
    parser.add_argument("--nnodes", help="number of machines, each of which runs this command; 1 by default", **number)
    parser.add_argument("--node-rank", "--node_rank", type=int, default=0, metavar="N", help="number of this machine, from 0")
    parser.add_argument("--master-addr", "--master_addr", default="127.0.0.1", help="where rank 0 listens; 127.0.0.1 by default")
    parser.add_argument("--master-port", "--master_port", type=int, help="its port; a free one by default, if there is one machine")
    parser.add_argument("--standalone", action="store_true", help="accepted for PyTorch: one machine, which is the default")
    parser.add_argument("-m", "--module", action="store_true", help="SCRIPT is the name of a module, as in python -m")
    parser.add_argument("script", help="path of the program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its command line")
    given = parser.parse_args(arguments)
    if not given.module and not Path(given.script).is_file():
        parser.error(f"expected the path of a program, got {given.script!r}, which is no file")
    if given.nnodes > 1 and given.master_port is None:
        parser.error("expected --master-port with several machines; choose the same on all, such as 29500")
    if not 0 <= given.node_rank < given.nnodes:
        parser.error(f"expected --node-rank from 0 to {given.nnodes - 1}, got {given.node_rank}")
    command = [sys.executable, *["-m"] * given.module, given.script, *given.args]
    return _watch([subprocess.Popen(command, env=variables) for variables in _environments(given)])


def _count(text: str) -> int:
    """A number of processes or machines from the command line."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


def _environments(given: argparse.Namespace) -> list[dict[str, str]]:
    """The environment of each process."""
    count = given.nproc_per_node
    common = {
        "WORLD_SIZE": count * given.nnodes,
        "LOCAL_WORLD_SIZE": count,
        "GROUP_RANK": given.node_rank,
        "MASTER_ADDR": given.master_addr,
        "MASTER_PORT": given.master_port or _free_port(given.master_addr),
    }
    numbers = [{"RANK": given.node_rank * count + local, "LOCAL_RANK": local} for local in range(count)]
    return [environment(count) | {name: str(value) for name, value in (common | own).items()} for own in numbers]


def _free_port(host: str) -> int:
    """A free port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def _watch(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for processes and return the first exit status that is not 0; then, or at Ctrl-C, end the others."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's request to stop is like Ctrl-C
    failed = None
    try:
        while failed is None and any(process.poll() is None for process in processes):
            failed = next((rank for rank, process in enumerate(processes) if process.poll()), None)
            time.sleep(POLL_INTERVAL)
        failed = next((rank for rank, process in enumerate(processes) if process.poll()), None) if failed is None else failed
        _end(processes)
    except KeyboardInterrupt:
        _end(processes)
        print("run: stopped; all processes have ended", file=sys.stderr)
        return 130
    if failed is None:
        return 0
    status = processes[failed].returncode
    how = f"signal {-status} ended" if status < 0 else f"exit status {status} of"
    print(f"run: {how} local rank {failed}, see its output above; all processes have ended", file=sys.stderr)
    return 128 - status if status < 0 else status


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Let processes end by themselves for a moment, as they do when a connection ends; then end those that remain."""
    for patience, end in ((1.0, subprocess.Popen.terminate), (GRACE, subprocess.Popen.kill)):
        deadline = time.monotonic() + patience
        while any(process.poll() is None for process in processes) and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL)
        for process in processes:
            if process.poll() is None:
                end(process)
    for process in processes:
        process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
