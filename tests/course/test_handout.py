"""Workspaces for students: what they contain, what is cut, and where they may be written: `course.staff.handout`."""

import os
import posixpath
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from course.manifest import ROOT, course, load
from course.runner.packages import packages
from course.staff import RequestError, StaffError
from course.staff.handout import generate
from course.staff.handout.generate import MARKER, TEMPLATES, handout_files, make_handout, stub_files, write_names
from course.staff.handout.leaks import leaks_of
from course.staff.handout.selection import STAFF_PACKAGES, select
from course.workspace import pristine
from tests.errors import raises

from . import miniature
from .prepared import LAST, course_files, selection

STAGES = sorted({task.stage for task in course().tasks})


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    """Solutions that a handout gives away are not searched for, which takes most of the time."""
    monkeypatch.setattr(generate, "leaks_of", lambda *files: [])


@pytest.fixture
def search(monkeypatch):
    """They are searched for."""
    monkeypatch.setattr(generate, "leaks_of", leaks_of)


@pytest.fixture
def repository(tmp_path):
    return miniature.write(tmp_path / "reference")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All files of the handout of the unchanged repository; tests do not change it."""
    return handout_files(*miniature.write(tmp_path_factory.mktemp("unchanged")), 1, search=False)


def tree(folder):
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file() and ".git" not in f.parts}


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def replace_once(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def replace_all(root, edits):
    """Apply edits, each a path, the text to replace and the new one; returns the folder and its manifest."""
    for path, old, new in edits:
        replace_once(root / path, old, new)
    return root, load(root / "course" / "tasks.toml")


def append(file, text):
    with file.open("a", encoding="utf-8") as end:
        end.write(text)


# What a handout contains


def test_a_stage_holds_its_own_files_and_those_before_it(repository):
    of_language_models = "adapters generation language_models quantization tokens training"
    later = {f"course/oracles/{name}.py" for name in of_language_models.split()}
    machine = {*miniature.MACHINE, "course/tasks.toml"} - later
    first = {
        "LICENSE", "Makefile", "pyproject.toml", "minitorch/__init__.py", "minitorch/operators.py", "project/app.py", "project/run_relu.py",
        "project/lab/later.py", "project/views/home.py", "project/views/m0_relu.py", "docs/index.md", "docs/module0/index.md",
        "tests/__init__.py", "tests/strategies.py", "tests/test_operators.py",
    }  # fmt: skip
    second = {
        "minitorch/scalar.py", "project/run_scalar.py", "project/lab/plot.py", "project/lab/table.py", "project/views/m1_scalar.py",
        "docs/_ext/curves.py", "docs/module1/index.md", "docs/api/stage1.md", "tests/test_scalar.py",
    }  # fmt: skip
    assert set(select(*repository, 0)) == first | machine
    assert set(select(*repository, 1)) == first | second | machine


@pytest.mark.parametrize(("path", "content"), [("m1_line.safetensors", b"\xff"), ("m1_runs/a.json", "{}")])
def test_what_comes_with_the_app_has_its_stage_in_its_name(repository, path, content):
    root, manifest = repository
    path = f"project/lab/models/{path}"
    (root / path).parent.mkdir(parents=True)
    (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert path not in select(root, manifest, 0)
    assert select(root, manifest, 1)[path] == content


def test_links_caches_and_hidden_folders_are_left_out(repository):
    root, _ = repository
    before = set(select(*repository, 1))
    hidden = ("project/.idea/x.py", "project/__pycache__/x.py", "docs/_build/html/x.md", "docs/.jupyter_cache/x.md", "course/staff/x.py")
    for path in hidden:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n", encoding="utf-8")
    (root / "project" / "link.py").symlink_to(root / "notes.txt")
    (root / "docs" / "linked").symlink_to(root / "docs" / "decisions")
    assert set(select(*repository, 1)) == before


def test_modules_that_no_page_uses_are_left_out(repository):
    root, _ = repository
    (root / "project" / "views" / "m1_scalar.py").write_text('"""Scalars."""\n', encoding="utf-8")
    (root / "docs" / "module1" / "index.md").write_text("# Scalars\n", encoding="utf-8")
    gone = {"project/lab/plot.py", "project/lab/table.py", "docs/_ext/curves.py"}
    assert gone & set(select(*repository, 1)) == set()
    assert "project/lab/later.py" in select(*repository, 0)  # a page imports it when it is shown


def test_the_package_is_cut_after_the_last_stage(repository):
    whole = miniature.FILES["minitorch/__init__.py"].replace("# Stage 1 - Scalars\nfrom minitorch.scalar import Scalar\n\n", "")
    assert select(*repository, 0)["minitorch/__init__.py"] == whole.replace('    "Scalar",\n', "")


def test_the_manifest_is_cut_after_the_last_stage(repository, tmp_path):
    (tmp_path / "tasks.toml").write_text(str(select(*repository, 0)["course/tasks.toml"]), encoding="utf-8")
    cut = load(tmp_path / "tasks.toml")
    assert [stage.number for stage in cut.stages] == [0]
    assert [task.id for task in cut.tasks] == ["0.1", "0.2"]
    assert select(*repository, 1)["course/tasks.toml"] == miniature.FILES["course/tasks.toml"]


def test_the_marks_of_later_tasks_and_the_teachers_command_are_cut(repository):
    first, second = (str(select(*repository, last)["pyproject.toml"]) for last in (0, 1))
    assert "task1_1" not in first
    assert '"task1_1: Double"' in second
    assert "staff" not in first + second
    assert 'course = "course.cli.main:main"' in first


def test_tables_of_contents_have_no_links_to_pages_that_are_left_out_or_for_teachers(repository):
    assert select(*repository, 0)["docs/index.md"] == "# Book\n\n```{toctree}\nmodule0/index\n```\n\nmodule1/index\n"
    assert select(*repository, 1)["docs/index.md"] == miniature.FILES["docs/index.md"]
    index = repository[0] / "docs" / "module0" / "index.md"
    index.write_text("# Floats\n\n```{toctree}\n/lab_log\nother\n```\n", encoding="utf-8")
    (repository[0] / "docs" / "lab_log.md").write_text("# Log\n", encoding="utf-8")
    assert select(*repository, 0)["docs/module0/index.md"] == "# Floats\n\n```{toctree}\nother\n```\n"


def test_stages_that_do_not_exist_or_have_no_tasks_are_not_handed_out(repository):
    root, manifest = repository
    with raises(StaffError, "there is no stage 2; the stages are 0, 1"):
        select(root, manifest, 2)
    with raises(RequestError, "Module 1 has no tasks yet; hand out a range that ends with 0"):
        handout_files(root, replace(manifest, tasks=tuple(task for task in manifest.tasks if task.stage == 0)), 1)


TASKS, TESTS, SCALAR, LAYERS = "course/tasks.toml", "tests/test_scalar.py", "minitorch/scalar.py", "minitorch/nn/layers.py"
STAGE_1, EARLY_TEST = '"""Stage 1."""\n', "@pytest.mark.task0_1\ndef test_early() -> None:\n    pass\n\n\n"
LEFT_OUT = "does not fit what tasks.toml says to leave out of a workspace:"
NO_RULE = "minitorch/operators.py does not have what tasks.toml says that students write: expected one function rule, found none"
NO_THRICE = f"minitorch/operators.py {LEFT_OUT} expected one function thrice, found none"
NO_FILE = "tasks.toml: task {} names minitorch.operator:{}, but there is no minitorch/operator.py in the workspace"
TWICE = "tasks.toml names minitorch.operators:relu twice, in tasks 0.1 and 1.1"
NO_MODULE = "tasks.toml: task 1.1 leaves minitorch.faster out, but there is no minitorch/faster.py in the workspace"
IMPORTED = "minitorch/{}.py imports minitorch.{}, which tasks.toml says to leave out of a workspace"
TOO_EARLY = "project/app.py must run in every stage, but it imports a later stage at the top; move that import to its use"
TWO_STAGES = "tests/test_scalar.py holds tests of the stages 0, 1; one file serves one stage"
NO_TEST = "no test carries the mark task0_2 of task 0.2; write its tests, or take the task out of tasks.toml"
STILL_USED = f"tests/test_scalar.py {LEFT_OUT} twice is taken out, but still used"


@pytest.mark.parametrize(
    ("of", "path", "old", "new", "message"),
    [
        ("repository", "project/app.py", 'The app."""', '"""\nfrom project.lab import plot', TOO_EARLY),
        ("repository", TESTS, "@pytest.mark", f"{EARLY_TEST}@pytest.mark", TWO_STAGES),
        ("repository", "tests/test_operators.py", "@pytest.mark.task0_2", "", NO_TEST),
        ("repository", TASKS, "minitorch.operators:relu", "minitorch.operators:rule", NO_RULE),
        ("repository", TASKS, "minitorch.operators:relu", "minitorch.operator:relu", NO_FILE.format("0.1", "relu")),
        ("repository", TASKS, "minitorch.scalar:Scalar.double", "minitorch.operators:relu", TWICE),
        ("with_helper", TASKS, "operators:twice", "operators:thrice", NO_THRICE),
        ("with_helper", TASKS, "operators:twice", "operator:twice", NO_FILE.format("1.1", "twice")),
        ("with_helper", TESTS, "import pytest\n", "import pytest\n\nfrom minitorch.operators import twice\n\nassert twice\n", STILL_USED),
        ("with_module", TASKS, '["minitorch.fast"]', '["minitorch.faster"]', NO_MODULE),
        ("with_module", SCALAR, STAGE_1, f"{STAGE_1}\nfrom minitorch import fast\n", IMPORTED.format("scalar", "fast")),
        ("with_module", SCALAR, STAGE_1, f"{STAGE_1}\nfrom minitorch.fast import doubled\n", IMPORTED.format("scalar", "fast")),
        ("with_module", SCALAR, STAGE_1, f"{STAGE_1}\ndef f():\n    import minitorch.fast\n", IMPORTED.format("scalar", "fast")),
        ("with_folder", LAYERS, STAGE_1, f"{STAGE_1}\nfrom minitorch.nn import fast\n", IMPORTED.format("nn/layers", "nn.fast")),
    ],
)
def test_what_does_not_fit_the_manifest_is_named(request, of, path, old, new, message):
    root, _ = request.getfixturevalue(of)
    with raises(StaffError, message):
        handout_files(*replace_all(root, [(path, old, new)]), 1)


# Stubs and leaks


def test_solutions_are_removed(files):
    assert str(files["minitorch/operators.py"]).endswith(
        '    """x if x > 0, else 0.0."""\n    raise NotImplementedError("Need to implement for Task 0.1")\n'
    )
    assert str(files["tests/test_operators.py"]).endswith(
        "@pytest.mark.task0_2\ndef test_own() -> None:\n"
        '    """Relu is never negative."""\n    raise NotImplementedError("Need to implement for Task 0.2")\n'
    )
    assert 'Task 1.1")' in str(files["minitorch/scalar.py"])


def test_the_readme_shows_only_programs_and_commands_of_the_workspace(files):
    template, readme = (TEMPLATES / "README.md").read_text(encoding="utf-8"), str(files["README.md"])
    for absent in ("project/run_manual.py", "project/run_tensor.py", "project/timing.py", "`make test-cuda-sim`"):
        assert absent in template
        assert absent not in readme
    assert "- `make check`: style and types are clean" in readme
    assert "course submit " in readme
    assert "\n\n\n" not in readme


@pytest.mark.usefixtures("search")
def test_a_leak_stops_the_handout_and_names_both_places(repository):
    root, manifest = repository
    append(root / "docs" / "module0" / "index.md", "\nWrite `return x if x > 0 else 0.0`.\n")
    append(root / "minitorch" / "scalar.py", "\n\ndef _twice(x):\n    return x + x\n")
    replace_once(root / "minitorch" / "scalar.py", "self.data + self.data", "_twice(self.data)")
    with pytest.raises(StaffError) as error:
        make_handout(root, manifest, 1, root.parent / "handout")
    assert str(error.value).splitlines() == [
        "the handout would give solutions away:",
        "  docs/module0/index.md:3 shows the solution of minitorch.operators:relu: return x if x > 0 else 0.0",
        "  minitorch/scalar.py: only removed solutions use _twice; "
        "define it in the function that uses it, or add it to `write` or `leave_out`",
    ]
    assert [path.name for path in root.parent.iterdir()] == ["reference"]


# What is left out


@pytest.fixture
def with_helper(repository):
    """The repository with a function that only the solution of Task 1.1 calls, in another module."""
    helper = "def twice(x: float) -> float:\n    return x + x if x else x * x * x\n\n\ndef relu("
    edits = [
        ("minitorch/operators.py", "def relu(", helper),
        (SCALAR, "self.data + self.data", "twice(self.data)"),
        (TASKS, 'write = ["minitorch.scalar', 'leave_out = ["minitorch.operators:twice"]\nwrite = ["minitorch.scalar'),
        (SCALAR, STAGE_1, f"{STAGE_1}\nfrom minitorch.operators import relu, twice\n"),
    ]
    return replace_all(repository[0], edits)


def test_functions_that_only_solutions_call_are_left_out_with_their_imports_from_their_stage_on(with_helper):
    files = handout_files(*with_helper, 1)
    assert "twice" not in str(files["minitorch/operators.py"])
    assert "from minitorch.operators import relu\n" in str(files["minitorch/scalar.py"])
    assert [path for path, content in files.items() if path.startswith("minitorch/") and "twice" in str(content)] == []
    assert "leave_out" not in str(files["course/tasks.toml"])
    assert load(with_helper[0] / "course" / "tasks.toml").task("1.1").leave_out == ("minitorch.operators:twice",)
    assert "def twice" in str(handout_files(*with_helper, 0)["minitorch/operators.py"])


def test_removing_one_task_for_a_proof_keeps_all_functions(with_helper):
    root, manifest = with_helper
    files = stub_files(select(root, manifest, 1), write_names(manifest, 1, only="1.1"))
    assert "def twice" in str(files["minitorch/operators.py"])
    assert "import relu, twice" in str(files["minitorch/scalar.py"])


@pytest.mark.usefixtures("search")
def test_the_code_of_omitted_functions_must_not_appear_anywhere(with_helper):
    append(with_helper[0] / "docs" / "module0" / "index.md", "\nTwice is `return x + x if x else x * x * x`.\n")
    shown = "docs/module0/index.md:3 shows the solution of minitorch.operators:twice: return x + x if x else x * x * x"
    with raises(StaffError, f"the handout would give solutions away:\n  {shown}"):
        handout_files(*with_helper, 1)


# Modules that are left out

FAST = {
    "minitorch/fast.py": '''"""Stage 1."""


def doubled(x: float) -> float:
    """Twice."""
    for _ in range(1):
        x = x + x if x > 0 else x - x + x + x * (1 + 1 - 1) - x * (1 - 1) + x * 0
    return x
''',
    "tests/test_fast.py": "from minitorch import fast\n\n\ndef test_fast() -> None:\n    assert fast.doubled(1.0) == 2.0\n",
    "docs/api/stage1.md": """# Stage 1

## Scalars

```{eval-rst}
.. automodule:: minitorch.scalar
   :members:
```

## What they stand on

```{eval-rst}
.. automodule:: minitorch.fast
   :members:
```

```{eval-rst}
.. autofunction:: minitorch.fast.doubled
```
""",
}


@pytest.fixture
def with_module(repository):
    """The repository with a module that only the solution of Task 1.1 imports."""
    root, _ = repository
    for path, text in FAST.items():
        (root / path).write_text(text, encoding="utf-8")
    solution = "        from minitorch.fast import doubled\n\n        return Scalar(doubled(self.data))"
    edits = [
        ("minitorch/__init__.py", "import Scalar\n", "import Scalar\nfrom minitorch import fast as fast\n"),
        (SCALAR, "        return Scalar(self.data + self.data)", solution),
        (TASKS, 'modules = ["scalar"]', 'modules = ["fast", "scalar"]'),
        (TASKS, 'write = ["minitorch.scalar', 'leave_out = ["minitorch.fast"]\nwrite = ["minitorch.scalar'),
    ]
    return replace_all(root, edits)


def test_a_module_that_only_solutions_import_is_left_out_with_every_mention_of_it(with_module):
    files = handout_files(*with_module, 1)
    assert "minitorch/fast.py" not in files
    assert "tests/test_fast.py" not in files
    assert "\n# Stage 1 - Scalars\nfrom minitorch.scalar import Scalar\n" in str(files["minitorch/__init__.py"])
    assert 'modules = ["scalar"]' in str(files["course/tasks.toml"])
    assert str(files["docs/api/stage1.md"]) == FAST["docs/api/stage1.md"].partition("## What")[0].rstrip() + "\n"
    assert "fast" not in "".join(map(str, (content for path, content in files.items() if not path.startswith(("course/", "README")))))
    assert "minitorch/scalar.py" not in handout_files(*with_module, 0)


def test_an_omitted_module_may_be_imported_where_its_absence_is_handled(with_module):
    guarded = "with suppress(ModuleNotFoundError):\n    from minitorch.fast import doubled\n"
    replace_once(with_module[0] / SCALAR, STAGE_1, f"{STAGE_1}\nfrom contextlib import suppress\n\n{guarded}")
    assert guarded in str(handout_files(*with_module, 1)["minitorch/scalar.py"])


@pytest.mark.usefixtures("search")
def test_the_code_of_an_omitted_module_must_not_appear_anywhere(with_module):
    body = FAST["minitorch/fast.py"].splitlines()[5:7]
    append(with_module[0] / "docs" / "module1" / "index.md", "\n".join(body))
    with pytest.raises(StaffError) as error:
        handout_files(*with_module, 1)
    assert "docs/module1/index.md:6 shows the solution of minitorch.fast:doubled: for _ in range" in str(error.value)


# Folders of the package

FOLDER = {
    "minitorch/nn/__init__.py": '''"""Contents."""

# Stage 1 - Scalars
from minitorch.nn.layers import Linear
from minitorch.nn import fast as fast

# Stage 2 - Afterwards
from minitorch.nn.losses import loss

__all__ = [
    "Linear",
    "loss",
]
''',
    "minitorch/nn/layers.py": '''"""Stage 1."""


class Linear:
    """A line."""

    def forward(self, x: float) -> float:
        """Twice x."""
        from minitorch.nn.fast import doubled

        return doubled(x)
''',
    "minitorch/nn/fast.py": FAST["minitorch/fast.py"],
    "minitorch/nn/losses.py": '''"""Stage 2."""

from minitorch.nn.layers import Linear


def loss() -> float:
    """A loss."""
    return Linear().forward(1.0)
''',
    "project/run_line.py": '"""Stage 1."""\n\nimport minitorch.nn\n\nLine = minitorch.nn.Linear\n',
    "project/run_layer.py": '"""Stage 1."""\n\nfrom minitorch.nn.layers import Linear as Linear\n',
    "project/run_loss.py": '"""Stage 2."""\n\nfrom minitorch.nn import loss as loss\n',
    "project/run_after.py": '"""Stage 2."""\n\nimport minitorch.nn.losses\n',
    "project/run_used.py": '"""Stage 2."""\n\nfrom minitorch import nn\n\n\ndef f():\n    return nn.loss()\n',
    "project/run_deep.py": '"""Stage 2."""\n\nimport minitorch\n\n\ndef f():\n    return minitorch.nn.losses.loss()\n',
    "docs/api/stage1.md": FAST["docs/api/stage1.md"].replace("minitorch.fast", "minitorch.nn.fast"),
}


@pytest.fixture
def with_folder(repository):
    """The repository with a folder in the package: data, a module of stage 1, one that its solution imports, and one after the tasks."""
    root, _ = repository
    (root / "minitorch" / "nn" / "__pycache__").mkdir(parents=True)
    (root / "minitorch" / "nn" / "__pycache__" / "fast.nbc").write_bytes(b"\0")
    (root / "minitorch" / "nn" / "table.gz").write_bytes(b"\x1f\x8b\xff")
    for path, text in FOLDER.items():
        (root / path).write_text(text, encoding="utf-8")
    double = 'write = ["minitorch.scalar:Scalar.double"'
    stage_2 = '[[stage]]\nnumber = 2\ntitle = "Afterwards"\nmodules = ["nn.losses"]\n\n# The tasks.\n'
    edits = [
        ("minitorch/__init__.py", "import Scalar\n", "import Scalar\nfrom minitorch import nn as nn\n"),
        (TASKS, 'modules = ["scalar"]', 'modules = ["nn.fast", "scalar", "nn.layers"]'),
        (TASKS, "# The tasks.\n", stage_2),
        (TASKS, f"{double}]", f'{double}, "minitorch.nn.layers:Linear.forward"]\nleave_out = ["minitorch.nn.fast"]'),
    ]
    return replace_all(root, edits)


def test_a_folder_of_the_package_comes_with_its_first_stage_and_is_cut_like_the_package(with_folder):
    first, files = (handout_files(*with_folder, last) for last in (0, 1))
    assert [path for path in first if path.startswith("minitorch/")] == ["minitorch/__init__.py", "minitorch/operators.py"]
    names = [path.removeprefix("minitorch/nn/") for path in files if path.startswith("minitorch/nn/")]
    assert names == ["__init__.py", "layers.py", "table.gz"]
    contents = '# Stage 1 - Scalars\nfrom minitorch.nn.layers import Linear\n\n__all__ = [\n    "Linear",\n]\n'
    assert files["minitorch/nn/__init__.py"] == f'"""Contents."""\n\n{contents}'
    error = 'raise NotImplementedError("Need to implement for Task 1.1")'
    assert str(files["minitorch/nn/layers.py"]).endswith(f'"""Twice x."""\n        {error}\n')
    assert files["minitorch/nn/table.gz"] == b"\x1f\x8b\xff"
    assert 'modules = ["scalar", "nn.layers"]' in str(files["course/tasks.toml"])
    assert "nn.fast" not in str(files["docs/api/stage1.md"]) + str(files["course/tasks.toml"])
    programs = {f"project/run_{name}.py" for name in ("loss", "after", "used", "deep")}
    assert set(select(*with_folder, 2)) - set(select(*with_folder, 1)) == {"minitorch/nn/losses.py", *programs}


def test_a_program_belongs_to_the_stage_of_the_names_that_it_imports_from_a_folder(with_folder):
    programs = [{path for path in select(*with_folder, last) if path.startswith("project/run_")} for last in (0, 1)]
    assert programs[1] - programs[0] == {"project/run_scalar.py", "project/run_line.py", "project/run_layer.py"}


def test_a_name_belongs_to_the_first_stage_that_binds_it(repository):
    replace_once(repository[0] / "minitorch" / "__init__.py", "import Scalar\n", "import Scalar\nfrom minitorch.scalar import relu\n")
    files = select(*repository, 0)
    assert "project/run_relu.py" in files
    assert '    "relu",\n' in str(files["minitorch/__init__.py"])


# Parts for the GPU


def test_gpu_files_are_only_in_workspaces_whose_tasks_need_a_gpu(repository):
    root, manifest = repository
    for path in ("requirements.cuda.txt", "project/gpu.ipynb"):
        (root / path).write_text("{}\n", encoding="utf-8")
    tasks = tuple(replace(task, gpu=task.id == "1.1") for task in manifest.tasks)
    without, with_one = select(root, manifest, 1), select(root, replace(manifest, tasks=tasks), 1)
    assert set(with_one) - set(without) == {"requirements.cuda.txt", "project/gpu.ipynb"}
    assert ".PHONY: help course app test test-cuda-sim check docs format clean\n" in str(with_one["Makefile"])
    assert "\ntest-cuda-sim: " in str(with_one["Makefile"])
    assert ".PHONY: help course app test check docs format clean\n" in str(without["Makefile"])
    assert "cuda" not in str(without["Makefile"])
    assert set(select(root, replace(manifest, tasks=tasks), 0)) == set(select(root, manifest, 0))


def test_a_link_to_a_page_that_the_workspace_lacks_is_plain_text(repository):
    words = "[floats](module0/index.md), [scalars](module1/index.md#what-one-records), [why](decisions/0001.md), [Python](https://python.org/a.md)"
    (repository[0] / "docs" / "glossary.md").write_text(f"# Terms\n\n{words}\n", encoding="utf-8")
    kept = "[floats](module0/index.md), scalars, why, [Python](https://python.org/a.md)"
    assert select(*repository, 0)["docs/glossary.md"] == f"# Terms\n\n{kept}\n"
    assert "[scalars](module1/index.md#what-one-records), why" in str(select(*repository, 1)["docs/glossary.md"])


# Where a handout is written


def test_a_handout_has_a_new_history_of_one_commit_and_the_same_tree_each_time(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # no user is configured
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    (tmp_path / ".gitconfig").write_text("[commit]\n\tgpgsign = true\n[core]\n\tautocrlf = true\n", encoding="utf-8")
    made = make_handout(*repository, 1, tmp_path / "deep" / "handout")
    monkeypatch.delenv("GIT_DIR")
    assert made.commit == git(made.folder, "rev-parse", "HEAD")
    assert git(made.folder, "log", "--format=%an %s") == "MiniTorch course Miniature: the workspace of Modules 0-1"
    assert git(made.folder, "status", "--porcelain") == ""
    assert set(git(made.folder, "ls-files").splitlines()) == set(tree(made.folder))
    assert (made.files, made.stubs) == (len(tree(made.folder)), 3)
    assert [path.name for path in made.folder.parent.iterdir()] == ["handout"]
    again = make_handout(*repository, 1, tmp_path / "again")
    assert tree(made.folder) == tree(again.folder)
    assert git(made.folder, "rev-parse", "HEAD^{tree}") == git(again.folder, "rev-parse", "HEAD^{tree}")


def test_without_git_the_handout_has_no_history(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "handout").mkdir()  # an empty folder may be used
    made = make_handout(*repository, 0, tmp_path / "handout")
    assert made.commit is None
    assert not (made.folder / ".git").exists()
    assert (made.folder / "minitorch" / "operators.py").is_file()


def test_a_git_that_fails_is_an_error(repository, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho no module left >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with raises(StaffError, "git init failed: no module left"):
        make_handout(*repository, 0, tmp_path / "handout")
    assert not (tmp_path / "handout").exists()


def test_an_earlier_handout_is_replaced_only_with_force(repository, tmp_path):
    folder = tmp_path / "handout"
    make_handout(*repository, 0, folder)
    with raises(StaffError, f"{folder} holds an earlier handout; name another folder, or add --force to replace it"):
        make_handout(*repository, 1, folder)
    for path in (".venv/x", ".course/results.json", "minitorch/__pycache__/x.pyc", "minitorch.egg-info/x"):  # tools created these
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    make_handout(*repository, 1, folder, force=True)
    assert (folder / "minitorch" / "scalar.py").is_file()
    assert not (folder / ".venv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["handout", "reference"]


def test_edited_files_of_an_earlier_handout_are_never_overwritten(repository, tmp_path):
    folder = tmp_path / "handout"
    make_handout(*repository, 0, folder)
    for change in ("minitorch/operators.py", "minitorch/mine.py", MARKER):
        path = folder / change
        before = path.read_bytes() if path.exists() else None
        path.write_text("work\n", encoding="utf-8")
        for force in (False, True):
            with raises(StaffError, f"{folder} was changed since it was handed out; --force does not throw work away: name another folder"):
                make_handout(*repository, 1, folder, force)
        assert path.read_text(encoding="utf-8") == "work\n"
        path.unlink() if before is None else path.write_bytes(before)


def test_a_folder_without_a_handout_a_file_and_a_link_are_never_overwritten(repository, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with raises(StaffError, f"{tmp_path / 'mine'} is not empty and not an earlier handout; name a folder that does not exist yet"):
        make_handout(*repository, 0, tmp_path / "mine", force=True)
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link"):
        with raises(StaffError, f"{tmp_path / name} is not a folder; name one that does not exist yet"):
            make_handout(*repository, 0, tmp_path / name, force=True)


def test_the_step_after_a_refusal_is_the_same_command_with_a_free_folder(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "reference")
    monkeypatch.setattr("sys.argv", ["course-staff", "handout", "--modules", "0-1", "../a b", "--force"])
    again = f"{sys.executable} -m course.staff handout --modules 0-1 '{tmp_path}/reference/../a b-3' --force"
    (tmp_path / "a b").touch()

    def next_step():
        with pytest.raises(RequestError) as error:
            make_handout(*repository, 1, Path("../a b"))
        return error.value.next

    assert next_step() == again.replace("b-3", "b-2")
    (tmp_path / "a b-2").mkdir()
    assert next_step() == again
    (tmp_path / "a b").unlink()
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "thesis.txt").touch()
    assert next_step() == again
    (tmp_path / "a b" / "thesis.txt").unlink()
    make_handout(*repository, 1, Path("../a b"))
    assert next_step() == again
    (tmp_path / "a b" / MARKER).write_text("{}", encoding="utf-8")  # as if it had been changed
    assert next_step() == again


def test_a_failed_build_leaves_no_files(repository, tmp_path, monkeypatch):
    def fail(folder, message):
        raise KeyboardInterrupt

    monkeypatch.setattr("course.staff.handout.generate._commit", fail)
    with pytest.raises(KeyboardInterrupt):
        make_handout(*repository, 0, tmp_path / "handout")
    assert [path.name for path in tmp_path.iterdir()] == ["reference"]


# The real course


def test_the_course_s_handouts_do_not_mention_the_teacher_s_tools():
    for path, content in (dict(selection()) | course_files(3)).items():
        if isinstance(content, str):
            assert "course-staff" not in content, path
            assert "course/staff" not in content.replace('"course/staff', ""), path


@pytest.mark.parametrize("last", [0, LAST])
def test_the_course_s_handouts_have_no_broken_links(last):
    check_links(last)


def check_links(last):
    files = selection(last)
    for path in [path for path in files if path.startswith("docs/") and path.endswith(".md")]:
        for target in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]*)?\)", str(files[path])):
            assert posixpath.normpath(f"{posixpath.dirname(path)}/{target}") in files, f"{path} leads to {target}"


def test_a_workspace_needs_neither_pytorch_nor_packages_for_the_staff():
    assert (ROOT / "project/torch_programs/seeded.py").is_file()
    assert [path for path in selection() if "torch_programs" in path] == []
    ours, theirs = ((ROOT / "requirements.dev.txt").read_text(encoding="utf-8"), str(selection()["requirements.dev.txt"]))
    lost = set(ours.splitlines()) - set(theirs.splitlines())
    assert {re.split(r"[^\w-]", line)[0] for line in lost} == STAFF_PACKAGES


def test_a_handout_records_its_original_files():
    files = course_files(3)
    given = pristine.unpack(files[pristine.PATH])
    assert set(given.hashes) == set(files) - {pristine.PATH}
    kept = {*write_names(course(), 3), *(path for path in files if path.startswith("tests/"))}
    assert given.files == {path: str(files[path]).encode() for path in kept}


def test_the_course_s_handouts_contain_what_their_readme_shows():
    assert generate.LIBRARY not in course_files(0)
    readmes = [str(files["README.md"]) for files in (course_files(0), course_files(3))]
    shown = [set(re.findall(r"project/\w+\.py|`make [a-z-]+`", readme)) for readme in readmes]
    later = ("run_scalar", "run_tensor", "run_fast_tensor", "timing", "parallel_check")
    assert shown[1] - shown[0] == {*(f"project/{name}.py" for name in later), "`make test-cuda-sim`"}


def test_workspace_settings_equal_the_repository_s_except_for_staff_entries():
    ours, theirs = (
        tomllib.loads(text) for text in ((ROOT / "pyproject.toml").read_text(encoding="utf-8"), str(selection()["pyproject.toml"]))
    )
    del ours["project"]["scripts"]["course-staff"]
    del ours["tool"]["pyright"]["exclude"]
    del ours["tool"]["pytest"]["ini_options"]["norecursedirs"]
    del ours["tool"]["ruff"]["lint"]["per-file-ignores"]["tests/exhaustive/**"]
    ours["tool"]["setuptools"]["package-data"]["course"] = ["*.toml"]
    asked = theirs["tool"]["ruff"]["lint"]
    assert {"F401", "RUF100", "B905", "SIM300"} < set(asked["ignore"])  # students are not asked for this
    asked["ignore"] = [rule for rule in asked["ignore"] if rule in ours["tool"]["ruff"]["lint"]["ignore"]]
    assert theirs == ours


def test_workspace_commands_equal_the_repository_s_except_for_staff_commands():
    ours, theirs = (
        {rule.partition(":")[0]: rule for rule in re.findall(r"(?m)^[a-z$][^\n]*\n(?:\t[^\n]*\n)+", text)}
        for text in ((ROOT / "Makefile").read_text(encoding="utf-8"), str(selection()["Makefile"]))
    )
    staff = {"workspace", "test-all", "test-distributed", "$(VENV)/.distributed", "check-cuda", "prove", "bench"}
    assert ours.keys() - theirs.keys() == staff
    assert theirs.keys() - ours.keys() == {"course", "$(VENV)/.course"}
    different = {name for name in theirs.keys() & ours.keys() if theirs[name] != ours[name]}
    assert different == {"test", "check", "clean", "$(VENV)/.made", "$(VENV)/.app", "$(VENV)/.dev"}
    assert theirs["test"].endswith("\t$(PY) -m pytest $(TESTS)\n")
    assert re.findall(r"\t(.*)\n", ours["check"]) == [
        *re.findall(r"\t(.*)\n", theirs["check"])[:-1],
        "$(PY) -m pytest -q tests/test_structure.py || status=1; \\",
        "$(PY) -m tests.processor_time $(RECORD) || status=1; \\",
        "exit $$status",
    ]
    assert theirs["clean"] == ours["clean"].replace(" .venv-cuda", "")
    assert "staff" not in str(selection()["Makefile"])


def test_the_requirements_pin_the_packages_that_the_command_line_imports_first():
    (names,) = re.findall(r"(?m)^COURSE_SET := (.*)$", str(selection()["Makefile"]))
    lines = [line for file in ("requirements.txt", "requirements.extra.txt") for line in str(selection()[file]).splitlines()]
    required = {re.split(r"[^\w-]", line)[0] for line in lines}
    assert {"typer", "rich", "numpy", *packages(1)} <= set(names.split()) <= required
