"""Typical answers: twenty correct ones in different styles. Code in one of them is code that several students write independently."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from course.staff.grading.submissions import Submission
from course.staff.similarity.works import PUBLIC, Reader

FOLDER = Path(__file__).with_name("typical")


@cache
def typical_answers() -> Mapping[str, Mapping[str, str]]:
    """The files of every answer by path, by the name of its author."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["files"] for path in sorted(FOLDER.glob("*.toml"))}


def ordinary_runs(reader: Reader, exclude: Iterable[str] = ()) -> np.ndarray:
    """Hashes of the runs of tokens that are not evidence: those of given code and of typical answers.

    Args:
        reader: Reads the answers.
        exclude: Authors whose answers are excluded.

    Returns:
        The distinct hashes, sorted.
    """
    left = [files for name, files in typical_answers().items() if name not in set(exclude)]
    works = [reader.work(Submission("", {path: text.encode() for path, text in files.items()}), PUBLIC) for files in left]
    return np.unique(np.concatenate([reader.given, *(function.runs for work in works for function in work.functions)]))
