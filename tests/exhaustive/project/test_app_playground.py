"""The page of the playground: settings, training, the board's events, a race, points of one's own, and the page in Chromium."""

import re

import pytest

from tests.project.browser import CHROMIUM, button, start_server, wait_until
from tests.project.browser import epoch as epoch_of
from tests.project.browser import page as browser_page


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path; apt install chromium")
def test_the_playground_in_a_browser(start_server, browser_page, tmp_path):
    page = browser_page
    address, log = start_server()
    page.goto(f"{address}/playground?pg_network=fast&pg_dataset=Circle&pg_layers=4,2")
    canvas = page.locator("canvas").first
    canvas.wait_for()
    caption = page.get_by_test_id("stCaptionContainer").first
    page.wait_for_timeout(1000)

    def says(text):
        wait_until(page, lambda: text in caption.inner_text())

    says("100 points")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    side = min(420, max(260, box["width"] * 0.36))
    middle = {"x": box["width"] - 10 - side / 2, "y": 34 + side / 2}
    canvas.click(position=middle)
    says("101 points")
    page.wait_for_timeout(500)
    canvas.click(position=middle)
    says("100 points")
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    says("101 points")

    page.get_by_role("button", name="Add a unit to hidden layer 2").click()
    says("hidden layers of 4 and 3 units")
    assert "pg_layers=4%2C3" in page.url
    page.wait_for_timeout(500)
    row = min(90, max(56, (side + 130) / 4))  # four units are the most in a column
    start = {"x": 6 + 44 + 30, "y": 34 + row + 22}  # near the first unit of the inputs, where its lines begin
    canvas.click(position=start)
    page.locator("input.edit").fill("2.5")
    page.keyboard.press("Enter")
    page.wait_for_timeout(1000)
    canvas.hover(position={"x": start["x"], "y": start["y"] + 1})
    canvas.hover(position=start)
    wait_until(page, lambda: re.fullmatch(r"Weight from x₁ to unit \d of hidden layer 1: 2\.500", page.locator(".tip").inner_text()))

    button(page, "pg_start").click()
    wait_until(page, lambda: epoch_of(page) >= 5)
    button(page, "pg_pause").click()
    page.locator(".st-key-pg_pause button[disabled]").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save PNG").click()
    download.value.save_as(tmp_path / "board.png")
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.errors == []
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
