"""Stage 7 - Weight normalization and spectral normalization: a weight that is computed from other parameters before every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.core.creation import randn
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor


class _Reparametrization:
    """A hook before `forward` that computes a weight.

    Args:
        name: Attribute name of the weight.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def compute(self, module: Any) -> Tensor:
        """The weight."""
        raise NotImplementedError(f"{type(self).__name__} has no compute; define compute(self, module) in the class")

    def __call__(self, module: Any, args: Any) -> None:
        """Set the attribute; it is not registered as a parameter."""
        module.__dict__[self.name] = Parameter._of(self.compute(module))


def _install(module: Any, hook: _Reparametrization, own: dict[str, Tensor]) -> None:
    """Register a hook, and parameters in place of the weight. Raises RuntimeError if the weight already has such a hook."""
    for other in module._pre_hooks.values():
        if isinstance(other, _Reparametrization) and other.name == hook.name:
            raise RuntimeError(f"{hook.name!r} of {type(module).__name__} is already computed by {type(other).__name__}; remove that first")
    del module._parameters[hook.name]
    for name, value in own.items():
        module.register_parameter(name, Parameter(value))
    module.register_forward_pre_hook(hook)


def _remove(module: Any, kind: type, name: str, others: tuple[str, ...], final: Callable[[Any, Any], Tensor]) -> Any:
    """Remove a hook and its parameters, and register the weight as a parameter. Raises ValueError if there is no such hook."""
    for key, hook in list(module._pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            with no_grad():
                weight = final(hook, module).detach().clone()
            del module._pre_hooks[key]
            module.__dict__.pop(name, None)
            for other in others:
                delattr(module, f"{name}_{other}")
            module.register_parameter(name, Parameter(weight))
            return module
    raise ValueError(f"{type(module).__name__} has no {kind.__name__} of {name!r} that could be removed")


def _weight(module: Any, name: str) -> Tensor:
    """A parameter of a module. Raises ValueError if there is none."""
    if name not in module._parameters:
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}; it has {', '.join(module._parameters)}")
    return module._parameters[name]


# Weight normalization


def _norm(v: Tensor, dim: int | None) -> Tensor:
    """The norm of v over all dimensions but one, which keep size 1; over all for None."""
    squares = Tensor.sum((v * v).reshape(-1), 0, keepdim=False) if dim is None else v * v
    if dim is not None:
        for each in range(v.dims):
            squares = squares if each == dim % v.dims else Tensor.sum(squares, each)
    return squares.sqrt()


class WeightNorm(_Reparametrization):
    """The weight is g · v / ‖v‖; see `weight_norm`."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Any) -> Tensor:
        """The weight."""
        g, v = (module._parameters[f"{self.name}_{part}"] for part in ("g", "v"))
        return v * (g / _norm(v, self.dim))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a parameter by its norms, name + "_g", and its direction, name + "_v".

    Args:
        module: The module, which is changed and returned.
        name: Name of the parameter, of any shape.
        dim: The dimension that keeps its size in the norms; None for a single norm.

    Raises:
        ValueError: If the module has no such parameter.
        RuntimeError: If that is already computed from others.

    Source: Salimans and Kingma 2016, arXiv:1602.07868, eq. 2.
    """
    weight = _weight(module, name).detach()
    dim = None if dim == -1 else dim  # as PyTorch reads it
    hook = WeightNorm(name, dim)
    _install(module, hook, {f"{name}_g": _norm(weight, dim).detach().clone(), f"{name}_v": weight})
    hook(module, None)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`: the current weight, of any shape, becomes a parameter again.

    Raises:
        ValueError: If there is none.
    """
    return _remove(module, WeightNorm, name, ("g", "v"), lambda hook, module: hook.compute(module))


# Spectral normalization


class SpectralNorm(_Reparametrization):
    """The weight is divided by its largest singular value; see `spectral_norm`."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the outputs."""
        order = (self.dim, *[each for each in range(weight.dims) if each != self.dim])
        return weight.permute(*order).reshape(weight.shape[self.dim], -1)

    def normalized(self, x: Tensor) -> Tensor:
        """A vector of length 1."""
        length = float(np.sqrt((x * x).sum().item()))
        return x * (1 / max(length, self.eps))

    def compute(self, module: Any, iterations: int | None = None) -> Tensor:
        """The weight; in training mode after further power iterations."""
        weight = module._parameters[f"{self.name}_orig"]
        matrix, buffers = self.matrix(weight), [f"{self.name}_{part}" for part in ("u", "v")]
        u, v = (module.__dict__[name] for name in buffers)
        if iterations is None:
            iterations = self.n_power_iterations if module.training else 0
        with no_grad():
            constant = matrix.detach()
            for _ in range(iterations):
                v = self.normalized((constant.t() @ u.unsqueeze(1)).squeeze(1))
                u = self.normalized((constant @ v.unsqueeze(1)).squeeze(1))
        for name, value in zip(buffers, (u, v), strict=True):
            setattr(module, name, value)
        return weight / (u.unsqueeze(0) @ matrix @ v.unsqueeze(1)).reshape(*[1] * weight.dims)


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value, which power iterations estimate in each call in training mode.

    The parameter is then name + "_orig", and the singular vectors are the buffers name + "_u" and name + "_v".

    Args:
        module: The module, which is changed and returned.
        name: Name of the parameter, of at least two dimensions.
        n_power_iterations: Iterations in each call.
        eps: Smallest length of a vector before it is divided by its length.
        dim: The dimension of the outputs; 0, but 1 for transposed convolutions.

    Raises:
        ValueError: If the module has no such parameter, or n_power_iterations is less than 1.
        RuntimeError: If that is already computed from others.

    Source: Miyato et al. 2018, arXiv:1802.05957, algorithm 1.
    """
    if n_power_iterations < 1:
        raise ValueError(f"spectral_norm expected n_power_iterations of at least 1, got {n_power_iterations}")
    weight = _weight(module, name).detach()
    if dim is None:
        dim = int(type(module).__name__.startswith("ConvTranspose"))
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    _install(module, hook, {f"{name}_orig": weight})
    for part, size in zip(("u", "v"), hook.matrix(weight).shape, strict=True):
        module.register_buffer(f"{name}_{part}", hook.normalized(randn((size,), weight.backend, dtype=weight.dtype)))
    module.__dict__[name] = Parameter._of(weight)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`: the current weight, of any shape, becomes a parameter again.

    Raises:
        ValueError: If there is none.
    """
    return _remove(module, SpectralNorm, name, ("orig", "u", "v"), lambda hook, module: hook.compute(module, 0))
