"""torch.nn.utils: gradient clipping, parameters as one vector, and sequences of different lengths."""

# Stage 6 - PyTorch's interface
from minitorch.torch.nn.utils import rnn as rnn
from minitorch.torch.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm
from minitorch.torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "rnn", "vector_to_parameters"]
