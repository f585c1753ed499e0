"""What a probe is, and how those of a task are put to a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from course.manifest import Task
from course.runner.gpu import environment
from course.staff.probes.compare import FULL, Check, Wrong, marking_by, shown
from course.staff.probes.plain import Raised
from course.staff.probes.program import Program, Value, shortened
from course.staff.probes.remote import SECONDS, Launcher, NoReply, Remote

HANGS = 2
"""So many times a submission may hang before it is given less time."""

HURRY = 0.2
"""What is left of the time for an answer after that."""


MOST_OF_EDGES = 0.2
"""The share of a task's points that all its edge cases have together at most."""

SHARE_OF_AN_EDGE = 0.04
"""The share of each, where there are few."""


@dataclass(frozen=True)
class Probe:
    """One thing that a submission must do, tried on inputs that its author has not seen.

    Attributes:
        task: The task's id.
        says: What must hold, in a sentence.
        weight: What it counts beside the other probes of the task's main behaviour.
        check: Called with a program to write steps down in, and an input.
        inputs: What the inputs are drawn from, by name.
        examples: Inputs that are always tried first.
        count: How many inputs are drawn.
        seconds: How long one answer may take.
        edge: The edge case that it is about, in a sentence; empty if it is about the main behaviour.
        labels: Edge cases that its check tells apart from the main behaviour by itself, by `Wrong.edges`.
        chosen: Which of the inputs are its; None for all.
        published: Whether the original course demands it too, or on which inputs.
    """

    task: str
    says: str
    weight: float
    check: Callable[..., Check]
    inputs: Mapping[str, SearchStrategy[Any]]
    examples: Sequence[Sequence[Any]]
    count: int
    seconds: float
    edge: str = ""
    labels: tuple[str, ...] = ()
    chosen: Callable[..., bool] | None = None
    published: bool | Callable[..., bool] = True


@dataclass(frozen=True)
class Outcome:
    """How a submission met a probe, or all probes about one edge case.

    Attributes:
        says: What must hold.
        weight: What it counts beside the others.
        passed: Whether it held on all inputs.
        reason: Why not, with the simplest input that was found; empty if it passed.
    """

    says: str
    weight: float
    passed: bool
    reason: str = ""


_probes: dict[str, list[Probe]] = {}


def probe(
    task: str,
    says: str,
    *,
    weight: int = 1,
    examples: Sequence[Sequence[Any]] = (),
    count: int = 25,
    seconds: float = SECONDS,
    edge: bool = False,
    edges: Mapping[str, Callable[..., bool]] | None = None,
    labels: Sequence[str] = (),
    published: bool | Callable[..., bool] = True,
    **inputs: SearchStrategy[Any],
) -> Callable[[Callable[..., Check]], Callable[..., Check]]:
    """Make a function a probe of a task; see `Probe`. Without inputs it is tried once, or once for each example.

    Args:
        task, says, weight, examples, count, seconds, labels, published, inputs: See `Probe`.
        edge: Whether all of it is an edge case.
        edges: Edge cases by what must hold in them, and which inputs belong there: each becomes a probe of its own.
    """
    kinds = dict(edges or {})

    def kind_of(*case: Any) -> str:
        return next((kind for kind, belongs in kinds.items() if belongs(*case)), "")

    def enter(check: Callable[..., Check]) -> Callable[..., Check]:
        whole = Probe(task, says, weight, check, inputs, examples, count, seconds, says if edge else "", tuple(labels), None, published)
        parts = [replace(whole, edge=kind, labels=(), chosen=lambda *case, kind=kind: kind_of(*case) == kind) for kind in kinds]
        main = replace(whole, chosen=lambda *case: not kind_of(*case)) if kinds else whole
        _probes.setdefault(task, []).extend([main, *parts])
        return check

    return enter


def probes_of(task: str, profile: str = FULL) -> list[Probe]:
    """The probes of a task, by its id; none if it has none. The original course marks no edge cases."""
    probes = _probes.get(task, ())
    return list(probes) if profile == FULL else [_as_published(probe) for probe in probes if probe.published and not probe.edge]


def _as_published(probe: Probe) -> Probe:
    """A probe of the main behaviour, on those of its inputs about which the original course says what must hold."""
    if probe.published is True:
        return replace(probe, labels=())
    chosen, also = probe.chosen or (lambda *case: True), probe.published
    assert callable(also)
    return replace(probe, labels=(), chosen=lambda *case: chosen(*case) and also(*case))


def weights_of(task: str, profile: str = FULL) -> dict[str, float]:
    """What is marked of a task with its weight: the main behaviour by its probes, and each edge case with a small share of the points."""
    weights = {probe.says: float(probe.weight) for probe in probes_of(task, profile) if not probe.edge}
    edges = edges_of(task) if profile == FULL else []
    share = min(MOST_OF_EDGES, SHARE_OF_AN_EDGE * len(edges))
    each = sum(weights.values()) * share / (1 - share) / len(edges) if edges else 0.0
    return weights | dict.fromkeys(edges, each)


def edges_of(task: str) -> list[str]:
    """The edge cases of a task."""
    return list(dict.fromkeys(edge for probe in probes_of(task) for edge in (probe.edge, *probe.labels) if edge))


# Putting them


def run_probes(
    task: Task,
    launch: Launcher,
    number: int = 0,
    done: Callable[[Outcome], object] = lambda outcome: None,
    stop: bool = False,
    profile: str = FULL,
    more: Sequence[Probe] = (),
) -> list[Outcome]:
    """Put the probes of a task to a submission.

    A child that ends, hangs, or sends what is no answer fails the probe that was asking; the next one gets a new child. Probes about the
    same edge case have one outcome together.

    Args:
        task: The task.
        launch: Starts a child on the submission.
        number: The inputs follow from it: the same number, the same inputs.
        done: Called after each.
        stop: Whether to stop at the first that fails.
        profile: What is marked.
        more: Further probes, which are about the main behavior.
    """
    with marking_by(profile):
        return _run(task, launch, number, done, stop, profile, more)


def _run(
    task: Task, launch: Launcher, number: int, done: Callable[[Outcome], object], stop: bool, profile: str, more: Sequence[Probe]
) -> list[Outcome]:
    remote: Remote | None = None
    weights = weights_of(task.id, profile) | {probe.says: probe.weight for probe in more}
    reasons: dict[str, str] = {}
    hangs, hopeless = 0, ""
    try:
        for probe in [*probes_of(task.id, profile), *more]:
            if not hopeless and remote is None:
                try:
                    remote = Remote(launch, environment(task))
                except NoReply as gone:
                    hopeless = str(gone)
            marked = [probe.edge or probe.says, *probe.labels]
            failed = dict.fromkeys(marked, hopeless)
            if remote is not None:
                try:
                    failed = _meet(probe, remote, number, HURRY if hangs >= HANGS else 1.0)
                except NoReply as gone:
                    failed, remote = dict.fromkeys(marked, str(gone)), None
                    hangs += gone.hung
            for says in marked:
                reasons[says] = reasons.get(says) or failed.get(says, "")
            done(Outcome(probe.says, weights[marked[0]], not any(failed.values()), next(filter(None, failed.values()), "")))
            if stop and any(failed.values()):
                break
    finally:
        if remote is not None:
            remote.end()
    return [Outcome(says, weight, not reasons[says], reasons[says]) for says, weight in weights.items() if says in reasons]


def share(outcomes: Sequence[Outcome]) -> float:
    """The share of a task's points that these outcomes earn, from 0 to 1."""
    whole = sum(outcome.weight for outcome in outcomes)
    return sum(outcome.weight for outcome in outcomes if outcome.passed) / whole if whole else 0.0


def _meet(probe: Probe, remote: Remote, number: int, hurry: float) -> dict[str, str]:
    """What a submission fails of a probe and its labels: why, on the input for which that is said most shortly.

    Every input is a check of its own. What they ask goes to the submission together, then what they ask next, until none asks any more.
    """
    checks = []
    for case in _cases(probe, number):
        check = probe.check(Program(), *case)
        checks.append((check, next(check)))
    marked = [probe.edge or probe.says, *probe.labels]
    failures: dict[str, list[str]] = {}
    while checks:
        try:
            answers = remote.ask([values for _, values in checks], hurry * probe.seconds)
        except NoReply as gone:
            raise NoReply(f"{min((_text(values) for _, values in checks), key=len)}: it {gone}", gone.hung) from None
        asked, checks = checks, []
        for (check, values), answer in zip(asked, answers, strict=True):
            try:
                checks.append((check, check.throw(answer) if isinstance(answer, Raised) else check.send(answer)))
            except StopIteration:
                pass
            except Wrong as wrong:
                for says, why in {**({marked[0]: str(wrong)} if str(wrong) else {}), **wrong.edges}.items():
                    failures.setdefault(says, []).append(f"{_text(values)}: {why}")
            except Exception as error:  # where the check could do nothing with the answer, that must not end the run
                why = f"it {error}" if isinstance(error, Raised) else f"expected another kind of answer, got {shown(answer)}"
                for says in marked:
                    failures.setdefault(says, []).append(f"{_text(values)}: {why}")
    return {says: min(found, key=len) for says, found in failures.items() if says in marked}


def _text(values: Sequence[Value]) -> str:
    """What is asked, as a message shows it."""
    return shortened(", ".join(map(repr, values)))


def _cases(probe: Probe, number: int) -> list[Sequence[Any]]:
    """The inputs that a probe is tried on: its examples, and as many others as it counts, which follow from a number."""
    cases = list(probe.examples)
    mine = probe.chosen or (lambda *case: True)
    if not probe.inputs:
        return [case for case in cases if mine(*case)] if cases else [()]

    def collect(**values: Any) -> None:
        cases.append(tuple(values[name] for name in probe.inputs))

    draw = settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=probe.count,
        phases=[Phase.generate],
        suppress_health_check=list[Any](HealthCheck),
    )
    seed(f"{number} {probe.task} {probe.says}")(draw(given(**probe.inputs)(collect)))()
    return [case for case in cases if mine(*case)]
