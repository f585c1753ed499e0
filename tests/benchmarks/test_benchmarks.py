"""The benchmarks run, and notice when what they compare is not the same."""

import os
import re

import numpy as np
import pytest

import minitorch
from benchmarks import contenders, ops, rivals, scalar


@pytest.mark.exhaustive
def test_the_scalar_benchmark_prints_a_row_for_every_program_with_the_collector_on_and_off(capsys):
    scalar.main(["--repeats", "1", "--seed", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert "python -m benchmarks.scalar --repeats 1 --seed 3" in lines
    rows = [re.match(r"(micrograd|minitorch, dot|minitorch, \+ and \*) +(on|off) +[\d.]+ ms", line) for line in lines[-6:]]
    assert [row.groups() for row in rows] == [
        (name, collector) for collector in ("on", "off") for name in ("micrograd", "minitorch, dot", "minitorch, + and *")
    ]


def test_programs_that_differ_are_not_timed():
    with pytest.raises(SystemExit, match=r"^ours and micrograd differ: 2\.0 and 2\.1; their times are meaningless$"):
        scalar.check_same("ours", (1.0, [2.0]), (1.0, [2.1]))


def test_the_ratio_is_that_of_the_medians(capsys):
    scalar.print_row("ours", True, [0.010, 0.020, 0.030], [0.100, 0.300, 0.400])
    assert capsys.readouterr().out.split() == ["ours", "on", "20.0", "ms", "10.0", "-", "30.0", "15.00", "10.00", "-", "15.00"]


def test_a_wrong_number_of_repeats_is_refused(capsys):
    with pytest.raises(SystemExit):
        scalar.main(["--repeats", "0"])
    assert capsys.readouterr().err.endswith("error: --repeats expected at least 1, got 0\n")


# The operations of the fast backend


def shares(work, threads=1):
    """What is asked of the rows whose name begins so."""
    return {case.name.removeprefix(work).strip(): case.asked for case in ops.cases(threads) if case.name.startswith(work)}


def test_the_table_of_operations_asks_what_the_course_promises():
    large, sizes = ("256", "512", "1024"), ("1e5", "1e7")
    beside_blas = {n: {"numpy": 0.80, "textbook": 100} for n in large} | {n: {"numpy": 0.65} for n in ("64", "32x64")}
    assert shares("matmul float32") == beside_blas
    assert shares("matmul float32", 2)["1024"] == {"numpy": 0.75, "textbook": 100}
    assert shares("matmul float64") == shares("matmul float64", 2) == {n: {"numpy": 0.85} for n in large}
    for op in ("add", "mul", "relu"):
        assert shares(f"{op} float32") == {size: {"torch": 0.95} for size in sizes}
    assert shares("add_row float32") == {size: {"torch": 0.95, "textbook": 30} for size in sizes}
    for op in ("exp", "sigmoid", "tanh"):
        assert shares(f"{op} float32") == {size: {"numpy": 1.0, "torch": 0.8} for size in sizes}
    assert shares("sum") == {"_last float32 1e7": {"torch": 0.8}, "_first float32 1e7": {"torch": 0.6}, "_all float32 1e7": {"torch": 0.8}}
    ((_, chain),) = shares("chain").items()
    assert chain["torch"] == pytest.approx(10 / 7)
    assert {(case.name, case.asked["torch"], case.seconds) for case in ops.cases(2) if case.name.startswith("network")} == {
        ("network float64 100", 1.0, 0.1),
        ("network float32 100", 1.0, 0.1),
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted({case.name for case in ops.cases(1) if not case.name.endswith(("1e7", "512", "1024"))}))
def test_every_library_that_a_row_names_has_the_operation(name):
    libraries = ["minitorch", *next(case.asked for case in ops.cases(1) if case.name == name)]
    for library in libraries:
        if library != "torch":  # it is not installed here
            assert contenders.LIBRARIES[library](name) is not None, library


@pytest.mark.exhaustive
def test_libraries_compute_the_same(monkeypatch):
    monkeypatch.setattr(contenders, "operands", lambda name: (name, *np.random.default_rng(1).standard_normal((2, 8, 8), np.float32)))
    for op in ("sum_last", "sum_first", "sum_all"):
        ours, numpys = contenders.of_minitorch(op)().to_numpy(), contenders.of_numpy(op)()
        np.testing.assert_allclose(ours.reshape(-1), numpys.reshape(-1), rtol=1e-5, atol=1e-5)


@pytest.mark.exhaustive
def test_the_network_learns_as_it_is_timed():
    minitorch.manual_seed(0)
    epoch = contenders.minitorch_network("float32")
    losses = [epoch() for _ in range(200)]
    assert losses[-1] < 0.5 * losses[0]
    assert minitorch.get_default_dtype() == np.float64


def test_a_share_is_the_ratio_of_the_medians_with_the_least_and_the_largest_of_a_turn():
    ours, theirs = [1.0, 2.0, 4.0], [3.0, 2.0, 2.0]
    assert ops.share_of("torch", 0.95, ours, theirs) == ("0.95 of torch's", "1.00 (0.50 to 3.00)", "reached")
    assert ops.share_of("numpy", 1.01, ours, theirs) == ("1.01 of NumPy's", "1.00 (0.50 to 3.00)", "MISSED")
    assert ops.share_of("textbook", 30.0, [1.0], [31.0]) == ("30 times the textbook's", "31", "reached")
    assert ops.share_of("torch", 0.8, ours, None) == ("0.80 of torch's", "", "NOT RUN")


def test_a_limit_is_kept_or_not():
    assert ops.at_most(0.1, [0.05, 0.1, 0.3]) == ("at most 100 ms", "100 ms (50 to 300)", "reached")
    assert ops.at_most(0.7, [0.71, 0.71, 2.0]) == ("at most 700 ms", "710 ms (710 to 2000)", "MISSED")
    assert rivals.spread([0.9e-6, 1.5e-6, 12e-6]) == "1.5 µs (0.9 to 12)"


@pytest.mark.exhaustive
def test_the_benchmark_of_operations_prints_a_row_and_says_that_there_is_no_torch(capsys):
    ops.main(["--threads", "1", "--repeats", "1", "--only", "add float32 1e5", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python"
    assert re.fullmatch(r"add float32 1e5 +0\.95 of torch's +NOT RUN", lines[6])
    assert re.fullmatch(r"    ours [\d.]+ [mµ]?s \([\d.]+ to [\d.]+\)", lines[7])
    assert lines[-1] == "0 reached, 0 MISSED, 1 NOT RUN"


@pytest.mark.exhaustive
def test_a_row_beside_numpy_has_a_verdict(capsys):
    ops.main(["--threads", "1", "--repeats", "2", "--only", "matmul float32 64"])
    out = capsys.readouterr().out
    assert re.search(r"^matmul float32 64 +0\.65 of NumPy's +[\d.]+ \([\d.]+ to [\d.]+\) +(reached|MISSED)$", out, re.MULTILINE)
    assert re.search(r"^    ours .*, NumPy [\d.]+ µs \([\d.]+ to [\d.]+\)$", out, re.MULTILINE)


def test_the_benchmark_of_operations_fits_a_terminal_of_80_columns(capsys):
    case = ops.Case("matmul float32 1024", {"numpy": 0.8, "textbook": 100.0}, seconds=0.1)
    rivals.print_row(case.name, ops.demands(case, {"minitorch": [0.0123] * 3, "numpy": [0.0123] * 3, "textbook": [12.3] * 3}))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) < 80


@pytest.mark.exhaustive
def test_more_threads_than_cores_are_not_run(capsys, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    ops.main(["--threads", "2", "--only", "add"])
    assert "2 threads: NOT RUN, this machine has 1 core\n" in capsys.readouterr().out


def test_a_part_of_a_name_that_no_row_has_is_named(capsys):
    with pytest.raises(SystemExit):
        ops.main(["--threads", "1", "--only", "convolution"])
    err = capsys.readouterr().err
    assert "error: --only expected part of one of matmul float32 256, " in err
    assert err.endswith("; got 'convolution'\n")


def test_wrong_numbers_of_threads_are_refused(capsys):
    with pytest.raises(SystemExit):
        ops.main(["--threads", "0"])
    assert capsys.readouterr().err.endswith("error: --repeats and --threads expected at least 1\n")


def test_a_library_whose_process_ends_is_named():
    with pytest.raises(RuntimeError, match=r"^the process of nothing ended without an answer; see its message above$"):
        rivals.Library("nothing", 1, "false", "benchmarks.contenders")


@pytest.mark.exhaustive
def test_a_new_process_has_a_first_result_and_then_another():
    first, further = ops.fresh_process()
    assert 0 < further < first
