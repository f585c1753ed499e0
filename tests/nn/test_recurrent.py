"""Recurrent networks: single steps by hand, gradients from finite differences, and a comparison of layers and cells with PyTorch."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, float64, grad_check, manual_seed, nn, tensor
from minitorch.nn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from minitorch.nn.recurrent import KINDS, recurrence
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.errors import raises
from tests.marks import needs_compiler

BACKENDS = pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
EACH = pytest.mark.parametrize("kind", KINDS)


def random(shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def set_all(layer, value):
    """Fill every parameter with one number."""
    for parameter in layer.parameters():
        parameter.update(tensor(np.full(parameter.value.shape, value), parameter.value.backend))


# Steps


@BACKENDS
def test_one_step_of_each_cell_follows_its_formula(backend):
    x, h, c = np.array([[1.0, 2.0]]), np.array([[0.5]]), np.array([[-0.25]])
    a, state, cell = (tensor(v, backend) for v in (x, h, c))
    for nonlinearity, f in (("tanh", np.tanh), ("relu", lambda v: np.maximum(v, 0))):
        layer = RNNCell(2, 1, nonlinearity=nonlinearity, backend=backend)
        set_all(layer, 0.1)
        assert layer(a, state).tolist() == [[pytest.approx(f(0.3 + 0.05 + 0.2))]]
        assert layer(a).tolist() == [[pytest.approx(f(0.5))]]
    layer = LSTMCell(2, 1, backend=backend)
    set_all(layer, 0.1)
    gate, squashed = sigmoid(0.55), math.tanh(0.55)
    expected = gate * -0.25 + gate * squashed
    hidden, after = layer(a, (state, cell))
    assert (hidden.tolist(), after.tolist()) == ([[pytest.approx(gate * math.tanh(expected))]], [[pytest.approx(expected)]])
    layer = GRUCell(2, 1, backend=backend)
    set_all(layer, 0.1)
    new = math.tanh(0.4 + gate * 0.15)
    assert layer(a, state).tolist() == [[pytest.approx((1 - gate) * new + gate * 0.5)]]


@EACH
@BACKENDS
def test_gradients_agree_with_finite_differences(kind, backend):
    made = KINDS[kind]
    given, weight, bias = random((3, 2, made.gates * 2)), random((made.gates * 2, 2), 1), random((made.gates * 2,), 2)
    states = [random((2, 2), 3 + i) for i in range(made.states)]
    factors = tensor(random((3, made.states, 2, 2), 5), backend)
    tensors = [tensor(x, backend) for x in (given, weight, bias, *states)]
    grad_check(lambda g, w, b, *s: recurrence(g, w, b, kind, s) * factors, *tensors)
    if backend is FastBackend:
        grad_check(lambda g, w, *s: recurrence(g, w, None, kind, s) * factors, *tensors[:2], *tensors[3:])


@EACH
def test_compiled_steps_equal_those_of_plain_loops(kind):
    made, results = KINDS[kind], []
    for backend in (SimpleBackend, FastBackend):
        arrays = [random((4, 3, made.gates * 5)), random((made.gates * 5, 5), 1), random((made.gates * 5,), 2)]
        arrays += [random((3, 5), 3 + i) for i in range(made.states)]
        leaves = [tensor(x, backend, requires_grad=True) for x in arrays]
        out = recurrence(*leaves[:3], kind, tuple(leaves[3:]))
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
    layer, cell = getattr(nn, name)(3, 2), getattr(nn, f"{name}Cell")(3, 2)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    x, state, outputs = tensor(random((4, 2, 3))), None, []
    for t in range(4):
        state = cell(x[t], state)
        outputs.append((state[0] if name == "LSTM" else state).tolist())
    output, final = layer(x)
    np.testing.assert_allclose(output.to_numpy(), outputs, rtol=1e-12)
    np.testing.assert_allclose((final[0] if name == "LSTM" else final).to_numpy(), [outputs[-1]], rtol=1e-12)


def test_initial_weights_are_uniform_with_pytorch_names():
    manual_seed(0)
    layer = LSTM(3, 100, num_layers=2, bidirectional=True, backend=FastBackend, dtype=float32)
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


def test_the_repr_of_a_layer_shows_its_settings():
    assert repr(LSTM(3, 4, 2, dropout=0.5)) == "LSTM(3, 4, num_layers=2, dropout=0.5)"
    assert repr(RNN(3, 4, batch_first=True)) == "RNN(3, 4, batch_first=True)"
    assert repr(GRUCell(3, 4, bias=False)) == "GRUCell(3, 4, bias=False)"


def test_the_summary_counts_operations():
    x = tensor(random((5, 2, 3)))
    assert LSTM(3, 4).flops((x,), None) == 2 * 10 * 16 * (3 + 4)
    assert GRUCell(3, 4).flops((x[0],), None) == 2 * 2 * 12 * (3 + 4)


def test_dropout_between_layers_is_active_only_in_training():
    manual_seed(0)
    layer = GRU(2, 20, 2, dropout=0.5, backend=FastBackend)
    x = tensor(random((3, 1, 2)), FastBackend)
    assert layer(x)[0].tolist() != layer(x)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() == layer(x)[0].tolist()
    one = GRU(2, 20, 1, dropout=0.5, backend=FastBackend)
    assert one(x)[0].tolist() == one(x)[0].tolist()


def test_incompatible_arguments_are_refused():
    layer, x = LSTM(3, 2), tensor(random((4, 2, 3)))
    with raises(ValueError, "LSTM expected input of shape (L, N, 3) or (L, 3), got (4, 3, 2)"):
        layer(tensor(random((4, 3, 2))))
    with raises(ValueError, "GRU expected input of shape (N, L, 3) or (L, 3), got (3,)"):
        GRU(3, 2, batch_first=True)(x[0, 0])
    with raises(ValueError, "RNNCell expected input of shape (N, 3) or (3,), got (4, 2, 3)"):
        RNNCell(3, 2)(x)
    with raises(TypeError, "LSTM expected a Tensor of floats as input, got ndarray; make one with tensor(...)"):
        layer(random((4, 2, 3)))
    with raises(TypeError, "LSTM expected hx as a pair of Tensors, hidden state and cell, got Tensor"):
        layer(x, tensor(random((1, 2, 2))))
    with raises(ValueError, "LSTM expected hx of shape (1, 2, 2), got (1, 3, 2)"):
        layer(x, (tensor(random((1, 2, 2))), tensor(random((1, 3, 2)))))
    with raises(ValueError, "GRUCell expected hx of shape (2, 2), got (2,)"):
        GRUCell(3, 2)(x[0], tensor(random((2,))))
    with raises(ValueError, "LSTM expected sequences of at least one element, got input of shape (0, 2, 3)"):
        layer(x[:0])
    with raises(ValueError, 'RNN expected nonlinearity "tanh" or "relu", got \'sigmoid\''):
        RNN(3, 2, nonlinearity="sigmoid")
    with raises(ValueError, "GRU expected dropout from 0 to 1, got -1; it is the probability that an element is zeroed"):
        GRU(3, 2, dropout=-1)
    with raises(ValueError, "LSTM expected input_size, hidden_size and num_layers of at least 1, got 3, 2, 0"):
        LSTM(3, 2, 0)


# Against PyTorch

SETTINGS = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"num_layers": 2, "bias": False, "batch_first": True},
]


def assert_same(pairs, tolerance):
    """Fail unless the tensors equal PyTorch's."""
    for got, expected in pairs:
        assert got.shape == tuple(expected.shape)
        np.testing.assert_allclose(got.to_numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance)


def flatten(results):
    """All tensors of nested tuples."""
    return [x for part in results for x in (flatten(part) if isinstance(part, tuple) else [part])]


@BACKENDS
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_layers_agree_with_pytorch(backend, name, settings):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    torch.manual_seed(0)
    settings = settings | ({"nonlinearity": "relu"} if name == "RNN" and settings.get("bidirectional") else {})
    for dtype, tolerance in ((float64, 1e-10), (float32, 1e-5)):
        theirs = getattr(torch.nn, name)(3, 2, **settings, dtype=getattr(torch, dtype.name))
        ours = getattr(nn, name)(3, 2, **settings, backend=backend, dtype=dtype)
        ours.load_state_dict(theirs.state_dict())
        assert list(ours.state_dict()) == list(theirs.state_dict())
        places = settings.get("num_layers", 1) * (1 + settings.get("bidirectional", False))
        for x, hx in (((4, 2, 3), None), ((4, 2, 3), (places, 4 if settings.get("batch_first") else 2, 2)), ((4, 3), (places, 2))):
            values = [random(x).astype(dtype)] + ([] if hx is None else [random(hx, i).astype(dtype) for i in range(1 + (name == "LSTM"))])
            a = [tensor(v, backend, requires_grad=True) for v in values]
            b = [torch.tensor(v, requires_grad=True) for v in values]
            results = []
            for layer, leaves in ((ours, a), (theirs, b)):
                layer.zero_grad()
                state = [] if hx is None else [tuple(leaves[1:])] if name == "LSTM" else leaves[1:]
                results.append(flatten(layer(leaves[0], *state)))
            assert_same(zip(*results, strict=True), tolerance)
            for i, (got, expected) in enumerate(zip(*results, strict=True)):
                given = random(got.shape, 7 + i).astype(dtype)
                got.backward(tensor(given, backend), retain_graph=True)
                expected.backward(torch.tensor(given), retain_graph=True)
            pairs = [(p.value.grad, q.grad) for p, q in zip(ours.parameters(), theirs.parameters(), strict=True)]
            assert_same([*pairs, *((u.grad, v.grad) for u, v in zip(a, b, strict=True))], tolerance)


@BACKENDS
@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells_agree_with_pytorch(backend, name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs = getattr(torch.nn, name)(3, 2, dtype=torch.float64)
    ours = getattr(nn, name)(3, 2, backend=backend, dtype=float64)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for lead in ((4,), ()):
        values, states = random((*lead, 3)), [random((*lead, 2), i) for i in range(1 + (name == "LSTMCell"))]
        results = []
        for layer, made in ((ours, lambda v: tensor(v, backend)), (theirs, torch.tensor)):
            pair = tuple(made(v) for v in states)
            results.append(flatten((layer(made(values), pair if len(pair) == 2 else pair[0]), layer(made(values)))))
        assert_same(zip(*results, strict=True), 1e-10)
