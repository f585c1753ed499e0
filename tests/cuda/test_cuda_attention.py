"""What is given in Task 6.5b: cuda_attention launches the kernel for tensors on the GPU, and refuses what it cannot compute."""

import numpy as np
import pytest

from minitorch import no_grad, tensor
from minitorch.language.cuda_attention import TILE, cuda_attention

from ..errors import raises
from ..language.test_attention import attended, normal
from ..tensor_strategies import assert_close_tensor


def there(array, cuda, **options):
    """A tensor of float32 on the GPU."""
    return tensor(array, dtype="float32", backend=cuda, **options)


@pytest.mark.parametrize(("queries", "keys", "causal"), [(3, 2, True), (TILE + 1, 1, False)])
def test_it_is_attention_of_each_head(queries, keys, causal, cuda):
    query, key, value = normal(1, (2, 1, queries, 3), (2, 1, keys, 3), (2, 1, keys, 2))
    permuted = there(query.transpose(3, 0, 2, 1), cuda).permute(1, 3, 2, 0)
    out = cuda_attention(permuted, there(key, cuda), there(value, cuda), causal)
    assert out.backend is cuda
    assert out.dtype == np.float32
    mask = np.tri(queries, keys, keys - queries, dtype=bool) if causal else None
    assert_close_tensor(out, attended(query, key, value, mask), 1e-5)


def test_two_dimensions_are_one_head(cuda):
    arrays = normal(2, (2, 3), (4, 3), (4, 2))
    assert_close_tensor(cuda_attention(*(there(x, cuda) for x in arrays)), attended(*arrays), 1e-5)


def test_views_that_begin_later_in_storage(cuda):
    arrays = normal(3, *[(3, 2, 3)] * 3)
    assert_close_tensor(cuda_attention(*(there(x, cuda)[1] for x in arrays)), attended(*(x[1] for x in arrays)), 1e-5)


def test_without_queries_there_is_nothing_to_compute(cuda):
    x = there(np.ones((2, 3)), cuda)
    assert cuda_attention(x[:0], x, x).shape == (0, 3)


def test_without_keys_all_outputs_are_zeros(cuda):
    x = there(np.ones((2, 3)), cuda)
    assert cuda_attention(x, x[:0], x[:0]).tolist() == [[0, 0, 0]] * 2


def test_gradients_are_refused_unless_they_are_off(cuda):
    x = there(np.ones((2, 3)), cuda)
    y = there(np.ones((2, 3)), cuda, requires_grad=True)
    with raises(RuntimeError, "cuda_attention records no gradients, got a tensor that requires them; call it inside no_grad()"):
        cuda_attention(x, y, x)
    with no_grad():
        assert cuda_attention(x, y, x).tolist() == [[1, 1, 1]] * 2


def test_what_it_cannot_compute_is_refused(cuda):
    x = there(np.ones((2, 3, 4)), cuda)
    cpu = tensor(np.ones((2, 3, 4)), dtype="float32")
    with raises(
        RuntimeError, 'cuda_attention expected tensors on the GPU, got one on the CPU; move it: x.to("cuda"), or use fused_attention'
    ):
        cuda_attention(x, cpu, x)
    with raises(TypeError, "cuda_attention expected three tensors of float32, got float32, float64, float32; convert them: x.to(float32)"):
        cuda_attention(x, x.to("float64"), x)
    shapes = "cuda_attention expected query (…, L, E), key (…, S, E) and value (…, S, D) with equal first dimensions, got "
    for query, key, value, found in (
        (x[0], x, x, "(3, 4), (2, 3, 4) and (2, 3, 4)"),
        (x, x[:, :, :3], x, "(2, 3, 4), (2, 3, 3) and (2, 3, 4)"),
        (x, x, x[:, :2], "(2, 3, 4), (2, 3, 4) and (2, 2, 4)"),
        (x[0, 0], x[0, 0], x[0, 0], "(4,), (4,) and (4,)"),
    ):
        with raises(ValueError, f"{shapes}{found}; expand or permute them"):
            cuda_attention(query, key, value)
    wide, narrow = there(np.ones((2, 65)), cuda), there(np.ones((2, 64)), cuda)
    more = "cuda_attention expected queries and keys of 1 to 64 elements and values of at most 64, got "
    for query, value, found in (
        (there(np.ones((2, 0)), cuda), narrow, "0 in queries and keys, 64 in values"),
        (wide, narrow, "65 in queries and keys, 64 in values"),
        (narrow, wide, "64 in queries and keys, 65 in values"),
    ):
        with raises(ValueError, f"{more}{found}; use attention"):
            cuda_attention(query, query, value)
