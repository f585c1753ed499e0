"""Mutants are drawn by the seed, are found again by their text, and are killed only by a test that fails."""

import ast
import subprocess
import sys

import pytest

from benchmarks import mutants

MODULE = '''"""A module of 3 lines."""


def larger(a: int | None, b):
    """The larger number."""
    return a if a > b else b


def unused(a):
    return a + 1
'''
TESTS = """from minitorch.numbers import larger


def test_the_larger_number():
    assert larger(1, 2) == 2
    assert larger(2, 1) == 2
"""


def mutated(line):
    """What each change of a line makes of it."""
    made = [mutants.make_mutant("a.py", line, edit) for edit in mutants.edits(line)]
    return {mutant.after for mutant in made if mutant}


@pytest.fixture
def tree(tmp_path):
    """A repository of one module and one test file."""
    files = {"minitorch/__init__.py": "", "minitorch/numbers.py": MODULE, "tests/test_numbers.py": TESTS, ".gitignore": "__pycache__\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    person = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*person, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(a < b)", {"f(a <= b)", "pass"}),
        ("f(a is not b)", {"f(a is b)", "pass"}),
        ("f(é in (b))", {"f(é not in (b))", "pass"}),
        ("f(a // b)", {"f(a / b)", "pass"}),
        ("f((a) and b or c)", {"f((a) or b or c)", "f((a) and b and c)", "pass"}),
        ("f(not (a))", {"f((a))", "pass"}),
        ("a += 1.5", {"a -= 1.5", "a += 2.5", "pass"}),
        ("a: int | None = True", {"a: int | None = False", "pass"}),
        ("def f(): return a", {"def f(): return None"}),
        ("f(\n    3,\n)", {"    4,", "pass"}),
        ("import a; raise E", set()),
        ("'A docstring.'", set()),
        ("def f(): return None", set()),
        ("if TYPE_CHECKING:\n    a = 1", set()),
    ],
)
def test_each_place_is_changed_once(line, expected):
    assert mutated(line) == expected


def test_the_draw_depends_only_on_the_seed(tree):
    first = mutants.draw(tree, 0, 4)
    assert first == mutants.draw(tree, 0, 4) != mutants.draw(tree, 1, 4)
    assert all(ast.parse(mutants.apply(MODULE, mutant)[0]) for mutant in first)


def test_a_mutant_is_found_by_its_text_within_the_function():
    mutant = mutants.Mutant("minitorch/numbers.py", "unused", "    return a + 1", "    return a - 1", 0)
    moved = MODULE.replace("def larger", "OTHER = 1\n\n\ndef other(a):\n    return a + 1\n\n\ndef larger")
    source, line = mutants.apply(moved, mutant)
    assert source == moved.replace("def unused(a):\n    return a + 1", "def unused(a):\n    return a - 1")
    assert source.split("\n")[line - 1] == "    return a - 1"
    expected = r"expected at least 1 of these lines in unused, got 0; they changed after the draw: return a \+ 1"
    with pytest.raises(LookupError, match=expected):
        mutants.apply(MODULE.replace("a + 1", "a + 2"), mutant)


def test_a_tested_change_is_killed_and_an_untested_one_survives(tree):
    killed = mutants.Mutant("minitorch/numbers.py", "larger", "    return a if a > b else b", "    return None", 0)
    survivor = mutants.Mutant("minitorch/numbers.py", "unused", "    return a + 1", "    return a - 1", 0)
    missing = mutants.Mutant("minitorch/numbers.py", "removed", "    return 1", "    return None", 0)
    results = {m: mutants.run(tree, sys.executable, m, "test", 60.0) for m in (killed, survivor, missing)}
    assert [result["verdict"] for result in results.values()] == ["killed", "survived", "not located"]
    assert (results[killed]["test"], results[killed]["line"]) == ("tests/test_numbers.py::test_the_larger_number", 6)
    assert (tree / "minitorch/numbers.py").read_text() == MODULE
    rows = mutants.compare(results, {**results, killed: {"verdict": "survived", "line": 7}}).splitlines()
    assert rows[1].split() == ["minitorch", "2", "1", "0", "1", "0"]
    assert rows[-1] == "only before: minitorch/numbers.py:7 larger: return a if a > b else b -> return None"
