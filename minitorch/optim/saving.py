"""Stage 4 - States of optimizers as they are saved and loaded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from minitorch.optim.arithmetic import is_tensor, value_of, zero_state

NUMBERS = ("step", "mu_product", "eta", "mu")
"""Numbers in the state of a parameter."""


def to_saved(name: str, entry: Any, value: Any) -> Any:
    """An entry of a parameter's state as it is saved: `NUMBERS` of a tensor as tensors without dimensions, as in PyTorch."""
    if is_tensor(entry):
        return entry.detach().clone()
    is_number = name in NUMBERS and isinstance(entry, (int, float)) and is_tensor(value)
    return value.zeros((), dtype="float32" if name == "step" else "float64") + entry if is_number else entry


def load_groups(optimizer: Any, saved_groups: Any, mismatches: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The groups with saved settings, and the parameters by their saved numbers; what does not fit is added to mismatches."""
    groups, loaded, parameters = optimizer.param_groups, [], {}
    if not isinstance(saved_groups, (list, tuple)) or len(saved_groups) != len(groups):
        got = len(saved_groups) if isinstance(saved_groups, (list, tuple)) else repr(saved_groups)
        mismatches.append(f"param_groups: expected {len(groups)}, got {got}")
        return loaded, parameters
    for i, (saved, group) in enumerate(zip(saved_groups, groups, strict=True)):
        if not isinstance(saved, Mapping):
            mismatches.append(f"param_groups[{i}]: expected a dictionary, got {saved!r}")
            continue
        mismatches += [f"param_groups[{i}]: missing {key}" for key in ("params", *optimizer.settings) if key not in saved]
        numbers = saved.get("params", ())
        if len(numbers) != len(group["params"]):
            mismatches.append(f"param_groups[{i}]: expected {len(group['params'])} params, got {len(numbers)}")
        parameters |= {str(number): parameter for number, parameter in zip(numbers, group["params"], strict=False)}
        loaded.append({**group, **saved, "params": group["params"]})
        checked = [*optimizer.settings, *(["initial_lr"] if "lr" in optimizer.settings else [])]
        for key in [key for key in checked if key in saved]:
            try:
                setting = optimizer.settings["lr" if key == "initial_lr" else key]
                loaded[-1][key] = setting.validate(saved[key], f"param_groups[{i}]:")
            except (TypeError, ValueError) as error:
                mismatches.append(str(error))
    return loaded, parameters


def load_states(
    optimizer: Any, saved_states: Any, parameters: Mapping[str, Any], mismatches: list[str]
) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Each parameter with its saved state as `step` needs it; what does not fit is added to mismatches."""
    if not isinstance(saved_states, Mapping):
        mismatches.append(f"state: expected a dictionary, got {saved_states!r}")
        return
    known = (*optimizer.state_names, *optimizer.optional_state_names)
    for number, saved in saved_states.items():  # JSON turns integer keys into strings
        if str(number) not in parameters:
            mismatches.append(f"state[{number!r}]: expected the number of a parameter, 0 to {len(parameters) - 1}")
            continue
        if not isinstance(saved, Mapping):
            mismatches.append(f"state[{number}]: expected a dictionary, got {saved!r}")
            continue
        mismatches += [f"state[{number}]: missing {name}" for name in optimizer.state_names if name not in saved]
        value, loaded = value_of(parameters[str(number)]), {}
        for name, entry in saved.items():
            if entry is None:
                continue
            if known and name not in known:
                mismatches.append(f"state[{number}]: unexpected {name}")
            elif name in NUMBERS:
                saved_number = _to_number(entry)
                if math.isnan(saved_number) or (name == "step" and (saved_number < bool(known) or saved_number % 1)):
                    kind = "whole number above 0" if name == "step" else "number"
                    mismatches.append(f"state[{number}]: expected {name} to be a {kind}, got {entry!r}")
                else:
                    loaded[name] = int(saved_number) if name == "step" else saved_number
            elif not known:  # a user's own optimizer
                fits = is_tensor(value) and hasattr(entry, "shape") and tuple(entry.shape) == tuple(value.shape)
                loaded[name] = _load_entry(entry, value) if fits else entry
            elif mismatch := _describe_mismatch(name, entry, value):
                mismatches.append(f"state[{number}]: {mismatch}")
            else:
                loaded[name] = _load_entry(entry, value)
        yield parameters[str(number)], loaded


def _to_number(entry: Any) -> float:
    """A number, which a tensor or an array of one element may hold; NaN for anything else."""
    try:
        return math.nan if isinstance(entry, (bool, str)) else float(entry)
    except (TypeError, ValueError, RuntimeError):
        return math.nan


def _describe_mismatch(name: str, entry: Any, value: Any) -> str:
    """Why a saved entry does not fit a parameter's value; empty if it does."""
    if not is_tensor(value):
        return "" if isinstance(entry, (int, float)) else f"expected {name} to be a number, got {type(entry).__name__}"
    shape = getattr(entry, "shape", None)
    if shape is None or tuple(shape) != tuple(value.shape):
        return f"expected {name} of shape {tuple(value.shape)}, got {type(entry).__name__ if shape is None else tuple(shape)}"
    integers = getattr(entry.dtype, "kind", "f") in "iubcOSU"
    return f"expected {name} of {value.dtype.name}, got {entry.dtype.name}" if integers else ""


def _load_entry(entry: Any, value: Any) -> Any:
    """A saved entry as `step` needs it: of a tensor a copy, on the backend of the parameter's value and in `state_dtype`."""
    if not is_tensor(value):
        return entry
    loaded = zero_state(value)
    array = entry.detach().cpu().numpy() if hasattr(entry, "detach") and not is_tensor(entry) else entry  # PyTorch's
    loaded[...] = array.to_numpy() if is_tensor(array) else array
    return loaded
