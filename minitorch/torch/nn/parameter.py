"""Stage 6 - torch.nn.parameter: under this name some programs import Parameter."""

from minitorch.nn.parameter import Parameter as Parameter
