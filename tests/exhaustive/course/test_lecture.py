"""Suggestions for the next lecture: `course.staff.lecture`, computed from records and results written by hand."""

from course.staff.lecture.page import write_lecture
from tests.course.test_class_page import browser, needs_chromium, open_page  # browser is a fixture
from tests.course.test_lecture import full_report


@needs_chromium
def test_the_page_fits_a_phone(browser, tmp_path):
    write_lecture(full_report(), tmp_path / "lecture.html")
    page, troubles = open_page(browser, tmp_path / "lecture.html", width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert troubles == []
    page.close()
