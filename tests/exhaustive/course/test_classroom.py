"""Files for GitHub Classroom and Gradescope: `course.staff.classroom`, run as these services would run them."""

import base64
import json
from pathlib import Path

import jsonschema

from course.manifest import ROOT
from tests.course.formats import CLASSROOM
from tests.course.test_classroom import Machine, handout_folder, machine, workflow


def test_the_steps_of_the_workflow_report_points_and_a_table(handout_folder: Path, machine: Machine) -> None:
    for step in workflow(handout_folder)["jobs"]["run-autograding-tests"]["steps"]:
        if "run" in step:
            done = machine.run(step["run"], handout_folder, PYTHONPATH=str(ROOT))
            assert done.returncode == 0, done.stdout + done.stderr
    assert machine.log.read_text(encoding="utf-8").endswith(" -e .\n")
    key, _, encoded = (machine.root / "output.txt").read_text(encoding="utf-8").partition("=")
    assert key == "result"
    result = json.loads(base64.b64decode(encoded))
    jsonschema.validate(result, CLASSROOM)
    assert (result["version"], result["status"], result["max_score"]) == (3, "fail", 50)
    assert [(test["name"], test["status"], test["score"], test["message"]) for test in result["tests"]] == [
        ("Task 0.1 Sums", "pass", 10, ""),
        ("Task 0.2 Products", "fail", 0, "double(x) is twice x. expected 14, yours 0"),
        ("Task 0.3 Powers", "fail", 0, "not written yet"),
        ("Task 1.1 Roots", "fail", 0, "blocked by Task 0.3"),
        ("Task 1.2 Signs", "fail", 0, "Task 1.2 has tests, and they run. no test under tests/ carries the mark task1_2"),
    ]
    assert (machine.root / "summary.md").read_text(encoding="utf-8").splitlines()[:6] == [
        "## 10 of 50 points",
        "",
        "| Task | | State | Tests | |",
        "|---|---|---|---:|---|",
        "| 0.1 | Sums | ✓ passed | 1 of 1 |  |",
        "| 0.2 | Products | ✗ failing | 1 of 3 | double(x) is twice x. expected 14, yours 0 |",
    ]
    assert not (handout_folder / "status.json").exists()
