"""Tasks that need a GPU: where their tests run, and the three verdicts: passed on the GPU, passed in the simulator, and not run."""

import os
import sys
from types import SimpleNamespace

import pytest

from course.manifest import course
from course.runner import gpu
from course.runner.progress import TaskState, run_tasks

from .conftest import Workspace

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes")

TESTS = """import os

import pytest

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


@pytest.mark.task1_2
@pytest.mark.skipif(not SIMULATED and not os.environ.get("CARD"), reason="NOT RUN: numba cannot use the GPU; install its compilers")
def test_kernel():
    pass
"""

IN_THE_SIMULATOR = TaskState("1.2", "passed", passed=1, total=1, device="simulator")


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    """A machine with as many GPUs as the test sets; without a GPU there is no driver either."""

    def install(gpus=0, cu_init=0, cu_device_get_count=0):
        def count(where):
            where._obj.value = gpus
            return cu_device_get_count

        def load(name):
            if not gpus:
                raise OSError(f"{name}: no such file")
            return SimpleNamespace(cuInit=lambda flags: cu_init, cuDeviceGetCount=count)

        monkeypatch.setattr(gpu.ctypes, "CDLL", load)
        gpu.has_gpu.cache_clear()

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    install(0)
    yield install
    gpu.has_gpu.cache_clear()


@pytest.fixture
def kernels(workspace: Workspace) -> Workspace:
    """The tiny course, whose Task 1.2 needs a GPU."""
    workspace.edit("course/tasks.toml", 'mark = "task1_2"\n', 'mark = "task1_2"\ngpu = true\n')
    workspace.write("tests/test_kernels.py", TESTS)
    return workspace


def test_a_gpu_is_present_if_the_driver_and_not_another_library_of_its_name_reports_one(driver, monkeypatch) -> None:
    assert not gpu.has_gpu()
    driver(2)
    assert gpu.has_gpu()
    driver(1, cu_init=100)
    assert not gpu.has_gpu()
    driver(1, cu_device_get_count=3)
    assert not gpu.has_gpu()
    monkeypatch.setattr(gpu.ctypes, "CDLL", lambda name: SimpleNamespace())
    gpu.has_gpu.cache_clear()
    assert not gpu.has_gpu()


def test_without_a_gpu_gpu_tasks_run_in_the_simulator(driver) -> None:
    on_the_processor, on_the_gpu = course().task("3.1"), course().task("3.3")
    assert gpu.environment(on_the_processor) == {}
    assert gpu.environment(on_the_gpu) == {"NUMBA_ENABLE_CUDASIM": "1"}
    driver(1)
    assert gpu.environment(on_the_gpu) == {}


@pytest.mark.parametrize(("value", "simulated"), [(None, False), ("0", False), ("1", True), ("yes", False)])
def test_the_simulator_setting_is_read_as_numba_reads_it(value: str | None, simulated: bool) -> None:
    assert gpu.simulated({} if value is None else {"NUMBA_ENABLE_CUDASIM": value}) is simulated


def test_an_unwritten_task_ran_on_no_device(kernels: Workspace) -> None:
    kernels.edit("tests/test_kernels.py", "    pass", "    raise NotImplementedError('Need to implement for Task 1.2')")
    assert run_tasks(["1.2"], kernels.root)["1.2"].state == "todo"
    assert " in the simulator" not in kernels.course("list").stdout


def test_with_a_gpu_that_numba_cannot_use_a_task_is_not_run_and_the_reason_is_given(kernels: Workspace, driver) -> None:
    driver(1)
    state = run_tasks(["1.2"], kernels.root)["1.2"]
    assert (state.state, state.total, state.device) == ("not run", 0, "")
    assert state.card is not None
    assert state.card.error == "NOT RUN: numba cannot use the GPU; install its compilers"


def test_with_a_gpu_the_simulator_can_still_be_requested(kernels: Workspace, driver, monkeypatch) -> None:
    driver(1)
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert run_tasks(["1.2"], kernels.root)["1.2"] == IN_THE_SIMULATOR


def test_looking_for_a_gpu_does_not_load_numba(workspace: Workspace) -> None:
    program = "import sys; from course.runner import gpu; gpu.has_gpu(); print('numba' in sys.modules)"
    workspace.write("look.py", program)
    assert workspace.python("look", PYTHONPATH=os.pathsep.join(sys.path)).stdout == "False\n"
