"""Products in tiles: the tile itself, in every layout, and convolutions of compiled steps."""

from typing import Any

import numpy as np
import pytest
from numba import njit

import minitorch
from minitorch import FastBackend, nn
from minitorch.kernels.tiles import copy_row, multiply_tile
from tests.marks import needs_compiler

pytestmark = needs_compiler


@njit
def add_block(out, a, a_row, a_k, b, b_k, columns, inner):
    """Rows 1 to 3 and columns 2 to 7 of a product, added to out; vectors of four columns, so that two overlap."""
    multiply_tile(out, 5, columns, 1, a, 3, a_row, a_k, b, 4, b_k, 1, inner, 1, 2, 3, 6, 4, 1)


@pytest.mark.parametrize(("dtype", "is_array"), [(np.float64, (False, False, False)), (np.float32, (True, True, True))], ids=str)
def test_a_block_is_added_at_steps_or_positions(dtype, is_array):
    rows, inner, columns = 5, 7, 9
    random = np.random.default_rng(0)
    a, b, out = (random.standard_normal(shape).astype(dtype) for shape in ((rows, inner), (inner, columns), (rows, columns)))
    flat = [np.concatenate([np.full(start, np.nan, dtype), x.reshape(-1)]) for start, x in ((3, a), (4, b), (5, out))]
    steps = [(rows, inner), (inner, 1), (inner, columns)]
    given = [np.arange(count) * step if array else step for (count, step), array in zip(steps, is_array, strict=True)]
    add_block(flat[2], flat[0], given[0], given[1], flat[1], given[2], columns, inner)
    want = out.astype(float)
    want[1:4, 2:8] += (a.astype(float) @ b)[1:4, 2:8]
    np.testing.assert_allclose(flat[2][5:].reshape(rows, columns), want, rtol=0, atol=20 * np.finfo(dtype).eps)


@njit
def add_to_row(out, o, source, position, step, value, count):
    """Some numbers of source plus a value, written to out."""
    copy_row(out, o, source, position, step, value, count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_a_row_of_any_length_is_copied(dtype):
    source = np.random.default_rng(0).standard_normal(200).astype(dtype)
    for count in (*range(20), 40):
        for step in (1, 3, 0):
            out = np.full(50, np.nan, dtype)
            add_to_row(out, 2, source, 5, step, dtype(0.5), count)
            want = np.full(50, np.nan, dtype)
            want[2 : count + 2] = source[5 + step * np.arange(count)] + dtype(0.5)
            np.testing.assert_array_equal(out, want, err_msg=f"{count} numbers {step} apart")


GEOMETRIES = {
    "one channel": ((2, 1, 6, 7), (3, 1, 3, 2), {}),
    "padding": ((3, 3, 5, 5), (8, 3, 3, 3), {"padding": 2}),
    "stride and dilation": ((2, 4, 11, 9), (6, 4, 2, 3), {"stride": 2, "dilation": 2, "padding": 1}),
    "groups": ((2, 6, 5, 8), (9, 2, 2, 2), {"groups": 3}),
    "more channels than a tile": ((2, 20, 4, 60), (53, 20, 2, 3), {"padding": 1}),
    "padding alone": ((1, 1, 1, 1), (2, 1, 1, 1), {"padding": 3}),
}
"""Shapes of images and weights, and settings."""


def windows(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Images (B, C, H, W) as windows, shape (groups, B, C / groups, out rows, out columns, rows, columns), and the weight by groups."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    sizes = [dilation * (taps - 1) + 1 for taps in weight.shape[2:]]
    views = np.lib.stride_tricks.sliding_window_view(x, sizes, (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = views.reshape(len(x), groups, -1, *views.shape[2:]).swapaxes(0, 1)
    return parts, weight.reshape(groups, -1, *weight.shape[1:])


def convolved(x, weight, bias, grad, settings):
    """A convolution by NumPy, and the gradients of weight and bias."""
    parts, by_group = windows(x, weight, **settings)
    out = np.einsum("gbchwrs,gocrs->bgohw", parts, by_group).reshape(grad.shape) + bias.reshape(-1, 1, 1)
    grads = grad.reshape(len(x), len(by_group), -1, *grad.shape[2:])
    return out, np.einsum("bgohw,gbchwrs->gocrs", grads, parts).reshape(weight.shape), grad.sum((0, 2, 3))


def input_gradient(x, weight, grad, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of the images: each tap adds to the positions that it has read."""
    height, width = grad.shape[2:]
    total = np.zeros((len(x), groups, x.shape[1] // groups, *(size + 2 * padding for size in x.shape[2:])))
    grads, by_group = grad.reshape(len(x), groups, -1, height, width), weight.reshape(groups, -1, *weight.shape[1:])
    for r, s in np.ndindex(*weight.shape[2:]):
        rows = slice(r * dilation, r * dilation + (height - 1) * stride + 1, stride)
        columns = slice(s * dilation, s * dilation + (width - 1) * stride + 1, stride)
        total[..., rows, columns] += np.einsum("bgohw,goc->bgchw", grads, by_group[..., r, s])
    inside = [slice(padding, padding + size) for size in x.shape[2:]]
    return total.reshape(*x.shape[:2], *total.shape[3:])[:, :, inside[0], inside[1]]


@pytest.mark.parametrize(("dtype", "tolerance"), [(minitorch.float32, 2e-6), (minitorch.float64, 1e-14)], ids=["float32", "float64"])
def test_compiled_convolutions_and_their_gradients(dtype, tolerance):
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal(x), random.standard_normal(w), random.standard_normal(w[0])) for x, w, _ in GEOMETRIES.values()]
    settings = [given for *_, given in GEOMETRIES.values()]

    def fn(*tensors):
        outs = []
        for number, given in enumerate(settings):
            outs.append(nn.conv2d(*tensors[3 * number : 3 * number + 3], **given))
        loss: Any = sum((0.5 * out * out).sum() for out in outs)
        loss.backward()
        return [out.detach() for out in outs], [x.grad for x in tensors]

    compiled = minitorch.compile(fn, check=False)
    for call in range(3):
        given = [minitorch.tensor(x.tolist(), FastBackend, dtype=dtype, requires_grad=True) for group in arrays for x in group]
        outs, grads = compiled(*given)
        if call == 1:
            compiled.fuse()
    assert compiled._latest.program is not None
    for number, ((x, w, b), name) in enumerate(zip(arrays, GEOMETRIES, strict=True)):
        grad = outs[number].to_numpy().astype(float)
        out, grad_w, grad_b = convolved(x, w, b, grad, settings[number])
        wants = [out, input_gradient(x, w, grad, **settings[number]), grad_w, grad_b]
        for want, got in zip(wants, [outs[number], *grads[3 * number : 3 * number + 3]], strict=True):
            np.testing.assert_allclose(got.to_numpy(), want, rtol=0, atol=tolerance * np.abs(want).max(), err_msg=name)
