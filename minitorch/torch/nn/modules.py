"""Stage 7 - torch.nn.modules: the layers, by the names of the files in which PyTorch defines them.

Each file is a module with the layers whose names match a pattern, made when this one is imported. Nothing is defined here.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import minitorch.nn as _nn
from minitorch.nn import convolution, dropouts, lazy, linears, losses, normalization, pooling, transposed, tuples
from minitorch.nn import module as _module
from minitorch.torch.absent import refuse_absent

CLASSES = {name: getattr(_nn, name) for name in _nn.__all__ if name[0].isupper() and name != "Max"}
"""The classes of `torch.nn`."""

PATTERNS = {
    "batchnorm": "(Lazy)?BatchNorm.*",
    "channelshuffle": "ChannelShuffle",
    "container": "Sequential|(Module|Parameter)(List|Dict)",
    "conv": "(Lazy)?Conv.*",
    "distance": "CosineSimilarity|PairwiseDistance",
    "dropout": r".*Dropout(\dd)?",
    "flatten": "Flatten|Unflatten",
    "fold": "Fold|Unfold",
    "instancenorm": "(Lazy)?InstanceNorm.*",
    "lazy": "",
    "linear": "(Lazy)?Linear|Bilinear|Identity",
    "loss": ".*Loss",
    "module": "Module",
    "normalization": "(Group|Layer|RMS)Norm|LocalResponseNorm|CrossMapLRN2d",
    "padding": r".*Pad\dd",
    "pixelshuffle": "Pixel(Uns|S)huffle",
    "pooling": r".*(Pool|Unpool)\dd",
    "rnn": "(RNN|LSTM|GRU)(Cell|Base|CellBase)?",
    "sparse": "Embedding(Bag)?",
    "transformer": "Transformer.*",
    "upsampling": "Upsampl.*",
    "utils": "",
    "activation": ".*",
}
"""Each file of PyTorch's, and the names of the layers in it: the first pattern that matches a name has it."""

LAYERS = {name: thing for name, thing in CLASSES.items() if not re.fullmatch("Parameter|Buffer|Uninitialized.*|DataParallel", name)}
"""Those that these files define."""

OTHERS: dict[str, dict[str, Any]] = {
    "batchnorm": {name: getattr(normalization, name) for name in ("_BatchNorm", "_NormBase")},
    "conv": {"_ConvNd": convolution.ConvNd, "_ConvTransposeNd": transposed.ConvTransposeNd},
    "dropout": {"_DropoutNd": dropouts.DropoutNd},
    "instancenorm": {"_InstanceNorm": normalization._InstanceNorm},
    "lazy": {"LazyModuleMixin": lazy.LazyModuleMixin},
    "linear": {"NonDynamicallyQuantizableLinear": linears.NonDynamicallyQuantizableLinear},
    "loss": {"_Loss": losses.Loss, "_WeightedLoss": losses.WeightedLoss},
    "module": {"_IncompatibleKeys": _module.Keys},
    "pooling": {"_AvgPoolNd": pooling.AvgPoolNd, "_MaxPoolNd": pooling.MaxPoolNd},
    "utils": {name: value for name, value in vars(tuples).items() if getattr(value, "__module__", "") == tuples.__name__},
}
"""Names that are no layers: base classes, and functions."""


def file_of(layer: str) -> str:
    """The file of PyTorch's that defines a layer."""
    return next(file for file, pattern in PATTERNS.items() if re.fullmatch(pattern, layer))


def make(file: str) -> ModuleType:
    """One of PyTorch's files as a module, which can be imported by its name."""
    made = ModuleType(f"{__name__}.{file}", f"torch.nn.modules.{file}: a part of `minitorch.nn`, under the name of PyTorch's file.")
    names = {name: layer for name, layer in LAYERS.items() if file_of(name) == file} | OTHERS.get(file, {})
    vars(made).update(names, __getattr__=refuse_absent(f"torch.nn.modules.{file}", names), __all__=[x for x in names if x[0] != "_"])
    sys.modules[made.__name__] = made
    return made


globals().update(LAYERS | {file: make(file) for file in PATTERNS})

__getattr__ = refuse_absent("torch.nn.modules", [*LAYERS, *PATTERNS])
