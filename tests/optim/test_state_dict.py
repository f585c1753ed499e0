"""Groups of parameters, and states of optimizers that can be saved and loaded."""

import copy
import json

import numpy as np
import pytest

from minitorch import SGD, Adam, FastBackend, Module, Parameter, Scalar, SimpleBackend, float32, float64, tensor
from minitorch.optim import AdamW, RMSprop, StepLR
from tests.errors import raises
from tests.nn.checks import refuses

RULES = [
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.2, "momentum": 0.5, "dampening": 0.25}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.8), "weight_decay": 0.5}),
    (AdamW, {"lr": 0.1}),
    (RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True}),
]
EVERY_RULE = pytest.mark.parametrize(("rule", "settings"), RULES, ids=lambda part: getattr(part, "__name__", part))
START = np.array([[3.0, -1.0, 0.5], [0.0, 2.0, -20.0]])
GRADIENTS = np.random.default_rng(0).standard_normal((8, 2, 3))


def weights(values, gradient=None, backend=SimpleBackend, dtype=None, name=None):
    p = Parameter(tensor(values, backend, dtype=dtype), name)
    p.value.grad = None if gradient is None else tensor(gradient, backend, dtype=dtype)
    return p


def stepped(optimizer, parameters, gradients):
    """Take a step for each set of gradients, one for each parameter."""
    for each in gradients:
        for p, gradient in zip(parameters, each, strict=True):
            p.value.grad = tensor(gradient, p.value.backend, dtype=p.value.dtype)
        optimizer.step()


# Groups


def test_every_group_moves_by_its_own_settings():
    p, q, r = (weights([3.0], [2.0]) for _ in range(3))
    optimizer = SGD([{"params": [p], "lr": 0.5}, {"params": (q for q in [q]), "weight_decay": 1.0}], lr=1.0)
    optimizer.add_param_group({"params": r, "lr": 0.25})
    optimizer.step()
    assert [each.value.item() for each in (p, q, r)] == [2.0, -2.0, 2.5]
    assert optimizer.parameters == [p, q, r]
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 1.0, 0.25]


def test_the_rate_of_all_groups_is_read_and_set_at_once():
    optimizer = SGD([{"params": [weights([1.0])]}, {"params": [weights([1.0])]}], lr=0.5)
    assert optimizer.lr == 0.5
    optimizer.param_groups[1]["lr"] = 0.25
    with raises(RuntimeError, "SGD.lr expected one rate for all groups, got [0.25, 0.5]; read param_groups[i]['lr']"):
        _ = optimizer.lr
    optimizer.lr = 0.125
    assert [group["lr"] for group in optimizer.param_groups] == [0.125, 0.125]
    with raises(ValueError, "SGD expected a learning rate lr >= 0, got -1; try 0.5"):
        optimizer.lr = -1


def test_what_is_no_group_is_refused():
    p = weights([1.0])
    optimizer = SGD([p])
    refuses(ValueError, "… expected a learning rate lr >= 0, got -0.1; try 0.5", SGD, [{"params": [p], "lr": -0.1}])
    with raises(TypeError, 'an optimizer expected a group such as {"params": module.parameters(), "lr": 0.1}, got {\'lr\': 0.1}'):
        optimizer.add_param_group({"lr": 0.1})
    for wrong in ({p}, p, 3):
        refuses(TypeError, f"an optimizer expected a list of Parameters, got {type(wrong).__name__}; pass module.parameters()", SGD, wrong)
    assert len(optimizer.param_groups) == 1


def test_a_group_may_be_empty_and_have_entries_of_its_own_as_in_pytorch():
    optimizer = SGD([{"params": [weights([1.0])], "name": "head"}, {"params": []}], lr=np.float64(0.5))
    assert [(group.get("name"), len(group["params"]), group["lr"]) for group in optimizer.param_groups] == [
        ("head", 1, 0.5),
        (None, 0, 0.5),
    ]
    assert repr(SGD([weights([1.0])])).startswith("SGD (\nParameter Group 0\n    dampening: 0.0\n    differentiable: False\n")


def test_a_parameter_that_comes_twice_is_refused():
    p, q = weights([1.0], name="weight"), weights([2.0])
    message = "an optimizer expected every parameter once, got {} twice; list(dict.fromkeys(module.parameters())) has each once"
    refuses(ValueError, message.format("weight"), SGD, [p, q, p])
    refuses(ValueError, message.format("one"), SGD, [{"params": [p, q]}, {"params": [q]}])
    tied = Module()
    tied.a, tied.b = p, p
    assert SGD(list(dict.fromkeys(tied.parameters()))).parameters == [p]


# Saving and going on


def plain(state):
    """A state as it comes out of a file: arrays by themselves, all else through JSON."""
    back = json.loads(json.dumps(state, default=lambda array: None))
    for key, memory in state["state"].items():
        back["state"][str(key)] |= {name: copy.deepcopy(kept) for name, kept in memory.items() if hasattr(kept, "dtype")}
    return back


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@EVERY_RULE
def test_an_optimizer_goes_on_from_its_state_to_the_last_bit(rule, settings, backend, dtype):
    def begun(values):
        return [Parameter(tensor(value, backend, dtype=dtype)) for value in values]

    through, gradients = begun([START, START[0]]), [(each, each[1]) for each in GRADIENTS]
    optimizer = rule(through, **settings)
    stepped(optimizer, through, gradients[:3])
    state, values = plain(optimizer.state_dict()), [p.value.to_numpy() for p in through]
    stepped(optimizer, through, gradients[3:])

    resumed = begun(values)
    other = rule(resumed)  # with other settings
    other.load_state_dict(state)
    stepped(other, resumed, gradients[3:])
    assert [p.value.tolist() for p in resumed] == [p.value.tolist() for p in through]


@EVERY_RULE
def test_scalars_go_on_from_a_state(rule, settings):
    p = Parameter(Scalar(3.0))
    optimizer = rule([p], **settings)
    p.value.derivative = 1.0
    optimizer.step()
    q = Parameter(Scalar(p.value.data))
    other = rule([q])
    other.load_state_dict(plain(optimizer.state_dict()))
    for moved, following in ((p, optimizer), (q, other)):
        moved.value.derivative = 2.0
        following.step()
    assert p.value.data == q.value.data


OPTIONS = {
    **dict.fromkeys(("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"), False),
    **dict.fromkeys(("foreach", "fused")),
}


def test_a_state_that_an_earlier_version_has_saved_is_loaded():
    p = weights([3.0, 1.0])
    optimizer = Adam([p], lr=0.5, maximize=True)
    group = {"params": [0], "lr": 0.25, "betas": [0.5, 0.75], "eps": 1e-8, "weight_decay": 0.0}
    memory = {"step": 3, "exp_avg": np.array([1.0, 2.0]), "exp_avg_sq": np.array([1.0, 4.0])}
    optimizer.load_state_dict({"optimizer": "Adam", "state": {"0": memory}, "param_groups": [group]})
    assert {name: np.asarray(kept).tolist() for name, kept in optimizer.state[p].items()} == {
        "step": 3,
        "exp_avg": [1, 2],
        "exp_avg_sq": [1, 4],
    }
    assert (optimizer.lr, optimizer.param_groups[0]["maximize"]) == (0.25, True)


def test_the_steps_of_rmsprop_are_counted_and_go_on_from_a_state_without_the_count():
    p = weights([3.0])
    optimizer = RMSprop([p])
    stepped(optimizer, [p], [[[1.0]], [[1.0]]])
    assert optimizer.state_dict()["state"][0]["step"].item() == 2
    state = optimizer.state_dict()
    del state["state"][0]["step"]
    optimizer.load_state_dict(state)
    stepped(optimizer, [p], [[[1.0]]])
    assert optimizer.state[p]["step"] == 1


def test_a_state_has_pytorchs_form_and_names():
    p, q = weights([3.0, 1.0], [2.0, 0.0]), weights([1.0])
    optimizer = Adam([{"params": [q]}, {"params": [p], "eps": 0.5}], lr=0.5, betas=(0.5, 0.75))
    optimizer.step()
    state = optimizer.state_dict()
    memory = state["state"].pop(1)
    assert state == {
        "optimizer": "Adam",
        "state": {},
        "param_groups": [
            {"params": [0], "lr": 0.5, "betas": (0.5, 0.75), "eps": 1e-8, "weight_decay": 0.0, **OPTIONS},
            {"params": [1], "lr": 0.5, "betas": (0.5, 0.75), "eps": 0.5, "weight_decay": 0.0, **OPTIONS},
        ],
    }
    assert {name: np.asarray(kept).tolist() for name, kept in memory.items()} == {
        "step": 1,
        "exp_avg": [1.0, 0.0],  # 0.5 · 2
        "exp_avg_sq": [1.0, 0.0],  # 0.25 · 2²
    }


def test_a_state_is_a_copy_on_both_sides_and_so_is_the_memory_of_a_copy():
    p = weights([3.0], [2.0])
    optimizer, other = SGD([p], momentum=0.5), SGD([p], momentum=0.5)
    optimizer.step()
    state, spare = optimizer.state_dict(), copy.copy(optimizer)
    spare.load_state_dict(state)
    stepped(spare, [p], [[[4.0]]])
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].tolist() == [2.0]
    other.load_state_dict(state)
    for moving in (optimizer, other):
        stepped(moving, [p], [[[4.0]]])
    state["param_groups"][0]["lr"] = 7.0
    assert state["state"][0]["momentum_buffer"].tolist() == [2.0]
    assert (optimizer.lr, other.lr) == (1.0, 1.0)


def test_a_state_comes_in_the_dtype_and_to_the_backend_of_the_parameter():
    p = weights([3.0, 1.0], [2.0, 4.0])
    optimizer = SGD([p], momentum=0.5)
    optimizer.step()
    q = weights([3.0, 1.0], backend=FastBackend, dtype=float32)
    other = SGD([q])
    other.load_state_dict(optimizer.state_dict())
    memory = other.state[q]["momentum_buffer"]
    assert (memory.backend, memory.dtype, memory.tolist()) == (FastBackend, float32, [2.0, 4.0])


def test_the_rate_that_a_schedule_began_with_belongs_to_the_state():
    optimizer, other = SGD([weights([1.0])], lr=0.5), SGD([weights([1.0])], lr=9.0)
    schedule, following = StepLR(optimizer, 1, gamma=0.5), StepLR(other, 1, gamma=0.5)
    schedule.step()
    other.load_state_dict(plain(optimizer.state_dict()))
    following.load_state_dict(schedule.state_dict())
    schedule.step()
    following.step()
    assert (optimizer.lr, other.lr) == (0.125, 0.125)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Adam([weights([1.0])]).state_dict(), "the state of SGD, got that of Adam; build that optimizer"),
        ({"state": {}, "weight": 1}, "a state with state and param_groups, got one with state, weight; pass a state_dict()"),
        ({}, "a state with state and param_groups, got one with nothing; pass a state_dict()"),
        ([], "a state with state and param_groups, got list; pass a state_dict()"),
    ],
    ids=["of another optimizer", "of another form", "nothing", "list"],
)
def test_a_state_of_something_else_is_refused(state, message):
    with raises(ValueError, f"SGD.load_state_dict expected {message}"):
        SGD([weights([1.0])]).load_state_dict(state)


def refusal(optimizer, state):
    """What a state is refused with, line by line; the optimizer must stay as it was."""
    before, rates = plain(optimizer.state_dict()), [group["lr"] for group in optimizer.param_groups]
    with pytest.raises(ValueError, match="differ") as caught:
        optimizer.load_state_dict(state)
    after = plain(optimizer.state_dict())
    assert repr(after) == repr(before)
    assert [group["lr"] for group in optimizer.param_groups] == rates
    first, *lines = str(caught.value).splitlines()
    assert first == (
        f"{type(optimizer).__name__}.load_state_dict expected its own param_groups and state, got {len(lines)} differences; "
        "build the optimizer over the parameters that it was saved with:"
    )
    return [line.removeprefix("  ") for line in lines]


def test_all_that_does_not_fit_in_a_state_is_listed_at_once():
    p, q = weights([[3.0, 1.0]], [[2.0, 1.0]]), weights([1.0])
    optimizer = Adam([p, q], lr=0.5)
    optimizer.step()
    state = optimizer.state_dict()
    state["param_groups"][0] |= {"lr": -1.0, "betas": 0.9}
    del state["param_groups"][0]["eps"]
    state["state"][0] |= {"exp_avg": np.zeros(2), "velocity": np.zeros((1, 2)), "step": 0}
    state["state"][1] = {"step": 1, "exp_avg": 3.0}
    state["state"][2] = state["state"][-1] = {}
    assert refusal(optimizer, state) == [
        "param_groups[0]: missing eps",
        "param_groups[0]: expected a learning rate lr >= 0, got -1.0; try 0.001",
        "param_groups[0]: expected two betas from 0 to below 1, got 0.9; try (0.9, 0.999)",
        "state[0]: expected step to be a whole number above 0, got 0",
        "state[0]: expected exp_avg of shape (1, 2), got (2,)",
        "state[0]: unexpected velocity",
        "state[1]: missing exp_avg_sq",
        "state[1]: expected exp_avg of shape (1,), got float",
        "state[2]: expected the number of a parameter, 0 to 1",
        "state[-1]: expected the number of a parameter, 0 to 1",
    ]


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ({"param_groups": []}, "param_groups: expected 1, got 0"),
        ({"param_groups": 3}, "param_groups: expected 1, got 3"),
        ({"param_groups": [4]}, "param_groups[0]: expected a dictionary, got 4"),
        ({"param_groups": [{**SGD([weights([1.0])]).param_groups[0], "params": []}]}, "param_groups[0]: expected 1 params, got 0"),
        ({"state": 5}, "state: expected a dictionary, got 5"),
        ({"state": {0: 6}}, "state[0]: expected a dictionary, got 6"),
        ({"state": {0: {"momentum_buffer": np.zeros(1, int)}}}, "state[0]: expected momentum_buffer of float64, got int64"),
    ],
)
def test_a_state_of_another_form_is_refused(part, line):
    optimizer = SGD([weights([1.0])])
    assert refusal(optimizer, optimizer.state_dict() | part) == [line]


@pytest.mark.parametrize("step", [0, 1.5, True, "3", [3], np.zeros(2)])
def test_a_count_of_steps_that_is_none_is_refused(step):
    optimizer = Adam([weights([1.0], [1.0])])
    optimizer.step()
    state = optimizer.state_dict()
    state["state"][0]["step"] = step
    assert refusal(optimizer, state) == [f"state[0]: expected step to be a whole number above 0, got {step!r}"]


def test_the_memory_of_a_scalar_is_a_number():
    optimizer = SGD([Parameter(Scalar(1.0))])
    state = optimizer.state_dict() | {"state": {0: {"momentum_buffer": np.zeros(1)}}}
    assert refusal(optimizer, state) == ["state[0]: expected momentum_buffer to be a number, got ndarray"]
