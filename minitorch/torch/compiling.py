"""Stage 6 - torch.compile."""

from __future__ import annotations

from typing import Any


def compile(model: Any = None, **options: Any) -> Any:
    """Not supported for functions of `torch` Tensors.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError(
        "torch.compile is not supported here; leave it out, or write the step with minitorch's own tensors and use minitorch.compile"
    )
