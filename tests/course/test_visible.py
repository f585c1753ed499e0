"""The run of the visible tests: what it imports, and what decides its outcome."""

import json
import os
import subprocess
from dataclasses import asdict

import pytest

from course.manifest import ROOT, course
from course.runner.failure_report import Card
from course.staff.grading import visible
from course.staff.grading.visible import command_for, run_environment
from course.staff.sandbox.monitor import RunResult

PROPERTY = """import pytest
from hypothesis import given
from hypothesis.strategies import floats


@pytest.mark.task0_1
@given(floats(0, 1))
def test_property(x):
    assert 0 <= x <= 1
"""


def run_visible(folder, tmp_path, *paths):
    """Run the visible tests of Task 0.1 in a folder, with these folders on the path; returns the process and the rows of its report."""
    command = [word.replace("{tmp}", str(tmp_path)) for word in command_for(course().task("0.1"), ["test_it.py"], 60)]
    environment = {key: value.replace("{tmp}", str(tmp_path)) for key, value in run_environment({}).items()}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*paths, ROOT)))
    around = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    ran = subprocess.run(command, cwd=folder, env=around | environment, capture_output=True, text=True, check=False)
    return ran, json.loads((tmp_path / "report.json").read_text())["tests"]


def test_pytest_plugins_installed_on_the_machine_are_not_loaded(tmp_path):
    """Each plugin would be imported in every run, and all assertions of its package rewritten, for example those of Hypothesis."""
    site, folder = tmp_path / "site", tmp_path / "files"
    (site / "other-1.0.dist-info").mkdir(parents=True)
    (site / "other-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (site / "other-1.0.dist-info" / "entry_points.txt").write_text("[pytest11]\nother = other_plugin\n")
    (site / "other_plugin.py").write_text("raise RuntimeError('this plugin was loaded')\n")
    folder.mkdir()
    settings = '[tool.pytest.ini_options]\naddopts = "-p course.runner.plugin"\nmarkers = ["task0_1: Operators"]\n'
    (folder / "pyproject.toml").write_text(settings)
    (folder / "test_it.py").write_text(PROPERTY)
    ran, rows = run_visible(folder, tmp_path, site)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [(row["nodeid"], row["state"]) for row in rows] == [("test_it.py::test_property", "passed")]


CANARIES = ["tests/test_a.py::test_that_passes", "tests/test_a.py::test_that_fails", "tests/test_z.py::test_that_passes"]


def row(nodeid, state):
    return {"nodeid": nodeid, "state": state, "task": "0.1", "needs": None, "order": 0, "card": asdict(Card(nodeid, "0.1"))}


@pytest.mark.parametrize(
    ("exitstatus", "states", "forged"),
    [
        (1, ["passed", "failing", "passed"], False),
        (1, ["passed", "passed", "passed"], True),
        (1, ["passed", "failing"], True),
        (3, ["passed", "failing"], False),  # pytest failed between two tests
        (3, ["passed", "passed"], True),
    ],
)
def test_a_run_that_pytest_did_not_finish_is_no_fraud(exitstatus, states, forged):
    rows = [row(nodeid, state) for nodeid, state in zip(CANARIES, states, strict=False)]
    document = {"exitstatus": exitstatus, "interrupted": None, "tests": rows}
    run = visible._parse_report(RunResult(exitstatus, "ended", 1.0, "", json.dumps(document).encode()), CANARIES)
    assert run.forged == forged
    expected = "the run forged its report, which is discarded" if forged else "the run ended before it"
    assert run.of(["tests/test_b.py::test_relu"])[0].message == expected
