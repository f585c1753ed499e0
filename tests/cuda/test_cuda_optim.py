"""Optimizer steps on the GPU: composed of tensor operations, written in place."""

import numpy as np
import pytest

from minitorch import SGD, Adam, Parameter, SimpleBackend, tensor
from minitorch.optim import AdamW, RMSprop, clip_grad_norm_, clip_grad_value_

START = np.array([[1.0, -2.0, 0.5]])
GRADIENTS = np.array([[[0.3, -1.0, 2.0]], [[-0.1, 4.0, 0.0]]])


def parameters_after_steps(rule, settings, backend):
    p = Parameter(tensor(START, backend))
    optimizer, leaf = rule([p], **settings), p.value
    for gradient in GRADIENTS:
        p.value.grad = tensor(gradient, backend)
        clip_grad_norm_([p], 3.0)
        clip_grad_value_([p], 2.5)
        optimizer.step()
    assert p.value is leaf
    assert p.value.backend is backend
    again = rule([p])
    again.load_state_dict(optimizer.state_dict())
    return p.value.to_numpy(), {name: np.asarray(kept).tolist() for name, kept in again.state_dict()["state"].get(0, {}).items()}


@pytest.mark.parametrize(
    ("rule", "settings"),
    [
        (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        (Adam, {"lr": 0.1, "weight_decay": 0.1}),
        (AdamW, {"lr": 0.1}),
        (RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True}),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_optimizer_steps_on_the_gpu_equal_those_on_the_cpu(rule, settings, cuda):
    there, kept_there = parameters_after_steps(rule, settings, cuda)
    here, kept_here = parameters_after_steps(rule, settings, SimpleBackend)
    np.testing.assert_allclose(there, here, rtol=1e-12)
    assert kept_there.keys() == kept_here.keys()
    for name, kept in kept_here.items():
        np.testing.assert_allclose(kept_there[name], kept, rtol=1e-12)
