"""The packages that tests import, and the command that installs them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

PACKAGES = {0: ("pytest", "hypothesis"), 2: ("numpy", "numba")}
"""The packages that tests import, by the first stage whose tests do. Handouts install those of the first stages before the others."""


class CannotRun(RuntimeError):
    """This environment cannot run the tests, whatever the student's code."""


def packages(stage: int) -> list[str]:
    """The packages that the tests of a stage import."""
    return [name for first, names in PACKAGES.items() if first <= stage for name in names]


def require_packages(root: Path, stages: Iterable[int]) -> None:
    """Check that the packages for the tests of these stages are installed.

    Raises:
        CannotRun: If one is missing; the message names the command that installs it.
    """
    for name in dict.fromkeys(name for stage in stages for name in packages(stage)):
        if importlib.util.find_spec(name) is None:
            files = [file for file in ("requirements.txt", "requirements.extra.txt") if (root / file).is_file()]
            install = f"{sys.executable} -m pip install {' '.join(f'-r {file}' for file in files) or 'pytest hypothesis'}"
            raise CannotRun(f"the tests need {name}, which {sys.executable} does not have; run: {install}")
