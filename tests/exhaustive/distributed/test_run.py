"""The launcher and the worker."""

import signal
import subprocess
import time

import pytest

from minitorch.distributed import run
from tests.distributed.jobs import ROOT, command, needs_mpi


@needs_mpi
@pytest.mark.parametrize("interrupt", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes(interrupt):
    with subprocess.Popen(command(2, "faults.py", "wait"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stderr is not None
        ready = {job.stdout.readline() for _ in range(2)}
        assert ready == {"[rank 0] waiting\n", "[rank 1] waiting\n"}
        job.send_signal(interrupt)
        start = time.monotonic()
        assert job.wait(30) == 130
        assert time.monotonic() - start < run.GRACE
        assert job.stderr.read() == "run: stopped; all processes have ended\n"


@needs_mpi
def test_a_process_that_ignores_the_interrupt_is_ended(tmp_path):
    program = tmp_path / "stubborn.py"
    program.write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\nwhile True: time.sleep(1)\n"
    )
    with subprocess.Popen(command(1, program), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "[rank 0] ready\n"
        job.send_signal(signal.SIGINT)
        time.sleep(1)
        job.send_signal(signal.SIGINT)  # does not wait any longer
        assert job.wait(5) == 130
