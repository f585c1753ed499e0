"""Slides: the decks of the modules, what their blocks may contain, and the command."""

import pytest

from course.staff.slides.deck import read_deck, write_deck
from tests.course.test_class_page import browser, needs_chromium, open_page  # browser is a fixture
from tests.course.test_slides import DECKS


@needs_chromium
@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_keys_move_through_the_slides_each_fits_the_screen_and_notes_are_shown_on_demand(browser, path, tmp_path):
    page, troubles = open_page(browser, write_deck(path, tmp_path))
    page.set_viewport_size({"width": 1280, "height": 720})
    count = len(read_deck(path))
    for number in range(1, count + 1):
        assert page.locator(".slide:visible .number").inner_text() == f"{number} / {count}"
        assert page.evaluate("document.documentElement.scrollHeight <= 720 && document.documentElement.scrollWidth <= 1280"), number
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    assert page.url.endswith("#1")
    assert not page.locator(".slide:visible .notes").is_visible()
    page.keyboard.press("n")
    assert page.locator(".slide:visible .notes").is_visible()
    page.get_by_role("button", name="Next slide").click()
    assert page.locator(".slide:visible .number").inner_text().startswith("2 /")
    page.emulate_media(media="print")
    assert page.locator(".slide:visible").count() == count
    assert troubles == []
    page.close()
