"""The computations of the broadcasting page: the rule of each dimension, the sources of each cell, and the gradients."""

import re

import pytest

from minitorch import IndexingError
from project.lab.cards import WrongResult
from project.lab.explorers import broadcasting
from tests.errors import raises


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2, 3), (2, 3), [(-2, "equal", 2), (-1, "equal", 3)]),
        ((2, 1), (3,), [(-2, "b missing", 2), (-1, "a stretched", 3)]),
        ((5,), (4, 1), [(-2, "a missing", 4), (-1, "b stretched", 5)]),
        ((1,), (1,), [(-1, "equal", 1)]),
        ((1,), (0,), [(-1, "a stretched", 0)]),
        ((0,), (3,), [(-1, "incompatible", None)]),
        ((3, 4), (3,), [(-2, "b missing", 3), (-1, "incompatible", None)]),
        ((), (2,), [(-1, "a missing", 2)]),
        ((), (), []),
    ],
)
def test_each_dimension_has_its_rule(a, b, expected):
    assert [(rule.dim, rule.word, rule.out) for rule in broadcasting.align(a, b)] == expected


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ((4,), (4,), "both have size 4"),
        ((1,), (3,), "a has size 1, so it is read 3 times"),
        ((2,), (1,), "b has size 1, so it is read twice"),
        ((), (1,), "a has no such dimension, so it is read once, the size of b"),
        ((0,), (1,), "b has size 1, so it is read 0 times"),
        ((2,), (3,), "the sizes 2 and 3 differ, and neither is 1"),
    ],
)
def test_the_reason_is_a_sentence(a, b, reason):
    assert [rule.reason for rule in broadcasting.align(a, b)] == [reason]


def test_the_table_is_aligned_from_the_right():
    assert broadcasting.table(broadcasting.align((2, 1), (3,))).splitlines() == [
        "|  | -2 | -1 |",
        "| :- | :-: | :-: |",
        "| **a** | 2 | 1 |",
        "| **b** | - | 3 |",
        "| rule | :blue[b missing] | :blue[a stretched] |",
        "| **result** | **2** | **3** |",
    ]
    assert "| rule | :red[incompatible] |\n| **result** | ✗ |" in broadcasting.table(broadcasting.align((2,), (3,)))


def test_the_result_shape_comes_from_the_student_s_function_which_may_return_a_list(monkeypatch):
    assert broadcasting.broadcast((2, 1), (3,)) == ((2, 3), "")
    shape, message = broadcasting.broadcast((5, 2), (5,))
    assert shape is None
    assert "(5, 2)" in message
    monkeypatch.setattr(broadcasting, "shape_broadcast", lambda a, b: [2, 3])
    assert broadcasting.broadcast((2, 1), (3,)) == ((2, 3), "")


def refuse(a, b):
    raise IndexingError("no")


@pytest.mark.parametrize(
    ("a", "b", "answer", "message"),
    [
        ((2, 1), (3,), lambda a, b: (2, 1), "(2, 3), got (2, 1)"),
        ((2, 1), (3,), lambda a, b: None, "(2, 3), got None; is the return missing?"),
        ((2,), (3,), lambda a, b: (3,), "an IndexingError, got (3,)"),
        ((3, 4), (3,), lambda a, b: (3,), "an IndexingError, got (3,)"),
        ((2, 1), (3,), refuse, "(2, 3), got IndexingError: no"),
    ],
)
def test_a_wrong_shape_is_reported(monkeypatch, a, b, answer, message):
    monkeypatch.setattr(broadcasting, "shape_broadcast", answer)
    with raises(WrongResult, f"shape_broadcast({a}, {b}) expected {message}"):
        broadcasting.broadcast(a, b)


def test_each_cell_knows_its_sources():
    found = broadcasting.sources((2, 1), (3,), (2, 3))
    cells = [(row, column) for row in range(2) for column in range(3)]
    assert [(source.index, source.a, source.b) for source in found] == [((row, column), (row, 0), (column,)) for row, column in cells]
    assert not any(source.wrong for source in found)


def test_every_cell_reads_a_single_number():
    found = broadcasting.sources((2,), (), (2,))
    assert [source.b for source in found] == [(), ()]
    assert broadcasting.users(found, "b", ()) == [(0,), (1,)]
    assert broadcasting.users(found, "a", (1,)) == [(1,)]


def test_a_wrong_index_is_reported_and_read_if_such_a_cell_exists(monkeypatch):
    def copy_index(big_index, big_shape, shape, out_index):
        for dim in range(len(shape)):
            out_index[dim] = big_index[dim]

    monkeypatch.setattr(broadcasting, "broadcast_index", copy_index)
    found = broadcasting.sources((2, 2), (1, 2), (2, 2))
    assert [source.wrong for source in found][:2] == ["", ""]
    assert found[2].wrong == "broadcast_index((1, 0), (2, 2), (1, 2), out_index) expected to write (0, 0), wrote (1, 0)"
    assert (found[2].a, found[2].b) == ((1, 0), None)
    result = broadcasting.forward_panels([(2, 2), (1, 2), (2, 2)], found, "a", (0, 0))[2]
    assert result.count("cell wrong") == 2
    assert result.count(">?<") == 2


@pytest.mark.parametrize("value", [None, 0.5, "0", -1, 7])
def test_an_invalid_index_and_one_left_unwritten_read_no_cell(monkeypatch, value):
    def write(big_index, big_shape, shape, out_index):
        if value is not None:
            out_index[0] = value

    monkeypatch.setattr(broadcasting, "broadcast_index", write)
    (source,) = broadcasting.sources((1,), (1,), (1,))
    assert source.a is None
    assert source.wrong == f"broadcast_index((0,), (1,), (1,), out_index) expected to write (0,), wrote ({value!r},)"


def test_a_stretched_dimension_is_read_with_stride_0():
    assert broadcasting.strides_sentence("a", (2, 1), (4, 2, 3)) == (
        "a has shape (2, 1) and strides (1, 1). Broadcast to (4, 2, 3), it has strides (0, 1, 0)."
    )


STRETCHED, MISSING = "is summed over dimension -1, which keeps size 1", "is summed over dimension -2, which a does not have"


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ((2, 1), (2, 3), STRETCHED),
        ((3,), (2, 3), MISSING),
        ((1,), (2, 3), f"{STRETCHED} and {MISSING}"),
        ((2, 3), (3,), "needs no sum, because each element is read once"),
    ],
)
def test_the_gradient_is_summed_over_what_was_repeated(a, b, sentence):
    assert broadcasting.gradient_sentence("a", broadcasting.align(a, b)) == f"The gradient of a {sentence}."


SHAPES = [(2, 1), (3,), (2, 3)]


def numbers(markup):
    return [int(n) for n in re.findall(r">(\d+)</button>", markup)]


def test_forward_adds_what_each_cell_reads():
    a, b, result = broadcasting.forward_panels(SHAPES, broadcasting.sources(*SHAPES), "result", (1, 2))
    assert numbers(a) == [1, 2]
    assert numbers(b) == [10, 20, 30]
    assert numbers(result) == [11, 21, 31, 12, 22, 32]
    assert ["a-1.0" in a.split("linked")[1], "b-2" in b.split("linked")[1]] == [True, True]
    assert 'class="cell picked" data-tag="result-1.2" data-lights="result-1.2 a-1.0 b-2"' in result


def test_backward_sums_the_gradient_over_what_was_repeated():
    a, b, result = broadcasting.backward_panels(SHAPES, broadcasting.sources(*SHAPES), "a", (1, 0))
    assert numbers(result) == [1, 2, 3, 4, 5, 6]
    assert numbers(a) == [1 + 2 + 3, 4 + 5 + 6]
    assert numbers(b) == [1 + 4, 2 + 5, 3 + 6]
    assert 'class="cell picked" data-tag="a-1.0" data-lights="a-1.0 result-1.0 result-1.1 result-1.2"' in a
    assert result.count("cell linked") == 3


@pytest.mark.parametrize("size", [60, 61])
def test_tensors_of_60_elements_are_drawn_and_larger_ones_are_not(size):
    assert broadcasting.drawable((size,), (1,), (size,)) == (size == 60)
