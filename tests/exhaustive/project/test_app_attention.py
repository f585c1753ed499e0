"""The page on attention: training, loading a checkpoint, typing a text, and generating characters one by one."""

import pytest

from tests.project import browser
from tests.project.pages import ignore_saved_files, open_page, page_text

page, start_server = browser.page, browser.start_server  # fixtures


@pytest.mark.skipif(browser.CHROMIUM is None, reason="no chromium on the path; apt install chromium")
def test_a_model_learns_to_repeat_words_on_a_phone(start_server, page):
    address, log = start_server()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/m7_attention")
    browser.button(page, "attention_start").click()
    page.get_by_text("After 300 steps, layer 2.").wait_for(timeout=10 * browser.PATIENCE)
    page.get_by_text("Most likely next: 'f' 9").wait_for()  # after "cafe cafe ca"
    page.locator(".st-key-attention_query input").fill("3")
    page.locator(".st-key-attention_query input").press("Enter")
    page.get_by_text("The query 3 'e' attends").wait_for()
    browser.button(page, "forward").click()
    page.get_by_text("cafe cafe ca▏f").wait_for()
    assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
