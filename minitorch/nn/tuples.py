"""Stage 7 - Sizes as tuples, and prefixes of state dicts: what programs import from torch.nn.modules.utils."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple: of a single value, n times this; of several, these."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1))


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The values from the last to the first, each n times: the padding of a convolution in the order of `F.pad`."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Sizes of an output, where those of the input, the last in `defaults`, replace None.

    Raises:
        ValueError: If the input has no more sizes than the output.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(
            f"expected an input of at least {len(out_size) + 1} dimensions for {len(out_size)} output sizes, got {len(defaults)}"
        )
    return [own if size is None else size for size, own in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the names of a state dict, such as the "module." of a network in `DataParallel`.

    Args:
        state_dict: The state dict, which is changed.
        prefix: The prefix; names without it stay as they are.
    """
    for name in list(state_dict):
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
