"""Stage 1 - Optimizer: base class of all optimizers, with parameter groups, per-parameter state, and saving."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from minitorch.core.kernel import find_kernel
from minitorch.core.recording import call_python
from minitorch.module import Parameter
from minitorch.optim.arithmetic import is_tensor, state_dtype, zero_state

SCHEDULE_SETTINGS = ("initial_lr", "swa_lr")
"""Entries that learning rate schedules add to a group."""


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


def value_of(parameter: Any) -> Any:
    """The Scalar or Tensor of a parameter; a Tensor that is optimized as it is, is its own."""
    return parameter.value if isinstance(parameter, Parameter) else parameter


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) and not isinstance(x, bool)


def learning_rate(example: float) -> Setting:
    """The setting of a learning rate."""
    return Setting("a learning rate lr >= 0", f"try {example}")


WEIGHT_DECAY = Setting("weight_decay >= 0", "0 leaves it out")


class Optimizer:
    """Base class of optimizers.

    A step overwrites a tensor in place: it stays the same leaf, its gradient is cleared, and a graph that saved the old values
    can no longer be differentiated. A Scalar is replaced by a new one.

    Args:
        parameters: The parameters to update, as from `module.parameters()`; or groups of them: dictionaries with "params" and
            the settings that differ from the defaults.
        defaults: Settings of groups that do not set them.

    Attributes:
        param_groups: One dictionary per group: "params", a list, and every setting. They may be changed between steps.
        state: State of each parameter that has been updated: numbers and tensors owned by the optimizer, at least float32.
        settings: Type and range of each setting of a subclass, by name.
        state_names: Names in the state of every parameter that has been updated.
        optional_state_names: Names that exist only with some settings.

    Raises:
        TypeError: If one is not a Parameter, or a setting has the wrong type.
        ValueError: If there are no parameters, one occurs twice, or a setting is unknown or out of range.
    """

    settings: ClassVar[Mapping[str, Setting]] = {}
    state_names: tuple[str, ...] = ()
    optional_state_names: tuple[str, ...] = ()

    def __init__(self, parameters: Iterable[Parameter] | Iterable[dict[str, Any]], defaults: Mapping[str, Any] | None = None) -> None:
        self.defaults = dict(defaults or {})
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Parameter, dict[str, Any]] = {}
        listed = _as_list(parameters)
        for group in listed if listed and isinstance(listed[0], dict) else [{"params": listed}]:
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
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else _as_list(params)
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
        self.param_groups.append({"params": params, **self._validate_settings({**self.defaults, **param_group})})

    def _validate_settings(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the validated settings of a group."""
        name = type(self).__name__
        unknown = [key for key in group if key not in ("params", *self.settings)]
        if unknown:
            known, others = ", ".join(self.settings) or "none", ", ".join(map(str, unknown))
            raise ValueError(f"{name} expected the settings {known}, got {others} as well")
        settings = {key: setting.validate(group[key], name) for key, setting in self.settings.items()}
        self.check(settings)
        return settings

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if valid settings contradict each other."""

    @property
    def parameters(self) -> list[Parameter]:
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
        lr = self.settings["lr"].validate(lr, type(self).__name__)
        for group in self.param_groups:
            group["lr"] = lr

    # Steps

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters."""
        for parameter in self.parameters:
            for attribute in ("derivative", "grad"):  # of a Scalar, of a Tensor
                if hasattr(parameter.value, attribute):
                    setattr(parameter.value, attribute, None)

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                value = parameter.value
                if getattr(value, "derivative", None) is not None:  # a Scalar
                    state = self._state_of(parameter)
                    parameter.update(type(value)(self.update(value.data, value.derivative, state, group)))
                elif getattr(value, "grad", None) is not None:  # a Tensor
                    value = _writable_tensor(parameter)
                    state = self._state_of(parameter)
                    kernel = find_kernel(type(self).update, value.backend.ops)
                    if kernel is None or not kernel(value, value.grad, state, group):
                        call_python(self.update, (value.detach(), value.grad), state, group)
                    value.grad = None

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
        state = self.state.get(parameter)
        if state is None:
            state = self.state[parameter] = {}
        value = parameter.value
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

        "state" holds each updated parameter's state under the parameter's number, with copies of tensors as NumPy arrays. Each of
        "param_groups" holds the settings, and the numbers of its parameters as "params". JSON can hold all but the arrays.
        """
        numbers = {parameter: number for number, parameter in enumerate(self.parameters)}
        state = {numbers[p]: {name: _to_plain(entry) for name, entry in entries.items()} for p, entries in self.state.items() if entries}
        groups = [{**group, "params": [numbers[p] for p in group["params"]]} for group in self.param_groups]
        return {"optimizer": type(self).__name__, "state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load the `state_dict` of an optimizer of the same class over parameters of the same shapes. After an error, nothing has changed.

        Args:
            state: As returned by `state_dict`, or as read from JSON. Arrays are copied to the parameter's backend and `state_dtype`.

        Raises:
            ValueError: If the state belongs to another class, or does not fit; every mismatch is listed.
        """
        name = type(self).__name__
        if not isinstance(state, Mapping) or not {"optimizer", "state", "param_groups"} <= state.keys():
            got = f"one with {', '.join(map(str, state)) or 'nothing'}" if isinstance(state, Mapping) else type(state).__name__
            raise ValueError(
                f"{name}.load_state_dict expected a state with optimizer, state and param_groups, got {got}; pass a state_dict()"
            )
        if state["optimizer"] != name:
            raise ValueError(f"{name}.load_state_dict expected the state of {name}, got that of {state['optimizer']}; build that optimizer")
        mismatches: list[str] = []
        groups = list(_load_groups(self, state["param_groups"], mismatches))
        states = dict(_load_states(self, state["state"], mismatches))
        if mismatches:
            listed = "".join(f"\n  {line}" for line in mismatches)
            raise ValueError(
                f"{name}.load_state_dict expected its own param_groups and state, got {len(mismatches)} differences; "
                f"build the optimizer over the parameters that it was saved with:{listed}"
            )
        self.state, self.param_groups = states, groups


def _as_list(parameters: Any) -> list[Any]:
    """Parameters, or groups, as a list."""
    if isinstance(parameters, (set, frozenset, Mapping)) or not isinstance(parameters, (Iterable, Iterator)):
        raise TypeError(f"an optimizer expected a list of Parameters, got {type(parameters).__name__}; pass module.parameters()")
    return list(parameters)


def _writable_tensor(parameter: Parameter) -> Any:
    """The tensor of a parameter, first copied if it is read-only or several of its elements share a place in memory."""
    value: Any = parameter.value
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


def _to_plain(entry: Any) -> Any:
    """An entry of a parameter's state as it is saved: a tensor as a NumPy array."""
    return entry.to_numpy() if is_tensor(entry) else entry


def _load_groups(optimizer: Optimizer, saved_groups: Any, mismatches: list[str]) -> Iterable[dict[str, Any]]:
    """The optimizer's groups with the settings of a saved state; what does not fit is added to mismatches."""
    groups, first = optimizer.param_groups, 0
    if not isinstance(saved_groups, (list, tuple)) or len(saved_groups) != len(groups):
        got = len(saved_groups) if isinstance(saved_groups, (list, tuple)) else repr(saved_groups)
        mismatches.append(f"param_groups: expected {len(groups)}, got {got}")
        return
    for i, (saved, group) in enumerate(zip(saved_groups, groups, strict=True)):
        numbers, first = list(range(first, first + len(group["params"]))), first + len(group["params"])
        if not isinstance(saved, Mapping):
            mismatches.append(f"param_groups[{i}]: expected a dictionary, got {saved!r}")
            continue
        mismatches += [f"param_groups[{i}]: missing {key}" for key in ("params", *optimizer.settings) if key not in saved]
        known = ("params", *optimizer.settings, *SCHEDULE_SETTINGS)
        mismatches += [f"param_groups[{i}]: unexpected {key}" for key in saved if key not in known]
        if "params" in saved and saved["params"] != numbers:
            mismatches.append(f"param_groups[{i}]: expected params {numbers}, got {saved['params']}")
        loaded = {"params": group["params"]}
        for key in (*optimizer.settings, *SCHEDULE_SETTINGS):
            if key in saved:
                setting = optimizer.settings["lr" if key in SCHEDULE_SETTINGS else key]
                try:
                    loaded[key] = setting.validate(saved[key], f"param_groups[{i}]:")
                except (TypeError, ValueError) as error:
                    mismatches.append(str(error))
        yield loaded


def _load_states(optimizer: Optimizer, saved_states: Any, mismatches: list[str]) -> Iterable[tuple[Parameter, dict[str, Any]]]:
    """Each parameter with its saved state as `step` needs it; what does not fit is added to mismatches."""
    parameters = optimizer.parameters
    if not isinstance(saved_states, Mapping):
        mismatches.append(f"state: expected a dictionary, got {saved_states!r}")
        return
    for number, saved in saved_states.items():
        digits = str(number)  # JSON turns integer keys into strings
        if not digits.isdecimal() or int(digits) >= len(parameters):
            mismatches.append(f"state[{number!r}]: expected the number of a parameter, 0 to {len(parameters) - 1}")
            continue
        if not isinstance(saved, Mapping):
            mismatches.append(f"state[{digits}]: expected a dictionary, got {saved!r}")
            continue
        mismatches += [f"state[{digits}]: missing {name}" for name in optimizer.state_names if name not in saved]
        parameter, loaded = parameters[int(digits)], {}
        for name, entry in saved.items():
            if name not in (*optimizer.state_names, *optimizer.optional_state_names):
                mismatches.append(f"state[{digits}]: unexpected {name}")
            elif mismatch := _describe_mismatch(name, entry, parameter.value):
                mismatches.append(f"state[{digits}]: {mismatch}")
            else:
                loaded[name] = _load_entry(name, entry, parameter.value)
        yield parameter, loaded


def _describe_mismatch(name: str, entry: Any, value: Any) -> str:
    """Why a saved entry does not fit a parameter's value; empty if it does."""
    if name == "step":
        valid = isinstance(entry, int) and not isinstance(entry, bool) and entry > 0
        return "" if valid else f"expected step to be a whole number above 0, got {entry!r}"
    if not is_tensor(value):
        return "" if isinstance(entry, (int, float)) else f"expected {name} to be a number, got {type(entry).__name__}"
    shape = getattr(entry, "shape", None)
    if shape != value.shape:
        return f"expected {name} of shape {value.shape}, got {type(entry).__name__ if shape is None else shape}"
    return "" if entry.dtype.kind not in "iubcOSU" else f"expected {name} of {value.dtype.name}, got {entry.dtype.name}"


def _load_entry(name: str, entry: Any, value: Any) -> Any:
    """A saved entry as `step` needs it: of a tensor a copy, on the backend of the parameter's value and in `state_dtype`."""
    if name == "step" or not is_tensor(value):
        return entry
    loaded = zero_state(value)
    loaded[...] = entry.to_numpy() if is_tensor(entry) else entry
    return loaded
