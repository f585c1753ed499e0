"""Stage 2 - How a Tensor meets the rest of Python: printing, NumPy, DLPack, plain numbers and lists, copying and pickling."""

# self is the Tensor that inherits these methods:
# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

import textwrap
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core import backend as tensor_backend
from minitorch.core.dtypes import printable
from minitorch.tensor_data import TensorData

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class Conversions:
    """The methods of Tensor that are named for a dtype, as PyTorch names them. Each gives the tensor itself if it has that dtype."""

    __slots__ = ()

    def double(self: Tensor) -> Tensor:
        """As float64."""
        return self.to("float64")

    def float(self: Tensor) -> Tensor:
        """As float32."""
        return self.to("float32")

    def half(self: Tensor) -> Tensor:
        """As float16; what lies beyond 65504 becomes infinite."""
        return self.to("float16")

    def bfloat16(self: Tensor) -> Tensor:
        """As bfloat16: the range of float32 with three digits."""
        return self.to("bfloat16")

    def long(self: Tensor) -> Tensor:
        """As int64, fractions cut off."""
        return self.to("int64")

    def int(self: Tensor) -> Tensor:
        """As int32, fractions cut off."""
        return self.to("int32")

    def bool(self: Tensor) -> Tensor:
        """As truth values: whether it is not 0."""
        return self.to("bool")


class Interchange(Conversions):
    """The methods of Tensor by which others see its numbers."""

    __slots__ = ()

    __array_ufunc__ = None  # NumPy's operators leave array · tensor to the tensor, which would otherwise lose its gradient

    # Printing

    def __str__(self: Tensor) -> str:
        return self._tensor.to_string()

    def __repr__(self: Tensor) -> str:
        values = np.array2string(printable(self._tensor.array()), separator=", ", prefix="tensor(")
        notes = [f"shape={self.shape}"] if self.size == 0 or "..." in values else []
        notes += [f"dtype={self.dtype.name}", f"backend={self.backend.name}"]
        if self.history is not None:
            fn = self.history.last_fn
            notes.append("requires_grad=True" if fn is None else f"grad_fn={fn.__name__}")
        ending = f"{', '.join(notes)})"
        text = f"tensor({values}, {ending}"
        if "\n" in values or len(text) > 100:
            text = "\n       ".join([f"tensor({values},", *textwrap.wrap(ending, 90, break_long_words=False, break_on_hyphens=False)])
        return text

    def __format__(self: Tensor, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # Numbers

    def item(self: Tensor) -> Any:
        """Its only element, as a Python number.

        Raises:
            ValueError: If it has none, or several.
        """
        if self.size != 1:
            remedy = f"; take one by its index: x[{', '.join('0' * self.dims)}]" if self.size else ", which has none"
            raise ValueError(f"item() expected a tensor of one element, got shape {self.shape}{remedy}")
        return self._tensor.array().item()

    def tolist(self: Tensor) -> Any:
        """Its elements as nested lists of Python numbers; of no dimensions, a number."""
        return self._tensor.array().tolist()

    def __float__(self: Tensor) -> float:
        return float(self.item())

    def __int__(self: Tensor) -> int:
        return int(self.item())

    def __index__(self: Tensor) -> int:
        if self.dtype.kind not in "iu" or self.size != 1:
            raise TypeError(f"only a tensor of one whole number is an integer, got shape {self.shape} of {self.dtype.name}")
        return int(self.item())

    def __bool__(self: Tensor) -> bool:
        if self.size != 1:
            raise ValueError(f"a tensor of shape {self.shape} is neither true nor false; use any() or all()")
        return bool(self.item())

    # Arrays

    def numpy(self: Tensor) -> np.ndarray:
        """Its elements as an array that shares the storage. Of a tensor that records gradients it can only be read."""
        array = self._tensor.array()
        if self.history is not None or self.backend.cuda:
            array.flags.writeable = False  # writing would go unnoticed by backward, or by the GPU
        return array

    def to_numpy(self: Tensor) -> np.ndarray:
        """A copy of its elements as an array."""
        return self._tensor.array().copy()

    def __array__(self: Tensor, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(
                    f"an array of {np.dtype(dtype).name} from a tensor of {array.dtype.name} needs a copy; leave out copy=False"
                )
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self: Tensor, **options: Any) -> Any:
        """The storage for another library, without a copy. bfloat16 goes to libraries that know it, NumPy not among them.

        Raises:
            BufferError: If it records gradients, which the other library would not see.
        """
        if self.history is not None:
            raise BufferError("a tensor that records gradients cannot be exported; export x.detach()")
        array = self.numpy()
        return tensor_backend.halves.lend(array, options) if array.dtype.kind == "V" else array.__dlpack__(**options)

    def __dlpack_device__(self: Tensor) -> tuple[int, int]:
        return self._tensor.array().__dlpack_device__()

    # Devices

    def cpu(self: Tensor) -> Tensor:
        """On the CPU, where the compiled backend computes."""
        return self.to("cpu")

    def cuda(self: Tensor) -> Tensor:
        """On the GPU."""
        return self.to("cuda")

    @property
    def __cuda_array_interface__(self: Tensor) -> dict[str, Any]:
        """Where another library that computes on the GPU finds the storage, without a copy; it may write there.

        Raises:
            AttributeError: If the tensor lies on the CPU, or in the simulator.
            RuntimeError: If it records gradients, which the other library would not see.
        """
        if not self.backend.cuda:
            raise AttributeError(f"a tensor on the {self.backend.name} backend has no __cuda_array_interface__; move it: x.to('cuda')")
        if self.history is not None:
            raise RuntimeError("a tensor that records gradients cannot be exported; export x.detach()")
        return self._tensor.cuda_array_interface()  # type: ignore[attr-defined]  # of a DeviceData

    # Copies

    def __reduce__(self: Tensor) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._own_values(), self.requires_grad, self._name, self.backend, self.grad)

    def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
        return _rebuild(type(self), self._own_values(), self.requires_grad, self._name, self.backend, deepcopy(self.grad, memo))

    def _own_values(self: Tensor) -> np.ndarray:
        """A copy of the elements, for a tensor that stands for itself."""
        if self.history is not None and self.history.last_fn is not None:
            raise RuntimeError(
                f"a tensor that was computed ({self.history.last_fn.__name__}) cannot be copied or pickled with its graph; take x.detach()"
            )
        return self.to_numpy()


def _rebuild(kind: type[Tensor], values: np.ndarray, requires_grad: bool, name: str | None, backend: Any, grad: Tensor | None) -> Tensor:
    """The tensor that was pickled or copied."""
    tensor = kind(TensorData(values.reshape(-1), values.shape), name=name, backend=backend)
    tensor.requires_grad_(requires_grad)
    tensor.grad = grad
    return tensor
