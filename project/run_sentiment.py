"""Train a convolutional network that classifies sentences about films as positive or negative."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import minitorch
from project.lab.training import command_line
from project.lab.training import run as training_run
from project.lab.training.sentence_encoding import encode_sentence_data as encode_sentence_data
from project.lab.training.sentence_encoding import encode_sentences as encode_sentences
from project.lab.training.sentiment_setup import make_trainer
from project.lab.training.sentiment_trainer import SentimentSetting, SentimentTrainer, default_log_fn
from project.lab.training.sentiment_trainer import get_accuracy as get_accuracy
from project.lab.training.sentiment_trainer import get_predictions_array as get_predictions_array

BACKEND = minitorch.FastBackend
"""Where all parameters lie, and what computes."""


def RParam(*shape: int) -> minitorch.Parameter:
    """Return a parameter initialized uniformly in (-0.05, 0.05).

    Args:
        shape: Size of every dimension.
    """
    return minitorch.Parameter(0.1 * (minitorch.rand(shape, backend=BACKEND) - 0.5))


class Linear(minitorch.Module):
    """A linear layer.

    Args:
        in_size: Number of inputs for a sentence.
        out_size: Number of outputs.

    Attributes:
        weights: Parameter of shape (in_size, out_size).
        bias: Parameter of shape (out_size,).
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = RParam(in_size, out_size)
        self.bias = RParam(out_size)

    def forward(self, x: minitorch.Tensor) -> minitorch.Tensor:
        """Shape (batch, in_size) to shape (batch, out_size)."""
        return x @ self.weights.value + self.bias.value


class Conv1d(minitorch.Module):
    """A convolution layer that applies every filter to every window of adjacent positions.

    Args:
        in_channels: Number of input channels at a position.
        out_channels: Number of output channels, which is the number of filters.
        kernel_width: Number of positions in a window.

    Attributes:
        weights: Parameter of shape (out_channels, in_channels, kernel_width).
        bias: Parameter of shape (1, out_channels, 1): one number for every filter, the same at all positions.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_width: int) -> None:
        super().__init__()
        self.weights = RParam(out_channels, in_channels, kernel_width)
        self.bias = RParam(1, out_channels, 1)

    def forward(self, input: minitorch.Tensor) -> minitorch.Tensor:
        """Return the convolution of the input with the weights, plus the bias.

        Args:
            input: Shape (batch, in_channels, width).

        Returns:
            Shape (batch, out_channels, width).
        """
        return minitorch.conv1d(input, self.weights.value) + self.bias.value


class CNNSentimentKim(minitorch.Module):
    """The probability that a sentence is positive, from the vectors of its words.

    1. Three convolutions over the words, each with feature_map_size filters of its own width, followed by relu.
    2. The maximum of every feature map over the positions. A filter finds its words anywhere in the sentence.
    3. The sum of the three maxima of feature maps with the same number, and a Linear layer from these sums to one number.
    4. Dropout of that number, only in training mode, and the sigmoid.

    Source: Kim 2014, arXiv:1408.5882, section 2; there, the maxima are concatenated, and dropout comes before the Linear layer.
    """

    def __init__(
        self, feature_map_size: int = 100, embedding_size: int = 50, filter_sizes: Sequence[int] = (3, 4, 5), dropout: float = 0.25
    ) -> None:
        """Create the three convolutions and the Linear layer.

        Args:
            feature_map_size: Number of filters of each convolution.
            embedding_size: Number of elements in the vector of a word.
            filter_sizes: Three widths: the number of words in a window of each convolution.
            dropout: The probability that dropout sets an element to 0.
        """
        super().__init__()
        width1, width2, width3 = filter_sizes
        self.conv1 = Conv1d(embedding_size, feature_map_size, width1)
        self.conv2 = Conv1d(embedding_size, feature_map_size, width2)
        self.conv3 = Conv1d(embedding_size, feature_map_size, width3)
        self.linear = Linear(feature_map_size, 1)
        self.dropout = dropout

    def forward(self, embeddings: minitorch.Tensor) -> minitorch.Tensor:
        """Return the probability of label 1 for each sentence.

        Args:
            embeddings: The vectors of the words, shape (batch, words, embedding_size).

        Returns:
            Shape (batch,).
        """
        x = embeddings.permute(0, 2, 1)
        maxima = minitorch.max(self.conv1(x).relu(), 2) + minitorch.max(self.conv2(x).relu(), 2) + minitorch.max(self.conv3(x).relu(), 2)
        output = self.linear(maxima.view(maxima.shape[0], maxima.shape[1]))
        return minitorch.dropout(output, self.dropout, not self.training).sigmoid().view(embeddings.shape[0])


class SentenceSentimentTrain:
    """Training with gradient descent on encoded sentences.

    Args:
        model: Maps word vectors, shape (batch, words, embedding_size), to probabilities of label 1, shape (batch,).
    """

    def __init__(self, model: minitorch.Module) -> None:
        self.model = model

    def train(
        self,
        data_train: tuple[np.ndarray, np.ndarray],
        learning_rate: float,
        batch_size: int = 10,
        max_epochs: int = 500,
        data_val: tuple[np.ndarray, np.ndarray] | None = None,
        log_fn: Callable[..., None] = default_log_fn,
    ) -> SentimentTrainer:
        """Train, and call log_fn after every epoch.

        Args:
            data_train: Sentences as returned by `encode_sentence_data`, and their labels.
            learning_rate: Learning rate.
            batch_size: Number of sentences in a step.
            max_epochs: Number of epochs.
            data_val: Sentences to validate on, and their labels.
            log_fn: Called with the epoch, its loss, the losses of all epochs, the predictions and the accuracy in training, and the
                predictions and the accuracy on data_val.

        Returns:
            The trainer, with the record of every epoch.
        """
        setting = SentimentSetting(epochs=max_epochs, rate=learning_rate, batch=batch_size)
        trainer = SentimentTrainer(setting, self.model, data_train, data_val or (data_train[0][:0], data_train[1][:0]))
        while not trainer.done:
            trainer.advance()
            if trainer.step == 0:
                log_fn(*trainer.logged())
        return trainer


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""
    return training_run.main(__doc__, SentimentSetting(), lambda setting: make_trainer(setting, CNNSentimentKim), arguments)


if __name__ == "__main__":
    command_line.run("run_sentiment.py", main)
