"""Stage 7 - torch.utils.data.dataloader: the loader of `minitorch.data`."""

from minitorch.data.collate import default_collate, default_convert
from minitorch.data.dataloader import DataLoader

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


def get_worker_info() -> None:
    """None, as outside of PyTorch's worker processes: one thread reads the whole data set here, whatever num_workers is."""
