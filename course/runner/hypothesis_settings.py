"""The settings of Hypothesis, and shrinking only where the smallest input is shown."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

QUICK_EXAMPLES = 25
"""How many examples of a property the profile course-quick draws, instead of 100; explicit examples run in any case."""


def set_up(root: Path) -> None:
    """Set no deadline, because compiling takes long; report one failure at a time; repeat the same inputs in CI; write only to .course/.

    The explain phase is off: the lines that only failing examples run would include lines of the plugin. The profile course-quick is for
    those who run the tests of the whole course, with --hypothesis-profile.
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
    settings.register_profile("course-quick", settings.get_profile("course-ci"), max_examples=QUICK_EXAMPLES)
    settings.load_profile("course-ci" if os.environ.get("CI") else "course")


@contextlib.contextmanager
def unshrunk(properties: Iterable[Any]) -> Generator[None]:
    """Skip shrinking while a test only checks whether a property fails."""
    attribute = "_hypothesis_internal_use_settings"  # Hypothesis has no public name for it; if it changes, tests only take longer
    before = [(test, getattr(test, attribute)) for test in properties if hasattr(test, attribute)]
    try:
        for test, own in before:
            setattr(test, attribute, type(own)(own, phases=[phase for phase in own.phases if phase.name not in ("shrink", "explain")]))
        yield
    finally:
        for test, own in before:
            setattr(test, attribute, own)
