"""broadcast, all_reduce, all_gather and barrier between real processes."""

import numpy as np
import pytest

from .jobs import needs_mpi, run_job

pytestmark = needs_mpi


def ramp(rank, *shape):
    return np.arange(float(np.prod(shape))).reshape(shape) + 100 * rank


@pytest.fixture(scope="module", params=[2, 3, 4])
def results(request):
    """The results of every rank."""
    job = run_job(request.param, "collectives.py")
    return [job.results(rank) for rank in range(request.param)]


def check(results, name, expected):
    assert [each[name] for each in results] == [expected] * len(results)


def test_every_process_has_its_rank(results):
    assert [each["rank"] for each in results] == [[rank, len(results), rank] for rank in range(len(results))]


def test_all_reduce_sums(results):
    check(results, "sum", sum(ramp(rank, 2, 3) for rank in range(len(results))).tolist())


def test_all_reduce_writes_into_the_storage_and_counts_the_write(results):
    check(results, "sum in place", [True, True, 1])


def test_all_reduce_averages(results):
    check(results, "mean", (ramp(0, 5) + 50 * (len(results) - 1)).tolist())


def test_all_reduce_of_a_view_changes_only_its_elements(results):
    for rank, each in enumerate(results):
        expected = ramp(rank, 4, 6)
        expected.T[1::2, 1:3] = sum(ramp(other, 4, 6).T[1::2, 1:3] for other in range(len(results)))
        assert each["sum of a view"] == expected.tolist()


def test_all_reduce_sums_float32_and_integers_beyond_it(results):
    check(results, "sum of float32", sum(ramp(rank, 3) for rank in range(len(results))).tolist())
    check(results, "sum of int64", [sum(range(len(results))), len(results) * 2**40])


def test_all_reduce_rounds_half_precision_once(results):
    others = 0.75 * (len(results) - 1)
    check(results, "sum of float16", [float(np.float16(2048 + others))])
    check(results, "sum of bfloat16", [256.0 + 2 * round(others / 2)])  # 8 bits: steps of 2 above 256


def test_all_reduce_of_no_elements_and_of_a_number(results):
    check(results, "sum of nothing", [0, 3])
    check(results, "sum of a number", 100.0 * sum(range(len(results))))


@pytest.mark.parametrize("count", [1, 7, 1001, 300_001])
def test_the_sum_has_the_same_bits_on_every_rank(results, count):
    check(results, f"bits {count}", results[0][f"bits {count}"])
    parts = [np.random.default_rng(rank) for rank in range(len(results))]
    for earlier in (1, 7, 1001, 300_001):
        total = sum(part.standard_normal(earlier) for part in parts)
        if earlier == count:
            np.testing.assert_allclose(results[0][f"bits {count}"][1], total.sum(), atol=1e-9)


def test_broadcast_copies_the_elements_of_one_rank(results):
    check(results, "broadcast", ramp(len(results) - 1, 3, 2).T.tolist())
    check(results, "broadcast of bool", [True, True])
    check(results, "broadcast of bfloat16", [1.5])


def test_all_gather_returns_the_tensors_in_the_order_of_the_ranks(results):
    check(results, "gather", [ramp(rank, 2, 2).T.tolist() for rank in range(len(results))])
    check(results, "gather of nothing", [[0]] * len(results))


def test_a_sampler_takes_its_share_from_the_group(results):
    for rank, each in enumerate(results):
        assert each["sampler"] == [number % 7 for number in range(rank, -(-7 // len(results)) * len(results), len(results))]


def test_no_group_remains_after_destroy(results):
    check(results, "after", False)
