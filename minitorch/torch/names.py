"""Stage 7 - The names of `torch` and of `torch.Tensor`: which function stands behind each. The functions take and return tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from minitorch.torch import (
    arguments,
    arithmetic,
    creation,
    factorizations,
    indexing,
    logic,
    pointwise,
    products,
    rearranging,
    reductions,
    shapes,
    solutions,
    statistics,
)
from minitorch.torch.saved import SAVED, keeping

BOTH = {  # functions that are methods of Tensor as well
    arithmetic: """
        add sub mul div floor_divide remainder pow neg fmod atan2 copysign nextafter hypot logaddexp xlogy eq ne lt le gt ge masked_fill
        nan_to_num maximum minimum clamp clamp_min clamp_max lerp addcmul addcdiv""",
    logic: """
        isclose allclose equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
        bitwise_left_shift bitwise_right_shift""",
    pointwise: """
        exp log sqrt sin cos tanh sigmoid reciprocal tan asin acos atan sinh cosh erf expm1 log1p asinh acosh atanh erfc floor ceil trunc
        log2 log10 rsqrt square abs sign round frac relu isnan isinf isfinite signbit softmax log_softmax logit deg2rad
        rad2deg exp2 sinc erfinv lgamma digamma i0""",
    reductions: """
        sum mean prod all any var std amax amin max min argmax argmin logsumexp norm cumsum cumprod unique bincount count_nonzero""",
    statistics: """
        aminmax nansum nanmean cummax cummin logcumsumexp diff quantile nanquantile nanmedian histc cov corrcoef""",
    shapes: """
        unflatten movedim transpose t squeeze tile repeat_interleave split chunk unbind narrow flip roll
        tril triu diagonal diag""",
    rearranging: "rot90 fliplr flipud ravel tensor_split hsplit vsplit dsplit diagflat diag_embed",
    indexing: """
        gather take_along_dim scatter scatter_add scatter_reduce index_put index_select index_add index_fill index_copy masked_select
        nonzero select argwhere isin bucketize argsort sort topk kthvalue median""",
    products: "matmul mm bmm mv dot outer addmm addmv addr baddbmm addbmm inner kron cross dist trace cholesky cholesky_solve",
    factorizations: "det slogdet logdet matrix_power qr",
    solutions: "svd lu lu_solve triangular_solve cholesky_inverse matrix_exp",
}
FUNCTIONS = {  # of torch only
    arithmetic: "where",
    pointwise: "polygamma",
    reductions: "var_mean",
    statistics: "std_mean trapezoid",
    shapes: "reshape flatten permute unsqueeze cat stack vstack hstack meshgrid",
    rearranging: "broadcast_tensors dstack column_stack cartesian_prod combinations block_diag",
    indexing: "searchsorted",
    products: "einsum cdist tensordot",
    solutions: "lu_unpack chain_matmul",
    creation: """
        tensor as_tensor from_numpy zeros ones empty full zeros_like ones_like full_like empty_like arange linspace logspace eye
        tril_indices triu_indices rand randn rand_like randn_like randint_like randint randperm normal bernoulli multinomial""",
}
METHODS = {  # of Tensor only
    shapes: "view expand repeat",
    rearranging: "unfold",
    creation: "new_zeros new_ones new_empty new_full new_tensor bernoulli multinomial",
}
REMOVED = {solutions: "symeig eig lstsq solve"}  # from PyTorch, both functions and methods: they say so
LINALG = {
    products: "cholesky inv solve solve_triangular vecdot matmul",
    solutions: "lu_factor matrix_exp",
    factorizations: """
        det slogdet qr svd svdvals eigh eigvalsh lstsq pinv matrix_rank matrix_power multi_dot norm vector_norm matrix_norm""",
}
SPECIAL = {
    pointwise: """
        digamma erf erfc erfinv exp2 expm1 i0 i1 lgamma log1p log_softmax logit polygamma round sigmoid sinc softmax""",
    arithmetic: "xlogy",
    reductions: "logsumexp",
}
SYNONYMS = """
    subtract=sub multiply=mul divide=div true_divide=div negative=neg absolute=abs clip=clamp greater=gt greater_equal=ge less=lt
    less_equal=le not_equal=ne arctan2=atan2 fix=trunc sgn=sign arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh
    arctanh=atanh swapaxes=transpose swapdims=transpose moveaxis=movedim concat=cat concatenate=cat row_stack=vstack asarray=as_tensor
    vdot=dot ger=outer trapz=trapezoid broadcast_to=expand"""
OPERATORS = """
    abs=abs sub=sub truediv=div floordiv=floor_divide mod=remainder pow=pow neg=neg matmul=matmul lt=lt le=le gt=gt ge=ge and=bitwise_and
    rand=bitwise_and or=bitwise_or ror=bitwise_or xor=bitwise_xor rxor=bitwise_xor invert=bitwise_not lshift=bitwise_left_shift
    rshift=bitwise_right_shift iadd=add_ isub=sub_ imul=mul_ ipow=pow_ itruediv=div_ ifloordiv=floor_divide_ imod=remainder_
    iand=bitwise_and_ ior=bitwise_or_ ixor=bitwise_xor_ ilshift=bitwise_left_shift_ irshift=bitwise_right_shift_"""
IN_PLACE = """
    add sub mul div pow clamp masked_fill lerp addcmul addcdiv neg exp sqrt abs relu sigmoid tanh floor round scatter scatter_add
    scatter_reduce index_add index_put log square reciprocal rsqrt sin cos ceil trunc index_fill index_copy nan_to_num addmm
    fmod copysign nextafter exp2 sinc erfinv lgamma digamma i0 bitwise_left_shift
    bitwise_right_shift floor_divide remainder bitwise_and bitwise_or bitwise_xor"""
"""Methods that, with an underscore, overwrite their Tensor with the result."""


checked = functools.cache(arguments.checked)  # a function of torch and the method are one


def functions(*tables: dict[ModuleType, str]) -> dict[str, Callable[..., Any]]:
    """The functions of tables under their names and synonyms."""
    found = {name: checked(getattr(family, name)) for table in tables for family, names in table.items() for name in names.split()}
    found |= {name: keeping(found[name], positions) for name, positions in SAVED.items() if name in found}
    synonyms = [pair.split("=") for pair in SYNONYMS.split()]
    return found | {name: found[known] for name, known in synonyms if known in found}
