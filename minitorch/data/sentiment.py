"""Stage 4 - SST-2: sentences and phrases from film reviews, each for or against its film."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from minitorch.data.dataset import TextDataset
from minitorch.data.files import data_home, download, find_file

ARCHIVE = "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
"""URL at which the GLUE benchmark publishes the data set."""

ARCHIVE_HASH = "sha256:d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa"

CLASSES = ("negative", "positive")


class SST2(TextDataset):
    """The Stanford Sentiment Treebank with two classes; the files are in the folder sst2 of the data directory.

    Each line of train.tsv, dev.tsv or test.tsv is a sentence, a tab and a label, optionally after a header line "sentence label". The files
    of "train" and "dev" are downloaded if they do not exist. GLUE does not publish the labels of its test sentences.

    Args:
        split: "train", "dev" or "test".

    Attributes:
        sentences: Words and punctuation, separated by spaces, in lower case.
        labels: Shape (N,), int64: 0 negative, 1 positive.
        classes: "negative", "positive".

    Raises:
        ValueError: If a file is damaged; the message names it and the line.
        OSError: If a file does not exist and cannot be downloaded.

    Source: R. Socher et al. 2013, https://nlp.stanford.edu/sentiment
    """

    def __init__(self, split: str = "train") -> None:
        if split not in ("train", "dev", "test"):
            raise ValueError(f'SST2 expected split="train", "dev" or "test", got {split!r}')
        sentences, labels = read_labeled(_path(data_home() / "sst2", split))
        super().__init__(sentences, labels, CLASSES)


def read_labeled(path: Path) -> tuple[list[str], list[int]]:
    """Read the sentences of a file and their labels.

    Raises:
        ValueError: If a line is not a sentence, a tab and 0 or 1; the message names the file and the line.
        OSError: If the file cannot be read.
    """
    lines = path.read_bytes().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    header = int(lines[:1] != [] and lines[0].rstrip() == b"sentence\tlabel")
    sentences, labels = [], []
    for number, line in enumerate(lines[header:], 1 + header):
        sentence, _, label = line.rstrip(b"\r").rpartition(b"\t")
        try:
            text = sentence.decode("utf-8").strip()
            well_formed = text != "" and "\t" not in text and label in (b"0", b"1")
        except UnicodeDecodeError:
            well_formed, text = False, ""
        if not well_formed:
            shown = line[:60].decode("utf-8", "backslashreplace")
            raise ValueError(
                f"{path} line {number} expected a sentence, a tab and the label 0 or 1, got {shown!r}; "
                "correct the line, or delete the file to download it again"
            )
        sentences.append(text)
        labels.append(int(label))
    if not sentences:
        raise ValueError(f"{path} expected sentences with labels, got none; delete the file to download it again")
    return sentences, labels


def _path(folder: Path, split: str) -> Path:
    """Return the path of the file of a split; if it does not exist, extract it from GLUE's archive, which is downloaded."""
    path = folder / f"{split}.tsv"
    if path.is_file():
        return path
    if split == "test":
        raise FileNotFoundError(
            f"{path} expected a file of labeled sentences, got none; the test set published by GLUE has no labels: "
            'use SST2("dev"), or put your own file there, with a sentence, a tab and 0 or 1 in each line'
        )
    archive = find_file(folder, ["SST-2.zip"])
    if archive is None:
        archive = folder / "SST-2.zip"
        download(archive, [ARCHIVE], ARCHIVE_HASH)
    unpack(archive, f"SST-2/{path.name}", path)
    return path


def unpack(archive: Path, member: str, path: Path) -> None:
    """Extract one file of an archive atomically.

    Raises:
        ValueError: If the archive is damaged or does not contain the file; the message names it.
    """
    packed = archive.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as opened:
            content = opened.read(member)
    except Exception as error:  # zipfile raises many kinds of errors for a damaged archive
        problem = f"one without {member}" if isinstance(error, KeyError) else "a damaged one"
        raise ValueError(f"{archive} expected the archive of SST-2, got {problem}; delete it to download it again") from None
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
