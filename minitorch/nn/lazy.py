"""Stage 7 - Lazy layers: they read the number of their inputs from the first input, and become ordinary layers.

A lazy layer is an ordinary layer for no inputs, whose parameters have no shape yet. A hook before its first call makes the same layer for
the inputs that it gets, gives its own parameters the shapes found there, initializes them, and changes its class.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from minitorch.core.dtypes import is_float
from minitorch.core.errors import DimensionError
from minitorch.nn.convolution import Conv1d, Conv2d, ConvNd
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module, own_buffers
from minitorch.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _BatchNorm,
    _NormBase,
)
from minitorch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from minitorch.nn.transposed import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from minitorch.nn.volumes import Conv3d
from minitorch.ops.checks import check_tensor
from minitorch.tensor import Tensor

Base: Any = object  # to a type checker, the module that follows among the bases


class LazyModuleMixin(Base):
    """What makes a module lazy; it stands before the module among the bases of a class.

    The class defines `initialize_parameters`, which takes the arguments of the first call and calls `materialize` of every
    `UninitializedParameter` and `UninitializedBuffer`.

    Attributes:
        cls_to_become: The class of the module after its first call; None if it keeps its class.
    """

    cls_to_become: ClassVar[type | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes.

        Args:
            args: The arguments of the first call.
            kwargs: Its arguments by name.

        Raises:
            NotImplementedError: Unless the class defines it.
        """
        name = type(self).__name__
        raise NotImplementedError(f"{name} has no initialize_parameters; define initialize_parameters(self, input) in the class")

    def has_uninitialized_params(self) -> bool:
        """Whether the module has parameters or buffers without a shape."""
        return any(is_lazy(x) for _, x in own_values(self))

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The hook before the first call. Raises RuntimeError if a parameter still has no shape."""
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            name = type(module).__name__
            raise RuntimeError(f"{name}.initialize_parameters left a parameter without a shape; call materialize(shape) of each")
        module._initialize_hook.remove()
        del module._initialize_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def own_values(module: Any) -> list[tuple[str, Any]]:
    """The parameters and buffers of the module itself, with their names."""
    return [*module._parameters.items(), *[(name, buffer) for name, buffer, _ in own_buffers(module)]]


class LazyLayer(LazyModuleMixin):
    """Base class of the lazy layers; the ordinary layer follows it among the bases.

    Attributes:
        size_name: The argument that the first input replaces.
        axis: The dimension of the input whose size it is.
        input_dims: How many dimensions the input may have; any number of at least one if empty.
    """

    cls_to_become: ClassVar[Any]
    size_name: ClassVar[str]
    axis: ClassVar[int]
    input_dims: ClassVar[tuple[int, ...]]
    __signature__: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        super().__init__(0, *given.args, **given.kwargs)
        self._arguments = given
        for name, x in own_values(self):
            if is_float(x.dtype):
                kind = UninitializedParameter if name in self._parameters else UninitializedBuffer
                setattr(self, name, kind(device=x.backend, dtype=x.dtype))

    def reset_parameters(self) -> None:
        """Initialize the parameters, once they have shapes."""
        if "_initialize_hook" in self.__dict__ and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that they have in the ordinary layer for inputs like this one, and initialize them.

        Args:
            input: The first input.
            args: Further arguments of the call, which have no influence.
            kwargs: Arguments by name, which have none either.

        Raises:
            TypeError: If input is not a Tensor.
            ValueError: If it has the wrong number of dimensions, or the layer does not support its size.
        """
        name, dims = type(self).__name__, check_tensor(type(self).__name__, input, "input").dims
        if not dims or (self.input_dims and dims not in self.input_dims):
            expected = " or ".join(map(str, self.input_dims)) or "at least 1"
            raise DimensionError(f"{name} expected an input of {expected} dimensions, got {dims} (input {tuple(input.shape)})")
        size = input.shape[self.axis]
        if self.has_uninitialized_params():
            ordinary = object.__new__(type(self))  # of this class, so that its initial weights are not computed
            self.cls_to_become.__init__(ordinary, size, *self._arguments.args, **self._arguments.kwargs)
            shapes = {name: x.shape for name, x in own_values(ordinary)}
            for name, x in own_values(self):
                if is_lazy(x):
                    x.materialize(shapes[name])
            setattr(self, self.size_name, size)
            self.reset_parameters()
        setattr(self, self.size_name, getattr(self, self.size_name) or size)

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super()._infer_parameters(module, args, kwargs)
        del module._arguments


def lazy_layer(kind: type[Module], axis: int, input_dims: Sequence[int] = (), like: type[Module] | None = None) -> Any:
    """The lazy layer of a layer, whose first argument it reads from the input.

    Args:
        kind: The layer.
        axis: See `LazyLayer`.
        input_dims: See `LazyLayer`.
        like: The class whose arguments and defaults it has; kind by default.
    """
    first, *others = inspect.signature(like or kind).parameters.values()
    name = f"Lazy{kind.__name__}"
    return type(
        name,
        (LazyLayer, kind),
        {
            "__doc__": f"`{kind.__name__}` without the argument {first.name}, which it reads from its first input.",
            "__module__": __name__,
            "__qualname__": name,
            "__signature__": inspect.Signature(others),
            "cls_to_become": kind,
            "size_name": first.name,
            "axis": axis,
            "input_dims": tuple(input_dims),
        },
    )


def lazy_convolution(kind: type[ConvNd]) -> Any:
    """The lazy layer of a convolution, transposed or not: with or without a batch dimension."""
    return lazy_layer(kind, -1 - kind.dims, (kind.dims + 1, kind.dims + 2))


def lazy_norm(kind: type[_NormBase]) -> Any:
    """The lazy layer of a normalization, of instances also without a batch; by default with weights and running statistics."""
    batched = [len(sizes) + 2 for sizes in kind.sizes]
    if issubclass(kind, _BatchNorm):
        return lazy_layer(kind, 1, batched)
    return lazy_layer(kind, 1 - batched[0], (batched[0] - 1, *batched), _NormBase)


LazyLinear = lazy_layer(Linear, -1)
LazyConv1d, LazyConv2d, LazyConv3d = map(lazy_convolution, (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d = map(lazy_convolution, (ConvTranspose1d, ConvTranspose2d))
LazyConvTranspose3d = lazy_convolution(ConvTranspose3d)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = map(lazy_norm, (BatchNorm1d, BatchNorm2d, BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = map(lazy_norm, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
