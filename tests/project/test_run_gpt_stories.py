"""The program that trains a GPT on stories and on byte-pair tokens: its text, samples, scores and log; on the simple backend."""

import re
import signal

import numpy as np
import pytest

from minitorch import SimpleBackend, tensor
from minitorch.data.stories import Stories
from minitorch.language import GPT2, generate, named_weights
from project import run_gpt
from project.lab import language_model
from project.lab.training import checkpoint, story_samples, text_trainer
from project.lab.training.story_samples import continue_lines, whole_sentences
from project.lab.training.text_trainer import Run, Setting, Text
from tests.project.programs import refusal

TINY = Setting(steps=3, batch=2, context=6, layers=1, heads=2, width=8, seed=3, stories=20, tokens=270)


@pytest.fixture(scope="module", autouse=True)
def on_the_simple_backend():
    """Train without compiling kernels, and validate with two batches and score two samples."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "FastBackend", SimpleBackend)
        patch.setattr(text_trainer, "VALIDATION_BATCHES", 2)
        patch.setattr(run_gpt, "SAMPLES", 2)
        patch.setattr(run_gpt, "LAST_SAMPLES", 3)
        yield


def test_stories_of_the_validation_set_are_the_last_tenth_of_the_text():
    lines = story_samples.stories(18).splitlines()
    assert lines[:18] == Stories(18).stories
    assert lines[18:] == Stories(2, "validation").stories


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ben ran.\nAnna sat.\n", "Ben ran.\nAnna sat.\n"),
        ("Ben ran.\nAnna sat. She", "Ben ran.\nAnna sat."),
        ("Ben ran. Anna sat.", "Ben ran."),
        ("Ben ran", ""),
        ('"I ran. I sat," said Ben. Anna', '"I ran. I sat," said Ben.'),
        ('Ben ran. "Why?" asked Anna', "Ben ran."),
        ('Ben said, "I ran." He', 'Ben said, "I ran."'),
        ("What is 3 + 4? 3 + 4 is", "What is 3 + 4?"),
    ],
)
def test_a_sentence_is_whole_if_its_line_has_an_end_or_another_sentence_follows(text, expected):
    assert whole_sentences(text) == expected


def test_the_score_is_that_of_whole_sentences():
    found = story_samples.score(["Anna sat. He cry. Ben", "Ben ran.\nBen"])
    assert (found.counts[0], found.sentences) == (3, pytest.approx(2 / 3))


def test_samples_follow_the_probabilities_of_the_model_and_at_temperature_0_the_largest():
    model = GPT2(5, 4, 2, 2, 8)
    for parameter in model.parameters():
        parameter.update(parameter.value * 20)  # far from even probabilities
    first = model(tensor(np.array([[3]]))).to_numpy()[0, -1]
    expected = np.exp(first - first.max()) / np.exp(first - first.max()).sum()
    found = continue_lines(model, 3, 500, 1.0, np.random.default_rng(0))
    assert found.shape == (500, 4)
    frequencies = np.bincount(found[:, 0], minlength=5) / 500
    assert (abs(frequencies - expected) <= 5 * np.sqrt(expected * (1 - expected) / 500) + 1e-9).all()
    assert [list(generate(model, [3], 4, 0))] * 2 == continue_lines(model, 3, 2, 0.0, np.random.default_rng(0)).tolist()


def test_pieces_are_decoded_one_at_a_time_also_within_a_character():
    text = Text("ab é ab é ab " * 20, 2, 258)
    numbers = text.numbers("ab é€")
    assert len(numbers) < len("ab é€".encode())
    assert "".join(language_model.pieces(text.tokenizer, numbers)) == "ab é€"
    assert list(language_model.pieces(text.tokenizer, "é€".encode())) == ["", "é", "", "", "€"]


def weights(run):
    return {name: array.tobytes() for name, array in named_weights(run.model).items()}


def test_a_resumed_run_of_tokens_ends_with_the_same_weights_and_scores_change_nothing(tmp_path):
    whole, stopped = (Run(TINY, story_samples.stories(20)) for _ in range(2))
    stopped.advance()
    score = stopped.grammar(2, 0.8)
    assert stopped.grammar(2, 0.8) == score
    checkpoint.save(tmp_path / "run", stopped.checkpoint())
    resumed = Run.restored(checkpoint.load(tmp_path / "run"), story_samples.stories(20))
    for run in (whole, resumed):
        while not run.done:
            run.advance()
    assert weights(whole) == weights(resumed)
    assert whole.grammar(2, 1.0) == resumed.grammar(2, 1.0)


def test_the_log_has_the_score_of_samples_and_the_end_that_of_more(capsys):
    assert run_gpt.main([*TINY.flags(), "--log-every", "2", "--length", "4"]) == 0
    head, size, *log, summary, grammar = capsys.readouterr().out.split("\n")[:6]
    assert re.fullmatch(r"20 stories: [\d,]+ tokens to train on, \d+ to validate with, 270 different", head)
    assert size == "GPT: 3,096 parameters"  # 270 · 8 + 6 · 8 + 12 · 8² + 13 · 8 + 16
    pattern = r"step (\d)/3  loss \d\.\d{4}  valid \d\.\d{4}  grammar \d+\.\d%  \d+\.\d{3} s a step"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["2", "3"]
    assert summary.startswith("3 of 3 steps in ")
    shares = r"The grammar accepts \d+\.\d% of \d+ sentences, \d+\.\d% of \d+ pronouns agree, \d+\.\d% of \d+ sums are right\..*"
    assert re.fullmatch(shares, grammar)


def test_resuming_needs_no_option_for_stories(tmp_path, monkeypatch, capsys):
    advance, path = Run.advance, tmp_path / "run"

    def pressed(run):
        signal.raise_signal(signal.SIGINT)
        return advance(run)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", pressed)
        assert run_gpt.main([*TINY.flags(), "--checkpoint", str(path)]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == f"Resume with: python project/run_gpt.py --checkpoint {path} --resume"
    assert run_gpt.main(["--checkpoint", str(path), "--resume", "--length", "2"]) == 0
    assert "Resuming after step 1 of 3." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--stories", "5", "--text", "book"], "--stories expected no text, got --text book; leave one of them out"),
        (["--stories", "0"], "stories expected a whole number from 1 to 1000000, got 0"),
        (["--tokens", "255"], "tokens expected a whole number from 256 to 65536, got 255"),
        (
            ["--stories", "1", "--tokens", "60000"],
            "train expected text with more frequent pairs, got text for {most} of 60000 tokens; pass more text",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_line(flags, message, capsys):
    found = refusal(run_gpt, capsys, *flags)
    assert re.fullmatch(re.escape(message).replace(r"\{most\}", r"\d+"), found)
