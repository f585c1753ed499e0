"""Stage 7 - Bernoulli under the name of its module in PyTorch."""

from minitorch.torch.distributions.discrete import Bernoulli as Bernoulli
