"""Numba's diagnostics of a kernel's loops, for the textbook kernels and for faulty ones."""

import json

import numba
import numpy as np
import pytest
from numba import prange

from project import parallel_check
from project.lab.explorers import diagnostics
from project.lab.explorers.diagnostics import FUSED, PARALLEL, SERIAL, Report, examine, in_words


def fates_of(report):
    """Source and status of every loop."""
    return [(loop.source, loop.fate) for each in report.compiled for loop in each.loops]


@pytest.fixture
def examine_map(monkeypatch):
    """Examines a kernel in place of that of the map."""

    def examine_kernel(kernel):
        monkeypatch.setattr(diagnostics, "tensor_map", lambda fn: kernel)
        return examine("map")

    return examine_kernel


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


def test_arrays_allocated_in_an_inner_loop_count_for_the_outer_one(examine_map):
    report = examine_map(numba.njit(_rows, parallel=True))
    ((outer, inner),) = (each.loops for each in report.compiled)
    assert (outer.fate, inner.fate) == (PARALLEL, SERIAL)
    assert outer.allocations == (inner.line + 1,)
    assert inner.into == outer.line
    assert f"      serial: nested in the parallel loop at line {outer.line}" in in_words(report)


def test_operations_on_whole_arrays_are_loops_that_can_be_fused(examine_map):
    report = examine_map(numba.njit(_whole_arrays, parallel=True))
    fates = [fate for _, fate in fates_of(report)]
    assert report.parallel
    assert fates.count(PARALLEL) == 1
    assert fates.count(FUSED) == len(fates) - 1 >= 1
    assert any(line.startswith("      fused with the loop at line ") for line in in_words(report))


def test_loop_invariant_code_is_hoisted_and_numba_s_output_is_restored_after_the_report(examine_map, capsys):
    kernel = numba.njit(_with_a_factor, parallel=True)
    report = examine_map(kernel)
    ((loop,),) = (each.loops for each in report.compiled)
    assert loop.hoisted >= 1
    assert any("hoisted out of the loop" in line for line in in_words(report))
    assert capsys.readouterr().out == ""
    kernel.parallel_diagnostics(level=1)
    assert "_with_a_factor" in capsys.readouterr().out


def test_a_loop_without_prange_is_not_parallel(examine_map):
    report = examine_map(numba.njit(_one_by_one, parallel=True))
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
def test_a_kernel_without_the_compiler_or_its_flag_is_reported(examine_map, kernel, problem):
    report = examine_map(kernel)
    assert (report.parallel, report.problem) == (False, problem)
    assert in_words(report) == [f"MAP: not parallel: {problem}"]


def simple_report(name, level):
    """A report without compiling anything."""
    loops = (diagnostics.Loop(2, "for i in prange(n):", PARALLEL),)
    return Report(name, "", (diagnostics.Compiled("_f", "f.py", 1, loops),), f"raw {level}")


@pytest.fixture
def simple_reports(monkeypatch):
    monkeypatch.setattr(diagnostics, "examine", simple_report)


def test_all_summaries_come_before_the_reports_from_numba(simple_reports, capsys):
    assert parallel_check.main([]) == 0
    out, err = capsys.readouterr()
    lines = [line for line in out.splitlines() if line.endswith("1 loop") or "from numba" in line or line.startswith("raw")]
    names = ("MAP", "ZIP", "REDUCE", "MATMUL")
    assert lines[:4] == [f"{name}: parallel, 1 loop" for name in names]
    assert [line.strip("= ") for line in lines[4:]] == [each for name in names for each in (f"{name}: report from numba", "raw 3")]
    assert err == ""


def test_one_function_the_level_and_lines_of_json_can_be_chosen(simple_reports, capsys):
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


def test_an_unwritten_task_is_one_line_of_the_report_and_an_error_of_another_kind_is_not_swallowed(monkeypatch, capsys):
    def unwritten(name, level):
        if name == "map":
            raise NotImplementedError(message)
        return simple_report(name, level)

    monkeypatch.setattr(diagnostics, "examine", unwritten)
    message = "Need to implement for Task 3.1"
    assert parallel_check.main(["--level", "0"]) == 1
    assert capsys.readouterr().out.splitlines()[:2] == ["MAP: Task 3.1 is not written yet", "ZIP: parallel, 1 loop"]
    message = "something else"
    with pytest.raises(NotImplementedError, match="something else"):
        parallel_check.main([])


def test_a_long_line_is_shortened_on_a_narrow_terminal(monkeypatch):
    monkeypatch.setattr(parallel_check, "width", lambda: 10)
    assert parallel_check.fitted("0123456789") == "0123456789"
    assert parallel_check.fitted("0123456789a") == "012345678…"
