"""The dimensions of a tensor as cards that are dragged: the operations that follow from an order, and the cards in a browser."""

import os

import pytest

from tests.project import browser
from tests.project.pages import ignore_saved_files

page, start_server = browser.page, browser.start_server  # fixtures


@pytest.mark.skipif(browser.CHROMIUM is None, reason="no chromium on the path; apt install chromium")
def test_dimensions_are_dragged_with_the_mouse_and_moved_with_the_keyboard(page, start_server):
    address, _ = start_server()
    page.goto(f"{address}/m2_strides?shape=2, 3, 4&steps=x")
    cards = page.locator(".cards button")
    cards.nth(2).wait_for()
    browser.complete(page)
    assert [text.split("size ")[1] for text in cards.all_inner_texts()] == ["2, stride 12", "3, stride 4", "4, stride 1"]
    last, first = cards.nth(2).bounding_box(), cards.nth(0).bounding_box()
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2)
    page.mouse.down()
    page.emulate_media(color_scheme="dark")  # the cards are drawn again: the one in the hand must stay there
    browser.complete(page)
    page.mouse.move(first["x"] + 20, first["y"] + first["height"] / 2, steps=8)
    page.mouse.up()
    operations = page.get_by_label("Operations", exact=True)
    browser.wait_until(page, lambda: operations.input_value() == "x.permute(2, 0, 1)")
    browser.wait_until(page, lambda: "size 4, stride 1" in cards.nth(0).inner_text())
    cards.nth(0).focus()
    page.keyboard.press("ArrowRight")
    browser.wait_until(page, lambda: operations.input_value() == "x.permute(0, 2, 1)")
    page.get_by_text("Tour of Module 2, 1 of 6").wait_for()
    if folder := os.environ.get("MINITORCH_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/m2_strides-dragged.png")
