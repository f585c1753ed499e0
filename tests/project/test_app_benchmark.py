"""The benchmark of the app: its verdicts and its command line, without a browser."""

import pytest

pytest.importorskip("psutil")  # a tool of the benchmarks, not of the course

from benchmarks import app
from benchmarks.app import Row


def test_a_row_compares_the_median_with_its_goal():
    slow = Row(lambda _: [], 0.4, "s")
    assert slow.demand([0.1, 0.3, 0.9]) == ("at most 0.4 s", "0.3 (0.1 to 0.9)", "reached")
    assert slow.demand([0.1, 0.5, 0.9]).verdict == "MISSED"
    fast = Row(lambda _: [], 15, "/s", at_least=True)
    assert fast.demand([15.0]) == ("at least 15 /s", "15", "reached")
    assert fast.demand([14.9]).verdict == "MISSED"


def test_without_chromium_the_program_says_so_and_measures_nothing(monkeypatch, capsys):
    monkeypatch.setattr(app, "CHROMIUM", None)
    monkeypatch.setattr(app, "Server", None)
    assert app.main(["--only", "switch"]) == 0
    assert capsys.readouterr().out == "The app was not measured: no Chromium on the path; apt install chromium\n"


def test_an_unknown_row_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        app.main(["--only", "nothing"])
    assert "--only expected part of one of paint-cold, paint-warm, switch, " in capsys.readouterr().err
