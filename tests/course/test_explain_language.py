"""`course explain` names the wrong function of a language model, and no right one that is called with wrong values."""

import copy

import numpy as np
import pytest

from course.manifest import ROOT
from course.oracles.language import mean_values
from minitorch import tensor
from minitorch.core.context import no_grad
from minitorch.language import attention, fused_attention, generation, lora, machines, merges, model, quantization, training
from minitorch.language.cache import KeyValueCache
from minitorch.language.functions import Gelu, Lookup, Normalize, layer_norm
from minitorch.language.layers import Embedding, Linear
from minitorch.language.network import Network
from minitorch.language.tokenizer import Tokenizer
from minitorch.tensor_ops import SimpleBackend
from tests.course.test_explain_blame import first_wrong_call, named

Q = np.array([[[[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]]])
TEXT = "low lower low, it"


def leaf(array):
    return tensor(np.array(array), requires_grad=True)


def small_model():
    made = model.GPT2(5, 3, 1, 2, 4)
    draw = np.random.default_rng(0)
    for parameter in made.parameters():
        parameter.update(tensor(draw.normal(size=parameter.value.shape)))
    return made


class Table(Embedding):
    """The smallest language model: a row of logits for each token."""

    context = 3


def small_training():
    table = Table(5, 5, SimpleBackend)
    table.weight.update(tensor(np.arange(25.0).reshape(5, 5) % 7))
    return training.Training(table, np.arange(20) % 5, training.Schedule(6, 2, 0.1, 0.01), batch=3, parts=2, largest_norm=0.01)


# What tests do with the functions of each task


def tokenize():
    trained = Tokenizer.train(TEXT, 258)
    merges.merge_pair([1, 1, 1, 2], (1, 1), 3)
    trained.decode([*trained.encode(TEXT), 0xE2, 0x82])


def normalize():
    layer_norm(leaf([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]]), leaf([1.0, 2.0, 3.0]), leaf([0.0, 1.0, 2.0])).sum().backward()
    (Normalize.apply(leaf([[1.0, 2.0, 4.0]]), 1e-5) * tensor([[1.0, -2.0, 3.0]])).sum().backward()
    Gelu.apply(leaf([-1.0, 0.5, 3.0])).sum().backward()
    (Lookup.apply(tensor(np.array([[0, 2], [2, 1]])), leaf(np.arange(6.0).reshape(3, 2))) * tensor([1.0, -2.0])).sum().backward()


def attend():
    x = tensor(Q)
    attention.split_heads(tensor(np.arange(24.0).reshape(1, 2, 12)), 2)
    allowed = attention.causal_mask(3, 3)
    for given in ((), (allowed,), (tensor(np.array([[False] * 3, [True] * 3, [False, True, False]])),)):
        attention.merge_heads(attention.attention(x, x, x, *given))
    attention.attention(x * 1000, x * 1000, x, attention.causal_mask(3, 3))


def predict():
    made = small_model()
    caches = [KeyValueCache(3)]
    with no_grad():
        for tokens in ([[1, 4]], [[2]]):
            made(tensor(np.array(tokens)), caches)
    made(tensor(np.array([[1, 4, 2]])))
    model.init_weights(made, 1)
    model.cross_entropy(tensor(np.array([[[1.0, 2.0], [-500.0, 600.0]]])), tensor(np.array([[0, 1]])))


def attend_by_tiles():
    draw = np.random.default_rng(0)
    query, key, value, grad = (draw.normal(size=(2, size, 3)) for size in (3, 4, 4, 3))
    for causal in (False, True):
        out, sums, grads = np.full((2, 3, 3), np.nan), np.zeros((2, 3)), [np.zeros_like(each) for each in (query, key, value)]
        fused_attention._attend(out, sums, query, key, value, 0.5, causal, 2)
        fused_attention._differentiate(*grads, grad, out, sums, query, key, value, 0.5, causal)


def generate():
    for settings in ({"temperature": 0}, {"temperature": 0.5, "top_k": 3, "top_p": 0.8}):
        list(generation.generate(small_model(), [1], 3, **settings))
    for point in (0.0, 0.25, 0.99):
        generation.sample_token(np.array([0.0, 0.25, 0.75, 0.0]), point)


def train():
    for warmup in (0, 2):
        for step in range(8):
            training.learning_rate(step, training.Schedule(6, warmup, 1.0, 0.2))
    training.decay_groups(small_model(), 0.1)
    run = small_training()
    run.step()
    state = copy.deepcopy(run.state_dict())
    run.step()
    run.load_state_dict(state)


def quantize():
    layer = Linear(3, 2, SimpleBackend)
    layer.weight.update(tensor([[1.0, -2.0], [0.5, 3.0], [-4.0, 0.0]]))
    made = quantization.QuantizedLinear(layer)
    quantization.dequantize(made.weight, made.scales)
    with no_grad():
        made(tensor([[1.0, 2.0, -3.0]]))


def adapt():
    layer = lora.LoRALinear(Linear(2, 3, SimpleBackend), 2, 3.0, np.random.default_rng(0))
    layer.weight.update(tensor(np.arange(6.0).reshape(2, 3)))
    layer.B.update(tensor(np.arange(6.0).reshape(3, 2) - 2))
    for change in (lambda: None, layer.merge, layer.unmerge):
        change()
        layer.delta()
        layer(tensor(Q[0]))
    lora.add_adapters(small_model(), ["h.0.attn.c_attn", "h.0.mlp.c_fc"], 2, 4.0)


BATCH = [tensor(np.array([[1, 4, 2]])), tensor(np.array([[0, 3, 3], [2, 2, 1]]))]


def pass_on(peer, made):
    stage = machines.model_stage(made, peer.rank, peer.size)
    machines.pipeline_step(peer, stage, BATCH, [*BATCH[:1], tensor(np.array([[1, 1, 0], [4, 2, 3]]))])
    machines.sum_gradients(peer, made)


def work_together():
    machines.schedule(3, 2)
    Network(3).run(machines.all_reduce, [np.arange(4.0) + rank for rank in range(3)])
    for models in ([small_model() for _ in range(3)], [small_model()]):
        for _ in range(2):  # the second gradients are added to the first
            Network(len(models)).run(pass_on, models)


USES = (tokenize, normalize, attend, predict, attend_by_tiles, generate, train, quantize, adapt, work_together)


@pytest.fixture(autouse=True)
def without_compiler(monkeypatch):
    """`course explain` switches the compiler off."""
    monkeypatch.setattr(quantization, "int_product", lambda *arrays: quantization._int_product(*arrays))


def found(test):
    def fail():
        test()
        raise AssertionError

    return first_wrong_call(ROOT, fail)


@pytest.mark.parametrize("use", USES)
def test_right_functions_are_not_named(use):
    assert found(use) is None


INF, NAN = float("inf"), float("nan")


def attend_to(extreme, place, causal):
    """The query, key or value of a head of two has an extreme row, the last."""
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=(2, 3, 2)) for _ in range(3)]
    arrays[place][0, -1] = extreme
    out, sums, grads = np.zeros((2, 3, 2)), np.zeros((2, 3)), [np.zeros((2, 3, 2)) for _ in range(3)]
    fused_attention._attend(out, sums, *arrays, 0.5, causal, 2)
    fused_attention._differentiate(*grads, np.ones((2, 3, 2)), out, sums, *arrays, 0.5, causal)
    attention.attention(*(tensor(each, SimpleBackend) for each in arrays), attention.causal_mask(3, 3, SimpleBackend) if causal else None)


@pytest.mark.parametrize("extreme", [NAN, INF, -INF, 1e200, -1e200, 1e308])
def test_no_right_function_of_attention_is_named_for_extreme_numbers(extreme):
    def use():
        for place in range(3):
            for causal in (False, True):
                attend_to(extreme, place, causal)

    with np.errstate(all="ignore"):
        assert found(use) is None


def test_a_right_layer_is_not_named_for_a_weight_that_is_nan():
    def use():
        layer = model.SelfAttention(4, 2)
        layer.c_attn.bias.update(tensor(np.where(np.arange(12) == 11, NAN, 0.0)))
        layer(tensor(np.ones((1, 2, 4))))

    with np.errstate(all="ignore"):
        assert found(use) is None


def test_no_gradient_of_gelu_is_named_whose_cubes_overflow():
    with np.errstate(all="ignore"):
        assert found(lambda: Gelu.apply(leaf([1e200, 1.0, -1e200])).sum().backward()) is None


def test_only_the_queries_that_attend_to_nan_have_the_mean_nan():
    zeros, values = np.zeros((3, 2)), np.array([[1.0], [3.0], [NAN]])
    causal = np.tri(3, dtype=bool)
    assert np.array_equal(mean_values(zeros, zeros, values, causal), [[1], [2], [NAN]], equal_nan=True)
    assert np.array_equal(mean_values(zeros, zeros, values, causal, np.array([[1], [NAN], [5]])), [[1], [NAN], [NAN]], equal_nan=True)
    assert np.isnan(mean_values(zeros, zeros, values)).all()


def test_any_mean_is_right_whose_scores_are_as_low_as_those_of_masked_keys():
    query, key, values = np.array([[1e200], [1.0]]), np.array([[-1.0], [-1.0]]), np.array([[2.0], [4.0]])
    assert mean_values(query, key, values, np.ones((2, 2), bool), np.array([[7.0], [7.0]])).tolist() == [[7], [3]]


right_attend, right_differentiate = fused_attention._attend, fused_attention._differentiate


def attend_5(out, logsumexp, *rest):
    right_attend(out, logsumexp, *rest)
    out[0, -1] = 5


def sums_of_5(out, logsumexp, *rest):
    right_attend(out, logsumexp, *rest)
    logsumexp[0, -1] = 5


def differentiate_5(*arguments):
    right_differentiate(*arguments)
    arguments[0][1, 0] += 5


@pytest.mark.parametrize(("name", "wrong"), [("_attend", attend_5), ("_attend", sums_of_5), ("_differentiate", differentiate_5)])
def test_a_wrong_number_of_attention_is_named_beside_nan(name, wrong, monkeypatch):
    monkeypatch.setattr(fused_attention, name, named(name, wrong))
    for extreme in (NAN, -INF):
        with np.errstate(all="ignore"):
            assert found(lambda extreme=extreme: attend_to(extreme, 0, True))[0].name == name


def decayed(self, value, gradient, state, group):
    return training_new_value(self, value, gradient + value * group["weight_decay"], state, group | {"weight_decay": 0})


training_new_value = training.AdamW.new_value
cache_append, merge_words, encode_word = KeyValueCache.append, merges.PairCounts.merge, Tokenizer._encode_word


def append_again(self, key, value):
    cache_append(self, key, value)
    return key, value


def merge_late(self, pair, new):
    merge_words(self, pair, new)
    self.queue.pop()


def generate_99(model, tokens, count, temperature=1.0, top_k=None, top_p=None):
    yield from [99] * count


def no_gradients(*arrays):
    arrays[0][:] = 1


def tile_without_correction(largest, total, output, scores, values):
    largest[:] = np.maximum(largest, scores.max(1))
    weights = np.exp(scores - largest[:, None])
    total += weights.sum(1)
    output += weights @ values


def step_without_count(self):
    loss = training.accumulate(self.model, self.draw())
    norm = training.clip_gradients(self.model.parameters(), self.largest_norm)
    self.optimizer.step()
    self.finished += 1
    return training.StepReport(loss, norm, self.optimizer.lr)


def means_of_parts(model, parts):
    loss = sum(training.cross_entropy(model(tokens), targets) for tokens, targets in parts) / len(parts)
    loss.backward()
    return loss.item()


def merge_in_place(self):
    self.original = self.weight.value
    self.weight.update(self.weight.value * 2)


sum_of_gradients, step_of_pipeline = machines.sum_gradients, machines.pipeline_step


def sum_alone(peer, model):
    if peer.rank:
        sum_of_gradients(peer, model)


def keep_the_gradients(peer, stage, inputs, targets):
    loss = step_of_pipeline(peer, stage, inputs, targets)
    for cell in stage.__closure__:
        if hasattr(cell.cell_contents, "parameters"):
            for parameter in cell.cell_contents.parameters():
                parameter.value.grad = None
    return loss


def wait_in_process_1(peer, stage, inputs, targets):
    if peer.rank == 1:
        peer.receive(0)
    return step_of_pipeline(peer, stage, inputs, targets)


WRONG = [
    (tokenize, merges, "merge_pair", lambda tokens, pair, new: [new, *tokens[2:]]),
    (tokenize, merges.PairCounts, "most_frequent", lambda self: max(self.counts)),
    (tokenize, merges.PairCounts, "merge", merge_late),
    (tokenize, merges, "learn_merges", lambda words, count: {(116, 104): 256 + count}),
    (tokenize, merges, "apply_merges", lambda tokens, merges: list(tokens)),
    (tokenize, Tokenizer, "_encode_ordinary", lambda self, text: self._encode_word(text)[1:]),
    (tokenize, Tokenizer, "_encode_word", lambda self, word: encode_word(self, word)[::-1]),
    (tokenize, Tokenizer, "decode", lambda self, tokens: self.decode_bytes(tokens).decode(errors="ignore")),
    (tokenize, Tokenizer, "decode_bytes", lambda self, tokens: bytes(min(token, 255) for token in tokens)),
    (normalize, Normalize, "forward", lambda ctx, input, eps: input - input.mean(-1)),
    (normalize, Normalize, "backward", lambda ctx, grad: grad * ctx.saved_values[1]),
    (normalize, Gelu, "forward", lambda ctx, input: input * (input * 1.702).sigmoid()),
    (normalize, Gelu, "backward", lambda ctx, grad: grad * (ctx.saved_values[1] + 1) * 0.5),
    (normalize, Lookup, "forward", lambda ctx, tokens, weight: weight[tokens.to_numpy() * 0]),
    (normalize, Lookup, "backward", lambda ctx, grad: (None, grad[0, 0])),
    (attend, attention, "split_heads", lambda x, heads: tuple(x.view(1, 2, 2, 3, 2).permute(3, 0, 2, 1, 4)[n] for n in range(3))),
    (attend, attention, "merge_heads", lambda x: x.contiguous().view(1, 3, 2) * 2),
    (attend, attention, "causal_mask", lambda queries, keys, backend=None: tensor(np.ones((queries, keys), bool))),
    (attend, attention, "attention", lambda query, key, value, mask=None: value),
    (predict, model.SelfAttention, "forward", lambda self, x, cache=None: self.c_proj(x)),
    (predict, model.MLP, "forward", lambda self, x: self.c_proj(self.c_fc(x).relu())),
    (predict, model.Block, "forward", lambda self, x, cache=None: x + self.mlp(self.ln_2(x + self.attn(self.ln_1(x), cache)))),
    (predict, model.GPT2, "forward", lambda self, tokens, caches=None: self.ln_f(self.wte(tokens)) @ self.wte.weight.value.permute(1, 0)),
    (predict, model, "init_weights", lambda model, layers: None),
    (predict, model, "cross_entropy", lambda logits, targets: logits.sum()),
    (attend_by_tiles, fused_attention, "add_tile", tile_without_correction),
    (attend_by_tiles, fused_attention, "_attend", no_gradients),
    (attend_by_tiles, fused_attention, "_differentiate", no_gradients),
    (predict, KeyValueCache, "append", append_again),
    (generate, generation, "next_probabilities", lambda logits, temperature=1.0, top_k=None, top_p=None: np.exp(logits)),
    (generate, generation, "sample_token", lambda probabilities, point: int(probabilities.argmin())),
    (generate, generation, "generate", generate_99),
    (train, training.AdamW, "new_value", decayed),
    (train, training, "decay_groups", lambda model, decay: [{"params": model.parameters(), "weight_decay": decay}]),
    (train, training, "learning_rate", lambda step, schedule: schedule.largest),
    (train, training, "learning_rate", lambda step, schedule: None),
    (train, training, "clip_gradients", lambda parameters, largest: largest),
    (train, training, "accumulate", means_of_parts),
    (train, training.Training, "step", step_without_count),
    (train, training.Training, "state_dict", lambda self: {"model": {}, "optimizer": {}, "finished": self.finished, "random": {}}),
    (train, training.Training, "load_state_dict", lambda self, state: None),
    (quantize, quantization, "quantize_rows", lambda weight: (weight.astype(np.int8), np.ones(len(weight), np.float32))),
    (quantize, quantization, "dequantize", lambda quantized, scales: quantized / scales[:, None]),
    (quantize, quantization, "_int_product", lambda out, left, right: None),
    (quantize, quantization.QuantizedLinear, "forward", lambda self, x: x),
    (adapt, lora.LoRALinear, "forward", lambda self, x: x @ self.weight.value + self.bias.value),
    (adapt, lora.LoRALinear, "delta", lambda self: self.weight.value * 1),
    (adapt, lora.LoRALinear, "merge", merge_in_place),
    (adapt, lora.LoRALinear, "unmerge", lambda self: None),
    (adapt, lora, "add_adapters", lambda model, names, rank, alpha, seed=0: None),
]

TOGETHER = [
    (work_together, machines, "all_reduce", lambda peer, array: array * peer.size),
    (work_together, machines, "all_reduce", lambda peer, array: peer.receive((peer.rank + 1) % peer.size)),
    (work_together, machines, "sum_gradients", lambda peer, model: None),
    (work_together, machines, "sum_gradients", sum_alone),
    (work_together, machines, "schedule", lambda micro_batches, stages: [[(n, 0)] for n in range(micro_batches)]),
    (work_together, machines, "pipeline_step", lambda peer, stage, inputs, targets: 0.0),
    (work_together, machines, "pipeline_step", keep_the_gradients),
    (work_together, machines, "pipeline_step", wait_in_process_1),
]
"""Each takes a second or more; tests/exhaustive has all of them."""

WRONG += TOGETHER[:2]


@pytest.mark.parametrize(("use", "owner", "name", "wrong"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_function_is_named_and_none_that_calls_it(use, owner, name, wrong, monkeypatch):
    check_named(use, owner, name, wrong, monkeypatch)


def check_named(use, owner, name, wrong, monkeypatch):
    function = f"{owner.__name__}.{name}" if isinstance(owner, type) else name
    made = named(function, wrong)
    monkeypatch.setattr(owner, name, staticmethod(made) if owner in (Normalize, Gelu, Lookup) else made)
    for module in (merges, model, generation, training, lora):  # names that other modules have imported
        if not isinstance(owner, type) and module is not owner and getattr(module, name, None) is not None:
            monkeypatch.setattr(module, name, made)
    if owner is merges:
        monkeypatch.setattr("minitorch.language.tokenizer." + name, made, raising=False)
    call, difference = found(lambda: suppressed(use))
    assert call.name == function
    assert difference.rows


def suppressed(use):
    """A wrong function may also make a later one raise an error; the test that calls it fails anyway."""
    try:
        use()
    except Exception as error:
        raise AssertionError from error


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("split_heads", lambda projected, heads: (projected.view(1, -1, heads, 6).permute(0, 2, 1, 3)[:, :, :, :2],) * 3),
        ("causal_mask", lambda queries, keys, backend=None: tensor(np.ones((queries, keys), bool))),
        ("attention", lambda query, key, value, mask=None: query),
    ],
)
def test_a_right_layer_is_not_named_for_a_wrong_function_that_it_calls(name, wrong, monkeypatch):
    for module in (attention, model):
        monkeypatch.setattr(module, name, named(name, wrong))
    assert found(predict)[0].name == name


def test_no_function_is_named_for_an_error_of_a_stage_in_one_process():
    def stop(x):
        raise ArithmeticError

    stages = [machines.model_stage(small_model(), 0, 3), stop, stop]
    assert found(lambda: Network(3).run(machines.pipeline_step, stages, [BATCH] * 3, [BATCH] * 3)) is None


@pytest.mark.parametrize("function", [Lookup, Gelu])
def test_a_right_pipeline_is_not_named_for_a_wrong_gradient_of_a_function_that_its_stages_call(function, monkeypatch):
    right = function.backward
    wrong = named(f"{function.__name__}.backward", lambda ctx, grad: right(ctx, grad * 2))
    monkeypatch.setattr(function, "backward", staticmethod(wrong))
    assert found(work_together)[0].name == f"{function.__name__}.backward"


@pytest.mark.parametrize(
    ("test", "refused"),
    [
        (lambda: generation.next_probabilities(np.zeros(2), temperature=-1.0), ValueError),
        (lambda: training.learning_rate(-1, training.Schedule(6)), ValueError),
        (lambda: quantization.quantize_rows(np.array([[np.nan]])), ValueError),
        (lambda: lora.add_adapters(small_model(), ["wte"], 2, 4.0), ValueError),
        (lambda: Network(1).run(machines.pipeline_step, [None], [[]], [[]]), ValueError),
    ],
)
def test_a_function_that_refuses_wrong_arguments_is_not_named(test, refused):
    def expect():
        with pytest.raises(refused):
            test()

    assert found(expect) is None


def test_a_function_that_does_not_refuse_wrong_arguments_is_named(monkeypatch):
    monkeypatch.setattr(training, "learning_rate", named("learning_rate", lambda step, schedule: 0.0))
    call, difference = found(lambda: training.learning_rate(-1, training.Schedule(6)))
    assert (call.name, difference.place) == ("learning_rate", "the error that it must raise")
