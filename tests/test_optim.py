"""Optimizers: steps worked out by hand."""

import math
import re

import numpy as np
import pytest

from minitorch import SGD, Module, Optimizer, Parameter, Scalar, float32, tensor


def raises(error, message):
    """pytest.raises for the whole message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def parameter(value, derivative=None, name=None):
    p = Parameter(Scalar(value), name)
    p.value.derivative = derivative
    return p


def test_a_step_goes_against_the_derivative_by_the_learning_rate():
    p = parameter(3.0, derivative=4.0)
    SGD([p], lr=0.5).step()
    assert p.value.data == 1.0


def test_the_learning_rate_is_1_unless_given():
    p = parameter(3.0, derivative=4.0)
    SGD([p]).step()
    assert p.value.data == -1.0


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


def test_a_second_step_without_a_new_derivative_changes_nothing():
    p = parameter(3.0, derivative=4.0)
    optimizer = SGD([p], lr=0.5)
    optimizer.step()
    optimizer.step()
    assert p.value.data == 1.0


def test_zero_grad_forgets_all_derivatives():
    p, q = parameter(3.0, derivative=4.0), parameter(3.0)
    SGD([p, q]).zero_grad()
    assert (p.value.derivative, q.value.derivative) == (None, None)


def test_what_is_no_variable_is_left_alone():
    p = Parameter(5)
    optimizer = SGD([p])
    optimizer.zero_grad()
    optimizer.step()
    assert p.value == 5


def test_descent_on_a_parabola_halves_the_distance():
    model = Module()
    model.x = Parameter(Scalar(8.0))
    optimizer = SGD(model.parameters(), lr=0.25)
    places = []
    for _ in range(3):
        optimizer.zero_grad()
        ((model.x.value - 4) ** 2).backward()  # derivative 2 (x - 4): a step of 0.25 goes half the way to 4
        optimizer.step()
        places.append(model.x.value.data)
    assert places == [6.0, 5.0, 4.5]


def test_parameters_may_come_from_a_generator():
    p = parameter(3.0, derivative=4.0)
    optimizer = SGD(q for q in [p])
    optimizer.zero_grad()
    assert optimizer.parameters == [p]


def test_an_optimizer_needs_parameters():
    with raises(ValueError, "an optimizer expected at least one parameter, got none; pass module.parameters()"):
        SGD([])
    with raises(TypeError, "an optimizer expected Parameters, got Scalar; pass module.parameters()"):
        SGD([Scalar(2.0)])


@pytest.mark.parametrize("lr", [-0.1, math.inf, math.nan])
def test_a_wrong_learning_rate_is_refused(lr):
    with raises(ValueError, f"SGD expected a learning rate lr >= 0, got {lr}; try 0.5"):
        SGD([parameter(1.0)], lr=lr)


def test_a_learning_rate_of_0_stands_still():
    p = parameter(3.0, derivative=4.0)
    SGD([p], lr=0.0).step()
    assert p.value.data == 3.0


def test_an_optimizer_without_a_step_is_told():
    with raises(NotImplementedError, "Optimizer has no step of its own; use SGD, or define step(self) in the subclass"):
        Optimizer([parameter(1.0)]).step()


# Tensors


def weights(values, gradient=None, dtype=None, name=None):
    p = Parameter(tensor(values, dtype=dtype), name)
    p.value.grad = None if gradient is None else tensor(gradient, dtype=dtype)
    return p


def test_a_step_moves_every_element_of_a_tensor_against_its_gradient():
    p = weights([[3.0, 1.0]], gradient=[[4.0, -2.0]])
    SGD([p], lr=0.5).step()
    assert p.value.tolist() == [[1.0, 2.0]]


def test_a_step_makes_a_new_leaf_and_leaves_the_old_tensor_as_it_was():
    p = weights([3.0, 1.0], gradient=[4.0, 2.0], name="weight")
    before = p.value
    SGD([p], lr=0.5).step()
    assert p.value is not before
    assert (before.tolist(), before.grad.tolist()) == ([3.0, 1.0], [4.0, 2.0])
    assert not np.shares_memory(p.value.numpy(), before.numpy())
    assert (p.value.is_leaf(), p.value.grad, p.value.name) == (True, None, "weight")


def test_the_parameters_stay_the_objects_that_the_module_holds():
    model = Module()
    model.w = weights([1.0, 2.0], gradient=[1.0, 1.0])
    held = model.w
    optimizer = SGD(model.parameters(), lr=1.0)
    optimizer.step()
    assert model.w is held is optimizer.parameters[0]
    assert model.w.value.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("lr", [0.5, 1, np.float64(0.25)])
def test_float32_stays_float32(lr):
    p = weights([3.0, 1.0], gradient=[4.0, 2.0], dtype=float32)
    SGD([p], lr=lr).step()
    assert (p.value.dtype, p.value.tolist()) == (float32, [3.0 - 4.0 * lr, 1.0 - 2.0 * lr])


def test_zero_grad_forgets_the_gradients_of_tensors_and_scalars():
    p, q = weights([3.0], gradient=[4.0]), parameter(3.0, derivative=4.0)
    SGD([p, q]).zero_grad()
    assert (p.value.grad, q.value.derivative) == (None, None)


def test_a_tensor_without_a_gradient_stays():
    p, q = weights([3.0]), weights([3.0], gradient=[0.0])
    before = p.value
    SGD([p, q]).step()
    assert p.value is before
    assert q.value.tolist() == [3.0]


def test_a_step_is_not_recorded():
    p = weights([1.0, 2.0])
    (p.value * p.value).sum().backward()
    SGD([p], lr=0.5).step()
    assert p.value.parents == ()
    (p.value * 10).sum().backward()
    assert p.value.grad.tolist() == [10.0, 10.0]


def test_a_graph_from_before_the_step_can_still_be_differentiated():
    p = weights([1.0, 2.0], gradient=[1.0, 1.0])
    before = p.value
    out = (before * before).sum()
    SGD([p], lr=1.0).step()
    out.backward()
    assert before.grad.tolist() == [3.0, 5.0]  # 1 + 2x: what the step read and what has come since


def test_descent_of_a_tensor_on_a_parabola_halves_the_distance():
    model = Module()
    model.x = Parameter(tensor([8.0, 0.0]))
    optimizer = SGD(model.parameters(), lr=0.25)
    places = []
    for _ in range(3):
        optimizer.zero_grad()
        ((model.x.value - 4) ** 2).sum().backward()
        optimizer.step()
        places.append(model.x.value.tolist())
    assert places == [[6.0, 2.0], [5.0, 3.0], [4.5, 3.5]]
