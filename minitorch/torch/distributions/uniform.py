"""Stage 7 - Uniform under the name of its module in PyTorch."""

from minitorch.torch.distributions.continuous import Uniform as Uniform
