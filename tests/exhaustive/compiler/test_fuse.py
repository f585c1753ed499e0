"""Fused programs: what they compute is what the function computes, up to rounding."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float32, float64
from minitorch.compiler import fused
from tests.compiler.programs import array_bytes
from tests.compiler.test_fuse import called_twice, check_fused, check_replayed
from tests.marks import needs_compiler

pytestmark = needs_compiler


def test_a_second_process_loads_the_compiled_program_from_disk(tmp_path):
    program = """
import minitorch
from minitorch import FastBackend
f = minitorch.compile(lambda x: ((x * 2.0 + 1.0).sigmoid() * x).sum(), fuse=False)
x = minitorch.tensor([1.0, 2.0, 3.0], backend=FastBackend)
f(x), f(x)
f.fuse()
print(f(x).item())
print(sum(hits for fn, _ in f._latest.forward_calls for hits in fn.stats.cache_hits.values()))
"""

    def run():
        done = subprocess.run(
            [sys.executable, "-c", program], env={"NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    first, second = run(), run()
    assert first[0] == second[0]
    assert float(first[0]) == pytest.approx(sum(x / (1 + np.exp(-2 * x - 1)) for x in (1, 2, 3)))
    assert second[1] == "1"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("dtype", "tolerance"), [(float64, 1e-12), (float32, 1e-5)], ids=["float64", "float32"])
def test_a_fused_program_trains_like_the_function(seed, dtype, tolerance):
    check_fused(seed, dtype, tolerance, length=12)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", [float64, float32], ids=["float64", "float32"])
def test_a_replayed_program_trains_exactly_like_the_function(seed, dtype):
    check_replayed(seed, dtype)


def test_large_operations_are_launched_as_they_are():
    w, x = (minitorch.rand(shape, backend=FastBackend, requires_grad=shape[0] > 100) for shape in ((300, 100), (100, 300)))
    f, _ = called_twice(lambda x: ((x @ w) * 2.0 + 1.0).relu().sum().detach(), x)
    source = f.fuse()
    assert "matmul" not in source
    assert "relu" in source
    np.testing.assert_allclose(f(x).item(), np.maximum(x.to_numpy() @ w.to_numpy() * 2 + 1, 0).sum(), rtol=1e-12)


def test_the_source_does_not_depend_on_where_arrays_lie():
    minitorch.manual_seed(0)
    sources = set()
    for _ in range(3):
        w = minitorch.Parameter(minitorch.rand((70, 70), backend=FastBackend))
        optimizer = minitorch.Adam([w], lr=0.1)

        def step(x, w=w, optimizer=optimizer):
            loss = ((x @ w.value).relu() * 2.0).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        compiled = minitorch.compile(step)
        x = minitorch.rand((70, 70), backend=FastBackend)
        compiled(x)
        latest = compiled._latest
        sources.add("".join(fused.fuse(latest.nodes, latest.kept, latest.boundary).sources()))
    assert len(sources) == 1
    assert "matmul" in sources.pop()


def test_a_fused_program_keeps_no_memory_of_the_launches():
    f = minitorch.compile(lambda x: (((x * 0.5).exp() + 1.0).sum(0) * x).sum(0), fuse=False)
    x = minitorch.tensor(np.ones((100, 100)), FastBackend)
    tracemalloc.start()
    try:
        f(x), f(x)
        launched, (before, _) = array_bytes(), f.memory
        f.fuse()
        f(x)
        fused, (after, _) = array_bytes(), f.memory
    finally:
        tracemalloc.stop()
    assert after < before
    assert fused - launched < after - before + 4096
