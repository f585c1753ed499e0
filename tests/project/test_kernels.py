"""Compiled kernels: what a program reports while it compiles them, and their compilation in the background."""

import json
import os
import subprocess
import sys
import time

import pytest

from course.manifest import ROOT
from project.lab import kernels
from project.lab.training import compile_kernels, kernel_events
from tests.marks import needs_compiler

SMALL = """
import sys
from numba import njit

@njit(cache=True)
def double(x):
    return 2 * x

@njit(cache=True)
def triple(x):
    return 3 * double(x)

if __name__ == "__main__":
    print([triple(2), double(2.5), triple(3)], sys.argv[1:], sys.path[0])
"""


@needs_compiler
def test_a_program_reports_each_kernel_once_for_each_type(tmp_path, monkeypatch, capsys):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "small.py").write_text(SMALL)
    monkeypatch.setattr(kernel_events, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["kernel_events.py"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for number in (3, 2):  # compiled, then loaded from disk, where triple(2) contains its double
        kernel_events.main("small.py", "--epochs", "2")
        *lines, result = capsys.readouterr().out.splitlines()
        assert result == f"[12, 5.0, 18] ['--epochs', '2'] {tmp_path / 'project'}"
        names = [json.loads(line) for line in lines]
        assert [line["kernel"] for line in names] == [1, 2, 3][:number]
        assert {line["name"] for line in names} == {"`double`", "`triple`"}


def test_a_kernel_of_the_package_is_named_after_what_it_computes():
    from minitorch.kernels import conv, elementwise

    assert kernel_events.name(elementwise.zip_kernels) == "an elementwise operation"
    assert kernel_events.name(conv.correlation_kernels) == "a convolution"
    for module in kernel_events.NAMES:
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


@pytest.fixture
def started(monkeypatch):
    """The commands that are started in the background."""
    commands = []
    monkeypatch.delenv(kernels.SWITCH, raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(kernels.subprocess, "Popen", lambda command, **options: commands.append(command[1]))
    kernels.compile_in_background.clear()
    yield commands
    kernels.compile_in_background.clear()


@pytest.mark.parametrize(("count", "switch", "times"), [(3, None, 1), (27, None, 0), (3, "0", 0)])
def test_missing_kernels_are_compiled_in_the_background_once_unless_that_is_switched_off(started, monkeypatch, count, switch, times):
    monkeypatch.setattr(kernels, "compiled", lambda: count)
    if switch:
        monkeypatch.setenv(kernels.SWITCH, switch)
    for _ in range(2):
        kernels.compile_in_background()
    assert started == [str(ROOT / "project" / "lab" / "training" / "compile_kernels.py")] * times


def test_only_kernels_newer_than_the_package_count_as_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "ROOT", tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    cache = tmp_path / "minitorch" / "__pycache__"
    cache.mkdir(parents=True)
    for name, age in (("minitorch/a.py", 50), ("minitorch/__pycache__/old.nbc", 90), ("minitorch/__pycache__/new.nbc", 10)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    assert kernels.compiled() == 1


def test_the_background_process_ends_with_the_app():
    script = (
        "import threading, time\nfrom project.lab.training import compile_kernels as c\n"
        "threading.Thread(target=c.end_with_input).start()\nprint(1, flush=True)\ntime.sleep(60)"
    )
    environment, pipe = os.environ | {"PYTHONPATH": str(ROOT)}, subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment, stdin=pipe, stdout=pipe)
    process.stdout.readline()
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(20) == 1
    process.stdout.close()


def test_every_page_that_trains_with_compiled_kernels_is_prepared():
    assert all((ROOT / "project" / f"{program}.py").is_file() for program, *_ in compile_kernels.PROGRAMS)
    assert {program for program, *_ in compile_kernels.PROGRAMS} >= set(kernel_events.COUNTS)
