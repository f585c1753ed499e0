"""The stride explorer and the broadcasting page: their results, and what they show while code is unwritten or wrong."""

import pytest

from tests.project.pages import fill, ignore_saved_files, open_page, open_with, page_text, press, texts, unwritten  # noqa: F401  a fixture


def code(app):
    return app.code[0].value


def test_the_stride_explorer_shows_a_typed_shape_and_typed_steps():
    app = open_page("m2_strides", shape="2, 4", steps="x[1:].expand(2, 3)")
    assert "does not fit shape" in app.error[0].value
    assert not fill(app, steps="x[1:]").error
    assert code(app).splitlines()[1] == "         = 4 + 0·4 + 0·1"


def test_the_selected_cell_is_clamped_to_a_smaller_result():
    app = fill(open_page("m2_strides", shape="3, 4", steps="x"), cell_0=2, shape="2, 4")
    assert app.number_input(key="cell_0").value == 1


def test_steps_can_be_added_and_removed():
    app = press(fill(open_page("m2_strides", shape="2, 3", steps="x"), step_kind="transpose"), "add")
    press(fill(app, step_kind="flip", arguments_flip="1"), "add")
    assert app.text_input(key="steps").value == "x.transpose(0, 1)[:, ::-1]"
    assert "[:, ::-1] made a copy" in page_text(app)
    assert press(app, "remove_1").text_input(key="steps").value == "x[:, ::-1]"


def test_an_unreadable_step_is_not_added():
    app = press(fill(open_page("m2_strides", shape="2, 3", steps="x"), step_kind="flip", arguments_flip="2"), "add")
    assert "expected a dimension from 0 to 1, got '2'" in page_text(app)
    assert app.text_input(key="steps").value == "x"


def test_an_invalid_step_ends_the_chain_and_can_be_removed():
    app = open_page("m2_strides", shape="2, 3", steps="x.permute(1, 0).view(6)[1:]")
    assert "call contiguous() first" in page_text(app)
    listed = "\n".join(texts(app.markdown))
    assert "`.view(6)` :red-badge[invalid]" in listed
    assert "`[1:]` :gray-badge[not executed]" in listed
    assert app.get("bidi_component")  # the steps before it are drawn
    assert not press(app, "remove_1").error


LAYOUTS = "expected shape (4, 3), strides (1, 4), offset 0, got shape (4, 3), strides (3, 1)"
FROM_THE_LEFT = "for dim, n in enumerate(inputs[2]): inputs[3][dim] = inputs[0][dim] if n > 1 else 0"


@pytest.mark.parametrize(
    ("page", "target", "body", "shows"),
    [
        ("m2_strides", "strides.index_to_position", unwritten("2.1"), "strides **(1, 8)**"),
        ("m2_strides", "strides.TensorData.permute", "return inputs[0].as_view((4, 3), (3, 1), 0)", LAYOUTS),
        ("m2_broadcasting", "broadcasting.broadcast_index", FROM_THE_LEFT, "expected to write (1,), wrote (0,) (4 of 6 cells"),
    ],
)
def test_the_result_is_drawn_while_code_is_unwritten_or_wrong(monkeypatch, page, target, body, shows):
    app = open_with(monkeypatch, page, f"project.lab.explorers.{target}", body)
    assert shows in page_text(app)
    assert app.get("bidi_component")


def test_a_wrong_position_is_reported_at_the_selected_cell(monkeypatch):
    target = "project.lab.explorers.strides.index_to_position"
    app = open_with(monkeypatch, "m2_strides", target, "return sum(inputs[0])", shape="2, 3", steps="x")
    assert "index_to_position((1, 0), (3, 1)) expected 1·3 + 0·1 = 3, got 1" in page_text(app)
    assert "At [1, 0], expected 3, got 1 from your code." in page_text(fill(app, cell_0=1))
    assert app.get("bidi_component")
