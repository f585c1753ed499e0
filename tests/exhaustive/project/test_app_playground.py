"""The page of the playground: settings, training, the board's events, a race, points of one's own, and the page in Chromium."""

import base64
import re

import pytest

from project.lab.playground import share
from project.lab.playground.board import encode
from project.lab.playground.setting import ACTIVATIONS, FEATURES, PlaygroundSetting
from project.lab.playground.trainers import make_trainer
from tests.project.browser import NEEDED, button, complete, start_server, wait_until
from tests.project.browser import epoch as epoch_of
from tests.project.browser import page as browser_page

PLACE = "canvas => canvas.closest('.board').board.place"
"""Where the board has drawn what."""


@NEEDED
def test_the_playground_in_a_browser(start_server, browser_page, tmp_path):
    page = browser_page
    address, log = start_server()
    page.goto(f"{address}/playground?pg_network=fast&pg_dataset=Circle&pg_layers=3,2")
    canvas = page.locator("canvas").first
    canvas.wait_for()
    caption = page.get_by_test_id("stCaptionContainer").first
    page.wait_for_timeout(1000)

    def says(text):
        wait_until(page, lambda: text in caption.inner_text())

    says("100 points")
    canvas.scroll_into_view_if_needed()
    place = canvas.evaluate(PLACE)
    middle = {axis: place["map"][axis] + place["side"] / 2 for axis in ("x", "y")}
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
    says("hidden layers of 3 and 3 units")
    assert "pg_layers=3%2C3" in page.url
    page.wait_for_timeout(500)
    first = canvas.evaluate(PLACE)["columns"][0]
    start = {"x": first["x"] + 44 + 10, "y": first["units"][0] + 22}  # near the first unit of the inputs, where its lines begin
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


@NEEDED
def test_everything_is_on_one_screen_and_the_picture_moves_between_two_states(start_server, browser_page):
    page = browser_page
    address, _ = start_server()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/playground")
    complete(page)
    assert bottom(button(page, "pg_start")) < 200
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{address}/playground?pg_layers=8,8")
    complete(page)
    assert page.locator(".stMain").evaluate("main => main.scrollHeight - main.clientHeight") == 0
    assert all(bottom(part) <= 768 for part in (page.locator("canvas").first, button(page, "pg_start"), page.locator(".st-key-pg_rate")))
    button(page, "pg_start").click()
    page.wait_for_timeout(2000)
    counts = [page.locator("canvas").first.evaluate(COUNT_PICTURES) for _ in range(4)]
    assert max(counts) >= 20, counts  # the most in a second, because other programs may take the processor


def bottom(part):
    """The lower edge of a part of the page."""
    box = part.bounding_box()
    return box["y"] + box["height"]


COUNT_PICTURES = """canvas => new Promise(resolve => {
    const small = document.createElement('canvas'), pen = small.getContext('2d', {willReadFrequently: true});
    const end = performance.now() + 1000;
    small.width = small.height = 60;
    let last = '', found = 0;
    const look = () => {
        pen.drawImage(canvas, 0, 0, 60, 60);
        const now = pen.getImageData(0, 0, 60, 60).data.join();
        if (now !== last) { last = now; found++; }
        if (performance.now() < end) requestAnimationFrame(look); else resolve(found);
    };
    look();
})"""
"""Counts the different pictures that a canvas shows in a second."""


@NEEDED
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_html_file_evaluates_the_network_without_a_server(browser_page, tmp_path, activation):
    setting = PlaygroundSetting(activation=activation, features=",".join(FEATURES), layers="3,2", network="tensors")
    trainer = make_trainer(setting)
    trainer.run_epoch()
    path = tmp_path / "playground.html"
    path.write_text(share.page(trainer, "A network."), encoding="utf-8")
    page = browser_page
    page.goto(path.as_uri())
    canvas, losses = page.locator("canvas"), page.locator("#losses")
    shown = canvas.evaluate(SHOWN)
    for column, (mine, theirs) in enumerate(zip(shown, trainer.maps(40), strict=True)):
        for found, cells in zip(mine, theirs, strict=True):
            expected = base64.b64decode(encode(cells, column == 0 or (column < 3 and activation != "sigmoid")))
            assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 1  # half a step is rounded up or down
    train, test = (trainer.measure(trainer.points.numbers(of_test))[0] for of_test in (False, True))
    assert losses.inner_text() == f"Training loss {train:.3f}, test loss {test:.3f}."
    place = canvas.evaluate(PLACE)
    canvas.click(position={axis: place["map"][axis] + place["side"] / 2 for axis in ("x", "y")})
    assert canvas.evaluate("canvas => canvas.closest('.board').board.data.points.length") == 101
    assert losses.inner_text() != f"Training loss {train:.3f}, test loss {test:.3f}."
    page.get_by_label("Label of new points").select_option("0, a circle")
    canvas.click(position={axis: place["map"][axis] + place["side"] / 3 for axis in ("x", "y")})
    labels = canvas.evaluate("canvas => canvas.closest('.board').board.data.points.slice(100).map(([x, y, label]) => label)")
    assert labels == [1, 0]
    assert page.errors == []
    assert page.hosts == {""}  # of the file


SHOWN = """canvas => {
    const now = canvas.closest('.board').board.now;
    return [...now.maps, [now.output]].map(units => units.map(map => [...map]));
}"""
"""The heat maps of all units, cell by cell."""
