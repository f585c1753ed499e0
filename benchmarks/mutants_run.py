"""The tests of one mutant: which files are relevant, a pytest plugin that watches them, and a clone that is restored afterwards."""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

FOLDERS = ("minitorch", "course", "project")
KERNELS = re.compile(r"minitorch/(kernels/.+|operators|tensor_data|fast_ops)\.py")
"""A change of one of these files compiles every kernel again, so its limit is three times as long."""
TEST_FOLDERS = {"torch": "torch_face"}
MOST_FILES = 12


@functools.cache
def words_of_tests(tree: Path, tier: str) -> dict[str, Counter[str]]:
    """How often each word occurs in each test file of a tier: tests/exhaustive, or the marker in versions without that folder."""
    slow = tree / "tests" / "exhaustive"
    files = (slow if tier == "exhaustive" and slow.exists() else tree / "tests").rglob("test_*.py")
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(files) if tier == "exhaustive" or slow not in file.parents}
    if tier == "exhaustive" and not slow.exists():
        texts = {file: text for file, text in texts.items() if "mark.exhaustive" in text}
    return {file.relative_to(tree).as_posix(): Counter(re.findall(r"\w+", text)) for file, text in texts.items()}


def relevant_tests(tree: Path, file: str, qualname: str, tier: str) -> list[str]:
    """Up to 12 test files, the most relevant first: named after the module, then those that mention the function, then the module."""
    path = PurePosixPath(file)
    top, *folders = path.parent.parts
    area = "/".join(TEST_FOLDERS.get(folder, folder) for folder in (folders if top == "minitorch" else [top]))
    names = {name for name in qualname.split(".") if name and not name.startswith("__")}
    parts = {*path.stem.split("_"), path.parent.name} - {""}
    count = Counter(word for words in words_of_tests(tree, tier).values() for word in words)
    ranked = []
    for name, words in words_of_tests(tree, tier).items():
        test = PurePosixPath(name.replace("tests/exhaustive/", "tests/"))
        inside = f"{test.parent}/".startswith(f"tests/{area}/") if area else test.parent == PurePosixPath("tests")
        mentions = sum(1 / count[word] for word in names if words[word])  # a rare name says more than "backward"
        levels = [
            test.stem.startswith(f"test_{path.stem}") and (inside or (top == "minitorch" and test.parts[1] not in FOLDERS)),
            mentions and (words[path.stem] or words[path.parent.name]),
            mentions,
            words[path.stem],
            parts & set(test.stem.split("_")),
            inside and words[path.parent.name],
        ]
        if any(levels):
            level = next(level for level, holds in enumerate(levels) if holds)
            ranked.append((level, test.stem != f"test_{path.stem}", level == 0 and not inside, -mentions, not inside, name))
    return [name for *_, name in sorted(ranked)[:MOST_FILES]]


# The pytest plugin: a copy of this file is loaded with -p

_noted: dict[str, str] = {}


def note(**entries: str) -> None:
    """Write what has happened so far for the process that waits."""
    _noted.update(entries)
    Path(os.environ["MUTANTS_NOTES"]).write_text(json.dumps(_noted))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which test runs, in case it does not end."""
    note(running=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Note the test that fails."""
    if report.failed:
        note(test=report.nodeid, why=str(report.longrepr).strip().splitlines()[-1][:200])


def pytest_collectreport(report: Any) -> None:
    """Note the file that cannot be imported."""
    if report.failed:
        note(test=report.nodeid, why="not collected")


def pytest_runtest_teardown(item: Any) -> None:
    """Stop after this test when the processor time is used up."""
    if sum(os.times()[:4]) > float(os.environ["MUTANTS_LIMIT"]):
        note(limit="reached")
        item.session.shouldstop = "the processor time is used up"


# Running

LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); import pytest; sys.exit(pytest.main())"


def run_tests(tree: Path, python: str, tests: list[str], tier: str, limit: float, own_cache: bool) -> dict[str, Any]:
    """Run test files until one test fails; the verdict, the test, the reason, and processor seconds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        shutil.copy(__file__, Path(folder) / "mutants_plugin.py")
        notes = Path(folder) / "notes.json"
        environment = {**os.environ, "MUTANTS_NOTES": str(notes), "MUTANTS_LIMIT": str(limit), "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        if own_cache:  # kernels compiled from a mutant would replace those of the clone
            environment["NUMBA_CACHE_DIR"] = folder
        options = ["-p", "mutants_plugin", "-p", "no:cacheprovider", "-x", "-q", "--hypothesis-seed=0"]
        command = [python, "-c", LAUNCH, folder, *options, *tests]
        if tier == "exhaustive" and not (tree / "tests" / "exhaustive").exists():
            command += ["-m", "exhaustive"]

        def set_limit() -> None:  # a test that takes three times the limit loops
            resource.setrlimit(resource.RLIMIT_CPU, (int(3 * limit), resource.RLIM_INFINITY))

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=tree, env=environment, start_new_session=True, preexec_fn=set_limit, **quiet)
        code = -signal.SIGXCPU
        try:
            code = process.wait(8 * limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):  # what the tests have left running, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        noted = json.loads(notes.read_text()) if notes.exists() and notes.stat().st_size else {}
    seconds = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)
    if code == -signal.SIGXCPU:
        verdict = {"verdict": "timeout", "test": noted.get("running", "")}
    elif "test" in noted:
        verdict = {"verdict": "killed", "test": noted["test"], "why": noted["why"]}
    elif "limit" in noted:
        verdict = {"verdict": "limit"}
    else:
        verdict = {"verdict": "survived"} if code in (0, 5) else {"verdict": "killed", "test": f"pytest ended with {code}"}
    return {**verdict, "seconds": seconds}


def git(tree: Path, *arguments: str) -> str:
    """Run git in a clone."""
    return subprocess.run(["git", *arguments], cwd=tree, check=True, capture_output=True, text=True).stdout


def run_mutated(tree: Path, python: str, file: str, qualname: str, source: str, tier: str, limit: float) -> dict[str, Any]:
    """Test a file with another source, in a clone that is afterwards as before."""
    tests = relevant_tests(tree, file, qualname, tier)
    if not tests:
        return {"verdict": "survived", "seconds": 0.0, "tests": []}
    path = tree / file
    original, times = path.read_bytes(), path.stat()
    kernel = KERNELS.fullmatch(file) is not None
    try:
        path.write_text(source, encoding="utf-8")
        return {**run_tests(tree, python, tests, tier, limit * (3 if kernel else 1), kernel), "tests": tests}
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # kernels compiled from the original stay valid
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()
        if git(tree, "status", "--porcelain"):
            git(tree, "checkout", "--", ".")
            git(tree, "clean", "-fdq")
