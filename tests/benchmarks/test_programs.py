"""The benchmark of programs for PyTorch compares times of a step and losses."""

import math

import pytest

from benchmarks import programs
from benchmarks.programs_contenders import PROGRAMS, SETTINGS
from benchmarks.rivals import MISSED, NOT_RUN, REACHED, Demand


class Recorded:
    """A library's process: a run takes `start` s and `step` s for each step, and its losses are all the same."""

    def __init__(self, step, loss, start=10):
        self.step, self.loss, self.start, self.asked, self.closed = step, loss, start, [], False

    def ask(self, line):
        steps = line.split()[1]
        self.asked.append(line)
        return " ".join(map(str, [self.start + self.step * int(steps), *[self.loss] * int(steps)]))

    def close(self):
        self.closed = True


def test_a_step_is_timed_without_what_comes_before_the_first_one_or_after_the_last():
    libraries = {"minitorch": Recorded(0.25, 2.0), "torch": Recorded(0.125, 2.5)}
    assert programs.compared("gpt", libraries, 2) == ({"minitorch": [0.25, 0.25], "torch": [0.125, 0.125]}, 0.2)
    assert libraries["torch"].asked == ["gpt 5", "gpt 5", "gpt 10", "gpt 5", "gpt 10"]
    short = {"minitorch": Recorded(1e-5, math.nan, start=0), "torch": Recorded(1.0, 1.0)}
    assert programs.compared("gpt", short, 1)[1] == math.inf
    assert short["torch"].asked[-1] == "gpt 305"
    programs.compared("gpt", slower := {"minitorch": Recorded(0.003, 1.0, start=0.1)}, 1)
    assert slower["minitorch"].asked == ["gpt 5", "gpt 5", "gpt 15", "gpt 5", "gpt 32"]


@pytest.mark.parametrize(("worst", "apart", "verdicts"), [(4.0, 1e-4, [REACHED, REACHED]), (4.1, 1.1e-4, [MISSED, MISSED])])
def test_the_median_the_worst_and_the_losses_have_goals(worst, apart, verdicts):
    found = programs.judge({"gpt": 1.2, "vae": worst, "gan": 1.3}, {"gpt": 0.0, "vae": 1e-7, "gan": apart})
    assert found == {
        "median": Demand("at most 1.3", "1.3 (3 programs)", REACHED),
        "worst": Demand("at most 4", f"{worst:g} (vae)", verdicts[0]),
        "difference of the losses": Demand("at most 0.0001", f"{apart:.3g} (gan)", verdicts[1]),
    }
    assert programs.judge({"gpt": 1.31}, {"gpt": 0.0})["median"].verdict == MISSED


def test_without_pytorch_only_our_times_are_shown(monkeypatch, capsys):
    made = Recorded(0.25, 2.0)
    monkeypatch.setattr(programs, "Library", lambda *_: made)
    assert programs.table(1, {"minitorch": ""}, 1, ["gpt"]) == {NOT_RUN: 3}
    assert made.closed
    assert capsys.readouterr().out.splitlines()[3] == "gpt                    ours 250 ms (250 to 250)"


def test_a_row_shows_the_ratio_and_both_times(monkeypatch, capsys):
    monkeypatch.setattr(programs, "Library", lambda name, *_: Recorded(0.25 if name == "minitorch" else 0.125, 2.0))
    assert programs.table(2, {"minitorch": "", "torch": ""}, 1, ["gpt"]) == {REACHED: 2, MISSED: 1}
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "2 threads"
    assert lines[3] == "gpt                    2.00   ours 250 ms (250 to 250), torch 125 ms (125 to 125)"


def test_the_programs_of_short_exist():
    assert set(PROGRAMS) > {*programs.SHORT, *SETTINGS}
    assert len(set(programs.SHORT)) == 16
