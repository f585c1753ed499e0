"""What a sweep tries, how its trials are ranked, and its files."""

import os

import pytest

from course.manifest import ROOT
from project.lab.sweeps import search, store
from project.lab.sweeps.search import Range, Rung
from project.lab.sweeps.store import Outcome, Request, Result, Trial
from tests.errors import raises


def a_request(**changes):
    facts = {"program": "fake", "vary": ["rate=0.1,0.5"], "fixed": [], "search": "grid", "trials": 0, "epochs": None, "eta": 3}
    return Request(**facts | {"seed": 0, "metric": "", "unit": "epochs", "digest": "d"} | changes)


def a_result(number=1, rung=1, error="", epochs=None, **metrics):
    return Result(Trial(rung, number, {"rate": number / 10}, epochs), Outcome(error, metrics, 1.0, "a command"))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("rate=0.1,0.5,1", ("rate", [0.1, 0.5, 1])),
        ("log-every=2", ("log_every", [2])),
        ("dataset=Xor, Split", ("dataset", ["Xor", "Split"])),
        ("layers=4,3;8", ("layers", ["4,3", 8])),
        ("rate=1,1,2", ("rate", [1, 2])),
        ("rate=nan,1e400", ("rate", ["nan", "1e400"])),
        ("rate=0.01..1", ("rate", Range(0.01, 1.0))),
        ("rate=1e-3..1", ("rate", Range(0.001, 1.0))),
        ("hidden=2..20", ("hidden", Range(2, 20))),
        ("shift=-1.5..2", ("shift", Range(-1.5, 2.0))),
        ("file=a=b", ("file", ["a=b"])),
    ],
)
def test_lists_and_ranges_are_parsed(text, parsed):
    assert search.parse_vary(text) == parsed


def test_a_range_of_integers_has_two_of_them_and_a_fixed_value_may_contain_commas():
    assert [type(search.parse_vary(f"a={text}")[1].low) for text in ("2..20", "2..20.0", "2.0..20")] == [int, float, float]
    assert search.parse_set("layers=4,3") == ("layers", "4,3")


@pytest.mark.parametrize("text", ["rate", "rate=", "=1", "2a=1", "ra te=1"])
def test_a_malformed_vary_is_rejected(text):
    with raises(ValueError, f"--vary expected NAME=VALUES, such as rate=0.1,0.5 or rate=0.01..1, got {text!r}"):
        search.parse_vary(text)
    with raises(ValueError, f"--set expected NAME=VALUE, such as dataset=Xor, got {text!r}"):
        search.parse_set(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[(f"rate={ends}", "a range from a smaller to a larger number") for ends in ("1..1", "2..1", "1..1e400")],
        ("rate=1,,2", "a value between all separators"),
    ],
)
def test_an_empty_value_and_an_empty_or_infinite_range_are_rejected(text, expected):
    with raises(ValueError, f"--vary expected {expected}, got {text!r}"):
        search.parse_vary(text)


@pytest.mark.parametrize(
    ("ends", "logarithmic"),
    [((0.1, 1.0), True), ((0.1, 0.99), False), ((1, 10), True), ((1, 9), False), ((0.0, 1.0), False), ((-1.0, 10.0), False)],
)
def test_a_range_is_logarithmic_if_its_ends_are_positive_and_differ_by_ten_times(ends, logarithmic):
    assert Range(*ends).logarithmic == logarithmic


@pytest.mark.parametrize(
    ("ends", "u", "value"),
    [
        *[((0.01, 1.0), u, value) for u, value in ((0.0, 0.01), (0.5, 0.1), (0.25, 0.03162))],
        *[((1.0, 5.0), 0.25, 2.0), ((-1.0, 1.0), 0.5, 0.0), ((1.23456, 1.23457), 0.5, 1.23457)],
        *[((2, 5), u, value) for u, value in ((0.0, 2), (0.2499, 2), (0.25, 3), (0.9999, 5))],
        *[((1, 99), u, value) for u, value in ((0.0, 1), (0.5, 10), (0.9999999, 99))],
    ],
)
def test_a_position_in_a_range_is_a_number(ends, u, value):
    found = Range(*ends).at(u)
    assert found == value
    assert type(found) is type(ends[0])


def test_a_grid_has_every_combination_and_the_last_option_changes_fastest():
    assert search.grid({"a": [1, 2], "b": ["x", "y"]}) == [{"a": a, "b": b} for a, b in [(1, "x"), (1, "y"), (2, "x"), (2, "y")]]


def test_a_grid_rejects_a_range_and_too_many_combinations():
    message = "--search grid expected a list of values of rate, got the range 0.1..1.0; list its values, or use --search random"
    with raises(ValueError, message):
        search.grid({"rate": Range(0.1, 1.0)})
    hundred = list(range(100))
    assert len(search.grid({"a": hundred, "b": hundred})) == 10_000
    with raises(ValueError, "--search grid expected at most 10000 combinations, got 10100; use --search random"):
        search.grid({"a": hundred, "b": [*hundred, 100]})


def test_drawn_settings_depend_on_the_seed_alone_and_more_trials_begin_with_the_same_ones():
    vary = {"rate": Range(0.01, 1.0), "dataset": ["Xor", "Split", "Circle"]}
    drawn = search.draw(vary, 20, 7)
    assert drawn == search.draw(vary, 20, 7)
    assert drawn == search.draw(vary, 30, 7)[:20]
    assert drawn != search.draw(vary, 20, 8)
    assert {values["dataset"] for values in drawn} == {"Xor", "Split", "Circle"}
    assert all(0.01 <= values["rate"] <= 1 for values in drawn)
    assert 4 <= sum(values["rate"] < 0.1 for values in drawn) <= 16, "half of the logarithmic scale is below 0.1"
    few = search.draw({"hidden": Range(2, 5)}, 20, 0)
    assert sorted(values["hidden"] for values in few) == [2, 3, 4, 5], "all are different"


@pytest.mark.parametrize(
    ("trials", "epochs", "eta", "rungs"),
    [
        (27, 270, 3, [(27, 10), (9, 30), (3, 90), (1, 270)]),
        (28, 271, 3, [(28, 10), (9, 30), (3, 90), (1, 271)]),
        (26, 270, 3, [(26, 30), (8, 90), (2, 270)]),
        (27, 27, 3, [(27, 1), (9, 3), (3, 9), (1, 27)]),
        (8, 8, 2, [(8, 1), (4, 2), (2, 4), (1, 8)]),
        (2, 9, 3, [(2, 9)]),
        (1, 1, 2, [(1, 1)]),
    ],
)
def test_each_rung_of_halving_has_fewer_trials_that_train_longer(trials, epochs, eta, rungs):
    assert search.halving(trials, epochs, eta) == [Rung(*rung) for rung in rungs]


def test_halving_rejects_a_first_rung_without_an_epoch():
    message = "--epochs expected at least 27, so that the first of 4 rungs trains one epoch, got 26; train longer, or choose fewer --trials"
    with raises(ValueError, message):
        search.halving(27, 26, 3)


@pytest.mark.parametrize(
    ("names", "metric"),
    [
        (["loss", "train_accuracy", "valid_accuracy"], "valid_accuracy"),
        (["loss", "accuracy"], "accuracy"),
        (["train_accuracy", "loss"], "train_accuracy"),
        (["loss", "valid_loss"], "valid_loss"),
        (["loss"], "loss"),
        ([], ""),
    ],
)
def test_the_metric_is_the_first_that_the_program_has(names, metric):
    assert store.metric_of([a_result(**dict.fromkeys(names, 1.0))]) == metric
    assert store.metric_of([a_result(loss=1.0)], "accuracy") == "accuracy"


THREE = [a_result(1, accuracy=0.5, loss=1.0), a_result(2, accuracy=0.9, loss=3.0), a_result(3, accuracy=0.7, loss=2.0)]


@pytest.mark.parametrize(
    ("results", "metric", "ranked"),
    [
        (THREE, [], [(1, 2), (1, 3), (1, 1)]),
        (THREE, ["loss"], [(1, 1), (1, 3), (1, 2)]),
        ([a_result(1, accuracy=1.0, valid_loss=2.0, loss=0.0), a_result(2, accuracy=1.0, valid_loss=1.0, loss=5.0)], [], [(1, 2), (1, 1)]),
        ([a_result(number, accuracy=1.0, loss=loss) for number, loss in ((2, 1.0), (1, 1.0), (3, 0.5))], [], [(1, 3), (1, 1), (1, 2)]),
        ([a_result(1, error="broken", loss=0.1), a_result(2, loss=None), a_result(3, loss=2.0), a_result(4)], [], [(1, 3)]),
        ([a_result(1, accuracy=0.5), a_result(2, accuracy=0.9), a_result(1, rung=2, accuracy=0.6)], [], [(2, 1), (1, 2)]),
    ],
    ids=[
        "accuracies are maximized",
        "losses are minimized",
        "equal accuracies are ordered by the validation loss",
        "and then by the number",
        "failed trials and those without the metric are not ranked",
        "a later rung is ranked higher",
    ],
)
def test_trials_are_ranked(results, metric, ranked):
    assert [result.trial.key for result in store.rank(results, *metric)] == ranked


def test_the_next_rung_has_the_best_trials_of_the_one_before():
    request = a_request(vary=["rate=0.1..0.5"], search="halving", trials=4, epochs=8, eta=2)
    first = store.due(request, {})
    assert [(trial.key, trial.epochs) for trial in first] == [((1, number), 2) for number in (1, 2, 3, 4)]
    results = {trial.key: Result(trial, Outcome("", {"loss": float(trial.number % 3)}, 1.0, "")) for trial in first}
    assert [trial.key for trial in store.due(request, {(1, 2): results[1, 2]})] == [(1, 1), (1, 3), (1, 4)]
    second = store.due(request, results)
    assert [(trial.key, trial.epochs, trial.values) for trial in second] == [((2, 3), 4, first[2].values), ((2, 1), 4, first[0].values)]
    results |= {trial.key: Result(trial, Outcome("", {"loss": 1.0}, 1.0, "")) for trial in second}
    (last,) = store.due(request, results)
    assert (last.key, last.epochs) == ((3, 1), 8)
    results[3, 1] = Result(last, Outcome("", {"loss": 1.0}, 1.0, ""))
    assert store.due(request, results) == []


def test_failed_trials_are_not_promoted():
    request = a_request(vary=["rate=0.1..0.5"], search="halving", trials=4, epochs=8, eta=2)
    results = {trial.key: Result(trial, Outcome("broken", {}, 1.0, "")) for trial in store.due(request, {})}
    assert store.due(request, results) == []
    results[1, 3] = Result(results[1, 3].trial, Outcome("", {"loss": 1.0}, 1.0, ""))
    assert [trial.key for trial in store.due(request, results)] == [(2, 3)]


def test_options_become_flags():
    request = a_request(fixed=["dataset=Xor", "log-every=5", "compile=true", "quick=False"])
    trial = Trial(1, 1, {"rate": 0.1, "dataset": "Split"}, None)
    assert request.flags(trial) == ["--dataset", "Split", "--log-every", "5", "--compile", "--rate", "0.1"]
    assert a_request(unit="steps").flags(Trial(1, 1, {"rate": 1e-05}, 3)) == ["--rate", "1e-05", "--steps", "3"]


def test_results_and_the_request_are_read_as_they_were_written(tmp_path):
    results = {result.trial.key: result for result in (a_result(1, loss=1.5), a_result(1, rung=2, epochs=3, error="broken", loss=None))}
    for result in results.values():
        store.write_result(tmp_path, result)
    assert store.read_results(tmp_path) == results
    request = a_request(fixed=["a=1"], epochs=5)
    for _ in range(2):
        store.begin(tmp_path / "new", request)
        assert store.read_request(tmp_path / "new") == request


BROKEN = ["", "[]", "{}", '{"format": 1}', '{"format": 1, "program": "fake"}', '{"format": 1, "tri']


@pytest.mark.parametrize("text", [*BROKEN, '{"format": 2}'])
def test_damaged_files_and_those_of_another_version_are_reported(tmp_path, text):
    for name, read in {"sweep.json": store.read_request, "trial-1-0001.json": store.read_results}.items():
        (tmp_path / name).write_text(text)
        other = "was written by another version of MiniTorch; choose another --out"
        with raises(ValueError, f"{tmp_path / name} {other if '2' in text else 'is damaged; delete it'}"):
            read(tmp_path)


def test_paths_in_the_repository_such_as_the_default_folder_are_shown_relative_to_it(monkeypatch):
    monkeypatch.delenv("MINITORCH_SWEEPS", raising=False)
    assert store.folder() == ROOT / ".course" / "sweeps"
    assert store.shown(store.folder() / "a") == os.path.join(".course", "sweeps", "a")
    assert store.shown(ROOT.parent) == str(ROOT.parent)
