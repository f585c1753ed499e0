"""Stage 7 - Categorical under the name of its module in PyTorch."""

from minitorch.torch.distributions.discrete import Categorical as Categorical
