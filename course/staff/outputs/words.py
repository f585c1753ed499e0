"""What outputs have in common: names of files, numbers, and what a student may read of a task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from course.staff.grading.results import NOT_RUN, PART, Result, TaskResult, VisibleTest

LONGEST = 2000
"""So many characters of a test's message are shown."""

RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
"""Names that Windows keeps for itself."""


def file_names(results: Sequence[Result]) -> list[str]:
    """For each submission a name that is safe as a file's on every system, and no other's.

    A name that had to be changed, or that another has too but for upper and lower case, ends with a hash.
    """
    lower = [result.submission.lower() for result in results]
    names: list[str] = []
    for result in results:
        safe = re.sub(r"[^\w.@+-]", "_", result.submission)[:80].lstrip(".-").rstrip(".") or "_"
        if safe != result.submission or lower.count(result.submission.lower()) > 1 or RESERVED.match(safe):
            digest = hashlib.sha256(f"{result.submission}\0{result.hash}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            safe = f"_{safe}-{digest}" if RESERVED.match(safe) else f"{safe}-{digest}"
        names.append(safe)
    again = [names[:place].count(name) for place, name in enumerate(names)]  # the very same submission twice
    return [f"{name}-{before + 1}" if before else name for name, before in zip(names, again, strict=True)]


def number(value: float) -> str:
    """A mark as people write it: 7.5, 10."""
    return f"{round(value, 2):.2f}".rstrip("0").rstrip(".")


def clean(text: str) -> str:
    """Text without colors of terminals, without what XML and editors cannot hold, and without what reverses the text that follows."""
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", text)
    text = re.sub("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "\ufffd", text)
    return re.sub(r"[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def line(text: str) -> str:
    """Text on one line."""
    return " ".join(clean(text).split())


def markdown(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML; an underscore inside a word never is."""
    return re.sub(r"([\\`*\[\]<>|#&~]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def sentence(text: str) -> str:
    """Text with a capital letter, unless it begins with a path or a piece of code."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+([ ,;:]|$)", text) else text


def first_failure(task: TaskResult) -> VisibleTest | None:
    """The first visible test that says why; else the first that did not pass."""
    bad = [test for test in task.visible if test.outcome != "passed"]
    return next((test for test in bad if test.message), bad[0] if bad else None)


def shown_reason(task: TaskResult) -> str:
    """Why a task is not the whole, without what would give the hidden probes away."""
    hidden = [probe.reason for probe in task.probes if probe.reason]
    return "" if any(reason in task.reason for reason in hidden) else clean(task.reason)


def missed(task: TaskResult) -> list[str]:
    """What the hidden probes that failed ask for, each once."""
    return list(dict.fromkeys(line(probe.says) for probe in task.probes if not probe.passed))


def told(task: TaskResult) -> list[str]:
    """What a student may read of a task, in paragraphs of plain text; nothing if it is passed and there is nothing to say."""
    paragraphs = []
    reason = shown_reason(task)
    if reason:
        paragraphs.append(f"Not graded: {reason}" if task.verdict == NOT_RUN else sentence(reason))
    if task.visible and (failure := first_failure(task)):
        passed = sum(test.outcome == "passed" for test in task.visible)
        paragraphs.append(f"{passed} of {len(task.visible)} of the tests that you have pass. The first that does not: {clean(failure.id)}")
        if failure.message:
            paragraphs.append(cut(clean(failure.message)))
        elif failure.outcome == "missing":
            paragraphs.append("It was not run, or the run ended before it.")
        alike = sum(test.cause == failure.cause for test in task.visible)
        if failure.cause and alike > 1:
            paragraphs.append(f"One error ends {alike} of these tests. Begin with it: {line(failure.cause)}")
    if demands := [demand for demand in missed(task) if demand not in line(reason)]:
        paragraphs.append("What is not right yet, as other tests found:\n" + "\n".join(f"- {demand}" for demand in demands))
    if task.nearest is not None:
        paragraphs.append(f"A known mistake that fails like this: {line(task.nearest.mistake)}")
    if task.flaky:
        paragraphs.append(
            "Run again, it ended otherwise. The worse of both counts: does it depend on chance, on time, or on what ran before?"
        )
    if task.disagrees:
        paragraphs.append("The tests that you have and those that you have not say different things; your teacher will look at it.")
    return paragraphs


def cut(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… ({len(text) - LONGEST} more characters)"


def flags(task: TaskResult) -> list[str]:
    """Why somebody should look at a task."""
    return [
        *(["disagrees"] if task.disagrees else []),
        *(["unusual"] if task.unusual else []),
        *(["flaky"] if task.flaky else []),
        *(["not run"] if task.verdict == NOT_RUN else []),
    ]


def earned(task: TaskResult) -> str:
    """Verdict and mark in a few words: "PART, 5 of 10"."""
    return f"{task.verdict}, {number(task.mark)} of {number(task.points)}{' extra' if task.extra else ''}"


def kind(task: TaskResult) -> str:
    """The verdict as one word: pass, part, fail or not-run."""
    return {PART: "part", NOT_RUN: "not-run"}.get(task.verdict, "pass" if task.passed else "fail")
