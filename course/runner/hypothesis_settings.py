"""What the course asks of Hypothesis: its settings, and the smallest input only where somebody sees it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any


def set_up(root: Path) -> None:
    """No deadline, as compilation takes long; one failure at a time; in CI the same inputs every time; nothing written beside .course/.

    No lines either that only failing examples run: the plugin's own would be among them.
    """
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(root / ".course" / "hypothesis"))
    from hypothesis import HealthCheck, Phase, settings

    common: dict[str, Any] = {
        "deadline": None,
        "print_blob": False,
        "report_multiple_bugs": False,
        "phases": [phase for phase in Phase if phase is not Phase.explain],
        "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    }
    settings.register_profile("course", settings.get_profile("default"), derandomize=False, **common)
    settings.register_profile("course-ci", settings.get_profile("default"), derandomize=True, database=None, **common)
    settings.load_profile("course-ci" if os.environ.get("CI") else "course")


@contextlib.contextmanager
def unshrunk(properties: Iterable[Any]) -> Generator[None]:
    """Let a test that only asks whether another one fails, a property, not wait until Hypothesis has found its smallest input."""
    attribute = "_hypothesis_internal_use_settings"  # Hypothesis has no public name for it; without it everything just takes longer
    before = [(test, getattr(test, attribute)) for test in properties if hasattr(test, attribute)]
    try:
        for test, own in before:
            setattr(test, attribute, type(own)(own, phases=[phase for phase in own.phases if phase.name not in ("shrink", "explain")]))
        yield
    finally:
        for test, own in before:
            setattr(test, attribute, own)
