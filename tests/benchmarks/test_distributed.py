"""The model of data-parallel training: hand-computed costs, and the whole program."""

import pytest

from benchmarks import distributed
from benchmarks.distributed import Link, Work

LINK = Link(latency=0.5, bandwidth=4.0)


@pytest.mark.parametrize(("processes", "size", "seconds"), [(1, 100.0, 0.0), (2, 8.0, 1.0 + 2.0), (4, 8.0, 3.0 + 3.0), (4, 0.0, 3.0)])
def test_a_ring_sends_each_part_twice_around(processes, size, seconds):
    assert LINK.ring(processes, size) == seconds


def test_a_step_computes_its_share_and_then_sends():
    work = Work(fixed=1.0, per_example=0.5, size=8, batch=8)
    assert [work.step(1, LINK), work.step(2, LINK), work.step(4, LINK)] == [5.0, 3.0 + 3.0, 2.0 + 6.0]
    assert [work.step(1, LINK, True), work.step(2, LINK, True), work.step(4, LINK, True)] == [5.0, 5.0 + 3.0, 5.0 + 6.0]


def test_the_time_of_a_step_is_fitted_to_two_batches():
    assert distributed.fit({"4": 5.0, "2": 3.0}, 100) == Work(1.0, 1.0, 100, 4)
    assert distributed.fit({"4": 5.0, "2": 5.5}, 100) == Work(5.0, 0.0, 100, 4)  # noise: no time per example below 0
    assert distributed.fit({"4": 5.0, "2": 1.0}, 100) == Work(0.0, 2.0, 100, 4)  # nor a fixed time


def test_the_link_is_computed_from_a_small_and_a_large_sum():
    link = distributed.measured_link(0.004, 1.004)
    assert link.latency == 0.001
    assert link.bandwidth == pytest.approx(distributed.LARGE)
    assert 2 * link.ring(2, 0) == 0.004  # the sum and its check


def test_the_table_has_the_speed_up_for_1_to_1024_processes():
    works = {"a": Work(0.0, 1.0, 0, 8), "b": Work(0.0, 1.0, 8, 8)}
    free = distributed.table(["a", "b"], works, Link(0.0, 8.0), growing=False)
    assert free[0].split() == ["processes", "a", "b"]
    assert free[1].split() == ["1", "1.0", "1.0"]
    assert free[2].split() == ["2", "2.0", "1.6"]  # 8 / (4 + 1)
    assert free[-1].split() == ["1,024", "1024.0", "4.0"]  # 8 / (8/1024 + 2 · 1023/1024)
    shared = distributed.table(["b"], works, Link(0.0, 8.0), growing=True)
    assert shared[2].split() == ["2", "1.8"]  # 2 · 8 / (8 + 1)


def test_a_prediction_is_good_up_to_the_tolerance():
    work = Work(0.0, 1.0, 0, 4)
    assert distributed.check("x", work, Link(0.0, 1.0), {"4": 4.0, "2": 2.0}) == (
        "x          whole batch each: predicted 4000.00 ms, measured 4000.00 ms (+0%); "
        "half a batch each: predicted 2000.00 ms, measured 2000.00 ms (+0%)  good",
        True,
    )
    assert distributed.check("x", work, Link(0.0, 1.0), {"4": 8.0, "2": 2.0})[1]  # half of the measurement, -50 %
    assert not distributed.check("x", work, Link(0.0, 1.0), {"4": 8.1, "2": 2.0})[1]
    assert not distributed.check("x", work, Link(0.0, 1.0), {"4": 4.0, "2": 1.3})[1]
