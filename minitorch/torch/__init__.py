"""PyTorch's interface over MiniTorch: `import minitorch.torch as torch`. Absent names say so, and name the nearest one that exists."""

import inspect as _inspect
import math as _math
from typing import Any as _Any

from minitorch.core.dtypes import bool_ as bool
from minitorch.core.dtypes import float16, float32, float64, int8, int16, int32, int64, uint8
from minitorch.core.dtypes import load_bfloat16 as _load_bfloat16
from minitorch.core.number_formats import finfo, iinfo
from minitorch.tensor import Tensor as _EngineTensor
from minitorch.tensor import manual_seed
from minitorch.torch import arithmetic as _arithmetic
from minitorch.torch import creation as _creation
from minitorch.torch import accelerator as accelerator
from minitorch.torch import backends as backends
from minitorch.torch import cuda as cuda
from minitorch.torch import factorizations as _factorizations
from minitorch.torch import indexing as _indexing
from minitorch.torch import linalg as linalg
from minitorch.torch import pointwise as _pointwise
from minitorch.torch import products as _products
from minitorch.torch import rearranging as _rearranging
from minitorch.torch import reductions as _reductions
from minitorch.torch import shapes as _shapes
from minitorch.torch import statistics as _statistics
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.creation import Generator
from minitorch.torch.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    use_deterministic_algorithms,
)
from minitorch.torch.places import Size, device, double, dtype, get_default_device, half, long, set_default_device, short
from minitorch.torch.promotion import get_default_dtype, set_default_dtype
from minitorch.torch.tensor import Tensor
from minitorch.torch.tensor import lift as _lift
from minitorch.torch.tensor import unwrap as _unwrap

float, int, pi, inf, nan, e = float32, int32, _math.pi, _math.inf, _math.nan, _math.e

# Each function is written for tensors of the engine; here it takes and returns Tensors

(
    tensor, as_tensor, from_numpy, zeros, ones, empty, full, zeros_like, ones_like, full_like, empty_like, arange, linspace,
    logspace, eye, rand, randn, rand_like, randn_like, randint, randperm, normal, bernoulli, multinomial,
) = map(
    _lift,
    (
        _creation.tensor, _creation.as_tensor, _creation.from_numpy, _creation.zeros, _creation.ones, _creation.empty,
        _creation.full, _creation.zeros_like, _creation.ones_like, _creation.full_like, _creation.empty_like, _creation.arange,
        _creation.linspace, _creation.logspace, _creation.eye, _creation.rand, _creation.randn, _creation.rand_like,
        _creation.randn_like, _creation.randint, _creation.randperm, _creation.normal, _creation.bernoulli, _creation.multinomial,
    ),
)  # fmt: skip

(
    add, sub, mul, div, floor_divide, remainder, pow, neg, eq, ne, lt, le, gt, ge, isclose, allclose, equal, logical_and,
    logical_or, logical_xor, logical_not, bitwise_and, bitwise_or, bitwise_xor, bitwise_not, where, masked_fill, maximum, minimum,
    clamp, lerp, addcmul, addcdiv,
) = map(
    _lift,
    (
        _arithmetic.add, _arithmetic.sub, _arithmetic.mul, _arithmetic.div, _arithmetic.floor_divide, _arithmetic.remainder,
        _arithmetic.pow, _arithmetic.neg, _arithmetic.eq, _arithmetic.ne, _arithmetic.lt, _arithmetic.le, _arithmetic.gt,
        _arithmetic.ge, _arithmetic.isclose, _arithmetic.allclose, _arithmetic.equal, _arithmetic.logical_and,
        _arithmetic.logical_or, _arithmetic.logical_xor, _arithmetic.logical_not, _arithmetic.bitwise_and, _arithmetic.bitwise_or,
        _arithmetic.bitwise_xor, _arithmetic.bitwise_not, _arithmetic.where, _arithmetic.masked_fill, _arithmetic.maximum,
        _arithmetic.minimum, _arithmetic.clamp, _arithmetic.lerp, _arithmetic.addcmul, _arithmetic.addcdiv,
    ),
)  # fmt: skip

(
    exp, log, sqrt, sin, cos, tanh, sigmoid, reciprocal, tan, asin, acos, atan, sinh, cosh, erf, expm1, log1p, floor, ceil, trunc,
    log2, log10, rsqrt, square, abs, sign, round, frac, relu, isnan, isinf, isfinite, softmax, log_softmax,
) = map(
    _lift,
    (
        _pointwise.exp, _pointwise.log, _pointwise.sqrt, _pointwise.sin, _pointwise.cos, _pointwise.tanh, _pointwise.sigmoid,
        _pointwise.reciprocal, _pointwise.tan, _pointwise.asin, _pointwise.acos, _pointwise.atan, _pointwise.sinh, _pointwise.cosh,
        _pointwise.erf, _pointwise.expm1, _pointwise.log1p, _pointwise.floor, _pointwise.ceil, _pointwise.trunc, _pointwise.log2,
        _pointwise.log10, _pointwise.rsqrt, _pointwise.square, _pointwise.abs, _pointwise.sign, _pointwise.round, _pointwise.frac,
        _pointwise.relu, _pointwise.isnan, _pointwise.isinf, _pointwise.isfinite, _pointwise.softmax, _pointwise.log_softmax,
    ),
)  # fmt: skip

(
    sum, mean, prod, all, any, var, std, var_mean, amax, amin, max, min, argmax, argmin, logsumexp, norm, median, cumsum, cumprod,
    unique, bincount, count_nonzero,
) = map(
    _lift,
    (
        _reductions.sum, _reductions.mean, _reductions.prod, _reductions.all, _reductions.any, _reductions.var, _reductions.std,
        _reductions.var_mean, _reductions.amax, _reductions.amin, _reductions.max, _reductions.min, _reductions.argmax,
        _reductions.argmin, _reductions.logsumexp, _reductions.norm, _indexing.median, _reductions.cumsum, _reductions.cumprod,
        _reductions.unique, _reductions.bincount, _reductions.count_nonzero,
    ),
)  # fmt: skip

(
    reshape, flatten, unflatten, permute, movedim, transpose, t, squeeze, tile, repeat_interleave, cat, stack, vstack, hstack,
    split, chunk, unbind, narrow, flip, roll, meshgrid, tril, triu, diagonal, diag,
) = map(
    _lift,
    (
        _shapes.reshape, _shapes.flatten, _shapes.unflatten, _shapes.permute, _shapes.movedim, _shapes.transpose, _shapes.t,
        _shapes.squeeze, _shapes.tile, _shapes.repeat_interleave, _shapes.cat, _shapes.stack, _shapes.vstack, _shapes.hstack,
        _shapes.split, _shapes.chunk, _shapes.unbind, _shapes.narrow, _shapes.flip, _shapes.roll, _shapes.meshgrid, _shapes.tril,
        _shapes.triu, _shapes.diagonal, _shapes.diag,
    ),
)  # fmt: skip

(
    gather, take_along_dim, scatter, scatter_add, index_select, index_add, masked_select, nonzero, argsort, sort, topk, kthvalue,
) = map(
    _lift,
    (
        _indexing.gather, _indexing.take_along_dim, _indexing.scatter, _indexing.scatter_add, _indexing.index_select,
        _indexing.index_add, _indexing.masked_select, _indexing.nonzero, _indexing.argsort, _indexing.sort, _indexing.topk,
        _indexing.kthvalue,
    ),
)  # fmt: skip

(
    matmul, mm, bmm, mv, dot, outer, addmm, einsum, cdist, cholesky_solve, trace,
) = map(
    _lift,
    (
        _products.matmul, _products.mm, _products.bmm, _products.mv, _products.dot, _products.outer, _products.addmm,
        _products.einsum, _products.cdist, _products.cholesky_solve, _products.trace,
    ),
)  # fmt: skip

(
    atan2, fmod, hypot, logaddexp, xlogy, nan_to_num, asinh, acosh, atanh, erfc, logit, deg2rad, rad2deg, addmv, addr, baddbmm,
    addbmm, inner, tensordot, kron, cross, dist, index_fill, index_copy, select, argwhere, isin, searchsorted, bucketize,
    signbit, copysign, nextafter, bitwise_left_shift, bitwise_right_shift,
) = map(
    _lift,
    (
        _arithmetic.atan2, _arithmetic.fmod, _arithmetic.hypot, _arithmetic.logaddexp, _arithmetic.xlogy, _arithmetic.nan_to_num,
        _pointwise.asinh, _pointwise.acosh, _pointwise.atanh, _pointwise.erfc, _pointwise.logit, _pointwise.deg2rad,
        _pointwise.rad2deg, _products.addmv, _products.addr, _products.baddbmm, _products.addbmm, _products.inner,
        _products.tensordot, _products.kron, _products.cross, _products.dist, _indexing.index_fill, _indexing.index_copy,
        _indexing.select, _indexing.argwhere, _indexing.isin, _indexing.searchsorted, _indexing.bucketize, _pointwise.signbit,
        _arithmetic.copysign, _arithmetic.nextafter, _arithmetic.bitwise_left_shift, _arithmetic.bitwise_right_shift,
    ),
)  # fmt: skip

(
    broadcast_to, broadcast_tensors, rot90, fliplr, flipud, ravel, tensor_split, hsplit, vsplit, dsplit, dstack, column_stack,
    cartesian_prod, combinations, block_diag, diagflat, diag_embed, std_mean, aminmax, nansum, nanmean, cummax, cummin,
    logcumsumexp, diff, trapezoid, quantile, nanquantile, nanmedian, histc, cov, corrcoef, tril_indices, triu_indices,
) = map(
    _lift,
    (
        _shapes.expand, _rearranging.broadcast_tensors, _rearranging.rot90, _rearranging.fliplr, _rearranging.flipud,
        _rearranging.ravel, _rearranging.tensor_split, _rearranging.hsplit, _rearranging.vsplit, _rearranging.dsplit,
        _rearranging.dstack, _rearranging.column_stack, _rearranging.cartesian_prod, _rearranging.combinations,
        _rearranging.block_diag, _rearranging.diagflat, _rearranging.diag_embed, _statistics.std_mean, _statistics.aminmax,
        _statistics.nansum, _statistics.nanmean, _statistics.cummax, _statistics.cummin, _statistics.logcumsumexp,
        _statistics.diff, _statistics.trapezoid, _statistics.quantile, _statistics.nanquantile, _statistics.nanmedian,
        _statistics.histc, _statistics.cov, _statistics.corrcoef, _creation.tril_indices, _creation.triu_indices,
    ),
)  # fmt: skip


unsqueeze = _lift(_EngineTensor.unsqueeze)
subtract, multiply, divide, true_divide, negative, clip, absolute, concat, swapaxes = sub, mul, div, div, neg, clamp, abs, cat, transpose
concatenate, swapdims, moveaxis, row_stack, asarray, vdot, ger, trapz = cat, transpose, movedim, vstack, as_tensor, dot, outer, trapezoid
greater, greater_equal, less, less_equal, not_equal, arctan2, fix, sgn = gt, ge, lt, le, ne, atan2, trunc, sign
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
cholesky, inverse, pinverse, det, slogdet = linalg.cholesky, linalg.inv, linalg.pinv, linalg.det, linalg.slogdet
logdet, matrix_power, qr = _lift(_factorizations.logdet), linalg.matrix_power, linalg.qr

from minitorch.torch import nn as nn, optim as optim, utils as utils, autograd as autograd, func as func  # noqa: E402
from minitorch.torch import amp as amp, distributions as distributions  # noqa: E402
from minitorch.torch.amp import autocast  # noqa: E402
from minitorch.torch.nn.functional import cosine_similarity  # noqa: E402
from minitorch.torch.serialization import load, save  # noqa: E402
from minitorch.torch.compiling import compile  # noqa: E402
from minitorch.torch.func import vmap  # noqa: E402


def is_tensor(obj: _Any) -> _Any:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> _Any:
    """Number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> _Any:
    """Whether the elements are floating-point numbers."""
    return input.is_floating_point()


def is_nonzero(input: Tensor) -> _Any:
    """Whether the only element differs from 0."""
    return input.is_nonzero()


def is_complex(input: Tensor) -> _Any:
    """False: there are no complex numbers."""
    return False


def clone(input: Tensor) -> Tensor:
    """A copy; gradients flow through it."""
    return input.clone()


def positive(input: Tensor) -> Tensor:
    """input itself."""
    return input.positive()


def LongTensor(data: _Any) -> Tensor:
    """A tensor of int64."""
    return tensor(_unwrap(data), dtype=int64)


def FloatTensor(data: _Any) -> Tensor:
    """A tensor of float32."""
    return tensor(_unwrap(data), dtype=float32)


_MODULES = {"accelerator", "amp", "autograd", "backends", "cuda", "distributions", "func", "linalg", "nn", "optim", "utils"}
"""The modules that programs use by their names; the others are parts of this one."""

__getattr__ = _refuse_absent(
    "torch",
    [name for name, thing in globals().items() if name in _MODULES or not (name.startswith("_") or _inspect.ismodule(thing))],
    {"bfloat16": _load_bfloat16},
)
