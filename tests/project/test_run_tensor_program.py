"""The training program for Tensors: its own name, defaults and report; what it shares with that for Scalars is tested there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from project import run_tensor
from project.lab.training import program
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import TensorSetting

PROGRAM = Path(run_tensor.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent)}  # the workspace under test, whichever package is installed


def test_it_prints_loss_points_right_and_time_every_few_epochs_and_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tensor.main(["--points", "5", "--hidden", "2", "--epochs", "7", "--log-every", "3"]) == 0
    out, err = capsys.readouterr()
    *log, summary = out.splitlines()
    pattern = r"epoch (\d)/7  loss +\d+\.\d{4}  correct [0-5]/5  \d\.\d{4} s an epoch"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["3", "6", "7"]
    assert re.fullmatch(r"7 of 7 epochs in \d+\.\d s \(\d\.\d{4} s an epoch\): loss \d+\.\d{4}, [0-5] of 5 points right\.", summary)
    assert err == ""


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[TensorSetting]:
    """Records the settings instead of training."""
    settings = []

    def train(trainer: TensorTrainer, every: int, folder: Path | None) -> int:
        assert isinstance(trainer, TensorTrainer)
        assert isinstance(trainer.network, run_tensor.Network)
        settings.append(trainer.setting)
        return 0

    monkeypatch.setattr(program, "train", train)
    return settings


def test_without_flags_its_own_setting_is_trained(seen: list[TensorSetting]) -> None:
    run_tensor.main([])
    assert seen == [TensorSetting("Simple", points=50, hidden=10, rate=0.5, epochs=1000, seed=0, program="run_tensor")]


def test_the_command_repeats_the_run(seen: list[TensorSetting]) -> None:
    setting = TensorSetting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5, program="run_tensor")
    command = shlex.split(setting.command())
    assert command[:2] == ["python", "project/run_tensor.py"]
    run_tensor.main(command[2:])
    assert seen == [setting]


def test_a_wrong_value_gets_one_line_with_the_name_of_this_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_tensor.main(["--points", "0"])
    message = "run_tensor.py: points expected a whole number from 1 to 10000, got 0\n"
    assert (ended.value.code, *capsys.readouterr()) == (2, "", message)


def test_ctrl_c_ends_with_the_name_of_this_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(self: TensorTrainer) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(TensorTrainer, "train_step", interrupted)
    assert run_tensor.main([]) == 130
    assert capsys.readouterr().err == "run_tensor.py: stopped. No epoch of 1000 was finished.\n"


def test_code_that_is_not_written_yet_ends_it_with_one_line(tmp_path: Path) -> None:
    script = (
        "from project import run_tensor\n"
        "from project.lab.training import command_line\n"
        "def forward(self, inputs):\n"
        "    raise NotImplementedError('Need to implement for Task 2.5')\n"
        "run_tensor.Linear.forward = forward\n"
        "command_line.run('run_tensor.py', lambda: run_tensor.main([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=os.environ | HERE, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "run_tensor.py: Need to implement for Task 2.5: forward in <string>, line 4\n"


def test_a_report_is_written_with_the_command_and_every_number_that_is_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_tensor.main(["--points", "5", "--hidden", "3", "--epochs", "2", "--report", str(tmp_path)]) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["boundary.png", "curves.png", "report.md"]
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "python project/run_tensor.py --dataset Simple --points 5 --hidden 3 --rate 0.5 --epochs 2 --seed 0" in text
    assert "2 → 3 → 3 → 1, 25 parameters" in text  # (2·3 + 3) + (3·3 + 3) + (3 + 1)
