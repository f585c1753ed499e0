"""The training programs as processes: run from any folder, interrupted, killed, in a terminal, and with a full disk."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from course.manifest import ROOT
from project.lab.training.fast_trainer import FastSetting, FastTrainer
from project.run_fast_tensor import Network
from tests.project.test_run_fast_tensor_program import trained
from tests.project.test_run_scalar_program import HERE, PROGRAM, end, start


def run(command, folder):
    """Run the program to its end in a folder: exit status, standard output, standard error."""
    done = subprocess.run([sys.executable, *command], cwd=folder, env=os.environ | HERE, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


POINTS = ["--points", "3", "--epochs", "1"]
OPTIONS = [
    ("run_scalar", POINTS, "epoch 1/1  loss"),
    ("run_tensor", POINTS, "epoch 1/1  loss"),
    ("run_mnist_multiclass", ["--limit", "40", "--epochs", "1", "--dtype", "float64"], "epoch 1/1  loss"),
    ("timing", ["--up-to", "64", "--backends", "simple,numpy"], "matrix product"),
]


@pytest.mark.parametrize(("name", "options", "begin"), OPTIONS)
def test_a_program_runs_as_a_file_and_as_a_module_from_any_directory(name, options, begin, tmp_path):
    for command in ([str(PROGRAM.with_name(f"{name}.py"))], ["-m", f"project.{name}"]):
        status, out, err = run([*command, *options], tmp_path)
        assert (status, err) == (0, "")
        assert out.startswith(begin)


UNWRITTEN = [("run_tensor", "Linear", "2.5"), ("run_fast_tensor", "Linear", "3.5"), ("run_mnist_multiclass", "Conv2d", "4.5")]


@pytest.mark.parametrize(("name", "layer", "task"), UNWRITTEN)
def test_code_that_is_not_written_yet_ends_a_program_with_one_line(name, layer, task, tmp_path):
    script = (
        f"from project import {name} as program\n"
        "from project.lab.training import command_line\n"
        "def forward(self, inputs):\n"
        f"    raise NotImplementedError('Need to implement for Task {task}')\n"
        f"program.{layer}.forward = forward\n"
        f"command_line.run('{name}.py', lambda: program.main([]))\n"
    )
    expected = f"{name}.py: Need to implement for Task {task}: forward in <string>, line 4\n"
    assert run(["-c", script], tmp_path) == (1, "", expected)


def test_the_programs_do_not_import_streamlit():
    code = "import sys; from project import run_scalar, run_gpt, run_sentiment; print('streamlit' in sys.modules)"
    assert run(["-c", code], ROOT)[1] == "False\n"


def test_ctrl_c_ends_with_one_line_and_a_report_of_what_was_done(tmp_path):
    process = start("--epochs", "1000000", "--log-every", "1", "--report", str(tmp_path))
    first = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    status, out, err = end(process)
    assert first[2].startswith("epoch       3/1000000")
    assert status == 130
    assert re.fullmatch(r"run_scalar\.py: stopped\. \d+ of 1000000 epochs in .* points right\.\nReport: .*report\.md\n", err)
    assert "Report" not in out
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert int(re.search(r"(\d+) of 1000000 epochs", text)[1]) >= 3
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["boundary.png", "curves.png", "report.md"]


def test_a_reader_that_leaves_early_ends_the_run_without_a_traceback(tmp_path):
    process = start("--epochs", "1000000", "--log-every", "1", "--report", str(tmp_path))
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) != 0
    err = process.stderr.read()
    process.stderr.close()
    assert re.fullmatch(r"run_scalar\.py: stopped\. .*\nReport: .*\n", err)
    assert (tmp_path / "report.md").is_file()


def test_a_kill_leaves_an_earlier_report_as_it_was(tmp_path):
    (tmp_path / "report.md").write_text("earlier")
    process = start("--epochs", "1000000", "--log-every", "1", "--report", str(tmp_path))
    process.stdout.readline()
    process.kill()
    assert end(process)[0] == -signal.SIGKILL
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("report.md", "earlier")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, the disk that is always full")
@pytest.mark.parametrize("name", ["run_scalar.py", "run_manual.py"])
def test_output_that_cannot_be_written_ends_a_program_with_one_line(name):
    with open("/dev/full", "w") as full:
        command = [sys.executable, str(PROGRAM.with_name(name)), "--points", "2"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=os.environ | HERE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, f"{name}: could not write: [Errno 28] No space left on device\n")


def on_a_terminal(width, **environment):
    """The output of the program on a terminal of this width."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LINES")}
    variables |= {"TERM": "xterm-256color", "COLUMNS": str(width)} | HERE | environment
    shown = []

    def read():
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                return
            shown.append(part)

    command = [sys.executable, str(PROGRAM), "--points", "5", "--epochs", "20"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    assert process.wait(timeout=60) == 0
    reader.join(timeout=60)
    os.close(ours)
    return b"".join(shown).decode()


def test_on_a_terminal_a_colored_bar_of_its_width_shows_the_progress_beside_the_log():
    color, escapes = re.compile(r"\x1b\[(3|4|9)\d"), re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
    shown = on_a_terminal(40)
    assert color.search(shown)
    plain = escapes.sub("", shown)
    assert "0/20" in plain
    assert "epoch 20/20  loss" in plain
    assert 0 < max(len(line) for line in re.split(r"[\r\n]+", plain) if "━" in line) <= 40
    assert not color.search(on_a_terminal(100, NO_COLOR="1"))


@pytest.mark.parametrize("dataset", ["Simple", "Split", "Xor"])
def test_the_default_network_learns(dataset):
    trainer = trained(FastTrainer(FastSetting(dataset, hidden=100, rate=0.05, epochs=300, seed=1), Network))
    assert trainer.correct[-1] >= 46
    assert trainer.losses[-1] < 0.25
