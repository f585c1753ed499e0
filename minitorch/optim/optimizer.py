"""Stage 1 - Optimizer: base class of all optimizers, with parameter groups, per-parameter state, and saving."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from minitorch.core.kernel import find_kernel
from minitorch.core.lazy_imports import later_module
from minitorch.core.recording import call_python, clears_gradient
from minitorch.module import Parameter
from minitorch.optim.arithmetic import is_tensor, state_dtype, value_of, with_gradients


class Setting(NamedTuple):
    """Type and range of an optimizer's setting.

    Attributes:
        expected: Description for error messages.
        remedy: Advice for error messages.
        low: Smallest allowed number.
        below: Exclusive upper bound.
        kind: float; bool; or tuple, for two numbers.
    """

    expected: str
    remedy: str
    low: float = 0.0
    below: float = math.inf
    kind: type = float

    def validate(self, value: Any, name: str) -> Any:
        """Return the value as Python floats, or a bool.

        Args:
            value: Any.
            name: Name of the optimizer for error messages.

        Raises:
            TypeError: If the value has the wrong type.
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
    """The setting of a learning rate."""
    return Setting("a learning rate lr >= 0", f"try {example}")


WEIGHT_DECAY = Setting("weight_decay >= 0", "0 leaves it out")


def settings_among(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among the arguments of an optimizer, which are its `locals()`: all but the parameters."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


class Optimizer:
    """Base class of optimizers.

    A step overwrites a tensor in place: it stays the same leaf, and a graph that saved the old values can no longer be
    differentiated. A Scalar is replaced by a new one. The gradient of a Parameter's value is cleared; a Tensor that is optimized
    as it is, such as a parameter of `minitorch.torch.nn`, keeps its gradient until `zero_grad`.

    Arguments that many optimizers share: with maximize, a step ascends; foreach and fused have no effect; capturable and
    differentiable must be False.

    Args:
        params: Parameters or Tensors to update, as from `module.parameters()`; or groups of them: dictionaries with "params" and
            the settings that differ from the defaults.
        defaults: Settings of groups that do not set them.

    Attributes:
        param_groups: One dictionary per group: "params", a list, and every setting. They may be changed between steps.
        state: State of each parameter that has been updated: numbers and tensors owned by the optimizer, at least float32.
        settings: Type and range of settings of a subclass, by name; others are not checked.
        state_names: Names in the state of every parameter that has been updated.
        optional_state_names: Names that exist only with some settings.

    Raises:
        TypeError: If a parameter is not one, or a setting has the wrong type.
        ValueError: If there are no parameters, one occurs twice or was computed from others, or a setting is out of range, infinite or NaN.
        NotImplementedError: If capturable or differentiable is set.
    """

    settings: ClassVar[Mapping[str, Setting]] = {}
    state_names: tuple[str, ...] = ()
    optional_state_names: tuple[str, ...] = ()

    def __init__(self, params: Any, defaults: Mapping[str, Any] | None = None) -> None:
        self.defaults = dict(defaults or {})
        self.param_groups: list[dict[str, Any]] = []
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        listed = _as_list(params)
        if not listed:
            raise ValueError("an optimizer expected at least one parameter, got none; pass module.parameters()")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Args:
            param_group: "params", and the settings that differ from the defaults.

        Raises:
            TypeError: See `Optimizer`.
            ValueError: See `Optimizer`.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(f'an optimizer expected a group such as {{"params": module.parameters(), "lr": 0.1}}, got {param_group!r}')
        given = param_group["params"]
        params = [given] if _is_parameter(given) else [x[1] if isinstance(x, tuple) else x for x in _as_list(given)]
        known = set(map(id, self.parameters))
        for parameter in params:
            if not _is_parameter(parameter):
                raise TypeError(f"an optimizer expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
            if is_tensor(parameter) and parameter.parents:
                raise ValueError("an optimizer expected leaves, got a Tensor that was computed; make it with x.detach().requires_grad_()")
            if id(parameter) in known:
                raise ValueError(
                    f"an optimizer expected every parameter once, got {getattr(parameter, 'name', None) or 'one'} twice; "
                    "list(dict.fromkeys(module.parameters())) has each once"
                )
            known.add(id(parameter))
        self.param_groups.append({"params": params, **self._validate_settings({**self.defaults, **param_group, "params": params})})

    def _validate_settings(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a group, validated."""
        name = type(self).__name__
        settings = {key: value.item() if is_tensor(value) else value for key, value in group.items() if key != "params"}
        for key in ("capturable", "differentiable"):
            if settings.get(key):
                raise NotImplementedError(f"{name} supports {key}=False only, got {settings[key]!r}; leave it out")
        settings |= {key: setting.validate(settings[key], name) for key, setting in self.settings.items()}
        self.check(settings)
        return settings

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if valid settings contradict each other."""

    @property
    def parameters(self) -> list[Any]:
        """The parameters of all groups, in order."""
        return [parameter for group in self.param_groups for parameter in group["params"]]

    @property
    def lr(self) -> float:
        """The learning rate. Assignment sets it for every group.

        Raises:
            RuntimeError: If the groups have different rates.
        """
        rates = sorted({group["lr"] for group in self.param_groups})
        if len(rates) > 1:
            raise RuntimeError(f"{type(self).__name__}.lr expected one rate for all groups, got {rates}; read param_groups[i]['lr']")
        return rates[0]

    @lr.setter
    def lr(self, lr: float) -> None:
        lr = self.settings.get("lr", learning_rate(0.1)).validate(lr, type(self).__name__)
        for group in self.param_groups:
            group["lr"] = lr

    # Steps

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None; those of tensors to zeros if set_to_none is False."""
        for value in map(value_of, self.parameters):
            for attribute in ("derivative", "grad"):  # of a Scalar, of a Tensor
                gradient = getattr(value, attribute, None)
                if set_to_none and is_tensor(value):
                    clears_gradient(value)
                if gradient is not None:
                    setattr(value, attribute, None if set_to_none or not is_tensor(gradient) else gradient.zeros())

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: Computes the loss and its gradients first.

        Returns:
            The closure's loss, or None.
        """
        loss = None if closure is None else with_gradients(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                value = value_of(parameter)
                if getattr(value, "derivative", None) is not None:  # a Scalar
                    gradient = -value.derivative if group.get("maximize") else value.derivative
                    parameter.update(type(value)(self.update(value.data, gradient, self._state_of(parameter), group)))
                elif getattr(value, "grad", None) is not None:  # a Tensor
                    value = _writable_tensor(parameter)
                    gradient = value.f.neg_map(value.grad) if group.get("maximize") else value.grad
                    state = self._state_of(parameter)
                    kernel = find_kernel(type(self).update, value.backend.ops)
                    if kernel is None or not kernel(value, gradient, state, group):
                        call_python(self.update, (value.detach(), gradient), state, group)
                    if value is not parameter:
                        value.grad = None
        return loss

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Compute the new value of a parameter. A tensor is overwritten with it.

        A kernel registered for this function takes the same arguments and returns whether it accepted them.

        Args:
            value: A number, or a tensor without history.
            gradient: The same type; it is not changed.
            state: State of the parameter, empty before its first step; it is updated.
            group: The parameter's group, with its settings.

        Returns:
            The new value.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step of its own; use SGD, or define step(self) in the subclass")

    def _state_of(self, parameter: Parameter) -> dict[str, Any]:
        """The state of a parameter, on its backend and in `state_dtype`; an empty dictionary at first."""
        state, value = self.state[parameter], value_of(parameter)
        for name, entry in state.items():
            if not is_tensor(entry):
                continue
            if entry.shape != value.shape:
                raise ValueError(
                    f"{type(self).__name__} expected a parameter of shape {entry.shape}, as in its last step, got {value.shape}; "
                    "build a new optimizer"
                )
            if entry.backend is not value.backend or entry.dtype is not value.dtype:
                state[name] = entry.to(value.backend).to(state_dtype(value))
        return state

    # Saving and loading

    def state_dict(self) -> dict[str, Any]:
        """Return the state to save: "optimizer", the class's name; "state" and "param_groups" as in PyTorch.

        "state" holds each updated parameter's state under the parameter's number: of tensors copies, and the number of steps as
        a tensor, too. Each of "param_groups" holds the settings, and the numbers of its parameters as "params".
        """
        to_saved = later_module("minitorch.optim.saving", "state_dict").to_saved
        numbers = {id(parameter): number for number, parameter in enumerate(self.parameters)}
        state = {
            numbers[id(p)]: {name: to_saved(name, entry, value_of(p)) for name, entry in entries.items()}
            for p, entries in self.state.items()
            if entries and id(p) in numbers
        }
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"optimizer": type(self).__name__, "state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the `state_dict` of an optimizer of the same class over parameters of the same shapes. After an error, nothing has changed.

        Args:
            state_dict: As returned by `state_dict`, here or in PyTorch, or as read from a file. Tensors and arrays are copied to the
                parameter's backend and `state_dtype`.

        Raises:
            ValueError: If the state belongs to another class, or does not fit; every mismatch is listed.
        """
        name, state = type(self).__name__, state_dict
        if not isinstance(state, Mapping) or not {"state", "param_groups"} <= state.keys():
            got = f"one with {', '.join(map(str, state)) or 'nothing'}" if isinstance(state, Mapping) else type(state).__name__
            raise ValueError(f"{name}.load_state_dict expected a state with state and param_groups, got {got}; pass a state_dict()")
        if state.get("optimizer", name) != name:
            raise ValueError(f"{name}.load_state_dict expected the state of {name}, got that of {state['optimizer']}; build that optimizer")
        saving, mismatches = later_module("minitorch.optim.saving", "load_state_dict"), list[str]()
        groups, parameters = saving.load_groups(self, state["param_groups"], mismatches)
        states = dict(saving.load_states(self, state["state"], parameters, mismatches))
        if mismatches:
            listed = "".join(f"\n  {line}" for line in mismatches)
            raise ValueError(
                f"{name}.load_state_dict expected its own param_groups and state, got {len(mismatches)} differences; "
                f"build the optimizer over the parameters that it was saved with:{listed}"
            )
        self.state, self.param_groups = defaultdict(dict, states), groups

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _is_parameter(x: Any) -> bool:
    return isinstance(x, Parameter) or is_tensor(x)


def _as_list(parameters: Any) -> list[Any]:
    """Parameters, or groups, as a list."""
    if isinstance(parameters, (set, frozenset, Mapping)) or _is_parameter(parameters) or not isinstance(parameters, Iterable):
        raise TypeError(f"an optimizer expected a list of Parameters, got {type(parameters).__name__}; pass module.parameters()")
    return list(parameters)


def _writable_tensor(parameter: Any) -> Any:
    """The tensor of a parameter, first copied if it is read-only or several of its elements share a place in memory."""
    value: Any = value_of(parameter)
    if value is parameter:
        return value
    data = value._tensor
    writable = getattr(getattr(data._storage, "flags", None), "writeable", True)
    if writable and (data.is_contiguous() or _has_distinct_elements(data.shape, data.strides)):
        return value
    gradient = value.grad
    parameter.update(value.f.id_map(value.detach()))
    parameter.value.grad = gradient
    return parameter.value


def _has_distinct_elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two indices of a layout lead to the same position in the storage."""
    last = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride <= last:
                return False
            last += stride * (size - 1)
    return True
