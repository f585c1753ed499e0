"""The benchmarks run, and notice when what they compare is not the same."""

import pytest

from benchmarks import conv, distributed, ops, rivals, scalar, steps, torch_face

LINK = (
    "\npython -m benchmarks.distributed: error: expected latency >= 0, bandwidth > 0 and repeats > 0; "
    "leave them out for a link of 10 Gbit/s\n"
)


def test_programs_that_differ_are_not_timed():
    with pytest.raises(SystemExit, match=r"^ours and micrograd differ: 2\.0 and 2\.1; their times are meaningless$"):
        scalar.check_same("ours", (1.0, [2.0]), (1.0, [2.1]))


def test_the_ratio_is_that_of_the_medians(capsys):
    scalar.print_row("ours", True, [0.010, 0.020, 0.030], [0.100, 0.300, 0.400])
    assert capsys.readouterr().out.split() == ["ours", "on", "20.0", "ms", "10.0", "-", "30.0", "15.00", "10.00", "-", "15.00"]


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (scalar, ["--repeats", "0"], "error: --repeats expected at least 1, got 0\n"),
        (ops, ["--threads", "0"], "error: --repeats and --threads expected at least 1\n"),
        (ops, ["--threads", "1", "--only", "convolution"], "error: --only expected part of one of matmul float32 256, "),
        (ops, ["--threads", "1", "--only", "convolution"], "; got 'convolution'\n"),
        (conv, ["--only", "17 of 1"], "error: --only expected part of one of 16 of 1 -> 4, 28²"),
        (steps, ["--repeats", "0"], "error: --repeats expected at least 1, got 0\n"),
        (steps, ["--rows", "0"], "error: --rows expected at least 1, got 0\n"),
        (steps, ["--size", "100"], "error: --size expected a multiple of 128, got 100\n"),
        (steps, ["--size", "0"], "error: --size expected a multiple of 128, got 0\n"),
        *((distributed, wrong, LINK) for wrong in (["--latency", "-1"], ["--bandwidth", "0"], ["--repeats", "0"])),
    ],
)
def test_what_cannot_be_measured_is_refused(program, arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        program.main(arguments)
    error = capsys.readouterr().err
    assert message in error
    assert error.endswith(message) or not message.endswith("\n")


# The operations of the fast backend


def shares(work, threads=1):
    """What is asked of the rows whose name begins so."""
    return {case.name.removeprefix(work).strip(): case.asked for case in ops.cases(threads) if case.name.startswith(work)}


def test_the_table_of_operations_asks_what_the_course_promises():
    large, sizes = ("256", "384", "512", "640", "777", "1024"), ("1e5", "1e7")
    small = {n: {"numpy": 0.80} for n in ("16", "32", "56", "64", "32x64")}
    assert shares("matmul float32") == {n: {"numpy": 0.90, "textbook": 100} for n in large} | small
    assert shares("matmul float32", 2)["1024"] == {"numpy": 0.75, "textbook": 100}
    assert shares("matmul float64") == shares("matmul float64", 2) == {n: {"numpy": 0.85} for n in large} | small
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


OURS, THEIRS = [1.0, 2.0, 4.0], [3.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ops.share_of("torch", 0.95, OURS, THEIRS), ("0.95 of torch's", "1.00 (0.50 to 3.00)", "reached")),
        (ops.share_of("numpy", 1.01, OURS, THEIRS), ("1.01 of NumPy's", "1.00 (0.50 to 3.00)", "MISSED")),
        (ops.share_of("textbook", 30.0, [1.0], [31.0]), ("30 times the textbook's", "31", "reached")),
        (ops.share_of("torch", 0.8, OURS, None), ("0.80 of torch's", "", "NOT RUN")),
        (ops.at_most(0.1, [0.05, 0.1, 0.3]), ("at most 100 ms", "100 ms (50 to 300)", "reached")),
        (ops.at_most(0.7, [0.71, 0.71, 2.0]), ("at most 700 ms", "710 ms (710 to 2000)", "MISSED")),
        (conv.times_of(1.5, OURS, THEIRS), ("1.5 times torch's time", "1.00 (0.33 to 2.00)", "reached")),
        (conv.times_of(1.5, [3.2], [2.0]), ("1.5 times torch's time", "1.60 (1.60 to 1.60)", "MISSED")),
        (conv.times_of(2.5, [1.0], None), ("2.5 times torch's time", "", "NOT RUN")),
        (torch_face.cost_of(OURS, [1.0, 2.1, 4.4]), ("1.05 times the engine's", "1.05 (1.00 to 1.10)", "reached")),
        (torch_face.cost_of([1.0], [1.5]), ("1.05 times the engine's", "1.50 (1.50 to 1.50)", "MISSED")),
    ],
)
def test_a_share_is_the_ratio_of_the_medians_with_the_least_and_the_largest_of_a_turn(row, expected):
    assert row == expected


def test_a_time_has_its_median_and_its_spread():
    assert rivals.spread([0.9e-6, 1.5e-6, 12e-6]) == "1.5 µs (0.9 to 12)"


def test_every_convolution_is_asked_of_forward_and_with_backward():
    assert {conv.shown(shape): most for shape, most in conv.SHAPES.items()} == {
        "16 of 1 -> 4, 28²": 1.5,
        "16 of 4 -> 8, 28²": 1.5,
        "64 of 4 -> 8, 28²": 1.5,
        "8 of 64 -> 64, 56²": 2.5,
    }
    assert list(conv.WAYS) == ["forward", "both"]


def test_the_benchmark_of_operations_fits_a_terminal_of_80_columns(capsys):
    case = ops.Case("matmul float32 1024", {"numpy": 0.8, "textbook": 100.0}, seconds=0.1)
    rivals.print_row(case.name, ops.demands(case, {"minitorch": [0.0123] * 3, "numpy": [0.0123] * 3, "textbook": [12.3] * 3}))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) < 80


def test_a_library_whose_process_ends_is_named():
    with pytest.raises(RuntimeError, match=r"^the process of nothing ended without an answer; see its message above$"):
        rivals.Library("nothing", 1, "false", "benchmarks.contenders")
