"""The page "A language model" in a browser: the model that ships, a click on a token, other weights, and training on a phone."""

import pytest

from tests.project import browser
from tests.project.pages import ignore_saved_files, open_page, page_text

page, start_server = browser.page, browser.start_server  # fixtures
pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no chromium on the path; apt install chromium")


def test_a_click_on_a_token_shows_what_was_expected_there(start_server, page):
    address, log = start_server()
    page.goto(f"{address}/m6_language_model")
    page.get_by_text("The query 5 '␣a' attends").wait_for()
    browser.button(page, "forward").click()
    page.get_by_text("The query 6 ").wait_for()
    page.locator('.st-key-language_tokens [data-pick="3"]').click()
    page.get_by_text("The query 3 '␣Lily' attends").wait_for()
    page.locator('.st-key-language_strips [data-pick="4"]').first.click()  # a token that a head attends to
    page.get_by_text("The query 4 ").wait_for()
    page.get_by_text("int8", exact=True).click()
    page.get_by_text("The largest change is that of").wait_for()
    page.get_by_text("663,680").wait_for()
    page.get_by_text("float32 and adapters", exact=True).click()
    page.get_by_text("The adapters have learned stories in which everything is red.").wait_for()
    assert page.hosts == {"127.0.0.1"}
    assert not page.errors
    assert "Traceback" not in log.read_text()


def test_a_model_learns_to_repeat_words_on_a_phone(start_server, page):
    address, log = start_server()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/m6_language_model?language_source=train+a+small+one")
    browser.button(page, "language_start").click()
    page.get_by_text("After 1000 of 1000 steps").wait_for(timeout=10 * browser.PATIENCE)
    page.get_by_text("Most likely next: 'f' 9").wait_for()  # after "cafe cafe ca"
    browser.button(page, "forward").click()
    page.get_by_text("The query 12 'f' attends").wait_for()
    assert browser.fits(page)
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
