"""torch.func over nested tuples, lists and dictionaries of Tensors, calls of modules with other parameters, and exchanged tensors.

The cases compute the same in PyTorch, where it is installed.
"""

import copy
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.utils import swap_tensors

STATE = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
A, B, EYE, ZERO = STATE["a"], STATE["b"], [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]


def weighted(d: Any) -> Any:
    return d["a"] * d["b"].sum()


def product(d: Any) -> Any:
    return {"y": d["a"] * d["b"], "z": d["a"]}


def square(x: Any) -> Any:
    return x * x


def with_aux(x: Any) -> Any:
    return x * x, {"x": x}


def pulled(lib: ModuleType, fn: Callable[..., Any], cotangent: Any, *primals: Any) -> Any:
    value, pull = lib.func.vjp(fn, *primals)
    return value, pull(cotangent)


# Rows: a name, a function of the library and of STATE as Tensors, and what it returns

DERIVATIVES: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("grad", lambda lib, d: lib.func.grad(lambda d: (d["a"] * d["b"]).sum())(d), {"a": B, "b": A}),
    ("grad aux", lambda lib, d: lib.func.grad(lambda d: ((d["a"] * d["b"]).sum(), d), has_aux=True)(d), ({"a": B, "b": A}, STATE)),
    ("vjp", lambda lib, d: pulled(lib, weighted, lib.ones(2), d), ([7, 14], ({"a": [7, 7], "b": [3, 3]},))),
    ("vjp value", lambda lib, d: pulled(lib, product, {"y": d["a"], "z": d["b"]}, d),
     ({"y": [3, 8], "z": A}, ({"a": [6, 12], "b": [1, 4]},))),
    ("vjp several", lambda lib, d: pulled(lib, lambda x, y: x * y, lib.ones(2), d["a"], d["b"]), ([3, 8], (B, A))),
    ("vjp aux", lambda lib, d: lib.func.vjp(with_aux, d["a"], has_aux=True)[::2], ([1, 4], {"x": A})),
    ("jvp", lambda lib, d: lib.func.jvp(weighted, (d,), (d,)), ([7, 14], [14, 28])),
    ("jvp value", lambda lib, d: lib.func.jvp(product, (d,), (d,)), ({"y": [3, 8], "z": A}, {"y": [6, 16], "z": A})),
    ("jvp aux", lambda lib, d: lib.func.jvp(with_aux, (d["a"],), (d["b"],), has_aux=True), ([1, 4], [6, 16], {"x": A})),
    ("linearize", lambda lib, d: (lambda value, push: (value, push(d["b"])))(*lib.func.linearize(square, d["a"])), ([1, 4], [6, 16])),
    ("jacrev", lambda lib, d: lib.func.jacrev(weighted)(d), {"a": [[7, 0], [0, 7]], "b": [[1, 1], [2, 2]]}),
    ("jacrev list", lambda lib, d: lib.func.jacrev(lambda xs: xs[0] * xs[1])([d["a"], d["b"]]), [[[3, 0], [0, 4]], [[1, 0], [0, 2]]]),
    ("jacrev number", lambda lib, d: lib.func.jacrev(lambda d: d["a"].sum())(d), {"a": [1, 1], "b": [0, 0]}),
    ("jacrev value", lambda lib, d: lib.func.jacrev(product)(d),
     {"y": {"a": [[3, 0], [0, 4]], "b": [[1, 0], [0, 2]]}, "z": {"a": EYE, "b": ZERO}}),
    ("jacrev argnums", lambda lib, d: lib.func.jacrev(lambda x, y: x * y, (0, 1))(d["a"], d["b"]), ([[3, 0], [0, 4]], [[1, 0], [0, 2]])),
    ("jacrev aux", lambda lib, d: lib.func.jacrev(with_aux, has_aux=True)(d["a"]), ([[2, 0], [0, 4]], {"x": A})),
    ("jacfwd", lambda lib, d: lib.func.jacfwd(weighted)(d), {"a": [[7, 0], [0, 7]], "b": [[1, 1], [2, 2]]}),
    ("hessian", lambda lib, d: lib.func.hessian(lambda d: (d["a"] * d["b"]).sum() ** 2)(d),
     {"a": {"a": [[18, 24], [24, 32]], "b": [[28, 12], [8, 38]]}, "b": {"a": [[28, 8], [12, 38]], "b": [[2, 4], [4, 8]]}}),
    ("vmap of jvp", lambda lib, d: lib.func.vmap(lambda v: lib.func.jvp(square, (d["a"],), (v,))[1])(lib.eye(2)), [[2, 0], [0, 4]]),
    ("vmap of nothing", lambda lib, d: lib.func.vmap(lambda empty, x: x * 2)({}, d["a"]), [2, 4]),
]  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return np.asarray(value.numpy()).tolist() if hasattr(value, "numpy") else value


@pytest.mark.parametrize(("use", "expected"), [pytest.param(*row[1:], id=row[0]) for row in DERIVATIVES])
def test_derivatives_are_nested_like_arguments_and_values(use: Callable[[Any, Any], Any], expected: Any) -> None:
    result = use(torch, {name: torch.tensor(x) for name, x in STATE.items()})
    assert plain(result) == plain(expected)  # numpy() fails if it requires gradients


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("use", "expected"), [pytest.param(*row[1:], id=row[0]) for row in DERIVATIVES])
def test_the_expected_derivatives_are_pytorch_s(use: Callable[[Any, Any], Any], expected: Any) -> None:
    real = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    importlib.import_module("torch.func")
    assert plain(use(real, {name: real.tensor(x) for name, x in STATE.items()})) == plain(expected)


def test_results_lead_to_what_a_function_uses_without_being_given_it() -> None:
    w, x = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor(A)
    torch.func.grad(lambda x: (x * x * w).sum())(x).sum().backward()
    assert w.grad.tolist() == [2, 4]
    value, pull = torch.func.vjp(lambda x: x * w, x)
    assert (value.requires_grad, pull(torch.ones(2))[0].requires_grad) == (True, True)
    assert (torch.func.grad(lambda x: (x * x).sum())(x).requires_grad, torch.func.vjp(square, x)[1](w)[0].requires_grad) == (False, True)


def test_other_values_are_refused() -> None:
    x = torch.tensor(A)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: torch.func.grad(lambda d: d["a"].sum())({"a": 1.0}),
         "expected Tensors to differentiate with respect to, got float; see argnums"),
        (lambda: torch.func.jacrev(lambda x: {"y": 1.0})(x),
         "expected a function that returns Tensors, or tuples, lists and dictionaries of"),
        (lambda: torch.func.vjp(square, x)[1](1.0), "expected Tensors as a vector or direction, got float"),
        (lambda: torch.func.jvp(square, (x,), (1.0,)), "expected Tensors as a vector or direction, got float"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(TypeError, match=message):
            call()


# Modules with other parameters


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 2, 3), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.fc(self.conv(x).relu().flatten(1))


def test_the_tutorial_of_neural_tangent_kernels() -> None:
    torch.manual_seed(0)
    net, x1, x2 = CNN(), torch.randn(3, 1, 4, 4), torch.randn(2, 1, 4, 4)
    func, params = torch.func, {name: value.detach() for name, value in net.named_parameters()}

    def single(params: Any, x: Any) -> Any:
        return func.functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    def by_jacobians(x1: Any, x2: Any) -> Any:
        one, other = ([j.flatten(2) for j in func.vmap(func.jacrev(single), (None, 0))(params, x).values()] for x in (x1, x2))
        return torch.stack([torch.einsum("Naf,Mbf->NMab", a, b) for a, b in zip(one, other, strict=True)]).sum(0)

    def by_products(x1: Any, x2: Any) -> Any:
        def kernel(x1: Any, x2: Any) -> Any:
            output, pull = func.vjp(lambda p: single(p, x1), params)
            basis = torch.eye(output.numel()).view(output.numel(), -1)
            return func.vmap(lambda v: func.jvp(lambda p: single(p, x2), (params,), pull(v))[1])(basis)

        return func.vmap(func.vmap(kernel, (None, 0)), (0, None))(x1, x2)

    kernel = by_jacobians(x1, x2)
    assert kernel.shape == (3, 2, 3, 3)
    np.testing.assert_allclose(by_products(x1, x2).numpy(), kernel.numpy(), rtol=1e-4, atol=1e-5)


def test_the_tutorial_of_ensembles() -> None:
    torch.manual_seed(0)
    models, x = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval() for _ in range(3)], torch.randn(3, 4, 3)
    params, buffers = torch.func.stack_module_state(models)
    assert {name: (tuple(p.shape), p.requires_grad, p.is_leaf) for name, p in params.items()}["0.weight"] == ((3, 2, 3), True, True)
    base = copy.deepcopy(models[0])

    def call(params: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (params, buffers), (x,))

    each = torch.func.vmap(call)(params, buffers, x)
    same = torch.func.vmap(call, in_dims=(0, 0, None))(params, buffers, x[0])
    for i, model in enumerate(models):
        np.testing.assert_allclose(each[i].detach().numpy(), model(x[i]).detach().numpy(), rtol=1e-5)
        np.testing.assert_allclose(same[i].detach().numpy(), model(x[0]).detach().numpy(), rtol=1e-5)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x))


def test_shared_parameters_are_replaced_under_all_names() -> None:
    module, x, twice, eye = Tied(), torch.ones(1, 2), torch.eye(2) * 2, torch.eye(2)
    nn.init.eye_(module.a.weight)
    for given, tie, expected in [
        ({"a.weight": twice}, True, 4), ({"b.weight": twice}, True, 4), ({"a.weight": twice}, False, 2),
        ({"a.weight": twice, "b.weight": twice}, True, 4), ({"a.weight": twice, "b.weight": eye}, False, 2),
    ]:  # fmt: skip
        assert torch.func.functional_call(module, given, x, tie_weights=tie).tolist() == [[expected] * 2]
    assert module.b.weight is module.a.weight
    with pytest.raises(ValueError, match=r"got two tensors for the shared parameter 'b\.weight'; leave out one, or pass tie_weights=False"):
        torch.func.functional_call(module, {"a.weight": twice, "b.weight": eye}, x)


def test_other_parameters_are_checked() -> None:
    layer, x = nn.Linear(2, 1), torch.ones(1, 2)
    own = dict(layer.named_parameters())
    call: Any = torch.func.functional_call
    assert call(layer, own, None, {"input": x}, strict=True).tolist() == layer(x).tolist()
    cases: list[tuple[type[Exception], Any, dict[str, Any], str]] = [
        (ValueError, (own, own), {}, "functional_call got 'weight' in two dictionaries; leave it out of one"),
        (ValueError, ([own],), {}, "functional_call expected dictionaries of Tensors, got list"),
        (TypeError, {"weight": 1.0}, {}, "functional_call expected a Tensor for 'weight', got float"),
        (KeyError, {"w": x}, {}, "Linear has no parameter or buffer 'w'; it has weight, bias"),
        (RuntimeError, {"w": x, "bias": x}, {"strict": True},
         r"expected all names of Linear, got unknown \['w'\] and missing \['weight'\]"),
    ]  # fmt: skip
    for error, given, options, message in cases:
        with pytest.raises(error, match=message):
            call(layer, given, x, **options)
    assert dict(layer.named_parameters()) == own
    for models, message in [
        ([], "expected at least one module, got none"),
        ([layer, nn.ReLU()], "expected modules of one class, got Linear, ReLU"),
        (
            [layer, copy.deepcopy(layer).eval()],
            r"expected modules in one mode, got training and evaluation; call train\(\) or eval\(\) of all",
        ),
    ]:
        with pytest.raises(RuntimeError, match=f"stack_module_state {message}"):
            torch.func.stack_module_state(models)


# Exchanged tensors


def test_tensors_exchange_all_they_are() -> None:
    weight, x = nn.Parameter(torch.ones(2)), torch.zeros(3, dtype=torch.float64)
    weight.grad, weight.note = torch.ones(2) * 5, "mine"
    layer = nn.Module()
    layer.weight = weight
    swap_tensors(weight, x)
    assert (type(weight), type(x), weight.tolist(), x.tolist()) == (torch.Tensor, nn.Parameter, [0, 0, 0], [1, 1])
    assert (weight.dtype, weight.requires_grad, weight.grad, hasattr(weight, "note")) == (torch.float64, False, None, False)
    assert (x.requires_grad, x.grad.tolist(), x.note) == (True, [5, 5], "mine")
    assert layer.weight is weight
    y = x * 2
    swap_tensors(y, weight)
    weight.sum().backward()
    assert x.grad.tolist() == [7, 7]
    swap_tensors(x, x)
    assert x.tolist() == [1, 1]


def test_views_and_other_objects_are_not_exchanged() -> None:
    x = torch.zeros(2, requires_grad=True) * 1
    view = x[:1]
    for pair in ((view, torch.ones(1)), (torch.ones(2), x)):
        with pytest.raises(RuntimeError, match="swap_tensors expected tensors without views, got a view or the base of one; copy it with"):
            swap_tensors(*pair)
    del pair, view
    swap_tensors(x, torch.ones(1))
    assert x.tolist() == [1]
    with pytest.raises(TypeError, match="swap_tensors expected two Tensors, got int"):
        swap_tensors(x, 1)
