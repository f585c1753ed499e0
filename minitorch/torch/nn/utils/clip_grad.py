"""Stage 7 - torch.nn.utils.clip_grad: the gradient clipping of `minitorch.optim`."""

from minitorch.optim.clipping import clip_grad_norm_, clip_grad_value_, get_total_norm

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm"]
