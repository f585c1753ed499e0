"""Stage 5 - What a network consists of: a table of its modules with the shapes that come out, their parameters and their work."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch.core.context import no_grad
from minitorch.nn.module import Module, Node, own_buffers, walk
from minitorch.tensor import Tensor, generator, zeros
from minitorch.tensor_ops import SimpleBackend

COLUMNS = (30, 20, 12, 15)
"""Characters of the table's columns, which with the blanks between them make 80."""


@dataclass
class Row:
    """What is told of one module.

    Attributes:
        label: Its dotted name and its class.
        parameters: Elements of its own parameters, without those that a module above has, too.
        calls: How often it was called.
        shape: What came out at the last call.
        flops: Additions and multiplications of all calls, without its children's.
        bytes: Of what came out, if it has no children: else it came from one of them.
    """

    label: str
    parameters: int = 0
    calls: int = 0
    shape: str = "-"
    flops: int = 0
    bytes: int = 0


def summary(model: Node, input_shape: Sequence[int] | Sequence[Sequence[int]], dtype: Any = None) -> str:
    """The modules of a network, one in a line, with what comes out of each when zeros go in, and the totals.

    It is run once, in evaluation and without gradients. Afterwards all is as before: modes, buffers and the random numbers to come.

    Args:
        model: The network.
        input_shape: Of what goes in, with the samples, such as (1, 3, 32, 32); of several inputs a list of shapes.
        dtype: Of what goes in; left out, that of the first parameter. For an Embedding say int64.

    Returns:
        Lines of at most 80 characters, to be printed. FLOPs are what `Module.flops` counts: two for each weight that is multiplied and
        added, and none for modules that do not count theirs.

    Raises:
        TypeError: If the model is no module of tensors, or input_shape is no shape.
        ValueError: If a size is negative.
    """
    if not isinstance(model, Node) or not all(isinstance(parameter.value, Tensor) for parameter in model.parameters()):
        raise TypeError(f"summary expected a module whose parameters are tensors, got {type(model).__name__}; pass the network itself")
    first = next((parameter.value for parameter in model.parameters()), None)
    backend = SimpleBackend if first is None else first.backend
    kind = first.dtype if dtype is None and first is not None else dtype
    inputs = [zeros(shape, backend, dtype=kind) for shape in _shapes(input_shape)]
    rows = _rows(model)
    with _as_before(model), _watched(rows), no_grad():
        model(*inputs)
    return _table([row for _, row in rows], model, inputs)


def _shapes(input_shape: Any) -> list[tuple[int, ...]]:
    """The shape of every input."""
    try:
        if all(isinstance(shape, (tuple, list)) for shape in input_shape) and len(input_shape):
            return [tuple(map(operator.index, shape)) for shape in input_shape]
        return [tuple(map(operator.index, input_shape))]
    except TypeError:
        raise TypeError(f"summary expected the shape of the input, such as (1, 3, 32, 32), got {input_shape!r}") from None


def _rows(model: Node) -> list[tuple[Node, Row]]:
    """A row for every module, in the order of the tree; a parameter counts where it stands first."""
    seen: set[int] = set()
    rows = []
    for name, module in walk(model, "", set()):
        row = Row(f"{name} {type(module).__name__}".strip())
        for parameter in module._parameters.values():
            row.parameters += 0 if id(parameter) in seen else parameter.value.size
            seen.add(id(parameter))
        rows.append((module, row))
    return rows


# The run


@contextmanager
def _as_before(model: Node) -> Iterator[None]:
    """In evaluation; afterwards modes, buffers and random numbers are what they were."""
    modules = [module for _, module in walk(model, "", set())]
    modes = [module.training for module in modules]
    buffers = [(module, name, value, value.to_numpy()) for module in modules for name, value, _ in own_buffers(module)]
    state = generator.bit_generator.state
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for module, name, value, numbers in buffers:
            if value.to_numpy().tobytes() != numbers.tobytes():
                value[...] = numbers
            setattr(module, name, value)
        generator.bit_generator.state = state


@contextmanager
def _watched(rows: list[tuple[Node, Row]]) -> Iterator[None]:
    """Every call of a module is noted in its row; modules of the course's own kind have no hooks and stay unwatched."""
    hooks = [module.register_forward_hook(_note(row)) for module, row in rows if isinstance(module, Module)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _note(row: Row) -> Any:
    """The hook that fills a row."""

    def note(module: Module, args: tuple[Any, ...], output: Any) -> None:
        found = list(_tensors(output))
        row.calls += 1
        row.shape = ", ".join(str(x.shape) for x in found) or "-"
        row.flops += module.flops(args, output)
        row.bytes += 0 if module._modules else sum(_bytes(x) for x in found)

    return note


def _tensors(output: Any) -> Iterator[Tensor]:
    """The tensors in what came out, which may be one, or several in tuples, lists and dictionaries."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, (tuple, list, dict)):
        for each in output.values() if isinstance(output, dict) else output:
            yield from _tensors(each)


def _bytes(x: Tensor) -> int:
    return x.size * x.dtype.itemsize


# The text


def _table(rows: list[Row], model: Node, inputs: list[Tensor]) -> str:
    """The rows, one below the other, and the totals."""
    rule = "-" * (sum(COLUMNS) + len(COLUMNS) - 1)
    lines = [_line("Module", "Output shape", "Parameters", "FLOPs"), rule]
    for row in rows:
        shape = f"{row.calls}× {row.shape}" if row.calls > 1 else row.shape
        lines.append(_line(row.label, shape, f"{row.parameters:,}" if row.parameters else "-", f"{row.flops:,}" if row.flops else "-"))
    values = [parameter.value for parameter in {id(parameter): parameter for parameter in model.parameters()}.values()]
    buffers = [value for _, module in walk(model, "", set()) for _, value, _ in own_buffers(module)]
    trained = sum(value.size for value in values if value.requires_grad)
    parts = {
        "parameters": sum(map(_bytes, values)),
        "buffers": sum(map(_bytes, buffers)),
        "input": sum(map(_bytes, inputs)),
        "outputs": sum(row.bytes for row in rows),
    }
    lines += [
        rule,
        f"Parameters: {sum(row.parameters for row in rows):,}, of which {trained:,} are trained",
        f"FLOPs: {sum(row.flops for row in rows):,}",
        f"Bytes: {', '.join(f'{name} {count:,}' for name, count in parts.items())}",
    ]
    return "\n".join(lines)


def _line(*cells: str) -> str:
    """One line of the table; what is too long for its column loses its middle."""
    fitted = []
    for cell, width in zip(cells, COLUMNS, strict=True):
        if len(cell) > width:
            ahead = (width - 1) // 2
            cell = f"{cell[:ahead]}…{cell[ahead + 1 - width :]}"
        fitted.append(f"{cell:>{width}}" if fitted else f"{cell:<{width}}")
    return " ".join(fitted)
