"""Stage 1 - States of optimizers, as they are saved: whether one fits an optimizer, and what it then becomes there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from minitorch.optim.elements import nothing_like

if TYPE_CHECKING:
    from minitorch.module import Parameter
    from minitorch.optim.optimizer import Optimizer

BESIDES = ("initial_lr",)
"""What schedules keep in a group beside its settings."""


def loaded(optimizer: Optimizer, state: Mapping[str, Any]) -> tuple[dict[Parameter, dict[str, Any]], list[dict[str, Any]]]:
    """Memories and groups of an optimizer after `load_state_dict`; it is not changed.

    Raises:
        ValueError: If something in the state does not fit; all that does not is listed.
    """
    name = type(optimizer).__name__
    if not isinstance(state, Mapping) or not {"optimizer", "state", "param_groups"} <= state.keys():
        got = f"one with {', '.join(map(str, state)) or 'nothing'}" if isinstance(state, Mapping) else type(state).__name__
        raise ValueError(f"{name}.load_state_dict expected a state with optimizer, state and param_groups, got {got}; pass a state_dict()")
    if state["optimizer"] != name:
        raise ValueError(f"{name}.load_state_dict expected the state of {name}, got that of {state['optimizer']}; build that optimizer")
    wrong: list[str] = []
    groups = list(_groups(optimizer, state["param_groups"], wrong))
    memories = dict(_memories(optimizer, state["state"], wrong))
    if wrong:
        listed = "".join(f"\n  {line}" for line in wrong)
        raise ValueError(
            f"{name}.load_state_dict expected its own groups and memories, got a state with {len(wrong)} that differ; "
            f"build the optimizer over the parameters that it was saved with:{listed}"
        )
    return memories, groups


def _groups(optimizer: Optimizer, given: Any, wrong: list[str]) -> Iterable[dict[str, Any]]:
    """The groups with the settings of a state; what does not fit is added to wrong."""
    own, first = optimizer.param_groups, 0
    if not isinstance(given, (list, tuple)) or len(given) != len(own):
        wrong.append(f"param_groups: expected {len(own)}, got {len(given) if isinstance(given, (list, tuple)) else given!r}")
        return
    for i, (group, mine) in enumerate(zip(given, own, strict=True)):
        numbers, first = list(range(first, first + len(mine["params"]))), first + len(mine["params"])
        if not isinstance(group, Mapping):
            wrong.append(f"param_groups[{i}]: expected a dictionary, got {group!r}")
            continue
        wrong += [f"param_groups[{i}]: missing {key}" for key in ("params", *optimizer.settings) if key not in group]
        wrong += [f"param_groups[{i}]: unexpected {key}" for key in group if key not in ("params", *optimizer.settings, *BESIDES)]
        if "params" in group and group["params"] != numbers:
            wrong.append(f"param_groups[{i}]: expected params {numbers}, got {group['params']}")
        taken = {"params": mine["params"]}
        for key in (*optimizer.settings, *BESIDES):
            if key in group:
                try:
                    taken[key] = optimizer.settings["lr" if key in BESIDES else key].checked(group[key], f"param_groups[{i}]:")
                except (TypeError, ValueError) as error:
                    wrong.append(str(error))
        yield taken


def _memories(optimizer: Optimizer, given: Any, wrong: list[str]) -> Iterable[tuple[Parameter, dict[str, Any]]]:
    """The memories of a state, as `step` keeps them; what does not fit is added to wrong."""
    parameters = optimizer.parameters
    if not isinstance(given, Mapping):
        wrong.append(f"state: expected a dictionary, got {given!r}")
        return
    for number, memory in given.items():
        digits = str(number)  # JSON makes text of it
        if not digits.isdecimal() or int(digits) >= len(parameters):
            wrong.append(f"state[{number!r}]: expected the number of a parameter, 0 to {len(parameters) - 1}")
            continue
        if not isinstance(memory, Mapping):
            wrong.append(f"state[{digits}]: expected a dictionary, got {memory!r}")
            continue
        wrong += [f"state[{digits}]: missing {name}" for name in optimizer.memories if name not in memory]
        parameter, taken = parameters[int(digits)], {}
        for name, kept in memory.items():
            if name not in (*optimizer.memories, *optimizer.may_remember):
                wrong.append(f"state[{digits}]: unexpected {name}")
            elif problem := _misfit(name, kept, parameter.value):
                wrong.append(f"state[{digits}]: {problem}")
            else:
                taken[name] = _kept(name, kept, parameter.value)
        yield parameter, taken


def _misfit(name: str, kept: Any, value: Any) -> str:
    """What of a memory does not fit its parameter; empty if all does."""
    if name == "step":
        whole = isinstance(kept, int) and not isinstance(kept, bool) and kept > 0
        return "" if whole else f"expected step to be a whole number above 0, got {kept!r}"
    if not hasattr(value, "f"):
        return "" if isinstance(kept, (int, float)) else f"expected {name} to be a number, got {type(kept).__name__}"
    shape = getattr(kept, "shape", None)
    if shape != value.shape:
        return f"expected {name} of shape {value.shape}, got {type(kept).__name__ if shape is None else shape}"
    return "" if kept.dtype.kind not in "iubcOSU" else f"expected {name} of {value.dtype.name}, got {kept.dtype.name}"


def _kept(name: str, kept: Any, value: Any) -> Any:
    """A memory as `step` keeps it: of a tensor a copy, in its dtype and on its backend."""
    if name == "step" or not hasattr(value, "f"):
        return kept
    mine = nothing_like(value)
    mine[...] = kept.to_numpy() if hasattr(kept, "f") else kept
    return mine
