"""Running untrusted programs: in bubblewrap, or confined by Landlock, or not at all unless the teacher says so.

A program finds its own files, Python, an empty private folder, and nothing else: no other submission, no hidden test, no secret in the
environment, no network. What it leaves is thrown away, and it is ended when it takes too long or too much. docs/teachers/sandbox.md
says which level keeps out what.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import os
import platform
import secrets
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path

from filelock import FileLock, Timeout

from course.staff.sandbox.filesystem import COLLECTED_FD, PYTHON, REPLIES_FD, REQUESTS_FD, STATUS_FD, Job, in_bubblewrap, in_place
from course.staff.sandbox.line_protocol import Child, Gone
from course.staff.sandbox.monitor import Ended, Guard, Limits, SandboxError

__all__ = ["PYTHON", "Child", "Ended", "Gone", "Limits", "Reached", "Sandbox", "SandboxError", "best_level", "fill_cache"]

LEVELS = ("bubblewrap", "landlock", "none")
"""From the strongest to a plain process with limits."""

ENTER = Path(__file__).with_name("enter.py")

LIFE = 600.0
"""Seconds that a program which answers may live, if nothing else is said."""

UIDS = range(60706, 61184)
"""Users that nobody is, on no system: one for each program that runs at a time, for Linux counts processes by user."""

SLOTS = Path("/run/course-staff")
"""Where running programs hold the locks on their users."""

WARNINGS = {
    "bubblewrap": "",
    "landlock": "Landlock keeps programs from files, network and new processes, not from a look at the machine; install bubblewrap",
    "none": "there is no sandbox: a program can read and change whatever you can; grade only what you trust",
}


@dataclass(frozen=True)
class Reached:
    """What a machine can do.

    Attributes:
        level: The best level.
        missing: Why no better one, by level.
    """

    level: str
    missing: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def missing(level: str) -> str:
    """Why this machine does not reach a level, found by running a program that does nothing; empty if it does."""
    trial = "import threading; thread = threading.Thread(target=print, args=('ready',)); thread.start(); thread.join()"
    try:
        with tempfile.TemporaryDirectory(prefix="course-staff-") as folder:
            ended = Sandbox(level).run([PYTHON, "-I", "-c", trial], files=Path(folder), limits=Limits(seconds=60))
    except SandboxError as error:
        return str(error)
    if ended.output.strip() == "ready":
        return ""
    lines = ended.output.strip().splitlines()
    return lines[-1] if lines else f"a program that does nothing had status {ended.status}, reason {ended.reason}"


def best_level() -> Reached:
    """The best level of this machine."""
    reasons: dict[str, str] = {}
    for level in LEVELS[:-1]:
        reasons[level] = missing(level)
        if not reasons[level]:
            return Reached(level, {name: reason for name, reason in reasons.items() if reason})
    return Reached("none", reasons)


class Sandbox:
    """Runs programs at one level.

    Args:
        level: "bubblewrap", "landlock" or "none"; the best of this machine if left out.
        no_sandbox: Whether programs may run without one, where there is none.

    Attributes:
        level: Its name.
        warning: What the level does not keep out; empty for the best.

    Raises:
        SandboxError: If this machine has no sandbox, and it was not said to do without.
        ValueError: If there is no such level.
    """

    def __init__(self, level: str | None = None, *, no_sandbox: bool = False) -> None:
        if level is None:
            reached = best_level()
            level = reached.level
            if level == "none" and not no_sandbox:
                why = "; ".join(f"{name}: {reason}" for name, reason in reached.missing.items())
                raise SandboxError(f"there is no sandbox on this machine ({why}); install bubblewrap, or allow --no-sandbox")
        if level not in LEVELS:
            raise ValueError(f"a level of the sandbox is one of {', '.join(LEVELS)}, got {level}; leave it out for the best")
        self.level = level
        self.warning = WARNINGS[level]

    def run(
        self,
        command: Sequence[str],
        *,
        files: Path,
        limits: Limits | None = None,
        stdin: bytes = b"",
        reads: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
        collect: str | None = None,
        cache: Path | None = None,
    ) -> Ended:
        """Run a program to its end.

        Args:
            command: The program and its arguments, in which {files} and {tmp} stand for the two folders as it sees them.
            files: Its files, which it can read and not write; it starts in this folder.
            limits: What it may use.
            stdin: What it reads.
            reads: Other files and folders that it can read, under their own names.
            environment: Its environment, besides HOME, PATH and the like; nothing is inherited.
            collect: The name of a file in its private folder that comes back.
            cache: numba's cache, from `fill_cache`; it gets a copy.

        Raises:
            SandboxError: If the sandbox could not be set up. What the program does is never an error.
        """
        job = Job(tuple(command), files.absolute(), limits or Limits(), tuple(reads), dict(environment or {}), collect, cache)
        with ExitStack() as stack:
            source = stack.enter_context(_readable(stdin))
            guard, scratch = self._launch(stack, job, source, {})
            ended = guard.watch()
            if scratch is not None and collect is not None:
                ended = replace(ended, collected=_plain_file(scratch, collect, job.limits.collected))
            return ended

    @contextmanager
    def start(
        self,
        command: Sequence[str],
        *,
        files: Path,
        limits: Limits | None = None,
        reads: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Iterator[Child]:
        """A program that answers requests while the context lasts; see `run` for the arguments.

        It reads lines from descriptor 3 and writes lines to descriptor 4. Its limit of time is for all of its life, ten minutes if left
        out. The thread that starts it must not end before it, for then Linux ends it, too.

        Raises:
            SandboxError: At the end of the context, if the sandbox could not be set up.
        """
        limits = limits or Limits(seconds=LIFE)
        job = Job(tuple(command), files.absolute(), limits, tuple(reads), dict(environment or {}), None, cache)
        with ExitStack() as stack:
            theirs, requests = _pipe(stack)
            replies, answers = _pipe(stack)
            source = stack.enter_context(_readable(b""))
            guard, _ = self._launch(stack, job, source, {REQUESTS_FD: theirs, REPLIES_FD: answers})
            child = Child(guard, requests, replies)
            try:
                yield child
            finally:
                child.stop()

    def _launch(self, stack: ExitStack, job: Job, stdin: FileIO, descriptors: dict[int, FileIO]) -> tuple[Guard, Path | None]:
        """Start a job; what it needs is put away at the end of the context."""
        if os.name != "posix":
            raise SandboxError(f"submissions can be run on Linux and macOS, got {platform.system()}; grade in WSL")
        uid = stack.enter_context(_user()) if self.level != "none" else None
        job.check(uid)
        status, status_end = _pipe(stack)
        collected = scratch = None
        descriptors = dict(descriptors)
        if self.level == "bubblewrap":
            descriptors[STATUS_FD] = status_end
            if job.collect is not None:
                collected, descriptors[COLLECTED_FD] = _pipe(stack)
            orders = in_bubblewrap(job, uid)
        else:
            scratch = stack.enter_context(_scratch(uid, job.cache))
            orders = in_place(job, uid, scratch, confined=self.level == "landlock")
        numbers = {number: end.fileno() for number, end in descriptors.items()}
        orders |= {"parent": os.getpid(), "uid": uid, "status": status_end.fileno(), "descriptors": numbers}
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ENTER), json.dumps(orders)],
            env={},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(status_end.fileno(), *numbers.values()),
            start_new_session=True,
        )
        assert process.stdout is not None
        stack.enter_context(process.stdout)
        for end in (status_end, *descriptors.values()):
            end.close()
        arriving = None if collected is None else collected.fileno()
        return Guard(process, job.limits, status.fileno(), arriving, scratch, contained=self.level == "bubblewrap"), scratch


@contextmanager
def _user() -> Iterator[int | None]:
    """A user for one program, whom no other program has as long; None if we may not choose."""
    if os.geteuid() != 0:
        yield None
        return
    SLOTS.mkdir(mode=0o700, parents=True, exist_ok=True)
    for uid in UIDS:
        lock = FileLock(SLOTS / str(uid), blocking=False)
        try:
            lock.acquire()
        except Timeout:
            continue
        try:
            yield uid
        finally:
            lock.release()
        return
    raise SandboxError(f"{len(UIDS)} programs run in sandboxes already, one a user; run fewer at a time")


@contextmanager
def _scratch(uid: int | None, cache: Path | None) -> Iterator[Path]:
    """A private folder for one program, where the sandbox cannot make one inside."""
    folder = Path(tempfile.mkdtemp(prefix="course-sandbox-")).resolve()
    try:
        if cache is not None:
            shutil.copytree(cache, folder / "numba")
        folder.chmod(0o755)
        if uid is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, uid)
        yield folder
    finally:
        with contextlib.suppress(OSError):
            _remove(str(folder))


def _remove(folder: str) -> None:
    """Delete a folder, however deeply its folders are nested: shutil.rmtree of Python 3.11 fails with a RecursionError there."""
    number = itertools.count()
    prefix = f"{folder}/{secrets.token_hex(8)}-"
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, 0o700)
                os.rename(inner.path, f"{prefix}{next(number)}")
            os.rmdir(entry.path)
    os.rmdir(folder)


@contextmanager
def _readable(data: bytes) -> Iterator[FileIO]:
    """A file with these bytes that can only be read and has no name."""
    with tempfile.NamedTemporaryFile(prefix="course-sandbox-") as written:
        written.write(data)
        written.flush()
        reader = FileIO(written.name)
    with reader:
        yield reader


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """A pipe's two ends, closed with the context."""
    reader, writer = os.pipe()
    return stack.enter_context(FileIO(reader)), stack.enter_context(FileIO(writer, "w"))


def _plain_file(folder: Path, name: str, most: int) -> bytes | None:
    """What a program left under a name; None if that is no plain file, or too large. The program has ended."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with FileIO(descriptor) as file:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and 0 < found.st_size <= most:
                return file.read(most)
    return None


def fill_cache(
    sandbox: Sandbox,
    command: Sequence[str],
    files: Path,
    cache: Path,
    *,
    stdin: bytes = b"",
    reads: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program that is trusted, the reference, and keep what numba compiled for it.

    numba tells by a source's path, size and time of change whether its machine code is still right: so it is of use in bubblewrap alone,
    where all submissions have one path, and for files whose time of change is always the same.

    Args:
        sandbox: Where to run it.
        command: As for `Sandbox.run`.
        files: Likewise.
        cache: The folder; if it is there, it is added to.
        stdin: As for `Sandbox.run`.
        reads: Likewise.
        environment: Likewise.
    """
    limits = Limits(seconds=1800, disk=512 << 20, file_size=256 << 20, collected=256 << 20)
    before = cache if cache.is_dir() else None
    script = '"$@"; status=$?; mkdir -p {tmp}/numba && tar -C {tmp}/numba -cf {tmp}/numba.tar . && exit $status'
    if sandbox.level == "landlock":
        raise SandboxError("numba's cache is filled in bubblewrap alone; install bubblewrap")
    packed = ["/bin/sh", "-c", script, "sh", *command]
    ended = sandbox.run(
        packed, files=files, limits=limits, stdin=stdin, reads=reads, environment=environment, collect="numba.tar", cache=before
    )
    if ended.collected is None:
        raise SandboxError(f"numba's cache came to nothing ({ended.reason}, status {ended.status}): {ended.output.strip()[-400:]}")
    with tempfile.TemporaryDirectory(prefix=f".{cache.name}-", dir=cache.parent) as folder:
        filled = Path(folder) / "numba"
        with tarfile.open(fileobj=io.BytesIO(ended.collected)) as archive:
            archive.extractall(filled, filter="data")
        for path in (filled, *filled.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if before is not None:
            cache.rename(Path(folder) / "before")
        filled.rename(cache)
    return ended
