"""Shared by all outputs: file names, numbers, and the messages about a task that students may read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from course.staff.grading.results import BEYOND, NOT_RUN, PART, Result, TaskResult, VisibleTest

LONGEST = 2000
"""Maximum number of characters of a test's message."""

RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
"""Names that Windows reserves."""

REQUIREMENTS = "Your code does not meet these requirements of the hidden tests:"
"""The first line of a message that lists failed requirements of hidden probes."""


def file_names(results: Sequence[Result]) -> list[str]:
    """A file name for each submission: valid on every system, and unique.

    A hash is appended to a name that is not valid, or that differs from another one only in case.
    """
    lower = [result.submission.lower() for result in results]
    names: list[str] = []
    for result in results:
        safe = re.sub(r"[^\w.@+-]", "_", result.submission)[:80].lstrip(".-").rstrip(".") or "_"
        if safe != result.submission or lower.count(result.submission.lower()) > 1 or RESERVED.match(safe):
            digest = hashlib.sha256(f"{result.submission}\0{result.hash}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            safe = f"_{safe}-{digest}" if RESERVED.match(safe) else f"{safe}-{digest}"
        names.append(safe)
    again = [names[:place].count(name) for place, name in enumerate(names)]  # the same submission twice
    return [f"{name}-{before + 1}" if before else name for name, before in zip(names, again, strict=True)]


def number(value: float) -> str:
    """A mark without trailing zeros: 7.5, 10."""
    return f"{round(value, 2):.2f}".rstrip("0").rstrip(".")


def clean(text: str) -> str:
    """Text without terminal colors and direction marks, and with a replacement character for each character that XML does not allow."""
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", text)
    text = re.sub("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "\ufffd", text)
    return re.sub(r"[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def line(text: str) -> str:
    """Text on a single line."""
    return " ".join(clean(text).split())


def markdown(text: str) -> str:
    """Text with Markdown and HTML escaped; an underscore inside a word needs no escape."""
    return re.sub(r"([\\`*\[\]<>|#&~]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def sentence(text: str) -> str:
    """Text with its first letter capitalized, unless it begins with a path or code."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+([ ,;:]|$)", text) else text


def first_failure(task: TaskResult) -> VisibleTest | None:
    """The first visible test that failed with a message, or else the first that failed."""
    bad = [test for test in task.visible if test.outcome not in ("passed", BEYOND)]
    return next((test for test in bad if test.message), bad[0] if bad else None)


def public_reason(task: TaskResult) -> str:
    """Why a task did not earn full marks; empty if that would reveal the input of a hidden probe."""
    hidden = [probe.reason for probe in task.probes if probe.reason]
    return "" if any(reason in task.reason for reason in hidden) else clean(task.reason)


def failed_requirements(task: TaskResult) -> list[str]:
    """The requirements of the hidden probes whose failure costs points, without duplicates."""
    return list(dict.fromkeys(line(probe.says) for probe in task.probes if probe.costs))


def messages(task: TaskResult) -> list[str]:
    """The messages about a task that a student may read, as plain text; none if it passed without remarks."""
    paragraphs = []
    reason = public_reason(task)
    if reason:
        paragraphs.append(f"Not graded: {reason.removeprefix('not graded: ')}" if task.verdict == NOT_RUN else sentence(reason))
    if task.own_package and not task.passed:
        paragraphs.append("It was graded in your own package, with your own given code.")
    if task.visible and (failure := first_failure(task)):
        passed = sum(test.outcome == "passed" for test in task.visible)
        counted = sum(test.outcome != BEYOND for test in task.visible)
        paragraphs.append(f"{passed} of {counted} tests in your workspace pass. The first one that fails: {clean(failure.id)}")
        if failure.message:
            paragraphs.append(truncate(clean(failure.message)))
        elif failure.outcome == "missing":
            paragraphs.append("It did not run: it was skipped, or the run ended before it.")
        alike = sum(test.cause == failure.cause and test.outcome != BEYOND for test in task.visible)
        if failure.cause and alike > 1:
            paragraphs.append(f"The same error ends {alike} of these tests. Fix it first: {line(failure.cause)}")
    if demands := [demand for demand in failed_requirements(task) if demand not in line(reason)]:
        paragraphs.append(f"{REQUIREMENTS}\n" + "\n".join(f"- {demand}" for demand in demands))
    paragraphs += [f"This costs no points: {line(probe.says)}" for probe in task.probes if probe.is_told]
    if task.nearest is not None and task.nearest.is_shown:
        paragraphs.append(f"A known mistake that fails in the same way: {line(task.nearest.mistake)}")
    if task.flaky:
        paragraphs.append(
            "A second run had a different result; the worse one counts. Does your code depend on randomness, time, or earlier calls?"
        )
    if task.disagrees:
        paragraphs.append("The tests in your workspace and the hidden tests disagree; your teacher will look into it.")
    return paragraphs


def truncate(text: str) -> str:
    """The beginning of a long text, with the number of characters left out."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… ({len(text) - LONGEST} more characters)"


def flags(task: TaskResult) -> list[str]:
    """Why a task needs attention: "disagrees", "unusual", "flaky", "variant" or "not run"."""
    return [
        *(["disagrees"] if task.disagrees else []),
        *(["unusual"] if task.unusual else []),
        *(["flaky"] if task.flaky else []),
        *(["variant"] if task.carries else []),
        *(["not run"] if task.verdict == NOT_RUN else []),
    ]


def variant_note(task: TaskResult) -> str:
    """The students whose variant the answers match, as text for the teacher."""
    return f"carries the variant of {' or '.join(task.carries)}"


def verdict_and_mark(task: TaskResult) -> str:
    """The verdict and the mark: "PART, 5 of 10"."""
    return f"{task.verdict}, {number(task.mark)} of {number(task.points)}{' extra' if task.extra else ''}"


def kind(task: TaskResult) -> str:
    """The verdict as one word: "pass", "part", "fail" or "not-run"."""
    return "pass" if task.passed else "part" if task.verdict == PART else "fail" if task.ran else "not-run"
