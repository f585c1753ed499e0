"""Arguments of every layout and dtype, assignments, gradients that a step rewrites, and what a replay could not return or change."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch
from minitorch import autograd, nn, optim

from . import programs
from .programs import changes, linear, outcome_of_both, refuses, tensor
from .test_compile import OPTIMIZERS, X, compare_gradients, make_step


def numbers(n):
    return tensor(np.add(X, n).tolist())


def alike(fn, make=numbers, calls=4, **options):
    """Call a function compiled and as it is, each time with other numbers; the results are the same."""
    compiled = minitorch.compile(fn, **options)
    for n in range(calls):
        got, want = compiled(make(n)), fn(make(n))
        assert got.dtype is want.dtype
        np.testing.assert_array_equal(got.detach().to("float64").to_numpy(), want.detach().to("float64").to_numpy())
        del got  # a result that waits for its backward pass keeps the buffers
    assert compiled.recorded == 1


# Arguments


LAYOUTS = {
    "permuted": lambda n: numbers(n).permute(1, 0),
    "rows": lambda n: numbers(n)[1:],
    "column": lambda n: numbers(n)[:, 1],
    "steps": lambda n: numbers(n)[:, ::2],
    "offset": lambda n: numbers(n)[1, 1:].view(1, 2),
    "expanded": lambda n: tensor([[1.0 + n], [2.0]]).expand(2, 3),
    "broadcast": lambda n: tensor([1.0 + n, 2.0, 3.0]).expand(2, 3),
    "no dimensions": lambda n: tensor([1.0 + n]).view(),
    "empty": lambda n: minitorch.zeros((0, 3), programs.BACKEND),
    "computed": lambda n: tensor([[1.0 + n, -2.0, 3.0]], True) * 2.0,
}


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_an_argument_of_any_layout(make):
    alike(lambda x: x * 2.0 + 1.0, make)
    alike(lambda x: (x * x).sum(), make)


# Results


def test_results_share_neither_memory_nor_versions():
    compiled = minitorch.compile(lambda x: (x * 2.0, x + 1.0))
    kept = [compiled(tensor([float(n), 2.0])) for n in range(4)]
    kept[2][0][0] = 100.0
    assert compiled(tensor([4.0, 2.0]))[0].tolist() == [8.0, 4.0]
    doubles, sums = ([pair[number].tolist() for pair in kept] for number in range(2))
    assert doubles == [[0.0, 4.0], [2.0, 4.0], [100.0, 4.0], [6.0, 4.0]]
    assert sums == [[1.0, 3.0], [2.0, 3.0], [3.0, 3.0], [4.0, 3.0]]
    assert [x._tensor.version for pair in kept for x in pair] == [0, 0, 0, 0, 1, 0, 0, 0]


# Assignments


def assigning(*assignments, begin=lambda x: x * 2.0, end=lambda y, x: y + 1.0):
    """A function that begins with y and assigns to some of its elements: an index, and what y and x give."""

    def fn(x):
        y = begin(x)
        for index, value in assignments:
            y[index] = value(y, x)
        return end(y, x)

    return fn


def assigning_to_a_constant(x):
    y = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    z = y * x
    y[0] = y[0] + x[0]
    y[1, 0] = 9.0
    return y + z


ANOTHER_DTYPE = assigning((0, lambda y, x: (x[1] * 3.0).to("float32")), (1, lambda y, x: (x[0] > 0.0).to("int64")), end=lambda y, x: y)
ASSIGNMENTS = {
    "numbers": assigning((0, lambda y, x: 5.0), (np.s_[1, 1:], lambda y, x: -1.0)),
    "tensors": assigning((0, lambda y, x: x[1] * 3.0), (np.s_[:, 1:], lambda y, x: y[:, :-1])),
    "selected elements": assigning(([1, 0], lambda y, x: x), (np.s_[:, [0]], lambda y, x: 3.0)),
    "the result": assigning((0, lambda y, x: 5.0), end=lambda y, x: y),
    "zeros": assigning((..., lambda y, x: x), (np.s_[:, 0], lambda y, x: y[:, 1] + 1.0), begin=lambda x: x.zeros(), end=lambda y, x: y * x),
    "a constant": assigning_to_a_constant,
}


@pytest.mark.parametrize("fn", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
@pytest.mark.parametrize("check", [True, False])
def test_assignments_are_replayed(fn, check):
    alike(fn, check=check, fuse=False)


def test_an_assignment_to_a_tensor_outside_is_replayed():
    def run(compile):
        weight = tensor([1.0, 2.0, 3.0])

        def fn(x):
            weight[0] = x.sum()
            return x * weight

        fn = compile(fn)
        return [(fn(numbers(n)).tolist(), weight.tolist()) for n in range(4)], getattr(fn, "recorded", 1)

    assert outcome_of_both(run)[1] == 1


def test_an_assignment_in_a_replay_counts_as_a_change():
    weight = tensor([1.0, 2.0, 3.0], True)

    @minitorch.compile
    def fn(x):
        with minitorch.no_grad():
            weight[0] = x.sum()

    for n in range(3):
        fn(numbers(n))
    y = (weight * weight).sum()
    fn(numbers(3))
    with pytest.raises(RuntimeError, match="it has been written into since"):
        y.backward()


def test_reading_a_tensor_in_a_replay_is_no_change():
    weight = tensor([1.0, 2.0, 3.0], True)
    compiled = minitorch.compile(lambda x: (x * weight[[2, 1, 0]].detach()).sum())
    for n in range(3):
        compiled(numbers(n))
    y = (weight * weight).sum()
    compiled(numbers(3))
    y.backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2.0, 4.0, 6.0]


def test_an_assignment_checks_its_numbers_at_every_replay():
    def fn(x):
        y = minitorch.zeros((3,), programs.BACKEND, dtype="int8")
        y[...] = x
        return y

    compiled = minitorch.compile(fn)
    for n in (1, 2):
        assert compiled(tensor([n] * 3, dtype="int64")).tolist() == [n] * 3
    with pytest.raises(ValueError, match="assignment expected whole numbers from -128 to 127 for int8"):
        compiled(tensor([3, 200, 4], dtype="int64"))
    assert compiled(tensor([5] * 3, dtype="int64")).tolist() == [5] * 3


def test_a_conversion_checks_its_numbers_at_every_replay():
    compiled = minitorch.compile(lambda x: x.to("int8"))
    for n in range(2):
        compiled(numbers(n))
    with pytest.raises(ValueError, match="int8 represents numbers from -128 to 127, got 200"):
        compiled(tensor([[200.0] * 3] * 2))


def test_an_assignment_that_depends_on_the_numbers_is_refused():
    def masked(x):
        y = x * 2.0
        y[x > 1.0] = 0.0
        return y

    with refuses(r"numpy\(\) cannot be recorded, at test_values\.py:\d+; do it outside of the compiled function"):
        minitorch.compile(masked)(numbers(0))


# Gradients


def steps_alike(change, **options):
    def run(compile):
        model, optimizer, _ = make_step(OPTIMIZERS["momentum"])

        def step(x):
            loss = (model(x) - 1.0).sigmoid().mean()
            loss.backward()
            change(model.parameters())
            optimizer.step()
            return loss

        step = compile(step, **options)
        return [step(numbers(n)).item() for n in range(5)]

    outcome_of_both(run)


def test_a_step_that_rewrites_gradients():
    def halve(parameters):
        for p in parameters:
            p.value.grad = p.value.grad * 0.5

    steps_alike(halve)


def test_a_leaf_outside_that_is_no_parameter():
    def make(weight):
        bias = tensor([1.0, 2.0, 3.0], True)

        def fn(x):
            ((x * weight.value + bias) * bias).sum().backward()
            weight.value.grad = weight.value.grad + bias.grad
            bias.grad = None

        return fn

    compare_gradients(make)


def test_an_argument_that_the_function_makes_a_leaf():
    def fn(x):
        x.requires_grad_(True)
        (x * x).sum().backward()
        return x.grad

    alike(fn)


def test_gradients_of_gradients_are_refused():
    compiled = minitorch.compile(lambda x: (x * x * x).sum())
    x = tensor([2.0], True)
    for _ in range(2):
        y = compiled(x)
    with pytest.raises(RuntimeError, match=r"gradients of gradients do not flow through a compiled function; differentiate <lambda>"):
        autograd.grad(y, [x], create_graph=True)


# Results and arguments that are no tensors


@pytest.mark.parametrize(
    ("fn", "kind"),
    [
        (lambda x: SimpleNamespace(loss=x * 2.0), "SimpleNamespace"),
        (lambda x: (x * i for i in range(2)), "generator"),
        (lambda x: {"a": [x * 2.0, np.zeros(3)]}, "ndarray"),
        (lambda x: minitorch.Scalar(2.0) * 3.0, "Scalar"),
    ],
)
def test_a_result_that_is_no_tensor_is_refused(fn, kind):
    with refuses(f"it returns an object of type {kind}; return tensors and plain values, in tuples, lists or dictionaries"):
        minitorch.compile(fn)(numbers(0))


def test_a_step_of_scalars_is_refused():
    weight = minitorch.Parameter(minitorch.Scalar(2.0))
    optimizer = optim.SGD([weight], lr=0.1)

    def step():
        (weight.value * weight.value).backward()
        optimizer.step()

    with refuses(changes(r"the value of optimizer\.params, which is another tensor")):
        minitorch.compile(step)()
    assert weight.value.data == 2.0


@pytest.mark.parametrize(("change", "outs"), [(lambda outs, y: outs.append(y), []), (lambda outs, y: outs.update(y=y), {})])
def test_a_list_or_dictionary_that_is_changed_as_an_argument_is_refused(change, outs):
    def fn(x, outs):
        change(outs, x * 2.0)
        return x

    with refuses("the function changes its arguments, a list or dictionary, which a replay would not repeat; return it"):
        minitorch.compile(fn)(numbers(0), outs)
    assert not outs


def test_a_parameter_that_is_replaced_inside_is_refused():
    weight = minitorch.Parameter(tensor([1.0]))

    def fn(x):
        weight.update(weight.value.detach() * 2.0)
        return x * weight.value.detach()

    with refuses(changes("the value of weight, which is another tensor")):
        minitorch.compile(fn)(tensor([1.0]))
    assert weight.value.item() == 1.0


# Loss scaling


def test_gradients_of_a_compiled_loss_can_be_scaled():
    def run(compile):
        model, optimizer, _ = make_step(OPTIMIZERS["momentum"])
        scaler, losses = minitorch.GradScaler(init_scale=2.0**10, growth_interval=2), []
        loss_of = compile(lambda x: (model(x) - 1.0).sigmoid().mean())
        for n in range(5):
            loss = loss_of(numbers(n))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
            del loss
        assert scaler.get_scale() == 2.0**12
        return losses, [p.value.tolist() for p in model.parameters()]

    outcome_of_both(run)


def test_a_scaler_within_the_function_is_refused():
    model, optimizer, _ = make_step(OPTIMIZERS["sgd"])
    scaler = minitorch.GradScaler()

    @minitorch.compile
    def step(x):
        loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        return loss.detach()

    with refuses(r"to_numpy\(\) cannot be recorded, at test_values\.py:\d+; do it outside of the compiled function"):
        step(numbers(0))


# A compiled module within a module


class Network(nn.Module):
    """Two layers, of which the first may be compiled."""

    def __init__(self, compile=lambda part: part):
        super().__init__()
        minitorch.manual_seed(0)
        self.part = compile(nn.Sequential(linear(3, 4), nn.Dropout(0.5)))
        self.last = linear(4, 1)

    def forward(self, x):
        return self.last(self.part(x))


def test_a_compiled_part_is_registered_as_a_child():
    plain, network = Network(), Network(minitorch.compile)
    assert isinstance(network.part, nn.Sequential)
    assert [name for name, _ in network.named_parameters()] == [name for name, _ in plain.named_parameters()]
    assert list(network.state_dict()) == list(plain.state_dict())
    network.eval()
    assert not network.part.training
    assert not network.part.fn[1].training
    plain.eval()
    assert network(numbers(0)).tolist() == plain(numbers(0)).tolist()


def test_a_network_with_a_compiled_part_trains_alike():
    networks = []

    def run(compile):
        network = Network(compile)
        optimizer = optim.SGD(network.parameters(), lr=0.1)
        for n in range(5):
            optimizer.zero_grad()
            loss = (network(numbers(n)) - 1.0).sigmoid().mean()
            loss.backward()
            optimizer.step()
            del loss
        networks.append(network)
        return [p.value.tolist() for p in network.parameters()]

    outcome_of_both(run)
    network = networks[1]
    assert network.part.recorded == 1
    restored = pickle.loads(pickle.dumps(network.part))
    network.eval()
    restored.eval()
    assert restored(numbers(0)).tolist() == network.part(numbers(0)).tolist()
