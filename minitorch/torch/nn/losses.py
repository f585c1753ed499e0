"""Stage 6 - Loss layers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minitorch.nn.options import resolve_reduction
from minitorch.torch.nn import functional
from minitorch.torch.nn.module import Module


def _loss(name: str, fn: Callable[..., Any], *arguments: str, buffers: tuple[str, ...] = (), **options: Any) -> Any:
    """Make a loss layer.

    Args:
        name: Its name.
        fn: The function of `functional`.
        arguments: Names of the layer's arguments, in PyTorch's order.
        buffers: Those that are tensors.
        options: Defaults of the arguments; None by default.
    """
    defaults = {"size_average": None, "reduce": None, "reduction": "mean"} | options
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, kind, default=defaults.get(each)) for each in arguments])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        older = [bound.arguments.pop(each, None) for each in ("size_average", "reduce")]
        self.reduction = resolve_reduction(bound.arguments.pop("reduction"), *older)
        if self.reduction not in ("mean", "sum", "none") and not (name == "KLDivLoss" and self.reduction == "batchmean"):
            raise ValueError(f'{name} expected reduction "mean", "sum" or "none", got {self.reduction!r}')
        for each, value in bound.arguments.items():
            if each in buffers:
                self.register_buffer(each, value)
            else:
                setattr(self, each, value)

    names = [each for each in arguments if each not in ("size_average", "reduce", "reduction")]

    def forward(self: Any, *tensors: Any) -> Any:
        return fn(*tensors, reduction=self.reduction, **{each: getattr(self, each) for each in names})

    forward.__doc__ = 'Return the loss, without dimensions unless reduction is "none".'
    members = {"__init__": __init__, "forward": forward, "__doc__": f"See `functional.{fn.__name__}`.", "__module__": "minitorch.torch.nn"}
    made = type(name, (Module,), members)
    made.__signature__ = signature  # type: ignore[attr-defined]  # what help() shows
    return made


OLD = ("size_average", "reduce", "reduction")

MSELoss, L1Loss = _loss("MSELoss", functional.mse_loss, *OLD), _loss("L1Loss", functional.l1_loss, *OLD)
SmoothL1Loss = _loss("SmoothL1Loss", functional.smooth_l1_loss, *OLD, "beta", beta=1.0)
HuberLoss = _loss("HuberLoss", functional.huber_loss, "reduction", "delta", delta=1.0)
BCELoss = _loss("BCELoss", functional.binary_cross_entropy, "weight", *OLD, buffers=("weight",))
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", functional.binary_cross_entropy_with_logits, "weight", *OLD, "pos_weight", buffers=("weight", "pos_weight")
)
NLLLoss = _loss(
    "NLLLoss", functional.nll_loss, "weight", "size_average", "ignore_index", "reduce", "reduction", buffers=("weight",), ignore_index=-100
)
CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    functional.cross_entropy,
    "weight",
    "size_average",
    "ignore_index",
    "reduce",
    "reduction",
    "label_smoothing",
    buffers=("weight",),
    ignore_index=-100,
    label_smoothing=0.0,
)
KLDivLoss = _loss("KLDivLoss", functional.kl_div, *OLD, "log_target", log_target=False)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss",
    functional.poisson_nll_loss,
    "log_input",
    "full",
    "size_average",
    "eps",
    "reduce",
    "reduction",
    log_input=True,
    full=False,
    eps=1e-8,
)
GaussianNLLLoss = _loss("GaussianNLLLoss", functional.gaussian_nll_loss, "full", "eps", "reduction", full=False, eps=1e-6)
MarginRankingLoss = _loss("MarginRankingLoss", functional.margin_ranking_loss, "margin", *OLD, margin=0.0)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", functional.cosine_embedding_loss, "margin", *OLD, margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", functional.hinge_embedding_loss, "margin", *OLD, margin=1.0)
SoftMarginLoss = _loss("SoftMarginLoss", functional.soft_margin_loss, *OLD)
TripletMarginLoss = _loss(
    "TripletMarginLoss",
    functional.triplet_margin_loss,
    "margin",
    "p",
    "eps",
    "swap",
    *OLD,
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
)
CTCLoss = _loss("CTCLoss", functional.ctc_loss, "blank", "reduction", "zero_infinity", blank=0, zero_infinity=False)
MultiMarginLoss = _loss(
    "MultiMarginLoss", functional.multi_margin_loss, "p", "margin", "weight", *OLD, buffers=("weight",), p=1, margin=1.0
)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", functional.multilabel_soft_margin_loss, "weight", *OLD, buffers=("weight",))
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss",
    functional.triplet_margin_with_distance_loss,
    "distance_function",
    "margin",
    "swap",
    "reduction",
    margin=1.0,
    swap=False,
)
