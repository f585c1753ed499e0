"""Steps that are written in place: which loop takes them, layouts of all kinds, and parameters that move elsewhere between two steps."""

from copy import deepcopy

import numpy as np
import pytest

from minitorch import SGD, Adam, FastBackend, Parameter, Scalar, SimpleBackend, TensorBackend, float16, float32, float64, from_numpy, tensor
from minitorch.core import kernel as kernels
from minitorch.fast_ops import FastOps
from minitorch.kernels import optimizers as fused
from minitorch.nn import Linear
from minitorch.optim import AdamW, RMSprop
from tests.errors import raises
from tests.marks import needs_compiler
from tests.optim.test_state_dict import stepped

RULES = [
    (SGD, {"lr": 0.1, "weight_decay": 0.5}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (Adam, {"lr": 0.1}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.5}),
    (RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True}),
]
EVERY_RULE = pytest.mark.parametrize(("rule", "settings"), RULES, ids=lambda part: getattr(part, "__name__", part))
COMPOSED = pytest.mark.parametrize(
    ("rule", "settings", "backend"),
    [(*each, SimpleBackend) for each in RULES] + [(*RULES[1], FastBackend)],  # there the others' operations take long to compile
    ids=lambda part: getattr(part, "__name__", getattr(part, "name", part)),
)
"""Every rule, composed of tensor operations."""

START = np.random.default_rng(0).standard_normal((4, 6))
GRADIENTS = np.random.default_rng(1).standard_normal((3, 4, 6))


def after(rule, settings, value, steps=GRADIENTS):
    """The numbers of a tensor after some steps, and the parameter."""
    p = Parameter(value)
    optimizer = rule([p], **settings)
    stepped(optimizer, [p], [[gradient] for gradient in steps])
    return p.value.to_numpy(), p


def expected(rule, settings, start=START, steps=GRADIENTS):
    """What each element does by itself, as a Scalar."""
    out = np.empty(start.shape)
    for index in np.ndindex(start.shape):
        p = Parameter(Scalar(float(start[index])))
        optimizer = rule([p], **settings)
        for gradient in steps:
            p.value.derivative = float(gradient[index])
            optimizer.step()
        out[index] = p.value.data
    return out


@needs_compiler
@EVERY_RULE
def test_a_subclass_moves_by_its_own_rule_and_one_that_has_none_by_its_parents(rule, settings):
    class Same(rule):
        pass

    class Still(rule):
        def update(self, value, gradient, state, group):
            return value

    assert kernels.find_kernel(Same.update, FastOps) is kernels.find_kernel(rule.update, FastOps) is not None
    found, p = after(Still, settings, tensor(START, FastBackend))
    assert found.tolist() == START.tolist()
    assert p.value.grad is None


@COMPOSED
def test_any_layout_is_written_where_it_lies(rule, settings, backend):
    base = tensor(np.zeros((8, 9)), backend)
    base[1:5, 2:8] = START
    part, turned = base[1:5, 2:8].detach(), tensor(START.T.copy(), backend).permute(1, 0).detach()
    rows = tensor(np.concatenate([START, START]), backend)[4:].detach()  # without gaps, but not from the beginning
    wanted = expected(rule, settings)
    for value in (part, turned, rows):
        found, p = after(rule, settings, value)
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
        assert p.value is value
    outside = base.to_numpy()
    np.testing.assert_allclose(outside[1:5, 2:8], wanted, rtol=1e-10)
    outside[1:5, 2:8] = 0
    assert not outside.any()


def test_a_gradient_of_any_layout_is_read_right(backend):
    p = Parameter(tensor(START, backend))
    p.value.grad = tensor(GRADIENTS[0].T.copy(), backend).permute(1, 0)
    SGD([p], lr=0.5).step()
    np.testing.assert_allclose(p.value.to_numpy(), START - 0.5 * GRADIENTS[0], rtol=1e-12)


@EVERY_RULE
def test_what_cannot_be_written_element_by_element_gets_a_place_of_its_own(rule, settings, backend):
    row, wanted = START[:1], expected(rule, settings, np.repeat(START[:1], 4, 0))
    one = tensor(row, backend)
    found, _ = after(rule, settings, one.expand(4, 6).detach())
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    assert one.tolist() == row.tolist()

    fixed = np.repeat(row, 4, 0)
    fixed.flags.writeable = False
    np.testing.assert_allclose(after(rule, settings, from_numpy(fixed, backend))[0], wanted, rtol=1e-10)
    assert fixed.tolist() == np.repeat(row, 4, 0).tolist()

    for step in (1, 2):
        windows = np.lib.stride_tricks.sliding_window_view(np.arange(12.0), 6, writeable=True)[::step][:4]
        found, _ = after(SGD, {"lr": 1.0}, from_numpy(windows, backend))
        np.testing.assert_allclose(found, windows - GRADIENTS.sum(0), rtol=1e-12)


@EVERY_RULE
def test_a_tensor_without_elements_takes_steps(rule, settings):
    for backend in (SimpleBackend, FastBackend):
        assert after(rule, settings, tensor(np.zeros((0, 3)), backend), np.zeros((2, 0, 3)))[0].shape == (0, 3)


@EVERY_RULE
def test_memories_follow_a_parameter_to_another_backend_and_dtype(rule, settings):
    model = Linear(6, 4, bias=False, device=SimpleBackend, dtype=float64)
    model.weight.update(tensor(START))
    optimizer = rule(model.parameters(), **settings)
    for gradient, move in zip(GRADIENTS, [lambda: model.to(FastBackend), lambda: model.to(float32), lambda: None], strict=True):
        value = model.weight.value
        value.grad = tensor(gradient, value.backend, dtype=value.dtype)
        optimizer.step()
        move()
    value = model.weight.value
    assert (value.backend, value.dtype) == (FastBackend, float32)
    kept = [memory for memory in optimizer.state[model.weight].values() if hasattr(memory, "f")]
    assert [(memory.backend, memory.dtype) for memory in kept] == [(FastBackend, float32)] * len(kept)
    np.testing.assert_allclose(value.to_numpy(), expected(rule, settings), rtol=2e-5, atol=1e-6)


@COMPOSED
def test_what_is_remembered_for_a_narrow_dtype_is_float32_so_that_small_squares_count(rule, settings, backend):
    small = np.full((3, 1, 2), 1e-4)  # whose square float16 does not hold
    p = Parameter(tensor([[1.0, -1.0]], backend, dtype=float16))
    optimizer = rule([p], **settings)
    stepped(optimizer, [p], small[:, None])
    assert p.value.dtype == float16
    assert {memory.dtype for memory in optimizer.state[p].values() if hasattr(memory, "f")} <= {float32}
    found, wanted = p.value.to_numpy().astype(float), expected(rule, settings, np.array([[1.0, -1.0]]), small)
    np.testing.assert_allclose(found, wanted, rtol=3e-3)
    other = rule([p], **settings)
    other.load_state_dict(optimizer.state_dict())
    assert {memory.dtype for memory in other.state.get(p, {}).values() if hasattr(memory, "f")} <= {float32}


def test_another_backend_of_the_compiled_operations_is_taken_alike():
    wanted = expected(Adam, {"lr": 0.1})
    np.testing.assert_allclose(after(Adam, {"lr": 0.1}, tensor(START, TensorBackend(FastOps)))[0], wanted, rtol=1e-10)


def test_a_parameter_of_another_shape_than_before_is_refused(backend):
    p = Parameter(tensor(START, backend))
    optimizer = Adam([p])
    stepped(optimizer, [p], GRADIENTS[:1, None])
    p.update(tensor([1.0, 2.0, 3.0], backend))
    p.value.grad = tensor([1.0, 1.0, 1.0], backend)
    with raises(ValueError, "Adam expected a parameter of shape (4, 6), as in its last step, got (3,); build a new optimizer"):
        optimizer.step()
    assert p.value.tolist() == [1.0, 2.0, 3.0]


def test_a_copy_of_a_model_and_its_optimizer_goes_its_own_way():
    p = Parameter(tensor(START, FastBackend))
    optimizer = Adam([p], lr=0.1)
    stepped(optimizer, [p], GRADIENTS[:1, None])
    twin, following = deepcopy((p, optimizer))
    before = p.value.to_numpy()
    stepped(following, [twin], GRADIENTS[1:2, None])
    assert p.value.to_numpy().tolist() == before.tolist()
    stepped(optimizer, [p], GRADIENTS[1:2, None])
    assert twin.value.to_numpy().tolist() == p.value.to_numpy().tolist()


def test_an_unchanging_derivative_leaves_a_variance_of_nothing_and_no_nan():
    for backend in (SimpleBackend, FastBackend):
        found, _ = after(RMSprop, {"centered": True, "alpha": 0.5}, tensor([[1.0, 2.0]], backend, dtype=float32), [[[0.1, 0.3]]] * 60)
        assert np.isfinite(found).all()
    assert np.isfinite(expected(RMSprop, {"centered": True, "alpha": 0.5}, np.ones((1, 1)), [np.full((1, 1), 0.1)] * 60)).all()


@needs_compiler
def test_loops_leave_alone_what_they_cannot_take():
    value, gradient = tensor(START, FastBackend), tensor(GRADIENTS[0], FastBackend)
    assert fused.accepts(value, gradient, {"step": 1})
    assert not fused.accepts(value, gradient, {"exp_avg": value.permute(1, 0)})
    turned = tensor(GRADIENTS[0].T.copy(), FastBackend).permute(1, 0)
    assert not any(fused.accepts(value, other, {}) for other in (gradient.to(float32), gradient[:2], tensor(GRADIENTS[0]), turned))
