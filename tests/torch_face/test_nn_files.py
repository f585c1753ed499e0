"""torch.nn.modules: the layers by the names of PyTorch's files, and what programs import from there."""

import importlib
import sys
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch import nn

_Loss, _WeightedLoss, _DropoutNd = nn.modules.loss._Loss, nn.modules.loss._WeightedLoss, nn.modules.dropout._DropoutNd

FILES = sorted(nn.modules.PATTERNS)

IN_PLACE = [
    "module.Module conv.Conv2d conv.LazyConvTranspose2d linear.Identity loss.CTCLoss batchnorm.BatchNorm2d container.ParameterDict",
    "activation.MultiheadAttention activation.Softmax2d rnn.RNNBase rnn.LSTMCell transformer.Transformer normalization.LayerNorm",
    "pooling.AdaptiveAvgPool2d pooling.MaxUnpool2d dropout.Dropout2d sparse.EmbeddingBag padding.ZeroPad2d pixelshuffle.PixelUnshuffle",
    "upsampling.Upsample instancenorm.InstanceNorm2d fold.Unfold flatten.Flatten distance.PairwiseDistance channelshuffle.ChannelShuffle",
]


@pytest.mark.parametrize("place", " ".join(IN_PLACE).split())
def test_layers_are_found_in_pytorch_s_files(place: str) -> None:
    file, name = place.split(".")
    module = importlib.import_module(f"minitorch.torch.nn.modules.{file}")
    assert module is getattr(nn.modules, file) is sys.modules[module.__name__]
    assert getattr(module, name) is getattr(nn, name) is getattr(nn.modules, name)


def test_files_can_be_imported_as_in_pytorch() -> None:
    seen: dict[str, Any] = {}
    exec(  # as programs write it; checkers of types do not know modules that are made
        "import minitorch.torch.nn.modules.conv\n"
        "from minitorch.torch.nn.modules.utils import _pair\n"
        "from minitorch.torch.nn.modules.batchnorm import _BatchNorm, _NormBase",
        seen,
    )
    assert seen["minitorch"].torch.nn.modules.conv._ConvNd in nn.Conv2d.__mro__
    assert seen["_pair"](3) == (3, 3)
    assert {seen["_BatchNorm"], seen["_NormBase"]} < {*nn.BatchNorm3d.__mro__}
    for module, owner in ((nn.modules, "torch.nn.modules"), (nn.modules.conv, "torch.nn.modules.conv")):
        with pytest.raises(AttributeError, match=rf"{owner} has no Conv4d in minitorch; the nearest name is {owner}\.Conv\dd; the "):
            _ = module.Conv4d


@pytest.mark.parametrize("file", FILES)
def test_the_files_have_the_names_of_pytorch_s(file: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs = importlib.import_module(f"torch.nn.modules.{file}")
    own = {name for name in vars(getattr(nn.modules, file)) if not name.startswith("__")}
    defined = {name for name, thing in vars(theirs).items() if getattr(thing, "__module__", "") == theirs.__name__}
    assert sorted(own - defined) == []
    assert sorted(name for name in defined & {*nn.modules.CLASSES} if name not in own) == []


# What programs import


def test_sizes_become_tuples() -> None:
    own = nn.modules.utils
    assert (own._single(3), own._pair(3), own._triple(3), own._ntuple(4)(0)) == ((3,), (3, 3), (3, 3, 3), (0,) * 4)
    assert (own._pair([1, 2]), own._pair("ab"), own._pair((1, 2, 3)), own._pair.__name__) == ((1, 2), ("a", "b"), (1, 2, 3), "_pair")
    assert own._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert (own._list_with_default([None, 7], [2, 5, 6]), own._list_with_default(4, [])) == ([5, 7], 4)
    with pytest.raises(ValueError, match="expected an input of at least 3 dimensions for 2 output sizes, got 2"):
        own._list_with_default([None, 7], [5, 6])


def test_the_prefix_of_a_parallel_network_is_removed() -> None:
    state = nn.Sequential(nn.Linear(1, 1)).state_dict(prefix="module.")
    state["other"] = torch.zeros(1)
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias", "other"]


class Focal(_WeightedLoss):
    def forward(self, x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(x, y, self.weight, reduction=self.reduction)


def test_losses_and_dropouts_of_ones_own() -> None:
    loss = Focal(torch.tensor([1.0, 3.0]), reduction="sum")
    assert list(loss.state_dict()) == ["weight"]
    assert loss(torch.zeros(2, 2), torch.tensor([0, 1])).item() == pytest.approx(4 * 0.693147)
    assert (Focal().reduction, Focal(size_average=False).reduction, _Loss(reduce=False).reduction) == ("mean", "sum", "none")
    weighted = [name for name in vars(nn.modules.loss)["__all__"] if issubclass(getattr(nn, name), _WeightedLoss)]
    assert set(weighted) == {
        "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    }  # fmt: skip
    assert all(issubclass(getattr(nn, name), _Loss) for name in vars(nn.modules.loss)["__all__"])
    assert [type(m).__name__ for m in nn.Sequential(nn.Dropout(), nn.ReLU(), nn.AlphaDropout()).modules() if isinstance(m, _DropoutNd)] == [
        "Dropout",
        "AlphaDropout",
    ]
    assert repr(_DropoutNd(0.2)) == "DropoutNd(p=0.2, inplace=False)"
    with pytest.raises(ValueError, match="DropoutNd expected p from 0 to 1, got 2"):
        _DropoutNd(2)


@pytest.mark.parametrize("mode", ["RNN_TANH", "RNN_RELU", "LSTM", "GRU"])
def test_recurrent_layers_list_their_weights(mode: str) -> None:
    options = {"num_layers": 2, "bidirectional": True, "bias": mode != "GRU"}
    kind = getattr(nn, mode[:3] if "RNN" in mode else mode)
    layer = kind(3, 4, **options | ({"nonlinearity": mode[4:].lower()} if "RNN" in mode else {}))
    parts = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"][: 4 if options["bias"] else 2]
    names = [[f"{part}_{suffix}" for part in parts] for suffix in ("l0", "l0_reverse", "l1", "l1_reverse")]
    assert layer.mode == mode
    assert layer._flat_weights_names == [name for each in names for name in each]
    assert [id(x) for x in layer._flat_weights] == [id(x) for x in layer.parameters()]
    assert [[id(x) for x in each] for each in layer.all_weights] == [[id(getattr(layer, name)) for name in each] for each in names]
    layer.flatten_parameters()
    layer.weight_hh_l0 = nn.Parameter(torch.ones_like(layer.weight_hh_l0))
    assert layer._flat_weights[1] is layer.weight_hh_l0
    base = nn.modules.rnn.RNNBase(mode, 3, 4, **options)
    assert base.load_state_dict(layer.state_dict()) == ([], [])
    x = torch.ones(2, 1, 3)
    assert base(x)[0].tolist() == layer(x)[0].tolist()


def test_unknown_modes_are_refused_and_cells_of_ones_own_have_gates() -> None:
    with pytest.raises(ValueError, match="RNNBase expected mode RNN_TANH, RNN_RELU, LSTM, GRU, got 'MLP'"):
        nn.RNNBase("MLP", 3, 4)
    cell = nn.modules.rnn.RNNCellBase(3, 4, True, num_chunks=5)
    assert {name: tuple(x.shape) for name, x in cell.named_parameters()} == {
        "weight_ih": (20, 3), "weight_hh": (20, 4), "bias_ih": (20,), "bias_hh": (20,),
    }  # fmt: skip
    assert isinstance(nn.GRUCell(3, 4), nn.modules.rnn.RNNCellBase)
    assert repr(cell) == "RNNCellBase(3, 4)"
