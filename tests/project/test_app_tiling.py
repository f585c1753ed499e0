"""The tiling page and the grid explorer: their results, and their messages for unwritten code."""

import re

import pytest

from course.manifest import course
from project.lab import task_source
from project.lab.explorers.tree_reduction import MISSING
from tests.project.pages import forward, ignore_saved_files, open_page, page_text  # noqa: F401  the fixture works by being here

CASES = [
    ("m3_tiling", {}),
    ("m3_tiling", {"tiling_order": "element by element"}),
    ("m3_tiling", {"n": "16", "tile": "5"}),
    ("m3_tiling", {"n": "999", "tile": "-1", "tiling_order": "x"}),
    ("m3_grid", {}),
    ("m3_grid", {"grid_kernel": "reduce"}),
    ("m3_grid", {"grid_kernel": "matmul"}),
    ("m3_grid", {"grid_kernel": "x", "grid_missing": "x", "grid_threads": "x"}),
]


def set_number(app, key, value):
    app.number_input(key=key).set_value(value).run()
    return app


# Finished and unwritten code


@pytest.mark.parametrize(("page", "query"), CASES)
def test_a_page_shows_finished_code_without_a_notice_of_trouble(page, query):
    app = open_page(page, **query)
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not app.info
    assert app.get("bidi_component")


UNWRITTEN = [
    ("m3_tiling", {"tiling_order": "element by element"}, "3.2", "fast_ops"),
    ("m3_tiling", {}, "3.4", "cuda_ops"),
    ("m3_grid", {}, "3.3", "cuda_ops"),
    ("m3_grid", {"grid_kernel": "reduce"}, "3.3", "cuda_ops"),
    ("m3_grid", {"grid_kernel": "matmul"}, "3.4", "cuda_ops"),
]


@pytest.mark.parametrize(("page", "query", "task", "module"), UNWRITTEN)
def test_unwritten_code_becomes_a_card_below_the_picture(tmp_path, monkeypatch, page, query, task, module):
    (tmp_path / "minitorch").mkdir()
    names = [name.split(":")[1] for task_ in course().tasks for name in task_.write if name.startswith(f"minitorch.{module}:")]
    marker = f'raise NotImplementedError("Need to implement for Task {task}")'
    (tmp_path / "minitorch" / f"{module}.py").write_text("".join(f"def {name}():\n    {marker}\n\n\n" for name in names))
    monkeypatch.setattr(task_source, "ROOT", tmp_path)
    app = open_page(page, **query)
    (card,) = [info.value for info in app.info]
    title, body = card.split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open minitorch/{module}.py**"
    assert body.startswith("Book: ")
    assert marker in app.code[-1].value
    assert app.get("bidi_component")
    assert not app.error


def test_the_students_own_code_is_shown():
    assert "def _tensor_matrix_multiply(" in open_page("m3_tiling", tiling_order="element by element").code[-1].value
    assert "def _tensor_matrix_multiply(" in open_page("m3_tiling").code[-1].value
    assert "def _sum_practice(" in open_page("m3_grid", grid_kernel="reduce").code[-1].value


def test_a_syntax_error_is_named_below_the_picture(tmp_path, monkeypatch):
    (tmp_path / "minitorch").mkdir()
    (tmp_path / "minitorch" / "cuda_ops.py").write_text("def broken(:\n")
    monkeypatch.setattr(task_source, "ROOT", tmp_path)
    monkeypatch.setattr("project.lab.cards.ROOT", tmp_path)
    app = open_page("m3_grid")
    assert "minitorch/cuda_ops.py, line 1: invalid syntax" in page_text(app)
    assert app.get("bidi_component")


# Tiling


def test_stepping_the_product_shows_its_counts_and_its_arithmetic():
    app = open_page("m3_tiling", n="4", tile="2")
    assert "Nothing has been read yet" in page_text(app)
    assert "So far 0 of 64 global reads, 0 of 128 shared reads, 0 of 16 global writes." in page_text(app)
    forward(app)
    assert "Block (0, 0) loads tile (0, 0) of A and tile (0, 0) of B: 8 reads" in page_text(app)
    assert "So far 8 of 64 global reads, 0 of 128 shared reads, 0 of 16 global writes." in page_text(app)
    assert re.fullmatch(r"a_tile\[0, 0\] = A\[0, 0\] = \d\nb_tile\[0, 0\] = B\[0, 0\] = \d", app.code[0].value)
    set_number(forward(app), "thread_column", 1)
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


def test_tile_thread_and_step_are_clamped_to_a_smaller_matrix():
    app = open_page("m3_tiling", n="8", tile="8")
    set_number(app, "thread_row", 7)
    app.slider(key="tiling_step").set_value(3).run()
    set_number(app, "n", 4)
    assert app.number_input(key="tile").value == 4
    assert app.number_input(key="thread_row").value == 3
    set_number(app, "tile", 2)
    app.slider(key="tiling_step").set_value(20).run()
    set_number(app, "tile", 4)
    assert app.slider(key="tiling_step").value == 3


def test_play_continues_until_paused():
    app = open_page("m3_tiling")
    app.button(key="play").click().run()
    app.run()
    assert app.slider(key="tiling_step").value == 2
    app.button(key="pause").click().run()
    app.run()
    assert app.slider(key="tiling_step").value == 2


# Grid, block and thread


def test_a_selected_thread_shows_its_formula_in_every_kernel():
    app = set_number(set_number(open_page("m3_grid", grid_shape="4, 5"), "grid_block", 2), "grid_thread", 3)
    assert "= 2 · 8 + 3\n  = 19" in app.code[0].value
    app.segmented_control(key="grid_kernel").set_value("reduce").run()
    forward(app)
    assert "19 < 20: block[3] = a[19] = 20" in app.code[0].value
    app.segmented_control(key="grid_kernel").set_value("matmul").run()
    set_number(set_number(app, "block_x", 1), "thread_y", 2)
    assert "row    = blockIdx.x · BLOCK_DIM + threadIdx.y = 1 · 4 + 2 = 6" in app.code[0].value
    app.segmented_control(key="grid_ahead").set_value("rows").run()
    assert "row    = blockIdx.x · BLOCK_DIM + threadIdx.x = 1 · 4 + 0 = 4" in app.code[0].value
    assert "a row of out apart" in page_text(app)


def test_the_selected_thread_is_clamped_to_fewer_blocks():
    app = set_number(set_number(open_page("m3_grid", grid_shape="20"), "grid_block", 2), "grid_thread", 7)
    app.text_input(key="grid_shape").set_value("5").run()
    set_number(app, "grid_threads", 5)
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
    app = open_page("m3_grid", grid_kernel=kernel)
    app.selectbox(key="grid_missing").set_value(missing).run()
    (warning,) = app.warning
    assert warning.value.startswith(f"**Without {missing}.**")
    assert says in warning.value.replace("\\", "")
    assert not app.exception


def test_omitted_parts_are_reset_when_another_kernel_is_selected():
    app = open_page("m3_grid", grid_kernel="reduce")
    app.selectbox(key="grid_missing").set_value("all barriers").run()
    app.segmented_control(key="grid_kernel").set_value("map").run()
    assert not app.exception
    assert app.selectbox(key="grid_missing").value == "nothing"


def test_stepping_the_tree_reaches_the_sums():
    app = open_page("m3_grid", grid_kernel="reduce", grid_size="6", tree_threads="4")
    app.slider(key="tree_step").set_value(4).run()
    set_number(app, "grid_block", 1)
    assert app.code[0].value.endswith("out[1] = block[0] = 11")
    assert app.button(key="forward").disabled


@pytest.mark.parametrize(("typed", "says"), [("2, x", "expected integers"), ("9, 9", "expected at most 64 elements"), ("()", "1 to 4 dim")])
def test_invalid_shapes_are_refused_with_a_message(typed, says):
    app = open_page("m3_grid", grid_shape=typed)
    assert says in page_text(app)
    assert len(app.error) == 1


def test_a_tensor_without_elements_launches_nothing():
    assert open_page("m3_grid", grid_shape="0, 3").info[0].value == "The tensor has no elements, so no block is launched."
