"""torch.distributions: random variables with densities. This file is the folder's table of contents."""

# Stage 6 - PyTorch's interface
from minitorch.torch.distributions import kl as kl
from minitorch.torch.distributions.continuous import Normal, Uniform
from minitorch.torch.distributions.discrete import Bernoulli, Categorical
from minitorch.torch.distributions.distribution import Distribution, Independent
from minitorch.torch.distributions.kl import kl_divergence

__all__ = ["Bernoulli", "Categorical", "Distribution", "Independent", "Normal", "Uniform", "kl", "kl_divergence"]
