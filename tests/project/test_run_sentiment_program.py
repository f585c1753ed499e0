"""The program that trains on sentences: flags, data, its trainer, learned word vectors, and reproducible results."""

import os
import shlex
import sys
from functools import partial

import numpy as np
import pytest

import minitorch
from minitorch import manual_seed
from minitorch.data import SST2, Sentences
from project import run_sentiment
from project.lab.training import learned_sentiment, sentiment_trainer
from project.lab.training.learned_sentiment import LearnedTrainer, LengthBatches
from project.lab.training.sentiment_setup import make_trainer
from project.lab.training.sentiment_trainer import SentimentSetting, SentimentTrainer, get_accuracy, get_predictions_array
from project.run_sentiment import CNNSentimentKim
from tests.errors import raises
from tests.project.programs import refusal


def trained(trainer, steps=10**9):
    while not trainer.done and steps:
        trainer.advance()
        steps -= 1
    return trainer


def weights(trainer):
    return {name: parameter.value.tolist() for name, parameter in trainer.network.named_parameters()}


def test_a_prediction_is_1_above_a_half_and_the_accuracy_is_the_share_of_right_labels():
    predictions = [(1, 1, 0.75), (0, 0, 0.5), (1, 0, 0.25), (0, 1, 0.875)]
    assert get_predictions_array([1, 0, 1, 0], [0.75, 0.5, 0.25, 0.875]) == predictions
    assert get_accuracy([*predictions, (1, 1, 0.9)]) == 0.6
    assert get_accuracy([]) == 0.0


def test_sentences_to_validate_with_follow_those_to_train_on():
    every = Sentences()
    train, valid, test = sentiment_trainer.chosen_sentences(SentimentSetting(train=30, valid=7))
    assert (train.sentences, valid.sentences, test) == (every.sentences[:30], every.sentences[30:37], None)
    train, valid, _ = sentiment_trainer.chosen_sentences(SentimentSetting(train=0, valid=0))
    assert len(train) + len(valid) == len(every)
    assert not set(train.sentences) & set(valid.sentences)


def test_sst2_has_files_of_its_own_for_each_purpose(tmp_path, monkeypatch):
    folder = tmp_path / "sst2"
    folder.mkdir()
    for name, lines in {"train": "fine\t1\nbad\t0\n", "dev": "so fine\t1\n", "test": "so bad\t0\n"}.items():
        (folder / f"{name}.tsv").write_text(lines)
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    chosen = sentiment_trainer.chosen_sentences(SentimentSetting(dataset="sst2", train=1, valid=0))
    assert [part and part.sentences for part in chosen] == [["fine"], ["so fine"], ["so bad"]]
    (folder / "test.tsv").unlink()
    assert sentiment_trainer.chosen_sentences(SentimentSetting(dataset="sst2", train=0, valid=0))[2] is None


def test_more_sentences_than_there_are_end_it_in_one_line(capsys):
    expected = f"train expected at most {len(Sentences())} sentences, as many as there are, got 5000"
    assert refusal(run_sentiment, capsys, "--train", "5000") == expected
    for count in (800, 900):
        with raises(ValueError, f"valid expected at most 799 sentences, as many as there are, got {count}"):
            sentiment_trainer.chosen_sentences(SentimentSetting(train=0, valid=count))


def test_a_missing_file_of_vectors_ends_it_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    message = refusal(run_sentiment, capsys, "--embeddings", "glove")
    assert message.startswith(f"{tmp_path / 'glove'} expected a file glove.6B.50d.txt")


@pytest.fixture
def float64(monkeypatch):
    """Train in float64, for which the kernels are compiled anyway."""
    monkeypatch.setattr(minitorch, "float32", minitorch.float64)


@pytest.fixture
def on_the_simple_backend(monkeypatch):
    """Learn vectors without compiling kernels."""
    monkeypatch.setattr(minitorch, "FastBackend", minitorch.SimpleBackend)


def test_validation_drops_nothing_and_training_goes_on_after_it(float64):
    make_network = partial(CNNSentimentKim, 4, dropout=1.0)
    trainer = make_trainer(SentimentSetting(train=20, valid=5, epochs=1), make_network)
    assert trainer.network.training
    assert (trainer.probabilities(trainer.valid[0]) != 0.5).all()  # dropped inputs give 1/2
    assert trainer.network.training


def test_the_fixed_vectors_and_the_network_are_in_float32():
    trainer = make_trainer(SentimentSetting(train=2, valid=1), CNNSentimentKim)
    assert {str(parameter.value.dtype) for parameter in trainer.network.parameters()} == {"float32"}
    assert trainer.train[0].dtype == np.float32
    assert trainer.about.startswith("sentences: a synthetic set, put together by a program; drawn vectors for ")


def test_without_sentences_there_is_no_training():
    nothing = np.zeros((0, 3, 50)), np.zeros(0, np.int64)
    with raises(ValueError, "training expected at least one sentence, got none; encode more: N_train=450"):
        SentimentTrainer(SentimentSetting(), CNNSentimentKim(2), nothing, nothing)


def learned(**settings):
    trainer = make_trainer(SentimentSetting(embeddings="learned", optimizer="adam", rate=0.01, **settings), CNNSentimentKim)
    assert isinstance(trainer, LearnedTrainer)
    return trainer


@pytest.fixture
def network(on_the_simple_backend):
    """A network that learns vectors, in evaluation."""
    manual_seed(0)
    network = learned_sentiment.LearnedNetwork(20)
    network.eval()
    return network


def test_a_learned_network_convolves_words_of_every_width_by_numpy_alike(network):
    sentences = [np.array([3, 4, 5, 6, 7, 8]), np.array([9, 1])]
    values = {name: parameter.value.to_numpy().astype(float) for name, parameter in network.named_parameters()}
    words = np.array([[3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0], [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
    vectors, found = values["table"][words], []
    for width in (3, 4, 5):
        filters = values[f"weights{width}"].reshape(width, 50, 100)
        places = [sum(vectors[:, place + k] @ filters[k] for k in range(width)) + values[f"bias{width}"] for place in range(11 - width + 1)]
        found.append(np.maximum(np.max(places, 0), 0))
    expected = np.concatenate(found, 1) @ values["weights"] + values["bias"]
    np.testing.assert_allclose(network(learned_sentiment.padded(sentences)).to_numpy(), expected[:, 0], atol=1e-4)


def test_a_learned_network_reads_a_sentence_alike_in_any_company(network):
    sentences = [np.array(words) for words in ([], [3], [4, 5, 6, 7, 8])]
    together = network(learned_sentiment.padded(sentences)).to_numpy()
    alone = [network(learned_sentiment.padded([sentence])).item() for sentence in sentences]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_batches_hold_every_sentence_once_and_sentences_of_like_length_together():
    sentences = [np.full(1 + i % 13, i + 1) for i in range(65)]
    loader = LengthBatches(sentences, np.arange(65), 5, seed=1)
    epochs = [list(loader) for _ in range(2)]
    for batches in epochs:
        assert len(batches) == len(loader) == 13
        assert sorted(int(label) for _, labels in batches for label in labels.tolist()) == list(range(65))
        for words, labels in batches:
            lengths = [len(sentences[label]) for label in labels.tolist()]
            assert len(set(lengths)) == 1  # five of each length
            assert words.shape == (5, lengths[0] + 5)
            assert [row[: lengths[0]] for row in words.tolist()] == [sentences[label].tolist() for label in labels.tolist()]
    assert [labels.tolist() for _, labels in epochs[0]] != [labels.tolist() for _, labels in epochs[1]]


def test_a_workspace_without_what_they_stand_on_refuses_learned_vectors(monkeypatch):
    monkeypatch.setitem(sys.modules, "project.lab.training.learned_sentiment", None)
    message = r"^embeddings learned needs what comes after the course \(.*\); take --embeddings drawn or glove$"
    with pytest.raises(ValueError, match=message):
        learned(train=20, valid=5)


def test_the_command_repeats_the_run(monkeypatch, capsys):
    made = []

    def stop(setting, make_network):
        made.append(setting)
        raise ValueError("enough")

    monkeypatch.setattr(run_sentiment, "make_trainer", stop)
    options = {"dataset": "sst2", "embeddings": "learned", "train": 0, "valid": 9, "optimizer": "adam"}
    setting = SentimentSetting(epochs=3, rate=0.002, batch=50, seed=7, **options)
    python, file, *flags = shlex.split(setting.command())
    assert (python, file) == ("python", "project/run_sentiment.py")
    assert refusal(run_sentiment, capsys, *flags) == "enough"
    assert made == [setting]


@pytest.mark.skipif("MINITORCH_DATA" not in os.environ, reason="needs SST-2 and GloVe in MINITORCH_DATA")
def test_the_published_data_are_encoded_with_the_vectors_that_there_are():
    trainer = make_trainer(SentimentSetting(dataset="sst2", embeddings="glove"), CNNSentimentKim)
    assert trainer.train[0].shape[0::2] == (450, 50)
    assert len(SST2("train")) >= 450
