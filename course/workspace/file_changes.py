"""Detect saved files: through the operating system if watchfiles is installed, else by polling."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from course.runner.dependencies import watched_files

POLL = 0.25
"""Seconds between polls without watchfiles."""

SLOW_POLL = 2.0
"""Seconds between polls with watchfiles, because some network drives report no changes."""


class Changes:
    """Detects whether a file was saved since the last call.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notified = threading.Event()
        self.stop_event = threading.Event()
        self.seen = self._snapshot()
        self.polled_at = time.monotonic()
        self.pause = POLL
        try:
            import watchfiles  # noqa: F401  # without it, changes are detected a little later
        except ImportError:
            return
        self.pause = SLOW_POLL
        threading.Thread(target=self._watch_events, daemon=True).start()

    def happened(self) -> bool:
        """Whether a file may have changed; the caller has to compare contents."""
        if self.notified.is_set():
            self.notified.clear()
            return True
        if time.monotonic() - self.polled_at < self.pause:
            return False
        before, self.seen = self.seen, self._snapshot()
        self.polled_at = time.monotonic()
        return self.seen != before

    def close(self) -> None:
        """Stop listening."""
        self.stop_event.set()

    def _watch_events(self) -> None:
        import watchfiles

        folders = [self.root / name for name in ("minitorch", "project", "tests", "course") if (self.root / name).is_dir()]
        try:
            for _ in watchfiles.watch(*folders, step=20, debounce=200, stop_event=self.stop_event, raise_interrupt=False):
                self.notified.set()
        except (OSError, RuntimeError):  # such as too many watched files on this machine
            self.pause = POLL

    def _snapshot(self) -> dict[Path, tuple[int, int]]:
        """The modification time and size of each file."""
        found = {}
        for path in watched_files(self.root):
            try:
                stat = path.stat()
            except OSError:  # an editor is replacing it at this moment
                continue
            found[path] = stat.st_mtime_ns, stat.st_size
        return found
