"""Wrong uses of the functions of minitorch.torch: the class of each error, which programs written for PyTorch catch, and the messages."""

from collections.abc import Callable
from typing import Any

import pytest

import minitorch.torch as ours
from tests.errors import raises

inf, nan = float("inf"), float("nan")

WRONG: dict[type[Exception], str] = {
    RuntimeError: """
        f + torch.zeros(4); f * torch.zeros(4); f / torch.zeros(4); f - torch.zeros(4); f ** torch.zeros(4); f // torch.zeros(4);
        f < torch.zeros(4); f == torch.zeros(4); torch.div(f, 2, rounding_mode="up"); i // 0; i % 0; torch.fmod(i, 0);
        torch.floor_divide(i, i - 1); i**-1; torch.pow(i, -2); torch.isclose(f, i); torch.isclose(f, f, rtol=-1);
        torch.isclose(f, f, atol=-1); torch.allclose(f, f.double()); torch.allclose(f, torch.zeros(4));
        torch.logical_and(f, torch.zeros(4)); torch.where(f>0, f, torch.zeros(4)); torch.where(f, f, f); torch.where(i, 1, 2);
        f.masked_fill(f, 1); f.masked_fill(f>0, torch.zeros(2)); f.masked_fill(torch.tensor([True]*4), 1);
        torch.maximum(f, torch.zeros(4)); torch.clamp(f); torch.clamp(f, torch.zeros(4)); torch.lerp(f, torch.zeros(4), 0.5);
        torch.lerp(f, f.double(), 0.5); torch.addcmul(f, f, torch.zeros(4)); torch.addcdiv(f, f, torch.zeros(4)); torch.addcdiv(i, i, i);
        torch.sum(f, (0, 0)); torch.mean(i); torch.mean(b); torch.mean(f, (0, 0)); torch.mean(f, dtype=torch.int64);
        torch.all(f, (0, 0)); torch.var(i); torch.std(i); torch.std(f, (0, 0)); torch.var_mean(i); torch.amax(e); torch.amin(e);
        torch.amax(f, (0, 0)); torch.max(e); torch.min(e); torch.max(f, torch.zeros(4)); torch.argmax(b); torch.logsumexp(f, (0, 0));
        torch.norm(f, "nuk"); torch.norm(i); torch.norm(b); torch.norm(e, inf); torch.norm(f, 2, (0, 0)); torch.bincount(i - 2);
        torch.bincount(i, torch.zeros(2)); torch.bincount(i, minlength=-1); torch.count_nonzero(f, (0, 0)); torch.tensor(None);
        torch.tensor([None]); torch.tensor(object()); torch.tensor({1:2}); torch.tensor([1.0], device="gpu");
        torch.tensor([300], dtype=torch.uint8); torch.tensor([1, 2], requires_grad=True); torch.tensor([nan], dtype=torch.int64);
        torch.as_tensor(object()); torch.zeros(-1); torch.zeros((2, -1)); torch.zeros(2, device="gpu"); torch.zeros(2, device="cuda:x");
        torch.zeros(2, dtype=torch.int64, requires_grad=True); torch.ones(-1); torch.empty(-1); torch.full((-1, ), 1); f.new_zeros(-1);
        torch.arange(0, 1, 0); torch.arange(0, 1, -1); torch.arange(1, 0); torch.arange(0, nan); torch.arange(0, inf);
        torch.linspace(0, 1, -1); torch.logspace(0, 1, -1); torch.eye(-1); torch.eye(2, -1); torch.tril_indices(-1, 2);
        torch.triu_indices(2, -1); torch.rand(-1); torch.randn(-1); torch.randint(0, 0, (2, )); torch.randint(5, 2, (2, ));
        torch.randint(0, 5, (-1, )); torch.randint(0, 300, (2, ), dtype=torch.uint8); torch.randperm(-1); torch.normal(0.0, -1.0, (2, ));
        torch.normal(f, -1.0); torch.normal(f, torch.zeros(4)); torch.bernoulli(f); torch.bernoulli(f - 10); torch.multinomial(f, 0);
        torch.multinomial(f, 4); torch.multinomial(-f, 1); torch.multinomial(f * 0, 1); torch.multinomial(i, 1);
        torch.multinomial(f[None], 1); torch.multinomial(f * nan, 1); torch.multinomial(z, 1); f @ f; torch.matmul(f, f.double().T);
        torch.mm(f, f.double().T); f @ i; torch.mm(f, i); torch.dot(f, f); torch.dot(i, torch.zeros(3)); z @ z; f @ f.T.long(); i @ b;
        torch.addmm(f, f, f); f.to("gpu"); f.to(device="gpu"); torch.device("gpu"); torch.device("cuda:-1");
        torch.device("cpu:x"); torch.device(""); torch.set_default_device("gpu");
        f.double().add_(f * 1j if False else f) and i.add_(1.5); i.add_(1.5); i.div_(2); b.add_(1); f.add_(torch.zeros(4));
        f.add_(torch.zeros(5, 2, 3)); i.exp_(); i.clamp_(1.5); f.masked_fill_(f, 1); i.mul_(f[0]); f.copy_(torch.zeros(4));
        f.fill_(torch.zeros(2)); f.normal_(0, -1); f.uniform_(1, 0); f.bernoulli_(2.0); f.requires_grad_().add_(1); i.requires_grad_();
        f.requires_grad_().numpy(); f.requires_grad_().sum(0).backward(); f.sum().backward(); f.item(); bool(f); f.retain_grad();
        f.view_as(z); f.expand_as(z); torch.hypot(f, torch.zeros(4)); torch.Tensor(-1); torch.is_nonzero(f); torch.is_nonzero(e);
        torch.Generator("gpu"); torch.add(i, i, alpha=1.5); torch.sub(i, i, alpha=0.5); torch.add(b, b, alpha=1.5);
        torch.add(f, f, out=torch.zeros(2, 3, dtype=torch.int64)); torch.exp(f, out=i)""",
    NotImplementedError: """
        torch.sub(b, b); b - b; -b; torch.neg(b); torch.nextafter(i, i); f & f; f | 1; torch.bitwise_and(f, f); f << 1; b << True;
        torch.lerp(i, i, 0.5); torch.abs(b); torch.relu(b); torch.round(b); torch.floor(b); torch.ceil(b); torch.trunc(b); torch.frac(i);
        torch.frac(b); torch.softmax(i, 0); torch.log_softmax(i, 0); torch.bincount(f); torch.bincount(f[0]); torch.bincount(b);
        torch.rand_like(i); torch.randn_like(i); torch.rand(2, dtype=torch.int64); torch.randn(2, dtype=torch.int64);
        torch.normal(i, 1.0); torch.bernoulli(i); i.uniform_(); i.normal_(); torch.hypot(i, i); torch.logaddexp(i, i)""",
    TypeError: """
        torch.add(f, "a"); f + "a"; f + None; f + [1, 2, 3]; f < "a"; f * object(); torch.add(f); torch.atan2(f, "a");
        torch.isclose(f, 2.0); torch.equal(f, 2); ~f; torch.where(f>0, f); torch.where([True], f, f); f.masked_fill(f>0, "a");
        i.masked_fill(i>0, None); torch.nan_to_num("a"); torch.maximum(f, 1); torch.maximum(f, "a"); torch.clamp(f, "a"); torch.exp("a");
        torch.exp(1.0); torch.exp(); torch.exp(f, f); torch.sin([1.0]); torch.sqrt(None); torch.sign("a"); torch.relu("a");
        torch.round(f, decimals=1.5); torch.signbit("a"); torch.softmax(f, "a"); torch.softmax(f); torch.square("a"); torch.sum(f, "a");
        torch.sum(f, 1.5); f.sum(0, 1, 2); torch.sum([1.0]); torch.any("a"); torch.max(f, (0, 1)); torch.max(f, f, 2); torch.max(f, "a");
        torch.argmax(f, (0, 1)); torch.logsumexp(f); torch.cumsum(f); torch.cumsum(f, (0, 1)); torch.cumsum(f, "a"); torch.tensor("a");
        torch.tensor([1, "a"]); torch.tensor([1.0], dtype=3); torch.tensor(); torch.as_tensor("a"); torch.from_numpy([1]);
        torch.from_numpy(1.0); torch.zeros("a"); torch.zeros(1.5); torch.zeros([1.5]); torch.zeros(2, dtype=3);
        torch.zeros(2, device=3.5); torch.zeros(2, 3, foo=1); torch.zeros(2, None); torch.ones("a"); torch.full((2, ), "a");
        torch.full((2, ), None); torch.full((2, ), [1, 2]); torch.full((2, ), torch.zeros(2)); torch.zeros_like(1.0);
        torch.zeros_like([1.0]); torch.ones_like("a"); torch.full_like(f, "a"); torch.full_like(f); torch.empty_like(2);
        f.new_full((2, ), "a"); f.new_ones("a"); torch.arange("a"); torch.arange(); torch.arange(None); torch.linspace(0, 1);
        torch.linspace(0, 1, 2.5); torch.linspace("a", 1, 2); torch.linspace(0, 1, "a"); torch.logspace(0, 1); torch.eye("a");
        torch.eye(2.5); torch.tril_indices(2, "a"); torch.rand("a"); torch.randint(0, 5); torch.randint(0, 5, 2);
        torch.randint(0, 2.5, (2, )); torch.randperm("a"); torch.randperm(2.5); torch.normal(0.0, 1.0); torch.bernoulli(0.5); f @ 2;
        torch.device(None); f.fill_("a"); len(z); iter(z); f.size("a"); torch.set_default_dtype(torch.int64);
        torch.var(f, correction="a"); torch.xlogy("a", f); torch.copysign(f, "a"); f.data.add_("a");
        torch.mean(f, keepdim=True, dim="a"); torch.sum(f, 0, 0, 0); torch.sum(f, dim=0, axis=0); torch.sum(f, dims=0);
        torch.add(f, f, alpha="a"); torch.add(f, f, out="a")""",
    IndexError: """
        torch.softmax(f, 2); torch.log_softmax(f, -3); torch.sum(f, 2); torch.sum(f, -3); torch.sum(f, (0, 2)); torch.mean(f, 2);
        torch.prod(f, 2); torch.all(f, 2); torch.any(f, -3); torch.var(f, 2); torch.std(f, -3); torch.var_mean(f, 2); torch.amax(f, 2);
        torch.max(e, 0); torch.max(f, 2); torch.min(f, -3); torch.argmax(e); torch.argmax(f, 2); torch.argmin(e, 0);
        torch.logsumexp(f, 2); torch.norm(f, 2, 2); torch.cumsum(f, 2); torch.cumprod(f, 2); torch.cumprod(f, -3);
        torch.unique(f, dim=3); torch.count_nonzero(f, 2); z[0]; f.size(2); f.stride(5); f.index_fill(0, i, 1)""",
    ValueError: """
        torch.tensor([[1, 2], [3]]); torch.tensor(["a"]); torch.tensor([2 ** 70]); f.new_tensor([[1], [1, 2]]); float(f); int(f);
        torch.Tensor([[1], [2, 3]]); torch.LongTensor(["a"])""",
}
"""Calls by the class of PyTorch's error, for the tensors of `given`; ours is of this class, and perhaps of a more precise one as well."""

CASES = [(call.strip(), wanted) for wanted, calls in WRONG.items() for call in calls.split(";")]


def given(torch: Any) -> dict[str, Any]:
    """The names in the calls: the library, a matrix of floats, integers, bools, an empty tensor, one without dimensions."""
    f, i, b = torch.tensor([[1.0, 2, 3], [4, 5, 6]]), torch.tensor([1, 2, 3]), torch.tensor([True, False, True])
    return {"torch": torch, "f": f, "i": i, "b": b, "e": torch.zeros(0), "z": torch.tensor(2.0), "inf": inf, "nan": nan}


def error_of(torch: Any, call: str) -> type[BaseException]:
    with pytest.raises(Exception) as error:  # noqa: PT011  # its class is the result
        eval(call, given(torch))
    return error.type


@pytest.mark.parametrize(("call", "wanted"), CASES)
def test_a_wrong_use_raises_the_class_that_programs_catch(call: str, wanted: type[Exception]) -> None:
    assert issubclass(error_of(ours, call), wanted)


def test_every_class_is_pytorchs_or_a_subclass() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    assert [call for call, _ in CASES if not issubclass(error_of(ours, call), error_of(torch, call))] == []


F, N, B = ours.tensor([[1.0, 2, 3], [4, 5, 6]]), ours.tensor([1, 2, 3]), ours.tensor([True, False, True])

MESSAGES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ours.exp("a"), TypeError, "exp expected a Tensor as input, got str; convert it with torch.tensor(...)"),
    (lambda: ours.equal(F, 2), TypeError, "equal expected a Tensor as other, got int; convert it with torch.tensor(...)"),
    (lambda: F.sum(dim=0, axis=0), TypeError, "sum expected dim or axis, got both; leave one out"),
    (lambda: ours.add(N, N, alpha=1.5), ValueError,
     "alpha expected an integer for tensors of int64, got 1.5; convert them first: x.float()"),
    (lambda: 1 - B, TypeError, "sub expected numbers, got bools; use a ^ b, or ~a for not"),
    (lambda: ours.hypot(N, N), TypeError, "hypot expected floating-point numbers, got int64; convert them first: x.float()"),
    (lambda: ours.isclose(F, F.double()), TypeError,
     "isclose expected tensors of one dtype, got float32 and float64; convert one of them: x.to(y.dtype)"),
    (lambda: ours.isclose(F, 2.0), TypeError, "isclose expected a Tensor as other, got float; convert it with torch.tensor(...)"),
    (lambda: ours.isclose(F, F, rtol=-1), ValueError, "isclose expected tolerances from 0 on, got rtol=-1 and atol=1e-08"),
    (lambda: ~F, TypeError, "bitwise_not expected integers or bools, got float32; compare first, such as x > 0"),
    (lambda: F.masked_fill(N, 1), TypeError, "masked_fill expected a mask of bools, got int64; compare first, such as x > 0"),
    (lambda: F.masked_fill(F > 0, F), ValueError,
     "masked_fill expected a value without dimensions, got shape (2, 3); use torch.where"),
    (lambda: F.half().masked_fill(F > 0, -1e9), OverflowError,
     "masked_fill expected a number from -65504.0 to 65504.0 for float16, got -1000000000.0"),
    (lambda: ours.where(B, N.to(ours.int8), 300), OverflowError, "where expected a number from -128 to 127 for int8, got 300"),
    (lambda: F.clamp("a"), TypeError, "clamp expected a number, got str; pass a number such as 0.0"),
    (lambda: ours.maximum(F, 1), TypeError, "maximum expected a Tensor as other, got int; convert it with torch.tensor(...)"),
    (lambda: ours.addcdiv(N, N, N), TypeError, "addcdiv expected floating-point numbers, got int64; convert them first: x.float()"),
    (lambda: ours.abs(B), TypeError, "abs expected numbers, got a bool tensor; convert it first: x.long()"),
    (lambda: F.round(decimals=1.5), TypeError, "round expected decimals of type int, got float 1.5"),
    (lambda: ours.zeros(0, 3).amax(0), IndexError, "max and min expected at least one element along dimension 0, got shape (0, 3)"),
    (lambda: ours.zeros(0).max(), ValueError, "max and min expected at least one element along a dimension, got shape (0,)"),
    (lambda: ours.max(F, F, 2), TypeError, "max expected keepdim of type bool, got int 2"),
    (lambda: F.bincount(), TypeError, "bincount expected integers, got float32; convert them first: x.long()"),
    (lambda: (N - 2).bincount(), ValueError, "bincount expected one dimension of integers from 0 on, got shape (3,)"),
    (lambda: N.bincount(minlength=-1), ValueError,
     "bincount expected a minlength from 0 on and weights of shape (3,), got minlength=-1"),
    (lambda: N.bincount(F[0, :2]), ValueError,
     "bincount expected a minlength from 0 on and weights of shape (3,), got weights of shape (2,)"),
    (lambda: F.norm("nuk"), ValueError, "norm expected a number or \"fro\", got 'nuk'"),
    (lambda: ours.tensor(None), TypeError, "tensor expected numbers, got None; pass nested lists of numbers, or an array"),
    (lambda: ours.zeros([1.5]), TypeError, "a size expected an integer, got 1.5; convert it, as by int(...)"),
    (lambda: ours.zeros(2, -1), ValueError, "sizes expected integers from 0 on, got (2, -1)"),
    (lambda: ours.full((2,), F), TypeError, "full expected a number or a tensor without dimensions, got shape (2, 3)"),
    (lambda: ours.arange(0, 1, 0), ValueError, "arange expected a step other than 0"),
    (lambda: ours.arange(0, 1, -1), ValueError, "arange expected a step from 0 towards 1, got -1; pass a step of the other sign"),
    (lambda: ours.arange(None), TypeError, "arange expected numbers, got 0, None and 1"),
    (lambda: ours.ones(2, dtype=ours.int64, requires_grad=True), RuntimeError,
     "only floating-point tensors can require gradients, got int64; pass dtype=torch.float32"),
    (lambda: ours.rand(2, dtype=ours.int64), TypeError,
     "rand expected a floating-point dtype, got int64; draw in float32 and convert the result"),
    (lambda: ours.randint(0, 2.5, (2,)), TypeError,
     "randint expected integers and a sequence of sizes, got 0, 2.5 and (2,); such as randint(0, 10, (3,))"),
    (lambda: ours.randint(5, 2, (2,)), ValueError, "randint expected low < high, got 5 and 2; high itself is not drawn"),
    (lambda: ours.normal(0.0, 1.0), TypeError, "normal expected a tensor as mean or std, or a size; such as normal(0.0, 1.0, (3,))"),
    (lambda: ours.normal(0.0, -1.0, (2,)), ValueError, "normal expected standard deviations from 0 on, got -1.0"),
    (lambda: F.normal_(0, -1), ValueError, "normal_ expected a standard deviation from 0 on, got -1"),
    (lambda: F.uniform_(1, 0), ValueError, "uniform_ expected limits in ascending order, got 1 and 0; exchange them"),
    (lambda: ours.bernoulli(F), ValueError,
     "bernoulli expected probabilities from 0 to 1, got others; limit them: x.clamp(0, 1), or x.sigmoid()"),
    (lambda: F.multinomial(0), ValueError,
     "multinomial expected one sample or more of one or two dimensions, got 0 of shape (2, 3)"),
    (lambda: F @ F.T.double(), RuntimeError,
     "matmul expected tensors of one dtype, not of bools, got float32 and float64; convert one of them: x.to(y.dtype)"),
    (lambda: F @ 2, TypeError, "matmul expected a Tensor as other, got int; convert it with torch.tensor(...)"),
    (lambda: ours.zeros(2, device="gpu"), RuntimeError, 'device expected "cpu" or "cuda", got \'gpu\'; or with a number: "cuda:0"'),
    (lambda: F.to("gpu"), RuntimeError, 'device expected "cpu" or "cuda", got \'gpu\'; or with a number: "cuda:0"'),
    (lambda: ours.device(3.5), TypeError, 'device expected a name, "cpu" or "cuda", got 3.5'),
    (lambda: B.clone().add_(1), RuntimeError, "add_: a tensor of bool cannot hold a result of int64; convert it first: x.long()"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), MESSAGES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_message_says_what_was_expected_and_what_to_do(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with raises(error, message):
        call()


def test_an_error_keeps_the_place_where_it_was_raised() -> None:
    with pytest.raises(ValueError, match="view expected a shape of 6 elements") as error:
        F.view(5)
    assert isinstance(error.value, RuntimeError)
    assert [entry.name for entry in error.traceback][-1] not in ("call", "test_an_error_keeps_the_place_where_it_was_raised")


def test_an_error_inside_of_a_function_stays_what_it_is() -> None:
    class Broken(list):  # type: ignore[type-arg]
        def __len__(self) -> int:
            raise AttributeError("broken")

    with pytest.raises(AttributeError, match="broken"):
        ours.cat(Broken())
