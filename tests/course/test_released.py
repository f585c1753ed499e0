"""Solutions that a teacher releases: written by `course.staff.handout.released`, read by `course.workspace.released`."""

import json

import pytest

from course.manifest import load
from course.staff import RequestError, StaffError
from course.staff.handout.generate import handout_files, write_files
from course.workspace import backups, released
from tests.errors import raises

from . import miniature


@pytest.fixture
def repository(tmp_path):
    return miniature.write(tmp_path / "reference")


def replace_once(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def bodies_in(files, stage):
    document = json.loads(str(files[f"course/released/stage{stage}.json"]))
    assert (document["schema"], document["stage"]) == (1, stage)
    return document["bodies"]


def test_no_solution_is_released_unless_requested(repository):
    assert not any(path.startswith("course/released/") for path in handout_files(*repository, 1))


def test_releasing_a_stage_includes_earlier_stages_and_no_later_ones(repository):
    root, manifest = repository
    first = handout_files(root, manifest, 1, staff=0)
    assert [path for path in first if path.startswith("course/released/")] == ["course/released/stage0.json"]
    assert set(bodies_in(first, 0)) == {"minitorch.operators:relu", "tests.test_operators:test_own"}
    both = handout_files(root, manifest, 1, staff=1)
    assert both["course/released/stage0.json"] == first["course/released/stage0.json"]
    assert set(bodies_in(both, 1)) == {*bodies_in(first, 0), "minitorch.scalar:Scalar.double"}


def test_taking_a_released_solution_writes_the_reference_into_a_workspace(repository, tmp_path):
    root, manifest = repository
    for style in ("guided", "bare"):
        folder = tmp_path / style
        write_files(folder, handout_files(root, manifest, 1, style=style, staff=1))
        backup = released.write_solutions(folder, manifest, 1)
        assert backup is not None
        assert set(backups.read(folder, backup).files) == {"minitorch/operators.py", "minitorch/scalar.py", "tests/test_operators.py"}
        for path in ("minitorch/operators.py", "minitorch/scalar.py"):
            listed = (folder / path).read_text(encoding="utf-8").split("\n\n# To be written", 1)  # a bare workspace keeps its list
            rest = listed[0] + "\n" + listed[1].partition("\n\n")[2] if style == "bare" else listed[0]
            assert "\n".join(filter(None, rest.splitlines())) == "\n".join(filter(None, miniature.FILES[path].splitlines()))
        assert (folder / "tests/test_operators.py").read_text(encoding="utf-8") == miniature.FILES["tests/test_operators.py"]


def test_a_helper_that_workspaces_lack_is_included_in_the_released_body(repository):
    root, _ = repository
    replace_once(root / "minitorch/scalar.py", '"""Stage 1."""\n', '"""Stage 1."""\n\n\ndef plus(x, y):\n    z = x + y\n\n    return z\n')
    replace_once(root / "minitorch/scalar.py", "self.data + self.data", "plus(self.data, self.data)")
    replace_once(
        root / "course/tasks.toml", 'write = ["minitorch.scalar', 'leave_out = ["minitorch.scalar:plus"]\nwrite = ["minitorch.scalar'
    )
    given = bodies_in(handout_files(root, load(root / "course/tasks.toml"), 1, staff=1), 1)
    assert given["minitorch.scalar:Scalar.double"] == (
        'def double(self) -> "Scalar":\n'
        '    """Twice."""\n\n'
        "    def plus(x, y):\n        z = x + y\n\n        return z\n\n"
        "    return Scalar(plus(self.data, self.data))\n"
    )


def test_a_body_that_needs_an_omitted_module_is_an_error(repository):
    root, _ = repository
    (root / "minitorch/fast.py").write_text('"""Stage 1."""\n\n\ndef plus(x, y):\n    return x + y\n', encoding="utf-8")
    replace_once(
        root / "minitorch/scalar.py",
        "        return Scalar(",
        "        from minitorch.fast import plus\n\n        return Scalar(0 * plus(0, 0) + ",
    )
    replace_once(root / "course/tasks.toml", 'modules = ["scalar"]', 'modules = ["fast", "scalar"]')
    replace_once(root / "course/tasks.toml", 'write = ["minitorch.scalar', 'leave_out = ["minitorch.fast"]\nwrite = ["minitorch.scalar')
    with raises(
        StaffError,
        "minitorch.scalar:Scalar.double imports minitorch.fast, which workspaces lack; leave the choice of kernels to its caller",
    ):
        handout_files(root, load(root / "course/tasks.toml"), 1, staff=1)


@pytest.mark.parametrize(
    ("last", "staff", "message"),
    [
        (0, 1, "--staff 1 expected a module of the workspace, which ends with Module 0"),
        (1, -1, "--staff expected a module with tasks, 0, 1, got -1"),
    ],
)
def test_a_stage_that_cannot_be_released_is_an_error(repository, last, staff, message):
    with raises(RequestError, message):
        handout_files(*repository, last, staff=staff)
