"""Calls whose tensors are varied in their dtypes, as text; a function for each kind of tensor makes it.

`f` makes floating-point numbers of a shape, `u` those from 0 to 1, `b` bools, and `i` indices below its first argument.
"""

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64")
"""What replaces the dtype of one tensor, or of all."""

ALL_DTYPES = (*DTYPES, "int8", "int16", "bfloat16")
"""What the two tensors of a call have, in all pairs."""

CALLS = """
f(2,3) @ f(3,2)
torch.mm(f(2,3), f(3,2))
torch.bmm(f(1,2,3), f(1,3,2))
torch.mv(f(2,3), f(3))
torch.dot(f(3), f(3))
torch.inner(f(2,3), f(2,3))
torch.outer(f(3), f(2))
torch.addmm(f(2,2), f(2,3), f(3,2))
torch.addmv(f(2), f(2,3), f(3))
torch.addr(f(2,3), f(2), f(3))
torch.baddbmm(f(1,2,2), f(1,2,3), f(1,3,2))
torch.addbmm(f(2,2), f(1,2,3), f(1,3,2))
torch.einsum("ij,jk", f(2,3), f(3,2))
torch.einsum("i,j->ij", f(2), f(3))
torch.tensordot(f(2,3), f(3,2), 1)
torch.kron(f(2,2), f(2,2))
torch.linalg.cross(f(2,3), f(2,3))
torch.cholesky_solve(f(2,2), f(2,2))
torch.div(f(3), f(3), rounding_mode="floor")
torch.div(f(3), f(3), rounding_mode="trunc")
torch.cdist(f(2,3), f(2,3))
torch.cross(f(2,3), f(2,3), dim=1)
torch.dist(f(3), f(3))
torch.linalg.vecdot(f(3), f(3))
torch.linalg.multi_dot([f(2,3), f(3,2)])
torch.linalg.solve(f(2,2), f(2,2))
torch.linalg.inv(f(2,2))
torch.linalg.det(f(2,2))
torch.linalg.norm(f(2,2))
torch.linalg.vector_norm(f(3))
torch.linalg.qr(f(2,2))[1]
torch.linalg.svdvals(f(2,2))
torch.linalg.matrix_power(f(2,2), 2)
F.linear(f(3,4), f(2,4), f(2))
F.linear(f(4), f(2,4))
F.linear(f(2,3,4), f(2,4), f(2))
F.bilinear(f(3,4), f(3,5), f(2,4,5), f(2))
F.conv1d(f(2,3,5), f(2,3,2), f(2))
F.conv2d(f(1,2,5,4), f(3,2,2,2), f(3), padding=1)
F.conv2d(f(1,2,5,4), f(2,1,2,2), groups=2)
F.conv3d(f(1,2,3,4,3), f(3,2,2,2,2), f(3))
F.conv_transpose1d(f(2,3,5), f(3,2,2), f(2))
F.conv_transpose2d(f(1,2,3,4), f(2,3,2,2), f(3))
F.batch_norm(f(4,3), f(3), u(3), f(3), f(3))
F.batch_norm(f(4,3), f(3), u(3), f(3), f(3), training=True)
F.batch_norm(f(4,3), None, None, f(3), f(3), training=True)
F.instance_norm(f(2,3,4), None, None, f(3), f(3))
F.layer_norm(f(2,3), (3,), f(3), f(3))
F.layer_norm(f(2,3), (3,))
F.group_norm(f(2,4,3), 2, f(4), f(4))
F.rms_norm(f(2,3), (3,), f(3))
F.local_response_norm(f(2,4,3), 3)
F.prelu(f(2,3), f(3))
F.embedding(i(4,3), f(4,2))
F.one_hot(i(4,3), 5)
F.scaled_dot_product_attention(f(2,3,4), f(2,3,4), f(2,3,4))
F.scaled_dot_product_attention(f(2,3,4), f(2,3,4), f(2,3,4), attn_mask=b(3,3))
F.scaled_dot_product_attention(f(2,3,4), f(2,3,4), f(2,3,4), attn_mask=f(3,3))
F.cosine_similarity(f(2,3), f(2,3))
F.pairwise_distance(f(2,3), f(2,3))
F.normalize(f(2,3))
F.cross_entropy(f(4,3), i(3,4))
F.cross_entropy(f(4,3), i(3,4), f(3))
F.cross_entropy(f(4,3), i(3,4), label_smoothing=0.1)
F.cross_entropy(f(4,3), u(4,3))
F.cross_entropy(f(4,3), u(4,3), f(3))
F.cross_entropy(f(4,3,2), i(3,4,2))
F.nll_loss(f(4,3), i(3,4))
F.nll_loss(f(4,3), i(3,4), f(3))
F.nll_loss(f(4,3,2), i(3,4,2))
F.binary_cross_entropy(u(4), u(4))
F.binary_cross_entropy(u(4), u(4), f(4))
F.binary_cross_entropy_with_logits(f(4), u(4))
F.binary_cross_entropy_with_logits(f(4), u(4), f(4))
F.binary_cross_entropy_with_logits(f(4), u(4), pos_weight=u(4))
F.mse_loss(f(4), f(4))
F.mse_loss(f(4), f(4), reduction="none")
F.mse_loss(f(4), f(4), weight=u(4))
F.l1_loss(f(4), f(4))
F.l1_loss(f(4), f(4), reduction="sum")
F.l1_loss(f(4), f(4), reduction="none")
F.smooth_l1_loss(f(4), f(4))
F.huber_loss(f(4), f(4))
F.kl_div(f(4), u(4), reduction="sum")
F.kl_div(f(4), f(4), reduction="sum", log_target=True)
F.poisson_nll_loss(f(4), u(4))
F.gaussian_nll_loss(f(4), f(4), u(4))
F.hinge_embedding_loss(f(4), f(4))
F.margin_ranking_loss(f(4), f(4), f(4))
F.soft_margin_loss(f(4), f(4))
F.cosine_embedding_loss(f(4,3), f(4,3), f(4))
F.multi_margin_loss(f(4,3), i(3,4))
F.multilabel_soft_margin_loss(f(4,3), u(4,3))
F.triplet_margin_loss(f(4,3), f(4,3), f(4,3))
F.ctc_loss(f(4,2,3), 1+i(2,2,2), torch.tensor([4,4]), torch.tensor([2,2]))
F.softmax(f(2,3), 1)
F.log_softmax(f(2,3), 1)
F.softmin(f(2,3), 1)
F.relu(f(3))
F.relu6(f(3))
F.gelu(f(3))
F.silu(f(3))
F.mish(f(3))
F.elu(f(3))
F.selu(f(3))
F.celu(f(3))
F.leaky_relu(f(3))
F.hardtanh(f(3))
F.hardswish(f(3))
F.hardsigmoid(f(3))
F.hardshrink(f(3))
F.softshrink(f(3))
F.softplus(f(3))
F.softsign(f(3))
F.logsigmoid(f(3))
F.tanh(f(3))
F.sigmoid(f(3))
F.tanhshrink(f(3))
F.threshold(f(3), 0.5, 1.0)
F.threshold(f(3), 1, 2)
F.rrelu(f(3), 0.25, 0.25)
F.glu(f(2,4))
F.dropout(f(3), 0.0)
F.dropout(f(3), 0.0, training=False)
F.dropout(f(3), 1.0)
F.alpha_dropout(f(3), 0.0)
F.dropout2d(f(2,3,2,2), 0.0)
F.max_pool1d(f(2,3,4), 2)
F.max_pool2d(f(1,2,4,4), 2)
F.max_pool3d(f(1,2,4,4,4), 2)
F.avg_pool1d(f(2,3,4), 2)
F.avg_pool2d(f(1,2,4,4), 2)
F.avg_pool3d(f(1,2,4,4,4), 2)
F.adaptive_avg_pool1d(f(2,3,4), 2)
F.adaptive_avg_pool2d(f(1,2,4,4), 2)
F.adaptive_max_pool1d(f(2,3,4), 2)
F.adaptive_max_pool2d(f(1,2,4,4), 2)
F.max_unpool2d(f(1,1,1,1), i(4,1,1,1,1), 2)
F.interpolate(f(1,1,2,2), scale_factor=2)
F.interpolate(f(1,1,2,2), scale_factor=2, mode="bilinear")
F.pad(f(2,3), (1,1))
F.pad(f(2,3), (1,1), value=1)
F.pad(f(1,2,3), (1,1), mode="reflect")
F.pad(f(1,2,3), (1,1), mode="replicate")
F.pad(f(1,2,3), (1,1), mode="circular")
F.pixel_shuffle(f(1,4,2,2), 2)
F.unfold(f(1,1,3,3), 2)
F.fold(f(1,4,4), (3,3), 2)
F.grid_sample(f(1,1,3,3), f(1,2,2,2), align_corners=False)
F.affine_grid(f(1,2,3), (1,1,2,2), align_corners=False)
nn.Linear(4,2)(f(3,4))
nn.Bilinear(4,3,2)(f(5,4), f(5,3))
nn.Embedding(5,3)(i(5,4))
nn.EmbeddingBag(5,3)(i(5,2,4))
nn.Conv1d(3,2,2)(f(2,3,5))
nn.Conv2d(2,3,2)(f(1,2,4,4))
nn.Conv2d(2,3,2,bias=False)(f(1,2,4,4))
nn.Conv2d(2,3,2,padding=1,padding_mode="reflect")(f(1,2,4,4))
nn.Conv3d(2,3,2)(f(1,2,4,4,3))
nn.ConvTranspose2d(2,3,2)(f(1,2,4,4))
nn.BatchNorm1d(3)(f(4,3))
nn.BatchNorm1d(3).eval()(f(4,3))
nn.BatchNorm2d(3)(f(4,3,2,2))
nn.BatchNorm2d(3, affine=False)(f(4,3,2,2))
nn.BatchNorm1d(3, affine=False, track_running_stats=False)(f(4,3))
nn.InstanceNorm1d(3)(f(4,3,5))
nn.InstanceNorm1d(3, affine=True)(f(4,3,5))
nn.LayerNorm(3)(f(4,3))
nn.LayerNorm(3, elementwise_affine=False)(f(4,3))
nn.GroupNorm(1,3)(f(4,3))
nn.RMSNorm(3)(f(4,3))
nn.PReLU()(f(3))
nn.RNN(3,2)(f(4,2,3))[0]
nn.RNN(3,2)(f(4,2,3), f(1,2,2))[0]
nn.LSTM(3,2)(f(4,2,3))[0]
nn.LSTM(3,2)(f(4,2,3), (f(1,2,2), f(1,2,2)))[0]
nn.GRU(3,2)(f(4,2,3))[0]
nn.GRU(3,2)(f(4,2,3), f(1,2,2))[0]
nn.RNNCell(3,2)(f(4,3))
nn.RNNCell(3,2)(f(4,3), f(4,2))
nn.LSTMCell(3,2)(f(4,3))[0]
nn.LSTMCell(3,2)(f(4,3), (f(4,2), f(4,2)))[0]
nn.GRUCell(3,2)(f(4,3))
nn.GRUCell(3,2)(f(4,3), f(4,2))
nn.MultiheadAttention(4,2)(f(3,2,4), f(3,2,4), f(3,2,4))[0]
nn.MultiheadAttention(4,2)(f(3,2,4), f(3,2,4), f(3,2,4), need_weights=False)[0]
nn.MultiheadAttention(4,2)(f(3,2,4), f(3,2,4), f(3,2,4), attn_mask=b(3,3), need_weights=False)[0]
nn.TransformerEncoderLayer(4,2,8,0.0)(f(3,2,4))
nn.Dropout(0.0)(f(3))
nn.CrossEntropyLoss()(f(4,3), i(3,4))
nn.NLLLoss()(f(4,3), i(3,4))
nn.BCELoss()(u(4), u(4))
nn.BCEWithLogitsLoss()(f(4), u(4))
nn.MSELoss()(f(4), f(4))
nn.L1Loss()(f(4), f(4))
nn.Softmax(0)(f(3))
torch.lerp(f(3), f(3), 0.5)
torch.lerp(f(3), f(3), f(3))
torch.where(b(3), f(3), f(3))
torch.where(b(3), f(3), 1)
torch.where(b(3), f(3), 0.5)
f(3).masked_fill(b(3), 1.5)
f(3).masked_fill(b(3), 100000)
f(3).masked_fill(b(3), -1)
f(3).masked_fill(b(3), f())
f(3).masked_fill_(b(3), 0.5)
f(3).fill_(1.5)
f(3).fill_(300)
f(3).fill_(-1)
f(3).fill_(f())
f(3).zero_()
f(3).copy_(f(3))
f(3).clamp(0, 1)
f(3).clamp(0.5)
f(3).clamp(min=f(3))
f(3).clamp(f(3), f(3))
f(3).clamp_(0, 1)
f(3).clamp_(0.5)
torch.maximum(f(3), f(3))
f(3) ** -1
f(3) ** 2
f(3) ** 0.5
f(3) ** f(3)
2 ** f(3)
2.0 ** f(3)
-f(3)
~f(3)
f(3) - f(3)
f(3) - True
f(3) - 1
1 - f(3)
True - f(3)
f(3) + f(3)
f(3) / f(3)
f(3) / 2
f(3) & f(3)
f(3) | 1
f(3) % 2
f(3) // 2
f(3) % f(3)
f(3).add_(0.5)
f(3).add_(1)
f(3).add_(f(3))
f(3).sub_(0.5)
f(3).sub_(f(3))
f(3).mul_(0.5)
f(3).mul_(f(3))
f(3).div_(2)
f(3).div_(2, rounding_mode="floor")
f(3).div_(f(3))
f(3).pow_(2)
f(3).pow_(0.5)
f(3).floor_divide_(2)
f(3).remainder_(2)
f(3).remainder_(0.5)
f(3).exp_()
f(3).sqrt_()
f(3).sigmoid_()
f(3).tanh_()
f(3).relu_()
f(3).neg_()
f(3).abs_()
f(3).round_()
f(3).floor_()
f(3).log_()
f(3).lerp_(f(3), 0.5)
f(3).addcmul_(f(3), f(3))
f(3).addcmul_(f(3), f(3), value=0.5)
f(3).addcdiv_(f(3), f(3))
torch.addcmul(f(3), f(3), f(3))
torch.addcmul(f(3), f(3), f(3), value=0.5)
torch.addcdiv(f(3), f(3), f(3))
torch.add(f(3), f(3), alpha=0.5)
torch.add(f(3), f(3), out=f(3))
torch.exp(f(3), out=f(3))
torch.matmul(f(2,2), f(2,2), out=f(2,2))
f(3).mean()
f(3).std()
f(3).var()
f(3).norm()
f(3).softmax(0)
f(3).log_softmax(0)
f(3).logsumexp(0)
f(3).cumsum(0)
f(3).median()
f(3).quantile(0.5)
torch.quantile(f(3), u(2))
f(3).requires_grad_()
f(2,3).gather(1, i(3,2,2))
f(2,3).scatter(1, i(3,2,2), f(2,2))
f(2,3).scatter(1, i(3,2,2), 0.5)
f(2,3).scatter_(1, i(3,2,2), f(2,2))
f(2,3).scatter_add(1, i(3,2,2), f(2,2))
f(2,3).scatter_add_(1, i(3,2,2), f(2,2))
f(2,3).scatter_reduce(1, i(3,2,2), f(2,2), "sum")
f(2,3).index_select(1, i(3,2))
f(2,3).index_add(1, i(3,2), f(2,2))
f(2,3).index_copy(1, i(2,1), f(2,1))
f(2,3).index_fill(1, i(3,2), 0.5)
f(2,3).index_fill(1, i(3,2), f())
f(2,3).index_put((i(2,2),), f(2,3))
f(2,3).index_put_((i(2,2),), f(2,3))
f(2,3).index_put_((i(2,2),), f(2,3), accumulate=True)
f(2,3).take_along_dim(i(3,2,2), 1)
f(2,3)[i(2,2)]
set(f(2,3), i(2,2), f(2,3))
set(f(2,3), i(2,2), f())
set(f(2,3), 0, f(3))
set(f(2,3), 0, 1.5)
set(f(2,3), b(2,3), f())
set(f(2,3), b(2,3), 0.5)
f(2,3).masked_select(b(2,3))
torch.repeat_interleave(f(3), i(3,3))
torch.searchsorted(f(3).sort().values, f(3))
torch.bucketize(f(3), f(3).sort().values)
torch.bincount(i(3,4))
torch.bincount(i(3,4), f(4))
torch.isin(f(3), f(3))
torch.isclose(f(3), f(3))
torch.allclose(f(3), f(3))
torch.equal(f(3), f(3))
torch.cat([f(3), f(3)])
torch.stack([f(3), f(3)])
torch.hypot(f(3), f(3))
torch.atan2(f(3), f(3))
torch.logaddexp(f(3), f(3))
torch.xlogy(f(3), u(3))
torch.fmod(f(3), f(3))
torch.trapezoid(f(3), f(3))
torch.cov(f(2,3))
torch.histc(f(3), 3)
torch.multinomial(u(3), 1).dtype
torch.bernoulli(u(3)).dtype
torch.normal(f(3), u(3)).dtype
torch.arange(f(), 5)
torch.full((2,), f())
torch.tensor(f(3))
torch.tensor([300], dtype=f().dtype)
torch.tensor([-1], dtype=f().dtype)
torch.tensor([1e10], dtype=f().dtype)
torch.tensor([float("nan")], dtype=f().dtype)
torch.tensor([2**40], dtype=f().dtype)
torch.tensor([1, 2], dtype=f().dtype, requires_grad=True)
torch.full((2,), 300, dtype=f().dtype)
torch.full((2,), -1, dtype=f().dtype)
torch.full((2,), 1.5, dtype=f().dtype)
torch.full_like(f(2), 300)
torch.full_like(f(2), 1e10)
torch.arange(3, dtype=f().dtype)
torch.linspace(0, 1, 3, dtype=f().dtype)
torch.eye(2, dtype=f().dtype)
torch.zeros(2, dtype=f().dtype, requires_grad=True)
torch.rand(2, dtype=f().dtype).dtype
torch.randint(0, 3, (2,), dtype=f().dtype).dtype
torch.randperm(3, dtype=f().dtype).dtype
f(3).normal_().dtype
f(3).uniform_().dtype
f(3).bernoulli_(0.5).dtype
f(3) == f(3)
f(3) < f(3)
f(3) == 1.5
f(3) == 300
f(3) + 300
f(3) * 300
f(3).sum(dtype=f().dtype)
f(3).mean(dtype=f().dtype)
f(3).all()
f(3).argmax()
f(3).sort().values
f(3).topk(2).values
f(3).cummax(0).values
f(3).prod()
f(3).nansum()
f(3).amax()
f(3).unique()
torch.diff(f(3))
torch.round(f(3))
torch.floor(f(3))
torch.frac(f(3))
torch.abs(f(3))
torch.sign(f(3))
torch.reciprocal(f(3))
torch.bitwise_and(f(3), f(3))
torch.bitwise_left_shift(f(3), f(3))
torch.logical_and(f(3), f(3))
torch.add(f(3), f(3))
torch.sub(f(3), f(3))
torch.mul(f(3), f(3))
torch.div(f(3), f(3))
torch.floor_divide(f(3), f(3))
torch.remainder(f(3), f(3))
torch.pow(f(3), f(3))
torch.minimum(f(3), f(3))
torch.max(f(3), f(3))
torch.copysign(f(3), f(3))
torch.nextafter(f(3), f(3))
torch.xlogy(f(3), f(3))
torch.bitwise_or(f(3), f(3))
torch.bitwise_right_shift(f(3), f(3))
torch.logical_xor(f(3), f(3))
torch.ne(f(3), f(3))
torch.ge(f(3), f(3))
torch.column_stack([f(3), f(3)])
torch.block_diag(f(2,2), f(1,2))
torch.cartesian_prod(f(2), f(3))
torch.meshgrid(f(2), f(3), indexing="ij")[0]
torch.matmul(f(2,3), f(3,2))
torch.clamp(f(3), min=f(3))
torch.clamp(f(3), max=f(3))
torch.linalg.lstsq(f(3,2), f(3,2))[0]
torch.add(f(3), f(3), alpha=2)
torch.sub(f(3), f(3), alpha=2)
torch.index_add(f(2,3), 1, i(3,2), f(2,2))
f(3).type_as(f(3))
f(3).expand_as(f(3))
f(3) // f(3)
f(3) > f(3)
f() + f(3)
f(3) - f()
f() * f(3)
f(3) / f()
f() ** f(3)
torch.maximum(f(3), f())
torch.where(b(3), f(3), f())
torch.atan2(f(), f(3))
torch.copysign(f(3), f())
torch.lerp(f(3), f(), 0.5)
torch.fmod(f(), f(3))
torch.floor_divide(f(3), f())
F.mse_loss(f(4), f(4), reduction="sum")
"""
"""One call a line."""

WIDER = {
    "float16": "cdist multi_margin_loss avg_pool3d quantile out=",
    "bool": "pad( arange linspace randint randperm searchsorted bucketize",
    "uint8": "set( vecdot",
    "bfloat16": "cdist quantile",
    **dict.fromkeys(("int8", "int16", "int32", "int64"), "vecdot"),
    "float64": "out=",
}
"""Calls that compute what PyTorch refuses, by the dtype: it has no kernel, no masks of uint8, or writes only the dtype of out."""

FEWER = """
    addr einsum local_response_norm mse_loss F.relu( F.relu6( F.hardtanh( F.softsign( F.tanh( F.sigmoid( F.tanhshrink( F.threshold(
    pool interpolate unfold fold( rms_norm ctc_loss LSTMCell conv_transpose addcmul torch.arange
    masked_fill fill_(-1) tensor([-1] torch.full( 300"""
"""Calls that refuse what PyTorch computes: products of bools, activations and windows of integers, and numbers that wrap around."""

OTHERS = """
    binary_cross_entropy_with_logits BCEWithLogitsLoss margin_ranking_loss l1_loss cross_entropy rms_norm"""
"""Calls whose results differ: PyTorch writes them in the dtype of one argument, or lets integers of uint8 wrap around."""


def numbers(seed: int, kind: str, shape: tuple[int, ...], high: int) -> np.ndarray:
    """The numbers of a tensor: each dtype can represent them, and most change in a cast to integers."""
    random = np.random.default_rng([seed, *shape])
    if kind == "i":
        return random.integers(0, high, shape)
    if kind == "b":
        return random.random(shape) < 0.5
    return random.choice([0.25, 0.5, 0.75] if kind == "u" else [0.5, 1.0, 1.5, 2.0, 3.0], shape)


class Maker:
    """Makes the tensors of a call, the first, second, … in a dtype of its own."""

    def __init__(self, torch: Any, dtypes: dict[int, str]) -> None:
        self.torch, self.dtypes, self.count = torch, dtypes, 0

    def make(self, kind: str, shape: tuple[int, ...], high: int = 0) -> Any:
        """The next tensor."""
        values = numbers(self.count, kind, shape, high)
        dtype = self.dtypes.get(self.count) or {"i": "int64", "b": "bool"}.get(kind, "float32")
        self.count += 1
        return self.torch.tensor(values.tolist()).to(getattr(self.torch, dtype))

    def names(self) -> dict[str, Any]:
        """The names that a call may use."""
        return {
            "f": lambda *shape: self.make("f", shape),
            "u": lambda *shape: self.make("u", shape),
            "b": lambda *shape: self.make("b", shape),
            "i": lambda high, *shape: self.make("i", shape, high),
            "set": setitem,
            "torch": self.torch,
            "F": self.torch.nn.functional,
            "nn": self.torch.nn,
        }


def setitem(x: Any, index: Any, value: Any) -> Any:
    """A tensor after x[index] = value."""
    x[index] = value
    return x


def run(torch: Any, call: str, dtypes: dict[int, str]) -> Any:
    """The result of a call whose tensors have these dtypes; or the error that it raises."""
    maker = Maker(torch, dtypes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call, maker.names())
        except Exception as error:
            return error


def kinds(call: str) -> list[str]:
    """The kinds of the tensors of a call."""
    return [x for i, x in enumerate(call) if x in "fuib" and call[i + 1 : i + 2] == "(" and not call[i - 1 : i].replace("_", "a").isalnum()]


def variants(call: str) -> Iterator[dict[int, str]]:
    """The dtypes of a call: as it is, one tensor in another dtype, and all in another."""
    made = kinds(call)
    yield {}
    for dtype in DTYPES:
        for place in range(len(made)):
            yield {place: dtype}
        if len(made) > 1:
            yield {place: dtype for place, kind in enumerate(made) if kind in "fu"}


def pairs(call: str) -> Iterator[dict[int, str]]:
    """All pairs of dtypes of a call of two tensors of numbers; nothing for other calls."""
    places = [place for place, kind in enumerate(kinds(call)) if kind in "fu"]
    for dtypes in product(ALL_DTYPES, ALL_DTYPES) if len(places) == 2 else ():
        yield dict(zip(places, dtypes, strict=True))


def is_among(call: str, words: str) -> bool:
    """Whether a call contains one of the words."""
    return any(word in call for word in words.split())


def difference(call: str, dtypes: dict[int, str], mine: Any, theirs: Any) -> str:
    """How our result differs from PyTorch's; nothing if it does not."""
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        kinds = (TypeError, IndexError, ValueError, RuntimeError)
        expected = next((each for each in kinds if isinstance(theirs, each)), TypeError)
        same = isinstance(theirs, Exception) and isinstance(mine, expected)
        wider = " ".join(WIDER.get(dtype, "") for dtype in dtypes.values())
        known = FEWER if not isinstance(theirs, Exception) else "" if isinstance(mine, Exception) else wider
        return "" if same or is_among(call, known) else f"{describe(mine)} instead of {describe(theirs)}"
    if not hasattr(theirs, "shape"):
        return "" if str(mine).removeprefix("torch.") == str(theirs).removeprefix("torch.") else f"{mine} instead of {theirs}"
    a, b = (str(x.dtype).removeprefix("torch.") for x in (mine, theirs))
    if is_among(call, OTHERS):
        return ""
    if a != b:
        return f"{a} instead of {b}"
    if "nn.PReLU" not in call and "nn." in call and "Loss" not in call and "Softmax" not in call:
        return ""  # random parameters
    x, y = (np.asarray(each.detach().tolist(), float) for each in (mine, theirs))
    tolerance = 5e-3 if any("float16" in dtype for dtype in (*dtypes.values(), b)) else 1e-5
    same = x.shape == y.shape and np.allclose(x, y, tolerance, tolerance, equal_nan=True)
    return "" if same else f"{x.tolist()} instead of {y.tolist()}"


def describe(x: Any) -> str:
    """A result or an error in words."""
    return (
        f"{type(x).__name__}: {str(x).splitlines()[0] if str(x) else ''}"
        if isinstance(x, Exception)
        else f"a result of {getattr(x, 'dtype', x)}"
    )
