"""Solutions that a teacher releases: written by `course.staff.handout.released`, read by `course.workspace.released`."""

import json

import pytest

from course.staff import RequestError, StaffError
from course.staff.handout.generate import handout_files, write_files
from course.workspace import backups, released
from tests.errors import raises

from . import miniature
from .test_handout import SCALAR, STAGE_1, TASKS, replace_all


@pytest.fixture
def repository(tmp_path):
    return miniature.write(tmp_path / "reference")


def bodies_in(files, stage):
    document = json.loads(str(files[f"course/released/stage{stage}.json"]))
    assert (document["schema"], document["stage"]) == (1, stage)
    return document["bodies"]


def test_releasing_a_stage_includes_earlier_stages_and_no_later_ones(repository):
    unreleased, first, both = (handout_files(*repository, 1, staff=staff, search=False) for staff in (None, 0, 1))
    assert not any(path.startswith("course/released/") for path in unreleased)
    assert [path for path in first if path.startswith("course/released/")] == ["course/released/stage0.json"]
    assert set(bodies_in(first, 0)) == {"minitorch.operators:relu", "tests.test_operators:test_own"}
    assert both["course/released/stage0.json"] == first["course/released/stage0.json"]
    assert set(bodies_in(both, 1)) == {*bodies_in(first, 0), "minitorch.scalar:Scalar.double"}


def test_taking_a_released_solution_writes_the_reference_into_a_workspace(repository, tmp_path):
    root, manifest = repository
    for style in ("guided", "bare"):
        folder = tmp_path / style
        write_files(folder, handout_files(root, manifest, 1, style=style, staff=1, search=False))
        backup = released.write_solutions(folder, manifest, 1)
        assert backup is not None
        assert set(backups.read(folder, backup).files) == {"minitorch/operators.py", "minitorch/scalar.py", "tests/test_operators.py"}
        for path in ("minitorch/operators.py", "minitorch/scalar.py"):
            listed = (folder / path).read_text(encoding="utf-8").split("\n\n# To be written", 1)  # a bare workspace keeps its list
            rest = listed[0] + "\n" + listed[1].partition("\n\n")[2] if style == "bare" else listed[0]
            assert "\n".join(filter(None, rest.splitlines())) == "\n".join(filter(None, miniature.FILES[path].splitlines()))
        assert (folder / "tests/test_operators.py").read_text(encoding="utf-8") == miniature.FILES["tests/test_operators.py"]


def test_a_helper_that_workspaces_lack_is_included_in_the_released_body(repository):
    edits = [
        (SCALAR, STAGE_1, f"{STAGE_1}\n\ndef plus(x, y):\n    z = x + y\n\n    return z\n"),
        (SCALAR, "self.data + self.data", "plus(self.data, self.data)"),
        (TASKS, 'write = ["minitorch.scalar', 'leave_out = ["minitorch.scalar:plus"]\nwrite = ["minitorch.scalar'),
    ]
    given = bodies_in(handout_files(*replace_all(repository[0], edits), 1, staff=1, search=False), 1)
    assert given["minitorch.scalar:Scalar.double"] == (
        'def double(self) -> "Scalar":\n'
        '    """Twice."""\n\n'
        "    def plus(x, y):\n        z = x + y\n\n        return z\n\n"
        "    return Scalar(plus(self.data, self.data))\n"
    )


def test_a_body_that_needs_an_omitted_module_is_an_error(repository):
    root, _ = repository
    (root / "minitorch/fast.py").write_text('"""Stage 1."""\n\n\ndef plus(x, y):\n    return x + y\n', encoding="utf-8")
    edits = [
        (SCALAR, "        return Scalar(", "        from minitorch.fast import plus\n\n        return Scalar(0 * plus(0, 0) + "),
        (TASKS, 'modules = ["scalar"]', 'modules = ["fast", "scalar"]'),
        (TASKS, 'write = ["minitorch.scalar', 'leave_out = ["minitorch.fast"]\nwrite = ["minitorch.scalar'),
    ]
    full = "minitorch.scalar:Scalar.double"
    with raises(StaffError, f"{full} imports minitorch.fast, which workspaces lack; leave the choice of kernels to its caller"):
        handout_files(*replace_all(root, edits), 1, staff=1, search=False)


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
