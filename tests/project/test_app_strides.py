"""The stride explorer and the broadcasting page: their results, and their messages for unwritten or wrong code."""

import pytest

from course.manifest import ROOT
from tests.project.pages import ignore_saved_files, open_page, texts  # noqa: F401  the fixture works by being here
from tests.project.test_app import stub


def page_text(app):
    """All text on the page, without the backslashes that escape Markdown."""
    return "\n".join(texts([*app.markdown, *app.caption, *app.info, *app.warning, *app.error])).replace("\\", "")


RAISING = [  # page, the failing function, its parameters, the inputs that are shown
    ("m2_strides", "project.lab.explorers.strides.index_to_position", "index_to_position(index, strides)", "index = (0, 0)"),
    ("m2_strides", "minitorch.TensorData.permute", "permute(self, *order)", "self = TensorData(sh"),
    (
        "m2_broadcasting",
        "project.lab.explorers.broadcasting.shape_broadcast",
        "shape_broadcast(shape1, shape2)",
        "shape1 = (2, 1), shape2 = (3,)",
    ),
    (
        "m2_broadcasting",
        "project.lab.explorers.broadcasting.broadcast_index",
        "broadcast_index(i, big, shape, out)",
        "i = (0, 0), big = (2, 3)",
    ),
]


@pytest.mark.parametrize(("page", "target", "signature", "inputs"), RAISING)
def test_the_pages_on_tensor_data_show_the_failing_frame(monkeypatch, page, target, signature, inputs):
    open_page(page)
    names = {}
    exec(compile(f"def {signature}:\n    return 1 / 0", str(ROOT / "minitorch" / "tensor_data.py"), "exec"), names)
    monkeypatch.setattr(target, names[signature.split("(")[0]])
    app = open_page(page)
    assert len(app.error) == 1
    assert "ZeroDivisionError" in app.error[0].value
    assert f"with `{inputs}" in app.error[0].value


def code(app):
    return app.code[0].value


def test_the_stride_explorer_shows_a_typed_shape_and_typed_steps():
    app = open_page("m2_strides", shape="2, 3", steps="x[1:].expand(2, 3)")
    assert "shape **(2, 3)**, strides **(0, 1)**, offset **3**" in page_text(app)
    assert "`.expand(2, 3)` :blue-badge[view] :violet-badge[not contiguous]" in page_text(app)
    assert code(app).splitlines()[1] == "         = 3 + 0·0 + 0·1"
    app.text_input(key="shape").set_value("2, 4").run()
    assert "does not fit shape" in app.error[0].value
    app.text_input(key="steps").set_value("x[1:]").run()
    assert not app.error
    assert code(app).splitlines()[1] == "         = 4 + 0·4 + 0·1"


def test_a_cell_is_selected_by_its_index_and_a_position_by_its_number():
    app = open_page("m2_strides", shape="1, 3", steps="x.expand(2, 3)")
    app.number_input(key="cell_0").set_value(1).run()
    app.number_input(key="cell_1").set_value(2).run()
    shown = page_text(app)
    assert "Element 5 of the result, at index [1, 2], is at storage position 2. Its value is 2." in shown
    assert "The same position is also read by [0, 2]." in shown
    app.segmented_control(key="pick").set_value("a storage position").run()
    app.number_input(key="position").set_value(1).run()
    assert "Storage position 1 holds 1. It is read by 2 cells of the result: [0, 1], [1, 1]." in page_text(app)


def test_the_selected_cell_is_clamped_to_a_smaller_result():
    app = open_page("m2_strides", shape="3, 4", steps="x")
    app.number_input(key="cell_0").set_value(2).run()
    app.text_input(key="shape").set_value("2, 4").run()
    assert app.number_input(key="cell_0").value == 1


def test_steps_can_be_added_and_removed():
    app = open_page("m2_strides", shape="2, 3", steps="x")
    app.selectbox(key="step_kind").set_value("transpose").run()
    app.button(key="add").click().run()
    app.selectbox(key="step_kind").set_value("flip").run()
    app.text_input(key="arguments_flip").set_value("1").run()
    app.button(key="add").click().run()
    assert app.text_input(key="steps").value == "x.transpose(0, 1)[:, ::-1]"
    assert "[:, ::-1] made a copy" in page_text(app)
    app.button(key="remove_1").click().run()
    assert app.text_input(key="steps").value == "x[:, ::-1]"


def test_an_unreadable_step_is_not_added():
    app = open_page("m2_strides", shape="2, 3", steps="x")
    app.selectbox(key="step_kind").set_value("flip").run()
    app.text_input(key="arguments_flip").set_value("2").run()
    app.button(key="add").click().run()
    assert "expected a dimension from 0 to 1, got '2'" in page_text(app)
    assert app.text_input(key="steps").value == "x"


def test_an_invalid_step_ends_the_chain_and_can_be_removed():
    app = open_page("m2_strides", shape="2, 3", steps="x.permute(1, 0).view(6)[1:]")
    assert "call contiguous() first" in page_text(app)
    listed = "\n".join(texts(app.markdown))
    assert "`.view(6)` :red-badge[invalid]" in listed
    assert "`[1:]` :gray-badge[not executed]" in listed
    assert app.get("bidi_component")  # the steps before it are drawn
    app.button(key="remove_1").click().run()
    assert not app.error


def test_an_example_fills_shape_and_steps():
    app = open_page("m2_strides")
    app.selectbox(key="example_view").set_value("A row, repeated three times").run()
    assert (app.text_input(key="shape").value, app.text_input(key="steps").value) == ("1, 4", "x.expand(3, 4)")


@pytest.mark.parametrize(
    ("page", "field", "typed", "says"),
    [
        ("m2_strides", "shape", "2, three", "expected integers separated by commas"),
        ("m2_strides", "steps", "x.__class__", "expected x followed by operations"),
        ("m2_strides", "steps", "x.view(f())", "view expected integers"),
        ("m2_broadcasting", "a", "__import__('os')", "expected integers separated by commas"),
        ("m2_broadcasting", "b", "1, 1, 1, 1, 1, 1, 1", "expected a shape of 0 to 6 dimensions"),
    ],
)
def test_invalid_shapes_and_steps_are_refused_with_a_message(page, field, typed, says):
    app = open_page(page)
    app.text_input(key=field).set_value(typed).run()
    assert len(app.error) == 1
    assert says in page_text(app)
    assert not app.exception


def test_an_empty_result_has_no_cell_to_select():
    assert "no elements" in open_page("m2_strides", shape="2, 3", steps="x[5:]").info[0].value
    assert "no elements" in open_page("m2_broadcasting", a="0, 3", b="1, 3").info[0].value


def test_a_wrong_position_is_reported_and_still_drawn(monkeypatch):
    open_page("m2_strides")
    monkeypatch.setattr("project.lab.explorers.strides.index_to_position", lambda index, strides: sum(index))
    app = open_page("m2_strides", shape="2, 3", steps="x")
    assert "index_to_position((1, 0), (3, 1)) expected 1·3 + 0·1 = 3, got 1" in page_text(app)
    app.number_input(key="cell_0").set_value(1).run()
    assert "At [1, 0], expected 3, got 1 from your code." in page_text(app)
    assert app.get("bidi_component")


def test_a_wrong_permute_is_reported_and_still_drawn(monkeypatch):
    open_page("m2_strides")
    monkeypatch.setattr("minitorch.TensorData.permute", lambda self, *order: self.as_view((4, 3), (3, 1), 0))
    app = open_page("m2_strides")
    assert "expected shape (4, 3), strides (1, 4), offset 0, got shape (4, 3), strides (3, 1)" in page_text(app)
    assert app.get("bidi_component")


def test_the_layout_is_shown_while_index_to_position_is_unwritten(monkeypatch):
    open_page("m2_strides")
    stub(monkeypatch, "project.lab.explorers.strides.index_to_position", "2.1")
    app = open_page("m2_strides")
    assert "strides **(1, 8)**" in page_text(app)
    assert app.get("bidi_component")


def test_the_shapes_are_aligned_and_a_mismatch_is_explained():
    app = open_page("m2_broadcasting", a="3, 4", b="3")
    assert "dimension -1: the sizes 4 and 3 differ, and neither is 1" in page_text(app)
    assert "correctly raises an error" in app.warning[0].value
    app.text_input(key="b").set_value("3, 1").run()
    assert not app.warning
    assert "returns **(3, 4)**" in page_text(app)


def test_result_cells_name_their_sources_and_operand_cells_name_their_uses():
    app = open_page("m2_broadcasting", a="2, 1", b="3")
    app.number_input(key="at_1").set_value(2).run()
    assert "result[0, 2] = a[0, 0] + b[2]." in page_text(app)
    app.segmented_control(key="of").set_value("b").run()
    app.number_input(key="at_0").set_value(1).run()
    assert "b[1] is read twice, for the results at [0, 1], [1, 1]." in page_text(app)


def test_the_backward_view_names_the_cells_whose_gradients_are_summed():
    app = open_page("m2_broadcasting", a="2, 1", b="3", direction="backward")
    app.segmented_control(key="of").set_value("a").run()
    shown = page_text(app)
    assert "The gradient of a[0, 0] is the sum of the gradients of the result at [0, 0], [0, 1], [0, 2]." in shown
    assert "summed over dimension -2, which b does not have" in page_text(app)


def test_large_shapes_are_aligned_but_not_drawn():
    app = open_page("m2_broadcasting", a="64, 1, 28", b="10, 1")
    assert "returns **(64, 10, 28)**" in page_text(app)
    assert "at most 60 elements" in app.info[0].value


def test_wrong_broadcasting_is_reported(monkeypatch):
    open_page("m2_broadcasting")
    monkeypatch.setattr("project.lab.explorers.broadcasting.shape_broadcast", lambda a, b: max(a, b))
    assert "expected (2, 3), got" in page_text(open_page("m2_broadcasting"))


def test_a_wrong_source_is_reported_and_still_drawn(monkeypatch):
    def from_the_left(big_index, big_shape, shape, out_index):
        for dim, length in enumerate(shape):
            out_index[dim] = big_index[dim] if length > 1 else 0

    open_page("m2_broadcasting")
    monkeypatch.setattr("project.lab.explorers.broadcasting.broadcast_index", from_the_left)
    app = open_page("m2_broadcasting")
    assert "expected to write (1,), wrote (0,) (4 of 6 cells" in page_text(app)
    assert app.get("bidi_component")
