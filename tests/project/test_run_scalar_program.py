"""The training program: its output, its errors, and the files that it leaves."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from project import run_scalar
from project.lab.training import command_line, report
from project.lab.training.trainer import Trainer
from tests.errors import raises
from tests.project.programs import refusal

PROGRAM = Path(run_scalar.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent), "PYTHONUNBUFFERED": ""}  # the workspace under test, whichever package is installed
HELP = "run: python project/run_scalar.py --help"


def start(*arguments, **options):
    """Start the program in a new process."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | HERE, **options)


def end(process):
    """Wait for the process: exit status, standard output, standard error."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_line_is_out_before_the_next_epoch_begins(monkeypatch):
    arrived = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(arrived, encoding="utf-8"))
    advance, lines = Trainer.advance, []

    def watched(trainer):
        lines.append(arrived.getvalue().count(b"\n"))
        advance(trainer)

    monkeypatch.setattr(Trainer, "advance", watched)
    run_scalar.main(["--points", "2", "--epochs", "3", "--log-every", "1"])
    assert lines == [0, 0, 1, 1, 2, 2]  # before each point of each epoch


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--points", "many"], "points expected a whole number from 1 to 10000, got 'many'"),
        (["--hidden", "2.5"], "hidden expected a whole number from 1 to 1000, got 2.5"),
        (["--dataset", "moon"], "dataset expected one of Simple, Diag, Split, Xor, Circle, Spiral, got 'moon'"),
        (["--rate", "-1"], "rate expected a number above 0, such as 0.5, got -1.0"),
        (["--rate", "1" + 400 * "0"], "rate expected a number above 0, such as 0.5, got inf"),
        (["--log-every", "0"], f"Invalid value for '--log-every': expected a whole number of at least 1, got 0; {HELP}"),
        (["--log-every", "1.5"], f"Invalid value for '--log-every': expected a whole number of at least 1, got 1.5; {HELP}"),
        (["--rate"], f"Option '--rate' requires an argument; {HELP}"),
        (["--speed", "3"], f"No such option: --speed (Possible options: --seed); {HELP}"),
        (["--point", "3"], f"No such option: --point (Possible options: --points, --report); {HELP}"),
    ],
)
def test_a_wrong_flag_or_value_gets_one_line_that_says_what_is_allowed(arguments, message, capsys):
    assert refusal(run_scalar, capsys, *arguments) == message


def test_a_report_folder_that_cannot_be_made_or_written_into_is_refused_before_training(tmp_path, monkeypatch, capsys):
    expected = "--report expected a folder that can be made or written into, got"
    (tmp_path / "file").write_text("here already")
    name = str(tmp_path / "file" / "report")
    assert refusal(run_scalar, capsys, "--report", name) == f"{expected} {name!r} (Not a directory)"
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # file modes do not restrict the superuser
    assert refusal(run_scalar, capsys, "--report", tmp_path) == f"{expected} {str(tmp_path)!r} (not writable)"


def test_ctrl_c_without_a_report_leaves_no_file(tmp_path):
    process = start("--epochs", "1000000", "--log-every", "1", cwd=tmp_path)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 130
    assert list(tmp_path.iterdir()) == []


def ended(main, capsys):
    """Exit status and standard error of a program that runs to its end."""
    with pytest.raises(SystemExit) as caught:
        command_line.run("program.py", main)
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_ends_with_its_own_status(capsys, status):
    assert ended(lambda: status, capsys) == (status, "")


def test_code_that_is_not_written_yet_ends_a_program_with_its_task_and_place(monkeypatch, capsys):
    def forward(self, inputs):
        raise NotImplementedError("Need to implement for Task 1.5")

    monkeypatch.setattr(run_scalar.Linear, "forward", forward)
    line = forward.__code__.co_firstlineno + 1
    status, err = ended(lambda: run_scalar.main([]), capsys)
    assert (status, err) == (1, f"program.py: Need to implement for Task 1.5: {forward.__qualname__} in {__file__}, line {line}\n")


def test_another_thing_that_is_not_implemented_is_an_error_like_any_other():
    def main():
        raise NotImplementedError("step")

    with raises(NotImplementedError, "step"):
        command_line.run("program.py", main)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (OSError(28, "No space left on device"), 1, "could not write: [Errno 28] No space left on device"),
    ],
)
def test_ctrl_c_or_a_full_disk_while_the_report_is_written_ends_with_one_line(error, status, message, tmp_path, monkeypatch, capsys):
    def fail(trainer, folder, every):
        raise error

    monkeypatch.setattr(report, "write", fail)
    arguments = ["--points", "2", "--epochs", "1", "--report", str(tmp_path)]
    assert ended(lambda: run_scalar.main(arguments), capsys) == (status, f"program.py: {message}\n")
