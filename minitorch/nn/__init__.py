"""Networks: what they are made of, by the names of the published course and by PyTorch's. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 4 - Networks
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

# Stage 5 - After the course
from minitorch.nn.losses import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, mse_loss, nll_loss
from minitorch.nn.embedding import embedding

__all__ = [
    "Max",
    "argmax",
    "avgpool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "embedding",
    "logsoftmax",
    "max",
    "maxpool2d",
    "mse_loss",
    "nll_loss",
    "softmax",
    "tile",
]
