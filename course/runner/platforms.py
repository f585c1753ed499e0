"""What differs between operating systems: reading single keys, and ending a process with its children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

OWN_GROUP: dict[str, Any]
"""Arguments for Popen: Ctrl-C in the terminal does not reach the process, and `kill_tree` ends its children, too."""

if sys.platform == "win32":
    import msvcrt

    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    import select
    import termios
    import tty

    OWN_GROUP = {"start_new_session": True}


def kill_tree(process: subprocess.Popen[str]) -> None:
    """End a process at once, with its children if it has its own process group."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        elif process.poll() is None and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # does nothing if it has ended


class Keys:
    """Reads single keys from the terminal inside a `with` block, and restores the terminal afterwards, also after a signal."""

    ended: BaseException | None = None

    def __enter__(self) -> Keys:
        if sys.platform != "win32":
            self.file = sys.stdin.fileno()
            self.before = termios.tcgetattr(self.file)
            self.handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
            self.handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._on_continue)
            tty.setcbreak(self.file)  # Ctrl-C and Ctrl-Z keep working
        return self

    def __exit__(self, *error: object) -> None:
        if sys.platform != "win32":
            for number, handler in self.handlers.items():
                signal.signal(number, handler)
            with contextlib.suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self.file, termios.TCSADRAIN, self.before)

    def read(self, seconds: float) -> str:
        """Return the key pressed within this time, "" if none is pressed, or "q" if the terminal is closed."""
        if self.ended is not None:
            raise self.ended
        if sys.platform == "win32":
            end = time.monotonic() + seconds
            while not msvcrt.kbhit():
                if time.monotonic() >= end:
                    return ""
                time.sleep(0.02)
            return msvcrt.getwch()
        if not select.select([self.file], [], [], seconds)[0]:
            return ""
        try:
            return os.read(self.file, 64).decode(errors="replace")[:1] or "q"  # an arrow key sends three characters; the first is not bound
        except OSError:
            return "q"

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Raise at once; if this interrupts a finalizer, which swallows exceptions, the next read raises again."""
        self.ended = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
        raise self.ended

    def _on_continue(self, number: int, frame: FrameType | None) -> None:
        """Restore single-key mode after Ctrl-Z, because the shell has reset the terminal."""
        if sys.platform != "win32":
            tty.setcbreak(self.file)
