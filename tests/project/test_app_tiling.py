"""The tiling page and the grid explorer: their results, and their messages for unwritten code."""

import re

import pytest

from course.manifest import course
from project.lab import task_source
from project.lab.explorers.tree_reduction import MISSING
from tests.project.pages import fill, forward, ignore_saved_files, open_page, page_text, press  # noqa: F401  the fixture works by being here


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """A function that writes a module of the package into a workspace that has no other."""
    (tmp_path / "minitorch").mkdir()
    monkeypatch.setattr(task_source, "ROOT", tmp_path)
    monkeypatch.setattr("project.lab.cards.ROOT", tmp_path)
    return lambda name, source: (tmp_path / "minitorch" / f"{name}.py").write_text(source)


UNWRITTEN = [
    ("m3_tiling", {"tiling_order": "element by element"}, "3.2", "fast_ops"),
    ("m3_tiling", {}, "3.4", "cuda_ops"),
    ("m3_grid", {}, "3.3", "cuda_ops"),
    ("m3_grid", {"grid_kernel": "reduce"}, "3.3", "cuda_ops"),
    ("m3_grid", {"grid_kernel": "matmul"}, "3.4", "cuda_ops"),
]


@pytest.mark.parametrize(("page", "query", "task", "module"), UNWRITTEN)
def test_unwritten_code_becomes_a_card_below_the_picture(write_module, page, query, task, module):
    names = [name.split(":")[1] for task_ in course().tasks for name in task_.write if name.startswith(f"minitorch.{module}:")]
    marker = f'raise NotImplementedError("Need to implement for Task {task}")'
    write_module(module, "".join(f"def {name}():\n    {marker}\n\n\n" for name in names))
    app = open_page(page, **query)
    (card,) = [info.value for info in app.info]
    title, body = card.split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open minitorch/{module}.py**"
    assert body.startswith("Book: ")
    assert marker in app.code[-1].value
    assert app.get("bidi_component")
    assert not app.error


@pytest.mark.parametrize(
    ("page", "query", "function"),
    [
        ("m3_tiling", {"tiling_order": "element by element"}, "_tensor_matrix_multiply"),
        ("m3_tiling", {}, "_tensor_matrix_multiply"),
        ("m3_grid", {"grid_kernel": "reduce"}, "_sum_practice"),
    ],
)
def test_the_students_own_code_is_shown(page, query, function):
    assert f"def {function}(" in open_page(page, **query).code[-1].value


def test_a_syntax_error_is_named_below_the_picture(write_module):
    write_module("cuda_ops", "def broken(:\n")
    app = open_page("m3_grid")
    assert "minitorch/cuda_ops.py, line 1: invalid syntax" in page_text(app)
    assert app.get("bidi_component")


# Tiling


def test_stepping_the_product_shows_its_counts_and_its_arithmetic():
    app = open_page("m3_tiling", n="4", tile="2", tiling_step="0")
    assert "Nothing has been read yet" in page_text(app)
    assert "So far 0 of 64 global reads, 0 of 128 shared reads, 0 of 16 global writes." in page_text(app)
    forward(app)
    assert "Block (0, 0) loads tile (0, 0) of A and tile (0, 0) of B: 8 reads" in page_text(app)
    assert "So far 8 of 64 global reads, 0 of 128 shared reads, 0 of 16 global writes." in page_text(app)
    assert re.fullmatch(r"a_tile\[0, 0\] = A\[0, 0\] = \d\nb_tile\[0, 0\] = B\[0, 0\] = \d", app.code[0].value)
    fill(forward(app), thread_column=1)
    assert app.code[0].value.startswith("sum for C[0, 1] = 0 + ")
    assert "16 of 128 shared reads" in page_text(app)


def test_the_totals_of_both_orders_are_side_by_side():
    app = open_page("m3_tiling", n="8", tile="4")
    rows = app.table[0].value.to_dict("records")
    assert [rows[0]["whole product"], rows[0]["element by element"]] == ["256", "1,024"]
    assert "4× fewer" in app.code[1].value


@pytest.mark.parametrize("value", [2, 3, 6, 16])  # including the smallest and the usual sizes
def test_the_address_contains_the_chosen_numbers(value):
    app = open_page("m3_tiling", n=str(value), tile="2")
    assert (app.number_input(key="n").value, app.number_input(key="tile").value) == (value, 2)


@pytest.mark.parametrize(("n", "shown"), [("99", 16), ("-99", 2), ("2", 2), ("nan", 6), ("x", 6)])
def test_a_number_out_of_range_in_the_address_becomes_the_nearest_one(n, shown):
    assert open_page("m3_tiling", n=n).number_input(key="n").value == shown
    block = open_page("m3_grid", grid_shape="20", grid_block="9").number_input(key="grid_block")  # the initial value is 0
    assert (block.value, block.max) == (2, 2)


def test_tile_thread_and_step_are_clamped_to_a_smaller_matrix():
    app = fill(open_page("m3_tiling", n="8", tile="8"), thread_row=7, tiling_step=3, n=4)
    assert app.number_input(key="tile").value == 4
    assert app.number_input(key="thread_row").value == 3
    fill(fill(app, tile=2, tiling_step=20), tile=4)
    assert app.select_slider(key="tiling_step").value == 3


@pytest.mark.parametrize(("page", "steps"), [("m3_tiling", "tiling_step"), ("m4_convolution", "conv_step")])
def test_play_continues_until_paused(page, steps):
    app = press(open_page(page), "play").run()
    assert app.select_slider(key=steps).value == 3
    assert press(app, "pause").run().select_slider(key=steps).value == 3


# Grid, block and thread


def test_the_selected_thread_is_clamped_to_fewer_blocks():
    app = fill(open_page("m3_grid", grid_shape="20"), grid_block=2, grid_thread=7, grid_shape="5", grid_threads=5)
    assert (app.number_input(key="grid_block").value, app.number_input(key="grid_thread").value) == (0, 4)


@pytest.mark.parametrize(
    ("kernel", "missing", "says"),
    [
        ("map", "the guard", "The last threads have i = 20 to 23"),
        ("matmul", "the guard", "12 threads past the last column would write into the next row"),
        ("reduce", MISSING[1], "out[2] should be 74"),
        ("reduce", MISSING[2], "only because the added cells belong to one warp"),
        ("reduce", MISSING[3], "computed from uninitialized memory"),
    ],
)
def test_a_kernel_without_guard_or_barrier_shows_a_warning_with_the_effect(kernel, missing, says):
    app = fill(open_page("m3_grid", grid_kernel=kernel), grid_missing=missing)
    (warning,) = app.warning
    assert warning.value.startswith(f"**Without {missing}.**")
    assert says in warning.value.replace("\\", "")
    assert not app.exception


def test_omitted_parts_are_reset_when_another_kernel_is_selected():
    app = fill(open_page("m3_grid", grid_kernel="reduce"), grid_missing="all barriers", grid_kernel="map")
    assert not app.exception
    assert app.selectbox(key="grid_missing").value == "nothing"


def test_stepping_the_tree_reaches_the_sums():
    app = fill(open_page("m3_grid", grid_kernel="reduce", grid_size="6", tree_threads="4"), tree_step=4, grid_block=1)
    assert app.code[0].value.endswith("out[1] = block[0] = 11")
    assert app.button(key="forward").disabled
