"""The timing program: measurements and estimates, the table, the charts with the roofline, and what is not run."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from minitorch import Tensor
from minitorch.kernels.cuda import device as cuda_device
from project import timing
from project.lab.charts import roofline_chart, speed_chart
from project.lab.explorers import roofline, speed
from project.lab.explorers.roofline import Roof
from project.lab.explorers.speed import Measurement
from tests.project.programs import refusal


class Clock:
    """A clock that advances only during timed calls; a call of a backend takes the time in `cost`."""

    def __init__(self, monkeypatch, cost, first):
        self.now, self.calls = 0.0, []
        monkeypatch.setattr(speed.time, "sleep", lambda seconds: None)
        monkeypatch.setattr(speed.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(speed, "prepare", lambda op, size, backend, dtype: lambda: self.run(backend, size))
        self.cost, self.first = cost, dict(first)

    def run(self, backend, size):
        self.calls.append((backend, size))
        self.now += self.cost[backend, size] + self.first.pop(backend, 0.0)


def test_backends_alternate_and_the_first_call_is_timed_separately(monkeypatch):
    clock = Clock(monkeypatch, {("a", 64): 0.5, ("b", 64): 0.25, ("b", 128): 0.5, ("a", 128): 1.0}, first={"b": 800.0})
    found = list(speed.measure("matmul", [64, 128], ["a", "b"], "float32", budget=100))
    first = [Measurement("matmul", 64, "a", 0.5, 5), Measurement("matmul", 64, "b", 0.25, 5, compiling=800.0)]
    assert found == [*first, Measurement("matmul", 128, "a", 1.0, 5), Measurement("matmul", 128, "b", 0.5, 5)]  # not an estimate
    assert clock.calls[:12] == [("a", 64), ("b", 64)] * 6


def test_the_median_is_reported(monkeypatch):
    clock = Clock(monkeypatch, {("a", 64): 1.0}, {})
    times = iter([9.0, 1.0, 7.0, 2.0, 3.0, 100.0])
    monkeypatch.setattr(clock, "run", lambda backend, size: setattr(clock, "now", clock.now + next(times)))
    assert next(speed.measure("matmul", [64], ["a"], "float32", budget=1000)).seconds == 3.0  # of 1, 7, 2, 3, 100


def test_the_work_is_counted_in_operations_and_durations_have_a_suitable_unit():
    assert speed.work("matmul", 64) == 1_048_576  # 2 · 2 · 64³
    assert [speed.work(op, 1000) for op in ("map", "zip")] == [1000, 1000]
    assert [*map(speed.duration, [2e-6, 0.0123, 0.9999, 1.5, 243])] == ["2 µs", "12.3 ms", "1e+03 ms", "1.5 s", "243 s"]


def test_sizes_that_would_take_too_long_are_estimated_and_not_run(monkeypatch):
    cost = {("slow", 64): 0.75, ("fast", 64): 0.125, ("fast", 128): 0.25, ("fast", 256): 0.5}
    clock = Clock(monkeypatch, cost, {})
    found = list(speed.measure("matmul", [64, 128, 256], ["slow", "fast"], "float32", budget=2))
    assert [each for each in found if each.backend == "slow"] == [
        Measurement("matmul", 64, "slow", 0.75, 3),  # after three calls that took more than 2 s
        Measurement("matmul", 128, "slow", 6.0, 0),  # 0.75 · 2³
        Measurement("matmul", 256, "slow", 48.0, 0),  # 0.75 · 4³
    ]
    assert [(each.seconds, each.runs) for each in found if each.backend == "fast"] == [(0.125, 5), (0.25, 5), (0.5, 4)]
    assert ("slow", 128) not in clock.calls


@pytest.mark.parametrize("op", list(speed.SIZES))
def test_all_backends_compute_the_same(op):
    size = 8 if op == "matmul" else 600
    expected = speed.prepare(op, size, "numpy", "float64")()
    for backend in ("simple", "fast"):
        result = speed.prepare(op, size, backend, "float64")()
        assert isinstance(result, Tensor)
        np.testing.assert_allclose(result.to_numpy().reshape(expected.shape), expected, atol=1e-9)
        assert result.backend.name == backend


@pytest.mark.parametrize(
    ("available", "simulated", "reason"),
    [
        (False, False, "numba found no GPU"),
        (True, False, ""),
        (True, True, "the speed of the simulator says nothing about a GPU"),
    ],
)
def test_without_a_gpu_cuda_is_not_run_and_the_simulator_is_not_measured(monkeypatch, available, simulated, reason):
    monkeypatch.setattr(cuda_device, "SIMULATED", simulated)
    monkeypatch.setattr(cuda_device, "available", lambda: available)
    assert speed.missing("cuda") == reason


TIMES = [(64, "simple", 0.5, 5), (64, "fast", 0.125, 5), (128, "simple", 4.0, 0), (128, "fast", 0.0625, 5)]
FOUND = [Measurement("matmul", *time) for time in TIMES]


def test_the_chart_draws_every_measurement_and_marks_estimates():
    spec = speed_chart.speedup(FOUND)
    rows = spec["data"]["values"]
    assert [(row["size"], row["backend"], row["speed-up"], row["milliseconds"], row["measured"]) for row in rows] == [
        (64, "simple", 1, 500, "yes"),
        (64, "fast", 4, 125, "yes"),
        (128, "simple", 1, 4000, "estimated"),
        (128, "fast", 64, 62.5, "yes"),
    ]
    assert spec["description"] == "At 128 rows and columns of each matrix, speed relative to simple: fast 64×."
    assert spec["width"] <= 320
    assert speed_chart.speedups(FOUND) == {(64, "simple"): 1, (64, "fast"): 4, (128, "simple"): 1, (128, "fast"): 64}


def test_notes_say_what_was_not_run_and_what_was_estimated():
    first, second = speed_chart.notes(FOUND, {"cuda": "there is none"})
    assert first == "cuda: NOT RUN, there is none."
    assert second.startswith("simple: hollow points and ≈ are estimates.")
    assert speed_chart.notes(FOUND[:2], {}) == []


@pytest.fixture
def requested_measurements(monkeypatch):
    """Records the requested measurements and returns the numbers above."""
    asked = []
    monkeypatch.setattr(speed, "measure", lambda *request: asked.append(request) or iter(FOUND))
    monkeypatch.setattr(speed, "missing", lambda backend: "there is none" if backend == "cuda" else "")
    monkeypatch.setattr(timing, "measure_roof", lambda dtype: Roof(1e9, 1e10))
    return asked


def test_the_table_has_times_rates_and_speed_ups(requested_measurements, capsys):
    assert timing.main([]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("matrix product, 2 at once, float32; ")
    assert [line.split() for line in lines[2:7]] == [
        ["size", "backend", "a", "call", "GFLOP/s", "×", "simple", "compiling"],
        ["64", "simple", "500", "ms", "0.0021", "1"],  # 2 · 2 · 64³ / 0.5 s
        ["fast", "125", "ms", "0.00839", "4"],
        ["128", "simple", "≈", "4", "s", "0.0021", "1"],
        ["fast", "62.5", "ms", "0.134", "64"],
    ]
    assert "cuda: NOT RUN, there is none." in lines
    assert lines[-1].startswith("This machine reads and writes 1 GB/s and computes 10 GFLOP/s")
    assert lines[-2] == "At 128 rows and columns of each matrix, speed relative to simple: fast 64×."
    assert err == ""
    assert requested_measurements == [("matmul", [64, 128, 256, 512, 1024], ["simple", "textbook", "fast", "numpy"], "float32")]


def test_flags_select_what_is_measured_and_json_starts_with_the_plan(requested_measurements, capsys):
    timing.main(["--op", "zip", "--up-to", "99999", "--backends", "fast,simple", "--dtype", "float64"])
    assert requested_measurements == [("zip", [1000, 10_000], ["simple", "fast"], "float64")]
    capsys.readouterr()
    timing.main(["--json", "--backends", "simple,fast,cuda", "--up-to", "128"])
    plan, *rows = map(json.loads, capsys.readouterr().out.splitlines())
    expected = {"op": "matmul", "dtype": "float32", "sizes": [64, 128], "backends": ["simple", "fast"]}
    assert plan == expected | {"left_out": {"cuda": "there is none"}, "roof": {"bandwidth": 1e9, "peak": 1e10}}
    assert [Measurement(**row) for row in rows] == FOUND


def test_a_report_contains_the_table_and_the_chart(requested_measurements, tmp_path):
    timing.main(["--report", str(tmp_path / "new")])
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["speedup.png", "timing.md"]
    text = (tmp_path / "new" / "timing.md").read_text(encoding="utf-8")
    assert "](speedup.png)" in text
    assert "* cuda: NOT RUN, there is none." in text
    assert "fast            125 ms" in text
    assert (tmp_path / "new" / "speedup.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--up-to", "63"], "up-to expected a whole number of at least 64, got 63"),
        (["--up-to", "1e3"], "up-to expected a whole number of at least 64, got 1000.0"),
        (["--backends", "fast,tpu"], "backends expected some of simple,textbook,fast,cuda,numpy, got tpu"),
        (["--backends", "cuda"], "backends expected one that runs here, got cuda (there is none)"),
    ],
)
def test_an_impossible_measurement_is_refused_in_one_line(requested_measurements, capsys, arguments, message):
    assert refusal(timing, capsys, *arguments) == message


def linear(backend, launch, rate, sizes=(1_000, 100_000), **more):
    """Measurements of a backend whose call takes launch + rate · size seconds."""
    return [Measurement("map", size, backend, launch + rate * size, 5, **more) for size in sizes]


def test_a_call_is_split_into_launch_and_compute():
    """50 µs + 1 ns an element: at 100,000 elements, 100 µs of 150 are computing."""
    (split,) = speed.parts(linear("fast", 50e-6, 1e-9, compiling=1.5, transfer=2e-3))
    assert (split.backend, split.size, split.compiling, split.transfer) == ("fast", 100_000, 1.5, 2e-3)
    assert (split.launch, split.compute) == (pytest.approx(50e-6), pytest.approx(100e-6))
    assert speed.in_words(split) == "fast: compile 1.5 s, launch 50 µs, transfer 2 ms, compute 100 µs at size 100,000"


def test_the_launch_is_never_negative_and_only_a_compiler_compiles():
    """Where small inputs are faster per element, because they fit into a cache, the launch counts as 0."""
    (split,) = speed.parts([Measurement("map", 1_000, "numpy", 1e-6, 5), Measurement("map", 100_000, "numpy", 500e-6, 5)])
    assert (split.launch, split.compute) == (0.0, 500e-6)
    assert speed.in_words(split) == "numpy: launch 0 µs, compute 500 µs at size 100,000"
    assert [split.compiling for split in speed.parts(linear("simple", 1e-5, 1e-9, compiling=0.5))] == [0.0]


def test_estimates_and_single_sizes_are_not_split():
    simple = [Measurement("map", 1_000, "simple", 1.0, 5), Measurement("map", 100_000, "simple", 100.0, 0)]
    assert [split.backend for split in speed.parts([*simple, *linear("fast", 1e-5, 1e-9)])] == ["fast"]


@pytest.mark.parametrize(
    ("op", "backend", "inputs"),
    [*[("zip", backend, 0) for backend in ("simple", "textbook", "fast", "numpy")], ("zip", "cuda", 2), ("map", "cuda", 1)],
)
def test_the_transfer_copies_as_many_inputs_as_the_operation_has(monkeypatch, op, backend, inputs):
    copied = []
    stub = lambda array: SimpleNamespace(to=lambda backend: copied.append((backend, array.shape)))  # noqa: E731
    monkeypatch.setattr(speed.minitorch, "cuda_backend", lambda: "gpu")
    monkeypatch.setattr(speed.minitorch, "from_numpy", stub)
    monkeypatch.setattr(speed, "_synchronized", lambda run: run)
    assert (speed.transfer(op, 1_000, backend, "float32") > 0) == bool(inputs)
    assert copied == [("gpu", (10, 100))] * inputs * speed.ROUNDS


ROOF = Roof(bandwidth=10e9, peak=80e9)


def test_memory_limits_up_to_the_ridge_and_arithmetic_beyond():
    assert ROOF.ridge == 8.0
    assert [ROOF.limit(at) for at in (0.1, 4.0, 8.0, 100.0)] == [1e9, 40e9, 80e9, 80e9]


@pytest.mark.parametrize(
    ("op", "size", "itemsize", "expected"),
    [
        ("map", 1000, 4, 1000 / 8000),  # read one number, write one
        ("zip", 1000, 8, 1000 / 24000),
        ("reduce", 1000, 4, 1000 / 4040),  # rows of 100
        ("matmul", 64, 4, 64 / 6),  # 2 n³ operations on 3 n² numbers of 4 bytes
    ],
)
def test_the_intensity_counts_each_input_and_output_once(op, size, itemsize, expected):
    assert roofline.intensity(op, size, itemsize) == pytest.approx(expected)


def test_what_is_reached_is_relative_to_the_limit_at_that_intensity():
    assert roofline.reached(Measurement("zip", 1200, "fast", 1.2e-6, 5), 4, ROOF) == pytest.approx(1.2)  # 1 of 0.83 GFLOP/s: from a cache
    assert roofline.reached(Measurement("matmul", 1000, "fast", 0.1, 5), 4, ROOF) == pytest.approx(0.5)  # 40 of 80 GFLOP/s


def test_the_chart_shows_the_roof_and_measured_points_only():
    found = [Measurement("matmul", 1000, "simple", 4.0, 0), Measurement("matmul", 1000, "fast", 0.1, 5)]
    spec = roofline_chart.roofline(found, 4, ROOF)
    line, points = (layer["data"]["values"] for layer in spec["layer"])
    assert [row["GFLOP/s"] for row in line] == [0.2, 80.0, 80.0]
    assert [row["intensity"] for row in line] == [0.02, 8.0, 1000.0]
    assert points == [{"intensity": 166.7, "GFLOP/s": 40.0, "backend": "fast", "size": 1000, "of the roof": "50%"}]
    assert spec["description"] == (
        "This machine reads and writes 10 GB/s and computes 80 GFLOP/s, so memory is the limit below 8 operations a byte. "
        "Of what is possible at its largest measured size: fast 50%."
    )


def test_the_program_reports_the_roof_of_this_machine_to_the_page(monkeypatch, capsys):
    monkeypatch.setattr(roofline, "STREAM", 1_000_000)
    monkeypatch.setattr(roofline, "SIDE", 256)
    assert timing.main(["--json", "--op", "map", "--up-to", "1000", "--backends", "numpy"]) == 0
    plan, row = map(json.loads, capsys.readouterr().out.splitlines())
    assert plan["roof"].keys() == {"bandwidth", "peak"}
    assert 1e8 < plan["roof"]["bandwidth"] < 1e13
    assert 1e8 < plan["roof"]["peak"] < 1e15
    assert Measurement(**row).backend == "numpy"
