"""The class page: `course.staff.outputs.class_page`, parsed as HTML and opened in a browser."""

from pathlib import Path
from typing import Any

from course.staff.grading.results import FAIL, PASS, Result, TaskResult
from course.staff.outputs.class_page import write_class_page
from tests.course.sample_results import BEN, EVE
from tests.course.test_class_page import browser, needs_chromium, open_page


def make_class(number: int) -> list[Result]:
    """Many results of students named ben, each with a higher mark than the previous one."""
    tasks = [f"{stage}.{task}" for stage in range(5) for task in range(1, 6)]
    rows = [tuple(TaskResult(id, PASS if mark else FAIL, 1000, mark) for id in tasks) for mark in range(number)]
    return [Result(f"ben {mark}", str(mark), "", row, (), "bubblewrap", 7, 1.0) for mark, row in enumerate(rows)]


@needs_chromium
def test_a_page_of_500_students_sorts_filters_and_fits_every_width(browser: Any, tmp_path: Path) -> None:
    results = [*make_class(499), EVE]
    write_class_page(results, tmp_path / "class.html")
    page, troubles = open_page(browser, tmp_path / "class.html")
    first = "#matrix tbody tr:first-child th"
    shown = "#matrix tbody tr:not([hidden])"
    assert page.locator(shown).count() == 500
    page.get_by_role("button", name="Mark").click()
    assert page.inner_text(first) == "<script>alert('eve')</script>"  # refused submissions sort below a mark of 0
    page.keyboard.press("Enter")  # the button has the focus
    assert page.inner_text(first) == "ben 498"
    assert page.locator("#matrix [aria-sort=descending]").inner_text().startswith("Mark")
    page.get_by_role("button", name="Submission").click()
    assert [page.inner_text(f"#matrix tbody tr:nth-child({place}) th") for place in (2, 3, 12)] == ["ben 0", "ben 1", "ben 10"]
    page.get_by_label("Filter by name").fill("N 49")
    assert page.locator(shown).count() == 10  # 49 and 490 to 498
    assert page.inner_text("#shown") == "10 of 500"
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1047, "height": 700})  # landscape paper
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1047
    assert troubles == []
    page.close()


@needs_chromium
def test_an_injected_script_does_not_run(browser: Any, tmp_path: Path) -> None:
    write_class_page([BEN], tmp_path / "class.html")
    text = (tmp_path / "class.html").read_text(encoding="utf-8")
    (tmp_path / "class.html").write_text(text.replace("</main>", "<script>document.title = 'forged'</script></main>"), encoding="utf-8")
    page, troubles = open_page(browser, tmp_path / "class.html")
    assert page.title() == "MiniTorch: the class"
    assert len(troubles) == 1
    assert "Content Security Policy" in troubles[0]
    page.close()
