"""What the functions of minitorch.torch say of dtypes that they refuse; the errors are both TypeErrors and RuntimeErrors, as PyTorch's."""

import pytest

from minitorch import torch
from minitorch.torch import nn

F = nn.functional
floats, doubles, whole, mask = torch.ones(2, 2), torch.ones(2, 2).double(), torch.ones(2, 2).long(), torch.ones(2, 2) > 0
IMAGE, KERNEL = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1).double()
TWO = "expected tensors of one dtype, got float32 and float64; convert one of them: x.to(y.dtype)"

REFUSED = {
    "linear, float64": (lambda: nn.Linear(2, 1)(doubles),
        "linear expected tensors of one dtype, got float64 and float32; convert one of them: x.to(y.dtype)"),
    "linear, integers": (lambda: nn.Linear(2, 1)(whole), "got int64 and float32; convert one of them: x.to(y.dtype)"),
    "linear, bias": (lambda: F.linear(floats, floats, doubles[0]), f"linear {TWO}"),
    "linear, bools": (lambda: F.linear(mask, mask), "linear expected numbers, got a bool tensor; convert it first: x.long()"),
    "bilinear": (lambda: F.bilinear(floats, floats, doubles[None]), f"bilinear {TWO}"),
    "conv2d": (lambda: F.conv2d(IMAGE, KERNEL), f"conv2d {TWO}"),
    "conv3d": (lambda: F.conv3d(IMAGE[None], KERNEL[None]), f"conv3d {TWO}"),
    "conv_transpose2d": (lambda: F.conv_transpose2d(IMAGE, KERNEL), f"conv_transpose2d {TWO}"),
    "prelu": (lambda: F.prelu(floats, doubles[0]), "prelu expected weight of float32, got float64; convert it: weight.to(input.dtype)"),
    "layer_norm": (lambda: nn.LayerNorm(2)(doubles),
        "layer_norm expected weight of float64, like the input, got float32; convert the input: input.to(float32)"),
    "attention": (lambda: F.scaled_dot_product_attention(floats, floats, doubles), f"scaled_dot_product_attention {TWO}"),
    "attention, mask": (lambda: F.scaled_dot_product_attention(floats, floats, floats, doubles),
        "expected a mask of bool or float32, got float64; convert it: mask.to(query.dtype)"),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(2, 1)(doubles, doubles, doubles), f"MultiheadAttention {TWO}"),
    "LSTM": (lambda: nn.LSTM(2, 1)(doubles),
        "LSTM expected input of float32, the dtype of the weights, got float64; convert it: input.to(float32)"),
    "GRU, hx": (lambda: nn.GRU(2, 2)(floats, doubles[:1]), f"GRU {TWO}"),
    "softmax": (lambda: F.softmax(whole, 0), "softmax expected floating-point numbers, got int64; convert them first: x.float()"),
    "cross_entropy, target": (lambda: F.cross_entropy(floats, whole[0].int()), "got int32; convert it: target.to(int64)"),
    "cross_entropy, weight": (lambda: F.cross_entropy(floats, whole[0], doubles[0]), f"cross_entropy {TWO}"),
    "nll_loss, weight": (lambda: F.nll_loss(floats, whole[0], doubles[0]), f"nll_loss {TWO}"),
    "binary_cross_entropy": (lambda: F.binary_cross_entropy(floats, whole),
        "binary_cross_entropy expected target of float32, got int64; convert it: target.to(input.dtype)"),
    "l1_loss": (lambda: F.l1_loss(floats, mask), "l1_loss expected numbers, got a bool tensor; convert it first: x.long()"),
    "grid_sample": (lambda: F.grid_sample(IMAGE, torch.zeros(1, 1, 1, 2).double()), f"grid_sample {TWO}"),
    "affine_grid": (lambda: F.affine_grid(torch.ones(1, 2, 3).long(), (1, 1, 1, 1)),
        "affine_grid expected theta of floats, got int64; convert it: theta.to(float32)"),
    "max_unpool2d": (lambda: F.max_unpool2d(IMAGE, IMAGE, 1),
        "max_unpool2d expected indices of int64, got float32; convert them: indices.to(int64)"),
    "one_hot": (lambda: F.one_hot(whole.int()), "one_hot expected class indices of int64, got int32; convert them: x.long()"),
    "pow": (lambda: mask**mask, "pow expected numbers, got a bool tensor; convert it first: x.long()"),
    "remainder": (lambda: mask % mask, "remainder expected numbers, got a bool tensor; convert it first: x.long()"),
    "fmod": (lambda: torch.fmod(mask, mask), "fmod expected numbers, got a bool tensor; convert it first: x.long()"),
    "addcmul": (lambda: torch.addcmul(mask, mask, mask), "addcmul expected numbers, got a bool tensor; convert it first: x.long()"),
    "clamp": (lambda: mask.clamp(mask, mask), "clamp expected numbers, got a bool tensor; convert it first: x.long()"),
    "index_copy": (lambda: floats.index_copy(0, whole[0, :1].int(), floats[:1]),
        "index_copy expected an index of int64, got int32; convert it: index.long()"),
    "index_fill": (lambda: floats.index_fill(0, whole[0].int(), 1),
        "index_fill expected an index of int64, got int32; convert it: index.long()"),
    "an assignment": (lambda: floats.clone().__setitem__([0, 1], doubles),
        "an assignment to elements expected values of float32, got float64; convert them: values.to(input.dtype)"),
    "index_put": (lambda: floats.index_put((whole[0],), torch.tensor(1)),
        "index_put expected values of float32, got int64; convert them: values.to(input.dtype)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_dtype_is_refused_with_a_remedy(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert isinstance(caught.value, RuntimeError)
    assert str(caught.value).endswith(message)


def test_one_element_of_any_dtype_fills_a_mask_and_slices_convert() -> None:
    x = torch.zeros(2, 2)
    x[mask] = torch.tensor(2)
    x[0] = doubles[0] * 3
    assert x.tolist() == [[3.0, 3.0], [2.0, 2.0]]


def test_half_precision_is_normalized_with_weights_of_float32() -> None:
    assert nn.LayerNorm(2)(floats.half()).dtype is torch.float16


def test_convolutions_of_integers_and_transposed_ones_of_half_precision_keep_their_dtype() -> None:
    out = F.conv2d(IMAGE.long(), KERNEL.long() * 3)
    assert (out.dtype, out.tolist()) == (torch.int64, [[[[3, 3], [3, 3]]]])
    out = F.conv_transpose2d(IMAGE.half(), KERNEL.half() * 3)
    assert (out.dtype, out.tolist()) == (torch.float16, [[[[3.0, 3.0], [3.0, 3.0]]]])
