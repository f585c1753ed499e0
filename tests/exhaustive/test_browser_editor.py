"""The editors of the book's tasks: what they serve, and tasks of Modules 0 and 1 written in Chromium, in a page on the disk."""

import base64
import gzip
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course.manifest import ROOT, course
from course.staff.handout.generate import handout_files, write_files
from tests.course.test_class_page import browser, needs_chromium  # browser is a fixture
from tests.errors import raises

STUB = 'raise NotImplementedError("Need to implement for Task 0.1")'
DONE = ".editor-result[data-state]:not([data-state=running])"
SECONDS = 120
"""How long a run may take on a busy machine."""


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
    code = "import browser_editor as b; print(b.workspace()['minitorch/operators.py'].count(b'Task 0.1'), *b.own_parts())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([".", "docs/_ext"])}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("16 worker.js free_graphs.py run_task.py\n", "")


def test_the_script_is_small_and_holds_no_file_of_the_staff(script: str) -> None:
    assert len(script) <= 15_000_000
    parts = json.loads(script.removeprefix("globalThis.pythonParts = "))
    assert sorted(parts) == sorted(
        [
            "pyodide.js", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json",
            "worker.js", "free_graphs.py", "run_task.py", "packages.zip", "workspace.zip",
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
