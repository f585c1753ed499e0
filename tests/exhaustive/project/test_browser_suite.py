"""Every page in Chromium: on a laptop, in the dark, on a phone and on a wide screen; and the main pages used as a student uses them.

The screenshots of the pages are kept in the folder MINITORCH_SCREENSHOTS, if it is set.
"""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from project.lab import registry
from tests.project.browser import (
    NEEDED,
    PATIENCE,
    button,
    chromium,
    complete,
    epoch,
    fits,
    new_page,
    open_page,
    screenshot,
    screenshot_folder,
    server,
    wait_until,
)

pytestmark = NEEDED

MODES = {"light": (1280, 800, False), "dark": (1280, 800, True), "phone": (390, 844, False), "wide": (1920, 1080, False)}
"""Width and height of the window, and whether the dark theme is preferred."""

FAINT = (Path(__file__).parent / "faint_text.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return screenshot_folder(tmp_path_factory.mktemp("screenshots"))


@pytest.fixture(scope="module")
def page_in(server, chromium):
    """A page for each mode, which all tests share, so that the browser loads the scripts of Streamlit once."""
    pages = {}

    def find(mode):
        if mode not in pages:
            width, height, dark = MODES[mode]
            pages[mode] = new_page(chromium, width, height, dark)
        return pages[mode]

    return find


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [row.name for row in registry.ROWS])
def test_a_page_fits_the_screen_and_is_readable(server, page_in, folder, name, mode):
    page = page_in(mode)
    page.goto(f"{server.address}/{'' if name == 'home' else name}")
    complete(page)
    assert page.get_by_test_id("stException").count() == 0
    screenshot(page, folder / f"{name}-{mode}.png")
    assert fits(page)
    assert page.evaluate(FAINT) == []
    assert page.errors == []
    assert page.hosts == {"127.0.0.1"}


# Used as a student uses them: play, pause, step, stop, hover, draw, upload

TRAINING = {"playground": "pg_", "m1_training": "", "m2_training": "", "m3_training": ""}
SMALL = {
    "playground": "pg_network=tensors&pg_points=20&pg_test=50&pg_batch=10&pg_epochs=100000",  # an epoch is one update
    "m1_training": "points=10&epochs=10000",
    "m2_training": "points=10&epochs=10000",
    "m3_training": "points=10&hidden=4&epochs=10000",
}


@pytest.mark.parametrize("name", TRAINING)
def test_training_can_be_played_paused_stepped_and_reset(open_page, folder, name):
    page, prefix = open_page(f"{name}?{SMALL[name]}"), TRAINING[name]
    play = "start" if name != "playground" else "pg_start"
    button(page, f"{prefix}step").click()
    wait_until(page, lambda: epoch(page) == 1)
    button(page, play).click()
    wait_until(page, lambda: epoch(page) >= 20)
    button(page, f"{prefix}pause").click()
    page.locator(f".st-key-{prefix}pause button[disabled]").wait_for()
    complete(page)
    paused = epoch(page)
    screenshot(page, folder / f"{name}-trained.png")
    assert epoch(page) == paused
    button(page, f"{prefix}step").click()
    wait_until(page, lambda: epoch(page) == paused + 1)
    button(page, f"{prefix}reset").click()
    wait_until(page, lambda: epoch(page) == 0)


@pytest.mark.parametrize(
    ("address", "prefix", "progress"),
    [
        ("m4_images?images_epochs=1000", "images_", "stProgress"),
        ("m4_sentiment?sentiment_epochs=1000", "sentiment_", "stProgress"),
        ("m3_speed?backends=simple&backends=fast", "", "stProgress"),
    ],
)
def test_a_program_that_runs_for_a_page_can_be_stopped_at_once(open_page, address, prefix, progress):
    page = open_page(address)
    button(page, f"{prefix}start").click()
    page.get_by_test_id(progress).wait_for()
    page.locator(f".st-key-{prefix}stop button:enabled").first.click()
    page.locator(f".st-key-{prefix}start button:enabled:visible").first.wait_for()
    page.get_by_test_id(progress).wait_for(state="detached")


def test_a_chart_names_the_point_under_the_pointer(open_page):
    page = open_page("m4_softmax")
    page.locator("[data-testid=stVegaLiteChart] .mark-rect path").first.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "0.6439" in tip.inner_text()  # e^2 / (e^2 + e^1 + e^0 + e^-1)


def test_a_cell_of_the_stride_explorer_shows_its_position_under_the_pointer(open_page):
    page = open_page("m2_strides?shape=2, 3&steps=x.permute(1, 0)")
    page.locator('[data-pick="cell:2,1"]').hover()
    page.get_by_role("button", name="storage position 5 holds 5").and_(page.locator(".near")).wait_for()


def test_a_digit_is_drawn_and_classified(open_page, folder):
    page = open_page("m4_images?images_limit=200&images_epochs=4")
    button(page, "images_start").click()
    page.get_by_text("After epoch 4, the network predicts").wait_for(timeout=2 * PATIENCE)
    draw(page, [(0.3, 0.15), (0.75, 0.15), (0.45, 0.9)])  # a seven
    page.get_by_role("img", name="your drawing in 8 by 8 pixels").wait_for()
    page.get_by_text("After epoch 4, the network predicts").nth(1).wait_for()
    complete(page)
    screenshot(page, folder / "m4_images-trained.png")
    page.reload()
    page.get_by_text("After epoch 4, the network predicts").wait_for()


def test_a_drawn_digit_is_convolved_with_the_weight_in_the_field(open_page):
    page = open_page("m4_convolution")
    page.locator(".st-key-conv_image_2 input").click()
    page.get_by_role("option", name="draw").click()
    draw(page, [(0.5, 0.1), (0.5, 0.9)])
    page.get_by_text("out[0, 0, 0]: the window covers").wait_for()
    assert page.locator(".st-key-conv_weight_2 input").input_value() == "[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]"


def draw(page, corners):
    """Draw a line through these corners of the pad, as fractions of its width and height."""
    pad = page.get_by_role("application")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    (x, y), *rest = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners]
    page.mouse.move(x, y)
    page.mouse.down()
    for x, y in rest:
        page.mouse.move(x, y, steps=9)
    page.mouse.up()


def test_a_file_of_points_is_uploaded_and_a_wrong_one_refused(open_page):
    page = open_page("playground?pg_test=0")
    page.get_by_text("Data", exact=True).click()
    field = page.locator(".st-key-pg_file input[type=file]")
    field.set_input_files({"name": "mine.csv", "mimeType": "text/csv", "buffer": b"x1,x2,label\n0,0,1\n10,10,0\n5,5,1\n"})
    page.get_by_text("; 3 points, of which 0 are for testing").wait_for()
    field.set_input_files({"name": "wrong.csv", "mimeType": "text/csv", "buffer": b"0,0,1\n10,cat,0\n"})
    page.get_by_text("expected numbers for x1 and x2, got '10' and 'cat'").wait_for()


# Addresses

SETTINGS = {  # for each page, settings that differ from the first ones, the position in a sequence included
    "playground": {"pg_layers": "3,2", "pg_points": "40", "pg_activation": "relu"},
    "m0_operators": {"operator": "addLists", "list_a": "1, 2", "list_b": "3, 4"},
    "m0_modules": {"module": "Tower: two levels of children", "where": "base", "mode": "train()"},
    "m0_datasets": {"pg_dataset": "Circle", "pg_points": "40", "pg_seed": "3"},
    "m0_manual": {"dataset": "Xor", "weight_1": "-2.5", "bias": "0.5"},
    "m1_derivative": {"fx": "x * x + 1", "at": "2.5", "epsilon": "1e-02"},
    "m1_graph": {"f": "x * y", "x": "3.0", "moment": "2"},
    "m1_trace": {"trace_f": "x1 * x2 * x3", "x3": "4.0", "seed_input": "x2"},
    "m1_training": {"dataset": "Xor", "hidden": "5", "rate": "0.1"},
    "m2_strides": {"shape": "2, 5", "steps": "x.permute(1, 0)", "cell_0": "4", "cell_1": "1"},
    "m2_broadcasting": {"a": "4, 1", "b": "2", "direction": "backward", "of": "a", "at_0": "3"},
    "m2_functions": {"kind": "Layout", "layout": "x.view(-1)", "shape": "2, 4"},
    "m2_graph": {"tf": "x * y", "shape_x": "1, 3", "graph_seed": "5", "step": "2"},
    "m2_training": {"points": "20", "hidden": "6"},
    "m3_diagnostics": {"kernel": "zip"},
    "m3_speed": {"op": "map", "up_to_map": "1,000", "dtype": "float64"},
    "m3_tiling": {"n": "4", "tile": "2", "tiling_step": "3", "thread_row": "1"},
    "m3_grid": {"grid_kernel": "reduce", "grid_size": "9", "tree_step": "2", "grid_thread": "3"},
    "m3_kernels": {"kernel_name": "strided copy: uncoalesced", "kernel_step": "0"},
    "m3_training": {"points": "20", "hidden": "8"},
    "m4_convolution": {"conv_weight_2": "[[1, 2], [3, 4]]", "conv_form": "general", "conv_stride": "1", "conv_step": "5"},
    "m4_pooling": {"pool_image_2": "typed", "pool_typed_2": "[[1, 2], [3, 4]]", "pool_step": "0"},
    "m4_softmax": {"softmax_z0": "3.0", "softmax_temperature": "0.5"},
    "m4_dropout": {"drop_rate": "0.5", "drop_mode": "evaluation"},
    "m4_images": {"images_epochs": "3", "images_limit": "100"},
    "m4_sentiment": {"sentiment_epochs": "3", "sentiment_train": "40"},
    "m5_compiled": {"compiled_hidden": "4", "compiled_stage": "1"},
    "m6_tokens": {"tokens_text": "abab abab", "tokens_merges": "2", "tokens_step": "2", "tokens_other": "aba"},
    "m6_layers": {"layers_row": "[1, 2]", "layers_tokens": "[1, 1]"},
    "m6_attention": {"attend_heads": "1", "attend_causal": "false"},
    "m6_model": {"model_layers": "2", "model_seed": "1"},
    "m6_fused": {"fused_tile": "2", "fused_causal": "false"},
    "m6_generation": {"generate_temperature": "0.5", "generate_top_k": "3"},
    "m6_training": {"train_warmup": "5", "train_norm": "2.0"},
    "m6_quantization": {"quantize_largest": "5.0"},
    "m6_lora": {"lora_rank": "2", "lora_on": "false"},
    "m6_machines": {"ring_processes": "3", "ring_step": "2", "pipe_stages": "2"},
    "m6_language_model": {"language_text_0": "Tom and Sue", "language_temperature": "0.5", "language_position": "1"},
    "m7_formats": {"formats_dtype": "float32", "formats_bits": "0x40000000", "formats_a": "3"},
}

READ_FIELDS = """() => [...document.querySelectorAll('.stMain [class*=st-key-] :is(input, textarea, button[aria-checked])')]
    .filter(each => each.checkVisibility())
    .map(each => [each.closest('[class*=st-key-]').className, each.ariaChecked ?? each.checked, each.value].join(' '))"""
"""Reads the key and the value of every field."""


def settings_of(page):
    return page.url, page.evaluate(READ_FIELDS)


def go_to(page, title):
    page.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
    page.get_by_role("heading", name=title, exact=True).wait_for()
    complete(page)


@pytest.mark.parametrize("row", registry.ROWS[1:], ids=lambda row: row.name)
def test_a_page_keeps_its_settings_when_one_goes_back_reloads_and_goes_forward(server, page_in, row):
    page, settings = page_in("light"), SETTINGS.get(row.name, {}) | (row.query if row.within else {})
    page.goto(f"{server.address}/{row.within or row.name}?{urlencode(settings)}")
    complete(page)
    before = settings_of(page)
    assert dict(parse_qsl(urlsplit(page.url).query)) == settings  # Streamlit removes what it cannot use, and what is the default anyway
    go_to(page, other := "Tiling" if "m4_softmax" in (row.name, row.within) else "Softmax, dropout")
    after = page.url
    assert not urlsplit(after).query
    page.go_back()
    page.get_by_role("heading", name=other, exact=True).wait_for(state="detached")
    complete(page)
    assert settings_of(page) == before
    page.reload()
    complete(page)
    assert settings_of(page) == before
    page.go_forward()
    page.get_by_role("heading", name=other, exact=True).wait_for()
    assert page.url == after
    assert page.errors == []


def test_back_skips_the_settings_that_were_changed_on_a_page(open_page):
    page = open_page("m0_manual?points=30")
    go_to(page, "Graph")
    page.locator(".st-key-example input").click()
    page.get_by_role("option", name="A product").click()
    wait_until(page, lambda: "f=x" in page.url)
    page.get_by_role("button", name="Forward").click()
    wait_until(page, lambda: "moment=2" in page.url)
    page.go_back()
    page.locator(".st-key-points input").wait_for()
    assert page.locator(".st-key-points input").input_value() == "30"
    page.go_forward()
    page.get_by_role("heading", name="Graph").wait_for()
    assert page.locator(".st-key-f input").input_value() == "x * y * z"
    assert page.locator(".figure input").input_value() == "2"


def test_the_address_of_a_former_page_is_replaced_so_that_back_leads_to_the_page_before(open_page, server):
    page = open_page("m0_operators")
    page.goto(f"{server.address}/m4_dropout?drop_rate=0.5")
    page.get_by_role("heading", name="Softmax, dropout").wait_for()
    complete(page)
    assert dict(parse_qsl(urlsplit(page.url).query)) == {"drop_rate": "0.5", "softmax_part": "Dropout"}
    page.go_back()
    page.get_by_role("heading", name="Operators").wait_for()


def test_the_parts_of_a_page_keep_their_settings(open_page):
    page = open_page("m4_softmax?softmax_z0=3.0")
    page.get_by_role("radio", name="Dropout").click()
    page.get_by_text("17 of 24 values are kept").wait_for()
    complete(page)
    assert urlsplit(page.url).query == "softmax_part=Dropout"
    page.get_by_role("radio", name="Softmax").click()
    page.get_by_text("Why the maximum is subtracted first").wait_for()
    complete(page)
    assert urlsplit(page.url).query == "softmax_z0=3"
    page.get_by_test_id("stPopover").get_by_role("button").first.click()
    button(page, "tour_evaluate").click()  # a step on the other part of this page
    page.get_by_text("17 of 24 values are kept").wait_for()
    wait_until(page, lambda: "softmax_part=Dropout" in page.url)


def test_another_kind_of_network_has_its_own_defaults_and_the_settings_that_were_changed(open_page):
    page = open_page("m1_training?points=20")
    page.get_by_role("radio", name="Tensors").click()
    page.get_by_text("run_tensor.py --dataset Simple --points 20 --hidden 10").wait_for()
    page.locator(".st-key-hidden input").fill("7")
    page.locator(".st-key-hidden input").press("Enter")
    wait_until(page, lambda: "hidden=7" in page.url)
    page.get_by_role("radio", name="Scalars").click()
    page.get_by_text("run_scalar.py --dataset Simple --points 20 --hidden 7").wait_for()
    complete(page)
    assert dict(parse_qsl(urlsplit(page.url).query)) == {"points": "20", "hidden": "7"}


def test_epochs_that_are_the_default_of_another_network_stay(open_page):
    page = open_page("m1_training?points=20")
    page.locator(".st-key-epochs input").fill("1000")  # the default of Tensors
    page.locator(".st-key-epochs input").press("Enter")
    page.get_by_text("--epochs 1000").wait_for()
    page.get_by_role("radio", name="Tensors").click()
    page.get_by_text("run_tensor.py --dataset Simple --points 20 --hidden 10 --rate 0.5 --epochs 1000").wait_for()
    page.get_by_role("radio", name="Scalars").click()
    page.get_by_text("run_scalar.py --dataset Simple --points 20 --hidden 2 --rate 0.5 --epochs 1000").wait_for()
    complete(page)
    assert page.locator(".st-key-epochs input").input_value() == "1000"


def test_an_infinite_number_in_the_address_is_replaced(open_page):
    page = open_page("m3_tiling?n=1e400&tile=2")
    assert page.get_by_test_id("stException").count() == 0
    assert page.locator(".st-key-n input").input_value() == "16"
    assert dict(parse_qsl(urlsplit(page.url).query)) == {"n": "16", "tile": "2"}


# The first screen


def top(page, thing):
    return page.locator(thing).first.evaluate("each => each.getBoundingClientRect().top")


@pytest.mark.parametrize(
    ("name", "figure", "settings"),
    [
        ("m1_training", ".st-key-boundary_chart", ".st-key-points"),
        ("m3_tiling", ".picture", ".st-key-tiling_settings"),
        ("m4_convolution", ".picture", ".st-key-conv_settings"),
        ("m4_pooling", ".picture", ".st-key-pool_settings"),
        ("m4_images", "figure", ".st-key-images_epochs"),
        ("m4_softmax", "[data-testid=stVegaLiteChart]", ".st-key-softmax_z0"),
    ],
)
def test_a_phone_shows_the_figure_of_a_page_before_its_settings(open_page, name, figure, settings):
    page = open_page(name, 390, 844)
    assert 0 < top(page, figure) < min(844, top(page, settings))


@pytest.mark.parametrize("name", ["m4_convolution", "m4_pooling", "m6_machines"])
def test_a_laptop_shows_the_tour_beside_the_title_and_the_whole_figure(open_page, name):
    page = open_page(name, 1366, 768)
    assert top(page, "h1") < top(page, ".st-key-tour button") < top(page, ".stMain [data-testid=stMarkdown]")
    assert page.locator(".picture").first.evaluate("each => each.getBoundingClientRect().bottom") <= 768


# Projector: 1280 x 720 with a zoom of 150 %


@pytest.mark.parametrize("name", ["m0_operators", "m2_functions", "m3_kernels", "m4_softmax"])
def test_a_chart_is_not_wider_than_its_column_on_a_projector(open_page, name):
    page = open_page(name, 853, 480)
    assert fits(page)
    beyond = "charts => charts.map(each => each.getBoundingClientRect().right - each.closest('.stColumn').getBoundingClientRect().right)"
    charts = page.locator(".stColumn .stVegaLiteChart :is(canvas, svg)")
    charts.first.wait_for()
    assert max(charts.evaluate_all(beyond)) <= 2


def test_a_projector_shows_play_and_the_whole_board_of_the_playground(open_page):
    page = open_page("playground", 853, 480)
    page.locator("canvas").first.evaluate("canvas => canvas.scrollIntoView({block: 'end'})")
    bar, canvas = (page.locator(each).first.bounding_box() for each in (".st-key-pg_bar", "canvas"))
    assert bar["y"] >= 0
    assert bar["y"] + bar["height"] <= canvas["y"]
    assert canvas["y"] + canvas["height"] <= 481


def test_a_projector_shows_the_product_of_matrices_with_a_to_the_left_of_c(open_page):
    page = open_page("m3_tiling", 853, 480)
    a, b, c = (page.get_by_role("region", name=f"{name}, in global memory").bounding_box() for name in "ABC")
    assert a["y"] == c["y"]
    assert b["x"] == c["x"]


# Keyboard

BUTTONS = {
    "playground": "pg_start",
    "m0_operators": "operator",
    "m1_training": "start",
    "m1_graph": "moment_figure",
    "m2_strides": "shape",
    "m3_speed": "start",
    "m4_convolution": "play",
    "m4_images": "images_start",
}


@pytest.mark.parametrize(("name", "key"), BUTTONS.items())
def test_the_main_control_is_reached_with_the_tab_key_and_shows_that_it_has_the_focus(open_page, name, key):
    page = open_page(name)
    active = "document.activeElement"
    reached = f"{active}.closest('.st-key-{key}') && ({active}.shadowRoot?.activeElement ?? {active})"  # it may be in a figure
    style = "at => [at, at.parentElement, at.closest('[data-baseweb]') ?? at].map(part => { const s = getComputedStyle(part);"
    style += "return [s.outlineStyle, s.outlineWidth, s.boxShadow, s.borderColor].join() }).join('|')"
    for _ in range(90):
        page.keyboard.press("Tab")
        control = page.evaluate_handle(reached).as_element()
        if control:
            break
    assert control, "Tab does not reach it"
    page.wait_for_timeout(400)  # for transitions
    focused = control.evaluate(style)
    control.evaluate("control => control.blur()")
    page.wait_for_timeout(400)
    assert control.evaluate(style) != focused
