"""Tensors and the rest of Python: NumPy, DLPack, PyTorch, plain numbers, copies and pickles."""

import copy
import math
import pickle

import numpy as np
import pytest

import minitorch
from minitorch import SGD, Module, Parameter, SimpleBackend, SimpleOps, TensorBackend, TensorData, from_dlpack, from_numpy, tensor, zeros
from minitorch.core.dtypes import bool_, float32, float64, int32, int64

ALL = [float64, float32, int64, int32, bool_]

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed (pip install torch)")


class OtherOps(SimpleOps):
    name = "other"


def counted(shape, dtype=float64):
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype)


def layouts(array):
    """The array itself and what can be made from it without a copy: transposed, with an offset, with steps, with stride 0, 0-d, empty."""
    return [array, array.T, array[1:], array[:, 1:2], array[::2, ::3], np.broadcast_to(array[:1], array.shape), array[1, 2], array[1:1]]


def views(x):
    """The same of a tensor."""
    return [x, x.permute(1, 0), x[1:], x[:, 1:2], x[::2, ::3], x[:1].expand(*x.shape), x[1, 2:3].view(()), x[1:1]]


# NumPy


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numpy_and_tensor_share_memory(dtype):
    x = zeros((2, 3), dtype=dtype)
    array = x.numpy()
    assert (array.dtype, array.shape) == (dtype, (2, 3))
    array[1, 2] = 1
    assert x[1, 2] == 1
    x[0] = True
    assert array[0].tolist() == [1, 1, 1]


def test_numpy_of_a_view_sees_what_the_view_sees():
    x = tensor(counted((2, 3)))
    column = x[:, 1].numpy()
    assert (column.shape, column.strides) == ((2,), (24,))
    column[1] = 50
    assert x[1, 1] == 50.0
    assert x.permute(1, 0).numpy().tolist() == x.numpy().T.tolist()
    assert tensor(3.0).numpy().shape == ()
    assert zeros((0, 3)).numpy().shape == (0, 3)


def test_the_array_of_a_tensor_that_records_gradients_can_only_be_read():
    x = tensor([1.0, 2.0], requires_grad=True)
    for recording in (x, x * 2, x[0:1]):
        for array in (recording.numpy(), np.asarray(recording)):
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5
    assert x.detach().numpy().flags.writeable
    assert np.shares_memory(x.numpy(), x.detach().numpy())
    assert x.to_numpy().flags.writeable


def test_to_numpy_is_a_copy():
    x = tensor([[1.0, 2.0]])
    x.to_numpy()[0, 0] = 9
    assert x.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_from_numpy_shares_memory_in_every_layout(dtype):
    base = counted((4, 6), dtype)
    for array in [base, base.T, base[1:], base[:, 1:2], base[::2, ::3], base[1:2, 2], base.reshape(2, 2, 6).transpose(1, 2, 0)]:
        x = from_numpy(array)
        assert (x.dtype, x.shape) == (dtype, array.shape)
        np.testing.assert_array_equal(x.numpy(), array)
        assert np.shares_memory(x.numpy(), array)
        first = (0,) * array.ndim
        before = array[first]
        x[first] = not before if dtype == bool_ else before + 100
        assert array[first] == x[first] != before
        array[first] = before
        assert x[first] == before


def test_from_numpy_takes_empty_and_0d_arrays_and_such_with_a_stride_of_0():
    assert (from_numpy(np.zeros((0, 3))).shape, from_numpy(np.zeros((2, 0))[:, ::1]).shape) == ((0, 3), (2, 0))
    single = np.array(2.5)
    x = from_numpy(single)
    single[...] = 3.5
    assert (x.shape, x.item()) == ((), 3.5)
    row = np.array([1.0, 2.0])
    repeated = from_numpy(np.broadcast_to(row, (3, 2)))
    row[0] = 7
    assert (repeated.tolist(), repeated.stride()) == ([[7.0, 2.0]] * 3, (0, 1))
    one = from_numpy(np.arange(6.0).reshape(2, 3)[::-1][:1])  # one row: its negative stride leads nowhere
    assert one.tolist() == [[3.0, 4.0, 5.0]]


def test_the_memory_lives_as_long_as_one_of_both():
    x = from_numpy(np.arange(1000.0)[10:])
    array = tensor(counted((1000,)))[10:].numpy()
    assert (x.sum().item(), array.sum()) == (499455.0, 499455.0)


def test_tensor_copies():
    array = np.array([1.0, 2.0])
    x = tensor(array)
    y = tensor(x)
    array[0], x[1] = 5, 6
    assert (x.tolist(), y.tolist()) == ([1.0, 6.0], [1.0, 2.0])


def test_numpy_functions_take_tensors():
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    copied = np.array(x)
    copied[0, 0] = 9
    assert x[0, 0] == 1.0
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    assert np.shares_memory(np.array(x, copy=None, dtype=np.float64), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.array(tensor([1.0], requires_grad=True)).flags.writeable
    assert np.linalg.norm(x) == math.sqrt(30)
    assert np.stack([x, x]).shape == (2, 2, 2)
    np.testing.assert_allclose(x, [[1, 2], [3, 4]])


def test_tensors_of_tensors_are_copied_together():
    assert tensor([tensor([1.0, 2.0]), tensor([3.0, 4.0])]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_numbers_of_numpy_are_numbers():
    x = tensor([1.0, 2.0], requires_grad=True)
    two = np.float64(2)
    for result, expected in ((x * two, [2, 4]), (two * x, [2, 4]), (two - x, [1, 0]), (two / x, [2, 1]), (two**x, [2, 4])):
        assert (type(result), result.tolist(), result.requires_grad) == (minitorch.Tensor, expected, True)
    assert (np.int64(1) + x).tolist() == [2.0, 3.0]
    assert (two > x).tolist() == [True, False]


# DLPack


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dlpack_to_numpy_shares_memory(dtype):
    for x in views(tensor(counted((4, 6), dtype))):
        array = np.from_dlpack(x)
        assert (array.dtype, array.shape, array.tolist()) == (dtype, x.shape, x.tolist())
        assert not x.size or np.shares_memory(array, x.numpy())


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dlpack_from_numpy_shares_memory(dtype):
    for array in layouts(counted((4, 6), dtype)):
        source = np.asarray(array)
        x = from_dlpack(source)
        assert (x.dtype, x.shape) == (dtype, source.shape)
        np.testing.assert_array_equal(x.numpy(), source)
        assert source.size == 0 or np.shares_memory(x.numpy(), source)


def test_a_tensor_lies_on_the_cpu():
    assert tensor([1.0]).__dlpack_device__() == (1, 0)
    assert from_dlpack(tensor([1.0, 2.0])[1:]).tolist() == [2.0]


@needs_torch
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dlpack_to_torch_and_back_shares_memory(dtype):
    for x in views(tensor(counted((4, 6), dtype))):
        other = torch.from_dlpack(x)
        assert (tuple(other.shape), other.tolist()) == (x.shape, x.tolist())
        assert not x.size or other.stride() == x.stride()
        back = from_dlpack(other)
        assert (back.dtype, back.shape, back.tolist()) == (x.dtype, x.shape, x.tolist())
        assert not x.size or np.shares_memory(back.numpy(), x.numpy())


@needs_torch
def test_what_torch_writes_is_seen():
    x = zeros((2, 3))
    torch.from_dlpack(x)[1, 2] = 5
    assert x[1, 2] == 5.0
    other = torch.zeros(2, 3)
    y = from_dlpack(other.t())
    y[2, 0] = 7
    assert (other[0, 2].item(), y.dtype) == (7.0, float32)


@needs_torch
def test_torch_tensors_that_record_gradients_are_refused():
    with pytest.raises(BufferError):
        from_dlpack(torch.zeros(2, requires_grad=True))


# Plain numbers


def test_tolist_gives_nested_lists_of_python_numbers():
    assert tensor([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert type(tensor([1.5]).tolist()[0]) is float
    assert type(tensor([1], dtype=int32).tolist()[0]) is int
    assert tensor([True]).tolist() == [True]
    assert (type(tensor(2.5).tolist()), tensor(2.5).tolist()) == (float, 2.5)
    assert zeros((2, 0)).tolist() == [[], []]
    assert tensor(counted((2, 3))).permute(1, 0)[1:].tolist() == [[1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize(("dtype", "kind"), [(float64, float), (float32, float), (int64, int), (int32, int), (bool_, bool)])
def test_the_only_element_is_a_python_number(dtype, kind):
    for shape in [(), (1,), (1, 1)]:
        x = tensor(np.ones(shape), dtype=dtype)
        assert (type(x.item()), x.item()) == (kind, 1)
        assert (type(float(x)), float(x), type(int(x)), int(x)) == (float, 1.0, int, 1)
        assert bool(x) is True
        assert bool(x * 0) is False


def test_a_whole_number_counts_and_indexes():
    n = tensor(3, dtype=int64)
    assert list(range(n)) == [0, 1, 2]
    assert "abcd"[n] == "d"
    assert [10, 20][tensor([1], dtype=int32)] == 20
    assert [7, 8, 9][tensor([1.0, 5.0, 2.0]).argmax()] == 8
    assert int(tensor([2.9], requires_grad=True)) == 2


# Copies


DEEP = [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: pickle.loads(pickle.dumps(x, protocol=5))]


@pytest.mark.parametrize("act", [copy.copy, *DEEP])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_copy_has_the_same_numbers_in_its_own_storage(act, dtype):
    base = tensor(counted((3, 4), dtype))
    for x in (base, base.permute(1, 0), base[1:, ::2], base[0].expand(2, 4), base[1:1], tensor(base[1, 2], dtype=dtype)):
        y = act(x)
        assert (type(y), y.dtype, y.shape, y.tolist()) == (type(x), dtype, x.shape, x.tolist())
        assert y.is_contiguous()
        assert not np.shares_memory(y.numpy(), x.numpy())
        assert y.requires_grad is False


@pytest.mark.parametrize("act", [copy.copy, *DEEP])
def test_a_copy_of_a_leaf_is_a_leaf_with_its_gradient_name_and_backend(act):
    x = tensor([1.0, 2.0], requires_grad=True, dtype=float32)
    x.name = "weight"
    (x * x).sum().backward()
    y = act(x)
    assert (y.is_leaf(), y.name, y.grad.tolist(), y.grad.dtype) == (True, "weight", [2.0, 4.0], float32)
    assert y.backend is x.backend is SimpleBackend
    (y * 3).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 4.0], [5.0, 7.0])
    copy.deepcopy(x).grad[0] = 50
    assert x.grad.tolist() == [2.0, 4.0]
    assert act(tensor([1.0])).name != act(tensor([1.0])).name


def test_what_is_shared_stays_shared_in_a_deep_copy_and_a_pickle():
    x = tensor([1.0], requires_grad=True)
    (x * 2).backward()
    for first, second, grad in (copy.deepcopy((x, x, x.grad)), pickle.loads(pickle.dumps((x, x, x.grad)))):
        assert first is second is not x
        assert first.grad is grad is not x.grad


def test_a_backend_comes_back_from_a_pickle():
    assert pickle.loads(pickle.dumps(SimpleBackend)) is SimpleBackend
    other = TensorBackend(OtherOps)
    assert copy.deepcopy(tensor([1.0], backend=other)).backend is other
    y = pickle.loads(pickle.dumps(tensor([1.0, 2.0], backend=other)))
    assert (y.backend.ops, (y + tensor([1.0, 1.0], backend=other)).tolist()) == (OtherOps, [2.0, 3.0])


class Linear(Module):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(tensor(counted((3,))))
        self.bias = Parameter(tensor([0.5], dtype=float32), "bias")
        self.steps = zeros((1,), dtype=int64)

    def forward(self, x):
        return (x * self.weight.value).sum() + self.bias.value


class Twins(Module):
    """Two layers that share a weight."""

    def __init__(self):
        super().__init__()
        self.left, self.right = Linear(), Linear()
        self.right.weight = self.left.weight

    def forward(self, x):
        return self.left(x) + self.right(x)


@pytest.mark.parametrize("act", DEEP)
def test_a_copy_of_a_module_has_its_own_parameters_and_shares_what_was_shared(act):
    model = Twins()
    model.eval()
    model(tensor([1.0, 2.0, 3.0])).backward()
    twin = act(model)
    assert twin.left.weight is twin.right.weight
    assert [name for name, _ in twin.named_parameters()] == [name for name, _ in model.named_parameters()]
    assert (twin.training, twin.left.training) == (False, False)
    assert twin.left.weight.value.grad.tolist() == [2.0, 4.0, 6.0]
    assert (twin.left.bias.value.dtype, twin.left.bias.value.name) == (float32, "bias")
    assert twin.left.steps.dtype == int64
    assert twin(tensor([1.0, 1.0, 1.0])).tolist() == [7.0]  # twice 0 + 1 + 2, and twice 0.5
    SGD([twin.left.weight], lr=1.0).step()
    assert twin.right.weight.value.tolist() == [-2.0, -3.0, -4.0]
    assert model.left.weight.value.tolist() == [0.0, 1.0, 2.0]
    assert model.left.weight.value.grad.tolist() == [2.0, 4.0, 6.0]


def test_tensor_data_survives_a_deep_copy():
    data = TensorData([1.0, 2.0, 3.0, 4.0], (2,), (1,), 1)
    twin = copy.deepcopy(data)
    twin.set((0,), 9.0)
    assert (data.get((0,)), twin.get((0,)), twin.strides, twin.offset) == (2.0, 9.0, (1,), 1)
