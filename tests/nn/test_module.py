"""Modules: registration, the tree, buffers, state dicts, hooks, conversion and representation."""

import copy
import pickle
import re
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import minitorch
import minitorch.torch as torch
from minitorch import FastBackend, float32, tensor
from minitorch.nn import Conv2d, Dropout, Linear, Module, ModuleList, Parameter, ReLU, Sequential
from minitorch.torch import nn
from minitorch.torch.nn import functional as F
from tests.nn.checks import refuses


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


class CourseModule(minitorch.Module):
    """A module of the course among the others."""

    def __init__(self):
        super().__init__()
        self.inner = Linear(3, 1)
        self.slope = Parameter(tensor([1.0]))


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
    assert net.to(torch.ones(1, dtype=torch.float32)).scale.dtype == torch.float32
    assert net.to("simple").cpu().scale.backend is FastBackend
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


def test_the_tree_is_traversed_from_the_root_visiting_each_module_once():
    shared = ReLU()
    tree = Sequential(Linear(1, 1), shared, Sequential(shared, Dropout()))
    assert [name for name, _ in tree.named_modules()] == ["", "0", "1", "2", "2.1"]
    assert list(tree.modules())[2] is shared
    assert [type(child) for child in tree.children()] == [Linear, ReLU, Sequential]
    assert [name for name, _ in tree.named_children()] == ["0", "1", "2"]


def test_a_shared_parameter_is_listed_once_and_saved_under_both_names():
    tied = Sequential(Linear(2, 2, bias=False), Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    assert [name for name, _ in tied.named_parameters()] == ["0.weight"]
    assert list(tied.state_dict()) == ["0.weight", "1.weight"]
    tied.load_state_dict({"0.weight": np.eye(2), "1.weight": 2 * np.eye(2)})
    assert tied[0].weight.value is tied[1].weight.value
    for name in ("0.weight", "1.weight"):
        assert tied.load_state_dict({name: np.full((2, 2), float(name[0]))}) == ([], [])
        assert tied[1].weight.value.tolist() == tied[0].weight.value.tolist() == np.full((2, 2), float(name[0])).tolist()
    assert tied.load_state_dict({}, strict=False).missing_keys == ["0.weight", "1.weight"]


def test_modules_of_the_course_are_included():
    tree = Sequential(CourseModule())
    assert [name for name, _ in tree.named_parameters()] == ["0.slope", "0.inner.weight", "0.inner.bias"]
    assert list(tree.state_dict()) == ["0.slope", "0.inner.weight", "0.inner.bias"]
    assert not tree.eval()[0].inner.training


def test_an_overridden_train_is_called():
    class Frozen(Sequential):
        def train(self, mode=True):
            return super().train(False)

    tree = Sequential(Frozen(Dropout()), Dropout())
    assert [module.training for module in tree.train().modules()] == [True, False, False, True]
    refuses(TypeError, "Dropout.train expected True or False, got 'eval'; eval() is train(False)", Dropout().train, "eval")


@pytest.mark.parametrize(
    ("hidden", "container", "kind", "remedy"),
    [
        ([ReLU()], "list", "ReLU", "put it into a ModuleList"),
        ([[1], [ReLU()]], "list", "ReLU", "put it into a ModuleList"),
        ({"a": Linear(1, 1)}, "dict", "Linear", "put it into a ModuleDict"),
        ((Parameter(tensor([1.0])),), "tuple", "Parameter", "use self.add_parameter(name, value)"),
    ],
    ids=["list", "lists", "dict", "tuple"],
)
def test_modules_hidden_in_a_plain_list_or_dictionary_cause_a_warning(hidden, container, kind, remedy):
    class Net(Module):
        def __init__(self):
            super().__init__()
            self.layers = hidden

    message = f"Net.layers is a plain {container}: the {kind} in it is not registered and not trained; {remedy}"
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$") as caught:
        Net().parameters()
    assert caught[0].filename == __file__


def test_other_lists_and_module_lists_cause_no_warning():
    class Net(Module):
        def __init__(self):
            super().__init__()
            self.sizes, self.names, self.layers = [1, 2], {"a": 1}, ModuleList([Linear(1, 1)])
            self.also = [self.layers[0], self.layers[0].weight]  # found where they are registered
            self.also.append(self.also)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Net().parameters())) == 2


def test_buffers_are_listed_and_saved_unless_not_persistent():
    module = Net()
    module.register_buffer("later", None)
    assert [name for name, _ in module.named_buffers()] == ["seen", "hidden"]
    module.later = tensor([5.0])
    assert [name for name, _ in module.named_buffers()] == ["seen", "hidden", "later"]
    assert isinstance(module.later, torch.Tensor)
    del module.hidden
    assert list(module.state_dict()) == ["scale", "seen", "later", "first.weight", "first.bias", "second.weight"]


def test_a_buffer_can_be_replaced_by_none_or_a_parameter():
    module = Net()
    module.hidden = None
    module.seen = Parameter(tensor([1.0]))
    assert list(module.buffers()) == []
    assert [name for name, _ in module.named_parameters()] == ["scale", "seen", "first.weight", "first.bias", "second.weight"]


@pytest.mark.parametrize(
    "use", [lambda net: net(1), lambda net: net.register_buffer("a", None), lambda net: net.register_forward_hook(print)]
)
def test_a_missing_super_init_is_an_error_that_says_so(use):
    class Net(Module):
        def __init__(self):
            pass

    refuses(AttributeError, "Net is used before Module.__init__ has run; call super().__init__() first", use, Net())


def test_an_attribute_that_is_missing_is_named_with_those_that_are_there():
    refuses(AttributeError, "ReLU has no attribute 'slope'; it has training, inplace", lambda: ReLU().slope)


def test_frozen_parameters_stay_frozen():
    module = Linear(2, 2).requires_grad_(False)
    module.load_state_dict(Linear(2, 2).state_dict())
    module.to(float32)
    assert not any(parameter.value.requires_grad for parameter in module.parameters())


def test_a_function_changes_a_state_dict_before_it_is_read() -> None:
    net, seen = Net(), []

    def rename(module, state_dict, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((module is net.first, prefix, metadata, strict))
        if f"{prefix}kernel" in state_dict:
            state_dict[f"{prefix}weight"] = state_dict.pop(f"{prefix}kernel")

    handle, state = net.first.register_load_state_dict_pre_hook(rename), net.state_dict()
    state["first.kernel"] = state.pop("first.weight") + 1
    assert net.load_state_dict(state) == ([], [])
    assert (net.first.weight.tolist(), seen) == (state["first.kernel"].tolist(), [(True, "first.", {}, True)])
    handle.remove()
    with pytest.raises(RuntimeError, match=r'unexpected "first\.kernel"'):
        net.load_state_dict(state)
    net.register_load_state_dict_pre_hook(lambda *args: [names.append("x") for names in args[5:]])
    refuses(
        RuntimeError,
        "Net.load_state_dict expected matching names and shapes, got:\n\tx",
        net.load_state_dict,
        net.state_dict(),
        strict=False,
    )
    refuses(TypeError, "a hook expected a function, got int", net.register_load_state_dict_pre_hook, 3)


def test_a_state_dict_with_invalid_entries_is_refused_with_all_errors_and_nothing_is_loaded():
    module = Module()
    module.weight, module.bias = Parameter(tensor([1.0, 2.0])), Parameter(tensor([0.0]))
    module.register_buffer("pixels", tensor([1, 2], dtype="uint8"))
    module.register_buffer("count", tensor([1], dtype="int64"))
    lines = [
        "Module.load_state_dict expected matching names and shapes, got:",
        "weight expected numbers, got ['a', 'b']",
        "pixels expected whole numbers from 0 to 255 for uint8, got [7, 256]",
        "count: expected int64, got float64",
    ]
    state = {"weight": ["a", "b"], "bias": [3.0], "pixels": np.array([7, 256]), "count": np.array([0.5])}
    refuses(RuntimeError, "\n\t".join(lines), module.load_state_dict, state)
    assert (module.pixels.tolist(), module.bias.tolist()) == ([1, 2], [0.0])
    message = "load_state_dict expected a dictionary, got list; pass a state_dict()"
    refuses(TypeError, message, module.load_state_dict, [1.0])


def test_a_state_of_pytorch_can_be_loaded():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1, groups=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3))
    ours = Sequential(Conv2d(2, 4, 3, padding=1, groups=2), ReLU(), minitorch.nn.Flatten(), Linear(64, 3)).to("cpu", float32)
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).standard_normal((5, 2, 4, 4)).astype(np.float32)
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(tensor(x, FastBackend)).to_numpy(), expected, rtol=1e-4, atol=1e-5)
    for kind in ("half", "bfloat16", "double"):
        layer = getattr(torch.nn.Linear(64, 3), kind)()
        ours[3].load_state_dict(layer.state_dict())
        assert ours[3].weight.value.tolist() == layer.weight.float().tolist()


def test_a_move_to_the_current_place_changes_nothing():
    module = Linear(2, 2)
    before = module.weight.value
    module.to("simple", torch.float64)
    assert module.weight.value is before


def test_a_hook_may_remove_itself_and_a_copy_has_its_own_hooks():
    module, calls = ReLU(), []

    def once(module, args, output):
        calls.append(output.tolist())
        handle.remove()

    handle = module.register_forward_hook(once)
    last = module.register_forward_hook(lambda module, args, output: -output)
    for _ in range(2):
        assert module(tensor([3.0])).tolist() == [-3.0]
    assert calls == [[3.0]]
    twin = copy.deepcopy(module)
    last.remove()
    last.remove()
    assert (module(tensor([3.0])).tolist(), twin(tensor([3.0])).tolist()) == ([3.0], [-3.0])
