"""Stage 2 - Methods of a tensor beyond the course: further operators and functions, shapes, elements, printing, conversion, dtypes.

`Tensor`, which inherits them, has what students write, backpropagation and the storage. Each method calls a function of the modules in
core/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minitorch.core import conversion, layout_functions, math_functions, reductions
from minitorch.core.gradients import Hook, register_hook
from minitorch.core.recording import refuse
from minitorch.core.tensor_base import Dims, Tensor, TensorBase
from minitorch.tensor_functions import Copy, Sum


class TensorMethods(TensorBase):
    """The methods of `Tensor` that no task asks for."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the methods use of a Tensor
        _ensure_tensor: Any
        _name: str | None
        _reduce: Any
        contiguous: Any
        dims: int

    # Names, sizes and places

    @property
    def name(self) -> str:
        """The given name, else one made from the unique id."""
        return self._name or f"tensor_{self.unique_id:x}"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def unique_id(self) -> int:
        """A number that no other living Tensor has."""
        return id(self)

    def numel(self) -> int:
        """Number of elements, like `size`."""
        return self._tensor.size

    @property
    def device(self) -> str:
        """Device that stores the elements: "cpu" or "cuda"."""
        return "cuda" if self.backend.cuda else "cpu"

    def stride(self) -> tuple[int, ...]:
        """Step in storage for each dimension, in elements."""
        return self._tensor.strides

    def storage_offset(self) -> int:
        """Position of the first element in storage."""
        return self._tensor.offset

    def is_contiguous(self) -> bool:
        """Whether the elements are contiguous in storage, last dimension fastest."""
        return self._tensor.is_contiguous()

    # Operators

    def __pow__(self, b: Self | float) -> Self:
        return math_functions.Pow.apply(self, self._ensure_tensor(b))

    def __rpow__(self, b: Self | float) -> Self:
        return math_functions.Pow.apply(self._ensure_tensor(b), self)

    def __abs__(self) -> Self:
        return math_functions.Abs.apply(self)

    def __le__(self, b: Self | float) -> Self:
        return math_functions.LE.apply(self, self._ensure_tensor(b))

    def __ge__(self, b: Self | float) -> Self:
        return math_functions.LE.apply(self._ensure_tensor(b), self)

    def __ne__(self, b: Self | float) -> Self:  # type: ignore[override]  # element by element
        return math_functions.NE.apply(self, self._ensure_tensor(b))

    def __invert__(self) -> Self:
        return math_functions.require_mask(self, "~") == 0

    def __and__(self, b: Self) -> Self:
        return math_functions.require_mask(self, "&") * math_functions.require_mask(self._ensure_tensor(b), "&")

    def __or__(self, b: Self) -> Self:
        return math_functions.require_mask(self, "|") + math_functions.require_mask(self._ensure_tensor(b), "|")

    # Elementwise functions

    def abs(self) -> Self:
        """Absolute value, |self|."""
        return math_functions.Abs.apply(self)

    def sqrt(self) -> Self:
        """Square root; NaN for negative elements."""
        return math_functions.Sqrt.apply(self)

    def tanh(self) -> Self:
        """Hyperbolic tangent."""
        return math_functions.Tanh.apply(self)

    def sin(self) -> Self:
        """Sine, in radians."""
        return math_functions.Sin.apply(self)

    def cos(self) -> Self:
        """Cosine, in radians."""
        return math_functions.Cos.apply(self)

    def clip(self, low: float | None = None, high: float | None = None) -> Self:
        """Every element limited to the range from low to high; None for no limit."""
        return math_functions.clip(self, low, high)

    def where(self, condition: Self, other: Self | float) -> Self:
        """Elements of self where the condition is true, else of other; all three broadcast."""
        return math_functions.where(condition, self, other)

    # Reductions: a reduced dimension stays with size 1, unless keepdim is False

    def var(self, dim: Dims = None, keepdim: bool = True, correction: float = 1) -> Self:
        """Variance of the elements: squared deviations from the mean, summed and divided by n - correction."""
        return reductions.var(self, dim, keepdim, correction)

    def std(self, dim: Dims = None, keepdim: bool = True, correction: float = 1) -> Self:
        """Standard deviation of the elements, the square root of `var`."""
        return reductions.std(self, dim, keepdim, correction)

    def prod(self, dim: Dims = None, keepdim: bool = True) -> Self:
        """Product of the elements; 1 for none."""
        return self._reduce(reductions.Prod.apply, dim, keepdim)

    def any(self, dim: Dims = None, keepdim: bool = True) -> Self:
        """Whether any element is true (not 0), as bool."""
        return (self != 0)._reduce(Sum.apply, dim, keepdim) > 0

    def max(self, dim: Dims = None, keepdim: bool = True) -> Self:
        """The largest element; NaN if any is NaN. The gradient flows to the first of equal elements."""
        return self._reduce(lambda a, d: reductions.MaxMin.apply(a, d, True), dim, keepdim)

    def min(self, dim: Dims = None, keepdim: bool = True) -> Self:
        """The smallest element; NaN if any is NaN. The gradient flows to the first of equal elements."""
        return self._reduce(lambda a, d: reductions.MaxMin.apply(a, d, False), dim, keepdim)

    def argmax(self, dim: int | None = None, keepdim: bool = True) -> Self:
        """Index of the largest element along dim, or in the flattened tensor, as int64; the first of equal elements."""
        return reductions.arg_extreme(self, dim, keepdim, largest=True)

    def argmin(self, dim: int | None = None, keepdim: bool = True) -> Self:
        """Index of the smallest element along dim, or in the flattened tensor, as int64; the first of equal elements."""
        return reductions.arg_extreme(self, dim, keepdim, largest=False)

    def cumsum(self, dim: int) -> Self:
        """Cumulative sum of the elements along dim."""
        return reductions.cumsum(self, dim)

    # Layout

    def reshape(self, *shape: Any) -> Self:
        """The same elements in the same order with another shape: a view if they are contiguous, else a copy. One size may be -1."""
        return self.contiguous().view(*shape)

    def transpose(self, dim0: int, dim1: int) -> Self:
        """Two dimensions swapped: a view."""
        return layout_functions.transpose(self, dim0, dim1)

    def t(self) -> Self:
        """The transpose of a tensor of at most two dimensions: a view."""
        return layout_functions.t(self)

    def flip(self, *dims: Any) -> Self:
        """The elements in reverse order along these dimensions, or along all: a copy, because strides are never negative."""
        return layout_functions.flip(self, *dims)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """The dimensions from start_dim to end_dim merged into one."""
        return layout_functions.flatten(self, start_dim, end_dim)

    def squeeze(self, dim: Dims = None) -> Self:
        """Without its dimensions of size 1, or without those among dim that have size 1: a view."""
        return layout_functions.squeeze(self, dim)

    def unsqueeze(self, dim: int) -> Self:
        """With a new dimension of size 1 at position dim: a view."""
        return layout_functions.unsqueeze(self, dim)

    def expand(self, *shape: Any) -> Self:
        """Dimensions of size 1 repeated, and new ones added in front, without a copy: a view. A size of -1 leaves a dimension as it is."""
        return layout_functions.expand(self, *shape)

    def split(self, size: int | Sequence[int], dim: int = 0) -> list[Self]:
        """Pieces along a dimension, of one size (the last may be smaller) or of several given sizes: views."""
        return layout_functions.split(self, size, dim)

    def clone(self) -> Self:
        """A copy in a storage of its own; gradients flow back through it."""
        return Copy.apply(self)

    # Elements

    def __getitem__(self, index: Any) -> Any:
        """The elements at an index; an integer for every dimension gives a Python number, which takes no gradient.

        Integers, slices, None and ... give a view; lists, masks and slices with a negative step a copy.
        """
        return layout_functions.get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write into the storage, and so into every view that shares it."""
        layout_functions.set_item(self, index, value)

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    # Printing

    def __str__(self) -> str:
        return self._tensor.to_string()

    def __repr__(self) -> str:
        return conversion.represent(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # Python numbers and lists

    def item(self) -> Any:
        """The only element, as a Python number."""
        return conversion.item(self)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; a number if there are no dimensions."""
        refuse("tolist()")
        return self._tensor.array().tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return conversion.as_integer(self)

    def __bool__(self) -> bool:
        return conversion.as_bool(self)

    # Arrays and other libraries

    __array_ufunc__ = None  # NumPy's operators leave array * tensor to the tensor, which would otherwise lose its gradient

    def numpy(self) -> np.ndarray:
        """The elements as an array that shares the storage; read-only if the tensor records gradients."""
        return conversion.numpy(self)

    def to_numpy(self) -> np.ndarray:
        """A copy of the elements as an array."""
        refuse("to_numpy()")
        return self._tensor.array().copy()

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
        return conversion.array(self, dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        """The storage for another library, without a copy; see `core.conversion.dlpack`."""
        return conversion.dlpack(self, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.array().__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The storage for another library that computes on the GPU, without a copy."""
        return conversion.cuda_array_interface(self)

    # Copies

    def __reduce__(self) -> tuple[Any, ...]:
        return conversion.reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return conversion.deepcopy(self, memo)

    # Gradients

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call a function with the gradient of this tensor during the backward pass; see `core.gradients.register_hook`."""
        return register_hook(self, hook)

    # Devices and dtypes, last in the class: from here on `float`, `int`, `bool` and `tuple` are methods

    def to(self, *targets: Any, device: Any = None, dtype: Any = None) -> Self:
        """The tensor in another dtype, or on another device: "cpu", "cuda", "cuda:0", "simple" or a TensorBackend.

        Returns itself if nothing changes. Gradients flow back through it.
        """
        return layout_functions.to(self, *targets, device, dtype)

    def cpu(self) -> Self:
        """On the CPU, with the compiled backend."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """On the GPU."""
        return self.to("cuda")

    def double(self) -> Self:
        """As float64."""
        return self.to("float64")

    def half(self) -> Self:
        """As float16; numbers beyond 65504 become infinite."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """As bfloat16: the range of float32 with three digits."""
        return self.to("bfloat16")

    def long(self) -> Self:
        """As int64, fractions truncated."""
        return self.to("int64")

    def float(self) -> Self:
        """As float32."""
        return self.to("float32")

    def int(self) -> Self:
        """As int32, fractions truncated."""
        return self.to("int32")

    def bool(self) -> Self:
        """As bool: whether an element is not 0."""
        return self.to("bool")

    def tuple(self) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
        """Arguments of a kernel: storage from the first element on, shape and strides."""
        return self._tensor.tuple()
