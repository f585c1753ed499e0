"""Layers and functions of minitorch.torch.nn at known values, without PyTorch."""

import numpy as np
import pytest

import minitorch
import minitorch.nn
import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.nn import functional as F
from minitorch.torch.nn import init


@pytest.mark.usefixtures("fast_backend")
def test_layers_are_in_float32_on_the_compiled_backend() -> None:
    layer = nn.Linear(2, 3)
    assert layer.weight.dtype == torch.float32
    assert layer.weight.backend is minitorch.FastBackend
    assert nn.Linear(2, 3, dtype=torch.float64, device="cpu").weight.dtype == torch.float64


def test_in_place_activations_change_their_input() -> None:
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0.0, 2.0]
    leaf = torch.tensor([-1.0], requires_grad=True)
    y = leaf * 3
    assert nn.ReLU(inplace=True)(y) is y
    assert y.tolist() == [0.0]
    y.sum().backward()
    assert leaf.grad.tolist() == [0.0]
    with pytest.raises(RuntimeError, match="a leaf that requires gradients cannot be changed in place"):
        F.relu(leaf, inplace=True)


def test_slopes_of_rrelu_are_random_in_training_only() -> None:
    torch.manual_seed(0)
    x, layer = torch.tensor([2.0, *[-1.0] * 500], requires_grad=True), nn.RReLU(0.1, 0.3)
    out = layer(x)
    assert out[0].item() == 2.0
    assert -0.3 <= out[1:].min().item() < -0.29
    assert -0.11 < out[1:].max().item() <= -0.1
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[1:], -out.detach().numpy()[1:], rtol=1e-6)
    np.testing.assert_allclose(layer.eval()(x).detach().numpy(), [2.0] + [-0.2] * 500, rtol=1e-6)
    with pytest.raises(ValueError, match=r"rrelu expected lower of at most upper, got 0\.4 and 0\.3"):
        F.rrelu(x, 0.4, 0.3)


def test_activations_with_an_underscore_are_in_place() -> None:
    for name, args in (("leaky_relu_", (0.5,)), ("elu_", ()), ("hardtanh_", ()), ("threshold_", (0.0, 9.0)), ("rrelu_", (0.5, 0.5))):
        x, expected = torch.tensor([-2.0, 0.5]), getattr(F, name[:-1])(torch.tensor([-2.0, 0.5]), *args).tolist()
        assert getattr(F, name)(x, *args) is x
        assert x.tolist() == expected
        assert F.relu_(torch.tensor([-1.0])).tolist() == [0.0]


def test_dropout_scales_in_training_only() -> None:
    torch.manual_seed(0)
    x, layer = torch.ones(1000), nn.Dropout(0.25)
    dropped = layer(x)
    assert sorted(set(dropped.tolist())) == [0.0, pytest.approx(4 / 3)]
    assert 0.65 < (dropped > 0).float().mean().item() < 0.85
    assert layer.eval()(x).tolist() == x.tolist()
    channels = F.dropout2d(torch.ones(4, 50, 3, 3), 0.5)
    assert set(channels.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
    with pytest.raises(ValueError, match="Dropout expected p from 0 to 1, got 2; it is the probability that an element is zeroed"):
        nn.Dropout(2)
    volumes = nn.Dropout3d(0.5)(torch.ones(4, 50, 2, 2, 2))
    assert set(volumes.sum((2, 3, 4)).flatten().tolist()) == {0.0, 16.0}


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    torch.manual_seed(0)
    x, layer = torch.randn(20000), nn.AlphaDropout(0.3)
    dropped = layer(x)
    assert dropped.mean().item() == pytest.approx(0, abs=0.03)
    assert dropped.std().item() == pytest.approx(1, abs=0.03)
    values, counts = np.unique(dropped.numpy(), return_counts=True)
    limit, scale = -1.7580993, (0.7 * (1 + 0.3 * 1.7580993**2)) ** -0.5
    assert values[counts.argmax()] == pytest.approx(scale * limit * (1 - 0.3), rel=1e-5)
    assert counts.max() / 20000 == pytest.approx(0.3, abs=0.02)
    assert layer.eval()(x) is x
    assert F.alpha_dropout(x, 1.0, training=True).abs().max().item() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.LSTM(2, 3, proj_size=2), "LSTM supports proj_size=0 only, got 2; leave proj_size out"),
        (lambda: nn.Embedding(3, 2, max_norm=1.0), "Embedding supports max_norm=None only, got 1.0; leave max_norm out"),
    ],
)  # fmt: skip
def test_options_that_are_not_supported_are_refused(call: object, message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call()  # type: ignore[operator]


def test_initial_values_are_written_in_place() -> None:
    torch.manual_seed(0)
    x = nn.Parameter(torch.empty(30, 40))
    assert init.constant_(x, 2.5) is x
    assert x.min().item() == x.max().item() == 2.5
    init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu")
    assert x.std().item() == pytest.approx((2 / 30) ** 0.5, rel=0.1)
    init.xavier_uniform_(x, gain=init.calculate_gain("relu"))
    assert x.abs().max().item() == pytest.approx(2**0.5 * (6 / 70) ** 0.5, rel=0.02)
    init.orthogonal_(x, gain=3.0)
    rows = x.detach().numpy()
    np.testing.assert_allclose(rows @ rows.T, 9 * np.eye(30), atol=1e-4)
    init.trunc_normal_(x, std=2.0, a=-1.0, b=3.0)
    assert x.min().item() >= -1
    assert x.max().item() <= 3
    init.eye_(x)
    assert x.sum().item() == 30
    kernel = init.dirac_(torch.empty(3, 2, 3, 3)).numpy()
    assert (kernel[0, 0, 1, 1], kernel[1, 1, 1, 1], np.abs(kernel).sum()) == (1, 1, 2)


def test_gradients_are_clipped() -> None:
    x, y = torch.zeros(2, requires_grad=True), nn.Parameter(torch.zeros(1))
    (3 * x).sum().backward()
    (4 * y).sum().backward()
    norm = nn.utils.clip_grad_norm_([x, y], 1.0)
    assert norm.item() == pytest.approx(34**0.5)
    assert norm.shape == ()
    assert x.grad.tolist() == pytest.approx([3 / 34**0.5] * 2, rel=1e-4)
    assert nn.utils.get_total_norm([x.grad, y.grad]).item() == pytest.approx(1, rel=1e-4)
    nn.utils.clip_grad_value_([x, y], 0.1)
    assert y.grad.tolist() == pytest.approx([0.1])


def test_parameters_become_a_vector_and_back() -> None:
    layer = nn.Linear(2, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (6,)
    nn.utils.vector_to_parameters(torch.arange(6).float(), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert layer.bias.tolist() == [4.0, 5.0]
    with pytest.raises(ValueError, match=r"expected a vector of 6 elements, got shape torch.Size\(\[3\]\)"):
        nn.utils.vector_to_parameters(torch.ones(3), layer.parameters())


def test_sequences_are_padded() -> None:
    sequences = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    assert nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=9).tolist() == [[1, 2, 3], [4, 9, 9]]
    assert nn.utils.rnn.pad_sequence(sequences, padding_side="left").tolist() == [[1, 0], [2, 0], [3, 4]]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_hard_sample_of_gumbel_softmax_has_a_one_and_a_gradient(dim: int) -> None:
    torch.manual_seed(0)
    logits = torch.zeros(2, 3, 4, requires_grad=True)
    sample = F.gumbel_softmax(logits, hard=True, dim=dim)
    np.testing.assert_allclose(np.sort(sample.detach().numpy(), dim).sum(dim), 1.0, rtol=1e-6)
    np.testing.assert_allclose(sample.detach().numpy().max(dim), 1.0, rtol=1e-6)
    (sample * torch.arange(24.0).view(2, 3, 4)).sum().backward()
    np.testing.assert_allclose(logits.grad.numpy().sum(dim), 0.0, atol=1e-5)
    assert logits.grad.abs().max().item() > 0


def test_hand_computed_values() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    assert F.cross_entropy(torch.zeros(2, 4), torch.tensor([0, 3])).item() == pytest.approx(np.log(4))
    assert F.mse_loss(x, torch.zeros(2, 2)).item() == 3.5
    assert F.normalize(torch.tensor([[3.0, 4.0]])).tolist() == [pytest.approx([0.6, 0.8])]
    assert F.one_hot(torch.tensor([1, 0])).tolist() == [[0, 1], [1, 0]]
    assert F.pad(x, (1, 0)).tolist() == [[0, 1, 2], [0, 3, 0]]
    assert nn.PixelShuffle(2)(torch.arange(4).float().reshape(1, 4, 1, 1)).tolist() == [[[[0.0, 1.0], [2.0, 3.0]]]]
    assert nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[1.0, 1.0, 2.0, 2.0]]]
    assert F.hardswish(torch.tensor([-4.0, 0.0, 4.0])).tolist() == [0.0, 0.0, 4.0]
    assert F.huber_loss(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 0.0])).item() == pytest.approx((0.5 + 2.5) / 2)
