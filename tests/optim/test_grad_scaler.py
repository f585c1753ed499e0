"""Mixed precision: what a GradScaler does to losses, gradients and steps."""

import math

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch import SGD, GradScaler, Parameter, tensor
from minitorch.core.dtypes import float16
from minitorch.torch import amp as torch_amp
from tests.errors import raises
from tests.nn.checks import refuses

MAKES = {
    "course": lambda value, dtype: Parameter(tensor([value], requires_grad=True, dtype=dtype)),
    "torch": lambda value, dtype: torch.nn.Parameter(torch.tensor([value], dtype=dtype)),
}
"""Parameters of both kinds."""


@pytest.fixture(params=MAKES)
def one_weight(request):
    """A function that makes a parameter, its optimizer, and what sets its gradient."""

    def make(value=1.0, dtype="float32"):
        weight = MAKES[request.param](value, dtype)

        def got(gradient):
            weight.value.grad = (torch if request.param == "torch" else minitorch).tensor([gradient], dtype=dtype)

        return weight, SGD([weight], lr=1.0), got

    return make


def scales(one_weight, scaler, gradients):
    """The scale after a step with each of these gradients."""
    _, optimizer, got = one_weight()
    found = []
    for gradient in gradients:
        got(gradient)
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    return found


def test_a_gradient_too_small_for_float16_arrives_when_the_loss_is_scaled(one_weight):
    found = []
    for scaler in (GradScaler(enabled=False), GradScaler(init_scale=2.0**16)):
        weight, optimizer, _ = one_weight()
        loss = (weight.value.half() * 2.0**-10).float() * 2.0**-20  # the gradient of the product is 2^-20, that of the half 2^-30
        scaler.scale(loss.sum()).backward()
        scaler.unscale_(optimizer)
        found += weight.value.grad.tolist()
    assert found == [0.0, 2.0**-30]


def test_the_scale_multiplies_a_loss_and_its_gradients(one_weight):
    weight, optimizer, _ = one_weight(3.0)
    scaler = GradScaler(init_scale=8.0)
    loss = scaler.scale((weight.value * weight.value).sum())
    assert (loss.dtype, loss.item()) == ("float32", 72.0)
    loss.backward()
    assert weight.value.grad.tolist() == [48.0]
    scaler.step(optimizer)
    assert weight.value.tolist() == [3.0 - 6.0]
    assert scaler.scale(tensor([60000.0], dtype=float16)).dtype == "float32"


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
def test_a_step_with_a_gradient_that_is_no_number_is_left_out(wrong, one_weight):
    weight, optimizer, got = one_weight(3.0)
    scaler = GradScaler(init_scale=8.0)
    got(wrong)
    scaler.step(optimizer)
    scaler.update()
    assert (weight.value.tolist(), scaler.get_scale()) == ([3.0], 4.0)
    np.testing.assert_array_equal(weight.value.grad.to_numpy(), [wrong])
    got(8.0)
    scaler.step(optimizer)
    assert weight.value.tolist() == [1.0]


def test_the_scale_grows_after_some_steps_without_an_overflow_and_stays_a_number(one_weight):
    scaler = GradScaler(init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    assert scales(one_weight, scaler, [1.0, 1.0, 1.0, math.inf, 1.0, 1.0]) == [4.0, 12.0, 12.0, 3.0, 3.0, 9.0]
    assert scales(one_weight, GradScaler(init_scale=2.0**127, growth_interval=1), [1.0]) == [2.0**127]
    assert scales(one_weight, GradScaler(init_scale=2.0**-125), [math.nan] * 3) == [2.0**-126] * 3


def test_gradients_can_be_clipped_between_unscale_and_step(one_weight):
    weight, optimizer, got = one_weight(3.0)
    scaler = GradScaler(init_scale=8.0)
    got(16.0)
    scaler.unscale_(optimizer)
    assert weight.value.grad.tolist() == [2.0]
    weight.value.grad = weight.value.grad.clip(-0.5, 0.5)
    scaler.step(optimizer)
    assert weight.value.tolist() == [2.5]


def test_an_overflow_of_one_optimizer_leaves_the_steps_of_another(one_weight):
    (first, one, got_one), (second, other, got_other) = one_weight(), one_weight()
    scaler = GradScaler(init_scale=2.0)
    got_one(math.inf)
    got_other(2.0)
    scaler.step(one), scaler.step(other)
    scaler.update()
    assert (first.value.tolist(), second.value.tolist(), scaler.get_scale()) == ([1.0], [0.0], 1.0)


def test_it_follows_torch(one_weight):
    real = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    _, optimizer, got = one_weight()
    weight = real.ones(1, requires_grad=True)
    theirs_optimizer = real.optim.SGD([weight], lr=1.0)
    options = {"init_scale": 1024.0, "growth_factor": 4.0, "backoff_factor": 0.125, "growth_interval": 3}
    ours, theirs = GradScaler(**options), real.amp.GradScaler("cpu", **options)
    generator = np.random.default_rng(0)
    for _ in range(40):
        gradient = float(generator.choice([1.0, 2.0, math.inf, math.nan], p=[0.6, 0.2, 0.1, 0.1]))
        got(gradient)
        weight.grad = real.tensor([gradient])
        theirs.scale(real.ones(1))  # it makes its scale at the first call
        for scaler, stepping in ((ours, optimizer), (theirs, theirs_optimizer)):
            scaler.step(stepping)
            scaler.update()
        assert ours.state_dict() == theirs.state_dict()
        assert optimizer.parameters[0].value.tolist() == weight.tolist()


def test_a_scaler_that_is_off_does_nothing(one_weight):
    weight, optimizer, got = one_weight()
    scaler = GradScaler(enabled=False)
    loss = tensor([2.0])
    assert scaler.scale(loss) is loss
    got(math.inf)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.load_state_dict({})
    assert (weight.value.tolist(), scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == ([-math.inf], 1.0, False, {})


def test_a_state_goes_on_where_it_was_saved(one_weight):
    scaler, again = GradScaler("cpu", 4.0, 3.0, 0.25, growth_interval=2), GradScaler()
    assert scales(one_weight, scaler, [1.0]) == [4.0]
    again.load_state_dict(scaler.state_dict())
    assert scales(one_weight, again, [1.0]) == [12.0]
    message = (
        "GradScaler.load_state_dict expected the state of an enabled GradScaler, got one with missing growth_factor, "
        "missing backoff_factor, missing growth_interval, missing _growth_tracker, unexpected lr"
    )
    refuses(ValueError, message, again.load_state_dict, {"scale": 1.0, "lr": 2})
    message = "GradScaler expected init_scale above 0 and finite, got -1.0"
    refuses(ValueError, message, again.load_state_dict, {**scaler.state_dict(), "scale": -1.0})
    assert again.get_scale() == 12.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init_scale": 0}, "init_scale above 0 and finite, got 0.0"),
        ({"init_scale": math.inf}, "init_scale above 0 and finite, got inf"),
        ({"growth_factor": 1.0}, "growth_factor above 1 and finite, got 1.0"),
        ({"backoff_factor": 1}, "backoff_factor between 0 and 1, got 1.0"),
        ({"growth_interval": 2.5}, "growth_interval as a whole number of at least 1, got 2.5"),
        ({"growth_interval": 0}, "growth_interval as a whole number of at least 1, got 0"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with raises(ValueError, f"GradScaler expected {message}"):
        GradScaler(**options)


def test_a_scale_in_the_place_of_the_device_is_refused():
    with raises(TypeError, 'GradScaler expected a device such as "cuda" first, got 8.0; pass init_scale=8.0'):
        GradScaler(8.0)


def test_pytorchs_is_the_same_class():
    assert torch_amp.GradScaler is GradScaler


def test_calls_out_of_order_are_refused(one_weight):
    _, optimizer, got = one_weight()
    scaler = GradScaler()
    refuses(RuntimeError, "… expected a step before it, got none; call step(optimizer) first", scaler.update)
    got(1.0)
    scaler.unscale_(optimizer)
    message = "unscale_ expected gradients that are still scaled, got those of an optimizer twice; call update() before"
    refuses(RuntimeError, message, scaler.unscale_, optimizer)
    scaler.step(optimizer)
    message = "step expected one call for an optimizer between two updates, got a second one; call update() before"
    refuses(RuntimeError, message, scaler.step, optimizer)
    refuses(TypeError, "… expected a Tensor, got float; scale the loss before backward", scaler.scale, 1.0)


def test_gradients_of_halves_are_refused_and_left_as_they_are(one_weight):
    weight, optimizer, got = one_weight(dtype=float16)
    got(2.0)
    message = (
        "unscale_ expected gradients of float32 or float64, got float16 for a parameter of shape (1,); "
        "keep the parameters in float32, and use halves of them in forward: weight.half()"
    )
    refuses(TypeError, message, GradScaler().step, optimizer)
    assert weight.value.grad.tolist() == [2.0]
