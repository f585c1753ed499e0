"""Occupancy. The expected numbers follow the CUDA C++ Programming Guide's table of compute capabilities, by hand."""

import re

import pytest

from minitorch.cuda import CARDS, count_registers, occupancy
from tests.cuda_inspect import kernels


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "card", "blocks", "warps", "limited_by"),
    [
        # 64 warps of 8.0 hold 8 blocks of 8 warps; 32 registers · 32 threads = 1024, of which 65536 holds 64.
        (256, 32, 0, "8.0", 8, 64, ("warps", "registers")),
        # 33 · 32 = 1056, rounded up to 1280; 16384 / 1280 = 12 warps per quarter, 48 in all, 6 blocks.
        (256, 33, 0, "8.0", 6, 48, ("registers",)),
        (256, 40, 0, "8.0", 6, 48, ("registers",)),
        # Without quarters, 65536 / 1280 = 51 warps would be 17 blocks of 3 warps.
        (96, 40, 0, "8.0", 16, 48, ("registers",)),
        # 41 · 32 = 1312, rounded up to 1536: 10 warps per quarter, 40 in all.
        (256, 41, 0, "8.0", 5, 40, ("registers",)),
        # One warp per block: 32 blocks are allowed, half of the warps.
        (32, 16, 0, "8.0", 32, 32, ("blocks",)),
        # The same without shared memory, of which 7.5 reserves none: it limits nothing.
        (32, 16, 0, "7.5", 16, 16, ("blocks",)),
        # 33 threads are two warps.
        (33, 16, 0, "8.0", 32, 64, ("warps", "blocks")),
        # 48 KiB and 1 KiB reserved: 164 / 49 = 3 blocks on 8.0, 228 / 49 = 4 on 9.0, 100 / 49 = 2 on 8.6; 64 / 48 = 1 on 7.5.
        (128, 32, 48 * 1024, "8.0", 3, 12, ("shared memory",)),
        (128, 32, 48 * 1024, "9.0", 4, 16, ("shared memory",)),
        (128, 32, 48 * 1024, "8.6", 2, 8, ("shared memory",)),
        (128, 32, 48 * 1024, "7.5", 1, 4, ("shared memory",)),
        # 1024 threads are 32 warps: 8.6 and 8.9 have room for 48, one block.
        (1024, 32, 0, "8.6", 1, 32, ("warps",)),
        (1024, 32, 0, "8.9", 1, 32, ("warps",)),
        (1024, 64, 0, "9.0", 1, 32, ("registers",)),
        # 65 · 32 = 2080, rounded up to 2304: 7 warps per quarter, 28: fewer than the block's 32.
        (1024, 65, 0, "9.0", 0, 0, ("registers",)),
        (96, 20, 0, "8.6", 16, 48, ("warps", "blocks")),
        (64, 20, 0, "8.9", 24, 48, ("warps", "blocks")),
    ],
)
def test_occupancy_is_limited_by_the_scarcest_resource(threads, registers, shared, card, blocks, warps, limited_by):
    result = occupancy(threads, registers, shared, card)
    assert (result.blocks, result.warps, result.limited_by) == (blocks, warps, limited_by)
    assert result.fraction == warps / CARDS[card].warps


@pytest.mark.parametrize("card", CARDS)
def test_a_block_without_shared_memory_is_not_limited_by_it(card):
    assert list(occupancy(32, 16, 0, card).limits) == ["warps", "blocks", "registers"]
    assert "shared memory" in occupancy(32, 16, 1, card).limits


def test_it_is_described_in_words():
    assert str(occupancy(256, 40, 0)) == "48 of 64 warps (75%) in 6 blocks, limited by registers"
    assert str(occupancy(1024, 32, 0, "7.5")) == "32 of 32 warps (100%) in 1 block, limited by warps"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((256, 32, 0, "6.1"), "occupancy expected a compute capability, one of 7.5, 8.0, 8.6, 8.9, 9.0; got '6.1'"),
        ((1025, 32, 0), "occupancy expected threads from 1 to 1024 for compute capability 8.0, got 1025"),
        ((0, 32, 0), "occupancy expected threads from 1 to 1024"),
        ((32, 256, 0), "occupancy expected registers from 1 to 255 for compute capability 8.0, got 256"),
        ((32, 32, 163 * 1024 + 1), "occupancy expected shared_bytes from 0 to 166912"),
    ],
)
def test_impossible_numbers_are_errors(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        occupancy(*arguments)


@pytest.mark.parametrize("arguments", [(1024, 1, 0), (1, 255, 0), (32, 32, 163 * 1024)])
def test_the_largest_numbers_are_accepted(arguments):
    assert occupancy(*arguments).blocks >= 1


def test_registers_are_counted_by_the_compilers_or_there_is_an_error():
    try:
        import cuda.bindings  # noqa: F401  # of requirements.cuda.txt
    except ImportError:
        with pytest.raises(RuntimeError, match=r"pip install -r requirements.cuda.txt and do not set NUMBA_ENABLE_CUDASIM"):
            count_registers(kernels.copy, ())
    else:
        from numba import float32

        assert 8 <= count_registers(kernels.copy, (float32[::1], float32[::1])) <= 32
