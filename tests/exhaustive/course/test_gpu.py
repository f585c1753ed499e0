"""Tasks that need a GPU: where their tests run, and the three verdicts: passed on the GPU, passed in the simulator, and not run."""

import json

import pytest

from course.cli import main as cli
from course.runner.progress import TaskState, cached_states, run_tasks
from tests.course.conftest import Workspace
from tests.course.test_gpu import IN_THE_SIMULATOR, driver, kernels

pytestmark = pytest.mark.usefixtures("clean_process_environment")


def test_without_a_gpu_only_gpu_tasks_pass_in_the_simulator(kernels: Workspace) -> None:
    kernels.edit("tests/test_sums.py", "    assert add(1, 2) == 3", "    import os\n\n    assert 'NUMBA_ENABLE_CUDASIM' not in os.environ")
    states = run_tasks(["0.1", "1.2"], kernels.root)
    assert states["1.2"] == IN_THE_SIMULATOR
    assert states["0.1"] == TaskState("0.1", "passed", passed=1, total=1)
    assert cached_states(kernels.root)["1.2"] == IN_THE_SIMULATOR


def test_a_task_that_passed_in_the_simulator_runs_again_on_a_gpu(kernels: Workspace, driver, monkeypatch) -> None:
    run_tasks(["1.2"], kernels.root)
    driver(1)
    assert cached_states(kernels.root)["1.2"].state == "stale"
    monkeypatch.setenv("CARD", "1")
    assert run_tasks(["1.2"], kernels.root)["1.2"] == TaskState("1.2", "passed", passed=1, total=1, device="gpu")


def test_the_command_line_says_where_the_kernels_ran(kernels: Workspace, driver, monkeypatch) -> None:
    done = kernels.course("test", "1.2")
    assert done.returncode == 0
    assert done.stdout.startswith("✓ Task 1.2 Signs: passed in the simulator. Of 1 test, 1 passes.\n")
    assert "1 of 1 tests  ✓ passed in the simulator" in kernels.course("status").stdout
    rows = json.loads(kernels.course("list", "--json").stdout)
    assert {row["id"]: row["device"] for row in rows} == {"0.1": "", "0.2": "", "0.3": "", "1.1": "", "1.2": "simulator"}
    driver(1)
    monkeypatch.setenv("CARD", "1")
    assert "passed on the GPU." in kernels.course("test", "1.2").stdout


def test_the_command_line_says_why_a_task_was_not_run(kernels: Workspace, driver) -> None:
    driver(1)
    done = kernels.course("test", "1.2")
    assert (done.returncode, done.stdout) == (
        cli.ENVIRONMENT,
        "– Task 1.2 Signs: not run.\n\nNOT RUN: numba cannot use the GPU; install its compilers\n",
    )
    assert "– not run" in kernels.course("status").stdout
