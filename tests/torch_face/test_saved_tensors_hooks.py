"""torch.autograd.graph: hooks on saved tensors, compared with PyTorch where it is installed."""

import importlib
import threading
from typing import Any

import pytest

import minitorch.torch as ours
from minitorch.core.context import TensorContext
from minitorch.torch import nn
from minitorch.torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


@pytest.fixture(params=["minitorch.torch", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """Either library: what the tests say is true of both."""
    if request.param == "torch":
        pytest.importorskip("torch", reason="compares with PyTorch")
    library = importlib.import_module(request.param)
    importlib.import_module(f"{request.param}.autograd.graph")
    return library


def same(x: Any) -> Any:
    return x


def test_tensors_are_packed_when_saved_and_unpacked_in_the_backward_pass(torch: Any) -> None:
    a, b = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    packed, unpacked = [], []

    def pack(x: Any) -> Any:
        packed.append(x.tolist())
        return len(packed) - 1

    def unpack(number: int) -> Any:
        unpacked.append(packed[number])
        return torch.tensor(packed[number])

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (a * b).sum()
    assert sorted(packed) == [[1.0] * 3, [2.0] * 3]
    assert unpacked == []
    y.backward()
    assert sorted(unpacked) == sorted(packed)
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0] * 3, [1.0] * 3)


def test_the_gradient_is_computed_from_what_is_unpacked(torch: Any) -> None:
    a = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x * 2, same):
        y = (a * a).sum()
    y.backward()
    assert a.grad.tolist() == [4.0] * 3


def test_only_the_innermost_hooks_are_called_and_nothing_is_packed_without_gradients(torch: Any) -> None:
    hooks, calls, a = torch.autograd.graph.saved_tensors_hooks, [], torch.ones(3, requires_grad=True)
    with hooks(lambda x: calls.append("outer") or x, same):
        with hooks(lambda x: calls.append("inner") or x, same):
            a * a
            with torch.no_grad():
                a * a
        assert calls == ["inner"] * 2
        a * a
    assert calls == ["inner"] * 2 + ["outer"] * 2
    a * a
    assert len(calls) == 4


def test_a_hook_is_called_without_recording_gradients(torch: Any) -> None:
    found, a = [], torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: found.append((x * x).requires_grad) or x, same):
        a * a
    assert found == [False, False]


def test_a_write_after_packing_does_not_change_the_gradient(torch: Any) -> None:
    a = torch.ones(3, requires_grad=True)
    z = a * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), same):
        y = (z * z).sum()
    with torch.no_grad():
        z.add_(5)
    y.backward()
    assert a.grad.tolist() == [2.0] * 3


def test_second_derivatives_flow_through_unpacked_arguments(torch: Any) -> None:
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone(), same):
        y = (a * a * a).sum()
        (first,) = torch.autograd.grad(y, a, create_graph=True)
    assert first.tolist() == [12.0, 27.0]
    (second,) = torch.autograd.grad(first.sum(), a)
    assert second.tolist() == [12.0, 18.0]


def test_a_function_of_one_s_own_packs_what_it_saves(torch: Any) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x * 3)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * (x + y)

    a = torch.ones(2, requires_grad=True)
    recorded = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: recorded.append((x * x).requires_grad) or x.detach() + 1, same):
        y = Double.apply(a)
    assert recorded == [False, False]
    y.sum().backward()
    assert a.grad.tolist() == [2.0 + 4.0] * 2


def test_a_checkpoint_calls_no_hooks_for_what_it_computes_again(torch: Any) -> None:
    importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    a, calls = torch.ones(3, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: calls.append(1) or x, same):
        y = torch.utils.checkpoint.checkpoint(lambda x: x * x * x, a, use_reentrant=False)
    y.sum().backward()
    assert a.grad.tolist() == [3.0] * 3
    assert len(calls) == (torch is not ours)  # PyTorch packs the argument, too


def test_saving_on_the_cpu_gives_the_same_gradients(torch: Any) -> None:
    a = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (a * a).exp().sum()
    y.backward()
    assert a.grad.tolist() == pytest.approx([2 * 2.718281828] * 3)


def test_mistakes_are_errors_of_the_same_class(torch: Any) -> None:
    graph, a = torch.autograd.graph, torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError), graph.saved_tensors_hooks(lambda x: x.add_(1), same):
        (a * 1) * (a * 1)
    with graph.saved_tensors_hooks(same, lambda x: 3):
        y = (a * a).sum()
    with pytest.raises(TypeError):
        y.backward()
    with graph.disable_saved_tensors_hooks("no hooks here"), pytest.raises(RuntimeError, match="no hooks here"):
        graph.saved_tensors_hooks(same, same).__enter__()
    with graph.saved_tensors_hooks(same, same):
        a * a


def test_the_messages() -> None:
    a = ours.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"pack_hook .* wrote into the tensor that it was given; write into a copy"):  # noqa: SIM117
        with saved_tensors_hooks(lambda x: x.add_(1), same):
            (a * 1) * (a * 1)
    with saved_tensors_hooks(same, lambda x: 3):
        y = (a * a).sum()
    with pytest.raises(TypeError, match="unpack_hook of saved_tensors_hooks expected to return a Tensor, got int"):
        y.backward()
    with pytest.raises(TypeError, match="saved_tensors_hooks expected two functions, got int"):
        saved_tensors_hooks(same, 3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"torch\.autograd\.graph has no Node in minitorch"):
        ours.autograd.graph.Node  # noqa: B018


def test_a_network_trains_the_same_with_hooks() -> None:
    def gradients(block: Any) -> list[Any]:
        ours.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3), nn.GELU())
        x, target = ours.randn(4, 1, 6, 6), ours.tensor([0, 1, 2, 0])
        with block:
            loss = nn.functional.cross_entropy(model(x).softmax(1), target)
        loss.backward()
        return [p.grad.tolist() for p in model.parameters()]

    expected = gradients(ours.enable_grad())
    assert gradients(saved_tensors_hooks(lambda x: x.detach().numpy().copy(), ours.from_numpy)) == expected
    assert gradients(save_on_cpu()) == expected


def test_hooks_belong_to_a_thread_and_leave_nothing_behind() -> None:
    calls: list[int] = []
    a = ours.ones(3, requires_grad=True)
    original = TensorContext.save_for_backward
    with saved_tensors_hooks(lambda x: calls.append(1) or x, same):
        thread = threading.Thread(target=lambda: a * a)
        thread.start()
        thread.join()
        assert TensorContext.save_for_backward is not original
    assert (calls, TensorContext.save_for_backward) == ([], original)
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(same, same):
        raise ZeroDivisionError
    assert TensorContext.save_for_backward is original
    with disable_saved_tensors_hooks("outer"), disable_saved_tensors_hooks("inner"):
        pass
    with saved_tensors_hooks(same, same):
        pass
