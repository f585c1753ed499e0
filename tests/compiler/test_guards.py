"""What a recorded program takes for granted: each test changes it as a user would, and expects the right numbers or an error."""

import contextlib
import types
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import minitorch
from minitorch import nn, optim
from minitorch.compiler import NotRecordable

from . import programs
from .programs import linear, outcome_of_both, refuses, tensor

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def check(compiled, eager, *args, **kwargs):
    """Call both; the results are the same numbers."""
    got = compiled(*args, **kwargs)
    np.testing.assert_array_equal(got.to_numpy(), eager(*args, **kwargs).to_numpy())
    return got


def check_twice(fn, *changes):
    """Call a function compiled and as it is, twice before and after each change: the same numbers. Returns how often it was recorded."""
    compiled = minitorch.compile(fn)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            check(compiled, fn, tensor(X))
    return compiled.recorded


# Arguments


def double(x, factor=2.0):
    return x * factor + 1.0


@pytest.mark.parametrize(
    "other",
    [
        lambda: tensor([[1.0, 2.0, 3.0]]),
        lambda: tensor(X, dtype="float32"),
        lambda: tensor(np.transpose(X).tolist()).permute(1, 0),
        lambda: tensor(X, requires_grad=True),
        lambda: tensor([[1, 2, 3], [4, 5, 6]], dtype="int64"),
        lambda: minitorch.tensor(X, minitorch.FastBackend if programs.BACKEND is minitorch.SimpleBackend else minitorch.SimpleBackend),
    ],
    ids=["shape", "dtype", "strides", "requires_grad", "integers", "backend"],
)
def test_an_argument_of_another_layout_is_recorded_anew(other):
    compiled = minitorch.compile(double)
    for _ in range(3):
        check(compiled, double, tensor(X))
    assert compiled.recorded == 1
    for _ in range(3):
        got = check(compiled, double, other())
        assert got.dtype is double(other()).dtype
        del got  # with gradients, it keeps the buffers of its recording
    assert compiled.recorded == 2
    check(compiled, double, tensor(X))
    assert compiled.recorded == 2


def test_the_kind_of_a_number_counts():
    compiled = minitorch.compile(double)
    x = tensor([[1, 2, 3]], dtype="int64")
    assert check(compiled, double, x, 2.0).dtype.kind == check(compiled, double, x, 2.0).dtype.kind
    assert check(compiled, double, x, 3).to_numpy().tolist() == [[4, 7, 10]]
    assert check(compiled, double, x, factor=3).to_numpy().tolist() == [[4, 7, 10]]
    assert compiled.recorded == 3


def test_a_number_that_changes_is_recorded_until_the_limit():
    compiled = minitorch.compile(double, max_recordings=3)
    for number in range(3):
        check(compiled, double, tensor(X), float(number))
    with refuses(
        r"3 recordings are not enough; what differed last is argument 1, which was 2\.0 and is 3\.0 "
        r"\(pass a number that changes as a tensor\)\. Pass max_recordings=6 if that is right",
        "double",
    ):
        compiled(tensor(X), 3.0)
    check(compiled, double, tensor(X), 1.0)
    assert compiled.recorded == 3


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (lambda f: f(tensor(X)), lambda f: f(tensor([X[0]])), r"the shape of argument 0, which was \(2, 3\) and is \(1, 3\)"),
        (lambda f: f(tensor(X)), lambda f: f(tensor(X, True)), r"argument 0 \(requires_grad\)"),
        (lambda f: f(tensor(X)), lambda f: f(tensor(X), 1.0), "the number of arguments, which was 1 and is 2"),
        (lambda f: f(tensor(X), factor=1), lambda f: f(tensor(X), factor=2), "argument 'factor', which was 1 and is 2"),
        (lambda f: f(tensor(X)), lambda f: f(tensor(X), factor=2), "the names of keyword arguments"),
        (lambda f: f(tensor(X), 1), lambda f: f(tensor(X), None), "argument 1"),
    ],
)
def test_the_limit_names_the_argument_that_differed(first, second, what):
    compiled = minitorch.compile(double, max_recordings=1)
    first(compiled)
    with pytest.raises(NotRecordable, match=f"what differed last is {what}"):
        second(compiled)


def test_a_recording_that_was_worth_it_makes_space():
    scale = [1.0]
    fn = lambda x: x * scale[0]  # noqa: E731
    compiled = minitorch.compile(fn, max_recordings=1)
    for number in range(36):
        scale[0] = float(number // 12 + 1)
        check(compiled, fn, tensor(X))
    assert compiled.recorded == 3


def test_one_tensor_given_twice_is_not_two_tensors():
    def product_and_sum(a, b):
        loss = (a * b).sum()
        loss.backward()
        return loss

    compiled = minitorch.compile(product_and_sum)
    for _ in range(3):
        x, y = tensor([1.0, 2.0], True), tensor([3.0, 4.0], True)
        compiled(x, y)
        assert x.grad.tolist() == [3.0, 4.0]
    for _ in range(3):
        x = tensor([1.0, 2.0], True)
        assert compiled(x, x).item() == 5.0
        assert x.grad.tolist() == [2.0, 4.0]


def by_scale(x, config):
    return x * config.scale


def test_another_object_in_the_place_of_an_argument_is_recorded_anew():
    compiled = minitorch.compile(by_scale, max_recordings=4)
    one, two = Slots(1.0), Slots(2.0)
    for config in (one, two, one, two):
        check(compiled, by_scale, tensor(X), config)
    assert compiled.recorded == 2
    one.scale = 5.0
    check(compiled, by_scale, tensor(X), one)


def test_objects_are_not_taken_for_others_that_had_the_same_address():
    compiled = minitorch.compile(by_scale, max_recordings=100)
    for number in range(20):
        check(compiled, by_scale, tensor(X), types.SimpleNamespace(scale=float(number)))


def test_a_model_and_an_optimizer_may_be_arguments():
    def step(model, optimizer, x):
        optimizer.zero_grad()
        loss = (model(x) * model(x)).mean()
        loss.backward()
        optimizer.step()
        return loss

    def run(compile):
        minitorch.manual_seed(0)
        model, fn = linear(3, 2), compile(step)
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        return [fn(model, optimizer, tensor(X)).item() for _ in range(6)], getattr(fn, "recorded", 1)

    assert outcome_of_both(run)[1] == 1


def test_an_argument_that_is_also_a_parameter_is_refused():
    model = linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x, weight):
        (x @ weight).sum().backward()
        optimizer.step()

    weight = model.weight.value
    with refuses(r"an argument shares memory with optimizer\.params, which the function refers to itself; leave out the argument"):
        minitorch.compile(step)(tensor(X), weight if weight.shape[0] == 3 else weight.permute(1, 0))


def test_a_function_that_writes_into_an_argument_is_refused():
    def fn(x):
        x[0] = 0.0
        return x * 2

    x = tensor(X)
    with refuses(r"the function writes into argument 0, which is copied at every call; write into a copy: x\.clone\(\)"):
        minitorch.compile(fn)(x)
    np.testing.assert_array_equal(x.to_numpy(), X)


# Variables


SCALE = 2.0


def scaled(x):
    return x * SCALE


def test_a_global_number(monkeypatch):
    compiled = minitorch.compile(scaled)
    for scale in (2.0, 3.0, 2.0, float("nan"), float("nan")):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for _ in range(2):
            check(compiled, scaled, tensor(X))
    assert compiled.recorded == 3


def test_a_number_in_a_closure():
    scale = 2.0

    def change():
        nonlocal scale
        scale = 3.0

    assert check_twice(lambda x: x * scale, change) == 2


class Settings:
    scale = 2.0


@dataclass(slots=True)
class Slots:
    scale: float = 2.0


CONTAINERS = {
    "dict": ({"scale": 2.0}, lambda h: h["scale"], lambda h, v: h.update(scale=v)),
    "list": ([2.0], lambda h: h[0], lambda h, v: h.__setitem__(0, v)),
    "nested": ([[2.0]], lambda h: h[0][0], lambda h, v: h[0].__setitem__(0, v)),
    "deque": (deque([2.0]), lambda h: h[0], lambda h, v: h.__setitem__(0, v)),
    "tuple": (([2.0],), lambda h: h[0][0], lambda h, v: h[0].__setitem__(0, v)),
    "set": ({2.0}, lambda h: max(h), lambda h, v: (h.clear(), h.add(v))),
    "long": ([2.0] * 300, lambda h: sum(h), lambda h, v: h.__setitem__(200, v)),
    "longer": ([2.0] * 3000, lambda h: sum(h), lambda h, v: h.__setitem__(2000, v)),
    "large": (np.full((300, 300), 2.0), lambda h: float(h.mean()), lambda h, v: h.fill(v)),
    "array": (np.array([2.0]), lambda h: float(h[0]), lambda h, v: h.__setitem__(0, v)),
    "object": (types.SimpleNamespace(scale=2.0), lambda h: h.scale, lambda h, v: setattr(h, "scale", v)),
    "dynamic": (types.SimpleNamespace(scale=2.0), lambda h: getattr(h, "sc" + "ale"), lambda h, v: setattr(h, "scale", v)),
    "class": (Settings, lambda h: h.scale, lambda h, v: setattr(h, "scale", v)),
    "instance": (Settings(), lambda h: h.scale, lambda h, v: setattr(type(h), "scale", v)),
    "slots": (Slots(), lambda h: h.scale, lambda h, v: setattr(h, "scale", v)),
    "module": (types.ModuleType("settings"), lambda h: h.scale, lambda h, v: setattr(h, "scale", v)),
}


@pytest.mark.parametrize(("holder", "read", "write"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_number_in_a_container(holder, read, write):
    write(holder, 2.0)
    assert check_twice(lambda x: x * read(holder)) == 1
    assert check_twice(lambda x: x * read(holder), lambda: write(holder, 7.0)) == 2
    write(holder, 2.0)


def test_a_name_that_is_defined_later(monkeypatch):
    def fn(x):
        try:
            return x * LATER  # type: ignore[name-defined]
        except NameError:
            return x

    check_twice(fn, lambda: monkeypatch.setitem(globals(), "LATER", 5.0))


def test_a_name_that_the_function_defines_is_undefined_when_it_runs_as_it_is(monkeypatch):
    def fn(x):
        global DEFINED
        try:
            DEFINED += 1.0  # type: ignore[name-defined]
        except NameError:
            DEFINED = 1.0
        return x * DEFINED

    monkeypatch.setitem(globals(), "DEFINED", None)  # takes the name out again
    del globals()["DEFINED"]
    compiled = minitorch.compile(fn, fallback="eager")
    with pytest.warns(RuntimeWarning, match="DEFINED, which was missing and is 1"):
        assert compiled(tensor([[3.0]])).item() == 3.0
    assert DEFINED == 1.0


def test_a_global_that_hides_a_function_of_pythons(monkeypatch):
    check_twice(lambda x: x * max(2.0, 3.0), lambda: monkeypatch.setitem(globals(), "max", lambda a, b: a))


def test_an_attribute_that_is_set_later():
    holder = types.SimpleNamespace()

    check_twice(lambda x: x * holder.scale if hasattr(holder, "scale") else x, lambda: setattr(holder, "scale", 5.0))


def test_a_default_argument_and_a_function_in_a_closure_that_is_called():
    factors = [2.0]

    def inner(x, factors=factors):
        return x * factors[0]

    def redefine():
        nonlocal inner
        inner = lambda x: x - 1.0  # noqa: E731

    assert check_twice(lambda x: inner(x) + 1.0, lambda: factors.insert(0, 4.0), redefine) == 3


def test_a_property_and_a_static_method():
    numbers = {"a": 2.0, "b": 3.0}

    class Model:
        @property
        def a(self):
            return numbers["a"]

        @staticmethod
        def b():
            return numbers["b"]

        def __call__(self, x):
            return x * self.a + self.b()

    check_twice(Model(), lambda: numbers.update(a=10.0), lambda: numbers.update(b=10.0))


def test_a_tensor_that_is_replaced_or_overwritten():
    bias = [tensor([1.0, 2.0, 3.0])]

    assert check_twice(lambda x: x + bias[0], lambda: bias[0].__setitem__(0, 10.0)) == 1  # written in place: read at every call
    assert check_twice(lambda x: x + bias[0], lambda: bias.insert(0, tensor([7.0, 8.0, 9.0]))) == 2


def test_a_tensor_that_the_scan_cannot_find_is_refused():
    batches = iter([tensor(X), tensor(X) * 2, tensor(X) * 3])

    with refuses(
        r"a tensor of shape \(2, 3\), which is no argument and not found from the function's variables, cannot be recorded, at "
        r"test_guards\.py:\d+; do it outside of the compiled function"
    ):
        minitorch.compile(lambda x: x + next(batches))(tensor(X))


def test_a_tensor_with_a_graph_of_its_own_is_refused():
    scaled_weight = tensor([1.0, 2.0, 3.0], True) * 2.0
    with refuses("scaled_weight was computed with gradients outside of the function; pass it as an argument, or detach it"):
        minitorch.compile(lambda x: (x * scaled_weight).sum())(tensor(X))


# Modules


class Network(nn.Module):
    def __init__(self, rate=0.5):
        super().__init__()
        self.linear = linear(3, 3)
        self.dropout = nn.Dropout(rate)
        self.scale = 1.0
        self.layers = []

    def forward(self, x):
        x = self.dropout(self.linear(x)) * self.scale
        for layer in self.layers:
            x = layer(x)
        return x


def make():
    minitorch.manual_seed(0)
    model = Network()
    return model, minitorch.compile(model, max_recordings=16)


def same_stream(compiled, model, x):
    minitorch.manual_seed(1)
    got = compiled(x).to_numpy()
    minitorch.manual_seed(1)
    np.testing.assert_array_equal(got, model(x).to_numpy())
    return got


def test_train_and_eval_are_two_recordings():
    model, compiled = make()
    with minitorch.no_grad():
        for _ in range(4):
            compiled.train()
            trained = same_stream(compiled, model, tensor(X))
            compiled.eval()
            evaluated = same_stream(compiled, model, tensor(X))
            assert (trained == 0).any()
            assert not (evaluated == 0).any()
    assert compiled.recorded == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m.dropout, "p", 0.1),
        lambda m: setattr(m, "scale", 3.0),
        lambda m: m.layers.append(nn.ReLU()),
        lambda m: m.linear.weight.update(tensor(np.eye(3).tolist())),
        lambda m: setattr(m, "linear", linear(3, 3)),
        lambda m: setattr(m, "dropout", nn.ReLU()),
        lambda m: m.load_state_dict({name: value * 0 + 0.5 for name, value in m.state_dict().items()}),
        lambda m: setattr(m.linear.bias.value, "_tensor", tensor([5.0, 6.0, 7.0])._tensor),
        lambda m: setattr(m.linear, "forward", lambda x: x),
        lambda m: m.linear.bias.value.requires_grad_(False),
        lambda m: m.requires_grad_(False),
    ],
    ids=["rate", "scale", "layers", "update", "module", "kind", "load", "storage", "forward", "bias", "frozen"],
)
def test_a_module_that_changes(change):
    model, compiled = make()
    for number in range(12):
        if number == 6:
            change(model)
        with contextlib.nullcontext() if number in (3, 4, 5, 7, 9, 11) else minitorch.no_grad():
            same_stream(compiled, model, tensor(X))


def test_an_attribute_set_on_the_compiled_module_is_the_modules():
    model, compiled = make()
    compiled.scale = 4.0
    assert model.scale == 4.0
    same_stream(compiled, model, tensor(X))


def test_a_layer_appended_to_a_sequential():
    model = nn.Sequential(linear(3, 3))
    with minitorch.no_grad():
        assert check_twice(model, lambda: model.append(nn.ReLU())) == 2


def test_a_frozen_layer_gets_no_gradient():
    model = nn.Sequential(linear(3, 3), linear(3, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @minitorch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(tensor(X))
    model[0].requires_grad_(False)
    before = [p.value.to_numpy() for p in model.parameters()]
    step(tensor(X))
    after = [p.value.to_numpy() for p in model.parameters()]
    assert [np.array_equal(a, b) for a, b in zip(before, after, strict=True)] == [True, True, False, False]


class Keeps(nn.Module):
    """A module that keeps what a function computes of itself and x."""

    def __init__(self, compute, last=None):
        super().__init__()
        self.weight = nn.Parameter(tensor([2.0]))
        self.last, self.compute = last, compute

    def forward(self, x):
        self.last = self.compute(self, x)
        return x * self.weight.value


def test_a_module_keeps_a_tensor_that_the_function_computes():
    model = Keeps(lambda self, x: (x * 2).detach())
    compiled = minitorch.compile(model)
    for number in range(4):
        compiled(tensor([float(number)]))
        assert model.last.to_numpy().tolist() == [2.0 * number]
    assert compiled.recorded <= 2


@pytest.mark.parametrize(
    ("compute", "last", "reason"),
    [
        (
            lambda self, x: self.last + x,
            [0.0],
            r"the function replaces Keeps\.last, which it reads; pass it as an argument and return the new one",
        ),
        (
            lambda self, x: self.weight.value * self.weight.value,
            None,
            r"the function keeps a tensor with gradients as Keeps\.last; keep x\.detach\(\), or return it",
        ),
    ],
    ids=["what it reads", "a graph"],
)
def test_a_module_that_replaces_or_keeps_what_a_replay_cannot_is_refused(compute, last, reason):
    with refuses(reason):
        minitorch.compile(Keeps(compute, last and tensor(last)))(tensor([1.0]))


# Hooks


def doubled(*args):
    return args[-1] * 2


def test_hooks_are_refused_whenever_they_are_registered():
    model, compiled = make()
    compiled(tensor(X))
    handle = model.linear.register_forward_hook(doubled)
    with refuses(r"linear has a hook, which is Python; remove it, or leave it uncompiled"):
        compiled(tensor(X))
    handle.remove()
    same_stream(compiled, model, tensor(X))
    handle = model.linear.weight.value.register_hook(doubled)
    with refuses(r"linear\.weight has a hook, which is Python; remove it, or leave the function uncompiled"):
        compiled(tensor(X))
    handle.remove()
    compiled(tensor(X, True))
    x = tensor(X, True)
    x.register_hook(doubled)
    with refuses("an argument has a hook, which is Python; remove it, or leave the function uncompiled"):
        compiled(x)


def test_a_hook_registered_inside_is_refused():
    with refuses(r"a hook, which is Python, cannot be recorded, at test_guards\.py:\d+; do it outside of the compiled function"):
        minitorch.compile(lambda x: (x * 2).register_hook(doubled))(tensor(X, True))


# Modes


def test_no_grad_and_the_default_dtype():
    fn = lambda x: x * tensor([2.0])  # noqa: E731
    compiled, x = minitorch.compile(fn), tensor(X, True, dtype="float32")
    for _ in range(2):
        assert check(compiled, fn, x).requires_grad
        with minitorch.no_grad():
            assert not check(compiled, fn, x).requires_grad
        minitorch.set_default_dtype("float32")
        try:
            assert check(compiled, fn, x).dtype is fn(x).dtype
        finally:
            minitorch.set_default_dtype("float64")
