"""The training program: its output, its errors, and the files that it leaves."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.test_run_scalar_program import HERE, PROGRAM, end, on_a_terminal, start


def test_it_runs_as_a_file_and_as_a_module_from_any_directory(tmp_path: Path) -> None:
    arguments = ["--points", "3", "--epochs", "1"]
    for command in ([str(PROGRAM)], ["-m", "project.run_scalar"]):
        done = subprocess.run([sys.executable, *command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("epoch 1/1  loss")


def test_no_color_is_respected() -> None:
    colour = re.compile(r"\x1b\[(3|4|9)\d")
    assert colour.search(on_a_terminal(100))
    assert not colour.search(on_a_terminal(100, NO_COLOR="1"))


def test_ctrl_c_ends_with_one_line_and_a_report_of_what_was_done(tmp_path: Path) -> None:
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


def test_a_reader_that_leaves_early_ends_the_run_without_a_traceback(tmp_path: Path) -> None:
    process = start("--epochs", "1000000", "--log-every", "1", "--report", str(tmp_path))
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) != 0
    err = process.stderr.read()
    process.stderr.close()
    assert re.fullmatch(r"run_scalar\.py: stopped\. .*\nReport: .*\n", err)
    assert (tmp_path / "report.md").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, the disk that is always full")
@pytest.mark.parametrize("name", ["run_scalar.py", "run_manual.py"])
def test_output_that_cannot_be_written_ends_a_program_with_one_line(name: str) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, str(PROGRAM.with_name(name)), "--points", "2"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=os.environ | HERE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, f"{name}: could not write: [Errno 28] No space left on device\n")
