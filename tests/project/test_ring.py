"""Ring all-reduce: every step, what it costs, and the page."""

import pytest

from project.lab.explorers import ring
from tests.project.pages import ignore_saved_files, open_page, texts  # noqa: F401  the fixture works by being here


@pytest.mark.parametrize("processes", range(2, 9))
def test_every_process_sends_one_chunk_to_its_neighbor_in_each_step_until_each_has_the_sum_of_all(processes):
    found = ring.moments(processes)
    assert len(found) == 2 * (processes - 1) + 1
    assert found[-1].held == [[tuple(range(processes))] * processes] * processes
    assert all(len(set(members)) == len(members) for moment in found for row in moment.held for members in row)  # nothing is added twice
    for moment in found[1:]:
        sent = [(each.source, each.target) for each in moment.transfers]
        assert sent == [(source, (source + 1) % processes) for source in range(processes)]


def test_three_processes_by_hand():
    """First process i sends chunk i, then chunk i - 1: afterwards process 2 has chunk 0, process 0 chunk 1 and process 1 chunk 2."""
    held = [moment.held for moment in ring.moments(3)]
    assert held[1] == [[(0,), (0,), (0, 2)], [(0, 1), (1,), (1,)], [(2,), (1, 2), (2,)]]
    assert held[2] == [[(0,), (0, 1, 2), (0, 2)], [(0, 1), (1,), (0, 1, 2)], [(0, 1, 2), (1, 2), (2,)]]


def test_the_costs_by_hand():
    """8 processes, 8 MB, 1 ms per message, 1 MB per ms: 14 · (1 + 8), 6 · (1 + 8) and 14 · (1 + 1) ms."""
    costs = ring.costs(8, 8e6, 1e-3, 1e9)
    assert [cost.seconds for cost in costs] == pytest.approx([0.126, 0.054, 0.028])
    assert [cost.steps for cost in costs] == [14, 6, 14]
    assert [cost.busiest for cost in costs] == pytest.approx([112e6, 48e6, 28e6])


def test_the_page_plays_the_ring():
    app = open_page("m7_allreduce", ring_processes="3")
    assert "Each of 3 processes has gradients of its own" in app.info[0].value
    app.slider(key="ring_step").set_value(4).run()
    assert "Now every process has the whole sum." in app.info[0].value
    assert "Each process has sent 4 of 3 chunks so far: 1.33 times the size of its gradients." in texts(app.markdown)
    app.number_input(key="ring_processes").set_value(2).run()
    assert app.slider(key="ring_step").value == 2
    assert not app.exception
