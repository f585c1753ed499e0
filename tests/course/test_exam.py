"""Exams: which questions are asked, the files, and the command. The questions have their own file of tests."""

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from course.manifest import ROOT, course
from course.staff import RequestError, cli
from course.staff.exam.bank import QUESTIONS, choose, find
from course.staff.exam.commands import read_modules
from course.staff.exam.question import KINDS, MISTAKE, Module, Rng, exercise
from course.staff.exam.sheets import draw_exam, quote, write_exam
from course.staff.handout.selection import select
from tests.errors import raises

from .test_class_page import Page

# Which questions


def test_the_questions_of_an_exam_depend_on_the_seed_alone_and_come_evenly_from_the_modules() -> None:
    chosen = choose("seed", [0, 1, 2, 3, 4], 10)
    assert chosen == choose("seed", [0, 1, 2, 3, 4], 10) != choose("another", [0, 1, 2, 3, 4], 10)
    assert [question.module for question in chosen] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [question.module for question in choose("seed", [1, 3], 5)] == [1, 1, 1, 3, 3]


def test_an_exam_prefers_tasks_that_it_does_not_ask_about_yet() -> None:
    for seed in ("a", "b", "c"):
        chosen = choose(seed, [0], 5)
        assert len({task for question in chosen for task in question.tasks}) == 5


def test_all_questions_can_be_asked() -> None:
    assert choose("seed", [0, 1, 2, 3, 4], len(QUESTIONS)) == list(QUESTIONS)


def test_draws_are_the_same_on_every_machine() -> None:
    rng = Rng("seed", "2-positions", "ada")
    assert [rng.below(100), rng.integer(5, 9), rng.choice("abc"), rng.shuffle([1, 2, 3, 4])] == [75, 7, "a", [1, 4, 3, 2]]


def test_draws_stay_in_their_range_and_reach_its_ends() -> None:
    rng = Rng("seed")
    assert {rng.integer(-1, 2) for _ in range(200)} == {-1, 0, 1, 2}
    assert {tuple(rng.shuffle("abc")) for _ in range(200)} == {tuple(order) for order in ("abc", "acb", "bac", "bca", "cab", "cba")}
    assert all(len(set(rng.sample(range(5), 3))) == 3 for _ in range(20))


# The files

EVIL = '<img src=x onerror="alert(1)"> *x*'
CLASS = {"ada": "Ada Lovelace", "eve": EVIL}


def written(folder: Path, students: Mapping[str, str] = CLASS, seed: str = "seed", count: int = 10) -> dict[str, str]:
    """The files of an exam by path."""
    paths = write_exam(draw_exam("MiniTorch", seed, choose(seed, [0, 1, 2, 3, 4], count), students), folder)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_an_exam_is_a_sheet_for_each_student_and_the_solutions(tmp_path: Path) -> None:
    files = written(tmp_path)
    assert sorted(files) == [f"{name}.{kind}" for name in ("sheets/ada", "sheets/eve", "solutions") for kind in ("html", "md")]
    assert sorted(files) == sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())


def test_the_same_seed_gives_the_same_bytes_and_another_one_or_another_student_does_not(tmp_path: Path) -> None:
    first = written(tmp_path / "a")
    assert written(tmp_path / "b") == first
    assert written(tmp_path / "a") == first, "written again into the same folder"
    assert written(tmp_path / "c", seed="other")["sheets/ada.md"] != first["sheets/ada.md"]
    alone = written(tmp_path / "d", {"ada": "Ada Lovelace"})
    assert alone["sheets/ada.md"] == first["sheets/ada.md"], "the others in the class change nothing"
    assert first["sheets/ada.md"].splitlines()[4:] != first["sheets/eve.md"].splitlines()[4:]


def test_a_sheet_has_questions_and_points_and_neither_answers_nor_topics(tmp_path: Path) -> None:
    files = written(tmp_path, count=len(QUESTIONS))
    total = sum(question.points for question in QUESTIONS)
    assert f"{len(QUESTIONS)} questions, {total} points." in files["sheets/ada.md"]
    for question in QUESTIONS:
        drawn = question.draw("seed", "ada")
        assert drawn.text in files["sheets/ada.md"]
        assert drawn.answer not in files["sheets/ada.md"]
        assert drawn.answer in files["solutions.md"]
        if question.kind == MISTAKE:
            assert question.topic not in files["sheets/ada.md"], "the topic names the mistake"
        for points, text in drawn.rubric:
            assert f"- {points} point{'' if points == 1 else 's'}: {text}" in files["solutions.md"]


def test_an_answer_that_all_students_share_is_in_the_solutions_once(tmp_path: Path) -> None:
    module = Module(0)

    @module.question("0.1", KINDS[3], 2)
    def same(rng: Rng) -> Any:
        """The same for all."""
        return exercise("Why?", "Because it is so.", [(2, "the reason")])

    write_exam(draw_exam("MiniTorch", "seed", module.questions, CLASS), tmp_path)
    text = (tmp_path / "solutions.md").read_text(encoding="utf-8")
    assert text.count("Because it is so.") == 1
    assert "### All students" in text


def test_a_page_is_complete_and_loads_and_runs_nothing(tmp_path: Path) -> None:
    for path, text in written(tmp_path, count=len(QUESTIONS)).items():
        if path.endswith(".html"):
            page = Page(text.replace("<hr />", ""))
            assert not page.open
            assert {tag for tag, _ in page.tags} & {"script", "img", "link", "iframe", "object", "base", "form", "a"} == set()
            assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
            assert not re.search(r"https?://|@import|url\(", text)
            assert text.count("<section>") == len(QUESTIONS)


def test_a_name_is_text_and_not_markup(tmp_path: Path) -> None:
    files = written(tmp_path)
    assert "<b>" not in files["sheets/eve.html"]
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; *x* (eve)" in files["sheets/eve.html"]
    assert "Ada Lovelace (ada)" in files["sheets/ada.md"]


def test_a_folder_with_sheets_of_other_students_is_refused_and_unchanged(tmp_path: Path) -> None:
    first = written(tmp_path)
    message = f"{tmp_path} expected no sheets of other students, got eve.html and 1 more; the solutions would not cover them"
    with raises(RequestError, message) as error:
        written(tmp_path, {"ada": ""})
    assert error.value.next == "choose another folder for --out"
    assert {path: (tmp_path / path).read_text(encoding="utf-8") for path in first} == first


def test_no_workspace_holds_anything_of_an_exam() -> None:
    files = select(ROOT, course(), course().stages[-1].number)
    assert [path for path in files if re.search(r"exam(?!ple)|staff|teachers", path)] == []
    assert not any("course.staff.exam" in text for text in files.values() if isinstance(text, str))


def test_an_exam_has_no_module_of_extra_tasks() -> None:
    assert read_modules("") == [0, 1, 2, 3, 4]
    with raises(RequestError, "--modules expected modules from 0 to 4, such as 0,1 or 0-2, got '5'"):
        read_modules("5")


# The command

Run = Callable[[str], tuple[int, list[str], list[str]]]
SEED = "a seed that nobody guesses"
EXAM = "--seed SEED --student ada --out OUT"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "exam"


@pytest.fixture
def run(out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `course-staff exam` with SEED, OUT and HERE replaced by their values; gives its exit code and what it printed."""
    values = {"SEED": SEED, "OUT": str(out), "HERE": str(out.parent)}

    def run(arguments: str) -> tuple[int, list[str], list[str]]:
        words = [re.sub("SEED|OUT|HERE", lambda found: values[found[0]], word) for word in shlex.split(arguments)]
        monkeypatch.setattr("sys.argv", ["course-staff", "exam", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out.splitlines(), printed.err.splitlines()

    return run


def test_the_command_writes_the_exam_of_one_student(run: Run, out: Path) -> None:
    code, lines, errors = run(f"{EXAM} --modules 0,1 --questions 3")
    points = sum(question.points for question in choose(SEED, [0, 1], 3))
    assert (code, errors) == (0, [])
    assert lines == [f"1 student, 3 questions, {points} points", f"sheets     {out}/sheets", f"solutions  {out}/solutions.html"]
    assert sorted(path.name for path in (out / "sheets").iterdir()) == ["ada.html", "ada.md"]


LMS = "First Name,Last Name,SID\nAda,Lovelace,ada\nBob,Ross,bob\n"
TERM = '[[student]]\nid = "ada"\nname = "Ada Lovelace"\n[[student]]\nid = "bob"\n'


@pytest.mark.parametrize(("roster", "text"), [("class.csv", LMS), ("term.toml", TERM)])
def test_the_command_reads_a_table_of_an_lms_or_a_term(run: Run, out: Path, roster: str, text: str) -> None:
    (out.parent / roster).write_text(text, encoding="utf-8")
    code, lines, _ = run(f"--seed SEED --roster HERE/{roster} --out OUT")
    assert (code, lines[0].partition(",")[0]) == (0, "2 students")
    assert "Ada Lovelace (ada)" in (out / "sheets" / "ada.md").read_text(encoding="utf-8")
    assert (out / "sheets" / "bob.html").is_file()


def test_the_command_asks_the_questions_that_are_named_in_the_order_of_their_names_and_may_leave_space(run: Run, out: Path) -> None:
    """The space is in proportion to the points."""
    questions = find(["2-positions", "0-sigmoid", "1-backward-pass"])
    assert run(f"{EXAM} --space --ask 2-positions --ask 0-sigmoid --ask 1-backward-pass")[0] == 0
    plain, sheet, solutions = ((out / name).read_text(encoding="utf-8") for name in ("sheets/ada.md", "sheets/ada.html", "solutions.html"))
    places = [plain.index(question.draw(SEED, "ada").text) for question in questions]
    assert places == sorted(places)
    heights = re.findall(r'<div class="space" style="height: (\d+)mm"></div>', sheet)
    assert heights == [str(15 * question.points) for question in questions]
    assert 'class="space"' not in plain + solutions


def test_a_short_seed_is_a_warning_with_a_better_one(run: Run) -> None:
    code, _, errors = run("--seed 7 --student ada --out OUT")
    assert code == 0
    assert re.fullmatch(r"a seed of 1 character can be guessed; for an exam use one such as [0-9a-f]{16}", " ".join(errors))


def test_the_list_shows_the_bank_or_some_modules_of_it(run: Run) -> None:
    code, lines, errors = run("--list")
    assert (code, errors) == (0, [])
    assert lines[0].split() == ["question", "tasks", "kind", "points", "topic"]
    assert [line.split()[0] for line in lines[1:]] == [question.id for question in QUESTIONS]
    assert lines[1].split()[:4] == ["0-sigmoid", "0.1", "explain", "4"]
    assert {line[0] for line in run("--list --modules 1,3-4")[1][1:]} == {"1", "3", "4"}


def test_the_list_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(cli.out, "width", 60)
    monkeypatch.setenv("NO_COLOR", "1")
    code, lines, _ = run("--list")
    assert code == 0
    assert max(map(len, lines)) <= 60
    assert "\x1b" not in "".join(lines)


MODULES = "--modules expected modules from 0 to 4, such as 0,1 or 0-2, got"
WHO = "an exam expected either --student ID or --roster FILE, got"
ID = "an id without @ and slashes that does not begin with one of . = + -"


@pytest.mark.parametrize(
    ("arguments", "error", "following"),
    [
        ("--student ada --out OUT", "an exam expected --seed, got none; its numbers follow from it", "exam --seed .*"),
        ("--seed SEED --student ada", "an exam expected --out DIR, got none", "exam --seed SEED --student ID --out DIR"),
        ("--seed SEED --out OUT", f"{WHO} neither", "exam --help"),
        (f"{EXAM} --roster x.csv", f"{WHO} both", "exam --help"),
        ("--seed SEED --student ../ada --out OUT", f"--student expected {ID}, got '../ada'", "exam --help"),
        (f"{EXAM} --modules 0,7", f"{MODULES} '0,7'", "exam --help"),
        ("--list --modules 2-1", f"{MODULES} '2-1'", "exam --help"),
        ("--list --modules one", f"{MODULES} 'one'", "exam --help"),
        (f"{EXAM} --modules 0 --questions 99", "--questions expected a number from 1 to 13 for module 0, got 99", "exam --list"),
        (f"{EXAM} --modules 0-1 --questions 0", "--questions expected a number from 1 to 25 for modules 0, 1, got 0", "exam --list"),
        (f"{EXAM} --ask 9-x", "--ask expected the id of a question, such as 0-sigmoid, got '9-x'", "exam --list"),
        (f"{EXAM} --ask 0-sigmoid --ask 0-sigmoid", "--ask expected each question once, got 0-sigmoid again", "exam --list"),
        (
            f"{EXAM} --ask 0-sigmoid --questions 3",
            "--ask expected neither --questions nor --modules beside it, got --questions",
            "exam --help",
        ),
        ("--seed SEED --roster HERE/none.csv --out OUT", "there is no HERE/none.csv; pass a CSV table", "roster --help"),
        ("--seed SEED --roster HERE/class.csv --out OUT", f"HERE/class.csv expected {ID}, got 'a/b'", ".*"),
        ("--seed SEED --roster HERE/term.toml --out OUT", "HERE/term.toml expected students, got none", "roster STUDENTS.csv --term HERE"),
    ],
)
def test_a_wrong_request_says_what_was_expected_and_writes_nothing(run: Run, out: Path, arguments: str, error: str, following: str) -> None:
    (out.parent / "class.csv").write_text("SID,Name\na/b,Ada\n", encoding="utf-8")
    (out.parent / "term.toml").write_text("", encoding="utf-8")
    code, printed, errors = run(arguments)
    assert (code, printed, errors[0]) == (2, [], f"error: {error.replace('HERE', str(out.parent))}")
    assert re.fullmatch(f"next: course-staff {following.replace('HERE', str(out.parent))}", " ".join(errors[1:]))
    assert not out.exists()


def test_names_in_an_uncertain_encoding_are_a_warning(run: Run, out: Path) -> None:
    (out.parent / "class.csv").write_bytes("SID,Name\nzoe,Zoë\n".encode("cp1252"))
    code, _, errors = run("--seed SEED --roster HERE/class.csv --out OUT")
    assert (code, errors) == (0, ["class.csv is not UTF-8 and was read as Windows-1252; check the names, such as Zoë"])
    assert "Zoë (zoe)" in (out / "sheets" / "zoe.html").read_text(encoding="utf-8")


# The page for teachers

PAGE = (ROOT / "docs" / "teachers" / "exam.md").read_text(encoding="utf-8")


def test_the_page_shows_what_the_command_prints(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("class.csv").write_text("id,name\nada,Ada\nbob,Bob\n", encoding="utf-8")
    command, printed = re.findall(r"(?s)```text\n(.*?)```", PAGE)[:2]
    code, lines, errors = run(command.partition(" exam ")[2])
    assert (code, lines, errors) == (0, printed.splitlines(), [])


def test_the_page_shows_two_questions_as_they_are() -> None:
    ids = re.findall(r"--ask (\S+)", PAGE)
    assert len(ids) >= 2
    for question in find(list(dict.fromkeys(id for id in ids if id != "ID`"))):
        drawn = question.draw("an example", "ada")
        assert quote(drawn.text) in PAGE
        assert drawn.answer in PAGE
        assert all(text in PAGE for _, text in drawn.rubric)


def test_the_question_that_the_page_adds_is_one() -> None:
    (source,) = re.findall(r"(?s)```python\n(.*?)```", PAGE)
    module = Module(0)
    exec(f"from __future__ import annotations\n{source}", {"MODULE": module, "COMPUTE": KINDS[0], "exercise": exercise})
    (question,) = module.questions
    drawn = question.draw("seed", "ada")
    assert (question.id, sum(points for points, _ in drawn.rubric)) == ("0-square", question.points)
    assert drawn.expected == {"derivative": 2 * drawn.given["x"]}


def test_the_page_counts_the_bank() -> None:
    assert f"a bank of {len(QUESTIONS)}," in PAGE
    assert min(sum(question.module == module for question in QUESTIONS) for module in range(5)) == 12
