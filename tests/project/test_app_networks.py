"""The pages on convolution, pooling, softmax and dropout: their results, and what they say about the student's code."""

import json

import numpy as np

import minitorch
from minitorch.nn import functional
from project.lab.widgets import image_choice
from tests.project.pages import fill, forward, ignore_saved_files, open_page, open_with, page_text, press, unwritten  # noqa: F401  a fixture


def figure(app):
    """What the page sent to the figure of a convolution."""
    return json.loads(app.get("bidi_component")[-1].proto.json)


def test_a_wrong_number_is_marked_in_the_result(monkeypatch):
    app = forward(open_with(monkeypatch, "m4_convolution", "minitorch.conv2d", "return inputs[0]"))
    assert "out[0, 0, 0] = 0; expected 15; wrong" in figure(app)["panels"]


# Convolution


def test_stepping_a_convolution_shows_its_arithmetic():
    typed = {"conv_image_2": "typed", "conv_typed_2": "[[1, 2], [3, 4]]", "conv_weight_2": "[[5, 6]]"}
    assert figure(open_page("m4_convolution", **typed))["text"] == "channel 0, row 0: 1·5 + 2·6 = 17\nout[0, 0, 0] = 17"
    app = open_page("m4_convolution", **typed, conv_step="0")
    assert "The result will have shape (1, 2, 2)" in page_text(app)
    assert figure(app)["text"] == "out[o, y, x] = sum over c, i, j of in[c, y + i, x + j] · weight[o, c, i, j]"
    assert figure(forward(app))["text"] == "channel 0, row 0: 1·5 + 2·6 = 17\nout[0, 0, 0] = 17"
    assert figure(forward(app))["text"] == "channel 0, row 0: 2·5 = 10\nout[0, 0, 1] = 10"
    assert figure(fill(app, conv_reverse=True))["text"] == "channel 0, row 0: 2·5 + 1·6 = 16\nout[0, 0, 1] = 16"


def test_the_browser_gets_what_it_needs_to_move_the_window():
    app = open_page("m4_convolution", conv_image_2="typed", conv_typed_2="[[1, 2], [3, 4]]", conv_weight_2="[[5, 6]]", conv_reverse="true")
    sent = figure(app)
    assert (sent["image"], sent["weight"]) == ([[[1, 2], [3, 4]]], [[[[5, 6]]]])
    assert (sent["rows"], sent["columns"], sent["first"]) == ([[0], [1]], [[0, -1], [1, 0]], [0, -1])
    general = figure(open_page("m4_convolution", conv_form="general"))  # stride 2 and padding 1, a kernel of 3 by 3, an image of 6 by 6
    assert general["rows"] == general["columns"] == [[-1, 0, 1], [1, 2, 3], [3, 4, 5]]


def test_a_kernel_with_all_channels_is_not_repeated():
    assert "which is repeated for all" not in page_text(open_page("m4_convolution"))


def test_values_come_from_the_arithmetic_until_the_code_is_written(monkeypatch):
    app = open_with(monkeypatch, "m4_convolution", "minitorch.conv2d", unwritten("4.2"))
    assert "computed by this page until your own code returns one" in page_text(app)
    assert app.get("bidi_component")


# The drawing pad


def test_the_empty_pad_is_shown():
    assert open_page("m4_pooling", pool_image_2="draw").get("bidi_component")


def test_a_drawing_becomes_an_image_and_is_kept(monkeypatch):
    app = open_page("m4_convolution", conv_image_2="draw", conv_step="0")
    app.session_state["conv_pad_strokes"] = [[[0.5, 0.1], [0.5, 0.9]]]
    app.run()
    assert "The result will have shape (1, 8, 8)" in page_text(app)
    app.switch_page("views/m4_softmax.py").run()
    app.switch_page("views/m4_convolution.py").run()
    assert not fill(app, conv_image_2="draw").info


def test_digits_have_integer_pixels():
    images, labels = image_choice.digits()
    assert images.shape == (len(labels), 1, 8, 8)
    assert set(np.unique(images)) == set(range(17))


# Pooling


def test_pooling_can_be_stepped_forward_and_back():
    app = open_page("m4_pooling")
    assert app.code[0].value == "out[0, 0] = max(0, 1, 1, 2) = 2"
    assert forward(app).code[0].value == "out[0, 1] = max(2, 3, 3, 4) = 4"
    press(app, "back")
    assert fill(app, pool_kind="average").code[0].value == "out[0, 0] = (0 + 1 + 1 + 2) / 4 = 4 / 4 = 1"
    assert (
        fill(app, pool_direction="backward").code[0].value == "out.grad[0, 0] = 1\nvalues    0, 1, 1, 2\ngradients 0.25, 0.25, 0.25, 0.25"
    )


def test_the_student_s_rule_for_ties_is_named(monkeypatch):
    first = "from minitorch.nn.functional import tile; t, h, w = tile(*inputs); return t.max(4).view(1, 1, h, w)"
    ties = {"pool_direction": "backward", "pool_image_2": "a box"}
    app = open_with(monkeypatch, "m4_pooling", "minitorch.nn.functional.maxpool2d", first, **ties)
    assert not app.error
    assert "your code gives the gradient to one of them" in page_text(app)


# Softmax


def test_a_low_temperature_sharpens_until_the_exponentials_overflow():
    app = open_page("m4_softmax")
    assert app.table[0].value["softmax"].tolist() == ["0.6439", "0.2369", "0.08714", "0.03206"]
    assert app.table[0].value["gradient"].tolist() == ["-0.3561", "0.2369", "0.08714", "0.03206"]
    fill(app, softmax_temperature=0.001)
    assert app.table[0].value["softmax"].tolist() == ["1", "0", "0", "0"]
    assert app.table[1].value["probability"].tolist() == ["nan", "nan", "0", "0"]
    assert app.table[2].value["probability"].tolist() == ["1", "0", "0", "0"]
    assert "for x > 709.8, e^x overflows in float64" in page_text(app)


def test_editing_a_logit_or_the_right_class_updates_the_table():
    app = fill(open_page("m4_softmax", softmax_classes="2"), softmax_z0=1.0, softmax_target=1)
    assert app.table[0].value["softmax"].tolist() == ["0.5", "0.5"]
    assert app.table[0].value["gradient"].tolist() == ["0.5", "-0.5"]


# Dropout


def test_the_seed_determines_what_dropout_keeps():
    minitorch.manual_seed(3)
    kept = int(np.count_nonzero(functional.dropout(minitorch.ones((4, 6)), 0.5).to_numpy()))
    assert f"{kept} of 24 values are kept, {24 - kept} dropped" in page_text(open_page("m4_dropout", drop_seed="3", drop_rate="0.5"))


def test_a_mask_that_ignores_the_seed_is_reported(monkeypatch):
    body = "import numpy, minitorch; x = inputs[0].to_numpy(); return minitorch.tensor((x * (numpy.random.rand(*x.shape) > 0.5)).tolist())"
    app = open_with(monkeypatch, "m4_dropout", "minitorch.nn.functional.dropout", body)
    assert "Your code returns a different mask for the same seed" in page_text(app)
    assert not app.error
