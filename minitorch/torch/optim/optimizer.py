"""Stage 6 - Optimizer with PyTorch's interface, and the adapter that makes optimizers of the engine's update rules."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from minitorch.core.kernel import find_kernel
from minitorch.core.recording import call_python, call_with
from minitorch.optim.arithmetic import is_tensor, state_dtype
from minitorch.optim.optimizer import Optimizer as Rule
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import tensor
from minitorch.torch.modes import enable_grad
from minitorch.torch.nn.module import zero_gradients
from minitorch.torch.tensor import Tensor, as_torch

Closure = Callable[[], Any]
"""Computes the loss again and its gradients."""


class Optimizer:
    """Base class of optimizers. A subclass passes its defaults to `super().__init__(params, defaults)` and defines `step`.

    Args:
        params: Tensors to update, as from `module.parameters()`; or groups of them: dictionaries with "params" and the settings that
            differ from the defaults.
        defaults: Settings of groups that do not set them.

    Attributes:
        param_groups: One dictionary per group: "params", a list, and every setting. They may be changed between steps.
        state: A dictionary for each parameter.
        defaults: The argument.

    Raises:
        TypeError: If params is a Tensor or a set, or one is not a Tensor.
        ValueError: If there are no parameters, one was computed from others, or one occurs twice.
    """

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        if isinstance(params, (Tensor, set)) or not isinstance(params, Iterable):
            raise TypeError(f"an optimizer expected a list of Tensors or of groups, got {type(params).__name__}; pass module.parameters()")
        self.defaults = dict(defaults)
        self.param_groups: list[dict[str, Any]] = []
        self.state: MutableMapping[Tensor, Any] = defaultdict(dict)
        listed = list(params)
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
        if isinstance(given, set):
            raise TypeError("an optimizer expected parameters in a fixed order, got a set; pass a list")
        params = [given] if isinstance(given, Tensor) else [x[1] if isinstance(x, tuple) else x for x in given]
        known = {id(x) for group in self.param_groups for x in group["params"]}
        for x in params:
            if not isinstance(x, Tensor):
                raise TypeError(f"an optimizer expected Tensors, got {type(x).__name__}; pass module.parameters()")
            if not x.is_leaf:
                raise ValueError("an optimizer expected leaves, got a Tensor that was computed; make it with x.detach().requires_grad_()")
            if id(x) in known:
                raise ValueError("an optimizer expected every parameter once, got one twice; list(dict.fromkeys(parameters)) has each once")
            known.add(id(x))
        settings = {**self.defaults, **param_group, "params": params}
        self.check({name: value for name, value in settings.items() if name != "params"})
        self.param_groups.append({"params": params, **settings})

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if settings are out of range."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or to zeros if set_to_none is False."""
        zero_gradients((x for group in self.param_groups for x in group["params"]), set_to_none)

    def step(self, closure: Closure | None = None) -> Any:
        """Update every parameter that has a gradient; the gradients stay.

        Args:
            closure: Computes the loss and its gradients first.

        Returns:
            The closure's loss, or None.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step; define step(self, closure=None) in the class")

    @staticmethod
    def evaluate(closure: Closure | None) -> Any:
        """The loss of a closure, with gradients recorded; None if there is none."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def state_dict(self) -> dict[str, Any]:
        """The state to save: "state", for the number of each parameter its state; "param_groups", with numbers in place of parameters."""
        numbers = {id(x): i for i, x in enumerate(x for group in self.param_groups for x in group["params"])}
        state = {numbers[id(x)]: plain_state(entries) for x, entries in self.state.items() if entries and id(x) in numbers}
        groups = [{**group, "params": [numbers[id(x)] for x in group["params"]]} for group in self.param_groups]
        return {"state": state, "param_groups": [{**{k: v for k, v in g.items() if k != "params"}, "params": g["params"]} for g in groups]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a `state_dict`, of this library or of PyTorch.

        Raises:
            ValueError: If the groups differ in number or size; nothing is loaded then.
        """
        saved, groups = state_dict["param_groups"], self.param_groups
        if len(saved) != len(groups):
            raise ValueError(f"load_state_dict expected {len(groups)} parameter groups, as the optimizer has, got {len(saved)}")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, groups, strict=True)):
            raise ValueError("load_state_dict expected groups with as many parameters as the optimizer's, got other numbers")
        parameters = {number: x for a, b in zip(saved, groups, strict=True) for number, x in zip(a["params"], b["params"], strict=True)}
        for mine, theirs in zip(groups, saved, strict=True):
            mine.update({name: value for name, value in theirs.items() if name != "params"})
        self.state.clear()
        for number, entries in state_dict["state"].items():
            x = parameters[int(number)]
            for name, value in entries.items():
                self.state[x][name] = load_entry(name, value, x)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


COUNTERS = ("step", "mu_product", "eta", "mu")
"""The numbers in a parameter's state."""


def plain_state(entries: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter's state as it is saved: the number of steps as a tensor, as PyTorch has it."""
    return {
        name: as_torch(tensor(float(value), dtype="float32")) if name in COUNTERS and isinstance(value, (int, float)) else value
        for name, value in entries.items()
    }


def load_entry(name: str, value: Any, parameter: Tensor) -> Any:
    """An entry of a saved state: numbers of steps as numbers, tensors on the device of the parameter."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return int(value) if name == "step" and value is not None else value
    if hasattr(value, "detach") and not isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    array = np.asarray(value.to_numpy() if isinstance(value, Tensor) else value)
    if name in COUNTERS and array.size == 1:
        return int(array.item()) if name == "step" else float(array.item())
    own = parameter
    return as_torch(tensor(array, own.backend, dtype=state_dtype(own) if array.dtype.kind == "f" else array.dtype))


# The adapter


class StateView(MutableMapping[str, Any]):
    """A parameter's state as the engine keeps it, seen as Tensors.

    Attributes:
        engine: The engine's dictionary.
    """

    def __init__(self) -> None:
        self.engine: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return as_torch(self.engine[name])

    def __setitem__(self, name: str, value: Any) -> None:
        self.engine[name] = value

    def __delitem__(self, name: str) -> None:
        del self.engine[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.engine)

    def __len__(self) -> int:
        return len(self.engine)

    def __repr__(self) -> str:
        return repr(dict(self))


class RuleOptimizer(Optimizer):
    """An optimizer whose steps are those of an update rule of the engine.

    Attributes:
        rule: The engine's class, whose `update` computes the step of one parameter.
        counts_steps: Whether the state counts the steps, although the rule does not.
    """

    rule: type[Rule]
    counts_steps = False

    def __init__(self, params: Any, **defaults: Any) -> None:
        for name in ("capturable", "differentiable"):
            if defaults.get(name):
                raise NotImplementedError(f"{type(self).__name__} supports {name}=False only, got {defaults[name]!r}; leave it out")
        if isinstance(defaults["lr"], Tensor):
            defaults["lr"] = defaults["lr"].item()
        super().__init__(params, defaults)
        self.state = defaultdict(StateView)

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if settings are out of range."""
        for name in ("lr", "eps", "weight_decay", "momentum", "rho", "alpha", "momentum_decay", "lr_decay", "initial_accumulator_value"):
            if not settings.get(name, 0) >= 0:
                raise ValueError(f"{type(self).__name__} expected {name} of at least 0, got {settings[name]!r}")
        for number, beta in enumerate(settings.get("betas", ())):
            if not 0 <= beta < 1:
                raise ValueError(f"{type(self).__name__} expected betas from 0 to 1, exclusive, got {beta} as number {number}")
        if settings.get("rho", 0) > 1:
            raise ValueError(f"{type(self).__name__} expected rho of at most 1, got {settings['rho']}")

    def rule_of(self, group: dict[str, Any]) -> type[Rule]:
        """The update rule of a group."""
        return self.rule

    def step(self, closure: Closure | None = None) -> Any:
        """Update every parameter that has a gradient; the gradients stay.

        Args:
            closure: Computes the loss and its gradients first.

        Returns:
            The closure's loss, or None.
        """
        loss = self.evaluate(closure)
        for group in self.param_groups:
            update = self.rule_of(group).update
            for x in group["params"]:
                value = x
                gradient = value.grad
                if gradient is None:
                    continue
                if group.get("maximize"):
                    gradient = gradient.f.neg_map(gradient)
                state = self.state[x].engine
                move_state(state, value)
                if self.counts_steps:
                    call_with(_read, (value._tensor.tuple()[0],), functools.partial(count_step, state))
                kernel = find_kernel(update, value.backend.ops)
                if kernel is None or not kernel(value, gradient, state, group):
                    call_python(functools.partial(update, None), (value.detach(), gradient), state, group)  # type: ignore
        return loss


def count_step(state: dict[str, Any]) -> tuple[()]:
    """Count a step of an update rule that does not; a recorded program does so at every replay."""
    state["step"] = state.get("step", 0) + 1
    return ()


def _read(storage: Any) -> None:
    """Compute nothing: what is launched with a count of steps."""


def move_state(state: dict[str, Any], value: EngineTensor) -> None:
    """Move a parameter's state to its backend, if that has changed."""
    for name, entry in state.items():
        if is_tensor(entry) and (entry.backend is not value.backend or entry.dtype is not state_dtype(value)):
            state[name] = entry.to(value.backend).to(state_dtype(value))
