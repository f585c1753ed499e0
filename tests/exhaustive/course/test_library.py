"""The library after the course in a workspace: complete without optimized kernels, free of solutions, on the student's functions."""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from course.cli.programs import with_required
from course.manifest import ROOT, course, load
from course.staff.handout.generate import handout_files, write_files
from course.staff.handout.library import SOURCE, pack
from course.workspace import library, pristine
from course.workspace.released import write_solutions
from course.workspace.reset import reset
from tests.course.conftest import clean_environment
from tests.course.handouts import handout
from tests.course.prepared import course_files
from tests.course.test_library import LAST, REQUIRED, check_imports, files

PROGRAMS = ("polynomial_autograd", "logistic_regression", "digits_cnn")
STEPS = 4
TRAIN = """
import importlib, json, sys
import minitorch
losses = {name: importlib.import_module(name).train(int(sys.argv[1])) for name in sys.argv[2:]}
print(json.dumps({"file": minitorch.__file__, "losses": losses}))
"""


def train(folder, *names):
    """The losses of programs in the folder of a library."""
    environment = clean_environment() | {"PYTHONPATH": os.pathsep.join((str(folder), str(folder / library.PROGRAMS)))}
    command = [sys.executable, "-c", TRAIN, str(STEPS), *names]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["file"] == str(folder / "minitorch/__init__.py")
    return document["losses"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workspace with all tasks done; tests must not edit it."""
    folder = tmp_path_factory.mktemp("workspace")
    write_files(folder, handout_files(ROOT, course(), REQUIRED, staff=REQUIRED))
    write_solutions(folder, course(), REQUIRED)
    return folder


def with_tasks_of(program, finished, folder):
    """A copy of the finished workspace in which only the tasks are done that a program needs."""
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns(".course", "__pycache__"))
    manifest = load(folder / "course/tasks.toml")
    needs = with_required(manifest, tomllib.loads((ROOT / SOURCE / "needs.toml").read_text(encoding="utf-8"))[program])
    for task in manifest.tasks:
        if task.id not in needs:
            reset(folder, manifest, task.id)
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The losses of the reference with its optimized kernels."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "minitorch").symlink_to(ROOT / "minitorch")
    (folder / library.PROGRAMS).mkdir()
    for path in (ROOT / SOURCE).glob("*.py"):
        (folder / library.PROGRAMS / path.name).write_text(library.for_minitorch(path.read_text(encoding="utf-8")), encoding="utf-8")
    return train(folder, *PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_on_the_functions_of_its_tasks_as_on_the_reference_s(name, finished, expected, tmp_path):
    folder = library.build(with_tasks_of(name, finished, tmp_path / "workspace"), course())
    assert np.ptp(expected[name]) > 1e-3
    np.testing.assert_allclose(train(folder, name)[name], expected[name], rtol=1e-4)


def test_a_mistake_in_the_student_s_convolution_changes_what_a_network_learns(finished, expected, tmp_path):
    """A sign that only the backward pass sees: the first loss stays, the next ones do not."""
    workspace = with_tasks_of("digits_cnn", finished, tmp_path / "workspace")
    file = workspace / "minitorch/fast_conv.py"
    before, write, after = file.read_text(encoding="utf-8").rpartition("out[index_to_position(index, out_strides)] = total\n")
    file.write_text(f"{before}{write.replace('total', '-total if reverse else total')}{after}", encoding="utf-8")
    losses = train(library.build(workspace, course()), "digits_cnn")["digits_cnn"]
    assert losses[0] == pytest.approx(expected["digits_cnn"][0], rel=1e-4)
    assert losses[-1] != pytest.approx(expected["digits_cnn"][-1], rel=1e-3)


def test_before_the_first_task_the_library_can_be_imported(tmp_path):
    """So that a program names the task whose code is missing."""
    write_files(tmp_path, handout(LAST))
    folder = library.build(tmp_path, course())
    environment = clean_environment() | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", "import minitorch.torch as torch\ntorch.ones(3) + 1"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("NotImplementedError: Need to implement for Task ")


def test_the_handout_holds_the_library_and_notes_it_as_given(files):
    given = course_files(LAST)
    assert given[library.ZIP] == pack(files)
    assert library.ZIP in pristine.unpack(given[pristine.PATH]).hashes


def test_every_module_that_the_library_imports_is_there_or_in_the_workspace_without_extra_modules():
    check_imports(REQUIRED)
