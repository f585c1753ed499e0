"""The student's source code as it is shown: read completely from the file; a marker identifies unwritten code."""

import ast
import functools

import pytest

from course.manifest import course
from project.lab import task_source
from project.lab.cards import WrongResult
from tests.errors import raises

FILE = '''"""A module."""


def written(x):
    """Doc."""

    def inner(y):
        return y

    return inner(x)


def todo(x):
    """Doc."""
    raise NotImplementedError("Need to implement for Task 3.3")


class Layer:
    def forward(self):
        raise NotImplementedError("of another kind")
'''


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "one.py").write_text(FILE)
    monkeypatch.setattr(task_source, "ROOT", tmp_path)
    return tmp_path


def test_a_function_is_found_by_name_with_its_whole_body(workspace):
    assert task_source.source("modules.one:written").splitlines()[-1] == "    return inner(x)"
    assert task_source.source("modules.one:written.inner").startswith("def inner(y):")
    assert task_source.source("modules.one:Layer.forward").startswith("def forward(self):")


def test_an_unwritten_function_is_known_by_the_marker_of_its_task(workspace):
    assert str(task_source.unwritten(task_source.source("modules.one:todo"))) == "Need to implement for Task 3.3"
    assert task_source.unwritten(task_source.source("modules.one:written")) is None
    assert task_source.unwritten(task_source.source("modules.one:Layer.forward")) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("modules.one:gone", "expected a function gone in modules/one.py, got none; copy its signature from the handout"),
        ("modules.two:gone", "expected a file modules/two.py, got none; copy it from the handout"),
    ],
)
def test_a_missing_function_is_named(workspace, name, message):
    with raises(WrongResult, message):
        task_source.source(name)


def test_an_invalid_python_file_is_named_with_its_line(workspace):
    (workspace / "modules" / "one.py").write_text("x = 1\ndef broken(:\n")
    with pytest.raises(SyntaxError) as caught:
        task_source.source("modules.one:written")
    assert caught.value.lineno == 2
    assert caught.value.filename == str(workspace / "modules" / "one.py")


def test_the_source_of_every_function_of_the_course_is_found(monkeypatch):
    monkeypatch.setattr(task_source.ast, "parse", functools.cache(ast.parse))  # each file once
    for task in course().tasks:
        for name in task.write:
            if not name.endswith("*"):
                assert "def " in task_source.source(name), name


def test_a_task_shows_its_functions_and_whole_classes(monkeypatch):
    shown = []
    monkeypatch.setattr(task_source, "show", lambda names, remind: shown.append((names, remind)))
    task_source.show_task("4.4", "Max", "maxpool2d")
    task_source.show_task("4.1")
    module = "minitorch.nn.functional"
    assert shown == [([f"{module}:Max", f"{module}:maxpool2d"], False), (["minitorch.fast_conv:_tensor_conv1d"], False)]
