"""The program that trains on sentences: flags, data, its trainer, learned word vectors, and reproducible results."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch.data import Sentences, TextDataset
from project import run_sentiment
from project.lab.explorers.word_weights import word_weights
from project.lab.training import checkpoint
from project.lab.training.sentiment_setup import make_trainer
from project.lab.training.sentiment_trainer import SentimentSetting, get_accuracy
from project.run_sentiment import CNNSentimentKim
from tests.project.test_run_sentiment_program import float64, learned, trained, weights

PROGRAM = Path(run_sentiment.__file__)
HERE = {"PYTHONPATH": str(PROGRAM.parent.parent)}  # the workspace under test, whichever package is installed
SMALL = ["--train", "20", "--valid", "10", "--epochs", "2"]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    def run(seed):
        return weights(trained(make_trainer(SentimentSetting(train=20, valid=5, epochs=2, seed=seed), CNNSentimentKim)))

    assert run(0) == run(0)
    assert run(0) != run(1)


def test_what_is_told_after_an_epoch_are_predictions_on_all_sentences():
    trainer = trained(make_trainer(SentimentSetting(train=20, valid=5, epochs=1), CNNSentimentKim))
    epoch, loss, losses, in_training, train_accuracy, validated, valid_accuracy = trainer.logged()
    assert (epoch, losses) == (1, [loss])
    assert sorted(label for label, _, _ in in_training) == sorted(trainer.train[1].tolist())
    assert [label for label, _, _ in validated] == trainer.valid[1].tolist()
    assert train_accuracy == get_accuracy(in_training)
    assert valid_accuracy == get_accuracy(validated)


def test_the_program_says_that_its_sentences_are_synthetic_and_repeats_to_the_last_bit(tmp_path):
    def run(name):
        file = tmp_path / name
        command = [sys.executable, str(PROGRAM), *SMALL, "--json", "--checkpoint", str(file), "--report", str(tmp_path / "report")]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | HERE, capture_output=True, text=True, check=True)
        lines = [line for line in map(json.loads, done.stdout.splitlines()) if "step" not in line]
        for line in lines:
            line.pop("seconds", None)
        return lines[:-1], checkpoint.digest("", checkpoint.load(file).arrays).encode()

    first = run("first")
    assert first == run("second")
    beginning, *epochs = first[0]
    assert beginning["about"].startswith("sentences: a synthetic set, put together by a program; drawn vectors for ")
    assert [line["epoch"] for line in epochs] == [1, 2]
    assert all(len(line["probabilities"]) == 10 for line in epochs)
    text = (tmp_path / "report" / "sentiment.txt").read_text(encoding="utf-8")
    assert text.startswith(
        "$ python project/run_sentiment.py --dataset sentences --epochs 2 --rate 0.01 --batch 10 --seed 0 --embeddings drawn "
    )
    assert len(re.findall(r"^epoch \d/2  loss \d\.\d{4}  train +\d+\.\d\d%  valid +\d+\.\d\d%", text, re.MULTILINE)) == 2
    assert {"curves.png", "curves.svg"} <= {entry.name for entry in (tmp_path / "report").iterdir()}


def test_learned_vectors_tell_sentences_apart_that_were_not_trained_on():
    trainer = trained(learned(train=600, valid=100, batch=20, epochs=4))
    assert trainer.history[-1].valid >= 0.9


def test_a_step_changes_the_learned_vectors_of_the_words_in_it():
    trainer = learned(train=3, valid=1, batch=3, epochs=1)
    before = weights(trainer)["table"]
    after = weights(trained(trainer))["table"]
    assert 0 < sum(one != other for one, other in zip(before, after, strict=True)) < len(before)


def test_a_learned_run_that_is_resumed_within_an_epoch_ends_as_if_it_had_not_stopped(tmp_path):
    expected = weights(trained(learned(train=40, valid=5, epochs=2)))
    checkpoint.save(tmp_path / "run", trained(learned(train=40, valid=5, epochs=2), steps=6).checkpoint())
    resumed = learned(train=40, valid=5, epochs=2)
    resumed.restore(checkpoint.load(tmp_path / "run"))
    assert weights(trained(resumed)) == expected


def test_a_trained_network_reads_a_typed_sentence_and_those_of_a_test_set_as_those_of_the_data(float64):
    trainer = make_trainer(SentimentSetting(train=20, valid=5, epochs=1), CNNSentimentKim)
    before = weights(trainer)
    assert trained(trainer).closing() == ""
    assert weights(trainer) != before
    sentences = Sentences().sentences
    reading = word_weights(sentences[20], trainer.read)
    assert reading.probability == pytest.approx(trainer.probabilities(trainer.valid[0])[0], abs=1e-6)
    assert len(reading.weights) == len(sentences[20].split())
    right = (trainer.read(sentences[:4]) > 0.5).astype(int)
    trainer.test = TextDataset(sentences[:4], [right[0], right[1], right[2], 1 - right[3]], ("negative", "positive"))
    assert trainer.closing() == "Test: 75.00% (3 of 4)."
