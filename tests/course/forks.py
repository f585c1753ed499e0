"""Processes that are forked from this one instead of started anew: Python, pytest, Hypothesis and NumPy are imported already.

A new process spends half a second on these imports. The tests under tests/exhaustive start real processes.
"""

import gc
import importlib
import os
import runpy
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from course.manifest import ROOT
from course.runner.prefork import NO_WARNINGS
from course.staff.probes.remote import CHILD
from course.staff.proofs.runs import LAUNCH

STUDENTS = ("minitorch", "project", "tests", "conftest", "streamlit")
"""Packages that the forked process imports anew, if at all: the end of a test run removes a folder of Streamlit's."""

KNOWN = (["-m", "pytest"], ["-m", "course.runner.prefork"], ["-I", str(CHILD)], ["-c", LAUNCH])
"""How the commands begin that a copy of this process can run."""


def run_as_process(command: Sequence[str]) -> None:
    """Do what a new process with this command does."""
    _, *options = command
    if options[0] == "-I":
        options = options[1:]
    hooks = [finder for finder in sys.meta_path if type(finder).__name__ == "AssertionRewritingHook"]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in hooks]
    for name in [name for name in sys.modules if name.split(".")[0] in STUDENTS]:
        del sys.modules[name]
    sys.path[:] = ["", *(path for path in sys.path if Path(path) not in (ROOT, Path.cwd()))]
    importlib.invalidate_caches()
    if configuration := sys.modules.get("hypothesis.configuration"):
        configuration.set_hypothesis_home_dir(None)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    if options[0] == "-m":
        sys.argv = [options[1], *options[2:], *(NO_WARNINGS if options[1] == "pytest" else ())]
        runpy.run_module(options[1], run_name="__main__", alter_sys=True)
    elif options[0] == "-c":
        sys.argv = ["-c", *options[2:], *NO_WARNINGS]
        exec(options[1], {"__name__": "__main__"})
    else:
        sys.argv = options
        runpy.run_path(options[0], run_name="__main__")


def fork(command: Sequence[str], *others: Any) -> int:
    """Like `_posixsubprocess.fork_exec`, but the child runs the command in a copy of this process; returns its process id."""
    _, _, _, cwd, env, stdin, _, _, stdout, _, stderr, _, _, _, new_session, *_ = others
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads only wait
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        gc.freeze()  # what exists now is not searched for garbage again
        for number, file in enumerate((stdin, stdout, stderr)):
            if file >= 0:
                os.dup2(file, number)
        os.closerange(3, 1024)
        if new_session:
            os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(cwd or ".")
        if env is not None:
            os.environ.clear()
            os.environ.update(line.decode().split("=", 1) for line in env)
        run_as_process(command)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@pytest.fixture(scope="module")
def forked_processes() -> Iterator[None]:
    """Commands that run pytest, or a submission, run in a copy of this process; on other systems than Linux, in a new one."""
    start = getattr(subprocess, "_fork_exec", None) if sys.platform == "linux" else None

    def fork_or_start(command: Sequence[str], *others: Any) -> int:
        parts = [os.fsdecode(part) for part in command]
        known = parts[0] == sys.executable and parts[1:3] in KNOWN
        return fork(parts, *others) if known else start(command, *others)  # type: ignore[misc]

    with pytest.MonkeyPatch.context() as patch:
        if start is not None:
            providers = importlib.import_module("hypothesis.internal.conjecture.providers")
            getattr(providers, "_get_local_constants", lambda: None)()  # or each fork would look for constants in all of course/
            patch.setattr(subprocess, "_fork_exec", fork_or_start)
        yield
