"""torch.distributions: random variables with densities. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.distributions import bernoulli as bernoulli
from minitorch.torch.distributions import binomial as binomial
from minitorch.torch.distributions import categorical as categorical
from minitorch.torch.distributions import independent as independent
from minitorch.torch.distributions import kl as kl
from minitorch.torch.distributions import multinomial as multinomial
from minitorch.torch.distributions import normal as normal
from minitorch.torch.distributions import uniform as uniform
from minitorch.torch.distributions.binomial import Binomial
from minitorch.torch.distributions.continuous import Normal, Uniform
from minitorch.torch.distributions.discrete import Bernoulli, Categorical
from minitorch.torch.distributions.distribution import Distribution, Independent
from minitorch.torch.distributions.kl import kl_divergence
from minitorch.torch.distributions.multinomial import Multinomial

__all__ = ["Bernoulli", "Binomial", "Categorical", "Distribution", "Independent", "Multinomial", "Normal", "Uniform", "kl", "kl_divergence"]

__getattr__ = _refuse_absent("torch.distributions", __all__)
