"""The report on similar submissions: matching regions, the document, the page, and the command."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from course.manifest import ROOT, course
from course.staff import RequestError
from course.staff.cli import app
from course.staff.similarity.document import LIMITS, document, read_document
from course.staff.similarity.matches import regions
from course.staff.similarity.page import similarity_page
from course.staff.similarity.report import REFERENCE, Report, compare, make_report, write_report

from ..test_class_page import Page
from .corpus import work

AUTODIFF = "minitorch/autodiff.py"
NONE = np.empty(0, np.uint64)

ODD = """
def topological_sort(variable):
    # erst die Blaetter zaehlen
    remaining_parents = {}
    for depth in range(len(variable.history.inputs) * 7):
        remaining_parents[depth] = sorted(variable.parents, key=hash)[:depth]
        if depth % 5 == 3 and remaining_parents:
            remaining_parents.popitem()
    queue = [remaining_parents[key] ** 2 for key in remaining_parents if key > 4]
    while queue and variable.is_leaf():
        queue.extend(divmod(queue.pop(), len(queue) + 1))
    return list(filter(None, map(str, queue)))


def backpropagate(variable, deriv):
    scaled = [deriv * 0.5 for turn in range(4) if turn != 2]
    table = dict(zip(scaled, reversed(scaled)))
    for old, new in table.items():
        variable.accumulate_derivative(old - new)
        table[new] = table.get(old, 0) | hash(new)
    return max(table, key=table.get) if table else None
"""
"""Code that nobody else would write."""

OTHER = """
def backpropagate(variable, deriv):
    total = 0
    while deriv > total:
        total = total + deriv / 3
        if variable.is_constant():
            return total
    variable.accumulate_derivative(total)
    for name in vars(variable):
        print(name, getattr(variable, name))
"""


def rename_variables(text):
    for old, new in (("remaining_parents", "left"), ("queue", "todo"), ("depth", "i"), ("table", "d"), ("scaled", "values")):
        text = text.replace(old, new)
    return text


def hand_in(folder, name, text):
    path = folder / name / AUTODIFF
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def submissions(tmp_path):
    """Ada, Ben, who copied from her, Cy, who did not, and Eve, whose archive is broken."""
    folder = tmp_path / "submissions"
    hand_in(folder, "ada", ODD)
    hand_in(folder, "cy", OTHER)
    with zipfile.ZipFile(folder / "ben.zip", "w") as archive:
        archive.writestr(AUTODIFF, rename_variables(ODD))
    (folder / "eve.zip").write_bytes(b"PK nothing")
    return folder


def compare_paths(*paths, **options):
    return make_report(paths, manifest=course(), **options)


# Regions


def test_regions_name_the_lines_in_both_works():
    copied = rename_variables(ODD).replace("    for i in", "    # another comment\n    for i in", 1)
    found = regions(work("a", {AUTODIFF: ODD}), work("b", {AUTODIFF: f"# moved down\n{copied}"}), ["1.4"], NONE)
    assert [(region.first.name, region.second.name) for region in found] == [("topological_sort",) * 2, ("backpropagate",) * 2]
    assert [found[0].first.first + line for line in found[0].first_lines] == [4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert [found[0].second.first + line for line in found[0].second_lines] == [5, 7, 8, 9, 10, 11, 12, 13, 14]


def test_a_region_ends_where_the_code_differs():
    changed = ODD.replace("divmod(queue.pop(), len(queue) + 1)", "queue.index")
    found = regions(work("a", {AUTODIFF: ODD}), work("b", {AUTODIFF: changed}), ["1.4"], NONE)
    lines = [(region.first.first + region.first_lines[0], region.first.first + region.first_lines[-1]) for region in found]
    assert lines == [(4, 11), (12, 12), (16, 21)]  # line 11 begins in the same way


def test_no_token_belongs_to_two_regions():
    twice = ODD + ODD.replace("def topological_sort", "def sort_again").replace("def backpropagate", "def again")
    found = regions(work("a", {AUTODIFF: ODD}), work("b", {AUTODIFF: twice}), ["1.1", "1.4"], NONE)
    assert sorted(region.first.name for region in found) == ["backpropagate", "topological_sort"]


def test_ordinary_code_alone_makes_no_region():
    first, second = (work(name, {AUTODIFF: ODD}) for name in "ab")
    ignored = np.concatenate([function.runs for function in first.functions])
    assert regions(first, second, ["1.4"], ignored) == []


# The report


def test_a_copy_is_found_however_the_submission_is_packed(submissions):
    found = document(compare_paths(submissions))
    (pair,) = found["pairs"]
    copied = {"first": "ada", "second": "ben", "kind": "class", "score": 1.0, "tasks": {"1.4": 1.0}}
    assert pair | copied | {"evidence": [{"kind": "comment", "text": "erst die Blaetter zaehlen"}]} == pair
    assert pair["matches"][0]["first"] == {"file": AUTODIFF, "function": "topological_sort", "lines": [4, 5, 6, 7, 8, 9, 10, 11, 12]}
    assert (found["submissions"], list(found["refused"])) == (4, ["eve"])
    assert (found["schema"], found["threshold"], found["limits"]) == (1, 0.5, LIMITS)


def test_earlier_years_and_public_solutions_carry_the_name_of_their_folder(submissions, tmp_path):
    hand_in(tmp_path / "2025", "zoe", ODD)
    hand_in(tmp_path / "web", "someone", OTHER)
    found = document(compare_paths(submissions, earlier=[tmp_path / "2025"], public=[tmp_path / "web"]))
    pairs = {(pair["first"], pair["second"], pair["kind"]) for pair in found["pairs"]}
    earlier = {(name, "2025/zoe", "earlier") for name in ("ada", "ben")}
    assert pairs == {("ada", "ben", "class"), *earlier, ("cy", "web/someone", "public")}


def test_code_from_a_public_solution_does_not_count_between_students(submissions, tmp_path):
    hand_in(tmp_path / "web", "someone", rename_variables(ODD))
    found = document(compare_paths(submissions, public=[tmp_path / "web"]))
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [("ada", "web/someone"), ("ben", "web/someone")]


def test_released_bodies_are_matched_only_with_the_reference(submissions):
    for name in ("kim", "leo"):
        hand_in(submissions, name, (ROOT / AUTODIFF).read_text(encoding="utf-8"))
    found = document(compare_paths(submissions))
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [("ada", "ben"), ("kim", REFERENCE), ("leo", REFERENCE)]


def test_three_copies_of_one_source_form_a_group(submissions):
    hand_in(submissions, "dan", ODD)
    assert document(compare_paths(submissions))["groups"] == [["ada", "ben", "dan"]]


def test_a_class_without_a_readable_submission_is_an_error(tmp_path):
    (tmp_path / "eve.zip").write_bytes(b"PK nothing")
    with pytest.raises(RequestError, match=r"none of 1 submissions can be read; eve: eve\.zip is damaged"):
        compare_paths(tmp_path)


def test_a_folder_that_does_not_exist_is_an_error_with_the_right_next_step(submissions):
    with pytest.raises(RequestError, match="there is no nowhere") as error:
        compare_paths(submissions, earlier=[Path("nowhere")])
    assert error.value.next == "course-staff similarity --help"


def test_the_same_submissions_give_the_same_files(submissions, tmp_path):
    texts = []
    for name in ("one", "two"):
        files = write_report(compare_paths(submissions), tmp_path / name)
        texts.append([path.read_bytes() for path in files.values()])
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["similarity.html", "similarity.json"]
    assert texts[0] == texts[1]


def test_a_failed_report_keeps_the_previous_one(tmp_path, monkeypatch):
    out = tmp_path / "out"
    report = compare([work("ada", {AUTODIFF: ODD})], NONE)
    write_report(report, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(Report(report.works, (), (), (), 0.9), out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"schema": 0}'])
def test_a_missing_report_and_one_of_another_version_are_read_as_none(text, tmp_path):
    if text is not None:
        (tmp_path / "similarity.json").write_text(text)
    assert read_document(tmp_path) is None


# The page


class PageWithText(Page):
    """Also collects the text of a page."""

    text = ""

    def handle_data(self, data):
        super().handle_data(data)
        self.text += data


def render_page(**works):
    """The page about works with these texts, parsed and as it is."""
    text = similarity_page(compare([work(name, {AUTODIFF: code}) for name, code in works.items()], NONE))
    return PageWithText(text), text


@pytest.fixture(scope="module")
def matched():
    """The page about two works of which one is a copy."""
    return render_page(ada=ODD, ben=rename_variables(ODD))


def test_the_page_gives_a_region_the_same_number_on_both_sides(matched):
    page, text = matched
    rows = re.findall(r'<tr class="match color(\d)"><td class="number">(\d+)</td><td class="region">([\d ]+)</td>', text)
    ada, ben = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert ada == ben
    assert {(color, region) for color, _, region in ada} == {("1", "1"), ("2", "2")}
    assert [attributes["href"] for tag, attributes in page.tags if tag == "a"] == ["#pairs", "#pair-1", "#pairs"]
    assert LIMITS in page.text


def test_student_text_is_escaped_in_the_page():
    evil = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\u202e"
    text = ODD.replace("erst die Blaetter zaehlen", evil)
    page, source = render_page(**{evil: text, f"{evil}2": text})
    assert {"script", "img", "link", "iframe", "form"} & {tag for tag, _ in page.tags} == set()
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert evil.replace("\u202e", "\ufffd") in page.text
    assert not re.search(r"https?://|@import|url\(", source)
    policy = next(attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_screen_readers_find_headings_labels_and_scopes(matched):
    page, _ = matched
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        assert attributes.get("aria-labelledby", ids[0]) in ids
        assert tag != "th" or attributes["scope"] in ("col", "row")
        assert attributes.get("role") != "region" or attributes["tabindex"] == "0"


def test_the_page_of_a_class_without_pairs_says_so():
    page, _ = render_page(ada=ODD, cy=OTHER)
    assert "No pair has a score of 0.5 or more." in page.text


# The command


def run(*arguments, **environment):
    done = CliRunner().invoke(app, ["similarity", *arguments], env={"NO_COLOR": "1", **environment}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_the_command_prints_the_first_pairs_and_the_path_of_the_report(submissions, tmp_path):
    output = run(str(submissions), "--out", str(tmp_path / "out"))
    assert re.search(r"^1\.00 +ada +ben +1\.4 +1 comment *$", output, re.M)
    for text in (
        "3 submissions compared, 1 pair with a score of 0.5 or more",
        "not compared: eve: eve.zip is damaged",
        "A score does not prove copying",
        str(tmp_path / "out" / "similarity.html"),
    ):
        assert text in output
    assert "\x1b" not in output
    assert "class page" not in output


def test_the_class_page_of_a_graded_class_links_to_the_report(submissions, tmp_path):
    out = tmp_path / "graded"
    (out / "results").mkdir(parents=True)
    (out / "class.html").write_text("old")
    assert "class page" in run(str(submissions), "--out", str(out))
    text = (out / "class.html").read_text(encoding="utf-8")
    assert '<a href="similarity.html#pair-1">1.00</a>' in text
    assert "1 pair has a score of 0.5 or more." in text


def test_a_threshold_that_is_not_a_score_is_refused(submissions, tmp_path):
    done = CliRunner().invoke(app, ["similarity", str(submissions), "--out", str(tmp_path / "out"), "--threshold", "80"])
    assert isinstance(done.exception, RequestError)
    assert str(done.exception) == "--threshold expected a score above 0 and up to 1, got 80"
    assert not (tmp_path / "out").exists()
