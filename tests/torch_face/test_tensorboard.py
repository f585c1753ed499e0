"""torch.utils.tensorboard.SummaryWriter: what it writes, and what the reader of the page Runs makes of it."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from course.manifest import ROOT
from minitorch.torch import nn
from minitorch.torch.utils.tensorboard import SummaryWriter
from project.lab.training import run_files, run_logs, runs_comparison, runs_export


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the page looks for logs."""
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    return tmp_path


def events(folder: Path) -> list[dict[str, Any]]:
    """The lines of the only log, without the first."""
    (path,) = folder.rglob("events-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def the_run() -> Any:
    """The only run of the page."""
    (run,), unreadable = run_files.read_all()
    assert unreadable == []
    return run


def test_a_log_is_a_run_of_the_page(folder: Path) -> None:
    with SummaryWriter(folder / "mine") as writer:
        for epoch in range(3):
            writer.add_scalar("Loss/train", torch.tensor([1.0 / (epoch + 1)]), epoch)
            writer.add_scalar("Accuracy/val", np.float32(50 + epoch), global_step=epoch)
            writer.add_scalar("lr", 0.1)
        writer.add_hparams({"lr": 0.1, "layers": 2, "name": "net", "bias": True, "seed": 5}, {"loss/val": 0.5}, global_step=2)
    run = the_run()
    assert run.curves == {
        "step": [1, 2, 3],
        "loss": [1.0, 0.5, pytest.approx(1 / 3)],
        "valid_accuracy": [0.5, 0.51, 0.52],
        "lr": [0.1] * 3,
        "valid_loss": [None, None, 0.5],
    }
    assert (run.settings, run.seed, run.status) == ({"lr": 0.1, "layers": 2, "name": "net", "bias": True, "seed": 5}, 5, "finished")
    assert (run.unit, run.finished, run.total, run.digest, run.path) == ("step", 3, 3, "", str(next(folder.rglob("*.jsonl"))))
    assert run.command.startswith("python ")
    assert run_files.RunFile(**{name: getattr(run, name) for name in run_files.RunFile.__annotations__})
    assert run_files._is_valid(run)


def test_the_page_compares_exports_and_deletes_logs(folder: Path) -> None:
    for name in ("a", "b"):
        with SummaryWriter(folder / name) as writer:
            writer.add_scalars("loss", {"train": 2.0, "test": 3.0}, 1)
            writer.add_scalars("loss", {"train": 1.0, "test": 2.0}, 2)
    runs = run_files.read_all()[0]
    assert [run.id for run in runs] == sorted((run.id for run in runs), reverse=True)
    assert runs == run_files.latest(5)
    assert run_files.latest(1) == runs[:1]
    assert runs_comparison.chart(runs) is not None
    assert "the loss changed from 2 to 1" in runs_comparison.in_words(runs[0], "A")
    assert runs_export.to_csv(runs).count(b"\n") == 5
    assert json.loads(runs_export.to_json(runs))["runs"][0]["curves"]["valid_loss"] == [3.0, 2.0]
    run_files.delete(runs[:1])
    assert run_files.read_all()[0] == runs[1:]


def test_a_killed_program_keeps_what_it_has_written(folder: Path) -> None:
    program = f"""
import os, signal
from minitorch.torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter({str(folder / "killed")!r})
for step in range(5):
    writer.add_scalar("loss", 5.0 - step, step)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ, check=False).returncode == -signal.SIGKILL
    path = Path(the_run().path)
    path.write_bytes(path.read_bytes()[:-5])  # as if the last line had not been finished
    assert the_run().curves == {"step": [1, 2, 3, 4], "loss": [5.0, 4.0, 3.0, 2.0]}
    assert the_run().status == "stopped"


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("loss", "loss"), ("train/loss", "loss"), ("trainLoss", "loss"), ("val_loss", "valid_loss"), ("Loss/test", "valid_loss"),
        ("acc", "accuracy"), ("Accuracy/valid", "valid_accuracy"), ("glossary", "glossary"), ("lr", "lr"),
    ],
)  # fmt: skip
def test_tags_become_names_of_curves(tag: str, name: str) -> None:
    assert run_logs.curve_name(tag) == name


def test_two_tags_of_one_name_are_both_kept_and_no_number_is_lost(folder: Path) -> None:
    with SummaryWriter(folder) as writer:
        for value in (1.0, math.nan, math.inf):
            writer.add_scalar("loss", value)
        writer.add_scalar("gan/loss", 2.0, 1)
    assert the_run().curves == {"step": [1, 2, 3], "loss": [1.0, None, None], "gan/loss": [None, 2.0, None]}
    assert [event["value"] for event in events(folder)[:3]] == [1.0, "nan", "inf"]


def test_long_curves_are_thinned(folder: Path) -> None:
    with SummaryWriter(folder) as writer:
        for step in range(1200):
            writer.add_scalar("loss", step, step)
    curves = the_run().curves
    assert len(curves["loss"]) == len(curves["step"]) == run_files.MOST_POINTS
    assert (curves["step"][0], curves["step"][-1], curves["loss"][-1]) == (1, 1200, 1199)


def test_a_log_of_another_version_or_a_damaged_one_is_no_run(folder: Path) -> None:
    (folder / "events-1.jsonl").write_text('{"format": 2}\n')
    (folder / "events-2.jsonl").write_text('{"format": 1, "program": "a"}\n{"kind": "scalar"}\n')
    runs, (unreadable,) = run_files.read_all()
    assert runs == []
    assert (unreadable.path.name, unreadable.reason) == ("events-2.jsonl", "is damaged; delete it")


def test_the_default_folder_and_a_closed_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    writer = SummaryWriter(comment="_net")
    assert re.fullmatch(r"runs/\w{3}\d\d_\d\d-\d\d-\d\d_.+_net", writer.get_logdir())
    assert writer.log_dir == writer.get_logdir()
    writer.close()
    writer.add_text("note", "after close", 3)  # opens the file again
    writer.flush()
    assert [event["kind"] for event in events(folder)] == ["end", "text"]
    writer.close()


@pytest.mark.parametrize("value", [torch.ones(2), [1.0, 2.0], "high", None, np.ones(0)])
def test_a_scalar_is_one_number(folder: Path, value: Any) -> None:
    message = r"SummaryWriter expected one number as scalar_value, got \w+ of shape \(.*\); write its mean"
    with SummaryWriter(folder) as writer, pytest.raises(ValueError, match=message):
        writer.add_scalar("loss", value, 0)


def test_settings_are_plain(folder: Path) -> None:
    writer = SummaryWriter(folder)
    with pytest.raises(TypeError, match="add_hparams expected two dictionaries, of settings and of results, got list and dict"):
        writer.add_hparams([], {})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"add_hparams expected a number, a text or a truth value, got list for sizes; use str\("):
        writer.add_hparams({"sizes": [1, 2]}, {})
    writer.close()


def test_histograms_and_graphs(folder: Path) -> None:
    writer = SummaryWriter(folder)
    writer.add_histogram("w", torch.tensor([0.0, 1.0, 1.0, 4.0]), 1, bins=4)
    writer.add_histogram("w", np.arange(100), 2, bins="auto", max_bins=2)
    with pytest.raises(ValueError, match="add_histogram expected finite numbers, got 2 of which 1 are finite"):
        writer.add_histogram("w", np.array([1.0, np.nan]))
    with pytest.warns(UserWarning, match="keeps the text of the model"):
        writer.add_graph(nn.Linear(2, 3), torch.ones(1, 2))
    writer.close()
    first, second, graph, _ = events(folder)
    assert (first["counts"], first["edges"]) == ([1, 2, 0, 1], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert second["counts"] == [50, 50]
    assert graph["value"] == "Linear(in_features=2, out_features=3, bias=True)"


def read_image(path: Path) -> np.ndarray:
    """The pixels of a PNG file."""
    image = pytest.importorskip("PIL.Image", reason="reads PNG files")
    return np.asarray(image.open(path))


def test_images_are_png_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (3, 4, 5), dtype=np.uint8)
    with SummaryWriter(folder) as writer:
        writer.add_image("a/b c", pixels, 7)
        writer.add_image("float", torch.tensor(pixels / 255.0), 0)
        writer.add_image("gray", pixels[0], dataformats="HW")
        writer.add_image("rgba", rng.integers(0, 256, (4, 5, 4), dtype=np.uint8), dataformats="HWC")
        writer.add_images("many", np.stack([pixels] * 9), 1)
    np.testing.assert_array_equal(read_image(folder / "images/a/b_c/7.png"), pixels.transpose(1, 2, 0))
    assert np.abs(read_image(folder / "images/float/0.png").astype(int) - pixels.transpose(1, 2, 0)).max() <= 1
    np.testing.assert_array_equal(read_image(folder / "images/gray/0.png"), pixels[0])
    assert read_image(folder / "images/rgba/0.png").shape == (4, 5, 4)
    many = read_image(folder / "images/many/1.png")
    assert many.shape == (8, 40, 3)
    np.testing.assert_array_equal(many[4:, :5], pixels.transpose(1, 2, 0))
    assert not many[4:, 5:].any()
    assert [event["value"] for event in events(folder)[:2]] == ["images/a/b_c/7.png", "images/float/0.png"]


@pytest.mark.parametrize(
    ("shape", "order", "message"),
    [
        ((4, 5), "CHW", r"an image whose dimensions are CHW, got shape \(4, 5\); pass dataformats='CHW', say"),
        ((3, 4, 5), "HWX", r"an image whose dimensions are HWX, got shape"),
        ((2, 4, 5), "CHW", r"1, 3 or 4 channels, got 2 in shape \(4, 5, 2\) \(HWC\)"),
    ],
)
def test_other_images_are_refused(folder: Path, shape: tuple[int, ...], order: str, message: str) -> None:
    with SummaryWriter(folder) as writer, pytest.raises(ValueError, match=f"SummaryWriter expected {message}"):
        writer.add_image("a", np.zeros(shape), dataformats=order)


def test_a_tag_cannot_leave_the_folder(folder: Path) -> None:
    with SummaryWriter(folder / "log") as writer:
        writer.add_image("../../up", np.zeros((1, 2, 2)))
        writer.add_image("/etc", np.zeros((1, 2, 2)))
    assert {path.parts[len(folder.parts)] for path in folder.rglob("*.png")} == {"log"}
    assert len(list(folder.rglob("*.png"))) == 2


def test_figures_of_matplotlib_are_saved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", types.SimpleNamespace(close=closed.append))
    figure = types.SimpleNamespace(savefig=lambda path, format: path.write_text(format))
    with SummaryWriter(folder) as writer:
        writer.add_figure("one", figure, 2)
        writer.add_figure("several", [figure, figure], close=False)
    assert closed == [figure]
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png")) == [
        "images/one/2.png", "images/several/0/0.png", "images/several/1/0.png",
    ]  # fmt: skip


def test_absent_methods_and_options_say_what_to_do(folder: Path) -> None:
    writer = SummaryWriter(folder)
    with pytest.raises(AttributeError, match="SummaryWriter has no add_video in minitorch; write its frames with add_images"):
        writer.add_video("a", None)
    with pytest.raises(AttributeError, match="'SummaryWriter' object has no attribute 'add_scaler'"):
        writer.add_scaler("a", 1)
    with pytest.raises(NotImplementedError, match="supports purge_step=None only; write a resumed run into a new log_dir"):
        SummaryWriter(folder, purge_step=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"torch\.utils\.tensorboard has no FileWriter in minitorch"):
        torch.utils.tensorboard.FileWriter  # noqa: B018
    writer.close()
