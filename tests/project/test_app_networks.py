"""The pages on convolution, pooling, softmax and dropout: their results, and their messages for unwritten or wrong code."""

import numpy as np
import pytest

import minitorch
from course.manifest import ROOT
from minitorch.nn import functional
from project.lab.widgets import image_choice
from tests.project.pages import forward, ignore_saved_files, open_page, page_text  # noqa: F401  the fixture works by being here

CASES = [
    ("m4_convolution", {}),
    ("m4_convolution", {"conv_dims": "1D", "conv_reverse": "true", "conv_image_1": "two channels"}),
    ("m4_convolution", {"conv_form": "general"}),
    ("m4_convolution", {"conv_image_2": "three colors", "conv_weight_2": "[[[[1]],[[2]],[[3]]],[[[1]],[[1]],[[1]]]]"}),
    ("m4_convolution", {"conv_dims": "x", "conv_form": "x", "conv_image_2": "x", "conv_reverse": "x"}),
    ("m4_pooling", {"pool_image_2": "a digit", "pool_digit": "7"}),
    ("m4_pooling", {"pool_direction": "backward", "pool_kind": "average", "pool_rows": "1", "pool_columns": "3"}),
    ("m4_softmax", {"softmax_temperature": "0.001", "softmax_dtype": "float32", "softmax_classes": "6"}),
    ("m4_dropout", {"drop_rate": "1.0", "drop_rescaled": "true"}),
]


# Finished, unwritten, failing and wrong code


@pytest.mark.parametrize(("page", "query"), CASES)
def test_a_page_shows_finished_code_without_a_notice_of_trouble(page, query):
    app = open_page(page, **query)
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not app.info
    assert app.expander[0].label == "Your code"


STUDENTS = [  # page, settings, the student's function, its task, its file
    ("m4_convolution", {"conv_dims": "1D"}, "minitorch.conv1d", "4.1", "minitorch/fast_conv.py"),
    ("m4_convolution", {}, "minitorch.conv2d", "4.2", "minitorch/fast_conv.py"),
    ("m4_pooling", {"pool_kind": "average"}, "minitorch.nn.functional.tile", "4.3", "minitorch/nn/functional.py"),
    ("m4_pooling", {}, "minitorch.nn.functional.maxpool2d", "4.4", "minitorch/nn/functional.py"),
    ("m4_softmax", {}, "minitorch.nn.functional.logsoftmax", "4.4", "minitorch/nn/functional.py"),
    ("m4_dropout", {}, "minitorch.nn.functional.dropout", "4.4", "minitorch/nn/functional.py"),
]


def student_function(body, file):
    """A function that appears to be in the student's file."""
    names = {}
    exec(compile(f"def student(*inputs, **options):\n    {body}", str(ROOT / file), "exec"), names)
    return names["student"]


@pytest.mark.parametrize(("page", "query", "target", "task", "file"), STUDENTS)
def test_unwritten_code_becomes_one_card_and_the_page_continues(monkeypatch, page, query, target, task, file):
    monkeypatch.setattr(target, student_function(f'raise NotImplementedError("Need to implement for Task {task}")', file))
    app = open_page(page, **query)
    (card,) = [info.value.replace("\\", "") for info in app.info]
    assert card.startswith(f"**Task {task} is not written yet: open {file}")
    assert not app.error
    assert app.expander[0].label == "Your code"


RAISING = [
    ("m4_convolution", {"conv_reverse": "true"}, "minitorch.fast_conv.convolve", "minitorch/fast_conv.py"),
    ("m4_pooling", {}, "minitorch.nn.functional.tile", "minitorch/nn/functional.py"),
    ("m4_softmax", {}, "minitorch.nn.functional.softmax", "minitorch/nn/functional.py"),
    ("m4_dropout", {}, "minitorch.nn.functional.dropout", "minitorch/nn/functional.py"),
]


@pytest.mark.parametrize(("page", "query", "target", "file"), RAISING)
def test_an_error_is_shown_with_its_file_and_line(monkeypatch, page, query, target, file):
    monkeypatch.setattr(target, student_function("return 1 / 0", file))
    app = open_page(page, **query)
    (card,) = [error.value.replace("\\", "") for error in app.error]
    assert card.startswith(f"**{file}, line 2: ZeroDivisionError: division by zero**")
    assert app.expander[0].label == "Your code"


@pytest.mark.parametrize(
    ("page", "query", "target", "body", "says"),
    [
        (
            "m4_convolution",
            {},
            "minitorch.conv2d",
            "return inputs[1]",
            "expected to return a tensor of shape (1, 1, 6, 6), got (1, 1, 3, 3)",
        ),
        ("m4_pooling", {}, "minitorch.nn.functional.tile", "return inputs[0], 2, 3", "tensor of shape (1, 1, 2, 3, 4), got (1, 1, 4, 6)"),
        (
            "m4_pooling",
            {},
            "minitorch.nn.functional.maxpool2d",
            "x = inputs[0][:, :, 1::2, 1::2]; return x * 2 - x.detach()",
            "the backward pass of",
        ),
        ("m4_softmax", {}, "minitorch.nn.functional.logsoftmax", "return inputs[0].sum(1)", "a tensor of shape (1, 4), got (1, 1)"),
        (
            "m4_softmax",
            {"softmax_temperature": "0.001"},
            "minitorch.nn.functional.softmax",
            "return inputs[0].exp() / inputs[0].exp().sum(1)",
            "softmax(tensor([[2000, 1000, 0, -1000]]), 1) expected 1 at [0], got nan",
        ),
        (
            "m4_dropout",
            {},
            "minitorch.nn.functional.dropout",
            "return inputs[0] * 2",
            "expected 1 or 0 at [0, 1], got 2; do not rescale",
        ),
        (
            "m4_dropout",
            {"drop_mode": "evaluation"},
            "minitorch.nn.functional.dropout",
            "return inputs[0] * 0",
            "ignore=True) expected 1 at [0, 1]",
        ),
    ],
)
def test_a_wrong_result_is_reported_and_the_page_continues(monkeypatch, page, query, target, body, says):
    monkeypatch.setattr(target, student_function(body, "minitorch/other.py"))
    app = open_page(page, **query)
    assert len(app.error) == 1
    assert says in page_text(app)
    assert app.expander[0].label == "Your code"


def test_a_wrong_number_is_marked_in_the_result(monkeypatch):
    drawn = []
    monkeypatch.setattr("project.lab.charts.cells.draw", lambda panels, key, on_pick: drawn.append("".join(panels)))
    monkeypatch.setattr("minitorch.conv2d", student_function("return inputs[0]", "minitorch/other.py"))
    forward(open_page("m4_convolution"))
    assert "out[0, 0, 0] = 0; expected 15; wrong" in drawn[-1]


# Convolution


def test_stepping_a_convolution_shows_its_arithmetic():
    app = open_page("m4_convolution", conv_image_2="typed", conv_typed_2="[[1, 2], [3, 4]]", conv_weight_2="[[5, 6]]")
    assert "The result will have shape (1, 2, 2)" in page_text(app)
    assert app.code[0].value == "out[o, y, x] = sum over c, i, j of in[c, y + i, x + j] · weight[o, c, i, j]"
    forward(app)
    assert app.code[0].value == "channel 0, row 0: 1·5 + 2·6 = 17\nout[0, 0, 0] = 17"
    assert forward(app).code[0].value == "channel 0, row 0: 2·5 = 10\nout[0, 0, 1] = 10"
    app.toggle(key="conv_reverse").set_value(True).run()
    assert app.code[0].value == "channel 0, row 0: 2·5 + 1·6 = 16\nout[0, 0, 1] = 16"


def test_a_convolution_plays_until_paused():
    app = open_page("m4_convolution")
    app.button(key="play").click().run()
    app.run()
    assert app.slider(key="conv_step").value == 2
    app.button(key="pause").click().run()
    app.run()
    assert app.slider(key="conv_step").value == 2


def test_a_kernel_can_be_selected_or_typed():
    app = open_page("m4_convolution", conv_image_2="one dot")
    app.selectbox(key="conv_weight_2_example").set_value("difference").run()
    assert app.text_input(key="conv_weight_2").value == "[[-1, 1]]"
    app.text_input(key="conv_weight_2").set_value("[[[[1]], [[2]]]]").run()
    assert "expected a weight with 1 input channels, as in the image, got 2 (weight of shape (1, 2, 1, 1))" in page_text(app)
    assert len(app.error) == 1
    app.text_input(key="conv_weight_2").set_value("[[1], [2]").run()
    assert "expected numbers in brackets" in page_text(app)


def test_using_one_kernel_for_all_channels_is_mentioned():
    assert "The weight has one channel, which is repeated for all 3 channels of the image." in page_text(
        open_page("m4_convolution", conv_image_2="three colors")
    )
    assert "serves all" not in page_text(open_page("m4_convolution"))


def test_the_general_form_has_stride_padding_and_dilation_and_names_uncovered_elements():
    app = open_page("m4_convolution", conv_form="general", conv_stride="3", conv_padding="0", conv_weight_2="[[1]]", conv_image_2="a slope")
    text = page_text(app)
    assert "The result will have shape (1, 2, 2)" in text
    assert "No window covers rows 1, 2 and columns 1, 2, 4, 5 of the image" in text
    app.number_input(key="conv_dilation").set_value(3).run()
    app.text_input(key="conv_weight_2").set_value("[[1], [1], [1]]").run()
    assert "expected a window smaller than the padded image" in page_text(app)


def test_values_come_from_the_arithmetic_until_the_code_is_written(monkeypatch):
    assert "The result comes from your conv2d" in page_text(open_page("m4_convolution")).replace("`", "")
    monkeypatch.setattr(
        "minitorch.conv2d", student_function('raise NotImplementedError("Need to implement for Task 4.2")', "minitorch/fast_conv.py")
    )
    app = open_page("m4_convolution")
    assert "computed by this page until your own code returns one" in page_text(app)
    assert app.get("bidi_component")


@pytest.mark.parametrize("typed", ["[[1, 2], [3]]", "[[1]] * 99", "[[[1]], [[1]], [[1]], [[1]]]"])
def test_invalid_numbers_are_refused_with_a_message(typed):
    app = open_page("m4_dropout", drop_image_2="typed", drop_typed_2=typed)
    assert len(app.error) == 1
    assert "expected" in page_text(app)
    assert "Enter numbers such as" in page_text(app)


# The drawing pad


def test_the_empty_pad_asks_for_a_drawing():
    app = open_page("m4_pooling", pool_image_2="draw")
    assert [info.value for info in app.info] == ["Draw a digit on the pad. It is converted to an image of 8 by 8 pixels."]
    assert app.get("bidi_component")


def test_a_drawing_becomes_an_image_and_is_kept(monkeypatch):
    app = open_page("m4_convolution", conv_image_2="draw")
    app.session_state["conv_pad_strokes"] = [[[0.5, 0.1], [0.5, 0.9]]]
    app.run()
    assert "The result will have shape (1, 8, 8)" in page_text(app)
    app.switch_page("views/m4_pooling.py").run()
    app.switch_page("views/m4_convolution.py").run()
    app.selectbox(key="conv_image_2").set_value("draw").run()
    assert not app.info


def test_a_digit_of_the_data_set_has_its_label_and_integer_pixels():
    images, labels = image_choice.digits()
    assert images.shape == (len(labels), 1, 8, 8)
    assert set(np.unique(images)) == set(range(17))
    assert "label 6" in page_text(open_page("m4_pooling", pool_image_2="a digit", pool_digit="6"))


# Pooling


def test_pooling_can_be_stepped_forward_and_back():
    app = forward(open_page("m4_pooling"))
    assert app.code[0].value == "out[0, 0] = max(0, 1, 1, 2) = 2"
    app.segmented_control(key="pool_kind").set_value("average").run()
    assert app.code[0].value == "out[0, 0] = (0 + 1 + 1 + 2) / 4 = 4 / 4 = 1"
    app.segmented_control(key="pool_direction").set_value("backward").run()
    assert app.code[0].value == "out.grad[0, 0] = 1\nvalues    0, 1, 1, 2\ngradients 0.25, 0.25, 0.25, 0.25"


def test_ties_are_counted_and_the_student_s_rule_is_named(monkeypatch):
    app = open_page("m4_pooling", pool_direction="backward", pool_image_2="a box")
    assert "In 5 of 9 windows, several values are equal to the maximum: your code gives each of them the whole gradient." in page_text(app)
    first = "from minitorch.nn.functional import tile; t, h, w = tile(*inputs); return t.max(4).view(1, 1, h, w)"
    monkeypatch.setattr("minitorch.nn.functional.maxpool2d", student_function(first, "minitorch/other.py"))
    app = open_page("m4_pooling", pool_direction="backward", pool_image_2="a box")
    assert not app.error
    assert "your code gives the gradient to one of them" in page_text(app)


def test_windows_that_do_not_divide_the_image_are_explained_and_larger_ones_refused():
    app = open_page("m4_pooling", pool_rows="3")
    assert (
        "A window of 3 by 2 does not divide an image of 4 by 6, so tile must raise an error. This page crops the image to 3 by 6."
        in page_text(app).replace("`", "")
    )
    assert not app.error
    app.number_input(key="pool_rows").set_value(5).run()
    assert "expected a window of at most 4 by 6, got 5 by 2" in page_text(app)


# Softmax


def test_a_low_temperature_sharpens_until_the_exponentials_overflow():
    app = open_page("m4_softmax")
    assert app.table[0].value["softmax"].tolist() == ["0.6439", "0.2369", "0.08714", "0.03206"]
    assert app.table[0].value["gradient"].tolist() == ["-0.3561", "0.2369", "0.08714", "0.03206"]
    app.select_slider(key="softmax_temperature").set_value(0.001).run()
    assert app.table[0].value["softmax"].tolist() == ["1", "0", "0", "0"]
    assert app.table[1].value["probability"].tolist() == ["nan", "nan", "0", "0"]
    assert app.table[2].value["probability"].tolist() == ["1", "0", "0", "0"]
    assert "for x > 709.8, e^x overflows in float64" in page_text(app)


def test_editing_a_logit_or_the_right_class_updates_the_table():
    app = open_page("m4_softmax", softmax_classes="2")
    app.slider(key="softmax_z0").set_value(1.0).run()
    app.number_input(key="softmax_target").set_value(1).run()
    assert app.table[0].value["softmax"].tolist() == ["0.5", "0.5"]
    assert app.table[0].value["gradient"].tolist() == ["0.5", "-0.5"]


# Dropout


def test_the_seed_determines_what_dropout_keeps():
    minitorch.manual_seed(3)
    kept = int(np.count_nonzero(functional.dropout(minitorch.ones((4, 6)), 0.5).to_numpy()))
    assert f"{kept} of 24 values are kept, {24 - kept} dropped" in page_text(open_page("m4_dropout", drop_seed="3", drop_rate="0.5"))


def test_in_evaluation_mode_nothing_is_dropped():
    app = open_page("m4_dropout", drop_mode="evaluation")
    assert "24 of 24 values are kept, 0 dropped. The sum changes from 96 to 96." in page_text(app)
    assert "In evaluation there is no mask" in page_text(app)


def test_the_page_shows_the_sums_over_many_masks():
    app = open_page("m4_dropout", drop_rate="0.5")
    assert "in theory 48 and 11" in page_text(app)
    app.toggle(key="drop_rescaled").set_value(True).run()
    assert "in theory 96 and 22" in page_text(app)


def test_a_mask_that_ignores_the_seed_is_reported(monkeypatch):
    body = "import numpy, minitorch; x = inputs[0].to_numpy(); return minitorch.tensor((x * (numpy.random.rand(*x.shape) > 0.5)).tolist())"
    monkeypatch.setattr("minitorch.nn.functional.dropout", student_function(body, "minitorch/other.py"))
    app = open_page("m4_dropout")
    assert "Your code returns a different mask for the same seed" in page_text(app)
    assert not app.error
