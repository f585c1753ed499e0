"""Hyper-parameter search: how trials run, how a sweep continues, and what the program prints."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import psutil
import pytest

from course.manifest import ROOT
from project import sweep
from project.lab.sweeps import search, store, trials
from project.lab.sweeps.search import Range
from tests.project.programs import refusal
from tests.project.test_sweep_search import a_request, a_result

FAKE = '''
"""Pretends to train: the accuracy is the rate, the loss is 1 / epochs, and everything is written down."""
import argparse, json, os, pathlib, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.5, help="--sample")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--log-every", default="")
parser.add_argument("--fail", default="")
parser.add_argument("--quick", action="store_true")
given = parser.parse_args()
runs = pathlib.Path(os.environ["MINITORCH_RUNS"])
with open(pathlib.Path(__file__).with_name("started.txt"), "a") as file:
    file.write(json.dumps({"pid": os.getpid(), "runs": str(runs), "threads": os.environ["NUMBA_NUM_THREADS"], **vars(given)}) + chr(10))
if given.fail == "forever":
    while True:
        time.sleep(0.01)
        print("a line of the log" * 100, flush=True)
if given.fail == "raise" or given.fail == str(given.rate):
    raise ValueError("broken on purpose")
if given.fail == "use":
    sys.exit("fake.py: fail expected something else")
if given.fail == "killed":
    os.kill(os.getpid(), 9)
run = {"format": 1, "id": "a", "program": "fake", "settings": vars(given), "command": f"python project/fake.py --rate {given.rate}",
       "seed": 0, "digest": "", "started": "2026-01-02T03:04:05+00:00", "seconds": 1.5, "status": "finished", "note": "", "unit": "epoch",
       "finished": given.epochs, "total": given.epochs, "resumable_at": None,
       "curves": {"epoch": [1, 2], "loss": [9.0, None if given.fail == "nan" else 1 / given.epochs], "accuracy": [0.0, given.rate]}}
if given.fail == "note":
    run |= {"status": "failed", "note": "ZeroDivisionError: division by zero"}
if given.fail == "stopped":
    run |= {"status": "stopped", "finished": 1}
if given.fail != "silent":
    (runs / "a.json").write_text(json.dumps(run))
sys.exit(given.fail == "note")
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of programs with the fake one, and a folder for sweeps."""
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(trials, "PROJECT", tmp_path)
    monkeypatch.setattr(trials, "PROGRAMS", ("fake", "run_absent"))
    monkeypatch.setenv("MINITORCH_SWEEPS", str(tmp_path / "sweeps"))
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    return tmp_path


def started(folder):
    """What the fake program was started with."""
    path = folder / "started.txt"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_sweep(*words):
    return sweep.main(["fake", *words])


def test_a_grid_is_tried_and_the_best_trial_is_printed_last(project, capsys):
    assert run_sweep("--vary", "rate=0.25,0.75,0.5", "--set", "epochs=8", "--jobs", "1") == 0
    assert capsys.readouterr().out.splitlines() == [
        "1/3  rate 0.25  accuracy 0.25  loss 0.125",
        "2/3  rate 0.75  accuracy 0.75  loss 0.125",
        "3/3  rate 0.5  accuracy 0.5  loss 0.125",
        "",
        "trial  rate  accuracy   loss  seconds",
        "    2  0.75      0.75  0.125     1.50",
        "    3   0.5       0.5  0.125     1.50",
        "    1  0.25      0.25  0.125     1.50",
        "",
        "The best: python project/fake.py --rate 0.75",
    ]
    assert [(each["rate"], each["epochs"], each["threads"]) for each in started(project)] == [(0.25, 8, "1"), (0.75, 8, "1"), (0.5, 8, "1")]
    assert len({each["runs"] for each in started(project)}) == 3, "every trial has a folder of its own"
    assert not any(os.path.exists(each["runs"]) for each in started(project))


def test_the_same_command_continues_where_the_sweep_stopped(project, capsys):
    out = project / "mine"
    assert run_sweep("--vary", "rate=0.25,0.75", "--out", str(out), "--jobs", "1") == 0
    first = capsys.readouterr().out.splitlines()
    (out / "trial-1-0001.json").unlink()
    assert run_sweep("--vary", "rate=0.25,0.75", "--out", str(out), "--jobs", "1") == 0
    again = capsys.readouterr().out.splitlines()
    assert again[0] == "2/2  rate 0.25  accuracy 0.25  loss 0.25"
    assert again[1:] == first[2:]
    assert [each["rate"] for each in started(project)] == [0.25, 0.75, 0.25]
    assert run_sweep("--vary", "rate=0.25,0.75", "--out", str(out)) == 0
    assert capsys.readouterr().out.splitlines() == first[2:]
    assert len(started(project)) == 3


def test_halving_trains_the_best_longer(project, capsys):
    assert run_sweep("--vary", "rate=0.1..0.9", "--search", "halving", "--trials", "2", "--epochs", "8", "--eta", "2", "--jobs", "1") == 0
    rates = [each["rate"] for each in started(project)]
    assert [each["epochs"] for each in started(project)] == [4, 4, 8]
    assert rates[2] == max(rates[:2])
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == f"The best: python project/fake.py --rate {max(rates)}"
    assert out[4].split() == ["trial", "epochs", "rate", "accuracy", "loss", "seconds"]
    assert [line.split()[1] for line in out[5:7]] == ["8", "4"]


def test_a_random_search_tries_as_many_settings_as_asked(project):
    assert run_sweep("--vary", "rate=0.01..1", "--search", "random", "--trials", "3", "--epochs", "5", "--seed", "4") == 0
    drawn = search.draw({"rate": Range(0.01, 1.0)}, 3, 4)
    assert sorted(each["rate"] for each in started(project)) == sorted(values["rate"] for values in drawn)
    assert {each["epochs"] for each in started(project)} == {5}


def test_if_all_trials_fail_the_first_error_is_printed(project, capsys):
    errors = {
        "raise": "ValueError: broken on purpose",
        "use": "fail expected something else",
        "killed": "it was killed by signal 9; is there enough memory?",
        "nan": "loss became infinite or not a number",
        "note": "ZeroDivisionError: division by zero",
        "stopped": "it ended after 1 of 4 epochs",
        "silent": "it wrote no run file",
    }
    assert run_sweep("--vary", f"fail={','.join(errors)}", "--jobs", "1") == 1
    out, err = capsys.readouterr()
    assert err == "sweep.py: all 7 trials failed; the first (fail raise): ValueError: broken on purpose\n"
    assert out.splitlines() == [f"{i}/7  fail {fail}  failed: {error}" for i, (fail, error) in enumerate(errors.items(), 1)]


def test_a_failed_trial_is_recorded_and_does_not_end_the_sweep(project, capsys):
    assert run_sweep("--vary", "rate=0.25,0.75", "--set", "fail=0.25", "--jobs", "1", "--out", str(project / "mine")) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "1 of 2 trials failed; the first (rate 0.25): ValueError: broken on purpose",
        "",
        "The best: python project/fake.py --rate 0.75",
    ]
    assert store.read_results(project / "mine")[1, 1].outcome.error == "ValueError: broken on purpose"


def test_ten_trials_are_shown():
    assert sweep.table(a_request(), [a_result(number, accuracy=0.5) for number in range(1, 12)]).row_count == 10


def test_the_number_of_threads_is_that_of_the_option_or_the_environment(project, monkeypatch):
    run_sweep("--vary", "rate=1", "--threads", "3")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    run_sweep("--vary", "rate=2")
    assert [each["threads"] for each in started(project)] == ["3", "2"]


def test_as_many_trials_run_at_once_as_jobs(project):
    request = a_request(fixed=["fail=forever"], vary=["rate=1,2,3"])
    events = trials.run_here(request, store.due(request, {}), jobs=2, threads=1)
    deadline = time.monotonic() + 20
    while len(started(project)) < 2 and time.monotonic() < deadline:
        assert next(events) is None
    for _ in range(5):
        next(events)
    assert sorted(each["rate"] for each in started(project)) == [1, 2]
    events.close()
    assert not any(is_running(each["pid"]) for each in started(project))
    assert not any(os.path.exists(each["runs"]) for each in started(project))


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE  # which waits for its parent, here that of all orphans
    except psutil.NoSuchProcess:
        return False


SCRIPT = """
import pathlib, sys
from project import sweep
from project.lab.sweeps import trials
trials.PROJECT, trials.PROGRAMS = pathlib.Path({folder!r}), ("fake",)
sweep.command_line.run("sweep.py", sweep.main)
"""


def test_ctrl_c_ends_the_trials_and_the_sweep_says_how_to_continue(project):
    check_signal(project, signal.SIGINT)


def check_signal(project, number):
    """A signal ends the trials, and the sweep says how to continue."""
    out = project / "mine"
    words = ["fake", "--vary", "rate=0.25,0.75", "--vary", "fail=0.5,forever", "--jobs", "1", "--out", str(out)]
    command = [sys.executable, "-c", SCRIPT.format(folder=str(project)), *words]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(started(project)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    printed, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert printed == "1/4  rate 0.25, fail 0.5  accuracy 0.25  loss 0.25\n"
    assert errors == (
        f"sweep.py: stopped. 1 trial is kept in {out}. To continue: python project/sweep.py fake --vary rate=0.25,0.75 "
        f"--vary fail=0.5,forever --out {out}\n"
    )
    assert not any(is_running(each["pid"]) for each in started(project))
    assert sorted(path.name for path in out.iterdir()) == ["sweep.json", "trial-1-0001.json"]


def test_the_printed_command_is_the_same_request(project, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = ["--vary", "rate=0.01..1", "--set", "fail=a b", "--search", "halving", "--trials", "9", "--epochs", "27", "--eta", "2"]
    seen = []
    monkeypatch.setattr(sweep, "run", lambda request, *rest: seen.append(request) or False)
    assert run_sweep(*words, "--seed", "3", "--metric", "loss", "--out", "a folder") == 130
    program, file, *again = shlex.split(seen[0].command(ROOT / "a folder"))
    assert (program, file) == ("python", "project/sweep.py")
    assert sweep.main([*again[:-1], str(project / "b")]) == 130
    assert seen[0] == seen[1]


METRICS = "valid_accuracy, accuracy, train_accuracy, valid_loss, loss"
ONCE = "expected each option once in --vary, --set and --epochs"
LIST = "--search grid expected a list of values of rate"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing --vary rate=1", "PROGRAM expected one of fake, got 'nothing'"),
        ("run_absent --vary rate=1", "PROGRAM expected one of fake, got 'run_absent'"),
        ("fake", "expected at least one --vary NAME=VALUES, such as --vary rate=0.1,0.5"),
        ("fake --vary rte=1", "expected an option of fake.py, got 'rte'; did you mean rate?"),
        ("fake --vary sample=1", "expected an option of fake.py, got 'sample'; run: python project/fake.py --help"),
        ("fake --vary rate=1 --set x=1", "expected an option of fake.py, got 'x'; run: python project/fake.py --help"),
        ("fake --vary rate=1 --trials 3", "--trials expected --search random or halving; a grid tries all combinations"),
        ("fake --vary rate=1..2 --search halving", "--search halving expected --epochs N, the length of the longest trials"),
        ("fake --vary rate=1 --metric speed", f"--metric expected one of {METRICS}, got 'speed'"),
        ("fake --vary rate=1 --vary rate=2", f"{ONCE}, got rate twice"),
        ("fake --vary epochs=1,2 --epochs 3", f"{ONCE}, got epochs twice"),
        ("fake --vary rate=1..2 --search random --trials 10001", "--trials expected at most 10000, got 10001"),
        ("fake --vary rate=1..2", f"{LIST}, got the range 1..2; list its values, or use --search random"),
    ],
)
def test_a_wrong_option_gets_one_line(project, capsys, words, message):
    assert refusal(sweep, capsys, *words.split()) == message
    assert started(project) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("import sys; sys.exit(3)", "it ended with status 3")],
)
def test_a_program_that_does_not_start_is_reported_before_any_trial(project, capsys, source, message):
    (project / "fake.py").write_text(source)
    assert refusal(sweep, capsys, "fake", "--vary", "rate=1") == f"fake.py does not start: {message}"


def test_a_metric_that_the_program_lacks_ends_the_sweep_at_its_first_trial(project, capsys):
    message = "--metric expected one of accuracy, loss, got 'valid_loss'; choose another --out, too"
    assert refusal(sweep, capsys, *["fake", "--vary", "rate=1,2,3", "--metric", "valid_loss", "--jobs", "1"]) == message
    assert len(started(project)) == 1


def test_another_request_or_other_source_code_in_the_same_folder_is_refused(project, capsys, monkeypatch):
    out = str(project / "mine")
    assert run_sweep("--vary", "rate=1", "--out", out) == 0
    capsys.readouterr()
    assert refusal(sweep, capsys, "fake", "--vary", "rate=2", "--out", out) == (
        f"{out} has another sweep (its vary is ['rate=1'], not ['rate=2']); choose another --out, or continue that one: "
        f"python project/sweep.py fake --vary rate=1 --out {out}"
    )
    message = refusal(sweep, capsys, "fake", "--vary", "rate=1", "--set", "quick=true", "--out", out)
    assert message.startswith(f"{out} has another sweep (its set is [], not ['quick=true']);")
    monkeypatch.setattr(sweep.run_files, "digest", lambda program: "another")
    assert refusal(sweep, capsys, "fake", "--vary", "rate=1", "--out", out) == (
        f"the sweep in {out} was started with other source code of minitorch/ or project/fake.py, so results could not be compared; "
        f"choose another --out"
    )
