"""The program that trains on images: what it prints, refuses and saves, and how it resumes; also what classifier programs share."""

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minitorch.data import ImageDataset
from project import run_mnist_multiclass
from project.lab.training import checkpoint
from project.run_mnist_multiclass import ImageTrain
from tests.project.test_run_mnist_program import path, state

HERE = {"PYTHONPATH": str(Path(run_mnist_multiclass.__file__).parent.parent), "PYTHONUNBUFFERED": ""}  # the workspace under test


def started(script, *arguments):
    """A new process that runs the lines of a script, and then `main` on these arguments."""
    begin = f"import sys\nfrom project import run_mnist_multiclass\nfrom project.lab.training import command_line, loop, run\n{script}\n"
    code = f"{begin}command_line.run('run_mnist_multiclass.py', lambda: run_mnist_multiclass.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | HERE)


def test_a_run_killed_at_any_moment_ends_as_an_uninterrupted_one(tmp_path, capsys):
    setting = ["--limit", "40", "--epochs", "4", "--batch", "4", "--momentum", "0.5", "--dtype", "float64", "--seed", "3"]
    run_mnist_multiclass.main([*setting, "--checkpoint", str(tmp_path / "whole")])
    capsys.readouterr()
    numbers, path = random.Random(0), tmp_path / "killed"
    every_step = "loop.SAVED_EVERY = run.STEPS_PRINTED_EVERY = 0"
    for _ in range(2):
        resume = ["--resume"] if path.exists() else setting
        process = started(every_step, "--json", "--checkpoint", str(path), *resume)
        for _ in range(numbers.randrange(3, 15)):
            assert process.stdout.readline() != ""
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert checkpoint.load(path).about["history"] != checkpoint.load(tmp_path / "whole").about["history"]
    assert run_mnist_multiclass.main(["--checkpoint", str(path), "--resume"]) == 0
    assert state(path) == state(tmp_path / "whole")


def test_a_second_ctrl_c_ends_a_step_that_takes_too_long_and_leaves_the_last_checkpoint(path):
    before = path.read_bytes()
    endless = (
        "import time\nfrom project.lab.training.image_trainer import ImageTrainer\n"
        "ImageTrainer.batch_loss = lambda trainer, *batch: print('in a step', flush=True) or time.sleep(600)"
    )
    process = started(endless, "--checkpoint", str(path), "--resume", "--epochs", "4")
    assert "in a step\n" in process.stdout, process.stderr.read()  # read up to this line, or to the end of a failed process
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)  # the first Ctrl-C waits for the end of the step
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("Resume with: ")
    assert path.read_bytes() == before


def test_the_published_trainer_trains_on_lists_of_images_and_tells_of_every_epoch(monkeypatch):
    numbers = np.random.default_rng(0)
    images, labels = numbers.uniform(0, 1, (12, 1, 28, 28)).astype(np.float32), np.arange(12) % 10
    files: Callable[[str], ImageDataset] = lambda which: ImageDataset(images, labels, "0123456789")  # noqa: E731
    monkeypatch.setattr(run_mnist_multiclass.data, "load_mnist", files)
    pictures, one_hot = run_mnist_multiclass.make_mnist(2, 5)
    assert np.array_equal(np.array(pictures, np.float32), images[2:5, 0])
    assert [row.index(1) for row in one_hot] == [2, 3, 4]
    assert [sum(row) for row in one_hot] == [1, 1, 1]

    told: list[tuple] = []
    trainer = ImageTrain()
    trainer.train((pictures, one_hot), run_mnist_multiclass.make_mnist(5, 9), 0.01, max_epochs=2, log_fn=lambda *entry: told.append(entry))
    assert [entry[0] for entry in told] == [1, 2]
    assert [entry[1] for entry in told] == told[-1][4]
    assert {(entry[3], entry[5]) for entry in told} == {(4, trainer.model)}
    assert trainer.run_one(pictures[0]).shape == (1, 10)
    assert trainer.run_many(pictures).shape == (3, 10)


def test_ctrl_c_saves_where_it_stands_and_says_how_to_go_on(tmp_path, capsys):
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
