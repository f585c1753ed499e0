"""Every layer and function of networks against PyTorch's of the same name: values, gradients, and states in both directions."""

import inspect

import numpy as np
import pytest

from minitorch import FastBackend, nn, tensor

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

EDGES = np.array([-np.inf, -1e300, -745.0, -20.0, -1.0, -1e-310, -0.0, 0.0, 1e-310, 0.5, 1.0, 20.0, 745.0, 1e300, np.inf, np.nan])
"""Extreme inputs: infinities, numbers whose exponential overflows, and subnormal numbers."""

FINITE = EDGES[~np.isinf(EDGES)]
"""Inputs for functions for which PyTorch gives NaN at infinity, in values or gradients, where ours are the limits."""

OTHER_NAMES = {"logsoftmax": "log_softmax", "avgpool2d": "avg_pool2d", "maxpool2d": "max_pool2d"}  # those published by the course


def x(*shape, seed=0):
    """Normal random numbers, all different."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def uniform(*shape, seed=0):
    """Uniform random numbers between 0 and 1."""
    return np.random.default_rng([seed, *shape]).random(shape)


def random_integers(below, *shape):
    """Integers from 0 to below - 1."""
    return np.random.default_rng([below, *shape]).integers(0, below, shape)


def row(name, *args, on, **settings):
    """A name, the constructor arguments (for a function: the arguments after its inputs), and the inputs."""
    return pytest.param(name, args, settings, on, id=f"{name}{list(args) or ''}{settings or ''}"[:70])


REDUCTIONS = ("mean", "sum", "none")
CURVES = ("ReLU", "SiLU", "Sigmoid", "Tanh", "LeakyReLU", "GELU")
INFINITE = np.array([[0.0, np.inf, -np.inf], [-np.inf, -np.inf, -np.inf], [np.nan, 0.0, 1.0], [1e300, -1e300, 0.0]])
IMAGE = x(2, 4, 7, 6)
WITH_NAN = IMAGE.copy()
WITH_NAN[1, 2, 3, 3] = np.nan  # of two equal elements in a window, PyTorch takes the last and we take the first

LAYERS = [
    *[row(name, on=[values]) for name in CURVES for values in (x(2, 3, 4), x(0, 3))],
    *[row(name, on=[EDGES]) for name in ("ReLU", "Sigmoid", "Tanh", "LeakyReLU")],
    *[row(name, on=[FINITE]) for name in ("SiLU", "GELU")],
    row("LeakyReLU", 0.3, on=[EDGES]),
    row("LeakyReLU", 0.0, on=[EDGES]),
    row("LeakyReLU", -0.5, on=[x(7)]),
    row("GELU", "tanh", on=[EDGES[2:-3]]),  # from 1e300 on, PyTorch's gradient is NaN
    *[row(name, dim, on=[x(2, 3, 4)]) for name in ("Softmax", "LogSoftmax") for dim in (0, 1, -1)],
    *[row(name, 1, on=[INFINITE]) for name in ("Softmax", "LogSoftmax")],
    row("Flatten", on=[x(2, 3, 4)]),
    row("Flatten", 0, 1, on=[x(2, 3, 4)]),
    row("Flatten", -2, on=[x(2, 3, 4, 2)]),
    row("Linear", 4, 3, on=[x(5, 4)]),
    row("Linear", 4, 3, on=[x(2, 5, 4)]),
    row("Linear", 4, 3, on=[x(0, 4)]),
    row("Linear", 4, 1, bias=False, on=[x(4)]),
    row("Conv1d", 4, 6, 3, on=[x(2, 4, 9)]),
    row("Conv1d", 4, 6, 3, stride=2, padding=2, dilation=2, groups=2, on=[x(2, 4, 9)]),
    row("Conv1d", 4, 4, 3, padding="same", dilation=2, groups=4, bias=False, on=[x(1, 4, 5)]),
    row("Conv1d", 2, 3, 4, padding="valid", on=[x(1, 2, 4)]),
    row("Conv2d", 4, 2, 3, on=[IMAGE]),
    row("Conv2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2, on=[IMAGE]),
    row("Conv2d", 4, 8, 3, padding="same", groups=4, bias=False, on=[IMAGE]),
    row("Conv2d", 4, 3, 1, stride=2, on=[IMAGE]),
    row("Conv2d", 4, 3, (7, 6), on=[IMAGE]),
    row("MaxPool2d", 2, on=[IMAGE]),
    row("MaxPool2d", (3, 2), stride=(1, 2), padding=(1, 0), on=[IMAGE]),
    row("MaxPool2d", 3, 2, 1, on=[WITH_NAN]),
    row("MaxPool2d", 2, on=[np.where(IMAGE > 0, -np.inf, IMAGE)]),
    row("AvgPool2d", 2, on=[IMAGE]),
    row("AvgPool2d", (3, 2), (1, 2), (1, 0), on=[IMAGE]),
    row("AvgPool2d", 3, 2, 1, on=[np.where(IMAGE > 1.5, np.inf, IMAGE)]),
    *[row("AdaptiveAvgPool2d", size, on=[IMAGE]) for size in (1, 3, (2, None), (7, 6), (9, 4))],
    row("Embedding", 5, 3, on=[random_integers(5, 2, 4)]),
    row("Embedding", 5, 3, padding_idx=2, on=[np.array([2, 0, 2, 4])]),
    row("Embedding", 5, 3, padding_idx=-1, on=[np.array([[4, 4], [0, 1]])]),
    row("BatchNorm1d", 3, on=[x(5, 3)]),
    row("BatchNorm1d", 3, eps=0.1, momentum=0.7, on=[x(2, 3, 4)]),
    row("BatchNorm1d", 3, momentum=None, affine=False, on=[x(5, 3)]),
    row("BatchNorm2d", 4, on=[IMAGE]),
    row("BatchNorm2d", 4, track_running_stats=False, on=[IMAGE]),
    row("LayerNorm", 4, on=[x(2, 3, 4)]),
    row("LayerNorm", (3, 4), eps=0.1, bias=False, on=[x(2, 3, 4)]),
    row("LayerNorm", 4, elementwise_affine=False, on=[x(3, 4)]),
    row("GroupNorm", 2, 4, on=[IMAGE]),
    row("GroupNorm", 4, 4, eps=0.1, affine=False, on=[x(2, 4)]),
    row("GroupNorm", 1, 4, on=[x(2, 4, 3)]),
    row("RMSNorm", 4, on=[x(2, 3, 4)]),
    row("RMSNorm", (3, 4), eps=0.1, elementwise_affine=False, on=[x(2, 3, 4)]),
]

FUNCTIONS = [
    row("sigmoid", on=[EDGES]),
    row("tanh", on=[EDGES]),
    row("relu", on=[EDGES]),
    row("silu", on=[FINITE]),
    row("gelu", on=[FINITE]),
    row("gelu", approximate="tanh", on=[x(2, 3)]),
    row("leaky_relu", on=[EDGES]),
    row("leaky_relu", 1.5, on=[x(2, 3)]),
    *[row(name, dim, on=[values]) for name in ("softmax", "logsoftmax") for dim, values in ((0, x(3, 2)), (1, INFINITE))],
    row("linear", on=[x(5, 4), x(3, 4), x(3)]),
    row("linear", on=[x(2, 5, 4), x(3, 4)]),
    row("embedding", on=[random_integers(5, 2, 4), x(5, 3)]),
    row("conv1d", on=[x(2, 4, 9), x(6, 4, 3), x(6)]),
    row("conv1d", None, 2, 2, 2, 2, on=[x(2, 4, 9), x(6, 2, 3)]),
    row("conv2d", on=[IMAGE, x(3, 4, 2, 3), x(3)]),
    row("conv2d", None, (2, 1), (1, 2), (1, 2), 4, on=[IMAGE, x(4, 1, 2, 3)]),
    row("max_pool1d", 3, 2, 1, on=[x(2, 3, 8)]),
    row("max_pool2d", (2, 3), on=[IMAGE]),
    row("maxpool2d", (7, 3), on=[IMAGE]),
    row("avg_pool1d", 3, 2, 1, on=[x(2, 3, 8)]),
    row("avg_pool2d", 2, 1, on=[IMAGE]),
    row("avgpool2d", (7, 3), on=[IMAGE]),
    row("adaptive_avg_pool2d", (3, 5), on=[IMAGE]),
    row("batch_norm", training=True, on=[x(5, 3), None, None, x(3), x(3, seed=1)]),
    row("batch_norm", eps=0.2, on=[x(5, 3, 2), x(3), uniform(3), x(3, seed=1), x(3, seed=2)]),
    row("layer_norm", (4,), on=[x(2, 3, 4)]),
    row("group_norm", 2, on=[x(2, 4, 3)]),
    row("rms_norm", (4,), eps=1e-3, on=[x(2, 3, 4)]),
    row("rms_norm", (3, 4), on=[x(2, 3, 4)]),
    row("scaled_dot_product_attention", on=[x(2, 5, 4), x(2, 3, 4, seed=1), x(2, 3, 6)]),
    row("scaled_dot_product_attention", is_causal=True, scale=0.3, on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    *[row(name, reduction=how, on=[x(4, 3), x(4, 3, seed=1)]) for name in ("mse_loss", "l1_loss", "smooth_l1_loss") for how in REDUCTIONS],
    *[row(name, reduction="none", on=[EDGES[:-1], x(15)]) for name in ("l1_loss", "smooth_l1_loss")],  # for NaN, PyTorch's gradient is 0
    row("smooth_l1_loss", beta=0.0, on=[x(4), x(4, seed=1)]),
    row("smooth_l1_loss", beta=2.5, on=[x(4), x(4, seed=1)]),
    *[row("binary_cross_entropy", reduction=how, on=[uniform(4, 3), uniform(4, 3, seed=1)]) for how in REDUCTIONS],
    *[row("binary_cross_entropy_with_logits", reduction=how, on=[30 * x(4, 3), uniform(4, 3)]) for how in REDUCTIONS],
    *[row("nll_loss", reduction=how, on=[x(6, 4), random_integers(4, 6)]) for how in REDUCTIONS],
    *[
        row("cross_entropy", reduction=how, on=[1e3 * x(6, 4), target])
        for how in REDUCTIONS
        for target in (random_integers(4, 6), uniform(6, 4))
    ],
    row("cross_entropy", ignore_index=1, label_smoothing=0.2, on=[x(6, 4), random_integers(4, 6)]),
    row("cross_entropy", on=[np.array([[0.0, -np.inf, 1.0]]), np.array([2])]),
]

LOSSES = [
    *[row(name, reduction=how, on=[x(4, 3), x(4, 3, seed=1)]) for name in ("MSELoss", "L1Loss", "SmoothL1Loss") for how in REDUCTIONS],
    row("BCELoss", on=[uniform(4, 3), uniform(4, 3, seed=1)]),
    row("BCEWithLogitsLoss", on=[x(4, 3), uniform(4, 3)]),
    row("NLLLoss", on=[x(6, 4), random_integers(4, 6)]),
    row("CrossEntropyLoss", on=[x(6, 4), random_integers(4, 6)]),
]


# The comparison


def leaves(arrays):
    """The arrays as our tensors and as PyTorch's; floating ones are leaves."""
    ours = [None if a is None else tensor(a, FastBackend, requires_grad=a.dtype.kind == "f") for a in arrays]
    theirs = [None if a is None else torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    return ours, theirs


def assert_equal(ours, theirs, message):
    """Check shapes and values; PyTorch's tensor without dimensions equals ours with one dimension."""
    values, expected = ours.to_numpy(), theirs.detach().numpy()
    assert values.shape == (expected.shape or values.shape[:1]), message
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=1e-10, atol=1e-10, err_msg=message)


def assert_same_gradients(ours, theirs, inputs, others):
    """Check the values, and the gradients of all inputs for the same random gradient of the result."""
    assert_equal(ours, theirs, "the value")
    if not theirs.requires_grad:
        return
    given = x(*theirs.shape, seed=9)
    theirs.backward(torch.tensor(given))
    ours.backward(tensor(given.reshape(ours.shape), FastBackend))
    for i, (a, b) in enumerate(zip(inputs, others, strict=True)):
        if b is not None and b.requires_grad and b.grad is not None:
            assert_equal(a.grad, b.grad, f"the gradient of input {i}")


def pair(name, args, settings):
    """Our layer and PyTorch's, with the same state."""
    kinds = getattr(nn, name), getattr(torch.nn, name)
    places = {"backend": FastBackend}, {"dtype": torch.float64}
    ours, theirs = [
        kind(*args, **settings, **{k: v for k, v in place.items() if k in inspect.signature(kind).parameters})
        for kind, place in zip(kinds, places, strict=True)
    ]
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.tensor(x(*parameter.shape)))
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    return ours, theirs


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS + LOSSES)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs):
    ours, theirs = pair(name, args, settings)
    for mode in (True, False):  # first training, in which some layers update statistics; then evaluation, in which they use them
        ours.train(mode), theirs.train(mode), ours.zero_grad(), theirs.zero_grad()
        a, b = leaves(inputs)
        if name.endswith("Loss"):
            b[1].requires_grad_(False)  # for some functions PyTorch has no gradient with respect to the target
        assert_same_gradients(ours(*a), theirs(*b), a, b)
        parameters = dict(theirs.named_parameters())
        assert [key for key, _ in ours.named_parameters()] == list(parameters)
        for key, parameter in ours.named_parameters():
            assert_equal(parameter.value.grad, parameters[key].grad, f"the gradient of {key}")
        state = {key: torch.tensor(value.to_numpy()) for key, value in ours.state_dict().items()}
        for key, value in theirs.state_dict().items():
            assert_equal(ours.state_dict()[key], value, key)
        theirs.load_state_dict(state)  # which refuses other names and shapes


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    a, b = leaves(inputs)
    if name.endswith(("_loss", "entropy", "logits")):
        b[1].requires_grad_(False)
    if name == "batch_norm":
        for statistic in [each for each in b[1:3] if each is not None]:
            statistic.requires_grad_(False)
    theirs = getattr(torch.nn.functional, OTHER_NAMES.get(name, name))
    assert_same_gradients(getattr(nn, name)(*a, *args, **settings), theirs(*b, *args, **settings), a, b)
