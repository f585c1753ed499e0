"""The file system of a sandboxed program: its files, Python and a private folder; and the configuration for `enter`."""

from __future__ import annotations

import base64
import functools
import math
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import ROOT
from course.staff.sandbox.monitor import OVERHEAD, Limits, SandboxError
from course.staff.sandbox.seccomp import seccomp_filter

PYTHON = os.path.join(sys.prefix, "bin", "python3") if os.path.exists(os.path.join(sys.prefix, "bin", "python3")) else sys.executable
"""The Python of sandboxed programs, with all packages of the current one."""

SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/etc/ld.so.cache", "/etc/alternatives")
"""System paths that programs need."""

SYSTEM_LINKS = ("/bin", "/lib", "/lib32", "/lib64")
"""Links into /usr on most systems."""

PROC = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/sys/devices/system/cpu")
"""Paths with information about the machine that programs read where they see its own /proc."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

SHARED_MEMORY = 16 << 20
"""Size of /dev/shm in bytes."""

MAX_DESCRIPTORS = 256
"""Maximum number of open files per process."""

MAX_SIGNALS = 128
"""Maximum number of pending signals per user."""

FILES, SCRATCH, CACHE = "/submission", "/tmp", "/cache"
"""Paths of a program's files, its private folder and numba's cache in bubblewrap; other levels do not remap paths."""

REQUESTS_FD, REPLIES_FD, COLLECTED_FD, STATUS_FD, SECCOMP_FD = 3, 4, 5, 8, 9
"""File descriptors of the pipes of a program, its shell and bubblewrap; `enter` sets the last one."""


@dataclass(frozen=True)
class Job:
    """The arguments of `Sandbox.run`."""

    command: tuple[str, ...]
    files: Path
    limits: Limits
    reads: tuple[Path, ...]
    environment: dict[str, str]
    collect: str | None
    cache: Path | None

    @property
    def extra_reads(self) -> list[str]:
        """The other paths that it may read."""
        return [os.path.abspath(path) for path in self.reads]

    def check(self, uid: int | None) -> None:
        """Check that all files exist and that the program's user can read them.

        Otherwise the program would fail, and the failure would look like its own fault.

        Raises:
            SandboxError: If a file is missing or unreadable.
            ValueError: If `collect` is not a file name.
        """
        if not self.files.is_dir():
            raise SandboxError(f"the files of a program must be a folder, got {self.files}; unpack it first")
        if missing := [path for path in (*self.reads, self.cache) if path is not None and not path.exists()]:
            raise SandboxError(f"{missing[0]} should be readable in the sandbox, but does not exist")
        if self.collect is not None and (self.collect in ("", ".", "..") or "/" in self.collect):
            raise ValueError(f"collect expected the name of a file in the private folder, got {self.collect!r}")
        if uid is None:
            return
        for folder, folders, names in os.walk(self.files):
            for name in (*folders, *names):
                mode = os.lstat(os.path.join(folder, name)).st_mode
                needed = 0o5 if stat.S_ISDIR(mode) else 0o4
                if mode & needed != needed and not stat.S_ISLNK(mode):
                    raise SandboxError(f"{os.path.join(folder, name)} cannot be read by other users; chmod -R a+rX {self.files}")

    def expand(self, files: str, scratch: str) -> tuple[list[str], dict[str, str]]:
        """The command and its environment, with the paths of the folders inside the sandbox filled in."""
        environment = {
            "HOME": "{tmp}",
            "TMPDIR": "{tmp}",
            "PATH": f"{os.path.dirname(PYTHON)}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "NUMBA_CACHE_DIR": "{tmp}/numba",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment |= self.environment

        def fill(text: str) -> str:
            return text.replace("{files}", files).replace("{tmp}", scratch)

        return [fill(word) for word in self.command], {key: fill(value) for key, value in environment.items()}


def bubblewrap_config(job: Job, uid: int | None) -> dict[str, Any]:
    """The configuration for `enter` that executes bubblewrap."""
    bubblewrap = _bubblewrap()
    binds = {path: path for path in (*SYSTEM, *interpreter(), *job.extra_reads) if os.path.exists(path)}
    binds |= {path: path for path in SYSTEM_LINKS if os.path.isdir(path) and not os.path.islink(path)}
    binds[FILES] = str(job.files)
    if job.cache is not None:
        binds[CACHE] = str(job.cache)
    arguments = ["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"]
    arguments += ["--cap-drop", "ALL", "--json-status-fd", str(STATUS_FD), "--seccomp", str(SECCOMP_FD), "--hostname", "sandbox"]
    for link in SYSTEM_LINKS:
        if os.path.islink(link):
            arguments += ["--symlink", os.readlink(link), link]
    arguments += [
        "--proc",
        "/proc",
        "--remount-ro",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        str(min(SHARED_MEMORY, job.limits.disk)),
        "--tmpfs",
        "/dev/shm",
        "--remount-ro",
        "/dev",
    ]
    arguments += ["--size", str(job.limits.disk), "--tmpfs", SCRATCH]
    for target in sorted([*binds, *_secrets_below(binds)]):  # parents before children
        if target in binds:
            arguments += ["--ro-bind", os.path.realpath(binds[target]), target]
        else:
            arguments += ["--tmpfs", target, "--remount-ro", target]
    command, environment = job.expand(FILES, SCRATCH)
    for key, value in environment.items():
        arguments += ["--setenv", key, value]
    arguments += ["--chdir", FILES, "--remount-ro", "/"]
    script = f"ulimit -u {job.limits.processes} 2>/dev/null || ulimit -p {job.limits.processes}; "
    if job.cache is not None:
        script += f"cp -r {CACHE} {SCRATCH}/numba; "
    if job.collect is None:
        script += 'exec "$@"'
    else:
        script += f'"$@" {COLLECTED_FD}>&-; status=$?; [ -f "$0" ] && cat "$0" >&{COLLECTED_FD}; exit $status'
    return {
        "command": [bubblewrap, *arguments, "--", "/bin/sh", "-c", script, f"{SCRATCH}/{job.collect}", *command],
        "environment": {},
        "folder": "/",
        "paths": sorted(set(binds.values())),
        "limits": _limits(job.limits) | ({"RLIMIT_NPROC": job.limits.processes + OVERHEAD} if uid is not None else {}),
        "filter": base64.b64encode(seccomp_filter(platform.machine())).decode(),
        "landlock": None,
    }


def direct_config(job: Job, uid: int | None, scratch: Path, confined: bool) -> dict[str, Any]:
    """The configuration for `enter` that executes the program on the machine's own file system, confined by Landlock if `confined`.

    Raises:
        SandboxError: If Landlock cannot hide the reference.
    """
    files = os.path.realpath(job.files)
    command, environment = job.expand(files, str(scratch))
    reads = [path for path in (*SYSTEM, *SYSTEM_LINKS, *PROC, *interpreter(), files, *job.extra_reads) if os.path.exists(path)]
    if confined and (secrets := _secrets_below(reads)):
        raise SandboxError(f"Landlock cannot hide {secrets[0]} among the installed packages; install the project with pip install -e .")
    return {
        "command": [shutil.which(command[0], path=environment["PATH"]) or command[0], *command[1:]],
        "environment": environment,
        "folder": files,
        "paths": [*interpreter(), files, *job.extra_reads, str(scratch)],
        "limits": _limits(job.limits) | ({"RLIMIT_NPROC": job.limits.processes} if uid is not None else {}),
        "filter": base64.b64encode(seccomp_filter(platform.machine(), strict=True)).decode() if confined else None,
        "landlock": {"read": reads, "write": [str(scratch)], "devices": [*DEVICES]} if confined else None,
    }


def _limits(limits: Limits) -> dict[str, int]:
    """Resource limits of every process, by their names in the module resource."""
    none = ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO")
    computing = math.ceil(limits.seconds * (os.cpu_count() or 1)) + 1  # takes effect only if the guard is killed
    some = {
        "RLIMIT_AS": limits.mapped or limits.memory,
        "RLIMIT_FSIZE": limits.file_size,
        "RLIMIT_NOFILE": MAX_DESCRIPTORS,
        "RLIMIT_CPU": computing,
        "RLIMIT_CORE": 1,  # with 0, Linux still passes the memory of a crashed program to a crash handler, if the machine has one
        "RLIMIT_SIGPENDING": MAX_SIGNALS,
    }
    return some | dict.fromkeys(none, 0)


@functools.cache
def interpreter() -> tuple[str, ...]:
    """The paths that Python needs to start, including its installed packages."""
    homes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    program = PYTHON
    while os.path.islink(program):
        program = os.path.normpath(os.path.join(os.path.dirname(program), os.readlink(program)))
        homes.add(os.path.dirname(os.path.dirname(program)))
    homes |= {os.path.realpath(home) for home in homes}
    paths = [os.path.join(home, name) for home in sorted(homes - {"/", "/usr"}) for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
    return tuple(path for path in paths if os.path.exists(path))


def _secrets_below(paths: Iterable[str]) -> list[str]:
    """The reference, its tests and course/staff, where they lie below these paths."""
    paths = [os.path.realpath(path) for path in paths]
    names = ("course", "minitorch", "project", "tests", ".git")
    hidden = [os.path.join(ROOT, name) for name in names if os.path.exists(os.path.join(ROOT, name))]
    return [path for path in hidden if any(Path(path).is_relative_to(parent) for parent in paths)]


@functools.cache
def _bubblewrap() -> str:
    """The path of bubblewrap.

    Raises:
        SandboxError: If it is not installed, or too old.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError("bubblewrap is not installed; apt-get install bubblewrap")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if tuple(map(int, re.findall(r"\d+", version))) < (0, 8):
        raise SandboxError(f"expected bubblewrap 0.8 or newer, got {version or 'an unknown version'}; install a newer one")
    return program
