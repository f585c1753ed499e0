"""Comparison of layers and functions with PyTorch's of the same name: rows of a table, inputs, and the checks of a row."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from minitorch import FastBackend, float64, nn, tensor

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

EDGES = np.array([-np.inf, -1e300, -745.0, -20.0, -1.0, -1e-310, -0.0, 0.0, 1e-310, 0.5, 1.0, 20.0, 745.0, 1e300, np.inf, np.nan])
"""Extreme inputs: infinities, numbers whose exponential overflows, and subnormal numbers."""

FINITE = EDGES[~np.isinf(EDGES)]
"""Inputs for functions for which PyTorch gives NaN at infinity, in values or gradients, where ours are the limits."""

OTHER_NAMES = {"logsoftmax": "log_softmax", "avgpool2d": "avg_pool2d", "maxpool2d": "max_pool2d"}  # those published by the course


def alpha_dropout(input, p):
    """PyTorch's in training mode, as ours always is."""
    return torch.nn.functional.alpha_dropout(input, p, training=True)


ADAPTED = {"alpha_dropout": alpha_dropout}
"""PyTorch's functions of which ours has other arguments."""

TARGETS = {
    **dict.fromkeys(["margin_ranking_loss", "MarginRankingLoss", "cosine_embedding_loss", "CosineEmbeddingLoss"], 2),
    **dict.fromkeys(["triplet_margin_loss", "TripletMarginLoss", "triplet_margin_with_distance_loss", "TripletMarginWithDistanceLoss"]),
}
"""Losses whose target, for which PyTorch has not always a gradient, is not the second input, or which have none."""


class Part(NamedTuple):
    """A layer of each library, as an argument of a row."""

    name: str
    args: tuple[Any, ...]
    settings: dict[str, Any]


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
    shown = {key: "array" if isinstance(value, np.ndarray) else value for key, value in settings.items()}
    return pytest.param(name, args, settings, on, id=f"{name}{list(args) or ''}{shown or ''}"[:70])


def part(name, *args, **settings):
    """A layer as an argument of a row."""
    return Part(name, args, settings)


def build(library, given, dtype=float64):
    """Our layer or PyTorch's."""
    layers, place = (nn, (FastBackend, dtype)) if library == "ours" else (torch.nn, (getattr(torch, dtype.name),))
    made = getattr(layers, given.name)(*[argument(library, each) for each in given.args], **arguments(library, given.settings))
    return made.to(*place)


def argument(library, given):
    """An argument of a row for one of the libraries: arrays become tensors, parts become layers; the same within tuples."""
    if type(given) is tuple and any(isinstance(each, np.ndarray) for each in given):
        return tuple(argument(library, each) for each in given)
    if isinstance(given, Part):
        return build(library, given)
    if isinstance(given, np.ndarray):
        return tensor(given, FastBackend) if library == "ours" else torch.tensor(given)
    return given


def arguments(library, settings):
    return {name: argument(library, value) for name, value in settings.items()}


def flat(given):
    """The tensors in nested tuples."""
    return [each for part in given for each in flat(part)] if isinstance(given, (tuple, list)) else [given] * (given is not None)


def leaves(inputs):
    """The inputs with arrays as our tensors and as PyTorch's; floating ones are leaves."""
    found = [[argument(library, each) for each in inputs] for library in ("ours", "theirs")]
    for mine, other in zip(*map(flat, found), strict=True):
        if isinstance(other, torch.Tensor) and other.is_floating_point():
            mine.requires_grad_(True), other.requires_grad_(True)
    return found


def convert(given, dtype):
    """An input whose floating-point arrays have this dtype."""
    if isinstance(given, tuple):
        return tuple(convert(each, dtype) for each in given)
    return given.astype(dtype) if isinstance(given, np.ndarray) and given.dtype.kind == "f" else given


def freeze_target(name, inputs):
    """Let PyTorch compute no gradient with respect to the target of a loss, for which some of its functions have none."""
    target = TARGETS.get(name, 1)
    if name.endswith(("_loss", "Loss", "entropy", "logits")) and target is not None:
        inputs[target].requires_grad_(False)


def assert_equal(ours, theirs, message):
    """Check shapes, dtypes and values; PyTorch's tensor without dimensions equals ours with one dimension."""
    values, expected = ours.to_numpy(), theirs.detach().numpy()
    assert values.shape == (expected.shape or values.shape[:1]), message
    assert values.dtype == expected.dtype, message
    tolerance = 2e-4 if expected.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=tolerance, atol=tolerance, err_msg=message)


def assert_same_gradients(ours, theirs, inputs, others):
    """Check the values, and the gradients of all inputs for the same random gradients of the results."""
    for mine, other in zip(flat(ours), flat(theirs), strict=True):
        assert_equal(mine, other, "the value")
        if other.requires_grad:
            given = x(*other.shape, seed=9)
            other.backward(torch.tensor(given, dtype=other.dtype), retain_graph=True)
            mine.backward(tensor(given.reshape(mine.shape), mine.backend, dtype=mine.dtype), retain_graph=True)
    for i, (mine, other) in enumerate(zip(flat(inputs), flat(others), strict=True)):
        if isinstance(other, torch.Tensor) and other.grad is not None:
            assert_equal(mine.grad, other.grad, f"the gradient of input {i}")


def pair(name, args, settings, dtype=float64):
    """Our layer and PyTorch's, with the same state."""
    ours, theirs = (build(library, Part(name, args, settings), dtype) for library in ("ours", "theirs"))
    with torch.no_grad():
        for i, parameter in enumerate(theirs.parameters()):
            parameter.copy_(torch.tensor(x(*parameter.shape, seed=i)))
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    return ours, theirs


def without_bias(text):
    """The representation of a layer without what only newer versions of PyTorch show of norms."""
    return re.sub(r"(Norm\w*\(.*), bias=\w+", r"\1", text)


def check_names(ours, theirs):
    """Check the representation, and the names of modules and parameters."""
    assert without_bias(repr(ours)) == without_bias(repr(theirs))
    for names in ("named_modules", "named_parameters"):
        assert [key for key, _ in getattr(ours, names)()] == [key for key, _ in getattr(theirs, names)()]


def check_layer(name, args, settings, inputs, modes=(True, False), dtype=float64):
    """Check values, gradients and states: first in training, in which some layers update statistics; then in evaluation."""
    ours, theirs = pair(name, args, settings, dtype)
    for mode in modes:
        ours.train(mode), theirs.train(mode), ours.zero_grad(), theirs.zero_grad()
        a, b = leaves([convert(each, dtype) for each in inputs])
        freeze_target(name, b)
        assert_same_gradients(ours(*a), theirs(*b), a, b)
        parameters = dict(theirs.named_parameters())
        assert [key for key, _ in ours.named_parameters()] == list(parameters)
        for key, parameter in ours.named_parameters():
            assert_equal(parameter.grad, parameters[key].grad, f"the gradient of {key}")
        state = {key: torch.tensor(value.to_numpy()) for key, value in ours.state_dict().items()}
        for key, value in theirs.state_dict().items():
            assert_equal(ours.state_dict()[key], value, key)
        theirs.load_state_dict(state)  # which refuses other names and shapes
    return ours, theirs


def check_function(name, args, settings, inputs):
    """Check values, and gradients of all inputs."""
    a, b = leaves(inputs)
    freeze_target(name, b)
    if name in ("batch_norm", "instance_norm"):
        for statistic in [each for each in b[1:3] if each is not None]:
            statistic.requires_grad_(False)
    ours, theirs = getattr(nn, name), ADAPTED.get(name) or getattr(torch.nn.functional, OTHER_NAMES.get(name, name))
    out = ours(*a, *args, **arguments("ours", settings))
    assert_same_gradients(out, theirs(*b, *args, **arguments("theirs", settings)), a, b)
