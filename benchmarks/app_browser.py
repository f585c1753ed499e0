"""The app, served in its own process, and Chromium to open it in; for `benchmarks.app` and for the tests in a browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


COUNT_FRAMES = """() => {
    window.frames_drawn = 0;
    const small = document.createElement('canvas'), pen = small.getContext('2d', {willReadFrequently: true});
    small.width = small.height = 40;
    let last = '';
    const look = () => {
        pen.clearRect(0, 0, 40, 40);
        pen.drawImage(document.querySelector('.st-key-boundary_chart canvas'), 0, 0, 40, 40);
        const now = pen.getImageData(0, 0, 40, 40).data.join();
        if (now !== last) { last = now; window.frames_drawn++; }
        requestAnimationFrame(look);
    };
    look();
}"""
"""Counts the different pictures of a decision boundary, 40 pixels wide, that the browser shows."""

WATCH_DRAG = """([handle, text]) => {
    Object.assign(window, {frames_drawn: 0, latencies: []});
    let moved = 0, last = text.textContent;
    handle.addEventListener('pointermove', event => { moved = moved || event.timeStamp; });
    new MutationObserver(() => {
        if (moved) window.latencies.push(performance.now() - moved);
        moved = 0;
    }).observe(text, {childList: true, characterData: true, subtree: true});
    const look = () => {
        if (text.textContent !== last) { last = text.textContent; window.frames_drawn++; }
        requestAnimationFrame(look);
    };
    look();
}"""
"""Counts the frames in which a text changes while a handle is dragged, and notes the milliseconds from each move to the change."""

NOTE_HEADING = """const look = () => {
    const found = [...document.querySelectorAll('h1')].some(each => each.innerText.trim() === title && each.checkVisibility());
    if (found) window.appeared = Date.now(); else requestAnimationFrame(look);
};
look();"""
"""Notes when the heading of a page was drawn. A wait in the program that controls the browser looks only every half a second."""


class Server:
    """The app, served on a free port for a user who never ran Streamlit before.

    Args:
        options: More options of Streamlit.
        arguments: The arguments of the app.
        root: The workspace whose app is served.
        environment: Environment variables to add.

    Attributes:
        address: Its address, without a slash at the end.
        folder: A temporary folder, which is its working directory and the home of its user.
        log: The file to which it prints.
        pid: The number of its process.

    Raises:
        RuntimeError: If the app does not answer within a minute.
    """

    def __init__(
        self, *options: str, arguments: Sequence[str] = (), root: Path = ROOT, environment: Mapping[str, str] | None = None
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.folder = Path(tempfile.mkdtemp(prefix="minitorch-app-"))
        self.log = self.folder / "log"
        options = ("--server.port", str(port), "--server.headless", "true", *options)
        own = {"HOME": str(self.folder), "MINITORCH_RUNS": str(self.folder / "runs")}  # those of a new user
        own |= {"PYTHONPATH": str(root), "MINITORCH_COMPILE_IN_BACKGROUND": "0"}
        with self.log.open("w") as out:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(root / "project" / "app.py"), *options, "--", *arguments],
                cwd=self.folder,
                env={**os.environ, **own, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.address, self.pid = f"http://127.0.0.1:{port}", self._popen.pid
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        """Wait until the app answers."""
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/_stcore/health").close()
                return
            except OSError:
                if self._popen.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the app did not start; it printed:\n{self.log.read_text()}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        """End the process, and remove its folder."""
        self._popen.send_signal(signal.SIGTERM)
        try:
            self._popen.wait(10)
        except subprocess.TimeoutExpired:  # Streamlit may wait for its threads
            self._popen.kill()
            self._popen.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium with a new profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield started
        finally:
            started.close()
