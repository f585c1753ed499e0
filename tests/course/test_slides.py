"""Slides: the decks of the modules, what their blocks may contain, and the command."""

import base64
import hashlib
import re

import pytest

from course.manifest import course
from course.staff import StaffError
from course.staff.slides.deck import SOURCES, quote_source, read_deck, write_deck

from .prepared import selection
from .staff_commands import command_in_folder
from .test_class_page import Page

DECKS = sorted(SOURCES.glob("*.md"))


def test_every_module_but_those_of_extra_tasks_has_a_deck_which_no_workspace_holds():
    assert [path.stem for path in DECKS] == [f"module{stage}" for stage in course().required_stages]
    assert [path for path in selection() if "slides" in path] == []


@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_a_deck_has_slides_with_titles_notes_and_figures_and_its_page_loads_nothing(path, tmp_path):
    slides = read_deck(path)
    module = next(stage for stage in course().stages if f"module{stage.number}" == path.stem)
    assert slides[0].title == f"Module {module.number}: {module.title}"
    assert len(slides) >= 10
    assert all(slide.title and slide.notes for slide in slides)
    assert sum("<svg" in slide.body for slide in slides) >= 3
    text = write_deck(path, tmp_path).read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "base", "form", "a"} == set()
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    loaded = re.findall(r"https?://[^\s\"]+|@import|url\((?!#)", text)
    assert set(loaded) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    (script,) = re.findall(r"(?s)<script>(.*?)</script>", text)
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in text
    assert text.count('<section class="slide"') == len(slides)


def test_a_page_of_the_app_that_a_deck_names_exists():
    from project.lab import registry

    named = {page for path in DECKS for page in re.findall(r"`(m\d_\w+)`", path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert all(registry.view(page) for page in named)


def deck(folder, text):
    """A deck with this text."""
    (folder / "deck.md").write_text(text, encoding="utf-8")
    return folder / "deck.md"


def test_notes_and_slides_are_separated_and_markup_is_text(tmp_path):
    first, second = read_deck(deck(tmp_path, "# One\n\n<b>x</b>\n\nNotes:\n\nSay *this*.\n\n---\n\n## Two\n\n| a |\n|---|\n| 1 |\n"))
    assert (first.title, second.title, second.notes) == ("One", "Two", "")
    assert "&lt;b&gt;x&lt;/b&gt;" in first.body
    assert first.notes == "<p>Say <em>this</em>.</p>\n"
    assert "<td>1</td>" in second.body


def test_code_comes_from_the_file(tmp_path):
    (slide,) = read_deck(deck(tmp_path, "# One\n\n```{source} minitorch/scalar_functions.py Log.backward\n```\n"))
    assert "operators.log_back(a, d_output)" in slide.body
    assert quote_source(["minitorch/scalar_functions.py", "Log.backward"], "").startswith("@staticmethod\ndef backward(")


SOLUTION = "is a part of the solution of Task"


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("```{figure}\nnone\n```", "the figure raised NameError: name 'none' is not defined"),
        ("```{figure}\n1 +\n```", "the figure raised SyntaxError: "),
        ("```{figure}\n1\n```", "a figure block expected a figure in its last line, got int"),
        ("```{figure}\nx = 1\n```", "a figure block expected a figure in its last line, got NoneType"),
        ("```{source}\n```", "a source block expected a file and a function in it, got nothing"),
        ("```{source} minitorch/none.py x\n```", "a source block expected a file and a function in it, got minitorch/none.py x"),
        (
            "```{source} minitorch/operators.py sigmoid\n```",
            f"minitorch/operators.py sigmoid {SOLUTION} 0.1; quote code that students are given",
        ),
        ("```{source} minitorch/tensor_ops.py tensor_map\n```", f"minitorch/tensor_ops.py tensor_map {SOLUTION} 2.3; "),
        ("```{source} minitorch/tensor_data.py positions\n```", f"minitorch/tensor_data.py positions {SOLUTION} 2.3; "),
    ],
)
def test_a_block_that_cannot_be_filled_names_the_slide(tmp_path, block, says):
    path = deck(tmp_path, f"# One\n\n---\n\n## Two\n\n{block}\n")
    with pytest.raises(StaffError) as error:
        read_deck(path)
    assert str(error.value).startswith(f"{path}, slide 2: {says}")


def test_the_command_makes_the_decks_of_some_modules(tmp_path, monkeypatch, capsys):
    run = command_in_folder(tmp_path, monkeypatch, capsys)
    assert run("slides", "--out", "decks", "--modules", "1,2") == (0, "decks/module1.html\ndecks/module2.html\n")
    error = "error: --modules expected modules from 0 to 4, such as 0,1 or 0-2, got '5'\nnext: course-staff slides --help\n"
    assert run("slides", "--out", "decks", "--modules", "5") == (2, error)
