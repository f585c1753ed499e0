"""The report of a training run."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from project.lab.training import report
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.trainer import Setting, Trainer
from project.run_scalar import Network


def trained(losses: Sequence[float], correct: Sequence[int], seconds: Sequence[float], epochs: int | None = None) -> Trainer:
    """A trainer with this record, as if it had run."""
    trainer = ScalarTrainer(Setting("Xor", points=8, hidden=2, epochs=epochs or len(losses)), Network)
    trainer.losses, trainer.correct, trainer.seconds = list(losses), list(correct), list(seconds)
    return trainer


@pytest.fixture
def five() -> Trainer:
    """Five epochs."""
    return trained([5.0, 4.0, 3.0, 2.0, 1.0], [4, 5, 6, 7, 8], [1.0, 3.0, 5.0, 7.0, 9.0])


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
def test_an_entry_gives_the_mean_time_since_the_one_before(five: Trainer, epoch: int, every: int, expected: tuple) -> None:
    assert report.entry(five, epoch, every) == expected


def table(text: str) -> list[str]:
    """The rows below the head of a report's table."""
    return re.findall(r"^\| *\d.*", text, re.MULTILINE)


def test_the_table_has_every_second_epoch_and_the_last(five: Trainer) -> None:
    assert table(report.markdown(five, 2)) == [
        "| 2 | 4.0000 | 5 | 2.0000 |",
        "| 4 | 2.0000 | 7 | 6.0000 |",
        "| 5 | 1.0000 | 8 | 9.0000 |",
    ]


@pytest.mark.parametrize(("every", "rows"), [(1, 5), (5, 1), (6, 1)])
def test_the_last_epoch_stands_in_the_table_once(five: Trainer, every: int, rows: int) -> None:
    assert len(table(report.markdown(five, every))) == rows


def test_the_summary_gives_the_final_figures(five: Trainer) -> None:
    assert report.summary(five) == "5 of 5 epochs in 25.0 s (5.0000 s an epoch): loss 1.0000, 8 of 8 points right."


def test_the_summary_of_a_run_that_was_stopped_says_how_far_it_came() -> None:
    stopped = trained([5.0, 4.0], [4, 5], [1.0, 3.0], epochs=500)
    assert report.summary(stopped) == "2 of 500 epochs in 4.0 s (2.0000 s an epoch): loss 4.0000, 5 of 8 points right."


def test_a_report_holds_the_command_the_network_and_the_pictures(five: Trainer) -> None:
    text = report.markdown(five, 10)
    assert text.startswith("# Training on Xor\n")
    assert report.summary(five) in text
    assert f"```\n{five.setting.command()}\n```" in text
    assert "2 → 2 → 2 → 1, 15 parameters" in text  # (2·2 + 2) + (2·2 + 2) + (2 + 1)
    assert re.search(r"CPython 3\.\d+\.\d+|Python 3\.\d+\.\d+", text)
    assert "](boundary.png)" in text
    assert "](curves.png)" in text


def test_a_report_of_no_epoch_at_all_can_be_written(tmp_path: Path) -> None:
    path = report.write(trained([], [], [], epochs=500), tmp_path, 10)
    text = path.read_text(encoding="utf-8")
    assert "No epoch of 500 was finished." in text
    assert table(text) == []


def test_writing_replaces_its_own_files_and_leaves_others_alone(five: Trainer, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (folder / "report.md").write_text("old")
    path = report.write(five, folder, 10)
    assert path == folder / "report.md"
    assert path.read_text(encoding="utf-8").startswith("# Training on Xor")
    assert (folder / "notes.txt").read_text() == "mine"
    assert sorted(entry.name for entry in folder.iterdir()) == ["boundary.png", "curves.png", "notes.txt", "report.md"]


def test_writing_makes_the_folder(five: Trainer, tmp_path: Path) -> None:
    assert report.write(five, tmp_path / "a" / "b", 10).is_file()
