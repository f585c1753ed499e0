"""The student's functions of Module 4, with NumPy arrays as inputs and outputs, and a check of their results."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from minitorch.tensor import Tensor
from project.lab.cards import WrongResult
from project.lab.explorers.tensor_sandbox import apply, make_tensor
from project.lab.typed.arrays import figure

CLOSE = 1e-6


def convolve(image: np.ndarray, weight: np.ndarray, dims: int, reverse: bool) -> np.ndarray:
    """Return the convolution of one image.

    Args:
        image: Shape (C, H, W).
        weight: Shape (O, C, kh, kw).
        dims: 2 for conv2d, or 1 for conv1d, where H = kh = 1.
        reverse: Whether the window is anchored at its last element, as in the backward pass.
    """
    x, w = (image[None], weight) if dims == 2 else (image[None, :, 0], weight[:, :, 0])
    shape = 1, weight.shape[0], *x.shape[2:]
    if reverse:
        from minitorch import fast_conv

        call = f"tensor_conv{dims}d, reversed,"
        out = apply(lambda x, w: fast_conv.convolve(f"conv{dims}d", x, w, shape, reverse=True), call, make_tensor(x), make_tensor(w))
    else:
        call = f"conv{dims}d(input, weight)"
        out = apply(getattr(minitorch, f"conv{dims}d"), call, make_tensor(x), make_tensor(w))
    return to_numpy(out, shape, call).reshape(weight.shape[0], *image.shape[1:])


def tile(image: np.ndarray, window: tuple[int, int]) -> np.ndarray:
    """Return the windows of one channel, each flattened in the last dimension."""
    from minitorch.nn import functional

    call, x = f"tile(input, {window})", make_tensor(image[None, None])
    answer: Any = functional.tile(x, window)
    rows, columns = image.shape[0] // window[0], image.shape[1] // window[1]
    if not (isinstance(answer, tuple) and len(answer) == 3 and isinstance(answer[0], Tensor)):
        raise WrongResult(f"{call} expected to return (a Tensor, the new height, the new width), got {answer!r:.60}")
    if answer[1:] != (rows, columns):
        raise WrongResult(f"{call} expected to return the new height and width {rows, columns}, got {answer[1:]!r:.60}")
    return to_numpy(answer[0], (1, 1, rows, columns, window[0] * window[1]), call)[0, 0]


def pool(kind: str, image: np.ndarray, window: tuple[int, int], grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pooled channel, and the gradient of the channel.

    Args:
        kind: "max" or "average".
        image: Shape (H, W).
        window: Shape of a window, (kh, kw).
        grad_output: The gradient of the result.
    """
    from minitorch.nn.functional import avgpool2d, maxpool2d

    function, name = (maxpool2d, "maxpool2d") if kind == "max" else (avgpool2d, "avgpool2d")
    call, x = f"{name}(input, {window})", make_tensor(image[None, None], requires_grad=True)
    out = apply(lambda x: function(x, window), call, x)
    found = to_numpy(out, (1, 1, *grad_output.shape), call)[0, 0]
    return found, gradient(out, x, grad_output[None, None], call)[0, 0]


def gradient(out: Tensor, x: Tensor, grad_output: np.ndarray, call: str) -> np.ndarray:
    """Return the gradient of x after `backward`; zeros if it receives none."""
    out.backward(make_tensor(grad_output))
    return np.zeros(tuple(x.shape)) if x.grad is None else to_numpy(x.grad, tuple(x.shape), f"the gradient of the input of {call}")


def softmax(name: str, logits: np.ndarray, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax or logsoftmax of one row, and the gradient of the row.

    Args:
        name: "softmax" or "logsoftmax".
        logits: The row.
        grad_output: The gradient of the result.
    """
    from minitorch.nn import functional

    call, x = f"{name}(input, 1)", make_tensor(logits[None], requires_grad=True)
    out = apply(lambda x: getattr(functional, name)(x, 1), call, x)
    found = to_numpy(out, (1, len(logits)), call)[0]
    return found, gradient(out, x, grad_output[None], call)[0]


def dropout(values: np.ndarray, rate: float, seed: int, ignore: bool = False) -> np.ndarray:
    """Return the result of dropout after `manual_seed(seed)`."""
    from minitorch.nn import functional

    minitorch.manual_seed(seed)
    call = f"dropout(input, {rate:g}{', ignore=True' if ignore else ''})"
    return to_numpy(apply(lambda x: functional.dropout(x, rate, ignore), call, make_tensor(values)), values.shape, call)


def to_numpy(out: Tensor, shape: tuple[int, ...], call: str) -> np.ndarray:
    """Return the elements of a tensor.

    Raises:
        WrongResult: If it does not have this shape.
    """
    if tuple(out.shape) != shape:
        raise WrongResult(f"{call} expected to return a tensor of shape {shape}, got {tuple(out.shape)}")
    return out.to_numpy().astype(float)


def wrong_cells(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return where the results differ by more than rounding errors."""
    return ~np.isclose(found, expected, rtol=CLOSE, atol=CLOSE)


def complaint(call: str, found: np.ndarray, expected: np.ndarray) -> str:
    """Return an error message if a result is wrong, else "".

    Args:
        call: The expression for the message, such as "conv2d(input, weight)".
        found: The result.
        expected: The correct result, in the same shape.
    """
    wrong = np.argwhere(wrong_cells(found, expected))
    if not len(wrong):
        return ""
    at = tuple(map(int, wrong[0]))
    count = f"{len(wrong)} of {found.size} elements {'differs' if len(wrong) == 1 else 'differ'}"
    return f"{call} expected {figure(expected[at])} at {list(at)}, got {figure(found[at])} ({count})"
