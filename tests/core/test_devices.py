"""Devices: names that lead to backends, moves that keep gradients, and arrays below tensors."""

import pytest

from minitorch import FastBackend, SimpleBackend, SimpleOps, TensorBackend, float32, float64, full, int64, ones, rand, randn, tensor, zeros
from minitorch.core.backend import resolve_backend
from minitorch.kernels.cuda import device
from minitorch.nn import Linear
from tests.errors import raises


def test_a_device_has_a_name_with_and_without_its_number():
    assert resolve_backend("cpu") is FastBackend
    assert resolve_backend("cpu:0") is FastBackend
    assert resolve_backend("simple") is SimpleBackend
    other = TensorBackend(type("OtherOps", (SimpleOps,), {"name": "other"}))
    assert resolve_backend(other) is other
    for nothing in ("float32", "gpu", "", "cpu0", ":0", None, 0, SimpleOps):
        assert resolve_backend(nothing) is None


@pytest.mark.parametrize("place", ["cuda:1", "cpu:1", "cuda:", "cuda:00", "cpu:0:0", "cuda:x"])
def test_a_second_device_of_a_kind_is_refused(place):
    kind = place.partition(":")[0]
    message = (
        f"expected the device {kind} or {kind}:0, got {place}; one of a kind is used, and with several GPUs the environment variable "
        "CUDA_VISIBLE_DEVICES says which, before Python starts"
    )
    for run in (lambda: tensor([1.0]).to(place), lambda: zeros((2,), backend=place), lambda: tensor([1.0]).to(device=place)):
        with raises(ValueError, message):
            run()


def test_to_takes_devices_and_dtypes_in_any_order_and_by_name():
    x = tensor([1.0, 2.0])
    orders = [x.to("cpu", float32), x.to(float32, "cpu:0"), x.to("cpu", dtype=float32), x.to(float32, device="cpu")]
    for moved in (*orders, x.to(device=FastBackend, dtype="float32")):
        assert (moved.backend, moved.dtype, moved.tolist()) == (FastBackend, float32, [1.0, 2.0])
    assert x.cpu().backend is FastBackend
    assert x.cpu().device == "cpu"


def test_to_gives_the_tensor_itself_if_nothing_changes():
    x = tensor([1.0], backend=FastBackend)
    for same in (x.to("cpu"), x.to("cpu:0", float64), x.to(FastBackend), x.cpu(), x.to(), x.to(device=None, dtype=None)):
        assert same is x


def test_gradients_flow_back_through_a_move_with_a_cast():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x.to("cpu", float32) * tensor([3.0, 4.0], backend=FastBackend, dtype=float32)).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype, x.grad.backend) == ([3.0, 4.0], float64, SimpleBackend)


@pytest.mark.parametrize(
    ("make", "of"), [(tensor, [[1, 2]]), (zeros, [(2,)]), (ones, [(2,)]), (full, [(2,), 3]), (rand, [(2,)]), (randn, [(2,)])]
)
def test_tensors_are_made_on_the_device_that_is_named(make, of):
    assert make(*of, backend="cpu:0").backend is FastBackend
    assert make(*of, backend="simple").backend is SimpleBackend
    with raises(TypeError, "expected a TensorBackend, got str 'gpu'; make one with TensorBackend(SimpleOps)"):
        make(*of, backend="gpu")


def test_layers_are_made_and_moved_by_the_name_of_a_device():
    layer = Linear(2, 3, device="cpu")
    assert {p.value.backend for p in layer.parameters()} == {FastBackend}
    layer.register_buffer("seen", tensor([1], dtype=int64, backend="cpu"))
    layer.to("simple", float32)
    assert {p.value.backend for p in layer.parameters()} == {SimpleBackend}
    layer.to(device="cpu:0", dtype=float32)
    assert {(p.value.backend, p.value.dtype) for p in layer.parameters()} == {(FastBackend, float32)}
    assert (layer.seen.backend, layer.seen.dtype) == (FastBackend, int64)


def test_a_tensor_of_the_cpu_is_no_array_of_a_gpu():
    x = tensor([1.0])
    assert not hasattr(x, "__cuda_array_interface__")
    with raises(AttributeError, "a tensor on the simple backend has no __cuda_array_interface__; move it: x.to('cuda')"):
        _ = x.__cuda_array_interface__


@pytest.mark.skipif(device.available(), reason="there is a GPU, or the simulator")
def test_without_a_gpu_every_way_to_it_says_what_to_do():
    message = r"^the cuda backend expected an NVIDIA GPU with its driver, got none.*NUMBA_ENABLE_CUDASIM=1"
    tensors = [lambda: tensor([1.0]).cuda(), lambda: tensor([1.0]).to("cuda:0"), lambda: zeros((2,), backend="cuda")]
    for way in (*tensors, lambda: Linear(1, 1).cuda(), lambda: Linear(1, 1, device="cuda:0")):
        with pytest.raises(RuntimeError, match=message):
            way()
