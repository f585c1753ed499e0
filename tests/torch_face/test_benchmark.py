"""torch.utils.benchmark: measurements of statements, whose numbers and text are PyTorch's."""

import itertools
import re
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit


def clock() -> Any:
    """A clock that advances by a millisecond whenever it is read."""
    ticks = itertools.count()
    return lambda: next(ticks) / 1000


SPEC: dict[str, Any] = {"stmt": "x @ x", "setup": "x = 1", "label": "product", "sub_label": "64", "description": "float32"}
TIMES = [1.0, 1.2, 1.1, 5.0, 1.15]


def test_a_measurement_has_the_numbers_of_its_times() -> None:
    found = Measurement(10, [10.0, 20.0, 30.0, 40.0], TaskSpec("x", "pass"))
    assert found.times == [1.0, 2.0, 3.0, 4.0]
    assert (found.median, found.mean, found.iqr) == (2.5, 2.5, 1.5)
    assert found.has_warnings
    assert not found.meets_confidence()
    assert Measurement(1, [1.0, 1.0, 1.0, 1.0], TaskSpec("x", "pass")).meets_confidence()


def text(library: Any, raw_times: list[float], **spec: Any) -> str:
    """What a measurement prints, without its address."""
    arguments = {"stmt": "x", "setup": "pass", "global_setup": "", "num_threads": 1} | spec
    return re.sub("at 0x[0-9a-f]+>", "at>", repr(library.Measurement(100, raw_times, library.TaskSpec(**arguments))))


CASES = [(TIMES, SPEC), (TIMES[:1], SPEC), ([1e-7, 1.1e-7], {}), ([5.0] * 4, {"setup": "a = 1\nb = 2"}), ([300.0], {"label": "only"})]


@pytest.mark.parametrize(("times", "spec"), CASES)
def test_measurements_print_as_pytorch_s(times: list[float], spec: dict[str, Any]) -> None:
    theirs = pytest.importorskip("torch.utils.benchmark", reason="compares with PyTorch")
    ours = text(torch.utils.benchmark, times, **spec)
    assert ours.split("\n") == text(theirs.utils.common, times, **spec).split("\n")


def test_a_measurement_warns_of_a_large_range() -> None:
    found = repr(Measurement(1, [1e-3, 2e-3, 3e-3, 4e-3], TaskSpec(**SPEC)))
    assert found.split("\n")[1:] == [
        "product: 64",
        "float32",
        "setup: x = 1",
        "  Median: 2.50 ms",
        "  IQR:    1.50 ms (1.75 to 3.25)",
        "  4 measurements, 1 run per measurement, 1 thread",
        "  WARNING: Interquartile range is 60.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]


@pytest.mark.parametrize(("seconds", "unit"), [(3e-10, "ns"), (2e-6, "us"), (1e-3, "ms"), (90.0, "s")])
def test_units(seconds: float, unit: str) -> None:
    assert select_unit(seconds)[0] == unit


def test_timers_measure_with_their_clock() -> None:
    timer = Timer("calls.append(1)", timer=clock(), globals={"calls": (calls := [])})
    found = timer.timeit(7)
    assert (found.number_per_run, found.raw_times) == (7, [pytest.approx(1e-3)])
    assert len(calls) == 7 + 2
    seen: list[Any] = []
    blocks = timer.blocked_autorange(lambda number, seconds: seen.append(number), min_run_time=0.01)
    assert (len(blocks.times), blocks.number_per_run, seen) == (10, 1, [1] * 10)
    adaptive = timer.adaptive_autorange(min_run_time=0.002)
    assert adaptive.meets_confidence()
    assert len(adaptive.times) >= 4


def test_a_timer_knows_torch_and_its_globals() -> None:
    found = Timer("torch.ones(n).sum()", setup="n = size + 1", globals={"size": 3}).blocked_autorange(min_run_time=0.001)
    assert 0 < found.median < 1
    with pytest.raises(NameError):
        Timer("nothing").timeit(1)


def test_options_that_are_not_supported_are_errors() -> None:
    options: dict[str, Any]
    for options in ({"num_threads": 2}, {"language": "c++"}, {"global_setup": "x"}):
        with pytest.raises(NotImplementedError, match=r"Timer supports num_threads=1, global_setup=\"\" and language=\"python\" only"):
            Timer(**options)
    with pytest.raises(NotImplementedError, match=r"Timer has no repeat; use blocked_autorange\(\)"):
        Timer().repeat()
    with pytest.raises(AttributeError, match=r"torch\.utils\.benchmark has no Fuzzer in minitorch"):
        torch.utils.benchmark.Fuzzer  # noqa: B018


def test_measurements_are_compared_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    def made(sub_label: str, description: str, seconds: float) -> Measurement:
        return Measurement(1, [seconds], TaskSpec("s", "pass", "", "product", sub_label, description))

    table = Compare([made("64", "fast", 2e-6), made("128", "fast", 1.2345e-5)])
    table.extend_results([made("64", "slow", 3e-6), made("64", "slow", 5e-6)])
    table.trim_significant_figures()
    table.print()
    assert capsys.readouterr().out.split("\n") == [
        "[----- product -----]",
        "     |  fast  |  slow",
        "1 threads: ----------",
        "64   |     2  |     4",
        "128  |    12  |      ",
        "",
        "Times are in microseconds (us).",
        "",
    ]
