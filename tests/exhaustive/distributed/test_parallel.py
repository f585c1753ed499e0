"""DistributedDataParallel: several processes on shards get the parameters of one process on the whole batch."""

import pytest

from tests.distributed.jobs import needs_mpi, run_job
from tests.distributed.test_parallel import check_equality


@needs_mpi
@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_random_models_optimizers_and_uneven_batches_train_as_in_one_process(processes):
    check_equality(processes, 100 * processes, 20)


@needs_mpi
def test_gradients_buffers_and_outputs_by_hand():
    job = run_job(2, "by_hand.py")
    for rank in range(2):
        results = job.results(rank)
        # the loss is the mean of w·x over 1 and 3 examples with x = 1 and x = 2, 3, 4: weighted (1·1 + 3·3) / 4
        assert results["weighted"] == [2.5]
        assert results["equal weights"] == [2.0]  # (1 + 3) / 2
        assert results["without examples"] == [3.0]  # of rank 1 alone: that of rank 0 is NaN
        assert results["accumulated"] == [7.5]  # 2.5 + 2 · 2.5
        assert results["frozen"] == [None, [2.5]]
        assert results["float16"] == ["float16", [2.5]]
        assert results["buffers of rank 0"] == [10.0, 0]
        assert results["parameters of rank 0"] == [1.0]
        assert results["outputs"] == ["Pair", "dict", 2.5, 2.5]
        assert results["loaded"] == [2.5]
        assert results["converted"] == ["float32", [2.5]]
        assert results["statistics"] == [[1.0], [3.0]][rank]  # BatchNorm: each rank its own
        assert results["evaluation"] == "rank 0 alone"


@needs_mpi
def test_the_first_bucket_is_sent_before_the_last_gradient_is_computed():
    job = run_job(2, "overlap.py")
    for rank in range(2):
        assert job.results(rank) == {"sent when the first layer's gradient came": 2, "buckets": 3}


@needs_mpi
def test_a_model_on_the_gpu_trains_as_on_the_cpu(monkeypatch):
    """In numba's simulator."""
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    job = run_job(2, "on_gpu.py")
    for rank in range(2):
        assert job.results(rank) == {"all_reduce": [3.0, 6.0], "gather": [[1.0, 2.0], [2.0, 4.0]], "gradient": [[2.5]], "backend": "cuda"}
