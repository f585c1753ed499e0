"""The app measured in a browser: how fast pages appear and training runs in them, and what a server with many sessions leaves behind.

python -m benchmarks.app --minutes 20
python -m benchmarks.app --only switch
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlparse

import psutil

from benchmarks.app_browser import CHROMIUM, COUNT_FRAMES, NOTE_HEADING, WATCH_DRAG, browser
from benchmarks.app_server import MeasuredServer as Server
from benchmarks.app_server import Session, program_speed
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Demand, print_row, print_verdicts, processor_and_cores, progress
from project.lab import registry

PATIENCE = 60_000
"""Milliseconds that the browser waits for something to appear."""

WIDE = {"width": 1280, "height": 900}
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}

FIGURES = {
    "m0_manual": ".plane",
    "m1_derivative": ".plots",
    "m4_convolution": ".picture",
    "m6_attention": ".heads",
    "m6_machines": ".ring",
}
"""The figures that react to the pointer, by their pages; each should be seen whole without scrolling."""

PLAYED = ("m3_tiling", "m3_kernels", "m4_convolution", "m4_pooling", "m6_machines")
"""Pages with a Play button."""

TRAINED = {
    "scalar": ("run_scalar", "m1_training", 50),
    "tensor": ("run_tensor", "m2_training", 50),
    "tensor-500": ("run_tensor", "m2_training", 500),
    "fast": ("run_fast_tensor", "m3_training", 50),
}
"""For each row on training: the program, its page and the number of points."""


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        measure: Returns one value, or one for each repetition.
        goal: The goal.
        unit: Its unit, such as "s".
        at_least: Whether the value must reach the goal instead of staying below it.
    """

    measure: Callable[[App], list[float]]
    goal: float
    unit: str
    at_least: bool = False

    def demand(self, values: list[float]) -> Demand:
        """Compare the median with the goal."""
        value = median(values)
        reached = value >= self.goal if self.at_least else value <= self.goal
        spread = f" ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else ""
        asked = f"at {'least' if self.at_least else 'most'} {self.goal:g} {self.unit}".rstrip()
        return Demand(asked, f"{value:.3g}{spread}", REACHED if reached else MISSED)


class App:
    """The server and the browser of all rows.

    Args:
        server: The server.
        chromium: The browser.
        options: The command line.
    """

    def __init__(self, server: Server, chromium: Any, options: argparse.Namespace) -> None:
        self.server, self.chromium, self.options = server, chromium, options

    def page(self, size: dict[str, int] = WIDE) -> Any:
        """Return a page with a new profile."""
        page = self.chromium.new_context(viewport=size).new_page()
        page.set_default_timeout(PATIENCE)
        return page

    def training(self, name: str) -> Any:
        """Return a page on which a network trains."""
        _, view, points = TRAINED[name]
        page = self.page()
        page.goto(f"{self.server.address}/{view}?dataset=Xor&epochs=10000&points={points}")
        page.locator(".st-key-boundary_chart canvas").wait_for()
        click(page, "start")
        while epoch(page) == 0:
            page.wait_for_timeout(50)
        page.evaluate(COUNT_FRAMES)
        page.wait_for_timeout(1000)
        return page


def click(page: Any, key: str) -> None:
    """Click a button."""
    page.locator(f".st-key-{key} button:visible").first.click()


def epoch(page: Any) -> int:
    """Return the epoch on a page."""
    return int(page.get_by_test_id("stMetricValue").first.inner_text().split("/")[0])


def heading(page: Any, row: registry.View) -> None:
    """Wait for the heading of a page."""
    page.get_by_role("heading", name=row.title, exact=True).first.wait_for()


# The rows


def paint(context: Any, server: Server) -> float:
    """Return the seconds until a page appears in a new tab."""
    page, row = context.new_page(), registry.view("m0_operators")
    page.add_init_script(f"const title = {json.dumps(row.title)}; {NOTE_HEADING}")
    begun = time.time()
    page.goto(f"{server.address}/{row.name}", wait_until="commit")
    page.wait_for_function("window.appeared")
    seconds = page.evaluate("window.appeared") / 1000 - begun
    page.close()
    return seconds


def paint_cold(app: App) -> list[float]:
    """The first page of a server that has just started, in a browser that was never there."""
    server, context = Server(), app.chromium.new_context(viewport=WIDE)
    try:
        return [paint(context, server)]
    finally:
        context.close()
        server.stop()


def paint_warm(app: App) -> list[float]:
    """A page in a new tab of a browser that has shown it before."""
    context = app.chromium.new_context(viewport=WIDE)
    paint(context, app.server)
    seconds = [paint(context, app.server) for _ in range(app.options.repeats)]
    context.close()
    return seconds


def switch(app: App) -> list[float]:
    """From a click in the menu to the heading of the page, for pages that were shown before."""
    page, seconds = app.page(), []
    page.goto(f"{app.server.address}/m0_operators")
    views = [registry.view(name) for name in ("m0_manual", "m1_derivative", "m4_softmax")]
    for turn in range(app.options.repeats + 1):
        for row in views:
            page.wait_for_timeout(500)
            begun = time.perf_counter()
            page.get_by_role("link", name=row.title, exact=True).first.click()
            heading(page, row)
            if turn:
                seconds.append(time.perf_counter() - begun)
    page.context.close()
    return seconds


def frames(name: str) -> Callable[[App], list[float]]:
    """How often the decision boundary moves."""

    def measure(app: App) -> list[float]:
        page, found = app.training(name), []
        for _ in range(app.options.repeats):
            before, begun = page.evaluate("frames_drawn"), time.perf_counter()
            page.wait_for_timeout(2000)
            found.append((page.evaluate("frames_drawn") - before) / (time.perf_counter() - begun))
        page.context.close()
        return found

    return measure


def share(name: str) -> Callable[[App], list[float]]:
    """The epochs per second on the page, divided by those of the program before and after, while the page is paused."""

    def measure(app: App) -> list[float]:
        program, _, points = TRAINED[name]
        arguments = ["--dataset", "Xor", "--points", str(points)]
        page, found = app.training(name), []
        click(page, "pause")
        page.locator(".st-key-pause button[disabled]").wait_for()
        before = program_speed(program, arguments, app.options.seconds / 2)
        for _ in range(app.options.repeats):
            click(page, "start")
            page.wait_for_timeout(1000)
            first, begun = epoch(page), time.perf_counter()
            page.wait_for_timeout(1000 * app.options.seconds)
            speed = (epoch(page) - first) / (time.perf_counter() - begun)
            click(page, "pause")
            page.locator(".st-key-pause button[disabled]").wait_for()
            if epoch(page) > 8000:
                click(page, "reset")
                page.wait_for_timeout(1000)
            after = program_speed(program, arguments, app.options.seconds / 2)
            found.append(2 * speed / (before + after))
            before = after
        page.context.close()
        return found

    return measure


def stop(name: str) -> Callable[[App], list[float]]:
    """From the click on Pause until the button says that training has stopped."""

    def measure(app: App) -> list[float]:
        page, seconds = app.training(name), []
        for _ in range(app.options.repeats):
            begun = time.perf_counter()
            click(page, "pause")
            page.locator(".st-key-pause button[disabled]").wait_for()
            seconds.append(time.perf_counter() - begun)
            click(page, "start")
            page.wait_for_timeout(1000)
        page.context.close()
        return seconds

    return measure


def drag(app: App) -> tuple[list[float], list[float]]:
    """Drag the line of the manual classifier in a circle; returns frames per second, and milliseconds until the numbers follow."""
    page, frames, latencies = app.page(LAPTOP), [], []
    page.goto(f"{app.server.address}/m0_manual")
    handle = page.get_by_label("Position of the line")
    handle.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(WATCH_DRAG, [handle.element_handle(), page.locator(".formula").element_handle()])
    box = page.locator(".plane").bounding_box()
    x, y, radius = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box["width"] / 4
    for _ in range(app.options.repeats):
        page.mouse.move(x, y)
        page.mouse.down()
        before, begun, turn = page.evaluate("frames_drawn"), time.perf_counter(), 0.0
        while time.perf_counter() < begun + 2:
            turn += 0.05
            page.mouse.move(x + radius * math.cos(turn), y + radius * math.sin(turn))
        frames.append((page.evaluate("frames_drawn") - before) / (time.perf_counter() - begun))
        latencies.append(median(page.evaluate("latencies.splice(0)")))
        page.mouse.move(x, y)  # back to the middle, through which the line then runs
        page.mouse.up()
        page.wait_for_timeout(1000)
    page.context.close()
    return frames, latencies


def ends(app: App, size: dict[str, int], things: dict[str, str]) -> list[float]:
    """How many pixels below the top of its page each of these ends; they are printed."""
    page, found = app.page(size), {}
    for name, thing in things.items():
        page.goto(f"{app.server.address}/{name}")
        page.locator(thing).first.wait_for()
        page.wait_for_timeout(2000)
        found[name] = page.locator(thing).first.evaluate("each => each.getBoundingClientRect().bottom")
    page.context.close()
    print("".join(f"    {name} {pixels:.0f}\n" for name, pixels in found.items()), end="")
    return [max(found.values())]


def back(app: App) -> list[float]:
    """From the browser's Back to the heading of the page before."""
    page, seconds = app.page(), []
    first, second = registry.view("m0_operators"), registry.view("m1_derivative")
    page.goto(f"{app.server.address}/{first.name}")
    heading(page, first)
    for _ in range(app.options.repeats):
        page.get_by_role("link", name=second.title, exact=True).first.click()
        heading(page, second)
        page.wait_for_timeout(1000)
        begun = time.perf_counter()
        page.go_back(wait_until="commit")
        heading(page, first)
        seconds.append(time.perf_counter() - begun)
        page.wait_for_timeout(500)
    page.context.close()
    return seconds


def memory(app: App) -> list[float]:
    """How many MB the server grows in `--minutes` of training, after one minute."""
    page = app.training("tensor")
    end = time.monotonic() + 60 * app.options.minutes
    counted_from = time.monotonic() + min(60.0, 15 * app.options.minutes)
    first = None
    while time.monotonic() < end:
        page.wait_for_timeout(1000)
        if first is None and time.monotonic() > counted_from:
            first = app.server.process.memory_info().rss
        if page.locator(".st-key-pause button[disabled]").count():  # all epochs are done
            click(page, "reset")
            page.wait_for_timeout(1000)
            click(page, "start")
    growth = app.server.process.memory_info().rss - (first or 0)
    page.context.close()
    return [growth / 2**20]


def every_page(app: App) -> tuple[list[str], list[str]]:
    """Open every page; returns the requests to other hosts, and the errors in the browser's console."""
    page, others, errors = app.page(), [], []
    own = urlparse(app.server.address).hostname
    page.on("request", lambda request: others.append(request.url) if urlparse(request.url).hostname not in (own, None) else None)
    page.on("console", lambda message: errors.append(f"{page.url}: {message.text}") if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
    page.goto(app.server.address)
    for row in registry.present()[1:]:
        page.get_by_role("link", name=row.title, exact=True).first.click()
        heading(page, row)
        page.wait_for_timeout(1500)
    page.context.close()
    return others, errors


def hosts(app: App) -> list[float]:
    """How many requests go to other hosts."""
    others, _ = every_page(app)
    print("".join(f"    {url}\n" for url in others), end="")
    return [len(others)]


def errors(app: App) -> list[float]:
    """How many errors the console shows."""
    _, found = every_page(app)
    print("".join(f"    {error}\n" for error in found), end="")
    return [len(found)]


def train_together(server: Server, number: int) -> list[Session]:
    """Return sessions that all train."""
    sessions = [Session(server, "m1_training", "training_part=Tensors") for _ in range(number)]
    for session in sessions:
        session.open()
    for session in sessions:
        session.press("Start")
    return sessions


def sessions_answer(app: App) -> list[float]:
    """How long a page takes while `--sessions` others train."""
    server = Server()
    try:
        sessions = train_together(server, app.options.sessions)
        sessions.append(Session(server, "m0_operators"))
        sessions[-1].open()
        seconds = [sessions[-1].open() for _ in range(app.options.repeats)]
        for session in sessions:
            session.close()
        return seconds
    finally:
        server.stop()


def sessions_left(app: App) -> list[float]:
    """How many processes, threads and open files are left 10 s after `--sessions` tabs were closed.

    Streamlit keeps a session, with three open files, for two minutes in case its tab comes back. Here it keeps them for 5 s.
    """
    server = Server("--server.disconnectedSessionTTL", "5")

    def used_after(number: int) -> dict[str, int]:
        for session in train_together(server, number):
            session.close()
        time.sleep(10)
        visitor = Session(server, "m0_operators")
        visitor.open()
        visitor.close()  # when a session ends, Streamlit removes those that ended long ago
        time.sleep(1)
        return server.used()

    try:
        before, after = used_after(1), used_after(app.options.sessions)
        left = {name: count - before[name] for name, count in after.items()}
        print("    " + ", ".join(f"{count:+d} {name}" for name, count in left.items()))
        return [sum(max(0, count) for count in left.values())]
    finally:
        server.stop()


ROWS = {
    "paint-cold": Row(paint_cold, 3, "s"),
    "paint-warm": Row(paint_warm, 1, "s"),
    "switch": Row(switch, 0.4, "s"),
    "frames-scalar": Row(frames("scalar"), 10, "/s", at_least=True),
    "frames-tensor": Row(frames("tensor"), 15, "/s", at_least=True),
    "stop-scalar": Row(stop("scalar"), 0.5, "s"),
    "stop-tensor": Row(stop("tensor"), 0.5, "s"),
    "stop-tensor-500": Row(stop("tensor-500"), 0.5, "s"),
    "share-scalar": Row(share("scalar"), 0.8, "of the program's speed", at_least=True),
    "share-tensor": Row(share("tensor"), 0.8, "of the program's speed", at_least=True),
    "share-tensor-500": Row(share("tensor-500"), 0.8, "of the program's speed", at_least=True),
    "share-fast": Row(share("fast"), 0.8, "of the program's speed", at_least=True),
    "drag-frames": Row(lambda app: drag(app)[0], 30, "/s", at_least=True),
    "drag-latency": Row(lambda app: drag(app)[1], 50, "ms"),
    "one-screen": Row(lambda app: ends(app, LAPTOP, FIGURES), LAPTOP["height"], "px"),
    "phone-play": Row(lambda app: ends(app, PHONE, dict.fromkeys(PLAYED, ".st-key-play button")), PHONE["height"], "px"),
    "back": Row(back, 0.5, "s"),
    "memory": Row(memory, 20, "MB"),
    "hosts": Row(hosts, 0, "requests"),
    "console": Row(errors, 0, "errors"),
    "sessions-answer": Row(sessions_answer, 1, "s"),
    "sessions-left": Row(sessions_left, 0, "left"),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the table; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.app", description="The app, measured in Chromium.")
    parser.add_argument("--only", default="", help=f"rows whose name contains this (all): {', '.join(ROWS)}")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each row (5)")
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds of each measurement of a speed (6)")
    parser.add_argument("--minutes", type=float, default=2.0, help="minutes of training for the row on memory (2)")
    parser.add_argument("--sessions", type=int, default=20, help="sessions that train at once (20)")
    options = parser.parse_args(arguments)
    if min(options.repeats, options.sessions) < 1 or min(options.seconds, options.minutes) <= 0:
        parser.error("--repeats and --sessions expected at least 1, --seconds and --minutes more than 0")
    chosen = {name: row for name, row in ROWS.items() if options.only in name}
    if not chosen:
        parser.error(f"--only expected part of one of {', '.join(ROWS)}; got {options.only!r}")
    if CHROMIUM is None:
        print("The app was not measured: no Chromium on the path; apt install chromium")
        return 0
    machine, cores = processor_and_cores()
    busy = psutil.cpu_percent(2.0)  # a browser and a server need a core each: their speeds say little about the app on a busy machine
    print(f"{date.today()}, {machine}, {cores} cores, {busy:.0f} % busy with other programs, Python {platform.python_version()}")
    print(f"python -m benchmarks.app {' '.join(sys.argv[1:] if arguments is None else arguments)}".rstrip() + "\n")
    verdicts: Counter[str] = Counter()
    server = Server()
    try:
        with browser() as chromium:
            app = App(server, chromium, options)
            for name, row in chosen.items():
                progress(f"measuring {name} …")
                try:
                    demand = row.demand(row.measure(app))
                except Exception as error:  # one row must not cost the others
                    demand = Demand("", f"{type(error).__name__}: {str(error).splitlines()[0]}", NOT_RUN)
                verdicts[demand.verdict] += 1
                print_row(name, [demand])
                sys.stdout.flush()
    finally:
        server.stop()
    print_verdicts(verdicts)
    return 1 if verdicts[MISSED] else 0


if __name__ == "__main__":
    sys.exit(main())
