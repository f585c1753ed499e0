"""The report of a training run."""

import re

import pytest

from project.lab.training import report
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.trainer import Setting
from project.run_scalar import Network


def make_trainer(losses, correct, seconds, epochs=None):
    """A trainer with this history, as if it had run."""
    trainer = ScalarTrainer(Setting("Xor", points=8, hidden=2, epochs=epochs or len(losses)), Network)
    trainer.losses, trainer.correct, trainer.seconds = list(losses), list(correct), list(seconds)
    return trainer


@pytest.fixture
def trainer_after_five_epochs():
    """A trainer after five epochs."""
    return make_trainer([5.0, 4.0, 3.0, 2.0, 1.0], [4, 5, 6, 7, 8], [1.0, 3.0, 5.0, 7.0, 9.0])


@pytest.mark.parametrize(
    ("epoch", "every", "expected"),
    [
        (1, 1, (1, 5.0, 4, 1.0)),
        (2, 2, (2, 4.0, 5, 2.0)),  # (1 + 3) / 2
        (4, 2, (4, 2.0, 7, 6.0)),  # (5 + 7) / 2
        (5, 2, (5, 1.0, 8, 9.0)),
        (5, 10, (5, 1.0, 8, 5.0)),
    ],
)
def test_an_entry_shows_the_mean_time_since_the_previous_entry(trainer_after_five_epochs, epoch, every, expected):
    assert report.entry(trainer_after_five_epochs, epoch, every) == expected


def table(text):
    """The rows below the header of a report's table."""
    return re.findall(r"^\| *\d.*", text, re.MULTILINE)


def test_the_table_has_every_second_epoch_and_the_last_once(trainer_after_five_epochs):
    assert table(report.markdown(trainer_after_five_epochs, 2)) == [
        "| 2 | 4.0000 | 5 | 2.0000 |",
        "| 4 | 2.0000 | 7 | 6.0000 |",
        "| 5 | 1.0000 | 8 | 9.0000 |",
    ]
    assert [len(table(report.markdown(trainer_after_five_epochs, every))) for every in (1, 5, 6)] == [5, 1, 1]


def test_the_summary_gives_the_final_figures_and_how_many_epochs_a_stopped_run_trained(trainer_after_five_epochs):
    assert report.summary(trainer_after_five_epochs) == "5 of 5 epochs in 25.0 s (5.0000 s an epoch): loss 1.0000, 8 of 8 points right."
    stopped = make_trainer([5.0, 4.0], [4, 5], [1.0, 3.0], epochs=500)
    assert report.summary(stopped) == "2 of 500 epochs in 4.0 s (2.0000 s an epoch): loss 4.0000, 5 of 8 points right."


def test_a_report_contains_the_command_the_network_and_the_pictures(trainer_after_five_epochs):
    text = report.markdown(trainer_after_five_epochs, 10)
    assert text.startswith("# Training on Xor\n")
    assert report.summary(trainer_after_five_epochs) in text
    assert f"```\n{trainer_after_five_epochs.setting.command()}\n```" in text
    assert "2 → 2 → 2 → 1, 15 parameters" in text  # (2·2 + 2) + (2·2 + 2) + (2 + 1)
    assert re.search(r"CPython 3\.\d+\.\d+|Python 3\.\d+\.\d+", text)
    assert "](boundary.png)" in text
    assert "](curves.png)" in text


def test_a_report_without_epochs_can_be_written(tmp_path):
    path = report.write(make_trainer([], [], [], epochs=500), tmp_path / "a" / "b", 10)
    text = path.read_text(encoding="utf-8")
    assert "No epoch of 500 was finished." in text
    assert table(text) == []


def test_writing_replaces_only_its_own_files(trainer_after_five_epochs, tmp_path):
    folder = tmp_path / "new" / "folder"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "report.md").write_text("old")
    path = report.write(trainer_after_five_epochs, folder, 10)
    assert path == folder / "report.md"
    assert path.read_text(encoding="utf-8").startswith("# Training on Xor")
    assert (folder / "notes.txt").read_text() == "mine"
    assert sorted(entry.name for entry in folder.iterdir()) == ["boundary.png", "curves.png", "notes.txt", "report.md"]
