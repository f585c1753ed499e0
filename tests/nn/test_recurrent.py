"""Recurrent networks: single steps by hand, and gradients from finite differences."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, float64, grad_check, manual_seed, nn, tensor
from minitorch.nn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from minitorch.nn.packed import pack_padded_sequence
from minitorch.nn.recurrence import KINDS, recurrence
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.errors import raises
from tests.marks import needs_compiler
from tests.nn.checks import random, refuses

EACH = pytest.mark.parametrize("kind", KINDS)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def set_all(layer, value):
    """Fill every parameter with one number."""
    for parameter in layer.parameters():
        parameter.update(tensor(np.full(parameter.value.shape, value), parameter.value.backend))


# Steps


def test_one_step_of_each_cell_follows_its_formula(backend):
    x, h, c = np.array([[1.0, 2.0]]), np.array([[0.5]]), np.array([[-0.25]])
    a, state, cell = (tensor(v, backend) for v in (x, h, c))
    for nonlinearity, f in (("tanh", np.tanh), ("relu", lambda v: np.maximum(v, 0))):
        layer = RNNCell(2, 1, nonlinearity=nonlinearity, device=backend, dtype=float64)
        set_all(layer, 0.1)
        assert layer(a, state).tolist() == [[pytest.approx(f(0.3 + 0.05 + 0.2))]]
        assert layer(a).tolist() == [[pytest.approx(f(0.5))]]
    layer = LSTMCell(2, 1, device=backend, dtype=float64)
    set_all(layer, 0.1)
    gate, squashed = sigmoid(0.55), math.tanh(0.55)
    expected = gate * -0.25 + gate * squashed
    hidden, after = layer(a, (state, cell))
    assert (hidden.tolist(), after.tolist()) == ([[pytest.approx(gate * math.tanh(expected))]], [[pytest.approx(expected)]])
    layer = GRUCell(2, 1, device=backend, dtype=float64)
    set_all(layer, 0.1)
    new = math.tanh(0.4 + gate * 0.15)
    assert layer(a, state).tolist() == [[pytest.approx((1 - gate) * new + gate * 0.5)]]


@EACH
def test_gradients_agree_with_finite_differences(kind):
    """On one backend; those of the other are the same, as the next test shows."""
    made, backend = KINDS[kind], FastBackend
    given, weight, bias = random((3, 2, made.gates * 2)), random((made.gates * 2, 2), 1), random((made.gates * 2,), 2)
    states = [random((2, 2), 3 + i) for i in range(made.states)]
    factors = tensor(random((3, made.states, 2, 2), 5), backend)
    tensors = [tensor(x, backend) for x in (given, weight, bias, *states)]
    grad_check(lambda g, w, b, *s: recurrence(g, w, b, kind, s) * factors, *tensors)
    grad_check(lambda w, *s: recurrence(tensors[0], w, None, kind, s) * factors, tensors[1], *tensors[3:])


@EACH
@pytest.mark.parametrize("biased", [True, False])
def test_compiled_steps_equal_those_of_plain_loops(kind, biased):
    made, results = KINDS[kind], []
    for backend in (SimpleBackend, FastBackend):
        shapes = [(4, 3, made.gates * 5), (made.gates * 5, 5), *[(3, 5)] * made.states, *[(made.gates * 5,)] * biased]
        given, weight, *states = leaves = [tensor(random(shape, i), backend, requires_grad=True) for i, shape in enumerate(shapes)]
        bias = states.pop() if biased else None
        out = recurrence(given, weight, bias, kind, tuple(states))
        out.backward(tensor(random(out.shape, 9), backend))
        results.append([out.to_numpy(), *(x.grad.to_numpy() for x in leaves)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@EACH
def test_gradients_have_gradients(kind):
    made = KINDS[kind]
    arrays = [random((2, 1, made.gates)), random((made.gates, 1), 1), random((made.gates,), 2)]
    arrays += [random((1, 1), 3 + i) for i in range(made.states)]
    assert_second_derivatives(lambda g, w, b, *s: recurrence(g, w, b, kind, s), arrays, FastBackend, 1e-5)


@needs_compiler
def test_a_write_into_the_result_is_detected_in_the_backward_pass():
    weight = tensor(random((2, 2)), FastBackend, requires_grad=True)
    out = recurrence(tensor(random((3, 1, 2)), FastBackend), weight, None, "tanh", (tensor(random((1, 2)), FastBackend),))
    out.detach()[0, 0, 0, 0] = 7.0
    with pytest.raises(RuntimeError, match="has been written into since"):
        out.sum().backward()


# Layers


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_layer_applies_its_cell_step_by_step(name):
    manual_seed(0)
    layer, cell = (getattr(nn, kind)(3, 2, dtype=float64) for kind in (name, f"{name}Cell"))
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x, state, outputs = tensor(random((4, 2, 3)), FastBackend), None, []
    for t in range(4):
        state = cell(x[t], state)
        outputs.append((state[0] if name == "LSTM" else state).tolist())
    output, final = layer(x)
    np.testing.assert_allclose(output.to_numpy(), outputs, rtol=1e-12)
    np.testing.assert_allclose((final[0] if name == "LSTM" else final).to_numpy(), [outputs[-1]], rtol=1e-12)


def test_initial_weights_are_uniform_with_pytorch_names():
    manual_seed(0)
    layer = LSTM(3, 100, num_layers=2, bidirectional=True)
    names = [f"{part}_l{i}{end}" for i in (0, 1) for end in ("", "_reverse") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    state = layer.state_dict()
    assert list(state) == names
    assert state["weight_ih_l0"].shape == (400, 3)
    assert state["weight_ih_l1_reverse"].shape == (400, 200)
    for value in state.values():
        assert 0.09 < abs(value.to_numpy()).max() <= 0.1
        assert value.to_numpy().std() == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
    assert {value.dtype for value in state.values()} == {float32}
    assert list(GRU(2, 1, bias=False).state_dict()) == ["weight_ih_l0", "weight_hh_l0"]


def test_a_replaced_parameter_is_trained_further():
    layer = GRU(1, 1)
    layer.weight_ih_l0.update(tensor([[1.0], [2.0], [3.0]], FastBackend, dtype=float32))
    layer(tensor([[1.0]], FastBackend, dtype=float32))[0].sum().backward()
    assert layer.weight_ih_l0.grad is not None


def test_the_repr_of_a_layer_shows_its_settings():
    assert repr(LSTM(3, 4, 2, dropout=0.5)) == "LSTM(3, 4, num_layers=2, dropout=0.5)"
    assert repr(RNN(3, 4, batch_first=True)) == "RNN(3, 4, batch_first=True)"
    assert repr(RNNCell(3, 4, False, "relu")) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"


def test_parameters_have_names_and_can_be_initialized_again():
    manual_seed(0)
    for layer in (GRU(2, 3), LSTMCell(2, 3)):
        before = [value.tolist() for value in layer.state_dict().values()]
        layer.reset_parameters()
        assert all(value.tolist() != old for value, old in zip(layer.state_dict().values(), before, strict=True))
    layer = RNN(2, 3)
    layer.flatten_parameters()
    assert layer._flat_weights_names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]


def test_the_summary_counts_operations():
    x = tensor(random((5, 2, 3)))
    for given in (x, pack_padded_sequence(x, [5, 5])):
        assert LSTM(3, 4).flops((given,), None) == 2 * 10 * 16 * (3 + 4)
    assert GRUCell(3, 4).flops((x[0],), None) == 2 * 2 * 12 * (3 + 4)


def test_dropout_between_layers_is_active_only_in_training():
    manual_seed(0)
    layer = GRU(2, 9, 2, dropout=0.5, dtype=float64)
    x = tensor(random((3, 1, 2)), FastBackend)
    assert layer(x)[0].tolist() != layer(x)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() == layer(x)[0].tolist()
    one = GRU(2, 9, 1, dropout=0.5, dtype=float64)
    assert one(x)[0].tolist() == one(x)[0].tolist()


def test_incompatible_arguments_are_refused():
    layer, x = LSTM(3, 2, dtype=float64), tensor(random((4, 2, 3)))
    refuses(ValueError, "LSTM expected input of shape (L, N, 3) or (L, 3), got (4, 3, 2)", layer, tensor(random((4, 3, 2))))
    refuses(ValueError, "… expected input of shape (N, L, 3) or (L, 3), got (3,)", GRU(3, 2, batch_first=True), x[0, 0])
    refuses(ValueError, "… expected input of shape (N, 3) or (3,), got (4, 2, 3)", RNNCell(3, 2), x)
    refuses(TypeError, "LSTM expected a Tensor as input, got ndarray; make one with tensor(...)", layer, random((4, 2, 3)))
    refuses(TypeError, "LSTM expected hx as a pair of Tensors, hidden state and cell, got Tensor", layer, x, tensor(random((1, 2, 2))))
    with raises(ValueError, "LSTM expected hx of shape (1, 2, 2), got (1, 3, 2)"):
        layer(x, (tensor(random((1, 2, 2))), tensor(random((1, 3, 2)))))
    refuses(ValueError, "… expected hx of shape (2, 2), got (2,)", GRUCell(3, 2, dtype=float64), x[0], tensor(random((2,))))
    refuses(ValueError, "LSTM expected sequences of at least one element, got input of shape (0, 2, 3)", layer, x[:0])
    refuses(ValueError, '… expected nonlinearity "tanh" or "relu", got \'sigmoid\'', RNN, 3, 2, nonlinearity="sigmoid")
    refuses(ValueError, "… expected dropout from 0 to 1, got -1; it is the probability that an element is zeroed", GRU, 3, 2, dropout=-1)
    refuses(NotImplementedError, "… supports proj_size=0 only, got 2; leave proj_size out", LSTM, 3, 2, proj_size=2)
    refuses(ValueError, "… expected input_size, hidden_size and num_layers of at least 1, got 3, 2, 0", LSTM, 3, 2, 0)
