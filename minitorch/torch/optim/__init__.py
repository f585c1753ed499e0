"""torch.optim: optimizers and learning rate schedules. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.optim import lr_scheduler as lr_scheduler
from minitorch.torch.optim.optimizer import Optimizer
from minitorch.optim import ASGD, LBFGS, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop
from minitorch.torch.optim import swa_utils as swa_utils

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler", "swa_utils",
]  # fmt: skip

__getattr__ = _refuse_absent("torch.optim", __all__)
