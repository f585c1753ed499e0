"""Task 6.3 beside PyTorch's scaled_dot_product_attention, and beside the library's fused attention."""

import numpy as np
import pytest

from minitorch import tensor
from minitorch.language.attention import attention, causal_mask, merge_heads, split_heads
from tests.marks import needs_compiler

from .test_attention import attended, normal

MASKS = {
    "none": None,
    "causal": np.tri(4, dtype=bool),
    "random": np.random.default_rng(1).random((4, 4)) < 0.5,
    "rows all masked": np.array([[False] * 4, [True] * 4, [False] * 4, [True, False, True, False]]),
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_and_its_gradients_are_those_of_torch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    mask, arrays = MASKS[name], normal(0, *[(2, 3, 4, 5)] * 3)
    ours, theirs = [tensor(x, requires_grad=True) for x in arrays], [torch.tensor(x, requires_grad=True) for x in arrays]
    out = attention(*ours, None if mask is None else tensor(mask))
    expected = torch.nn.functional.scaled_dot_product_attention(*theirs, attn_mask=None if mask is None else torch.tensor(mask))
    np.testing.assert_allclose(out.to_numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)
    slope = np.cos(np.arange(out.numel())).reshape(out.shape)
    out.backward(tensor(slope))
    expected.backward(torch.tensor(slope))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.grad.to_numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("name", MASKS)
def test_the_library_s_fused_attention_is_used_on_the_compiled_backend_and_agrees(name):
    mask, (x,) = MASKS[name], normal(2, (2, 4, 18))
    both = []
    for backend in ("simple", "cpu"):
        projected = tensor(x).to(backend).requires_grad_()
        heads = split_heads(projected, 3)
        out = attention(*heads, None if mask is None else tensor(mask).to(backend))
        merge_heads(out).sum().backward()
        both.append((out.to_numpy(), projected.grad.to_numpy()))
    assert out.history.last_fn.__name__ == "FusedAttention"
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_a_causal_mask_is_numpy_s_lower_triangle():
    for queries in range(1, 4):
        for keys in range(1, 4):
            assert np.array_equal(causal_mask(queries, keys).to_numpy(), np.tri(queries, keys, keys - queries, dtype=bool))


def test_numbers_of_masked_keys_change_nothing():
    query, key, value = normal(3, *[(3, 2)] * 3)
    mask = np.array([True, False, True])
    far = [np.where(mask[:, None], x, 1e200) for x in (key, value)]
    out = attention(tensor(query), *map(tensor, far), tensor(mask))
    np.testing.assert_allclose(out.to_numpy(), attended(query, key, value, mask), rtol=1e-12)
