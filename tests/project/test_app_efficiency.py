"""The pages of Module 3 on training, speed-up and parallel loops, with finished and with unwritten code."""

import re
import sys
import time
from contextlib import contextmanager

import pytest

import minitorch
from minitorch.kernels.cuda import device as cuda_device
from project.lab import sources
from project.lab.charts import loop_nest, speed_chart
from project.lab.explorers.diagnostics import Loop
from project.lab.training import jobs, run_files
from project.lab.training.jobs import Failed, Job
from tests.errors import raises
from tests.project.classifier_pages import texts
from tests.project.pages import epoch, fill, ignore_saved_files, import_modules, open_page, press, specs  # noqa: F401  a fixture

# Training


def test_the_training_page_trains_and_shows_the_compile_time():
    app = press(open_page("m3_training", points="20", hidden="4"), "step")
    assert epoch(app) == 1
    assert any("After 1 epochs" in text and "Compilation took" in text for text in texts(app.caption))
    options = "--dataset Simple --points 20 --hidden 4 --rate 0.05 --epochs 500 --seed 0 --backend cpu"
    assert app.code[0].value == f"python project/run_fast_tensor.py {options}"


def test_a_package_without_compile_has_no_switch(monkeypatch):
    app = open_page("m3_training", points="20", hidden="4", eager="true")
    assert " --eager " in app.code[0].value
    assert app.toggle(key="eager").value is True
    monkeypatch.setattr(minitorch, "compile", None)
    assert not open_page("m3_training", points="20", hidden="4").toggle


def test_the_training_page_announces_compilation_before_and_while_it_happens(monkeypatch):
    import_modules("m3_training")
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
    assert "--hidden 50" in fill(app, training_part="Tensors").code[0].value


# A run is kept until the files that it depends on change


@pytest.fixture
def _restore_modules():
    """Restore the modules that a test imports again; other tests refer to the original ones."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in sources.FORGOTTEN}
    yield
    sys.modules.update(before)


@pytest.mark.usefixtures("_restore_modules")
def test_a_run_restarts_only_when_one_of_its_own_files_is_saved(monkeypatch):
    app = press(open_page("m1_training", points="5"), "step")
    monkeypatch.setattr(sources, "stamp", lambda: (("project/views/home.py", 1, 1),))  # every module is imported again
    assert epoch(app.run()) == 1
    monkeypatch.setattr(sources, "digest", lambda program: "another")
    assert epoch(app.run()) == 0


def test_a_run_depends_on_what_the_files_of_its_program_contain(monkeypatch, tmp_path):
    monkeypatch.setattr(run_files, "ROOT", tmp_path)
    names = ["minitorch/scalar.py", "project/run_scalar.py", "project/lab/training/scalar_trainer.py"]
    others = ["project/run_tensor.py", "project/views/home.py", "course/tasks.toml", "project/lab/charts/charts.py"]

    def digest_with(changed=None):
        for each in (*names, *others):
            (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / each).write_text("2\n" if each == changed else "1\n")
        return sources.digest("run_scalar")

    before = digest_with()
    assert [digest_with(name) == before for name in others] == [True] * 4
    assert [digest_with(name) == before for name in names] == [False] * 3
    assert digest_with() == before  # saved without a change


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
    with raises(NotImplementedError, "Need to implement for Task 3.2"):
        finish(Job(program("import sys\nsys.exit('timing.py: Need to implement for Task 3.2: f in x.py, line 3')\n")))
    with pytest.raises(Failed, match="ZeroDivisionError"):
        finish(Job(program("1 / 0\n")))
    with pytest.raises(Failed, match="it ended with status 3"):
        finish(Job(program("import sys\nsys.exit(3)\n")))


def test_an_exit_status_that_reports_a_verdict_is_not_an_error(program):
    assert finish(Job(program("import sys\nprint('{}')\nsys.exit(1)\n"))) == [{}]


def test_a_job_that_does_not_end_is_stopped(program):
    with raises(Failed, "it did not end within 0.3 seconds; is there an endless loop?"):
        Job(program("while True: pass\n")).wait(0.3)


# Speed-up


def test_the_page_opens_on_the_recorded_speeds_until_something_is_measured():
    app = open_page("m3_speed")
    (chart,) = specs(app)
    assert chart["description"].startswith("Matrix products, float32, relative to textbook. ")
    assert app.info[0].value.startswith("Press **Start** to measure. An example, one thread: `python -m benchmarks.all")


def test_the_recorded_speeds_are_those_of_the_square_products_with_both_rivals():
    rows = [
        ["ops", "matmul float32 512", "0.90 of NumPy's", "0.80 (0.70 to 0.90)", "MISSED"],
        ["ops", "matmul float32 512", "100 times the textbook's", "120", "reached"],
        ["ops", "matmul float32 256", "0.90 of NumPy's", "1.25", "reached"],
        ["ops", "matmul float32 256", "100 times the textbook's", "50", "MISSED"],
        ["ops", "matmul float32 32x64", "0.80 of NumPy's", "0.5", "MISSED"],
        ["ops", "matmul float64 64", "0.80 of NumPy's", "0.5", "MISSED"],
        ["ops", "matmul float32 64", "0.80 of NumPy's", "0.5", "MISSED"],
    ]
    chart = speed_chart.recorded(rows)
    assert chart["description"].endswith(". 256: fast 50×; 512: fast 120×; 256: numpy 40×; 512: numpy 150×.")
    textbook = [row for row in chart["layer"][0]["data"]["values"] if row["curve"] == "textbook"]
    assert [(row["x"], row["y"]) for row in textbook] == [(256, 1.0), (512, 1.0)]


def test_stop_ends_the_measurement_and_keeps_the_results():
    app = press(open_page("m3_speed"), "start")
    job = app.session_state["speed_job"]
    assert app.button(key="start").disabled
    press(app, "stop")
    assert not job.running
    assert not app.exception
    assert not app.button(key="start").disabled


# Parallel loops


NESTED = """
def other(): pass
def _mm(out, n):
    for i in prange(n):
        a, b = np.empty(1), np.empty(1)
        for j in prange(n):
            for k in range(3):
                out[i] += a[0]
    if n > 2:
        out[:] = (out +
                  1)
"""


def lines(figure):
    """The boxes of the figure, each with its look, the loop, and what is said of it."""
    boxes = re.findall(r'<div class="loop (\w*)"><p class="source">(.*?)</p>(?:<p>(.*?)</p>)?', figure)
    return [f"{look}: {source} {words}".strip() for look, source, words in boxes]


def test_loops_are_boxes_in_boxes_and_array_expressions_and_loops_from_elsewhere_have_one():
    at = [(11, "parallel", None), (4, "fused", 11), (90, "parallel", None)]
    figure = loop_nest.nest(NESTED, "_mm", 3, [Loop(line, "b < 1", fate, into) for line, fate, into in at])
    assert lines(figure) == [
        "fused: for i in prange(n): fused with the loop at line 11",
        ": for j in prange(n):",
        ": for k in range(3):",
        "parallel: out[:] = (out + parallel",
        "parallel: b &lt; 1 parallel",
    ]
    assert figure.split("</style>")[1].count("</div></div></div>") == 1  # i, j and k end together


def test_the_page_on_parallel_loops_shows_the_verdict_the_loops_and_the_source(monkeypatch, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(NESTED)
    loops = [
        {"line": 4, "source": "for i in prange(n):", "fate": "parallel", "into": None, "allocations": [5, 5], "hoisted": 2},
        {"line": 6, "source": "for j in prange(n):", "fate": "serial", "into": 4, "allocations": [], "hoisted": 0},
    ]
    compiled = [{"name": "_mm", "file": str(file), "line": 3, "loops": loops}]
    report = {"function": "matmul", "parallel": True, "words": ["MATMUL: parallel, 1 loop"], "compiled": compiled, "raw": "numba's words"}

    class Done:
        def __init__(self, *command):
            assert command == ("parallel_check.py", "--json", "--level", "3", "--function", "matmul")
            self.lines = [report]

        def wait(self, seconds):
            pass

    monkeypatch.setattr("project.lab.kernels.check", lambda: None)
    monkeypatch.setattr(jobs, "Job", Done)
    app = open_page("m3_diagnostics", kernel="matmul")
    assert texts(app.success) == ["matmul: parallel, 1 loop"]
    (figure,) = [each.proto.body for each in app.get("html") if 'class="loop' in each.proto.body]
    assert lines(figure) == [
        "parallel: for i in prange(n): parallel; 2 instructions hoisted out of the loop; every iteration allocates 2 arrays, at line 5",
        "serial: for j in prange(n): serial: nested in the parallel loop at line 4",
        ": for k in range(3):",
    ]
    assert "numba's words" in texts(app.code)
    assert any("def _tensor_matrix_multiply" in text for text in texts(app.code))
    assert any("iterations would overwrite each other's" in text for text in texts(app.caption))
    assert not app.error
    assert not app.warning
