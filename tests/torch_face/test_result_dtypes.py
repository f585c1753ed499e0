"""Dtypes of the results of minitorch.torch: for every function and every dtype of its arguments that of PyTorch's, or a refusal."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]


def kind(dtype: str) -> int:
    """0 for bool, 1 for integers, 2 for floating-point numbers."""
    return 2 if dtype in FLOATS else 1 if dtype in INTEGERS else 0


def promoted(a: str, b: str) -> str:
    """The dtype of a result of two tensors: that of the higher kind; of the same kind the one that represents both."""
    if a == b or kind(a) != kind(b):
        return max(a, b, key=kind)
    if "bfloat16" in (a, b):
        return "float64" if "float64" in (a, b) else "float32"
    return np.result_type(a, b).name


ONE: list[tuple[Callable[[str], str | None], str]] = [
    (lambda d: d, """
     sign nan_to_num amax amin zeros_like ones_like empty_like unique clone"""),
    (lambda d: d if kind(d) else None, "abs neg floor ceil trunc round relu positive"),
    (lambda d: d if kind(d) == 2 else None, "frac mean var std norm rand_like randn_like bernoulli"),
    (lambda d: d if kind(d) == 2 else "float32", """
     exp log sqrt sin cos tanh sigmoid reciprocal tan asin acos atan sinh cosh erf expm1 log1p asinh acosh atanh erfc log2 log10 rsqrt logit
     deg2rad rad2deg exp2 sinc erfinv lgamma digamma i0"""),
    (lambda d: d if kind(d) else "int64", "square"),
    (lambda d: d if kind(d) == 2 else "int64", "sum prod nansum"),
    (lambda d: "uint8" if d == "uint8" else "bool", "all any"),
    (lambda d: "bool", "isnan isinf isfinite signbit logical_not"),
    (lambda d: "int64" if kind(d) else None, "argmax argmin"),
    (lambda d: "int64", "count_nonzero"),
    (lambda d: d if kind(d) < 2 else None, "bitwise_not"),
]  # fmt: skip
"""Functions of one tensor by the dtype of their results; None where they refuse the tensor."""

TWO: list[tuple[Callable[[str, str], str | None], str]] = [
    (promoted, "add mul maximum minimum"),
    (lambda a, b: promoted(a, b) if "bool" not in (a, b) else None, "sub"),
    (lambda a, b: p if kind(p := promoted(a, b)) == 2 else "float32", "div atan2 copysign xlogy"),
    (lambda a, b: p if kind(p := promoted(a, b)) == 2 else None, "hypot logaddexp nextafter"),
    (lambda a, b: p if kind(p := promoted(a, b)) < 2 else None, "bitwise_and bitwise_or bitwise_xor"),
    (lambda a, b: p if kind(p := promoted(a, b)) == 1 else None, "bitwise_left_shift bitwise_right_shift"),
    (lambda a, b: "bool", "eq ne lt le gt ge logical_and logical_or logical_xor"),
    (lambda a, b: "bool" if a == b else None, "isclose"),
]
"""The same for functions of two tensors."""


def same(a: str, b: str) -> str | None:
    """The dtype of both; None if they differ."""
    return a if a == b else None


PAIRS: list[tuple[Callable[[str, str], str | None], str]] = [
    (promoted, """
     torch.kron(a,b) torch.outer(a[0],b[0]) torch.cat([a,b]) torch.stack([a,b]) torch.hstack([a,b]) torch.block_diag(a,b) a.where(a>0,b)
     torch.add(a,b,alpha=2) a.clamp(min=b)"""),
    (lambda a, b: promoted(a, b) if (a, b) != ("bool", "bool") else None, """
     torch.floor_divide(a,b) torch.div(a,b,rounding_mode="floor") torch.div(a,b,rounding_mode="trunc") a%b torch.fmod(a,b) a**b
     torch.addcmul(a,b,b)"""),
    (lambda a, b: promoted(a, b) if "bool" not in (a, b) else None, """
     torch.sub(a,b,alpha=2) F.l1_loss(a,b,reduction="none")"""),
    (lambda a, b: None if "bool" in (a, b) else p if kind(p := promoted(a, b)) == 2 else "int64", 'F.l1_loss(a,b,reduction="sum")'),
    (lambda a, b: p if kind(p := promoted(a, b)) == 2 and "bool" not in (a, b) else None, "F.l1_loss(a,b) torch.dist(a,b)"),
    (lambda a, b: p if kind(p := promoted(a, b)) == 2 else None, """
     F.mse_loss(a,b) F.mse_loss(a,b,reduction="none") F.smooth_l1_loss(a,b) F.cosine_similarity(a,b)"""),
    (lambda a, b: None if "bool" in (a, b) else p if kind(p := promoted(a, b)) == 2 else "float32", """
     torch.trapezoid(a,b) F.pairwise_distance(a,b)"""),
    (lambda a, b: a if kind(a) == 2 else None, "F.huber_loss(a,b) a.div_(b) F.soft_margin_loss(a,b) torch.normal(a,b)"),
    (lambda a, b: a if kind(a) >= kind(b) else None, "a.add_(b) a.mul_(b)"),
    (lambda a, b: a, "a.copy_(b) a.expand_as(b) a.masked_fill(b>0,b[0,0])"),
    (lambda a, b: b, "a.to(b) a.type_as(b) torch.broadcast_tensors(a,b)[1]"),
    (lambda a, b: promoted(a, b) if kind(a) < kind(b) else a, "a*b[0,0]"),
    (lambda a, b: p if kind(p := promoted(a, b) if kind(a) < kind(b) else a) == 2 else "float32", "a/b[0,0]"),
    (same, """
     a.scatter(0,I,b) a.scatter_add(0,I,b) a.index_add(0,I[0],b) a.index_copy(0,I[0],b) a.index_put((I[0],),b)
     torch.meshgrid(a[0],b[0],indexing="ij")[0] torch.cartesian_prod(a[0],b[0])"""),
    (lambda a, b: same(a, b) if kind(a) else None, """
     torch.mm(a,b) torch.mv(a,b[0]) torch.dot(a[0],b[0]) torch.inner(a,b) torch.einsum("ij,jk",a,b) torch.tensordot(a,b,1)
     torch.addmm(a,b,b) torch.addmv(a[0],b,b[0]) torch.linalg.multi_dot([a,b]) F.linear(a,b) torch.linalg.cross(A,B)
     torch.cross(A,B,dim=1)"""),
    (lambda a, b: same(a, b) if kind(a) == 2 else None, """
     torch.lerp(a,b,0.5) F.prelu(a,b[0,:1]) F.binary_cross_entropy(a,b) F.scaled_dot_product_attention(a,b,b)"""),
    (lambda a, b: same(a, b) if a in ("float32", "float64") else None, "torch.cholesky_solve(a,b)"),
    (lambda a, b: a if b in ("int32", "int64") else None, "torch.gather(a,0,b) a.index_select(0,b[0])"),
    (lambda a, b: a if b == "bool" else None, "a.masked_fill(b,1) a.masked_select(b)"),
]  # fmt: skip
"""Calls of two matrices, and of A and B with a column more."""

CALLS: dict[str, tuple[Callable[..., Any], Callable[[str], str | None]]] = {
    "cumsum": (lambda torch, x: x.cumsum(0), lambda d: d if kind(d) == 2 else "int64"),
    "cumprod": (lambda torch, x: x.cumprod(0), lambda d: d if kind(d) == 2 else "int64"),
    "max(0)": (lambda torch, x: x.max(0).values, lambda d: d),
    "softmax": (lambda torch, x: x.softmax(0), lambda d: d if kind(d) == 2 else None),
    "log_softmax": (lambda torch, x: x.log_softmax(0), lambda d: d if kind(d) == 2 else None),
    "logsumexp": (lambda torch, x: x.logsumexp(0), lambda d: d if kind(d) == 2 else "float32"),
    "clamp(0, 1)": (lambda torch, x: x.clamp(0, 1), lambda d: d if kind(d) else "int64"),
    "clamp(min=0.5)": (lambda torch, x: x.clamp(min=0.5), lambda d: d if kind(d) == 2 else "float32"),
    "x + 1": (lambda torch, x: x + 1, lambda d: d if kind(d) else "int64"),
    "x * 0.5": (lambda torch, x: x * 0.5, lambda d: d if kind(d) == 2 else "float32"),
    "x ** 2": (lambda torch, x: x**2, lambda d: d if kind(d) else "int64"),
    "x ** 0.5": (lambda torch, x: x**0.5, lambda d: d if kind(d) == 2 else "float32"),
    "add, alpha": (lambda torch, x: torch.add(x, x, alpha=2), lambda d: d),
    "where, number": (lambda torch, x: torch.where(x > 0, x, 1), lambda d: d if kind(d) else "int64"),
    "where, float": (lambda torch, x: torch.where(x > 0, 0.5, x), lambda d: d if kind(d) == 2 else "float32"),
    "masked_fill": (lambda torch, x: x.masked_fill(x > 0, 0.5), lambda d: d),
    "full_like": (lambda torch, x: torch.full_like(x, 0.5), lambda d: d),
    "new_tensor": (lambda torch, x: x.new_tensor([1, 0]), lambda d: d),
    "a tensor without dimensions": (
        lambda torch, x: x + torch.tensor(1.0, dtype=torch.float64),
        lambda d: d if kind(d) == 2 else "float64",
    ),
    "bincount, weights": (lambda torch, x: torch.tensor([1, 2, 0, 1]).bincount(x.flatten()), lambda d: d if d == "float32" else "float64"),
    "normal": (lambda torch, x: torch.normal(x, 1.0), lambda d: d if kind(d) == 2 else None),
    "a list of elements": (lambda torch, x: torch.tensor([x[0, 0], x[0, 1]]), lambda d: d),
    "full of an element": (lambda torch, x: torch.full((2,), x[0, 0]), lambda d: ("bool", "int64", "float32")[kind(d)]),
    "matmul": (lambda torch, x: x @ x, lambda d: d if d != "bool" else ""),
    "mul_": (lambda torch, x: x.mul_(2), lambda d: d if kind(d) else None),
    "div_": (lambda torch, x: x.div_(2), lambda d: d if kind(d) == 2 else None),
}
"""Calls of one matrix and the dtypes of their results; "" where it is not compared."""

MADE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a NumPy float": (lambda torch: torch.tensor(np.float64(1)), "float64"),
    "NumPy floats": (lambda torch: torch.tensor([np.float64(1), np.float64(2)]), "float64"),
    "NumPy float32": (lambda torch: torch.tensor([np.float32(1)]), "float32"),
    "NumPy integers": (lambda torch: torch.tensor([np.int32(1)]), "int32"),
    "a NumPy float among numbers": (lambda torch: torch.tensor([[1, np.float64(2.0)], [3, 4]]), "float64"),
    "rows of arrays": (lambda torch: torch.tensor([[*np.ones(2)], [*np.ones(2)]]), "float64"),
    "numbers": (lambda torch: torch.tensor([1, 2.5, True]), "float32"),
    "integers": (lambda torch: torch.tensor([[1], [2]]), "int64"),
    "integers and bools": (lambda torch: torch.tensor([True, 2]), "int64"),
    "bools": (lambda torch: torch.tensor([True, False]), "bool"),
    "nothing": (lambda torch: torch.tensor([[], []]), "float32"),
    "a range": (lambda torch: torch.tensor(range(3)), "int64"),
    "a tensor and a number": (lambda torch: torch.tensor([torch.tensor(1.0, dtype=torch.float64), 2.0]), "float64"),
    "as_tensor": (lambda torch: torch.as_tensor([np.float64(1)]), "float64"),
    "full of a NumPy float": (lambda torch: torch.full((2,), np.float64(1)), "float32"),
    "x * np.float64": (lambda torch: torch.tensor([1.0]) * np.float64(2), "float32"),
    "np.float64 * x": (lambda torch: np.float64(2) * torch.tensor([1]), "float32"),
    "arange of a tensor": (lambda torch: torch.arange(torch.tensor(3)), "int64"),
}


def dtype_of(torch: Any, call: Callable[[], Any]) -> str | None:
    """The dtype of a result; None if the call is refused."""
    try:
        return str(call().dtype).removeprefix("torch.")
    except (RuntimeError, TypeError):
        return None


def matrix(torch: Any, dtype: str) -> Any:
    return torch.tensor([[1, 1], [1, 1]]).to(getattr(torch, dtype))


def pair(torch: Any, a: str, b: str) -> dict[str, Any]:
    """The names that the calls of PAIRS use."""
    x, y = matrix(torch, a), matrix(torch, b)
    wider = {name: torch.cat([each, each[:, :1]], 1) for name, each in (("A", x), ("B", y))}
    return {"torch": torch, "F": torch.nn.functional, "a": x, "b": y, "I": torch.tensor([[0, 1], [1, 0]]), **wider}


def check(torch: Any) -> list[str]:
    """What differs from the tables."""
    wrong = []
    for rule, names in ONE:
        for name in names.split():
            for d in DTYPES:
                if dtype_of(torch, lambda: getattr(torch, name)(matrix(torch, d))) != rule(d):  # noqa: B023
                    wrong.append(f"{name}({d})")
    for pair_rule, names in TWO:
        for name in names.split():
            for a in DTYPES:
                for b in DTYPES:
                    if dtype_of(torch, lambda: getattr(torch, name)(matrix(torch, a), matrix(torch, b))) != pair_rule(a, b):  # noqa: B023
                        wrong.append(f"{name}({a}, {b})")
    for pair_rule, texts in PAIRS:
        for text in texts.split():
            code = compile(text, text, "eval")
            for a in DTYPES:
                for b in DTYPES:
                    if dtype_of(torch, lambda: eval(code, pair(torch, a, b))) != pair_rule(a, b):  # noqa: B023
                        wrong.append(f"{text} of {a}, {b}")
    for name, (call, rule) in CALLS.items():
        for d in DTYPES:
            if rule(d) != "" and dtype_of(torch, lambda: call(torch, matrix(torch, d))) != rule(d):  # noqa: B023
                wrong.append(f"{name} of {d}")
    for name in ("sum", "prod", "nansum", "cumsum", "cumprod"):
        dims = [0] if name.startswith("cum") else []
        for d in DTYPES:
            for e in [*INTEGERS, *FLOATS]:
                if dtype_of(torch, lambda: getattr(torch, name)(matrix(torch, d), *dims, dtype=getattr(torch, e))) != e:  # noqa: B023
                    wrong.append(f"{name}({d}, dtype={e})")
    wrong += [name for name, (make, wanted) in MADE.items() if dtype_of(torch, lambda: make(torch)) != wanted]  # noqa: B023
    return wrong


def test_the_dtypes_of_results_are_known() -> None:
    assert check(ours) == []


def test_the_known_dtypes_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    assert check(torch) == []


def test_a_sum_in_a_dtype_converts_before_it_adds() -> None:
    assert ours.tensor([0.75, 1.75]).sum(dtype=ours.int32).tolist() == 1
    assert ours.tensor([300, 300]).sum(dtype=ours.float16).tolist() == 600
    assert ours.tensor([2.5, 0.0]).any().dtype is ours.bool
