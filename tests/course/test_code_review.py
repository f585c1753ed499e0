"""Code in a submission that no right answer needs: `course.staff.grading.code_review`."""

from dataclasses import replace
from pathlib import Path

import pytest

from course.manifest import Manifest
from course.staff.grading.bases import complete_workspace, make_base
from course.staff.grading.code_review import find_unusual
from course.staff.grading.grafting import Graft, graft
from tests.course.miniature import write

RIGHT = "def relu(x: float) -> float:\n    return x if x > 0 else 0.0\n"


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    return write(tmp_path_factory.mktemp("miniature"))


def review(miniature: tuple[Path, Manifest], text: str, id: str = "0.1") -> list[str]:
    """The findings on a submission with this file."""
    root, manifest = miniature
    task = manifest.task(id)
    base = make_base(complete_workspace(root, manifest, task), manifest, task)
    submitted = {task.files[0]: text.encode()}
    return find_unusual(base, graft(base, submitted, "used"), submitted, manifest)


def relu(*lines: str) -> str:
    """A function with these lines."""
    return "".join(["def relu(x):\n", *(f"    {line}\n" for line in lines)])


def test_right_answers_and_helpers_and_usual_imports_are_not_mentioned(miniature: tuple[Path, Manifest]) -> None:
    assert review(miniature, RIGHT) == []
    helper = "import math\nimport numpy as np\n\n\nclass Holder:\n    def __init__(self, x):\n        self.x = x\n\n\n"
    assert review(miniature, helper + relu("held = Holder(x)", "held.x = np.exp(x)", "return getattr(held, 'x')")) == []


@pytest.mark.parametrize(
    ("lines", "findings"),
    [
        (["import os", "return os.getpid()"], ["relu imports os", "relu uses os"]),
        (["from dataclasses import sys", "return sys"], ["relu uses sys"]),
        (["return eval('x')"], ["relu calls eval"]),
        (["return getattr(x, 'a' + 'b')"], ["relu calls getattr"]),
        (["return relu.__globals__"], ["relu uses __globals__"]),
        (["import numpy as n", "return n.matmul(x, x)"], ["relu uses numpy.matmul"]),
        (["from numpy import einsum", "return einsum(x)"], ["relu uses numpy.einsum"]),
        (["return x @ x"], ["relu uses @"]),
        (["import math", "math.exp = abs", "return x"], ["relu changes math.exp"]),
        (["import math", "setattr(math, 'exp', abs)", "return x"], ["relu calls setattr(math, 'exp', abs)"]),
        (["x.__class__ = int", "return x"], ["relu changes x.__class__"]),
        (["class C(float): pass", "return C(x)"], ["relu defines C, a class derived from float"]),
        (["class C:", "    __eq__ = lambda a, b: True", "return C()"], ["relu defines C, a class with __eq__"]),
        (["return type('C', (float,), {})(x)"], ["relu calls type to create a class"]),
        (["global relu", "relu = abs", "return x"], ["relu replaces relu"]),
    ],
)
def test_code_that_no_right_answer_needs_is_mentioned_once(miniature: tuple[Path, Manifest], lines: list[str], findings: list[str]) -> None:
    assert review(miniature, relu(*lines)) == findings


def test_students_tests_may_import_pytest_but_not_random(miniature: tuple[Path, Manifest]) -> None:
    test = "import random\n\nimport pytest\n\n\ndef test_own():\n    assert random.random() < 0.5\n"
    assert review(miniature, test, "0.2") == ["the module imports random"]


def test_a_method_of_a_given_class_that_is_bound_by_an_assignment_is_not_mentioned(miniature: tuple[Path, Manifest]) -> None:
    root, manifest = miniature
    base = make_base(complete_workspace(root, manifest, manifest.task("0.1")), manifest, manifest.task("0.1"))
    path = base.task.files[0]
    given = "class Number:\n    def __lt__(self, b):\n        pass\n\n    def __eq__(self, b):\n        pass\n"
    assigned = "class Number:\n    __eq__ = binary('eq')\n\n    def __lt__(self, b):\n        pass\n"
    for text, findings in (
        (assigned, []),
        (assigned + "    __hash__ = binary('hash')\n", ["the module defines Number, a class with __hash__"]),
    ):
        work = Graft({path: text}, (), ())
        assert find_unusual(replace(base, files={**base.files, path: given}), work, {}, manifest) == findings
