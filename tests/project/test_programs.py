"""What the training programs have in common: settings and commands, the log, the report, wrong options, and how they end."""

import re
import shlex

import pytest

from minitorch.kernels.cuda import device as cuda_device
from project import run_fast_tensor, run_mnist_multiclass, run_scalar, run_tensor
from project.lab.training import program
from project.lab.training import run as training_run
from project.lab.training.fast_trainer import FastSetting, FastTrainer
from project.lab.training.image_trainer import ImageSetting, ImageTrainer
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting
from tests.project.programs import refusal

POINTS = [run_scalar, run_tensor, run_fast_tensor]
"""The programs that train on points."""


@pytest.fixture
def seen(monkeypatch):
    """Records the trainers instead of training."""
    trainers = []
    for module in (program, training_run):
        monkeypatch.setattr(module, "train", lambda trainer, *options: trainers.append(trainer) or 0)
    return trainers


DEFAULTS = [
    (run_tensor, TensorTrainer, Setting("Simple", points=50, hidden=10, rate=0.5, epochs=1000, seed=0, program="run_tensor")),
    (run_fast_tensor, FastTrainer, FastSetting("Simple", 50, hidden=100, rate=0.05, epochs=500, seed=0, program="run_fast_tensor")),
    (run_mnist_multiclass, ImageTrainer, ImageSetting("digits", dtype="float32", batch=16, seed=0)),
]


@pytest.mark.parametrize(("run", "trainer", "setting"), DEFAULTS)
def test_without_flags_its_own_setting_is_trained(seen, run, trainer, setting):
    run.main([])
    assert [(type(each), type(each.network), each.setting) for each in seen] == [(trainer, run.Network, setting)]


OTHERS = [
    (run_scalar, Setting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5)),
    (run_tensor, Setting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5, program="run_tensor")),
    (run_fast_tensor, FastSetting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5, program="run_fast_tensor", backend="cpu")),
    (run_mnist_multiclass, ImageSetting("digits", epochs=2, rate=1e-05, batch=7, seed=5, momentum=0.5, limit=20, dtype="float64")),
]


@pytest.mark.parametrize(("run", "setting"), OTHERS)
def test_the_command_repeats_the_run(seen, run, setting):
    python, file, *flags = shlex.split(setting.command())
    assert (python, file) == ("python", f"project/{setting.program}.py")
    run.main(flags)
    assert [each.setting for each in seen] == [setting]


def test_the_name_of_a_data_set_may_be_written_small(seen):
    for name in ("xor", "XOR", "Xor"):
        run_scalar.main(["--dataset", name])
    assert [each.setting.dataset for each in seen] == ["Xor"] * 3


def test_the_published_flags_work_with_and_without_an_equals_sign(seen, capsys):
    run_fast_tensor.main(["--BACKEND", "cpu", "--HIDDEN=7", "--DATASET", "SPLIT", "--RATE", "0.5", "--PTS=9", "--EPOCHS", "3"])
    assert [each.setting for each in seen] == [FastSetting("Split", 9, hidden=7, rate=0.5, epochs=3, program="run_fast_tensor")]
    assert run_fast_tensor.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(flag in out for flag in ("--BACKEND", "--DATASET", "--PTS", "--HIDDEN", "--RATE", "--EPOCHS", "--backend"))


@pytest.mark.parametrize("run", POINTS)
def test_a_run_prints_its_log_and_writes_a_report_with_the_command_and_every_number_that_is_trained(run, tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert run.main(["--points", "5", "--hidden", "3", "--epochs", "7", "--log-every", "3", "--report", str(folder)]) == 0
    out, err = capsys.readouterr()
    *log, summary, told = out.splitlines()
    pattern = r"epoch (\d)/7  loss +\d+\.\d{4}  correct [0-5]/5  \d\.\d{4} s an epoch"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["3", "6", "7"]
    pattern = r"7 of 7 epochs in \d+\.\d s \(\d\.\d{4} s an epoch\): loss \d+\.\d{4}, [0-5] of 5 points right\."
    assert re.fullmatch(pattern + (r" Compiling took \d+\.\d s before\." if run is run_fast_tensor else ""), summary)
    assert (told, err) == (f"Report: {folder / 'report.md'}", "")
    assert sorted(entry.name for entry in folder.iterdir()) == ["boundary.png", "curves.png", "report.md"]
    text = (folder / "report.md").read_text(encoding="utf-8")
    rate, backend = (0.05, " --backend cpu") if run is run_fast_tensor else (0.5, "")
    options = f"--dataset Simple --points 5 --hidden 3 --rate {rate} --epochs 7 --seed 0{backend}"
    assert f"python project/{run.__name__.removeprefix('project.')}.py {options}\n" in text
    assert "2 → 3 → 3 → 1, 25 parameters" in text  # (2·3 + 3) + (3·3 + 3) + (3 + 1)


@pytest.mark.parametrize("run", POINTS)
def test_a_wrong_value_gets_one_line_with_the_name_of_this_program(run, capsys):
    assert refusal(run, capsys, "--points", "0") == "points expected a whole number from 1 to 10000, got 0"


def test_the_gpu_without_one_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    assert refusal(run_fast_tensor, capsys, "--backend", "GPU") == (
        "the cuda backend expected an NVIDIA GPU with its driver, got none; run on a machine with a GPU, "
        "or start Python with NUMBA_ENABLE_CUDASIM=1 to try kernels in the simulator, or use the backend of the CPU: x.to('cpu')"
    )


def test_ctrl_c_ends_with_the_name_of_this_program(monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(TensorTrainer, "train_step", interrupted)
    assert run_tensor.main([]) == 130
    assert capsys.readouterr().err == "run_tensor.py: stopped. No epoch of 1000 was finished.\n"
