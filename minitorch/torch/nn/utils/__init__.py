"""torch.nn.utils: gradient clipping, parameters as one vector, normalized weights, and sequences of different lengths."""

# Stage 6 - PyTorch's interface
from minitorch.nn.parameter import parameters_to_vector, vector_to_parameters
from minitorch.nn.reparametrization import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from minitorch.torch.nn.utils import rnn as rnn
from minitorch.torch.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
