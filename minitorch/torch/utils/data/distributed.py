"""Stage 7 - torch.utils.data.distributed: the sampler of `minitorch.data` that shares examples among processes."""

from minitorch.data.samplers import DistributedSampler

__all__ = ["DistributedSampler"]
