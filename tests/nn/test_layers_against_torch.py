"""Every layer and function of networks against PyTorch's of the same name: values, gradients, and states in both directions."""

import numpy as np
import pytest

from minitorch import manual_seed

from .torch_comparison import argument, assert_equal, build, check_function, check_layer, part, random_integers, row, torch, uniform, x

IMAGE = x(2, 4, 7, 6)
WITH_NAN = IMAGE.copy()
WITH_NAN[1, 2, 3, 3] = np.nan  # of two equal elements in a window, PyTorch takes the last and we take the first

BORDERS = ("Zero", "Reflection", "Replication", "Circular")
CAUSAL = np.triu(np.ones((4, 4), bool), 1)
PADDING = np.array([[False, False, False, True], [False] * 4, [False, False, True, True]])

LAYERS = [
    row("Flatten", on=[x(2, 3, 4)]),
    row("Flatten", 0, 1, on=[x(2, 3, 4)]),
    row("Flatten", -2, on=[x(2, 3, 4, 2)]),
    row("Linear", 4, 3, on=[x(5, 4)]),
    row("Linear", 4, 3, on=[x(2, 5, 4)]),
    row("Linear", 4, 3, on=[x(0, 4)]),
    row("Linear", 4, 1, bias=False, on=[x(4)]),
    row("Conv1d", 4, 6, 3, on=[x(2, 4, 9)]),
    row("Conv1d", 4, 6, 3, stride=2, padding=2, dilation=2, groups=2, on=[x(2, 4, 9)]),
    row("Conv1d", 4, 4, 3, padding="same", dilation=2, groups=4, bias=False, on=[x(1, 4, 5)]),
    row("Conv1d", 2, 3, 4, padding="valid", on=[x(1, 2, 4)]),
    row("Conv2d", 4, 2, 3, on=[IMAGE]),
    row("Conv2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2, on=[IMAGE]),
    row("Conv2d", 4, 8, 3, padding="same", groups=4, bias=False, on=[IMAGE]),
    row("Conv2d", 4, 3, 1, stride=2, on=[IMAGE]),
    row("Conv2d", 4, 3, (7, 6), on=[IMAGE]),
    row("MaxPool2d", 2, on=[IMAGE]),
    row("MaxPool2d", (3, 2), stride=(1, 2), padding=(1, 0), on=[IMAGE]),
    row("MaxPool2d", 3, 2, 1, on=[WITH_NAN]),
    row("MaxPool2d", 2, on=[np.where(IMAGE > 0, -np.inf, IMAGE)]),
    *[row("MaxPool2d", size, 1, on=[np.round(IMAGE)]) for size in (2, (2, 3))],  # windows with equal elements
    row("AvgPool2d", 2, on=[IMAGE]),
    row("AvgPool2d", (3, 2), (1, 2), (1, 0), on=[IMAGE]),
    row("AvgPool2d", 3, 2, 1, on=[np.where(IMAGE > 1.5, np.inf, IMAGE)]),
    *[row("AdaptiveAvgPool2d", size, on=[IMAGE]) for size in (1, 3, (2, None), (7, 6), (9, 4))],
    row("Embedding", 5, 3, on=[random_integers(5, 2, 4)]),
    row("Embedding", 5, 3, padding_idx=2, on=[np.array([2, 0, 2, 4])]),
    row("Embedding", 5, 3, padding_idx=-1, on=[np.array([[4, 4], [0, 1]])]),
    row("BatchNorm1d", 3, on=[x(5, 3)]),
    row("BatchNorm1d", 3, eps=0.1, momentum=0.7, on=[x(2, 3, 4)]),
    row("BatchNorm1d", 3, momentum=None, affine=False, on=[x(5, 3)]),
    row("BatchNorm2d", 4, on=[IMAGE]),
    row("BatchNorm2d", 4, track_running_stats=False, on=[IMAGE]),
    row("LayerNorm", 4, on=[x(2, 3, 4)]),
    row("LayerNorm", (3, 4), eps=0.1, bias=False, on=[x(2, 3, 4)]),
    row("LayerNorm", 4, elementwise_affine=False, on=[x(3, 4)]),
    row("GroupNorm", 2, 4, on=[IMAGE]),
    row("GroupNorm", 4, 4, eps=0.1, affine=False, on=[x(2, 4)]),
    row("GroupNorm", 1, 4, on=[x(2, 4, 3)]),
    row("RMSNorm", 4, on=[x(2, 3, 4)]),
    row("RMSNorm", (3, 4), eps=0.1, elementwise_affine=False, on=[x(2, 3, 4)]),
    row("Identity", on=[IMAGE]),
    row("Identity", 54, on=[x(3)]),
    row("Unflatten", 1, (2, 2), on=[x(3, 4, 5)]),
    row("Unflatten", -1, (3, -1), on=[x(2, 6)]),
    row("ChannelShuffle", 2, on=[IMAGE]),
    row("InstanceNorm1d", 4, on=[x(2, 4, 5)]),
    row("InstanceNorm1d", 4, eps=0.1, affine=True, on=[x(2, 4, 5)]),
    row("InstanceNorm2d", 4, on=[IMAGE]),
    row("InstanceNorm2d", 4, eps=0.1, affine=True, on=[IMAGE]),
    row("LocalResponseNorm", 3, on=[IMAGE]),
    row("LocalResponseNorm", 2, 0.5, 1.5, 2.0, on=[x(2, 5, 3)]),
    row("Bilinear", 3, 4, 2, on=[x(5, 3), x(5, 4)]),
    row("Bilinear", 3, 4, 2, bias=False, on=[x(2, 5, 3), x(2, 5, 4)]),
    row("CosineSimilarity", on=[x(5, 4), x(5, 4, seed=1)]),
    row("CosineSimilarity", 0, on=[x(5, 4), x(5, 4, seed=1)]),
    row("PairwiseDistance", on=[x(5, 4), x(5, 4, seed=1)]),
    row("PairwiseDistance", 1.0, 0.1, True, on=[x(5, 4), x(5, 4, seed=1)]),
    *[row(f"{kind}Pad1d", padding, on=[x(2, 3, 5)]) for kind in BORDERS for padding in (2, (1, 3))],
    *[row(f"{kind}Pad2d", padding, on=[IMAGE]) for kind in BORDERS for padding in (2, (1, 0, 3, 2))],
    row("ZeroPad2d", (1, -2, -1, 3), on=[IMAGE]),
    row("ConstantPad1d", (1, 3), 2.5, on=[x(2, 3, 5)]),
    row("ConstantPad2d", (-1, 3, 2, -3), -0.5, on=[IMAGE]),
    *[row("Upsample", scale_factor=2, mode=mode, on=[IMAGE]) for mode in ("nearest", "bilinear", "bicubic")],
    row("Upsample", (5, 9), mode="bilinear", align_corners=True, on=[IMAGE]),
    row("Upsample", size=7, mode="linear", on=[x(2, 3, 5)]),
    row("PixelShuffle", 2, on=[IMAGE]),
    row("PixelUnshuffle", 2, on=[x(2, 3, 4, 6)]),
    row("Unfold", 2, on=[IMAGE]),
    row("Unfold", (3, 2), (2, 1), (1, 2), (2, 3), on=[IMAGE]),
    row("Fold", (4, 5), 2, on=[x(2, 8, 12)]),
    row("Fold", (7, 6), (3, 2), dilation=(2, 1), padding=(1, 2), stride=(2, 3), on=[x(2, 12, 9)]),
    row("ConvTranspose1d", 4, 6, 3, on=[x(2, 4, 5)]),
    row("ConvTranspose1d", 4, 6, 3, 2, 1, 1, 2, False, 2, on=[x(2, 4, 5)]),
    row("ConvTranspose2d", 4, 2, 3, on=[IMAGE]),
    row("ConvTranspose2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 2), output_padding=(1, 0), groups=2, dilation=(2, 1), on=[IMAGE]),
    *[row(name, p, on=[IMAGE]) for name in ("Dropout2d", "AlphaDropout") for p in (0.0, 1.0)],  # without chance; see the last test
    *[row("Dropout1d", p, on=[x(2, 3, 4)]) for p in (0.0, 1.0)],
    *[row("TransformerEncoderLayer", 8, 2, 5, 0.0, batch_first=batch_first, on=[x(3, 4, 8)]) for batch_first in (False, True)],
    row("TransformerEncoderLayer", 8, 4, 5, 0.0, "gelu", 0.1, True, True, False, on=[x(3, 4, 8), CAUSAL, PADDING]),
    row("TransformerDecoderLayer", 8, 2, 5, 0.0, on=[x(4, 3, 8), x(5, 3, 8)]),
    row("TransformerDecoderLayer", 8, 4, 5, 0.0, "gelu", 0.1, True, True, on=[x(3, 4, 8), x(3, 5, 8), CAUSAL, None, PADDING]),
    row("TransformerEncoder", part("TransformerEncoderLayer", 8, 2, 5, 0.0, batch_first=True), 2, on=[x(3, 4, 8), CAUSAL, PADDING]),
    row(
        "TransformerDecoder",
        part("TransformerDecoderLayer", 8, 2, 5, 0.0, norm_first=True),
        num_layers=2,
        norm=part("LayerNorm", 8),
        on=[x(4, 3, 8), x(5, 3, 8), CAUSAL],
    ),
]

FUNCTIONS = [
    row("linear", on=[x(5, 4), x(3, 4), x(3)]),
    row("linear", on=[x(2, 5, 4), x(3, 4)]),
    row("embedding", on=[random_integers(5, 2, 4), x(5, 3)]),
    row("conv1d", on=[x(2, 4, 9), x(6, 4, 3), x(6)]),
    row("conv1d", None, 2, 2, 2, 2, on=[x(2, 4, 9), x(6, 2, 3)]),
    row("conv2d", on=[IMAGE, x(3, 4, 2, 3), x(3)]),
    row("conv2d", None, (2, 1), (1, 2), (1, 2), 4, on=[IMAGE, x(4, 1, 2, 3)]),
    row("max_pool1d", 3, 2, 1, on=[x(2, 3, 8)]),
    row("max_pool2d", (2, 3), on=[IMAGE]),
    row("maxpool2d", (7, 3), on=[IMAGE]),
    row("avg_pool1d", 3, 2, 1, on=[x(2, 3, 8)]),
    row("avg_pool2d", 2, 1, on=[IMAGE]),
    row("avgpool2d", (7, 3), on=[IMAGE]),
    row("adaptive_avg_pool2d", (3, 5), on=[IMAGE]),
    row("batch_norm", training=True, on=[x(5, 3), None, None, x(3), x(3, seed=1)]),
    row("batch_norm", eps=0.2, on=[x(5, 3, 2), x(3), uniform(3), x(3, seed=1), x(3, seed=2)]),
    row("layer_norm", (4,), on=[x(2, 3, 4)]),
    row("group_norm", 2, on=[x(2, 4, 3)]),
    row("rms_norm", (4,), eps=1e-3, on=[x(2, 3, 4)]),
    row("rms_norm", (3, 4), on=[x(2, 3, 4)]),
    row("scaled_dot_product_attention", on=[x(2, 5, 4), x(2, 3, 4, seed=1), x(2, 3, 6)]),
    row("scaled_dot_product_attention", is_causal=True, scale=0.3, on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    row("scaled_dot_product_attention", attn_mask=np.tri(4, dtype=bool), on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    row("scaled_dot_product_attention", attn_mask=x(4, 4), on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    row("adaptive_max_pool2d", (3, 5), on=[IMAGE]),
    row("adaptive_max_pool2d", (None, 2), on=[IMAGE]),
    row("adaptive_max_pool2d", 1, on=[IMAGE]),
    row("instance_norm", eps=0.1, on=[x(2, 3, 4), x(3), x(3, seed=1)]),
    row("instance_norm", on=[IMAGE]),
    row("local_response_norm", 4, 0.5, 1.5, 2.0, on=[IMAGE]),
    row("channel_shuffle", 2, on=[x(2, 6, 3)]),
    row("alpha_dropout", 1.0, on=[x(2, 3)]),
    row("bilinear", on=[x(5, 3), x(5, 4), x(2, 3, 4), x(2)]),
    row("bilinear", on=[x(3), x(4), x(2, 3, 4)]),
    row("cosine_similarity", on=[x(5, 4), x(5, 4, seed=1)]),
    row("cosine_similarity", -1, on=[x(5, 1, 4), x(3, 4, seed=1)]),
    row("normalize", on=[x(5, 4)]),
    *[row("normalize", p, 0, on=[x(5, 4)]) for p in (1.0, 3.0, np.inf)],
    row("normalize", eps=2.0, on=[x(5, 4)]),
    *[row("pairwise_distance", p, on=[x(5, 4), x(5, 4, seed=1)]) for p in (1.0, 2.0, 3.0, np.inf)],
    row("pairwise_distance", eps=0.3, keepdim=True, on=[x(5, 4), x(4, seed=1)]),
    row("pad", (1, 2), on=[x(3)]),
    row("pad", (1, -2, -1, 3, 2, 0), value=1.5, on=[IMAGE]),
    *[row("pad", (1, 2, 3, 0), mode, on=[IMAGE]) for mode in ("reflect", "replicate", "circular")],
    row("pad", (-1, 2), "reflect", on=[x(2, 3, 5)]),
    *[row("interpolate", size, mode=mode, on=[IMAGE]) for mode in ("nearest", "bilinear", "bicubic", "area") for size in (4, (3, 11))],
    *[row("interpolate", scale_factor=1.7, mode=mode, on=[IMAGE]) for mode in ("nearest", "bilinear", "bicubic")],
    *[row("interpolate", (4, 9), mode=mode, align_corners=True, on=[IMAGE]) for mode in ("bilinear", "bicubic")],
    *[row("interpolate", (3, 4), mode=mode, antialias=True, on=[IMAGE]) for mode in ("bilinear", "bicubic")],
    *[row("interpolate", 8, mode=mode, on=[x(2, 3, 5)]) for mode in ("nearest", "linear", "area")],
    row("pixel_shuffle", 3, on=[x(2, 18, 2, 3)]),
    row("pixel_unshuffle", 3, on=[x(2, 2, 6, 3)]),
    row("unfold", (3, 2), (2, 1), (1, 2), (2, 3), on=[IMAGE]),
    row("fold", (7, 6), (3, 2), (2, 1), (1, 2), (2, 3), on=[x(2, 12, 9)]),
    row("conv_transpose1d", on=[x(2, 4, 5), x(4, 3, 3), x(3)]),
    row("conv_transpose1d", None, 3, 2, 1, 2, 2, on=[x(2, 4, 5), x(4, 3, 3)]),
    row("conv_transpose2d", on=[IMAGE, x(4, 3, 2, 3), x(3)]),
    row("conv_transpose2d", None, (2, 3), (1, 0), (1, 2), 4, (1, 2), on=[IMAGE, x(4, 2, 2, 3)]),
]


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs):
    check_layer(name, args, settings, inputs)


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    check_function(name, args, settings, inputs)


@pytest.mark.parametrize(("name", "shape"), [("Dropout1d", (40, 50, 2)), ("Dropout2d", (40, 50, 2, 2)), ("AlphaDropout", (2000,))])
def test_random_dropout_leaves_the_values_that_pytorchs_leaves(name, shape):
    manual_seed(0), torch.manual_seed(0)
    found = []
    for library in ("ours", "theirs"):
        out = np.array(build(library, part(name, 0.3))(argument(library, np.full(shape, -0.7))).tolist())
        parts = out.reshape(2000, -1)  # one row for every channel, in which all elements are dropped or none
        np.testing.assert_array_equal(parts.min(1), parts.max(1))
        values, counts = np.unique(parts[:, 0], return_counts=True)
        assert 0.25 < counts.min() / 2000 < 0.35
        found.append(values)
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("eps", [1.5, 2.5])
def test_cosines_of_vectors_shorter_than_eps_agree_with_pytorch(eps):
    """Only the values: PyTorch's gradient is that of the norm itself even where eps has replaced it."""
    inputs = [x(5, 4), x(5, 4, seed=1)]
    results = [build(library, part("CosineSimilarity", eps=eps))(*[argument(library, a) for a in inputs]) for library in ("ours", "theirs")]
    assert_equal(*results, "the cosines")
