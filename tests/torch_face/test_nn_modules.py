"""Modules of minitorch.torch.nn: registration, state dicts, hooks, conversion and representation, without PyTorch."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import minitorch
import minitorch.nn
import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.nn import functional as F
from minitorch.torch.nn import init


class Net(nn.Module):
    """Two layers, a scale and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0]))
        self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1, bias=False)
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("hidden", torch.ones(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x))) * self.scale


def test_a_parameter_is_one_of_both_libraries() -> None:
    x = nn.Parameter(torch.tensor([1.0, 2.0]))
    assert isinstance(x, torch.Tensor)
    assert isinstance(x, minitorch.Parameter)
    assert isinstance(x.value, minitorch.Tensor)
    assert x.value.requires_grad
    assert not nn.Parameter(torch.ones(1), requires_grad=False).requires_grad
    x.update(minitorch.tensor([3.0]))
    assert x.tolist() == [3.0]
    with pytest.raises(TypeError, match=r"Parameter expected a Tensor, got list; make one with torch\.tensor"):
        nn.Parameter([1.0])


def test_a_parameter_shares_the_memory_of_its_tensor() -> None:
    data = torch.zeros(2)
    x = nn.Parameter(data)
    data[0] = 5.0
    assert x.tolist() == [5.0, 0.0]


def test_the_engine_s_optimizer_updates_parameters() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight.data = torch.tensor([[1.0, 1.0]])
    optimizer = minitorch.optim.SGD(layer.parameters(), lr=0.5)
    layer(torch.tensor([1.0, 2.0])).sum().backward()
    optimizer.step()
    assert layer.weight.tolist() == [[0.5, 0.0]]


def test_assignment_registers_parameters_modules_and_buffers() -> None:
    net = Net()
    names = ["scale", "first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in net.named_parameters()] == names
    assert all(isinstance(x, nn.Parameter) for x in net.parameters())
    assert [name for name, _ in net.named_buffers()] == ["seen", "hidden"]
    assert list(net.state_dict()) == ["scale", "seen", *names[1:]]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert next(net.parameters()) is net.scale
    assert sum(x.numel() for x in net.parameters()) == 13


def test_what_is_registered_is_replaced_only_by_its_like() -> None:
    net = Net()
    with pytest.raises(TypeError, match=r"parameter 'scale' expected torch\.nn\.Parameter or None, got Tensor"):
        net.scale = torch.ones(1)
    with pytest.raises(TypeError, match=r"child module 'first' expected torch\.nn\.Module or None, got int"):
        net.first = 3
    with pytest.raises(TypeError, match=r"buffer 'seen' expected torch\.Tensor or None, got list"):
        net.seen = [1]
    net.seen = torch.ones(1)
    assert net.state_dict()["seen"].tolist() == [1.0]
    net.scale = None
    assert "scale" not in dict(net.named_parameters())


@pytest.mark.parametrize(("name", "message"), [("a.b", "a name without a dot"), ("", "a name without a dot"), ("first", "already exists")])
def test_names_are_checked(name: str, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        Net().register_buffer(name, torch.ones(1))


def test_members_are_found_by_dotted_names() -> None:
    net = Net()
    assert net.get_submodule("first") is net.first
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("seen") is net.seen
    with pytest.raises(AttributeError, match=r"Net has no parameter 'third'; it has scale, first\.weight"):
        net.get_parameter("third")


def test_a_state_dict_is_copied() -> None:
    net, other = Net(), Net()
    assert repr(net.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert net.first.weight.tolist() == other.first.weight.tolist()
    with torch.no_grad():
        other.first.weight.zero_()
    assert net.first.weight.abs().sum().item() > 0
    assert isinstance(net.state_dict(), OrderedDict)
    assert not net.state_dict()["first.weight"].requires_grad


def test_a_state_dict_that_differs_is_refused_as_a_whole() -> None:
    net = Net()
    state, before = net.state_dict(), net.first.bias.tolist()
    state["first.weight"], state["extra"] = torch.zeros(9), torch.zeros(1)
    state["first.bias"] = torch.ones(3)
    del state["scale"]
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    lines = str(error.value).split("\n\t")
    assert lines == [
        "Net.load_state_dict expected matching names and shapes, got:",
        'unexpected "extra"',
        'missing "scale"',
        "first.weight: expected shape (3, 2), got (9,)",
    ]
    assert net.first.bias.tolist() == before


def test_without_strict_the_differences_are_returned() -> None:
    keys = Net().load_state_dict({"extra": torch.zeros(1), "scale": torch.tensor([7.0])}, strict=False)
    assert keys.unexpected_keys == ["extra"]
    assert keys.missing_keys == ["seen", "first.weight", "first.bias", "second.weight"]


def test_shared_parameters_are_listed_once() -> None:
    net = nn.ModuleDict({"a": nn.Embedding(4, 3), "b": nn.Linear(3, 4, bias=False)})
    net["b"].weight = net["a"].weight
    assert len(list(net.parameters())) == 1
    assert list(net.state_dict()) == ["a.weight", "b.weight"]


def test_modes_and_gradients_are_set_for_all() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    model = Net().requires_grad_(False)
    assert not any(x.requires_grad for x in model.parameters())


def test_gradients_are_reset() -> None:
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0.0]
    net.zero_grad()
    assert net.scale.grad is None


def test_apply_visits_children_first() -> None:
    seen = []
    nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU())).apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_hooks_see_and_replace_results() -> None:
    layer, seen = nn.Identity(), []
    handle = layer.register_forward_hook(lambda module, args, output: output * 2)
    layer.register_forward_pre_hook(lambda module, args: seen.append(args[0].tolist()))
    assert layer(torch.tensor([1.0])).tolist() == [2.0]
    assert seen == [[1.0]]
    handle.remove()
    assert layer(torch.tensor([1.0])).tolist() == [1.0]


def test_hooks_see_keyword_arguments_in_their_order() -> None:
    class Scale(nn.Module):
        def forward(self, x: torch.Tensor, by: float = 1.0) -> torch.Tensor:
            return x * by

    layer, seen = Scale(), []
    layer.register_forward_pre_hook(lambda module, args, kwargs: ((args[0] + 1,), {"by": kwargs["by"] * 2}), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, output: seen.append((args[0].item(), kwargs, output.item())), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, output: output + 100, prepend=True)
    assert layer(torch.tensor(1.0), by=3.0).item() == 112
    assert seen == [(2.0, {"by": 6.0}, 112.0)]
    with pytest.raises(TypeError, match="a hook expected a function, got int"):
        layer.register_forward_hook(3)
    with pytest.raises(NotImplementedError, match="register_forward_hook supports always_call=False only"):
        layer.register_forward_hook(print, always_call=True)


def test_backward_hooks_see_and_replace_gradients() -> None:
    class Products(nn.Module):
        def forward(self, x: torch.Tensor, factor: float, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * y * factor, x + 1

    layer, seen = Products(), []

    def hook(module: nn.Module, grad_input: tuple, grad_output: tuple) -> tuple:
        assert module is layer
        seen.append(([None if g is None else g.tolist() for g in grad_input], [g.tolist() for g in grad_output]))
        return (grad_input[0] * 10, None, grad_input[2])

    handle = layer.register_full_backward_hook(hook)
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[3.0, 4.0]], requires_grad=True)
    product, total = layer(x, 2.0, y)
    (product.sum() + 5 * total.sum()).backward()
    assert seen == [([[11.0, 13.0], None, [[2.0, 4.0]]], [[[1.0, 1.0]], [5.0, 5.0]])]
    assert x.grad.tolist() == [110.0, 130.0]
    assert y.grad.tolist() == [[2.0, 4.0]]
    handle.remove()
    product, _ = layer(x, 2.0, y)
    product.sum().backward()
    assert len(seen) == 1
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: grad_input[:1])
    with pytest.raises(RuntimeError, match="a backward hook expected to return 3 gradients, got 1"):
        layer(x, 2.0, y)[0].sum().backward()


def test_a_backward_hook_of_a_first_layer_sees_no_gradient_of_its_input() -> None:
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output[0].tolist())))
    layer(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_hooks_of_children_within_a_layer_of_the_engine_see_tensors() -> None:
    attention, seen = nn.MultiheadAttention(4, 2), []
    attention.out_proj.register_forward_hook(lambda module, args, output: seen.append((type(args[0]), type(output))))
    attention(*[torch.ones(3, 1, 4)] * 3)
    assert seen == [(torch.Tensor, torch.Tensor)]


def test_conversion_changes_parameters_gradients_and_buffers() -> None:
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    assert net.double() is net
    assert {x.dtype for x in (*net.parameters(), *net.buffers())} == {torch.float64}
    assert net.scale.grad.dtype == torch.float64
    assert net.to(torch.ones(1)).scale.dtype == torch.float32
    assert net.to("cpu", torch.float64).scale.dtype == torch.float64
    with pytest.raises(TypeError, match="expected a floating-point dtype, got int64"):
        net.to(torch.int64)


def test_copies_are_independent() -> None:
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other.first.weight, nn.Parameter)
        assert other.first.weight.tolist() == net.first.weight.tolist()
        with torch.no_grad():
            other.first.weight.zero_()
        assert net.first.weight.abs().sum().item() > 0


@pytest.mark.usefixtures("fast_backend")
def test_layers_are_in_float32_on_the_compiled_backend() -> None:
    layer = nn.Linear(2, 3)
    assert layer.weight.dtype == torch.float32
    assert layer.weight.backend is minitorch.FastBackend
    assert nn.Linear(2, 3, dtype=torch.float64, device="cpu").weight.dtype == torch.float64


def test_modules_of_the_engine_are_adapted() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            backend = torch.ones(1).backend
            self.inner = minitorch.nn.Sequential(minitorch.nn.Linear(2, 1, backend=backend, dtype="float32"))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    layer = minitorch.nn.Linear(2, 1)
    net = Outer()
    assert isinstance(net.inner[0].weight, nn.Parameter)
    assert net(torch.ones(1, 2)).shape == (1, 1)
    with pytest.raises(TypeError, match=r"expected modules of torch\.nn, got minitorch\.nn\.summary"):
        net.other = type("Other", (minitorch.nn.Module,), {"__module__": "minitorch.nn.summary"})()
    net.layer = layer
    assert net.layer.weight._tensor is layer.weight.value._tensor


def test_representations_are_those_of_pytorch() -> None:
    net = nn.Sequential(OrderedDict([("conv", nn.Conv2d(1, 8, 3, padding=1)), ("act", nn.ReLU(inplace=True))]))
    expected = "Sequential(\n  (conv): Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))\n  (act): ReLU(inplace=True)\n)"
    assert repr(net) == expected
    blocks = nn.ModuleList([nn.Linear(1, 2) for _ in range(3)] + [nn.Tanh()])
    assert repr(blocks) == ("ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=2, bias=True)\n  (3): Tanh()\n)")


def test_containers_have_pytorch_s_methods() -> None:
    blocks = nn.ModuleList([nn.Linear(1, 1)])
    blocks += [nn.ReLU()]
    blocks.append(nn.Tanh()).insert(0, nn.Identity())
    assert [type(module).__name__ for module in blocks] == ["Identity", "Linear", "ReLU", "Tanh"]
    assert type(blocks[1:3]) is nn.ModuleList
    assert type(nn.Sequential(*blocks)[:2]) is nn.Sequential
    assert blocks.pop() is not None
    assert len(blocks) == 3
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    assert list(table.keys()) == ["a", "b"]
    lists, named = nn.ParameterList([torch.ones(1), nn.Parameter(torch.ones(2))]), nn.ParameterDict({"x": torch.ones(3)})
    assert [x.numel() for x in lists.parameters()] == [1, 2]
    assert list(lists.state_dict()) == ["0", "1"]
    assert list(named.state_dict()) == ["x"]
    assert named.setdefault("y", torch.zeros(2)) is named.get("y")
    assert named.get("z", 7) == 7
    assert named.pop("x").tolist() == [1.0, 1.0, 1.0]
    assert list(named) == ["y"]
    named.clear()
    assert len(named) == 0
    chain = nn.Sequential(nn.ReLU(), nn.Tanh()).insert(1, nn.Identity())
    assert [(name, type(module).__name__) for name, module in chain.named_children()] == [("0", "ReLU"), ("1", "Identity"), ("2", "Tanh")]
    assert type(chain.pop(0)) is nn.ReLU
    assert list(chain._modules) == ["0", "1"]


def test_in_place_activations_change_their_input() -> None:
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    leaf = torch.tensor([-1.0], requires_grad=True)
    y = leaf * 3
    assert nn.ReLU(inplace=True)(y) is y
    assert y.tolist() == [0.0]
    y.sum().backward()
    assert leaf.grad.tolist() == [0.0]
    with pytest.raises(RuntimeError, match="a leaf that requires gradients cannot be changed in place"):
        F.relu(leaf, inplace=True)


def test_slopes_of_rrelu_are_random_in_training_only() -> None:
    torch.manual_seed(0)
    x, layer = torch.tensor([2.0, *[-1.0] * 500], requires_grad=True), nn.RReLU(0.1, 0.3)
    out = layer(x)
    assert out[0].item() == 2.0
    assert -0.3 <= out[1:].min().item() < -0.29
    assert -0.11 < out[1:].max().item() <= -0.1
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[1:], -out.detach().numpy()[1:], rtol=1e-6)
    np.testing.assert_allclose(layer.eval()(x).detach().numpy(), [2.0] + [-0.2] * 500, rtol=1e-6)
    with pytest.raises(ValueError, match=r"rrelu expected lower of at most upper, got 0\.4 and 0\.3"):
        F.rrelu(x, 0.4, 0.3)


def test_activations_with_an_underscore_are_in_place() -> None:
    for name, args in (("leaky_relu_", (0.5,)), ("elu_", ()), ("hardtanh_", ()), ("threshold_", (0.0, 9.0)), ("rrelu_", (0.5, 0.5))):
        x, expected = torch.tensor([-2.0, 0.5]), getattr(F, name[:-1])(torch.tensor([-2.0, 0.5]), *args).tolist()
        assert getattr(F, name)(x, *args) is x
        assert x.tolist() == expected
        assert F.relu_(torch.tensor([-1.0])).tolist() == [0.0]


def test_dropout_scales_in_training_only() -> None:
    torch.manual_seed(0)
    x, layer = torch.ones(1000), nn.Dropout(0.25)
    dropped = layer(x)
    assert sorted(set(dropped.tolist())) == [0.0, pytest.approx(4 / 3)]
    assert 0.65 < (dropped > 0).float().mean().item() < 0.85
    assert layer.eval()(x).tolist() == x.tolist()
    channels = F.dropout2d(torch.ones(4, 50, 3, 3), 0.5)
    assert set(channels.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
    with pytest.raises(ValueError, match="dropout expected a probability from 0 to 1, got 2"):
        nn.Dropout(2)
    volumes = nn.Dropout3d(0.5)(torch.ones(4, 50, 2, 2, 2))
    assert set(volumes.sum((2, 3, 4)).flatten().tolist()) == {0.0, 16.0}


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    torch.manual_seed(0)
    x, layer = torch.randn(20000), nn.AlphaDropout(0.3)
    dropped = layer(x)
    assert dropped.mean().item() == pytest.approx(0, abs=0.03)
    assert dropped.std().item() == pytest.approx(1, abs=0.03)
    values, counts = np.unique(dropped.numpy(), return_counts=True)
    limit, scale = -1.7580993, (0.7 * (1 + 0.3 * 1.7580993**2)) ** -0.5
    assert values[counts.argmax()] == pytest.approx(scale * limit * (1 - 0.3), rel=1e-5)
    assert counts.max() / 20000 == pytest.approx(0.3, abs=0.02)
    assert layer.eval()(x) is x
    assert F.alpha_dropout(x, 1.0, training=True).abs().max().item() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.LSTM(2, 3, proj_size=2), "LSTM supports proj_size=0 only, got 2; leave proj_size out"),
        (lambda: F.avg_pool2d(torch.ones(1, 1, 4, 4), 2, ceil_mode=True, divisor_override=3),
         "avg_pool2d with divisor_override supports ceil_mode=False only, got True; leave ceil_mode out"),
        (lambda: nn.Embedding(3, 2, max_norm=1.0), "Embedding supports max_norm=None only, got 1.0; leave max_norm out"),
        (lambda: F.huber_loss(torch.ones(1), torch.ones(1), weight=torch.ones(1)), "huber_loss supports weight=None only"),
    ],
)  # fmt: skip
def test_options_that_are_not_supported_are_refused(call: object, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call()  # type: ignore[operator]


def test_initial_values_are_written_in_place() -> None:
    torch.manual_seed(0)
    x = nn.Parameter(torch.empty(30, 40))
    assert init.constant_(x, 2.5) is x
    assert x.min().item() == x.max().item() == 2.5
    init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu")
    assert x.std().item() == pytest.approx((2 / 30) ** 0.5, rel=0.1)
    init.xavier_uniform_(x, gain=init.calculate_gain("relu"))
    assert x.abs().max().item() == pytest.approx(2**0.5 * (6 / 70) ** 0.5, rel=0.02)
    init.orthogonal_(x, gain=3.0)
    rows = x.detach().numpy()
    np.testing.assert_allclose(rows @ rows.T, 9 * np.eye(30), atol=1e-4)
    init.trunc_normal_(x, std=2.0, a=-1.0, b=3.0)
    assert x.min().item() >= -1
    assert x.max().item() <= 3
    init.eye_(x)
    assert x.sum().item() == 30
    kernel = init.dirac_(torch.empty(3, 2, 3, 3)).numpy()
    assert (kernel[0, 0, 1, 1], kernel[1, 1, 1, 1], np.abs(kernel).sum()) == (1, 1, 2)


def test_gradients_are_clipped() -> None:
    x, y = torch.zeros(2, requires_grad=True), nn.Parameter(torch.zeros(1))
    (3 * x).sum().backward()
    (4 * y).sum().backward()
    norm = nn.utils.clip_grad_norm_([x, y], 1.0)
    assert norm.item() == pytest.approx(34**0.5)
    assert norm.shape == ()
    assert x.grad.tolist() == pytest.approx([3 / 34**0.5] * 2, rel=1e-4)
    assert nn.utils.get_total_norm([x.grad, y.grad]).item() == pytest.approx(1, rel=1e-4)
    nn.utils.clip_grad_value_([x, y], 0.1)
    assert y.grad.tolist() == pytest.approx([0.1])


def test_parameters_become_a_vector_and_back() -> None:
    layer = nn.Linear(2, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (6,)
    nn.utils.vector_to_parameters(torch.arange(6).float(), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert layer.bias.tolist() == [4.0, 5.0]
    with pytest.raises(ValueError, match=r"expected a vector of 6 elements, got shape torch.Size\(\[3\]\)"):
        nn.utils.vector_to_parameters(torch.ones(3), layer.parameters())


def test_sequences_are_padded() -> None:
    sequences = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    assert nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=9).tolist() == [[1, 2, 3], [4, 9, 9]]
    assert nn.utils.rnn.pad_sequence(sequences, padding_side="left").tolist() == [[1, 0], [2, 0], [3, 4]]


def test_hand_computed_values() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    assert F.cross_entropy(torch.zeros(2, 4), torch.tensor([0, 3])).item() == pytest.approx(np.log(4))
    assert F.mse_loss(x, torch.zeros(2, 2)).item() == 3.5
    assert F.normalize(torch.tensor([[3.0, 4.0]])).tolist() == [pytest.approx([0.6, 0.8])]
    assert F.one_hot(torch.tensor([1, 0])).tolist() == [[0, 1], [1, 0]]
    assert F.pad(x, (1, 0)).tolist() == [[0, 1, 2], [0, 3, 0]]
    assert nn.PixelShuffle(2)(torch.arange(4).float().reshape(1, 4, 1, 1)).tolist() == [[[[0.0, 1.0], [2.0, 3.0]]]]
    assert nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[1.0, 1.0, 2.0, 2.0]]]
    assert F.hardswish(torch.tensor([-4.0, 0.0, 4.0])).tolist() == [0.0, 0.0, 4.0]
    assert F.huber_loss(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0])).item() == pytest.approx((0.5 + 2.5) / 2)
