"""Task 6.10: sums in a ring, gradients of several processes, and a pipeline whose gradients are those of the whole model."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers, sampled_from

from minitorch import tensor
from minitorch.language.machines import all_reduce, model_stage, pipeline_step, schedule, sum_gradients
from minitorch.language.model import GPT2, cross_entropy
from minitorch.language.network import Network
from minitorch.module import Module, Parameter
from minitorch.tensor_ops import SimpleBackend, SimpleOps, TensorBackend

from ..errors import raises
from .test_model import random_weights

CLOSE = {"rtol": 1e-9, "atol": 1e-12}

few = settings(max_examples=15, deadline=None)


def drawn(seed, processes, shape, dtype="float64"):
    """An array for each process, of numbers of very different sizes."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=shape) * 10.0 ** rng.integers(0, 6, shape)).astype(dtype) for _ in range(processes)]


# The sum


@pytest.mark.task6_10
def test_three_processes_by_hand():
    network = Network(3)
    sums = network.run(all_reduce, [np.array([1, 2, 3]), np.array([10, 20, 30]), np.array([100, 200, 300])])
    assert [each.tolist() for each in sums] == [[111, 222, 333]] * 3
    sent = [[(each.to, each.array.tolist()) for each in network.messages if each.source == source] for source in range(3)]
    assert sent == [
        [(1, [1]), (1, [303]), (1, [222]), (1, [111])],  # 303 is 3 of its own, and 300 that it has received
        [(2, [20]), (2, [11]), (2, [333]), (2, [222])],
        [(0, [300]), (0, [220]), (0, [111]), (0, [333])],
    ]


@pytest.mark.task6_10
@few
@given(seed=integers(0, 1000), processes=integers(1, 6), size=integers(0, 20))
@example(seed=0, processes=1, size=3)
@example(seed=1, processes=2, size=1)  # an empty chunk
@example(seed=2, processes=4, size=0)
@example(seed=3, processes=5, size=3)
@example(seed=4, processes=3, size=9)
@example(seed=5, processes=4, size=11)
def test_every_process_has_the_same_bits_of_the_sum(seed, processes, size):
    arrays = drawn(seed, processes, size)
    sums = Network(processes).run(all_reduce, arrays)
    for each in sums:
        np.testing.assert_allclose(each, np.sum(arrays, 0), rtol=1e-12, atol=1e-9)
        assert each.tobytes() == sums[0].tobytes()


@pytest.mark.task6_10
@pytest.mark.parametrize(("processes", "size"), [(1, 5), (2, 7), (3, 12), (4, 11), (5, 3), (6, 0)])
def test_a_process_sends_two_messages_for_each_other_process_all_to_the_next_one(processes, size):
    network = Network(processes)
    network.run(all_reduce, drawn(1, processes, size))
    for source in range(processes):
        sent = [each for each in network.messages if each.source == source]
        assert len(sent) == 2 * (processes - 1)
        assert {each.to for each in sent} <= {(source + 1) % processes}
        assert {each.array.size for each in sent} <= {size // processes, -(-size // processes)}
    assert sum(each.array.size for each in network.messages) == 2 * (processes - 1) * size


@pytest.mark.task6_10
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (3, 0, 2), (2, 2, 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_shape_and_dtype_are_kept(shape, dtype):
    arrays = drawn(2, 3, shape, dtype)
    for each in Network(3).run(all_reduce, arrays):
        assert (each.shape, each.dtype) == (shape, np.dtype(dtype))
        np.testing.assert_allclose(each, np.sum(arrays, 0), rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.task6_10
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_arrays_are_not_changed_and_the_sums_are_new(processes):
    arrays = drawn(3, processes, (2, 4))
    before = [each.copy() for each in arrays]
    for each in Network(processes).run(all_reduce, arrays):
        each[:] = 0
    np.testing.assert_array_equal(arrays, before)


@pytest.mark.task6_10
def test_arrays_may_be_in_any_layout():
    arrays = [each.transpose(2, 0, 1)[:, ::-1] for each in drawn(4, 2, (3, 4, 2))]
    for each in Network(2).run(all_reduce, arrays):
        np.testing.assert_allclose(each, arrays[0] + arrays[1], **CLOSE)


# Gradients


class Three(Module):
    """A model of three parameters, the second of which is a constant."""

    def __init__(self, gradients, backend=SimpleBackend, dtype="float64"):
        super().__init__()
        self.first = Parameter(tensor(np.zeros((2, 1)), backend, dtype=dtype))
        self.second = Parameter(tensor(np.zeros(2), backend, dtype=dtype))
        self.third = Parameter(tensor(np.zeros(1), backend, dtype=dtype))
        for parameter, grad in zip(self.parameters(), gradients, strict=True):
            parameter.value.grad = None if grad is None else tensor(np.array(grad), backend, dtype=dtype)
        self.second.value.requires_grad_(False)
        self.second.value.grad = None

    def gradients(self):
        return [None if x.value.grad is None else x.value.grad.tolist() for x in self.parameters()]


@pytest.mark.task6_10
def test_gradients_by_hand():
    models = [Three([[[1.0], [2.0]], None, [3.0]]), Three([[[10.0], [20.0]], None, None]), Three([None, None, [300.0]])]
    network = Network(3)
    network.run(sum_gradients, models)
    for model in models:
        assert model.gradients() == [[[11], [22]], None, [303]]
    assert len(network.messages) == 3 * 4  # those of one all_reduce


@pytest.mark.task6_10
def test_gradients_keep_dtype_and_backend_and_are_constants():
    backend = TensorBackend(SimpleOps)
    models = [Three([[[1.0], [2.0]], None, None], backend, "float32") for _ in range(2)]
    Network(2).run(sum_gradients, models)
    for x in (models[0].first.value, models[0].third.value):
        assert x.grad.dtype == np.float32
        assert x.grad.backend is backend
        assert not x.grad.requires_grad


@pytest.mark.task6_10
def test_one_process_keeps_its_gradients():
    model = Three([[[1.0], [2.0]], None, None])
    Network(1).run(sum_gradients, [model])
    assert model.gradients() == [[[1], [2]], None, [0]]


# The schedule


@pytest.mark.task6_10
def test_the_waves_by_hand():
    assert schedule(3, 2) == [[(0, 0)], [(1, 0), (0, 1)], [(2, 0), (1, 1)], [(2, 1)]]
    assert schedule(2, 3) == [[(0, 0)], [(1, 0), (0, 1)], [(1, 1), (0, 2)], [(1, 2)]]
    assert schedule(1, 3) == [[(0, 0)], [(0, 1)], [(0, 2)]]
    assert schedule(3, 1) == [[(0, 0)], [(1, 0)], [(2, 0)]]


@pytest.mark.task6_10
@given(micro_batches=integers(1, 12), stages=integers(1, 12))
@example(micro_batches=1, stages=1)
@example(micro_batches=8, stages=3)
@example(micro_batches=3, stages=8)
def test_every_pair_is_in_the_wave_of_its_sum_and_nowhere_else(micro_batches, stages):
    waves = schedule(micro_batches, stages)
    assert len(waves) == micro_batches + stages - 1
    assert sorted(pair for wave in waves for pair in wave) == [(m, s) for m in range(micro_batches) for s in range(stages)]
    for number, wave in enumerate(waves):
        assert [m + s for m, s in wave] == [number] * len(wave)
        assert [s for _, s in wave] == sorted(s for _, s in wave)


# The pipeline


def model_of(layers=2, seed=0, backend=SimpleBackend):
    model = GPT2(5, 4, layers, 1, 2, backend)
    random_weights(model, seed)
    return model


def batch(seed, cuts, backend=SimpleBackend):
    """Tokens and targets, cut into micro-batches with these numbers of texts."""
    rng, at = np.random.default_rng(seed), np.cumsum(cuts)[:-1]
    return [[tensor(part, backend) for part in np.split(rng.integers(0, 5, (sum(cuts), 3)), at)] for _ in range(2)]


def gradients(model):
    return {name: parameter.value.grad.to_numpy().copy() for name, parameter in model.named_parameters()}


def serial(model, inputs, targets):
    """Loss and gradients of the whole batch by the whole model."""
    tokens, right = (tensor(np.concatenate([each.to_numpy() for each in parts])) for parts in (inputs, targets))
    loss = cross_entropy(model(tokens), right)
    loss.backward()
    return loss.item(), gradients(model)


def run_pipeline(network, model, inputs, targets):
    """Losses of the processes. Their stages are those of one model, so their gradients add up in it."""
    stages = [model_stage(model, stage, network.size) for stage in range(network.size)]
    return network.run(pipeline_step, stages, [inputs] * network.size, [targets] * network.size)


def assert_equal_gradients(found, expected):
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        np.testing.assert_allclose(found[name], gradient, err_msg=name, **CLOSE)


@pytest.mark.task6_10
@settings(max_examples=4, deadline=None)
@given(seed=integers(0, 1000), stages=integers(1, 4), cuts=sampled_from([(1, 1, 1), (2, 1), (1, 3)]))
@example(seed=0, stages=1, cuts=(2, 1))
@example(seed=1, stages=2, cuts=(1,))
@example(seed=2, stages=3, cuts=(1, 2, 1))
@example(seed=3, stages=4, cuts=(1, 1))  # two of them have no block
def test_gradients_are_those_of_the_whole_model(seed, stages, cuts):
    inputs, targets = batch(seed, cuts)
    loss, expected = serial(model_of(seed=seed), inputs, targets)
    model = model_of(seed=seed)
    losses = run_pipeline(Network(stages), model, inputs, targets)
    assert losses == pytest.approx([0.0] * (stages - 1) + [loss])
    assert_equal_gradients(gradients(model), expected)


@pytest.mark.task6_10
def test_the_gradients_of_copies_add_up_to_those_of_the_whole_model():
    inputs, targets = batch(4, (2, 1))
    _, expected = serial(model_of(), inputs, targets)
    models = [model_of() for _ in range(2)]

    def step(peer, model):
        pipeline_step(peer, model_stage(model, peer.rank, 2), inputs, targets)
        parts = [parameter.value.grad is None for parameter in model.h.parameters()]
        sum_gradients(peer, model)
        return parts

    missing = Network(2).run(step, models)
    assert missing == [[False] * 12 + [True] * 12, [True] * 12 + [False] * 12]  # each has gradients of its own block alone
    for model in models:
        assert_equal_gradients(gradients(model), expected)


@pytest.mark.task6_10
def test_copies_that_read_parts_of_a_batch_have_the_gradients_of_the_whole():
    inputs, targets = batch(5, (2, 2))
    _, expected = serial(model_of(1), inputs, targets)
    models = [model_of(1) for _ in range(2)]

    def step(peer, model):
        (cross_entropy(model(inputs[peer.rank]), targets[peer.rank]) * (1 / peer.size)).backward()
        sum_gradients(peer, model)

    Network(2).run(step, models)
    for model in models:
        assert_equal_gradients(gradients(model), expected)


@pytest.mark.task6_10
def test_gradients_are_added_to_earlier_ones():
    inputs, targets = batch(6, (1, 1))
    _, expected = serial(model_of(), inputs, targets)
    model = model_of()
    for _ in range(2):
        run_pipeline(Network(2), model, inputs, targets)
    assert_equal_gradients(gradients(model), {name: 2 * gradient for name, gradient in expected.items()})


class Script:
    """One of three processes, which writes down what is done, and receives ones."""

    def __init__(self, rank):
        self.rank, self.size, self.done = rank, 3, []
        self.part = model_stage(model_of(), rank, 3)

    def send(self, array, to):
        assert isinstance(array, np.ndarray)
        self.done.append(f"send to {to}")

    def receive(self, source):
        self.done.append(f"receive from {source}")
        return np.ones((1, 3, 2))

    def stage(self, x):
        self.done.append("compute")
        return self.part(x)


@pytest.mark.task6_10
@pytest.mark.parametrize(
    ("rank", "forward", "backward"),
    [
        (0, ["compute", "send to 1"], ["receive from 1"]),
        (1, ["receive from 0", "compute", "send to 2"], ["receive from 2", "send to 0"]),
        (2, ["receive from 1", "compute"], ["send to 1"]),
    ],
)
def test_a_process_sends_what_it_has_computed_before_it_waits_again(rank, forward, backward):
    inputs, targets = batch(7, (1, 1))
    peer = Script(rank)
    pipeline_step(peer, peer.stage, inputs, targets)
    assert peer.done == 2 * forward + 2 * backward


@pytest.mark.task6_10
def test_micro_batches_go_forward_in_order_and_backward_in_the_opposite_order():
    inputs, targets = batch(8, (1, 2, 3))
    network = Network(2)
    run_pipeline(network, model_of(), inputs, targets)
    sizes = [[each.array.shape[0] for each in network.messages if each.source == source] for source in range(2)]
    assert sizes == [[1, 2, 3], [3, 2, 1]]


@pytest.mark.task6_10
def test_messages_keep_the_dtype_and_tensors_the_backend():
    backend = TensorBackend(SimpleOps)
    model = model_of(backend=backend)
    for parameter in model.parameters():
        parameter.update(parameter.value.detach().to("float32"))
    inputs, targets = batch(9, (1, 1), backend)
    network, used = Network(3), []
    stages = [model_stage(model, number, 3) for number in range(3)]
    recorded = [lambda x, part=part: used.append(x.backend) or part(x) for part in stages]
    network.run(pipeline_step, recorded, [inputs] * 3, [targets] * 3)
    assert len(used) == 6
    assert all(each is backend for each in used)
    assert {each.array.dtype for each in network.messages} == {np.dtype("float32")}
    assert all(parameter.value.grad.dtype == np.float32 for parameter in model.parameters())


@pytest.mark.task6_10
def test_a_pipeline_needs_a_target_for_each_token():
    tokens = tensor(np.array([[1, 4]]))
    message = (
        "pipeline_step expected at least one micro-batch, and targets of the same shape for each, got inputs {} and targets {}; cut a "
    )
    message += "batch and its targets at the same places"
    for inputs, targets, found in (
        ([], [], ("[]", "[]")),
        ([tokens], [], ("[(1, 2)]", "[]")),
        ([tokens], [tokens[:, :1]], ("[(1, 2)]", "[(1, 1)]")),
    ):
        with raises(ValueError, message.format(*found)):
            Network(1).run(pipeline_step, [None], [inputs], [targets])
