"""Neural networks: functions and layers under the names of the published course and of PyTorch."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 4 - Networks
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

# Stage 6 - After the course
from minitorch.nn.module import Module, Parameter
from minitorch.nn import init as init
from minitorch.nn import sizes as sizes
from minitorch.nn.losses import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy
from minitorch.nn.losses import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss
from minitorch.nn.losses import l1_loss, mse_loss, nll_loss, smooth_l1_loss
from minitorch.nn.activations import GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from minitorch.nn.activations import gelu, leaky_relu, relu, sigmoid, silu, tanh
from minitorch.nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from minitorch.nn.pooling import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from minitorch.nn.embedding import Embedding, embedding
from minitorch.nn.linear import Linear, bias_relu, linear
from minitorch.nn.convolution import Conv1d, Conv2d, conv1d, conv2d
from minitorch.nn.normalization import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm, RMSNorm
from minitorch.nn.normalization import batch_norm, group_norm, layer_norm, rms_norm
from minitorch.nn.layers import Dropout, Flatten
from minitorch.nn.attention import MultiheadAttention, scaled_dot_product_attention
from minitorch.nn.transformer import TransformerBlock
from minitorch.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from minitorch.nn.containers import ModuleDict, ModuleList, Sequential
from minitorch.nn.summary import summary

__all__ = [
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GroupNorm",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "Max",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "RMSNorm",
    "RNNCell",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Tanh",
    "TransformerBlock",
    "adaptive_avg_pool2d",
    "argmax",
    "avg_pool1d",
    "avg_pool2d",
    "avgpool2d",
    "batch_norm",
    "bias_relu",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "group_norm",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "logsoftmax",
    "max",
    "max_pool1d",
    "max_pool2d",
    "maxpool2d",
    "mse_loss",
    "nll_loss",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "summary",
    "tanh",
    "tile",
]
