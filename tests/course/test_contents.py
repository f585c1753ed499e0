"""The package as it is cut after a stage."""

import shutil
import subprocess
import sys
from pathlib import Path

from course.manifest import ROOT
from course.staff.handout.rewriter import remove_imports
from course.workspace.tables_of_contents import cut_after

INIT = '''"""Contents."""

# Stage 0 - Floats
from minitorch.first import one

# Stage 1 - Scalars
from minitorch.second import two
raise RuntimeError("stage 1")

# Not of a stage
rest = 3
__all__ = [
    "one",
    "rest",
    "two",
]
'''


def test_paragraphs_of_later_stages_and_their_names_are_removed() -> None:
    _, _, scalars, _ = INIT.split("\n\n")
    assert cut_after(INIT, 0) == INIT.replace(f"{scalars}\n\n", "").replace('    "two",\n', "")
    assert cut_after(INIT, 1) == INIT


def test_names_are_removed_from_lists_that_fill_their_lines() -> None:
    several = INIT.replace('    "one",\n    "rest",\n    "two",\n]', '    "one", "rest",\n    "two",\n]  # fmt: skip')
    assert cut_after(several, 0).endswith('__all__ = [\n    "one", "rest",\n]  # fmt: skip\n')
    first = INIT.replace('    "one",\n    "rest",\n    "two",\n]', '    "two", "one", "rest",\n]')
    assert cut_after(first, 0).endswith('__all__ = [\n    "one", "rest",\n]\n')
    only = INIT.replace('    "one",\n    "rest",\n    "two",\n]', '    "two",\n]  # fmt: skip')
    assert cut_after(only, 0).endswith("rest = 3\n__all__ = []\n")


def test_a_cut_package_imports_no_later_stage_and_leaves_no_bytecode(tmp_path: Path) -> None:
    package = tmp_path / "minitorch"
    package.mkdir()
    (package / "__init__.py").write_text(INIT, encoding="utf-8")
    (package / "first.py").write_text("one = 1\n", encoding="utf-8")
    (package / "second.py").write_text("two = 2\n", encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    code += "from course.workspace.tables_of_contents import cut_package; cut_package('minitorch', 0); "
    code += "import minitorch; from minitorch import *; print(one, rest, hasattr(minitorch, 'two'), 'minitorch.second' in sys.modules); "
    code += "from minitorch.second import two; print(two)"  # code that imports a module by its name finds it there
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    assert done.stdout.split() == ["1", "3", "False", "False", "2"], done.stderr
    assert not list(package.glob("__pycache__/__init__*"))


LAZY = """# Stage 0
from minitorch.core.lazy_imports import lazy_imports
__all__ = ["one", "two"]

# Stage 0: imported on first use
with lazy_imports(globals()):
    from minitorch.first import one

# Stage 1: imported on first use
with lazy_imports(globals()):
    from minitorch.second import two
"""


def test_a_cut_package_has_no_names_of_later_stages_to_import_on_first_use(tmp_path: Path) -> None:
    package = tmp_path / "minitorch"
    (package / "core").mkdir(parents=True)
    shutil.copy(ROOT / "minitorch/core/lazy_imports.py", package / "core")
    (package / "__init__.py").write_text(LAZY, encoding="utf-8")
    (package / "first.py").write_text("one = 1\n", encoding="utf-8")
    (package / "second.py").write_text("two = 2\n", encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    code += "from course.workspace.tables_of_contents import cut_package; cut_package('minitorch', int(sys.argv[1])); "
    code += "import minitorch; assert 'minitorch.first' not in sys.modules; "
    code += "print(minitorch.one, *[getattr(minitorch, name, None) for name in ('two', 'second')], 'minitorch.second' in sys.modules)"
    outputs = [subprocess.check_output([sys.executable, "-c", code, str(last)], text=True) for last in (0, 1)]
    assert outputs == ["1 None None False\n", f"1 2 <module 'minitorch.second' from '{package / 'second.py'}'> True\n"]


def test_a_block_that_loses_all_its_imports_is_removed() -> None:
    source = LAZY.replace("import one", "import one, half")
    assert remove_imports(source, "minitorch.first", {"half"}) == LAZY
    assert remove_imports(LAZY, "minitorch.first", {"one"}) == LAZY.replace(LAZY.split("\n\n")[1] + "\n\n", "")
