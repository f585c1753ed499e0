"""Stage 2 - Errors of two classes: the precise one, and the one that PyTorch raises, so that a program can catch either."""


class ArgumentError(ValueError, RuntimeError):
    """An argument whose value or shape is invalid."""


class DtypeError(TypeError, RuntimeError):
    """An argument whose dtype is invalid."""


class IndexTypeError(TypeError, IndexError):
    """An index of a type that cannot be one."""
