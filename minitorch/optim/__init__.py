"""Optimizers. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 1 - Scalar autodiff
from minitorch.optim import arithmetic as arithmetic
from minitorch.optim.optimizer import Optimizer
from minitorch.optim.sgd import SGD
from minitorch.optim.adam import Adam
from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

# Stage 4 - Networks, imported on first use
with _lazy_imports(globals()):
    from minitorch.optim import saving as saving

# Stage 7 - After the course, imported on first use
with _lazy_imports(globals()):
    from minitorch.optim.adamw import AdamW
    from minitorch.optim.rmsprop import RMSprop
    from minitorch.optim.grad_scaler import GradScaler
    from minitorch.optim import lr_scheduler as lr_scheduler
    from minitorch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler, SequentialLR, StepLR
    from minitorch.optim.clipping import clip_grad_norm_, clip_grad_value_, get_total_norm
    from minitorch.optim.adadelta import Adadelta, Adagrad
    from minitorch.optim.adam_variants import Adamax, AMSGrad, NAdam, RAdam
    from minitorch.optim.lbfgs import LBFGS
    from minitorch.optim.signs_and_averages import ASGD, Rprop
    from minitorch.optim import swa_utils as swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "AMSGrad",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "CosineAnnealingLR",
    "GradScaler",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SequentialLR",
    "StepLR",
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "lr_scheduler",
    "swa_utils",
]
