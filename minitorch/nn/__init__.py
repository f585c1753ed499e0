"""Networks: what they are made of, by the names of the published course and by PyTorch's. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 4 - Networks
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

__all__ = [
    "Max",
    "argmax",
    "avgpool2d",
    "dropout",
    "logsoftmax",
    "max",
    "maxpool2d",
    "softmax",
    "tile",
]
