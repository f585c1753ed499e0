"""Data sets, and loaders that yield them in batches. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 4 - Real data
from minitorch.data.files import data_home
from minitorch.data import idx as idx
from minitorch.data.dataset import ArrayDataset, ConcatDataset, Dataset, ImageDataset, Subset, TextDataset
from minitorch.data.loader import DataLoader
from minitorch.data.digits import Digits
from minitorch.data.mnist import load_mnist
from minitorch.data.words import GloVe, Vocabulary
from minitorch.data.sentences import Sentences
from minitorch.data.sentiment import SST2

# Stage 6 - Language models
from minitorch.data import story_words as story_words
from minitorch.data import story_writer as story_writer
from minitorch.data import story_plots as story_plots
from minitorch.data.story_grammar import GrammarScore, grammar_score
from minitorch.data.stories import Stories

# Stage 7 - After the course
from minitorch.data import prefetch as prefetch
from minitorch.data import random_streams as random_streams
from minitorch.data.samplers import (
    BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
)  # fmt: skip
from minitorch.data.combined import ChainDataset, IterableDataset, TensorDataset, random_split
from minitorch.data.fashion import load_fashion_mnist
from minitorch.data.cifar import load_cifar10
from minitorch.data.collate import default_collate, default_convert
from minitorch.data.dataloader import DataLoader  # noqa: F811  the course's loader with more arguments takes its place
from minitorch.core.lazy_imports import lazy_imports as _lazy_imports

# Stage 7: imported on first use, because it imports minitorch.torch
with _lazy_imports(globals()):
    from minitorch.data import images as images, image_geometry as image_geometry
    from minitorch.data.transforms import Compose, Normalize, RandomCrop, RandomHorizontalFlip, Reshape, Shift, ToTensor
    from minitorch.data.image_sets import CIFAR10, MNIST, FakeData, FashionMNIST, VisionDataset

__all__ = [
    "CIFAR10",
    "MNIST",
    "SST2",
    "ArrayDataset",
    "BatchSampler",
    "ChainDataset",
    "Compose",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "Digits",
    "DistributedSampler",
    "FakeData",
    "FashionMNIST",
    "GloVe",
    "GrammarScore",
    "ImageDataset",
    "IterableDataset",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomSampler",
    "Reshape",
    "Sampler",
    "Sentences",
    "SequentialSampler",
    "Shift",
    "Stories",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "TextDataset",
    "ToTensor",
    "VisionDataset",
    "Vocabulary",
    "WeightedRandomSampler",
    "data_home",
    "default_collate",
    "default_convert",
    "grammar_score",
    "load_cifar10",
    "load_fashion_mnist",
    "load_mnist",
    "random_split",
]
