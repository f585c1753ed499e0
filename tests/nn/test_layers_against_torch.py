"""Every layer and function of networks against PyTorch's of the same name: values, gradients, and states in both directions."""

import numpy as np
import pytest

from minitorch import manual_seed

from .torch_comparison import argument, assert_equal, build, check_function, check_layer, part, random_integers, row, torch, x

IMAGE = x(2, 4, 7, 6)

LAYERS = [
    row("Flatten", on=[x(2, 3, 4)]),
    row("Flatten", 0, 1, on=[x(2, 3, 4)]),
    row("Flatten", -2, on=[x(2, 3, 4, 2)]),
    row("Linear", 4, 3, on=[x(5, 4)]),
    row("Linear", 4, 3, on=[x(2, 5, 4)]),
    row("Linear", 4, 3, on=[x(0, 4)]),
    row("Linear", 4, 1, bias=False, on=[x(4)]),
    row("Embedding", 5, 3, on=[random_integers(5, 2, 4)]),
    row("Embedding", 5, 3, padding_idx=2, on=[np.array([2, 0, 2, 4])]),
    row("Embedding", 5, 3, padding_idx=-1, on=[np.array([[4, 4], [0, 1]])]),
    row("Identity", on=[IMAGE]),
    row("DataParallel", part("Linear", 4, 3), on=[x(5, 4)]),
    row("Identity", 54, on=[x(3)]),
    row("Unflatten", 1, (2, 2), on=[x(3, 4, 5)]),
    row("Unflatten", -1, (3, -1), on=[x(2, 6)]),
    row("ChannelShuffle", 2, on=[IMAGE]),
    row("LocalResponseNorm", 3, on=[IMAGE]),
    row("LocalResponseNorm", 2, 0.5, 1.5, 2.0, on=[x(2, 5, 3)]),
    row("Bilinear", 3, 4, 2, on=[x(5, 3), x(5, 4)]),
    row("Bilinear", 3, 4, 2, bias=False, on=[x(2, 5, 3), x(2, 5, 4)]),
    row("CosineSimilarity", on=[x(5, 4), x(5, 4, seed=1)]),
    row("CosineSimilarity", 0, on=[x(5, 4), x(5, 4, seed=1)]),
    row("PairwiseDistance", on=[x(5, 4), x(5, 4, seed=1)]),
    row("PairwiseDistance", 1.0, 0.1, True, on=[x(5, 4), x(5, 4, seed=1)]),
    row("Softmax2d", on=[IMAGE]),
    row("EmbeddingBag", 5, 3, on=[random_integers(5, 2, 4)]),
    *[row(name, p, on=[IMAGE]) for name in ("Dropout2d", "Dropout3d", "AlphaDropout") for p in (0.0, 1.0)],  # no chance; see below
    *[row("Dropout1d", p, on=[x(2, 3, 4)]) for p in (0.0, 1.0)],
]

FUNCTIONS = [
    row("linear", on=[x(5, 4), x(3, 4), x(3)]),
    row("linear", on=[x(2, 5, 4), x(3, 4)]),
    row("embedding", on=[random_integers(5, 2, 4), x(5, 3)]),
    row("local_response_norm", 4, 0.5, 1.5, 2.0, on=[IMAGE]),
    row("channel_shuffle", 2, on=[x(2, 6, 3)]),
    row("bilinear", on=[x(5, 3), x(5, 4), x(2, 3, 4), x(2)]),
    row("bilinear", on=[x(3), x(4), x(2, 3, 4)]),
    row("cosine_similarity", on=[x(5, 4), x(5, 4, seed=1)]),
    row("cosine_similarity", -1, on=[x(5, 1, 4), x(3, 4, seed=1)]),
    row("normalize", on=[x(5, 4)]),
    *[row("normalize", p, 0, on=[x(5, 4)]) for p in (1.0, 3.0, np.inf)],
    row("normalize", eps=2.0, on=[x(5, 4)]),
    *[row("pairwise_distance", p, on=[x(5, 4), x(5, 4, seed=1)]) for p in (1.0, 2.0, 3.0, np.inf)],
    row("pairwise_distance", eps=0.3, keepdim=True, on=[x(5, 4), x(4, seed=1)]),
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
