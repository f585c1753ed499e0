"""Modules after the course: the tree, buffers, states, moves, hooks, text representation."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, SimpleBackend, float32, float64, int64, tensor
from minitorch.nn import Conv2d, Dropout, Linear, Module, ModuleDict, ModuleList, Parameter, ReLU, Sequential
from tests.nn.checks import refuses


class Scaled(Module):
    """Linear, with a buffer that counts calls and one that is not saved."""

    def __init__(self):
        super().__init__()
        self.linear = Linear(2, 3)
        self.scale = Parameter(tensor([1.0, 2.0, 3.0]))
        self.register_buffer("calls", tensor([0], dtype=int64))
        self.register_buffer("mask", tensor([1.0, 1.0, 0.0]), persistent=False)
        self.register_buffer("later", None)

    def forward(self, x):
        self.calls = self.calls + 1
        return self.linear(x) * self.scale.value * self.mask


class CourseModule(minitorch.Module):
    """A module of the course among the others."""

    def __init__(self):
        super().__init__()
        self.inner = Linear(3, 1)
        self.slope = Parameter(tensor([1.0]))


# The tree


def test_the_tree_is_traversed_from_the_root_visiting_each_module_once():
    shared = ReLU()
    tree = Sequential(Linear(1, 1), shared, Sequential(shared, Dropout()))
    assert [name for name, _ in tree.named_modules()] == ["", "0", "1", "2", "2.1"]
    assert tree.modules()[2] is shared
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


def test_apply_visits_children_before_parents_and_returns_the_module():
    tree = Sequential(Linear(1, 1), Sequential(ReLU()))
    met = []
    assert tree.apply(lambda module: met.append(type(module).__name__)) is tree
    assert met == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_train_and_eval_reach_all_modules_and_return_the_module():
    tree = Sequential(Sequential(Dropout()))
    assert tree.eval() is tree
    assert not any(module.training for module in tree.modules())
    assert tree.train() is tree
    assert all(module.training for module in tree.modules())


def test_an_overridden_train_is_called():
    class Frozen(Sequential):
        def train(self, mode=True):
            return super().train(False)

    tree = Sequential(Frozen(Dropout()), Dropout())
    assert [module.training for module in tree.train().modules()] == [True, False, False, True]
    refuses(TypeError, "Dropout.train expected True or False, got 'eval'; eval() is train(False)", Dropout().train, "eval")


def test_gradients_can_be_cleared_and_parameters_frozen():
    layer = Linear(2, 1)
    layer(tensor([[1.0, 2.0]])).sum().backward()
    layer.zero_grad()
    assert [parameter.value.grad for parameter in layer.parameters()] == [None, None]
    layer.requires_grad_(False)
    assert not layer(tensor([[1.0, 2.0]])).requires_grad


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
        assert len(Net().parameters()) == 2


# Buffers


def test_buffers_are_listed_moved_and_saved_unless_not_persistent():
    module = Scaled()
    assert [name for name, _ in module.named_buffers()] == ["calls", "mask"]
    assert list(module.state_dict()) == ["scale", "calls", "linear.weight", "linear.bias"]
    module(tensor([[1.0, 2.0]]))
    assert module.state_dict()["calls"].tolist() == [1]
    module.later = tensor([5.0])
    assert [name for name, _ in module.named_buffers()] == ["calls", "mask", "later"]
    del module.mask
    assert [name for name, _ in module.named_buffers()] == ["calls", "later"]


@pytest.mark.parametrize(
    ("error", "name", "value", "message"),
    [
        (ValueError, "a.b", None, "register_buffer expected a name without a dot, got 'a.b'"),
        (ValueError, "linear", None, "register_buffer expected a new name, got 'linear', which Scaled has; choose another"),
        (TypeError, "mean", 0.5, "Scaled.mean expected a Tensor or None as a buffer, got float"),
    ],
)
def test_a_buffer_needs_a_unique_name_and_must_be_a_tensor(error, name, value, message):
    module = Scaled()
    refuses(error, message, module.register_buffer, name, value)
    assert not hasattr(module, "mean")


def test_a_buffer_can_be_replaced_by_a_parameter_but_not_by_a_list():
    module = Scaled()
    message = "Scaled.mask expected a Tensor or None as a buffer, got list"
    refuses(TypeError, message, setattr, module, "mask", [1.0, 1.0, 0.0])
    module.mask = None
    assert [name for name, _ in module.named_buffers()] == ["calls"]
    module.calls = Parameter(tensor([1.0]))
    assert (module.buffers(), list(module.state_dict())) == ([], ["scale", "calls", "linear.weight", "linear.bias"])


@pytest.mark.parametrize(
    "use", [lambda net: net(1), lambda net: net.register_buffer("a", None), lambda net: net.register_forward_hook(print)]
)
def test_a_missing_super_init_is_an_error_that_says_so(use):
    class Net(Module):
        def __init__(self):
            pass

    refuses(AttributeError, "Net is used before Module.__init__ has run; call super().__init__() first", use, Net())


def test_an_attribute_that_is_missing_is_named_with_those_that_are_there():
    refuses(AttributeError, "ReLU has no attribute 'slope'; it has training", lambda: ReLU().slope)


# States


def test_a_state_is_copied_into_the_module_s_dtype_and_backend():
    source, target = Scaled(), Scaled().to("cpu", float32)
    source(tensor([[1.0, 2.0]]))
    state = source.state_dict()
    assert target.load_state_dict(state) == ([], [])
    for name, value in target.state_dict().items():
        np.testing.assert_allclose(value.to_numpy(), state[name].to_numpy(), rtol=1e-7)
    assert (target.scale.value.dtype, target.scale.value.backend, target.calls.dtype) == (float32, FastBackend, int64)
    assert target.scale.value.is_leaf()
    target.scale.value.detach()[0] = 9.0
    assert source.scale.value[0] == 1.0
    state["scale"][0] = 7.0
    assert source.scale.value[0] == 7.0, "a state shares storage with its module"


def test_frozen_parameters_stay_frozen():
    module = Linear(2, 2).requires_grad_(False)
    module.load_state_dict(Linear(2, 2).state_dict())
    module.to(float32)
    assert not any(parameter.value.requires_grad for parameter in module.parameters())


DIFFER = "{}.load_state_dict expected matching {}shapes and dtypes, got a state with {} that differ:"


def test_an_invalid_state_is_refused_with_all_errors_and_nothing_is_loaded():
    module = Scaled()
    before = module.scale.value.tolist()
    state = {"scale": np.full(3, 9.0), "linear.weight": np.zeros((3, 3)), "calls": np.array([0.5]), "linear.wieght": np.zeros(1)}
    lines = "missing linear.bias", "unexpected linear.wieght", "calls of int64, got float64", "linear.weight of shape (3, 2), got (3, 3)"
    refuses(ValueError, "\n  ".join([DIFFER.format("Scaled", "names, ", 4), *lines]), module.load_state_dict, state)
    assert module.scale.value.tolist() == before


def test_non_numeric_and_out_of_range_entries_are_listed():
    module = Module()
    module.weight, module.bias = Parameter(tensor([1.0, 2.0])), Parameter(tensor([0.0]))
    module.register_buffer("pixels", tensor([1, 2], dtype="uint8"))
    lines = [
        "weight expected numbers, got ['a', 'b']",
        "bias expected numbers, got None",
        "pixels expected whole numbers from 0 to 255 for uint8, got [7, 256]",
    ]
    state = {"weight": ["a", "b"], "bias": None, "pixels": np.array([7, 256])}
    refuses(ValueError, "\n  ".join([DIFFER.format("Module", "names, ", 3), *lines]), module.load_state_dict, state)
    assert module.pixels.tolist() == [1, 2]
    message = "Module.load_state_dict expected a mapping of names to tensors, got list; pass a state_dict()"
    refuses(TypeError, message, module.load_state_dict, [1.0])


def test_without_strict_names_may_differ_but_shapes_may_not():
    module = Linear(2, 1)
    assert module.load_state_dict({"bias": [4.0], "other": [1.0]}, strict=False) == (["weight"], ["other"])
    assert module.bias.value.tolist() == [4.0]
    message = DIFFER.format("Linear", "", 1) + "\n  bias of shape (1,), got (2,)"
    refuses(ValueError, message, module.load_state_dict, {"bias": [4.0, 5.0]}, strict=False)


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


# Moves


def test_a_module_moves_gradients_and_buffers_and_keeps_integers():
    module = Scaled()
    module(tensor([[1.0, 2.0]])).sum().backward()
    gradient = module.scale.value.grad.tolist()
    assert module.to("cpu", dtype=float32) is module
    assert {parameter.value.backend for parameter in module.parameters()} == {FastBackend}
    assert {parameter.value.grad.dtype for parameter in module.parameters()} == {float32}
    assert module.scale.value.grad.tolist() == pytest.approx(gradient)
    assert (module.mask.dtype, module.mask.backend, module.calls.dtype, module.calls.backend) == (float32, FastBackend, int64, FastBackend)
    assert module.double().scale.value.dtype == float64
    assert module.float().scale.value.dtype == float32
    assert module.to("simple").cpu().scale.value.backend is FastBackend
    assert module.to(device=SimpleBackend).scale.value.backend is SimpleBackend
    with pytest.raises(TypeError, match=r"^expected a dtype of .*, got 'gpu'"):
        module.to("gpu")


def test_a_move_to_an_integer_dtype_is_refused_and_nothing_is_moved():
    module = Scaled()
    for target, name in ((int64, "int64"), ("bool", "bool")):
        refuses(TypeError, f"Scaled.to expected a dtype of floats, got {name}; convert single tensors instead", module.to, "cpu", target)
    assert module.scale.value.backend is SimpleBackend


def test_a_move_to_the_current_place_changes_nothing():
    module = Linear(2, 2)
    before = module.weight.value
    module.to("simple", float64)
    assert module.weight.value is before


# Calls


def test_hooks_see_and_may_replace_arguments_and_output_until_they_are_removed():
    module = ReLU()
    seen = []
    first = module.register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))
    second = module.register_forward_hook(lambda module, args, output: seen.append((args[0].tolist(), output.tolist())))
    third = module.register_forward_hook(lambda module, args, output: output * 10.0)
    assert module(tensor([-2.0, 2.0])).tolist() == [0.0, 30.0]
    assert seen == [([-1.0, 3.0], [0.0, 3.0])]
    for handle in (first, second, third):
        handle.remove()
    assert module(tensor([-2.0, 2.0])).tolist() == [0.0, 2.0]
    assert len(seen) == 1
    for register in (module.register_forward_hook, module.register_forward_pre_hook):
        refuses(TypeError, "a hook expected a callable, got NoneType; pass it without calling it", register, None)


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


# Copies and text representation


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))], ids=["deepcopy", "pickle"])
def test_a_copy_computes_the_same_and_shares_nothing(copied):
    module = Sequential(Linear(2, 3), ReLU(), Linear(3, 1)).to("cpu")
    twin = copied(module)
    x = tensor([[1.0, 2.0]], FastBackend)
    assert twin(x).tolist() == module(x).tolist()
    twin[0].bias.update(tensor([100.0, 100.0, 100.0], FastBackend))
    assert twin(x).tolist() != module(x).tolist()
    assert twin[0].weight is not module[0].weight
    twin(x).sum().backward()
    assert module[0].weight.value.grad is None


def test_the_repr_of_a_network_shows_sizes():
    network = Sequential(Conv2d(1, 4, (3, 5), padding=1, bias=False), Dropout(0.25), ModuleDict({"head": Linear(4, 2)}))
    assert repr(network) == (
        "Sequential(\n"
        "  (0): Conv2d(1, 4, kernel_size=(3, 5), stride=1, padding=1, bias=False)\n"
        "  (1): Dropout(p=0.25)\n"
        "  (2): ModuleDict(\n    (head): Linear(in_features=4, out_features=2, bias=True)\n  )\n"
        ")"
    )
