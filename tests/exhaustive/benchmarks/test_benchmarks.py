"""The benchmarks run, and notice when what they compare is not the same."""

import os
import re

import numpy as np
import pytest

import minitorch
from benchmarks import contenders, ops, scalar


def test_the_scalar_benchmark_prints_a_row_for_every_program_with_the_collector_on_and_off(capsys):
    scalar.main(["--repeats", "1", "--seed", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert "python -m benchmarks.scalar --repeats 1 --seed 3" in lines
    rows = [re.match(r"(micrograd|minitorch, dot|minitorch, \+ and \*) +(on|off) +[\d.]+ ms", line) for line in lines[-6:]]
    assert [row.groups() for row in rows] == [
        (name, collector) for collector in ("on", "off") for name in ("micrograd", "minitorch, dot", "minitorch, + and *")
    ]


@pytest.mark.parametrize("name", sorted({case.name for case in ops.cases(1) if not case.name.endswith(("1e7", "512", "1024"))}))
def test_every_library_that_a_row_names_has_the_operation(name):
    libraries = ["minitorch", *next(case.asked for case in ops.cases(1) if case.name == name)]
    for library in libraries:
        if library != "torch":  # it is not installed here
            assert contenders.LIBRARIES[library](name) is not None, library


def test_libraries_compute_the_same(monkeypatch):
    monkeypatch.setattr(contenders, "operands", lambda name: (name, *np.random.default_rng(1).standard_normal((2, 8, 8), np.float32)))
    for op in ("sum_last", "sum_first", "sum_all"):
        ours, numpys = contenders.of_minitorch(op)().to_numpy(), contenders.of_numpy(op)()
        np.testing.assert_allclose(ours.reshape(-1), numpys.reshape(-1), rtol=1e-5, atol=1e-5)


def test_the_network_learns_as_it_is_timed():
    minitorch.manual_seed(0)
    epoch = contenders.minitorch_network("float32")
    losses = [epoch() for _ in range(200)]
    assert losses[-1] < 0.5 * losses[0]
    assert minitorch.get_default_dtype() == np.float64


def test_the_benchmark_of_operations_prints_a_row_and_says_that_there_is_no_torch(capsys):
    ops.main(["--threads", "1", "--repeats", "1", "--only", "add float32 1e5", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python"
    assert re.fullmatch(r"add float32 1e5 +0\.95 of torch's +NOT RUN", lines[6])
    assert re.fullmatch(r"    ours [\d.]+ [mµ]?s \([\d.]+ to [\d.]+\)", lines[7])
    assert lines[-1] == "0 reached, 0 MISSED, 1 NOT RUN"


def test_a_row_beside_numpy_has_a_verdict(capsys):
    ops.main(["--threads", "1", "--repeats", "2", "--only", "matmul float32 64"])
    out = capsys.readouterr().out
    assert re.search(r"^matmul float32 64 +0\.80 of NumPy's +[\d.]+ \([\d.]+ to [\d.]+\) +(reached|MISSED)$", out, re.MULTILINE)
    assert re.search(r"^    ours .*, NumPy [\d.]+ µs \([\d.]+ to [\d.]+\)$", out, re.MULTILINE)


def test_more_threads_than_cores_are_not_run(capsys, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    ops.main(["--threads", "2", "--only", "add"])
    assert "2 threads: NOT RUN, this machine has 1 core\n" in capsys.readouterr().out


def test_a_new_process_has_a_first_result_and_then_another():
    first, further = ops.fresh_process()
    assert 0 < further < first
