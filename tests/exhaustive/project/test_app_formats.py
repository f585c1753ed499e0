"""The page on number formats: flipping bits, changing the format, typing numbers, and its messages."""

import pytest

from tests.project import browser
from tests.project.pages import ignore_saved_files, open_page, page_text

page, start_server = browser.page, browser.start_server  # fixtures


@pytest.mark.skipif(browser.CHROMIUM is None, reason="no chromium on the path; apt install chromium")
def test_bits_are_flipped_with_the_mouse_and_with_the_keyboard_on_a_phone(start_server, page):
    address, log = start_server()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/m7_formats?formats_bits=0x3c00&formats_terms=20")
    bits = page.get_by_role("switch")
    bits.nth(0).click()
    page.get_by_text("= (-1)^1 · 2^(15 - 15) · 1.0000000000 in binary").wait_for()
    for key in ["End", "ArrowRight", "ArrowLeft", "Space"]:
        page.keyboard.press(key)
    page.get_by_text("= (-1)^1 · 2^(15 - 15) · 1.0000000010 in binary").wait_for()
    assert page.get_by_role("switch", name="fraction bit 1, 2^-9").get_attribute("aria-checked") == "true"
    page.keyboard.press("Enter")  # the cell has kept the focus
    page.get_by_text("= (-1)^1 · 2^(15 - 15) · 1.0000000000 in binary").wait_for()
    page.locator(".st-key-formats_dtype").get_by_text("float64").click()
    page.get_by_text("= (-1)^1 · 2^(1023 - 1023)").wait_for()
    assert bits.count() == 64
    assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
