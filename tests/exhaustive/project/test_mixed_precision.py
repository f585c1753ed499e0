"""The program that compares training in float32 with training in mixed precision."""

import numpy as np
import pytest

from minitorch import GradScaler
from project import mixed_precision


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_loss_in_mixed_precision_follows_that_of_float32(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    given = 25, 16, 0.1, 3
    plain = [loss for loss, _, _ in mixed_precision.losses("float32", *given, GradScaler(enabled=False))]
    mixed = [loss for loss, _, taken in mixed_precision.losses(dtype, *given, GradScaler(init_scale=2.0**10)) if taken]
    assert plain[-1] < 0.8 * plain[0]
    np.testing.assert_allclose(mixed, plain, rtol=0.02 if dtype == "float16" else 0.1)
    assert mixed != plain
