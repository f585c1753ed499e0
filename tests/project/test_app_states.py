"""Every page of the app: with code that is finished, not written, raises or is wrong, and with input that it refuses or explains."""

import pytest

from course.manifest import course
from project.lab import registry
from tests.project.pages import fill, ignore_saved_files, open_page, open_with, page_text, texts, unwritten  # noqa: F401  a fixture

FUNCTIONS, FUNCTIONAL = "minitorch.tensor_functions", "minitorch.nn.functional"
STRIDES, BROADCASTING = "project.lab.explorers.strides", "project.lab.explorers.broadcasting"
TWO, REDUCTION = {"kind": "Two tensors"}, {"kind": "Reduction"}

WITH_SOURCE = {"m3_tiling", "m3_grid", "m4_convolution", "m4_pooling", "m4_softmax", "m4_dropout"}
"""Pages that compute by themselves until the student's code returns a result. They show this code at the end."""


def assert_that_the_page_continues(app, page):
    if page in WITH_SOURCE:
        assert app.expander[0].label == "Your code"


COMPILES = {"m3_diagnostics", "m6_language_model"}
"""Pages that compile for seconds when they are opened; the tests of each open it with something smaller."""

FINISHED = [
    *((view.name, {}) for view in registry.ROWS if view.name not in COMPILES),
    ("m2_functions", TWO),
    ("m2_functions", TWO | {"two": "x / y"}),  # with a pole
    ("m2_functions", TWO | {"two": "x < y"}),
    ("m2_functions", REDUCTION),
    ("m2_functions", REDUCTION | {"shape": "()"}),
    ("m2_functions", REDUCTION | {"shape": "0, 3"}),
    ("m2_functions", REDUCTION | {"reduction": "MathTest.mean_red(x)"}),
    ("m2_functions", {"kind": "Layout"}),
    ("m2_graph", {"tf": "x", "shape_x": ""}),
    ("m2_graph", {"tf": "x.sum()", "shape_x": "0, 2"}),
    ("m3_tiling", {"tiling_order": "element by element"}),
    ("m3_tiling", {"n": "16", "tile": "5"}),
    ("m3_tiling", {"n": "999", "tile": "-1", "tiling_order": "x"}),
    ("m3_grid", {"grid_kernel": "reduce"}),
    ("m3_grid", {"grid_kernel": "matmul"}),
    ("m3_grid", {"grid_kernel": "x", "grid_missing": "x", "grid_threads": "x"}),
    ("m4_convolution", {"conv_dims": "1D", "conv_reverse": "true", "conv_image_1": "two channels"}),
    ("m4_convolution", {"conv_form": "general"}),
    ("m4_convolution", {"conv_image_2": "three colors", "conv_weight_2": "[[[[1]],[[2]],[[3]]],[[[1]],[[1]],[[1]]]]"}),
    ("m4_convolution", {"conv_dims": "x", "conv_form": "x", "conv_image_2": "x", "conv_reverse": "x"}),
    ("m4_pooling", {"pool_image_2": "a digit", "pool_digit": "7"}),
    ("m4_pooling", {"pool_direction": "backward", "pool_kind": "average", "pool_rows": "1", "pool_columns": "3"}),
    ("m4_softmax", {"softmax_temperature": "0.001", "softmax_dtype": "float32", "softmax_classes": "6"}),
    ("m4_dropout", {"drop_rate": "1.0", "drop_rescaled": "true"}),
]


@pytest.mark.parametrize(("page", "query"), FINISHED)
def test_a_page_shows_finished_code_without_a_notice_of_trouble(page, query):
    app = open_page(page, **query)
    assert len(app.title) == 1
    assert not app.error
    assert not app.warning
    assert not [text for text in texts(app.info) if "not written" in text or page in WITH_SOURCE]
    assert_that_the_page_continues(app, page)


UNWRITTEN = [
    ("m0_operators", "minitorch.operators.sigmoid", "0.1", "minitorch/operators.py", {}),
    ("m0_operators", "minitorch.operators.relu_back", "0.1", "minitorch/operators.py", {"operator": "relu"}),
    ("m0_operators", "minitorch.operators.zipWith", "0.3", "minitorch/operators.py", {"operator": "zipWith"}),
    ("m0_modules", "minitorch.module.Module.named_parameters", "0.4", "minitorch/module.py", {}),
    ("m0_manual", "project.run_manual.separating_line", "0.5", "project/run_manual.py", {}),
    ("m1_derivative", "minitorch.central_difference", "1.1", "minitorch/autodiff.py", {}),
    ("m1_derivative", "minitorch.scalar.Sigmoid.forward", "1.2", "minitorch/scalar_functions.py", {"fx": "sigmoid(x)"}),
    ("m1_graph", "minitorch.scalar.Mul.forward", "1.2", "minitorch/scalar_functions.py", {}),
    ("m1_graph", "project.lab.explorers.graph.topological_sort", "1.4", "minitorch/autodiff.py", {}),
    ("m1_graph", "minitorch.scalar.backpropagate", "1.4", "minitorch/autodiff.py", {}),
    ("m1_trace", "minitorch.scalar.Scalar.chain_rule", "1.3", "minitorch/scalar.py", {}),
    ("m1_training", "project.run_scalar.Network.__init__", "1.5", "project/run_scalar.py", {}),
    ("m1_training", "project.run_scalar.Linear.forward", "1.5", "project/run_scalar.py", {}),
    ("m1_training", "minitorch.scalar.ReLU.forward", "1.2", "minitorch/scalar_functions.py", {}),
    ("m2_strides", "minitorch.TensorData.permute", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_strides", f"{STRIDES}.index_to_position", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_strides", f"{STRIDES}.to_index", "2.1", "minitorch/tensor_data.py", {}),
    ("m2_broadcasting", f"{BROADCASTING}.shape_broadcast", "2.2", "minitorch/tensor_data.py", {}),
    ("m2_broadcasting", f"{BROADCASTING}.broadcast_index", "2.2", "minitorch/tensor_data.py", {}),
    ("m2_functions", "minitorch.Tensor.sigmoid", "2.3b", "minitorch/tensor.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Sigmoid.forward", "2.3", "minitorch/tensor_functions.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Sigmoid.backward", "2.4", "minitorch/tensor_functions.py", {}),
    ("m2_functions", "project.lab.explorers.tensor_sandbox.central_difference", "1.1", "minitorch/autodiff.py", {}),
    ("m2_functions", f"{FUNCTIONS}.Mul.forward", "2.3", "minitorch/tensor_functions.py", TWO),
    ("m2_functions", f"{FUNCTIONS}.Mul.backward", "2.4", "minitorch/tensor_functions.py", TWO),
    ("m2_functions", f"{FUNCTIONS}.Sum.backward", "2.4", "minitorch/tensor_functions.py", REDUCTION),
    ("m2_functions", "minitorch.core.gradients.central_difference", "1.1", "minitorch/autodiff.py", REDUCTION),
    ("m2_functions", "minitorch.Tensor.permute", "2.3b", "minitorch/tensor.py", {"kind": "Layout", "layout": "x.permute(1, 0)"}),
    ("m2_graph", f"{FUNCTIONS}.Mul.forward", "2.3", "minitorch/tensor_functions.py", {}),
    ("m2_graph", f"{FUNCTIONS}.Mul.backward", "2.4", "minitorch/tensor_functions.py", {}),
    ("m2_graph", "project.lab.explorers.graph.topological_sort", "1.4", "minitorch/autodiff.py", {}),
    ("m2_graph", "minitorch.tensor.backpropagate", "1.4", "minitorch/autodiff.py", {}),
    ("m2_training", "project.run_tensor.Network.__init__", "2.5", "project/run_tensor.py", {}),
    ("m2_training", "project.run_tensor.Linear.forward", "2.5", "project/run_tensor.py", {}),
    ("m2_training", "minitorch.Tensor.__rmul__", "2.3b", "minitorch/tensor.py", {}),
    ("m2_training", "minitorch.Tensor.relu", "2.3b", "minitorch/tensor.py", {}),
    ("m3_training", "project.run_fast_tensor.Linear.forward", "3.5", "project/run_fast_tensor.py", {}),
    ("m4_convolution", "minitorch.conv1d", "4.1", "minitorch/fast_conv.py", {"conv_dims": "1D"}),
    ("m4_convolution", "minitorch.conv2d", "4.2", "minitorch/fast_conv.py", {}),
    ("m4_pooling", f"{FUNCTIONAL}.tile", "4.3", "minitorch/nn/functional.py", {"pool_kind": "average"}),
    ("m4_pooling", f"{FUNCTIONAL}.maxpool2d", "4.4", "minitorch/nn/functional.py", {}),
    ("m4_softmax", f"{FUNCTIONAL}.logsoftmax", "4.4", "minitorch/nn/functional.py", {}),
    ("m4_dropout", f"{FUNCTIONAL}.dropout", "4.4", "minitorch/nn/functional.py", {}),
]


@pytest.mark.parametrize(("page", "target", "task", "file", "query"), UNWRITTEN)
def test_unwritten_code_becomes_one_card_with_task_file_and_command(monkeypatch, page, target, task, file, query):
    app = open_with(monkeypatch, page, target, unwritten(task), file, **query)
    (card,) = [text for text in texts(app.info) if "not written yet\\:" in text]
    title, body = card.split("\n\n", 1)
    assert title.replace("\\", "") == f"**Task {task} is not written yet: open {file}, line 2**"
    assert body.startswith("Book: ")
    assert f"`course test {task}`" in body
    assert course().task(task).page in body
    assert not app.error
    assert not app.warning
    assert_that_the_page_continues(app, page)


RAISING = [  # and the parameters of the function, and the arguments that the page shows
    ("m0_operators", "minitorch.operators.sigmoid", "minitorch/operators.py", "x", "with `x = 1.0`", {}),
    ("m2_strides", f"{STRIDES}.index_to_position", "minitorch/tensor_data.py", "index, strides", "with `index = (0, 0)", {}),
    ("m2_strides", "minitorch.TensorData.permute", "minitorch/tensor_data.py", "self, *order", "with `self = TensorData(sh", {}),
    ("m2_broadcasting", f"{BROADCASTING}.shape_broadcast", "minitorch/tensor_data.py", "a, b", "with `a = (2, 1), b = (3,)`", {}),
    ("m2_broadcasting", f"{BROADCASTING}.broadcast_index", "minitorch/tensor_data.py", "i, big, *_", "with `i = (0, 0), big = (2, 3)`", {}),
    ("m2_functions", f"{FUNCTIONS}.Mul.forward", "minitorch/tensor_functions.py", "*_", "in `forward`", TWO),
    ("m2_functions", f"{FUNCTIONS}.Mul.backward", "minitorch/tensor_functions.py", "*_", "in `backward`", TWO),
    ("m2_graph", f"{FUNCTIONS}.Mul.forward", "minitorch/tensor_functions.py", "*_", "in `forward`", {}),
    ("m2_graph", f"{FUNCTIONS}.Mul.backward", "minitorch/tensor_functions.py", "*_", "in `backward`", {}),
    ("m4_convolution", "minitorch.fast_conv.convolve", "minitorch/fast_conv.py", "*_, **__", "in `convolve`", {"conv_reverse": "true"}),
    ("m4_pooling", f"{FUNCTIONAL}.tile", "minitorch/nn/functional.py", "*_", "in `tile`", {}),
    ("m4_softmax", f"{FUNCTIONAL}.softmax", "minitorch/nn/functional.py", "*_", "in `softmax`", {}),
    ("m4_dropout", f"{FUNCTIONAL}.dropout", "minitorch/nn/functional.py", "*_, **__", "in `dropout`", {}),
]


@pytest.mark.parametrize(("page", "target", "file", "parameters", "call", "query"), RAISING)
def test_an_error_is_shown_with_its_file_line_and_arguments(monkeypatch, page, target, file, parameters, call, query):
    app = open_with(monkeypatch, page, target, "return 1 / 0", file, parameters, **query)
    (card,) = [error.value.replace("\\", "") for error in app.error]
    assert card.startswith(f"**{file}, line 2: ZeroDivisionError: division by zero**")
    assert call in card
    assert_that_the_page_continues(app, page)


NOTHING, ONE_GRADIENT = "Mul.forward expected to return a Tensor, got None", "Mul.backward expected to return 2 gradients"
PRODUCT = "x * y expected to return a Tensor, got NoneType; is the return missing?"
AGAIN = "x = inputs[0][:, :, 1::2, 1::2]; return x * 2 - x.detach()"  # its values are right
NAIVE = "return inputs[0].exp() / inputs[0].exp().sum(1)"
OVERFLOW = "softmax(tensor([[2000, 1000, 0, -1000]]), 1) expected 1 at [0], got nan"
WRONG = [
    ("m2_broadcasting", f"{BROADCASTING}.shape_broadcast", "return max(*inputs)", "expected (2, 3), got", {}),
    ("m2_functions", f"{FUNCTIONS}.Mul.forward", "return None", NOTHING, TWO),
    ("m2_functions", f"{FUNCTIONS}.Mul.backward", "return inputs[1]", ONE_GRADIENT, TWO),
    ("m2_functions", "minitorch.Tensor.__mul__", "return None", PRODUCT, TWO),
    ("m2_graph", f"{FUNCTIONS}.Mul.forward", "return None", NOTHING, {}),
    ("m2_graph", f"{FUNCTIONS}.Mul.backward", "return inputs[1]", ONE_GRADIENT, {}),
    ("m2_graph", "minitorch.Tensor.__mul__", "return None", PRODUCT, {"tf": "x * y"}),
    ("m4_convolution", "minitorch.conv2d", "return inputs[1]", "expected to return a tensor of shape (1, 1, 6, 6), got (1, 1, 3, 3)", {}),
    ("m4_pooling", f"{FUNCTIONAL}.tile", "return inputs[0], 2, 3", "tensor of shape (1, 1, 2, 3, 4), got (1, 1, 4, 6)", {}),
    ("m4_pooling", f"{FUNCTIONAL}.maxpool2d", AGAIN, "the backward pass of", {}),
    ("m4_softmax", f"{FUNCTIONAL}.logsoftmax", "return inputs[0].sum(1)", "a tensor of shape (1, 4), got (1, 1)", {}),
    ("m4_softmax", f"{FUNCTIONAL}.softmax", NAIVE, OVERFLOW, {"softmax_temperature": "0.001"}),
    ("m4_dropout", f"{FUNCTIONAL}.dropout", "return inputs[0] * 2", "expected 1 or 0 at [0, 1], got 2; do not rescale", {}),
    ("m4_dropout", f"{FUNCTIONAL}.dropout", "return inputs[0] * 0", "ignore=True) expected 1 at [0, 1]", {"drop_mode": "evaluation"}),
]


@pytest.mark.parametrize(("page", "target", "body", "says", "query"), WRONG)
def test_a_wrong_result_is_reported(monkeypatch, page, target, body, says, query):
    app = open_with(monkeypatch, page, target, body, **query)
    assert len(app.error) == 1
    assert says in page_text(app)
    assert_that_the_page_continues(app, page)


def test_incompatible_shapes_are_reported_with_the_student_s_line(monkeypatch):
    body = "return inputs[1] * inputs[0].weights.value"
    app = open_with(monkeypatch, "m2_training", "project.run_tensor.Linear.forward", body, "project/run_tensor.py")
    shown = app.error[0].value.replace("\\", "")
    assert "IndexingError: Mul: shapes (400, 2) and (2, 10) do not broadcast" in shown  # the 20 × 20 cells of the picture
    assert "in `forward`" in shown


IMPORT = '__import__("os")'
DOT = {"conv_image_2": "one dot"}
CHANNELS = "expected a weight with 1 input channels, as in the image, got 2 (weight of shape (1, 2, 1, 1))"
DILATED = {"conv_dilation": "3", "conv_weight_2": "[[1], [1], [1]]"}
GENERAL = {"conv_form": "general", "conv_stride": "3", "conv_padding": "0", "conv_weight_2": "[[1]]", "conv_image_2": "a slope"}
REFUSED = [
    ("m1_graph", {"f": IMPORT}, "unknown function"),
    ("m1_derivative", {"fx": IMPORT}, "unknown function"),
    ("m1_trace", {"trace_f": IMPORT}, "unknown function"),
    ("m2_functions", REDUCTION | {"shape": "2, x"}, "expected integers separated by commas, got 'x'"),
    ("m2_functions", {"kind": "Layout", "shape": "9, 9"}, "expected at most 64 elements, got 81"),
    ("m2_functions", {"kind": "Layout", "layout": "x.foo()"}, "unknown method 'foo'"),
    ("m2_graph", {"shape_y": "1,1,1,1,1"}, "Shape of y: expected a shape of 0 to 4 dimensions, got 5"),
    ("m2_graph", {"tf": IMPORT}, "unknown function '__import__'"),
    ("m2_graph", {"tf": "x.numpy()"}, "unknown method 'numpy'"),
    ("m2_strides", {"shape": "2, three"}, "expected integers separated by commas"),
    ("m2_strides", {"steps": "x.__class__"}, "expected x followed by operations"),
    ("m2_strides", {"steps": "x.view(f())"}, "view expected integers"),
    ("m2_strides", {"shape": "2, 4", "steps": "x[1:].expand(2, 3)"}, "does not fit shape"),
    ("m2_broadcasting", {"a": IMPORT}, "expected integers separated by commas"),
    ("m2_broadcasting", {"b": "1, 1, 1, 1, 1, 1, 1"}, "expected a shape of 0 to 6 dimensions"),
    ("m3_grid", {"grid_shape": "2, x"}, "expected integers"),
    ("m3_grid", {"grid_shape": "9, 9"}, "expected at most 64 elements"),
    ("m3_grid", {"grid_shape": "()"}, "1 to 4 dim"),
    ("m4_convolution", DOT | {"conv_weight_2": "[[[[1]], [[2]]]]"}, CHANNELS),
    ("m4_convolution", DOT | {"conv_weight_2": "[[1], [2]"}, "expected numbers in brackets"),
    ("m4_convolution", GENERAL | DILATED, "expected a window smaller than the padded image"),
    ("m4_pooling", {"pool_rows": "5"}, "expected a window of at most 4 by 6, got 5 by 2"),
    ("m4_sentiment", {"sentiment_train": "1e5"}, "train expected at most 800 sentences, as many as there are, got 100000"),
    ("m4_sentiment", {"sentiment_train": "800", "sentiment_valid": "300"}, "valid expected at most 0 sentences"),
    ("m4_dropout", {"drop_image_2": "typed", "drop_typed_2": "[[1, 2], [3]]"}, "Enter numbers such as"),
    ("m4_dropout", {"drop_image_2": "typed", "drop_typed_2": "[[1]] * 99"}, "Enter numbers such as"),
    ("m4_dropout", {"drop_image_2": "typed", "drop_typed_2": "[[[1]], [[1]], [[1]], [[1]]]"}, "Enter numbers such as"),
    ("m6_language_model", {"language_source": "load a checkpoint", "language_file": "/none.safetensors"}, "expected a checkpoint at"),
]


@pytest.mark.parametrize(("page", "query", "says"), REFUSED)
def test_invalid_input_is_refused_with_a_message(page, query, says):
    app = open_page(page, **query)
    assert len(app.error) == 1
    assert says in page_text(app)


EXPLAINED = [
    ("m1_graph", {"f": "1 + 2"}, "no variable"),
    ("m1_trace", {"trace_f": "1 + 2"}, "no variable"),
    ("m2_functions", {"kind": "Layout", "layout": "2"}, "nothing is recorded"),
    ("m2_graph", {"tf": "1 + 2"}, "nothing is recorded"),
    ("m2_strides", {"shape": "2, 3", "steps": "x[5:]"}, "no elements"),
    ("m2_broadcasting", {"a": "0, 3", "b": "1, 3"}, "no elements"),
    ("m2_broadcasting", {"a": "64, 1, 28", "b": "10, 1"}, "at most 60 elements"),
    ("m3_grid", {"grid_shape": "0, 3"}, "The tensor has no elements, so no block is launched."),
    ("m4_pooling", {"pool_image_2": "draw"}, "Draw a digit on the pad. It is converted to an image of 8 by 8 pixels."),
]


@pytest.mark.parametrize(("page", "query", "says"), EXPLAINED)
def test_valid_input_without_a_result_is_explained(page, query, says):
    app = open_page(page, **query)
    assert says in app.info[0].value
    assert not app.error


@pytest.mark.parametrize(("number", "rows", "seed"), [("1e400", 500, 9999), ("-inf", 1, 0), ("9999999", 500, 9999), ("nan", 50, 0)])
def test_a_number_of_the_address_that_is_infinite_or_none_is_like_one_out_of_range(number, rows, seed):
    app = open_page("m0_manual", points=number)
    assert app.number_input(key="points").value == rows
    assert app.query_params.get("points") == (str(rows) if rows != 50 else None)
    assert open_page("m4_dropout", drop_seed=number).number_input(key="drop_seed").value == seed


@pytest.mark.parametrize(("number", "value"), [("1e400", 1_000_000), ("nan", None)])
def test_a_field_that_may_be_empty_treats_such_a_number_alike(number, value):
    assert open_page("m4_images", images_limit=number).number_input(key="images_limit").value == value


TOWER = {"module": "Tower: two levels of children", "where": "base", "mode": "eval()"}
VIEW, ROWS = {"shape": "2, 3", "steps": "x[1:].expand(2, 3)"}, {"shape": "1, 3", "steps": "x.expand(2, 3)"}
CELL, POSITION = {"cell_0": 1, "cell_1": 2}, {"pick": "a storage position", "position": 1}
MISMATCH, OUTER = {"a": "3, 4", "b": "3"}, {"a": "2, 1", "b": "3"}
BACKWARD = OUTER | {"direction": "backward"}
SUMMED = "The gradient of a[0, 0] is the sum of the gradients of the result at [0, 0], [0, 1], [0, 2]."
REDUCE, MATMUL = {"grid_shape": "4, 5", "grid_kernel": "reduce"}, {"grid_shape": "4, 5", "grid_kernel": "matmul"}
THREAD, THREAD_2D = {"grid_block": 2, "grid_thread": 3}, {"block_x": 1, "thread_y": 2}
AHEAD = THREAD_2D | {"grid_ahead": "rows"}
REPEATED = "The weight has one channel, which is repeated for all 3 channels of the image."
CROPPED = "A window of 3 by 2 does not divide an image of 4 by 6, so `tile` must raise an error. This page crops the image to 3 by 6."
TIES = {"pool_direction": "backward", "pool_image_2": "a box"}
RULE = "In 5 of 9 windows, several values are equal to the maximum: your code gives each of them the whole gradient."
SHOWN = [  # with these parameters in the address, after these changes on the page
    ("m0_operators", {"operator": "addLists"}, {}, "addLists(a, b) = [11.0, 22.0, 33.0]"),
    ("m0_modules", {}, TOWER, "5 modules, 2 in training mode, 3 in evaluation mode."),
    ("m1_derivative", {"fx": "sqrt(x)"}, {"at": 0.05, "epsilon": 0.001}, "Error of the central difference against epsilon"),
    ("m1_derivative", {"fx": "sqrt(x - 3)"}, {}, "The function is undefined at x = 1"),
    ("m1_derivative", {"fx": "sqrt(x - 3)"}, {"at": 3.0}, "undefined within epsilon of x = 3"),
    ("m1_trace", {}, {}, "with respect to all inputs: 5.5000 for x1, 1.7163 for x2"),
    ("m1_trace", {}, {"seed_input": "x2"}, "One pass gives the derivative with respect to x2: 1.7163."),
    ("m2_functions", TWO | {"two": "x * y"}, {}, "At x = 1, y = 2, the value is **2**"),
    ("m2_strides", VIEW, {}, "shape **(2, 3)**, strides **(0, 1)**, offset **3**"),
    ("m2_strides", VIEW, {}, "`.expand(2, 3)` :blue-badge[view] :violet-badge[not contiguous]"),
    ("m2_strides", VIEW, {}, "\n         = 3 + 0·0 + 0·1\n"),
    ("m2_strides", ROWS, CELL, "Element 5 of the result, at index [1, 2], is at storage position 2. Its value is 2."),
    ("m2_strides", ROWS, CELL, "The same position is also read by [0, 2]."),
    ("m2_strides", ROWS, POSITION, "Storage position 1 holds 1. It is read by 2 cells of the result: [0, 1], [1, 1]."),
    ("m2_broadcasting", MISMATCH, {}, "dimension -1: the sizes 4 and 3 differ, and neither is 1"),
    ("m2_broadcasting", MISMATCH, {}, "correctly raises an error"),
    ("m2_broadcasting", MISMATCH, {"b": "3, 1"}, "returns **(3, 4)**"),
    ("m2_broadcasting", {"a": "64, 1, 28", "b": "10, 1"}, {}, "returns **(64, 10, 28)**"),
    ("m2_broadcasting", OUTER, {"at_1": 2}, "result[0, 2] = a[0, 0] + b[2]."),
    ("m2_broadcasting", OUTER, {"at_1": 2, "of": "b", "at_0": 1}, "b[1] is read twice, for the results at [0, 1], [1, 1]."),
    ("m2_broadcasting", BACKWARD, {"of": "a"}, SUMMED),
    ("m2_broadcasting", BACKWARD, {"of": "a"}, "summed over dimension -2, which b does not have"),
    ("m3_grid", {"grid_shape": "4, 5"}, THREAD, "= 2 · 8 + 3\n  = 19"),
    ("m3_grid", REDUCE, THREAD | {"tree_step": 1}, "19 < 20: block[3] = a[19] = 20"),
    ("m3_grid", MATMUL, THREAD_2D, "row    = blockIdx.x · BLOCK_DIM + threadIdx.y = 1 · 4 + 2 = 6"),
    ("m3_grid", MATMUL, AHEAD, "row    = blockIdx.x · BLOCK_DIM + threadIdx.x = 1 · 4 + 0 = 4"),
    ("m3_grid", MATMUL, AHEAD, "a row of out apart"),
    ("m4_convolution", {"conv_image_2": "three colors"}, {}, REPEATED),
    ("m4_convolution", {}, {}, "The result comes from your `conv2d`"),
    ("m4_convolution", GENERAL, {"conv_step": 0}, "The result will have shape (1, 2, 2)"),
    ("m4_convolution", GENERAL, {}, "No window covers rows 1, 2 and columns 1, 2, 4, 5 of the image"),
    ("m4_pooling", {"pool_image_2": "a digit", "pool_digit": "6"}, {}, "label 6"),
    ("m4_pooling", {"pool_rows": "3"}, {}, CROPPED),
    ("m4_pooling", TIES, {}, RULE),
    ("m4_dropout", {"drop_mode": "evaluation"}, {}, "24 of 24 values are kept, 0 dropped. The sum changes from 96 to 96."),
    ("m4_dropout", {"drop_mode": "evaluation"}, {}, "In evaluation there is no mask"),
    ("m4_dropout", {"drop_rate": "0.5"}, {}, "in theory 48 and 11"),
    ("m4_dropout", {"drop_rate": "0.5"}, {"drop_rescaled": True}, "in theory 96 and 22"),
]


@pytest.mark.parametrize(("page", "query", "changes", "says"), SHOWN)
def test_a_page_tells_what_it_shows(page, query, changes, says):
    app = fill(open_page(page, **query), **changes)
    assert says in page_text(app)
    assert not app.error
    assert not app.exception


@pytest.mark.parametrize(
    ("page", "query", "example", "fields"),
    [
        ("m1_graph", {"moment": "2"}, {"example": "A shared subexpression"}, {"f": "(x + y) * (x + y)", "moment": 1}),
        ("m2_graph", {"step": "2"}, {"tensor_example": "A transpose"}, {"shape_y": "3, 2", "shape_z": "", "step": 1}),
        ("m2_functions", {"kind": "Layout"}, {"layout_example": "x.flatten()"}, {"layout": "x.flatten()"}),
        ("m2_strides", {}, {"example_view": "A row, repeated three times"}, {"shape": "1, 4", "steps": "x.expand(3, 4)"}),
        ("m4_convolution", DOT, {"conv_weight_2_example": "difference"}, {"conv_weight_2": "[[-1, 1]]"}),
    ],
)
def test_an_example_fills_the_fields(page, query, example, fields):
    app = fill(open_page(page, **query), **example)
    assert {key: app.session_state[key] for key in fields} == fields


# Each function of each task raises, or returns something wrong

RAISED = 'raise ValueError("broken on purpose")'


MAIN = [  # a page of each module: a function that it calls, the file of the function, and the button that calls it
    ("playground", "project.run_scalar.Linear.forward", "project/run_scalar.py", ""),
    ("m0_operators", "minitorch.operators.sigmoid", "minitorch/operators.py", ""),
    ("m1_training", "minitorch.scalar.ReLU.backward", "minitorch/scalar_functions.py", "step"),
    ("m2_strides", "minitorch.TensorData.permute", "minitorch/tensor_data.py", ""),
    ("m2_training", "project.run_tensor.Linear.forward", "project/run_tensor.py", "step"),
    ("m3_training", "project.run_fast_tensor.Linear.forward", "project/run_fast_tensor.py", "step"),
    ("m4_softmax", f"{FUNCTIONAL}.softmax", "minitorch/nn/functional.py", ""),
]


@pytest.mark.parametrize(("page", "target", "file", "start"), MAIN)
@pytest.mark.parametrize("body", [RAISED, "return None", "return (1.0, 2.0, 3.0)"])
def test_the_main_page_of_each_module_reports_a_wrong_function(monkeypatch, page, target, file, start, body):
    monkeypatch.setattr("project.lab.kernels.check", lambda: None)
    app = open_with(monkeypatch, page, target, body, file)
    if start and not app.error:
        app.button(key=start).click().run()
    assert not app.exception
    assert len(app.error) == 1
    if body == RAISED:
        assert f"{file}, line 2: ValueError: broken on purpose" in app.error[0].value.replace("\\", "")
