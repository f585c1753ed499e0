"""Trials on a Dask cluster: with stubs for the client, and on a real cluster of this machine."""

import os
import signal
import time

from project import sweep
from project.lab.sweeps import cluster, store
from project.lab.training import run_files
from tests.project.test_sweep_cluster import threads
from tests.project.test_sweep_search import a_request
from tests.project.test_sweeps import is_running, project, started


def test_a_sweep_runs_on_a_cluster(project, capsys, threads):
    assert sweep.main(["fake", "--vary", "rate=0.25,0.75,0.5", "--set", "fail=0.5", "--threads", "3", "--scale", threads]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.partition("  ")[2] for line in lines[:3]) == [
        "rate 0.25  accuracy 0.25  loss 0.25",
        "rate 0.5  failed: ValueError: broken on purpose",
        "rate 0.75  accuracy 0.75  loss 0.25",
    ]
    assert lines[-1] == "The best: python project/fake.py --rate 0.75"
    assert [each["threads"] for each in started(project)] == ["3"] * 3


def test_stopping_ends_the_programs_on_the_nodes(project, threads):
    request = a_request(vary=["rate=1,2,3"], fixed=["fail=forever"], digest=run_files.digest("fake"))
    with cluster.connect(threads) as client:
        events = cluster.run_on_cluster(request, store.due(request, {}), client=client, threads=1)
        wait_until(lambda: next(events) is None and len(started(project)) == 2)
        events.close()
        wait_until(lambda: not any(is_running(each["pid"]) for each in started(project)))
    assert len(started(project)) == 2


def test_a_trial_is_repeated_on_another_worker_when_its_worker_dies():
    from distributed import Client, LocalCluster

    fixed = ["points=10", "epochs=400"]
    request = a_request(program="run_scalar", vary=["rate=0.1,0.5"], fixed=fixed, digest=run_files.digest("run_scalar"))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local, Client(local) as client:
        events = cluster.run_on_cluster(request, store.due(request, {}), client=client, threads=1)
        wait_until(lambda: next(events) is None and all(client.processing().values()))
        os.kill(local.workers[0].pid, signal.SIGKILL)
        outcomes = {trial.number: outcome for trial, outcome in filter(None, events)}
    assert [outcomes[number].error for number in (1, 2)] == ["", ""]


def wait_until(holds):
    """Wait up to 30 seconds for a condition."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
