"""Compiled functions and training steps give the numbers, gradients and state that the function itself gives."""

# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false, reportIndexIssue=false, reportArgumentType=false

import copy
import threading
from typing import NamedTuple

import numpy as np
import pytest

import minitorch
from minitorch import nn, optim
from minitorch.compiler import NotRecordable

from . import programs
from .programs import linear, outcome_of_both, refuses, tensor

X = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]


class Plain(optim.Optimizer):
    """A user's own optimizer; its update is Python."""

    settings = optim.SGD.settings
    state_names = ("mean",)

    def __init__(self, parameters, lr=0.1):
        defaults = {"lr": lr, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}
        super().__init__(parameters, defaults)
        self.steps = 0

    def update(self, value, gradient, state, group):
        self.steps += 1
        state["mean"] = gradient if "mean" not in state else state["mean"] * 0.5 + gradient
        value[...] = value - state["mean"] * (group["lr"] / (1.0 + 0.1 * self.steps))


def make_step(make, clear="begin"):
    """A model, its optimizer, and a training step."""
    minitorch.manual_seed(0)
    model = nn.Sequential(linear(3, 4), nn.Tanh(), linear(4, 1))
    optimizer = make(model.parameters())

    def step(x):
        if clear == "begin":
            optimizer.zero_grad()
        loss = (model(x) - 1.0).sigmoid().mean()
        loss.backward()
        optimizer.step()
        if clear == "end":
            optimizer.zero_grad()
        return loss

    return model, optimizer, step


def state_of(model, optimizer):
    """All numbers of a model and its optimizer."""
    states = optimizer.state_dict()["state"]
    saved = {number: {name: np.asarray(entry).tolist() for name, entry in state.items()} for number, state in states.items()}
    return [p.value.tolist() for p in model.parameters()], saved


def train_both(make, during=lambda number, model, optimizer: None, clear="begin", **options):
    """Train eagerly and compiled: the same losses, parameters and state, bit for bit. Returns the compiled step."""
    steps = []

    def run(compile):
        model, optimizer, step = make_step(make, clear)
        steps.append(compile(step, **options))
        losses = []
        for number in range(10):
            losses.append(steps[-1](tensor(np.add(X, number % 4).tolist())).item())
            during(number, model, optimizer)
        return losses, state_of(model, optimizer)

    outcome_of_both(run)
    return steps[1]


OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "decay": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "dampening": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3),
    "adam": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.1),
    "centered": lambda p: optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "own": Plain,
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_ten_steps_of_an_optimizer_are_those_of_the_function(name):
    compiled = train_both(OPTIMIZERS[name])
    assert (compiled.recorded, compiled.replayed) == (1, 9)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "rmsprop", "own"])
def test_a_learning_rate_changes_without_a_new_recording(name):
    def change(number, model, optimizer):
        optimizer.lr = 0.1 / (1 + number)

    assert train_both(OPTIMIZERS[name], change).recorded == 1


def test_other_settings_take_effect():
    def change(number, model, optimizer):
        optimizer.param_groups[0].update(momentum=0.9 if 2 <= number < 6 else 0.0, weight_decay=0.1 * number)

    assert train_both(OPTIMIZERS["sgd"], change, max_recordings=2).recorded == 2


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_loading_or_clearing_an_optimizers_state(name):
    saved = {}

    def change(number, model, optimizer):
        if number == 2:
            saved[optimizer] = copy.deepcopy(optimizer.state_dict())
        elif number == 5:
            optimizer.load_state_dict(saved[optimizer])
            optimizer.lr = 0.5
        elif number == 7:
            optimizer.state.clear()

    assert 2 <= train_both(OPTIMIZERS[name], change).recorded <= 4


def test_a_group_that_is_added_to_the_optimizer():
    def add(number, model, optimizer):
        if number == 4:
            optimizer.add_param_group({"params": list(model.parameters())[2:], "lr": 0.3})

    assert train_both(lambda parameters: optim.Adam(list(parameters)[:2], lr=0.1), add, clear="never").recorded >= 2


def test_a_step_of_the_users_own_that_assigns():
    class Own(optim.SGD):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    p.value.detach()[...] = p.value.detach() - p.value.grad * group["lr"]

    assert train_both(lambda p: Own(p, lr=0.1)).replayed >= 7


def test_code_that_reads_the_rate_itself_is_recorded_anew():
    model, optimizer, _ = make_step(OPTIMIZERS["sgd"])

    compiled = minitorch.compile(lambda x: model(x).detach() * optimizer.lr)
    for rate in (0.1, 0.1, 0.7, 0.7):
        optimizer.lr = rate
        np.testing.assert_array_equal(compiled(tensor(X)).to_numpy(), model(tensor(X)).to_numpy() * rate)
    assert compiled.recorded == 2


# Gradients of parameters


@pytest.mark.parametrize("clear", ["begin", "end", "never"])
def test_gradients_are_cleared_where_the_step_says(clear):
    train_both(OPTIMIZERS["sgd"], clear=clear)

    def leave(number, model, optimizer):
        for p in model.parameters():
            p.value.grad = p.value * 0.0 + float(number)

    train_both(OPTIMIZERS["momentum"], clear=clear, during=leave)


def compare_gradients(make, calls=5, between=lambda parameter: None):
    """Call a function of a parameter as it is and compiled: the same gradients after each call, which are returned."""

    def run(compile):
        weight = nn.Parameter(tensor([1.0, 2.0, 3.0]))
        fn, gradients = compile(make(weight)), []
        for number in range(calls):
            fn(tensor([number + 1.0, 1.0, 2.0]))
            gradients.append(None if weight.value.grad is None else weight.value.grad.tolist())
            between(weight)
        return gradients

    return outcome_of_both(run)


def only_backward(weight):
    return lambda x: (x * weight.value).sum().backward()


def retained(weight):
    def fn(x):
        loss = (x * weight.value).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    return fn


@pytest.mark.parametrize(
    ("make", "expected"),
    [(only_backward, [[1.0, 1.0, 2.0], [3.0, 2.0, 4.0], [6.0, 3.0, 6.0]]), (retained, [[2.0, 2.0, 4.0], [6.0, 4.0, 8.0]])],
    ids=["if nobody clears them", "if the graph is retained"],
)
def test_gradients_accumulate(make, expected):
    assert compare_gradients(make, len(expected)) == expected


def test_gradients_are_new_tensors_that_the_caller_may_clear():
    kept = []

    def clear(weight):
        kept.append(weight.value.grad)
        weight.value.grad = None

    assert compare_gradients(only_backward, 3, clear) == [[1.0, 1.0, 2.0], [2.0, 1.0, 2.0], [3.0, 1.0, 2.0]]
    assert [g.to_numpy()[0] for g in kept] == [1.0, 2.0, 3.0] * 2


def test_a_gradient_that_is_cleared_every_other_time():
    count = iter(range(100))

    def sometimes(weight):
        if next(count) % 2:
            weight.value.grad = None

    compare_gradients(only_backward, 6, sometimes)


def test_a_retained_graph_may_be_differentiated_again_outside():
    weight = nn.Parameter(tensor([1.0, 2.0]))

    @minitorch.compile
    def fn(x):
        loss = (x * weight.value * weight.value).sum()
        loss.backward(retain_graph=True)
        return loss

    for _ in range(3):
        weight.value.grad = None
        fn(tensor([1.0, 1.0])).backward()
        assert weight.value.grad.tolist() == [4.0, 8.0]


def test_the_gradient_of_an_argument_accumulates_as_the_functions():
    compiled = minitorch.compile(lambda x: (x * x).sum().backward())
    for calls in (4, 1):
        x = tensor([1.0, 2.0], True)
        for number in range(1, calls + 1):
            compiled(x)
            assert x.grad.tolist() == [2.0 * number, 4.0 * number]


def test_backward_inside_through_an_argument_with_a_graph_is_refused():
    x = tensor([1.0, 2.0], True)
    with refuses(
        "argument 0 was computed with gradients outside of the function, which calls backward itself; call backward outside, or detach "
        "the argument"
    ):
        minitorch.compile(lambda x: (x * x).sum().backward())(x * 2)
    assert x.grad is None


# Results with gradients


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor([2.0, 3.0, 4.0]))

    def forward(self, x):
        return (x * self.weight.value).tanh()


def test_a_result_is_differentiated_outside():
    recorded = []

    def run(compile):
        model = Weighted()
        fn, found = compile(model), []
        for number in range(4):
            x = np.add(X, number).tolist()
            model.weight.value.grad = None
            source, direct = tensor(x, True), tensor(x, True)
            (fn(source * 2.0) * tensor(np.arange(6.0).reshape(2, 3).tolist())).sum().backward()
            fn(direct).sum().backward()
            found.append([each.tolist() for each in (source.grad, direct.grad, model.weight.value.grad)])
        recorded.append(getattr(fn, "recorded", 0))
        return found

    outcome_of_both(run)
    assert recorded[1] <= 4  # of an argument with a graph and of a leaf; with the parameter's gradient None and not


def test_two_results_wait_for_their_backward_pass_at_once():
    def run(compile):
        fn, found = compile(Weighted()), []
        for _ in range(2):
            a, b = tensor([X[0]], True), tensor([X[1]], True)
            first, second = fn(a), fn(b)
            second.sum().backward()
            first.sum().backward()
            found.append([each.tolist() for each in (a.grad, b.grad, first.detach(), second.detach())])
        return found

    outcome_of_both(run)


def test_many_results_that_wait_reach_the_limit_with_the_reason():
    compiled = minitorch.compile(Weighted(), max_recordings=2)
    waiting = [compiled(tensor(X)) for _ in range(2)]
    with refuses(
        "2 recordings are not enough; what differed last is that a result of the call before still waits for its backward pass "
        r"\(call backward, or compute it in no_grad\(\)\)\. Pass max_recordings=4 if that is right"
    ):
        compiled(tensor(X))
    with minitorch.no_grad(), pytest.raises(NotRecordable):
        compiled(tensor(X))  # one more recording
    waiting.clear()
    for _ in range(5):
        compiled(tensor(X))


def test_backward_twice_says_what_to_do():
    compiled = minitorch.compile(Weighted())
    for _ in range(2):
        out = compiled(tensor(X)).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="backward pass of a compiled function runs once, because its buffers are used again; call"):
        out.backward()


def test_no_grad_records_no_gradient():
    model = Weighted()
    compiled = minitorch.compile(model)
    for _ in range(3):
        with minitorch.no_grad():
            out = compiled(tensor(X))
        assert not out.requires_grad
        assert compiled(tensor(X)).requires_grad
    assert compiled.recorded == 2


# Structure of results


class Pair(NamedTuple):
    loss: object
    rest: object


def test_results_keep_their_structure():
    def fn(x):
        y = x * 2.0
        return Pair(y.sum(), {"parts": [y, (y + 1.0, 3)], "same": y, "name": "y"})

    compiled = minitorch.compile(fn)
    for number in range(3):
        got, y = compiled(tensor([number + 1.0, 2.0])), [2.0 * number + 2, 4.0]
        assert type(got) is Pair
        assert got.loss.item() == 2 * number + 6
        assert list(got.rest) == ["parts", "same", "name"]
        (first, (second, *rest)), same, name = got.rest.values()
        assert [first.tolist(), second.tolist(), rest, same.tolist(), name] == [y, [y[0] + 1, 5.0], [3], y, "y"]
        assert [type(each) for each in (got.rest["parts"], got.rest["parts"][1])] == [list, tuple]


def test_one_result_has_gradients_and_the_others_are_detached():
    def run(compile):
        model = Weighted()

        def fn(x):
            y = model(x)
            return {"mean": y.detach().mean(), "loss": y.sum(), "y": [y.detach()]}

        fn, found = compile(fn), []
        for number in range(3):
            model.weight.value.grad = None
            got = fn(tensor(np.add(X, number).tolist()))
            got["loss"].backward()
            found += [model.weight.value.grad.tolist(), got["mean"].item(), got["y"][0].tolist()]
        return found

    outcome_of_both(run)


def test_two_results_with_gradients_are_refused():
    model = Weighted()
    with refuses(r"several results with gradients cannot be recorded; return one of them, and the others detached: y\.detach\(\)"):
        minitorch.compile(lambda x: (model(x), model(x).sum()))(tensor(X))


def test_results_are_new_tensors():
    compiled = minitorch.compile(lambda x: (x + 1.0, x * 2.0))
    kept = [compiled(tensor([float(number)])) for number in range(4)]
    assert [(a.item(), b.item()) for a, b in kept] == [(1.0, 0.0), (2.0, 2.0), (3.0, 4.0), (4.0, 6.0)]
    kept[3][0][0] = 100.0
    assert compiled(tensor([3.0]))[0].item() == 4.0


def test_an_argument_or_parameter_that_is_returned_is_the_same_tensor():
    weight = nn.Parameter(tensor([5.0]))

    compiled = minitorch.compile(lambda x, y: (x, x + y, weight.value))
    for number in range(4):
        x = tensor([float(number)])
        got = compiled(x, tensor([1.0]))
        assert got[0] is x
        assert got[1].item() == number + 1
        assert got[2] is weight.value


def test_a_view_of_an_argument_is_a_copy_of_its_numbers():
    compiled = minitorch.compile(lambda x: x.view(3, 2).permute(1, 0))
    kept = [compiled(tensor(np.add(X, number).tolist())) for number in range(3)]
    for number, each in enumerate(kept):
        np.testing.assert_array_equal(each.to_numpy(), np.add(X, number).reshape(3, 2).T)


def test_a_function_without_tensors_or_results():
    compiled = minitorch.compile(lambda: None)
    assert [compiled() for _ in range(3)] == [None] * 3
    compiled = minitorch.compile(lambda n: minitorch.zeros((n,), programs.BACKEND) + n)
    assert [compiled(2).to_numpy().tolist() for _ in range(3)] == [[2.0, 2.0]] * 3


# Random numbers


def test_random_numbers_are_the_functions_own_stream():
    def run(compile):
        fn = compile(lambda x: nn.dropout(x + minitorch.rand((2, 3), programs.BACKEND), 0.4))
        minitorch.manual_seed(3)
        return [fn(tensor(X)).tolist() for _ in range(6)], getattr(fn, "recorded", 1)

    drawn, recorded = outcome_of_both(run)
    assert len({str(each) for each in drawn}) == 6
    assert recorded == 1


# Several compiled functions, threads


def test_two_compiled_functions_share_a_model():
    def run(compile):
        model, _, step = make_step(OPTIMIZERS["adam"])
        step, evaluate, numbers = compile(step), compile(model), []
        for number in range(5):
            numbers.append(step(tensor(np.add(X, number).tolist())).item())
            with minitorch.no_grad():
                numbers.append(evaluate(tensor(X)).tolist())
        return numbers

    outcome_of_both(run)


def test_a_compiled_function_within_another_is_a_part_of_it():
    inner = minitorch.compile(lambda x: x * 2.0)
    compiled = minitorch.compile(minitorch.compile(lambda x: inner(x) + 1.0))
    assert [compiled(tensor([float(number)])).item() for number in range(4)] == [1.0, 3.0, 5.0, 7.0]
    assert inner.recorded == 0


def in_threads(*functions):
    """Run functions at the same time, each in a thread; raise the first error."""
    errors, start = [], threading.Barrier(len(functions))

    def run(fn):
        try:
            start.wait()
            fn()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(fn,)) for fn in functions]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    if errors:
        raise errors[0]


def test_threads_call_the_same_and_different_compiled_functions():
    fn = lambda x: (x * 2.0 + 1.0).sum()  # noqa: E731
    shared = minitorch.compile(fn, max_recordings=1)
    shared(tensor([1.0, 2.0]))

    def work(offset, own):
        def run():
            for number in range(30):
                x = tensor([float(number), float(offset)])
                assert [each(x).item() for each in (shared, own, fn)] == [2.0 * number + 2.0 * offset + 2.0] * 3

        return run

    in_threads(*[work(offset, minitorch.compile(fn)) for offset in range(4)])
    assert shared.recorded == 1


def test_a_thread_computes_while_another_records():
    started, done = threading.Event(), threading.Event()
    numbers = []

    def fn(x):
        y = x * 3.0
        started.set()
        assert done.wait(30)
        return y + 1.0

    def other():
        assert started.wait(30)
        for number in range(20):
            numbers.append((tensor([float(number)]) * 2.0).item())
            minitorch.rand((2,), programs.BACKEND)
        done.set()

    compiled = minitorch.compile(fn)
    in_threads(lambda: compiled(tensor([1.0])), other)
    assert numbers == [2.0 * number for number in range(20)]
    assert [node.name for node in compiled.trace.nodes] == ["mul", "add"]
    assert compiled(tensor([2.0])).item() == 7.0
