"""Storages on the GPU: data stays there, is copied only when needed, and no copy is ever out of date."""

import copy
import pickle
import threading

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, tensor
from minitorch.kernels.cuda.device import cuda as numba_cuda
from minitorch.kernels.cuda.storage import DeviceData, DeviceStorage

from ..tensor_strategies import assert_close_tensor


@pytest.fixture
def copies(monkeypatch):
    """The numbers of storages that were copied to the host and to the GPU."""
    counts = {"to the host": 0, "to the GPU": 0}

    def count(name, place, where):
        original = getattr(DeviceStorage, name)

        def counted(self):
            counts[where] += getattr(self, place) is None
            return original(self)

        monkeypatch.setattr(DeviceStorage, name, counted)

    count("on_host", "host", "to the host")
    count("on_device", "device", "to the GPU")
    return counts


def test_data_stays_on_the_gpu_between_operations(cuda, copies):
    x = tensor(np.ones((3, 4)), backend=cuda, requires_grad=True)
    y = tensor(np.ones((4, 2)), backend=cuda, requires_grad=True)
    loss = ((x @ y).relu() * x.sum(1)).permute(1, 0).contiguous().view(6).sum()
    loss.backward()
    assert copies == {"to the host": 0, "to the GPU": 0}
    assert loss.item() == 3 * 2 * 4 * 4
    assert copies["to the host"] == 1
    loss.item()
    assert copies["to the host"] == 1, "read again, it is not copied again"


def test_the_result_of_a_kernel_is_not_filled_with_zeros_first(cuda, copies):
    x = tensor(np.ones(5), backend=cuda)
    assert (x + x).tolist() == [2.0] * 5
    assert copies == {"to the host": 1, "to the GPU": 0}


def test_host_writes_are_visible_on_the_gpu(cuda):
    x = tensor(np.arange(6.0).reshape(2, 3), backend=cuda)
    row = x[1]
    x[1, 0] = 10.0
    x[0] = 7.0
    assert (row + 0).tolist() == [10.0, 4.0, 5.0]
    assert (x * 2).tolist() == [[14.0] * 3, [20.0, 8.0, 10.0]]


def test_kernel_writes_are_visible_on_the_host(cuda):
    x = minitorch.zeros((4,), backend=cuda)
    assert x.tolist() == [0.0] * 4
    cuda.id_map(tensor(np.ones(2), backend=cuda), x[1:3])
    assert x.tolist() == [0.0, 1.0, 1.0, 0.0]
    cuda.neg_map(x, x)
    assert x[1] == -1.0


def test_lazily_created_zeros_are_zeros_around_a_kernel_s_writes(cuda, monkeypatch):
    def full_of_sevens(length, dtype):
        return numba_cuda.to_device(np.full(length, 7, dtype))

    one = tensor(np.ones(2), backend=cuda)
    x, y = one.zeros((4,)), one.zeros((2, 1))
    monkeypatch.setattr(numba_cuda, "device_array", full_of_sevens)
    cuda.id_map(one, x[1:3])
    assert x.tolist() == [0.0, 1.0, 1.0, 0.0]
    cuda.id_map(one[:1], y[1])
    assert (y + 0).tolist() == [[0.0], [1.0]]


def test_gpu_storages_copy_arrays_and_export_read_only_ones(cuda):
    values = np.ones(3)
    x = minitorch.from_numpy(values, backend=cuda)
    values[0] = 5.0
    assert x.tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 2.0
    assert (x + 0).tolist() == [1.0] * 3


def test_to_moves_both_ways_and_copies(cuda):
    x = tensor([[1.0, 2.0], [3.0, 4.0]]).permute(1, 0)
    y = x.to("cuda")
    assert y.device == "cuda"
    assert y.backend is cuda
    assert y.to("cuda") is y
    back = y.to("cpu")
    assert back.device == "cpu"
    assert y.to("simple").backend is SimpleBackend
    x[0, 0], back[0, 1] = 7.0, 8.0
    assert y.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert back.tolist() == [[1.0, 8.0], [2.0, 4.0]]


def test_only_the_range_that_a_view_covers_is_copied():
    x = minitorch.arange(1000).view(10, 100)[3:5, :2].to("cuda")
    assert x._tensor.cell.length == 102
    assert x.tolist() == [[300.0, 301.0], [400.0, 401.0]]


def test_gradients_flow_through_moves():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x.to("cuda") * 3).to("cpu").sum().backward()
    assert x.grad.backend is SimpleBackend
    assert x.grad.tolist() == [3.0, 3.0]


def test_tensors_on_two_devices_cannot_be_combined(cuda):
    with pytest.raises(RuntimeError, match=r"Add expected tensors of one backend, got cuda and simple; move one of them: x\.to\("):
        tensor([1.0], backend=cuda) + tensor([1.0])


def test_a_change_of_a_saved_tensor_is_detected(cuda):
    x = tensor([1.0, 2.0], backend=cuda, requires_grad=True)
    y = x.exp()
    with minitorch.no_grad():
        y[0] = 0.0
    with pytest.raises(RuntimeError, match="written into since"):
        y.sum().backward()


def test_the_gradient_of_elements_selected_twice_is_doubled(cuda):
    x = tensor([1.0, 2.0, 3.0], backend=cuda, requires_grad=True)
    (x[[0, 2, 0]] * tensor([1.0, 10.0, 100.0], backend=cuda)).sum().backward()
    assert (x.grad + 0).tolist() == [101.0, 0.0, 10.0]


def test_copied_and_unpickled_tensors_are_on_the_gpu(cuda):
    x = tensor([1.0, 2.0], backend=cuda, requires_grad=True)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone().detach()):
        assert y.device == "cuda"
        assert (y * 2).tolist() == [2.0, 4.0]


def test_views_share_their_storage(cuda):
    x = tensor(np.arange(6.0), backend=cuda)
    for view in (x.view(2, 3), x[1:4], x.view(2, 3).permute(1, 0), x.detach()):
        assert isinstance(view._tensor, DeviceData)
        assert view._tensor.cell is x._tensor.cell


def test_an_empty_storage_works(cuda):
    x = minitorch.zeros((0,), backend=cuda)
    assert x.tolist() == []
    assert tensor([], backend=cuda).to("cpu").tolist() == []


def test_two_threads_may_launch_at_once(cuda):
    failures = []

    def work():
        try:
            for i in range(5):
                assert_close_tensor(tensor(np.full(20, float(i)), backend=cuda).exp().sum(0), np.full(1, 20 * np.exp(i)), 1e-9)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
