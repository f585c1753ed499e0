"""Attacks on the sandbox, and the doctor that runs them: `course.staff.sandbox.attacks`."""

import re
from pathlib import Path

import pytest

from course.staff.sandbox.attacks import attempts
from tests.course.test_attacks import ALL, box_of, successes


def is_administrator() -> bool:
    """Whether this process has the rights of an administrator: CAP_SYS_ADMIN, CAP_SYS_PTRACE."""
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    return found is not None and int(found[1], 16) >> 21 & int(found[1], 16) >> 19 & 1 == 1


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_no_attack_succeeds(level: str) -> None:
    assert successes(ALL, box_of(level)) == {}


def test_every_attack_succeeds_where_there_is_no_sandbox() -> None:
    tried = [attack for attack in ALL if not attack.alone and (is_administrator() or not attack.root)]
    stopped = [attack for attack, result in zip(tried, attempts(tried, None), strict=True) if not (result.succeeded or result.absent)]
    assert [attack.name for attack in stopped] == []
    assert len(tried) > 80
