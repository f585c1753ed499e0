"""Language models, from bytes to text. This file is the folder's table of contents."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 6 - Language models
from minitorch.language.words import split_words
from minitorch.language.merges import PairCounts, apply_merges, learn_merges, merge_pair
from minitorch.language import token_files as token_files
from minitorch.language.tokenizer import Tokenizer
from minitorch.language import functions as functions
from minitorch.language import attention as attention
from minitorch.language import fused_attention as fused_attention
from minitorch.language import cuda_attention as cuda_attention
from minitorch.language import layers as layers
from minitorch.language.model import GPT2
from minitorch.language.weights import load_weights, named_weights
from minitorch.language.pretrained import gpt2
from minitorch.language.cache import KeyValueCache
from minitorch.language.generation import generate, next_probabilities, sample_token
from minitorch.language.training import AdamW, Schedule, Training, accumulate, clip_gradients, decay_groups, learning_rate
from minitorch.language.quantization import QuantizedLinear, dequantize, model_nbytes, quantize, quantize_rows
from minitorch.language.lora import LoRALinear, add_adapters, load_adapters, merge_adapters, save_adapters
from minitorch.language import network as network
from minitorch.language import machines as machines

# Stage 7 - After the course
from minitorch.language.wordpiece import WordPiece
from minitorch.language import decode as decode

__all__ = [
    "GPT2", "AdamW", "KeyValueCache", "LoRALinear", "PairCounts", "QuantizedLinear", "Schedule", "Tokenizer", "Training", "WordPiece",
    "accumulate", "add_adapters", "apply_merges", "clip_gradients", "decay_groups", "dequantize", "generate", "gpt2", "learn_merges",
    "learning_rate", "load_adapters", "load_weights", "merge_adapters", "merge_pair", "model_nbytes", "named_weights", "next_probabilities",
    "quantize", "quantize_rows", "sample_token", "save_adapters", "split_words",
]  # fmt: skip
