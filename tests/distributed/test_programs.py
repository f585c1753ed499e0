"""The programs that train in several processes: the same result for any number, and resuming after a job was killed."""

import re
import sys

import pytest

import minitorch
from minitorch import distributed
from project import distributed_example, run_gpt, run_mnist_multiclass
from project.lab.training import checkpoint
from project.lab.training.image_trainer import ImageTrainer
from tests.project.programs import refusal


def arrays(path):
    """The weights and the state of the optimizer in a checkpoint of run_mnist_multiclass."""
    return checkpoint.load(path).arrays


def test_distributed_in_a_workspace_of_the_course_is_an_error_in_a_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "project.lab.distributed_training", None)
    expected = r"^run_mnist_multiclass\.py: --distributed expected the library after the course; leave it out \(.*distributed_training.*\)$"
    with pytest.raises(SystemExit, match=expected):
        run_mnist_multiclass.main(["--distributed"])


def test_a_gpt_in_several_processes_is_refused_there_too(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "project.lab.distributed_text", None)
    expected = r"--distributed expected the library after the course; leave it out \(.*distributed_text.*\)"
    assert re.fullmatch(expected, refusal(run_gpt, capsys, "--distributed"))


def test_the_steps_of_several_processes_are_not_recorded():
    from project.lab.distributed_training import ParallelTrainer

    assert ImageTrainer.is_recordable
    assert not ParallelTrainer.is_recordable


# The example


def test_the_example_runs_alone_and_refuses_other_files(tmp_path, capsys):
    path = tmp_path / "digits"
    assert distributed_example.main(["--epochs", "1", "--checkpoint", str(path)]) == 0
    assert not distributed.is_initialized()
    assert re.fullmatch(r"epoch 1/1  loss \d\.\d{4}  valid \d+\.\d\d%  on 1 process\n", capsys.readouterr().out)
    assert minitorch.load(path)["epoch"] == 1
    minitorch.save({"weights": minitorch.zeros((1,))}, path)
    try:
        with pytest.raises(SystemExit, match="2"):
            distributed_example.main(["--checkpoint", str(path)])
    finally:
        distributed.destroy_process_group()
    expected = f"distributed_example.py: --checkpoint expected a file of this program, got {str(path)!r} ('network')\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(SystemExit, match="2"):
        distributed_example.main(["--checkpoint", str(tmp_path / "none" / "file")])
    expected = f"distributed_example.py: --checkpoint expected a file in an existing folder, got {str(tmp_path / 'none' / 'file')!r}\n"
    assert capsys.readouterr().err == expected
