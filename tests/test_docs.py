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
SECTION = re.compile(r"^## Check yourself\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(
    r"^:::\{check\}\n(?::check: (?P<check>[^\n]+)\n)?\n?(?P<question>\S.*?)\n\*\*Answer\.\*\*(?P<answer>.*?)\n:::$",
    re.MULTILINE | re.DOTALL,
)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(DOCS / "_ext")])}


def page_name(page: Path) -> str:
    """The page as the manifest names it."""
    return page.relative_to(DOCS).with_suffix("").as_posix()


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


@pytest.mark.parametrize("task", course().tasks, ids=lambda task: task.id)
def test_every_task_has_a_page_with_its_box(task) -> None:
    page = DOCS / f"{task.page}.md"
    assert page.is_file(), f"tasks.toml names the page {task.page} for Task {task.id}"
    assert f"```{{task}} {task.id}\n" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_every_chapter_has_an_example_a_figure_common_mistakes_and_a_box(page) -> None:
    text = page.read_text(encoding="utf-8")
    without_task = {
        "module1/topological_order",
        "module1/depth_first_search",
        "module1/forward_mode",
        "module2/strides",
        "module2/expand_and_gradients",
        "module2/gradient_checks",
        "module2/in_place",
        "module3/compiling",
        "module3/stride_aligned",
        "module3/races",
        "module3/performance",
        "module3/small_batches",
        "module3/gpu_machines",
        "module4/fast_convolution",
        "module4/sentiment",
    }
    assert re.search(r"^## By hand|^\| .* \| \*\*", text, re.MULTILINE), "no example by hand"
    figures = "graph|lines|chart|layout|alignment|equation|threads|tree|tiles|banks|slides|grids|shades"
    assert re.search(rf"^({figures})\(", "".join(code_cells(page)), re.MULTILINE), "no figure"
    assert "\n## Common mistakes\n" in text
    assert ("```{task} " in text) == (page_name(page) not in without_task)
    chapter = SECTION.sub("", text).partition("### Edge cases that are marked")[0]
    assert 600 <= len(chapter.split()) <= 1400


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_every_chapter_ends_its_text_with_questions(page) -> None:
    headings = re.findall(r"^## (.*)", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    after_mistakes = headings[headings.index("Common mistakes") + 1 :]
    assert after_mistakes in (["Check yourself"], ["Check yourself", "The task"], ["Check yourself", "The tasks"])
    found = questions(page)
    assert 5 <= len(found) <= 8
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


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_the_code_of_a_chapter_fits_the_page(page) -> None:
    hidden = (":tags: [hide-input]", ":tags: [remove-cell]")
    shown = [
        body for _, kind, body in FENCE.findall(page.read_text(encoding="utf-8")) if kind == "{code-cell}" and not body.startswith(hidden)
    ]
    too_long = [line for body in shown for line in body.splitlines() if len(line) > 78]
    assert too_long == []


def test_every_chapter_is_in_the_table_of_contents_of_its_module() -> None:
    for index in DOCS.glob("module*/index.md"):
        (listed,) = [body for _, kind, body in FENCE.findall(index.read_text(encoding="utf-8")) if kind == "{toctree}"]
        chapters = {page.stem for page in index.parent.glob("*.md")} - {"index"}
        assert {line for line in listed.splitlines() if line and not line.startswith(":")} == chapters


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_internal_links_of_the_book_work(page) -> None:
    text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page_name(page)} links to {target}"


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


@pytest.mark.parametrize("term", glossary())
def test_an_entry_of_the_glossary_leads_to_a_heading_of_a_page(term) -> None:
    links = re.findall(r"\]\(([^)#]+)#([^)]+)\)", glossary()[term])
    assert links, f"{term} names no page that explains it"
    for target, anchor in links:
        assert (DOCS / target).is_file(), f"{term} links to {target}"
        assert anchor in headings(DOCS / target), f"{term} links to {target}#{anchor}"


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


def test_a_task_box_agrees_with_the_manifest() -> None:
    box = run_extension(TASK_BOX)
    task = course().task("1.4")
    assert "Task 1.4 · Backpropagation (30 points)" in box
    assert "Write in `minitorch/autodiff.py`: `topological_sort`, `backpropagate`" in box
    assert "`Mul.backward`" in box
    assert "Builds on: Task 0.1, Task 1.1, Task 1.2, Task 1.3" in box
    assert "course test 1.4\npytest -m task1_4\n" in box
    assert [hint in box for hint in task.hints] == [True] * len(task.hints)


def test_each_hint_is_nested_in_the_previous_one() -> None:
    lines = run_extension(TASK_BOX).splitlines()
    fences = [line.split("{")[0] for line in lines if "{dropdown}" in line]
    closing = [line for line in lines if re.fullmatch(":+", line)]
    count = len(course().task("1.4").hints)
    assert count > 5  # more than there were fences for once
    assert fences == [":" * length for length in range(count + 2, 2, -1)]
    assert closing == [":" * length for length in range(3, count + 4)]


def test_an_unknown_task_is_refused_with_the_ids_that_exist() -> None:
    with pytest.raises(ManifestError, match=r"there is no task '9\.9'; the tasks are 0\.1, 0\.2, "):
        course().task("9.9")
    with pytest.raises(ManifestError, match=r"^there is no task '9\.9'; the tasks are 0\.1, 0\.2, "):
        run_extension(TASK_BOX.replace("1.4", "9.9"))


def test_an_unknown_task_fails_the_build(tmp_path) -> None:
    status, messages, _ = build(tmp_path, "task_box", "# Book\n\n```{task} 9.9\n```\n")
    assert status != 0
    assert "{task}: there is no task '9.9'; the tasks are 0.1" in messages


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


def test_the_head_of_a_chapter_states_times_and_difficulty() -> None:
    code = """
from chapter_head import head
from course.manifest import course
print(head(200, "1", []))
print(head(201, "3", [task for task in course().tasks if task.id in ("1.3", "1.4")]))
"""
    tasks = course().task("1.3"), course().task("1.4")
    assert run_extension(code).splitlines() == [
        "Estimated time: 1 minute of reading · Difficulty: easy",
        f"Estimated time: 2 minutes of reading, {tasks[0].time} for Task 1.3, {tasks[1].time} for Task 1.4 · Difficulty: hard",
    ]


def test_a_block_of_code_counts_half_as_reading_and_outputs_do_not_count() -> None:
    code = """
from chapter_head import words
from docutils.nodes import container, literal_block, paragraph, section
output = container("", paragraph("", "7"), classes=["cell_output"])
print(words(section("", paragraph("", "One two three."), literal_block("", "x = a + b + c"), output)))
"""
    assert run_extension(code) == "6.5\n"


@pytest.mark.parametrize(("difficulty", "message"), [("2", ""), ("4", "index: expected a difficulty of 1, 2 or 3, got 4")])
def test_the_head_stands_below_the_title(tmp_path, difficulty, message) -> None:
    status, messages, html = build(tmp_path, "chapter_head", f"---\ndifficulty: {difficulty}\n---\n\n# Book\n\nText.\n")
    assert (status == 0) == (message == "")
    assert message in messages
    if not message:
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


def test_a_question_without_an_answer_fails_the_build(tmp_path) -> None:
    status, messages, _ = build(tmp_path, "check_yourself", "# Book\n\n:::{check}\nWhy?\n\n**Answer.**\n:::\n")
    assert status != 0
    assert "{check}: expected a question, then **Answer.** and the answer; got 'Why?'" in messages


def test_mathematics_is_mathml_with_primes_and_spaces() -> None:
    drawn = run_extension(r"""import mathml; print(mathml.mathml(r"f'(x) = \ln x_1", "inline"))""")
    assert drawn.startswith("<math ")
    assert '<mi>f</mi><mo lspace="0" rspace="0">&#x02032;</mo>' in drawn
    assert '<mi>ln</mi><mspace width="0.17em"></mspace><msub>' in drawn


def test_a_figure_carries_its_caption_and_takes_the_color_of_the_page() -> None:
    code = """
from figures import lines, graph
for figure in (lines({"a": [(0, 1), (1, float("inf")), (2, 3)]}, "One < two"), graph({"y": ["x", "x"]}, "Twice")):
    print(figure._repr_html_())
"""
    line_chart, box_graph = run_extension(code).split("</figure>")[:2]
    assert "<figcaption>One &lt; two</figcaption>" in line_chart
    assert "currentColor" in line_chart
    assert "#010203" not in line_chart
    assert box_graph.count('class="graph-node"') == 2
    assert box_graph.count('class="graph-edge"') == 2
    assert "<figcaption>Twice</figcaption>" in box_graph


def test_a_figure_needs_a_caption() -> None:
    with raises(ValueError, "a figure needs a caption, which says in words what it shows"):
        run_extension("from figures import graph\ngraph({'y': ['x']}, ' ')._repr_html_()")


def test_a_layout_figure_shows_every_view_over_one_storage() -> None:
    # The transposed table's cell (2, 0) is 30, at position 2; a cell is 26 wide and the strip starts at 10.
    code = """
from tensor_figures import layout
print(layout([10, 20, 30, 40, 50, 60], {"t": ((3, 2), (1, 3), 0), "part": ((2,), (2,), 1)}, "C", marked={"t": [(2, 0)]})._repr_html_())
"""
    drawn = run_extension(code)
    cells = ["10", "40", "20", "50", "30", "60"]
    assert texts_of(drawn)[:14] == ["t", "strides (1, 3)", *cells, "part", "strides (2,), offset 1", "20", "40", "storage", "10"]
    assert drawn.count('class="graph-node marked"') == 2  # the cell and its position
    assert re.findall(r'class="graph-edge" d="M23 .* 75 [\d.]+"', drawn), "no arrow from the first column to the middle of place 2"


def test_steps_show_the_positions_and_one_arrow_for_each_dimension() -> None:
    drawn = run_extension("from tensor_figures import steps\nprint(steps({'m': (2, 3), 'c': (2, 1, 2)}, 'C')._repr_html_())")
    assert texts_of(drawn) == ["m", "strides (3, 1)", *"012345", "+1", "+3", "c", "strides (2, 2, 1)", *"0123", "+1", "+2", "+2"]
    assert drawn.count('class="graph-edge"') == 5


def test_cells_with_the_same_column_and_position_share_an_arrow() -> None:
    code = """
from tensor_figures import layout
print(layout([7, 8], {"e": ((2, 2), (0, 1), 0)}, "C", marked={"e": [(0, 1), (1, 1)]})._repr_html_())
"""
    drawn = run_extension(code)
    assert drawn.count('class="graph-edge"') == 1
    assert drawn.count('class="graph-node marked"') == 3


def test_an_alignment_figure_shows_missing_stretched_and_conflicting_dimensions() -> None:
    code = """
from tensor_figures import alignment
print(alignment({"a": (2, 3, 1), "b": (3, 4)}, "C")._repr_html_())
print(alignment({"a": (2, 3), "b": (2,)}, "C")._repr_html_())
print(alignment({"a": (0, 1), "b": (1, 1)}, "C")._repr_html_())
"""
    fits, clash, empty = run_extension(code).split("</figure>")[:3]
    assert texts_of(fits) == ["a", "2", "3", "1", "b", "1", "missing", "3", "4", "together", "2", "3", "4"]
    assert fits.count("stroke-dasharray") == 2
    assert texts_of(clash)[-2:] == ["2", "≠"]
    assert texts_of(empty)[-2:] == ["0", "1"]
    assert empty.count("stroke-dasharray") == 1  # 1 next to 1 is not stretched


def test_an_equation_figure_draws_grids_signs_and_dashed_cells() -> None:
    code = """
from tensor_figures import equation
print(equation([("x", [[1, 2.5]]), "<", ("y", [[3], [4]], [(1, 0)])], "One < two")._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["x", "1", "2.5", "&lt;", "y", "3", "4"]
    assert drawn.count("stroke-dasharray") == 1
    assert "<figcaption>One &lt; two</figcaption>" in drawn


def test_threads_are_numbered_across_blocks_and_dashed_past_the_last_element() -> None:
    # 5 elements, blocks of 3: the second block's threads are 3, 4 and one without an element.
    drawn = run_extension("from cuda_figures import threads\nprint(threads(5, 3, 'C')._repr_html_())")
    assert texts_of(drawn) == ["thread", "i", "block 0", "0", "0", "1", "1", "2", "2", "block 1", "0", "3", "1", "4", "2", "5"]
    assert drawn.count("stroke-dasharray") == 1


def test_a_tree_figure_halves_its_row_in_every_round() -> None:
    drawn = run_extension("from cuda_figures import tree\nprint(tree([1, 2, 3, 4], 'C')._repr_html_())")
    assert texts_of(drawn) == ["1", "2", "3", "4", "threads 0 to 1", "4", "6", "thread 0", "10"]
    assert drawn.count('class="graph-edge"') == 6  # four numbers go in, then two
    assert drawn.count('class="graph-node marked"') == 1


def test_banks_are_numbered_row_by_row_and_begin_one_further_with_a_spare_column() -> None:
    # 2 rows of 4 numbers on 3 banks: 0 1 2 0 | 1 2 0 1.
    drawn = run_extension("from cuda_figures import banks\nprint(banks(2, 4, 3, 1, 'C')._repr_html_())")
    assert texts_of(drawn) == ["0", "1", "2", "0", "1", "2", "0", "1"]
    assert drawn.count('class="graph-node marked"') == 2


def test_memories_belong_to_threads_to_blocks_and_to_the_whole_gpu() -> None:
    drawn = run_extension("from cuda_figures import memories\nprint(memories(2, 3, 'C')._repr_html_())")
    texts = texts_of(drawn)
    found = [texts.count(text) for text in ("grid", "block 1", "thread 2", "registers", "shared memory", "global memory")]
    assert found == [1, 1, 2, 6, 2, 1]


def test_tiles_are_numbered_in_the_order_in_which_a_block_loads_them() -> None:
    # The block in the second row of a (3, 3) needs row 2; it needs both columns of b (3, 2); the third inner index has its own tile.
    drawn = run_extension("from cuda_figures import tiles\nprint(tiles(3, 2, 3, 2, (1, 0), 'C')._repr_html_())")
    texts = texts_of(drawn)
    assert texts[:3] == ["a (3, 3)", "b (3, 2)", "out (3, 2)"]
    assert [text for text in texts[3:] if text in "12"] == ["1", "1", "2", "1", "1", "1", "1", "2", "2"]
    assert texts.count("·") == 2
    assert drawn.count('class="graph-node marked"') == 3 + 2 + 6


def test_a_timeline_draws_boxes_along_time_in_stacked_lanes() -> None:
    code = """
from machine_figures import timeline
print(timeline({"a": [(0, 2, "read"), (2.5, 1, "")], "b": [(1, 1, "wait")]}, "C", unit=10, marked=[("b", 0)])._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["a", "read", "b", "wait", "time"]
    boxes = re.findall(r'class="(graph-node[^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawn)
    (_, left, top, _), *_ = boxes
    # A box is drawn 1 pixel smaller than its slot on each side, and a lane is 40 below the previous one.
    placed = [(kind, float(x) - float(left), float(y) - float(top), float(width) + 2) for kind, x, y, width in boxes]
    assert placed == [("graph-node", 0, 0, 20), ("graph-node", 25, 0, 10), ("graph-node marked", 10, 40, 10)]


def test_matrices_show_their_parts_in_place() -> None:
    code = """
from machine_figures import matrices
print(matrices([("out", 4, 6, [(1, 2, 2, 3, "tile")]), "+=", ("a", 4, 4, [])], "C", unit=10)._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["out", "tile", "+=", "a"]
    (whole,) = re.findall(r'class="graph-node" x="([\d.]+)" y="([\d.]+)" width="60" height="40"', drawn)
    (part,) = re.findall(r'class="graph-node marked" x="([\d.]+)" y="([\d.]+)" width="28" height="18"', drawn)
    assert [float(b) - float(a) for a, b in zip(whole, part, strict=True)] == [2 * 10 + 1, 1 * 10 + 1]


def test_speed_ups_are_relative_to_the_first_step() -> None:
    code = """
import machine_figures
machine_figures.chart = lambda spec, caption: print([(v["step"], v["work"], v["gain"]) for v in spec["data"]["values"]], caption)
steps = [{"idea": "old", "seconds": {"add": [8.0, 7, 9], "exp": [6.0, 5, 7]}}, {"idea": "new", "seconds": {"exp": [1.5, 1, 2]}}]
machine_figures.gains({"operations": {"add": 0, "exp": 0}, "steps": steps}, "C")
"""
    assert run_extension(code) == "[('old', 'add', 1.0), ('old', 'exp', 1.0), ('new', 'exp', 4.0)] C\n"


def test_a_table_escapes_its_cells() -> None:
    code = "from machine_figures import Table\nprint(Table([['step', 'µs'], ['a < b', '1']])._repr_html_())"
    html = run_extension(code)
    assert "<thead><tr><th>step</th><th>µs</th></tr></thead><tbody><tr><td>a &lt; b</td>" in html


def test_a_table_shows_text_between_backticks_as_code() -> None:
    code = "from machine_figures import Table\nprint(Table([['call'], ['`a < b`'], ['a `b`']])._repr_html_())"
    html = run_extension(code)
    assert "<td><code>a &lt; b</code></td>" in html
    assert "<td>a `b`</td>" in html


def test_a_window_slides_one_position_per_line_and_sums_what_it_covers() -> None:
    # A cell is 26 wide and the row starts at 10: two zeros are past the right edge, or past the left edge if reversed.
    code = """
from window_figures import slides
for reverse in (False, True):
    print(slides([5, 7], [1, 2, 3], "C", reverse)._repr_html_())
"""
    ahead, back = run_extension(code).split("</figure>")[:2]
    assert texts_of(ahead) == ["5", "7", "0", "0", "5 · 1 + 7 · 2 = 19", "5", "7", "0", "0", "7 · 1 = 7"]
    assert texts_of(back) == ["0", "0", "5", "7", "5 · 1 = 5", "0", "0", "5", "7", "7 · 1 + 5 · 2 = 17"]
    for drawn, first, dashed in ((ahead, [0, 1, 2], [2, 3]), (back, [0, 1, 2], [0, 1])):
        cells = re.findall(r'class="(graph-node[^"]*)" x="(\d+)" y="9".*?rx="3"([^/]*)/>', drawn)
        places = [(int(x) - 11) // 26 for _, x, _ in cells]
        assert [place for (kind, _, _), place in zip(cells, places, strict=True) if "marked" in kind] == first
        assert [place for (_, _, dash), place in zip(cells, places, strict=True) if dash] == dashed


def test_a_grid_divided_into_windows_has_gaps_between_them() -> None:
    code = """
from window_figures import Grid, grids
x = Grid("x", [[1, 2, 3, 4], [5, 6, 7, 8]], marked=[(1, 2)], dashed=[(0, 0)], window=(1, 2))
print(grids([x, "→", Grid("y", [[9]])], "C")._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["x", "1", "2", "3", "4", "5", "6", "7", "8", "→", "y", "9"]
    boxes = re.findall(r'class="(graph-node[^"]*)" x="([\d.]+)" y="([\d.]+)"', drawn)
    lefts = [float(x) - float(boxes[0][1]) for _, x, _ in boxes[:4]]
    assert lefts == [0, 26, 26 * 2 + 8, 26 * 3 + 8]
    assert float(boxes[4][2]) - float(boxes[0][2]) == 26 + 8
    assert [i for i, (kind, _, _) in enumerate(boxes) if "marked" in kind] == [6]
    assert drawn.count("stroke-dasharray") == 1


def test_bars_are_as_high_as_their_numbers() -> None:
    drawn = run_extension("from window_figures import bars\nprint(bars({'x': [1, 4, 0], 'max': [4]}, 'C')._repr_html_())")
    assert texts_of(drawn) == ["x", "1", "4", "0", "max", "4"]
    heights = [float(height) for height in re.findall(r'<rect[^>]* height="([\d.]+)"', drawn)]
    assert [height / heights[1] for height in heights] == [0.25, 1, 0, 1]
    assert drawn.count('class="graph-node marked"') == 2


def test_a_row_shows_all_figures_above_one_caption_with_ids_of_their_own() -> None:
    code = """
from figures import graph
from learning_figures import row
print(row([graph({"y": ["x"]}, "A"), graph({"y": ["x"]}, "B")], "C < D")._repr_html_())
"""
    drawn = run_extension(code)
    assert drawn.count("<svg aria-hidden") == 2
    assert re.findall("<figcaption>([^<]*)</figcaption>", drawn) == ["C &lt; D"]
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert len(ids) == len(set(ids)) == 2


def test_a_step_of_a_backward_pass_shows_what_is_passed_on_and_what_was_received() -> None:
    code = """
from learning_figures import Step, backward_steps
step = Step("b passes on", "b", {"a": ["8", "9"]}, {"b": "1", "a": "17"}, ["L"])
at = {"L": (0, 0), "b": (0, 1), "a": (0, 2)}
print(backward_steps({"L": ["b"], "b": ["a", "a"]}, at, [step], "C")._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["1. b passes on", "8", "9", "L", "b", "1", "a", "17"]
    assert re.findall(r'<circle class="([^"]+)"', drawn) == ["graph-node done", "graph-node marked", "graph-node"]
    assert drawn.count('class="graph-edge active"') == 2
    assert drawn.count('class="graph-edge"') == 1


def test_a_stack_marks_the_upper_copy_of_a_node_that_was_entered() -> None:
    code = """
from learning_figures import Stack, stacks
print(stacks([Stack("yaba", "leave a", "yba"), Stack("ya", "pop a", "yba", "ab")], "C")._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["y", "a", "b", "a", "1", "leave a", "y", "a", "2", "pop a"]
    kinds = re.findall(r'<rect class="(graph-node[^"]*)"', drawn)
    assert ["marked" in kind for kind in kinds] == [True, False, True, True, True, False]
    assert drawn.count("stroke-dasharray") == 1


def test_layers_show_a_square_for_each_channel_and_a_column_for_units() -> None:
    code = """
from learning_figures import Layer, layers
print(layers([Layer([], (1, 8, 8)), Layer(["convolution", "relu"], (3, 8, 8)), Layer(["view"], (192,))], "C")._repr_html_())
"""
    drawn = run_extension(code)
    assert texts_of(drawn) == ["1 × 8 × 8", "relu", "convolution", "3 × 8 × 8", "view", "192"]
    sizes = re.findall(r'<rect class="graph-node" .*? width="(\d+)" height="(\d+)"', drawn)
    assert sizes == [("30", "30")] * 4 + [("12", "68")]
    assert drawn.count('class="graph-edge"') == 2


def test_gradient_descent_draws_its_steps_in_their_order() -> None:
    code = """
import learning_figures
learning_figures.chart = lambda spec, caption: print(spec["title"], [(v["x"], v["y"]) for v in spec["layer"][1]["data"]["values"]])
learning_figures.Row = lambda panels, caption: print(caption)
learning_figures.descent(lambda w: w * w, {"good": [2.0, 0.5], "bad": [2.0, -3.0]}, (-3, 3), 9, "C")
"""
    assert run_extension(code) == "good [(2.0, 4.0), (0.5, 0.25)]\nbad [(2.0, 4.0), (-3.0, 9.0)]\nC\n"


def test_secants_pass_through_both_of_their_points() -> None:
    code = """
import learning_figures
learning_figures.chart = lambda spec, caption: print([(v["x"], v["y"], v["line"]) for v in spec["layer"][1]["data"]["values"]])
learning_figures.secants(lambda x: x * x, 1.0, 2.0, [1.0], (0.0, 2.0), "C")
"""
    steep, tangent = "'ε = 1: slope 3'", "'tangent: slope 2'"
    assert run_extension(code) == f"[(0.0, -2.0, {steep}), (2.0, 4.0, {steep}), (0.0, -1.0, {tangent}), (2.0, 3.0, {tangent})]\n"


def test_a_plane_has_a_color_and_a_shape_for_each_label_and_curves_share_their_axis() -> None:
    code = """
from learning_figures import plane, stacked
print(plane("P", [(0, 0, 0), (1, 1, 1)], [((0, 1), (1, 0))]).svg)
print(stacked({"f": [(0, 0), (1, 1)], "g": [(0, 1), (1, 1)]}, "C", rules=[0.5])._repr_html_())
"""
    points, curves = run_extension(code).split("</svg>")[:2]
    assert "#3b82c4" in points
    assert "#e07b1a" in points
    assert "#010203" not in points + curves
    assert [curves.count(f">{title}</text>") for title in ("f", "g", "x")] == [1, 1, 1]


def test_an_image_is_transparent_at_its_minimum_and_opaque_at_its_maximum() -> None:
    code = "from window_figures import shades\nprint(shades([('a', [[-1, 1], [3, 0]])], 'C', pixel=10)._repr_html_())"
    drawn = run_extension(code)
    pixels = re.findall(r'fill="currentColor" fill-opacity="([\d.]+)" x="(\d+)" y="(\d+)"', drawn)
    assert pixels == [("0.50", "20", "26"), ("1.00", "10", "36"), ("0.25", "20", "36")]


def test_channels_meet_in_a_window_of_weights_for_each_pair() -> None:
    drawn = run_extension("from window_figures import channels\nprint(channels(2, 3, 4, 2, 'C')._repr_html_())")
    texts = texts_of(drawn)
    assert [text for text in texts if "(" in text] == ["input (2, 4, 4)", "weight (3, 2, 2, 2)", "out (3, 4, 4)"]
    assert [texts.count(text) for text in ("*", "+", "=", "channel 1", "channel 2")] == [2, 3, 3, 2, 1]
    assert drawn.count("<rect") == (2 + 3) * 16 + 2 * 3 * 4
    assert drawn.count('class="graph-node marked"') == 2 * 4 + 3


def test_the_output_of_a_tool_and_a_diff_are_those_of_a_terminal() -> None:
    code = r"""
from tool_output import run_tool, show_diff
run_tool({"hello.py": "print('took 2 lines in 0.12s')"}, "hello")
show_diff("a\nb\nc\nd", "a\nb\nC\nd", "letters.txt")
"""
    lines = ["took 2 lines", "--- a/letters.txt", "+++ b/letters.txt", "@@ -2,3 +2,3 @@", " b", "-c", "+C", " d"]
    assert run_extension(code).splitlines() == lines


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
