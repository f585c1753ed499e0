"""What the server of the app uses, sessions without a browser, and the speed of programs; for `benchmarks.app`."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from benchmarks.app_browser import ROOT, Server


class MeasuredServer(Server):
    """The app, and what it uses.

    Attributes:
        process: Its process, which counts memory, threads, files and children.
    """

    def __init__(self, *options: str) -> None:
        super().__init__(*options)
        self.process = psutil.Process(self.pid)

    def used(self) -> dict[str, int]:
        """Return the numbers of processes, threads and open files."""
        return {
            "processes": 1 + len(self.process.children(recursive=True)),
            "threads": self.process.num_threads(),
            "files": getattr(self.process, "num_fds", getattr(self.process, "num_handles", int))(),  # the second on Windows,
        }


class Session:
    """A session without a browser: it opens a page, presses buttons, and asks for updates as the browser would.

    Args:
        server: The server.
        page: The name of a page.
        query: The query string.
    """

    def __init__(self, server: Server, page: str, query: str = "") -> None:
        address = f"ws{server.address.removeprefix('http')}/_stcore/stream"
        self._socket: Any = connect(address, subprotocols=[Subprotocol("streamlit")], max_size=None, compression=None)
        self._page, self._query, self._hash = page, query, ""
        self._buttons: dict[str, str] = {}
        self._updates: tuple[str, float] | None = None  # the fragment that updates itself, and its interval in seconds
        self._answered, self._closed = threading.Event(), threading.Event()
        for work in (self._listen, self._ask_for_updates):
            threading.Thread(target=work, daemon=True).start()

    def open(self, patience: float = 60.0) -> float:
        """Run the page, and return the seconds until it is complete."""
        return self._run(patience)

    def press(self, label: str, patience: float = 60.0) -> float:
        """Press a button, and return the seconds until the page is complete."""
        return self._run(patience, self._buttons[label])

    def close(self) -> None:
        """Close the connection, as closing a tab does."""
        self._closed.set()
        self._socket.close()

    def _run(self, patience: float, button: str = "") -> float:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self._query, self._hash
        if not self._hash:
            state.page_name = self._page
        if button:
            pressed = state.widget_states.widgets.add()
            pressed.id, pressed.trigger_value = button, True
        self._updates = None
        self._answered.clear()
        begun = time.perf_counter()
        self._socket.send(message.SerializeToString())
        if not self._answered.wait(patience):
            raise RuntimeError(f"the page {self._page} did not answer within {patience:g} s")
        return time.perf_counter() - begun

    def _listen(self) -> None:
        """Note the buttons, the fragment that updates itself, and the end of runs of the whole page."""
        with suppress(ConnectionClosed):
            for data in self._socket:
                message = ForwardMsg.FromString(data)
                kind = message.WhichOneof("type")
                if kind == "navigation":
                    self._hash = message.navigation.page_script_hash
                elif kind == "auto_rerun" and message.auto_rerun.interval < 1:  # the others look for saved files
                    self._updates = message.auto_rerun.fragment_id, message.auto_rerun.interval
                elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
                    self._buttons[message.delta.new_element.button.label] = message.delta.new_element.button.id
                elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    self._answered.set()

    def _ask_for_updates(self) -> None:
        """Run the fragment again and again."""
        with suppress(ConnectionClosed):
            while not self._closed.wait(self._updates[1] if self._updates else 0.1):
                if self._updates:
                    message = BackMsg()
                    state = message.rerun_script
                    state.query_string, state.page_script_hash = self._query, self._hash
                    state.fragment_id, state.is_auto_rerun = self._updates[0], True
                    self._socket.send(message.SerializeToString())


def program_speed(program: str, arguments: list[str], seconds: float) -> float:
    """Return the epochs per second of a training program on the command line, without its start."""
    command = [sys.executable, str(ROOT / "project" / f"{program}.py"), "--epochs", "1000000", "--log-every", "1", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    times: list[float] = []
    try:
        for line in process.stdout:
            if re.match(r"epoch +\d+/", line):
                times.append(time.perf_counter())
                if times[-1] > times[0] + seconds:
                    return (len(times) - 1) / (times[-1] - times[0])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    raise RuntimeError(f"{program}.py ended after {len(times)} epochs; run it by itself to see why")
