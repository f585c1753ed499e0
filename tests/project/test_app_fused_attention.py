"""The page of Tasks 6.5 and 6.5b: the state of a query after each tile, the kernel in the interpreter, and wrong functions."""

import numpy as np
import pytest

from minitorch.kernels.cuda.device import cuda
from minitorch.language import fused_attention
from project.lab.cards import WrongResult
from project.lab.explorers import language_cuda, language_fused

from ..errors import raises
from .pages import ignore_saved_files, import_modules, open_page, page_text  # noqa: F401  a fixture


def test_the_page_shows_that_the_end_is_softmax():
    for tile in ("1", "3", "8"):
        app = open_page("m6_fused", fused_tile=tile)
        assert not app.exception
        assert not app.error
        before, _, after = page_text(app).partition("Softmax over all scores at once gives ")
        assert before.rpartition("o / l = ")[2].strip(". ") == after.partition(").")[0] + ")"


def test_a_query_without_keys():
    app = open_page("m6_fused", fused_masked="8")
    assert not app.exception
    assert not app.error
    assert "o / l = (0.000, 0.000)" in page_text(app)


def test_steps_are_those_of_the_task():
    found = language_fused.steps(np.log([1.0, 2, 8]), np.array([[8.0], [0], [10]]), 2)
    assert [len(scores) for scores, *_ in found] == [2, 1]
    np.testing.assert_allclose([row[1:3] for row in found], [[np.log(2), 1.5], [np.log(8), 1.375]])
    np.testing.assert_allclose([row[3][0] for row in found], [4, 11])
    np.testing.assert_allclose(language_fused.softmax_mean(np.log([1.0, 2, 8]), np.array([[8.0], [0], [10]])), 8)


def test_a_wrong_result_is_reported(monkeypatch):
    monkeypatch.setattr(fused_attention, "add_tile", lambda *given: None)
    with raises(WrongResult, "add_tile: largest after 1 keys expected 2 at [0], got -1e+30 (1 of 1 elements differs)"):
        language_fused.steps(np.array([2.0]), np.array([[1.0]]), 1)


def test_the_page_shows_what_the_kernel_reads():
    app = open_page("m6_fused")
    assert [metric.value for metric in app.metric][:3] == ["none", "100%", "none"]
    # each of six tiles, of keys and of values, has 32 rows of 64 numbers; queries and outputs have 96; see the chapter for separate kernels
    text = page_text(app)
    assert f"Numbers read from global memory and written to it: {6 * 2 * 32 * 64 + 2 * 96 * 64:,}." in text
    assert "Barriers: 24." in text
    reads = 3 * 3 * 96 * 64 + 2 * 96 * 96 + 96 * 96  # of rows once for every 32 others, of weights twice, of scores
    assert f"with all scores in global memory: {reads + 2 * 96 * 96 + 96 * 64:,}." in text


@pytest.mark.parametrize(("length", "causal", "reads"), [(96, True, [3, 2, 1]), (65, False, [3, 3, 3]), (1, True, [1])])
def test_the_tiles_that_are_read(length, causal, reads):
    assert language_cuda.tile_reads(language_cuda.inspect(length, causal)).tolist() == [reads]


def nothing(out, query, key, value, scale, causal):
    pass


def outside(out, query, key, value, scale, causal):
    out[0, cuda.threadIdx.y, 64] = 0


def a_result(out, query, key, value, scale, causal):
    return scale


def stub(out, query, key, value, scale, causal):
    raise NotImplementedError("Need to implement for Task 6.5b")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (nothing, "attention_kernel(out, query, key, value, 1/8, …): out expected"),
        (outside, "writes out[0, 0, 64], but out has shape (1, 96, 64)"),
        (a_result, "attention_kernel cannot be run: tests/project/test_app_fused_attention.py, line "),
        (stub, "Task 6.5b is not written yet: open minitorch/language/cuda_attention.py"),
    ],
)
def test_the_page_says_what_is_wrong_with_a_kernel(monkeypatch, kernel, message):
    import_modules("m6_fused")
    monkeypatch.setattr("minitorch.language.cuda_attention.attention_kernel", kernel)
    app = open_page("m6_fused")
    assert message in (app.info if kernel is stub else app.error)[0].value.replace("\\", "")
