"""What is given in Task 6.10: the simulated network, and the stages of a model."""

import threading

import numpy as np
import pytest

from minitorch import tensor
from minitorch.language.machines import model_stage
from minitorch.language.model import GPT2
from minitorch.language.network import Network
from tests.errors import raises

# The network


def exchange(peer, array):
    """Send to all others, then receive from all others, in order."""
    others = [rank for rank in range(peer.size) if rank != peer.rank]
    for other in others:
        peer.send(array + other, other)
    return [peer.receive(other).tolist() for other in others]


def test_messages_arrive_from_the_process_that_is_named_in_the_order_in_which_they_were_sent():
    network = Network(3)
    assert network.run(exchange, np.array([[10], [20], [30]])) == [[[20], [30]], [[11], [31]], [[12], [22]]]
    assert [(m.source, m.to, m.array.tolist()) for m in network.messages[:2]] == [(0, 1, [11]), (0, 2, [12])]

    def twice(peer):
        if peer.rank:
            return [int(peer.receive(0)) for _ in range(2)]
        peer.send(np.array(1), 1)
        peer.send(np.array(2), 1)
        return None

    assert Network(2).run(twice) == [None, [1, 2]]


def test_a_network_runs_again_and_a_program_does_the_same_each_time():
    network = Network(4)
    arrays = np.arange(4.0)[:, None]
    assert network.run(exchange, arrays) == network.run(exchange, arrays)
    sent = [(m.source, m.to, m.array.tolist()) for m in network.messages]
    assert sent[:12] == sent[12:]


def test_a_message_is_a_copy():
    array = np.zeros(2)

    def program(peer):
        if peer.rank == 0:
            peer.send(array, 1)
            array[0] = 5
            return None
        received = peer.receive(0)
        received[1] = 7
        return received.tolist()

    network = Network(2)
    assert network.run(program) == [None, [0, 7]]
    assert network.messages[0].array.tolist() == [0, 0]
    assert array.tolist() == [5, 0]


def test_one_process_runs_at_a_time():
    running, most = set(), []

    def program(peer):
        for step in range(20):
            running.add(peer.rank)
            most.append(len(running))
            running.remove(peer.rank)
            if step % 2 == 0:
                peer.send(np.zeros(1), 1 - peer.rank)
                peer.receive(1 - peer.rank)

    Network(2).run(program)
    assert max(most) == 1


def test_a_deadlock_is_an_error_that_says_who_waits_for_whom():
    message = "receive expected a message, got a deadlock: {}; send before you receive, and as often"
    found = "process 0 waits for process 1, process 1 waits for process 2, process 2 waits for process 0"
    with raises(RuntimeError, message.format(found)) as caught:
        Network(3).run(lambda peer: peer.receive((peer.rank + 1) % 3))
    assert "<lambda>" in [entry.name for entry in caught.traceback]  # the line that waits
    with raises(RuntimeError, message.format("process 1 waits for process 0, process 0 has ended")):
        Network(2).run(lambda peer: peer.receive(0) if peer.rank else None)


def test_a_message_that_nobody_receives_is_an_error():
    with raises(
        RuntimeError, "run expected every message to be received, got 2 from process 0 to process 1 left; receive as often as you send"
    ):
        Network(2).run(lambda peer: [peer.send(np.ones(1), 1) for _ in range(2)] if peer.rank == 0 else None)


def test_the_first_error_of_a_process_ends_all_of_them():
    before, went_on = threading.active_count(), []

    def program(peer):
        if peer.rank == 1:
            raise KeyError("from process 1")
        try:
            peer.receive(1)
        except Exception:  # which does not catch the end
            went_on.append(peer.rank)

    network = Network(3)
    with pytest.raises(KeyError, match="from process 1"):
        network.run(program)
    assert not went_on
    assert threading.active_count() == before
    assert network.run(exchange, np.zeros((3, 1))) == [[[0], [0]], [[1], [1]], [[2], [2]]]  # nothing is left


@pytest.mark.parametrize("other", [-1, 2, 0, "1"])
def test_other_processes_have_numbers(other):
    for call in ("send", "receive"):
        with raises(ValueError, f"{call} expected the number of another of 2 processes, got {other} in process 0"):
            Network(2).run(lambda peer, call=call: getattr(peer, call)(*[np.ones(1)] * (call == "send"), other))


def test_only_arrays_are_sent():
    with raises(TypeError, "send expected a NumPy array, got Tensor; pass x.to_numpy() of a tensor"):
        Network(2).run(lambda peer: peer.send(tensor([1.0]), 1))


def test_a_network_has_a_process():
    with raises(ValueError, "Network expected at least 1 process, got 0; try 4"):
        Network(0)


# Stages


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_all_stages_one_after_the_other_are_the_model(stages):
    model, tokens = GPT2(5, 4, 3, 1, 2), tensor(np.array([[1, 4, 0], [3, 3, 2]]))
    x = tokens
    for stage in range(stages):
        x = model_stage(model, stage, stages)(x)
    np.testing.assert_array_equal(x.to_numpy(), model(tokens).to_numpy())


@pytest.mark.parametrize(("stages", "expected"), [(1, [4]), (2, [2, 2]), (3, [1, 1, 2]), (6, [0, 1, 1, 0, 1, 1])])
def test_blocks_are_divided_evenly(monkeypatch, stages, expected):
    model, used = GPT2(5, 4, 4, 1, 2), []
    monkeypatch.setattr(type(model.h.modules()[0]), "forward", lambda self, x: used.append(self) or x)
    x, counts = tensor(np.array([[1, 4, 0]])), []
    for stage in range(stages):
        before = len(used)
        x = model_stage(model, stage, stages)(x)
        counts.append(len(used) - before)
    assert counts == expected
    assert used == list(model.h.modules())
