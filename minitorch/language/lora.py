"""Stage 6 - Low-rank adapters (LoRA): linear layers whose weight stays as it is, and learns a small change beside it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from minitorch.core.context import no_grad
from minitorch.io.formats import FileFormatError, read_arrays, write_arrays
from minitorch.language.layers import Linear
from minitorch.language.weights import MAX_NAMED
from minitorch.module import Module, Parameter
from minitorch.tensor import tensor, zeros

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

FORMAT = "minitorch-lora-1"
"""The format of adapter files, as their notes name it."""

Layer = TypeVar("Layer", bound=Module)


# The layer


class LoRALinear(Module):
    """A linear layer with an adapter: x · weight + bias + alpha / rank · (x · Aᵀ) · Bᵀ.

    A is random, with standard deviation 1 / √in_size, and B zero. So a new adapter changes nothing.

    Args:
        base: The linear layer. Its weight and bias become those of this layer, with the same names.
        rank: Number of rows of A and of columns of B, r.
        alpha: Scale of the adapter; its output is multiplied by alpha / rank.
        generator: Draws A, as `generator.normal(0, 1 / √in_size, (rank, in_size))`.

    Attributes:
        weight: (in_size, out_size).
        bias: (out_size,).
        A: (rank, in_size).
        B: (out_size, rank).
        original: The value of weight before `merge`, while merged; otherwise None.

    Source: Hu et al. 2021, arXiv:2106.09685, section 4.1.
    """

    def __init__(self, base: Linear, rank: int, alpha: float, generator: np.random.Generator) -> None:
        super().__init__()
        self.weight, self.bias, self.training = base.weight, base.bias, base.training
        weight = self.weight.value
        in_size, out_size = weight.shape
        drawn = generator.normal(0, 1 / math.sqrt(in_size), (rank, in_size))
        self.A = Parameter(tensor(drawn, weight.backend, dtype=weight.dtype))
        self.B = Parameter(zeros((out_size, rank), weight.backend, dtype=weight.dtype))
        self.rank, self.alpha = rank, alpha
        self.original: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """The output of the linear layer, plus that of the adapter unless it is merged.

        No matrix of the shape of weight is computed: with the adapter, a row of x costs rank · (in_size + out_size) more multiplications.

        Args:
            x: Shape (…, in_size).

        Returns:
            Shape (…, out_size).
        """
        base = x @ self.weight.value + self.bias.value
        if self.original is not None:
            return base
        return base + (x @ self.A.value.transpose(0, 1)) @ self.B.value.transpose(0, 1) * (self.alpha / self.rank)

    def delta(self) -> Tensor:
        """The change of weight that has the same effect as the adapter, in the shape of weight."""
        return self.A.value.transpose(0, 1) @ self.B.value.transpose(0, 1) * (self.alpha / self.rank)

    def merge(self) -> None:
        """Add `delta` to weight, without recording gradients.

        Outputs stay the same, up to rounding, and cost no more than those of a linear layer. weight gets a new value, which is a
        constant; the old one is kept unchanged as `original`.

        Raises:
            RuntimeError: If it is merged already; `_check_merged(self, False)` says so.
        """
        _check_merged(self, False)
        old = self.weight.value
        with no_grad():
            self.weight.update(old + self.delta())
        self.weight.value.requires_grad_(False)
        self.original = old

    def unmerge(self) -> None:
        """Give weight back its value from before `merge`, bit for bit, as a constant.

        A difference, weight - delta, would be rounded.

        Raises:
            RuntimeError: If it is not merged; `_check_merged(self, True)` says so.
        """
        _check_merged(self, True)
        self.weight.update(self.original)
        self.weight.value.requires_grad_(False)
        self.original = None


# Models


def named_layers(model: Module, kind: type[Layer]) -> dict[str, Layer]:
    """The descendants of a model that are of a class, not of one derived from it, by their dotted names."""
    return dict(_walk(model, "", kind))


def add_adapters(model: Module, names: Sequence[str], rank: int, alpha: float, seed: int = 0) -> None:
    """Freeze a model, and replace linear layers by such with an adapter. Nothing changes unless all arguments fit.

    Every parameter of the model becomes a constant without a gradient; then each layer of `names` is replaced by a `LoRALinear`. All of
    them draw from one `np.random.default_rng(seed)`, in the order of names. So only A and B are trained, rank · (in_size + out_size)
    numbers for each layer.

    Args:
        model: The model. An attribute of a module may be read and set by name, as in `getattr(model.h, "0")`.
        names: Dotted names of linear layers, such as "h.0.attn.c_attn"; `named_layers(model, Linear)` has all of them.
        rank: At least 1.
        alpha: Above 0. With alpha = rank, the scale is 1.
        seed: Seed of the random numbers.

    Raises:
        TypeError: If names is a string.
        ValueError: If a name is not that of a linear layer, or occurs twice, or the layer shares its weight with another; or rank or
            alpha is out of range. `_check_adapters(model, names, rank, alpha)` says so.
        RuntimeError: If the model has adapters already; the same function says so.
    """
    _check_adapters(model, names, rank, alpha)
    for parameter in model.parameters():
        parameter.value.requires_grad_(False)
        parameter.value.grad = None  # an optimizer would still use it
    generator = np.random.default_rng(seed)
    for name in names:
        *path, last = name.split(".")
        parent = reduce(getattr, path, model)
        setattr(parent, last, LoRALinear(getattr(parent, last), rank, alpha, generator))


def merge_adapters(model: Module) -> None:
    """Merge all adapters into their weights, and replace their layers by linear ones. Then the model has no adapters, and `quantize` fits.

    Adapters that are merged already are only replaced. Quantization rounds each weight together with its change, once.

    Args:
        model: The model.
    """
    for name, layer in list(model._modules.items()):
        if type(layer) is not LoRALinear:
            merge_adapters(layer)
            continue
        if layer.original is None:
            layer.merge()
        in_size, out_size = layer.weight.value.shape
        merged = Linear(in_size, out_size, layer.weight.value.backend)
        merged.weight, merged.bias, merged.training = layer.weight, layer.bias, layer.training
        setattr(model, name, merged)


# Files


def save_adapters(model: Module, path: str | Path) -> None:
    """Write the adapters of a model to a safetensors file, atomically, and nothing else of the model.

    The arrays are those of A and B, named such as "h.0.attn.c_attn.A". The notes are rank, alpha and a fingerprint of all other
    weights, to which the adapters belong. It makes no difference whether they are merged.

    Args:
        model: A model with adapters.
        path: The file; its folder must exist.

    Raises:
        RuntimeError: If the model has no adapters.
        OSError: If the file cannot be written; the old file is left unchanged.
    """
    layers = _adapters(model, "save_adapters")
    arrays = {name: parameter.value.to_numpy() for name, parameter in _adapter_parameters(layers).items()}
    write_arrays(path, arrays, {"format": FORMAT, **_notes(model, layers)})


def load_adapters(model: Module, path: str | Path) -> None:
    """Replace A and B of a model's adapters by those of a file that `save_adapters` wrote. Nothing changes unless everything fits.

    Args:
        model: A model with the same weights, after `add_adapters` with the same names, rank and alpha. The dtype of the weights may be
            another one.
        path: The file.

    Raises:
        FileFormatError: If the file is damaged, or holds no adapters.
        ValueError: If an adapter is missing, unknown or of another shape, or rank, alpha or the other weights of the model differ.
        RuntimeError: If the model has no adapters, or one is merged.
        OSError: If the file cannot be read.
    """
    path, layers = Path(path), _adapters(model, "load_adapters")
    for name, layer in layers.items():
        if layer.original is not None:
            raise RuntimeError(f"load_adapters expected adapters that are not merged, got {name}; call its unmerge first")
    arrays, notes = read_arrays(path)
    if notes.get("format") != FORMAT:
        raise FileFormatError(path, f"the format {FORMAT!r}", f"{notes.get('format')!r}", "name a file that save_adapters wrote")
    parameters = _adapter_parameters(layers)
    wrong = [*_differences(arrays, parameters), *_other_notes(notes, _notes(model, layers))]
    if wrong:
        more = f" and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
        found = ", ".join(wrong[:MAX_NAMED]) + more
        remedy = "load the weights it was trained on, and call add_adapters with its layers, rank and alpha"
        raise ValueError(f"load_adapters expected a file for the {len(layers)} adapters of this model, got {found} in {path}; {remedy}")
    for name, parameter in parameters.items():
        old = parameter.value
        parameter.update(tensor(arrays[name], old.backend, dtype=old.dtype))


def fingerprint(model: Module) -> str:
    """A SHA-256 checksum of the names, shapes and values of all weights but those of adapters, as before `merge`.

    Values are rounded to float32, so that it is the same for a model in float64 and its copy in float32.
    """
    layers = named_layers(model, LoRALinear)
    own = {id(parameter) for parameter in _adapter_parameters(layers).values()}
    weights = {id(layer.weight): layer.weight.value if layer.original is None else layer.original for layer in layers.values()}
    checksum = hashlib.sha256()
    for name, parameter in model.named_parameters():
        if id(parameter) not in own:
            value = weights.get(id(parameter), parameter.value).to_numpy()
            checksum.update(f"{name}{value.shape}".encode())
            checksum.update(np.ascontiguousarray(value, "<f4").tobytes())
    return checksum.hexdigest()


def _walk(module: Module, prefix: str, kind: type[Layer]) -> Iterator[tuple[str, Layer]]:
    """Name and module of each descendant of a class."""
    for name, child in module._modules.items():
        if type(child) is kind:
            yield f"{prefix}{name}", child
        yield from _walk(child, f"{prefix}{name}.", kind)


def _adapters(model: Module, caller: str) -> dict[str, LoRALinear]:
    """The layers with adapters by name, at least one."""
    layers = named_layers(model, LoRALinear)
    if not layers:
        raise RuntimeError(f"{caller} expected a model with adapters, got one without; call add_adapters first")
    return layers


def _adapter_parameters(layers: Mapping[str, LoRALinear]) -> dict[str, Parameter]:
    """A and B of each layer by name."""
    return {f"{name}.{part}": getattr(layer, part) for name, layer in layers.items() for part in ("A", "B")}


def _notes(model: Module, layers: Mapping[str, LoRALinear]) -> dict[str, str]:
    """What a file says about adapters, all of which have the same rank and alpha."""
    first = next(iter(layers.values()))
    return {"rank": str(first.rank), "alpha": str(float(first.alpha)), "base": fingerprint(model)}


def _differences(arrays: Mapping[str, np.ndarray], parameters: Mapping[str, Parameter]) -> Iterator[str]:
    """Say which arrays of a file are not those of a model's adapters."""
    yield from (f"no {name}" for name in parameters if name not in arrays)
    for name, array in arrays.items():
        if name not in parameters:
            yield f"an unknown {name}"
        elif array.shape != parameters[name].value.shape:
            yield f"{name} of shape {array.shape} instead of {parameters[name].value.shape}"
        elif array.dtype.kind in "biu":
            yield f"{name} of {array.dtype.name}"


def _other_notes(found: Mapping[str, str], expected: Mapping[str, str]) -> Iterator[str]:
    """Say which notes of a file differ from those of a model."""
    for name in ("rank", "alpha"):
        if found.get(name) != expected[name]:
            yield f"{name} {found.get(name)} instead of {expected[name]}"
    if found.get("base") != expected["base"]:
        yield "adapters for other weights"


# Checks


def _check_merged(layer: LoRALinear, expected: bool) -> None:
    """Check that an adapter is merged, or that it is not."""
    if (layer.original is not None) is not expected:
        if expected:
            raise RuntimeError("unmerge expected a merged adapter, got one that is not; call merge first")
        raise RuntimeError("merge expected an adapter that is not merged, got a merged one; its delta would be added twice")


def _check_adapters(model: Module, names: Sequence[str], rank: int, alpha: float) -> None:
    """Check the arguments of `add_adapters`."""
    if isinstance(names, str):
        raise TypeError(f"add_adapters expected a list of names, got the string {names!r}; pass [{names!r}]")
    if adapted := named_layers(model, LoRALinear):
        raise RuntimeError(
            f"add_adapters expected a model without adapters, got one with {', '.join(adapted)}; name all layers in one call"
        )
    if type(rank) is not int or rank < 1:  # not a bool
        raise ValueError(f"add_adapters expected a whole number of at least 1 as rank, got {rank!r}; try 4")
    if not 0 < alpha < math.inf:
        raise ValueError(f"add_adapters expected a finite alpha above 0, got {alpha!r}; try the rank, {rank}")
    layers, known = named_layers(model, Linear), [id(parameter) for parameter in model.parameters()]
    wrong = [name for name in names if name not in layers]
    if wrong or not names:
        found, all_names = ", ".join(map(repr, wrong)) or "none", ", ".join(layers) or "none"
        raise ValueError(f"add_adapters expected names of linear layers, got {found}; this model has {all_names}")
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f"add_adapters expected each name once, got {name!r} {list(names).count(name)} times; leave one out")
        if known.count(id(layers[name].weight)) > 1 or known.count(id(layers[name].bias)) > 1:
            raise ValueError(f"add_adapters expected layers with parameters of their own, got {name!r}, which shares them; leave it out")
