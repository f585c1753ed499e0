"""Stage 7 - A table of the modules of a network: output shapes, parameters, FLOPs and memory."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minitorch.core.context import no_grad
from minitorch.nn.module import Module, Node, own_buffers, walk
from minitorch.tensor import Tensor, generator, zeros
from minitorch.torch.placement import placement
from minitorch.torch.tensor import as_torch

COLUMNS = (30, 20, 12, 15)
"""Widths of the table's columns; with the separating blanks 80 characters."""


@dataclass
class Row:
    """One row of the table: a module.

    Attributes:
        label: Dotted name and class.
        parameters: Number of elements of its own parameters, except those already counted in an earlier row.
        calls: Number of calls.
        shape: Output shape of the last call.
        flops: Additions and multiplications of all calls, excluding child modules.
        bytes: Size of the outputs if the module has no children; otherwise the children count it.
    """

    label: str
    parameters: int = 0
    calls: int = 0
    shape: str = "-"
    flops: int = 0
    bytes: int = 0


def summary(model: Node, input_shape: Sequence[int] | Sequence[Sequence[int]], dtype: Any = None) -> str:
    """Return a table of the modules of a network, with output shapes, parameters, FLOPs and totals.

    The network runs once on zeros, in evaluation mode and without gradients. Training modes, buffers and the state of the random number
    generator are restored afterwards.

    Args:
        model: The network.
        input_shape: Shape of the input including the batch dimension, such as (1, 3, 32, 32); a list of shapes for several inputs.
        dtype: Dtype of the input; that of the first parameter by default. Pass int64 for an Embedding.

    Returns:
        Lines of at most 80 characters. FLOPs are those of `Module.flops`: two per multiply-add, 0 for modules that do not implement it.

    Raises:
        TypeError: If model is not a Module with Tensor parameters, or input_shape is not a shape.
        ValueError: If a size is negative.
    """
    if not isinstance(model, Node) or not all(isinstance(parameter.value, Tensor) for parameter in model.parameters()):
        raise TypeError(f"summary expected a module whose parameters are tensors, got {type(model).__name__}; pass the network itself")
    first = next((parameter.value for parameter in model.parameters()), None)
    place = placement(*(None, dtype) if first is None else (first.backend, first.dtype if dtype is None else dtype))
    inputs = [as_torch(zeros(shape, **place)) for shape in _shapes(input_shape)]
    rows = _rows(model)
    with _evaluation_mode(model), _record_calls(rows), no_grad():
        model(*inputs)
    return _table([row for _, row in rows], model, inputs)


def _shapes(input_shape: Any) -> list[tuple[int, ...]]:
    """Return the shape of every input."""
    try:
        if all(isinstance(shape, (tuple, list)) for shape in input_shape) and len(input_shape):
            return [tuple(map(operator.index, shape)) for shape in input_shape]
        return [tuple(map(operator.index, input_shape))]
    except TypeError:
        raise TypeError(f"summary expected the shape of the input, such as (1, 3, 32, 32), got {input_shape!r}") from None


def _rows(model: Node) -> list[tuple[Node, Row]]:
    """Return a row for every module, in tree order; a shared parameter is counted once, at its first module."""
    counted: set[int] = set()
    rows = []
    for name, module in walk(model, "", set()):
        row = Row(f"{name} {type(module).__name__}".strip())
        for parameter in module._parameters.values():
            row.parameters += 0 if id(parameter) in counted else parameter.value.numel()
            counted.add(id(parameter))
        rows.append((module, row))
    return rows


# Running the network


@contextmanager
def _evaluation_mode(model: Node) -> Iterator[None]:
    """Switch to evaluation mode, and restore modes, buffers and random state on exit."""
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
        for module, name, value, saved in buffers:
            if value.to_numpy().tobytes() != saved.tobytes():
                value[...] = saved
            setattr(module, name, value)
        generator.bit_generator.state = state


@contextmanager
def _record_calls(rows: list[tuple[Node, Row]]) -> Iterator[None]:
    """Record every call of a module in its row; modules of the course's own class have no hooks and are not recorded."""
    hooks = [module.register_forward_hook(_recording_hook(row)) for module, row in rows if isinstance(module, Module)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _recording_hook(row: Row) -> Any:
    """Return the hook that fills a row."""

    def record(module: Module, args: tuple[Any, ...], output: Any) -> None:
        outputs = list(_tensors(output))
        row.calls += 1
        row.shape = ", ".join(str(tuple(x.shape)) for x in outputs) or "-"
        row.flops += module.flops(args, output)
        row.bytes += 0 if module._modules else sum(_bytes(x) for x in outputs)

    return record


def _tensors(output: Any) -> Iterator[Tensor]:
    """Yield the tensors in an output, which may nest tuples, lists and dictionaries."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, (tuple, list, dict)):
        for each in output.values() if isinstance(output, dict) else output:
            yield from _tensors(each)


def _bytes(x: Tensor) -> int:
    return x.numel() * x.dtype.itemsize


# Formatting


def _table(rows: list[Row], model: Node, inputs: list[Tensor]) -> str:
    """Format the rows and the totals."""
    rule = "-" * (sum(COLUMNS) + len(COLUMNS) - 1)
    lines = [_line("Module", "Output shape", "Parameters", "FLOPs"), rule]
    for row in rows:
        shape = f"{row.calls}× {row.shape}" if row.calls > 1 else row.shape
        lines.append(_line(row.label, shape, f"{row.parameters:,}" if row.parameters else "-", f"{row.flops:,}" if row.flops else "-"))
    values = [parameter.value for parameter in {id(parameter): parameter for parameter in model.parameters()}.values()]
    buffers = [value for _, module in walk(model, "", set()) for _, value, _ in own_buffers(module)]
    trained = sum(value.numel() for value in values if value.requires_grad)
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
    """Format one line of the table; cells that are too long are shortened in the middle."""
    columns = []
    for cell, width in zip(cells, COLUMNS, strict=True):
        if len(cell) > width:
            head = (width - 1) // 2
            cell = f"{cell[:head]}…{cell[head + 1 - width :]}"
        columns.append(f"{cell:>{width}}" if columns else f"{cell:<{width}}")
    return " ".join(columns)
