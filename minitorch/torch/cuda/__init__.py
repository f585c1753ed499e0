"""torch.cuda: what there is of GPUs."""

# Stage 6 - PyTorch's interface
from minitorch.torch.cuda import amp as amp
from minitorch.torch.cuda.devices import device_count, empty_cache, is_available, manual_seed_all, synchronize

__all__ = ["amp", "device_count", "empty_cache", "is_available", "manual_seed_all", "synchronize"]
