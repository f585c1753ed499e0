"""The training program: its output, its errors, and the files that it leaves."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from project import run_scalar
from project.lab.training import command_line, program, report
from project.lab.training.trainer import Trainer

PROGRAM = Path(run_scalar.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent), "PYTHONUNBUFFERED": ""}  # the workspace under test, whichever package is installed
HELP = "run: python project/run_scalar.py --help"


def start(*arguments: str, **options) -> subprocess.Popen:
    """Start the program in a new process."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | HERE, **options)


def end(process: subprocess.Popen) -> tuple[int, str, str]:
    """Wait for the process: exit status, standard output, standard error."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


# Output


def test_it_prints_loss_points_right_and_time_every_few_epochs_and_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_scalar.main(["--points", "5", "--epochs", "7", "--log-every", "3"]) == 0
    out, err = capsys.readouterr()
    *log, summary = out.splitlines()
    pattern = r"epoch (\d)/7  loss +\d+\.\d{4}  correct [0-5]/5  \d\.\d{4} s an epoch"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["3", "6", "7"]
    assert re.fullmatch(r"7 of 7 epochs in \d+\.\d s \(\d\.\d{4} s an epoch\): loss \d+\.\d{4}, [0-5] of 5 points right\.", summary)
    assert err == ""


def test_the_name_of_a_data_set_may_be_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(program, "train", lambda trainer, every, folder: seen.append((trainer.setting.dataset, every, folder)) or 0)
    for name in ("xor", "XOR", "Xor"):
        run_scalar.main(["--dataset", name])
    assert seen == [("Xor", 10, None)] * 3


def test_a_line_is_out_before_the_next_epoch_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(arrived, encoding="utf-8"))
    advance, lines = Trainer.advance, []

    def watched(trainer: Trainer) -> None:
        lines.append(arrived.getvalue().count(b"\n"))
        advance(trainer)

    monkeypatch.setattr(Trainer, "advance", watched)
    run_scalar.main(["--points", "2", "--epochs", "3", "--log-every", "1"])
    assert lines == [0, 0, 1, 1, 2, 2]  # before each point of each epoch


def on_a_terminal(width: int, **environment: str) -> str:
    """The output of the program on a terminal of this width."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LINES")}
    variables |= {"TERM": "xterm-256color", "COLUMNS": str(width)} | HERE | environment
    shown = []

    def read() -> None:
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


def test_on_a_terminal_a_bar_shows_the_progress_beside_the_log() -> None:
    shown = on_a_terminal(100)
    assert "0/20" in shown
    assert "━" in shown
    assert "epoch 20/20  loss" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_the_bar_keeps_to_the_width_of_the_terminal() -> None:
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", on_a_terminal(40))
    assert "━" in plain
    assert max(len(line) for line in re.split(r"[\r\n]+", plain) if "━" in line) <= 40


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--points", "0"], "points expected a whole number from 1 to 10000, got 0"),
        (["--points", "many"], "points expected a whole number from 1 to 10000, got 'many'"),
        (["--hidden", "2.5"], "hidden expected a whole number from 1 to 1000, got 2.5"),
        (["--dataset", "moon"], "dataset expected one of Simple, Diag, Split, Xor, Circle, Spiral, got 'moon'"),
        (["--rate", "-1"], "rate expected a number above 0, such as 0.5, got -1.0"),
        (["--rate", "1" + 400 * "0"], "rate expected a number above 0, such as 0.5, got inf"),
        (["--rate", "fast"], "rate expected a number above 0, such as 0.5, got 'fast'"),
        (["--log-every", "0"], f"Invalid value for '--log-every': expected a whole number of at least 1, got 0; {HELP}"),
        (["--log-every", "1.5"], f"Invalid value for '--log-every': expected a whole number of at least 1, got 1.5; {HELP}"),
        (["--rate"], f"Option '--rate' requires an argument; {HELP}"),
        (["--speed", "3"], f"No such option: --speed (Possible options: --seed); {HELP}"),
        (["--point", "3"], f"No such option: --point (Possible options: --points, --report); {HELP}"),
    ],
)
def test_a_wrong_flag_or_value_gets_one_line_that_says_what_is_allowed(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_scalar.main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err) == (2, "", f"run_scalar.py: {message}\n")


def test_a_report_folder_that_cannot_be_made_is_refused_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("here already")
    name = str(tmp_path / "file" / "report")
    with pytest.raises(SystemExit) as ended:
        run_scalar.main(["--report", name])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err == f"run_scalar.py: --report expected a folder that can be made or written into, got {name!r} (Not a directory)\n"


def test_a_report_folder_that_cannot_be_written_into_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # file modes do not restrict the superuser
    with pytest.raises(SystemExit) as ended:
        run_scalar.main(["--report", str(tmp_path)])
    message = f"--report expected a folder that can be made or written into, got {str(tmp_path)!r} (not writable)"
    assert (ended.value.code, capsys.readouterr().err) == (2, f"run_scalar.py: {message}\n")


# End of the program


def test_a_report_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    assert run_scalar.main(["--points", "5", "--epochs", "2", "--report", str(folder)]) == 0
    assert sorted(entry.name for entry in folder.iterdir()) == ["boundary.png", "curves.png", "report.md"]
    assert capsys.readouterr().out.splitlines()[-1] == f"Report: {folder / 'report.md'}"


def test_ctrl_c_without_a_report_leaves_no_file(tmp_path: Path) -> None:
    process = start("--epochs", "1000000", "--log-every", "1", cwd=tmp_path)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 130
    assert list(tmp_path.iterdir()) == []


def test_a_kill_leaves_an_earlier_report_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("earlier")
    process = start("--epochs", "1000000", "--log-every", "1", "--report", str(tmp_path))
    process.stdout.readline()
    process.kill()
    assert end(process)[0] == -signal.SIGKILL
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("report.md", "earlier")]


def ended(main, capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str]:
    """Exit status and standard error of a program that runs to its end."""
    with pytest.raises(SystemExit) as caught:
        command_line.run("program.py", main)
    return caught.value.code, capsys.readouterr().err


def test_a_program_ends_with_its_own_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(lambda: 0, capsys) == (0, "")
    assert ended(lambda: 3, capsys) == (3, "")


def test_code_that_is_not_written_yet_ends_a_program_with_its_task_and_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forward(self, inputs):
        raise NotImplementedError("Need to implement for Task 1.5")

    monkeypatch.setattr(run_scalar.Linear, "forward", forward)
    line = forward.__code__.co_firstlineno + 1
    status, err = ended(lambda: run_scalar.main([]), capsys)
    assert (status, err) == (1, f"program.py: Need to implement for Task 1.5: {forward.__qualname__} in {__file__}, line {line}\n")


def test_another_thing_that_is_not_implemented_is_an_error_like_any_other() -> None:
    def main() -> int:
        raise NotImplementedError("step")

    with pytest.raises(NotImplementedError, match=r"^step$"):
        command_line.run("program.py", main)


def test_ctrl_c_while_the_report_is_written_ends_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(trainer: Trainer, folder: Path, every: int) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write", interrupted)
    arguments = ["--points", "2", "--epochs", "1", "--report", str(tmp_path)]
    assert ended(lambda: run_scalar.main(arguments), capsys) == (130, "program.py: stopped\n")


def test_a_full_disk_ends_a_program_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(trainer: Trainer, folder: Path, every: int) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write", full)
    arguments = ["--points", "2", "--epochs", "1", "--report", str(tmp_path)]
    assert ended(lambda: run_scalar.main(arguments), capsys) == (1, "program.py: could not write: [Errno 28] No space left on device\n")
