"""Stage 7 - torch.backends.mps: the GPUs of Apple's computers, which are not used."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False
