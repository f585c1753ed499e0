"""Stage 7 - Independent under the name of its module in PyTorch."""

from minitorch.torch.distributions.distribution import Independent as Independent
