"""Runs untrusted programs in bubblewrap, confined by Landlock, or without a sandbox if the teacher allows it.

A program can access its own files, Python, and an empty private folder, but no other submission, no hidden test, no secret in the
environment and no network. Its files are deleted afterwards, and it is killed if it exceeds a limit. docs/teachers/sandbox.md describes
what each level protects.
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

from course.staff.sandbox.filesystem import COLLECTED_FD, PYTHON, REPLIES_FD, REQUESTS_FD, STATUS_FD, Job, bubblewrap_config, direct_config
from course.staff.sandbox.line_protocol import Child, NoReply
from course.staff.sandbox.monitor import Guard, Limits, RunResult, SandboxError

__all__ = ["PYTHON", "BestLevel", "Child", "Limits", "NoReply", "RunResult", "Sandbox", "SandboxError", "best_level", "fill_cache"]

LEVELS = ("bubblewrap", "landlock", "none")
"""Levels from the strongest to a plain process with limits."""

ENTER = Path(__file__).with_name("enter.py")

LIFETIME = 600.0
"""Default lifetime of a program that replies to requests, in seconds."""

UIDS = range(60706, 61184)
"""User ids that no system assigns. Linux counts processes by user, so each running program has its own user id."""

SLOTS = Path("/run/course-staff")
"""The folder of the locks on user ids."""

WARNINGS = {
    "bubblewrap": "",
    "landlock": "Landlock blocks files, network and new processes, but programs can inspect the machine; install bubblewrap",
    "none": "there is no sandbox: a program can read and change whatever you can; grade only what you trust",
}
"""What each level does not protect."""


@dataclass(frozen=True)
class BestLevel:
    """The best level of this machine.

    Attributes:
        level: The level.
        missing: Why the better levels are not available, by level.
    """

    level: str
    missing: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def missing_reason(level: str) -> str:
    """Why this machine does not support a level, found by running a trivial program; empty if it does."""
    trial = "import threading; thread = threading.Thread(target=print, args=('ready',)); thread.start(); thread.join()"
    try:
        with tempfile.TemporaryDirectory(prefix="course-staff-") as folder:
            ended = Sandbox(level).run([PYTHON, "-I", "-c", trial], files=Path(folder), limits=Limits(seconds=60))
    except SandboxError as error:
        return str(error)
    if ended.output.strip() == "ready":
        return ""
    lines = ended.output.strip().splitlines()
    return lines[-1] if lines else f"a trivial program ended with status {ended.status}, reason {ended.reason}"


def best_level() -> BestLevel:
    """The best level that this machine supports."""
    reasons: dict[str, str] = {}
    for level in LEVELS[:-1]:
        reasons[level] = missing_reason(level)
        if not reasons[level]:
            return BestLevel(level, {name: reason for name, reason in reasons.items() if reason})
    return BestLevel("none", reasons)


class Sandbox:
    """Runs programs at one level.

    Args:
        level: "bubblewrap", "landlock" or "none"; None for the best one.
        no_sandbox: Whether programs may run without a sandbox if this machine has none.

    Attributes:
        level: The level.
        warning: What the level does not protect; empty for the best.

    Raises:
        SandboxError: If this machine has no sandbox and `no_sandbox` is False.
        ValueError: If there is no such level.
    """

    def __init__(self, level: str | None = None, *, no_sandbox: bool = False) -> None:
        if level is None:
            best = best_level()
            level = best.level
            if level == "none" and not no_sandbox:
                why = "; ".join(f"{name}: {reason}" for name, reason in best.missing.items())
                raise SandboxError(f"there is no sandbox on this machine ({why}); install bubblewrap, or allow --no-sandbox")
        if level not in LEVELS:
            raise ValueError(f"the sandbox expected one of the levels {', '.join(LEVELS)}, got {level}; omit it for the best one")
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
    ) -> RunResult:
        """Run a program until it ends.

        Args:
            command: The program and its arguments; {files} and {tmp} are replaced by the paths of the two folders inside the sandbox.
            files: The folder of its files, read-only; also its working directory.
            limits: Its limits.
            stdin: Its standard input.
            reads: Other files and folders that it may read, under their own paths.
            environment: Further environment variables besides HOME, PATH and similar ones; none are inherited.
            collect: The name of a file in its private folder to return.
            cache: numba's cache from `fill_cache`; the program gets a copy.

        Returns:
            The outcome.

        Raises:
            SandboxError: If the sandbox could not be set up. What the program does never raises an error.
        """
        job = Job(tuple(command), files.absolute(), limits or Limits(), tuple(reads), dict(environment or {}), collect, cache)
        with ExitStack() as stack:
            source = stack.enter_context(_read_only_file(stdin))
            guard, scratch = self._launch(stack, job, source, {})
            ended = guard.watch()
            if scratch is not None and collect is not None:
                ended = replace(ended, collected=_read_collected(scratch, collect, job.limits.collected))
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
        """Start a program that replies to requests, and kill it when the context ends; see `run` for the arguments.

        The program reads requests from file descriptor 3 and writes replies to file descriptor 4. The time limit, ten minutes by default,
        covers its whole lifetime. The thread that starts it must outlive it, because Linux kills it when that thread ends.

        Raises:
            SandboxError: At the end of the context, if the sandbox could not be set up.
        """
        limits = limits or Limits(seconds=LIFETIME)
        job = Job(tuple(command), files.absolute(), limits, tuple(reads), dict(environment or {}), None, cache)
        with ExitStack() as stack:
            theirs, requests = _pipe(stack)
            replies, answers = _pipe(stack)
            source = stack.enter_context(_read_only_file(b""))
            guard, _ = self._launch(stack, job, source, {REQUESTS_FD: theirs, REPLIES_FD: answers})
            child = Child(guard, requests, replies)
            try:
                yield child
            finally:
                child.stop()

    def _launch(self, stack: ExitStack, job: Job, stdin: FileIO, descriptors: dict[int, FileIO]) -> tuple[Guard, Path | None]:
        """Start a job. Its resources are released at the end of the context."""
        if os.name != "posix":
            raise SandboxError(f"the sandbox expected Linux or macOS, got {platform.system()}; grade in WSL")
        uid = stack.enter_context(_user()) if self.level != "none" else None
        job.check(uid)
        status, status_end = _pipe(stack)
        collected = scratch = None
        descriptors = dict(descriptors)
        if self.level == "bubblewrap":
            descriptors[STATUS_FD] = status_end
            if job.collect is not None:
                collected, descriptors[COLLECTED_FD] = _pipe(stack)
            config = bubblewrap_config(job, uid)
        else:
            scratch = stack.enter_context(_scratch(uid, job.cache))
            config = direct_config(job, uid, scratch, confined=self.level == "landlock")
        numbers = {number: end.fileno() for number, end in descriptors.items()}
        config |= {"parent": os.getpid(), "uid": uid, "status": status_end.fileno(), "descriptors": numbers}
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ENTER), json.dumps(config)],
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
    """A user id for one program that no other program uses; None if this process may not choose one."""
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
    raise SandboxError(f"{len(UIDS)} programs already run in sandboxes, the maximum; run fewer at a time")


@contextmanager
def _scratch(uid: int | None, cache: Path | None) -> Iterator[Path]:
    """Create a private folder for one program, at levels where the sandbox cannot create one inside."""
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
    """Delete a folder with folders nested at any depth; shutil.rmtree of Python 3.11 raises a RecursionError for deep ones."""
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
def _read_only_file(data: bytes) -> Iterator[FileIO]:
    """Open a read-only file with this content that no folder lists."""
    with tempfile.NamedTemporaryFile(prefix="course-sandbox-") as written:
        written.write(data)
        written.flush()
        reader = FileIO(written.name)
    with reader:
        yield reader


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    """The two ends of a pipe, closed with the context."""
    reader, writer = os.pipe()
    return stack.enter_context(FileIO(reader)), stack.enter_context(FileIO(writer, "w"))


def _read_collected(folder: Path, name: str, most: int) -> bytes | None:
    """The content of a file that a program has left; None if it is not a regular file, or too large. The program must have ended."""
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
) -> RunResult:
    """Run a trusted program, the reference, and save what numba compiles for it.

    numba validates its cache by the path, size and modification time of the source. The cache is therefore useful only in bubblewrap, where
    all submissions have the same path, and for files with a fixed modification time.

    Args:
        sandbox: The sandbox.
        command: As for `Sandbox.run`.
        files: As for `Sandbox.run`.
        cache: The folder of the cache; if it exists, it is extended.
        stdin: As for `Sandbox.run`.
        reads: As for `Sandbox.run`.
        environment: As for `Sandbox.run`.

    Returns:
        The outcome.

    Raises:
        SandboxError: If the sandbox uses Landlock, could not be set up, or no cache was written.
    """
    limits = Limits(seconds=1800, disk=512 << 20, file_size=256 << 20, collected=256 << 20)
    before = cache if cache.is_dir() else None
    script = '"$@"; status=$?; mkdir -p {tmp}/numba && tar -C {tmp}/numba -cf {tmp}/numba.tar . && exit $status'
    if sandbox.level == "landlock":
        raise SandboxError("numba's cache can be filled only in bubblewrap; install bubblewrap")
    wrapped = ["/bin/sh", "-c", script, "sh", *command]
    ended = sandbox.run(
        wrapped, files=files, limits=limits, stdin=stdin, reads=reads, environment=environment, collect="numba.tar", cache=before
    )
    if ended.collected is None:
        raise SandboxError(f"numba's cache was not written ({ended.reason}, status {ended.status}): {ended.output.strip()[-400:]}")
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
