"""The records of the training runs that the book quotes: what is kept of an output, and that pages say what the records say."""

import re
import tomllib

import pytest

from benchmarks import runs
from tests.errors import raises

CLASSIFIER = """sst2: phrases; glove vectors for 6 of its 16 words
epoch 1/2  loss 0.6970  train 50.22%  valid 52.00% ( 52/100)  0.23 s
epoch 2/2  loss 0.6896  train 52.22%  valid 53.00% ( 53/100)  0.23 s
2 of 2 epochs in 0.5 s (0.23 s an epoch): loss 0.6896. Best validation: 53.00% after epoch 2. Compiling took 11.8 s before. Test: 50.92%.
"""

MODEL = """GPT: 170,560 parameters
step 10/20  loss 5.0498  valid 4.5173  1.5 s a step
step 20/20  loss 4.0498  valid 3.5173  1.627 s a step
20 of 20 steps in 32.5 s (1.627 s a step).

The step 1 of 2 in 3 s (
"""

TABLE = """ step   float32
    0    2.2792
  399    0.0414
last tenth: float32 0.0467; 8 of 400 steps skipped
"""


def records() -> dict[str, dict[str, str]]:
    return tomllib.loads(runs.RECORDS.read_text(encoding="utf-8"))


def test_the_last_line_of_the_log_is_kept_without_times():
    assert runs.essence(CLASSIFIER).splitlines() == [
        "sst2: phrases; glove vectors for 6 of its 16 words",
        "epoch 2/2  loss 0.6896  train 52.22%  valid 53.00% ( 53/100)",
        "2 of 2 epochs: loss 0.6896. Best validation: 53.00% after epoch 2. Test: 50.92%.",
    ]
    assert runs.essence(MODEL).splitlines() == ["GPT: 170,560 parameters", "step 20/20  loss 4.0498  valid 3.5173", "20 of 20 steps."]
    assert runs.essence(TABLE) == TABLE.replace("    0    2.2792\n", "").rstrip()


def test_records_survive_being_written():
    kept = {"a": {"command": 'python -c "x\\n"', "printed": "one\ntwo, α 98 %"}, "b": {"command": "python b.py", "printed": ""}}
    assert tomllib.loads(runs.as_toml(kept)) == kept


def test_a_run_replaces_its_own_record_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "RECORDS", tmp_path / "runs.toml")
    monkeypatch.setattr(runs, "COMMANDS", {name: f"""python -c "print('{name} in 1.0 s (x)')" """.strip() for name in "abc"})
    runs.RECORDS.write_text(runs.as_toml({name: {"printed": "old"} for name in "cxa"}), encoding="utf-8")
    runs.main(["c", "b"])
    assert {name: record["printed"] for name, record in records().items()} == {"a": "old", "b": "b", "c": "c"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", records()["b"]["date"])
    assert re.fullmatch(r".+, \d+ cores, Python \d+\.\d+\.\d+", records()["b"]["machine"])
    assert records()["b"]["command"] == """python -c "print('b in 1.0 s (x)')\""""
    assert capsys.readouterr().out == "c\nb\n"


def test_an_unknown_run_and_a_run_that_fails_leave_the_records_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runs, "RECORDS", tmp_path / "runs.toml")
    monkeypatch.setattr(runs, "COMMANDS", {"a": "python -c 'exit(3)'"})
    with pytest.raises(SystemExit):
        runs.main(["a", "z"])
    assert capsys.readouterr().err.splitlines()[-1] == "python -m benchmarks.runs: error: expected some of a, got z"
    with raises(SystemExit, "python -c 'exit(3)' failed with status 3; run it to see more\n"):
        runs.main([])
    assert not runs.RECORDS.exists()


def test_the_book_quotes_today_s_commands():
    assert {name: record["command"] for name, record in records().items()} == runs.COMMANDS, "measure again: python -m benchmarks.runs NAME"
    seeds = [re.findall(r"--seed \d+", command) for command in runs.COMMANDS.values()]
    assert all(len(found) == 1 for found in seeds)


def test_the_chapter_on_sentences_says_of_its_records_what_they_say():
    printed = records()["sst2"]["printed"]
    (train, valid), (best,) = re.findall(r"training ([\d.]+)%, validation ([\d.]+)%", printed)[0], re.findall(r"after epoch (\d+)", printed)
    assert float(train) > float(valid) + 10
    assert int(best) < 125  # of 250 epochs
    tests = [float(re.findall(r"Test: ([\d.]+)%", records()[name]["printed"])[0]) for name in ("sst2", "sst2_learned", "sst2_all")]
    assert tests == sorted(tests)
