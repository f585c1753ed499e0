"""Stage 6 - torch.utils.data.dataloader: the loader of `minitorch.data`."""

from minitorch.data.collate import default_collate, default_convert
from minitorch.data.dataloader import DataLoader

__all__ = ["DataLoader", "default_collate", "default_convert"]
