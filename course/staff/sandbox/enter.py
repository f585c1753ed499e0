"""What stands between the grader and a sandboxed program: gives up all rights, then becomes bubblewrap, or the program itself.

It runs as a script in a process of its own, where nothing of the project can be imported: `python -I -S enter.py ORDERS`, in JSON.
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
"""Requests to the kernel's prctl."""

NEW_MOUNTS = 0x00020000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 0x1000, 0x4000, 0x40000
"""Flags of unshare and mount."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls, the same on every processor."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
DEVICES = 1 << 6 | 1 << 11
"""Rights of Landlock: the four that are granted to readers, and the making of device files, which nobody gets."""

BORROWED = 64
"""Descriptors are moved up here before they get their numbers, so that none is overwritten."""

FIRST_TO_GO = "500"
"""Where memory runs out, Linux ends a submission before the grader; from -1000, spared, to 1000."""

SECCOMP_FD = 9
"""Where bubblewrap finds the filter."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def main(orders: dict[str, Any]) -> None:
    """Carry the orders out, and never return.

    Args:
        orders: `parent`, the process that gives them; `status`, the descriptor to which complaints go; `uid`, whom to become, or None;
            `paths`, what that user must be able to read; `limits`, by name; `filter`, for system calls; `landlock`, the paths to `read`,
            to `write`, and `devices`; `command` and its `environment` and `folder`; `descriptors`, the numbers under which it finds some
            of ours.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _number(orders["status"], orders["descriptors"])
    if orders["uid"] is not None:
        _unveil(libc, orders["paths"])
    rules = _ruleset(libc, orders["landlock"]) if orders["landlock"] else None
    for name, value in orders["limits"].items():
        number = getattr(resource, name, None)
        if number is not None:
            _, most = resource.getrlimit(number)
            value = value if most == resource.RLIM_INFINITY or name == "RLIMIT_CORE" else min(value, most)
            optional = sys.platform != "linux" or name == "RLIMIT_CORE"  # macOS knows some only by name; 1 may be more than the hard limit
            with contextlib.suppress(*((OSError, ValueError) if optional else ())):
                resource.setrlimit(number, (value, value))
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write(FIRST_TO_GO)
    if orders["uid"] is not None:
        os.setgroups([])
        os.setresgid(orders["uid"], orders["uid"], orders["uid"])
        os.setresuid(orders["uid"], orders["uid"], orders["uid"])
    os.chdir(orders["folder"])
    if sys.platform == "linux":
        _call(libc.prctl, PARENT_DIED, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != orders["parent"]:
            os._exit(70)  # it died before
        _call(libc.prctl, NO_NEW_RIGHTS, 1, 0, 0, 0)
    if rules is not None:
        _call(libc.syscall, RESTRICT_SELF, rules, 0)
    if orders["filter"]:
        _filter(libc, base64.b64decode(orders["filter"]), now=rules is not None)
    os.execve(orders["command"][0], orders["command"], orders["environment"])


def _number(status: int, descriptors: Mapping[str, int]) -> None:
    """Give descriptors the numbers that the command knows, and close them under their own."""
    moved = {int(wanted): fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, BORROWED) for wanted, given in descriptors.items()}
    for given in {status, *descriptors.values()}:
        os.close(given)
    for wanted, copy in moved.items():
        os.dup2(copy, wanted)


def _unveil(libc: ctypes.CDLL, paths: Iterable[str]) -> None:
    """Make paths readable that lie in folders closed to others, such as a home, where this process and its children see them.

    The closed folder is covered with an empty one in which just these paths appear, under their own names.
    """
    closed: dict[str, list[str]] = {}
    for path in map(os.path.realpath, paths):
        folder = _closed(path)
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
            f"{first} is closed to other users, and this system lets nobody mount ({error}); chmod o+rx {first}"
        ) from None
    os.umask(0o022)
    for folder, members in closed.items():
        opened = {member: os.open(member, os.O_PATH | os.O_NOFOLLOW) for member in members}
        _call(libc.mount, b"none", os.fsencode(folder), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755,size=1m")
        for member, descriptor in sorted(opened.items()):
            kind = os.fstat(descriptor).st_mode
            if os.path.lexists(member):
                continue  # seen through a parent that is shown as well
            os.makedirs(os.path.dirname(member), exist_ok=True)
            if stat.S_ISLNK(kind):
                os.symlink(os.readlink("", dir_fd=descriptor), member)
                continue
            if stat.S_ISDIR(kind):
                os.mkdir(member)
            else:
                os.close(os.open(member, os.O_CREAT | os.O_WRONLY, 0o644))
            _call(libc.mount, b"/proc/self/fd/%d" % descriptor, os.fsencode(member), None, MS_BIND | MS_REC, None)


def _closed(path: str) -> str | None:
    """The outermost folder on the way to a path that other users cannot enter, or the path itself if they cannot read it."""
    parts = path.split("/")
    ways = ("/".join(parts[:end]) for end in range(2, len(parts)))
    return next((way for way in ways if not os.stat(way).st_mode & stat.S_IXOTH), None if _readable(path) else path)


def _readable(path: str) -> bool:
    """Whether other users could read a file, or list and enter a folder, that they have come to."""
    mode = os.stat(path).st_mode
    needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return mode & needed == needed


def _ruleset(libc: ctypes.CDLL, paths: dict[str, list[str]]) -> int:
    """Rules of Landlock: nothing is read or written but these paths.

    Raises:
        OSError: If the kernel is too old: it must know how to refuse the truncation of files.
    """
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 3:
        raise OSError(f"Landlock of Linux 6.2 or newer is needed, got {'none' if version < 1 else f'its version {version}'}")
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
    """Grant rights to a path and all beneath it."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= EXECUTE | WRITE_FILE | READ_FILE | 1 << 14  # 1 << 14: truncate
    _call(libc.syscall, ADD_RULE, ruleset, 1, ctypes.byref(_Beneath(rights, descriptor)), 0)
    os.close(descriptor)


def _filter(libc: ctypes.CDLL, program: bytes, now: bool) -> None:
    """Put the filter of system calls in force, or leave it where bubblewrap finds it."""
    if now:
        _call(libc.prctl, SECCOMP, FILTER, ctypes.byref(_Program(len(program) // 8, program)), 0, 0)
        return
    reader, writer = os.pipe()
    os.write(writer, program)
    os.close(writer)
    copy = fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, BORROWED)  # it may be SECCOMP_FD itself, and would not be passed on
    os.dup2(copy, SECCOMP_FD)


def _call(function: Any, *args: Any) -> int:
    """A call into the kernel; its errors are Python's."""
    result = function(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    _orders = json.loads(sys.argv[1])
    _status = fcntl.fcntl(_orders["status"], fcntl.F_DUPFD_CLOEXEC, BORROWED)
    try:
        main(_orders)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(_status, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(70)
