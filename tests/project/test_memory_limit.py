"""Limits on memory: student code that allocates without end is interrupted in the page and in a program that runs for it."""

import os
import sys
import time

import pytest

from course.manifest import ROOT
from project.lab import cards, guard, time_limit
from project.lab.time_limit import MemoryLimitExceeded
from project.lab.training import jobs
from project.lab.training.jobs import Failed, Job

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process and limits that of another")

OPERATORS = str(ROOT / "minitorch" / "operators.py")
MIB = 1 << 20


def student_function(source):
    """The function f of a source that is compiled as the student's file."""
    names = {}
    exec(compile(source, OPERATORS, "exec"), names)
    return names["f"]


GROWS = """
import time

def f(megabytes):
    kept = []
    for _ in range(megabytes):
        kept.append(bytearray(b"x" * (1 << 20)))
        time.sleep(0.001)
    time.sleep(0.3)
    return len(kept)
"""


@pytest.fixture
def low_limit(monkeypatch):
    """A limit of 256 MiB, checked often."""
    monkeypatch.setattr(time_limit, "MEMORY", 256 * MIB)
    monkeypatch.setattr(time_limit, "PERIOD", 0.02)


def test_a_call_below_the_limit_is_not_interrupted(low_limit):
    with guard.limited():
        assert student_function(GROWS)(60) == 60


def test_a_call_that_allocates_without_end_is_interrupted_and_the_card_names_the_loop_and_the_limit(low_limit, monkeypatch):
    monkeypatch.setattr(cards.endless, "loop_around", lambda path, line: 6)  # the lines of the file on disk differ
    with pytest.raises(MemoryLimitExceeded) as caught, guard.limited():
        student_function(GROWS)(100_000)
    assert caught.value.frame.f_code.co_name == "f"
    card = cards.explain(caught.value)
    assert card.title == "minitorch/operators.py, line 6: this loop allocated more than 0.25 GiB and was stopped"
    assert "in `f` with `megabytes = 100000`" in card.body


def test_the_card_without_a_frame_names_the_cause():
    assert cards.explain(MemoryLimitExceeded()).title == "This call allocated more than 2 GiB and was stopped"


def test_resident_memory_is_that_of_the_process():
    before = time_limit.resident_memory()
    kept = bytearray(b"x" * (100 * MIB))
    assert time_limit.resident_memory() - before == pytest.approx(100 * MIB, abs=10 * MIB)
    assert len(kept) == 100 * MIB


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Runs a source as a program of a page."""

    def run(source):
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "program.py").write_text(source)
        monkeypatch.setattr(jobs, "ROOT", tmp_path)
        return Job("program.py")

    return run


def test_a_program_cannot_allocate_more_than_its_limit(program, monkeypatch):
    monkeypatch.setenv("MINITORCH_JOB_MEMORY", "300")
    job = program("import time\ntime.sleep(0.3)\nprint([len(bytearray(200 << 20))], flush=True)\nbytearray(400 << 20)\n")
    with pytest.raises(Failed) as caught:
        job.wait(60)
    assert "bytearray(400 << 20)" in str(caught.value)
    assert str(caught.value).endswith("MemoryError")
    assert job.lines == [[200 << 20]]


def test_a_program_has_a_lower_priority_than_the_page(program):
    job = program("import os, time\ntime.sleep(0.3)\nprint([os.getpriority(os.PRIO_PROCESS, 0)])\n")
    job.wait(60)
    assert job.lines == [[min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)]]


def test_by_default_a_program_gets_half_of_the_machine(monkeypatch):
    monkeypatch.delenv("MINITORCH_JOB_MEMORY", raising=False)
    with open("/proc/meminfo") as file:
        kibibytes = int(file.readline().split()[1])
    assert jobs.memory_limit() == pytest.approx(512 * kibibytes, rel=0.01)


@pytest.mark.parametrize("given", ["0", "-3", "2G", "1.5"])
def test_an_invalid_limit_is_refused(monkeypatch, given):
    monkeypatch.setenv("MINITORCH_JOB_MEMORY", given)
    with pytest.raises(ValueError, match="MINITORCH_JOB_MEMORY expected a number of MiB, such as 2048, got '"):
        jobs.memory_limit()


def test_a_program_that_has_already_ended_is_no_error(program):
    job = program("print([1])\n")
    end = time.monotonic() + 60
    while job.running and time.monotonic() < end:
        time.sleep(0.01)
    jobs._restrict(job._process.pid)
    assert job.read() is False
    assert job.lines == [[1]]
