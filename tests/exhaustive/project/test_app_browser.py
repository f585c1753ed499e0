"""The app in a browser: training Xor by clicking, reloading saved files, opening every page, and selecting cells of a tensor."""

import time

import pytest

from benchmarks.app_browser import COUNT_FRAMES
from tests.project import browser
from tests.project.browser import NEEDED, PATIENCE, button, epoch, wait_until
from tests.project.workspace import copy

page, start_server = browser.page, browser.start_server  # fixtures

pytestmark = NEEDED


CHART = ".st-key-boundary_chart canvas"

READ_CELLS = """canvas => {
    const small = new OffscreenCanvas(60, 60), pen = small.getContext('2d');
    pen.drawImage(canvas, 0, 0, 60, 60);
    return [...pen.getImageData(0, 0, 60, 60).data];
}"""

MEASURE_CELLS = """canvas => {
    const pen = canvas.getContext('2d'), ratio = canvas.width / canvas.clientWidth;
    const color = (x, y) => pen.getImageData(x, y, 1, 1).data.join(), paper = color(1, 1);
    const walk = (x, y, right, down) => {
        for (let n = 0; ; n++) if (color(x + n * right, y + n * down) === paper) return n / ratio;
    };
    const x = Math.round(0.55 * canvas.width), y = Math.round(0.35 * canvas.height);
    return [walk(x, y, -1, 0) + walk(x, y, 1, 0), walk(x, y, 0, -1) + walk(x, y, 0, 1)];
}"""
"""The width and the height of the heat map: from a place inside of it, to where the color of the paper begins."""


def boundary(page):
    """The pixels of the chart with the decision boundary, made smaller."""
    return page.locator(CHART).evaluate(READ_CELLS)


def test_xor_is_trained_by_clicking_and_the_boundary_moves(start_server, page):
    address, log = start_server()
    page.goto(address)
    page.get_by_role("link", name="Training").first.click()
    page.locator(".st-key-dataset input").click()
    page.get_by_role("option", name="Xor").click()
    page.get_by_text("--dataset Xor").wait_for()
    wait_until(page, lambda: epoch(page) == 0)
    page.locator(CHART).wait_for()
    page.wait_for_timeout(1000)
    before = boundary(page)

    button(page, "start").click()
    wait_until(page, lambda: epoch(page) >= 10)
    wait_until(page, lambda: boundary(page) != before)
    assert "dataset=Xor" in page.url

    button(page, "pause").click()
    page.locator(".st-key-pause button[disabled]").wait_for()
    page.wait_for_timeout(500)
    stopped = epoch(page)
    page.wait_for_timeout(1500)
    assert epoch(page) == stopped

    button(page, "reset").click()
    wait_until(page, lambda: epoch(page) == 0)
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()


def test_the_boundary_is_square_on_every_screen_and_moves_without_being_made_anew(start_server, page):
    address, log = start_server()
    for width in (390, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{address}/m2_training?dataset=Xor&epochs=10000")
        page.locator(CHART).wait_for()
        page.wait_for_timeout(1000)
        across, down = page.locator(CHART).evaluate(MEASURE_CELLS)
        assert across == pytest.approx(down, abs=3)
        assert across >= {390: 270, 1280: 240, 1920: 440}[width]
        assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    page.evaluate(COUNT_FRAMES)
    first = page.locator(CHART).element_handle()
    button(page, "start").click()
    wait_until(page, lambda: epoch(page) >= 50 and page.evaluate("window.frames_drawn") >= 10)
    assert first.evaluate("canvas => canvas.isConnected")
    begun = time.monotonic()
    button(page, "pause").click()
    page.locator(".st-key-pause button[disabled]").wait_for()
    assert time.monotonic() - begun < 5  # half a second on a machine with nothing else to do
    assert "Traceback" not in log.read_text()


def test_a_module_argument_opens_its_page_without_a_prompt_on_the_terminal(start_server, page):
    address, log = start_server("1")
    page.goto(address)
    page.get_by_role("heading", name="Derivatives").wait_for()
    assert page.url.startswith(f"{address}/m1_derivative")
    assert "email" not in log.read_text().lower()
    assert "statistics" not in log.read_text().lower()


def test_the_page_reloads_saved_files_even_after_a_syntax_error(start_server, page, tmp_path):
    root = copy(tmp_path / "workspace")
    file = root / "minitorch" / "operators.py"
    finished = file.read_text()
    file.write_text("def broken(:\n" + finished)
    address, _ = start_server(root=root)
    page.goto(f"{address}/m0_operators")
    page.get_by_text("minitorch/operators.py, line 1: invalid syntax").wait_for()
    file.write_text(finished)
    page.get_by_text("0.731059").wait_for()  # sigmoid(1)
    file.write_text(finished.replace("return 1.0 / (1.0 + math.exp(-x))", "return 0.25"))
    page.get_by_text("0.25", exact=True).first.wait_for()


def test_every_page_has_an_address_and_contacts_no_other_machine(start_server, page):
    from project.lab import registry

    address, _ = start_server()
    for row in registry.ROWS[1:]:
        page.goto(f"{address}/{row.name}")
        page.get_by_role("heading", name=registry.view(row.within or row.name).title, exact=True).wait_for()
        assert page.get_by_test_id("stException").count() == 0
    assert page.hosts == {"127.0.0.1"}


def test_the_stride_explorer_reacts_to_a_new_shape_and_a_clicked_cell(start_server, page):
    address, log = start_server()
    page.goto(f"{address}/m2_strides?shape=2, 3&steps=x.permute(1, 0)")
    page.locator('[data-pick="cell:2,1"]').click()
    page.get_by_text("= 0 + 2·1 + 1·3").wait_for()
    page.locator('[data-pick="place:5"].picked').wait_for()

    page.locator(".st-key-shape input").fill("2, 4")
    page.locator(".st-key-shape input").press("Enter")
    page.get_by_text("= 0 + 2·1 + 1·4").wait_for()
    page.locator('[data-pick="place:6"].picked').wait_for()
    assert "shape=2%2C+4" in page.url

    place = page.get_by_role("button", name="storage position 3 holds 3")
    place.hover()
    assert page.locator(".near").count() == 3  # the storage, x and the result
    place.click()
    page.get_by_text("Storage position 3 holds 3. It is read by one cell of the result, [3, 0].").wait_for()
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()


def test_the_matrix_product_plays_until_paused_and_keeps_its_settings_in_the_address(start_server, page):
    address, log = start_server()
    page.goto(f"{address}/m3_tiling?n=3&tile=2")
    button(page, "play").click()
    page.get_by_text("So far 12 of 36 global reads").wait_for()  # two of the first block's tiles of A and B: 8, then 4 reads
    button(page, "pause").click()
    page.locator(".st-key-pause button[disabled]").wait_for()
    page.locator('[data-pick="2,2"]').click()
    page.get_by_text("Block (1, 1)").wait_for()

    page.locator(".st-key-n button").first.click()  # down to 2, the least
    page.locator('[data-pick="2,2"]').wait_for(state="detached")
    wait_until(page, lambda: "n=2" in page.url)
    page.reload()
    page.get_by_text("of 8 global reads").first.wait_for()
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()


def test_a_convolution_jumps_to_a_clicked_cell_and_uses_an_edited_weight(start_server, page):
    address, log = start_server()
    page.goto(f"{address}/m4_convolution?conv_image_2=one dot")
    page.locator('[data-pick="0,1,0"]').click()
    page.get_by_text("out[0, 1, 0]: the window covers rows 1 to 3 and columns 0 to 2, 9 numbers.").wait_for()
    page.get_by_text("out[0, 1, 0] = 0 + 2 + 0 = 2").wait_for()
    page.locator(".st-key-conv_weight_2 input").fill("[[1, 2], [3, 40]]")
    page.locator(".st-key-conv_weight_2 input").press("Enter")
    page.get_by_text("out[0, 1, 0] = 0 + 0 = 0").wait_for()
    wait_until(page, lambda: "conv_weight_2=" in page.url)
    page.reload()
    page.locator('[data-pick="0,1,1"]').click()
    page.get_by_text("out[0, 1, 1] = 0 + 40 = 40").wait_for()
    page.locator('[data-tag="t0,1,1"]').first.hover()
    assert page.locator(".near").count() == 3  # the pixel, its weight, their product
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()


def test_a_digit_can_be_drawn_with_the_mouse_and_with_the_keyboard(start_server, page):
    address, log = start_server()
    page.goto(f"{address}/m4_pooling?pool_image_2=draw")
    pad = page.get_by_role("application")
    page.get_by_text("Draw a digit on the pad").wait_for()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.9 * box["height"], steps=9)
    page.mouse.up()
    column = page.get_by_label("image[4, 3] = 12, in window [2, 1]")  # a stroke down the middle: 3 of the 4 dots in each row
    column.wait_for()
    assert page.get_by_label("image[4, 0] = 0, in window [2, 0]").count() == 1

    page.get_by_role("link", name="Softmax, dropout").first.click()
    page.get_by_role("heading", name="Softmax, dropout", exact=True).wait_for()
    page.get_by_role("link", name="Convolution, pooling").first.click()
    page.get_by_role("radio", name="Pooling").click()
    page.locator(".st-key-pool_image_2 input").click()
    page.get_by_role("option", name="draw").click()
    column.wait_for()  # the drawing is kept

    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Draw a digit on the pad").wait_for()
    pad.focus()
    for key in ["Space", *["ArrowRight"] * 6, "Space"]:
        page.keyboard.press(key)
    page.get_by_label("image[4, 1] = 12, in window [2, 0]").wait_for()  # a stroke to the right
    page.keyboard.press("Backspace")
    page.get_by_text("Draw a digit on the pad").wait_for()
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()


def test_the_pages_with_pictures_fit_a_phone(start_server, page):
    address, _ = start_server()
    page.set_viewport_size({"width": 390, "height": 800})
    for name, cell in [
        ("m2_strides?shape=2, 3, 4&steps=x.permute(2, 0, 1)[::-1]", "cell:3,1,2"),
        ("m2_broadcasting?a=4,2,1&b=2,3", "b:1,2"),
        ("m3_tiling?n=16&tile=5", "7,9"),
        ("m3_grid?grid_shape=4,5&grid_threads=7", "1,5"),
        ("m3_grid?grid_kernel=matmul&grid_rows=12&grid_columns=12", "9,3"),
        ("m4_convolution?conv_image_2=a digit", "0,7,7"),
        ("m4_convolution?conv_image_2=three colors&conv_form=general", "0,2,2"),
        ("m4_pooling?pool_image_2=a digit&pool_direction=backward", "3,3"),
    ]:
        page.goto(f"{address}/{name}")
        page.locator(f'[data-pick="{cell}"]').first.click()
        page.locator(f'[data-pick="{cell}"]:is(.picked, .changed)').first.wait_for()
        assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    for name in ("m4_softmax", "m4_dropout?drop_image_2=a digit"):
        page.goto(f"{address}/{name}")
        page.get_by_test_id("stVegaLiteChart").locator("svg, canvas").first.wait_for()
        assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")


def test_a_network_trains_on_images_and_classifies_a_drawn_digit_on_a_phone(start_server, page):
    address, log = start_server()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/m4_images?images_limit=48&images_epochs=2&images_batch=48")
    button(page, "images_start").click()
    page.get_by_text("After epoch 2, the network predicts").wait_for(timeout=2 * PATIENCE)
    assert epoch(page) == 2
    page.get_by_role("img", name="label 7, predicted 7").wait_for()
    pad = page.get_by_role("application")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.9 * box["height"], steps=9)
    page.mouse.up()
    page.get_by_role("img", name="your drawing in 8 by 8 pixels").wait_for()
    assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
