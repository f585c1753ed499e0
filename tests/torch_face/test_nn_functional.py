"""Functions of minitorch.torch.nn.functional against PyTorch's: the same values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from tests.torch_face.test_nn_layers import check_close, convert, flat, floats, indices

theirs = pytest.importorskip("torch", reason="compares with PyTorch")

ROWS, OTHERS, THIRDS = floats(6, 4), floats(6, 4, seed=1), floats(6, 4, seed=2)
IMAGES, LABELS = floats(2, 4, 6, 5), indices(4, 6)
SHARES = np.abs(floats(6, 4, seed=3)) / np.abs(floats(6, 4, seed=3)).sum(1, keepdims=True)
SIGNS = np.where(indices(2, 6) == 1, 1.0, -1.0).astype(np.float32)
UNIT = (1 / (1 + np.exp(-ROWS))).astype(np.float32)
BOUNDED = SHARES.astype(np.float32)
REDUCTIONS = ("mean", "sum", "none")

CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("softmax", lambda F, torch, x: F.softmax(x, dim=0, dtype=torch.float64), (ROWS,)),
    ("log_softmax", lambda F, torch, x: F.log_softmax(x, 1), (ROWS,)),
    ("softmax of no dimensions", lambda F, torch, x: F.softmax(x, 0), (floats(),)),
    ("normalize", lambda F, torch, x: F.normalize(x, dim=1), (ROWS,)),
    ("normalize of zeros", lambda F, torch, x: F.normalize(x), (np.zeros((2, 3), np.float32),)),
    ("normalize, p=1", lambda F, torch, x: F.normalize(x, p=1.0, dim=0), (ROWS,)),
    ("cosine_similarity", lambda F, torch, x, y: F.cosine_similarity(x, y, dim=-1), (ROWS, THIRDS)),
    ("pairwise_distance", lambda F, torch, *x: F.pairwise_distance(*x), (ROWS, THIRDS)),
    ("one_hot", lambda F, torch, x: F.one_hot(x, num_classes=5), (LABELS,)),
    ("one_hot, own number", lambda F, torch, *x: F.one_hot(*x), (LABELS,)),
    ("linear", lambda F, torch, *x: F.linear(*x), (ROWS, floats(3, 4), floats(3))),
    ("layer_norm", lambda F, torch, x, w: F.layer_norm(x, (4,), w), (ROWS, floats(4))),
    ("batch_norm", lambda F, torch, x, m, v: F.batch_norm(x, m.detach(), v.detach().abs()), (ROWS, floats(4), floats(4, seed=1))),
    ("group_norm", lambda F, torch, x: F.group_norm(x, 2), (IMAGES,)),
    ("instance_norm", lambda F, torch, *x: F.instance_norm(*x), (IMAGES,)),
    ("embedding", lambda F, torch, i, w: F.embedding(i, w, padding_idx=1), (LABELS, floats(4, 3))),
    ("attention", lambda F, torch, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
     (floats(2, 5, 4), floats(2, 5, 4, seed=1), floats(2, 5, 3))),
    ("prelu", lambda F, torch, *x: F.prelu(*x), (ROWS, floats(4))),
    ("glu", lambda F, torch, *x: F.glu(*x), (ROWS,)),
    ("leaky_relu", lambda F, torch, x: F.leaky_relu(x, 0.3), (ROWS,)),
    ("gelu", lambda F, torch, x: F.gelu(x, approximate="tanh"), (ROWS,)),
    ("bilinear", lambda F, torch, *x: F.bilinear(*x), (ROWS, floats(6, 3), floats(2, 4, 3), floats(2))),
    ("cross_entropy of probabilities", lambda F, torch, x, t: F.cross_entropy(x, t.detach()), (ROWS, BOUNDED)),
    ("cross_entropy of one", lambda F, torch, x, t: F.cross_entropy(x, t), (floats(4), np.array(2))),
    ("mse_loss of other shapes", lambda F, torch, x, t: F.mse_loss(x, t), (ROWS, floats(4))),
    ("kl_div, batchmean", lambda F, torch, x, t: F.kl_div(F.log_softmax(x, 1), t.detach(), reduction="batchmean"), (ROWS, BOUNDED)),
    ("ctc_loss", lambda F, torch, x, t: F.ctc_loss(F.log_softmax(x, 2), t, torch.tensor([7, 5]), torch.tensor([2, 1])),
     (floats(7, 2, 4), np.array([[2, 2], [1, 3]]))),
    ("ctc_loss of a layer", lambda F, torch, x, t: torch.nn.CTCLoss(3, "sum", zero_infinity=True)(F.log_softmax(x, 1), t, (5,), (2,)),
     (floats(5, 4), np.array([2, 2]))),
    ("size_average", lambda F, torch, x, t: F.mse_loss(x, t, size_average=False), (ROWS, OTHERS)),
]  # fmt: skip

LOSSES: list[tuple[str, Callable[[Any, Any, str], Any], tuple[Any, ...]]] = [
    ("mse_loss", lambda F, r, *x: F.mse_loss(*x, reduction=r), (ROWS, OTHERS)),
    ("l1_loss", lambda F, r, *x: F.l1_loss(*x, reduction=r), (ROWS, OTHERS)),
    ("smooth_l1_loss", lambda F, r, *x: F.smooth_l1_loss(*x, reduction=r, beta=0.5), (ROWS, OTHERS)),
    ("huber_loss", lambda F, r, *x: F.huber_loss(*x, reduction=r, delta=0.7), (ROWS, OTHERS)),
    ("cross_entropy", lambda F, r, *x: F.cross_entropy(*x, reduction=r), (ROWS, LABELS)),
    ("cross_entropy, all options",
     lambda F, r, x, t, w: F.cross_entropy(x, t, w.detach().abs(), ignore_index=2, label_smoothing=0.1, reduction=r),
     (ROWS, LABELS, floats(4, seed=4))),
    ("cross_entropy of images", lambda F, r, *x: F.cross_entropy(*x, reduction=r), (IMAGES, indices(4, 2, 6, 5))),
    ("nll_loss", lambda F, r, x, t: F.nll_loss(F.log_softmax(x, 1), t, reduction=r), (ROWS, LABELS)),
    ("binary_cross_entropy", lambda F, r, x, t: F.binary_cross_entropy(x, t.detach(), reduction=r), (UNIT, BOUNDED)),
    ("binary_cross_entropy_with_logits",
     lambda F, r, x, t, w: F.binary_cross_entropy_with_logits(x, t.detach(), pos_weight=w.detach().abs(), reduction=r),
     (ROWS, BOUNDED, floats(4))),
    ("kl_div", lambda F, r, x, t: F.kl_div(F.log_softmax(x, 1), t.detach(), reduction=r), (ROWS, BOUNDED)),
    ("kl_div of logarithms", lambda F, r, x, t: F.kl_div(F.log_softmax(x, 1), F.log_softmax(t, 1), reduction=r, log_target=True),
     (ROWS, OTHERS)),
    ("poisson_nll_loss", lambda F, r, x, t: F.poisson_nll_loss(x, t.detach().abs() * 3, full=True, reduction=r), (ROWS, OTHERS)),
    ("poisson_nll_loss of rates", lambda F, r, x, t: F.poisson_nll_loss(x, t.detach().abs(), log_input=False, reduction=r), (UNIT, OTHERS)),
    ("gaussian_nll_loss", lambda F, r, x, t, v: F.gaussian_nll_loss(x, t, v.abs(), full=True, eps=0.3, reduction=r),
     (ROWS, OTHERS, THIRDS)),
    ("margin_ranking_loss", lambda F, r, x, y, t: F.margin_ranking_loss(x, y, t.detach(), margin=0.3, reduction=r),
     (floats(6), floats(6, seed=1), SIGNS)),
    ("hinge_embedding_loss", lambda F, r, x, t: F.hinge_embedding_loss(x, t.detach(), margin=0.8, reduction=r), (floats(6), SIGNS)),
    ("cosine_embedding_loss", lambda F, r, x, y, t: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1, reduction=r),
     (ROWS, OTHERS, SIGNS)),
    ("triplet_margin_loss", lambda F, r, *x: F.triplet_margin_loss(*x, swap=True, reduction=r), (ROWS, OTHERS, THIRDS)),
    ("multi_margin_loss", lambda F, r, *x: F.multi_margin_loss(*x, margin=0.7, reduction=r), (ROWS, LABELS)),
    ("multi_margin_loss, squared and weighted", lambda F, r, x, t, w: F.multi_margin_loss(x, t, p=2, weight=w.detach().abs(), reduction=r),
     (ROWS, LABELS, floats(4, seed=4))),
    ("multi_margin_loss of one", lambda F, r, *x: F.multi_margin_loss(*x, reduction=r), (floats(4), np.array(2))),
    ("multilabel_soft_margin_loss",
     lambda F, r, x, t, w: F.multilabel_soft_margin_loss(x, (t.detach() > 0).to(x.dtype), w.detach().abs(), reduction=r),
     (ROWS, OTHERS, floats(4, seed=4))),
    (
        "triplet_margin_with_distance_loss",
        lambda F, r, *x: F.triplet_margin_with_distance_loss(
            *x, distance_function=lambda a, b: ((a - b) ** 2).sum(-1), swap=True, reduction=r
        ),
        (ROWS, OTHERS, THIRDS),
    ),
    ("soft_margin_loss", lambda F, r, x, t: F.soft_margin_loss(x, t.detach(), reduction=r), (floats(6), SIGNS)),
]  # fmt: skip


def compare(mine: Callable[..., Any], other: Callable[..., Any], inputs: tuple[Any, ...], name: str) -> None:
    """Compare value and gradients of a function with PyTorch's."""
    a, b = convert(ours, inputs), convert(theirs, inputs)
    outputs, expected = flat(mine(*a)), flat(other(*b))
    assert len(outputs) == len(expected)
    for x, y in zip(outputs, expected, strict=True):
        check_close(x, y, name)
    if not expected[0].requires_grad:
        return
    weights = [floats(*y.shape, seed=9) for y in expected]
    sum((x * ours.from_numpy(w)).sum() for x, w in zip(outputs, weights, strict=True)).backward()
    sum((y * theirs.from_numpy(w)).sum() for y, w in zip(expected, weights, strict=True)).backward()
    for x, y in zip(a, b, strict=True):
        if y.grad is not None:
            check_close(x.grad, y.grad, f"gradient of {name}")


@pytest.mark.filterwarnings(
    "ignore:Using a target size:UserWarning", "ignore:a loss of input:UserWarning", "ignore:size_average and reduce:UserWarning"
)
@pytest.mark.parametrize(("name", "make", "inputs"), CASES, ids=[name for name, _, _ in CASES])
def test_a_function_computes_what_pytorch_s_does(name: str, make: Any, inputs: tuple[Any, ...]) -> None:
    compare(*[lambda *x, torch=torch: make(torch.nn.functional, torch, *x) for torch in (ours, theirs)], inputs, name)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning", "ignore:reduction. 'mean' divides:UserWarning")
@pytest.mark.parametrize(("name", "loss", "inputs"), LOSSES, ids=[name for name, _, _ in LOSSES])
def test_a_loss_is_that_of_pytorch(name: str, loss: Any, inputs: tuple[Any, ...], reduction: str) -> None:
    functions = (lambda *x, F=F: loss(F, reduction, *x) for F in (ours.nn.functional, theirs.nn.functional))
    compare(*functions, inputs, f"{name}, {reduction}")


LAYERS = [
    ("MSELoss", {}, (ROWS, OTHERS)),
    ("L1Loss", {"reduction": "sum"}, (ROWS, OTHERS)),
    ("SmoothL1Loss", {"beta": 0.3}, (ROWS, OTHERS)),
    ("HuberLoss", {"delta": 0.3}, (ROWS, OTHERS)),
    ("CrossEntropyLoss", {"ignore_index": 1, "label_smoothing": 0.2}, (ROWS, LABELS)),
    ("NLLLoss", {}, (-np.abs(ROWS), LABELS)),
    ("BCELoss", {}, (UNIT, BOUNDED)),
    ("BCEWithLogitsLoss", {}, (ROWS, BOUNDED)),
    ("KLDivLoss", {"reduction": "batchmean"}, (-np.abs(ROWS), BOUNDED)),
    ("PoissonNLLLoss", {}, (ROWS, abs(OTHERS))),
    ("GaussianNLLLoss", {}, (ROWS, OTHERS, abs(THIRDS))),
    ("MarginRankingLoss", {"margin": 0.2}, (floats(6), floats(6, seed=1), SIGNS)),
    ("HingeEmbeddingLoss", {}, (floats(6), SIGNS)),
    ("CosineEmbeddingLoss", {}, (ROWS, OTHERS, SIGNS)),
    ("TripletMarginLoss", {"p": 1.0}, (ROWS, OTHERS, THIRDS)),
    ("SoftMarginLoss", {}, (floats(6), SIGNS)),
]


@pytest.mark.parametrize(("name", "options", "inputs"), LAYERS, ids=[name for name, _, _ in LAYERS])
def test_a_loss_layer_is_that_of_pytorch(name: str, options: dict[str, Any], inputs: tuple[Any, ...]) -> None:
    layers = [getattr(torch.nn, name)(**options) for torch in (ours, theirs)]
    assert repr(layers[0]) == repr(layers[1])
    assert list(layers[0].state_dict()) == list(layers[1].state_dict())
    values = [layer(*[x.detach() for x in convert(torch, inputs)]) for layer, torch in zip(layers, (ours, theirs), strict=True)]
    check_close(*values, name)


def test_class_weights_are_a_buffer() -> None:
    weight = np.array([1.0, 2.0, 0.5, 1.0], np.float32)
    layers = [torch.nn.CrossEntropyLoss(torch.from_numpy(weight)) for torch in (ours, theirs)]
    assert list(layers[0].state_dict()) == list(layers[1].state_dict()) == ["weight"]
    check_close(*[layer(*convert(torch, (ROWS, LABELS))) for layer, torch in zip(layers, (ours, theirs), strict=True)], "weights")
