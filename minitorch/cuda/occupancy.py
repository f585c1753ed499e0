"""Stage 3 - Occupancy: how many warps of a kernel a multiprocessor can run at the same time, and what limits it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numba

from minitorch.cuda.lanes import WARP
from minitorch.cuda_ops import SIMULATED, cuda

_REMEDY = "pip install -r requirements.cuda.txt and do not set NUMBA_ENABLE_CUDASIM, or give occupancy a number that you know"


@dataclass(frozen=True)
class Card:
    """The limits of a multiprocessor.

    Source: CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability".

    Attributes:
        name: A GPU of this compute capability.
        warps: Warps that can be resident.
        blocks: Blocks that can be resident.
        shared: Bytes of shared memory.
        shared_per_block: Bytes of shared memory that a block can have.
        shared_unit: Bytes of the unit in which shared memory is allocated.
        shared_reserved: Bytes of shared memory that the system reserves in each block.
        registers: 32-bit registers.
        max_threads: Threads that a block can have.
    """

    name: str
    warps: int
    blocks: int
    shared: int
    shared_per_block: int
    shared_unit: int = 128
    shared_reserved: int = 1024
    registers: int = 65536
    max_threads: int = 1024


CARDS = {
    "7.5": Card("T4", 32, 16, 64 * 1024, 64 * 1024, shared_unit=256, shared_reserved=0),
    "8.0": Card("A100", 64, 32, 164 * 1024, 163 * 1024),
    "8.6": Card("RTX 3090", 48, 16, 100 * 1024, 99 * 1024),
    "8.9": Card("RTX 4090", 48, 24, 100 * 1024, 99 * 1024),
    "9.0": Card("H100", 64, 32, 228 * 1024, 227 * 1024),
}
"""Cards by compute capability."""

REGISTER_UNIT = 256
"""Registers of a warp are allocated in this unit."""

SCHEDULERS = 4
"""Schedulers of a multiprocessor, each of which has its own quarter of the registers."""

MOST_REGISTERS = 255
"""Registers that a thread can have."""


@dataclass(frozen=True)
class Occupancy:
    """What a multiprocessor can run of a kernel at the same time.

    Attributes:
        blocks: Resident blocks.
        warps: Resident warps.
        max_warps: Resident warps that the card allows.
        limits: Resident blocks that each resource allows alone: "warps", "blocks", "registers" and, unless a block takes
            none of it, "shared memory".
    """

    blocks: int
    warps: int
    max_warps: int
    limits: dict[str, int]

    @property
    def fraction(self) -> float:
        """Resident warps divided by those that the card allows, from 0 to 1."""
        return self.warps / self.max_warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow the fewest blocks."""
        return tuple(name for name, blocks in self.limits.items() if blocks == self.blocks)

    def __str__(self) -> str:
        blocks = "1 block" if self.blocks == 1 else f"{self.blocks} blocks"
        return f"{self.warps} of {self.max_warps} warps ({self.fraction:.0%}) in {blocks}, limited by {' and '.join(self.limited_by)}"


def occupancy(threads: int, registers: int, shared_bytes: int, card: str = "8.0") -> Occupancy:
    """How many blocks and warps of a kernel a multiprocessor can run at the same time.

    Source: NVIDIA's occupancy calculator, `cuda_occupancy.h` of the CUDA toolkit.

    Args:
        threads: Threads per block.
        registers: 32-bit registers per thread; see `count_registers`.
        shared_bytes: Bytes of shared memory per block, such as `KernelReport.shared_bytes`.
        card: Compute capability, a key of `CARDS`.

    Raises:
        ValueError: If the card is not known, or a number is negative or larger than a block of this card can have.
    """
    if card not in CARDS:
        raise ValueError(f"occupancy expected a compute capability, one of {', '.join(CARDS)}; got {card!r}")
    limits = CARDS[card]
    for name, value, least, most in (
        ("threads", threads, 1, limits.max_threads),
        ("registers", registers, 1, MOST_REGISTERS),
        ("shared_bytes", shared_bytes, 0, limits.shared_per_block),
    ):
        if not least <= value <= most:
            raise ValueError(f"occupancy expected {name} from {least} to {most} for compute capability {card}, got {value}")
    warps = _divide_up(threads, WARP)
    registers_per_warp = _divide_up(registers * WARP, REGISTER_UNIT) * REGISTER_UNIT
    warps_by_registers = limits.registers // SCHEDULERS // registers_per_warp * SCHEDULERS
    shared = _divide_up(shared_bytes + limits.shared_reserved, limits.shared_unit) * limits.shared_unit
    allowed = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": warps_by_registers // warps,
    }
    if shared_bytes:  # the system's reserve alone never limits
        allowed["shared memory"] = limits.shared // shared
    blocks = min(allowed.values())
    return Occupancy(blocks, blocks * warps, limits.warps, allowed)


def count_registers(kernel: Callable[..., Any], types: tuple[Any, ...], card: str = "8.0") -> int:
    """Registers per thread of a compiled kernel. No GPU is needed, but the compilers of requirements.cuda.txt are.

    Args:
        kernel: The kernel: a Python function, or what `cuda.jit` makes of one.
        types: numba's types of its arguments, such as `numba.float32[::1]` for a contiguous array.
        card: Compute capability, such as "8.0".

    Raises:
        RuntimeError: If the compilers are not installed, or numba's simulator is on.
    """
    capability = tuple(map(int, card.split(".")))
    try:
        from cuda.bindings import nvjitlink  # type: ignore[import-not-found]  # of requirements.cuda.txt
    except ImportError as error:
        raise RuntimeError(f"count_registers expected the compilers of CUDA, got: {error}; {_REMEDY}") from None
    if SIMULATED or cuda is None:
        raise RuntimeError(f"count_registers expected numba.cuda, got {'its simulator' if SIMULATED else 'none'}; {_REMEDY}")
    body = getattr(kernel, "py_func", kernel)
    dispatcher = cuda.dispatcher
    current = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)  # a function that the kernel calls asks for it
    try:
        code, _ = cuda.compile(body, numba.void(*types), cc=capability, device=False, abi="numba", output="ltoir")
    finally:
        dispatcher.get_current_device = current
    handle = nvjitlink.create(3, [f"-arch=sm_{capability[0]}{capability[1]}", "-lto", "-verbose"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, code, len(code), "kernel")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return max(map(int, re.findall(r"Used (\d+) registers", log.decode(errors="replace"))))


def _divide_up(value: int, unit: int) -> int:
    return -(-value // unit)
