"""Stage 1 - What all optimizers share: groups of parameters with settings, memories, steps, and a state to save."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from minitorch.module import Parameter
from minitorch.optim.elements import kept_as

IN_ONE_PASS: dict[Callable[..., Any], Callable[..., bool]] = {}
"""For an optimizer's `moved`, what does the same to a tensor in one pass and returns whether it could; a later module enters it here."""


class Setting(NamedTuple):
    """What a setting may be.

    Attributes:
        expected: In words.
        remedy: What to do instead.
        low: The least that a number may be.
        below: What it must be below.
        kind: float; bool; or tuple, for two numbers.
    """

    expected: str
    remedy: str
    low: float = 0.0
    below: float = math.inf
    kind: type = float

    def checked(self, value: Any, name: str) -> Any:
        """The value as Python's own numbers.

        Args:
            value: Any.
            name: Of the optimizer, for messages.

        Raises:
            TypeError: If it is of another kind.
            ValueError: If it is out of range, infinite or NaN.
        """
        numbers = list(value) if self.kind is tuple and isinstance(value, (tuple, list)) else [value]
        fits = isinstance(value, bool) if self.kind is bool else all(map(_is_number, numbers))
        if not fits or (self.kind is tuple and not isinstance(value, (tuple, list))):
            raise TypeError(f"{name} expected {self.expected}, got {value!r}; {self.remedy}")
        if self.kind is bool:
            return value
        numbers = [float(number) for number in numbers]
        if not all(self.low <= number < self.below for number in numbers) or len(numbers) != (2 if self.kind is tuple else 1):
            raise ValueError(f"{name} expected {self.expected}, got {value}; {self.remedy}")
        return tuple(numbers) if self.kind is tuple else numbers[0]


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) and not isinstance(x, bool)


def learning_rate(example: float) -> Setting:
    """What a learning rate may be."""
    return Setting("a learning rate lr >= 0", f"try {example}")


WEIGHT_DECAY = Setting("weight_decay >= 0", "0 leaves it out")


class Optimizer:
    """What all optimizers share: the parameters they move, and what they remember from step to step.

    A step writes a tensor's new numbers over the old ones: the tensor stays the same leaf, its gradient is empty, and what was computed
    from the old numbers can no more be differentiated where it needs them. A Scalar, which is one number, gives way to a new one.

    Args:
        parameters: The parameters, as `module.parameters()` gives them; or groups of them, dictionaries with "params" and settings that
            differ from the others'.
        defaults: Settings of the groups that have none of their own.

    Attributes:
        param_groups: A dictionary for each group: "params", a list, and every setting. They may be changed between steps.
        state: What is remembered for each parameter that has moved: numbers, and tensors that nobody else holds; for dtypes narrower than
            float32 in that.
        settings: What a subclass's settings may be, by their names.
        memories: Names of what it remembers for every parameter that has moved.
        may_remember: Names of what it remembers with some settings.

    Raises:
        TypeError: If one is not a Parameter, or a setting is of another kind.
        ValueError: If there are none, one comes twice, or a setting is unknown or out of range.
    """

    settings: ClassVar[Mapping[str, Setting]] = {}
    memories: tuple[str, ...] = ()
    may_remember: tuple[str, ...] = ()

    def __init__(self, parameters: Iterable[Parameter] | Iterable[dict[str, Any]], defaults: Mapping[str, Any] | None = None) -> None:
        self.defaults = dict(defaults or {})
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Parameter, dict[str, Any]] = {}
        given = _in_order(parameters)
        for group in given if given and isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Move more parameters from now on.

        Args:
            param_group: "params", and settings that differ from the optimizer's.

        Raises:
            TypeError: As for the optimizer.
            ValueError: As for the optimizer.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(f'an optimizer expected a group such as {{"params": module.parameters(), "lr": 0.1}}, got {param_group!r}')
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else _in_order(params)
        if not params:
            raise ValueError("an optimizer expected at least one parameter, got none; pass module.parameters()")
        known = set(map(id, self.parameters))
        for parameter in params:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"an optimizer expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
            if id(parameter) in known:
                raise ValueError(
                    f"an optimizer expected every parameter once, got {parameter.name or 'one'} twice; "
                    "list(dict.fromkeys(module.parameters())) has each once"
                )
            known.add(id(parameter))
        self.param_groups.append({"params": params, **self._checked({**self.defaults, **param_group})})

    def _checked(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a group."""
        name = type(self).__name__
        unknown = [key for key in group if key not in ("params", *self.settings)]
        if unknown:
            known, others = ", ".join(self.settings) or "none", ", ".join(map(str, unknown))
            raise ValueError(f"{name} expected the settings {known}, got {others} as well")
        checked = {key: setting.checked(group[key], name) for key, setting in self.settings.items()}
        self.check(checked)
        return checked

    def check(self, settings: dict[str, Any]) -> None:
        """That settings fit each other; raises ValueError if not. Each by itself is right."""

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters of all groups, in order."""
        return [parameter for group in self.param_groups for parameter in group["params"]]

    @property
    def lr(self) -> float:
        """The learning rate. Setting it sets that of every group.

        Raises:
            RuntimeError: If groups have several.
        """
        rates = sorted({group["lr"] for group in self.param_groups})
        if len(rates) > 1:
            raise RuntimeError(f"{type(self).__name__}.lr expected one rate for all groups, got {rates}; read param_groups[i]['lr']")
        return rates[0]

    @lr.setter
    def lr(self, lr: float) -> None:
        lr = self.settings["lr"].checked(lr, type(self).__name__)
        for group in self.param_groups:
            group["lr"] = lr

    # Steps

    def zero_grad(self) -> None:
        """Forget the derivatives that have been gathered."""
        for parameter in self.parameters:
            for kept in ("derivative", "grad"):
                if hasattr(parameter.value, kept):
                    setattr(parameter.value, kept, None)

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        in_one_pass = IN_ONE_PASS.get(type(self).moved)
        for group in self.param_groups:
            for parameter in group["params"]:
                value = parameter.value
                if getattr(value, "derivative", None) is not None:  # a Scalar
                    memory = self._memory(parameter)
                    parameter.update(type(value)(self.moved(value.data, value.derivative, memory, group)))
                elif getattr(value, "grad", None) is not None:  # a Tensor
                    value = _in_a_place_of_its_own(parameter)
                    memory = self._memory(parameter)
                    if in_one_pass is None or not in_one_pass(value, value.grad, memory, group):
                        self.moved(value.detach(), value.grad, memory, group)
                    value.grad = None

    def moved(self, value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
        """What a parameter becomes. A number is returned, a tensor also written over value.

        Args:
            value: A number, or a tensor that records nothing.
            derivative: Likewise; it is not changed.
            memory: What is remembered for the parameter, empty before its first step; it is brought up to date.
            settings: Of its group.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step of its own; use SGD, or define step(self) in the subclass")

    def _memory(self, parameter: Parameter) -> dict[str, Any]:
        """What is remembered for a parameter, on its backend and in the dtype that suits its own; a new dictionary at first."""
        memory = self.state.get(parameter)
        if memory is None:
            memory = self.state[parameter] = {}
        value = parameter.value
        for name, kept in memory.items():
            if not hasattr(kept, "f"):
                continue
            if kept.shape != value.shape:
                raise ValueError(
                    f"{type(self).__name__} expected a parameter of shape {kept.shape}, as when it was moved last, got {value.shape}; "
                    "build a new optimizer"
                )
            if kept.backend is not value.backend or kept.dtype is not value.dtype:
                memory[name] = kept.to(value.backend).to(kept_as(value))
        return memory

    # Saving and going on

    def state_dict(self) -> dict[str, Any]:
        """What to save so that another optimizer of this kind can go on: "optimizer", its name; "state" and "param_groups" as in PyTorch.

        "state" holds the memories of each parameter that has moved under its number, tensors as arrays, which are copies; each of
        "param_groups" holds the settings, and the numbers of its parameters as "params". All but the arrays is what JSON can hold.
        """
        numbers = {parameter: number for number, parameter in enumerate(self.parameters)}
        state = {numbers[p]: {name: _as_plain(kept) for name, kept in memory.items()} for p, memory in self.state.items() if memory}
        groups = [{**group, "params": [numbers[p] for p in group["params"]]} for group in self.param_groups]
        return {"optimizer": type(self).__name__, "state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the `state_dict` of an optimizer of this kind over parameters of these shapes. Without an error all of it is taken.

        Args:
            state: As `state_dict` gives it, or as it comes out of JSON. Arrays are copied to the parameter's backend, in its dtype.

        Raises:
            ValueError: If it is that of another optimizer, or something in it does not fit; all that does not is listed.
        """
        from minitorch.optim.states import loaded

        self.state, self.param_groups = loaded(self, state)


def _in_order(parameters: Any) -> list[Any]:
    """What was given for parameters, as a list."""
    if isinstance(parameters, (set, frozenset, Mapping)) or not isinstance(parameters, (Iterable, Iterator)):
        raise TypeError(f"an optimizer expected a list of Parameters, got {type(parameters).__name__}; pass module.parameters()")
    return list(parameters)


def _as_plain(kept: Any) -> Any:
    """A memory as it is saved."""
    return kept.to_numpy() if hasattr(kept, "f") else kept


def _in_a_place_of_its_own(parameter: Parameter) -> Any:
    """The tensor of a parameter, whose elements can be written each for itself; an expanded or read-only one is first copied."""
    value: Any = parameter.value
    data = value._tensor
    writable = getattr(getattr(data._storage, "flags", None), "writeable", True)
    if writable and (data.is_contiguous() or _apart(data.shape, data.strides)):
        return value
    gradient = value.grad
    parameter.update(value.f.id_map(value.detach()))
    parameter.value.grad = gradient
    return parameter.value


def _apart(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether every element of a layout has a place of its own."""
    reach = 0
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if length > 1:
            if stride <= reach:
                return False
            reach += stride * (length - 1)
    return True
