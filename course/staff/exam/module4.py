"""Exam questions on Module 4: convolution, pooling, softmax, dropout, networks for images and sentences."""

from __future__ import annotations

import math

import numpy as np

from course.staff.exam.markdown import code, matrix, number, numbers, parts, table
from course.staff.exam.question import COMPUTE, EXPLAIN, MISTAKE, PREDICT, Exercise, Module, Rng, exercise

MODULE = Module(4)


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The course's convolution of one channel in two dimensions: the window begins at its position, and past the edge are zeros."""
    padded = np.pad(x, ((0, w.shape[0] - 1), (0, w.shape[1] - 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape)
    return np.einsum("ijkl,kl->ij", windows, w)


def line(x: list[int], w: list[int]) -> list[int]:
    """`convolve` in one dimension."""
    return convolve(np.array([x]), np.array([w]))[0].tolist()


@MODULE.question("4.1", COMPUTE, 5)
def convolution_1d(rng: Rng) -> Exercise:
    """A convolution in one dimension and its gradients."""
    x, w, g = rng.integers(4, 0, 5), rng.sample(range(1, 6), 3), rng.sample([1, 2, 3, 10], 4)
    out = line(x, w)
    to_x = line(g[::-1], w)[::-1]
    to_w = line(x, g)[:3]
    return exercise(
        [
            f"The input is {numbers(x)}, the weights are {numbers(w)}; one channel each. The window begins at its position, and past the "
            "edge the input counts as 0.",
            parts(
                "Compute the output.",
                f"The gradient of the output is {numbers(g)}. Compute the gradient of the input. Which of the weights meets input 2 in "
                "which outputs?",
                "Compute the gradient of the weights.",
            ),
        ],
        parts(
            numbers(out),
            f"{numbers(to_x)}. Input 2 met weight 0 in output 2, weight 1 in output 1 and weight 2 in output 0: {g[2]} · {w[0]} + {g[1]} "
            f"· {w[1]} + {g[0]} · {w[2]} = {to_x[2]}. This is a window over the gradient that ends at its position.",
            f"{numbers(to_w)}: weight k met the input at position p + k for each output p.",
        ),
        [(2, "the output, with zeros past the edge"), (2, "the gradient of the input"), (1, "the gradient of the weights")],
        {"x": x, "w": w, "g": g},
        {"out": out, "to_x": to_x, "to_w": to_w},
    )


@MODULE.question("4.2", COMPUTE, 4)
def convolution_2d(rng: Rng) -> Exercise:
    """A convolution in two dimensions."""
    x, w = rng.table(3, 3, 0, 5), rng.table(2, 2, -2, 3)
    out = convolve(np.array(x), np.array(w)).tolist()
    return exercise(
        [
            "Compute all nine numbers of the course's convolution of this image",
            matrix(x),
            "with these weights:",
            matrix(w),
            "Which of them would PyTorch's convolution without padding return, and why does the course's choice of the window lose "
            "nothing?",
        ],
        [
            matrix(out),
            "PyTorch returns the four in the upper left 2 × 2 corner, where the window is inside the image. A window that is centered, or "
            "ends at its position, gives the same numbers shifted, and a network learns its weights for either.",
        ],
        [(3, "nine numbers; one point less for each two mistakes"), (1, "the upper left corner; the result is only shifted")],
        {"x": x, "w": w},
        {"out": out},
    )


@MODULE.question("4.1 4.2", MISTAKE, 4)
def unchecked_edge(rng: Rng) -> Exercise:
    """A kernel that reads past the end of a row."""
    first, second, w = rng.integers(4, 1, 5), rng.integers(4, 1, 5), rng.integers(2, 1, 4)
    storage = first + second
    got = [storage[p] * w[0] + storage[p + 1] * w[1] for p in range(4)]
    right = line(first, w)
    body = "for p in range(4):\n    out[p] = 0\n    for k in range(2):\n        out[p] += storage[p + k] * weight[k]"
    return exercise(
        [
            f"Two examples of one channel, shape (2, 1, 4), are stored as {storage}. The weights are {w}. For the first example:",
            code(body),
            parts(
                "What does it return, and what is right? Where does the wrong number come from?",
                "A test compares the means of large outputs. Why might it miss the mistake?",
                "Fix the kernel, and name one thing in its inner loop that costs time.",
            ),
        ],
        parts(
            f"{numbers(got)}; right is {numbers(right)}. At p = 3 the window reaches past the row, and reads the first number of the "
            f"second example, {second[0]}.",
            "Only positions near the edge are wrong, few among many, and the numbers read there are plausible.",
            "`if p + k < 4:` before the addition. `out[p] +=` goes through memory each time; a local variable does not.",
        ),
        [(2, "both results and the origin of the wrong number"), (1, "only the edge is wrong"), (1, "a check of the edge, a local sum")],
        {"storage": storage, "w": w, "body": body},
        {"got": got, "right": right},
    )


@MODULE.question("4.2 4.5", COMPUTE, 4)
def cost(rng: Rng) -> Exercise:
    """Weights and multiplications of a convolution and of a linear layer."""
    side, ins, outs, k = rng.choice([8, 16, 28, 32]), rng.integer(2, 6), rng.choice([8, 16]), rng.choice([3, 5])
    batch = rng.choice([10, 16, 32])
    weights, products = outs * ins * k * k, batch * outs * side**2 * ins * k * k
    linear = (ins * side**2) * (outs * side**2)
    return exercise(
        [
            f"A convolution leads from {ins} to {outs} channels with windows of {k} × {k}; images have {side} × {side} pixels.",
            parts(
                "How many weights does it have, without biases? How many would a linear layer between the same images have?",
                f"How many multiplications does it take for a batch of {batch} images? Count positions past the edge as well.",
                "Convolutions have few weights and much arithmetic, linear layers the reverse. What follows for memory and for time?",
            ),
        ],
        parts(
            f"{outs} · {ins} · {k}² = {weights}; ({ins} · {side}²) · ({outs} · {side}²) = {linear}.",
            f"{batch} · {outs} · {side}² · {ins} · {k}² = {products}",
            "Most of the parameters, and so of the memory for them and for the optimizer, are in the linear layers; most of the time is "
            "spent in the convolutions, since each weight is used at every position of every image.",
        ),
        [(2, "both numbers of weights"), (1, "multiplications"), (1, "parameters in linear layers, time in convolutions")],
        {"side": side, "channels": (ins, outs), "k": k, "batch": batch},
        {"weights": weights, "linear": linear, "products": products},
    )


@MODULE.question("4.3", COMPUTE, 4)
def tiles(rng: Rng) -> Exercise:
    """The shapes on the way from images to windows."""
    batch, channels, kh, kw = rng.integer(2, 5), rng.integer(2, 4), *rng.sample([2, 3, 4], 2)
    rows, columns = rng.sample([5, 6, 7], 2)
    height, width = rows * kh, columns * kw
    cut, order = (batch, channels, rows, kh, columns, kw), (0, 1, 2, 4, 3, 5)
    moved = tuple(cut[dim] for dim in order)
    final = (batch, channels, rows, columns, kh * kw)
    return exercise(
        [
            f"`tile` cuts images of shape ({batch}, {channels}, {height}, {width}) into windows of {kh} × {kw}.",
            parts(
                "Give the shape after the first `view`, the order of `permute`, the shape after it, and that of the result.",
                "Between `permute` and the last `view` stands `contiguous()`. Why?",
                f"Somebody splits the height into ({kh}, {rows}) instead of ({rows}, {kh}). Which rows then share a window?",
            ),
        ],
        parts(
            f"{cut}, order {order}, {moved}, result {final}.",
            "`view` must merge two dimensions whose elements are not side by side; `contiguous` copies them into reading order.",
            f"Every {rows}th row: the {kh} rows i, i + {rows} and so on share a window, instead of {kh} adjacent rows.",
        ),
        [(2, "four shapes and orders"), (1, "view needs reading order"), (1, "rows at a distance, not adjacent ones")],
        {"images": (batch, channels, height, width), "kernel": (kh, kw)},
        {"cut": cut, "order": order, "moved": moved, "final": final},
    )


@MODULE.question("4.3 4.4", COMPUTE, 5)
def pooling(rng: Rng) -> Exercise:
    """Average and maximum pooling with their gradients."""
    numbers_left = rng.shuffle(range(1, 17))
    image = [numbers_left[4 * i : 4 * i + 4] for i in range(4)]
    g = [[4, 8], [12, 16]]
    x = np.array(image)
    blocks = x.reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(2, 2, 4)
    spread = np.kron(np.array(g), np.ones((2, 2), int))
    largest = x == np.kron(blocks.max(2), np.ones((2, 2), int))
    means, maxima = blocks.mean(2).tolist(), blocks.max(2).tolist()
    to_mean, to_max = (spread / 4).astype(int).tolist(), (spread * largest).tolist()
    return exercise(
        [
            "Windows of 2 × 2 pool this image:",
            matrix(image),
            parts(
                "Compute the average and the maximum of each window.",
                f"The gradient {g} arrives. Compute the gradient of the image for both kinds of pooling.",
                "If two numbers of a window are equally large, each gets the whole gradient in the course. Say why no choice here is the "
                "derivative, and when the case is frequent.",
            ),
        ],
        [
            parts(
                f"Averages {means}, maxima {maxima}.",
                f"For the average {to_mean}, for the maximum {to_max}.",
                "Increasing one of two equal numbers increases the maximum, decreasing it does nothing. The two slopes differ, so there is "
                "no derivative. After relu, many windows consist of equal zeros.",
            ),
        ],
        [(2, "averages and maxima"), (2, "both gradients"), (1, "two different slopes; zeros after relu")],
        {"image": image, "g": g},
        {"mean": means, "max": maxima, "to mean": to_mean, "to max": to_max},
    )


@MODULE.question("4.4", COMPUTE, 4)
def softmax(rng: Rng) -> Exercise:
    """Softmax, cross-entropy and its gradient for logarithms of integers."""
    a = rng.sample(range(1, 8), 3)
    label, total = rng.below(3), sum(a)
    gradient = [(n - total * (place == label)) / total for place, n in enumerate(a)]
    shown = [f"{n - total * (place == label)}/{total}" for place, n in enumerate(a)]
    return exercise(
        [
            f"The logits of an example are ln {a[0]}, ln {a[1]} and ln {a[2]}. The right class is number {label}, counted from 0.",
            parts(
                "Give the probabilities as fractions, and the loss as a logarithm.",
                "Give the gradient of the loss with respect to the logits.",
                "100 is added to all three logits. What changes?",
            ),
        ],
        parts(
            f"{', '.join(f'{n}/{total}' for n in a)}; the loss is ln({total}/{a[label]}) = {number(math.log(total / a[label]))}.",
            f"Probability minus label: {', '.join(shown)}.",
            "Nothing: numerator and denominator of softmax both get the factor e^100.",
        ),
        [(2, "probabilities and loss"), (1, "the gradient"), (1, "softmax depends on differences only")],
        {"numbers": a, "label": label},
        {"probabilities": [n / total for n in a], "loss": math.log(total / a[label]), "gradient": gradient},
    )


@MODULE.question("4.4", PREDICT, 4)
def overflow(rng: Rng) -> Exercise:
    """What overflows and underflows in softmax and its logarithm."""
    top, low = rng.integer(8, 15) * 100, rng.integer(8, 15) * 100
    x = np.array([top, top, -low], float)
    shifted = x - x.max()
    logs = (shifted - math.log(np.exp(shifted).sum())).tolist()
    return exercise(
        [
            f"x is {[top, top, -low]} in float64, whose largest number is about e^709.",
            parts(
                "What do `x.exp()` and `x.exp() / x.exp().sum()` return, element by element?",
                "The maximum is subtracted first. Which softmax comes out, and why can nothing overflow now?",
                "What is the logarithm of this softmax, and what does a `logsoftmax` return that never divides? (ln 2 = 0.6931)",
            ),
        ],
        parts(
            "inf, inf, 0, and nan, nan, 0: infinity divided by infinity is not a number.",
            "0.5, 0.5, 0. The largest exponent is 0, so all powers are at most 1, and the sum is at least 1.",
            f"-0.6931, -0.6931 and -inf, since e^-{top + low} is 0 as a float. `logsoftmax` returns {numbers(logs)}: it subtracts the "
            f"maximum and the logarithm of the sum, and the third is -{top + low} - ln 2.",
        ),
        [(1, "inf and nan"), (1, "0.5, 0.5, 0, powers of at most 1"), (2, "-inf, and the finite logarithms")],
        {"x": x.tolist()},
        {"softmax": [0.5, 0.5, 0.0], "logs": logs},
    )


@MODULE.question("4.4", MISTAKE, 3)
def maximum_start(rng: Rng) -> Exercise:
    """A maximum that starts from 0, and tests that do not notice."""
    x = [[-n for n in row] for row in rng.table(1, 3, 1, 9)] + rng.table(1, 3, 1, 9)
    got, right = [max(0, *row) for row in x], [max(row) for row in x]
    return exercise(
        [
            f"`Max.forward` is a reduction. Somebody starts it from 0. x is {x}.",
            parts(
                "What does it return for the maximum along dimension 1, and what is right?",
                "Two property tests: the maximum is one of the elements; no element is larger than the maximum. Inputs are drawn from 0 "
                "to 10. Which of the tests finds the mistake, and which would with inputs from -10 to 10?",
                "From which number must the reduction start?",
            ),
        ],
        parts(
            f"{numbers(got)}; right is {numbers(right)}.",
            "Neither with inputs of at least 0. With negative inputs, the first one: 0 need not be among them. The second never finds it: "
            "a result that is too large satisfies it.",
            "From minus infinity, which no number is below.",
        ),
        [(1, "both results"), (1, "the first test, with negative inputs only"), (1, "minus infinity")],
        {"x": x},
        {"got": got, "right": right},
    )


@MODULE.question("4.4", COMPUTE, 3)
def dropout(rng: Rng) -> Exercise:
    """Expected sums with and without dropout."""
    x, rate = rng.integers(4, 1, 9), rng.choice([0.25, 0.5, 0.75])
    total, kept = sum(x), (1 - rate) ** 4
    return exercise(
        [
            f"Dropout with a rate of {rate} is applied to {numbers(x)}. The course does not rescale.",
            parts(
                "What is the expected sum in training, and what is the sum in use? How likely is it that nothing is dropped?",
                "Which factor do other libraries apply in training, and what does it make equal? Why does the course not use it at a rate "
                "of 1?",
            ),
        ],
        parts(
            f"{number(1 - rate)} · {total} = {number((1 - rate) * total)}, and {total}. {number(1 - rate)}⁴ = {number(kept)}.",
            f"1 / (1 - rate) = {number(1 / (1 - rate))}. The expected sum in training is then {total}, the sum in use. At a rate of 1 the "
            "factor would be 1/0, and the course's tests ask for zeros.",
        ),
        [(2, "both sums and the probability"), (1, "the factor, and the rate of 1")],
        {"x": x, "rate": rate},
        {"expected": (1 - rate) * total, "kept": kept},
    )


@MODULE.question("4.5", COMPUTE, 5)
def network_shapes(rng: Rng) -> Exercise:
    """Shapes and parameters of the network for digits."""
    side, pool = rng.choice([(28, 4), (28, 2), (8, 2), (16, 4), (12, 3), (20, 5)])
    left = side // pool
    row = 8 * left * left
    counts = [1 * 4 * 9 + 4, 4 * 8 * 9 + 8, row * 64 + 64, 64 * 10 + 10]
    shapes = [(16, 4, side, side), (16, 8, side, side), (16, 8, left, left), (16, row), (16, 64), (16, 10)]
    steps = [
        "convolution 1 → 4, 3 × 3",
        "convolution 4 → 8, 3 × 3",
        f"pooling, {pool} × {pool}",
        "one row for each image",
        "linear to 64",
        "linear to 10",
    ]
    parameters = [counts[0], counts[1], 0, 0, counts[2], counts[3]]
    return exercise(
        [
            f"A batch of 16 images of shape (16, 1, {side}, {side}) goes through: {'; '.join(steps)}.",
            parts(
                "Give the shape after each step, and the number of its parameters with biases.",
                "The bias of a convolution has shape (channels, 1, 1). Why not (channels,)?",
                "The logarithm of the softmax ends the network. What is the mean loss of a network that guesses among ten classes? What "
                "do you check first if a run starts at 11?",
            ),
        ],
        [
            parts(
                f"See the table; {sum(counts)} parameters in all.",
                "Shapes are aligned from the right: (channels,) would be paired with the width. With two ones it is paired with the "
                "channels and stretched over all positions.",
                "ln 10 = 2.30. A much larger loss means confident wrong answers: the initial weights or the inputs are too large.",
            ),
            table(["step", "shape", "parameters"], list(zip(steps, shapes, parameters, strict=True))),
        ],
        [
            (3, "shapes and parameters; one point less for each two mistakes"),
            (1, "alignment from the right"),
            (1, "ln 10, and too large weights"),
        ],
        {"side": side, "pool": pool},
        {"shapes": shapes, "parameters": sum(counts)},
    )


LOGS = {
    "a": (
        "loss 2.30, 2.30, 2.30, 2.30; training 10 %, validation 10 %",
        "Nothing is learned: no gradient reaches the parameters, the rate is far too small, or all weights are 0.",
    ),
    "b": (
        "loss 2.30, 0.60, 0.05, 0.01; training 100 %, validation 85 %",
        "Overfitting: the network has memorized its training images. More data or dropout help.",
    ),
    "c": (
        "loss 2.30, 1.90, 6.70, nan; training 10 %, validation 10 %",
        "The steps overshoot: the learning rate is too large. Divide it by ten.",
    ),
    "d": (
        "loss 2.30, 1.40, 0.90, 0.70; training 78 %, validation 82 %",
        "It is still learning, and dropout is on only when training accuracy is measured. Train longer.",
    ),
}


@MODULE.question("4.5", EXPLAIN, 4)
def curves(rng: Rng) -> Exercise:
    """What the logs of training runs say."""
    keys, images = rng.sample(list(LOGS), 3), rng.choice([16, 20, 25])
    return exercise(
        [
            "Losses at four epochs and the last accuracies of three networks for ten classes:",
            parts(*(LOGS[key][0] for key in keys)),
            f"Say for each what is going on and what you would do. Then: accuracy was measured on {images} validation images. How far "
            "apart are two networks that differ in one image, and what is wrong with choosing the best epoch by these images and "
            "reporting its accuracy?",
        ],
        [
            parts(*(LOGS[key][1] for key in keys)),
            f"One image is {number(100 / images)} %, so {images} images cannot distinguish 90 % from 95 %. The best of many epochs on the "
            "same images is partly luck: that set is no longer unseen, and its accuracy too optimistic. Report the accuracy on images "
            "that no choice depended on.",
        ],
        [(3, "one point for each log"), (1, "the size of one image, and the choice by validation images")],
        {"images": images},
        {"percent": 100 / images},
    )
