"""Numba's diagnostics of a kernel's loops, for the textbook kernels and for faulty ones."""

import json

import numba
import numpy as np
import pytest
from numba import prange

from project import parallel_check
from project.lab.explorers import diagnostics
from project.lab.explorers.diagnostics import FUSED, PARALLEL, SERIAL, Report, examine, in_words


def lines_of(report):
    """Source and status of every loop."""
    return [(loop.source, loop.fate) for each in report.compiled for loop in each.loops]


def test_the_outer_loop_of_the_matrix_product_is_parallel_and_allocates_nothing():
    report = examine("matmul")
    assert report.parallel
    assert set(lines_of(report)) == {("for i in prange(out_shape[1]):", PARALLEL)}  # once for each dtype compiled so far
    assert not any(loop.allocations for each in report.compiled for loop in each.loops)


def factory_of(kernel):
    """A function that returns this kernel, whatever it is given."""
    return lambda fn: kernel


def _whole_arrays(out, out_shape, out_strides, a, a_shape, a_strides):
    out[:] = -a
    out[:] = a * 2 + 1


def _one_by_one(out, out_shape, out_strides, a, a_shape, a_strides):
    for i in range(len(out)):
        out[i] = a[i]


def _with_a_factor(out, out_shape, out_strides, a, a_shape, a_strides):
    for i in prange(len(out)):
        out[i] = a[i] + out_shape[0] * out_strides[0]


def _rows(out, out_shape, out_strides, a, a_shape, a_strides):
    for i in prange(out_shape[0]):
        for j in prange(out_shape[1]):
            buffer = np.empty(2)
            buffer[0] = a[i * a_strides[0] + j * a_strides[1]]
            out[i * out_strides[0] + j * out_strides[1]] = buffer[0]


def test_arrays_allocated_in_an_inner_loop_count_for_the_outer_one(monkeypatch):
    monkeypatch.setattr(diagnostics, "tensor_map", factory_of(numba.njit(_rows, parallel=True)))
    report = examine("map")
    ((outer, inner),) = (each.loops for each in report.compiled)
    assert (outer.fate, inner.fate) == (PARALLEL, SERIAL)
    assert outer.allocations == (inner.line + 1,)
    assert inner.into == outer.line
    assert f"      serial: nested in the parallel loop at line {outer.line}" in in_words(report)


def test_operations_on_whole_arrays_are_loops_that_can_be_fused(monkeypatch):
    monkeypatch.setattr(diagnostics, "tensor_map", factory_of(numba.njit(_whole_arrays, parallel=True)))
    report = examine("map")
    fates = [fate for _, fate in lines_of(report)]
    assert report.parallel
    assert fates.count(PARALLEL) == 1
    assert fates.count(FUSED) == len(fates) - 1 >= 1
    assert any(line.startswith("      fused with the loop at line ") for line in in_words(report))


def test_loop_invariant_code_is_hoisted_and_numba_s_output_is_restored_after_the_report(monkeypatch, capsys):
    kernel = numba.njit(_with_a_factor, parallel=True)
    monkeypatch.setattr(diagnostics, "tensor_map", factory_of(kernel))
    report = examine("map")
    ((loop,),) = (each.loops for each in report.compiled)
    assert loop.hoisted >= 1
    assert any("hoisted out of the loop" in line for line in in_words(report))
    assert capsys.readouterr().out == ""
    kernel.parallel_diagnostics(level=1)
    assert "_with_a_factor" in capsys.readouterr().out


def test_a_loop_without_prange_is_not_parallel(monkeypatch):
    monkeypatch.setattr(diagnostics, "tensor_map", factory_of(numba.njit(_one_by_one, parallel=True)))
    report = examine("map")
    assert not report.parallel
    heading, function, remark = in_words(report)
    assert heading == "MAP: not parallel everywhere; see below"
    assert function.startswith("  _one_by_one in tests/project/test_parallel_check.py, line ")
    assert remark == "    no parallel loop: write the loop over the output as `for … in prange(…)`"


@pytest.mark.parametrize(
    ("kernel", "problem"),
    [
        (numba.njit(_one_by_one), "the kernel is compiled for one thread; pass parallel=True to njit"),
        (_one_by_one, "the kernel is not compiled; return njit(…, parallel=True)"),
    ],
)
def test_a_kernel_without_the_compiler_or_its_flag_is_reported(monkeypatch, kernel, problem):
    monkeypatch.setattr(diagnostics, "tensor_map", factory_of(kernel))
    report = examine("map")
    assert (report.parallel, report.problem) == (False, problem)
    assert in_words(report) == [f"MAP: not parallel: {problem}"]


def unwritten(*_):
    raise NotImplementedError("Need to implement for Task 3.1")


def simple_report(name, level):
    """A report without compiling anything."""
    return Report(
        name, "", (diagnostics.Compiled("_f", "f.py", 1, (diagnostics.Loop(2, "for i in prange(n):", PARALLEL),)),), f"raw {level}"
    )


def test_all_summaries_come_before_the_reports_from_numba(monkeypatch, capsys):
    monkeypatch.setattr(diagnostics, "examine", simple_report)
    assert parallel_check.main([]) == 0
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if line.endswith("1 loop") or "from numba" in line or line.startswith("raw")]
    headings = [f"{name}: parallel, 1 loop" for name in ("MAP", "ZIP", "REDUCE", "MATMUL")]
    assert lines[:4] == headings
    assert [line.strip("= ") for line in lines[4:]] == [
        each for name in ("MAP", "ZIP", "REDUCE", "MATMUL") for each in (f"{name}: report from numba", "raw 3")
    ]
    assert err == ""


def test_one_function_the_level_and_lines_of_json_can_be_chosen(monkeypatch, capsys):
    monkeypatch.setattr(diagnostics, "examine", simple_report)
    assert parallel_check.main(["--function", "zip", "--level", "0"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ZIP: parallel, 1 loop",
        "  _f in f.py, line 1",
        "    line 2: for i in prange(n):",
        "      parallel",
    ]
    assert parallel_check.main(["--json", "--function", "map"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    row = json.loads(line)
    assert (row["function"], row["parallel"], row["words"][0]) == ("map", True, "MAP: parallel, 1 loop")
    assert row["compiled"][0]["loops"][0]["source"] == "for i in prange(n):"


def test_an_unwritten_task_is_one_line_of_the_report(monkeypatch, capsys):
    monkeypatch.setattr(diagnostics, "examine", lambda name, level: unwritten() if name == "map" else simple_report(name, level))
    assert parallel_check.main(["--level", "0"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["MAP: Task 3.1 is not written yet", "ZIP: parallel, 1 loop"]


def test_an_error_of_another_kind_is_not_swallowed(monkeypatch):
    def fail(name, level):
        raise NotImplementedError("something else")

    monkeypatch.setattr(diagnostics, "examine", fail)
    with pytest.raises(NotImplementedError, match="something else"):
        parallel_check.main([])


def test_a_long_line_is_shortened_on_a_narrow_terminal(monkeypatch):
    monkeypatch.setattr(parallel_check, "width", lambda: 10)
    assert parallel_check.fitted("0123456789") == "0123456789"
    assert parallel_check.fitted("0123456789a") == "012345678…"
