"""The table of functions of minitorch.torch: each a name and a call that works with any library of PyTorch's interface."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One call.

    Attributes:
        name: The function or method, and its arguments.
        call: Takes the library and the tensors.
        tensors: How many tensors.
        domain: Smallest and largest number of them.
        dtypes: Their dtypes: "f" floating-point numbers, "i" integers, "b" bool.
        gradient: Whether gradients are compared.
        least: Fewest dimensions.
        empty: Whether a tensor of no elements is one of the cases.
    """

    name: str
    call: Callable[..., Any]
    tensors: int = 1
    domain: tuple[float, float] = (-3, 3)
    dtypes: str = "fib"
    gradient: bool = True
    least: int = 0
    empty: bool = True


def unary(names: str, **options: Any) -> list[Row]:
    """Functions of one tensor by their names."""
    return [Row(name, lambda torch, x, name=name: getattr(torch, name)(x), **options) for name in names.split()]


ROWS = [
    *unary("exp sin cos tan tanh sigmoid atan sinh cosh erf expm1"),
    *unary("log log2 log10 sqrt rsqrt", domain=(0.5, 4)),
    *unary("log1p", domain=(-0.5, 4)),
    *unary("asin acos", domain=(-0.9, 0.9), dtypes="f"),
    *unary("reciprocal", domain=(1, 4)),
    *unary("abs square neg relu", dtypes="fi"),
    *unary("sign floor ceil trunc round", dtypes="fi", gradient=False),
    *unary("frac", dtypes="f"),
    *unary("isnan isinf isfinite logical_not", gradient=False),
    *unary("sum count_nonzero any all argmax argmin", gradient=False, empty=False, dtypes="fi"),
    *unary("sum", dtypes="f"),
    *unary("mean std var amax amin max min prod norm median", dtypes="f", empty=False),
    Row("x + y", lambda torch, x, y: x + y, 2),
    Row("x - y", lambda torch, x, y: x - y, 2, dtypes="fi"),
    Row("x * y", lambda torch, x, y: x * y, 2),
    Row("x / y", lambda torch, x, y: x / y, 2, (1, 4)),
    Row("x // y", lambda torch, x, y: x // y, 2, (1, 4), "fi", gradient=False),
    Row("x % y", lambda torch, x, y: x % y, 2, (1, 4), "fi"),
    Row("x % -3", lambda torch, x: x % -3, dtypes="fi"),
    Row("x ** y", lambda torch, x, y: x**y, 2, (1, 3), "fi"),
    Row("x ** 2", lambda torch, x: x**2, dtypes="fi"),
    Row("x ** 3", lambda torch, x: x**3, dtypes="fi"),
    Row("2 ** x", lambda torch, x: 2**x, domain=(0, 3), dtypes="fi"),
    Row("x + 1", lambda torch, x: x + 1),
    Row("1.5 - x", lambda torch, x: 1.5 - x, dtypes="fi"),
    Row("2 / x", lambda torch, x: 2 / x, domain=(1, 4), dtypes="fi"),
    Row("x * 2.5", lambda torch, x: x * 2.5),
    Row("x < y", lambda torch, x, y: x < y, 2, gradient=False),
    Row("x <= 1", lambda torch, x: x <= 1, gradient=False),
    Row("x == y", lambda torch, x, y: x == y, 2, gradient=False),
    Row("x != y", lambda torch, x, y: x != y, 2, gradient=False),
    Row("x > y", lambda torch, x, y: x > y, 2, gradient=False),
    Row("x >= 0", lambda torch, x: x >= 0, gradient=False),
    Row("x & y", lambda torch, x, y: x & y, 2, dtypes="ib", gradient=False),
    Row("x | y", lambda torch, x, y: x | y, 2, dtypes="ib", gradient=False),
    Row("x ^ y", lambda torch, x, y: x ^ y, 2, dtypes="ib", gradient=False),
    Row("~x", lambda torch, x: ~x, dtypes="ib", gradient=False),
    Row("logical_and", lambda torch, x, y: torch.logical_and(x, y), 2, gradient=False),
    Row("logical_or", lambda torch, x, y: torch.logical_or(x, y), 2, gradient=False),
    Row("maximum", lambda torch, x, y: torch.maximum(x, y), 2, dtypes="fi"),
    Row("minimum", lambda torch, x, y: torch.minimum(x, y), 2, dtypes="fi"),
    Row("clamp(-1, 1)", lambda torch, x: x.clamp(-1, 1), dtypes="fi"),
    Row("clamp(min=0)", lambda torch, x: x.clamp(min=0), dtypes="fi"),
    Row("where", lambda torch, x, y: torch.where(x > 0, x, y), 2, dtypes="fi"),
    Row("where, number", lambda torch, x: torch.where(x > 0, x, 0.0), dtypes="f"),
    Row("masked_fill", lambda torch, x: x.masked_fill(x > 0, -1), dtypes="fi"),
    Row("lerp", lambda torch, x, y: torch.lerp(x, y, 0.25), 2, dtypes="f"),
    Row("addcmul", lambda torch, x, y: torch.addcmul(x, x, y, value=0.5), 2, dtypes="f"),
    Row("sum(0)", lambda torch, x: x.sum(0), least=1),
    Row("sum(-1, keepdim)", lambda torch, x: x.sum(-1, keepdim=True), least=1),
    Row("sum((0, 1))", lambda torch, x: x.sum((0, 1)), least=2),
    Row("mean(1)", lambda torch, x: x.mean(1), dtypes="f", least=2, empty=False),
    Row("std(0)", lambda torch, x: x.std(0), dtypes="f", least=1, empty=False),
    Row("var(1, unbiased=False)", lambda torch, x: x.var(1, unbiased=False), dtypes="f", least=2, empty=False),
    Row("max(1)", lambda torch, x: x.max(1), dtypes="f", least=2, empty=False),
    Row("min(0)", lambda torch, x: x.min(dim=0), dtypes="f", least=1, empty=False),
    Row("amax(1)", lambda torch, x: x.amax(1), dtypes="f", least=2, empty=False),
    Row("argmax(1)", lambda torch, x: x.argmax(1), dtypes="f", gradient=False, least=2, empty=False),
    Row("argmin(0, keepdim)", lambda torch, x: x.argmin(0, keepdim=True), dtypes="f", gradient=False, least=1, empty=False),
    Row("any(1)", lambda torch, x: (x > 1).any(1), gradient=False, least=2, empty=False),
    Row("logsumexp(1)", lambda torch, x: torch.logsumexp(x, 1), dtypes="f", least=2, empty=False),
    Row("norm(1)", lambda torch, x: x.norm(dim=1), dtypes="f", least=2),
    Row("norm(p=1)", lambda torch, x: x.norm(p=1), dtypes="f", empty=False),
    Row("norm(p=3, dim=0)", lambda torch, x: x.norm(3, 0), dtypes="f", least=1, empty=False),
    Row("median(1)", lambda torch, x: x.median(1), dtypes="f", least=2, empty=False),
    Row("cumsum(1)", lambda torch, x: x.cumsum(1), dtypes="fi", least=2, empty=False),
    Row("cumprod(0)", lambda torch, x: x.cumprod(0), dtypes="fi", least=1, empty=False),
    Row("softmax(1)", lambda torch, x: x.softmax(1), dtypes="f", least=2, empty=False),
    Row("log_softmax(-1)", lambda torch, x: x.log_softmax(-1), dtypes="f", least=1, empty=False),
    Row("unique", lambda torch, x: torch.unique(x), gradient=False, dtypes="i"),
    Row("bincount", lambda torch, x: torch.bincount(x.flatten()), gradient=False, dtypes="i", domain=(0, 5), empty=False),
    Row("reshape", lambda torch, x: x.reshape(-1)),
    Row("flatten", lambda torch, x: x.flatten()),
    Row("T", lambda torch, x: x.T, least=2),
    Row("mT", lambda torch, x: x.mT, least=2),
    Row("transpose", lambda torch, x: x.transpose(0, -1), least=1),
    Row("permute", lambda torch, x: x.permute(1, 0), least=2),
    Row("movedim", lambda torch, x: torch.movedim(x, 0, 1), least=2),
    Row("unsqueeze", lambda torch, x: x.unsqueeze(-1)),
    Row("squeeze", lambda torch, x: x.unsqueeze(0).squeeze(0)),
    Row("expand", lambda torch, x: x.unsqueeze(0).expand(3, *x.shape)),
    Row("repeat", lambda torch, x: x.repeat(2, 1, 3), empty=False),
    Row("tile", lambda torch, x: x.tile(2), empty=False),
    Row("repeat_interleave", lambda torch, x: x.repeat_interleave(2, 0), least=1),
    Row("cat", lambda torch, x, y: torch.cat([x, y], 0), 2, least=1),
    Row("stack", lambda torch, x, y: torch.stack([x, y], -1), 2),
    Row("vstack", lambda torch, x, y: torch.vstack([x, y]), 2, least=1),
    Row("hstack", lambda torch, x, y: torch.hstack([x, y]), 2, least=1),
    Row("split", lambda torch, x: x.split(2, 0), least=1, empty=False),
    Row("chunk", lambda torch, x: x.chunk(2, 0), least=1, empty=False),
    Row("unbind", lambda torch, x: x.unbind(0), least=1),
    Row("flip", lambda torch, x: x.flip(0), least=1),
    Row("roll", lambda torch, x: torch.roll(x, 2, 0), least=1, empty=False),
    Row("narrow", lambda torch, x: x.narrow(0, 1, 2), least=1, empty=False),
    Row("tril", lambda torch, x: x.tril(), least=2),
    Row("triu(1)", lambda torch, x: x.triu(1), least=2),
    Row("diagonal", lambda torch, x: x.diagonal(), least=2),
    Row("diag", lambda torch, x: torch.diag(x.flatten()[:3], 1), empty=False, least=1),
    Row("x[0]", lambda torch, x: x[0], least=1, empty=False),
    Row("x[1, 2]", lambda torch, x: x[1, 2], least=2, empty=False),
    Row("x[:, 1:]", lambda torch, x: x[:, 1:], least=2),
    Row("x[..., None]", lambda torch, x: x[..., None]),
    Row("x[[0, 2]]", lambda torch, x: x[[0, 2]], least=1, empty=False),
    Row("x[x > 0]", lambda torch, x: x[x > 0]),
    Row("gather", lambda torch, x: x.gather(1, torch.tensor([[0, 2], [1, 1], [2, 0]])), least=2, empty=False),
    Row("scatter_add", lambda torch, x, y: x.scatter_add(1, torch.tensor([[0, 0, 1], [2, 2, 2], [1, 0, 0]]), y), 2, least=2, empty=False,
        dtypes="fi"),
    Row("scatter", lambda torch, x, y: x.scatter(1, torch.tensor([[2, 0, 1], [0, 1, 2], [1, 2, 0]]), y), 2, least=2, empty=False),
    Row("index_select", lambda torch, x: torch.index_select(x, 0, torch.tensor([2, 0, 2])), least=1, empty=False),
    Row("index_add", lambda torch, x, y: x.index_add(0, torch.tensor([0, 2, 0]), y[:3]), 2, least=2, empty=False, dtypes="fi"),
    Row("masked_select", lambda torch, x: torch.masked_select(x, x > 0)),
    Row("nonzero", lambda torch, x: torch.nonzero(x > 0), gradient=False, least=1),
    Row("sort", lambda torch, x: torch.sort(x), dtypes="f", least=1),
    Row("sort, descending", lambda torch, x: torch.sort(x, 0, descending=True), dtypes="f", least=1),
    Row("argsort", lambda torch, x: torch.argsort(x, dim=0), dtypes="f", gradient=False, least=1),
    Row("topk", lambda torch, x: torch.topk(x, 2), dtypes="f", least=1, empty=False),
    Row("topk, smallest", lambda torch, x: torch.topk(x, 2, 0, largest=False), dtypes="f", least=1, empty=False),
    Row("x @ y", lambda torch, x, y: x @ y.T, 2, dtypes="f", least=2),
    Row("matmul of vectors", lambda torch, x, y: x.flatten() @ y.flatten(), 2, dtypes="f"),
    Row("mv", lambda torch, x: torch.mv(x, x[0]), dtypes="f", least=2, empty=False),
    Row("outer", lambda torch, x, y: torch.outer(x.flatten(), y.flatten()), 2, dtypes="fi"),
    Row("addmm", lambda torch, x, y: torch.addmm(x, x, y, beta=0.5, alpha=2), 2, dtypes="f", least=2, empty=False),
    Row("einsum ij,kj->ik", lambda torch, x, y: torch.einsum("ij,kj->ik", x, y), 2, dtypes="f", least=2, empty=False),
    Row("einsum ij,ij->", lambda torch, x, y: torch.einsum("ij,ij->", x, y), 2, dtypes="f", least=2, empty=False),
    Row("einsum ii->i", lambda torch, x: torch.einsum("ii->i", x), dtypes="f", least=2, empty=False),
    Row("einsum i,j,k", lambda torch, x: torch.einsum("i,j,k->kji", x[0], x[1], x[2]), dtypes="f", least=2, empty=False),
    Row("einsum ...j,j", lambda torch, x: torch.einsum("...j,j->...", x, x[0]), dtypes="f", least=2, empty=False),
    Row("cdist", lambda torch, x, y: torch.cdist(x, y + 7), 2, dtypes="f", least=2, empty=False),
    Row("cosine_similarity", lambda torch, x, y: torch.cosine_similarity(x, y), 2, dtypes="f", least=2, empty=False),
    Row("cosine_similarity, zero", lambda torch, x, y: torch.cosine_similarity(x[0] * 0, y, -1, 0.5), 2, dtypes="f", least=2, empty=False),
    Row("linalg.inv", lambda torch, x: torch.linalg.inv(x + 9 * torch.eye(3, dtype=x.dtype)), dtypes="f", least=2, empty=False),
    Row("linalg.solve", lambda torch, x, y: torch.linalg.solve(x + 9 * torch.eye(3, dtype=x.dtype), y), 2, dtypes="f", least=2,
        empty=False),
    Row("linalg.cholesky", lambda torch, x: torch.linalg.cholesky(x @ x.T + torch.eye(3, dtype=x.dtype)), dtypes="f", least=2, empty=False),
    Row("double", lambda torch, x: x.double()),
    Row("float", lambda torch, x: x.float()),
    Row("long", lambda torch, x: x.long(), gradient=False),
    Row("bool", lambda torch, x: x.bool(), gradient=False),
    Row("zeros_like", lambda torch, x: torch.zeros_like(x), gradient=False),
    Row("full_like", lambda torch, x: torch.full_like(x, 1), gradient=False),
    Row("clone", lambda torch, x: x.clone()),
]  # fmt: skip
"""Every call."""
