"""Optimizers: steps worked out by hand."""

import math

import numpy as np
import pytest

import minitorch.torch as torch_names
from minitorch import SGD, Adam, Module, Optimizer, Parameter, Scalar, float32, no_grad, optim, tensor
from minitorch.core.context import grad_mode
from minitorch.optim import AdamW, RMSprop
from minitorch.torch import optim as torch_optim
from tests.errors import raises
from tests.optim.test_state_dict import stepped, weights


def parameter(value, derivative=None, name=None):
    p = Parameter(Scalar(value), name)
    p.value.derivative = derivative
    return p


@pytest.mark.parametrize(
    ("settings", "steps", "value"),
    [
        pytest.param({"lr": 0.5}, 1, 1.0, id="against the derivative, by the learning rate"),
        pytest.param({}, 1, -1.0, id="the learning rate is 1 unless given"),
        pytest.param({"lr": 0.0}, 1, 3.0, id="a learning rate of 0 stands still"),
        pytest.param({"lr": 0.5}, 2, 1.0, id="a second step without a new derivative changes nothing"),
    ],
)
def test_a_step_goes_against_the_derivative(settings, steps, value):
    p = parameter(3.0, derivative=4.0)
    optimizer = SGD([p], **settings)
    for _ in range(steps):
        optimizer.step()
    assert p.value.data == value


def test_the_rate_that_is_left_out_is_the_published_one_or_pytorchs():
    held, itself = Parameter(tensor([1.0])), torch_names.nn.Parameter(torch_names.ones(1))
    assert [SGD([p]).lr for p in (held, itself)] == [1.0, 1e-3]
    assert torch_optim.SGD([itself]).defaults["lr"] == 1e-3
    assert [SGD([p], lr=0.5).lr for p in (held, itself)] == [0.5, 0.5]


def test_a_parameter_without_a_derivative_stays():
    p, q = parameter(3.0), parameter(3.0, derivative=0.0)
    before = p.value
    SGD([p, q]).step()
    assert p.value is before
    assert (q.value.data, q.value.derivative) == (3.0, None)


def test_a_step_makes_a_new_leaf_of_the_same_name():
    p = parameter(3.0, derivative=4.0, name="weight")
    before = p.value
    SGD([p], lr=0.5).step()
    assert p.value is not before
    assert (before.data, before.derivative) == (3.0, 4.0)
    assert (p.value.is_leaf(), p.value.derivative, p.value.name) == (True, None, "weight")


def test_what_is_no_variable_is_left_alone():
    p = Parameter(5)
    optimizer = SGD([p])
    optimizer.zero_grad()
    optimizer.step()
    assert p.value == 5


def test_parameters_may_come_from_a_generator():
    p = parameter(3.0, derivative=4.0)
    optimizer = SGD(q for q in [p])
    optimizer.zero_grad()
    assert optimizer.parameters == [p]


def test_an_optimizer_without_a_step_says_so():
    with raises(NotImplementedError, "Optimizer has no step of its own; use SGD, or define step(self) in the subclass"):
        Optimizer([parameter(1.0, derivative=1.0)]).step()


# Tensors


def test_a_step_writes_into_the_tensor_which_stays_the_same_leaf():
    p = weights([3.0, 1.0], gradient=[4.0, 2.0], name="weight")
    before, storage, version = p.value, p.value.numpy(), p.value._tensor.version
    seen = []
    before.register_hook(lambda gradient: seen.append(gradient.tolist()))
    SGD([p], lr=0.5).step()
    assert p.value is before
    assert (storage.tolist(), p.value._tensor.version > version) == ([1.0, 0.0], True)
    assert (p.value.is_leaf(), p.value.grad, p.value.name) == (True, None, "weight")
    (p.value * 3).sum().backward()
    assert seen == [[3.0, 3.0]]


@pytest.mark.parametrize("lr", [0.5, 1, np.float64(0.25)])
def test_float32_stays_float32(lr):
    p = weights([3.0, 1.0], gradient=[4.0, 2.0], dtype=float32)
    SGD([p], lr=lr).step()
    assert (p.value.dtype, p.value.tolist()) == (float32, [3.0 - 4.0 * lr, 1.0 - 2.0 * lr])


def test_zero_grad_forgets_the_gradients_of_tensors_and_scalars():
    p, q, r = weights([3.0], gradient=[4.0]), parameter(3.0, derivative=4.0), parameter(3.0)
    SGD([p, q, r]).zero_grad()
    assert (p.value.grad, q.value.derivative, r.value.derivative) == (None, None, None)


def test_a_tensor_without_a_gradient_stays():
    p, q = weights([3.0]), weights([3.0], gradient=[0.0])
    version = p.value._tensor.version
    SGD([p, q]).step()
    assert (p.value.tolist(), p.value._tensor.version) == ([3.0], version)
    assert (q.value.tolist(), q.value.grad) == ([3.0], None)


def test_a_step_is_not_recorded():
    p = weights([1.0, 2.0])
    (p.value * p.value).sum().backward()
    SGD([p], lr=0.5).step()
    assert p.value.parents == ()
    (p.value * 10).sum().backward()
    assert p.value.grad.tolist() == [10.0, 10.0]


def test_a_graph_that_needs_the_numbers_from_before_the_step_says_so(backend):
    p = Parameter(tensor([1.0, 2.0], backend))
    squared, shifted = (p.value * p.value).sum(), (p.value + 3).sum()
    p.value.grad = tensor([1.0, 1.0], backend)
    SGD([p], lr=1.0).step()
    message = "needs a tensor of shape (2,) as it was in forward, but it has been written into since; write into a copy: x.clone()"
    with raises(RuntimeError, f"backward of Mul {message}"):
        squared.backward()
    shifted.backward()  # needs no numbers of p
    assert p.value.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("start", "values"), [(Scalar(8.0), [6, 5, 4.5]), (tensor([8.0, 0.0]), [[6, 2], [5, 3], [4.5, 3.5]])], ids=["Scalar", "Tensor"]
)
def test_descent_on_a_parabola_halves_the_distance(start, values):
    model = Module()
    model.x = Parameter(start)
    optimizer = SGD(model.parameters(), lr=0.25)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model.x.value - 4) ** 2  # derivative 2 (x - 4): a step of 0.25 goes half the way to 4
        (loss if isinstance(loss, Scalar) else loss.sum()).backward()
        optimizer.step()
        found.append(model.x.value.data if isinstance(loss, Scalar) else model.x.value.tolist())
    assert found == values


# Options of PyTorch


@pytest.mark.parametrize("name", [name for name in torch_optim.__all__ if name[0].isupper()])
def test_pytorchs_optimizers_are_these(name):
    assert getattr(torch_optim, name) is getattr(optim, name)


def test_pytorchs_averages_are_these():
    for name in torch_optim.swa_utils.__all__:
        assert getattr(torch_optim.swa_utils, name) is getattr(optim.swa_utils, name)


def test_maximize_ascends_and_a_closure_computes_the_loss():
    p, q = parameter(3.0, derivative=4.0), weights([3.0])

    def closure():
        q.value.grad = tensor([4.0])
        return "loss"

    assert SGD([p, q], lr=0.5, maximize=True).step(closure) == "loss"
    assert (p.value.data, q.value.tolist()) == (5.0, [5.0])


@pytest.mark.parametrize("optimizer", [SGD, optim.Adam, optim.LBFGS])
def test_a_closure_records_gradients_within_no_grad(optimizer):
    x, seen = tensor([3.0], requires_grad=True), []

    def closure():
        seen.append(grad_mode.enabled)
        x.zero_grad_()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with no_grad():
        assert optimizer([x], lr=0.1).step(closure).item() == 9.0
        assert not grad_mode.enabled
    assert set(seen) == {True}
    assert x.tolist() != [3.0]


def test_a_closure_that_fails_leaves_the_mode_as_it_was():
    with no_grad(), pytest.raises(ZeroDivisionError):
        SGD([tensor([3.0], requires_grad=True)], lr=0.1).step(lambda: 1 / 0)
    with no_grad():
        assert not grad_mode.enabled


def test_a_tensor_that_is_optimized_as_it_is_keeps_its_gradient():
    x, y = torch_names.tensor([3.0], requires_grad=True), torch_names.nn.Parameter(torch_names.tensor([3.0]))
    plain = tensor([3.0], requires_grad=True)
    optimizer = SGD([x, ("y", y), plain], lr=0.5)
    for each in (x, y, plain):
        each.sum().backward()
    optimizer.step()
    assert [(each.tolist(), each.grad.tolist()) for each in (x, y, plain)] == [([2.5], [1.0])] * 3
    optimizer.zero_grad(set_to_none=False)
    assert x.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert (x.grad, y.grad, plain.grad) == (None, None, None)
    with raises(ValueError, "an optimizer expected leaves, got a Tensor that was computed; make it with x.detach().requires_grad_()"):
        SGD([x * 2])


def test_the_state_of_a_tensor_is_of_its_class():
    x = torch_names.tensor([3.0], requires_grad=True)
    optimizer = Adam([x], amsgrad=True)
    x.sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()["state"][0]
    assert {type(each) for each in (*saved.values(), optimizer.state[x]["max_exp_avg_sq"])} == {torch_names.Tensor}
    assert (saved["step"].item(), saved["step"].shape, saved["step"].dtype) == (1, (), torch_names.float32)


def test_no_option_of_a_graph_is_supported():
    for option in ("capturable", "differentiable"):
        with raises(NotImplementedError, f"Adam supports {option}=False only, got True; leave it out"):
            Adam([parameter(1.0)], **{option: True})


# Momentum, decay, Adam: against the papers' formulas, written out for one number


def sgd_by_hand(value, derivatives, lr=1.0, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    velocity = None
    for derivative in derivatives:
        g = derivative + weight_decay * value
        velocity = g if velocity is None else momentum * velocity + (1 - dampening) * g
        value = value - lr * (g + momentum * velocity if nesterov else velocity)
    return value


def adam_by_hand(value, derivatives, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    mean = square = 0.0
    for t, derivative in enumerate(derivatives, 1):
        g = derivative + weight_decay * value
        mean = betas[0] * mean + (1 - betas[0]) * g
        square = betas[1] * square + (1 - betas[1]) * g**2
        value = value - lr * (mean / (1 - betas[0] ** t)) / (math.sqrt(square / (1 - betas[1] ** t)) + eps)
    return value


def adamw_by_hand(value, derivatives, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
    mean = square = 0.0
    for t, g in enumerate(derivatives, 1):
        value = value - lr * weight_decay * value
        mean = betas[0] * mean + (1 - betas[0]) * g
        square = betas[1] * square + (1 - betas[1]) * g**2
        value = value - lr * (mean / (1 - betas[0] ** t)) / (math.sqrt(square / (1 - betas[1] ** t)) + eps)
    return value


def rmsprop_by_hand(value, derivatives, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    square = mean = velocity = 0.0
    for derivative in derivatives:
        g = derivative + weight_decay * value
        square = alpha * square + (1 - alpha) * g**2
        mean = alpha * mean + (1 - alpha) * g
        velocity = momentum * velocity + g / (math.sqrt(square - centered * mean**2) + eps)
        value = value - lr * velocity
    return value


RULES = [
    (SGD, sgd_by_hand, {"lr": 0.1}),
    (SGD, sgd_by_hand, {"lr": 0.1, "momentum": 0.9}),
    (SGD, sgd_by_hand, {"lr": 0.1, "weight_decay": 0.5}),
    (SGD, sgd_by_hand, {"lr": 0.2, "momentum": 0.5, "weight_decay": 0.1, "dampening": 0.25}),
    (SGD, sgd_by_hand, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    (Adam, adam_by_hand, {}),
    (Adam, adam_by_hand, {"lr": 0.1, "betas": (0.5, 0.8)}),
    (Adam, adam_by_hand, {"lr": 0.1, "eps": 0.3, "weight_decay": 0.5}),
    (Adam, adam_by_hand, {"lr": 0.1, "betas": (0.0, 0.0)}),
    (AdamW, adamw_by_hand, {}),
    (AdamW, adamw_by_hand, {"lr": 0.1, "betas": (0.5, 0.8), "weight_decay": 0.5}),
    (RMSprop, rmsprop_by_hand, {}),
    (RMSprop, rmsprop_by_hand, {"lr": 0.1, "alpha": 0.5, "eps": 0.3, "weight_decay": 0.5, "centered": True}),
    (RMSprop, rmsprop_by_hand, {"lr": 0.1, "alpha": 0.8, "momentum": 0.5}),
    (RMSprop, rmsprop_by_hand, {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
]
EVERY_RULE = pytest.mark.parametrize(("rule", "by_hand", "settings"), RULES, ids=lambda part: getattr(part, "__name__", part))
DERIVATIVES = np.random.default_rng(0).standard_normal((20, 2, 3)) * np.array([1.0, 1e-7, 30.0])  # the second about as small as eps
START = np.array([[3.0, -1.0, 0.5], [0.0, 2.0, -20.0]])


@EVERY_RULE
def test_scalars_follow_the_formula_through_twenty_steps(rule, by_hand, settings):
    p = parameter(3.0)
    optimizer = rule([p], **settings)
    for derivative in DERIVATIVES[:, 0, 0].tolist():
        p.value.derivative = derivative
        optimizer.step()
    assert p.value.data == pytest.approx(by_hand(3.0, DERIVATIVES[:, 0, 0].tolist(), **settings), rel=1e-12)
    assert p.value.derivative is None


@EVERY_RULE
def test_every_element_of_a_tensor_follows_the_formula_through_twenty_steps(rule, by_hand, settings, backend):
    p = Parameter(tensor(START, backend))
    stepped(rule([p], **settings), [p], DERIVATIVES[:, None])
    expected = [by_hand(value, each, **settings) for value, each in zip(START.reshape(-1), DERIVATIVES.reshape(20, 6).T, strict=True)]
    np.testing.assert_allclose(p.value.to_numpy().reshape(-1), expected, rtol=1e-11)


@EVERY_RULE
def test_steps_of_float32_stay_float32(rule, by_hand, settings, backend):
    p = Parameter(tensor(START, backend, dtype=float32))
    stepped(rule([p], **settings), [p], DERIVATIVES[:3, None])
    expected = [by_hand(value, each, **settings) for value, each in zip(START.reshape(-1), DERIVATIVES[:3].reshape(3, 6).T, strict=True)]
    assert p.value.dtype == float32
    np.testing.assert_allclose(p.value.to_numpy().reshape(-1), expected, rtol=1e-5, atol=1e-6)


@EVERY_RULE
def test_a_step_leaves_the_gradient_as_it_was_and_takes_it_off_the_leaf(rule, by_hand, settings, backend):
    p = Parameter(tensor([3.0, 1.0], backend), "weight")
    optimizer, value, gradient = rule([p], **settings), p.value, tensor([4.0, 2.0], backend)
    for _ in range(2):
        p.value.grad = gradient
        optimizer.step()
        assert gradient.tolist() == [4.0, 2.0]
        assert (p.value is value, p.value.is_leaf(), p.value.grad, p.value.name) == (True, True, None, "weight")


@EVERY_RULE
def test_what_a_parameter_does_is_the_same_to_the_last_bit_whatever_moves_beside_it(rule, by_hand, settings, backend):
    alone, first, last = (Parameter(tensor(START, backend)) for _ in range(3))
    other = Parameter(tensor(np.ones(50), backend))
    stepped(rule([alone], **settings), [alone], DERIVATIVES[:, None])
    several = [(each, np.full(50, 0.3), each) for each in DERIVATIVES]
    stepped(rule([first, other, last], **settings), [first, other, last], several)
    assert alone.value.tolist() == first.value.tolist() == last.value.tolist()


@EVERY_RULE
def test_a_parameter_that_sits_steps_out_goes_on_where_it_was(rule, by_hand, settings):
    p, q = weights([3.0]), weights([3.0])
    optimizer = rule([p, q], **settings)
    for i, derivative in enumerate([1.0, 2.0, -0.5, 4.0]):
        for moved in (p, q) if i % 2 else (p,):
            moved.value.grad = tensor([derivative])
        optimizer.step()
    assert p.value.item() == pytest.approx(by_hand(3.0, [1.0, 2.0, -0.5, 4.0], **settings), rel=1e-12)
    assert q.value.item() == pytest.approx(by_hand(3.0, [2.0, 4.0], **settings), rel=1e-12)


# Settings


RATE = "{} expected a learning rate lr >= 0, got {!r}; try {}"
BETAS = "{} expected two betas from 0 to below 1, got {}; try (0.9, 0.999)"
NESTEROV = "SGD expected momentum above 0 and dampening 0 beside nesterov, got {} and {}; try momentum=0.9"
EPS = "{} expected eps >= 0, got {}; try 1e-8"
OUT_OF_RANGE = [
    *[(SGD, {"lr": lr}, RATE.format("SGD", lr, 0.5)) for lr in (-0.1, math.inf, math.nan)],
    *[
        (rule, {"momentum": momentum}, f"{rule.__name__} expected momentum >= 0, got {momentum}; try 0.9")
        for rule in (SGD, RMSprop)
        for momentum in (-0.1, math.inf, math.nan)
    ],
    *[
        (rule, {"weight_decay": decay}, f"{rule.__name__} expected weight_decay >= 0, got {decay}; 0 leaves it out")
        for rule in (SGD, Adam, AdamW, RMSprop)
        for decay in (-0.1, math.inf, math.nan)
    ],
    *[(rule, {"lr": lr}, RATE.format(rule.__name__, lr, 0.001)) for rule in (Adam, AdamW) for lr in (-0.1, math.inf, math.nan)],
    *[
        (rule, {"betas": betas}, BETAS.format(rule.__name__, betas))
        for rule in (Adam, AdamW)
        for betas in [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, math.nan), (0.9,), (0.9, 0.9, 0.9)]
    ],
    *[(rule, {"eps": eps}, EPS.format(rule.__name__, eps)) for rule in (Adam, AdamW) for eps in (-1e-8, math.inf, math.nan)],
    *[(RMSprop, {"alpha": alpha}, f"RMSprop expected alpha >= 0, got {alpha}; try 0.99") for alpha in (-0.1, math.inf, math.nan)],
    (SGD, {"nesterov": True}, NESTEROV.format(0.0, 0.0)),
    (SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.5}, NESTEROV.format(0.9, 0.5)),
    (SGD, {"momentum": 0.9, "dampening": math.nan}, "SGD expected dampening as a finite number, got nan; 0 leaves it out"),
]
OF_ANOTHER_KIND = [
    *[(SGD, {"lr": lr}, RATE.format("SGD", lr, 0.5)) for lr in ("a", True)],
    (SGD, {"nesterov": 1}, "SGD expected nesterov=True or False, got 1; True needs momentum"),
    (RMSprop, {"centered": "yes"}, "RMSprop expected centered=True or False, got 'yes'; try False"),
    *[(Adam, {"betas": betas}, BETAS.format("Adam", shown)) for betas, shown in ((0.9, "0.9"), ((0.9, "b"), "(0.9, 'b')"), ("ab", "'ab'"))],
    (Adam, {"eps": [1e-8]}, "Adam expected eps >= 0, got [1e-08]; try 1e-8"),
]


@pytest.mark.parametrize(
    ("error", "rule", "settings", "message"), [(ValueError, *row) for row in OUT_OF_RANGE] + [(TypeError, *row) for row in OF_ANOTHER_KIND]
)
def test_wrong_settings_are_refused(error, rule, settings, message):
    with raises(error, message):
        rule([parameter(1.0)], **settings)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ([], ValueError, "an optimizer expected at least one parameter, got none; pass module.parameters()"),
        ([Scalar(2.0)], TypeError, "an optimizer expected Parameters, got Scalar; pass module.parameters()"),
    ],
)
def test_an_optimizer_needs_parameters(parameters, error, message):
    with raises(error, message):
        SGD(parameters)


def test_settings_become_pythons_numbers():
    (group,) = Adam([parameter(1.0)], lr=np.float32(0.5), betas=[np.float64(0.5), 0], weight_decay=1).param_groups
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.5, (0.5, 0.0), 1.0)
    assert {type(number) for number in (group["lr"], *group["betas"], group["weight_decay"])} == {float}
