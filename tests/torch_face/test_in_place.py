"""Writes in place while gradients are recorded, without PyTorch: known gradients, and what is refused with which message."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.kernels.jit import compiler_is_off
from minitorch.torch import nn
from tests.torch_face.in_place import NEEDS_OF_ONE, NEEDS_OF_TWO, PROGRAMS, STRICTER, call, run

FUNCTIONS = [(function, "a", needs) for needs, text in NEEDS_OF_ONE.items() for function in text.split()]
FUNCTIONS += [(function, "ab", needs) for needs, text in NEEDS_OF_TWO.items() for function in text.split()]
FUNCTIONS += [(function, "ab", "ab") for function in STRICTER.split()]

FUSED = ("softmax", "_norm(", "F.cross_entropy")
"""Functions that save what PyTorch saves on the fast backend only, where one kernel computes them."""

COMPILED = (*FUSED, "F.conv_transpose2d")
"""Functions that save what PyTorch saves only where kernels are compiled."""


def leaf(*values: float) -> Any:
    """A leaf of float64."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# On computed tensors


@pytest.mark.parametrize(("write", "expected"), [
    (lambda y: y.mul_(2), 2.0), (lambda y: y.__imul__(2), 2.0), (lambda y: y.div_(2), 0.5), (lambda y: y.pow_(2), 6.0),
    (lambda y: y.neg_(), -1.0), (lambda y: y.log_(), 1 / 3), (lambda y: y.square_(), 6.0), (lambda y: y.reciprocal_(), -1 / 9),
    (lambda y: y.relu_(), 1.0), (lambda y: y.abs_(), 1.0), (lambda y: y.round_(), 0.0), (lambda y: y.clamp_(max=2.0), 0.0),
    (lambda y: y.masked_fill_(y > 2, 7.0), 0.0),
    (lambda y: y.addcmul_(y.detach(), y.detach()), 1.0), (lambda y: y.fill_(1.0), 0.0), (lambda y: y.zero_(), 0.0),
    (lambda y: y.copy_(torch.ones(1)), 0.0), (lambda y: y.normal_(), 0.0), (lambda y: y.mul_(2).add_(1).mul_(3), 6.0),
    (lambda y: nn.functional.relu(y, inplace=True), 1.0), (lambda y: nn.functional.leaky_relu_(y), 1.0),
])  # fmt: skip
def test_the_gradient_goes_through_the_new_numbers(write: Callable[[Any], Any], expected: float) -> None:
    x = leaf(2.0)
    y = x + 1
    assert write(y) is y
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([expected])


@pytest.mark.parametrize(("function", "names", "needs"), FUNCTIONS, ids=lambda value: value)
def test_what_backward_needs_must_stay_as_it_was(function: str, names: str, needs: str) -> None:
    if compiler_is_off() and any(name in function for name in COMPILED):
        pytest.skip("NUMBA_DISABLE_JIT=1: nothing is compiled")
    if any(name in function for name in FUSED):
        torch.set_default_device(None)
    untouched = call(torch, function)
    for target in (*names, "="):
        for write in (".mul_(2)", ".zero_()"):
            got = call(torch, function, target=target, write=write)
            assert (got[0] == "refused") == (target in needs), f"{function} after {target}{write}: {got}"
            if needs and got[0] != "refused" and target != "=":  # without needs it may be a view
                assert got == untouched


def test_only_the_operand_that_a_product_needs_must_stay() -> None:
    x, c = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    y = x + 1
    out = y * c
    y.zero_()  # the gradient of y is c
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    out = x * c
    c.zero_()
    with pytest.raises(RuntimeError, match="backward of Mul needs a tensor"):
        out.sum().backward()


def test_the_message_names_the_function_in_place_and_its_line() -> None:
    x = leaf(1.0)
    y = x.exp()
    y.add_(1)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    message = f"but it has been written into since by add_ ({__file__}, line {line}); write into a copy: x.clone()"
    with pytest.raises(RuntimeError, match=re.escape(message)):
        torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        y.sum().backward()


def test_a_layer_that_writes_is_named_by_the_line_of_the_program() -> None:
    y = leaf(1.0).exp()
    nn.ReLU(inplace=True)(y)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match=re.escape(f"by relu with inplace=True ({__file__}, line {line})")):
        y.sum().backward()


@pytest.mark.parametrize(("write", "message"), [
    (lambda x: x.mul_(2), "mul_: a leaf that requires gradients cannot be changed in place; do it within torch.no_grad()"),
    (lambda x: x[0].mul_(2), "mul_: a view of a leaf that requires gradients cannot be changed in place; do it within torch.no_grad()"),
    (lambda x: x.__setitem__(0, 1.0), "an assignment to elements: a leaf that requires gradients cannot be changed in place"),
    (lambda x: x.unsqueeze_(0), "unsqueeze_: a leaf that requires gradients cannot be changed in place"),
    (lambda x: (x + 1).expand(3, 2).mul_(2), "mul_: an expanded tensor, whose elements share memory, cannot be changed"),
    (lambda x: (x + 1).split(1)[0].mul_(2), "mul_: this view cannot be changed in place, because it is one of several that"),
    (lambda x: next(iter(x + 1)).mul_(2), "mul_: this view cannot be changed in place, because it is one of several that"),
    (lambda x: torch.no_grad(lambda: (x + 1)[:1])().add_(x[0]), "add_: this view cannot be changed in place, because it was made"),
    (lambda x: (x + 1)[0].detach_(), "detach_ cannot change a view in place, its base would not know; use x.detach()"),
    (lambda x: (x + 1).add_(torch.ones(3, 2)), "add_ expected a result of shape (2,), that of the tensor, got (3, 2)"),
])  # fmt: skip
def test_a_write_that_would_lose_gradients_is_refused(write: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(message)):
        write(leaf(1.0, 2.0))


# On views


def test_a_write_into_a_view_is_one_into_its_base() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[1:].mul_(5)
    assert y.tolist() == [2.0, 20.0, 30.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 10.0, 10.0]


def test_views_from_before_the_write_depend_on_the_new_numbers() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    before, other = y[0], y.view(2, 1)
    used = before * 3
    y.mul_(5)
    (used + 100 * before + 1000 * other.sum()).backward()
    assert x.grad.tolist() == [6.0 + 1000.0 + 10000.0, 10000.0]


def test_a_view_of_a_constant_makes_it_computed() -> None:
    w, table = leaf(2.0), torch.zeros(2, 3, dtype=torch.float64)
    row = table[1]
    table[1][2] = w[0]
    assert table.requires_grad
    assert row.requires_grad
    (table * 3).sum().backward()
    assert w.grad.tolist() == [3.0]


def test_masks_and_positional_encodings_are_written_into_views() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    scores = (x * 1.0).view(2, 2)
    scores[:, 1].masked_fill_(torch.tensor([True, False]), -9.0)
    scores[:, 0::2] += scores[:, 1::2].detach()
    scores.diagonal().zero_()
    assert scores.tolist() == [[0.0, -9.0], [7.0, 0.0]]
    scores.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0]


def test_a_view_that_was_one_of_several_is_refused_after_a_write_into_its_base() -> None:
    y = leaf(1.0, 2.0) * 2
    first, second = y.split(1)
    y.mul_(3)
    with pytest.raises(RuntimeError, match="not defined after a write into its base, because it is one of several"):
        (first + second).sum().backward()


def test_dead_views_are_forgotten() -> None:
    y = leaf(1.0, 2.0) * 2
    for _ in range(1000):
        y.view(2, 1)
    assert len(y._views) <= 64


@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n\n"), ids=lambda program: program.split()[1])
def test_a_program_runs_or_is_refused(program: str) -> None:
    got = run(torch, program)
    assert (got[0] == "refused") == (program.split("\n")[0].endswith(" refused")), got


def test_a_gradient_through_views_is_differentiated_again() -> None:
    assert torch.autograd.gradcheck(cube_of_written, (leaf(0.3, -1.2, 0.5, 0.7),))
    assert torch.autograd.gradcheck(gradient_of_written, (leaf(0.3, -1.2, 0.5, 0.7),))


def cube_of_written(x: Any) -> Any:
    """The third power of numbers that were written into views."""
    y = (x * 2).view(2, 2)
    y[0].mul_(x[2:])
    y.t()[1] += x[:2]
    y.diagonal().exp_()
    return y**3


def gradient_of_written(x: Any) -> Any:
    """Its gradient."""
    with torch.enable_grad():  # gradcheck turns it off for differences
        x = x if x.requires_grad else x.clone().requires_grad_()
        return torch.autograd.grad(cube_of_written(x).sum(), x, create_graph=True)[0]


# Gradients that are assigned


@pytest.mark.parametrize(("gradient", "error", "message"), [
    (lambda x: torch.ones(3), RuntimeError, "grad expected shape (2,), that of the tensor, got (3,)"),
    (lambda x: torch.ones(1, 2), RuntimeError, "grad expected shape (2,), that of the tensor, got (1, 2)"),
    (lambda x: torch.ones(2), RuntimeError, "grad expected float64, the dtype of the tensor, got float32; convert it"),
    (lambda x: x, RuntimeError, "grad expected another tensor, got the tensor itself; assign a copy: x.grad = x.detach().clone()"),
    (lambda x: 1.0, TypeError, "grad expected a Tensor or None, got float; convert it with torch.as_tensor(...)"),
    (lambda x: [1.0, 1.0], TypeError, "grad expected a Tensor or None, got list"),
])  # fmt: skip
def test_a_gradient_that_does_not_fit_is_refused(gradient: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    for x in (leaf(1.0, 2.0), nn.Parameter(leaf(1.0, 2.0).detach())):
        kept = x.grad = torch.ones(2, dtype=torch.float64)
        with pytest.raises(error, match=re.escape(message)):
            x.grad = gradient(x)
        assert x.grad is kept
        x.grad = None
        assert x.grad is None
