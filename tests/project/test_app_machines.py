"""The page of Task 6.10: every step of a ring, what it costs, a pipeline, and wrong functions."""

import re

import pytest

from minitorch.language import machines as student
from project.lab import time_limit
from project.lab.cards import WrongResult
from project.lab.charts import ring_figure
from project.lab.explorers import language_machines as machines
from project.lab.time_limit import TimeLimitExceeded

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text, texts  # noqa: F401  a fixture


@pytest.mark.parametrize("processes", range(2, 9))
def test_every_process_sends_one_chunk_to_its_neighbor_in_each_step_until_each_has_the_sum_of_all(processes):
    found = machines.moments(processes)
    assert len(found) == 2 * (processes - 1) + 1
    assert found[-1].held == [[tuple(range(processes))] * processes] * processes
    assert all(len(set(members)) == len(members) for moment in found for row in moment.held for members in row)  # nothing is added twice
    for moment in found[1:]:
        sent = [(each.source, each.target) for each in moment.transfers]
        assert sent == [(source, (source + 1) % processes) for source in range(processes)]


def test_three_processes_by_hand():
    """First process i sends chunk i, then chunk i - 1: afterwards process 2 has chunk 0, process 0 chunk 1 and process 1 chunk 2."""
    held = [moment.held for moment in machines.moments(3)]
    assert held[1] == [[(0,), (0,), (0, 2)], [(0, 1), (1,), (1,)], [(2,), (1, 2), (2,)]]
    assert held[2] == [[(0,), (0, 1, 2), (0, 2)], [(0, 1), (1,), (0, 1, 2)], [(0, 1, 2), (1, 2), (2,)]]


def test_the_ring_has_an_arrow_for_each_chunk_and_bars_as_full_as_the_sums():
    values = [[1, 2, 3], [10, 20, 30], [100, 200, 300]]
    drawn = [ring_figure.circle(moment, values, "") for moment in machines.moments(3)]
    assert [each.count('class="arrow"') for each in drawn] == [0, 3, 3, 3, 3]
    assert re.findall(r'class="chunk"[^>]*>([^<]*)<', drawn[1]) == ["+ 0", "+ 1", "+ 2"]  # process i sends chunk i
    assert re.findall(r'class="chunk"[^>]*>([^<]*)<', drawn[3]) == ["= 1", "= 2", "= 0"]
    assert "process 1, chunk 0: 11<" in drawn[1]
    assert drawn[4].count(": 111<") == drawn[4].count(": 222<") == drawn[4].count(": 333<") == 3
    heights = [re.findall(r'class="(?:|changed|done)"[^>]*height="([^"]*)"', each) for each in (drawn[0], drawn[4])]
    assert heights == [["7.3"] * 9, ["22.0"] * 9]


def test_the_costs_by_hand():
    """8 processes, 8 MB, 1 ms per message, 1 MB per ms: 14 · (1 + 8), 6 · (1 + 8) and 14 · (1 + 1) ms."""
    costs = machines.costs(8, 8e6, 1e-3, 1e9)
    assert [cost.seconds for cost in costs] == pytest.approx([0.126, 0.054, 0.028])
    assert [cost.steps for cost in costs] == [14, 6, 14]
    assert [cost.busiest for cost in costs] == pytest.approx([112e6, 48e6, 28e6])


def test_the_page_plays_the_ring():
    app = open_page("m6_machines", ring_processes="3", ring_step="0")
    assert "Each of 3 processes has gradients of its own" in app.info[0].value
    app.select_slider(key="ring_step").set_value(4).run()
    assert "Now every process has the whole sum." in app.info[0].value
    assert "Each process has sent 4 of 3 chunks so far: 1.33 times the size of its gradients." in texts(app.markdown)
    app.number_input(key="ring_processes").set_value(2).run()
    assert app.select_slider(key="ring_step").value == 2
    assert not app.exception


def test_the_page_draws_the_pipeline():
    app = open_page("m6_machines", pipe_stages="4", pipe_micro_batches="1")
    assert not app.error
    assert "Each way takes 4 waves, and a stage is idle for 75% of the time." in page_text(app)
    app.number_input(key="pipe_micro_batches").set_value(12).run()
    assert "Each way takes 15 waves, and a stage is idle for 20% of the time." in page_text(app)


def test_a_pipeline_by_hand():
    markup = machines.pipeline([[(0, 0)], [(1, 0), (0, 1)], [(1, 1)]], 2)
    found = [note.partition('"')[0] for note in markup.split('title="')[1:]]
    assert found == [
        *("wave 0, stage 0: micro-batch 0 forward", "wave 1, stage 0: micro-batch 1 forward", "wave 2, stage 0: idle"),
        *("wave 3, stage 0: idle", "wave 4, stage 0: micro-batch 1 backward", "wave 5, stage 0: micro-batch 0 backward"),
        *("wave 0, stage 1: idle", "wave 1, stage 1: micro-batch 0 forward", "wave 2, stage 1: micro-batch 1 forward"),
        *("wave 3, stage 1: micro-batch 1 backward", "wave 4, stage 1: micro-batch 0 backward", "wave 5, stage 1: idle"),
    ]


# Wrong functions


def through_process_0(peer, array):
    if peer.rank:
        peer.send(array, 0)
        return peer.receive(0)
    total = array + sum(peer.receive(other) for other in range(1, peer.size))
    for other in range(1, peer.size):
        peer.send(total, other)
    return total


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda peer, array: array,
            "all_reduce(peer, array) expected the sum of all arrays in process 0, got in its chunks the sums of process 0, 0, 0",
        ),
        (lambda peer, array: None, "all_reduce(peer, array) expected the sum of all arrays in process 0, got None"),
        (
            lambda peer, array: array[:2],
            "all_reduce(peer, array) expected the sum of all arrays in process 0, got an array of shape (2,) and dtype uint64",
        ),
        (
            through_process_0,
            "all_reduce expected 4 messages of one chunk from process 0 to process 1, got [(1, 3), (2, 3)]: to whom, and how many chunks",
        ),
    ],
)
def test_wrong_sums_are_reported(monkeypatch, wrong, message):
    monkeypatch.setattr(student, "all_reduce", wrong)
    with raises(WrongResult, message):
        machines.moments(3)


def test_an_endless_loop_in_one_process_is_stopped_while_the_others_wait(monkeypatch):
    monkeypatch.setattr(time_limit, "LIMIT", 0.25)
    monkeypatch.setattr(time_limit, "PERIOD", 0.02)
    names = {}
    source = """
def all_reduce(peer, array):
    if peer.rank == 0:
        return peer.receive(1)
    while True:
        array = array + array
"""
    exec(compile(source, student.__file__, "exec"), names)
    monkeypatch.setattr(student, "all_reduce", names["all_reduce"])
    with pytest.raises(TimeLimitExceeded) as found:
        machines.moments(2)
    assert found.value.frame is not None
    assert found.value.frame.f_locals["peer"].rank == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m, s: [[]], "schedule(2, 3) expected a list of 4 waves, got 1"),
        (lambda m, s: None, "schedule(2, 3) expected a list of 4 waves, got None"),
        (lambda m, s: [[(0, 0)], [(1, 0)], [], []], "schedule(2, 3) expected wave 1 to be [(1, 0), (0, 1)], got [(1, 0)]"),
    ],
)
def test_wrong_waves_are_reported(monkeypatch, wrong, message):
    monkeypatch.setattr(student, "schedule", wrong)
    with raises(WrongResult, message):
        machines.waves(2, 3)
