"""Exam questions on Module 3: parallel loops, races, matrix products, CUDA kernels, mini-batches."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from course.staff.exam.markdown import code, number, parts, table
from course.staff.exam.question import COMPUTE, EXPLAIN, MISTAKE, PREDICT, Exercise, Module, Rng, exercise

MODULE = Module(3)


@MODULE.question("3.1", COMPUTE, 4)
def speedup(rng: Rng) -> Exercise:
    """Speedup with a cost per launch, and Amdahl's law."""
    threads = rng.choice([2, 4, 8])
    wake = rng.integer(threads // 2 + 1, threads + 2)
    few, many = threads, threads * rng.integer(50, 90)
    share, cores = rng.choice([0.05, 0.1, 0.2]), rng.choice([10, 20, 40])
    times = [n / threads + 2 * wake for n in (few, many)]
    speeds = [n / time for n, time in zip((few, many), times, strict=True)]
    amdahl = 1 / (share + (1 - share) / cores)
    return exercise(
        [
            f"An iteration takes 1 unit of time. A parallel loop on {threads} threads divides its iterations evenly; waking the threads "
            f"takes {wake} units, and waiting for them at the end {wake} more.",
            parts(
                f"Compute the speedup over one thread for {few} and for {many} iterations.",
                "From how many iterations on is the parallel loop faster?",
                f"A fraction of {share} of a program is serial. What is its speedup on {cores} threads, and what is the limit for any "
                "number of threads?",
            ),
        ],
        parts(
            f"{few} / ({few // threads} + {2 * wake}) = {number(speeds[0], 2)}, and {many} / ({many // threads} + {2 * wake}) = "
            f"{number(speeds[1], 2)}.",
            f"n / {threads} + {2 * wake} < n where n > {2 * wake} · {threads} / {threads - 1} = "
            f"{number(2 * wake * threads / (threads - 1), 2)}.",
            f"1 / ({share} + {number(1 - share)} / {cores}) = {number(amdahl, 2)}; at most 1 / {share} = {number(1 / share)}.",
        ),
        [(1, "both speedups"), (1, "the break-even point"), (2, "Amdahl's law and its limit")],
        {"threads": threads, "wake": wake, "iterations": (few, many), "share": share, "cores": cores},
        {"speedups": speeds, "amdahl": amdahl},
    )


LOOPS = {
    "out[i] = x[i] * x[i]": (True, "iteration i alone writes out[i], and nobody writes x"),
    "out[i] = x[n - 1 - i]": (True, "reads may overlap; iteration i alone writes out[i]"),
    "out[i // 2] += x[i]": (False, "iterations 2k and 2k + 1 read and write out[k]"),
    "x[i] = x[n - 1 - i]": (False, "iteration i reads what iteration n - 1 - i writes"),
    "out[i] = out[i] + x[0]": (True, "iteration i alone reads and writes out[i], and nobody writes x"),
    "x[i] = x[i] + x[0]": (False, "all iterations read x[0], which iteration 0 writes"),
    "out[x[i] % n] = i": (False, "two elements of x may lead to the same element of out"),
}
"""Bodies of a loop over i from 0 to n - 1: whether the loop may be parallel, and why."""


@MODULE.question("3.1", EXPLAIN, 4)
def parallel_loops(rng: Rng) -> Exercise:
    """Which loops may be a prange."""
    bodies = rng.sample(list(LOOPS), 4)
    return exercise(
        [
            "x and out are different arrays of n integers. Which of these bodies of `for i in range(n)` allow `prange`? For each one, "
            "name what iteration i writes, and which other iteration touches it. Why is a test that passes with n = 10 no proof?",
            parts(*(f"`{body}`" for body in bodies)),
        ],
        [
            parts(*(f"{'Parallel' if LOOPS[body][0] else 'Serial'}: {LOOPS[body][1]}." for body in bodies)),
            "Ten iterations are done before a second thread is awake, so the iterations run in order. Even with many, a race may come out "
            "right by chance.",
        ],
        [(3, "the four loops with reasons; one point less for each mistake"), (1, "few iterations run on one thread")],
        {"bodies": bodies},
        {"parallel": [LOOPS[body][0] for body in bodies]},
    )


@MODULE.question("3.1 3.3", PREDICT, 3)
def lost_update(rng: Rng) -> Exercise:
    """What two threads leave in one location."""
    start, a, b = rng.integer(1, 9), *rng.sample(range(10, 60), 2)
    finals = set()
    for order in set(permutations("aabb")):
        memory, seen = start, {}
        for thread in order:
            if thread in seen:
                memory = seen[thread] + (a if thread == "a" else b)
            else:
                seen[thread] = memory
        finals.add(memory)
    results = sorted(finals)
    return exercise(
        [
            f"`total[0]` is {start}. At the same time, one thread runs `total[0] += {a}` and another `total[0] += {b}`.",
            parts(
                "Which values can `total[0]` have afterwards? Give an order of reads and writes for each.",
                "Why does numba's reduction of a local variable (`total += x[i]` in a prange) not have this problem? Where does its "
                "result still depend on the number of threads?",
            ),
        ],
        parts(
            f"{start + a + b}: one thread reads after the other has written. {start + a}: both read {start}, and the thread with {a} "
            f"writes last. {start + b}: both read {start}, and the thread with {b} writes last.",
            "Each thread adds to a variable of its own, and these are combined at the end. The order of the additions depends on the "
            "number of threads, and so do the last digits of a sum of floats.",
        ),
        [(2, "the three values with orders"), (1, "one variable per thread; rounding depends on the order")],
        {"start": start, "added": (a, b)},
        {"finals": results},
    )


@MODULE.question("3.1", MISTAKE, 4)
def shared_buffer(rng: Rng) -> Exercise:
    """An index buffer that all iterations share."""
    shape = tuple(rng.sample([30, 40, 50, 60], 2))
    return exercise(
        [
            code(
                "def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):\n"
                "    size = np.prod(out_shape)\n    index = np.empty(len(out_shape), np.int32)\n    for i in prange(size):\n"
                "        to_index(i, out_shape, index)\n        position = index_to_position(index, in_strides)\n"
                "        out[index_to_position(index, out_strides)] = fn(in_storage[position])"
            ),
            parts(
                f"The kernel is right with one thread. What can go wrong with two threads for an input of shape {shape}? Describe one "
                "order of events.",
                "Fix it by moving one line. Numba then hoists the allocation out of the loop. Why is the result still right?",
                "The kernel has a second limit that `broadcast_index` would remove. Which?",
            ),
        ],
        parts(
            "Both threads write their index into the same buffer. Thread 0 writes its index, thread 1 overwrites it, and thread 0 "
            "computes its positions from the index of thread 1: one element of out is computed twice, and another keeps its old contents.",
            "`index = np.empty(…)` belongs inside the loop. Hoisted, there is one buffer for each thread, and the iterations of one "
            "thread run one after another.",
            "The input must have the shape of out; an input that is broadcast has fewer dimensions, or sizes of 1.",
        ),
        [(2, "an order of events with two threads"), (1, "a buffer per iteration or per thread"), (1, "no broadcasting")],
        {"shape": shape},
        {"elements": math.prod(shape)},
    )


@MODULE.question("3.1", COMPUTE, 3)
def stride_aligned(rng: Rng) -> Exercise:
    """Which tensors are stride-aligned with the result."""
    a, b = rng.sample([2, 3, 4, 5], 2)
    cases = [
        ("contiguous", (a, b), (b, 1)),
        ("transposed", (a, b), (1, a)),
        ("one row, expanded", (a, b), (0, 1)),
        ("a row, broadcast", (b,), (1,)),
        ("every other column of a wider tensor", (a, b), (2 * b, 2)),
    ]
    cases = rng.sample(cases, 4)
    aligned = [shape == (a, b) and strides == (b, 1) for _, shape, strides in cases]
    return exercise(
        [
            f"out is contiguous with shape ({a}, {b}). For which of these inputs may a map use `out[i] = fn(in_storage[i])` for each "
            "position i? Say for each other input what goes wrong.",
            table(["input", "shape", "strides"], cases),
        ],
        [
            table(["input", "allowed"], [[name, "yes" if ok else "no"] for (name, *_), ok in zip(cases, aligned, strict=True)]),
            "It needs the same shape and the same strides. Otherwise, equal positions belong to different elements. "
            "An expanded row and a broadcast row have storages that are shorter than out, so later positions are past the end.",
        ],
        [(2, "the four cases; one point with one mistake"), (1, "wrong elements, or a read past the end")],
        {"out": (a, b), "cases": cases},
        {"aligned": aligned},
    )


@MODULE.question("3.2", COMPUTE, 5)
def product_positions(rng: Rng) -> Exercise:
    """Positions in the inner loop of a matrix product with a transposed factor."""
    rows, inner, columns = 2, 3, rng.choice([2, 4])
    a, stored = rng.table(rows, inner, 1, 5), rng.table(columns, inner, 0, 4)
    i, j = rng.below(rows), rng.integer(1, columns - 1)
    terms = [(a[i][k], i * inner + k, stored[j][k], j * inner + k) for k in range(inner)]
    value = sum(x * y for x, _, y, _ in terms)
    lines = [[k, x, at, y, other] for k, (x, at, y, other) in enumerate(terms)]
    return exercise(
        [
            f"a is {a}. b is the transposed view of c = {stored}: b = c.permute(1, 0). out = a @ b.",
            parts(
                "Give shape and strides of b, and the shape of out.",
                f"For out[{i}, {j}], list for each k the number and its position in the storage of a and of b, and the sum.",
                "Why does this kernel need no index buffer, and why is the sum kept in a local variable, not in out?",
            ),
        ],
        [
            parts(
                f"Shape ({inner}, {columns}), strides (1, {inner}); out has shape ({rows}, {columns}).",
                f"The sum is {value}.",
                "There is a loop for each dimension, and its variable is the index; a position is a short sum. A local variable is in a "
                "register. Each `out[…] +=` would read and write memory, and the compiler cannot remove that, since out might overlap "
                "with a or b.",
            ),
            table(["k", "a", "position", "b", "position"], lines),
        ],
        [(1, "shape and strides"), (3, "numbers, positions, sum"), (1, "loop variables and the register")],
        {"a": a, "c": stored, "at": (i, j)},
        {"value": value, "strides": (1, inner)},
    )


@MODULE.question("3.2", MISTAKE, 3)
def batch_of_one(rng: Rng) -> Exercise:
    """The batch stride of a factor that serves the whole batch."""
    batch, inner, columns = rng.integer(4, 6), rng.integer(3, 5), rng.integer(3, 5)
    step = inner * columns
    n = rng.integer(1, batch - 1)
    return exercise(
        [
            f"a has shape ({batch}, 2, {inner}), b has shape (1, {inner}, {columns}) and is contiguous. A kernel computes the position of "
            "b[n, k, j] as `n * b_strides[0] + k * b_strides[1] + j * b_strides[2]`, with n from the loop over the batch.",
            parts(
                f"Which position does it read for n = {n}, k = 0, j = 0, and how long is the storage of b?",
                "Why is there no error, and why does the result change from run to run?",
                "What must the kernel do instead?",
            ),
        ],
        parts(
            f"{n} · {step} = {n * step}; the storage has {step} numbers, so that is past the end.",
            "Compiled kernels do not check bounds. They read whatever is in memory after b.",
            "Where the batch size of a factor is 1, it must use 0 in place of the stride: then every n reads the same matrix.",
        ),
        [(1, "position and length"), (1, "no bounds checks"), (1, "stride 0")],
        {"b": (1, inner, columns), "n": n},
        {"position": n * step, "length": step},
    )


@MODULE.question("3.2 3.5", COMPUTE, 4)
def product_gradients(rng: Rng) -> Exercise:
    """The gradients of a matrix product."""
    a, b, g = rng.table(2, 3, 0, 4), rng.table(3, 2, 0, 4), rng.table(2, 2, 1, 3)
    to_a, to_b = (np.array(g) @ np.array(b).T).tolist(), (np.array(a).T @ np.array(g)).tolist()
    return exercise(
        [
            f"out = a @ b with a = {a} and b = {b}. The gradient of out is G = {g}.",
            parts(
                "Write the gradients of a and b as matrix products. How do the shapes alone decide which factor stands first, and which "
                "is transposed?",
                "Compute both.",
                "A kernel is right only for contiguous factors. Why does no network learn with it, although every forward pass is right?",
            ),
        ],
        parts(
            "G bᵀ and aᵀ G. For a of shape (2, 3): (2, 2) times (2, 3). For b of shape (3, 2): (3, 2) times (2, 2). No other order fits.",
            f"Gradient of a: {to_a}. Gradient of b: {to_b}.",
            "Transposed factors are views with swapped strides, which are not contiguous. Both products of the backward pass have one.",
        ),
        [(1, "both products, by their shapes"), (2, "both results"), (1, "the backward pass needs transposed views")],
        {"a": a, "b": b, "g": g},
        {"a": to_a, "b": to_b},
    )


@MODULE.question("3.3", COMPUTE, 4)
def threads(rng: Rng) -> Exercise:
    """Blocks, threads and the passes of a long reduction."""
    size, block = rng.integer(1600, 3000), rng.choice([128, 256])
    block_id, thread = rng.integer(1, 5), rng.integer(1, 99)
    length = rng.integer(2, 4) * 1024 + rng.integer(100, 900)
    blocks, cells = -(-size // block), -(-length // 1024)
    return exercise(
        [
            f"A map over {size} elements is launched with blocks of {block} threads.",
            parts(
                f"How many blocks are needed, and how many threads have no element? Which element does thread {thread} of block "
                f"{block_id} compute?",
                f"A reduction of {length} numbers gives one cell for each 1,024 of them. How many launches does it take, with how many "
                "cells after each, and how many numbers does the last cell of the first launch reduce?",
                "Why must there be several launches? And what must a thread without an element do in such a reduction?",
            ),
        ],
        parts(
            f"{blocks} blocks; threads without an element: {blocks * block - size}; {block_id} · {block} + {thread} = "
            f"{block_id * block + thread}.",
            f"2 launches, with {cells} cells and 1 cell; the last cell has {length} - {cells - 1} · 1024 = {length - (cells - 1) * 1024} "
            "numbers.",
            "Threads of different blocks cannot wait for each other; only the end of a launch orders all blocks. A thread without an "
            "element puts the start value into shared memory and reaches every barrier.",
        ),
        [
            (1, "blocks, idle threads and element"),
            (2, "launches, cells and the last cell"),
            (1, "no barrier across blocks; start value and barriers"),
        ],
        {"size": size, "block": block, "at": (block_id, thread), "length": length},
        {"blocks": blocks, "idle": blocks * block - size, "element": block_id * block + thread, "cells": [cells, 1]},
    )


@MODULE.question("3.3", PREDICT, 4)
def tree_sum(rng: Rng) -> Exercise:
    """The rounds of a sum in shared memory, and what a missing barrier does."""
    row = rng.integers(8, 1, 9)
    rounds, half = [row], 4
    while half:
        last = rounds[-1]
        rounds.append([last[t] + last[t + half] if t < half else last[t] for t in range(8)])
        half //= 2
    early = rounds[1][0] + row[2] + row[6]
    return exercise(
        [
            f"A block of 8 threads sums the shared array {row}:",
            code(
                "half = 4\nwhile half > 0:\n    if t < half:\n        shared[t] += shared[t + half]\n    cuda.syncthreads()\n    half //= 2"
            ),
            parts(
                "Write down the whole array after each round.",
                "Without the barrier, thread 0 might run its second round when thread 2 has not yet run its first. Which value does "
                "thread 0 then hold after its second round, and which would be right?",
                "Somebody moves `cuda.syncthreads()` into the `if`. What happens on a GPU, and why may a simulator not show it?",
            ),
        ],
        parts(
            "; ".join(str(values) for values in rounds[1:]) + f". The sum is {rounds[-1][0]}.",
            f"{rounds[1][0]} + {row[2]} = {rounds[1][0] + row[2]}; right is {rounds[1][0]} + {rounds[1][2]} = {early}.",
            "Threads with t >= half never reach the barrier, for which the others wait: the block may hang or go on with wrong values. A "
            "simulator that runs threads one after another and does not count who arrives lets it pass.",
        ),
        [(2, "the array after three rounds"), (1, "both values"), (1, "all threads must reach a barrier")],
        {"row": row},
        {"rounds": rounds[1:], "early": rounds[1][0] + row[2], "right": early},
    )


@MODULE.question("3.4", COMPUTE, 4)
def tiled_reads(rng: Rng) -> Exercise:
    """Reads of global memory in a tiled matrix product."""
    n, tile = rng.choice([(10, 4), (11, 3), (14, 4), (13, 5), (10, 3), (11, 4), (13, 3)])
    blocks = -(-n // tile)
    plain, tiled = 2 * n**3, 2 * blocks * n * n
    shared = 2 * tile**2 * blocks**3
    return exercise(
        [
            f"Two matrices of {n} rows and columns are multiplied by blocks of {tile} × {tile} threads. Each thread computes one element "
            "of the result.",
            parts(
                "How often is global memory read if each thread reads its row and its column?",
                "How often if the block loads tiles into shared memory, and threads past the edge read nothing? How often is each element "
                "of a read?",
                "How many numbers are written to shared memory if each thread stores a 0 where there is nothing to read? Why must it "
                "store the 0?",
            ),
        ],
        parts(
            f"{n}² · 2 · {n} = {plain}",
            f"There are {blocks} × {blocks} blocks. Each column of blocks reads all of a, each row of blocks all of b: 2 · {blocks} · "
            f"{n}² = {tiled}. Each element is read {blocks} times, once for each block that needs it.",
            f"2 · {tile}² in each of {blocks} steps of {blocks * blocks} blocks: {shared}. In the last step the tile would otherwise "
            "hold numbers of the step before, and these would be added.",
        ),
        [(1, "reads without tiles"), (2, "reads with tiles, times per element"), (1, "writes, and old numbers in the last tile")],
        {"n": n, "tile": tile},
        {"plain": plain, "tiled": tiled, "shared": shared},
    )


@MODULE.question("3.4 3.5", EXPLAIN, 4)
def small_matrices(rng: Rng) -> Exercise:
    """Why a GPU loses on small matrices, and why tiles help on large ones."""
    small, large = rng.choice([16, 32, 64]), rng.choice([1024, 2048])
    return exercise(
        f"A product of matrices with {small} rows is slower on a GPU than on one core, one with {large} rows is many times as fast. "
        "Explain the first with two costs that do not depend on the size or hardly do. For the second, give the number of multiplications "
        "and of different numbers as functions of n, and explain with them what tiles in shared memory gain, and why they would gain "
        "nothing for a map.",
        [
            f"A launch takes some microseconds, and so does each copy between the memories; in that time one core finishes {small}³ = "
            f"{small**3} multiplications or a good part of them. Besides, few blocks occupy few of the GPU's processors.",
            "The product has n³ multiplications on 2n² different numbers, so each number is used n times. From global memory each use "
            "would cost a read; a tile of side T is read once and used T times, so there are T times fewer reads.",
            "A map uses each number once. Nothing can be shared between threads, so it is limited by global memory in any case.",
        ],
        [
            (1, "launch and copies"),
            (1, "n³ multiplications, 2n² numbers"),
            (1, "each read serves T uses"),
            (1, "a map uses each number once"),
        ],
        {"small": small, "large": large},
        {"products": small**3},
    )
