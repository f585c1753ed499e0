"""Published formats of other systems, and readers that accept a file as these systems do. Written from their documentation."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TEXT, NUMBER, AMOUNT, ANY = {"type": "string"}, {"type": "number"}, {"type": "number", "minimum": 0}, {"type": "object"}


def array_of(items: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an array."""
    return {"type": "array", "items": items}


def object_with(required: Sequence[str] = (), **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has no other properties."""
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


# Gradescope: https://gradescope-autograders.readthedocs.io/en/latest/specs/

VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
STATUS = {"enum": ["passed", "failed"]}

SETTINGS = {"output": TEXT, "output_format": FORMAT, "visibility": VISIBILITY, "extra_data": ANY}
TEST = object_with(
    score=NUMBER, max_score=NUMBER, status=STATUS, name=TEXT, name_format=FORMAT, number=TEXT, tags=array_of(TEXT), **SETTINGS
)
LEADER = object_with(["name", "value"], name=TEXT, value={"type": ["number", "string"]}, order={"enum": ["asc", "desc"]})

GRADESCOPE = object_with(
    score=NUMBER,
    execution_time=AMOUNT,
    test_output_format=FORMAT,
    test_name_format=FORMAT,
    stdout_visibility=VISIBILITY,
    tests=array_of(TEST),
    leaderboard=array_of(LEADER),
    **SETTINGS,
)
"""results.json."""

# either a score, or tests that each have one
SCORED = {"tests": {"minItems": 1, "items": {"required": ["score"]}}}
GRADESCOPE["anyOf"] = [{"required": ["score"]}, {"required": ["tests"], "properties": SCORED}]

# GitHub Classroom: what classroom-resources/autograding-grading-reporter@v1 reads of each runner

OUTCOME = {"enum": ["pass", "fail", "error"]}

# the reporter adds up all scores, and shows every line number except 0
REPORTED = {"name": {"type": "string", "minLength": 1}, "status": OUTCOME, "score": AMOUNT, "message": {"type": ["string", "null"]}}
REPORTED |= {"test_code": TEXT, "filename": TEXT, "line_no": {"type": "integer", "minimum": 0}, "duration": AMOUNT}

CLASSROOM = object_with(
    ["version", "status", "max_score", "tests"],
    version={"type": "integer", "minimum": 1},
    status=OUTCOME,
    max_score=AMOUNT,
    tests=array_of(object_with(list(REPORTED), **REPORTED)),
)

# JUnit, as the xunit plugin of Jenkins validates it: junit-10.xsd


@dataclass(frozen=True)
class Element:
    """What an element may contain: the names of its attributes and of its child elements, and whether it may contain text."""

    required: Sequence[str] = ()
    optional: Sequence[str] = ()
    children: Sequence[str] = ()
    text: bool = False


RERUNS = ("rerunFailure", "rerunError", "flakyFailure", "flakyError")

JUNIT: Mapping[str, Element] = {
    "testsuites": Element((), ("name", "time", "tests", "failures", "errors"), ("testsuite",)),
    "testsuite": Element(
        ("name", "tests", "failures", "errors"),
        ("group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"),
        ("testsuite", "properties", "testcase", "system-out", "system-err"),
    ),
    "properties": Element((), (), ("property",)),
    "property": Element(("name", "value")),
    "testcase": Element(("name",), ("time", "classname", "group"), ("skipped", "error", "failure", *RERUNS, "system-out", "system-err")),
    **dict.fromkeys(("skipped", "error", "failure"), Element((), ("type", "message"), (), True)),
    **dict.fromkeys(("system-out", "system-err"), Element((), (), (), True)),
}

TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def junit_errors(element: ElementTree.Element) -> list[str]:
    """The places where an element violates the schema."""
    kind = JUNIT.get(element.tag)
    if kind is None:
        return [f"<{element.tag}> is unknown"]
    errors = [f"<{element.tag}> lacks {name}" for name in kind.required if name not in element.attrib]
    errors += [f"<{element.tag}> may not have {name}" for name in element.attrib if name not in (*kind.required, *kind.optional)]
    errors += [f"<{element.tag}> may not hold <{child.tag}>" for child in element if child.tag not in kind.children]
    if not kind.text and (element.text or "").strip():
        errors.append(f"<{element.tag}> may not hold text")
    if "time" in element.attrib and not TIME.fullmatch(element.attrib["time"]):
        errors.append(f"<{element.tag}> has the time {element.attrib['time']}")
    return errors + [error for child in element for error in junit_errors(child)]


# Canvas: lib/gradebook_importer.rb

NOT_ASSIGNMENTS = re.compile("(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")


@dataclass(frozen=True)
class CanvasImport:
    """What Canvas imports from a file."""

    assignments: list[tuple[str, int | None]]  # for each column, its title, and the id of an existing assignment if the title names one
    points: list[str]  # that are possible, by column
    grades: dict[tuple[str, str], list[str]]  # by column for each student, by the value by which Canvas identifies the student


def import_as_canvas(data: bytes) -> CanvasImport:
    """Import a file as Canvas's gradebook import does; ValueError for a file that Canvas rejects."""
    text = data.decode("utf-8")
    rows = list(csv.reader(io.StringIO(text), delimiter=_delimiter(text)))
    head = rows[0]
    if not (len(head) > 3 and "Student" in head[0] and "ID" in head[1]):
        raise ValueError("Invalid header row")
    columns, sis, login = 3, None, None
    if re.search(r"SIS\s+Login\s+ID", head[2]):
        login, columns = 2, 4
    elif re.search(r"SIS\s+User\s+ID", head[2]) and re.search(r"SIS\s+Login\s+ID", head[3]):
        sis, login, columns = 2, 3, 5
        columns += bool(re.search(r"Integration\s+ID", head[4]))
        columns += bool(re.search(r"Root\s+Account", head[columns - 1]))
    if "Section" not in head[columns - 1]:
        raise ValueError("Invalid header row")
    places = [place for place in range(columns, len(head)) if not NOT_ASSIGNMENTS.search(head[place])]
    titles = [re.fullmatch(r"(.*) \((\d+)\)", head[place]) for place in places]
    found = CanvasImport(
        [(match[1], int(match[2])) if match else (head[place], None) for match, place in zip(titles, places, strict=True)], [], {}
    )
    for row in rows[1:]:
        if "Points Possible" in row[0]:
            found.points.extend(row[place] for place in places)
        elif not all(re.fullmatch(r"(?i)\s*(Muted|Manual Posting.*)?\s*", cell) for cell in row):
            keys = [("id", row[1]), ("sis", row[sis] if sis else ""), ("login", row[login] if login else ""), ("name", row[0])]
            found.grades[next(key for key in keys if key[1])] = [row[place].strip() for place in places]
    return found


def _delimiter(text: str) -> str:
    """Semicolons, if they give more fields than commas do, and equally many in each of the first three lines."""
    counts = {}
    for sign in ";,":
        fields = {len(row) for row in csv.reader(text.splitlines()[:3], delimiter=sign)}
        counts[sign] = fields.pop() if len(fields) == 1 else 0
    return ";" if counts[";"] > counts[","] else ","


# Moodle: mod/assign/feedback/offline/importgradeslib.php


def import_as_moodle_worksheet(data: bytes) -> dict[int, tuple[str, str]]:
    """Import a grading worksheet as Moodle does: grade and feedback by participant; ValueError for a file that Moodle rejects."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))  # Moodle accepts only commas
    head = rows[0]
    if not {"Identifier", "Grade", "Last modified (grade)"} <= set(head):
        raise ValueError("invalid grade import")
    place = {name: head.index(name) for name in head}
    return {
        int(row[place["Identifier"]][len("Participant") :]): (
            row[place["Grade"]],
            row[place["Feedback comments"]] if "Feedback comments" in place else "",
        )
        for row in rows[1:]
    }


def rows_of(path: Path) -> list[list[str]]:
    """The rows of a CSV file that the course has written."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))
