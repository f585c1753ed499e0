"""Layers and functions of normalization against PyTorch's: values, gradients, arguments, text, and states in both directions."""

import inspect

import numpy as np
import pytest

from minitorch import nn

from .torch_comparison import check_function, check_layer, row, torch, uniform, x

IMAGE, VOLUME = x(2, 4, 7, 6), x(2, 4, 3, 2, 5)

LAYERS = [
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
    row("InstanceNorm1d", 4, on=[x(2, 4, 5)]),
    row("InstanceNorm1d", 4, eps=0.1, affine=True, on=[x(2, 4, 5)]),
    row("InstanceNorm2d", 4, on=[IMAGE]),
    row("InstanceNorm2d", 4, eps=0.1, affine=True, on=[IMAGE]),
    row("BatchNorm2d", 4, affine=False, momentum=0.3, on=[IMAGE]),
    row("BatchNorm2d", 4, bias=False, on=[IMAGE]),
    row("BatchNorm3d", 4, momentum=0.3, on=[VOLUME]),
    row("BatchNorm3d", 4, affine=False, track_running_stats=False, on=[VOLUME]),
    row("LayerNorm", [7, 6], on=[IMAGE]),
    row("GroupNorm", 2, 4, bias=False, on=[IMAGE]),
    row("InstanceNorm2d", 4, on=[IMAGE[0]]),
    row("InstanceNorm2d", 4, affine=True, bias=False, on=[IMAGE]),
    row("InstanceNorm3d", 4, on=[VOLUME]),
    *[
        row(f"InstanceNorm{i}d", 4, momentum=how, track_running_stats=True, on=[v])
        for i, v in ((1, x(2, 4, 5)), (2, IMAGE[0]))
        for how in (0.3, None)
    ],
]

FUNCTIONS = [
    row("batch_norm", training=True, on=[x(5, 3), None, None, x(3), x(3, seed=1)]),
    row("batch_norm", eps=0.2, on=[x(5, 3, 2), x(3), uniform(3), x(3, seed=1), x(3, seed=2)]),
    row("layer_norm", (4,), on=[x(2, 3, 4)]),
    row("group_norm", 2, on=[x(2, 4, 3)]),
    row("rms_norm", (4,), eps=1e-3, on=[x(2, 3, 4)]),
    row("rms_norm", (3, 4), on=[x(2, 3, 4)]),
    row("instance_norm", eps=0.1, on=[x(2, 3, 4), None, None, x(3), x(3, seed=1)]),
    row("instance_norm", on=[IMAGE]),
    row("batch_norm", on=[x(5, 3), x(3), uniform(3)]),
    row("instance_norm", use_input_stats=False, on=[x(2, 3, 4), x(3), uniform(3), x(3, seed=1), x(3, seed=2)]),
]


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs):
    check_layer(name, args, settings, inputs)


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    check_function(name, args, settings, inputs)


@pytest.mark.parametrize("name", sorted({case.values[0] for case in [*LAYERS, *FUNCTIONS]}))
def test_the_arguments_and_the_text_of_a_layer_are_those_of_pytorch(name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name, None) or getattr(torch.nn.functional, name)
    arguments = [[(p.name, p.default) for p in inspect.signature(fn).parameters.values()] for fn in (ours, theirs)]
    assert arguments[0] == arguments[1]
    if inspect.isclass(ours):
        sizes = (2, 4) if name == "GroupNorm" else (4,)
        assert repr(ours(*sizes)) == repr(theirs(*sizes))
        assert {*vars(theirs(*sizes))} - {*vars(torch.nn.Module())} <= {*vars(ours(*sizes))}
        with torch.no_grad():
            assert [np.array(p.tolist()).tolist() for p in ours(*sizes).parameters()] == [p.tolist() for p in theirs(*sizes).parameters()]
