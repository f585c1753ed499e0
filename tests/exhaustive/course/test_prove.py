"""Wrong answers, and proofs that the tests catch them: `course.staff.proofs`."""

from __future__ import annotations

import pytest

from course.staff.proofs import prove, runs
from course.staff.proofs.prove import needed_files
from tests.course.test_prove import Repository, repository, wrong_answer


def test_a_wrong_answer_that_does_not_end_is_killed_by_the_time_limit(repository: Repository) -> None:
    root, manifest = repository
    (verdict,) = prove.prove([wrong_answer("while True: pass")], manifest, needed_files(root, manifest), limit=4)
    assert (verdict.state, verdict.by) == ("killed", "the limit of 4 s of computing")


def test_a_run_that_only_waits_proves_nothing(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    root, manifest = repository
    for module in (runs, prove):
        monkeypatch.setattr(module, "PATIENCE", 1)
    (verdict,) = prove.prove([wrong_answer("__import__('time').sleep(60)")], manifest, needed_files(root, manifest), limit=4)
    assert (verdict.state, verdict.by) == (
        "broken",
        "no answer after 4 s by the clock; try again on a machine that is less busy",
    )
