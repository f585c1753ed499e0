"""Definition of a probe, and the runner that applies the probes of a task to a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from course.manifest import Task
from course.runner.gpu import environment
from course.staff.probes.compare import FULL, Check, Wrong, printable, use_profile
from course.staff.probes.own_package import in_own_package
from course.staff.probes.plain import Raised
from course.staff.probes.program import Program, Value, truncate
from course.staff.probes.remote import SECONDS, Launcher, NoReply, Remote

MAX_HANGS = 2
"""How many times a submission may hang before its time limit is reduced."""

REDUCED_TIME = 0.2
"""The fraction of the time limit that applies after that."""


MAX_EDGE_SHARE = 0.2
"""The maximum share of a task's points for all its edge cases together."""

EDGE_SHARE = 0.04
"""The share of each edge case, if there are few."""


@dataclass(frozen=True)
class Probe:
    """One requirement on a submission, checked on inputs that its author has not seen.

    Attributes:
        task: The task's id.
        says: The requirement, in a sentence.
        weight: Weight relative to the other probes of the task's main behavior; 0 if its failure is only told, and `says` says of what.
        check: Called with a program, which records steps, and an input.
        inputs: Strategies for the inputs, by name.
        examples: Inputs that are always checked first.
        count: Number of random inputs.
        seconds: Time limit for one answer.
        edge: The edge case that it checks, in a sentence; empty for the main behavior.
        labels: Edge cases that its check reports separately from the main behavior, through `Wrong.edges`.
        chosen: Predicate that selects its inputs; None for all.
        published: Whether the original course requires it too, or on which inputs; or "only" there.
        required: Whether the original course requires it although it is an edge case here.
        own_package: Whether it also applies to a hand-in of the original course in its own package, or on which inputs; or "only" there.
        source: What requires it in the original course, separated by semicolons: tests by name, and texts, such as "docstring of map" or
            "Task 3.1: the main loop is parallel"; empty if nothing does.
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
    published: bool | Callable[..., bool] | Literal["only"] = True
    required: bool = False
    own_package: bool | Callable[..., bool] | Literal["only"] = True
    source: str = ""


@dataclass(frozen=True)
class Outcome:
    """The result of a submission for a probe, or for all probes of one edge case.

    Attributes:
        says: The requirement.
        weight: Weight relative to the others.
        passed: Whether the submission met it on all inputs.
        reason: Why it failed, with the shortest failing input; empty if it passed.
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
    published: bool | Callable[..., bool] | Literal["only"] = True,
    required: bool = False,
    own_package: bool | Callable[..., bool] | Literal["only"] = True,
    source: str = "",
    **inputs: SearchStrategy[Any],
) -> Callable[[Callable[..., Check]], Callable[..., Check]]:
    """Register a function as a probe of a task; see `Probe`. Without inputs it runs once, or once for each example.

    Args:
        task, says, weight, examples, count, seconds, labels, published, required, own_package, source, inputs: See `Probe`.
        edge: Whether the whole probe is an edge case.
        edges: Requirements of edge cases, each with a predicate that selects its inputs; each becomes a separate probe.
    """
    kinds = dict(edges or {})

    def kind_of(*case: Any) -> str:
        return next((kind for kind, belongs in kinds.items() if belongs(*case)), "")

    def register(check: Callable[..., Check]) -> Callable[..., Check]:
        name = says if edge else ""
        whole = Probe(
            task, says, weight, check, inputs, examples, count, seconds, name, tuple(labels), None, published, required, own_package, source
        )
        parts = [replace(whole, edge=kind, labels=(), chosen=lambda *case, kind=kind: kind_of(*case) == kind) for kind in kinds]
        main = replace(whole, chosen=lambda *case: not kind_of(*case)) if kinds else whole
        _probes.setdefault(task, []).extend([main, *parts])
        return check

    return register


def probes_of(task: str, profile: str = FULL) -> list[Probe]:
    """The probes of a task, by its id; an empty list if it has none. The original course grades no edge cases."""
    probes = [probe for probe in _probes.get(task, ()) if (probe.own_package if in_own_package() else probe.own_package != "only")]
    if profile == FULL:
        return [probe for probe in probes if probe.published != "only"]
    published = [replace(probe, labels=(), edge="") for probe in probes if probe.published and (probe.required or not probe.edge)]
    restricted = [_restrict(probe, probe.published) for probe in published]
    return [_restrict(probe, probe.own_package) for probe in restricted] if in_own_package() else restricted


def _restrict(probe: Probe, also: bool | str | Callable[..., bool]) -> Probe:
    """A probe on those of its inputs that meet one more condition."""
    if not callable(also):
        return probe
    chosen = probe.chosen or (lambda *case: True)
    return replace(probe, chosen=lambda *case: chosen(*case) and also(*case))


def weights_of(task: str, profile: str = FULL) -> dict[str, float]:
    """The graded requirements of a task and their weights; each edge case has a small share of the points."""
    weights = {probe.says: float(probe.weight) for probe in probes_of(task, profile) if not probe.edge}
    edges = edges_of(task) if profile == FULL else []
    share = min(MAX_EDGE_SHARE, EDGE_SHARE * len(edges))
    each = sum(weights.values()) * share / (1 - share) / len(edges) if edges else 0.0
    return weights | dict.fromkeys(edges, each)


def edges_of(task: str) -> list[str]:
    """The edge cases of a task."""
    return list(dict.fromkeys(edge for probe in probes_of(task) for edge in (probe.edge, *probe.labels) if edge))


# The runner


def run_probes(
    task: Task,
    launch: Launcher,
    number: int = 0,
    done: Callable[[Outcome], object] = lambda outcome: None,
    stop: bool = False,
    profile: str = FULL,
    more: Sequence[Probe] = (),
) -> list[Outcome]:
    """Run the probes of a task on a submission.

    If the child exits, hangs or sends an invalid answer, the current probe fails, and the next one gets a new child. Probes of the
    same edge case share one outcome.

    Args:
        task: The task.
        launch: Starts a child process on the submission.
        number: Seed of the inputs.
        done: Called after each probe.
        stop: Whether to stop at the first failure.
        profile: Which requirements are graded.
        more: Additional probes of the main behavior.
    """
    with use_profile(profile):
        return _run(task, launch, number, done, stop, profile, more)


def _run(
    task: Task, launch: Launcher, number: int, done: Callable[[Outcome], object], stop: bool, profile: str, more: Sequence[Probe]
) -> list[Outcome]:
    remote: Remote | None = None
    weights = weights_of(task.id, profile) | {probe.says: probe.weight for probe in more}
    reasons: dict[str, str] = {}
    hangs, import_error = 0, ""
    try:
        for probe in [*probes_of(task.id, profile), *more]:
            if not import_error and remote is None:
                try:
                    remote = Remote(launch, environment(task))
                except NoReply as error:
                    import_error = str(error)
            marked = [probe.edge or probe.says, *probe.labels]
            failed = dict.fromkeys(marked, import_error)
            if remote is not None:
                try:
                    failed = _run_probe(probe, remote, number, REDUCED_TIME if hangs >= MAX_HANGS else 1.0)
                except NoReply as error:
                    failed, remote = dict.fromkeys(marked, str(error)), None
                    hangs += error.hung
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
    total = sum(outcome.weight for outcome in outcomes)
    return sum(outcome.weight for outcome in outcomes if outcome.passed) / total if total else 0.0


def _run_probe(probe: Probe, remote: Remote, number: int, hurry: float) -> dict[str, str]:
    """The requirements of a probe and its labels that a submission fails, each with its shortest reason.

    Every input is a separate check. All checks send their first requests in one batch, then their next requests, until none is left.
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
        except NoReply as error:
            raise NoReply(f"{min((_text(values) for _, values in checks), key=len)}: it {error}", error.hung) from None
        requests, checks = checks, []
        for (check, values), answer in zip(requests, answers, strict=True):
            try:
                checks.append((check, check.throw(answer) if isinstance(answer, Raised) else check.send(answer)))
            except StopIteration:
                pass
            except Wrong as wrong:
                for says, why in {**({marked[0]: str(wrong)} if str(wrong) else {}), **wrong.edges}.items():
                    failures.setdefault(says, []).append(f"{_text(values)}: {why}")
            except Exception as error:  # a check that cannot process the answer must not end the run
                why = f"it {error}" if isinstance(error, Raised) else f"expected a different kind of answer, got {printable(answer)}"
                for says in marked:
                    failures.setdefault(says, []).append(f"{_text(values)}: {why}")
    return {says: min(reasons, key=len) for says, reasons in failures.items() if says in marked}


def _text(values: Sequence[Value]) -> str:
    """The request as text for a message."""
    return truncate(", ".join(map(repr, values)))


def _cases(probe: Probe, number: int) -> list[Sequence[Any]]:
    """The inputs of a probe: its examples, and `count` random ones generated from a seed."""
    cases = list(probe.examples)
    is_selected = probe.chosen or (lambda *case: True)
    if not probe.inputs:
        return [case for case in cases if is_selected(*case)] if cases else [()]

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
    return [case for case in cases if is_selected(*case)]
