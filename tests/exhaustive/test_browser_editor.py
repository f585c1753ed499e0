"""Python in the book's pages, in Chromium and from the disk: tasks of Modules 0 and 1 written in their editors, and cells that run."""

import base64
import gzip
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from course.manifest import ROOT, course
from course.staff.handout.generate import handout_files, write_files
from tests.course.test_class_page import browser, needs_chromium  # browser is a fixture
from tests.errors import raises
from tests.exhaustive.test_book import book  # a fixture

STUB = 'raise NotImplementedError("Need to implement for Task 0.1")'
DONE = ".editor-result[data-state]:not([data-state=running])"
SECONDS = 120
"""How long a run may take on a busy machine."""

PAGES = [
    "first_hour", "module0/functional", "module0/modules", "module0/operators", "module0/property_testing", "module0/visualization",
    "module1/backpropagation", "module1/chain_rule", "module1/derivatives", "module1/forward_mode", "module1/scalars",
    "module1/topological_order", "module1/training", "primer/hidden_layers", "primer/python", "primer/training_loop",
]  # fmt: skip
"""The pages with cells that run."""


@pytest.fixture(scope="module")
def browser_editor() -> Iterator[ModuleType]:
    """The book's extension."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "_ext"))
        yield importlib.import_module("browser_editor")
        sys.modules.pop("browser_editor")


@pytest.fixture(scope="module")
def script(browser_editor: ModuleType) -> str:
    """The script that holds Python; needs the npm client, and the network the first time."""
    try:
        return browser_editor.script(browser_editor.get_pyodide(ROOT / "docs" / "_build" / "pyodide"))
    except browser_editor.NotAvailable as error:
        pytest.skip(str(error))


@pytest.fixture
def open_editor(script: str, browser_editor: ModuleType, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a page with the editor of one task, as the book shows it."""
    (tmp_path / "python.js").write_text(script, encoding="ascii")
    shutil.copy(ROOT / "docs" / "_static" / "editor.js", tmp_path)
    page = browser.new_page()

    def open_page(task: str) -> Any:
        html = browser_editor.editor(course().task(task), browser_editor.workspace(), "", runs=True)
        (tmp_path / "page.html").write_text(f'<!doctype html><meta charset="utf-8">{html}', encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    page.close()


def run(page: Any) -> str:
    """The text that the page shows when the tests have ended."""
    page.locator(".editor-run").click()
    page.wait_for_selector(DONE, timeout=1000 * SECONDS)
    return page.locator(".editor-result").inner_text()


def save_reference(page: Any, task: str) -> None:
    """Write the reference's code of a task, and of those that it needs, as if the reader had."""
    for path in {path for needed in (task, *course().task(task).requires) for path in course().task(needed).files}:
        page.evaluate(
            "([path, text]) => localStorage.setItem('minitorch:' + path, text)", [path, (ROOT / path).read_text(encoding="utf-8")]
        )
    page.reload()


# What is served


def test_the_book_serves_the_files_that_students_receive(browser_editor: ModuleType) -> None:
    handout = handout_files(ROOT, course(), 1)  # searched for solutions
    served = browser_editor.workspace()
    expected = {path: handout[path] for path in served}
    assert served == {path: data if isinstance(data, bytes) else data.encode("utf-8") for path, data in expected.items()}
    assert served["minitorch/operators.py"].count(STUB.encode()) == 16
    assert not [path for path in served if path.startswith("course/staff")]


def test_a_workspace_can_build_the_editors_and_serves_the_stubs_when_they_are_written(tmp_path: Path) -> None:
    write_files(tmp_path, handout_files(ROOT, course(), 0, search=False))
    (tmp_path / "minitorch" / "operators.py").write_text("written = True\n", encoding="utf-8")
    code = "import browser_editor as b; print(b.workspace()['minitorch/operators.py'].count(b'Task 0.1'), *b.own_parts(), b.reference())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([".", "docs/_ext"])}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("16 worker.js free_graphs.py run_task.py run_cell.py {}\n", "")


def test_the_script_is_small_and_holds_no_file_of_the_staff(script: str) -> None:
    assert len(script) <= 15_000_000
    parts = json.loads(script.removeprefix("globalThis.pythonParts = "))
    assert sorted(parts) == sorted(
        [
            "pyodide.js", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json",
            "worker.js", "free_graphs.py", "run_task.py", "run_cell.py", "packages.zip", "workspace.zip", "reference.zip",
        ]
    )  # fmt: skip
    with zipfile.ZipFile(io.BytesIO(gzip.decompress(base64.b64decode(parts["workspace.zip"])))) as workspace:
        assert [name for name in workspace.namelist() if name.startswith("course/staff/")] == []
        assert b"Need to implement for Task 0.1" in workspace.read("minitorch/operators.py")


def test_a_book_without_npm_says_what_to_run_instead(browser_editor: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(browser_editor.NotAvailable, "npm is not installed"):
        browser_editor.get_pyodide(tmp_path / "pyodide")
    assert browser_editor.editor(course().task("0.1"), {}, "", runs=False) == (
        "<p>In this copy of the book the code cannot be run in the page, because it was built without Pyodide. In your workspace, run: "
        "<code>course test 0.1</code></p>"
    )


def test_a_download_that_fails_says_why(browser_editor: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **_: Any) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="npm error code\nnpm error network is unreachable\n")

    monkeypatch.setattr(browser_editor.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(browser_editor.subprocess, "run", fail)
    with raises(browser_editor.NotAvailable, "npm failed: npm error network is unreachable"):
        browser_editor.get_pyodide(tmp_path / "pyodide")
    assert list((tmp_path / "pyodide").iterdir()) == []


# Which cells run


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["import math", "math.pi", "import subprocess", "math = 1"], [True, True, False, True]),
        (["import numpy as np", "x = np.pi", "y = 1", "print(x, y)"], [False, False, True, False]),
        (["from hypothesis import given", "import figures", "from project.run_scalar import Network"], [True, False, True]),
        (["import minitorch", "minitorch.Scalar(1.0)", "minitorch.tensor([1.0])", "import minitorch.tensor"], [True, True, False, False]),
        (["from minitorch import Dual", "from minitorch import Tensor", "from minitorch.operators import mul"], [True, False, True]),
        (["print(unknown)", "def f(x, *, y=0):\n    return x + y", "[f(i) for i in range(3)]"], [False, True, True]),
        (["%timeit 1", "from minitorch import *", "match 1:\n    case found:\n        print(found)"], [False, False, True]),
        (["try:\n    pass\nexcept ValueError as error:\n    print(error)", "class A: pass", "A()"], [True, True, True]),
    ],
)
def test_a_cell_runs_if_its_modules_are_packed_and_its_names_come_from_cells_that_run(
    browser_editor: ModuleType, cells: list[str], expected: list[bool]
) -> None:
    page_cells = importlib.import_module("page_cells")
    assert page_cells.runnable(cells, browser_editor.reference()) == expected


@pytest.mark.parametrize(("python", "second", "offered"), [(True, "y = x", True), (True, "import numba", False), (False, "y = x", False)])
def test_cells_are_marked_in_a_book_with_python_if_most_of_a_page_run(
    browser_editor: ModuleType, python: bool, second: str, offered: bool
) -> None:
    page = new_document("page")
    for code, tag in (("x = 1", "tag_wrap"), ("x = 2", "tag_hide-input"), (second, "cell")):
        page += nodes.container("", nodes.literal_block(code, code), nb_element="cell_code", classes=["cell", tag])
    app = SimpleNamespace(config=SimpleNamespace(editors_run=python), env=SimpleNamespace(docname="module0/page"))
    importlib.import_module("page_cells").mark_cells(app, page)
    assert ["runs" in cell["classes"] for cell in page.children[:3]] == [offered, False, offered]
    script = '<div data-cells="../_static/python.js"></div><script src="../_static/editor.js" defer></script>'
    assert [added.astext() for added in page.children[3:]] == [script] * offered


def test_cells_run_on_the_solutions_of_the_first_two_modules(browser_editor: ModuleType) -> None:
    files = browser_editor.reference()
    assert files["minitorch/operators.py"] == (ROOT / "minitorch" / "operators.py").read_bytes()
    assert "minitorch/tensor.py" not in files
    assert not [path for path in files if path.startswith(("course/", "tests/"))]


# In Chromium


@needs_chromium
def test_a_wrong_product_shows_its_smallest_failing_example_and_the_reader_s_code_is_kept(open_editor: Any) -> None:
    page = open_editor("0.1")
    area = page.locator("textarea")
    area.fill(area.input_value().replace(STUB, "return x + y", 1))
    shown = run(page)
    assert shown.startswith("✗ Task 0.1 Operators: failing. Of 80 tests, 2 pass, 1 fails, 77 wait for your code.\n\n")
    assert "The test says   mul(x, y) is x · y.\nSmallest input  x = 0.0\n                y = 1.0\nExpected        0.0\n" in shown
    assert "Yours           1.0\n" in shown
    assert "course test" not in shown
    page.reload()
    assert "return x + y" in page.locator("textarea").input_value()


@needs_chromium
def test_a_loop_without_end_can_be_stopped_and_another_run_follows(open_editor: Any) -> None:
    page = open_editor("0.1")
    area = page.locator("textarea")
    stub = area.input_value()
    area.fill(stub.replace(STUB, "while True: pass", 1))
    page.locator(".editor-run").click()
    page.wait_for_function("document.querySelector('.editor-result').textContent.includes('product')", timeout=1000 * SECONDS)
    page.get_by_role("button", name="Stop").click()
    text = "Stopped during this test: Mul is the product.\nLook for a loop that does not end."
    assert page.locator(".editor-result").inner_text() == text
    area.fill(stub)
    assert run(page) == "○ Task 0.1 Operators: todo. 16 functions to write."


@needs_chromium
@pytest.mark.parametrize(
    ("task", "tests"), [("0.1", 80), ("0.2", 27), ("0.3", 23), ("0.4", 17), ("1.1", 17), ("1.2", 91), ("1.3", 19), ("1.4", 95)]
)
def test_the_reference_passes_in_the_page(open_editor: Any, task: str, tests: int) -> None:
    page = open_editor(task)
    save_reference(page, task)
    title = course().task(task).title
    assert run(page) == f"✓ Task {task} {title}: passed. Of {tests} tests, {tests} pass."


RECURSIVE = """
def topological_sort(variable):
    found, seen = [], set()

    def visit(node):
        if node.history is None or node in seen:
            return
        seen.add(node)
        for parent in node.history.inputs:
            visit(parent)
        found.append(node)

    visit(variable)
    return found[::-1]
"""


@needs_chromium
def test_a_recursive_search_of_a_deep_graph_fails_with_an_error_of_python(open_editor: Any) -> None:
    page = open_editor("1.4")
    save_reference(page, "1.4")
    area = page.get_by_label("minitorch/autodiff.py")
    area.fill(area.input_value() + RECURSIVE)
    shown = run(page)
    assert shown.startswith("✗ Task 1.4 Backpropagation: failing. Of 95 tests, 94 pass, 1 fails.\n\n")
    assert "A graph may be far deeper than Python's call stack" in shown
    assert "RecursionError" in shown


@needs_chromium
def test_a_method_that_calls_itself_fails_with_an_error_of_python(open_editor: Any) -> None:
    page = open_editor("1.2")
    save_reference(page, "1.2")
    area = page.get_by_label("minitorch/scalar.py")
    area.fill(area.input_value().replace("return Mul.apply(self, b)", "return self * b", 1))
    assert "RecursionError" in run(page)


def page_of(*cells: str) -> str:
    """A page with these cells, as the book has them; each was built with the output "built"."""
    boxes = [
        f'<div class="cell runs"><div class="cell_input"><pre>{escape(code)}\n</pre></div><div class="cell_output">built</div></div>'
        for code in cells
    ]
    return f'<!doctype html><meta charset="utf-8">{"".join(boxes)}<div data-cells="python.js"></div><script src="editor.js" defer></script>'


@pytest.fixture
def open_cells(script: str, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a page with cells."""
    (tmp_path / "python.js").write_text(script, encoding="ascii")
    shutil.copy(ROOT / "docs" / "_static" / "editor.js", tmp_path)
    page = browser.new_page()

    def open_page(*cells: str) -> Any:
        (tmp_path / "page.html").write_text(page_of(*cells), encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    page.close()


def wait(page: Any, number: int) -> str:
    """What a cell shows when it has run: its output, and its status in parentheses."""
    cell = page.locator(".cell.runs").nth(number - 1)
    cell.get_by_role("button", name="Run").and_(page.locator(":enabled")).wait_for(timeout=1000 * SECONDS)
    return f"{cell.locator('.editor-result').text_content()}({cell.get_by_role('status').text_content()})"


def press(page: Any, number: int, button: str = "Run") -> None:
    """Press a button of a cell."""
    page.locator(".cell.runs").nth(number - 1).get_by_role("button", name=button).click()


@needs_chromium
def test_cells_share_names_can_be_changed_and_are_reset(open_cells: Any) -> None:
    page = open_cells("def f(x):\n    return 1 / x", "y = 2.0", "print(f(y))\ny", "import minitorch\nminitorch.operators.mul(2.0, 3.0)")
    code = page.get_by_label("Code of cell 2")
    press(page, 3)
    assert wait(page, 3) == "0.5\n2.0\n(Done.)"
    assert page.get_by_text("built", exact=True).filter(visible=True).count() == 1  # of cell 4, which has not run
    code.fill("y = 0.0")
    code.press("Control+Enter")
    assert wait(page, 2) == "(Done; it prints nothing.)"
    press(page, 3)
    error = "Line 2 of cell 1, called from line 1 of cell 3, failed:\n    return 1 / x\nZeroDivisionError: division by zero"
    assert wait(page, 3) == f"{error}()"
    press(page, 4)
    assert wait(page, 4) == "(Cell 3, above, failed.)"
    press(page, 2, "Reset")
    assert code.text_content() == "y = 2.0\n"
    press(page, 4)
    assert wait(page, 4) == "6.0\n(Done.)"
    assert wait(page, 3) == "0.5\n2.0\n(Done.)".replace("(Done.)", "()")


@needs_chromium
def test_enter_indents_and_a_syntax_error_is_shown(open_cells: Any) -> None:
    page = open_cells("if True:\n    x = 1")
    code = page.get_by_label("Code of cell 1")
    code.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("print(7)")
    page.keyboard.press("Enter")
    page.keyboard.type("print(8")
    assert code.inner_text() == "if True:\n    print(7)\n    print(8\n    x = 1\n"
    page.keyboard.press("Control+Enter")
    assert wait(page, 1).startswith('  File "cell 1", line 3\n    print(8\n')
    assert "SyntaxError: '(' was never closed" in wait(page, 1)
    page.keyboard.type(")")
    page.keyboard.press("Control+Enter")
    assert wait(page, 1) == "7\n8\n(Done.)"


@needs_chromium
def test_a_cell_without_end_can_be_stopped_and_python_starts_again(open_cells: Any) -> None:
    page = open_cells("x = 5", "print(x)\nwhile True: pass", "x + 1", "for i in range(10**6): print(i)")
    press(page, 2)
    page.wait_for_function("document.querySelectorAll('.editor-result')[1].textContent === '5\\n'", timeout=1000 * SECONDS)
    press(page, 2, "Stop")
    assert wait(page, 2) == "5\n(Stopped.)"
    page.get_by_label("Code of cell 2").fill("pass")
    press(page, 3)
    assert wait(page, 3) == "6\n(Done.)"
    press(page, 4)
    assert wait(page, 4).endswith("... (the rest is not shown)\n(Done.)")


@needs_chromium
def test_an_empty_line_is_output_and_a_long_error_is_cut(open_cells: Any) -> None:
    page = open_cells("print('')\nprint(end='')\nprint(1)", "print('x' * 19_999)", "raise ValueError('x' * 10**6)")
    press(page, 1)
    assert wait(page, 1) == "\n1\n(Done.)"
    press(page, 2)
    assert wait(page, 2) == "x" * 19_999 + "\n(Done.)"
    press(page, 3)
    assert wait(page, 3).endswith("x\n... (the rest is not shown)\n()")


@needs_chromium
def test_a_cell_may_make_and_free_a_deep_graph(open_cells: Any) -> None:
    page = open_cells(
        "import minitorch\nx = y = minitorch.Scalar(1.0)\nfor _ in range(20_000): y = y + 1\ny.backward()\ndel y\nx.derivative"
    )
    press(page, 1)
    assert wait(page, 1) == "1.0\n(Done.)"


@needs_chromium
def test_a_cell_does_not_print_the_code_of_a_task(open_cells: Any) -> None:
    page = open_cells("import inspect, minitorch", "print(inspect.getsource(minitorch.operators.mul))")
    press(page, 2)
    assert wait(page, 2).endswith("OSError: could not get source code()")


@needs_chromium
def test_pages_have_cells_that_run(script: str, book: Path) -> None:
    pages = [page for page in book.rglob("*.html") if "data-cells" in page.read_text(encoding="utf-8")]
    assert sorted(page.relative_to(book).with_suffix("").as_posix() for page in pages) == PAGES


@needs_chromium
def test_a_slash_that_is_typed_in_a_cell_does_not_open_the_search(script: str, book: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((book / "module0" / "functional.html").as_uri())
    code = page.get_by_label("Code of cell 2")
    code.focus()
    page.keyboard.type("1 / 2 ")
    assert code.inner_text().startswith("1 / 2 def multiplier")
    page.close()


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_cells_print_in_the_page_what_they_printed_in_the_build(script: str, book: Path, browser: Any, name: str) -> None:
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.partition(":")[0]))
    page.goto((book / f"{name}.html").as_uri())
    cells = page.locator(".cell.runs")
    built = [cell.locator(".cell_output").all_text_contents() for cell in cells.all()]
    last = cells.count()
    press(page, last)
    assert wait(page, last).endswith(("(Done.)", "(Done; it prints nothing.)"))
    shown = [cell.locator(".editor-result").text_content() for cell in cells.all()]
    assert list(map(plain, shown)) == [plain("".join(outputs)) for outputs in built]
    assert set(requests) <= {"file", "data", "blob"}
    page.close()


def plain(output: str) -> str:
    """An output without what differs between runs: addresses of objects, and line breaks, which MyST adds where output came in parts."""
    return " ".join(re.sub(r"0x[0-9a-f]+", "0x...", output).split())
