"""Arguments under NumPy's names, sizes by name, and the attributes of tensors that ask for devices and formats."""

import inspect
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch import names
from tests.errors import raises

FUNCTIONS = names.functions(names.BOTH, names.FUNCTIONS, names.METHODS, names.LINALG)
OF_DIM = sorted(name for name, function in FUNCTIONS.items() if "dim" in inspect.signature(function).parameters)

CALLS = """
sum mean prod all any var std amax amin max min argmax argmin logsumexp norm cumsum cumprod count_nonzero var_mean std_mean nansum nanmean
cummax cummin softmax log_softmax sort argsort unbind median logcumsumexp
"""
"""Functions that take a tensor and a dimension."""

KEEPING = """
sum mean prod all any var std amax amin max min argmax argmin logsumexp norm var_mean std_mean nansum nanmean median
"""
"""Those that can keep it."""


def parts(out: Any) -> list[Any]:
    return [x.tolist() for x in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.parametrize("name", CALLS.split())
def test_axis_is_another_name_of_dim(name: str) -> None:
    x = torch.tensor([[1.0, 5, 2], [4, 0, 6]])
    for call in (getattr(torch, name), getattr(torch.Tensor, name, None)):
        if call is not None:
            assert parts(call(x, axis=1)) == parts(call(x, dim=1))


@pytest.mark.parametrize("name", KEEPING.split())
def test_keepdims_is_another_name_of_keepdim(name: str) -> None:
    x = torch.tensor([[1.0, 5, 2], [4, 0, 6]])
    assert parts(getattr(torch, name)(x, axis=1, keepdims=True)) == parts(getattr(torch, name)(x, dim=1, keepdim=True))


@pytest.mark.parametrize("name", OF_DIM)
def test_every_function_of_a_dimension_takes_axis(name: str) -> None:
    with pytest.raises(TypeError, match=r"expected dim or axis, got both; leave one out"):
        FUNCTIONS[name](torch.ones(2, 2), dim=0, axis=0)


def test_axis_names_a_dimension_in_other_families() -> None:
    x = torch.arange(6).view(2, 3)
    assert torch.cat([x, x], axis=1).shape == (2, 6)
    assert torch.stack([x, x], axis=-1).shape == (2, 3, 2)
    assert x.unsqueeze(axis=0).squeeze(axis=0).shape == x.shape
    assert torch.linalg.norm(x.double(), axis=1).shape == (2,)
    assert torch.sum(a=x, axis=0).tolist() == torch.sum(x=x, axis=0).tolist() == [3, 5, 7]
    assert torch.add(input=x, x2=1).sum() == 21


def test_pytorch_takes_the_same_names() -> None:
    theirs = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for name in CALLS.split():
        if name != "norm":  # a function of Python in PyTorch, which takes dim only
            getattr(theirs, name)(theirs.ones(2, 3), axis=1)
            if name in KEEPING.split():
                getattr(theirs, name)(theirs.ones(2, 3), axis=1, keepdims=True)


def test_sizes_can_be_named() -> None:
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        for made in (make(size=(2, 3)), make(size=[2, 3]), make(size=torch.Size([2, 3]), dtype=torch.float64), make(2, 3), make((2, 3))):
            assert made.shape == (2, 3)
    x = torch.ones(1, dtype=torch.float64)
    assert [f(size=(2,)).dtype for f in (x.new_zeros, x.new_ones, x.new_empty)] == [torch.float64] * 3
    assert torch.full(size=(2,), fill_value=7).tolist() == [7, 7]
    assert (
        torch.normal(mean=0.0, std=1.0, size=(2,)).shape
        == torch.randint(high=3, size=(2,)).shape
        == torch.randint(3, size=(2,)).shape
        == (2,)
    )
    assert torch.randint(4, (100,)).max() < 4 <= torch.randint(4, 6, (100,)).min()


RANDOM = [
    ("normal", (0.0, 1.0, (2, 3))),
    ("randint", (5, (2, 3))),
    ("randint_like", (LIKE := [[0.0] * 3] * 2, 5)),
    ("randint_like", (LIKE, 3, 5)),
    ("randperm", (6,)),
    ("rand_like", (LIKE,)),
    ("randn_like", (LIKE,)),
]


@pytest.mark.parametrize(("name", "args"), RANDOM)
def test_random_numbers_are_drawn_in_a_dtype_from_a_generator_as_a_leaf(name: str, args: tuple[Any, ...]) -> None:
    args = tuple(torch.tensor(each) if each is LIKE else each for each in args)
    draw = getattr(torch, name)
    found = [draw(*args, generator=torch.Generator().manual_seed(3), dtype=torch.float64, device="cpu", requires_grad=True) for _ in "ab"]
    assert found[0].tolist() == found[1].tolist()
    assert found[0].numel() == 6
    assert (found[0].dtype, found[0].is_leaf, found[0].requires_grad) == (torch.float64, True, True)
    assert not draw(*args).requires_grad


def test_integers_like_a_tensor_are_in_its_dtype_and_within_the_limits() -> None:
    x = torch.zeros(100, dtype=torch.int32)
    assert (torch.randint_like(x, 4).dtype, torch.randint_like(x, 4).max() < 4 <= torch.randint_like(x, 4, 6).min()) == (torch.int32, True)


def test_the_standard_deviation_of_given_means_is_1() -> None:
    assert 0.9 < torch.normal(torch.full((4000,), 5.0)).std() < 1.1
    with raises(TypeError, "normal expected a tensor as mean or std, or a size; such as normal(0.0, 1.0, (3,))"):
        torch.normal(2.0)


def test_a_tensor_on_the_processor_is_nowhere_else_and_dense() -> None:
    x = torch.ones(2)
    elsewhere = "cuda xpu mps ipu hpu xla mtia maia vulkan meta mkldnn nested quantized sparse sparse_csr"
    assert [name for name in elsewhere.split() if getattr(x, f"is_{name}")] == []
    assert x.is_cpu
    assert (x.is_complex(), x.is_signed(), x.to(torch.uint8).is_signed(), x.bool().is_signed()) == (False, True, False, False)


def test_tensors_draw_from_their_numbers() -> None:
    x = torch.tensor([0.0, 1.0, 0.0])
    assert x.bernoulli().tolist() == [0, 1, 0]
    assert x.multinomial(2, replacement=True).tolist() == [1, 1]


def test_unique_finds_slices() -> None:
    x = torch.tensor([[2, 1], [0, 1], [2, 1]])
    rows, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=0)
    assert (rows.tolist(), inverse.tolist(), counts.tolist()) == ([[0, 1], [2, 1]], [1, 0, 1], [1, 2])
    assert x.unique(dim=-1).tolist() == [[1, 2], [1, 0], [1, 2]]
