"""A repository with two stages and three tasks, small enough that tests can cut, stub and prove it quickly."""

from __future__ import annotations

import shutil
from pathlib import Path

from course.manifest import ROOT, Manifest, load

FILES = {
    "course/tasks.toml": """# The course.

[course]
title = "Miniature"
package = "minitorch"

[[stage]]
number = 0
title = "Floats"
modules = ["operators"]

[[stage]]
number = 1
title = "Scalars"
modules = ["scalar"]

# The tasks.

[[task]]
id = "0.1"
title = "Relu"
points = 10
mark = "task0_1"
requires = []
write = ["minitorch.operators:relu"]
hints = ["One line."]
page = "module0/relu"
app = "m0_relu"

[[task]]
id = "0.2"
title = "A test"
points = 10
mark = "task0_2"
requires = ["0.1"]
write = ["tests.test_operators:test_own"]
hints = ["One line."]
page = "module0/relu"
app = "m0_relu"

[[task]]
id = "1.1"
title = "Double"
points = 10
mark = "task1_1"
requires = []
write = ["minitorch.scalar:Scalar.double"]
hints = ["One line."]
page = "module1/scalar"
app = "m1_scalar"
""",
    "minitorch/__init__.py": '''"""Contents."""

__version__ = "0.1.0"

# Stage 0 - Floats
from minitorch.operators import relu

# Stage 1 - Scalars
from minitorch.scalar import Scalar

__all__ = [
    "Scalar",
    "relu",
]
''',
    "minitorch/operators.py": '''"""Stage 0."""


def relu(x: float) -> float:
    """x if x > 0, else 0.0."""
    return x if x > 0 else 0.0
''',
    "minitorch/scalar.py": '''"""Stage 1."""


class Scalar:
    """A number."""

    def __init__(self, data: float) -> None:
        self.data = data

    def double(self) -> "Scalar":
        """Twice."""
        return Scalar(self.data + self.data)
''',
    "tests/__init__.py": '"""Tests."""\n',
    "tests/strategies.py": '"""Strategies."""\n\nfrom hypothesis.strategies import floats\n\nsmall = floats(-9, 9)\n',
    "tests/test_operators.py": '''"""Stage 0."""

import pytest
from hypothesis import given

from minitorch.operators import relu

from .strategies import small


@pytest.mark.task0_1
def test_relu() -> None:
    assert relu(2.0) == 2.0
    assert relu(-2.0) == 0.0


@pytest.mark.task0_2
@given(small)
def test_own(x: float) -> None:
    """Relu is never negative."""
    assert relu(x) >= 0
''',
    "tests/test_scalar.py": '''"""Stage 1."""

import pytest

from minitorch.scalar import Scalar


@pytest.mark.task1_1
def test_double() -> None:
    assert Scalar(2.0).double().data == 4.0
''',
    "tests/test_unmarked.py": '"""Of the reference alone."""\n\n\ndef test_it() -> None:\n    pass\n',
    "project/app.py": '"""The app."""\n',
    "project/run_relu.py": '"""Stage 0."""\n\nimport minitorch\n\n\ndef show() -> None:\n    print(minitorch.relu(1.0))\n',
    "project/run_scalar.py": '"""Stage 1."""\n\nimport minitorch\n\n\ndef show() -> None:\n    print(minitorch.Scalar(1.0))\n',
    "project/lab/plot.py": '"""Stage 1, through what it imports."""\n\nfrom project.run_scalar import show\n',
    "project/lab/later.py": '"""Stage 0."""\n\n\ndef f():\n    from project.run_scalar import show\n',
    "project/lab/table.py": '"""Needs no stage."""\n',
    "project/views/home.py": '"""Home."""\n\n\ndef show():\n    from project.lab import later\n',
    "project/views/m0_relu.py": '"""Relu."""\n',
    "project/views/m1_scalar.py": '"""Scalars."""\n\nfrom project.lab import plot, table\n',
    "docs/index.md": "# Book\n\n```{toctree}\nmodule0/index\nScalars <module1/index>\n/api/stage1\n```\n\nmodule1/index\n",
    "docs/module0/index.md": "# Floats\n",
    "docs/module1/index.md": "# Scalars\n\n```{code-cell}\nfrom curves import curve\n```\n",
    "docs/_ext/curves.py": '"""Drawings."""\n',
    "docs/api/stage1.md": "# API\n",
    "docs/decisions/0001.md": "# Why\n",
    "pyproject.toml": "# The teacher's.\n",
    "Makefile": "# The teacher's.\n",
    "LICENSE": "MIT\n",
    "notes.txt": "Not for students.\n",
}


MACHINE = sorted(
    file.relative_to(ROOT).as_posix()
    for folder in ("", "cli", "explain", "oracles", "runner", "workspace")
    for file in (ROOT / "course" / folder).glob("*.py")
)
"""The files of the course machine that students have."""


def write(root: Path) -> tuple[Path, Manifest]:
    """Write the repository and read its manifest; its course machine is the real one."""
    for path, content in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    for path in MACHINE:
        (root / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    return root, load(root / "course" / "tasks.toml")
