"""torch.profiler and torch.autograd.profiler: the calls of functions in a block."""

import re
import threading
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.profiler import ProfilerActivity, profile, record_function


def step() -> None:
    """A product, an activation, a sum, and their gradients."""
    x = torch.ones(3, 3, requires_grad=True)
    (x @ x).relu().sum().backward()


def counts(prof: Any, **options: Any) -> dict[str, int]:
    return {row.key: row.count for row in prof.key_averages(**options)}


def test_calls_are_counted_forward_and_backward_apart() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        step()
        step()
    found = counts(prof)
    assert found["MatMul"] == found["MatMulBackward"] == 2
    assert all(row.cpu_time_total == row.self_cpu_time_total > 0 for row in prof.key_averages())
    assert len(prof.events()) == sum(found.values()) == prof.key_averages().total_average().count


def test_blocks_have_rows_of_their_own_and_times_add_up() -> None:
    @record_function("decorated")
    def decorated() -> None:
        torch.ones(2) + 1

    with profile() as prof:
        with record_function("outer"):
            step()
            with record_function("inner"):
                torch.ones(2) * 2
        decorated()
    found = counts(prof)
    assert (found["outer"], found["inner"], found["decorated"]) == (1, 1, 1)
    rows = {row.key: row for row in prof.key_averages()}
    outer, inner = rows["outer"], rows["inner"]
    within = [row for row in rows.values() if row.key not in ("outer", "decorated", "inner", "Add")]
    assert outer.cpu_time_total > inner.cpu_time_total
    assert outer.self_cpu_time_total < outer.cpu_time_total - inner.cpu_time_total
    assert outer.cpu_time_total >= sum(row.cpu_time_total for row in within if row.key != "Mul")


def test_rows_are_grouped_by_shapes_where_they_are_recorded() -> None:
    with profile(record_shapes=True) as prof:
        torch.ones(2, 3) @ torch.ones(3, 4)
        torch.ones(2, 3) @ torch.ones(3, 5)
    assert [row.input_shapes for row in prof.key_averages(group_by_input_shape=True) if row.key == "MatMul"] == [
        [[2, 3], [3, 4]],
        [[2, 3], [3, 5]],
    ]
    assert [row.count for row in prof.key_averages() if row.key == "MatMul"] == [2]
    assert "[[2, 3], [3, 4]]" in prof.key_averages(group_by_input_shape=True).table()


def test_the_table_is_sorted_cut_and_has_a_total() -> None:
    with profile() as prof:
        step()
        torch.ones(2) @ torch.ones(2)
    table = prof.key_averages().table(sort_by="count", row_limit=2, header="A step", max_name_column_width=5)
    lines = table.split("\n")
    assert lines[0] == "A step"
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    assert re.split(r"\s\s+", lines[2].strip()) == titles
    assert len(lines) == 1 + 3 + 2 + 1 + 2
    assert "\nMa...  " in prof.key_averages().table(max_name_column_width=5)
    assert re.fullmatch(r"Self CPU time total: [\d.]+(us|ms|s)", lines[-2])
    with pytest.raises(
        ValueError, match="table expected sort_by to be one of count, cpu_time, cpu_time_total, self_cpu_time_total, got 'cuda_time'"
    ):
        prof.key_averages().table(sort_by="cuda_time")


def test_only_the_thread_and_the_block_are_profiled() -> None:
    ready: list[Any] = []
    prof = profile(on_trace_ready=ready.append)
    prof.start()
    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    prof.step()
    prof.stop()
    step()
    assert (counts(prof), ready) == ({}, [prof])
    with record_function("no profile is active"):
        step()


def test_the_older_names() -> None:
    with torch.autograd.profiler.profile(use_cuda=False) as prof, torch.autograd.profiler.record_function("a"):
        nn.Linear(2, 3)(torch.ones(1, 2))
    assert "a" in counts(prof)
    assert "Self CPU time total" in prof.table(sort_by="cpu_time_total")
    assert prof.self_cpu_time_total == prof.total_average().self_cpu_time_total > 0
    with torch.autograd.profiler.profile(enabled=False) as prof:
        step()
    assert counts(prof) == {}


def test_what_is_absent_says_why() -> None:
    with pytest.raises(AttributeError, match=r"has no emit_nvtx in minitorch: it marks ranges for another profiler, "):
        torch.autograd.profiler.emit_nvtx  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch\.autograd\.profiler has no Kineto in minitorch; the table of names"):
        torch.autograd.profiler.Kineto  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch\.profiler has no schedule in minitorch"):
        torch.profiler.schedule  # noqa: B018
    with pytest.raises(NotImplementedError, match="profile supports schedule=None only; open the block around the steps"):
        profile(schedule=lambda step: step)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match=r"cannot export a trace; print key_averages\(\)\.table\(\)"):
        profile().export_chrome_trace("a.json")
