"""Models of every kind train exactly alike, compiled and as they are: losses, parameters, buffers and random numbers."""

import numpy as np
import pytest

import minitorch
from minitorch.kernels.jit import compiler_is_off
from tests.compiler.test_models import CASES, SLOW, check_training, train

pytestmark = pytest.mark.skipif(compiler_is_off(), reason="the compiler is off")


@pytest.mark.parametrize("case", CASES)
def test_a_fused_model_trains_alike_up_to_rounding(case):
    losses, numbers, _, _ = train(case, lambda step: step)

    def fused(step):
        compiled = minitorch.compile(step)

        def call(*args):
            result = compiled(*args)
            if compiled.replayed == 1:
                compiled.fuse()
            return result

        call.compiled = compiled
        return call

    fused_losses, fused_numbers, _, step = train(case, fused)
    assert step.compiled._latest.program is not None
    np.testing.assert_allclose(fused_losses, losses, rtol=1e-4)
    for mine, expected in zip(fused_numbers, numbers, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", SLOW)
def test_a_model_trains_exactly_alike(case):
    check_training(case)
