"""Runs between the grader and a sandboxed program: drops all privileges, then executes bubblewrap, or the program itself.

It is a script in a separate process, which cannot import the project: `python -I -S enter.py CONFIG`, where CONFIG is JSON.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Iterable, Mapping
from typing import Any

PARENT_DIED, NO_NEW_RIGHTS, SECCOMP, FILTER = 1, 38, 22, 2
"""Options of prctl."""

NEW_MOUNTS = 0x00020000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
"""Flags of unshare and mount."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls, the same on every processor."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
DEVICES = 1 << 6 | 1 << 11
"""Landlock's access rights: the four that are granted for reading, and the creation of device files, which is never granted."""

FIRST_FREE_FD = 64
"""File descriptors are first moved to this number or above, so that assigning the final numbers overwrites none."""

OOM_SCORE = "500"
"""From -1000 to 1000: when memory runs out, Linux kills processes with a higher score first, here the submission before the grader."""

SECCOMP_FD = 9
"""The file descriptor from which bubblewrap reads the filter."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def main(config: dict[str, Any]) -> None:
    """Configure this process and execute the command; never returns.

    Args:
        config: `parent`, the id of the parent process; `status`, the file descriptor for errors; `uid`, the user to switch to, or None;
            `paths`, which that user must be able to read; `limits`, by name; `filter`, for system calls; `landlock`, the paths to `read`,
            to `write`, and `devices`; `command` with its `environment` and `folder`; `descriptors`, file descriptors by the numbers that
            the command expects.

    Raises:
        OSError: If a system call fails, or Landlock is too old.
        PermissionError: If a path cannot be made readable.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _renumber(config["status"], config["descriptors"])
    if config["uid"] is not None:
        _expose(libc, config["paths"])
    rules = _ruleset(libc, config["landlock"]) if config["landlock"] else None
    for name, value in config["limits"].items():
        number = getattr(resource, name, None)
        if number is not None:
            _, most = resource.getrlimit(number)
            value = value if most == resource.RLIM_INFINITY or name == "RLIMIT_CORE" else min(value, most)
            optional = sys.platform != "linux" or name == "RLIMIT_CORE"  # macOS does not implement all; 1 may exceed the hard limit
            with contextlib.suppress(*((OSError, ValueError) if optional else ())):
                resource.setrlimit(number, (value, value))
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write(OOM_SCORE)
    if config["uid"] is not None:
        os.setgroups([])
        os.setresgid(config["uid"], config["uid"], config["uid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
    os.chdir(config["folder"])
    if sys.platform == "linux":
        _call(libc.prctl, PARENT_DIED, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != config["parent"]:
            os._exit(70)  # the parent died earlier
        _call(libc.prctl, NO_NEW_RIGHTS, 1, 0, 0, 0)
    if rules is not None:
        _call(libc.syscall, RESTRICT_SELF, rules, 0)
    if config["filter"]:
        _filter(libc, base64.b64decode(config["filter"]), now=rules is not None)
    os.execve(config["command"][0], config["command"], config["environment"])


def _renumber(status: int, descriptors: Mapping[str, int]) -> None:
    """Give file descriptors the numbers that the command expects, and close the originals."""
    moved = {int(wanted): fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD) for wanted, given in descriptors.items()}
    for given in {status, *descriptors.values()}:
        os.close(given)
    for wanted, copy in moved.items():
        os.dup2(copy, wanted)


def _expose(libc: ctypes.CDLL, paths: Iterable[str]) -> None:
    """Make paths readable that lie in folders closed to other users, such as a home directory, for this process and its children.

    An empty folder in which only these paths appear, under their own names, is mounted over the closed one.

    Raises:
        PermissionError: If a file is unreadable for other users, or mounting is not permitted.
    """
    closed: dict[str, list[str]] = {}
    for path in map(os.path.realpath, paths):
        folder = _first_closed(path)
        if folder is None:
            continue
        if _readable(path):
            members = [path]
        elif os.path.isdir(path):
            members = [os.path.join(path, name) for name in os.listdir(path)]
        else:
            raise PermissionError(f"{path} cannot be read by other users; chmod o+r {path}")
        closed.setdefault(folder, []).extend(members)
    if not closed:
        return
    try:
        _call(libc.unshare, NEW_MOUNTS)
        _call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    except OSError as error:
        first = next(iter(closed))
        raise PermissionError(
            f"{first} is closed to other users, and mounting is not permitted on this system ({error}); chmod o+rx {first}"
        ) from None
    os.umask(0o022)
    for folder, members in closed.items():
        opened = {member: os.open(member, os.O_PATH | os.O_NOFOLLOW) for member in members}
        _call(libc.mount, b"none", os.fsencode(folder), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=1m")
        for member, descriptor in sorted(opened.items()):
            kind = os.fstat(descriptor).st_mode
            if os.path.lexists(member):
                continue  # already visible through an exposed parent
            os.makedirs(os.path.dirname(member), exist_ok=True)
            if stat.S_ISLNK(kind):
                os.symlink(os.readlink("", dir_fd=descriptor), member)
                continue
            if stat.S_ISDIR(kind):
                os.mkdir(member)
            else:
                os.close(os.open(member, os.O_CREAT | os.O_WRONLY, 0o644))
            _call(libc.mount, b"/proc/self/fd/%d" % descriptor, os.fsencode(member), None, MS_BIND | MS_REC, None)


def _first_closed(path: str) -> str | None:
    """The outermost folder of a path that other users cannot enter, or the path itself if they cannot read it; None if they can."""
    parts = path.split("/")
    prefixes = ("/".join(parts[:end]) for end in range(2, len(parts)))
    return next((prefix for prefix in prefixes if not os.stat(prefix).st_mode & stat.S_IXOTH), None if _readable(path) else path)


def _readable(path: str) -> bool:
    """Whether other users may read a file, or list and enter a folder, regardless of the folders above it."""
    mode = os.stat(path).st_mode
    needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return mode & needed == needed


def _ruleset(libc: ctypes.CDLL, paths: dict[str, list[str]]) -> int:
    """A Landlock ruleset that restricts access to these paths.

    Raises:
        OSError: If the kernel's Landlock is too old to control the truncation of files.
    """
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 3:
        raise OSError(f"Landlock expected Linux 6.2 or newer, got {'no Landlock' if version < 1 else f'version {version} of Landlock'}")
    every = (1 << 15) - 1 | (1 << 15 if version >= 5 else 0)
    rules = _Ruleset(every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(libc.syscall, CREATE_RULESET, ctypes.byref(rules), size, 0)
    for path in paths["read"]:
        _allow(libc, ruleset, path, EXECUTE | READ_FILE | READ_DIR)
    for path in paths["write"]:
        _allow(libc, ruleset, path, every & ~DEVICES)
    for path in paths["devices"]:
        _allow(libc, ruleset, path, READ_FILE | WRITE_FILE)
    return ruleset


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """Grant rights to a path and everything below it."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= EXECUTE | WRITE_FILE | READ_FILE | 1 << 14  # 1 << 14: truncate
    _call(libc.syscall, ADD_RULE, ruleset, 1, ctypes.byref(_PathRule(rights, descriptor)), 0)
    os.close(descriptor)


def _filter(libc: ctypes.CDLL, program: bytes, now: bool) -> None:
    """Install the system call filter now, or write it to the pipe that bubblewrap reads."""
    if now:
        _call(libc.prctl, SECCOMP, FILTER, ctypes.byref(_Program(len(program) // 8, program)), 0, 0)
        return
    reader, writer = os.pipe()
    os.write(writer, program)
    os.close(writer)
    copy = fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)  # the pipe may already be SECCOMP_FD, which would be closed on exec
    os.dup2(copy, SECCOMP_FD)


def _call(function: Any, *args: Any) -> int:
    """Call a C function.

    Raises:
        OSError: If it returns a negative number.
    """
    result = function(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    _config = json.loads(sys.argv[1])
    _status = fcntl.fcntl(_config["status"], fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)
    try:
        main(_config)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(_status, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(70)
