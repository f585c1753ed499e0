"""Moving tensors to the GPU and back by name, moving models with their optimizers, and storages that other libraries may write to."""

import numpy as np
import pytest

import minitorch
from minitorch import SGD, FastBackend, float32, tensor
from minitorch.kernels.cuda import device as cuda_device
from minitorch.kernels.cuda.array_interface import context
from minitorch.nn import Linear


def test_every_name_of_the_gpu_selects_it(cuda):
    x = tensor([1.0, 2.0])
    for moved in (x.cuda(), x.to("cuda"), x.to("cuda:0"), x.to(device="cuda:0"), minitorch.tensor([1.0, 2.0], backend="cuda:0")):
        assert (moved.backend, moved.device, moved.tolist()) == (cuda, "cuda", [1.0, 2.0])
        assert moved.cuda() is moved
        assert (moved.cpu().backend, moved.cpu().device, moved.cpu().tolist()) == (FastBackend, "cpu", [1.0, 2.0])
    both = x.to("cuda:0", float32)
    assert (both.backend, both.dtype) == (cuda, float32)


def test_a_model_and_its_optimizer_move_together(cuda):
    def train(move):
        minitorch.manual_seed(0)
        layer = Linear(2, 1, dtype="float64")
        optimizer = SGD(layer.parameters(), lr=0.1, momentum=0.9)
        for step in range(4):
            if step == 2 and move:
                layer.cuda()
            x = tensor([[1.0, 2.0], [3.0, -1.0]], backend=layer.weight.value.backend)
            optimizer.zero_grad()
            (layer(x) * layer(x)).sum().backward()
            optimizer.step()
        return layer

    stayed, moved = train(False), train(True)
    assert {parameter.value.backend for parameter in moved.parameters()} == {cuda}
    for one, other in zip(stayed.parameters(), moved.parameters(), strict=True):
        np.testing.assert_allclose(other.value.to_numpy(), one.value.to_numpy(), rtol=1e-12)


# A storage that another library can access; in the simulator it is registered by hand


def test_writes_of_another_library_on_the_gpu_are_always_visible(cuda):
    x = tensor([1.0, 2.0, 3.0], backend=cuda)
    theirs = x._tensor.cell.on_device()
    x._tensor.cell.shared = True
    assert x.tolist() == [1.0, 2.0, 3.0]
    theirs[1] = 7.0
    assert x.tolist() == [1.0, 7.0, 3.0]
    assert (x + 1).tolist() == [2.0, 8.0, 4.0]
    x[0] = 5.0
    assert theirs.copy_to_host().tolist() == [5.0, 7.0, 3.0]
    assert x._tensor.cell.device is theirs
    theirs[2] = 9.0
    assert x[1:].tolist() == [7.0, 9.0]


@pytest.mark.skipif(not cuda_device.SIMULATED, reason="NOT RUN: only in the simulator is there no such place")
def test_in_the_simulator_tensors_have_no_gpu_address(cuda):
    assert not hasattr(tensor([1.0], backend=cuda), "__cuda_array_interface__")


def test_a_tensor_that_records_gradients_does_not_export_its_address(cuda):
    with pytest.raises(RuntimeError, match=r"^a tensor that records gradients cannot be exported; export x\.detach\(\)$"):
        _ = tensor([1.0], backend=cuda, requires_grad=True).__cuda_array_interface__


@pytest.mark.skipif(cuda_device.SIMULATED, reason="NOT RUN: numba's simulator has no __cuda_array_interface__")
def test_the_exported_address_of_every_view_is_right(cuda):
    x = tensor(np.arange(12.0).reshape(3, 4), backend=cuda)
    for view in (x, x.permute(1, 0), x[1:], x[:, 1:2], x[1, 2:3].view(()), x[3:]):
        theirs = cuda_device.cuda.as_cuda_array(view)
        assert (theirs.shape, theirs.dtype, theirs.copy_to_host().tolist()) == (view.shape, view.dtype, view.tolist())
    cuda_device.cuda.as_cuda_array(x)[0, 0] = 50.0
    assert x[0, 0] == 50.0


# Arrays used by tensors


def test_a_gpu_array_can_be_filled_by_a_kernel_and_read_back(cuda):
    ctx = context("cuda")
    array = ctx.empty((500, 200), float32)
    assert ctx.fill(array, 1) is array
    found = ctx.to_numpy(array)
    assert (found.shape, found.dtype, found.min(), found.max()) == ((500, 200), float32, 1.0, 1.0)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9, 33])
def test_exactly_all_elements_are_filled(cuda, size):
    ctx = context("cuda:0")
    whole = ctx.array(np.zeros(size + 2, np.int32))
    ctx.fill(whole[1 : size + 1], 7)
    assert ctx.to_numpy(whole).tolist() == [0, *[7] * size, 0]


def test_arrays_of_two_devices_are_not_confused(cuda):
    contexts = {device: context(device) for device in ("cuda", "cpu")}
    for op, mine, other, name in (("fill", "cpu", "cuda", "GPU"), ("to_numpy", "cuda", "cpu", "CPU")):
        with pytest.raises(TypeError, match=rf'^{op} of context\("{mine}"\) expected an array that it has made, got one of the {name}; '):
            getattr(contexts[mine], op)(contexts[other].empty(2), *[1] * (op == "fill"))
