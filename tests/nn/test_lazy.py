"""Lazy layers: what they are before and after the first call, and their state dicts, at known values and against PyTorch."""

import copy
import importlib.util
import io
import pickle
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.nn.lazy import LazyModuleMixin
from minitorch.nn.parameter import Parameter, is_lazy
from minitorch.torch import nn
from tests.nn.checks import refuses

HAS_TORCH = importlib.util.find_spec("torch") is not None

# Rows: a layer, its arguments without the first one, the shape of an input, and the sizes of its parameters and buffers afterwards

LAYERS: list[tuple[str, dict[str, Any], tuple[int, ...], list[tuple[int, ...]]]] = [
    ("Linear", {"out_features": 4}, (2, 3, 5), [(4, 5), (4,)]),
    ("Linear", {"out_features": 4, "bias": False}, (5,), [(4, 5)]),
    ("Conv1d", {"out_channels": 4, "kernel_size": 3, "padding": "same"}, (2, 6, 8), [(4, 6, 3), (4,)]),
    ("Conv2d", {"out_channels": 4, "kernel_size": (2, 3), "groups": 2}, (2, 6, 8, 8), [(4, 3, 2, 3), (4,)]),
    ("Conv2d", {"out_channels": 4, "kernel_size": 3, "bias": False}, (6, 8, 8), [(4, 6, 3, 3)]),
    ("Conv3d", {"out_channels": 2, "kernel_size": 2}, (1, 3, 4, 4, 4), [(2, 3, 2, 2, 2), (2,)]),
    ("ConvTranspose1d", {"out_channels": 4, "kernel_size": 3}, (2, 6, 8), [(6, 4, 3), (4,)]),
    ("ConvTranspose2d", {"out_channels": 4, "kernel_size": 3, "groups": 2}, (2, 6, 8, 8), [(6, 2, 3, 3), (4,)]),
    ("ConvTranspose3d", {"out_channels": 2, "kernel_size": 2}, (1, 3, 4, 4, 4), [(3, 2, 2, 2, 2), (2,)]),
    ("BatchNorm1d", {}, (4, 3), [(3,), (3,), (3,), (3,), ()]),
    ("BatchNorm2d", {"affine": False}, (4, 3, 2, 2), [(3,), (3,), ()]),
    ("BatchNorm3d", {"track_running_stats": False}, (4, 3, 2, 2, 2), [(3,), (3,)]),
    ("InstanceNorm1d", {}, (4, 3, 5), [(3,), (3,), (3,), (3,), ()]),
    ("InstanceNorm2d", {"affine": False}, (4, 3, 2, 2), [(3,), (3,), ()]),
    ("InstanceNorm3d", {"track_running_stats": False}, (4, 3, 2, 2, 2), [(3,), (3,)]),
]


def name_of(case: Any) -> str:
    return case if isinstance(case, str) else ""


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng([7, *shape]).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("name", "options", "shape", "sizes"), LAYERS, ids=name_of)
def test_the_first_call_makes_an_ordinary_layer(
    name: str, options: dict[str, Any], shape: tuple[int, ...], sizes: list[tuple[int, ...]]
) -> None:
    layer, x = getattr(nn, f"Lazy{name}")(**options), torch.tensor(numbers(shape))
    before, optimizer = list(layer.parameters()), torch.optim.SGD([*layer.parameters(), torch.ones(1, requires_grad=True)], lr=0.1)
    assert all(map(is_lazy, before))
    torch.manual_seed(3)
    out = layer(x)
    assert type(layer) is getattr(nn, name)
    assert [tuple(value.shape) for value in layer.state_dict().values()] == sizes
    assert [a is b and type(a) is Parameter for a, b in zip(layer.parameters(), before, strict=True)] == [True] * len(before)

    torch.manual_seed(3)  # the ordinary layer draws the same initial weights
    first = "in_features" if name == "Linear" else "in_channels" if "Conv" in name else "num_features"
    defaults = {"affine": True, "track_running_stats": True} if "Norm" in name else {}
    ordinary = getattr(nn, name)(getattr(layer, first), **defaults | options)
    assert repr(layer) == repr(ordinary)
    assert out.tolist() == ordinary(x).tolist()
    assert layer(x).tolist() == ordinary(x).tolist()  # without hooks
    if before:
        layer(x).square().sum().backward()
        old = before[-1].tolist()
        optimizer.step()
        assert before[-1].tolist() != old
    assert sorted(vars(layer)) == sorted(vars(ordinary))


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize(("name", "options", "shape", "sizes"), LAYERS, ids=name_of)
def test_lazy_layers_are_those_of_pytorch(name: str, options: dict[str, Any], shape: tuple[int, ...], sizes: list[tuple[int, ...]]) -> None:
    real = importlib.import_module("torch")
    ours, theirs, x = getattr(nn, f"Lazy{name}")(**options), getattr(real.nn, f"Lazy{name}")(**options), numbers(shape)
    assert repr(ours) == repr(theirs)
    assert {key: is_lazy(value) for key, value in ours.state_dict().items()} == {
        key: real.nn.parameter.is_lazy(value) for key, value in theirs.state_dict().items()
    }
    theirs(real.tensor(x))
    ours.load_state_dict(theirs.state_dict())
    assert type(ours).__name__ == f"Lazy{name}"
    np.testing.assert_allclose(ours(torch.tensor(x)).detach().numpy(), theirs(real.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-6)
    assert repr(ours) == repr(theirs)


# Before the first call


@pytest.mark.parametrize("use", ["numel()", "dim()", "detach()", "shape", "size()", "sum()", "add(1)", "clone()", "tolist()"])
def test_parameters_without_a_shape_have_no_numbers(use: str) -> None:
    weight = nn.LazyLinear(3).weight
    message = "an UninitializedParameter has neither shape nor numbers yet; call the layer with a batch, which gives it a shape"
    for error in (RuntimeError, ValueError):
        with pytest.raises(error, match=message):
            eval(f"weight.{use}", {"weight": weight})


def test_what_is_known_of_a_parameter_without_a_shape() -> None:
    weight = nn.LazyLinear(3, dtype=torch.float64).weight
    assert (repr(weight), str(weight)) == ("<UninitializedParameter>",) * 2
    assert (weight.dtype, weight.device.type, weight.requires_grad, weight.is_leaf, weight.grad) == (torch.float64, "cpu", True, True, None)
    assert weight.data.shape == weight.to(torch.float32).shape == (0,)
    optimizer = torch.optim.Adam([weight])
    optimizer.step()
    optimizer.zero_grad()
    assert float(torch.nn.utils.clip_grad_norm_([weight], 1.0)) == 0


def test_parameters_can_be_materialized_by_hand() -> None:
    weight, mean = nn.UninitializedParameter(requires_grad=False), nn.UninitializedBuffer(dtype=torch.float64)
    weight.materialize((2, 3), dtype=torch.float16)
    mean.materialize(torch.Size([4]))
    assert (type(weight), weight.shape, weight.dtype, weight.requires_grad) == (nn.Parameter, (2, 3), torch.float16, False)
    assert (type(mean), mean.shape, mean.dtype) == (torch.Tensor, (4,), torch.float64)


def test_lazy_layers_are_converted_copied_and_pickled() -> None:
    net = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).double()
    net[0].bias.requires_grad_(False)
    for same in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(same) == repr(net)
        out = copy.deepcopy(same)(torch.ones(2, 3, dtype=torch.float64))
        assert out.dtype == torch.float64
        assert is_lazy(same[0].weight)
        assert [p.requires_grad for p in same.parameters()] == [True, False, True, True]
    net(torch.ones(2, 3, dtype=torch.float64))
    assert net[1].running_mean.dtype == torch.float64


def test_arguments_are_those_of_the_layer_but_the_first() -> None:
    assert repr(nn.LazyConv2d(4, 3, 2, 1)) == "LazyConv2d(0, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))"
    for arguments, options, message in [
        ((), {}, "missing a required argument: 'out_features'"),
        ((1, True, None, None, 0), {}, "too many positional arguments"),
        ((1,), {"in_features": 2}, "got an unexpected keyword argument 'in_features'"),
    ]:
        with pytest.raises(TypeError, match=message):
            nn.LazyLinear(*arguments, **options)


def test_inputs_of_wrong_shapes_are_refused_and_leave_the_layer_lazy() -> None:
    conv, x = nn.LazyConv2d(4, 3, groups=2), torch.zeros(3, 8)
    with pytest.raises(ValueError, match=r"LazyConv2d expected an input of 3 or 4 dimensions, got 2 \(input \(3, 8\)\)"):
        conv(x)
    with pytest.raises(ValueError, match="LazyConv2d expected groups that divide 3 and 4 channels, got 2"):
        conv(torch.zeros(1, 3, 8, 8))
    refuses(ValueError, "LazyLinear expected an input of at least 1 dimensions, got 0 (input ())", nn.LazyLinear(3), torch.tensor(1.0))
    refuses(TypeError, "LazyLinear expected a Tensor as input, got list; make one with tensor(...)", nn.LazyLinear(3), [1.0])
    assert conv(torch.zeros(1, 6, 8, 8)).shape == (1, 4, 6, 6)


def test_parameters_can_be_initialized_before_the_first_call() -> None:
    layer = nn.LazyLinear(3)
    layer.reset_parameters()
    assert layer.has_uninitialized_params()
    layer.initialize_parameters(torch.ones(2, 5))
    weight = layer.weight.tolist()
    assert (repr(layer), layer.has_uninitialized_params()) == ("LazyLinear(in_features=5, out_features=3, bias=True)", False)
    layer(torch.ones(2, 5))
    assert (type(layer), layer.weight.tolist()) == (nn.Linear, weight)


def test_hooks_and_modes_stay_and_shared_layers_become_ordinary_once() -> None:
    layer = nn.LazyBatchNorm1d().eval()
    handle = layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    assert layer(torch.ones(2, 3)).tolist() == [[pytest.approx(2, rel=1e-4)] * 3] * 2
    assert (type(layer), layer.training, len(layer._forward_pre_hooks), layer.num_batches_tracked.item()) == (nn.BatchNorm1d, False, 1, 0)
    handle.remove()
    assert layer._forward_pre_hooks == {}
    both = nn.LazyLinear(3)
    assert nn.Sequential(both, both)(torch.ones(1, 3)).shape == (1, 3)
    assert isinstance(nn.LazyLinear(3), nn.Linear)


# State dicts


def test_state_dicts_fit_in_either_direction() -> None:
    net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
    ordinary, x = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval(), torch.tensor(numbers((4, 3)))
    lazy_state = net.state_dict()
    assert str(lazy_state["0.weight"]) == "<UninitializedParameter>"
    assert str(net.load_state_dict(lazy_state)) == "<All keys matched successfully>"
    assert is_lazy(net[0].weight)
    message = "\n\t".join(
        [
            "Linear.load_state_dict expected matching names and shapes, got:",
            "weight: expected shape (2, 3), got an UninitializedParameter; save it after the first batch",
            "bias: expected shape (2,), got an UninitializedParameter; save it after the first batch",
        ]
    )
    refuses(RuntimeError, message, ordinary[0].load_state_dict, net[0].state_dict())
    for assign in (False, True):
        fresh = copy.deepcopy(net).eval()
        fresh.load_state_dict(ordinary.state_dict(), assign=assign)
        assert (type(fresh[0]), type(fresh[0].weight), fresh[0].in_features) == (nn.LazyLinear, nn.Parameter, 0)
        assert fresh(x).tolist() == ordinary(x).tolist()
        assert repr(fresh) == repr(ordinary)


def test_files_keep_parameters_without_a_shape() -> None:
    net, file = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d()), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    read = torch.load(file)
    assert [str(value) for value in read.values()] == [str(value) for value in net.state_dict().values()]
    if HAS_TORCH:
        file.seek(0)
        theirs = importlib.import_module("torch").load(file, weights_only=False)
        assert [str(value) for value in theirs.values()] == [str(value) for value in net.state_dict().values()]


def test_layers_without_inputs_or_outputs_read_their_own_state_dicts() -> None:
    layers = [
        nn.Linear(0, 3),
        nn.Linear(3, 0),
        nn.Conv2d(0, 3, 2),
        nn.BatchNorm1d(0),
        nn.Embedding(0, 3),
        nn.GRUCell(0, 3),
        nn.GRUCell(3, 0),
    ]
    for layer in layers:
        state = {name: value.clone() for name, value in layer.state_dict().items()}
        assert str(layer.load_state_dict(state)) == "<All keys matched successfully>"
    out = layers[0](torch.ones(2, 0))
    out.sum().backward()
    assert (out.tolist(), layers[0].bias.grad.tolist()) == ([[0, 0, 0]] * 2, [2, 2, 2])
    assert layers[1](torch.ones(2, 3)).shape == (2, 0)
    assert layers[2](torch.ones(1, 0, 2, 2)).tolist() == [[[[0]]] * 3]


# Programs


def test_networks_as_in_d2l() -> None:
    net = nn.Sequential(nn.LazyLinear(256), nn.ReLU(), nn.LazyLinear(10))
    assert net(torch.rand(2, 20)).shape == (2, 10)
    assert [tuple(p.shape) for p in net.parameters()] == [(256, 20), (256,), (10, 256), (10,)]

    def init_cnn(module: Any) -> None:
        if type(module) in (nn.Linear, nn.Conv2d):
            nn.init.xavier_uniform_(module.weight)
            seen.append(type(module))

    seen: list[type] = []
    lenet = nn.Sequential(
        nn.LazyConv2d(6, kernel_size=5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2, 2), nn.LazyConv2d(16, 5), nn.Sigmoid(),
        nn.AvgPool2d(2, 2), nn.Flatten(), nn.LazyLinear(120), nn.Sigmoid(), nn.LazyLinear(10),
    )  # fmt: skip
    lenet.apply(init_cnn)
    assert seen == []
    assert lenet(torch.zeros(1, 1, 28, 28)).shape == (1, 10)
    lenet.apply(init_cnn)
    assert seen == [nn.Conv2d, nn.Conv2d, nn.Linear, nn.Linear]


class Scale(LazyModuleMixin, nn.Module):
    """A module of one's own that learns its number of features from its input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.UninitializedParameter()
        self.register_buffer("mean", nn.UninitializedBuffer())

    def initialize_parameters(self, x: Any, *, mean: bool = True) -> None:
        if self.has_uninitialized_params():
            self.weight.materialize(x.shape[-1:])
            nn.init.ones_(self.weight)
            if mean:
                self.mean.materialize(x.shape[-1:])

    def forward(self, x: Any, *, mean: bool = True) -> Any:
        return x * self.weight + self.mean


def test_modules_of_ones_own_are_lazy() -> None:
    layer = Scale()
    assert layer(torch.tensor([1.0, 2.0])).tolist() == [1, 2]
    assert (type(layer), layer.has_uninitialized_params(), layer._pre_hooks) == (Scale, False, {})
    message = "Scale.initialize_parameters left a parameter without a shape; call materialize(shape) of each"
    with pytest.raises(RuntimeError, match=message.replace("(", r"\(").replace(")", r"\)")):
        Scale()(torch.ones(2), mean=False)

    class Unfinished(LazyModuleMixin, nn.Module):
        pass

    message = "Unfinished has no initialize_parameters; define initialize_parameters(self, input) in the class"
    refuses(NotImplementedError, message, Unfinished(), 1)
