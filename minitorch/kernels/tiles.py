"""Stage 3 - Tiles: a block of a matrix product, summed in vector registers.

A loop over columns that adds to a row in memory reads and writes each sum once for every few products. A tile keeps some rows times some
vectors of sums in registers for the whole inner dimension: for each number of it, it reads a vector of b for each vector of columns and a
number of a for each row, and then multiplies and adds rows times vectors. So the processor multiplies all the time: 8 rows and 3 vectors
need 11 reads for 24 multiplications.

Compilers find such code only in loops that they can analyze; so the tile is written as instructions of LLVM, for all processors alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.cgutils import for_range_slice, get_or_insert_function
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from minitorch.kernels.jit import compiler_is_off

COLUMN, INDEX = ir.IntType(32), ir.IntType(64)
"""Types of LLVM: the number of an element of a vector, and a position in an array."""


def vector_registers() -> tuple[int, int]:
    """Return the bytes of a vector register, and the number of registers."""
    if compiler_is_off():
        return 16, 16
    target: Any = cpu_target.target_context
    triple, _, features = target.codegen().magic_tuple()
    if "+avx512f" in features.split(","):
        return 64, 32
    return (32, 16) if "+avx" in features.split(",") else (16, 32 if triple.startswith(("aarch64", "arm64")) else 16)


VECTOR, REGISTERS = vector_registers()
ROWS, VECTORS = (8 if REGISTERS == 32 else 4), 3
"""The most rows and vectors of columns in a tile: their sums, a vector for each of the columns, and a number of a fit the registers."""


def lanes(columns: int, itemsize: int) -> int:
    """Return how many columns a vector of a product holds: a power of two, and not more than there are."""
    return 1 << (min(columns, VECTOR // itemsize).bit_length() - 1)


class Tile:
    """Writes instructions on vectors.

    Args:
        builder: LLVM's builder.
        dtype: The numbers' type in LLVM.
        width: Numbers in a vector.
        bits: Bits of a number.
    """

    def __init__(self, builder: Any, dtype: Any, width: int, bits: int) -> None:
        self.builder, self.width, self.vector, self.size = builder, width, ir.VectorType(dtype, width), bits // 8
        self.zero = ir.Constant(self.vector, [0.0] * width)
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        self._multiply_add = get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{width}f{bits}")

    def multiply_add(self, x: Any, y: Any, total: Any) -> Any:
        """x · y + total, of vectors."""
        return self.builder.call(self._multiply_add, [x, y, total])

    def at(self, *terms: tuple[Any, Any]) -> Any:
        """A position: the sum of products of two positions each."""
        total = ir.Constant(INDEX, 0)
        for one, other in terms:
            total = self.builder.add(total, self.builder.mul(one, other))
        return total

    def pointer(self, data: Any, position: Any) -> Any:
        """The address of a vector in an array."""
        return self.builder.bitcast(self.builder.gep(data, [position]), self.vector.as_pointer())

    def load(self, data: Any, position: Any, step: Any) -> Any:
        """A vector of numbers so many elements apart; step is None for neighbors."""
        if step is None:
            return self.builder.load(self.pointer(data, position), align=self.size)
        found = self.zero
        for lane in range(self.width):
            number = self.builder.load(self.builder.gep(data, [self.at((position, index(1)), (step, index(lane)))]))
            found = self.builder.insert_element(found, number, ir.Constant(COLUMN, lane))
        return found

    def store(self, vector: Any, data: Any, position: Any, step: Any) -> None:
        """Write a vector; see `load`."""
        if step is None:
            self.builder.store(vector, self.pointer(data, position), align=self.size)
            return
        for lane in range(self.width):
            number = self.builder.extract_element(vector, ir.Constant(COLUMN, lane))
            self.builder.store(number, self.builder.gep(data, [self.at((position, index(1)), (step, index(lane)))]))

    def splat(self, number: Any) -> Any:
        """A vector of one number."""
        first = self.builder.insert_element(self.zero, number, ir.Constant(COLUMN, 0))
        return self.builder.shuffle_vector(first, self.zero, ir.Constant(ir.VectorType(COLUMN, self.width), [0] * self.width))


def index(number: int) -> Any:
    """A position as a constant."""
    return ir.Constant(INDEX, number)


def not_unrolled(module: Any) -> Any:
    """Return the metadata of a loop that LLVM does not unroll: sums would no longer fit the registers."""
    node = module.add_metadata([module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])])
    node.operands = (node, node.operands[-1])  # the first one is the node itself: its identity is that of the loop
    return node


def write_tile(typing, out, o, o_row, o_column, a, p, a_row, a_k, b, q, b_k, b_column, inner, row, column, rows, columns, width, add):
    """Return the signature and the instructions of a function that writes a block of the product of a and b to out, or adds it.

    Element (i, j) of out lies at o + i · o_row + j · o_column, (i, k) of a at p + i · a_row + k · a_k, and (k, j) of b at
    q + k · b_k + j · b_column. Sums are added in the order of k.

    Args:
        typing: Numba's context.
        out: Array of the results; a and b are arrays of the same dtype, of floats.
        o: See above, as for p and q.
        o_row: Steps, as all of that form. a_row, a_k and b_k may be arrays of positions instead: a_row[i] for i · a_row.
        inner: Length of the sums, at least 1.
        row: The first row of the block; rows, a constant, is their number.
        column: The first column of the block; columns, a constant, is their number, at least width.
        width: Columns in a vector, a constant. If it does not divide columns, the last two vectors overlap.
        add: The constant 1 to add to out, 0 to write.
    """
    height, length, lanes_ = rows.literal_value, columns.literal_value, width.literal_value
    starts = [min(start, length - lanes_) for start in range(0, length, lanes_)]
    dtype, n = out.dtype, types.intp
    is_next = [getattr(step, "literal_value", 0) == 1 for step in (o_column, b_column)]
    # what decides on the instructions is part of the signature, by which numba finds them again
    near = [step if next_ else n for step, next_ in zip((o_column, b_column), is_next, strict=True)]
    far = [step if isinstance(step, types.Array) else n for step in (a_row, a_k, b_k)]
    signature = types.void(out, n, n, near[0], a, n, far[0], far[1], b, n, far[2], near[1], n, n, n, rows, columns, width, add)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(kind: Any, value: Any) -> Any:
            return context.make_array(kind)(context, builder, value).data

        def term(kind: Any, step: Any, number: Any) -> tuple[Any, Any]:
            if isinstance(kind, types.Array):
                return builder.load(builder.gep(data(kind, step), [number])), one
            return step, number

        out_, o, o_row, o_column, a_, p, a_row_, a_k_, b_, q, b_k_, b_column, inner, row, column = args[:15]
        sums, one = data(out, out_), index(1)
        tile = Tile(builder, context.get_value_type(dtype), lanes_, dtype.bitwidth)
        o_step, b_step = (None if next_ else step for next_, step in zip(is_next, (o_column, b_column), strict=True))
        rows_ = [builder.add(row, index(number)) for number in range(height)]
        columns_ = [builder.add(column, index(start)) for start in starts]
        cells = [tile.at((o, one), (i, o_row), (j, o_column)) for i in rows_ for j in columns_]
        lines = [builder.gep(data(a, a_), [tile.at((p, one), term(a_row, a_row_, i))]) for i in rows_]
        stacks = [builder.gep(data(b, b_), [tile.at((q, one), (j, b_column))]) for j in columns_]
        first = [tile.load(sums, cell, o_step) if add.literal_value else tile.zero for cell in cells]
        before, body, after = builder.block, builder.append_basic_block("tile"), builder.append_basic_block("tile.end")
        builder.branch(body)
        builder.position_at_end(body)
        k, totals = builder.phi(INDEX), [builder.phi(tile.vector) for _ in cells]
        a_position, b_position = tile.at(term(a_k, a_k_, k)), tile.at(term(b_k, b_k_, k))
        vectors = [tile.load(stack, b_position, b_step) for stack in stacks]
        numbers = [tile.splat(builder.load(builder.gep(line, [a_position]))) for line in lines]
        factors = [(number, vector) for number in numbers for vector in vectors]
        results = [tile.multiply_add(*pair, total) for pair, total in zip(factors, totals, strict=True)]
        next_k = builder.add(k, one)
        for phi, start, value in [(k, index(0), next_k), *zip(totals, first, results, strict=True)]:
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", next_k, inner), body, after).set_metadata("llvm.loop", not_unrolled(builder.module))
        builder.position_at_end(after)
        for value, cell in zip(results, cells, strict=True):
            tile.store(value, sums, cell, o_step)
        return context.get_dummy_value()

    return signature, generate


def multiply_interpreted(out, o, o_row, o_column, a, p, a_row, a_k, b, q, b_k, b_column, inner, row, column, rows, columns, width, add):
    """Do what the instructions of `write_tile` do."""
    i, j, k = row + np.arange(rows)[:, None], column + np.arange(columns), np.arange(inner)
    lines, down, stack = (step[number] if np.ndim(step) else step * number for step, number in ((a_row, i), (a_k, k), (b_k, k)))
    cells = o + i * o_row + j * o_column
    sums = out[cells] if add else np.zeros(cells.shape, out.dtype)
    for a_position, b_position in zip(p + down, q + stack, strict=True):
        sums += a[a_position + lines] * b[b_position + j * b_column]
    out[cells] = sums


multiply_tile: Any = multiply_interpreted if compiler_is_off() else intrinsic(prefer_literal=True)(write_tile)
"""The function of `write_tile`, without its first argument, for compiled functions."""


def copy_interpreted(out, o, source, position, step, value, count):
    """Do what the instructions of `write_row` do."""
    out[o : o + count] = source[position + step * np.arange(count)] + value


def write_row(typing, out, o, source, position, step, value, count):
    """Return the signature and the instructions of a function that writes numbers of source, plus a value, to out from o on.

    Vectors are copied, the last two of which overlap if they do not fit; of a row shorter than a vector, vectors half as long, and so on.
    LLVM makes of a loop vectors that are copied several at once, and copies what is left one by one: all numbers of a short row.

    Args:
        typing: Numba's context.
        out: Array of the results; source is an array of the same dtype.
        o: Position of the first result; the others follow it.
        position: Position of the first number in source.
        step: Distance of the numbers in source.
        value: What is added.
        count: How many numbers.
    """
    dtype, n = out.dtype, types.intp

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out_, o, source_, position, step, value, count = args
        results, numbers = (context.make_array(kind)(context, builder, each).data for kind, each in ((out, out_), (source, source_)))

        def copy(width: int, step: Any) -> None:
            tile = Tile(builder, context.get_value_type(dtype), width, dtype.bitwidth)

            def copy_vector(j: Any) -> None:
                vector = tile.load(numbers, tile.at((position, index(1)), (j, step or index(1))), step)
                tile.store(builder.fadd(vector, tile.splat(value)), results, builder.add(o, j), None)

            with builder.if_else(builder.icmp_signed(">=", count, index(width))) as (is_long, is_short):
                with is_long:
                    last = builder.sub(count, index(width))
                    with for_range_slice(builder, index(0), last, index(width)) as (j, _):
                        copy_vector(j)
                    copy_vector(last)
                with is_short:
                    if width > 1:
                        copy(width // 2, step)

        with builder.if_else(builder.icmp_signed("==", step, index(1))) as (near, far):
            with near:
                copy(VECTOR * 8 // dtype.bitwidth, None)
            with far:
                copy(VECTOR * 8 // dtype.bitwidth, step)
        return context.get_dummy_value()

    return types.void(out, n, source, n, n, dtype, n), generate


copy_row: Any = copy_interpreted if compiler_is_off() else intrinsic(write_row)
"""The function of `write_row`, without its first argument, for compiled functions."""
