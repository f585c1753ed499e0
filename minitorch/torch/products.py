"""Stage 7 - Matrix products and linear algebra with PyTorch's arguments, on tensors of the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, is_float
from minitorch.core.errors import DimensionError
from minitorch.ops.linalg import Cholesky, Inverse, Solve
from minitorch.tensor import Tensor
from minitorch.tensor_functions import MatMul
from minitorch.torch import arithmetic, reductions, shapes
from minitorch.torch.promotion import promote, require_one_dtype


def same_dtype(a: Tensor, b: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Two factors of a product. Raises TypeError if their dtypes differ, or they hold bools."""
    if a._tensor.dtype is not b._tensor.dtype or a._tensor.dtype is bool_:
        raise TypeError(
            f"{name} expected tensors of one dtype, not of bools, got {a.dtype.name} and {b.dtype.name}; convert one of them: x.to(y.dtype)"
        )
    return a, b


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product: of vectors their dot product, of a matrix and a vector a vector; further dimensions broadcast.

    Raises:
        TypeError: If the dtypes differ.
        ValueError: If the inner sizes differ, or a tensor has no dimensions.

    Example:
        >>> torch.matmul(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor(11)
        >>> torch.matmul(torch.zeros(5, 2, 3), torch.zeros(3, 4)).shape
        torch.Size([5, 2, 4])
    """
    a, b = same_dtype(input, other, "matmul")
    left, right = a._tensor.shape, b._tensor.shape
    if not left or not right or left[-1] != right[-2 if len(right) > 1 else -1]:
        raise DimensionError(f"matmul expected inner sizes that are equal, got shapes {left} and {right}; transpose one of them")
    if len(left) > 1 and len(right) > 1:
        return MatMul.apply(a, b)
    rows = a if a.dims > 1 else a.view(1, a.numel())
    columns = b if b.dims > 1 else b.reshape(b.numel(), 1)
    out = rows @ columns
    if a.dims == 1:
        out = out.squeeze(-2)
    return out.squeeze(-1) if b.dims == 1 else out


def of_dims(first: int, second: int, name: str) -> Any:
    """`matmul` of tensors with these numbers of dimensions only."""

    def product(input: Tensor, mat2: Tensor) -> Tensor:
        if (input.dims, mat2.dims) != (first, second) or (first == 3 and input.shape[0] != mat2.shape[0]):
            raise DimensionError(
                f"{name} expected tensors of {first} and {second} dimensions, got shapes {input.shape} and {mat2.shape}; use matmul"
            )
        return matmul(input, mat2)

    product.__name__ = product.__qualname__ = name
    product.__doc__ = f"Matrix product of tensors of {first} and {second} dimensions."
    return product


mm, bmm, mv, dot = of_dims(2, 2, "mm"), of_dims(3, 3, "bmm"), of_dims(2, 1, "mv"), of_dims(1, 1, "dot")


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of every element of one vector with every element of another.

    Raises:
        ValueError: If one has not one dimension.

    Example:
        >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4, 5]))
        tensor([[ 3,  4,  5],
                [ 6,  8, 10]])
    """
    if (input.dims, vec2.dims) != (1, 1):
        raise ValueError(f"outer expected two vectors, got shapes {input.shape} and {vec2.shape}")
    a, b = promote(input, vec2)
    return a.view(a.numel(), 1) * b.view(1, b.numel())


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat1 @ mat2.

    Example:
        >>> torch.addmm(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]]), torch.eye(2), alpha=10)
        tensor([[31., 42.]])
    """
    return product_and_input(input, mm(mat1, mat2), beta, alpha)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Einstein's sum: "bij,bjk->bik" names the dimensions of each operand and of the result; those missing there are summed.

    Raises:
        ValueError: If the equation does not fit the operands.

    Example:
        >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1])
        >>> torch.einsum("ij,j->i", a, b)
        tensor([12, 34])
        >>> torch.einsum("ij->ji", a)
        tensor([[1, 3],
                [2, 4]])
    """
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    names = inputs.split(",")
    if len(names) != len(given) or any(len(name.replace("...", "")) > x.dims for name, x in zip(names, given, strict=False)):
        raise ValueError(f"einsum expected {len(names)} operands that fit {equation!r}, got shapes {[x.shape for x in given]}")
    more = max((x.dims - len(name) + 3 for name, x in zip(names, given, strict=True) if "..." in name), default=0)
    spare = "".join(chr(code) for code in range(913, 913 + more))  # letters for what ... stands for
    names = [name.replace("...", spare[more - (x.dims - len(name) + 3) :]) for name, x in zip(names, given, strict=True)]
    if not arrow:
        letters = "".join(names)
        output = spare + "".join(sorted(letter for letter in set(letters) - set(spare) if letters.count(letter) == 1))
    output = output.replace("...", spare)
    sizes: dict[str, int] = {}
    for name, x in zip(names, given, strict=True):
        for letter, size in zip(name, x.shape, strict=True):
            known = sizes.setdefault(letter, size)
            sizes[letter] = size if known == 1 else known
            if size not in (1, sizes[letter]) or (name.count(letter) > 1 and size != x.shape[name.index(letter)]):
                raise ValueError(f"einsum expected one size for {letter!r} in {equation!r}, got {known} and {size}")
    if not set(output) <= set(sizes):
        raise ValueError(f"einsum expected a result of dimensions of the operands, got {equation!r}")
    current, name = _distinct(given[0], names[0])
    for i in range(1, len(given)):
        other, second = _distinct(given[i], names[i])
        later = set(output).union(*names[i + 1 :])
        current, name = _contract(current, name, other, second, later)
    current, name = _summed(current, name, set(output))
    return current.permute(*[name.index(letter) for letter in output]) if output else current


def _distinct(x: Tensor, name: str) -> tuple[Tensor, str]:
    """A tensor without repeated letters: only the diagonal of these dimensions counts."""
    for letter in set(name):
        while name.count(letter) > 1:
            first, second = name.index(letter), name.rindex(letter)
            x = shapes.diagonal(x, 0, first, second)
            name = name[:first] + name[first + 1 : second] + name[second + 1 :] + letter
    return x, name


def _summed(x: Tensor, name: str, kept: set[str]) -> tuple[Tensor, str]:
    """A tensor summed over the dimensions that are not kept."""
    dims = [i for i, letter in enumerate(name) if letter not in kept]
    return (reductions.sum(x, dims), "".join(letter for letter in name if letter in kept)) if dims else (x, name)


def _contract(a: Tensor, first: str, b: Tensor, second: str, later: set[str]) -> tuple[Tensor, str]:
    """Two operands as one, summed over the dimensions that no later one needs, by a batched matrix product."""
    if a.dtype is not b.dtype and (set(first) & set(second)) - later:
        raise TypeError(f"einsum expected tensors of one dtype, got {a.dtype.name} and {b.dtype.name}; convert one: x.to(y.dtype)")
    a, b = promote(a, b)
    a, first = _summed(a, first, later | set(second))
    b, second = _summed(b, second, later | set(first))
    shared = [letter for letter in first if letter in second]
    own, other = dict(zip(first, a.shape, strict=True)), dict(zip(second, b.shape, strict=True))
    wide = {letter: max(own[letter], other[letter]) if 0 not in (own[letter], other[letter]) else 0 for letter in shared}
    a = a.expand(*[wide.get(letter, size) for letter, size in own.items()])  # a size of 1 stands for any other
    b = b.expand(*[wide.get(letter, size) for letter, size in other.items()])
    batch = [letter for letter in shared if letter in later]
    inner = [letter for letter in shared if letter not in later]
    rows, columns = [letter for letter in first if letter not in second], [letter for letter in second if letter not in first]

    def arranged(x: Tensor, name: str, groups: list[list[str]]) -> tuple[Tensor, list[tuple[int, ...]]]:
        x = x.permute([name.index(letter) for group in groups for letter in group])
        ends = np.cumsum([0] + [len(group) for group in groups])
        own = [x.shape[ends[i] : ends[i + 1]] for i in range(len(groups))]
        return x.reshape(*[int(np.prod(size, dtype=int)) for size in own]), own

    left, (sizes, row_sizes, _) = arranged(a, first, [batch, rows, inner])
    right, (_, _, column_sizes) = arranged(b, second, [batch, inner, columns])
    return (left @ right).reshape(*sizes, *row_sizes, *column_sizes), "".join(batch + rows + columns)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between the rows of two matrices.

    Raises:
        ValueError: If they have different numbers of columns, or p is negative.

    Example:
        >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    if x1.dims < 2 or x2.dims < 2 or x1.shape[-1] != x2.shape[-1] or not p >= 0:
        raise ValueError(f"cdist expected matrices with as many columns, and p from 0 on, got shapes {x1.shape} and {x2.shape}, p={p}")
    return reductions.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def product_and_input(input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    """beta · input + alpha · product, in whose shape input must broadcast; a factor of 0 leaves out what it multiplies.

    Raises:
        ValueError: If beta or alpha is a fraction, but the tensors hold integers.
    """
    same_dtype(input, product, "a sum with a product")
    if not is_float(product.dtype) and not (float(beta).is_integer() and float(alpha).is_integer()):
        raise ValueError(f"a sum with a product of integers expected integers beta and alpha, got {beta} and {alpha}")
    product = product if alpha == 1 else product * alpha if alpha else product.zeros()
    input = input.expand(*product.shape) if input.shape != product.shape else input
    return product if beta == 0 else arithmetic.add(input if beta == 1 else input * beta, product)


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · mat @ vec."""
    return product_and_input(input, mv(mat, vec), beta, alpha)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · the outer product of two vectors."""
    return product_and_input(*promote(input, outer(vec1, vec2)), beta, alpha)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · batch1 @ batch2, of three dimensions."""
    return product_and_input(input, bmm(batch1, batch2), beta, alpha)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · input + alpha · the sum of batch1 @ batch2 over the first dimension."""
    return product_and_input(input, reductions.sum(bmm(batch1, batch2), 0, dtype=batch1.dtype), beta, alpha)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products along the last dimensions, for all others.

    Raises:
        ValueError: If these differ in size.

    Example:
        >>> torch.inner(torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1]))
        tensor([12, 34])
    """
    if input.dims and other.dims and input.shape[-1] != other.shape[-1]:
        raise ValueError(f"inner expected equal last sizes, got shapes {input.shape} and {other.shape}")
    return tensordot(input, other, ([-1], [-1])) if input.dims and other.dims else arithmetic.mul(input, other)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products along dimensions of both tensors; the other dimensions of a come first, then those of b.

    Args:
        a: A tensor.
        b: A tensor.
        dims: How many: the last ones of a and the first ones of b; or those of a and those of b, two lists.

    Raises:
        ValueError: If the sizes differ.

    Example:
        >>> torch.tensordot(torch.zeros(2, 3, 4), torch.zeros(3, 4, 5)).shape
        torch.Size([2, 5])
        >>> torch.tensordot(torch.zeros(2, 3), torch.zeros(4, 3), dims=([1], [1])).shape
        torch.Size([2, 4])
    """
    a, b = same_dtype(a, b, "tensordot")
    if isinstance(dims, (int, np.integer, Tensor)):
        dims = int(dims)
        if not 0 <= dims <= min(a.dims, b.dims):
            raise ValueError(f"tensordot expected dims from 0 to {min(a.dims, b.dims)}, got {dims}")
    elif not isinstance(dims, (tuple, list)):
        raise TypeError(f"tensordot expected a number of dimensions or two lists, got {dims!r}")
    elif len(dims) != 2:
        raise ValueError(f"tensordot expected a number of dimensions or two lists, got {dims!r}")
    first, second = (range(a.dims - dims, a.dims), range(dims)) if isinstance(dims, int) else dims
    first, second = (x._normalize_dims(list(each)) for x, each in ((a, first), (b, second)))
    if len(first) == len(second):  # a size of 1 stands for any other
        for i, j in zip(first, second, strict=True):
            a = reductions.sum(a, i, True) if b.shape[j] == 1 else a
            b = reductions.sum(b, j, True) if a.shape[i] == 1 else b
    if [a.shape[dim] for dim in first] != [b.shape[dim] for dim in second]:
        raise ValueError(f"tensordot expected equal sizes in dimensions {first} and {second}, got shapes {a.shape} and {b.shape}")
    rows = [dim for dim in range(a.dims) if dim not in first]
    columns = [dim for dim in range(b.dims) if dim not in second]
    inner_size = math.prod(a.shape[dim] for dim in first)
    shape = [a.shape[dim] for dim in rows] + [b.shape[dim] for dim in columns]
    left = a.permute(*rows, *first).reshape(math.prod(a.shape[dim] for dim in rows), inner_size)
    right = b.permute(*second, *columns).reshape(inner_size, math.prod(b.shape[dim] for dim in columns))
    return (left @ right).reshape(shape)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of input times all of other.

    Example:
        >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
    """
    a, b = promote(input, other)
    dims = max(a.dims, b.dims)
    first, second = ((1,) * (dims - x.dims) + x.shape for x in (a, b))
    left = a.reshape(*[size for pair in zip(first, (1,) * dims, strict=True) for size in pair])
    right = b.reshape(*[size for pair in zip((1,) * dims, second, strict=True) for size in pair])
    return (left * right).reshape(*[m * n for m, n in zip(first, second, strict=True)]) if dims else a * b


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dimension of size 3; by default the first such one.

    Raises:
        ValueError: If there is none.

    Example:
        >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
    """
    a, b = input, other
    if a.dims != b.dims:
        raise ValueError(f"cross expected as many dimensions of both tensors, got shapes {a.shape} and {b.shape}")
    if dim is None:
        dim = next((i for i in range(a.dims) if a.shape[i] == 3), 0)
    dim = a._normalize_dim(dim)
    if a.shape[dim] != 3 or b.shape[dim] != 3:
        raise ValueError(f"cross expected tensors of size 3 in dimension {dim}, got shapes {a.shape} and {b.shape}")
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = (x if x.shape == shape else x.expand(*shape) for x in (a, b))
    return shapes.roll(a, -1, dim) * shapes.roll(b, -2, dim) - shapes.roll(a, -2, dim) * shapes.roll(b, -1, dim)


def vector_product(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """`cross` along a dimension, the last one by default.

    Raises:
        TypeError: If the dtypes differ.
        ValueError: If its size is not 3.
    """
    require_one_dtype("linalg.cross", input, other)
    return cross(input, other, dim)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    return reductions.norm(arithmetic.sub(input, other), p)


# torch.linalg


def cholesky(A: Tensor) -> Tensor:
    """The lower triangular factor of symmetric positive definite matrices.

    Example:
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return Cholesky.apply(A)


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    return Inverse.apply(A)


def solve(A: Tensor, B: Tensor) -> Tensor:
    """X of A @ X = B, where B is a matrix or one vector.

    Example:
        >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([6.0, 8.0]))
        tensor([3., 2.])
    """
    is_vector = B.dims == 1 or (B.dims == A.dims - 1 and B.shape == A.shape[:-1])
    return Solve.apply(A, B.unsqueeze(-1)).squeeze(-1) if is_vector else Solve.apply(A, B)


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True) -> Tensor:
    """X of A @ X = B with the triangle of A on one side of its diagonal; without left of X @ A = B.

    Raises:
        TypeError: If the dtypes differ.

    Example:
        >>> torch.linalg.solve_triangular(torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[5.0], [2.0]]), upper=True)
        tensor([[1.],
                [2.]])
    """
    require_one_dtype("solve_triangular", A, B)
    triangle = shapes.triu(A) if upper else shapes.tril(A)
    if left:
        return Solve.apply(triangle, B)
    return Solve.apply(triangle.transpose(-1, -2), B.transpose(-1, -2)).transpose(-1, -2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot products of vectors along a dimension; all other dimensions broadcast.

    Raises:
        TypeError: If both are bool tensors.

    Example:
        >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 1.0]))
        tensor([12., 34.])
    """
    products = arithmetic.mul(x, y)
    if products.dtype is bool_:
        raise TypeError("vecdot expected numbers, got bool tensors; convert them first: x.float()")
    return reductions.sum(products, dim)


def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X of A @ X = input, where L is the Cholesky factor of A; errors as for `solve_triangular`."""
    require_one_dtype("cholesky_solve", input, L)
    lower = L.transpose(-1, -2) if upper else L
    return solve_triangular(lower.transpose(-1, -2), solve_triangular(lower, input, upper=False), upper=True)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Raises:
        ValueError: If it is not a matrix.
    """
    if input.dims != 2:
        raise ValueError(f"trace expected a matrix, got shape {input.shape}")
    return reductions.sum(shapes.diagonal(input))
