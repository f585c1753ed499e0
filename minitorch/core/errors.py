"""Stage 2 - Errors of two classes: the precise one, and the one that PyTorch raises, so that a program can catch either."""


class ArgumentError(ValueError, RuntimeError):
    """An argument whose value or shape is invalid. PyTorch raises RuntimeError for it."""


class RangeError(ArgumentError, OverflowError):
    """A number that a dtype cannot represent. PyTorch raises RuntimeError for it."""


class DtypeError(TypeError, NotImplementedError):
    """An argument whose dtype is invalid. PyTorch raises RuntimeError or NotImplementedError for it."""


class DimensionError(ArgumentError, IndexError):
    """A dimension that does not exist, or whose size is invalid."""


class EmptyError(DimensionError):
    """A reduction of no elements that has no result. PyTorch raises RuntimeError, or IndexError if it would return an index."""


class IndexTypeError(DtypeError, IndexError):
    """An index of a type that cannot be one."""


class DivisionError(ZeroDivisionError, RuntimeError):
    """A division of integers by 0. PyTorch raises RuntimeError for it."""


class LinAlgError(ArgumentError):
    """A matrix of less than full rank, or one that is not positive definite."""


class ElementError(TypeError, ArgumentError):
    """Data that is not numbers. PyTorch raises TypeError, RuntimeError or ValueError for it."""
