"""Where systems differ: keys read one by one, and the end of a process with all that it has started."""

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
"""For Popen: a process that Ctrl-C in the terminal does not reach, and that is ended with all that it starts."""

if sys.platform == "win32":
    import msvcrt

    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    import select
    import termios
    import tty

    OWN_GROUP = {"start_new_session": True}


def kill_tree(process: subprocess.Popen[str]) -> None:
    """End a process at once, with all that it has started if it has a group of its own."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
        elif process.poll() is None and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # does nothing if it is over


class Keys:
    """The keys pressed in the terminal, without Enter; inside `with`, after which the terminal is as it was, also when killed gently."""

    ended: BaseException | None = None

    def __enter__(self) -> Keys:
        if sys.platform != "win32":
            self.file = sys.stdin.fileno()
            self.before = termios.tcgetattr(self.file)
            self.handlers = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
            self.handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._again)
            tty.setcbreak(self.file)  # Ctrl-C and Ctrl-Z go on to work
        return self

    def __exit__(self, *error: object) -> None:
        if sys.platform != "win32":
            for number, handler in self.handlers.items():
                signal.signal(number, handler)
            with contextlib.suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self.file, termios.TCSADRAIN, self.before)

    def read(self, seconds: float) -> str:
        """The key pressed within so many seconds; "" if none is, and "q" if no more can come."""
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
            return os.read(self.file, 64).decode(errors="replace")[:1] or "q"  # of an arrow's three letters the first, which is no key here
        except OSError:
            return "q"

    def _end(self, number: int, frame: FrameType | None) -> None:
        """End in good order: at once, or with the next key if a finaliser, in which exceptions are lost, is what this interrupts."""
        self.ended = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
        raise self.ended

    def _again(self, number: int, frame: FrameType | None) -> None:
        """Back from Ctrl-Z, after which the shell has set the terminal its own way."""
        if sys.platform != "win32":
            tty.setcbreak(self.file)
