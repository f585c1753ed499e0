"""Attacks on the sandbox, and the doctor that runs them: `course.staff.sandbox.attacks`."""

import io
import json
import os
from typing import Any

import pytest
from rich.console import Console

from course.staff.sandbox import attacks, sandbox
from course.staff.sandbox.attacks import Attack, attempt, attempts, doctor, load_attacks, target
from course.staff.sandbox.attacks.target import Attempt
from course.staff.sandbox.sandbox import BestLevel, Sandbox, SandboxError

ALL = load_attacks()


def box_of(level: str) -> Sandbox:
    """A sandbox of this level, if this machine supports it."""
    if level != "none" and (reason := sandbox.missing_reason(level)):
        pytest.skip(f"no {level} on this machine: {reason}")
    return Sandbox(level)


def successes(tried: list[Attack], box: Sandbox | None) -> dict[str, str]:
    """The attacks that succeeded, and what each obtained."""
    results = zip(tried, attempts(tried, box), strict=True)
    return {attack.name: result.how for attack, result in results if result.succeeded}


def test_there_are_at_least_120_attacks_with_unique_names() -> None:
    assert len(ALL) >= 120
    assert len({attack.name for attack in ALL}) == len(ALL)


def test_no_attack_succeeds_under_landlock() -> None:
    """Every twelfth; all of them under tests/exhaustive."""
    assert successes(ALL[::12], box_of("landlock")) == {}


def test_an_attack_without_a_demonstrated_success_says_why() -> None:
    assert {attack.name for attack in ALL if attack.alone} == {
        "a report that is a pipe and never ends",
        "connect to a server on the internet",
        "forge the sandbox's own report",
        "crash to start the machine's crash handler",
    }


# What counts as success


@pytest.mark.parametrize(
    ("program", "options", "expected"),
    [
        ("print(open(T['hidden']).read())", {}, Attempt(True, "it got the secret")),
        ("broken('the door')", {}, Attempt(True, "the door")),
        ("open(T['journal'], 'a').write('x')", {}, Attempt(True, "it changed files of the grader")),
        ("open(T['folder'] + '/hidden/new', 'a')", {}, Attempt(True, "it changed files of the grader")),
        ("os.chmod(T['other'], 0o600)", {}, Attempt(True, "it changed files of the grader")),
        ("os.kill(T['victim'], 9)", {"victim": True}, Attempt(True, "the grader was killed")),
        ("os.kill(T['victim'], 19)", {"victim": True}, Attempt(True, "the grader was stopped")),
        ("import time\nif os.fork() == 0: time.sleep(60)", {}, Attempt(True, "1 of its processes still run")),
        ("pass", {"ends": "time"}, Attempt(True, "it should have exceeded its limit on time, got the reason ended")),
        ("print('so what')", {}, Attempt(False, "so what")),
        ("sys.exit(3)", {}, Attempt(False, "status 3")),
    ],
)
def test_an_attack_has_succeeded_if_it_got_or_changed_something(
    program: str, options: dict[str, Any], expected: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "KILL_SECONDS", 0.1)
    assert attempt(Attack("x", program, **options), None) == expected


# The doctor


def run_doctor(monkeypatch: pytest.MonkeyPatch, some: list[Attack], as_json: bool = False) -> tuple[int, str]:
    monkeypatch.setattr(attacks, "load_attacks", lambda: some)
    out = io.StringIO()
    status = doctor(Console(file=out, width=80, highlight=False), as_json)
    return status, out.getvalue()


def test_the_doctor_prints_the_level_and_a_line_for_every_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    box_of("bubblewrap")
    status, text = run_doctor(monkeypatch, [Attack("open [the] door", "open('/x', 'w')"), Attack("wait", "pass")])
    who = "with a separate user for each program" if os.geteuid() == 0 else "with your user, in a separate namespace"
    assert text == f"sandbox: bubblewrap, {who}\nstopped   open [the] door\nstopped   wait\n0 of 2 attacks succeeded\n"
    assert status == 0


def test_the_doctor_says_which_attack_succeeded_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    box_of("bubblewrap")
    status, text = run_doctor(monkeypatch, [Attack("open the door", "broken('the [door]')"), Attack("wait", "pass")])
    found = "SUCCEEDED open the door: the [door]\nstopped   wait\n1 of 2 attacks succeeded\n"
    assert text.partition("\n")[2] == f"{found}next: install bubblewrap 0.8 or newer, or grade only what you trust\n"
    assert status == 1


def test_the_doctor_says_why_a_better_sandbox_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    box_of("landlock")
    monkeypatch.setattr(sandbox, "missing_reason", lambda level: "is not installed" if level == "bubblewrap" else "")
    status, text = run_doctor(monkeypatch, [Attack("wait", "pass")])
    assert text.splitlines() == [
        "not bubblewrap: is not installed",
        "sandbox: landlock, Landlock blocks files, network and new processes, but programs can inspect the machine; install bubblewrap",
        "stopped   wait",
        "0 of 1 attacks succeeded",
    ]
    assert status == 0


def test_the_doctor_of_a_machine_without_a_sandbox_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "missing_reason", lambda level: f"no {level} here")
    status, text = run_doctor(monkeypatch, ALL)
    assert text.splitlines() == [
        "not bubblewrap: no bubblewrap here",
        "not landlock: no landlock here",
        "no sandbox: a submission could read and change whatever you can",
        "next: apt-get install bubblewrap, then course-staff grade-doctor",
    ]
    assert status == 3


def test_the_doctor_writes_json_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    box_of("bubblewrap")
    status, text = run_doctor(monkeypatch, [Attack("open the door", "broken('the [door]')"), Attack("wait", "sys.exit(4)")], as_json=True)
    open_door = {"name": "open the door", "succeeded": True, "how": "the [door]"}
    wait = {"name": "wait", "succeeded": False, "how": "status 4"}
    assert json.loads(text) == {"schema": 1, "level": "bubblewrap", "missing": {}, "attacks": [open_door, wait]}
    assert status == 1


def test_attacks_in_a_failing_sandbox_give_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args, **options):
        raise SandboxError("the sandbox could not be set up")

    monkeypatch.setattr(Sandbox, "run", fail)
    with pytest.raises(SandboxError):
        list(attempts([Attack("wait", "pass")] * 9, Sandbox("none")))


def test_the_best_level_comes_with_the_reasons_against_better_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "missing_reason", lambda level: "no")
    assert sandbox.best_level() == BestLevel("none", {"bubblewrap": "no", "landlock": "no"})
