"""The networks of `benchmarks.compiled` in four forms: ours and PyTorch's, as they are and compiled.

As a program, this is the process of one form; it answers like `benchmarks.train_contenders`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from benchmarks import point_contenders, train_contenders

TEXT, WORDS, VECTOR, MAPS = 10, 50, 50, 100
"""Sentences in a batch, their words, the size of a word's vector, and the filters of each width of the sentiment CNN."""


class Sizes(NamedTuple):
    """The sizes of a GPT and of its batches."""

    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int
    batch: int


GPTS = {"gpt": Sizes(65, 64, 3, 4, 64, 16), "language model": Sizes(512, 128, 4, 4, 128, 16)}
"""The one of project/run_gpt.py, and the one of `benchmarks.language`."""


def batches(network: str) -> Iterator[tuple[Any, ...]]:
    """The arguments of each step, always the same in the same order."""
    random = np.random.default_rng(1)
    if network == "sentiment":
        x = random.standard_normal((TEXT, WORDS, VECTOR)).astype(np.float32)
        return repeat((x, (x.mean((1, 2)) > 0).astype(np.float32)))
    if network in GPTS:
        sizes = GPTS[network]
        pieces = random.integers(0, sizes.vocabulary, (sizes.batch, sizes.context + 1))
        return repeat((np.ascontiguousarray(pieces[:, :-1]), pieces[:, 1:].reshape(-1)))
    others = point_contenders if network in ("small", *point_contenders.NETWORKS) else train_contenders
    return others.batches(network)


def sentiment_weights() -> list[np.ndarray]:
    """Weight and bias of three convolutions and of the linear layer."""
    random, made = np.random.default_rng(0), []
    for width in (3, 4, 5):
        made += [random.uniform(-0.05, 0.05, (MAPS, VECTOR, width)), random.uniform(-0.05, 0.05, (1, MAPS, 1))]
    made += [random.uniform(-0.05, 0.05, (MAPS, 1)), random.uniform(-0.05, 0.05, (1,))]
    return [values.astype(np.float32) for values in made]


def sentiment_of_minitorch(compiled: Callable[[Any], Any]) -> Callable[..., float]:
    """A training step of the network of project/run_sentiment.py, without dropout, as in the program but for that."""
    import minitorch
    from minitorch import FastBackend, from_numpy
    from project.run_sentiment import CNNSentimentKim

    model = CNNSentimentKim(MAPS, VECTOR, dropout=0.0)
    model.eval()
    for parameter, values in zip(model.parameters(), sentiment_weights(), strict=True):
        parameter.update(from_numpy(values.copy(), backend=FastBackend))
    optimizer = minitorch.SGD(model.parameters(), 0.01)

    def learn(x: Any, y: Any) -> Any:
        output = model(x)
        loss = -(output * y + (1 - output) * (1 - y)).log().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    learn = compiled(learn)
    return lambda x, y: learn(from_numpy(x, backend=FastBackend), from_numpy(y, backend=FastBackend)).item()


def sentiment_of_torch(compiled: Callable[[Any], Any]) -> Callable[..., float]:
    """The same step in PyTorch."""
    import torch
    import torch.nn.functional as F

    w = [torch.from_numpy(values.copy()).requires_grad_() for values in sentiment_weights()]
    optimizer = torch.optim.SGD(w, 0.01)

    def loss_of(x: Any, y: Any) -> Any:
        x = x.permute(0, 2, 1)
        maxima = 0
        for weight, bias in zip(w[:6:2], w[1:6:2], strict=True):
            padded = F.pad(x, (0, weight.shape[2] - 1))  # a window anchored at the left
            maxima = maxima + (F.conv1d(padded, weight) + bias).relu().amax(2)
        output = torch.addmm(w[7], maxima, w[6]).sigmoid().view(-1)
        return -(output * y + (1 - output) * (1 - y)).log().mean()

    loss_of = compiled(loss_of)

    def step(x: np.ndarray, y: np.ndarray) -> float:
        loss = loss_of(torch.from_numpy(x), torch.from_numpy(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def gpt_of_minitorch(compiled: Callable[[Any], Any], sizes: Sizes) -> Callable[..., float]:
    """A training step of the GPT of Module 6 with the library's AdamW and clipping."""
    import minitorch
    from minitorch import FastBackend, from_numpy, nn
    from minitorch.optim import AdamW, clip_grad_norm_
    from project.lab.language_model import make_model

    minitorch.manual_seed(0)
    model = make_model(sizes.vocabulary, sizes._asdict())
    optimizer = AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)

    def learn(x: Any, y: Any) -> Any:
        loss = nn.cross_entropy(model(x).view(-1, sizes.vocabulary), y)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    learn = compiled(learn)
    return lambda x, y: learn(from_numpy(x, backend=FastBackend), from_numpy(y, backend=FastBackend)).item()


def gpt_of_torch(compiled: Callable[[Any], Any], sizes: Sizes) -> Callable[..., float]:
    """A training step of the same size in PyTorch; its own initial weights, so that losses are not compared."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class GPT(nn.Module):
        """Embeddings, blocks that normalize first, and a linear layer that shares its weight."""

        def __init__(self) -> None:
            super().__init__()
            width = sizes.width
            self.tokens, self.positions = nn.Embedding(sizes.vocabulary, width), nn.Embedding(sizes.context, width)
            block = {"dim_feedforward": 4 * width, "dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
            self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, sizes.heads, **block) for _ in range(sizes.layers)])
            self.norm, self.mask = nn.LayerNorm(width), nn.Transformer.generate_square_subsequent_mask(sizes.context)

        def forward(self, x: Any) -> Any:
            """Logits of the next token at each position."""
            out = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
            for block in self.blocks:
                out = block(out, src_mask=self.mask, is_causal=True)
            return self.norm(out) @ self.tokens.weight.t()

    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    loss_of = compiled(lambda x, y: nn.functional.cross_entropy(model(x).view(-1, sizes.vocabulary), y))

    def step(x: np.ndarray, y: np.ndarray) -> float:
        loss = loss_of(torch.from_numpy(x), torch.from_numpy(y))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


EAGER, RECORDED = 6, 8
"""The first calls of "minitorch.waits" run as they are, those up to RECORDED record and replay, the next one fuses."""


def waits(network: str) -> Callable[..., float]:
    """A step of ours whose results are the seconds that its calls took."""
    import minitorch

    seconds: list[float] = []

    def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
        made = minitorch.compile(step, fuse=False)

        def call(*tensors: Any) -> Any:
            begun = time.perf_counter()
            if len(seconds) == RECORDED:
                made.fuse()
            else:
                result = (step if len(seconds) < EAGER else made)(*tensors)
            seconds.append(time.perf_counter() - begun)
            return result if len(seconds) <= RECORDED else made(*tensors)

        return call

    step = step_of("minitorch", network, compiled)
    return lambda *batch: (step(*batch), seconds[-1])[1]


def prepared(form: str, network: str) -> tuple[Callable[..., float], Iterator[tuple[Any, ...]]]:
    """A form's step of a network, and an iterator over its arguments."""
    if form == "minitorch.waits":
        return waits(network), batches(network)
    library, _, is_compiled = form.partition(".")
    compiled: Callable[[Any], Any] = train_contenders.as_it_is
    if library == "torch":
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        compiled = torch.compile if is_compiled else compiled
    elif is_compiled:
        import minitorch

        def compiled(step: Any) -> Any:  # fused as soon as it has been checked, not in the background while others are measured
            made, calls = minitorch.compile(step), iter(range(3))

            def call(*tensors: Any) -> Any:
                result = made(*tensors)
                if next(calls, None) == 1:
                    made.fuse()
                return result

            return call

    return step_of(library, network, compiled), batches(network)


def step_of(library: str, network: str, compiled: Callable[[Any], Any]) -> Callable[..., float]:
    """A library's step of a network; `compiled` is applied to its training step or to its loss."""
    if network == "sentiment":
        return (sentiment_of_torch if library == "torch" else sentiment_of_minitorch)(compiled)
    if network in GPTS:
        return (gpt_of_torch if library == "torch" else gpt_of_minitorch)(compiled, GPTS[network])
    others = point_contenders if network in ("small", *point_contenders.NETWORKS) else train_contenders
    return (others.of_torch if library == "torch" else others.of_minitorch)(network, compiled)


if __name__ == "__main__":
    form = sys.argv[1]
    train_contenders.work(form.partition(".")[0], lambda network: prepared(form, network))
