"""torch.nn.utils: gradient clipping, parameters as one vector, computed and pruned weights, and sequences of different lengths."""

# Stage 7 - PyTorch's interface
import sys as _sys

from minitorch.nn import parametrizations as parametrizations
from minitorch.nn import parametrize as parametrize
from minitorch.nn import prune as prune
from minitorch.nn.parameter import parameters_to_vector, vector_to_parameters
from minitorch.nn.reparametrization import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from minitorch.torch.nn.utils import rnn as rnn
from minitorch.torch.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm

_sys.modules.update({f"{__name__}.{module.__name__.rpartition('.')[2]}": module for module in (parametrizations, parametrize, prune)})

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip
