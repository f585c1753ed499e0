"""What the tests of programs share."""

from pathlib import Path

import pytest


def refusal(program, capsys, *arguments):
    """The error message of a program for invalid arguments: one line, without its name."""
    with pytest.raises(SystemExit) as ended:
        program.main(list(map(str, arguments)))
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    name, _, message = err.rstrip("\n").partition(": ")
    assert name == Path(program.__file__).name
    return message
