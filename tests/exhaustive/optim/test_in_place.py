"""Steps that are written in place: which loop takes them, layouts of all kinds, and parameters that move elsewhere between two steps."""

import numpy as np

from minitorch import FastBackend, SimpleBackend, float32, float64, tensor
from minitorch.core import kernel as kernels
from minitorch.fast_ops import FastOps
from minitorch.kernels.loop import PARALLEL_THRESHOLD
from tests.optim.test_in_place import EVERY_RULE, GRADIENTS, START, after


@EVERY_RULE
def test_the_compiled_backend_takes_one_pass(rule, settings, monkeypatch):
    accepted = []
    fused = kernels.find_kernel(rule.update, FastOps)
    monkeypatch.setitem(kernels._optimized, (rule.update, "fast"), lambda *args: accepted.append(fused(*args)) or accepted[-1])
    for backend in (FastBackend, SimpleBackend):
        for dtype in (float32, float64):
            after(rule, settings, tensor(START, backend, dtype=dtype), GRADIENTS[:1])
    assert accepted == [True, True]  # of the fast backend; the simple one has no such kernel


@EVERY_RULE
def test_several_threads_do_what_one_does(rule, settings):
    many = -(-PARALLEL_THRESHOLD // START.size) + 1
    start, steps = np.tile(START, (many, 1)), np.tile(GRADIENTS, (1, many, 1))
    alone, _ = after(rule, settings, tensor(START, FastBackend, dtype=float32))
    together, _ = after(rule, settings, tensor(start, FastBackend, dtype=float32), steps)
    np.testing.assert_allclose(together, np.tile(alone, (many, 1)), rtol=1e-6, atol=1e-7)
