"""Stage 7 - torch.utils.data.dataset: the data sets of `minitorch.data`."""

from minitorch.data.combined import ChainDataset, IterableDataset, StackDataset, TensorDataset, random_split
from minitorch.data.dataset import ConcatDataset, Dataset, Subset

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset", "random_split"]
