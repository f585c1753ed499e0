"""Hand-ins of the original MiniTorch course in the styles of its students."""

from __future__ import annotations

import shutil
from pathlib import Path

ORIGINALS = Path(__file__).parent / "originals"
"""Submissions as people write them; each file has the suffix .txt, so that no tool takes it for a file of this repository."""

STYLES = ["terse", "typed"]


def copy_original(style: str, folder: Path) -> Path:
    """Write a submission whose files have the original names."""
    for file in (ORIGINALS / style).rglob("*.txt"):
        target = folder / file.relative_to(ORIGINALS).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return folder / style
