"""`course doctor`: check this machine, one line per check, with one fix for each problem."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course.cli.problem import ENVIRONMENT, Problem
from course.runner.gpu import has_gpu
from course.workspace import backups, pristine

PATIENCE = 180
"""Time limit for Numba's first compilation, in seconds."""

LITTLE, TOO_LITTLE = 2_000_000_000, 200_000_000
"""Free disk space below which to warn, and to fail, in bytes."""

SKEW = 2.0
"""Maximum difference between file times and the clock, in seconds."""

LOOKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "wrong": ("✗", "red")}

REST = "run: make app"
"""What installs all packages where `make course` has installed those of the first tests."""

COMPILE = """
import json, time
began = time.perf_counter()
import numba, numpy
@numba.njit(parallel=True)
def total(a):
    s = 0.0
    for i in numba.prange(a.size):
        s += a[i]
    return s
right = total(numpy.ones(1000)) == 1000.0
seconds = time.perf_counter() - began
print(json.dumps({"right": right, "threads": numba.get_num_threads(), "seconds": seconds, "version": numba.__version__}))
"""


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: What was checked.
        state: "ok", "warning" or "wrong".
        says: The finding.
        fix: What to do; empty if it is ok.
    """

    name: str
    state: str
    says: str
    fix: str = ""


def run(root: Path, console: Console, as_json: bool = False) -> int:
    """Run all checks, print one line each, and return the exit code: 3 if something is wrong.

    Args:
        root: The workspace.
        console: Where to print.
        as_json: Print a list of objects instead.
    """
    found = []
    for check in CHECKS:
        if as_json:
            found.append(check(root))
            continue
        with console.status(f"Looking at {check.__name__.replace('_', ' ')}"):
            found.append(check(root))
        sign, style = LOOKS[found[-1].state]
        console.print(Text(f"{sign} ", style=style).append(f"{found[-1].name:<10} {found[-1].says}", style="not bold"), soft_wrap=True)
        if found[-1].fix:
            console.print(Text(f"{'':13}{found[-1].fix}", style="bold"), soft_wrap=True)
    wrong = [check for check in found if check.state == "wrong"]
    if as_json:
        print(json.dumps([asdict(check) for check in found], indent=1))
    else:
        console.print(f"{len(wrong)} of {len(found)} checks failed; fix the first one first." if wrong else "Ready. Next: course status")
    return ENVIRONMENT if wrong else 0


def python(root: Path) -> Check:
    """Whether Python's version satisfies pyproject.toml."""
    here = ".".join(map(str, sys.version_info[:3]))
    try:
        wanted = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    except (OSError, ValueError, KeyError):
        wanted = ">=3.11"
    if not fits(here, wanted):
        return Check("Python", "wrong", f"{here}, expected {wanted}", "install a newer Python, delete .venv and run: make app")
    if sys.prefix == sys.base_prefix:
        return Check("Python", "warning", f"{here} without a virtual environment", "run: make app, then . .venv/bin/activate")
    return Check("Python", "ok", f"{here} in {sys.prefix}")


def packages(root: Path) -> Check:
    """Whether the installed packages match the requirements."""
    bad, count = [], 0
    for file in ("requirements.txt", "requirements.extra.txt"):
        for name, wanted in requirements(root / file):
            count += 1
            try:
                version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                bad.append(f"{name} is missing")
                continue
            if not fits(version, wanted):
                bad.append(f"{name} is {version}, expected {wanted}")
    if bad and _lacks_the_rest() and all(problem.endswith(" is missing") for problem in bad):
        return Check("Packages", "warning", "; ".join(bad), REST)
    if bad:
        fix = f"run: {sys.executable} -m pip install -r requirements.txt -r requirements.extra.txt"
        return Check("Packages", "wrong", "; ".join(bad), fix)
    return Check("Packages", "ok", f"{count} match the requirements")


def numba(root: Path) -> Check:
    """Whether numba compiles a parallel loop that computes the right result, in its own process."""
    if _lacks_the_rest() and importlib.util.find_spec("numba") is None:
        return Check("numba", "warning", "is not installed; the tests of Module 2 and later need it", REST)
    try:
        done = subprocess.run(
            [sys.executable, "-c", COMPILE],
            cwd=root.anchor or None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        report = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}
    except subprocess.TimeoutExpired:
        return Check("numba", "wrong", f"compiling a function took more than {PATIENCE} s", "close other programs, and run: course doctor")
    except (ValueError, IndexError):
        report = {}
    again = f"run: {sys.executable} -m pip install --force-reinstall numba"
    if not report:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Check("numba", "wrong", f"does not run: {last}", again)
    if not report["right"]:
        return Check("numba", "wrong", f"{report['version']} computes wrong results", again)
    says = f"{report['version']} compiles and runs with {report['threads']} threads, in {report['seconds']:.1f} s"
    if report["threads"] == 1 and (os.cpu_count() or 1) > 1:
        return Check("numba", "warning", says, "unset NUMBA_NUM_THREADS, so that the loops of Module 3 run in parallel")
    return Check("numba", "ok", says)


def folders(root: Path) -> Check:
    """Whether the workspace and its caches can be written to."""
    for folder in (root, root / ".course", root / "minitorch"):
        if folder.exists() and not _writable(folder):
            return Check("Folders", "wrong", f"{folder} cannot be written to", f"make it writable: chmod u+w {folder}")
    return Check("Folders", "ok", f"{root} can be written to")


def workspace(root: Path) -> Check:
    """Whether the workspace is complete and no command was interrupted in it."""
    if (root / backups.JOURNAL).is_dir():
        return Check("Workspace", "warning", "a command was interrupted", "any command that changes files finishes it: course reset --list")
    try:
        given = pristine.read(root)
    except Problem as problem:
        says, _, fix = str(problem).rpartition("; ")
        return Check("Workspace", "wrong", says, fix)
    gone = [path for path in given.hashes if not (root / path).is_file()]
    if gone:
        more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
        return Check("Workspace", "warning", f"{', '.join(gone[:3])}{more} missing", f"run: git checkout -- {gone[0]}")
    return Check("Workspace", "ok", f"all {len(given.hashes)} files of the course are there")


def gpu(root: Path) -> Check:
    """Whether there is a GPU with its package; otherwise the simulator is used."""
    if not has_gpu():
        return Check("GPU", "ok", "none; the tasks that need one run in numba's simulator")
    if importlib.util.find_spec("numba_cuda") is None:
        return Check("GPU", "warning", "there is one, but numba-cuda is missing", "read docs/module3/gpu_machines.md")
    return Check("GPU", "ok", "there is one, and numba-cuda")


def browser(root: Path) -> Check:
    """Whether there is a browser for the app."""
    import webbrowser

    try:
        name = webbrowser.get().__class__.__name__
    except webbrowser.Error:
        return Check("Browser", "warning", "none found", "run: make app, and open the address that it prints in a browser")
    return Check("Browser", "ok", f"one is found ({name})")


def disk(root: Path) -> Check:
    """Free disk space."""
    free = shutil.disk_usage(root).free
    state = "wrong" if free < TOO_LITTLE else "warning" if free < LITTLE else "ok"
    return Check("Disk", state, f"{free / 1e9:.1f} GB free", "" if state == "ok" else f"free some space on the disk of {root}")


def git(root: Path) -> Check:
    """Whether git keeps a history of the student's work."""
    if shutil.which("git") is None:
        return Check("git", "warning", "is not installed", "install git from https://git-scm.com")
    done = subprocess.run(["git", "rev-parse", "--is-inside-work-tree"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        return Check("git", "warning", "this workspace has no history", "run: git init && git add . && git commit -m Workspace")
    return Check("git", "ok", "keeps the history of this workspace")


def terminal(root: Path) -> Check:
    """Whether the terminal can show the characters that the commands print."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "✓✗○█░·ε".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return Check("Terminal", "warning", f"{encoding} lacks characters such as ✓", "set PYTHONUTF8=1 in the environment")
    return Check("Terminal", "ok", encoding)


def clock(root: Path) -> Check:
    """Whether the times of files agree with the clock, because Python and the watching command compare them."""
    try:
        with tempfile.NamedTemporaryFile(dir=root) as file:
            now = time.time()
            skew = os.stat(file.name).st_mtime - now
    except OSError as error:
        return Check("Clock", "warning", f"no file can be written ({error.strerror})", f"make it writable: chmod u+w {root}")
    if abs(skew) > SKEW:
        fix = "synchronize the clocks of this machine and the file server, or move the workspace to a local disk"
        return Check("Clock", "warning", f"a new file's time is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}", fix)
    future = [path for path in sorted((root / "minitorch").rglob("*.py")) if path.stat().st_mtime > now + SKEW]
    if future:
        name = future[0].relative_to(root).as_posix()
        return Check("Clock", "warning", f"{name} was saved in the future; {len(future)} such files", f"save it again, or: touch {name}")
    return Check("Clock", "ok", "files and clock agree")


CHECKS: tuple[Callable[[Path], Check], ...] = (
    python,
    packages,
    numba,
    folders,
    workspace,
    gpu,
    browser,
    disk,
    git,
    terminal,
    clock,
)
"""All checks, in the order in which to fix problems."""


def requirements(path: Path) -> list[tuple[str, str]]:
    """Name and condition of each requirement in a file: ("numba", ">=0.67"); none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = [re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;#]*)", line) for line in lines if not line.lstrip().startswith(("#", "-"))]
    return [(match[1], match[2].strip()) for match in found if match]


def fits(version: str, wanted: str) -> bool:
    """Whether a version satisfies conditions such as ">=1.67,<1.70" or "==0.30.*"."""
    here = _numbers(version)
    for condition in filter(None, map(str.strip, wanted.split(","))):
        sign, limit = re.match(r"([<>=!~]*)\s*(.*)", condition).groups()  # type: ignore[union-attr]  # it always matches
        bound = _numbers(limit)
        width = max(len(here), len(bound))
        mine, other = (numbers + (0,) * (width - len(numbers)) for numbers in (here, bound))
        holds = {
            ">=": mine >= other,
            "<=": mine <= other,
            ">": mine > other,
            "<": mine < other,
            "==": here[: len(bound)] == bound if limit.endswith("*") else mine == other,
            "!=": mine != other,
            "~=": mine >= other and here[: len(bound) - 1] == bound[:-1],
        }
        if not holds.get(sign, True):
            return False
    return True


def _lacks_the_rest() -> bool:
    """Whether the environment was made by `make course`, and `make app` has not installed the other packages yet."""
    return Path(sys.prefix, ".course").is_file() and not Path(sys.prefix, ".app").is_file()


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version: 1.10.2rc1 gives 1, 10, 2."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"(?:a|b|rc|\.dev|\.post|\+)", version)[0]))


def _writable(folder: Path) -> bool:
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            return True
    except OSError:
        return False
