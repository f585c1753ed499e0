"""Files for GitHub Classroom and Gradescope: `course.staff.classroom`, run as these services would run them."""

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from course.manifest import ROOT, course
from course.staff import RequestError
from course.staff.classroom import autograder, files
from course.staff.classroom.files import last_stage, write_bundle, write_workflow
from course.staff.handout.generate import MARKER
from course.staff.handout.selection import PATTERNS
from tests.errors import raises

from .conftest import Workspace, clean_environment

PYTHON = """#!/bin/sh
# Python with everything installed already: installing is noted, and not done.
case "$1 $2" in
"-m pip") echo "$@" >> {log}; exit 0 ;;
"-m venv") echo "$@" >> {log}; mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit 0 ;;
esac
exec {python} "$@"
"""


class Machine:
    """A simulated machine of the service, on which everything is already installed; its log lists what was to be installed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "installed.txt"
        programs = root / "bin"
        programs.mkdir(parents=True)
        for name in ("python", "python3"):
            (programs / name).write_text(PYTHON.format(log=self.log, python=sys.executable), encoding="utf-8")
        (programs / "apt-get").write_text(f'#!/bin/sh\necho apt-get "$@" >> {self.log}\n', encoding="utf-8")
        for program in programs.iterdir():
            program.chmod(0o755)
        (root / "temp").mkdir()
        self.environment = clean_environment() | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CI": "true",
            "RUNNER_TEMP": str(root / "temp"),
            "GITHUB_OUTPUT": str(root / "output.txt"),
            "GITHUB_STEP_SUMMARY": str(root / "summary.md"),
        }

    def run(self, script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a script as a workflow runs a step."""
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        environment = self.environment | {"PYTHONPATH": str(folder)} | more
        return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


# GitHub


@pytest.fixture
def handout_folder(new_workspace: Callable[[], Workspace]) -> Path:
    """A workspace of the tiny course, as a handout with the workflow: 0.1 is done, 0.2 has an error, 0.3 is not written, 1.1 needs it."""
    folder = new_workspace().root
    (folder / MARKER).write_text('{"modules": "0-1"}', encoding="utf-8")
    write_workflow(folder)
    return folder


WORKFLOW = ".github/workflows/classroom.yml"


def workflow(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / WORKFLOW).read_text(encoding="utf-8"))


def test_the_workflow_runs_on_every_push_with_pinned_actions_and_without_secrets(handout_folder: Path) -> None:
    document = workflow(handout_folder)
    assert "push" in document[True]  # YAML 1.1 reads the key `on` as True
    assert (document["name"], list(document["jobs"])) == ("Autograding Tests", ["run-autograding-tests"])  # GitHub Classroom expects them
    steps = document["jobs"]["run-autograding-tests"]["steps"]
    uses = [step["uses"] for step in steps if "uses" in step]
    assert uses == ["actions/checkout@v4", "actions/setup-python@v5", "classroom-resources/autograding-grading-reporter@v1"]
    assert "secrets." not in (handout_folder / WORKFLOW).read_text(encoding="utf-8")
    assert document["permissions"]["contents"] == "read"


def test_the_reporter_receives_the_output_of_the_test_step(handout_folder: Path) -> None:
    tests, reporter = workflow(handout_folder)["jobs"]["run-autograding-tests"]["steps"][-2:]
    runner = reporter["with"]["runners"]
    assert reporter["env"] == {f"{runner.upper()}_RESULTS": f"${{{{ steps.{tests['id']}.outputs.result }}}}"}


def test_the_workflow_installs_from_files_of_the_handout(handout_folder: Path) -> None:
    steps = workflow(handout_folder)["jobs"]["run-autograding-tests"]["steps"]
    [install] = [step["run"] for step in steps if step.get("name") == "Install"]
    named = re.findall(r"-[cr] (\S+)", install)
    assert named == ["constraints.txt", "requirements.txt", "requirements.extra.txt"]
    assert all((ROOT / name).is_file() and any(fnmatch(name, pattern) for pattern in PATTERNS) for name in named)


def test_extra_points_are_added_on_top(handout_folder: Path, machine: Machine) -> None:
    manifest = handout_folder / "course" / "tasks.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('id = "1.2"', 'id = "1.2"\nextra = true'), encoding="utf-8")
    states = [{"id": id, "title": "T", "points": 10, "state": "passed", "passed": 1, "total": 1} for id in ("0.1", "1.2")]
    (machine.root / "status.json").write_text(json.dumps(states), encoding="utf-8")
    done = machine.run(f"python .github/report.py {machine.root}/status.json", handout_folder, GITHUB_OUTPUT="")
    assert done.returncode == 0, done.stderr
    assert json.loads(base64.b64decode(done.stdout.strip().removeprefix("result=")))["max_score"] == 10
    assert (machine.root / "summary.md").read_text(encoding="utf-8").startswith("## 20 of 10 points\n")


def test_a_workflow_that_the_teacher_edited_is_replaced_only_with_force(handout_folder: Path, tmp_path: Path) -> None:
    assert write_workflow(tmp_path) == [WORKFLOW, ".github/report.py"]
    changed = tmp_path / WORKFLOW
    changed.write_text("on: never\n", encoding="utf-8")
    with raises(RequestError, f"{changed} exists and was changed") as error:
        write_workflow(tmp_path)
    assert error.value.next == f"course-staff classroom {tmp_path} --github --force"
    assert changed.read_text(encoding="utf-8") == "on: never\n"
    write_workflow(tmp_path, force=True)
    assert changed.read_bytes() == (handout_folder / WORKFLOW).read_bytes()


# Gradescope

ENGINE = '''"""Grades as the test says."""

import json
import os
import pathlib

from course.staff import StaffError
from course.staff.grading.results import Result, TaskResult


def grade(submissions, out, *, tasks, workers, seed, no_sandbox):
    [submission] = submissions
    files = sorted(path.relative_to(submission).as_posix() for path in submission.rglob("*") if path.is_file())
    asked = {"tasks": tasks, "workers": workers, "seed": seed, "no_sandbox": no_sandbox, "files": files, "out": str(out)}
    pathlib.Path(os.environ["ASKED"]).write_text(json.dumps(asked))
    mode = os.environ.get("MODE")
    if mode == "no sandbox":
        raise StaffError("no sandbox works on this machine")
    if mode == "crash":
        raise OSError("the disk is on fire at /autograder/source/secret")
    one = Result(submission.name, "ab", "", tuple(TaskResult(id, "PASS", 10, 10) for id in tasks), (), "bubblewrap", seed, 2.0)
    return [] if mode == "none" else [one]
'''


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "h-autograder.zip"
    write_bundle(ROOT, course(), path, ["0.1", "0.3"], 4711)
    return path


@pytest.fixture(scope="module")
def service(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A Gradescope machine: its folder `autograder` is /autograder, the bundle is unpacked there, and a small engine grades."""
    machine = Machine(tmp_path_factory.mktemp("service") / "machine")
    folder = machine.root / "autograder"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder / "source")
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    shutil.copy(folder / "source" / "run_autograder", folder / "run_autograder")
    (folder / "run_autograder").chmod(0o755)
    (folder / "source" / "course" / "staff" / "grading" / "grade.py").write_text(ENGINE, encoding="utf-8")
    (folder / "results").mkdir()
    submission = folder / "submission" / "minitorch"
    submission.mkdir(parents=True)
    shutil.copy(ROOT / "minitorch" / "operators.py", submission)
    machine.environment |= {"AUTOGRADER": str(folder), "ASKED": str(machine.root / "asked.json")}
    done = machine.run("bash source/setup.sh", folder, PYTHONPATH="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the reference earns 20 of 20 points in the sandbox bubblewrap\n")
    shutil.copy(machine.root / "asked.json", machine.root / "warmed.json")
    return machine


def run_autograder(service: Machine, **more: str) -> tuple[str, dict[str, Any]]:
    """The output for the teacher, and the results."""
    folder = service.root / "autograder"
    (folder / "results" / "results.json").unlink(missing_ok=True)
    done = service.run("./run_autograder", folder, PYTHONPATH="", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))


def test_the_image_installs_python_a_sandbox_and_the_course_s_dependencies(service: Machine) -> None:
    staff = service.root / "autograder" / "staff.txt"
    installed = service.log.read_text(encoding="utf-8").splitlines()
    assert installed[:2] == ["apt-get update -qq", "apt-get install -y -qq python3 python3-venv bubblewrap"]
    assert installed[2].startswith("-m venv ")
    assert installed[3].split(" -r ")[1:] == ["requirements.txt", "requirements.extra.txt", str(staff)]
    assert [line.split(">")[0] for line in staff.read_text(encoding="utf-8").split()] == ["jinja2", "libcst"]
    warmed = json.loads((service.root / "warmed.json").read_text(encoding="utf-8"))
    assert warmed["files"] == ["minitorch/operators.py", "tests/test_operators.py"]  # the hash of the reference


def test_the_autograder_writes_results_for_gradescope(service: Machine) -> None:
    _, document = run_autograder(service)
    asked = json.loads((service.root / "asked.json").read_text(encoding="utf-8"))
    assert not Path(asked.pop("out")).exists()
    assert asked == {"tasks": ["0.1", "0.3"], "workers": 1, "seed": 4711, "no_sandbox": False, "files": ["minitorch/operators.py"]}
    assert (document["score"], [test["score"] for test in document["tests"]]) == (20, [10, 10])


ERRORS = {"no sandbox": "no sandbox works on this machine", "crash": "the disk is on fire", "none": "holds 0 submissions; expected one"}


@pytest.mark.parametrize("mode", ERRORS)
def test_a_grading_error_is_explained_to_the_teacher_and_hides_the_machine_from_the_student(service: Machine, mode: str) -> None:
    printed, document = run_autograder(service, MODE=mode)
    assert ERRORS[mode] in printed
    assert document == autograder.failure_document()
    assert "secret" not in json.dumps(document)


def test_the_bundle_contains_what_grading_needs_and_no_generated_files(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        settings = json.loads(archive.read("autograder.json"))
    assert settings == {"tasks": ["0.1", "0.3"], "number": 4711, "no_sandbox": False}
    needed = ["minitorch/fast_ops.py", "course/tasks.toml", "course/staff/wrong_answers/0.1.toml", "course/staff/probes/module0.py"]
    assert {*needed, "tests/test_operators.py", "requirements.extra.txt", "constraints.txt", "project/run_manual.py"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".git/", ".venv", ".course"))]
    assert bundle.stat().st_size < 20e6


def test_the_same_repository_and_number_give_the_same_bundle(bundle: Path, tmp_path: Path) -> None:
    write_bundle(ROOT, course(), tmp_path / "again.zip", ["0.1", "0.3"], 4711)
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()
    assert os.listdir(tmp_path) == ["again.zip"]


# The command


def test_the_command_writes_what_is_requested_and_says_what_to_do_next(tmp_path: Path) -> None:
    folder = tmp_path / "h"
    folder.mkdir()
    (folder / MARKER).write_text('{"modules": "0"}', encoding="utf-8")
    out = Console(file=io.StringIO(), width=300)
    assert files.run(out, folder, github=True, gradescope=True) == 0
    assert isinstance(out.file, io.StringIO)
    lines = out.file.getvalue().splitlines()
    assert lines[0] == f"{folder}: .github/workflows/classroom.yml and .github/report.py"
    assert lines[1] == f"next: cd {folder} && git add .github && git commit -m 'Run the tests on every push'"
    assert lines[2].startswith(f"{folder}-autograder.zip: ")
    assert lines[2].endswith(" MB; it contains the solutions")
    with zipfile.ZipFile(f"{folder}-autograder.zip") as archive:
        assert json.loads(archive.read("autograder.json"))["tasks"] == [task.id for task in course().tasks if task.stage == 0]


def test_a_folder_without_a_handout_and_an_empty_request_are_refused(handout_folder: Path, tmp_path: Path) -> None:
    with raises(RequestError, f"{tmp_path} is not a handout; create one first") as error:
        last_stage(tmp_path)
    assert error.value.next == f"course-staff handout {tmp_path}"
    with raises(RequestError, "expected --github, --gradescope or both") as error:
        files.run(Console(), handout_folder)
    assert error.value.next == f"course-staff classroom {handout_folder} --github"
