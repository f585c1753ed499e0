"""The book: its pages, task boxes, code cells, and the commands that it shows."""

import ast
import contextlib
import io
import math
import os
import re
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sphinx.cmd import build as sphinx_build

import minitorch
from course.manifest import ROOT, ManifestError, course

from .errors import raises

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
CHAPTERS = [page for page in PAGES if page.parent.name.startswith("module") and page.name != "index.md"]
FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
HIDDEN = (":tags: [hide-input]", ":tags: [remove-cell]")
SECTION = re.compile(r"^## Check yourself\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(
    r"^:::\{check\}\n(?::check: (?P<check>[^\n]+)\n)?\n?(?P<question>\S.*?)\n\*\*Answer\.\*\*(?P<answer>.*?)\n:::$",
    re.MULTILINE | re.DOTALL,
)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(DOCS / "_ext")])}


def page_name(page: Path) -> str:
    """The page as the manifest names it."""
    return page.relative_to(DOCS).with_suffix("").as_posix()


def redirects() -> dict[str, str]:
    """The addresses of pages that were merged into others, without their ending, and where they lead, seen from there."""
    settings = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8")).body
    (found,) = [node.value for node in settings if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "redirects"]
    return ast.literal_eval(found)


def code_cells(page: Path) -> list[str]:
    """The code cells of a page, without their options."""
    found = [body for _, kind, body in FENCE.findall(page.read_text(encoding="utf-8")) if kind == "{code-cell}"]
    return [re.sub(r"^:tags:.*\n", "", body) for body in found]


def questions(page: Path) -> list[re.Match[str]]:
    """The questions of a page's section "Check yourself"."""
    (section,) = SECTION.findall(page.read_text(encoding="utf-8"))
    found = list(QUESTION.finditer(section))
    assert len(found) == section.count("{check}"), "a question that the book shows and this test does not find"
    return found


def run_extension(code: str) -> str:
    """What code prints that imports the book's extensions, which are not part of the package; each call imports them anew."""
    printed = io.StringIO()
    extensions = {path.stem for path in (DOCS / "_ext").glob("*.py")}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
        patch.chdir(ROOT)
        try:
            exec(compile(code, "extension", "exec"), {"__name__": "__main__"})
        finally:
            for name in extensions:
                sys.modules.pop(name, None)
    return printed.getvalue()


def draw(module: str, expression: str) -> str:
    """The HTML of a figure."""
    return run_extension(f"from {module} import *\nprint({expression}._repr_html_())")


def texts_of(drawn: str) -> list[str]:
    """The texts in a picture, in their order."""
    return re.findall(r">([^<>]+)</text>", drawn)


def build(folder: Path, extension: str, page: str) -> tuple[int, str, str]:
    """The status, the messages and the HTML of a book with one page, in which warnings are errors."""
    (folder / "conf.py").write_text(
        f"extensions = ['myst_parser', 'sphinx_design', '{extension}']\nmyst_enable_extensions = ['colon_fence']\n"
    )
    (folder / "index.md").write_text(page)
    messages, html = io.StringIO(), folder / "out" / "index.html"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(messages):
        patch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
        status = sphinx_build.main(["-W", "-q", "-b", "html", str(folder), str(folder / "out")])
        sys.modules.pop(extension, None)
    return status, messages.getvalue(), html.read_text(encoding="utf-8") if html.exists() else ""


def test_the_addresses_of_merged_pages_lead_to_the_pages_that_replace_them() -> None:
    pages = {old: (DOCS / old).parent / new for old, new in redirects().items()}
    assert [old for old in pages if (DOCS / f"{old}.md").exists()] == []
    assert [old for old, page in pages.items() if page.suffix != ".html" or not page.with_suffix(".md").exists()] == []


def test_every_task_has_a_page_with_its_box() -> None:
    pages = {task.id: (DOCS / f"{task.page}.md").read_text(encoding="utf-8") for task in course().tasks}
    assert [task for task, text in pages.items() if f"```{{task}} {task}\n" not in text] == []


WITHOUT_TASK = {
    *("module1/topological_order", "module1/forward_mode", "module2/strides", "module2/expand_and_gradients"),
    *("module2/gradient_checks", "module3/compiling", "module3/races"),
    *("module3/performance", "module3/small_batches", "module3/gpu_machines", "module4/fast_convolution", "module4/sentiment"),
}
FIGURE = r"^(graph|lines|chart|layout|alignment|equation|threads|tree|tiles|banks|slides|grids|shades|timeline)\("


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_every_chapter_has_an_example_a_figure_common_mistakes_and_a_box(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^## By hand|^\| .* \| \*\*", text, re.MULTILINE), "no example by hand"
    assert re.search(FIGURE, "".join(code_cells(page)), re.MULTILINE), "no figure"
    assert "\n## Common mistakes\n" in text
    assert ("```{task} " in text) == (page_name(page) not in WITHOUT_TASK)
    chapter = SECTION.sub("", text).partition("### Edge cases that are graded")[0].partition("\n## Common mistakes\n\n:::")[0]
    assert 600 <= len(chapter.split()) <= 1600
    shown = [body for _, kind, body in FENCE.findall(text) if kind == "{code-cell}" and not body.startswith(HIDDEN)]
    assert [line for body in shown for line in body.splitlines() if len(line) > 78] == [], "code that does not fit the page"


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_every_chapter_ends_with_questions_the_task_and_folded_mistakes(page) -> None:
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", FENCE.sub("", text), re.MULTILINE)
    ending = headings[headings.index("Check yourself") :]
    assert ending == ["Check yourself", *[heading for heading in ending if heading in ("The task", "The tasks")], "Common mistakes"]
    assert re.search(r"^## Common mistakes\n\n::::\{dropdown\} .*\n\n\*\*[\s\S]*\n::::\n\Z", text, re.MULTILINE)
    assert "{code-cell}" not in text.partition("\n## Common mistakes\n")[2], "a cell that is folded does not run"
    found = questions(page)
    assert 3 <= len(found) <= 4
    assert all(len(question["answer"].split()) >= 5 for question in found), "an answer without a reason"
    assert any(question["question"].startswith("What does this print?") for question in found)


def check_answers(page: Path) -> None:
    """Fail unless the answers of a page's questions are what their code prints."""
    for question in questions(page):
        code = "".join(body for _, kind, body in FENCE.findall(question["question"]) if kind == "python")
        shown = re.match(r"\s*```text\n(.*?)^```$", question["answer"], re.MULTILINE | re.DOTALL)
        names = {"minitorch": minitorch, "math": math, "np": np, "permutations": permutations}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.parse(code), f"{page_name(page)}.md", "exec"), names)
        assert printed.getvalue() == (shown[1] if shown else ""), question["question"]
        if question["check"]:
            assert eval(question["check"], names), f"{question['question']}\n{question['check']} does not hold"


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_answers_are_what_the_code_of_their_questions_prints(page) -> None:
    check_answers(page)


AFTER_THE_MODULES = ("module3/performance", "module3/gpu_machines")
"""Chapters that the book lists after the course."""


def test_every_chapter_is_in_the_table_of_contents_of_its_module() -> None:
    for index in DOCS.glob("module*/index.md"):
        (listed,) = [body for _, kind, body in FENCE.findall(index.read_text(encoding="utf-8")) if kind == "{toctree}"]
        chapters = {page.stem for page in index.parent.glob("*.md") if page_name(page) not in AFTER_THE_MODULES} - {"index"}
        assert {line for line in listed.splitlines() if line and not line.startswith(":")} == chapters
    assert set(AFTER_THE_MODULES) <= set((DOCS / "index.md").read_text(encoding="utf-8").splitlines())


def test_internal_links_of_the_book_work() -> None:
    texts = {page: re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text(encoding="utf-8"))) for page in PAGES}
    links = [(page, target) for page, text in texts.items() for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    assert [f"{page_name(page)} links to {target}" for page, target in links if not (page.parent / target).exists()] == []


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as MyST makes them."""
    titles = re.findall(r"^#{1,3} (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower().replace(" ", "-")) for title in titles}


def glossary() -> dict[str, str]:
    """The terms of the glossary with their explanations."""
    ((_, _, body),) = FENCE.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))
    return dict(re.findall(r"^(\S.*)\n  (\S.*)$", body, re.MULTILINE))


def test_the_glossary_is_long_and_in_alphabetical_order() -> None:
    terms = list(glossary())
    assert len(terms) >= 80
    assert terms == sorted(terms, key=str.casefold)


def test_an_entry_of_the_glossary_leads_to_a_heading_of_a_page() -> None:
    links = {term: re.findall(r"\]\(([^)#]+)#([^)]+)\)", text) for term, text in glossary().items()}
    assert [term for term, found in links.items() if not found] == [], "no page explains these"
    anchors = {target: headings(DOCS / target) for target in {target for found in links.values() for target, _ in found}}
    broken = [f"{term}: {target}#{anchor}" for term, found in links.items() for target, anchor in found if anchor not in anchors[target]]
    assert broken == []


def test_each_section_on_python_names_a_task_and_a_file_that_use_it() -> None:
    text = FENCE.sub("", (DOCS / "primer" / "python.md").read_text(encoding="utf-8"))
    tasks = {task.id for task in course().tasks}
    for section in text.split("\n## ")[1:]:
        title, *uses = section.split("**In the course:**")
        used = " ".join(use.partition("\n\n")[0] for use in uses)
        named = set(re.findall(r"\b\d\.\d\b", used))
        assert named, f"{title.splitlines()[0]} names no task"
        assert named <= tasks
        for file in re.findall(r"`([\w/]+\.py)`", used):
            assert (ROOT / file).is_file()


def test_nothing_is_loaded_from_another_host() -> None:
    sources = [*PAGES, *DOCS.glob("_static/*"), *DOCS.glob("_templates/*"), *DOCS.glob("_ext/*.py"), DOCS / "conf.py"]
    for source in sources:
        hosts = re.findall(
            r"(?:src=|href=|url\(|@import |!\[[^\]]*\]\()[\"']?((?:https?:)?//[^\s\"')]+)", source.read_text(encoding="utf-8")
        )
        assert hosts == [], f"{source.name} would load from another host"


TASK_BOX = "import task_box\nfrom course.manifest import course\nprint(task_box.task_box('1.4', course()))"


def test_a_task_box_agrees_with_the_manifest_and_nests_each_hint_in_the_previous_one() -> None:
    box, hints = run_extension(TASK_BOX), course().task("1.4").hints
    for part in (
        "Task 1.4 · Backpropagation (30 points)",
        "Write in `minitorch/autodiff.py`: `topological_sort`, `backpropagate`",
        "`Mul.backward`",
        "Builds on: Task 0.1, Task 1.1, Task 1.2, Task 1.3",
        "* In the app (`make app`): the page *Graph* of Module 1\n",
        "course test 1.4\npytest -m task1_4\n",
        *hints,
    ):
        assert part in box
    assert "the page *Training* of Module 1, under *Compiled backend*" in run_extension(TASK_BOX.replace("1.4", "3.5"))
    assert len(hints) > 5  # more than there were fences for once
    assert re.findall("^(:+){dropdown}", box, re.MULTILINE) == [":" * length for length in range(len(hints) + 2, 2, -1)]
    assert re.findall("^:+$", box, re.MULTILINE) == [":" * length for length in range(3, len(hints) + 4)]


def test_an_unknown_task_is_refused_with_the_ids_that_exist() -> None:
    for use in (lambda: course().task("9.9"), lambda: run_extension(TASK_BOX.replace("1.4", "9.9"))):
        with pytest.raises(ManifestError, match=r"^there is no task '9\.9'; the tasks are 0\.1, 0\.2, "):
            use()


@pytest.mark.parametrize(
    ("extension", "page", "message"),
    [
        ("task_box", "# Book\n\n```{task} 9.9\n```\n", "{task}: there is no task '9.9'; the tasks are 0.1"),
        ("chapter_head", "---\ndifficulty: 4\n---\n\n# Book\n", "index: expected a difficulty of 1, 2 or 3, got 4"),
        (
            "check_yourself",
            "# Book\n\n:::{check}\nWhy?\n\n**Answer.**\n:::\n",
            "{check}: expected a question, then **Answer.** and the answer; got 'Why?'",
        ),
    ],
    ids=["an unknown task", "an unknown difficulty", "a question without an answer"],
)
def test_a_mistake_on_a_page_fails_the_build(tmp_path, extension, page, message) -> None:
    status, messages, _ = build(tmp_path, extension, page)
    assert status != 0
    assert message in messages


def test_a_known_task_becomes_a_box_with_nested_dropdowns(tmp_path) -> None:
    status, messages, html = build(tmp_path, "task_box", "# Book\n\n```{task} 0.1\n```\n")
    assert status == 0, messages
    assert html.count("<details") == len(course().task("0.1").hints)
    assert html.index("</details>") > html.rindex("<details")  # the last opens before the first closes


@pytest.mark.parametrize(
    "page", [*CHAPTERS, *(page for page in PAGES if page.parent.name == "primer" and page.stem != "index")], ids=page_name
)
def test_every_chapter_states_its_difficulty(page) -> None:
    assert re.match(r"---\n(?:(?!---\n).*\n)*difficulty: [123]\n", page.read_text(encoding="utf-8"))


TIMES = [course().task(task).time for task in ("1.3", "1.4")]
PRINTED = {
    "the head of a chapter states its time and difficulty": (
        "from chapter_head import head\nprint(head(200, '1', []))",
        "Estimated time: 1 minute of reading · Difficulty: easy\n",
    ),
    "the head of a chapter with tasks states their times": (
        """from chapter_head import head
from course.manifest import course
print(head(201, "3", [task for task in course().tasks if task.id in ("1.3", "1.4")]))""",
        f"Estimated time: 2 minutes of reading, {TIMES[0]} for Task 1.3 in minitorch/scalar.py, "
        f"{TIMES[1]} for Task 1.4 in minitorch/autodiff.py and minitorch/scalar_functions.py · Difficulty: hard\n",
    ),
    "a block of code counts half as reading, and outputs do not count": (
        """from chapter_head import words
from docutils.nodes import container, literal_block, paragraph, section
output = container("", paragraph("", "7"), classes=["cell_output"])
print(words(section("", paragraph("", "One two three."), literal_block("", "x = a + b + c"), output)))""",
        "6.5\n",
    ),
    "speed-ups are relative to the first step": (
        """import machine_figures
machine_figures.chart = lambda spec, caption: print([(v["step"], v["work"], v["gain"]) for v in spec["data"]["values"]], caption)
steps = [{"idea": "old", "seconds": {"add": [8.0, 7, 9], "exp": [6.0, 5, 7]}}, {"idea": "new", "seconds": {"exp": [1.5, 1, 2]}}]
machine_figures.gains({"operations": {"add": 0, "exp": 0}, "steps": steps}, "C")""",
        "[('old', 'add', 1.0), ('old', 'exp', 1.0), ('new', 'exp', 4.0)] C\n",
    ),
    "gradient descent draws its steps in their order": (
        """import learning_figures
learning_figures.chart = lambda spec, caption: print(spec["title"], [(v["x"], v["y"]) for v in spec["layer"][1]["data"]["values"]])
learning_figures.Row = lambda panels, caption: print(caption)
learning_figures.descent(lambda w: w * w, {"good": [2.0, 0.5], "bad": [2.0, -3.0]}, (-3, 3), 9, "C")""",
        "good [(2.0, 4.0), (0.5, 0.25)]\nbad [(2.0, 4.0), (-3.0, 9.0)]\nC\n",
    ),
    "secants pass through both of their points": (
        """import learning_figures
learning_figures.chart = lambda spec, caption: print([(v["x"], v["y"], v["line"]) for v in spec["layer"][1]["data"]["values"]])
learning_figures.secants(lambda x: x * x, 1.0, 2.0, [1.0], (0.0, 2.0), "C")""",
        "[(0.0, -2.0, 'ε = 1: slope 3'), (2.0, 4.0, 'ε = 1: slope 3'), (0.0, -1.0, 'tangent: slope 2'), (2.0, 3.0, 'tangent: slope 2')]\n",
    ),
    "a recorded run is shown as in a terminal, with its date and machine": (
        """from types import SimpleNamespace
import recorded_runs
table = "[{0}]\\ncommand = 'python {0}.py'\\ndate = '2026-11-29'\\nmachine = 'M'\\nprinted = 'one'\\n"
recorded_runs.RECORDS = SimpleNamespace(read_text=lambda encoding: table.format("a") + table.format("b") + table.format("c"))
recorded_runs.show_runs("c", "a")""",
        "$ python c.py\none\n# 2026-11-29, M\n\n$ python a.py\none\n# 2026-11-29, M\n",
    ),
    "the goals of the benchmarks are a table": (
        r"""from types import SimpleNamespace
import recorded_runs
text = '{"command": "all", "date": "2026-11-29", "machine": "M", "rows": [["ops", "exp", "1 of torch", "0.9", "MISSED"]]}'
recorded_runs.GOALS = SimpleNamespace(read_text=lambda encoding: text)
print(recorded_runs.show_goals()._repr_html_().splitlines()[1])""",
        "$ all\n# 2026-11-29, M\n<tbody><tr><td>ops</td><td>exp</td><td>1 of torch</td><td>0.9</td><td>MISSED</td></tr>\n",
    ),
    "a line that numba refuses is shown with its message and the advice of the card": (
        """from compiler_table import refused
print(refused(["for i in range(shape):\\n    pass"])._repr_html_().splitlines()[1])""",
        "<tbody><tr><td><code>for i in range(shape):<br>&nbsp;&nbsp;pass</code></td>"
        "<td>No implementation of function range found for range(array(int32, 1d, C))</td>"
        "<td>range(len(shape)); range takes numbers, not an array</td></tr>\n",
    ),
    "the output of a tool and a diff are those of a terminal": (
        r"""from tool_output import run_tool, show_diff
run_tool({"hello.py": "print('took 2 lines in 0.12s')"}, "hello")
show_diff("a\nb\nc\nd", "a\nb\nC\nd", "letters.txt")""",
        "took 2 lines\n--- a/letters.txt\n+++ b/letters.txt\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n",
    ),
}
"""What the book's extensions print: code, and its output."""


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("return shape[0]", "expected lines that numba refuses, got 'return shape[0]'; take them out of the table"),
        (
            "return 'size ' + shape",
            "expected advice on \"return 'size ' + shape\", got none; add 'No implementation of function add found for signature:\\n"
            " >>> add(Literal[str](size ), array(int32, 1d, C))' to INSTEAD in course/runner/compiler_messages.py",
        ),
    ],
    ids=["numba compiles it", "no advice"],
)
def test_a_wrong_line_of_the_table_of_refused_lines_is_an_error(lines, message) -> None:
    with raises(ValueError, message):
        run_extension(f"import compiler_table\ncompiler_table.refused([{lines!r}])")


@pytest.mark.parametrize(("code", "printed"), PRINTED.values(), ids=PRINTED)
def test_an_extension_prints(code, printed) -> None:
    assert run_extension(code) == printed


def test_the_head_stands_below_the_title(tmp_path) -> None:
    status, messages, html = build(tmp_path, "chapter_head", "---\ndifficulty: 2\n---\n\n# Book\n\nText.\n")
    assert (status, messages) == (0, "")
    line = "Estimated time: 1 minute of reading · Difficulty: medium"
    assert re.search(rf'</h1>\s*<p class="chapter-head">{line}</p>\s*<p>Text.</p>', html)


def test_a_question_is_numbered_and_its_answer_folded(tmp_path) -> None:
    one = ":::{check}\n:check: [2, 3][0] == 2\n\nWhat?\n\n```python\nprint(2)\n```\n\n**Answer.**\n\n```text\n2\n```\n\nFirst.\n:::\n\n"
    status, messages, html = build(tmp_path, "check_yourself", "# Book\n\n" + one + ":::{check}\nWhy?\n\n**Answer.** Because.\n:::\n")
    assert status == 0, messages
    before, first, second = re.split("<details[^>]*check-answer[^>]*>", html)
    assert "<strong>1.</strong> What?" in before
    assert re.search("Because", second.partition("</details>")[0])
    assert "<strong>2.</strong> Why?" in first.partition("</details>")[2]
    assert "[2, 3]" not in html


def test_mathematics_is_mathml_with_primes_and_spaces() -> None:
    drawn = run_extension(r"""import mathml; print(mathml.mathml(r"f'(x) = \ln x_1", "inline"))""")
    assert drawn.startswith("<math ")
    assert '<mi>f</mi><mo lspace="0" rspace="0">&#x02032;</mo>' in drawn
    assert '<mi>ln</mi><mspace width="0.17em"></mspace><msub>' in drawn


def test_a_figure_carries_its_caption_and_takes_the_color_of_the_page() -> None:
    drawn = draw("figures", 'lines({"a": [(0, 1), (1, float("inf")), (2, 3)]}, "One < two")')
    assert "<figcaption>One &lt; two</figcaption>" in drawn
    assert "currentColor" in drawn
    assert "#010203" not in drawn


def test_a_figure_needs_a_caption() -> None:
    with raises(ValueError, "a figure needs a caption, which says in words what it shows"):
        draw("figures", "graph({'y': ['x']}, ' ')")


NODE, MARKED, EDGE, DASHED = 'class="graph-node"', 'class="graph-node marked"', 'class="graph-edge"', "stroke-dasharray"


def shown(sentence: str, figure: str, texts: str | list[str] | None, counts: dict[str, int]) -> Any:
    """A row: a module and an expression, the texts of the figure, and how often its HTML contains a string."""
    module, expression = figure.split(": ", 1)
    return pytest.param(module, expression, texts.split() if isinstance(texts, str) else texts, counts, id=sentence)


@pytest.mark.parametrize(
    ("module", "expression", "texts", "counts"),
    [
        shown("a graph has boxes, edges and a caption", "figures: graph({'y': ['x', 'x']}, 'Twice')", None,
              {NODE: 2, EDGE: 2, "<figcaption>Twice</figcaption>": 1}),
        shown("steps show the positions and one arrow for each dimension", "tensor_figures: steps({'m': (2, 3), 'c': (2, 1, 2)}, 'C')",
              ["m", "strides (3, 1)", *"012345", "+1", "+3", "c", "strides (2, 2, 1)", *"0123", "+1", "+2", "+2"], {EDGE: 5}),
        shown("cells with the same column and position share an arrow",
              "tensor_figures: layout([7, 8], {'e': ((2, 2), (0, 1), 0)}, 'C', {'e': [(0, 1), (1, 1)]})", None, {EDGE: 1, MARKED: 3}),
        shown("an alignment shows missing and stretched dimensions", "tensor_figures: alignment({'a': (2, 3, 1), 'b': (3, 4)}, 'C')",
              "a 2 3 1 b 1 missing 3 4 together 2 3 4", {DASHED: 2}),
        shown("an alignment shows conflicting dimensions", "tensor_figures: alignment({'a': (2, 3), 'b': (2,)}, 'C')",
              "a 2 3 b 1 missing 2 together 2 ≠", {}),
        shown("in an alignment, 1 next to 1 is not stretched", "tensor_figures: alignment({'a': (0, 1), 'b': (1, 1)}, 'C')",
              "a 0 1 b 1 1 together 0 1", {DASHED: 1}),
        shown("an equation has grids, signs and dashed cells",
              "tensor_figures: equation([('x', [[1, 2.5]]), '<', ('y', [[3], [4]], [(1, 0)])], 'One < two')",
              "x 1 2.5 &lt; y 3 4", {DASHED: 1, "<figcaption>One &lt; two</figcaption>": 1}),
        # 5 elements, blocks of 3: the second block's threads are 3, 4 and one without an element.
        shown("threads are numbered across blocks, and dashed past the last element", "cuda_figures: threads(5, 3, 'C')",
              ["thread", "i", "block 0", *"001122", "block 1", *"031425"], {DASHED: 1}),
        # Four numbers go in, then two.
        shown("a tree halves its row in every round", "cuda_figures: tree([1, 2, 3, 4], 'C')",
              ["1", "2", "3", "4", "threads 0 to 1", "4", "6", "thread 0", "10"], {EDGE: 6, MARKED: 1}),
        # 2 rows of 4 numbers on 3 banks: 0 1 2 0 | 1 2 0 1.
        shown("banks are numbered row by row and begin one further with a spare column", "cuda_figures: banks(2, 4, 3, 1, 'C')",
              "0 1 2 0 1 2 0 1", {MARKED: 2}),
        # Positions 0 and 7 share a sector of eight numbers, 8 is in the next one; the other two sectors are never read.
        shown("a warp touches the sectors of the numbers that it reads", "cuda_figures: sectors({'one': [0, 7], 'two': [0, 8]}, 4, 'C')",
              ["one: 1 sector", "0", "1", "two: 2 sectors", "0", "1"],
              {MARKED: 1 + 2, DASHED: 3 + 2, 'x="82" y="78"': 1, 'x="96" y="180"': 1}),
        shown("memories belong to threads, to blocks and to the whole GPU", "cuda_figures: memories(2, 3, 'C')", None,
              {">grid<": 1, ">block 1<": 1, ">thread 2<": 2, ">registers<": 6, ">shared memory<": 2, ">global memory<": 1}),
        shown("a table escapes its cells", "machine_figures: Table([['step', 'µs'], ['a < b', '1']])", None,
              {"<thead><tr><th>step</th><th>µs</th></tr></thead><tbody><tr><td>a &lt; b</td>": 1}),
        shown("a table shows text between backticks as code", "machine_figures: Table([['call'], ['`a < b`'], ['a `b`']])", None,
              {"<td><code>a &lt; b</code></td>": 1, "<td>a `b`</td>": 1}),
        shown("channels meet in a window of weights for each pair", "window_figures: channels(2, 3, 4, 2, 'C')", None,
              {">input (2, 4, 4)<": 1, ">weight (3, 2, 2, 2)<": 1, ">out (3, 4, 4)<": 1, ">*<": 2, ">+<": 3, ">=<": 3, ">channel 1<": 2,
               ">channel 2<": 1, "<rect": (2 + 3) * 16 + 2 * 3 * 4, MARKED: 2 * 4 + 3}),
    ],
)  # fmt: skip
def test_a_figure_is_drawn(module, expression, texts, counts) -> None:
    drawn = draw(module, expression)
    assert texts is None or texts_of(drawn) == texts
    assert {part: drawn.count(part) for part in counts} == counts


def test_a_layout_figure_shows_every_view_over_one_storage() -> None:
    # The transposed table's cell (2, 0) is 30, at position 2; a cell is 26 wide and the strip starts at 10.
    views = '{"t": ((3, 2), (1, 3), 0), "part": ((2,), (2,), 1)}'
    drawn = draw("tensor_figures", f'layout([10, 20, 30, 40, 50, 60], {views}, "C", marked={{"t": [(2, 0)]}})')
    cells = ["10", "40", "20", "50", "30", "60"]
    assert texts_of(drawn)[:14] == ["t", "strides (1, 3)", *cells, "part", "strides (2,), offset 1", "20", "40", "storage", "10"]
    assert drawn.count(MARKED) == 2  # the cell and its position
    assert re.findall(r'class="graph-edge" d="M23 .* 75 [\d.]+"', drawn), "no arrow from the first column to the middle of place 2"


def test_tiles_are_numbered_in_the_order_in_which_a_block_loads_them() -> None:
    # The block in the second row of a (3, 3) needs row 2; it needs both columns of b (3, 2); the third inner index has its own tile.
    drawn = draw("cuda_figures", "tiles(3, 2, 3, 2, (1, 0), 'C')")
    texts = texts_of(drawn)
    assert texts[:3] == ["a (3, 3)", "b (3, 2)", "out (3, 2)"]
    assert [text for text in texts[3:] if text in "12"] == list("112111122")
    assert texts.count("·") == 2
    assert drawn.count(MARKED) == 3 + 2 + 6


def test_a_timeline_draws_boxes_along_time_in_stacked_lanes() -> None:
    lanes = '{"a": [(0, 2, "read"), (2.5, 1, "")], "b": [(1, 1, "wait")]}'
    drawn = draw("machine_figures", f'timeline({lanes}, "C", unit=10, marked=[("b", 0)])')
    assert texts_of(drawn) == ["a", "read", "b", "wait", "time"]
    boxes = re.findall(r'class="(graph-node[^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawn)
    (_, left, top, _), *_ = boxes
    # A box is drawn 1 pixel smaller than its slot on each side, and a lane is 40 below the previous one.
    placed = [(kind, float(x) - float(left), float(y) - float(top), float(width) + 2) for kind, x, y, width in boxes]
    assert placed == [("graph-node", 0, 0, 20), ("graph-node", 25, 0, 10), ("graph-node marked", 10, 40, 10)]


def test_matrices_show_their_parts_in_place() -> None:
    drawn = draw("machine_figures", 'matrices([("out", 4, 6, [(1, 2, 2, 3, "tile")]), "+=", ("a", 4, 4, [])], "C", unit=10)')
    assert texts_of(drawn) == ["out", "tile", "+=", "a"]
    (whole,) = re.findall(r'class="graph-node" x="([\d.]+)" y="([\d.]+)" width="60" height="40"', drawn)
    (part,) = re.findall(r'class="graph-node marked" x="([\d.]+)" y="([\d.]+)" width="28" height="18"', drawn)
    assert [float(b) - float(a) for a, b in zip(whole, part, strict=True)] == [2 * 10 + 1, 1 * 10 + 1]


@pytest.mark.parametrize(
    ("reverse", "lines", "dashed"),
    [
        (False, ["5", "7", "0", "0", "5 · 1 + 7 · 2 = 19", "5", "7", "0", "0", "7 · 1 = 7"], [2, 3]),
        (True, ["0", "0", "5", "7", "5 · 1 = 5", "0", "0", "5", "7", "7 · 1 + 5 · 2 = 17"], [0, 1]),
    ],
)
def test_a_window_slides_one_position_per_line_and_sums_what_it_covers(reverse, lines, dashed) -> None:
    # A cell is 26 wide and the row starts at 10: two zeros are past the right edge, or past the left edge if reversed.
    drawn = draw("window_figures", f"slides([5, 7], [1, 2, 3], 'C', {reverse})")
    assert texts_of(drawn) == lines
    cells = re.findall(r'class="(graph-node[^"]*)" x="(\d+)" y="9".*?rx="3"([^/]*)/>', drawn)
    assert [(int(x) - 11) // 26 for kind, x, _ in cells if "marked" in kind] == [0, 1, 2]
    assert [(int(x) - 11) // 26 for _, x, dash in cells if dash] == dashed


def test_a_grid_divided_into_windows_has_gaps_between_them() -> None:
    x = 'Grid("x", [[1, 2, 3, 4], [5, 6, 7, 8]], marked=[(1, 2)], dashed=[(0, 0)], window=(1, 2))'
    drawn = draw("window_figures", f'grids([{x}, "→", Grid("y", [[9]])], "C")')
    assert texts_of(drawn) == ["x", *"12345678", "→", "y", "9"]
    boxes = re.findall(r'class="(graph-node[^"]*)" x="([\d.]+)" y="([\d.]+)"', drawn)
    assert [float(x) - float(boxes[0][1]) for _, x, _ in boxes[:4]] == [0, 26, 26 * 2 + 8, 26 * 3 + 8]
    assert float(boxes[4][2]) - float(boxes[0][2]) == 26 + 8
    assert [i for i, (kind, _, _) in enumerate(boxes) if "marked" in kind] == [6]
    assert drawn.count(DASHED) == 1


def test_bars_are_as_high_as_their_numbers() -> None:
    drawn = draw("window_figures", "bars({'x': [1, 4, 0], 'max': [4]}, 'C')")
    assert texts_of(drawn) == ["x", "1", "4", "0", "max", "4"]
    heights = [float(height) for height in re.findall(r'<rect[^>]* height="([\d.]+)"', drawn)]
    assert [height / heights[1] for height in heights] == [0.25, 1, 0, 1]
    assert drawn.count(MARKED) == 2


def test_a_row_shows_all_figures_above_one_caption_with_ids_of_their_own() -> None:
    drawn = draw("figures import *\nfrom learning_figures", 'row([graph({"y": ["x"]}, "A"), graph({"y": ["x"]}, "B")], "C < D")')
    assert drawn.count("<svg aria-hidden") == 2
    assert re.findall("<figcaption>([^<]*)</figcaption>", drawn) == ["C &lt; D"]
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert len(ids) == len(set(ids)) == 2


def test_a_step_of_a_backward_pass_shows_what_is_passed_on_and_what_was_received() -> None:
    graph, at = '{"L": ["b"], "b": ["a", "a"]}', '{"L": (0, 0), "b": (0, 1), "a": (0, 2)}'
    step = 'Step("b passes on", "b", {"a": ["8", "9"]}, {"b": "1", "a": "17"}, ["L"])'
    drawn = draw("learning_figures", f'backward_steps({graph}, {at}, [{step}], "C")')
    assert texts_of(drawn) == ["1. b passes on", "8", "9", "L", "b", "1", "a", "17"]
    assert re.findall(r'<circle class="([^"]+)"', drawn) == ["graph-node done", "graph-node marked", "graph-node"]
    assert (drawn.count('class="graph-edge active"'), drawn.count(EDGE)) == (2, 1)


def test_a_stack_marks_the_upper_copy_of_a_node_that_was_entered() -> None:
    drawn = draw("learning_figures", 'stacks([Stack("yaba", "leave a", "yba"), Stack("ya", "pop a", "yba", "ab")], "C")')
    assert texts_of(drawn) == ["y", "a", "b", "a", "1", "leave a", "y", "a", "2", "pop a"]
    kinds = re.findall(r'<rect class="(graph-node[^"]*)"', drawn)
    assert ["marked" in kind for kind in kinds] == [True, False, True, True, True, False]
    assert drawn.count(DASHED) == 1


def test_layers_show_a_square_for_each_channel_and_a_column_for_units() -> None:
    parts = '[Layer([], (1, 8, 8)), Layer(["convolution", "relu"], (3, 8, 8)), Layer(["view"], (192,))]'
    drawn = draw("learning_figures", f'layers({parts}, "C")')
    assert texts_of(drawn) == ["1 × 8 × 8", "relu", "convolution", "3 × 8 × 8", "view", "192"]
    sizes = re.findall(r'<rect class="graph-node" .*? width="(\d+)" height="(\d+)"', drawn)
    assert sizes == [("30", "30")] * 4 + [("12", "68")]
    assert drawn.count(EDGE) == 2


def test_units_are_connected_to_every_unit_of_the_next_column() -> None:
    weights = '{("a", "c"): "7", ("b", "c"): "−8"}'
    drawn = draw("learning_figures", f'units({{"in": ["a", "b"], "hidden": ["c", "d", "e"], "out": ["y"]}}, "C", {weights}, (90, 60))')
    assert [text for text in texts_of(drawn) if text] == ["7", "−8", *"abcdey", "in", "hidden", "out"]
    assert drawn.count(EDGE) == 2 * 3 + 3 * 1
    centers = [tuple(map(float, found)) for found in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    assert centers == [(45, 60), (45, 120), (135, 30), (135, 90), (135, 150), (225, 90)]  # each column in the middle


def test_a_residual_stream_has_a_sum_after_each_branch() -> None:
    drawn = draw("learning_figures", 'residual([[("norm", "n"), ("attention", "a")], [("network", "")]], "C")')
    assert texts_of(drawn) == ["x", "norm", "n", "attention", "a", "+", "network", "+"]
    assert drawn.count('class="graph-edge active"') == 3  # to each sum, and to the end
    assert drawn.count("<rect") == 3


def test_a_plane_has_a_color_and_a_shape_for_each_label_and_curves_share_their_axis() -> None:
    plane = 'plane("P", [(0, 0, 0), (1, 1, 1)], [((0, 1), (1, 0))])'
    points = run_extension(f"from learning_figures import *\nprint({plane}.svg)")
    curves = draw("learning_figures", 'stacked({"f": [(0, 0), (1, 1)], "g": [(0, 1), (1, 1)]}, "C", rules=[0.5])')
    assert {"#3b82c4", "#e07b1a"} <= {*re.findall("#[0-9a-f]{6}", points)}
    assert "#010203" not in points + curves
    assert [curves.count(f">{title}</text>") for title in ("f", "g", "x")] == [1, 1, 1]


def test_an_image_is_transparent_at_its_minimum_and_opaque_at_its_maximum() -> None:
    drawn = draw("window_figures", "shades([('a', [[-1, 1], [3, 0]])], 'C', pixel=10)")
    pixels = re.findall(r'fill="currentColor" fill-opacity="([\d.]+)" x="(\d+)" y="(\d+)"', drawn)
    assert pixels == [("0.50", "20", "26"), ("1.00", "10", "36"), ("0.25", "20", "36")]


def test_unwritten_code_leaves_a_note_in_place_of_its_output(tmp_path) -> None:
    # A shell like the kernel's, and a workspace in which one task is not written yet.
    (tmp_path / "minitorch").mkdir()
    marker = 'raise NotImplementedError("Need to implement for Task 0.1")'
    (tmp_path / "minitorch" / "operators.py").write_text(f"def mul(x, y):\n    {marker}\n")
    code = f"""
from itertools import permutations
from pathlib import Path
import course.manifest
course.manifest.ROOT = Path({str(tmp_path)!r})
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from figures import wait_for_tasks
wait_for_tasks()
for cell in ('{marker}', "print(result)"):
    shell.run_cell(cell)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT | {"IPYTHONDIR": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.splitlines() == [
        "This output appears when Task 0.1 is written.",
        "This output needs one above, which waits for Task 0.1.",
    ], result.stderr
