"""Stage 6 - torch.backends.cudnn: its switches can be set, and change nothing, as in PyTorch on a machine without a GPU."""

from __future__ import annotations

benchmark = deterministic = allow_tf32 = False
enabled = True


def is_available() -> bool:
    """False: cuDNN is not used."""
    return False


def version() -> None:
    """None: cuDNN is not used."""
