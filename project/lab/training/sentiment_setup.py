"""Build the trainer of a sentiment setting: with fixed word vectors, or with learned ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch
from project.lab.training.sentence_encoding import encode_sentence_data
from project.lab.training.sentiment_trainer import DATASETS, VECTORS, SentimentSetting, SentimentTrainer, chosen_sentences


def make_trainer(setting: SentimentSetting, make_network: Callable[..., Any]) -> SentimentTrainer:
    """Load the sentences of a setting and build its network and trainer.

    Args:
        setting: The settings.
        make_network: Builds the network for fixed word vectors, from embedding_size=; called once, after seeding.

    Raises:
        ValueError: If there are fewer sentences than requested, or a file is damaged.
        OSError: If a file is missing.
    """
    train, valid, test = chosen_sentences(setting)
    if setting.embeddings == "learned":
        try:
            from project.lab.training.learned_sentiment import LearnedTrainer
        except ImportError as error:  # it needs functions that a workspace of the course lacks
            raise ValueError(f"embeddings learned needs what comes after the course ({error}); take --embeddings drawn or glove") from error
        trainer = LearnedTrainer.of_sentences(setting, train, valid)
    else:
        vectors = VECTORS[setting.embeddings]()
        data = encode_sentence_data({"train": train, "validation": valid}, vectors, len(train), len(valid))
        minitorch.manual_seed(setting.seed)
        network = make_network(embedding_size=vectors.dim)
        for parameter in network.parameters():  # twice as fast as float64
            parameter.update(parameter.value.detach().to(minitorch.float32))
        trainer = SentimentTrainer(setting, network, *data, vectors)
    trainer.test = test
    trainer.about = f"{DATASETS[setting.dataset]}; {trainer.about_words(train)}"
    return trainer
