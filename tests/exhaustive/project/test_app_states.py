"""Every page of the app with code that cannot be parsed, is not written, raises, or returns something wrong."""

import ast
import re

import pytest

from course.manifest import course
from project.lab import registry
from tests.project.pages import ignore_saved_files, open_page
from tests.project.test_app_states import RAISED
from tests.project.workspace import copy, rewrite, show, turn_optimized_kernels_off

PAGES = [row.name for row in registry.ROWS]


WITHOUT_STUDENT_CODE = {"home", "runs", "sweeps", "m3_tiling", "m3_grid"}


WITHOUT_GRADED_CODE = WITHOUT_STUDENT_CODE | {"m3_kernels"}
"""Pages that call no function of a task when they are opened."""


def test_every_page_handles_a_syntax_error_and_names_the_line(tmp_path):
    folder = copy(tmp_path)
    source = (folder / "minitorch" / "operators.py").read_text()
    (folder / "minitorch" / "operators.py").write_text("def broken(:\n" + source)
    for name, page in show(folder, PAGES).items():
        assert page["exceptions"] == []
        if name not in WITHOUT_STUDENT_CODE:
            assert "minitorch/operators.py, line 1: invalid syntax" in page["notices"][0], name


def test_every_page_handles_a_workspace_in_which_nothing_is_written(tmp_path):
    folder = copy(tmp_path)
    rewrite(folder, lambda _, task: ast.parse(f'raise NotImplementedError("Need to implement for Task {task.id}")').body)
    turn_optimized_kernels_off(folder)
    for name, page in show(folder, PAGES).items():
        assert page["exceptions"] == [], name
        if name == "m0_modules":
            assert "Task 0.4 is not written yet" in page["notices"][0]
        elif name not in WITHOUT_GRADED_CODE:
            assert any("is not written yet" in notice for notice in page["notices"]), name


WRONG = {
    "None": lambda function, _: ast.parse("return None").body,
    "a number": lambda function, _: ast.parse("return 1.0").body,
    "another shape": lambda function, _: [ReturnsAnotherShape().visit(statement) for statement in function.body],
}


NOT_NOTICED = {
    "another shape": {"m6_fused"},  # its function writes into its arguments and returns nothing, so that nothing has changed
}
"""Pages on which these results of all tasks look right."""


ANOTHER_SHAPE = """
def another_shape(value):
    if isinstance(value, tuple):
        return (*value, 1)
    if isinstance(value, list):
        return [*value, 1.0]
    if type(value).__name__ == "Tensor":
        return type(value).make([1.0, 2.0], (1, 2), backend=value.backend)
    return (value, value)
"""


class ReturnsAnotherShape(ast.NodeTransformer):
    """Makes a function return a longer tuple or list, a tensor of shape (1, 2), or two values instead of one."""

    def visit_FunctionDef(self, node):
        return node  # the functions inside of it stay as they are

    def visit_Return(self, node):
        return ast.Return(ast.Call(ast.Name("another_shape"), [node.value or ast.Constant(None)], []))


def wrong_workspace(folder, kind, tasks=None):
    """A workspace in which the functions of these tasks return something wrong."""
    copy(folder)
    turn_optimized_kernels_off(folder)
    rewrite(folder, WRONG[kind], tasks)
    if kind == "another shape":
        for path in [*folder.glob("minitorch/**/*.py"), *folder.glob("project/run_*.py")]:
            source = path.read_text(encoding="utf-8")
            if "another_shape(" in source:
                path.write_text(source + ANOTHER_SHAPE, encoding="utf-8")
    return folder


def raised_at(page, folder):
    """The source lines that the page names as those that raised the error."""
    text = "\n".join([*page["errors"], *page["code"]])
    places = re.findall(r"((?:minitorch|project)/[\w/]+\.py)\"?, line (\d+)", text)
    return [(folder / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip() for file, line in places]


def test_every_page_names_the_line_of_a_function_that_raises(tmp_path):
    folder = copy(tmp_path)
    turn_optimized_kernels_off(folder)
    rewrite(folder, lambda *_: ast.parse(RAISED).body)
    for name, page in show(folder, PAGES).items():
        assert page["exceptions"] == [], name
        if name not in WITHOUT_GRADED_CODE:
            assert page["errors"], name
            assert "Training failed." not in page["errors"], name  # the errors of programs are cards, too
            assert "broken on purpose" in "\n".join([*page["errors"], *page["code"]]), name
            assert ast.unparse(ast.parse(RAISED)) in raised_at(page, folder), name


@pytest.mark.parametrize("kind", WRONG)
def test_every_page_reports_functions_that_return_something_wrong(tmp_path, kind):
    folder = wrong_workspace(tmp_path, kind)
    for name, page in show(folder, PAGES).items():
        assert page["exceptions"] == [], name
        if name not in WITHOUT_GRADED_CODE | NOT_NOTICED.get(kind, set()):
            assert page["errors"], name


@pytest.mark.parametrize("stage", [stage.number for stage in course().stages if stage.number < course().stages[-1].number])
@pytest.mark.parametrize("kind", WRONG)
def test_no_page_fails_if_only_one_module_is_wrong(tmp_path, kind, stage):
    """Deeper than the test above: the modules before are right, so that the pages get as far as the wrong results.

    No training is started: with a wrong result that nobody notices, such as a backward pass that does nothing, it would run to its end.
    """
    tasks = [task for task in course().tasks if task.id.startswith(f"{stage}.")]
    assert tasks
    folder = wrong_workspace(tmp_path, kind, tasks)
    for name, page in show(folder, [row.name for row in registry.ROWS if row.module is None or row.module >= stage], press=False).items():
        assert page["exceptions"] == [], name
