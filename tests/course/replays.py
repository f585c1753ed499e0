"""Reruns failing tests of wrong answers as `course explain` does: one process imports what they need, then forks for each test.

`python -m tests.course.replays JOBS` reads a JSON list of {"folder", "test", "stage"} and writes the findings into each folder. A job may
also name the "result", if it is not divergence.json, and a "change" for its time: a file, the text to replace, and the new text.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

AHEAD = ("hypothesis.strategies", "hypothesis.extra.numpy", "numpy", "course.runner.plugin", "course.explain.replay")
"""Modules imported before the first fork; none of them contains student code."""

WITHOUT_COMPILER = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1", "CI": "1", "PYTHONHASHSEED": "0"}

ROOT = Path(__file__).resolve().parent.parent.parent

SECONDS = 300
"""Time limit of a test, in seconds of wall-clock time."""


def replay(jobs: Sequence[Mapping[str, object]], folder: Path) -> list[Any]:
    """Run jobs in a new process, with the compiler off; returns what each wrote as its "result" into its folder.

    A job whose test did not end in time has written nothing, for which there is None.
    """
    path = folder / "jobs.json"
    path.write_text(json.dumps(jobs), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    environment |= WITHOUT_COMPILER | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-m", "tests.course.replays", str(path)], cwd=ROOT, env=environment, check=True)
    results = [Path(str(job["folder"]), str(job["result"])) for job in jobs]
    return [json.loads(result.read_text(encoding="utf-8")) if result.is_file() else None for result in results]


def main() -> None:
    """Run all jobs, one after the other."""
    for name in AHEAD:
        importlib.import_module(name)
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if any(job["stage"] >= 3 for job in jobs):
        importlib.import_module("numba")
    for job in jobs:
        with changed(Path(job["folder"]), *job.get("change", ())):
            child = os.fork()
            if not child:
                run(Path(job["folder"]), job["test"], job["stage"], job.get("result", "divergence.json"))
            end = time.monotonic() + SECONDS
            while os.waitpid(child, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
                if time.monotonic() > end:
                    os.kill(child, 9)


@contextlib.contextmanager
def changed(folder: Path, file: str = "", before: str = "", after: str = "") -> Iterator[None]:
    """Change a file for a while; its time of change differs from that in bytecode of the old text."""
    path = folder / file
    if not file:
        yield
        return
    source, stat = path.read_text(encoding="utf-8"), path.stat()
    assert source.count(before) == 1, f"expected the text once in {file}, found it {source.count(before)} times: {before}"
    path.write_text(source.replace(before, after), encoding="utf-8")
    os.utime(path, (stat.st_mtime + 60, stat.st_mtime + 60))
    yield
    path.write_text(source, encoding="utf-8")
    os.utime(path, (stat.st_mtime, stat.st_mtime))


def run(folder: Path, test: str, stage: int, result: str) -> None:
    """Run one test and end the process."""
    import pytest

    try:
        os.chdir(folder)
        sys.path[:] = [str(folder)] + [path for path in sys.path if path not in ("", str(ROOT))]
        for name in [name for name in sys.modules if name.split(".")[0] in ("minitorch", "tests")]:
            del sys.modules[name]
        log = os.open("log.txt", os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        arguments = ["-p", "course.explain.replay", "-p", "no:cacheprovider", "-q", f"--rootdir={folder}"]
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # modules imported before the fork
        pytest.main([*arguments, f"--course-divergence={result}", f"--course-stage={stage}", test])
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
