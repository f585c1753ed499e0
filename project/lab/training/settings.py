"""Settings of training runs: dataclasses that check their fields, define command-line options, and can print the command."""

from __future__ import annotations

import dataclasses
import inspect
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from project.lab.training import command_line

EAGER_HELP = "run every step as it is; a run that is long enough otherwise records the step once, and replays it"
"""The help text of --eager."""


def option(
    default: Any,
    help: str,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declare a field of a setting that is also a command-line option.

    Args:
        default: The value if the option is omitted. Its type determines the allowed values: a string, an integer or a float; None
            allows an integer that may be omitted; False is a flag.
        help: The help text.
        low: The smallest allowed number.
        high: The largest allowed number.
        above: A number that the value must be greater than.
        choices: The allowed names.
    """
    bounds = {"low": low, "high": high, "above": above, "choices": tuple(choices)}
    return dataclasses.field(default=default, metadata={"help": help, **bounds})


@dataclass(frozen=True)
class BaseSetting:
    """All inputs of a training run: the same setting gives the same run, bit for bit, on the same machine.

    A run of small steps that takes more than 20 s is fused at some step, and from then on the same up to rounding, unless it is eager.

    A subclass declares its fields with `option`.

    Attributes:
        program: The file in project/ that trains, without .py.

    Raises:
        ValueError: If a value is not allowed; the message is one line that names the allowed values.
    """

    program: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in options_of(self):
            value = getattr(self, field.name)
            if not _allowed(value, field.default, **field.metadata):
                raise ValueError(f"{field.name} expected {_expected(field.default, **field.metadata)}, got {value!r}")

    def command(self) -> str:
        """The command line that repeats the run."""
        return f"python project/{self.program}.py {' '.join(self.flags())}"

    def flags(self) -> list[str]:
        """The options of that command line."""
        values = {field.name: getattr(self, field.name) for field in options_of(self)}
        given = {name: value for name, value in values.items() if value is not None and value is not False and value != ""}
        words = [[f"--{name.replace('_', '-')}", *([] if value is True else [shlex.quote(str(value))])] for name, value in given.items()]
        return [word for pair in words for word in pair]


def options_of(setting: BaseSetting) -> list[dataclasses.Field[Any]]:
    """The fields of a setting that are options."""
    return [field for field in dataclasses.fields(setting) if field.metadata]


def with_setting(default: BaseSetting, command: Callable[..., int]) -> Callable[..., int]:
    """Return a command that has an option for each field of a setting, in addition to its own parameters.

    Args:
        default: The setting whose values the help shows as defaults.
        command: Its first argument is a dict of the fields given on the command line; its other parameters are options, annotated
            for typer.
    """
    options = [_option(field, getattr(default, field.name)) for field in options_of(default)]

    def merged(**values: Any) -> int:
        fields = {option.name: values.pop(option.name) for option in options}
        return command({name: value for name, value in fields.items() if value is not None}, **values)

    _, *others = inspect.signature(command, eval_str=True).parameters.values()
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
    merged.__signature__ = inspect.Signature([*options, *keyword_only])  # type: ignore[attr-defined]  # typer reads it
    return merged


def _option(field: dataclasses.Field[Any], default: Any) -> inspect.Parameter:
    """Return the option of a field; its value is None if the command line does not give it."""
    name, choices = f"--{field.name.replace('_', '-')}", field.metadata["choices"]
    if default is False:
        flag = typer.Option(name, help=field.metadata["help"])
        return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[bool | None, flag])
    if isinstance(default, str):
        parser, metavar = _one_of(choices), "NAME"
    else:
        parser, metavar = (command_line.decimal, "X") if isinstance(default, float) else (command_line.number, "N")
    shown = False if default in (None, "") else str(default)
    info = typer.Option(name, parser=parser, metavar=metavar, help=field.metadata["help"], show_default=shown)
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Any, info])


def _one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Return a parser that matches names and ignores case. It returns other text unchanged, for the setting to reject."""
    return lambda text: next((choice for choice in choices if choice.lower() == text.lower()), text)


def _allowed(value: Any, default: Any, low: Any, high: Any, above: Any, choices: Sequence[str], help: str) -> bool:
    """Whether a field may have this value."""
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, str):
        return isinstance(value, str) and (not choices or value in choices)
    if value is None:
        return default is None
    if isinstance(value, bool) or not isinstance(value, (int, float) if isinstance(default, float) else int):
        return False
    too_small = (low is not None and value < low) or (above is not None and value <= above)
    return math.isfinite(value) and not too_small and (high is None or value <= high)


def _expected(default: Any, low: Any, high: Any, above: Any, choices: Sequence[str], help: str) -> str:
    """Describe the allowed values of a field."""
    if isinstance(default, bool):
        return "True or False"
    if isinstance(default, str):
        return f"one of {', '.join(choices)}" if choices else "a name"
    kind = "a number" if isinstance(default, float) else "a whole number"
    bounds = {"above": above, "from": low, "to" if low is not None else "up to": high}
    words = [f"{word} {bound}" for word, bound in bounds.items() if bound is not None]
    example = f", such as {default}" if isinstance(default, float) else ""
    return " ".join([kind, *words]) + example
