"""Complete hand-ins of the original MiniTorch course: one in full, and other styles and planted mistakes as changes to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

STARTER = Path(__file__).parent / "originals" / "starter"
"""A Module-4 repository with all tasks written; each file has the suffix .txt, so that no tool takes it for a file of this repository."""


class Change(NamedTuple):
    """Text of one file, which must occur there once, and what replaces it."""

    file: str
    before: str
    after: str


STYLES: dict[str, list[Change]] = {"plain": []}
"""How each style differs from the starter."""


def starter_files() -> dict[str, str]:
    """The files of the starter: text by path."""
    paths = {file.relative_to(STARTER).with_suffix("").as_posix(): file for file in sorted(STARTER.rglob("*.txt"))}
    return {path: file.read_text(encoding="utf-8") for path, file in paths.items()}


def style_files(name: str, *changes: Change) -> dict[str, str]:
    """The files of a style: text by path. More changes, such as a planted mistake, apply after those of the style."""
    files = starter_files()
    for file, before, after in [*STYLES[name], *changes]:
        count = files[file].count(before)
        if count != 1:
            raise ValueError(f"style {name}: expected this text once in {file}, got it {count} times; adapt the change:\n{before}")
        files[file] = files[file].replace(before, after)
    return files


def write_style(name: str, folder: Path, *changes: Change) -> Path:
    """Write the hand-in of a style to folder / name, and return that path."""
    target = folder / name
    if target.exists():
        shutil.rmtree(target)
    for path, text in style_files(name, *changes).items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return target
