"""Training of a network that predicts the probability that a sentence is positive, in mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import minitorch
from minitorch.data import SST2, ArrayDataset, DataLoader, GloVe, Sentences, TextDataset
from project.lab.training.checkpoint import digest
from project.lab.training.classifier import ClassifierSetting, ClassifierTrainer
from project.lab.training.sentence_encoding import DrawnVectors, WordVectors, encode_sentences
from project.lab.training.settings import option

OPTIMIZERS: dict[str, Callable[[Sequence[minitorch.Parameter], float], Any]] = {
    "sgd": lambda parameters, rate: minitorch.SGD(parameters, rate),
    "adam": lambda parameters, rate: minitorch.Adam(parameters, rate),
}
"""What can be asked for, and what makes it from the parameters and the learning rate."""

VECTORS: dict[str, Callable[[], WordVectors]] = {"drawn": DrawnVectors, "glove": GloVe.load}
"""Where vectors of words come from that stay as they are."""

DATASETS = {
    "sentences": "sentences: a synthetic set, put together by a program",
    "sst2": "sst2: phrases and sentences from film reviews",
}
"""What can be trained on, and what it is."""

PREDICTED_AT_ONCE = 100
"""Sentences that go through the network together where it does not learn."""

Prediction = tuple[int, int, float]
"""The label of a sentence, the one that was predicted, and the probability of label 1."""


@dataclass(frozen=True)
class SentimentSetting(ClassifierSetting):
    """The settings of a run.

    Attributes:
        dataset: "sentences", or "sst2".
        embeddings: A name in VECTORS, or "learned".
        train: Number of training sentences, taken from the start; 0 for all.
        valid: Number of validation sentences; 0 for all.
        optimizer: A name in OPTIMIZERS.
    """

    program: ClassVar[str] = "run_sentiment"
    log: ClassVar[str] = "sentiment.txt"

    dataset: str = option("sentences", "sentences (synthetic, needs no files) or sst2 (film reviews)", choices=tuple(DATASETS))
    embeddings: str = option("drawn", "vectors of words: drawn at random, glove, or learned", choices=(*VECTORS, "learned"))
    train: int = option(450, "how many sentences to train on; 0 for all", low=0)
    valid: int = option(100, "how many sentences to validate with; 0 for all", low=0)
    epochs: int = option(250, "how often to go through the training data", low=1, high=1_000_000)
    rate: float = option(0.01, "learning rate", above=0)
    batch: int = option(10, "how many sentences make a step", low=1, high=100_000)
    optimizer: str = option("sgd", "sgd or adam", choices=tuple(OPTIMIZERS))


class SentimentTrainer(ClassifierTrainer):
    """Trains on sentences that are encoded with fixed word vectors.

    Args:
        setting: The settings.
        network: Maps word vectors, shape (batch, words, dim), to probabilities of label 1, shape (batch,). Just created, after
            `minitorch.manual_seed(setting.seed)`.
        train: Training sentences, as returned by `encode_sentence_data`, and their labels.
        valid: Validation sentences, and their labels.
        vectors: The word vectors, with which other sentences are encoded.

    Attributes:
        train, valid: As given.
        test: Sentences to test the network on when all epochs are done; None for none.
        trained: Predictions on the training sentences, of the current epoch so far or of the latest one.
        validated: Predictions on the validation sentences after the latest epoch.

    Raises:
        ValueError: If there are no training sentences.
    """

    is_recordable = True

    def __init__(
        self,
        setting: SentimentSetting,
        network: Any,
        train: tuple[Any, np.ndarray],
        valid: tuple[Any, np.ndarray],
        vectors: WordVectors | None = None,
    ) -> None:
        if not len(train[1]):
            raise ValueError("training expected at least one sentence, got none; encode more: N_train=450")
        self.train, self.valid, self.vectors = train, valid, vectors
        self.test: TextDataset | None = None
        self.dtype = next(iter(network.parameters())).value.dtype
        self.trained: list[Prediction] = []
        self.validated: list[Prediction] = []
        optimizer = OPTIMIZERS[setting.optimizer](network.parameters(), setting.rate)
        super().__init__(setting, network, optimizer, self.make_loader(setting), (len(train[1]), len(valid[1])), self.digest())

    # Overridden by a subclass with other inputs

    def make_loader(self, setting: SentimentSetting) -> Any:
        """Return the loader of training sentences and labels."""
        return DataLoader(ArrayDataset(*self.train), setting.batch, shuffle=True, seed=setting.seed, dtype=self.dtype)

    def digest(self) -> str:
        """A checksum of all sentences and labels."""
        return digest("", {"train": self.train[0], "train labels": self.train[1], "valid": self.valid[0], "valid labels": self.valid[1]})

    def encode(self, sentences: Sequence[str]) -> Any:
        """Encode sentences for the network, padded to at least the length of the training sentences."""
        if self.vectors is None:
            raise ValueError("encode expected a trainer with vectors of words, got one without; pass vectors=…")
        longest = max((len(sentence.split()) for sentence in sentences), default=0)
        return encode_sentences(sentences, self.vectors, max(longest, self.train[0].shape[1]))

    def about_words(self, sentences: TextDataset) -> str:
        """Describe where the vectors come from and how many words of the sentences have one."""
        words = {word for sentence in sentences.sentences for word in sentence.split()}
        known = sum(word in self.vectors for word in words) if self.vectors is not None else 0
        return f"{self.setting.embeddings} vectors for {known} of its {len(words)} words"  # type: ignore[attr-defined]

    def inputs(self, sentences: Any, rows: np.ndarray) -> minitorch.Tensor:
        """Return the input of the network for the selected rows of encoded sentences."""
        return minitorch.from_numpy(sentences[rows].astype(self.dtype), minitorch.FastBackend)

    def loss_and_output(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """See `ClassifierTrainer.loss_and_output`; the output is the probabilities of label 1."""
        x, y = tensors
        output = self.network(x)
        probability = output * y + (1 - output) * (1 - y)  # of the correct label
        return -probability.log().mean(), output

    # Required by ClassifierTrainer

    def batch_loss(self, *batch: Any) -> tuple[minitorch.Tensor, int, int]:
        """See `ClassifierTrainer.batch_loss`."""
        loss, output = self.loss_and_output(*self.prepare(*batch))
        return loss, *self.tally(output, *batch)

    def prepare(self, *batch: Any) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """The word vectors, and the labels in the network's dtype."""
        x, labels = batch
        return x, labels.to(self.dtype)

    def tally(self, output: minitorch.Tensor, *batch: Any) -> tuple[int, int]:
        """See `ClassifierTrainer.tally`."""
        predictions = get_predictions_array(batch[1].to_numpy(), output.to_numpy())
        self.trained = (self.trained if self.step else []) + predictions
        return sum(label == predicted for label, predicted, _ in predictions), len(predictions)

    def validate(self) -> float:
        """See `ClassifierTrainer.validate`."""
        self.validated = get_predictions_array(self.valid[1], self.probabilities(self.valid[0]))
        return get_accuracy(self.validated)

    def details(self) -> dict[str, Any]:
        """Probabilities of the first validation sentences; see `ClassifierTrainer.details`."""
        return {"probabilities": [round(probability, 4) for _, _, probability in self.validated[:PREDICTED_AT_ONCE]]}

    def closing(self) -> str:
        """Report the accuracy on the test set; see `ClassifierTrainer.closing`."""
        if self.test is None:
            return ""
        predictions = get_predictions_array(self.test.labels, self.read(self.test.sentences))
        right = sum(label == predicted for label, predicted, _ in predictions)
        return f"Test: {get_accuracy(predictions):.2%} ({right} of {len(predictions)})."

    # Called by programs and pages

    def probabilities(self, sentences: Any) -> np.ndarray:
        """Return the probability of label 1 for encoded sentences, without dropout."""
        rows = np.arange(len(sentences))
        training = self.network.training
        self.network.eval()
        try:
            with minitorch.no_grad():
                pieces = [rows[first : first + PREDICTED_AT_ONCE] for first in range(0, len(rows), PREDICTED_AT_ONCE)]
                outputs = [self.predict(self.inputs(sentences, piece)) for piece in pieces]
        finally:
            if training:
                self.network.train()
        return np.concatenate(outputs) if outputs else np.zeros(0)

    def predict(self, x: minitorch.Tensor) -> np.ndarray:
        """Return the probability of label 1 for inputs of the network."""
        return self.network(x).to_numpy()

    def read(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the probability that each sentence is positive."""
        return self.probabilities(self.encode(sentences))

    def logged(self) -> tuple[int, float, list[float], list[Prediction], float, list[Prediction], float]:
        """Return the arguments of a log_fn after an epoch; see `SentenceSentimentTrain.train`."""
        last = self.history[-1]
        return self.epoch, last.loss, [row.loss for row in self.history], self.trained, last.train, self.validated, last.valid


def chosen_sentences(setting: SentimentSetting) -> tuple[TextDataset, TextDataset, TextDataset | None]:
    """Return the sentences for training and for validation, and those for testing if there are any.

    For "sst2", they come from its files train, dev and test. For "sentences", the validation sentences follow the training sentences in the
    same set.

    Raises:
        ValueError: If there are fewer than requested, or a file is damaged.
        OSError: If a file is missing.
    """
    if setting.dataset == "sst2":
        train, valid = first_of(SST2("train"), setting.train, "train"), first_of(SST2("dev"), setting.valid, "valid")
        try:
            return train, valid, SST2("test")
        except FileNotFoundError:  # as published, it has no labels
            return train, valid, None
    every = Sentences()
    valid_count = setting.valid or len(every) // 5
    train = first_of(every, setting.train or max(1, len(every) - valid_count), "train")
    return train, first_of(every[len(train) :], valid_count, "valid"), None


def first_of(sentences: TextDataset, count: int, name: str) -> TextDataset:
    """Return the first `count` sentences; all for a count of 0.

    Raises:
        ValueError: If there are fewer.
    """
    if count > len(sentences):
        raise ValueError(f"{name} expected at most {len(sentences)} sentences, as many as there are, got {count}")
    return sentences[: count or len(sentences)]


def get_predictions_array(y_true: Sequence[int] | np.ndarray, model_output: Any) -> list[Prediction]:
    """Return the label, the predicted label and the probability for each sentence; the prediction is 1 for a probability above 1/2.

    Args:
        y_true: The labels.
        model_output: The probabilities of label 1: a Tensor, an array or a list.
    """
    outputs = model_output.to_numpy() if isinstance(model_output, minitorch.Tensor) else np.asarray(model_output)
    return [(int(label), int(output > 0.5), float(output)) for label, output in zip(y_true, outputs.reshape(-1), strict=True)]


def get_accuracy(predictions_array: Sequence[Prediction]) -> float:
    """Return the fraction of correct predictions, from 0 to 1; 0 for no predictions."""
    right = sum(label == predicted for label, predicted, _ in predictions_array)
    return right / len(predictions_array) if predictions_array else 0.0


def default_log_fn(
    epoch: int,
    train_loss: float,
    losses: Sequence[float],
    train_predictions: Sequence[Prediction],
    train_accuracy: float,
    validation_predictions: Sequence[Prediction],
    validation_accuracy: float,
) -> None:
    """Print one line for an epoch."""
    validated = f"  valid accuracy {validation_accuracy:6.2%}" if validation_predictions else ""
    print(f"epoch {epoch}  loss {train_loss:.4f}  train accuracy {train_accuracy:6.2%}{validated}", flush=True)
