"""Every loss against PyTorch's of the same name: values, and gradients with respect to the inputs, with every reduction."""

import inspect

import numpy as np
import pytest

import minitorch.torch
from minitorch import nn

from .torch_comparison import EDGES, assert_equal, check_function, check_layer, part, random_integers, row, torch, uniform, x

REDUCTIONS = ("mean", "sum", "none")
A, B, C = (x(6, 4, seed=seed) for seed in (1, 2, 3))
SIGNS = np.sign(x(6, 4))
CHOICE = SIGNS[:, 0]
COUNTS = 1.0 * random_integers(5, 6, 4)
WEIGHT = uniform(4)
LOGS = -3 * uniform(6, 4)
SOME = np.where([True, False, True, True, True, False], random_integers(4, 6), -100)

IMAGES, PIXELS, CLASSES = x(2, 4, 3, 5), random_integers(4, 2, 3, 5), ("cross_entropy", "nll_loss", "multi_margin_loss")

LOSSES = [
    *[row(name, reduction=how, on=[x(4, 3), x(4, 3, seed=1)]) for name in ("MSELoss", "L1Loss", "SmoothL1Loss") for how in REDUCTIONS],
    row("BCELoss", on=[uniform(4, 3), uniform(4, 3, seed=1)]),
    row("BCEWithLogitsLoss", on=[x(4, 3), uniform(4, 3)]),
    row("NLLLoss", on=[x(6, 4), random_integers(4, 6)]),
    row("CrossEntropyLoss", on=[x(6, 4), random_integers(4, 6)]),
    *[
        row(name, weight=WEIGHT, ignore_index=2, on=[on, random_integers(4, 6)])
        for name, on in (("NLLLoss", LOGS), ("CrossEntropyLoss", A))
    ],
    *[
        row("CrossEntropyLoss", weight=WEIGHT, label_smoothing=0.2, reduction=how, on=[A, target])
        for how in REDUCTIONS
        for target in (random_integers(4, 6), SOME, uniform(6, 4))
    ],
    row("BCELoss", weight=WEIGHT, reduction="none", on=[uniform(6, 4), uniform(6, 4, seed=1)]),
    row("BCEWithLogitsLoss", weight=WEIGHT, pos_weight=2 * WEIGHT, on=[A, uniform(6, 4)]),
    row("KLDivLoss", on=[LOGS, uniform(6, 4)]),
    row("KLDivLoss", reduction="batchmean", log_target=True, on=[LOGS, A]),
    row("KLDivLoss", reduction="none", on=[LOGS[:, :1], np.array([0.0, 0.25, 0.75])]),
    row("HuberLoss", on=[A, B]),
    row("HuberLoss", reduction="sum", delta=0.3, on=[A, B]),
    row("PoissonNLLLoss", on=[A, COUNTS]),
    row("PoissonNLLLoss", log_input=False, full=True, eps=1e-3, reduction="sum", on=[uniform(6, 4), COUNTS]),
    row("GaussianNLLLoss", on=[A, B, uniform(6, 4)]),
    row("GaussianNLLLoss", full=True, eps=0.3, reduction="none", on=[A, B, uniform(6, 4)]),
    row("MarginRankingLoss", on=[A, B, SIGNS]),
    row("MarginRankingLoss", 0.7, reduction="none", on=[A, B, SIGNS]),
    row("HingeEmbeddingLoss", on=[A, SIGNS]),
    row("HingeEmbeddingLoss", 0.4, reduction="sum", on=[A, SIGNS]),
    row("CosineEmbeddingLoss", on=[A, B, CHOICE]),
    row("CosineEmbeddingLoss", 0.2, reduction="none", on=[A, B, CHOICE]),
    row("SoftMarginLoss", on=[A, SIGNS]),
    row("SoftMarginLoss", reduction="sum", on=[A, SIGNS]),
    row("TripletMarginLoss", on=[A, B, C]),
    row("TripletMarginLoss", 2.5, 3.0, 1e-3, True, reduction="none", on=[A, B, C]),
    row("TripletMarginWithDistanceLoss", on=[A, B, C]),
    row(
        "TripletMarginWithDistanceLoss",
        distance_function=part("PairwiseDistance", 1.0),
        margin=2.0,
        swap=True,
        reduction="sum",
        on=[A, B, C],
    ),
    row("MultiMarginLoss", on=[A, random_integers(4, 6)]),
    row("MultiMarginLoss", 2, 1.5, weight=WEIGHT, reduction="sum", on=[A, random_integers(4, 6)]),
    row("MultiLabelSoftMarginLoss", on=[A, 1.0 * (COUNTS > 1)]),
    row("MultiLabelSoftMarginLoss", weight=WEIGHT, reduction="none", on=[A, 1.0 * (COUNTS > 1)]),
]

FUNCTIONS = [
    *[row(name, reduction=how, on=[x(4, 3), x(4, 3, seed=1)]) for name in ("mse_loss", "l1_loss", "smooth_l1_loss") for how in REDUCTIONS],
    *[row(name, reduction="none", on=[EDGES[:-1], x(15)]) for name in ("l1_loss", "smooth_l1_loss")],  # for NaN, PyTorch's gradient is 0
    row("smooth_l1_loss", beta=0.0, on=[x(4), x(4, seed=1)]),
    row("smooth_l1_loss", beta=2.5, on=[x(4), x(4, seed=1)]),
    *[row("binary_cross_entropy", reduction=how, on=[uniform(4, 3), uniform(4, 3, seed=1)]) for how in REDUCTIONS],
    *[row("binary_cross_entropy_with_logits", reduction=how, on=[30 * x(4, 3), uniform(4, 3)]) for how in REDUCTIONS],
    *[row("nll_loss", reduction=how, on=[x(6, 4), random_integers(4, 6)]) for how in REDUCTIONS],
    *[
        row("cross_entropy", reduction=how, on=[1e3 * x(6, 4), target])
        for how in REDUCTIONS
        for target in (random_integers(4, 6), uniform(6, 4))
    ],
    row("cross_entropy", ignore_index=1, label_smoothing=0.2, on=[x(6, 4), random_integers(4, 6)]),
    row("cross_entropy", on=[np.array([[0.0, -np.inf, 1.0]]), np.array([2])]),
    *[row("cross_entropy", reduction=how, weight=WEIGHT, on=[IMAGES, PIXELS]) for how in REDUCTIONS],
    *[row("cross_entropy", reduction=how, on=[IMAGES, uniform(2, 4, 3, 5)]) for how in REDUCTIONS],
    *[row("nll_loss", reduction=how, ignore_index=1, on=[IMAGES, PIXELS]) for how in REDUCTIONS],
    *[row(name, reduction=how, on=[x(4), np.array(2)]) for name in CLASSES for how in REDUCTIONS],
    row("multi_margin_loss", on=[x(4), np.array([2])]),
    row("cross_entropy", reduction="none", label_smoothing=0.1, on=[x(4), uniform(4)]),
    *[row(name, on=[A, x(4)]) for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")],
    *[row(name, reduction=how, weight=uniform(6, 4), on=[A, B]) for name in ("mse_loss", "l1_loss", "huber_loss") for how in REDUCTIONS],
    row("mse_loss", False, on=[A, B]),
    row("mse_loss", True, False, on=[A, B]),
    *[row("kl_div", reduction=how, on=[LOGS, uniform(6, 4)]) for how in (*REDUCTIONS, "batchmean")],
    *[row("kl_div", reduction=how, log_target=True, on=[LOGS, A]) for how in REDUCTIONS],
    *[row("huber_loss", reduction=how, delta=delta, on=[A, B]) for how in REDUCTIONS for delta in (1.0, 0.2, 3.0)],
    row("huber_loss", reduction="none", on=[EDGES[:-1], x(15)]),
    *[row("poisson_nll_loss", log, True, reduction=how, on=[uniform(6, 4), COUNTS]) for log in (True, False) for how in REDUCTIONS],
    row("poisson_nll_loss", log_input=False, eps=0.1, on=[uniform(6, 4), COUNTS]),
    *[row("gaussian_nll_loss", reduction=how, on=[A, B, uniform(6, 4)]) for how in REDUCTIONS],
    row("gaussian_nll_loss", full=True, eps=0.5, on=[A, B, uniform(6, 4)]),
    *[row("gaussian_nll_loss", on=[A, B, uniform(*shape)]) for shape in ((6, 1), (1, 4), (6,))],
    row("gaussian_nll_loss", 0.5, on=[A, B]),
    *[row("margin_ranking_loss", 0.5, reduction=how, on=[A, B, SIGNS]) for how in REDUCTIONS],
    *[row("hinge_embedding_loss", 0.5, reduction=how, on=[A, SIGNS]) for how in REDUCTIONS],
    *[row("cosine_embedding_loss", 0.1, reduction=how, on=[A, B, CHOICE]) for how in REDUCTIONS],
    row("cosine_embedding_loss", margin=-0.5, on=[A, B, -CHOICE]),
    *[row("soft_margin_loss", reduction=how, on=[A, SIGNS]) for how in REDUCTIONS],
    row("soft_margin_loss", reduction="none", on=[1e3 * A, SIGNS]),
    *[row("triplet_margin_loss", 1.5, reduction=how, on=[A, B, C]) for how in REDUCTIONS],
    row("triplet_margin_loss", 4.0, 1.0, swap=True, on=[A, B, C]),
    row("triplet_margin_loss", p=3.0, eps=0.1, reduction="none", on=[A, B, C]),
    *[row("triplet_margin_with_distance_loss", margin=2.0, reduction=how, on=[A, B, C]) for how in REDUCTIONS],
    row("triplet_margin_with_distance_loss", distance_function=part("PairwiseDistance", 3.0), swap=True, on=[A, B, C]),
    *[row("multi_margin_loss", p, reduction=how, on=[A, random_integers(4, 6)]) for p in (1, 2) for how in REDUCTIONS],
    row("multi_margin_loss", 2, 0.5, weight=WEIGHT, on=[A, random_integers(4, 6)]),
    *[row("multilabel_soft_margin_loss", reduction=how, on=[30 * A, 1.0 * (COUNTS > 1)]) for how in REDUCTIONS],
    row("multilabel_soft_margin_loss", weight=WEIGHT, on=[A, 1.0 * (COUNTS > 1)]),
]


WARNINGS = pytest.mark.filterwarnings(
    "ignore:reduction. .mean. divides:UserWarning",  # PyTorch's kl_div
    "ignore:Using a target size:UserWarning",
    "ignore:a loss of input:UserWarning",
    "ignore:size_average and reduce:UserWarning",
)


@WARNINGS
@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LOSSES)
def test_a_loss_layer_agrees_with_pytorch(name, args, settings, inputs):
    check_layer(name, args, settings, inputs)


@WARNINGS
@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    check_function(name, args, settings, inputs)


@pytest.mark.parametrize("name", [name for name in nn.__all__ if name.endswith(("Loss", "_loss", "entropy", "_logits", "kl_div"))])
def test_the_arguments_and_the_text_of_a_layer_are_those_of_pytorch(name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name, None) or getattr(torch.nn.functional, name)
    arguments = [[(p.name, p.default) for p in inspect.signature(fn).parameters.values()] for fn in (ours, theirs)]
    assert arguments[0] == arguments[1]
    if inspect.isclass(ours) and name != "TripletMarginWithDistanceLoss":  # in which PyTorch shows the distance
        assert repr(ours()) == repr(theirs())


@pytest.mark.parametrize(("shape", "targets", "lengths"), [((7, 2, 4), [[2, 2], [1, 3]], ([7, 5], [2, 1])), ((5, 4), [2, 2], ([5], [2]))])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ctc_loss_of_log_softmax_agrees_with_pytorch(shape, targets, lengths, reduction):
    found = []
    for library in (minitorch.torch, torch):
        logits = library.tensor(x(*shape), requires_grad=True)
        layer = library.nn.CTCLoss(0, reduction, zero_infinity=True)
        loss = layer(library.nn.functional.log_softmax(logits, -1), library.tensor(targets), *map(library.tensor, lengths))
        loss.sum().backward()
        found += [loss, logits.grad]
    assert found[0].shape == found[2].shape
    assert_equal(found[0], found[2], "the value")
    assert_equal(found[1], found[3], "the gradient")
