"""Fixtures and helpers for tests of the app in Chromium. A test file imports the fixtures by name."""

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.app_browser import CHROMIUM, ROOT, Server, browser

PATIENCE = 120_000  # milliseconds; generous for a busy machine
NEEDED = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path; apt install chromium")
"""The mark of tests in a browser."""


@pytest.fixture
def start_server():
    """Starts the app from another directory, for a user who never ran Streamlit before, and stops it afterwards."""
    with ExitStack() as running:

        def start(*arguments, root=ROOT, environment=None):
            server = Server(arguments=arguments, root=root, environment=environment)
            running.callback(server.stop)
            return server.address, server.log

        yield start


@pytest.fixture
def page():
    """A browser page with a new profile; it records every host that it contacts."""
    with browser() as chromium:
        yield new_page(chromium)


@pytest.fixture(scope="module")
def server():
    """The app, which all tests of a file share."""
    running = Server()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def chromium():
    """A browser, which all tests of a file share."""
    with browser() as running:
        yield running


@pytest.fixture
def open_page(server, chromium):
    """Opens an address of the app in a new profile; at the end, no script and no page may have failed."""
    pages, log = [], server.log.stat().st_size

    def start(address, width=1280, height=800):
        page = new_page(chromium, width, height)
        pages.append(page)
        page.goto(f"{server.address}/{address}")
        complete(page)
        return page

    yield start
    for page in pages:
        assert page.errors == []
        assert page.hosts == {"127.0.0.1"}
        page.context.close()
    assert "Traceback" not in server.log.read_text()[log:]


def new_page(chromium, width=1280, height=800, dark=False):
    """A page in a new profile; it records every host that it contacts, and every error of its scripts."""
    page = chromium.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light").new_page()
    page.set_default_timeout(PATIENCE)
    page.hosts, page.errors = set(), []
    page.on("request", lambda request: page.hosts.add(request.url.split("/")[2].split(":")[0]))
    page.on("pageerror", lambda error: page.errors.append(error))  # a built-in method cannot be registered
    return page


def button(page, key):
    return page.locator(f".st-key-{key} button:visible").first


def epoch(page):
    """The epoch on the page, which may be redrawing itself."""
    return int(page.get_by_test_id("stMetricValue").first.inner_text().split("/")[0])


def wait_until(page, condition):
    """Wait until the condition holds, for at most a minute."""
    end = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        page.wait_for_timeout(100)


def fits(page):
    """Whether nothing is wider than the page, so that it does not scroll sideways."""
    return page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth") and page.evaluate(
        "document.documentElement.scrollWidth <= window.innerWidth"
    )


LOADING = "[data-testid=stSpinner], [data-testid=stSkeleton], [data-testid=stStatusWidget], [data-stale=true]"
"""What Streamlit shows while a page, or a part of its own scripts, is loading."""


def complete(page):
    """Wait until a page is drawn: for a second, nothing is loading, and its length does not change."""
    page.get_by_test_id("stMainBlockContainer").get_by_role("heading").first.wait_for()
    page.wait_for_load_state("networkidle")
    length, since, end = -1, time.monotonic(), time.monotonic() + PATIENCE / 1000
    while time.monotonic() < since + 1:
        assert time.monotonic() < end, "the page is not complete"
        now = page.evaluate(f"document.querySelector({LOADING!r}) ? -1 : document.querySelector('.stMain').innerHTML.length")
        if now != length or now == -1:
            length, since = now, time.monotonic()
        page.wait_for_timeout(100)


def screenshot_folder(default):
    """Where screenshots are kept: MINITORCH_SCREENSHOTS, or else this folder."""
    folder = Path(os.environ.get("MINITORCH_SCREENSHOTS") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def screenshot(page, path):
    """Keep a picture of the whole page, including what one would have to scroll to."""
    size = page.viewport_size
    height = page.locator(".stMain").evaluate("main => main.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": min(max(height, size["height"]), 6000)})
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    page.set_viewport_size(size)
