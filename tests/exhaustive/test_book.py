"""The built book in a browser: every page on a phone, in light and dark, without errors and other hosts, and the search."""

import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from tests.course.test_class_page import browser, needs_chromium  # browser is a fixture
from tests.test_docs import DOCS, PAGES, ROOT, page_name, redirects

PHONE = 390
"""The width of a phone in pixels."""

NAMES = [*(page_name(page) for page in PAGES if page.parent.name != "slides"), "genindex", "py-modindex", "search"]
"""The pages of the built book; the last three have no source."""

CONTRAST = """() => {
  const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true})
  const seen = new Map()
  const rgba = color => {
    if (!seen.has(color)) {
      brush.clearRect(0, 0, 1, 1)
      brush.fillStyle = color
      brush.fillRect(0, 0, 1, 1)
      seen.set(color, [...brush.getImageData(0, 0, 1, 1).data])
    }
    return seen.get(color)
  }
  const over = (front, back) => [0, 1, 2].map(i => (front[i] * front[3] + back[i] * (255 - front[3])) / 255)
  const behind = element => element ? over(rgba(getComputedStyle(element).backgroundColor), behind(element.parentElement)) : [255, 255, 255]
  const linear = value => value <= 10.3 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4
  const luminance = color => 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
  const low = []
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement
    const text = texts.currentNode.data.trim()
    if (!text || !element.getClientRects().length) continue
    const svg = element.closest("svg")
    const back = behind(svg ? svg.parentElement : element)
    const front = over(rgba(getComputedStyle(element)[svg ? "fill" : "color"]), back)
    const [light, dark] = [luminance(front), luminance(back)].sort((a, b) => b - a)
    const contrast = (light + 0.05) / (dark + 0.05)
    if (contrast < 4.5) low.push(`${contrast.toFixed(1)}: ${text.slice(0, 40)}`)
  }
  return low
}"""
"""The visible texts of a page whose contrast with what is behind them is below 4.5, WCAG's limit for body text (level AA)."""

WIDE = """width => [...document.querySelectorAll("body *")]
  .filter(element => element.getBoundingClientRect().right > width + 1)
  .map(element => `${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 40)}`)"""
"""The elements that extend beyond a width."""

CUT = """() => [...document.querySelectorAll("main figure svg text")].filter(text => {
  const [inner, outer] = [text.getBoundingClientRect(), text.closest("svg").getBoundingClientRect()]
  return text.textContent.trim() && (inner.left < outer.left - 1 || inner.right > outer.right + 1
    || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1)
}).map(text => text.textContent)"""
"""The texts that extend beyond their figure, whose edge cuts them."""

UNNAMED = """() => [...document.querySelectorAll("main svg, main img")]
  .filter(image => image.closest("figure")
    ? !image.closest("figure").querySelector("figcaption")?.textContent.trim()
    : !image.getAttribute("alt") && !image.getAttribute("aria-label") && !image.closest("a, button, summary"))
  .map(image => image.outerHTML.slice(0, 80))"""
"""The images without a text alternative: a figure needs a caption; icons of links and buttons have the text of these."""

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the built book: that of `make docs` if it is newer than all its sources, else one built here, once for all processes."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with FileLock(shared / "book.lock"):
        if not (shared / "book" / "objects.inv").is_file():
            shutil.rmtree(shared / "book", ignore_errors=True)
            if _up_to_date():
                shutil.copytree(DOCS / "_build" / "html", shared / "book")
        if not (shared / "book" / "objects.inv").is_file():
            build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(shared / "book")]
            built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=1500)
            assert built.returncode == 0, built.stderr
    return shared / "book"


def _up_to_date() -> bool:
    """Whether docs/_build/html is complete, which its last file shows, and was built after the last change of a source."""
    last = DOCS / "_build" / "html" / "objects.inv"
    sources = [*PAGES, DOCS / "conf.py", ROOT / "course" / "tasks.toml"]
    sources += [file for folder in ("_ext", "_static", "_templates") for file in (DOCS / folder).iterdir() if file.is_file()]
    return last.is_file() and last.stat().st_mtime > max(file.stat().st_mtime for file in sources)


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A page of a browser as wide as a phone that notes errors and requests to hosts."""
    page = browser.new_page(viewport={"width": PHONE, "height": 800})
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda message: page.troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: page.troubles.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    yield page
    page.close()


def test_the_pages_that_are_built_are_the_pages_that_these_tests_open(book: Path) -> None:
    built = {page.relative_to(book).with_suffix("").as_posix() for page in book.rglob("*.html") if "_static" not in page.parts}
    assert built == {*NAMES, *redirects()}


@pytest.mark.parametrize(("old", "new"), redirects().items())
def test_an_old_address_leads_to_the_same_part_of_the_page_that_replaces_it(book: Path, phone: Any, old: str, new: str) -> None:
    phone.goto((book / f"{old}.html").as_uri() + "#check-yourself")
    phone.wait_for_url(((book / old).parent / new).as_uri() + "#check-yourself")
    assert phone.locator("#check-yourself").count() == 1
    assert phone.troubles == []


def test_the_reference_shows_an_example_as_the_docstring_has_it(book: Path) -> None:
    text = html.unescape(re.sub("<[^>]+>", "", (book / "api" / "stage7.html").read_text(encoding="utf-8")))
    assert ">>> minitorch.autograd.checkpoint(lambda x: x * x, x).backward()\n>>> x.grad\ntensor(6.)\n" in text


@pytest.mark.parametrize("page", NAMES)
def test_a_page_fits_a_phone_is_readable_in_light_and_dark_and_loads_nothing_from_a_host(book: Path, phone: Any, page: str) -> None:
    phone.goto((book / f"{page}.html").as_uri())
    phone.evaluate("document.querySelectorAll('main details').forEach(folded => { folded.open = true })")
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE, phone.evaluate(WIDE, PHONE)
    for theme in ("light", "dark"):
        phone.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert phone.evaluate(CONTRAST) == [], theme
    assert phone.evaluate(CUT) == [], "a text of a figure is cut"
    assert phone.evaluate(UNNAMED) == [], "an image without a text alternative"
    assert phone.troubles == []


def test_the_search_finds_a_word_without_a_server(book: Path, phone: Any) -> None:
    phone.goto((book / "search.html").as_uri() + "?q=broadcasting")
    phone.locator("#search-results a", has_text="Broadcasting").first.wait_for()
    links = phone.locator("#search-results a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert any(link.startswith("module2/broadcasting.html") for link in links)
    assert phone.troubles == []


def move(slider: Any, key: str, times: int = 1) -> None:
    """Move a slider as a reader without a mouse does."""
    slider.focus()
    for _ in range(times):
        slider.press(key)


def test_gradient_descent_takes_the_steps_of_the_chapter_with_the_rate_of_the_slider(book: Path, phone: Any) -> None:
    phone.goto((book / "primer/machine_learning.html").as_uri())
    figure = phone.locator("#interactive-descent")
    slider, state = figure.get_by_label("Learning rate"), figure.locator("[data-part=state]")
    before = figure.locator("[data-part=state]").inner_text()
    assert before.startswith("After 0 steps: w = 0.00, loss 4.00, derivative −4.00. The next step leads to w = 1.60.")
    move(slider, "ArrowRight", 14)
    assert "The next step leads to w = 4.40." in state.inner_text()
    for weight in ("4.40", "−0.88", "5.46"):  # the table of the chapter: rate 1.1
        phone.get_by_role("button", name="Step").press("Enter")
        assert f"w = {weight}, loss" in state.inner_text()
    assert figure.locator("circle").count() == 4
    for _ in range(3):
        phone.get_by_role("button", name="Step").press("Enter")
    assert "outside the figure" in state.inner_text()
    phone.get_by_role("button", name="Start over").press("Enter")
    move(slider, "ArrowLeft", 21)
    phone.get_by_role("button", name="Step").press("Enter")
    assert state.inner_text().startswith("After 1 step: w = 0.20")  # the same table: rate 0.05
    assert figure.locator("circle").count() == 2
    assert phone.troubles == []


def test_a_fit_shows_the_loss_and_the_mistakes_of_both_parameters(book: Path, phone: Any) -> None:
    phone.goto((book / "primer/machine_learning.html").as_uri())
    figure = phone.locator("#interactive-fit")
    state = figure.locator("[data-part=state]")
    assert state.inner_text() == "w = 0.50, b = 0.00: the mean cross-entropy is 0.791, and 3 of 6 predictions are wrong."  # by NumPy
    move(figure.get_by_label("Weight"), "ArrowRight", 5)
    move(figure.get_by_label("Bias"), "ArrowLeft", 35)
    assert state.inner_text() == "w = 1.00, b = −3.50: the mean cross-entropy is 0.418, and 2 of 6 predictions are wrong."
    assert figure.locator("circle.marked").count() == 2
    move(figure.get_by_label("Bias"), "ArrowRight", 6)
    assert state.inner_text().endswith("and 1 of 6 predictions is wrong.")
    assert phone.troubles == []


def test_views_visit_the_storage_in_the_order_of_the_slider(book: Path, phone: Any) -> None:
    phone.goto((book / "module2/strides.html").as_uri())
    figure = phone.locator("#interactive-views")
    slider, chosen, state = figure.get_by_label("Element"), figure.get_by_label("View"), figure.locator("[data-part=state]")
    table = np.arange(12).reshape(3, 4)
    names = {
        "t": table,
        "t.permute(1, 0)": table.T,
        "t[1:, ::2]": table[1:, ::2],
        "t[:, 1]": table[:, 1],
        "t[0].expand(3, 4)": np.tile(table[0], (3, 1)),
    }
    assert chosen.locator("option").all_inner_texts() == list(names)
    for name, view in names.items():
        chosen.select_option(name)
        order = [str(number) for number in view.ravel()]
        assert figure.locator("[data-part=grid] text").all_text_contents() == order
        visited = []
        for ordinal in range(view.size):
            visited.append(figure.locator("[data-part=cells] rect.marked + text").text_content())
            assert state.inner_text().startswith(f"Element {ordinal} in reading order")
            assert state.inner_text().endswith(f"= {order[ordinal]} in the storage.")
            assert figure.locator("[data-part=cells] .graph-note").count() == ordinal + 1
            move(slider, "ArrowRight")
        assert visited == order
        assert figure.locator("[data-part=cells] rect[stroke-dasharray]").count() == 12 - len(set(order))
    assert phone.troubles == []
