"""The program that trains on images: what it prints, refuses and saves, and how it resumes; also what classifier programs share."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minitorch.data import Digits, ImageDataset
from project import run_mnist_multiclass
from project.lab.training import checkpoint, image_trainer
from project.lab.training import run as training_run
from project.lab.training.image_trainer import ImageSetting, ImageTrainer
from project.run_mnist_multiclass import Network

PROGRAM = Path(run_mnist_multiclass.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent), "PYTHONUNBUFFERED": ""}  # the workspace under test, whichever package is installed
SMALL = ["--limit", "40", "--epochs", "3", "--dtype", "float64"]
HELP = "run: python project/run_mnist_multiclass.py --help"


def started(script: str, *arguments: str) -> subprocess.Popen:
    """A new process that runs the lines of a script, and then `main` on these arguments."""
    begin = f"import sys\nfrom project import run_mnist_multiclass\nfrom project.lab.training import command_line, loop, run\n{script}\n"
    code = f"{begin}command_line.run('run_mnist_multiclass.py', lambda: run_mnist_multiclass.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | HERE)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The error message for invalid arguments, one line."""
    with pytest.raises(SystemExit) as ended:
        run_mnist_multiclass.main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    program, _, message = err.removesuffix("\n").partition(": ")
    assert program == "run_mnist_multiclass.py"
    return message


def plain(line: str) -> str:
    """A line of the log without the time of the epoch."""
    return re.sub(r"\d+\.\d+ s.*", "", line)


# Output


def test_it_prints_loss_accuracies_and_time_of_every_epoch_and_the_best_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_mnist_multiclass.main(SMALL) == 0
    out, err = capsys.readouterr()
    *log, summary = out.splitlines()
    pattern = r"epoch (\d)/3  loss \d\.\d{4}  train +\d+\.\d\d%  valid +\d+\.\d\d% \( ?\d+/10\)  \d+\.\d\d s"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["1", "2", "3"]
    assert re.fullmatch(
        r"3 of 3 epochs in \d+\.\d s \(\d+\.\d\d s an epoch\): loss \d\.\d{4}, training \d+\.\d\d%, validation \d+\.\d\d%\. "
        r"Best validation: \d+\.\d\d% \(\d+ of 10\) after epoch [123]\.( Compiling took \d+\.\d s before\.)?",
        summary,
    )
    assert err == ""


def test_the_same_seed_prints_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("3", "3", "4"):
        run_mnist_multiclass.main([*SMALL, "--seed", seed])
        printed.append([plain(line) for line in capsys.readouterr().out.splitlines()])
    assert printed[0] == printed[1] != printed[2]


def test_lines_may_be_left_out_but_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    run_mnist_multiclass.main([*SMALL, "--log-every", "2"])
    assert [line[:9] for line in capsys.readouterr().out.splitlines()[:-1]] == ["epoch 2/3", "epoch 3/3"]


def test_lines_of_json_tell_a_page_of_the_run_its_steps_its_epochs_and_its_mistakes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_run, "STEPS_PRINTED_EVERY", 0.0)
    assert run_mnist_multiclass.main([*SMALL, "--json"]) == 0
    first, *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["setting"] | {"epochs": 3, "limit": 40, "dataset": "digits", "program": "run_mnist_multiclass"} == first["setting"]
    assert (first["parameters"], first["train"], first["valid"]) == (9242, 40, 10)
    assert first["command"].startswith("python project/run_mnist_multiclass.py --dataset digits --epochs 3 ")
    assert [line for line in lines if "step" in line and line["epoch"] == 1] == [
        {"epoch": 1, "step": 1, "steps": 3},
        {"epoch": 1, "step": 2, "steps": 3},
    ]
    epochs = [line for line in lines if "loss" in line]
    assert [line["epoch"] for line in epochs] == [1, 2, 3]
    for line in epochs:
        assert {"train_accuracy", "valid_accuracy", "seconds"} <= line.keys()
        confusion = np.array(line["confusion"])
        assert (confusion.shape, confusion.sum()) == ((10, 10), 10)
        assert confusion.trace() == round(line["valid_accuracy"] * 10)
        assert len(line["mistakes"]) == 10 - confusion.trace()
    assert last.keys() == {"summary", "best"}


def test_what_is_told_of_the_data_and_of_the_end_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ImageTrainer, "about", "Drawn by hand.")
    monkeypatch.setattr(ImageTrainer, "closing", lambda trainer: f"Test after epoch {trainer.epoch}: none.")
    run_mnist_multiclass.main([*SMALL, "--report", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Drawn by hand."
    assert lines[-2].endswith(" Test after epoch 3: none.")
    text = (tmp_path / "mnist.txt").read_text(encoding="utf-8")
    assert "Drawn by hand.\n" in text
    assert " Test after epoch 3: none.\n" in text


def test_the_worst_mistakes_come_first_with_what_was_seen_in_them() -> None:
    trainer = ImageTrainer(ImageSetting(limit=16), Network)
    trainer.valid = ImageDataset(np.zeros((4, 1, 8, 8), np.float32), np.array([0, 1, 2, 3]), "0123456789")
    shares = np.full((4, 10), 0.01)
    shares[[0, 1, 2, 3], [0, 7, 8, 9]] = 0.9, 0.5, 0.8, 0.6  # the first is right
    trainer.log_probabilities = np.log(shares)
    assert trainer.mistakes() == [
        {"image": 2, "label": 2, "predicted": 8, "probability": pytest.approx(0.8)},
        {"image": 3, "label": 3, "predicted": 9, "probability": pytest.approx(0.6)},
        {"image": 1, "label": 1, "predicted": 7, "probability": pytest.approx(0.5)},
    ]
    assert [(row, column) for row, counts in enumerate(trainer.confusion()) for column, n in enumerate(counts) if n] == [
        (0, 0),
        (1, 7),
        (2, 8),
        (3, 9),
    ]


# Training


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[ImageSetting]:
    """Records the settings instead of training."""
    settings = []

    def train(trainer: ImageTrainer, options: training_run.Options) -> int:
        assert isinstance(trainer.network, Network)
        settings.append(trainer.setting)
        return 0

    monkeypatch.setattr(training_run, "train", train)
    return settings


def test_without_flags_the_digits_are_trained_on(seen: list[ImageSetting]) -> None:
    run_mnist_multiclass.main([])
    assert seen == [ImageSetting()]
    assert (seen[0].dataset, seen[0].dtype, seen[0].batch, seen[0].seed) == ("digits", "float32", 16, 0)


def test_the_command_repeats_the_run(seen: list[ImageSetting]) -> None:
    setting = ImageSetting("digits", epochs=2, rate=1e-05, batch=7, seed=5, momentum=0.5, limit=20, dtype="float64")
    command = shlex.split(setting.command())
    assert command[:2] == ["python", "project/run_mnist_multiclass.py"]
    run_mnist_multiclass.main(command[2:])
    assert seen == [setting]


def test_training_and_validation_share_no_image_and_are_the_same_for_every_seed() -> None:
    one, other = (ImageTrainer(ImageSetting(seed=seed), Network) for seed in (0, 1))
    assert one.examples == (1438, 359)
    together = np.concatenate([one.train.images, one.valid.images]).reshape(1797, -1)
    assert sorted(together.tolist()) == sorted(Digits().images.reshape(1797, -1).tolist())
    assert np.array_equal(one.valid.images, other.valid.images)
    assert one.fingerprint == other.fingerprint != ImageTrainer(ImageSetting(limit=100), Network).fingerprint


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_is_computed_in_the_dtype_that_is_asked_for(dtype: str) -> None:
    trainer = ImageTrainer(ImageSetting(limit=40, dtype=dtype), Network)
    images, _ = next(iter(trainer.loader))
    assert {str(parameter.value.dtype) for parameter in trainer.network.parameters()} == {dtype}
    assert (str(images.dtype), str(trainer._one_hot.dtype)) == (dtype, dtype)


def test_mnist_is_its_test_images_split_and_all_of_it_is_both_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def files(which: str) -> ImageDataset:
        count = {"train": 50, "test": 20}[which]
        return ImageDataset(np.zeros((count, 1, 28, 28), np.float32), np.zeros(count, np.int64), "0123456789")

    monkeypatch.setattr(image_trainer.data, "MNIST", files)
    assert [len(part) for part in image_trainer.SPLITS["mnist"]()] == [16, 4]
    assert [len(part) for part in image_trainer.SPLITS["mnist-all"]()] == [50, 20]
    assert ImageTrainer(ImageSetting("mnist"), Network).network.linear1.weights.value.shape == (392, 64)


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dataset", "cats"], "dataset expected one of digits, mnist, mnist-all, got 'cats'"),
        (["--epochs", "0"], "epochs expected a whole number from 1 to 100000, got 0"),
        (["--rate", "fast"], "rate expected a number above 0, such as 0.1, got 'fast'"),
        (["--momentum", "1"], "momentum expected a number from 0 to 0.999, such as 0.0, got 1.0"),
        (["--dtype", "float16"], "dtype expected one of float32, float64, got 'float16'"),
        (["--limit", "1"], "limit expected a whole number from 4 to 1000000, got 1"),
        (["--log-every", "0"], f"Invalid value for '--log-every': expected a whole number of at least 1, got 0; {HELP}"),
        (["--speed", "3"], f"No such option: --speed (Possible options: --seed); {HELP}"),
        (["--resume"], "--resume expected the file to resume from, got none; add --checkpoint FILE"),
    ],
)
def test_a_wrong_flag_or_value_gets_one_line_that_says_what_is_allowed(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(capsys, *arguments) == message


def test_a_file_of_data_that_is_not_there_gets_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> None:
        raise FileNotFoundError("expected t10k-images in the data directory, got none")

    monkeypatch.setitem(image_trainer.SPLITS, "mnist", missing)
    assert refusal(capsys, "--dataset", "MNIST") == "expected t10k-images in the data directory, got none"


def test_a_checkpoint_in_a_folder_that_is_not_there_is_refused_before_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs" / "digits.safetensors"
    expected = f"--checkpoint expected a file in an existing folder, got {str(path)!r}; make {str(path.parent)!r} first"
    assert refusal(capsys, "--checkpoint", str(path)) == expected


@pytest.fixture
def path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The checkpoint of a finished run of SMALL."""
    path = tmp_path / "run.safetensors"
    run_mnist_multiclass.main([*SMALL, "--checkpoint", str(path)])
    capsys.readouterr()
    return path


def test_a_checkpoint_is_not_written_over_by_another_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = f"--checkpoint expected a new file, got {str(path)!r}, which exists; add --resume to resume it, or delete it"
    assert refusal(capsys, *SMALL, "--checkpoint", str(path)) == expected


def test_other_settings_than_those_of_the_checkpoint_are_refused_by_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--checkpoint", str(path), "--resume", "--epochs", "9", "--rate", "0.5", "--seed", "1", "--limit", "40"]
    there = "--rate 0.5 (there 0.1), --seed 1 (there 0)"
    assert (
        refusal(capsys, *arguments) == f"--resume expected the settings of {path}, got {there}; leave these options out, or begin a new run"
    )


def test_fewer_epochs_than_the_checkpoint_has_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = f"epochs expected at least the 3 that are finished in {path}, got 2; a finished epoch cannot be undone"
    assert refusal(capsys, "--checkpoint", str(path), "--resume", "--epochs", "2") == expected
    assert run_mnist_multiclass.main(["--checkpoint", str(path), "--resume", "--epochs", "3"]) == 0


def test_a_checkpoint_of_another_program_is_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = checkpoint.load(path)
    saved.about["program"] = "run_sentiment"
    checkpoint.save(path, saved)
    assert refusal(capsys, "--checkpoint", str(path), "--resume") == f"{path} is a checkpoint of run_sentiment.py; resume it there"


def test_a_damaged_or_missing_checkpoint_is_refused_by_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(path.read_bytes()[:-9])
    assert refusal(capsys, "--checkpoint", str(path), "--resume").startswith(f"{path} is damaged, cut short or no checkpoint (")
    path.unlink()
    assert refusal(capsys, "--checkpoint", str(path), "--resume").startswith(f"expected a checkpoint at {path}, got none; ")


# Resuming


def state(path: Path) -> tuple[dict, dict]:
    """The content of a checkpoint, except times and the requested number of epochs."""
    saved = checkpoint.load(path)
    about = saved.about | {"seconds": 0, "history": [epoch | {"seconds": 0} for epoch in saved.about["history"]]}
    return about | {"setting": saved.about["setting"] | {"epochs": 0}}, {name: array.tobytes() for name, array in saved.arrays.items()}


def test_a_finished_run_goes_on_to_more_epochs_as_if_it_had_been_asked_for_them(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_mnist_multiclass.main(["--checkpoint", str(path), "--resume", "--epochs", "5"]) == 0
    resumed = capsys.readouterr().out.splitlines()
    whole = path.with_name("whole")
    run_mnist_multiclass.main([*SMALL, "--epochs", "5", "--checkpoint", str(whole)])
    printed = capsys.readouterr().out.splitlines()
    assert state(path) == state(whole)
    assert resumed[0] == "Resuming after epoch 3, step 0 of 3."
    assert [plain(line) for line in resumed[1:3]] == [plain(line) for line in printed[3:5]]


def test_ctrl_c_saves_where_it_stands_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a run"
    setting = ["--limit", "40", "--epochs", "1000", "--batch", "4", "--dtype", "float64"]
    process = started("run.STEPS_PRINTED_EVERY = 0", "--json", "--checkpoint", str(path), "--report", str(tmp_path / "log"), *setting)
    for _ in range(16):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "summary" not in out
    stopped, how, report = err.splitlines()
    assert re.match(r"run_mnist_multiclass\.py: stopped\. \d+ of 1000 epochs in ", stopped)
    assert how == f"Resume with: python project/run_mnist_multiclass.py --checkpoint '{path}' --resume"
    assert report == f"Report: {tmp_path / 'log' / 'mnist.txt'}"
    saved = checkpoint.load(path).about
    done = len(saved["history"]) * 10 + saved["step"]
    assert done >= 14
    epochs = str(done // 10 + 1)
    run_mnist_multiclass.main(["--checkpoint", str(path), "--resume", "--epochs", epochs])
    run_mnist_multiclass.main([*setting, "--epochs", epochs, "--checkpoint", str(tmp_path / "whole")])
    assert state(path) == state(tmp_path / "whole")


def test_a_run_that_ends_before_its_first_checkpoint_does_not_say_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*batch: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ImageTrainer, "batch_loss", interrupted)
    assert run_mnist_multiclass.main(["--limit", "8", "--checkpoint", str(tmp_path / "none")]) == 130
    assert capsys.readouterr().err == "run_mnist_multiclass.py: stopped. No epoch of 30 was finished.\n"


# The report


def test_a_report_holds_the_log_the_curves_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    assert run_mnist_multiclass.main([*SMALL, "--log-every", "2", "--report", str(folder)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == f"Report: {folder / 'mnist.txt'}"
    assert sorted(entry.name for entry in folder.iterdir()) == ["curves.png", "curves.svg", "mnist.txt"]
    command = (
        "python project/run_mnist_multiclass.py --dataset digits --epochs 3 --rate 0.1 --batch 16 --seed 0 --momentum 0.0 "
        "--limit 40 --dtype float64"
    )
    lines = (folder / "mnist.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"$ {command}"
    assert lines[1] == "digits: 40 training and 10 validation examples; 9242 parameters"
    assert lines[2].startswith("made 2")
    assert lines[4:6] == printed[:2]
    assert lines[7] == printed[2]
    assert "validation" in (folder / "curves.svg").read_text(encoding="utf-8")


# The published names
