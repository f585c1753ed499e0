"""Hand-ins of the original MiniTorch course in the styles of its students."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")

ORIGINALS = Path(__file__).parent / "originals"
"""Submissions as people write them; each file has the suffix .txt, so that no tool takes it for a file of this repository."""

STYLES = ["terse", "typed"]


class MadeWhenRead(dict[str, Value]):
    """A dictionary that makes an entry when it is first read, because a style takes seconds and a test needs only one."""

    def __init__(self, make: Callable[[str], Value]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, style: str) -> Value:
        self[style] = self._make(style)
        return self[style]


def copy_original(style: str, folder: Path) -> Path:
    """Write a submission whose files have the original names."""
    for file in (ORIGINALS / style).rglob("*.txt"):
        target = folder / file.relative_to(ORIGINALS).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return folder / style
