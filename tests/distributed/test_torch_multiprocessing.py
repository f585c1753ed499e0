"""torch.multiprocessing: functions in several processes, and tensors that they share."""

import gc
import pickle
from pathlib import Path

import pytest

import minitorch.torch as torch
import minitorch.torch.multiprocessing as mp
from minitorch.torch.multiprocessing import sharing
from tests.errors import raises

from . import workers


def path_of(x):
    return Path(sharing._files[sharing._address(x._tensor._storage)])


def test_two_processes_write_into_one_tensor_and_one_model():
    model, shared = torch.nn.Linear(2, 1).share_memory(), torch.zeros(2).share_memory_()
    before = model.bias.item()
    queue = mp.get_context("fork").Queue()
    context = mp.start_processes(workers.train, (model, shared, queue), 2, join=False, start_method="fork")
    sent = sorted([queue.get(timeout=60) for _ in range(2)], key=lambda each: each[0])
    while not context.join():
        pass
    assert shared.tolist() == [1.0, 2.0]
    assert model.bias.item() == pytest.approx(before - 2.0)
    assert [each[1].tolist() for each in sent] == [[0, 1, 2], [1, 2, 3]]
    assert not sent[0][1].is_shared()
    sent[0][2][0] = 7.0  # a shared tensor is the same memory, not a copy
    assert shared.tolist() == [7.0, 2.0]


def test_shared_memory_is_a_file_that_ends_with_the_tensor():
    x = torch.ones(3, 2).t()
    assert not x.is_shared()
    assert x.share_memory_() is x.share_memory_() is x
    assert x.is_shared()
    assert (x.tolist(), x.stride()) == ([[1.0] * 3] * 2, (1, 2))
    path, view = path_of(x), x[0]
    assert path.stat().st_size == 24
    del x
    gc.collect()
    assert path.exists()
    assert view.is_shared()
    view[1] = 5.0
    del view
    gc.collect()
    assert not path.exists()


def test_a_process_attaches_a_tensor_by_its_file_with_its_class_and_gradient():
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0])).share_memory_()
    parameter.grad = torch.tensor([3.0, 4.0])
    other = pickle.loads(bytes(mp.reducer.ForkingPickler.dumps(parameter)))
    assert type(other) is torch.nn.Parameter
    assert other.requires_grad
    assert other.grad.tolist() == [3.0, 4.0]
    with torch.no_grad():
        other.add_(1.0)
    assert parameter.tolist() == [2.0, 3.0]
    assert pickle.loads(pickle.dumps(parameter)).is_shared() is False  # in a file, the numbers


def test_only_what_holds_its_own_memory_can_be_shared():
    x = torch.ones(3)
    with raises(
        RuntimeError,
        "share_memory_ expected a tensor that is not a view, got a view of a larger memory; call it on the whole, or on a clone()",
    ):
        x[:2].share_memory_()
    computed = x.requires_grad_() * 2
    with raises(RuntimeError, "share_memory_ expected a tensor that was not computed, got one with a graph; take x.detach()"):
        computed.share_memory_()
    assert mp.get_all_sharing_strategies() == {mp.get_sharing_strategy()} == {"file_system"}
    mp.set_sharing_strategy("file_system")
    with raises(ValueError, "set_sharing_strategy expected 'file_system', the only one, got 'file_descriptor'; leave the call out"):
        mp.set_sharing_strategy("file_descriptor")


def test_the_traceback_of_a_process_reaches_the_one_that_started_it():
    with pytest.raises(mp.ProcessRaisedException) as error:
        mp.start_processes(workers.raise_in_second, ("bad data",), 2, start_method="fork")
    assert str(error.value).startswith("\n\n-- Process 1 terminated with the following error:\nTraceback (most recent call last):\n")
    assert str(error.value).endswith("ValueError: bad data\n")
    assert error.value.error_index == 1
    assert isinstance(error.value, mp.ProcessException)


@pytest.mark.parametrize(
    ("how", "message", "code", "name"),
    [("exit", "process 0 terminated with exit code 3", 3, None), ("kill", "process 0 terminated with signal SIGKILL", -9, "SIGKILL")],
)
def test_how_a_process_ended_is_named(how, message, code, name):
    with pytest.raises(mp.ProcessExitedException) as error:
        mp.start_processes(workers.end, (how,), 1, start_method="fork")
    assert (str(error.value), error.value.exit_code, error.value.signal_name) == (message, code, name)


def test_names_of_python_s_module_are_there():
    assert mp.Process is mp.get_context().Process or callable(mp.Process)
    assert all(hasattr(mp, name) for name in ("Queue", "Pool", "Lock", "Event", "Value", "Manager", "set_start_method", "cpu_count"))
    with raises(ValueError, "start_processes expected nprocs of at least 1, got 0"):
        mp.spawn(workers.end, nprocs=0)
