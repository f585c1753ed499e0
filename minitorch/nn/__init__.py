"""Neural networks: functions and layers under the names of the published course and of PyTorch."""

# A package that ends after stage n lacks the paragraphs from "# Stage n+1" on, and in __all__ the names that they bind.

# Stage 4 - Networks
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

# Stage 7 - After the course
from minitorch.nn import hooks as hooks
from minitorch.nn import options as options
from minitorch.nn.module import Module
from minitorch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from minitorch.nn import init as init
from minitorch.nn.losses import BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, NLLLoss
from minitorch.nn.losses import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, nll_loss
from minitorch.nn.regression_losses import HuberLoss, L1Loss, MSELoss, SmoothL1Loss, huber_loss, l1_loss, mse_loss, smooth_l1_loss
from minitorch.nn.activations import (
    CELU, ELU, GELU, GLU, SELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6,
    RReLU, Sigmoid, SiLU, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold,
)  # fmt: skip
from minitorch.nn.activations import (
    celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, prelu, relu, relu6, rrelu, selu,
    sigmoid, silu, softmin, softplus, softshrink, softsign, tanh, tanhshrink, threshold,
)  # fmt: skip
from minitorch.nn.padding import CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, pad
from minitorch.nn.padding import ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d
from minitorch.nn.padding import ZeroPad1d, ZeroPad2d, ZeroPad3d
from minitorch.nn.pooling import AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d
from minitorch.nn.pooling import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d, MaxUnpool2d
from minitorch.nn.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_max_pool1d, adaptive_max_pool2d
from minitorch.nn.pooling import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d, max_unpool2d
from minitorch.nn.embeddings import Embedding, EmbeddingBag, embedding
from minitorch.nn import language as language
from minitorch.nn.linears import Linear, bias_relu, linear
from minitorch.nn.convolution import Conv1d, Conv2d, conv1d, conv2d
from minitorch.nn.volumes import AdaptiveAvgPool3d, AdaptiveMaxPool3d, AvgPool3d, Conv3d, MaxPool3d
from minitorch.nn.volumes import adaptive_avg_pool3d, adaptive_max_pool3d, avg_pool3d, conv3d, max_pool3d
from minitorch.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, LayerNorm, RMSNorm
from minitorch.nn.normalization import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from minitorch.nn.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from minitorch.nn.dropouts import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, alpha_dropout
from minitorch.nn.layers import Flatten, Identity, Unflatten
from minitorch.nn.attention import MultiheadAttention, scaled_dot_product_attention
from minitorch.nn.transformer import (
    Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
)  # fmt: skip
from minitorch.nn import recurrence as recurrence
from minitorch.nn import reparametrization as reparametrization
from minitorch.nn import parametrizations as parametrizations
from minitorch.nn import parametrize as parametrize
from minitorch.nn import prune as prune
from minitorch.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from minitorch.nn import packed as packed
from minitorch.nn.containers import ModuleDict, ModuleList, Sequential
from minitorch.nn.summary import summary
from minitorch.nn.distances import Bilinear, CosineSimilarity, PairwiseDistance
from minitorch.nn.distances import bilinear, cosine_similarity, normalize, pairwise_distance
from minitorch.nn.distribution_losses import GaussianNLLLoss, KLDivLoss, PoissonNLLLoss, gaussian_nll_loss, kl_div, poisson_nll_loss
from minitorch.nn.margin_losses import CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss, SoftMarginLoss, TripletMarginLoss
from minitorch.nn.margin_losses import MultiLabelSoftMarginLoss, MultiMarginLoss, TripletMarginWithDistanceLoss
from minitorch.nn.margin_losses import (
    cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss, multi_margin_loss, multilabel_soft_margin_loss, soft_margin_loss,
    triplet_margin_loss, triplet_margin_with_distance_loss,
)  # fmt: skip
from minitorch.nn.ctc import CTCLoss, ctc_loss
from minitorch.nn import parallel as parallel
from minitorch.nn.parallel import DataParallel
from minitorch.nn.resizing import Fold, PixelShuffle, PixelUnshuffle, Unfold, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d
from minitorch.nn.resizing import fold, interpolate, pixel_shuffle, pixel_unshuffle, unfold
from minitorch.nn.sampling import affine_grid, grid_sample
from minitorch.nn.transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from minitorch.nn.transposed import conv_transpose1d, conv_transpose2d, conv_transpose3d
from minitorch.nn.lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d
from minitorch.nn.lazy import LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d, LazyLinear
from minitorch.nn.channels import ChannelShuffle, LocalResponseNorm, channel_shuffle, local_response_norm
from minitorch.nn import tuples as tuples
from minitorch.nn.parameter_containers import ParameterDict, ParameterList

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "DataParallel",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Fold",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "Max",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "UninitializedBuffer",
    "UninitializedParameter",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "argmax",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avgpool2d",
    "batch_norm",
    "bias_relu",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "elu",
    "embedding",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "logsigmoid",
    "logsoftmax",
    "margin_ranking_loss",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool2d",
    "maxpool2d",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rrelu",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "summary",
    "tanh",
    "tanhshrink",
    "threshold",
    "tile",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
]
