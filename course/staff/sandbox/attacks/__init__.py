"""`doctor`: runs every attack of a hostile program once in the sandbox of this machine."""

from __future__ import annotations

import json
import os
import platform
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from course.staff.sandbox.attacks.target import Attempt, Target
from course.staff.sandbox.sandbox import WARNINGS, Limits, Sandbox, SandboxError, best_level

FILE = Path(__file__).with_name("attacks.toml")

SCHEMA = 1
"""Version of the doctor's JSON format."""

CONCURRENCY = 4
"""Number of attacks that run at a time; most of them wait."""

LIMITS = Limits(seconds=60, memory=512 << 20, processes=64, disk=32 << 20, files=2_000, output=64 << 10, collected=4 << 20)
"""Limits of an attack; attacks on a limit try to exceed these."""

SHORT_SECONDS = 2.0
"""Time limit of a program that would run forever."""


@dataclass(frozen=True)
class Attack:
    """A hostile program from `attacks.toml`.

    Attributes:
        name: What it attempts, as a phrase.
        program: Its source.
        then: The source of a program that runs after it.
        victim: Whether it needs another process to attack.
        ends: The limit that must end it; empty if it ends by itself.
        collect: The report that the grader collects from it.
        root: Whether it succeeds without a sandbox only for the administrator.
        alone: Why it is not run without a sandbox; empty if it is.
        machine: The processor that it requires; empty for any.
    """

    name: str
    program: str
    then: str = ""
    victim: bool = False
    ends: str = ""
    collect: str | None = None
    root: bool = False
    alone: str = ""
    machine: str = ""

    @property
    def limits(self) -> Limits:
        """Its limits."""
        return Limits(**{**vars(LIMITS), "seconds": SHORT_SECONDS}) if self.ends else LIMITS


def load_attacks() -> list[Attack]:
    """All attacks for this machine's processor."""
    with FILE.open("rb") as file:
        attacks = [Attack(**entry) for entry in tomllib.load(file)["attack"]]
    return [attack for attack in attacks if attack.machine in ("", platform.machine())]


def attempt(attack: Attack, sandbox: Sandbox | None) -> Attempt:
    """Run an attack on a new target.

    Args:
        attack: The attack.
        sandbox: The sandbox; None for a plain process, to verify that the attack works there.

    Returns:
        The outcome.

    Raises:
        SandboxError: If the sandbox could not be set up.
    """
    with Target(victim=attack.victim) as target:
        programs = [attack.program, attack.then] if attack.then else [attack.program]
        if sandbox is None:
            return target.result(*[target.run_unconfined(program, attack.limits, attack.collect) for program in programs], ends=attack.ends)
        return target.result(*[target.run(sandbox, program, attack.limits, attack.collect) for program in programs], ends=attack.ends)


def attempts(attacks: Sequence[Attack], sandbox: Sandbox | None, done: Callable[[], object] = lambda: None) -> Iterator[Attempt]:
    """Run attacks, and yield their outcomes in order.

    Args:
        attacks: The attacks.
        sandbox: As for `attempt`.
        done: Called after each attack.

    Raises:
        SandboxError: If the sandbox could not be set up.
    """
    with ThreadPoolExecutor(CONCURRENCY) as executor:
        try:
            for result in executor.map(partial(attempt, sandbox=sandbox), attacks):
                done()
                yield result
        except BaseException:  # including KeyboardInterrupt
            executor.shutdown(cancel_futures=True)
            raise


def doctor(out: Console | None = None, as_json: bool = False) -> int:
    """Run every attack in the best sandbox of this machine, and print the outcomes.

    Args:
        out: The console for the outcomes.
        as_json: Whether to print one JSON document instead of lines.

    Returns:
        The exit code: 0 if no attack succeeded, 1 if one did, 3 if there is no sandbox.
    """
    out = out or Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    best = best_level()
    attacks = load_attacks() if best.level != "none" else []
    if not as_json:
        for level, reason in best.missing.items():
            out.print(f"[yellow]not {level}[/yellow]: {escape(reason)}", soft_wrap=True)
        out.print(_level(best.level), soft_wrap=True)
    results: list[Attempt] = []
    progress_to = Console(stderr=True)
    with Progress(console=progress_to, transient=True, disable=not progress_to.is_terminal) as progress:
        bar = progress.add_task("attacking", total=len(attacks))
        for attack, result in zip(attacks, attempts(attacks, Sandbox(best.level), lambda: progress.advance(bar)), strict=True):
            results.append(result)
            if not as_json:
                out.print(_line(attack, result), soft_wrap=True)
    succeeded = sum(result.succeeded for result in results)
    if as_json:
        rows = [
            {"name": attack.name, "succeeded": result.succeeded, "how": result.how} for attack, result in zip(attacks, results, strict=True)
        ]
        document = {"schema": SCHEMA, "level": best.level, "missing": dict(best.missing), "attacks": rows}
        out.print(json.dumps(document, indent=1), soft_wrap=True, markup=False)
    elif attacks:
        out.print(f"{succeeded} of {len(attacks)} attacks succeeded")
    if succeeded and not as_json:
        out.print("next: install bubblewrap 0.8 or newer, or grade only what you trust", soft_wrap=True)
    return SandboxError.code if best.level == "none" else 1 if succeeded else 0


def _level(level: str) -> str:
    """The line about the sandbox."""
    if level == "none":
        return (
            "[red]no sandbox[/red]: a submission could read and change whatever you can\n"
            "next: apt-get install bubblewrap, then course-staff grade-doctor"
        )
    who = "with a separate user for each program" if os.geteuid() == 0 else "with your user, in a separate namespace"
    return f"sandbox: [bold]{level}[/bold], {who if level == 'bubblewrap' else WARNINGS[level]}"


def _line(attack: Attack, result: Attempt) -> str:
    """The line about an attack."""
    if result.succeeded:
        return f"[red]SUCCEEDED[/red] {escape(attack.name)}: {escape(result.how)}"
    return f"stopped   {escape(attack.name)}"
