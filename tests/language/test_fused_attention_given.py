"""What is given in Task 6.5: the dtype that is kept, and what fused_attention refuses."""

import numpy as np

from minitorch import tensor
from minitorch.language.fused_attention import fused_attention
from tests.errors import raises

from .test_attention import attended, normal


def test_the_dtype_of_the_inputs_is_kept():
    arrays = normal(1, *[(2, 5, 3)] * 3)
    leaves = [tensor(x, dtype="float32", requires_grad=True) for x in arrays]
    out = fused_attention(*leaves, tile=2)
    out.sum().backward()
    assert [x.dtype for x in (out, *(x.grad for x in leaves))] == [np.float32] * 4
    np.testing.assert_allclose(out.to_numpy(), attended(*arrays), atol=1e-5)


def test_what_it_cannot_compute_is_refused():
    x = tensor(np.ones((2, 3, 4)))
    with raises(
        TypeError,
        "fused_attention expected three tensors of float64 or of float32, got float64, float64, float32; convert them: x.to(float32)",
    ):
        fused_attention(x, x, x.to("float32"))
    shapes = "fused_attention expected query (…, L, E), key (…, S, E) and value (…, S, D) with equal first dimensions, got "
    for query, key, value, found in (
        (x[0], x, x, "(3, 4), (2, 3, 4) and (2, 3, 4)"),
        (x, x[:, :, :3], x, "(2, 3, 4), (2, 3, 3) and (2, 3, 4)"),
        (x, x, x[:, :2], "(2, 3, 4), (2, 3, 4) and (2, 2, 4)"),
        (x[0, 0], x[0, 0], x[0, 0], "(4,), (4,) and (4,)"),
    ):
        with raises(ValueError, f"{shapes}{found}; expand or permute them"):
            fused_attention(query, key, value)
    with raises(ValueError, "fused_attention expected a tile of at least 1, got 0; leave it out for 32"):
        fused_attention(x, x, x, tile=0)
