"""Initial weights and noise from NumPy's generator, so that two libraries with different generators start from equal numbers."""

import math

import numpy as np
import torch
from torch import nn


def fill_parameters(model: nn.Module, rng: np.random.Generator) -> None:
    """Fill every parameter of a model in place.

    Weights of two or more dimensions are normal with standard deviation 1/√fan_in; the scales of normalization layers are close
    to 1, and biases close to 0.
    """
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = rng.standard_normal(tuple(p.shape))
            if p.dim() > 1:
                values /= math.sqrt(p[0].numel())
            else:
                values *= 0.1
                if name.endswith("weight"):
                    values += 1
            p.copy_(torch.from_numpy(values))


def normal(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Standard normal noise of a shape, float32."""
    return torch.from_numpy(rng.standard_normal(shape)).float()
