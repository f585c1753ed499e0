"""The computations of the stride explorer: layouts, positions, and messages about wrong ones."""

import re

import numpy as np
import pytest

from minitorch import TensorData, tensor
from project.lab.cards import WrongResult
from project.lab.explorers import strides
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_steps


def run_steps(shape, text):
    return strides.run(shape, parse_steps(text))


def layout(stage):
    return stage.data.shape, stage.data.strides, stage.data.offset


@pytest.mark.parametrize(
    ("shape", "text", "wanted", "made"),
    [
        ((3, 4), "x.permute(1, 0)", ((4, 3), (1, 4), 0), "view"),
        ((3, 4), "x.permute(-1, 0)", ((4, 3), (1, 4), 0), "view"),
        ((2, 3, 4), "x.transpose(0, -1)", ((4, 3, 2), (1, 4, 12), 0), "view"),
        ((3, 4), "x[1:, ::2]", ((2, 2), (4, 2), 4), "view"),
        ((3, 4), "x[2]", ((4,), (1,), 8), "view"),
        ((3, 4), "x[None, ..., 1]", ((1, 3), (0, 4), 1), "view"),
        ((3, 4), "x.view(2, -1)", ((2, 6), (6, 1), 0), "view"),
        ((1, 4), "x.expand(3, -1)", ((3, 4), (0, 1), 0), "view"),
        ((4,), "x.expand(2, 3, 4)", ((2, 3, 4), (0, 0, 1), 0), "view"),
        ((3, 4), "x[::-1]", ((3, 4), (4, 1), 0), "copy"),
        ((3, 4), "x[[2, 0]]", ((2, 4), (4, 1), 0), "copy"),
        ((3, 4), "x[:, 1].contiguous()", ((3,), (1,), 0), "copy"),
        ((3, 4), "x.contiguous()", ((3, 4), (4, 1), 0), "itself"),
        ((3, 4), "x[5:]", ((0, 4), (4, 1), 0), "view"),
        ((0, 4), "x.view(-1, 4)", ((0, 4), (4, 1), 0), "view"),
    ],
)
def test_each_step_gives_its_layout(shape, text, wanted, made):
    stage = run_steps(shape, text).result
    assert layout(stage) == wanted
    assert stage.made == made
    assert not stage.wrong


@pytest.mark.parametrize(
    "text",
    [
        "x.permute(2, 0, 1)[1:, ::-1]",
        "x[:, [2, 0, 0]].transpose(1, 2)[None, ..., ::2]",
        "x.view(6, 4)[::2].contiguous().view(2, 6)",
        "x[1]",
    ],
)
def test_a_chain_gives_the_same_result_as_a_tensor(text):
    x = tensor(np.arange(24).reshape(2, 3, 4))
    expected = eval(text, {"x": x})
    chain = run_steps((2, 3, 4), text)
    assert [[place.value, place.expected] for place in strides.places(chain.result)] == [[v, v] for v in expected.numpy().reshape(-1)]
    assert layout(chain.result)[:2] == (expected.shape, expected.stride())


def test_steps_that_copy_are_named():
    text = "x[::-1].permute(1, 0).contiguous()"
    expected = "The result has its own storage: [::-1] and .contiguous() made a copy. Changing it does not change x."
    assert run_steps((3, 4), text).sharing(parse_steps(text)) == expected
    assert run_steps((3, 4), "x[1:]").sharing(parse_steps("x[1:]")).startswith("The result shares the storage of x")
    assert run_steps((3, 4), "x").sharing([]) == "There are no operations: this is x itself."


ONLY_ONES = "only sizes of 1 can be expanded, and dimensions added in front"
INVALID_STEPS = {
    ".permute(0, 0)": "expected each dimension from 0 to 1 once, got (0, 0)",
    ".permute(0)": "expected each dimension from 0 to 1 once, got (0,)",
    ".transpose(0, 2)": "expected two dimensions from 0 to 1, got (0, 2)",
    ".transpose(-3, 0)": "expected two dimensions from 0 to 1, got (-3, 0)",
    ".view(-2, 3)": "expected sizes of at least 0, and at most one -1, got (-2, 3)",
    ".expand(2, 4)": f"{ONLY_ONES}, got (2, 4)",
    ".expand(3)": f"{ONLY_ONES}, got (3,)",
    ".expand(-1, 2, 3)": f"{ONLY_ONES}, got (-1, 2, 3)",
    "[1, 2]": "it selects one element, which is a plain number; write a slice such as 1:2, or select the cell below",
}


@pytest.mark.parametrize(
    ("shape", "text", "refusal"),
    [
        *[((2, 3), f"x{step}", f"{step} does not fit shape (2, 3): {reason}") for step, reason in INVALID_STEPS.items()],
        ((1,), "x.expand(121)", ".expand(121) does not fit shape (1,): expected at most 120 elements, got 121"),
        ((2,), "x" + "[None]" * 6, "[None] gives shape (1, 1, 1, 1, 1, 1, 2); at most 6 dimensions and 120 elements can be drawn"),
    ],
)
def test_an_invalid_step_and_a_result_that_is_too_large_to_draw_are_refused_with_a_message(shape, text, refusal):
    assert run_steps(shape, text).refusal == refusal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x.permute(1, 0).view(6)", "call contiguous() first"),
        ("x.view(4)", "6 elements"),
        ("x[2]", "index 2 is out of range for dimension 0 of shape (2, 3)"),
        ("x[:, :, :]", "expected at most 2 indices"),
        ("x[[5]]", "does not fit shape (2, 3)"),
    ],
)
def test_a_refusal_includes_the_message_of_the_library(text, reason):
    refusal = run_steps((2, 3), text).refusal
    assert "does not fit shape" in refusal
    assert reason in refusal


def test_the_steps_before_an_invalid_one_are_kept():
    chain = run_steps((2, 3), "x[1:].view(7).permute(1, 0)")
    assert [layout(stage) for stage in chain.stages] == [((2, 3), (3, 1), 0), ((1, 3), (3, 1), 3)]
    assert chain.refusal.startswith(".view(7) does not fit shape (1, 3)")


def test_every_cell_has_its_position():
    found = strides.places(run_steps((3, 4), "x.permute(1, 0)[1:, ::2]").result)
    assert {place.index: place.position for place in found} == {(0, 0): 1, (0, 1): 9, (1, 0): 2, (1, 1): 10, (2, 0): 3, (2, 1): 11}
    assert not any(place.wrong for place in found)


def test_every_row_reads_an_expanded_row_and_a_strided_slice_leaves_gaps():
    expanded = strides.places(run_steps((1, 2), "x.expand(3, 2)").result)
    assert strides.readers(expanded, 1) == [(0, 1), (1, 1), (2, 1)]
    gaps = strides.places(run_steps((4,), "x[::2]").result)
    assert [strides.readers(gaps, position) for position in range(4)] == [[(0,)], [], [(1,)], []]
    assert strides.position_of(gaps, (1,)) == 2
    assert strides.position_of([], (1,)) is None


def test_the_formula_is_given_in_symbols_and_in_numbers():
    data = run_steps((3, 4), "x.permute(1, 0)[1:, ::2]").result.data
    assert strides.formula(data, (2, 1)) == (
        "position = offset + i·stride_0 + j·stride_1\n         = 1 + 2·1 + 1·8\n         = 11"  # 2 steps of 1, one of 8
    )


def test_a_long_list_of_indices_ends_with_a_count():
    assert strides.listed([(0, 1), (2, 3)]) == "[0, 1], [2, 3]"
    assert strides.listed([(i,) for i in range(10)]) == "[0], [1], [2], [3], [4], [5], [6], [7] and 2 more"


def test_a_wrong_position_is_shown_next_to_the_right_one(monkeypatch):
    monkeypatch.setattr(strides, "index_to_position", lambda index, strides: sum(index))
    stage = run_steps((2, 3), "x").result
    found = strides.places(stage)
    assert [(place.position, place.wrong) for place in found] == [*[(i, False) for i in range(3)], *[(i, True) for i in (1, 2, 3)]]
    assert strides.complaint(stage, found) == (
        "index_to_position((1, 0), (3, 1)) expected 1·3 + 0·1 = 3, got 1 (3 of 6 cells are read from the wrong position)"
    )


@pytest.mark.parametrize(("answer", "says"), [(None, "got None; is the return missing?"), (99, "got 99"), (-1, "got -1"), (0.0, "got 0.0")])
def test_an_invalid_position_is_drawn_as_a_question_mark(monkeypatch, answer, says):
    monkeypatch.setattr(strides, "index_to_position", lambda index, strides: answer)
    chain = run_steps((2,), "x")
    found = strides.places(chain.result)
    assert found[0].position is None
    assert says in strides.complaint(chain.result, found)
    assert ">?<" in strides.panels(chain.stages, found, None, None)[0]


def test_the_offset_is_added_to_the_student_s_position(monkeypatch):
    monkeypatch.setattr(strides, "index_to_position", lambda index, strides: 0)
    stage = run_steps((4,), "x[2:]").result
    assert "expected 1·1 = 1, got 0" in strides.complaint(stage, strides.places(stage))


def test_right_positions_and_indices_give_no_message():
    stage = run_steps((2, 3), "x.permute(1, 0)").result
    assert (strides.complaint(stage, strides.places(stage)), *map(strides.ordinal_complaint, [(2, 3), ()])) == ("", "", "")


def first_dimension_fastest(ordinal, shape, out_index):
    for dim, length in enumerate(shape):
        ordinal, out_index[dim] = divmod(ordinal, length)


@pytest.mark.parametrize(
    ("write", "ordinal", "right", "wrong"),
    [(first_dimension_fastest, 1, (0, 1), (1, 0)), (lambda ordinal, shape, out_index: (0, 0), 0, (0, 0), (None, None))],
)
def test_a_wrong_index_and_one_that_is_returned_instead_of_written_are_reported(monkeypatch, write, ordinal, right, wrong):
    monkeypatch.setattr(strides, "to_index", write)
    assert strides.ordinal_complaint((2, 3)) == f"to_index({ordinal}, (2, 3), out_index) expected to write {right}, wrote {wrong}"


def test_a_permute_that_forgets_the_strides_is_drawn_with_its_wrong_cells(monkeypatch):
    monkeypatch.setattr(TensorData, "permute", lambda self, *order: self.as_view(tuple(self.shape[d] for d in order), (2, 1), self.offset))
    chain = run_steps((2, 3), "x.permute(1, 0)[1:]")
    assert len(chain.stages) == 2  # it ends there
    assert chain.result.wrong == "permute(1, 0) expected shape (3, 2), strides (1, 3), offset 0, got shape (3, 2), strides (2, 1), offset 0"
    found = strides.places(chain.result)
    assert [place.value for place in found] == [0, 1, 2, 3, 4, 5]
    assert [place.expected for place in found] == [0, 3, 1, 4, 2, 5]
    assert strides.panels(chain.stages, found, None, None)[1].count("cell wrong") == 4


@pytest.mark.parametrize(
    ("permute", "wrong"),
    [
        (lambda self, *order: self.as_view(self.shape[::-1], self.strides[::-1], 0), "offset 3, got shape (3, 1)"),
        (
            lambda self, *order: TensorData(self._storage.copy(), self.shape[::-1], self.strides[::-1], 3),
            "to share the storage, got a copy",
        ),
    ],
)
def test_a_permute_that_forgets_the_offset_or_copies_is_wrong(monkeypatch, permute, wrong):
    monkeypatch.setattr(TensorData, "permute", permute)
    assert wrong in run_steps((2, 3), "x[1:].permute(1, 0)").result.wrong


def permute_in_place(self, *order):
    self.shape, self.strides = self.shape[::-1], self.strides[::-1]
    return self


@pytest.mark.parametrize(
    ("permute", "message"),
    [
        (lambda self, *order: self, "expected shape (3, 2), strides (1, 3), offset 0, got shape (2, 3)"),
        (lambda self, *order: None, "expected to return TensorData, got None; is the return missing?"),
        (permute_in_place, "expected to leave its own tensor unchanged"),
    ],
)
def test_a_permute_whose_result_cannot_be_drawn_is_reported(monkeypatch, permute, message):
    monkeypatch.setattr(TensorData, "permute", permute)
    with pytest.raises(WrongResult, match=re.escape(f"permute(1, 0) {message}")):
        run_steps((2, 3), "x.permute(1, 0)")


def test_an_error_in_the_student_s_permute_is_not_taken_for_an_invalid_step(monkeypatch):
    def fail(self, *order):
        raise ValueError("mine")

    monkeypatch.setattr(TensorData, "permute", fail)
    with pytest.raises(ValueError, match="mine") as caught:
        run_steps((2, 3), "x.permute(1, 0)")
    assert not isinstance(caught.value, Refused)


def labels_of(markup, look):
    return re.findall(rf'class="cell {look}"[^>]*aria-label="([^"]*)"', markup)


def test_the_selected_cell_is_highlighted_with_all_that_share_its_position():
    chain = run_steps((1, 2), "x.expand(3, 2)")
    found = strides.places(chain.result)
    x, result, storage = strides.panels(chain.stages, found, (1, 1), 1)
    assert labels_of(x, "linked") == ["x[0, 1] = 1, storage position 1; belongs to the picked one"]
    assert labels_of(result, "picked") == ["result[1, 1] = 1, storage position 1; picked"]
    assert [label[:12] for label in labels_of(result, "linked")] == ["result[0, 1]", "result[2, 1]"]
    assert labels_of(storage, "picked") == ["storage position 1 holds 1; picked"]
    assert "Storage of both" in storage


def test_a_copy_is_drawn_with_both_storages():
    chain = run_steps((3,), "x[::-1]")
    x, first, result, second = strides.panels(chain.stages, strides.places(chain.result), None, 0)
    assert "Storage of x" in first
    assert "Storage of the result" in second
    assert labels_of(x, "linked") == []  # position 0 of another storage
    assert labels_of(second, "picked") == ["storage position 0 holds 2; picked"]
    assert labels_of(result, "linked") == ["result[0] = 2, storage position 0; belongs to the picked one"]
    assert "data-pick" not in x + first


def test_positions_that_are_not_read_are_dimmed_and_values_are_drawn_while_positions_are_unwritten():
    chain = run_steps((4,), "x[::2]")
    storage = strides.panels(chain.stages, strides.places(chain.result), None, None)[-1]
    assert labels_of(storage, "faint") == ["storage position 1 holds 1; not read", "storage position 3 holds 3; not read"]
    chain = run_steps((2, 2), "x[1:]")
    _, result, storage = strides.panels(chain.stages, [], (0, 0), None)
    assert re.findall(r">(\d)</span>", result) == ["2", "3"]
    assert labels_of(storage, "faint") == []
