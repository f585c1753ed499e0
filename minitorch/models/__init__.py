"""Model architectures. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 7 - After the course
from minitorch.models.classic import lenet, mlp
from minitorch.models.text import SentimentCNN
from minitorch.models.sentence_bert import SentenceBERT
from minitorch.models.pretrained import minilm
from minitorch.language.pretrained import gpt2
from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

# Stage 7: imported on first use, because it imports minitorch.torch
with _lazy_imports(globals()):
    from minitorch.models.resnet import ResNet, resnet18, resnet34, resnet50, resnet101, resnet152

__all__ = [
    "ResNet", "SentenceBERT", "SentimentCNN", "gpt2", "lenet", "minilm", "mlp", "resnet18", "resnet34", "resnet50", "resnet101",
    "resnet152",
]  # fmt: skip
