"""The training program for compiled backends and its trainer: flags, mini-batches, and output about compilation."""

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minitorch import FastBackend, Module, Parameter, Tensor, TensorBackend, datasets, tensor
from minitorch.kernels.cuda import device as cuda_device
from project import run_fast_tensor
from project.lab.training import fast_trainer, program
from project.lab.training.fast_trainer import FastSetting, FastTrainer
from project.run_fast_tensor import Network

PROGRAM = Path(run_fast_tensor.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent)}  # the workspace under test, whichever package is installed
NO_GPU = (
    "the cuda backend expected an NVIDIA GPU with its driver, got none; run on a machine with a GPU, "
    "or start Python with NUMBA_ENABLE_CUDASIM=1 to try kernels in the simulator, or use the backend of the CPU: x.to('cpu')"
)


class OneWeight(Module):
    """sigmoid(w · x_1), from w = 0: small enough to be trained by hand."""

    def __init__(self, hidden: int, backend: TensorBackend) -> None:
        super().__init__()
        self.weight = Parameter(tensor([0.0], backend=backend))

    def forward(self, x: Tensor) -> Tensor:
        return (self.weight.value * x[:, 0]).sigmoid()


def trained(trainer: FastTrainer) -> FastTrainer:
    while not trainer.done:
        trainer.run_epoch()
    return trainer


# The trainer


def test_every_mini_batch_is_a_step_and_the_loss_is_the_mean_of_the_epoch() -> None:
    trainer = FastTrainer(FastSetting("Xor", points=25, rate=0.8, epochs=3, seed=3), OneWeight)
    weight = 0.0
    for epoch in range(3):
        points, labels = trainer.points.to_numpy()[:, 0].copy(), trainer.labels.to_numpy().copy()
        trainer.run_epoch()
        losses, correct = 0.0, 0
        for first in (0, 10, 20):
            x, y = points[first : first + 10], labels[first : first + 10]
            p = 1 / (1 + np.exp(-weight * x))
            losses -= np.log(np.where(y == 1, p, 1 - p)).sum()
            correct += int((np.where(y == 1, p, 1 - p) > 0.5).sum())
            weight -= 0.8 * ((p - y) * x).mean()
        assert trainer.losses[epoch] == pytest.approx(losses / 25, abs=1e-4)  # log adds 1e-6 for each point
        assert trainer.correct[epoch] == correct
    assert trainer.network.weight.value.item() == pytest.approx(weight, abs=1e-4)


def test_every_epoch_goes_through_all_points_in_another_order() -> None:
    trainer = FastTrainer(FastSetting("Split", points=23, epochs=2, seed=4), OneWeight)
    graph = datasets["Split"](23, 4)
    expected = sorted(zip(graph.X, graph.y, strict=True))
    orders = []
    for _ in range(2):
        pairs = list(zip(map(tuple, trainer.points.tolist()), trainer.labels.tolist(), strict=True))
        assert sorted(pairs) == expected
        orders.append(pairs)
        trainer.run_epoch()
    assert orders[0] != orders[1]


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    def losses(seed: int) -> list[float]:
        return trained(FastTrainer(FastSetting("Xor", points=12, hidden=3, epochs=2, seed=seed), Network)).losses

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_compiling_is_told_apart_and_teaches_nothing() -> None:
    trainer = FastTrainer(FastSetting("Xor", points=12, hidden=3, epochs=1), Network)
    start = [parameter.value.tolist() for parameter in trainer.network.parameters()]
    trainer.compile()
    assert trainer.compiling > 0
    assert [parameter.value.tolist() for parameter in trainer.network.parameters()] == start
    assert trainer.optimizer.lr == 0.5
    assert (trainer.epoch, trainer.loss, trainer.right) == (0, 0.0, 0)
    assert all(parameter.value.grad is None for parameter in trainer.network.parameters())


def test_the_first_epoch_compiles_first_and_its_time_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = FastTrainer(FastSetting("Xor", points=20, hidden=3, epochs=2), Network)
    monkeypatch.setattr(trainer, "compile", lambda: setattr(trainer, "compiling", 1000.0))
    trained(trainer)
    assert trainer.compiling == 1000.0
    assert sum(trainer.seconds) < 500


def test_predictions_come_from_the_chosen_backend() -> None:
    seen = []

    class Watched(OneWeight):
        def forward(self, x: Tensor) -> Tensor:
            seen.append(x.backend)
            return super().forward(x)

    trainer = FastTrainer(FastSetting(points=5), Watched)
    assert trainer.grid(2) == [[0.5, 0.5], [0.5, 0.5]]
    assert trainer.backend is FastBackend
    assert seen == [FastBackend]


@pytest.mark.parametrize("dataset", ["Simple", "Split", "Xor"])
def test_the_default_network_learns(dataset: str) -> None:
    trainer = trained(FastTrainer(FastSetting(dataset, hidden=100, rate=0.05, epochs=300, seed=1), Network))
    assert trainer.correct[-1] >= 46
    assert trainer.losses[-1] < 0.25


# The setting


def test_another_backend_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("backend expected one of cpu, gpu, got 'tpu'")):
        FastSetting(backend="tpu")


def test_the_gpu_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_device, "available", lambda: False)
    with pytest.raises(ValueError, match=re.escape("the cuda backend expected an NVIDIA GPU with its driver, got none")):
        FastSetting(backend="gpu")


def test_the_gpu_is_what_cuda_backend_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_trainer, "require_cuda", lambda: None)
    monkeypatch.setitem(fast_trainer.BACKENDS, "gpu", lambda: FastBackend)  # replaces it
    assert FastTrainer(FastSetting(points=5, backend="gpu"), OneWeight).backend is FastBackend


# The program


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[FastSetting]:
    """Records the settings instead of training."""
    settings = []

    def train(trainer: FastTrainer, every: int, folder: Path | None) -> int:
        assert isinstance(trainer, FastTrainer)
        assert isinstance(trainer.network, Network)
        settings.append(trainer.setting)
        return 0

    monkeypatch.setattr(program, "train", train)
    return settings


def test_without_flags_its_own_setting_is_trained(seen: list[FastSetting]) -> None:
    run_fast_tensor.main([])
    assert seen == [FastSetting("Simple", 50, hidden=100, rate=0.05, epochs=500, seed=0, program="run_fast_tensor", backend="cpu")]


def test_the_published_flags_work_with_and_without_an_equals_sign(seen: list[FastSetting]) -> None:
    run_fast_tensor.main(["--BACKEND", "cpu", "--HIDDEN=7", "--DATASET", "SPLIT", "--RATE", "0.5", "--PTS=9", "--EPOCHS", "3"])
    assert seen == [FastSetting("Split", 9, hidden=7, rate=0.5, epochs=3, program="run_fast_tensor")]


def test_the_command_repeats_the_run(seen: list[FastSetting]) -> None:
    setting = FastSetting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5, program="run_fast_tensor", backend="cpu")
    command = shlex.split(setting.command())
    assert command[:2] == ["python", "project/run_fast_tensor.py"]
    run_fast_tensor.main(command[2:])
    assert seen == [setting]


def test_help_names_the_published_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_fast_tensor.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(flag in out for flag in ("--BACKEND", "--DATASET", "--PTS", "--HIDDEN", "--RATE", "--EPOCHS", "--backend"))


def test_the_summary_tells_what_compiling_took(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_fast_tensor.main(["--points", "5", "--hidden", "2", "--epochs", "2", "--log-every", "1"]) == 0
    *log, summary = capsys.readouterr().out.splitlines()
    losses = [float(re.fullmatch(r"epoch \d/2  loss +(\d+\.\d{4})  correct [0-5]/5  \d\.\d{4} s an epoch", line)[1]) for line in log]
    assert len(losses) == 2
    assert all(0 < loss < 3 * math.log(2) for loss in losses)  # means, not sums of five
    assert re.search(r"points right\. Compiling took \d+\.\d s before\.$", summary)


def test_the_gpu_without_one_ends_in_one_line(tmp_path: Path) -> None:
    script = (
        "from minitorch.kernels.cuda import device\n"
        "device.available = lambda: False\n"
        "from project import run_fast_tensor\n"
        "run_fast_tensor.main(['--backend', 'GPU'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=os.environ | HERE, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"run_fast_tensor.py: {NO_GPU}\n")


def test_a_report_is_written_with_the_command_and_every_number_that_is_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--points", "5", "--hidden", "3", "--epochs", "2", "--report", str(tmp_path)]
    assert run_fast_tensor.main(arguments) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["boundary.png", "curves.png", "report.md"]
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    command = "python project/run_fast_tensor.py --dataset Simple --points 5 --hidden 3 --rate 0.05 --epochs 2 --seed 0 --backend cpu"
    assert command in text
    assert "2 → 3 → 3 → 1, 25 parameters" in text  # (2·3 + 3) + (3·3 + 3) + (3 + 1)
