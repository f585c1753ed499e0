"""Stage 7 - Pruning: some elements of a parameter are replaced by 0, by a mask that is applied before every call.

A pruned `weight` becomes a parameter `weight_orig` and a buffer `weight_mask`; a hook computes the attribute `weight` of both.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.tensor import generator, tensor
from minitorch.torch.tensor import as_torch

# Methods


class BasePruningMethod(ABC):
    """Base class of the methods, which are hooks before `forward`; a class of your own defines `compute_mask` and `PRUNING_TYPE`.

    Attributes:
        PRUNING_TYPE: What a further pruning of the same parameter sees of it: "unstructured", the elements that are left; "structured", the
            channels along `dim` of which some are left; or "global", all.
    """

    PRUNING_TYPE: str = "unstructured"
    _tensor_name: str

    def __call__(self, module: Any, args: Any) -> None:
        """Compute the attribute of the module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for a tensor.

        Args:
            t: Scores of any shape: the less the absolute value, the sooner an element is pruned.
            default_mask: The mask so far, in the same shape.

        Returns:
            0 and 1, in the same shape.
        """

    def apply_mask(self, module: Any) -> Any:
        """The parameter of the module, of any shape, times the mask."""
        return getattr(module, f"{self._tensor_name}_orig") * getattr(module, f"{self._tensor_name}_mask")

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module, further if it is pruned already.

        Args:
            module: The module, which is changed.
            name: Name of the parameter.
            args: Arguments of the method.
            importance_scores: Scores in the shape of the parameter, in place of its values.
            kwargs: Arguments of the method by name.

        Returns:
            The hook: the method, or a `PruningContainer` with all that were applied.

        Raises:
            AttributeError: If the module has no such parameter.
            ValueError: If the scores have another shape.
        """
        method, before = cls(*args, **kwargs), _hook_of(module, name)
        method._tensor_name = name
        hook, mask_name = method, f"{name}_mask"
        original = getattr(module, name if before is None else f"{name}_orig")
        if before is not None:
            hook = PruningContainer(*before[1] if isinstance(before[1], PruningContainer) else [before[1]])
            hook.add_pruning_method(method)
        scores = original if importance_scores is None else importance_scores
        _check_shape("importance_scores", scores, original)
        mask = _like(np.ones(tuple(original.shape)), original) if before is None else getattr(module, mask_name)
        with no_grad():
            mask = as_torch(hook.compute_mask(scores.detach(), mask).to(original.dtype))
        _check_shape("a mask", mask, original)
        if before is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            module.register_buffer(mask_name, mask)
        else:
            del module._pre_hooks[before[0]]
            setattr(module, mask_name, mask)
        module.register_forward_pre_hook(hook)
        hook(module, None)
        return hook

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor of any shape with some elements replaced by 0.

        Args:
            t: The tensor.
            default_mask: Elements where this is 0 are pruned already.
            importance_scores: Scores in the shape of t, in place of its values.

        Raises:
            ValueError: If the scores have another shape.
        """
        scores = t if importance_scores is None else importance_scores
        _check_shape("importance_scores", scores, t)
        return t * self.compute_mask(scores.detach(), _like(np.ones(tuple(t.shape)), t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter an ordinary one, with zeros where the mask is 0."""
        name = self._tensor_name
        original, pruned = getattr(module, f"{name}_orig"), self.apply_mask(module).detach()
        for each in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, each)
        original.data = pruned
        module.register_parameter(name, original)


def _hook_of(module: Any, name: str) -> tuple[Any, BasePruningMethod] | None:
    """The hook that prunes a parameter, and its key."""
    found = [(key, hook) for key, hook in module._pre_hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
    return found[0] if found else None


def _check_shape(what: str, given: Any, original: Any) -> None:
    """Raise ValueError unless both have the same shape."""
    if tuple(given.shape) != tuple(original.shape):
        raise ValueError(f"pruning expected {what} of shape {tuple(original.shape)}, that of the parameter, got {tuple(given.shape)}")


def _like(values: np.ndarray, x: Any) -> Any:
    """Numbers as a tensor on the device of another, of the same dtype."""
    return as_torch(tensor(values, x.backend, dtype=x.dtype))


class PruningContainer(BasePruningMethod):
    """Several methods that prune the same parameter, in order; each prunes what the earlier ones left.

    Args:
        args: The methods.

    Raises:
        TypeError: If one is not a pruning method.
        ValueError: If they prune several parameters.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method.

        Raises:
            TypeError: If it is not a pruning method.
            ValueError: If it prunes another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"a PruningContainer expected a BasePruningMethod, got {type(method).__name__}")
        if not self._pruning_methods:
            self._tensor_name = method._tensor_name
        if method._tensor_name != self._tensor_name:
            raise ValueError(f"a PruningContainer expected a method that prunes {self._tensor_name!r}, got one for {method._tensor_name!r}")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far, with the last method's mask of what that leaves; any shape.

        Raises:
            ValueError: If PRUNING_TYPE of the method is unknown.
        """
        method, before = self._pruning_methods[-1], default_mask.to_numpy()
        if method.PRUNING_TYPE == "unstructured":
            part: Any = np.nonzero(before)
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % before.ndim  # type: ignore[attr-defined]
            others = tuple(d for d in range(before.ndim) if d != dim)
            part = (*(slice(None),) * dim, np.nonzero(before.sum(others))[0])
        elif method.PRUNING_TYPE == "global":
            part = ...
        else:
            raise ValueError(f'PRUNING_TYPE expected "unstructured", "structured" or "global", got {method.PRUNING_TYPE!r}')
        after = before.copy()
        after[part] = method.compute_mask(_like(t.to_numpy()[part], t), _like(before[part], default_mask)).to_numpy()
        return _like(after, default_mask)


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask; see `identity`."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far, of any shape."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask, of the shape of the parameter; see `custom_from_mask`."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Both masks, in the shape of t.

        Raises:
            ValueError: If the given mask has another.
        """
        _check_shape("a mask", self.mask, default_mask)
        return default_mask * self.mask.to(default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """Base class of methods that prune a number of elements or channels.

    Args:
        amount: How many: an integer, or a fraction from 0 to 1.

    Raises:
        TypeError: If amount is not a number.
        ValueError: If it is negative, or a fraction above 1.
    """

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"{type(self).__name__} expected amount as an integer or a fraction, got {amount!r}")
        if amount < 0 or (amount > 1 and not isinstance(amount, numbers.Integral)):  # type: ignore[operator]
            raise ValueError(f"{type(self).__name__} expected amount as an integer of at least 0 or a fraction from 0 to 1, got {amount}")
        self.amount: Any = amount

    def _smallest(self, scores: np.ndarray) -> np.ndarray:
        """The positions of as many smallest scores as there are to prune, shape (N,)."""
        number = int(self.amount) if isinstance(self.amount, numbers.Integral) else round(self.amount * scores.size)
        if number > scores.size:
            raise ValueError(f"{type(self).__name__} expected amount of at most {scores.size}, what there is to prune, got {self.amount}")
        return np.argsort(scores, kind="stable")[:number]


class _Unstructured(_ByAmount):
    """Base class of methods that prune single elements."""

    def scores(self, t: np.ndarray) -> np.ndarray:
        """A score for each element of t, shape (N,)."""
        return np.abs(t).reshape(-1)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far without the elements of the smallest scores, any shape."""
        mask = default_mask.to_numpy().copy()
        mask.reshape(-1)[self._smallest(self.scores(t.to_numpy()))] = 0
        return _like(mask, default_mask)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest absolute values; see `l1_unstructured`."""


class RandomUnstructured(_Unstructured):
    """Prunes elements at random; see `random_unstructured`."""

    def scores(self, t: np.ndarray) -> np.ndarray:
        """Random scores, shape (N,)."""
        return generator.random(t.size)


class _Structured(_ByAmount):
    """Base class of methods that prune whole channels.

    Args:
        amount: How many: an integer, or a fraction from 0 to 1.
        dim: The dimension of the channels.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def scores(self, channels: np.ndarray) -> np.ndarray:
        """A score for each channel, shape (N,), of channels (N, elements)."""
        return generator.random(len(channels))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask so far without the channels of the smallest scores, any shape of at least two dimensions.

        Raises:
            ValueError: If there are fewer dimensions.
            IndexError: If there is no dimension dim.
        """
        name, values, mask = type(self).__name__, t.to_numpy(), default_mask.to_numpy().copy()
        if values.ndim < 2:
            raise ValueError(f"{name} expected a parameter of at least two dimensions, got shape {values.shape}; prune its elements")
        if not -values.ndim <= self.dim < values.ndim:
            raise IndexError(f"{name} expected dim from {-values.ndim} to {values.ndim - 1}, got {self.dim}")
        channels = np.moveaxis(values, self.dim, 0)
        np.moveaxis(mask, self.dim, 0)[self._smallest(self.scores(channels.reshape(len(channels), -1)))] = 0
        return _like(mask, default_mask)


class RandomStructured(_Structured):
    """Prunes channels at random; see `random_structured`."""


class LnStructured(_Structured):
    """Prunes the channels of the smallest norms; see `ln_structured`."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = 2 if n == "fro" else n
        if not isinstance(self.n, numbers.Real):
            raise ValueError(f'LnStructured expected n as a number, math.inf or "fro", got {n!r}')

    def scores(self, channels: np.ndarray) -> np.ndarray:
        """The norm of each channel, shape (N,), of channels (N, elements)."""
        return np.linalg.norm(channels, self.n, axis=1)


# Functions


def identity(module: Any, name: str) -> Any:
    """Make the mask of a parameter, of ones, and return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements of a parameter at random, and return the module.

    Args:
        module: The module, which is changed.
        name: Name of the parameter.
        amount: How many of those that are left: an integer, or a fraction from 0 to 1.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Any = None) -> Any:
    """Prune the elements of the smallest absolute values, or scores of any shape, and return the module; see `random_unstructured`."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune channels of a parameter along a dimension at random, and return the module; see `random_unstructured`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels of the smallest norms along a dimension, and return the module; see `random_unstructured`.

    Args:
        module: The module, which is changed.
        name: Name of the parameter.
        amount: How many of the channels that are left: an integer, or a fraction from 0 to 1.
        n: Exponent of the norm: a number, math.inf or "fro".
        dim: The dimension of the channels.
        importance_scores: Scores in the shape of the parameter, in place of its values.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter where a mask, of its shape, is 0, and return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Any, str], Any] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters, compared with each other.

    Args:
        parameters: Modules and names of their parameters.
        pruning_method: A class of methods for single elements, such as `L1Unstructured`.
        importance_scores: Scores by module and name, each in the shape of the parameter, in place of its values.
        kwargs: Arguments of the method.

    Raises:
        TypeError: If the method does not prune single elements, or importance_scores is not a dictionary.
    """
    if not isinstance(importance_scores, Mapping | None):
        raise TypeError(f"global_unstructured expected importance_scores as a dictionary, got {type(importance_scores).__name__}")
    places, method = list(parameters), pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"global_unstructured expected a method that prunes single elements, got {pruning_method.__name__}")
    tensors = [getattr(module, name) for module, name in places]
    given = importance_scores or {}
    scores = [given.get(place, x) for place, x in zip(places, tensors, strict=True)]
    for each, x in zip(scores, tensors, strict=True):
        _check_shape("importance_scores", each, x)
    masks = [getattr(module, f"{name}_mask", None) for module, name in places]
    before = [np.ones(x.numel()) if mask is None else mask.to_numpy().reshape(-1) for x, mask in zip(tensors, masks, strict=True)]
    method._tensor_name = "parameters"
    joined = [_like(np.concatenate(values), tensors[0]) for values in ([x.detach().to_numpy().reshape(-1) for x in scores], before)]
    after = np.split(PruningContainer(method).compute_mask(*joined).to_numpy(), np.cumsum([x.numel() for x in tensors])[:-1])
    for (module, name), x, mask in zip(places, tensors, after, strict=True):
        custom_from_mask(module, name, _like(mask.reshape(tuple(x.shape)), x))


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one, with zeros where its mask is 0, and return the module.

    Raises:
        ValueError: If it is not pruned.
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"{type(module).__name__} has no pruned parameter {name!r} that could be made an ordinary one")
    key, hook = found
    del module._pre_hooks[key]
    hook.remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module or of one of its descendants is pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in vars(part).get("_pre_hooks", {}).values())
