"""Detect saved files: through the operating system if watchfiles is installed, else by polling."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from course.runner.dependencies import watched_files

POLL = 0.25
"""Seconds between polls without watchfiles."""

LOOK_ANYWAY = 2.0
"""Seconds between polls with watchfiles, because some network drives report no changes."""


class Changes:
    """Tells whether a file was saved since the last call.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.told = threading.Event()
        self.over = threading.Event()
        self.seen = self._look()
        self.looked = time.monotonic()
        self.pause = POLL
        try:
            import watchfiles  # noqa: F401  # without it changes are noticed a little later
        except ImportError:
            return
        self.pause = LOOK_ANYWAY
        threading.Thread(target=self._listen, daemon=True).start()

    def happened(self) -> bool:
        """Whether a file may have changed; the caller has to compare contents."""
        if self.told.is_set():
            self.told.clear()
            return True
        if time.monotonic() - self.looked < self.pause:
            return False
        before, self.seen = self.seen, self._look()
        self.looked = time.monotonic()
        return self.seen != before

    def close(self) -> None:
        """Stop listening."""
        self.over.set()

    def _listen(self) -> None:
        import watchfiles

        folders = [self.root / name for name in ("minitorch", "project", "tests", "course") if (self.root / name).is_dir()]
        try:
            for _ in watchfiles.watch(*folders, step=20, debounce=200, stop_event=self.over, raise_interrupt=False):
                self.told.set()
        except (OSError, RuntimeError):  # such as too many watched files on this machine
            self.pause = POLL

    def _look(self) -> dict[Path, tuple[int, int]]:
        """The modification time and size of each file."""
        found = {}
        for path in watched_files(self.root):
            try:
                stat = path.stat()
            except OSError:  # an editor is replacing it at this moment
                continue
            found[path] = stat.st_mtime_ns, stat.st_size
        return found
