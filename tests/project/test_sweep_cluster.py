"""Trials on a Dask cluster: with stubs for the client, and on a real cluster of this machine."""

import re
import sys
from contextlib import nullcontext
from types import ModuleType

import pytest

from project import sweep
from project.lab.sweeps import cluster, store
from project.lab.sweeps.cluster import ClusterError
from project.lab.sweeps.store import Outcome
from project.lab.training import run_files
from tests.errors import raises
from tests.project.programs import refusal
from tests.project.test_sweep_search import a_request
from tests.project.test_sweeps import is_running, project, started  # noqa: F401  the fixture works by being here


class KilledWorker(Exception):
    pass


class Future:
    """The future of a stubbed cluster: returns or raises what it was created with."""

    def __init__(self, client, answer):
        self.client, self.answer = client, answer

    def done(self):
        return self.answer is not None

    def result(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Client:
    """A stubbed cluster that answers in the order of the submissions."""

    def __init__(self, *answers):
        self.answers, self.submitted, self.canceled, self.status = list(answers), [], [], "running"

    def submit(self, function, *words, pure):
        assert function is cluster.run_on_node
        assert not pure
        self.submitted.append(words)
        return Future(self, self.answers.pop(0))

    def cancel(self, futures):
        self.canceled += futures


class Event:
    """A stubbed event, which lists the names of those that were set."""

    names = None

    def __init__(self, name, client=None):
        self.name = name

    def set(self):
        Event.names.append(self.name)


@pytest.fixture
def distributed(monkeypatch):
    """A stub of Dask's package."""
    module = ModuleType("distributed")
    module.Event = Event
    Event.names = []
    monkeypatch.setitem(sys.modules, "distributed", module)
    monkeypatch.setattr(cluster, "TICK", 0)
    return module


GOOD = Outcome("", {"loss": 1.0}, 1.0, "a command")


def failed(error):
    return Outcome(f"its node failed: {error}", {}, 0.0, "")


def outcomes(client, **changes):
    """The outcomes of both trials of a request by the rate."""
    request = a_request(**changes)
    events = cluster.run_on_cluster(request, store.due(request, {}), client=client, threads=2)
    return {trial.values["rate"]: outcome for trial, outcome in filter(None, events)}


def test_every_trial_is_sent_with_its_options_and_the_digest_of_the_source(distributed):
    client = Client(GOOD, GOOD)
    assert outcomes(client) == {0.1: GOOD, 0.5: GOOD}
    assert [words[:4] for words in client.submitted] == [("fake", ["--rate", rate], 2, "d") for rate in ("0.1", "0.5")]
    assert Event.names == []
    assert client.canceled == []


@pytest.mark.parametrize(
    ("answers", "outcome", "sent"),
    [
        ([OSError("gone"), GOOD, GOOD], GOOD, ["0.1", "0.5", "0.1"]),
        ([OSError("gone"), GOOD, OSError("gone\nagain")], failed("OSError: gone again"), ["0.1", "0.5", "0.1"]),
        ([KilledWorker("tried 4 workers"), GOOD], failed("KilledWorker: tried 4 workers"), ["0.1", "0.5"]),
    ],
)
def test_a_trial_whose_node_fails_is_sent_once_more_unless_it_kills_workers(distributed, answers, outcome, sent):
    client = Client(*answers)
    assert outcomes(client) == {0.1: outcome, 0.5: GOOD}
    assert [words[1][1] for words in client.submitted] == sent


def test_other_source_code_on_a_node_ends_the_sweep(distributed, monkeypatch):
    error = ClusterError("A node of the cluster has other source code; copy this repository to every node")
    client = Client(error, None)
    with pytest.raises(ClusterError, match=re.escape(str(error))):
        outcomes(client)
    assert len(client.canceled) == len(Event.names) == 1
    monkeypatch.setattr(run_files, "digest", lambda program: "theirs")
    with pytest.raises(ClusterError, match=re.escape(str(error))):
        cluster.run_on_node("fake", [], 1, "ours", "sweep-1")


LOST = "The connection to the Dask scheduler was lost"


def test_a_lost_connection_ends_the_sweep(distributed):
    client = Client(None, None)
    client.status = "closed"
    with pytest.raises(ClusterError, match=LOST):
        outcomes(client)
    assert client.canceled == []


def test_a_failure_because_the_connection_was_lost_is_not_one_of_the_trial(distributed):
    client = Client(None, None)

    class Broken(Future):
        def result(self):
            client.submitted.append(self)
            client.status = "closed" if len(client.submitted) == 3 else "running"  # the second attempt of the first trial
            raise OSError("gone")

    client.submit = lambda *words, pure: Broken(client, GOOD)
    with pytest.raises(ClusterError, match=LOST):
        outcomes(client)


def test_closing_tells_the_nodes_to_stop(distributed):
    client = Client(None, None)
    request = a_request()
    events = cluster.run_on_cluster(request, store.due(request, {}), client=client, threads=1)
    assert next(events) is None
    events.close()
    assert Event.names == [client.submitted[0][4]]
    assert len(client.canceled) == 2


@pytest.mark.parametrize("address", ["ray://host:1", "dask://host", "dask://host:1/x"])
def test_a_wrong_address_is_rejected(address):
    with pytest.raises(ValueError, match=re.escape(f"--scale expected dask://host:port, got {address!r}")):
        cluster.connect(address)


def test_a_missing_package_and_a_missing_scheduler_are_reported(distributed, monkeypatch):
    def refuse(address, **options):
        assert address == "tcp://host:1"
        raise TimeoutError("timed out")

    distributed.Client = refuse
    with pytest.raises(ValueError, match=re.escape("no Dask scheduler answers at host:1 (timed out); start one: dask scheduler")):
        cluster.connect("dask://host:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with raises(ValueError, "--scale dask:// needs Dask, which is not installed here; run: pip install distributed"):
        cluster.connect("dask://host:1")


def test_jobs_are_not_for_a_cluster(capsys):
    words = ["run_tensor", "--vary", "rate=1", "--scale", "dask://host:1", "--jobs", "2"]
    assert refusal(sweep, capsys, *words) == "--jobs expected no --scale; a cluster runs as many trials as its workers have threads"


def test_a_lost_connection_is_reported_with_the_command_that_continues(project, capsys, monkeypatch):  # noqa: F811
    def lose(request, batch, *, client, threads):
        yield batch[0], GOOD
        raise ClusterError(LOST)

    monkeypatch.setattr(sweep, "run_on_cluster", lose)
    monkeypatch.setattr(sweep, "connect", lambda address: nullcontext())
    out = str(project / "mine")
    assert sweep.main(["fake", "--vary", "rate=1,2", "--out", out, "--scale", "dask://host:1"]) == 130
    assert capsys.readouterr().err == (
        f"sweep.py: stopped. {LOST}. 1 trial is kept in {out}. To continue: "
        f"python project/sweep.py fake --vary rate=1,2 --out {out} --scale dask://host:1\n"
    )


@pytest.fixture
def threads():
    """The address of a cluster whose two workers are threads of this process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None) as local:
        yield local.scheduler_address.replace("tcp://", "dask://")
