"""The program that trains on images: what it prints, refuses and saves, and how it resumes; also what classifier programs share."""

import json
import re

import numpy as np
import pytest

from minitorch.data import Digits, ImageDataset
from project import run_mnist_multiclass
from project.lab.training import checkpoint, image_trainer
from project.lab.training import run as training_run
from project.lab.training.image_trainer import ImageSetting, ImageTrainer
from project.run_mnist_multiclass import Network
from tests.project.programs import refusal

SMALL = ["--limit", "40", "--epochs", "3", "--dtype", "float64"]


def plain(line):
    """A line of the log without the time of the epoch."""
    return re.sub(r"\d+\.\d+ s.*", "", line)


def printed(capsys, *flags):
    """The lines that a run of SMALL prints, without times."""
    capsys.readouterr()
    run_mnist_multiclass.main([*SMALL, *flags])
    return [plain(line) for line in capsys.readouterr().out.splitlines()]


def test_the_same_seed_prints_the_same_run(capsys):
    first, again, other = (printed(capsys, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again != other


def test_lines_of_json_tell_a_page_of_the_run_its_steps_its_epochs_and_its_mistakes(capsys, monkeypatch):
    monkeypatch.setattr(training_run, "STEPS_PRINTED_EVERY", 0.0)
    assert run_mnist_multiclass.main([*SMALL, "--json"]) == 0
    first, *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["setting"] | {"epochs": 3, "limit": 40, "dataset": "digits", "program": "run_mnist_multiclass"} == first["setting"]
    assert (first["parameters"], first["train"], first["valid"]) == (9242, 40, 10)
    assert first["command"].startswith("python project/run_mnist_multiclass.py --dataset digits --epochs 3 ")
    steps = [line for line in lines if "step" in line and line["epoch"] == 1]
    assert steps == [{"epoch": 1, "step": step, "steps": 3} for step in (1, 2)]
    epochs = [line for line in lines if "loss" in line]
    assert [line["epoch"] for line in epochs] == [1, 2, 3]
    for line in epochs:
        assert {"train_accuracy", "valid_accuracy", "seconds"} <= line.keys()
        confusion = np.array(line["confusion"])
        assert (confusion.shape, confusion.sum()) == ((10, 10), 10)
        assert confusion.trace() == round(line["valid_accuracy"] * 10)
        assert len(line["mistakes"]) == 10 - confusion.trace()
    assert last.keys() == {"summary", "best"}


def test_what_is_told_of_the_data_and_of_the_end_is_printed(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(ImageTrainer, "about", "Drawn by hand.")
    monkeypatch.setattr(ImageTrainer, "closing", lambda trainer: f"Test after epoch {trainer.epoch}: none.")
    run_mnist_multiclass.main([*SMALL, "--report", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Drawn by hand."
    assert lines[-2].endswith(" Test after epoch 3: none.")
    text = (tmp_path / "mnist.txt").read_text(encoding="utf-8")
    assert "Drawn by hand.\n" in text
    assert " Test after epoch 3: none.\n" in text


def test_the_worst_mistakes_come_first_with_what_was_seen_in_them():
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
    assert np.argwhere(trainer.confusion()).tolist() == [[0, 0], [1, 7], [2, 8], [3, 9]]


def test_training_and_validation_share_no_image_and_are_the_same_for_every_seed():
    one, other = (ImageTrainer(ImageSetting(seed=seed), Network) for seed in (0, 1))
    assert one.examples == (1438, 359)
    together = np.concatenate([one.train.images, one.valid.images]).reshape(1797, -1)
    assert sorted(together.tolist()) == sorted(Digits().images.reshape(1797, -1).tolist())
    assert np.array_equal(one.valid.images, other.valid.images)
    assert one.fingerprint == other.fingerprint != ImageTrainer(ImageSetting(limit=100), Network).fingerprint


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_is_computed_in_the_dtype_that_is_asked_for(dtype):
    trainer = ImageTrainer(ImageSetting(limit=40, dtype=dtype), Network)
    images, _ = next(iter(trainer.loader))
    assert {str(parameter.value.dtype) for parameter in trainer.network.parameters()} == {dtype}
    assert (str(images.dtype), str(trainer._one_hot.dtype)) == (dtype, dtype)


def test_mnist_is_its_test_images_split_and_all_of_it_is_both_of_its_files(monkeypatch):
    def files(which):
        count = {"train": 50, "test": 20}[which]
        return ImageDataset(np.zeros((count, 1, 28, 28), np.float32), np.zeros(count, np.int64), "0123456789")

    monkeypatch.setattr(image_trainer.data, "load_mnist", files)
    assert [len(part) for part in image_trainer.SPLITS["mnist"]()] == [16, 4]
    assert [len(part) for part in image_trainer.SPLITS["mnist-all"]()] == [50, 20]
    assert ImageTrainer(ImageSetting("mnist"), Network).network.linear1.weights.value.shape == (392, 64)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dataset cats", "dataset expected one of digits, mnist, mnist-all, got 'cats'"),
        ("--epochs 0", "epochs expected a whole number from 1 to 100000, got 0"),
        ("--rate fast", "rate expected a number above 0, such as 0.1, got 'fast'"),
        ("--momentum 1", "momentum expected a number from 0 to 0.999, such as 0.0, got 1.0"),
        ("--dtype float16", "dtype expected one of float32, float64, got 'float16'"),
        ("--limit 1", "limit expected a whole number from 4 to 1000000, got 1"),
        ("--resume", "--resume expected the file to resume from, got none; add --checkpoint FILE"),
    ],
)
def test_a_wrong_value_gets_one_line_that_says_what_is_allowed(arguments, message, capsys):
    assert refusal(run_mnist_multiclass, capsys, *arguments.split()) == message


def test_a_file_of_data_that_is_not_there_gets_one_line(monkeypatch, capsys):
    def missing():
        raise FileNotFoundError("expected t10k-images in the data directory, got none")

    monkeypatch.setitem(image_trainer.SPLITS, "mnist", missing)
    assert refusal(run_mnist_multiclass, capsys, "--dataset", "MNIST") == "expected t10k-images in the data directory, got none"


@pytest.fixture
def path(tmp_path, capsys):
    """The checkpoint of a finished run of SMALL."""
    printed(capsys, "--checkpoint", str(tmp_path / "run.safetensors"))
    return tmp_path / "run.safetensors"


def test_fewer_epochs_than_the_checkpoint_has_and_checkpoints_of_other_programs_are_refused(path, capsys):
    resume = ["--checkpoint", path, "--resume"]
    expected = f"epochs expected at least the 3 that are finished in {path}, got 2; a finished epoch cannot be undone"
    assert refusal(run_mnist_multiclass, capsys, *resume, "--epochs", "2") == expected
    assert run_mnist_multiclass.main([*map(str, resume), "--epochs", "3"]) == 0
    capsys.readouterr()
    saved = checkpoint.load(path)
    saved.about["program"] = "run_sentiment"
    checkpoint.save(path, saved)
    assert refusal(run_mnist_multiclass, capsys, *resume) == f"{path} is a checkpoint of run_sentiment.py; resume it there"


def state(path):
    """The content of a checkpoint, except times and the requested number of epochs."""
    saved = checkpoint.load(path)
    about = saved.about | {"seconds": 0, "history": [epoch | {"seconds": 0} for epoch in saved.about["history"]]}
    return about | {"setting": saved.about["setting"] | {"epochs": 0}}, {name: array.tobytes() for name, array in saved.arrays.items()}


def test_a_finished_run_goes_on_to_more_epochs_as_if_it_had_been_asked_for_them(path, capsys):
    assert run_mnist_multiclass.main(["--checkpoint", str(path), "--resume", "--epochs", "5"]) == 0
    resumed = capsys.readouterr().out.splitlines()
    whole = path.with_name("whole")
    expected = printed(capsys, "--epochs", "5", "--checkpoint", str(whole))
    assert state(path) == state(whole)
    assert resumed[0] == "Resuming after epoch 3, step 0 of 3."
    assert [plain(line) for line in resumed[1:3]] == expected[3:5]


def test_a_run_that_ends_before_its_first_checkpoint_does_not_say_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(*batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(ImageTrainer, "batch_loss", interrupted)
    assert run_mnist_multiclass.main(["--limit", "8", "--checkpoint", str(tmp_path / "none")]) == 130
    assert capsys.readouterr().err == "run_mnist_multiclass.py: stopped. No epoch of 30 was finished.\n"


def test_a_run_prints_its_log_and_a_report_has_the_log_the_curves_and_the_command(tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    assert run_mnist_multiclass.main([*SMALL, "--log-every", "2", "--report", str(folder)]) == 0
    out, err = capsys.readouterr()
    *log, summary, told = out.splitlines()
    pattern = r"epoch (\d)/3  loss \d\.\d{4}  train +\d+\.\d\d%  valid +\d+\.\d\d% \( ?\d+/10\)  \d+\.\d\d s"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["2", "3"]
    assert re.fullmatch(
        r"3 of 3 epochs in \d+\.\d s \(\d+\.\d\d s an epoch\): loss \d\.\d{4}, training \d+\.\d\d%, validation \d+\.\d\d%\. "
        r"Best validation: \d+\.\d\d% \(\d+ of 10\) after epoch [123]\.( Compiling took \d+\.\d s before\.)?",
        summary,
    )
    assert (told, err) == (f"Report: {folder / 'mnist.txt'}", "")
    assert sorted(entry.name for entry in folder.iterdir()) == ["curves.png", "curves.svg", "mnist.txt"]
    options = "--dataset digits --epochs 3 --rate 0.1 --batch 16 --seed 0 --momentum 0.0 --limit 40 --dtype float64"
    lines = (folder / "mnist.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"$ python project/run_mnist_multiclass.py {options}"
    assert lines[1] == "digits: 40 training and 10 validation examples; 9242 parameters"
    assert lines[2].startswith("made 2")
    assert [*lines[4:6], lines[7]] == [*log, summary]
    assert "validation" in (folder / "curves.svg").read_text(encoding="utf-8")
