"""The student's functions of Module 4, called with arrays and answered with arrays; what they return is held against what it must be."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from minitorch.tensor import Tensor
from project.lab.cards import WrongResult
from project.lab.explorers.tensor_sandbox import applied, made
from project.lab.typed.arrays import figure

CLOSE = 1e-6


def convolved(image: np.ndarray, weight: np.ndarray, dims: int, reverse: bool) -> np.ndarray:
    """The convolution of one image.

    Args:
        image: Channels, rows, columns.
        weight: Output channels, channels, rows, columns.
        dims: 1 for conv1d, where there is one row.
        reverse: Whether the window is anchored at its other end, as it is on the way back.
    """
    x, w = (image[None], weight) if dims == 2 else (image[None, :, 0], weight[:, :, 0])
    shape = 1, weight.shape[0], *x.shape[2:]
    if reverse:
        from minitorch import fast_conv

        call = f"tensor_conv{dims}d, reversed,"
        out = applied(lambda x, w: fast_conv.convolve(f"conv{dims}d", x, w, shape, reverse=True), call, made(x), made(w))
    else:
        call = f"conv{dims}d(input, weight)"
        out = applied(getattr(minitorch, f"conv{dims}d"), call, made(x), made(w))
    return shaped(out, shape, call).reshape(weight.shape[0], *image.shape[1:])


def tiled(image: np.ndarray, window: tuple[int, int]) -> np.ndarray:
    """The windows of one channel, each as a row."""
    from minitorch.nn.functional import tile

    call, x = f"tile(input, {window})", made(image[None, None])
    answer: Any = tile(x, window)
    rows, columns = image.shape[0] // window[0], image.shape[1] // window[1]
    if not (isinstance(answer, tuple) and len(answer) == 3 and isinstance(answer[0], Tensor)):
        raise WrongResult(f"{call} expected to return (a Tensor, the new height, the new width), got {answer!r:.60}")
    if answer[1:] != (rows, columns):
        raise WrongResult(f"{call} expected to return the new height and width {rows, columns}, got {answer[1:]!r:.60}")
    return shaped(answer[0], (1, 1, rows, columns, window[0] * window[1]), call)[0, 0]


def pooled(kind: str, image: np.ndarray, window: tuple[int, int], grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What becomes of one channel, and the gradient that it gets.

    Args:
        kind: "max" or "average".
        image: Rows and columns.
        window: Rows and columns of a window.
        grad_output: The gradient of the result.
    """
    from minitorch.nn.functional import avgpool2d, maxpool2d

    pool, name = (maxpool2d, "maxpool2d") if kind == "max" else (avgpool2d, "avgpool2d")
    call, x = f"{name}(input, {window})", made(image[None, None], requires_grad=True)
    out = applied(lambda x: pool(x, window), call, x)
    found = shaped(out, (1, 1, *grad_output.shape), call)[0, 0]
    return found, gradient(out, x, grad_output[None, None], call)[0, 0]


def gradient(out: Tensor, x: Tensor, grad_output: np.ndarray, call: str) -> np.ndarray:
    """The gradient that backward leaves in x; zeros if nothing arrives there."""
    out.backward(made(grad_output))
    return np.zeros(tuple(x.shape)) if x.grad is None else shaped(x.grad, tuple(x.shape), f"backward of {call}")


def softened(name: str, logits: np.ndarray, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What softmax or logsoftmax makes of one row, and the gradient that the row gets.

    Args:
        name: "softmax" or "logsoftmax".
        logits: The row.
        grad_output: The gradient of the result.
    """
    from minitorch.nn import functional

    call, x = f"{name}(input, 1)", made(logits[None], requires_grad=True)
    out = applied(lambda x: getattr(functional, name)(x, 1), call, x)
    found = shaped(out, (1, len(logits)), call)[0]
    return found, gradient(out, x, grad_output[None], call)[0]


def dropped(values: np.ndarray, rate: float, seed: int, ignore: bool = False) -> np.ndarray:
    """What dropout leaves of numbers, after `manual_seed(seed)`."""
    from minitorch.nn.functional import dropout

    minitorch.manual_seed(seed)
    call = f"dropout(input, {rate:g}{', ignore=True' if ignore else ''})"
    return shaped(applied(lambda x: dropout(x, rate, ignore), call, made(values)), values.shape, call)


def shaped(out: Tensor, shape: tuple[int, ...], call: str) -> np.ndarray:
    """The numbers of a tensor.

    Raises:
        WrongResult: If it has another shape.
    """
    if tuple(out.shape) != shape:
        raise WrongResult(f"{call} expected to return a tensor of shape {shape}, got {tuple(out.shape)}")
    return out.to_numpy().astype(float)


def wrong_cells(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where they differ by more than rounding."""
    return ~np.isclose(found, expected, rtol=CLOSE, atol=CLOSE)


def complaint(call: str, found: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong, "" if nothing is.

    Args:
        call: Such as "conv2d(input, weight)", for the message.
        found: What it returned.
        expected: What it must return, of the same shape.
    """
    wrong = np.argwhere(wrong_cells(found, expected))
    if not len(wrong):
        return ""
    at = tuple(map(int, wrong[0]))
    count = f"{len(wrong)} of {found.size} elements {'differs' if len(wrong) == 1 else 'differ'}"
    return f"{call} expected {figure(expected[at])} at {list(at)}, got {figure(found[at])} ({count})"
