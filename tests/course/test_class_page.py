"""The class page: `course.staff.outputs.class_page`, parsed as HTML and opened in a browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from course.staff.grading.results import FAIL, TaskResult
from course.staff.outputs.class_page import Bar, Flag, Mistake, collect_flags, duration, histogram, mistakes, task_rows, write_class_page

from .sample_results import ADA, BEN, CLASS, EVE, EVE_FILE, FAILED, NOT_DONE, PARTLY, PASSED

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

VOID = {"meta", "input", "br"}
"""Elements without an end tag."""


class Page(HTMLParser):
    """Parses a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []  # all elements, with their attributes
        self.rows: list[list[str]] = []  # of all tables, as lists of cell texts
        self.open: list[str] = []  # elements without an end tag so far
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] = " ".join((self.rows[-1][-1] + data).split())


def render(tmp_path: Path, results: Any = CLASS, **options: Any) -> str:
    write_class_page(results, tmp_path / "class.html", **options)
    return (tmp_path / "class.html").read_text(encoding="utf-8")


# Content


def test_findings_are_sorted_by_severity_and_equal_ones_are_listed_once() -> None:
    again = replace(ADA, submission="cy", tasks=(replace(FAILED, note="failed at first"), NOT_DONE))
    assert collect_flags([ADA, BEN, EVE, again]) == [
        Flag("refused", "", "it holds a link, ../../etc/passwd", ("<script>alert('eve')</script>",)),
        Flag("disagrees", "3.3", "all probes passed, 2 visible tests failed", ("ada",)),
        Flag("flaky", "0.4", "a second run had a different result", ("ada", "cy")),
        Flag("not run", "4.4b", "there is no GPU here", ("ada", "cy")),
    ]
    note = "look at the code: relu imports os"
    result = replace(BEN, tasks=(replace(PASSED, unusual=("relu imports os",), note=note),))
    assert collect_flags([result]) == [Flag("unusual", "0.1", note, ("ben",))]


def test_the_histogram_has_ten_bins_and_full_marks_fall_into_the_last() -> None:
    marks = (0, 9.9, 10, 30, 29.9, 100, 105, 99)
    bars = histogram([replace(BEN, tasks=(TaskResult("0.1", FAIL, 100, mark),)) for mark in marks])
    assert [bar.count for bar in bars] == [2, 1, 1, 1, 0, 0, 0, 0, 0, 3]
    assert bars[9] == Bar(90, 100, 3)


def test_a_task_has_the_share_of_points_earned_and_tasks_not_run_do_not_count() -> None:
    table = {row.task: row for row in task_rows(CLASS, ["0.1", "0.3", "0.4", "4.4b"])}
    assert [table[id].share for id in ("0.1", "0.3", "0.4", "4.4b")] == [1, 0.875, 0.5, None]
    assert table["0.3"].counts == {"pass": 1, "part": 1, "fail": 0, "not-run": 0}
    assert table["4.4b"].counts == {"pass": 0, "part": 0, "fail": 0, "not-run": 1}
    assert table["0.3"].seconds == (1.625, 2.0)


def test_the_most_frequent_wrong_answer_comes_first() -> None:
    other = replace(PARTLY, nearest=replace(PARTLY.nearest, key="0.3/a", mistake="Is\nwrong."))  # type: ignore[type-var]  # it has one
    results = [replace(BEN, submission=name, tasks=(task,)) for name, task in (("x", other), ("y", PARTLY), ("z", PARTLY))]
    assert mistakes(results) == [
        Mistake("0.3/sum_starts_at_one", "Begins with 1, as a product does.", ("y", "z")),
        Mistake("0.3/a", "Is wrong.", ("x",)),
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (99.4, "99 s"), (99.6, "1 min 40 s"), (3599.6, "1 h 0 min")]
)
def test_durations_are_written_in_everyday_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# The page


def test_the_table_has_every_submission_and_task_with_its_verdict_in_words(tmp_path: Path) -> None:
    page = Page(render(tmp_path))
    place = page.rows.index(["Submission", "Mark", "0.1", "0.3", "0.4", "3.3", "4.4b", "Time"])
    failed = "FAIL!flaky: passed at first: minitorch/module.py, line 3: '(' was never closed"
    assert page.rows[place + 1 : place + 4] == [
        ["<script>alert('eve')</script>", "refused", "–", "–", "–", "–", "–", "0.1 s"],
        ["ada", "37.5", "PASS", "PART 7.5", failed, "PASS sim!disagrees: all probes passed, 2 visible tests failed", "NOT RUN", "34 s"],
        ["ben", "25", "PASS", "PASS", "PASS", "–", "–", "4.0 s"],
    ]
    assert not page.open


def test_names_and_reasons_are_escaped(tmp_path: Path) -> None:
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\'"&{{ 7 * 7 }}'
    task = replace(FAILED, reason=evil, note=evil, nearest=replace(PARTLY.nearest, mistake=evil, key=evil))  # type: ignore[type-var]
    results = [replace(ADA, submission=evil, tasks=(task,)), replace(EVE, submission=evil + "2", refused=evil)]
    page = Page(render(tmp_path, results, feedback="feedback", title=evil, titles={"0.4": evil}))
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(tag == "img" or any(name.startswith("on") for name in attributes) for tag, attributes in page.tags)
    assert any(evil in cell for row in page.rows for cell in row)
    assert not page.open


def test_names_with_control_characters_are_harmless(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[2J\u202e\x00\ud800"
    page = render(tmp_path, [replace(ADA, submission=hostile), replace(EVE, submission=f"{hostile}2", refused=hostile)])
    assert not set("\x1b\u202e\x00\ud800") & set(page)
    assert "<script>alert" not in page


def test_the_page_loads_nothing_and_runs_only_its_own_script(tmp_path: Path) -> None:
    text = render(tmp_path, feedback="feedback")
    page = Page(text)
    assert not re.search(r"https?://|@import|url\(", text)
    assert {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "base", "form"} == set()
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links == ["#table", *(f"feedback/{name}.md" for name in (EVE_FILE, "ada", "ben"))]
    policy = next(attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert re.fullmatch(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/]{43}='", policy)


def test_screen_readers_find_headings_labels_and_scopes(tmp_path: Path) -> None:
    page = Page(render(tmp_path))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, ids[0]) in ids
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "svg":
            assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"
        if attributes.get("role") == "region":
            assert attributes["tabindex"] == "0"
    label = next(attributes["aria-label"] for tag, attributes in page.tags if tag == "svg" and "aria-label" in attributes)
    assert label == "Submissions by their share of the points: 80 to 90 percent: 1, 90 to 100 percent: 1"


def test_a_class_without_results_or_of_refused_submissions_has_a_page(tmp_path: Path) -> None:
    text = render(tmp_path, [])
    assert "No submission has been graded yet." in text
    assert "could not be graded" not in text
    assert not Page(text).open
    assert not Page(render(tmp_path, [EVE])).open


def test_grading_without_a_sandbox_is_stated_at_the_top(tmp_path: Path) -> None:
    assert "without a sandbox" in render(tmp_path, [replace(BEN, level="none")])
    assert "without a sandbox" not in render(tmp_path)


SIMILAR = {
    "threshold": 0.5,
    "pairs": [
        {"first": "ada", "second": "<b>ben</b>", "score": 0.934, "tasks": {"1.4": 0.934, "2.2": 0.5}, "matches": [{}]},
        {"first": "ada", "second": "the reference solution", "score": 0.5, "tasks": {"1.4": 0.5}},
    ],
}


def test_similar_pairs_are_listed_with_links_to_the_report(tmp_path: Path) -> None:
    text = render(tmp_path, similarity=SIMILAR)
    page = Page(text)
    place = page.rows.index(["Score", "First", "Second", "Tasks"])
    expected = [["0.93", "ada", "<b>ben</b>", "1.4, 2.2"], ["0.50", "ada", "the reference solution", "1.4"]]
    assert page.rows[place + 1 : place + 3] == expected
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert links == ["#table", "similarity.html", "similarity.html#pair-1"]
    assert "2 pairs have a score of 0.5 or more. A score does not prove copying" in text
    assert not page.open


def test_a_report_without_pairs_is_linked_and_a_missing_one_is_not_mentioned(tmp_path: Path) -> None:
    text = render(tmp_path, similarity={"threshold": 0.5, "pairs": []})
    assert 'No pair has a score of 0.5 or more; see <a href="similarity.html">the report</a>.' in text
    assert "imilar" not in re.sub(r"<style>.*</style>", "", render(tmp_path), flags=re.S)


def test_the_same_results_give_the_same_page(tmp_path: Path) -> None:
    assert render(tmp_path) == render(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["class.html"]


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def open_page(browser: Any, file: Path, width: int = 1280) -> tuple[Any, list[str]]:
    page = browser.new_page(viewport={"width": width, "height": 800})
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.goto(file.as_uri())
    return page, troubles


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path; apt install chromium")
