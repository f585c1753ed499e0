"""Jobs of several processes, started by the launcher as a user would start them."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from course.manifest import ROOT

PROGRAMS = Path(__file__).parent / "programs"

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed; make test-distributed installs it and runs these tests"
)


class Job(NamedTuple):
    """A job that has ended."""

    status: int
    out: str
    err: str

    def lines(self, rank: int) -> list[str]:
        """What a rank printed to standard output."""
        return [line.removeprefix(f"[rank {rank}] ") for line in self.out.splitlines() if line.startswith(f"[rank {rank}] ")]

    def errors(self, rank: int) -> str:
        """What a rank printed to standard error."""
        prefix = f"[rank {rank}] "
        return "\n".join(line.removeprefix(prefix) for line in self.err.splitlines() if line.startswith(prefix))

    def results(self, rank: int) -> dict[str, Any]:
        """The values that a program printed as lines of JSON, a name and a value each."""
        assert self.status == 0, self.err
        return dict(json.loads(line) for line in self.lines(rank))


def command(processes: int, program: str | Path, *arguments: object) -> list[str]:
    """The command line of a job."""
    path = PROGRAMS / program
    return [sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node", str(processes), str(path), *map(str, arguments)]


def run_job(processes: int, program: str | Path, *arguments: object, timeout: float = 120) -> Job:
    """Run a program of the folder programs/, or one at another path, in several processes."""
    done = subprocess.run(command(processes, program, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    return Job(done.returncode, done.stdout, done.stderr)


def numbers(text: str) -> list[int]:
    """The whole numbers in a text."""
    return [int(found) for found in re.findall(r"\d+", text)]
