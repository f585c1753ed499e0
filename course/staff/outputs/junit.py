"""JUnit XML for Jenkins, GitLab and similar systems: a test suite for each submission, a test case for each task.

It conforms to junit-10.xsd, against which Jenkins' xunit plugin validates.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from course.staff.grading.results import Result, TaskResult
from course.staff.outputs.words import clean, line, messages, verdict_and_mark
from course.workspace.atomic_files import write_bytes


def write_junit(results: Sequence[Result], path: Path) -> None:
    """Write one file with all submissions."""
    suites = ElementTree.Element("testsuites", name="MiniTorch")
    for result in results:
        suites.append(_suite(result))
    for count in ("tests", "failures", "errors"):  # in the schema, only suites count skipped tests
        suites.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    suites.set("time", f"{sum(result.seconds for result in results):.3f}")
    ElementTree.indent(suites, " ")
    write_bytes(path, ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")


def _suite(result: Result) -> ElementTree.Element:
    """The suite of a submission; a refused one has a single case with an error."""
    name = line(result.submission)
    suite = ElementTree.Element("testsuite", name=name)
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (("hash", result.hash), ("level", result.level), ("mark", f"{result.mark:g}"), ("points", f"{result.points:g}")):
        ElementTree.SubElement(properties, "property", name=key, value=clean(value))
    if result.refused:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name="can be graded", time="0.000")
        ElementTree.SubElement(case, "error", message=line(result.refused), type="refused").text = clean(result.refused)
    for task in result.tasks:
        suite.append(_case(name, task))
    failed = sum(case.find("failure") is not None for case in suite)
    skipped = sum(case.find("skipped") is not None for case in suite)
    suite.set("tests", str(len(suite) - 1))
    suite.set("failures", str(failed))
    suite.set("errors", str(int(bool(result.refused))))
    suite.set("skipped", str(skipped))
    suite.set("time", f"{result.seconds:.3f}")
    return suite


def _case(submission: str, task: TaskResult) -> ElementTree.Element:
    """The case of a task."""
    case = ElementTree.Element("testcase", classname=submission, name=f"Task {task.task}", time=f"{task.seconds:.3f}")
    if not task.ran:
        ElementTree.SubElement(case, "skipped", message=line(task.reason))
    elif not task.passed:
        ElementTree.SubElement(case, "failure", message=verdict_and_mark(task), type=task.verdict).text = "\n\n".join(messages(task))
    return case
