"""Arguments of every layout and dtype, assignments, gradients that a step rewrites, and what a replay could not return or change."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import minitorch
from minitorch import autograd, nn, optim
from minitorch.compiler import NotRecordable

from .test_compile import FAST, OPTIMIZERS, X, compare_gradients, make_step, tensor


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


@pytest.mark.parametrize(
    "make",
    [
        lambda n: numbers(n).permute(1, 0),
        lambda n: numbers(n)[1:],
        lambda n: numbers(n)[:, 1],
        lambda n: numbers(n)[:, ::2],
        lambda n: numbers(n)[1, 1:].view(1, 2),
        lambda n: tensor([[1.0 + n], [2.0]]).expand(2, 3),
        lambda n: tensor([1.0 + n, 2.0, 3.0]).expand(2, 3),
        lambda n: tensor([1.0 + n]).view(),
        lambda n: minitorch.zeros((0, 3), FAST),
        lambda n: tensor([[1.0 + n, -2.0, 3.0]], True) * 2.0,
    ],
    ids=["permuted", "rows", "column", "steps", "offset", "expanded", "broadcast", "no dimensions", "empty", "computed"],
)
def test_an_argument_of_any_layout(make):
    alike(lambda x: x * 2.0 + 1.0, make)
    alike(lambda x: (x * x).sum(), make)


# Assignments


def assign_numbers(x):
    y = x * 2.0
    y[0] = 5.0
    y[1, 1:] = -1.0
    return y + 1.0


def assign_tensors(x):
    y = x * 2.0
    y[0] = x[1] * 3.0
    y[:, 1:] = y[:, :-1]
    return y + 1.0


def assign_selected(x):
    y = x * 2.0
    y[[1, 0]] = x
    y[:, [0]] = 3.0
    return y + 1.0


def assign_to_the_result(x):
    y = x * 2.0
    y[0] = 5.0
    return y


def assign_another_dtype(x):
    y = x * 2.0
    y[0] = (x[1] * 3.0).to("float32")
    y[1] = (x[0] > 0.0).to("int64")
    return y


def assign_to_a_constant(x):
    y = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    z = y * x
    y[0] = y[0] + x[0]
    y[1, 0] = 9.0
    return y + z


def assign_to_zeros(x):
    y = x.zeros()
    y[...] = x
    y[:, 0] = y[:, 1] + 1.0
    return y * x


ASSIGNMENTS = [value for name, value in list(globals().items()) if name.startswith("assign_")]


@pytest.mark.parametrize("fn", [fn for fn in ASSIGNMENTS if fn is not assign_another_dtype], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("check", [True, False])
def test_assignments_are_replayed(fn, check):
    alike(fn, check=check, fuse=False)


def test_an_assignment_to_a_tensor_outside_is_replayed():
    weight = tensor([1.0, 2.0, 3.0])
    other = tensor([1.0, 2.0, 3.0])

    def fn(x, weight=weight):
        weight[0] = x.sum()
        return x * weight

    compiled = minitorch.compile(fn)
    for n in range(4):
        assert compiled(numbers(n)).tolist() == fn(numbers(n), other).tolist()
        assert weight.tolist() == other.tolist()
    assert compiled.recorded == 1


def test_an_assignment_in_a_replay_counts_as_a_change():
    weight = tensor([1.0, 2.0, 3.0], True)

    def fn(x):
        with minitorch.no_grad():
            weight[0] = x.sum()
        return x.sum()

    compiled = minitorch.compile(fn)
    for n in range(3):
        compiled(numbers(n))
    y = (weight * weight).sum()
    compiled(numbers(3))
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
        y = minitorch.zeros((3,), FAST, dtype="int8")
        y[...] = x
        return y

    compiled = minitorch.compile(fn)
    for n in (1, 2):
        assert compiled(minitorch.tensor([n] * 3, FAST, dtype="int64")).tolist() == [n] * 3
    with pytest.raises(ValueError, match="assignment expected whole numbers from -128 to 127 for int8"):
        compiled(minitorch.tensor([3, 200, 4], FAST, dtype="int64"))
    assert compiled(minitorch.tensor([5] * 3, FAST, dtype="int64")).tolist() == [5] * 3


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

    with pytest.raises(NotRecordable, match=r"numpy\(\) cannot be recorded, at test_values\.py:\d+"):
        minitorch.compile(masked)(numbers(0))


# Gradients


def steps_alike(change, **options):
    found = []
    for is_compiled in (False, True):
        model, optimizer, _ = make_step(OPTIMIZERS["momentum"])

        def step(x, model=model, optimizer=optimizer):
            loss = (model(x) - 1.0).sigmoid().mean()
            loss.backward()
            change(model.parameters())
            optimizer.step()
            return loss

        step = minitorch.compile(step, **options) if is_compiled else step
        found.append([step(numbers(n)).item() for n in range(5)])
    assert found[0] == found[1]


def halve(parameters):
    for p in parameters:
        p.value.grad = p.value.grad * 0.5


def test_a_step_that_rewrites_gradients():
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


@dataclass
class Out:
    loss: object


@pytest.mark.parametrize(
    ("fn", "kind"),
    [
        (lambda x: Out(x * 2.0), "Out"),
        (lambda x: (x * i for i in range(2)), "generator"),
        (lambda x: {"a": [x * 2.0, np.zeros(3)]}, "ndarray"),
        (lambda x: minitorch.Scalar(2.0) * 3.0, "Scalar"),
    ],
)
def test_a_result_that_is_no_tensor_is_refused(fn, kind):
    with pytest.raises(
        NotRecordable, match=f"it returns an object of type {kind}; return tensors and plain values, in tuples, lists or dictionaries"
    ):
        minitorch.compile(fn)(numbers(0))


def test_a_step_of_scalars_is_refused():
    weight = nn.Parameter(minitorch.Scalar(2.0))
    optimizer = optim.SGD([weight], lr=0.1)

    def step():
        (weight.value * weight.value).backward()
        optimizer.step()

    with pytest.raises(NotRecordable, match=r"the function changes the value of optimizer\.params, which is another"):
        minitorch.compile(step)()
    assert weight.value.data == 2.0


def test_a_list_or_dictionary_that_is_changed_as_an_argument_is_refused():
    def appends(x, outs):
        outs.append(x * 2.0)
        return x

    def sets(x, outs):
        outs["y"] = x * 2.0
        return x

    for fn, outs in ((appends, []), (sets, {})):
        with pytest.raises(NotRecordable, match="the function changes its arguments, a list or dictionary, which a replay would not"):
            minitorch.compile(fn)(numbers(0), outs)
        assert not outs


def test_a_parameter_that_is_replaced_inside_is_refused():
    weight = nn.Parameter(tensor([1.0]))

    def fn(x):
        weight.update(weight.value.detach() * 2.0)
        return x * weight.value.detach()

    with pytest.raises(NotRecordable, match="the function changes the value of weight, which is another"):
        minitorch.compile(fn)(tensor([1.0]))
    assert weight.value.item() == 1.0


# Loss scaling


def scaled_training(is_compiled):
    """The losses of five steps whose optimizer is stepped by a GradScaler outside of the function; and the parameters."""
    model, optimizer, _ = make_step(OPTIMIZERS["momentum"])
    scaler, losses = minitorch.GradScaler(init_scale=2.0**10, growth_interval=2), []

    def loss_of(x):
        return (model(x) - 1.0).sigmoid().mean()

    loss_of = minitorch.compile(loss_of) if is_compiled else loss_of
    for n in range(5):
        loss = loss_of(numbers(n))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        del loss
    assert scaler.get_scale() == 2.0**12
    return losses, [p.value.to_numpy().tolist() for p in model.parameters()]


def test_gradients_of_a_compiled_loss_can_be_scaled():
    assert scaled_training(True) == scaled_training(False)


def test_a_scaler_within_the_function_is_refused():
    model, optimizer, _ = make_step(OPTIMIZERS["sgd"])
    scaler = minitorch.GradScaler()

    @minitorch.compile
    def step(x):
        loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        return loss.detach()

    with pytest.raises(NotRecordable, match=r"to_numpy\(\) cannot be recorded, at test_values"):
        step(numbers(0))


# A compiled module within a module


def networks_with_a_part(is_compiled):
    """A network of two layers, of which the first may be compiled."""
    minitorch.manual_seed(0)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            part = nn.Sequential(nn.Linear(3, 4, backend=FAST), nn.Dropout(0.5))
            self.part = minitorch.compile(part) if is_compiled else part
            self.last = nn.Linear(4, 1, backend=FAST)

        def forward(self, x):
            return self.last(self.part(x))

    return Network()


def test_a_compiled_part_is_registered_as_a_child():
    plain, network = networks_with_a_part(False), networks_with_a_part(True)
    assert isinstance(network.part, nn.Sequential)
    assert [name for name, _ in network.named_parameters()] == [name for name, _ in plain.named_parameters()]
    assert list(network.state_dict()) == list(plain.state_dict())
    network.eval()
    assert not network.part.training
    assert not network.part.fn[1].training
    x = numbers(0)
    plain.eval()
    assert network(x).tolist() == plain(x).tolist()


def test_a_network_with_a_compiled_part_trains_alike():
    found = []
    for is_compiled in (False, True):
        network = networks_with_a_part(is_compiled)
        optimizer = optim.SGD(network.parameters(), lr=0.1)
        for n in range(5):
            loss = (network(numbers(n)) - 1.0).sigmoid().mean()
            loss.backward()
            optimizer.step()
            del loss
        found.append([p.value.to_numpy().tolist() for p in network.parameters()])
    assert network.part.recorded == 1
    assert found[0] == found[1]
    restored = pickle.loads(pickle.dumps(network.part))
    network.eval()
    restored.eval()
    assert restored(numbers(0)).tolist() == network.part(numbers(0)).tolist()
