"""Stage 7 - The product of a single row with a matrix, for kernels that compute a token of a language model.

It uses each number of the matrix once, so that copying them into tiles, as `kernels.matmul` does, would take most of the time.
"""

from __future__ import annotations

from numba.extending import register_jitable

from minitorch.kernels.jit import IN_ANY_ORDER, jitable


@jitable
def add_rows(out, a, p, a_k, b, q, b_k, inner):
    """Add the rows of b, each times a number of a, to out; four at once, so that out is read and written less often."""
    n, whole = len(out), inner // 4 * 4
    for _ in range(0, whole, 4):
        a0, a1, a2, a3 = a[p], a[p + a_k], a[p + 2 * a_k], a[p + 3 * a_k]
        b0, b1, b2, b3 = b[q : q + n], b[q + b_k : q + b_k + n], b[q + 2 * b_k : q + 2 * b_k + n], b[q + 3 * b_k : q + 3 * b_k + n]
        for j in range(n):
            out[j] = out[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]
        p += 4 * a_k
        q += 4 * b_k
    for _ in range(whole, inner):
        a0, b0 = a[p], b[q : q + n]
        for j in range(n):
            out[j] = out[j] + a0 * b0[j]
        p += a_k
        q += b_k


@register_jitable(**IN_ANY_ORDER)
def dot_rows(out, row, b, q, b_j):
    """Write the dot products of a row with contiguous columns of b."""
    n = len(row)
    for j in range(len(out)):
        column, total = b[q + j * b_j : q + j * b_j + n], out.dtype.type(0)
        for k in range(n):
            total += row[k] * column[k]
        out[j] = total
