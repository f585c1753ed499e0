"""torch.utils.data: data sets, samplers and loaders. This file is the folder's table of contents."""

# Stage 7 - PyTorch's interface
from minitorch.torch.absent import refuse_absent as _refuse_absent
from minitorch.torch.utils.data.dataset import (
    ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split,
)  # fmt: skip
from minitorch.torch.utils.data.sampler import (
    BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
)  # fmt: skip
from minitorch.torch.utils.data.dataloader import DataLoader, default_collate, default_convert, get_worker_info
from minitorch.torch.utils.data import distributed as distributed
from minitorch.torch.utils.data.distributed import DistributedSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler",
    "default_collate", "default_convert", "distributed", "get_worker_info", "random_split",
]  # fmt: skip

__getattr__ = _refuse_absent("torch.utils.data", __all__)
