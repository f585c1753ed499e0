"""Stage 7 - torch.cuda: what there is of GPUs."""

from __future__ import annotations

from typing import Any

from minitorch.core.errors import ArgumentError
from minitorch.kernels.cuda.device import cuda, require_cuda
from minitorch.tensor import manual_seed as seed_all
from minitorch.torch import places


def is_available() -> bool:
    """Whether a GPU can be used."""
    try:
        require_cuda()
    except RuntimeError:
        return False
    return True


def device_count() -> int:
    """How many GPUs are used: at most one."""
    return int(is_available())


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has computed everything."""
    if is_available():
        cuda.synchronize()


def empty_cache() -> None:
    """Nothing: freed memory is not kept."""


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers, which have one stream for all devices."""
    seed_all(seed)


manual_seed = manual_seed_all  # of the one GPU


def init() -> None:
    """Nothing, if there is a GPU.

    Raises:
        RuntimeError: If there is none.
    """
    require_cuda()


def is_initialized() -> bool:
    """Whether a GPU can be used."""
    return is_available()


def is_bf16_supported() -> bool:
    """Whether a GPU can be used: bfloat16 is computed in float32."""
    return is_available()


def current_device() -> int:
    """Number of the GPU.

    Raises:
        RuntimeError: If there is none.
    """
    return getattr(_gpu(), "id", 0)  # the simulator has no number


def set_device(device: Any) -> None:
    """Use a GPU, of which one is used.

    Raises:
        RuntimeError: If there is none.
        ValueError: If it is another one.
    """
    index, used = _index(device), current_device()
    if index not in (None, used):
        raise ArgumentError(f"set_device expected the GPU in use, {used}, got {device!r}; set CUDA_VISIBLE_DEVICES for another one")


def get_device_name(device: Any = None) -> str:
    """Name of the GPU.

    Raises:
        RuntimeError: If there is none.
    """
    set_device(device)
    name = getattr(_gpu(), "name", "CUDA simulator")
    return name.decode() if isinstance(name, bytes) else name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Compute capability of the GPU, such as (9, 0); errors as for `get_device_name`."""
    set_device(device)
    return tuple(_gpu().compute_capability)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total memory of the GPU in bytes; errors as for `get_device_name`."""
    set_device(device)
    free, total = cuda.current_context().get_memory_info()
    return int(free), int(total)


def memory_allocated(device: Any = None) -> int:
    """0 without a GPU.

    Raises:
        RuntimeError: If there is one: the memory of tensors is not counted.
    """
    if is_available():
        raise RuntimeError("memory_allocated cannot say: the memory of tensors is not counted; see torch.cuda.mem_get_info()")
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


class device:
    """A block in which a GPU is used, of which one is used anyway.

    Args:
        device: The GPU or its number.
    """

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if is_available():
            set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        pass


def _gpu() -> Any:
    """The GPU as numba knows it. Raises RuntimeError if there is none."""
    require_cuda()
    return cuda.current_context().device


def _index(place: Any) -> int | None:
    """The number of a GPU; None if it is left open."""
    return place if place is None or isinstance(place, int) else places.device(place).index
