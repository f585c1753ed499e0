"""What PyTorch's tutorials use besides tensors and layers: `out`, nodes of the graph, default devices, switches, and grids of images."""

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch import FastBackend, SimpleBackend
from minitorch.nn import parallel
from minitorch.torch import nn
from minitorch.torch.func import functional_call, grad, stack_module_state, vmap
from minitorch.torch.nn import functional as F
from minitorch.torch.vision.utils import make_grid


def test_results_are_written_into_out() -> None:
    x, out = torch.ones(2, 2), torch.zeros(2, 2)
    assert torch.matmul(x, x, out=out) is out
    assert out.tolist() == [[2, 2], [2, 2]]
    empty = torch.empty(0)
    torch.add(x, 1, out=empty)
    assert empty.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="record no gradients"):
        torch.mul(x.requires_grad_(), 2, out=out)
    with pytest.raises(TypeError, match="out expected a Tensor, got int"):
        torch.mul(out, 2, out=3)


def test_the_graph_has_nodes() -> None:
    x = torch.ones(2, requires_grad=True)
    node = (x * 2).exp().grad_fn
    assert node.name() == "ExpBackward"
    (inner, number), *others = node.next_functions
    assert (inner.name(), number, others) == ("MulBackward", 0, [])
    assert [each and each.name() for each, _ in inner.next_functions] == ["AccumulateGrad", None]
    assert inner.next_functions[0][0] == (x + 1).grad_fn.next_functions[0][0]
    assert x.grad_fn is None


def test_comparisons_are_constants() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not any(found.requires_grad for found in (x == 1, x != 1, x < 1, x <= 1, x > 1, x >= 1))


def test_a_number_without_dimensions_is_formatted_as_a_number() -> None:
    assert f"{torch.tensor(3)} {torch.tensor(0.5)} {torch.tensor(0.25):.1f}" == "3 0.5 0.2"


def test_what_there_is_not_says_so() -> None:
    assert not torch.backends.mps.is_available()
    assert not torch.backends.cudnn.is_available()
    assert torch.get_default_device() == torch.device("cpu") == torch.zeros(1).device
    assert torch.accelerator.is_available() == (torch.accelerator.current_accelerator() is not None)
    assert torch.zeros(1, dtype=torch.bfloat16).dtype == torch.bfloat16


def test_tensors_and_parameters_are_stored_on_the_default_device() -> None:
    torch.set_default_device(SimpleBackend)  # the backend of another device, where there is no GPU
    try:
        assert torch.zeros(1).backend is nn.Linear(1, 1).weight.backend is SimpleBackend
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).backend is FastBackend
    with pytest.raises(ValueError, match='device expected "cpu" or "cuda", got \'tpu\''):
        torch.set_default_device("tpu")


def test_a_model_on_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = nn.Linear(2, 1)
    assert list(nn.DataParallel(layer).state_dict()) == ["module.weight", "module.bias"]
    monkeypatch.setattr(parallel, "gpu_is_available", lambda: False)
    assert nn.DataParallel(layer, [0, 1]).device_ids == []  # as PyTorch without a GPU
    monkeypatch.setattr(parallel, "gpu_is_available", lambda: True)
    assert nn.DataParallel(layer, [0]).device_ids == [0]
    with pytest.raises(ValueError, match="at most one device, got 2"):
        nn.DataParallel(layer, [0, 1])


def test_gradients_with_respect_to_nested_parameters() -> None:
    found = grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": torch.tensor([2.0]), "b": [torch.tensor([3.0])]})
    assert (found["a"].tolist(), found["b"][0].tolist()) == ([3], [2])
    models = [nn.Linear(3, 2) for _ in range(3)]
    params, _ = stack_module_state(models)
    x = torch.rand(5, 3)
    out = vmap(lambda p: functional_call(models[0], p, (x,)))(params)
    np.testing.assert_allclose(out[1].detach().numpy(), models[1](x).detach().numpy(), rtol=1e-6)


def test_images_are_read_at_the_positions_of_a_grid() -> None:
    image = torch.arange(6.0, dtype=torch.float64).view(1, 1, 2, 3)
    identity = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=torch.float64)
    for corners in (True, False):
        grid = F.affine_grid(identity, (1, 1, 2, 3), align_corners=corners)
        np.testing.assert_allclose(F.grid_sample(image, grid, align_corners=corners).numpy(), image.numpy(), atol=1e-12)
    middle = torch.zeros(1, 1, 1, 2, dtype=torch.float64)
    assert F.grid_sample(image, middle).item() == pytest.approx(2.5)
    assert F.grid_sample(image, middle + 3).item() == 0
    assert F.grid_sample(image, middle + 3, padding_mode="border").item() == 5
    assert F.grid_sample(image, middle + torch.tensor([1.0, 0])).item() == pytest.approx(1.75)  # half of it lies outside
    assert F.grid_sample(image, middle + torch.tensor([1.5, 1]), padding_mode="reflection", mode="nearest").item() == 5
    with pytest.raises(ValueError, match="grid_sample expected input of shape"):
        F.grid_sample(image, middle[0])


def test_images_stand_in_a_grid() -> None:
    grid = make_grid(torch.arange(1.0, 4.0).view(3, 1, 1, 1), nrow=2, padding=1)
    assert grid.shape == (3, 5, 5)
    assert grid[0].tolist() == [[0] * 5, [0, 1, 0, 2, 0], [0] * 5, [0, 3, 0, 0, 0], [0] * 5]
    assert make_grid(torch.ones(1, 3, 2, 2)).shape == (3, 2, 2)
    assert make_grid(torch.tensor([[[1.0, 2], [3, 5]]]), normalize=True)[2].tolist() == [[0, 0.25], [0.5, 1]]
    with pytest.raises(ValueError, match="make_grid expected images of shape"):
        make_grid(torch.ones(2))
