"""The table of a network: shapes, parameters and operations counted by hand; the network stays unchanged."""

import re

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, Scalar, float32, int64, manual_seed, rand, tensor
from minitorch.nn import Conv2d, Dropout, Embedding, Flatten, Linear, Module, Parameter, Sequential, summary
from tests.nn.checks import refuses


class CallsTwice(Module):
    """Calls its layer twice, counts the calls in a buffer, and has a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.scale = Parameter(tensor([1.0, 2.0]))
        self.linear = Linear(2, 2, bias=False)
        self.tied = Linear(2, 2)
        self.tied.weight = self.linear.weight
        self.drop = Dropout(0.5)
        self.register_buffer("calls", tensor([0], dtype=int64))
        self.register_buffer("seen", tensor([0.0, 0.0]))

    def forward(self, x):
        self.calls[0] = self.calls[0] + 1
        self.seen = self.seen + 1
        return {"a": self.drop(self.linear(self.linear(x)) * self.scale.value), "b": [rand((1,)), "text"]}


def test_the_table_of_a_network_is_pinned():
    model = Sequential(Conv2d(1, 2, 3), Flatten(), Linear(8, 3))
    model[2].bias.value.requires_grad_(False)
    # Conv2d: 2 · 9 weights and 2 biases, 2 · 9 FLOPs for each of 5 · 2 · 2 · 2 elements. Linear: 8 · 3 + 3, and 2 · 8 for each of 5 · 3.
    assert summary(model, (5, 1, 4, 4)).splitlines() == [
        "Module                                 Output shape   Parameters           FLOPs",
        "-" * 80,
        "Sequential                                   (5, 3)            -               -",
        "0 Conv2d                               (5, 2, 2, 2)           20             720",
        "1 Flatten                                    (5, 8)            -               -",
        "2 Linear                                     (5, 3)           27             240",
        "-" * 80,
        "Parameters: 47, of which 44 are trained",
        "FLOPs: 960",
        "Bytes: parameters 376, buffers 0, input 640, outputs 760",
    ]


def test_calls_add_up_and_a_shared_parameter_counts_once():
    lines = summary(CallsTwice(), (4, 2)).splitlines()
    assert [line.split() for line in lines[2:6]] == [
        ["CallsTwice", "(4,", "2),", "(1,)", "2", "-"],
        ["linear", "Linear", "2×", "(4,", "2)", "4", "64"],  # in each call 2 · 2 for each of 4 · 2 elements
        ["tied", "Linear", "-", "2", "-"],
        ["drop", "Dropout", "(4,", "2)", "-", "-"],
    ]
    assert lines[7:] == ["Parameters: 8, of which 8 are trained", "FLOPs: 64", "Bytes: parameters 64, buffers 24, input 64, outputs 192"]


def test_modes_buffers_hooks_gradients_and_the_random_state_are_unchanged():
    model = CallsTwice()
    model.drop.training = False
    calls, seen = model.calls, model.seen
    seen[0] = 5.0
    manual_seed(3)
    expected = rand((2,)).tolist()
    manual_seed(3)
    summary(model, (4, 2))
    assert rand((2,)).tolist() == expected
    assert (model.calls is calls, model.seen is seen, calls.tolist(), seen.tolist()) == (True, True, [0], [5.0, 0.0])
    assert [module.training for module in model.modules()] == [True, True, True, False]
    assert all(parameter.value.grad is None and parameter.value.requires_grad for parameter in model.parameters())
    assert not any(module._hooks for module in model.modules())


def test_a_failing_network_is_unchanged():
    model = Sequential(Linear(2, 3), Linear(2, 3))
    with pytest.raises(ValueError, match=r"^linear expected"):
        summary(model, (4, 2))
    assert model.training
    assert all(not module._hooks for module in model.modules())


def test_the_input_has_the_network_s_dtype_and_backend_or_the_requested_dtype():
    class Checked(Module):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(tensor([1.0], FastBackend, dtype=float32))

        def forward(self, x, y):
            assert not self.training
            assert {(x.dtype, x.backend), (y.dtype, y.backend)} == {(float32, FastBackend)}
            assert (x.shape, y.shape) == ((2, 3), (4,))
            return x * self.weight.value

    assert "(2, 3)" in summary(Checked(), [(2, 3), (4,)])
    assert "(2, 3, 4)" in summary(Embedding(10, 4), (2, 3), dtype=int64)
    assert "Parameters: 0, of which 0 are trained" in summary(Flatten(), (2, 3, 4))


def test_modules_of_the_course_are_in_the_table_with_their_children():
    class CourseModule(minitorch.Module):
        def __init__(self):
            super().__init__()
            self.inner = Linear(2, 3)

        def forward(self, x):
            return self.inner(x)

    lines = summary(CourseModule(), (4, 2)).splitlines()
    assert [line.split() for line in lines[2:4]] == [["CourseModule", "-", "-", "-"], ["inner", "Linear", "(4,", "3)", "9", "48"]]


def test_every_line_fits_80_characters_and_has_no_color():
    deep = Linear(10, 10)
    for _ in range(12):
        deep = Sequential({"a_rather_long_name": deep})
    text = summary(deep, (10_000, 10))
    assert max(map(len, text.splitlines())) == 80
    assert text.count("…") == 11  # 30 characters hold one name and its class, not two
    assert set(re.sub(r"[ -~…×]", "", text)) == {"\n"}, "no escape codes"
    row = text.splitlines()[14]
    assert (row[:30], len(row)) == ("a_rather_long_…ong_name Linear", 80)


def test_invalid_networks_and_shapes_are_refused():
    refuses(TypeError, "… expected a module whose parameters are tensors, got list; pass the network itself", summary, [], (1,))
    scalars = minitorch.Module()
    scalars.add_parameter("w", Scalar(1.0))
    refuses(TypeError, "… expected a module whose parameters are tensors, got Module; pass the network itself", summary, scalars, (1,))
    assert "FLOPs: 2" in summary(Linear(1, 1), np.array([1, 1])), "a shape may be an array"
    for shape in (3, "ab", (1, 2.5), [(1,), None]):
        refuses(TypeError, f"… expected the shape of the input, such as (1, 3, 32, 32), got {shape!r}", summary, Flatten(), shape)
    with pytest.raises(ValueError, match=r"^zeros expected sizes of at least 0, got \(-1, 2\)$"):
        summary(Linear(2, 1), (-1, 2))
