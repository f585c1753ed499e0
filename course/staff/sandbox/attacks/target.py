"""The target of attacks: a grader's files (hidden probes, another submission, a journal, a cache) and a process, which share a secret."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import ROOT
from course.staff.sandbox.filesystem import PYTHON
from course.staff.sandbox.monitor import Limits, RunResult
from course.staff.sandbox.sandbox import Sandbox

KILL_SECONDS = 5.0
"""Seconds within which a killed process must be gone."""

PRELUDE = """
import ctypes, json, os, platform, sys
T = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == 'x86_64'

def broken(how):
    print('BROKEN', how, flush=True)

def syscall(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    return result, ctypes.get_errno()

def call(on_x86, on_arm, *args, wanted=None):
    result, error = syscall(on_x86 if x86 else on_arm, *args)
    if error == 38: print('ABSENT')
    elif (result >= 0 if wanted is not None else error != 1): broken(f'result {result}, error {error}')
    return result, error
"""
"""The definitions that precede every attack; `attacks.toml` describes them."""

VICTIM = """
import os, selectors, socket, sys
secret = os.environ['GRADER_SECRET'].encode()
kept = [secret + b'!' for _ in range(100)]
selector = selectors.DefaultSelector()
for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_UNIX, chr(0) + sys.argv[2]), (socket.AF_UNIX, sys.argv[3])):
    server = socket.socket(family); server.bind(address); server.listen()
    selector.register(server, selectors.EVENT_READ)
    if family == socket.AF_INET: port = server.getsockname()[1]
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagrams.bind(('127.0.0.1', 0))
selector.register(datagrams, selectors.EVENT_READ)
print(port, datagrams.getsockname()[1], flush=True)
while True:
    for key, _ in selector.select():
        if key.fileobj is datagrams:
            datagrams.sendto(secret, datagrams.recvfrom(100)[1])
        else:
            client, _ = key.fileobj.accept(); client.sendall(secret); client.close()
"""
"""A process of the grader's user that sends the secret to every client."""


@dataclass(frozen=True)
class Attempt:
    """The outcome of an attack.

    Attributes:
        succeeded: Whether it reached its goal.
        how: What it achieved, or how it was stopped.
        absent: Whether the kernel lacks the attacked feature.
    """

    succeeded: bool
    how: str
    absent: bool = False


class Target:
    """A context in which the files, and the victim process if it is needed, exist.

    Args:
        victim: Whether the victim process is needed.
    """

    def __init__(self, victim: bool) -> None:
        self._wants_victim = victim
        self._victim: subprocess.Popen[str] | None = None
        self._ports = ("0", "0")
        self.mark = secrets.token_hex(8)
        self.secret = f"secret-{secrets.token_hex(8)}"

    def __enter__(self) -> Target:
        self.folder = Path(tempfile.mkdtemp(prefix="course-attack-")).resolve()
        try:
            self._write_files()
            if self._wants_victim:
                self._victim = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", VICTIM, "victim-" + self.mark, self.mark, str(self.folder / "socket")],
                    env={"GRADER_SECRET": self.secret},
                    stdout=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
                assert self._victim.stdout is not None
                self._ports = tuple(self._victim.stdout.readline().split())
            self._before = self._state()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._victim is not None:
            self._victim.kill()
            self._victim.communicate()
        for pid in self._survivors():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write_files(self) -> None:
        """Write the files, readable by everybody, so that only the sandbox protects them."""
        self.folder.chmod(0o755)
        for name, text in {
            "hidden/probes.py": f"EXPECTED = '{self.secret}'\n",
            "submissions/other/answer.py": f"ANSWER = '{self.secret}'\n",
            "submissions/own/answer.py": "ANSWER = 0\n",
            "journal/other.json": json.dumps({"score": 10, "key": self.secret}),
            "cache/kernel.nbi": "an index",
        }.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.folder / "bare").mkdir()

    def _state(self) -> dict[str, Any]:
        """Everything that must not change."""
        found: dict[str, Any] = {}
        for path in sorted(self.folder.rglob("*")):
            if path.is_relative_to(self.folder / "bare"):
                continue
            status = path.lstat()
            found[str(path)] = [status.st_mode]
            if stat.S_ISREG(status.st_mode):
                found[str(path)] += [status.st_mtime_ns, path.read_bytes() if os.access(path, os.R_OK) else None]
        return found

    def _targets(self, own: str, tmp: str) -> dict[str, Any]:
        """Paths, ports and process ids for the attack."""
        return {
            "folder": str(self.folder),
            "hidden": str(self.folder / "hidden" / "probes.py"),
            "other": str(self.folder / "submissions" / "other" / "answer.py"),
            "journal": str(self.folder / "journal" / "other.json"),
            "cache": str(self.folder / "cache"),
            "socket": str(self.folder / "socket"),
            "own": own,
            "tmp": tmp,
            "root": str(ROOT),
            "home": str(Path.home()),
            "mark": self.mark,
            "victim": self._victim.pid if self._victim else 0,
            "victim_mark": "victim-" + self.mark,
            "port": int(self._ports[0]),
            "udp": int(self._ports[1]),
        }

    def run(self, sandbox: Sandbox, program: str, limits: Limits, collect: str | None) -> RunResult:
        """Run an attack in the sandbox; returns the outcome of the run.

        Raises:
            SandboxError: If the sandbox could not be set up.
        """
        command = [PYTHON, "-P", "-s", "-c", PRELUDE + program, json.dumps(self._targets("{files}", "{tmp}"))]
        cache = self.folder / "cache"
        with self._leaked_descriptor():
            return sandbox.run(command, files=self.folder / "submissions" / "own", limits=limits, collect=collect, cache=cache)

    def run_unconfined(self, program: str, limits: Limits, collect: str | None) -> RunResult:
        """Run an attack as a careless grader would, with the grader's environment and only a time limit; returns the outcome of the run."""
        own, tmp = self.folder / "submissions" / "own", self.folder / "bare"
        command = [PYTHON, "-P", "-s", "-c", PRELUDE + program, json.dumps(self._targets(str(own), str(tmp)))]
        start, reason, status = time.monotonic(), "ended", -signal.SIGKILL
        with self._leaked_descriptor() as descriptor, (self.folder / "bare" / "printed").open("w+b") as printed:
            process = subprocess.Popen(
                command,
                cwd=own,
                env=os.environ | {"GRADER_SECRET": self.secret, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp)},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=limits.seconds)
            except subprocess.TimeoutExpired:
                reason = "nothing"  # no limit ended it
            finally:
                process.kill()
                process.wait()
            printed.seek(0)
            output = printed.read(1 << 20).decode(errors="replace")
        collected = None
        if collect is not None:
            end = time.monotonic() + 1
            while time.monotonic() < end and self.secret.encode() not in (collected or b""):
                with contextlib.suppress(OSError):
                    collected = (tmp / collect).read_bytes()
                if collected is not None and len(collected) > limits.collected:
                    break
        return RunResult(status, reason, time.monotonic() - start, output, collected)

    def result(self, *runs: RunResult, ends: str) -> Attempt:
        """Whether an attack succeeded, after its programs have run."""
        output = "\n".join(run.output for run in runs)
        last = output.strip().splitlines()[-1] if output.strip() else ""
        if self.secret in output or any(self.secret.encode() in (run.collected or b"") for run in runs):
            return Attempt(True, "it got the secret")
        if found := [line for line in output.splitlines() if line.startswith("BROKEN")]:
            return Attempt(True, found[-1].removeprefix("BROKEN "))
        if any(run.collected and len(run.collected) > 4 << 20 for run in runs):
            return Attempt(True, "the grader read a report of more than 4 MB")
        if self._state() != self._before:
            return Attempt(True, "it changed files of the grader")
        if self._victim is not None and (harm := _victim_state(self._victim)):
            return Attempt(True, harm)
        if ends and runs[-1].reason != ends:
            return Attempt(True, f"it should have exceeded its limit on {ends}, got the reason {runs[-1].reason}")
        end = time.monotonic() + KILL_SECONDS
        while left := list(self._survivors()):
            if time.monotonic() > end:
                return Attempt(True, f"{len(left)} of its processes still run")
            time.sleep(0.01)
        reason = runs[-1].reason if runs[-1].reason != "ended" else f"status {runs[-1].status}"
        return Attempt(False, last or reason, "ABSENT" in output)

    def _survivors(self) -> Iterator[int]:
        """The ids of processes of an attack on this target that still run."""
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    line = Path(f"/proc/{name}/cmdline").read_bytes()
                    if self.mark.encode() in line and b"victim-" + self.mark.encode() + b"\0" not in line and int(name) != os.getpid():
                        yield int(name)

    @contextlib.contextmanager
    def _leaked_descriptor(self) -> Iterator[int]:
        """A file descriptor of the hidden probes that a child inherits, as if a careless grader had left it open."""
        descriptor = os.open(self.folder / "hidden" / "probes.py", os.O_RDONLY)
        try:
            os.set_inheritable(descriptor, True)
            yield descriptor
        finally:
            os.close(descriptor)


def _victim_state(victim: subprocess.Popen[str]) -> str:
    """What happened to the victim process; empty if nothing did."""
    if victim.poll() is not None:
        return "the grader was killed"
    state = Path(f"/proc/{victim.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return "the grader was stopped" if state in "Tt" else ""
