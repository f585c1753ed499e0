"""Attention of a small GPT: the weights against NumPy and the model itself, text generation, charts, and training in a process."""

import json
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, tensor
from minitorch.io.formats import write_arrays
from project.lab.explorers import attention, attention_training
from project.lab.training import checkpoint, text_trainer
from project.lab.training.checkpoint import CheckpointError
from project.lab.training.text_trainer import Setting
from project.lab.typed.source import Refused

TEXT = "the cat sat on the mat. " * 10
TINY = Setting(steps=12, batch=2, context=8, layers=2, heads=2, width=8, rate=1e-2, seed=1)


@pytest.fixture(scope="module")
def backend():
    """The simple backend, which compiles no kernels."""
    return SimpleBackend


@pytest.fixture(scope="module", autouse=True)
def on_the_backend(backend):
    """Train and show on this backend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_trainer, "FastBackend", backend)
        patch.setattr(attention, "FastBackend", backend)
        patch.setattr(text_trainer, "VALIDATION_BATCHES", 2)
        yield


@pytest.fixture(scope="module")
def trained():
    """A finished run."""
    run = text_trainer.Run(TINY, TEXT)
    while not run.done:
        run.advance()
    run.model.eval()
    return run


@pytest.fixture(scope="module")
def file(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("gpt") / "gpt.safetensors"
    checkpoint.save(path, trained.checkpoint())
    return path


@pytest.fixture(scope="module")
def loaded(file):
    return attention.load(file)


def given(numbers):
    """A tensor on the backend of the model."""
    return tensor(np.array(numbers), attention.FastBackend)


def inputs(model, tokens):
    """The input of each layer for these tokens."""
    x = model.tokens(given([tokens])) + model.positions(given(range(len(tokens))))
    found = []
    for block in model.blocks:
        found.append(x)
        x = block(x, is_causal=True)
    return found


def by_hand(layer, x):
    """The output and the weights of a layer's attention, from its matrices, in float64."""
    T, E = x.shape
    heads = layer.num_heads
    matrix, bias = (np.asarray(p.value.to_numpy(), float) for p in (layer.in_proj_weight, layer.in_proj_bias))
    q, k, v = ((x @ part.T + b).reshape(T, heads, E // heads) for part, b in zip(np.split(matrix, 3), np.split(bias, 3), strict=True))
    weights = np.zeros((heads, T, T))
    for head in range(heads):
        for i in range(T):
            scores = np.array([q[i, head] @ k[j, head] for j in range(i + 1)]) / np.sqrt(E // heads)
            weights[head, i, : i + 1] = np.exp(scores) / np.exp(scores).sum()
    mixed = np.concatenate([weights[head] @ v[:, head] for head in range(heads)], 1)
    out = layer.out_proj
    return mixed @ np.asarray(out.weight.value.to_numpy(), float).T + out.bias.value.to_numpy(), weights


@pytest.mark.parametrize("text", ["t", "th", "the cat "])
def test_the_weights_are_those_of_the_formula(loaded, text):
    tokens = attention.encode(loaded, text)
    found = attention.forward(loaded.model, tokens).weights
    assert [w.shape for w in found] == [(2, len(text), len(text))] * 2
    for block, x, weights in zip(loaded.model.blocks, inputs(loaded.model, tokens), found, strict=True):
        out, expected = by_hand(block.self_attn, np.asarray(block.norm1(x).to_numpy()[0], float))
        assert np.allclose(weights, expected, atol=1e-6)
        assert not np.triu(weights, 1).any()
        assert np.allclose(attention.attend(block, x)[0][0], out, atol=1e-6)


def test_the_logits_are_those_of_the_model(loaded):
    tokens = attention.encode(loaded, "the mat.")
    expected = loaded.model(given([tokens])).to_numpy()[0]
    assert np.allclose(attention.forward(loaded.model, tokens).logits, expected, atol=1e-6)


def test_a_later_character_changes_nothing_before_it(loaded):
    first, second = (attention.forward(loaded.model, attention.encode(loaded, text)) for text in ("the cat", "the sat"))
    for a, b in zip(first.weights, second.weights, strict=True):
        assert np.array_equal(a[:, :4], b[:, :4])
        assert not np.allclose(a[:, 4], b[:, 4])
    assert np.array_equal(first.logits[:4], second.logits[:4])


def test_a_checkpoint_of_the_program_is_loaded(trained, loaded):
    assert loaded.characters == "".join(sorted(set(TEXT)))
    assert loaded.step == 12
    assert loaded.most == 8
    assert not loaded.model.training
    pieces = given([[1, 2, 3]])
    assert np.array_equal(loaded.model(pieces).to_numpy(), trained.model(pieces).to_numpy())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "expected a checkpoint at"),
        ("text", "damaged, cut short or no checkpoint"),
        ("weights", "safetensors file of another program"),
        ("other", r"other expected a checkpoint of run_gpt.py, got one of run_sentiment.py; name another file"),
    ],
)
def test_other_files_are_refused(tmp_path, name, message):
    (tmp_path / "text").write_text("no checkpoint")
    write_arrays(tmp_path / "weights", {"x": np.zeros(2)}, {})
    checkpoint.save(tmp_path / "other", checkpoint.Checkpoint({"program": "run_sentiment"}, {}))
    with pytest.raises(CheckpointError, match=message):
        attention.load(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[(text, f"expected 1 to 8 characters, got {len(text)}") for text in ("", "t" * 9)],
        ("üt B", "expected characters of the text that the model was trained on, got 'B', 'ü' as well"),
    ],
)
def test_a_text_has_known_characters_and_a_length_that_the_model_can_read(loaded, text, message):
    with pytest.raises(Refused, match=message):
        attention.encode(loaded, text)


def test_a_suggested_text_has_only_known_characters(loaded):
    assert attention.known(loaded, "a big cat sat") == "a  cat s"
    assert attention.known(loaded, "xyz") == " "


def test_the_temperature_divides_the_logits():
    logits = np.log(np.array([1, 2, 5], np.float32))
    assert np.allclose(attention.probabilities(logits, 1.0), [1 / 8, 2 / 8, 5 / 8])
    assert np.allclose(attention.probabilities(logits, 0.5), [1 / 30, 4 / 30, 25 / 30])
    assert attention.probabilities(logits, 0.0).tolist() == [0, 0, 1]
    assert np.allclose(attention.probabilities(logits * 1e4, 0.2), [0, 0, 1])


def test_text_is_generated_as_by_the_program(trained, loaded):
    minitorch.manual_seed(5)
    expected = "".join(trained.sample("the c", 12, 0.9))
    assert attention.generate(loaded, "the c", 12, 0.9, 5) == expected
    assert attention.generate(loaded, "the c", 12, 0.9, 5) == expected  # the same seed again
    assert attention.generate(loaded, "the c", 12, 0.9, 6) != expected
    assert attention.generate(loaded, "the c", 0, 0.9, 5) == ""


def test_at_temperature_0_the_most_likely_character_is_taken(loaded):
    (character,) = attention.generate(loaded, "the c", 1, 0.0, 0)
    logits = loaded.model(given([attention.encode(loaded, "the c")])).to_numpy()[0, -1]
    assert loaded.characters[logits.argmax()] == character


# Charts

WEIGHTS = np.array([[1.0, 0, 0], [0.25, 0.75, 0], [0.5, 0.2, 0.3]])


def test_the_heat_map_has_a_cell_for_each_visible_pair_and_a_mask_for_the_others():
    spec = attention.heat_map(WEIGHTS, "a b", 1, "head 1")
    masked, seen, frame, names = (layer["data"]["values"] for layer in spec["layer"])
    found = [(cell["y"], cell["x"], cell["weight"]) for cell in seen]
    assert found == [(0, 0, 1.0), (1, 0, 0.25), (1, 1, 0.75), (2, 0, 0.5), (2, 1, 0.2), (2, 2, 0.3)]
    assert seen[1] | {"query": "1 ␣", "key": "0 a"} == seen[1]
    assert [(box["y"], box["x"], box["x2"]) for box in masked] == [(0, 1, 3), (1, 2, 3)]
    assert [(box["y"], box["x"], box["x2"]) for box in frame] == [(1, 0, 3)]
    assert [name["name"] for name in names] == ["a", "␣", "b"] * 2
    assert spec["layer"][1]["encoding"]["y"]["scale"]["reverse"] is True
    assert "The query 1 '␣' attends: head 1 most to itself (weight 0.75)." in spec["description"]
    masked, seen, *_ = (layer["data"]["values"] for layer in attention.heat_map(WEIGHTS[:1, :1], "a", 0, "")["layer"])
    assert (masked, len(seen)) == ([], 1)


def test_the_strip_shades_the_text_and_marks_what_is_masked():
    markup = attention.strip(WEIGHTS[1], "a b", 1, "head 1")
    shaded = ['aria-label="0 a, weight 0.250"', 'aria-label="1 ␣, weight 0.750"', 'aria-label="2 b, masked; not read"', "--tone: 45%"]
    assert [markup.count(text) for text in shaded] == [1, 1, 1, 1]  # 45 % is 0.75 of 60 %
    assert "<script>" not in attention.strip(np.array([1.0]), "<", 0, "<script>")


def test_each_head_is_described():
    assert attention.in_words(np.stack([WEIGHTS, WEIGHTS[[0, 2, 1]]]), "a b", 2) == (
        "The query 2 'b' attends: head 1 most to 0 'a', 2 before it (weight 0.50); head 2 most to 1 '␣', 1 before it (weight 0.75)."
    )


def test_the_bars_are_sorted_and_always_contain_the_sampled_character():
    shares = np.array([0.1, 0.6, 0.0, 0.3])
    spec = attention.bars(shares, "ab\nd", "a")
    rows = [(row["character"], row["probability"], row["is"]) for row in spec["data"]["values"]]
    assert rows == [("b", 0.6, "other"), ("d", 0.3, "other"), ("a", 0.1, "sampled"), ("⏎", 0.0, "other")]
    assert spec["description"] == "Most likely next: 'b' 60.0%, 'd' 30.0%, 'a' 10.0%. All 4 characters together have probability 1."
    many = "abcdefghijklmnopqrst"
    rows = attention.bars(np.linspace(0.1, 0, 20), many, "t")["data"]["values"]
    assert "".join(row["character"] for row in rows) == "abcdefghijkt"
    assert {row["is"] for row in attention.bars(shares, "abcd")["data"]["values"]} == {"other"}


def test_repeated_words_are_lines_of_a_word_several_times():
    lines = attention_training.repeated_words().splitlines()
    assert {(len(set(line.split())), len(line)) for line in lines} == {(1, 19)}
    assert len(lines) == 3000
    assert set("".join(lines)) == set("abcdefghijklmnop ")


def test_every_text_has_a_beginning_in_its_characters():
    for name, text in attention_training.TEXTS.items():
        assert set(attention_training.BEGINNINGS[name]) <= set(text())


def test_training_reports_and_saves(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(attention_training, "EVERY", 2)
    monkeypatch.setitem(attention_training.TEXTS, "short", lambda: TEXT)
    setting = replace(TINY, steps=3)
    attention_training.train("short", setting, tmp_path / "gpt.safetensors")
    first, *reports = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"parameters": sum(p.numel() for p in attention.load(tmp_path / "gpt.safetensors").model.parameters())}
    assert [report["step"] for report in reports] == [2, 3]
    run = text_trainer.Run(setting, TEXT)
    losses = [run.advance() for _ in range(3)]
    assert [report["loss"] for report in reports] == pytest.approx([np.mean(losses[:2]), losses[2]])
    assert reports[1]["valid"] == pytest.approx(run.validation_loss())
    assert all(report["seconds"] > 0 for report in reports)
    assert attention.load(tmp_path / "gpt.safetensors").step == 3


def test_training_ends_if_the_loss_is_not_a_number(monkeypatch, tmp_path):
    monkeypatch.setitem(attention_training.TEXTS, "short", lambda: TEXT)
    monkeypatch.setattr(text_trainer.Run, "validation_loss", lambda run: float("nan"))
    with pytest.raises(SystemExit, match="the loss is infinite or not a number after step 2; choose a lower learning rate"):
        attention_training.train("short", replace(TINY, steps=2), tmp_path / "gpt.safetensors")
    assert not (tmp_path / "gpt.safetensors").exists()


class FakeJob:
    """Replaces a process: the test sets its output and whether it runs."""

    started: ClassVar[list["FakeJob"]] = []

    def __init__(self, *command):
        self.command, self.lines, self.running = command, [], True
        FakeJob.started.append(self)

    def read(self):
        return self.running

    def stop(self):
        self.running = False


def test_a_run_follows_the_reports_of_its_process(monkeypatch):
    monkeypatch.setattr(attention_training, "Job", FakeJob)
    run = attention_training.Training(TINY, "repeated words")
    job = FakeJob.started[-1]
    program, text, setting, path = job.command
    assert (program, text, path) == ("lab/explorers/attention_training.py", "repeated words", str(run.checkpoint))
    assert Setting(**json.loads(setting)) == TINY
    assert run.progress == 0
    assert "compiles the kernels" in run.status()
    job.lines += [{"parameters": 1234}, {"step": 2, "loss": 2.0, "valid": 2.5, "seconds": 0.25}]
    assert run.read()
    assert run.progress == pytest.approx(1 / 6)
    assert run.status() == "Step 2 of 12; about 2 s left"  # 10 · 0.25 s, rounded to even
    job.lines.append({"step": 6, "loss": 1.0, "valid": np.log(3.0), "seconds": 3.0})
    assert run.in_words() == (
        "1,234 parameters. After 6 of 12 steps, the loss on text that was not trained on is 1.10 (after 2 steps: 2.50). A loss of 1.10 "
        "means that the model is as uncertain as between 3.0 equally likely characters."
    )
    points = [(row["step"], row["loss"], row["text"]) for row in run.chart()["data"]["values"]]
    assert points == [(2, 2.0, "training"), (6, 1.0, "training"), (2, 2.5, "validation"), (6, np.log(3.0), "validation")]
    run.stop()
    assert not run.running
    folder = run.checkpoint.parent
    assert folder.is_dir()
    del run
    assert not folder.exists()
