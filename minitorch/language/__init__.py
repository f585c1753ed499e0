"""Language models, from bytes to text. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 6 - Language models
from minitorch.language.words import split_words
from minitorch.language.merges import PairCounts, apply_merges, learn_merges, merge_pair
from minitorch.language import token_files as token_files
from minitorch.language.tokenizer import Tokenizer
from minitorch.language import functions as functions
from minitorch.language import attention as attention

__all__ = ["PairCounts", "Tokenizer", "apply_merges", "learn_merges", "merge_pair", "split_words"]
