"""Stage 7 - torch.optim.optimizer: the base class of `minitorch.optim`."""

from minitorch.optim.optimizer import Optimizer

__all__ = ["Optimizer"]
