"""`course explain` on a hundred mistakes of students: it names the function with the mistake, or none, but never one that is right."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course.manifest import ROOT, course
from course.staff.handout.generate import write_files
from course.staff.proofs.prove import needed_files

MISTAKES = tomllib.loads((Path(__file__).parent / "mistakes.toml").read_text(encoding="utf-8"))["mistake"]
"""Each has a name, the task whose test fails, this test, the change of a file, and the function that explain must name ("" for none)."""

WITHOUT_COMPILER = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1", "CI": "1", "PYTHONHASHSEED": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the reference, with their bytecode."""
    folder = tmp_path_factory.mktemp("reference")
    write_files(folder, needed_files(ROOT, course()))
    subprocess.run([sys.executable, "-m", "compileall", "-q", "minitorch"], cwd=folder, check=True)
    return folder


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, by which the tests share what they load")
@pytest.mark.parametrize("module", range(5))
def test_explain_names_the_function_with_the_mistake(module: int, folder: Path) -> None:
    jobs, expected = [], {}
    for mistake in MISTAKES:
        stage = course().task(mistake["task"]).stage
        if stage == module:
            name = f"{mistake['task']} {mistake['name']}"
            result = f"{len(jobs)}.json"
            change = [mistake["file"], mistake["before"], mistake["after"]]
            jobs.append({"folder": str(folder), "test": mistake["test"], "stage": stage, "change": change, "result": result})
            expected[name] = (result, mistake["function"])
    path = folder / "jobs.json"
    path.write_text(json.dumps(jobs), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "HYPOTHESIS_"))}
    environment |= WITHOUT_COMPILER | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-m", "tests.course.replays", str(path)], cwd=ROOT, env=environment, check=True)
    wrong = []
    for name, (result, function) in expected.items():
        document = json.loads((folder / result).read_text(encoding="utf-8"))
        found = document["finding"]["function"] if document["finding"] else ""
        if document["passed"]:
            wrong.append(f"{name}: the test passes")
        elif found != function:
            wrong.append(f"{name}: expected {function or 'no function'}, got {found or 'none'}")
    assert not wrong, "\n".join(wrong)
