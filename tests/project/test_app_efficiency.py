"""The pages of Module 3 on training, speed-up and parallel loops, with finished and with unwritten code."""

import json
import re
import sys
import time
from contextlib import contextmanager

import pytest

from minitorch.kernels.cuda import device as cuda_device
from project.lab import sources
from project.lab.training import jobs, run_files
from project.lab.training.jobs import Failed, Job
from tests.project import workspace
from tests.project.pages import epoch, ignore_saved_files, open_page  # noqa: F401  the fixture works by being here


def texts(elements):
    """The texts of the elements, without the backslashes that escape Markdown."""
    return [unescape(element.value) for element in elements]


def unescape(text):
    return text.replace("\\", "")


# Training


def test_the_training_page_trains_and_shows_the_compile_time():
    app = open_page("m3_training", points="20", hidden="4")
    app.button(key="step").click().run()
    assert epoch(app) == 1
    assert any("After 1 epochs" in text and "Compilation took" in text for text in texts(app.caption))
    assert app.code[0].value == (
        "python project/run_fast_tensor.py --dataset Simple --points 20 --hidden 4 --rate 0.05 --epochs 500 --seed 0 --backend cpu"
    )


def test_the_training_page_announces_compilation_before_and_while_it_happens(monkeypatch):
    open_page("m3_training", points="20", hidden="4")  # a test can only patch imported modules
    seen = []

    @contextmanager
    def spinner(text):
        seen.append(text)
        yield
        seen.append("over")

    monkeypatch.setattr("streamlit.spinner", spinner)
    monkeypatch.setattr("project.lab.training.fast_trainer.FastTrainer.compile", lambda self: seen.append("a step"))
    monkeypatch.setattr("project.lab.training.fast_trainer.FastTrainer.grid", lambda self, n: seen.append("a picture") or [[0.5] * n] * n)
    open_page("m3_training", points="20", hidden="4")
    assert seen[:4] == ["Compiling the kernels. This may take half a minute …", "a step", "a picture", "over"]


@pytest.mark.parametrize("page", ["m1_training", "m3_training"])
def test_the_learning_rate_can_be_lowered_from_its_default_by_a_click(page):
    rate = open_page(page, points="20", hidden="4").number_input(key="rate")
    assert rate.min <= rate.value - rate.step < rate.value


def test_without_a_gpu_the_gpu_backend_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    app = open_page("m3_training", backend="gpu")
    assert "the cuda backend expected an NVIDIA GPU" in texts(app.error)[0]
    assert "Choose the backend cpu." in texts(app.caption)[-1]
    assert not app.metric


def test_a_hidden_size_is_reduced_to_the_limit_of_the_next_page():
    app = open_page("m3_training", hidden="120", points="10")
    assert "--hidden 120" in app.code[0].value
    app.switch_page("views/m2_training.py").run()
    assert not app.exception
    assert "--hidden 50" in app.code[0].value


def test_an_unwritten_layer_becomes_a_card_on_the_training_page(monkeypatch):
    open_page("m3_training")  # a test can only patch imported modules

    def unwritten(self, inputs):
        raise NotImplementedError("Need to implement for Task 3.5")

    monkeypatch.setattr("project.run_fast_tensor.Linear.forward", unwritten)
    app = open_page("m3_training")
    assert any("Task 3.5 is not written yet: open project/run_fast_tensor.py" in text for text in texts(app.info))


# A run is kept until the files that it depends on change


@pytest.fixture
def _restore_modules():
    """Restore the modules that a test imports again; other tests refer to the original ones."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in sources.FORGOTTEN}
    yield
    sys.modules.update(before)


@pytest.mark.usefixtures("_restore_modules")
def test_a_run_restarts_only_when_one_of_its_own_files_is_saved(monkeypatch):
    app = open_page("m1_training", points="5")
    app.button(key="step").click().run()
    monkeypatch.setattr(sources, "stamp", lambda: (("project/views/home.py", 1, 1),))  # every module is imported again
    app.run()
    assert epoch(app) == 1
    monkeypatch.setattr(sources, "digest", lambda program: "another")
    app.run()
    assert epoch(app) == 0


def test_a_run_depends_on_the_package_its_program_and_the_trainers(monkeypatch, tmp_path):
    monkeypatch.setattr(run_files, "ROOT", tmp_path)
    names = ["minitorch/scalar.py", "project/run_scalar.py", "project/lab/training/scalar_trainer.py"]
    others = ["project/run_tensor.py", "project/views/home.py", "course/tasks.toml", "project/lab/charts/charts.py"]
    for name in (*names, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    before = sources.digest("run_scalar")
    for name in others:
        (tmp_path / name).write_text("2\n")
    (tmp_path / names[0]).write_text("1\n")  # saved without a change
    assert sources.digest("run_scalar") == before
    for name in names:
        (tmp_path / name).write_text("2\n")
        assert sources.digest("run_scalar") != before
        (tmp_path / name).write_text("1\n")


# Background jobs


@pytest.fixture
def program(monkeypatch, tmp_path):
    """A function that writes a program of project/."""
    monkeypatch.setattr(jobs, "ROOT", tmp_path)
    (tmp_path / "project").mkdir()

    def make(source):
        (tmp_path / "project" / "work.py").write_text(source)
        return "work.py"

    return make


def finish(job):
    end = time.monotonic() + 60
    while job.read():
        assert time.monotonic() < end
        time.sleep(0.02)
    return job.lines


def test_a_job_returns_lines_as_they_arrive(program):
    job = Job(program("import sys, json\nfor i in range(3): print(json.dumps({'i': i, 'got': sys.argv[1:]}), flush=True)\n"), "--x", "1")
    assert finish(job) == [{"i": i, "got": ["--x", "1"]} for i in range(3)]
    assert not job.running


def test_an_incomplete_line_waits_for_the_rest(program, tmp_path):
    source = "import time, pathlib\nprint('{\"a\":', end='', flush=True)\npathlib.Path('half').touch()\n"
    job = Job(program(source + "while not pathlib.Path('go').exists(): time.sleep(0.01)\nprint('1}')\n"))
    while not (tmp_path / "half").exists():
        time.sleep(0.01)
    assert job.read()
    assert job.lines == []
    (tmp_path / "go").touch()
    assert finish(job) == [{"a": 1}]


def test_a_job_stops_immediately_and_keeps_its_output(program):
    job = Job(program("import time\nprint('{\"a\": 1}', flush=True)\nwhile True: time.sleep(1)\n"))
    while not job.lines:
        job.read()
    job.stop()
    assert not job.running
    assert not job.read()
    assert job.lines == [{"a": 1}]


def test_a_job_without_references_is_ended(program):
    job = Job(program("while True: pass\n"))
    process = job._process
    del job
    assert process.poll() is not None


def test_unwritten_code_and_other_errors_are_distinguished(program):
    with pytest.raises(NotImplementedError, match=r"^Need to implement for Task 3\.2$"):
        finish(Job(program("import sys\nsys.exit('timing.py: Need to implement for Task 3.2: f in x.py, line 3')\n")))
    with pytest.raises(Failed, match="ZeroDivisionError"):
        finish(Job(program("1 / 0\n")))
    with pytest.raises(Failed, match="it ended with status 3"):
        finish(Job(program("import sys\nsys.exit(3)\n")))


def test_an_exit_status_that_reports_a_verdict_is_not_an_error(program):
    assert finish(Job(program("import sys\nprint('{}')\nsys.exit(1)\n"))) == [{}]


def test_a_job_that_does_not_end_is_stopped(program):
    with pytest.raises(Failed, match=r"it did not end within 0\.3 seconds; is there an endless loop\?"):
        Job(program("while True: pass\n")).wait(0.3)


# Speed-up


def until_done(app):
    end = time.monotonic() + 120
    while not app.button(key="stop").disabled:
        assert time.monotonic() < end
        time.sleep(0.3)
        app.run()
    return app


@pytest.mark.exhaustive
def test_the_speed_up_page_measures_and_draws(monkeypatch):
    app = open_page("m3_speed", op="map", backends=["simple", "numpy", "cuda"])
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    assert app.code[0].value.startswith("python project/timing.py --op map --up-to 10000000 --dtype float32 --backends simple")
    assert "Press **Start** to measure" in app.info[0].value
    app.selectbox[0].set_value(1000).run()
    app.button(key="start").click().run()
    until_done(app)
    assert len(app.get("vega_lite_chart")) == 2  # the speed-up and the roofline
    assert any("At 1,000 elements, speed relative to simple: numpy" in text for text in texts(app.caption))
    assert list(app.dataframe[0].value["backend"]) == ["simple", "numpy"]
    assert not app.button(key="start").disabled


def test_stop_ends_the_measurement_and_keeps_the_results():
    app = open_page("m3_speed")
    app.button(key="start").click().run()
    job = app.session_state["speed_job"]
    assert app.button(key="start").disabled
    app.button(key="stop").click().run()
    assert not job.running
    assert not app.exception
    assert not app.button(key="start").disabled


# Parallel loops


def test_the_page_on_parallel_loops_shows_the_verdict_the_loops_and_the_source(monkeypatch):
    report = {
        "function": "matmul",
        "parallel": True,
        "words": ["MATMUL: parallel, 1 loop"],
        "compiled": [
            {
                "name": "_mm",
                "file": "minitorch/fast_ops.py",
                "line": 7,
                "loops": [
                    {"line": 8, "source": "for i in prange(n):", "fate": "parallel", "into": None, "allocations": [9, 9], "hoisted": 2},
                    {"line": 10, "source": "for j in prange(n):", "fate": "serial", "into": 8, "allocations": [], "hoisted": 0},
                ],
            }
        ],
        "raw": "numba's words",
    }

    class Done:
        def __init__(self, *command):
            assert command == ("parallel_check.py", "--json", "--level", "3", "--function", "matmul")
            self.lines = [json.loads(json.dumps(report))]

        def wait(self, seconds):
            pass

    monkeypatch.setattr("project.lab.kernels.check", lambda: None)
    monkeypatch.setattr(jobs, "Job", Done)
    app = open_page("m3_diagnostics", kernel="matmul")
    assert texts(app.success) == ["matmul: parallel, 1 loop"]
    rows = app.table[0].value
    assert list(rows["runs"]) == ["in parallel", "serially, inside the loop at line 8"]
    assert list(rows["arrays allocated per iteration"]) == ["2 (line 9)", "none"]
    assert "numba's words" in texts(app.code)
    assert any("def _tensor_matrix_multiply" in text for text in texts(app.code))
    assert any("iterations would overwrite each other's" in text for text in texts(app.caption))


# Pages of a workspace in which nothing of Module 3 is written


PRESS_START = """
import json, sys, time
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("project/app.py", default_timeout=120).run()
app.switch_page("views/m3_speed.py")
app.query_params["backends"] = ["simple", "fast"]
app.run()
app.button(key="start").click().run()
for _ in range(300):
    if app.button(key="stop").disabled:
        break
    time.sleep(0.2)
    app.run()
print(json.dumps([alert.value for alert in [*app.info, *app.error]]))
"""


@pytest.fixture(scope="module")
def unwritten_workspace(tmp_path_factory):
    """A workspace whose kernels are not written."""
    root = workspace.copy(tmp_path_factory.mktemp("stub"))
    file = root / "minitorch" / "fast_ops.py"
    source = file.read_text(encoding="utf-8")
    for name, task in (("tensor_map", "3.1"), ("tensor_zip", "3.1"), ("tensor_reduce", "3.1"), ("_tensor_matrix_multiply", "3.2")):
        unwritten = rf'\1    raise NotImplementedError("Need to implement for Task {task}")\n'
        source, count = re.subn(rf"(?ms)(^def {name}\(.*?\) -> \w+:\n)", unwritten, source, count=1)
        assert count == 1
    file.write_text(source, encoding="utf-8")
    workspace.turn_optimized_kernels_off(root)
    return root


@pytest.mark.exhaustive
def test_pages_with_unwritten_kernels_show_cards_instead_of_exceptions(unwritten_workspace):
    shown = workspace.show(unwritten_workspace, ["m3_diagnostics", "m3_speed", "m3_training"])
    assert [page["exceptions"] for page in shown.values()] == [[], [], []]
    assert any("Task 3.1 is not written yet" in unescape(notice) for notice in shown["m3_diagnostics"]["notices"])
    assert any("is not written yet: open minitorch/fast_ops.py" in unescape(notice) for notice in shown["m3_training"]["notices"])


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="pipes that do not block are asked for in another way there")
def test_measuring_an_unwritten_kernel_ends_in_its_card(unwritten_workspace):
    notices = json.loads(workspace.execute(unwritten_workspace, PRESS_START).splitlines()[-1])
    assert any("Task 3.2 is not written yet: open minitorch/fast_ops.py" in unescape(notice) for notice in notices)
