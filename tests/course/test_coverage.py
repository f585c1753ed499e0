"""The page that compares the book with the original course's guides: its links lead to headings, and its verdicts are final."""

import re

from course.manifest import ROOT, course
from tests.test_docs import FENCE, headings

PAGE = ROOT / "docs" / "teachers" / "coverage.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [
    (section.splitlines()[0], [cell.strip() for cell in line.strip("|").split("|")])
    for section in TEXT.split("\n## ")[1:]
    for line in section.splitlines()
    if line.startswith("| ") and not line.startswith("| Topic")
]


def test_every_guide_of_the_original_course_is_compared() -> None:
    modules = [f"Module {stage.number}: {stage.title}" for stage in course().stages if stage.number < 5]
    assert list(dict.fromkeys(section for section, _ in ROWS)) == ["ML primer", "Setup and contributing", *modules]


def test_every_row_has_a_topic_a_link_a_verdict_and_a_reason() -> None:
    for _, cells in ROWS:
        topic, here, verdict, why = cells
        assert topic, cells
        assert why, topic
        assert re.search(r"\]\([^)#]+#[^)]+\)", here), f"{topic} names no heading"
        assert verdict in ("better", "same"), f"{topic} is {verdict}: write what is missing"


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    for target, _, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(#([^)]+))?\)", FENCE.sub("", TEXT)):
        page = (PAGE.parent / target).resolve()
        assert page.is_file(), f"{target} does not exist"
        assert not anchor or anchor in headings(page), f"{target} has no heading #{anchor}"
