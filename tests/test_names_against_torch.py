"""Remaining public names that PyTorch also has, called in both libraries; and a check that every such name is compared."""

import importlib
import re
from collections import OrderedDict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import minitorch
import minitorch.torch as face
from minitorch import Tensor, float64
from minitorch.nn import Module

from .op_table import OPS

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
network_files = [
    importlib.import_module(f"tests.nn.test_{subject}_against_torch")
    for subject in ("layers", "activations", "attention", "losses", "windows", "normalization", "recurrent")
]
initializers = importlib.import_module("tests.nn.test_init_against_torch")
optimizers = importlib.import_module("tests.optim.test_further_optimizers_against_torch")

ARRAY = np.arange(24.0).reshape(2, 3, 4) / 7
EDGES = [-np.inf, -3e38, -300.7, -2.5, -0.5, -0.0, 0.0, 1e-8, 0.5, 1.5, 2.5, 70000.0, 3e38, np.inf, np.nan]
FINITE = [-100.9, -2.5, -0.5, -0.0, 0.5, 1.5, 100.9]


def assign(x, index, value):
    """The tensor after an assignment."""
    x[index] = value
    return x


def gradient_through(lib, values, use):
    """The gradient of a leaf after backward through the sum of its squares and what else is done with it."""
    x = lib.tensor(values, requires_grad=True)
    use(x)
    (x * x).sum().backward()
    return x.grad


# Rows: a name, and a function of a library; the results of both libraries are compared.

TENSORS = [
    ("arange", lambda lib: lib.arange(5)),
    ("arange", lambda lib: lib.arange(1, 2, 0.25)),
    ("arange", lambda lib: lib.arange(5, 0, -2)),
    ("arange", lambda lib: lib.arange(0)),
    ("linspace", lambda lib: lib.linspace(-1, 2, 7)),
    ("linspace", lambda lib: lib.linspace(3, 5, 1)),
    ("linspace", lambda lib: lib.linspace(3, 5, 0)),
    ("eye", lambda lib: lib.eye(3)),
    ("full", lambda lib: lib.full((2, 3), -1.5)),
    ("ones", lambda lib: lib.ones((2, 0, 3))),
    ("zeros", lambda lib: lib.zeros((2, 3))),
    ("tensor", lambda lib: lib.tensor([[1.0, 2.0], [3.0, np.nan]])),
    ("tensor", lambda lib: lib.tensor(ARRAY)),
    ("from_numpy", lambda lib: lib.from_numpy(ARRAY.copy())),
    ("no_grad", lambda lib: recording_without(lib)),
    ("Tensor.numpy", lambda lib: lib.tensor(ARRAY).numpy()[1]),
    ("Tensor.tolist", lambda lib: lib.tensor(ARRAY).tolist()),
    ("Tensor.item", lambda lib: lib.tensor([[2.5]]).item()),
    ("Tensor.shape", lambda lib: tuple(lib.tensor(ARRAY).shape)),
    ("Tensor.numel", lambda lib: lib.tensor(ARRAY)[:, :1].numel()),
    ("Tensor.stride", lambda lib: lib.tensor(ARRAY).stride()),
    ("Tensor.stride", lambda lib: lib.tensor(ARRAY).permute(2, 0, 1)[1:, :, ::2].stride()),
    ("Tensor.stride", lambda lib: lib.tensor(ARRAY)[:, :1].expand(2, 5, 4).stride()),
    ("Tensor.storage_offset", lambda lib: lib.tensor(ARRAY)[1:, 1:, ::2].storage_offset()),
    ("Tensor.is_contiguous", lambda lib: [lib.tensor(ARRAY)[i].is_contiguous() for i in (0, (slice(None), 1), slice(1, 2))]),
    ("Tensor.is_contiguous", lambda lib: [lib.zeros(shape).is_contiguous() for shape in ((2, 0), (1, 3))]),
    ("Tensor.is_contiguous", lambda lib: lib.tensor(ARRAY).permute(0, 2, 1).is_contiguous()),
    ("Tensor.__len__", lambda lib: len(lib.tensor(ARRAY))),
    ("Tensor.__iter__", lambda lib: list(lib.tensor(ARRAY))),
    ("Tensor.__float__", lambda lib: float(lib.tensor([2.5]))),
    ("Tensor.__int__", lambda lib: int(lib.tensor([-2.5]))),
    ("Tensor.__index__", lambda lib: [7, 8, 9][lib.tensor([2], dtype=lib.int64)]),
    ("Tensor.__bool__", lambda lib: [bool(lib.tensor([value])) for value in (0.0, -0.0, 0.5, np.nan)]),
    ("Tensor.__array__", lambda lib: np.asarray(lib.tensor(ARRAY))),
    ("Tensor.__deepcopy__", lambda lib: importlib.import_module("copy").deepcopy(lib.tensor(ARRAY))),
    ("Tensor.__hash__", lambda lib: len(dict.fromkeys((lib.ones((1,)), lib.ones((1,))), 0))),
    ("Tensor.__setitem__", lambda lib: assign(lib.tensor(ARRAY), (0, slice(1, None), -1), 7.0)),
    ("Tensor.__setitem__", lambda lib: assign(lib.tensor(ARRAY), (..., slice(None, None, 2)), lib.ones((3, 1)))),
    ("Tensor.__setitem__", lambda lib: assign(lib.tensor(ARRAY), lib.tensor(ARRAY) > 2, -1.0)),
    ("Tensor.double", lambda lib: lib.tensor(EDGES).float().double()),
    ("Tensor.float", lambda lib: lib.tensor(EDGES).float().double()),
    ("Tensor.half", lambda lib: lib.tensor(EDGES).half().double()),
    ("Tensor.bfloat16", lambda lib: lib.tensor(EDGES).bfloat16().double()),
    ("Tensor.long", lambda lib: lib.tensor(FINITE).long()),
    ("Tensor.int", lambda lib: lib.tensor(FINITE).int()),
    ("Tensor.bool", lambda lib: lib.tensor(EDGES).bool()),
    ("Tensor.to", lambda lib: lib.tensor(FINITE).to(lib.int8)),
    ("Tensor.cpu", lambda lib: lib.tensor(ARRAY).cpu()),
    ("Tensor.requires_grad", lambda lib: lib.tensor([1.0], requires_grad=True).requires_grad),
    ("Tensor.requires_grad_", lambda lib: [(lib.tensor([1.0]).requires_grad_(flag) * 2).requires_grad for flag in (True, False)]),
    ("Tensor.backward", lambda lib: gradient_through(lib, ARRAY, lambda x: (x * 3)[1:].backward(lib.tensor(ARRAY[1:])))),
    ("Tensor.register_hook", lambda lib: gradient_through(lib, ARRAY, lambda x: x.register_hook(lambda g: g * 3))),
    ("Tensor.grad", lambda lib: gradient_through(lib, EDGES, lambda x: None)),
]


def recording_without(library):
    """Whether results record gradients under no_grad, and afterwards."""
    x = library.tensor([1.0], requires_grad=True)
    with library.no_grad():
        under = x * 2
    return under.requires_grad, (x * 2).requires_grad


def tree(nn):
    """A network with nested modules, one of them used twice, and modules with statistics."""
    both = nn.Linear(3, 3)
    inner = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), both)
    return nn.Sequential(OrderedDict(inner=inner, norm=nn.BatchNorm1d(3), both=both, last=nn.ModuleDict({"a": nn.ModuleList([nn.Tanh()])})))


def kinds(modules):
    return [type(module).__name__ for module in modules]


def applied_modules(module):
    """The modules that `apply` calls, in order. We call a module that is used twice once, PyTorch calls it twice."""
    found = {}
    module.apply(lambda part: found.setdefault(id(part), type(part).__name__))
    return list(found.values())


def dtypes(module):
    """The dtypes of a module's state, by name."""
    return {name: re.sub(r"^torch\.", "", str(value.dtype)) for name, value in module.state_dict().items()}


def loaded_with_hook(lib, nn):
    """What differs in a state dict that a hook changes before it is read, and which arguments the hook gets."""
    module, seen = nn.Sequential(nn.Linear(1, 1)), []
    module[0].register_load_state_dict_pre_hook(lambda own, state, prefix, *rest: seen.append((prefix, rest[1], state.pop(f"{prefix}x"))))
    keys = module.load_state_dict({"0.weight": lib.ones((1, 1)), "0.x": lib.ones((1,)), "y": lib.ones((1,))}, strict=False)
    return [*keys, seen[0][:2]]


def hook_calls(lib, nn):
    """The order in which hooks are called, and their effects on inputs and outputs."""
    module, seen = nn.Sequential(nn.Tanh()), []
    handles = [
        module.register_forward_pre_hook(lambda module, args: seen.append("before")),
        module.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        module.register_forward_hook(lambda module, args, out: seen.append(args[0].tolist())),
        module.register_forward_hook(lambda module, args, out: out + 1),
    ]
    first = module(lib.tensor([0.5]))
    for handle in handles[1:]:
        handle.remove()
    return [first, module(lib.tensor([0.5])), seen]


def buffered_module(lib, nn):
    """A module with two buffers, one of which is not part of its state."""
    module = nn.Sequential(nn.BatchNorm1d(2))
    module.register_buffer("mine", lib.ones((2,)))
    module.register_buffer("passing", lib.zeros((2,)), persistent=False)
    return [[name for name, _ in module.named_buffers()], list(module.state_dict()), module.mine]


def parameter_list(lib, nn):
    some = nn.ParameterList([nn.Parameter(lib.ones((2,))), nn.Parameter(lib.zeros((3,)))]).append(nn.Parameter(lib.eye(2)))
    some[-2] = nn.Parameter(lib.full((1,), 7.0))
    return [len(some), [name for name, _ in some.named_parameters()], list(some.state_dict().values()), [p is some[2] for p in some]]


def parameter_dict(lib, nn):
    some = nn.ParameterDict({"b": nn.Parameter(lib.ones((2,))), "c": nn.Parameter(lib.zeros((3,)))})
    some.update({"a": nn.Parameter(lib.eye(2)), "b": nn.Parameter(lib.full((1,), 7.0))})
    del some["c"]
    return [list(some.keys()), "a" in some, "c" in some, list(some.state_dict().items())]


def added(name, lib, nn):
    """The names in the state dict of a module to which something was added."""
    module = nn.Linear(2, 3)
    getattr(module, name)("new", nn.Parameter(lib.tensor([1.0])) if name == "register_parameter" else nn.Linear(1, 1))
    return list(module.state_dict())


def backward_hook_calls(lib, nn):
    """What a hook of the backward pass is given."""
    layer, seen = nn.Tanh(), []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.extend((*grad_input, *grad_output)))
    x = lib.tensor([0.0, 0.0], requires_grad=True)
    layer(x).sum().backward()
    return seen


MODULES = [
    ("nn.Module.children", lambda lib, nn: kinds(tree(nn).children())),
    ("nn.Module.named_children", lambda lib, nn: [name for name, _ in tree(nn).named_children()]),
    ("nn.Module.modules", lambda lib, nn: kinds(tree(nn).modules())),
    ("nn.Module.register_load_state_dict_pre_hook", loaded_with_hook),
    ("nn.Module.named_modules", lambda lib, nn: [name for name, _ in tree(nn).named_modules()]),
    ("nn.Module.named_parameters", lambda lib, nn: [name for name, _ in tree(nn).named_parameters()]),
    ("nn.Module.named_buffers", lambda lib, nn: [name for name, _ in tree(nn).named_buffers()]),
    ("nn.Module.buffers", lambda lib, nn: [tuple(each.shape) for each in tree(nn).buffers()][:2]),
    ("nn.Module.parameters", lambda lib, nn: len(list(tree(nn).parameters()))),
    ("nn.Module.state_dict", lambda lib, nn: list(tree(nn).state_dict())),
    ("nn.Module.apply", lambda lib, nn: applied_modules(tree(nn))),
    ("nn.Module.train", lambda lib, nn: [part.training for part in tree(nn).eval().train().modules()]),
    ("nn.Module.eval", lambda lib, nn: [part.training for part in tree(nn).eval().modules()]),
    ("nn.Module.training", lambda lib, nn: nn.Linear(1, 1).training),
    ("nn.Module.half", lambda lib, nn: dtypes(tree(nn).half())),
    ("nn.Module.bfloat16", lambda lib, nn: dtypes(tree(nn).bfloat16())),
    ("nn.Module.float", lambda lib, nn: dtypes(tree(nn).float())),
    ("nn.Module.double", lambda lib, nn: dtypes(tree(nn).half().double())),
    ("nn.Module.to", lambda lib, nn: dtypes(tree(nn).to(dtype=lib.float32))),
    ("nn.Module.cpu", lambda lib, nn: dtypes(tree(nn).cpu())),
    ("nn.Module.type", lambda lib, nn: dtypes(tree(nn).type(lib.float32))),
    ("nn.Module.get_submodule", lambda lib, nn: kinds([tree(nn).get_submodule(name) for name in (*dict(tree(nn).named_modules()),)])),
    ("nn.Module.get_parameter", lambda lib, nn: [tuple(nn.Linear(2, 3).get_parameter(name).shape) for name in ("weight", "bias")]),
    ("nn.Module.get_buffer", lambda lib, nn: nn.BatchNorm1d(2).get_buffer("running_var")),
    *[(f"nn.Module.{name}", partial(added, name)) for name in ("add_module", "register_module", "register_parameter")],
    ("nn.Module.register_full_backward_hook", backward_hook_calls),
    ("nn.Module.register_buffer", buffered_module),
    ("nn.Module.register_forward_hook", hook_calls),
    ("nn.Module.register_forward_pre_hook", hook_calls),
    ("nn.Sequential", lambda lib, nn: kinds(tree(nn)[1:3])),
    ("nn.ModuleList", lambda lib, nn: kinds(nn.ModuleList([nn.ReLU(), nn.Tanh()]).append(nn.SiLU())[1:])),
    ("nn.ParameterList", parameter_list),
    ("nn.ParameterDict", parameter_dict),
    ("nn.ModuleDict", lambda lib, nn: list(nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()}).keys())),
]


def pairs(lib, d):
    """A data set of two tensors."""
    return d.TensorDataset(lib.tensor(ARRAY.reshape(6, 4)), lib.arange(6))


def stream(d):
    """A stream of 0 to 4."""
    return type("Count", (d.IterableDataset,), {"__iter__": lambda self: iter(range(5))})()


NESTED = [({"a": 1.5, "b": np.ones(2)}, "x"), ({"a": 2.5, "b": np.zeros(2)}, "y")]

DATA = [
    ("data.SequentialSampler", lambda lib, d: list(d.SequentialSampler(range(4)))),
    ("data.BatchSampler", lambda lib, d: [list(d.BatchSampler(d.SequentialSampler(range(7)), 3, drop)) for drop in (False, True)]),
    ("data.BatchSampler", lambda lib, d: [len(d.BatchSampler(d.SequentialSampler(range(7)), 3, drop)) for drop in (False, True)]),
    ("data.TensorDataset", lambda lib, d: [len(pairs(lib, d)), *pairs(lib, d)[4]]),
    ("data.Subset", lambda lib, d: [row[0] for row in d.Subset(pairs(lib, d), [3, 1])]),
    ("data.ConcatDataset", lambda lib, d: d.ConcatDataset([pairs(lib, d)] * 2).cumulative_sizes),
    ("data.ConcatDataset", lambda lib, d: d.ConcatDataset([pairs(lib, d)] * 2)[-5]),
    ("data.DataLoader", lambda lib, d: [list(batch) for batch in d.DataLoader(pairs(lib, d), batch_size=4)]),
    ("data.DataLoader", lambda lib, d: [list(batch) for batch in d.DataLoader(pairs(lib, d), batch_size=4, drop_last=True)]),
    ("data.IterableDataset", lambda lib, d: list(d.DataLoader(stream(d), batch_size=2))),
    ("data.ChainDataset", lambda lib, d: list(stream(d) + stream(d))),
    ("data.ChainDataset", lambda lib, d: list(d.DataLoader(d.ChainDataset([stream(d), stream(d)]), batch_size=3, drop_last=True))),
    ("data.default_collate", lambda lib, d: [(list(made), *made.values(), words) for made, words in [d.default_collate(NESTED)]]),
    ("data.default_convert", lambda lib, d: [(list(made), *made.values(), word) for made, word in d.default_convert(NESTED)]),
    ("data.RandomSampler", lambda lib, d: sorted(d.RandomSampler(range(9)))),
    ("data.SubsetRandomSampler", lambda lib, d: sorted(d.SubsetRandomSampler([5, 2, 9]))),
    ("data.WeightedRandomSampler", lambda lib, d: set(d.WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 60))),
]


# The comparisons


def plain(result):
    """A result without tensors: those of both libraries become arrays of float64."""
    if isinstance(result, (list, tuple)):
        return [plain(each) for each in result]
    if isinstance(result, torch.Tensor):
        return np.asarray(result.detach().numpy(), float64)
    return np.asarray(result.to_numpy(), float64) if isinstance(result, Tensor) else result


def assert_same(ours, theirs):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, np.ndarray):
        ours = np.asarray(ours)
        assert ours.shape == (theirs.shape or ours.shape[:1])
        np.testing.assert_array_equal(ours.reshape(theirs.shape), theirs)
    else:
        assert ours == theirs


@pytest.fixture(autouse=True)
def double():
    """Both with the course's default dtype."""
    torch.set_default_dtype(torch.float64)
    face.set_default_dtype(float64)
    yield
    torch.set_default_dtype(torch.float32)
    face.set_default_dtype(minitorch.float32)


def named(rows):
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


@pytest.mark.parametrize("use", named(TENSORS))
def test_tensors_agree_with_pytorch(use):
    assert_same(plain(use(minitorch)), plain(use(torch)))


@pytest.mark.parametrize("use", named(MODULES))
def test_modules_agree_with_pytorch(use):
    assert_same(plain(use(minitorch, minitorch.nn)), plain(use(torch, torch.nn)))


@pytest.mark.parametrize("use", named(DATA))
def test_data_utilities_agree_with_pytorch(use):
    assert_same(plain(use(minitorch, minitorch.data)), plain(use(torch, torch.utils.data)))


@pytest.mark.parametrize("most", [0.5, 1e3])
def test_gradient_clipping_agrees_with_pytorch(most):
    p, q = minitorch.Parameter(minitorch.tensor(ARRAY)), torch.zeros(ARRAY.shape)
    p.value.grad, q.grad = minitorch.tensor(ARRAY - 1), torch.tensor(ARRAY - 1)
    minitorch.optim.clip_grad_value_([p], most), torch.nn.utils.clip_grad_value_([q], most)
    np.testing.assert_array_equal(p.value.grad.to_numpy(), q.grad.numpy())


# Completeness

ELSEWHERE = {
    "nn/test_losses_against_torch.py::test_ctc_loss_of_log_softmax_agrees_with_pytorch": "nn.CTCLoss nn.ctc_loss",
    "nn/test_lazy.py::test_lazy_layers_are_those_of_pytorch": (
        "nn.LazyLinear nn.LazyConv1d nn.LazyConv2d nn.LazyConv3d nn.LazyConvTranspose1d nn.LazyConvTranspose2d nn.LazyConvTranspose3d "
        "nn.LazyBatchNorm1d nn.LazyBatchNorm2d nn.LazyBatchNorm3d nn.LazyInstanceNorm1d nn.LazyInstanceNorm2d nn.LazyInstanceNorm3d "
        "nn.UninitializedParameter nn.UninitializedBuffer"
    ),
    "nn/test_module.py::test_a_state_of_pytorch_can_be_loaded": "nn.Module.load_state_dict nn.Module.forward",
    "nn/test_init.py::test_gains_agree_with_pytorch": "nn.init.calculate_gain",
    "optim/test_further_optimizers_against_torch.py::test_fifty_steps_are_pytorchs": "SGD optim.SGD optim.Adam optim.AdamW optim.RMSprop",
    "torch_face/test_optim.py::test_a_schedule_has_pytorch_s_rates": "optim.StepLR optim.LinearLR optim.CosineAnnealingLR optim.LambdaLR",
    "torch_face/test_optim.py::test_schedules_combine_as_pytorch_s": "optim.SequentialLR",
    "torch_face/test_optim.py::test_steps_of_lbfgs_are_those_of_pytorch": "optim.LBFGS",
    "optim/test_clipping.py::test_gradients_become_pytorchs": "optim.clip_grad_norm_ optim.get_total_norm",
    "test_names_against_torch.py::test_gradient_clipping_agrees_with_pytorch": "optim.clip_grad_value_",
    "data/test_samplers.py::test_the_processes_share_as_those_of_pytorch_do": "data.DistributedSampler",
    "data/test_combined.py::test_lengths_are_pytorchs": "data.random_split",
    "core/test_number_formats.py::test_finfo_and_iinfo_are_those_of_torch": "finfo iinfo",
    "optim/test_grad_scaler.py::test_it_follows_torch": "GradScaler",
    "autograd/test_against_torch.py::test_the_gradients_of_a_penalty_on_the_gradients_of_a_network": "autograd.grad autograd.checkpoint",
    "autograd/test_against_torch.py::test_products_with_the_jacobian_from_both_sides": (
        "autograd.vjp autograd.jvp autograd.hvp autograd.vhp"
    ),
    "autograd/test_against_torch.py::test_the_jacobian_and_the_hessian": "autograd.jacobian autograd.hessian",
    "core/test_conversion.py::test_dlpack_to_torch_and_back_shares_memory": "from_dlpack Tensor.__dlpack__ Tensor.__dlpack_device__",
}
"""Comparisons in other files, and the names that they compare."""

NOT_COMPARED = {
    "what others derive from, or hold": (
        "Tensor nn.Module nn.Parameter nn.RNNBase nn.RNNCellBase "
        "optim.Optimizer optim.LRScheduler optim.lr_scheduler data.Dataset data.Sampler Tensor.__init__"
    ),
    "drawn by chance, by another generator; tested in core/test_creation, nn/test_layers and test_nn_functional": (
        "rand randn manual_seed dropout nn.dropout nn.Dropout nn.alpha_dropout"
    ),
    "tested between processes in distributed/test_torch_multiprocessing": "nn.Module.share_memory",
    "tested in torch_face/test_training_tools and nn/test_init": "optim.swa_utils nn.init._calculate_fan_in_and_fan_out",
    "published by the course; another in PyTorch": "Graph dot prod argmax max tile conv1d conv2d Tensor.is_leaf Tensor.size Tensor.name",
    "other files: never pickles; tested in io/test_files": "save load Tensor.__reduce__",
    "float64 here, float32 there": "get_default_dtype set_default_dtype",
    "written in another way": "Tensor.__repr__ Tensor.__str__ Tensor.__format__ nn.Module.extra_repr Tensor.device Tensor.dtype",
    "a compiler: the results are those of the function itself, tested in compiler/test_compile and test_models": "compile",
    "need a GPU": "Tensor.cuda nn.Module.cuda Tensor.__cuda_array_interface__",
    "of a Parameter, which holds its tensor here": "nn.Module.requires_grad_ nn.Module.zero_grad",
}
"""Names that no test compares, and why."""


def shared():
    """The public names that PyTorch also has."""
    functional = torch.nn.functional
    found = {name for name in minitorch.__all__ if callable(getattr(minitorch, name)) and hasattr(torch, name)}
    for table, *others in (
        ("nn", torch.nn, functional),
        ("nn.init", torch.nn.init),
        ("optim", torch.optim, torch.optim.lr_scheduler, torch.nn.utils),
        ("data", torch.utils.data),
        ("autograd", torch.autograd, torch.autograd.functional, torch.utils.checkpoint),
    ):
        module = importlib.import_module(f"minitorch.{table}")
        own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__]
        found |= {f"{table}.{name}" for name in getattr(module, "__all__", own) if any(hasattr(other, name) for other in others)}
    found |= {f"Tensor.{name}" for name in attributes(Tensor) if hasattr(torch.Tensor, name)}
    theirs = torch.nn.Module()
    return found | {f"nn.Module.{name}" for name in attributes(Module) | set(vars(Module())) if hasattr(theirs, name) and name[0] != "_"}


def attributes(kind):
    """The public names that a class and its bases define, except those that Python itself looks up."""
    names = {name for each in kind.__mro__ if each is not object for name in vars(each)}
    python = {"__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__slots__"}
    return {name for name in names - python if not re.match(r"_[^_]", name)}


def test_every_name_shared_with_pytorch_is_compared_or_has_a_reason():
    rows = [row[0] for row in [*TENSORS, *MODULES, *DATA, *initializers.DRAWS, *initializers.FILLS, *initializers.PATTERNS]]
    tables = [vars(file).get(table, []) for file in network_files for table in ("LAYERS", "LOSSES", "FUNCTIONS")]
    rows += [f"nn.{case.values[0]}" for table in tables for case in table]
    rows += [f"optim.{case.values[0]}" for case in optimizers.OPTIMIZERS]
    compared = {*rows, *(op.covers for op in OPS if op.torch is not None), *" ".join(ELSEWHERE.values()).split()}
    compared |= {name for name in minitorch.__all__ if f"nn.{name}" in compared and getattr(minitorch, name) is getattr(minitorch.nn, name)}
    left_out = set(" ".join(NOT_COMPARED.values()).split())
    assert sorted(shared() - compared - left_out) == [], "add a row for each of these to a table, or say why not"
    assert sorted(left_out & compared) == [], "these are compared"
    assert sorted(left_out - shared()) == [], "PyTorch, or our tables of contents, have none of these"


def test_the_listed_comparisons_in_other_files_exist():
    places = {place: (Path(__file__).parent / place.split("::")[0]).read_text(encoding="utf-8") for place in ELSEWHERE}
    assert [place for place, text in places.items() if f"def {place.split('::')[1]}(" not in text or "torch" not in text] == []
