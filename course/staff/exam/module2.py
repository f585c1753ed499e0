"""Exam questions on Module 2: strides, views, broadcasting, map and reduce, gradients of whole tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from course.staff.exam.markdown import code, matrix, numbers, parts, table
from course.staff.exam.question import COMPUTE, EXPLAIN, MISTAKE, Exercise, Module, Rng, exercise

MODULE = Module(2)

Shape = tuple[int, ...]


def strides_of(shape: Shape) -> Shape:
    """The strides of a contiguous array, from NumPy."""
    return tuple(stride // 8 for stride in np.empty(shape, np.float64).strides)


@MODULE.question("2.1", COMPUTE, 4)
def positions(rng: Rng) -> Exercise:
    """Strides, positions and ordinals of a contiguous tensor."""
    shape = tuple(rng.sample([2, 3, 4, 5], 3))
    index = tuple(rng.integer(1, size - 1) for size in shape)
    ordinal = rng.integer(math.prod(shape) // 2, math.prod(shape) - 2)
    strides, position = strides_of(shape), int(np.ravel_multi_index(index, shape))
    at = tuple(int(i) for i in np.unravel_index(ordinal, shape))
    lines, left = [], ordinal
    for dim in (2, 1, 0):
        lines.append([dim, shape[dim], f"{left} = {left // shape[dim]} · {shape[dim]} + {left % shape[dim]}", left % shape[dim]])
        left //= shape[dim]
    return exercise(
        [
            f"A contiguous tensor has shape {shape} and offset 0.",
            parts(
                "Give its strides.",
                f"At which position in storage is the element at index {index}?",
                f"What is the index of the element with ordinal {ordinal}? Show the divisions.",
            ),
        ],
        [
            parts(
                f"{strides}: each stride is the product of the sizes to its right.",
                f"{' + '.join(f'{i} · {s}' for i, s in zip(index, strides, strict=True))} = {position}",
                f"{at}, from the last dimension to the first:",
            ),
            table(["dimension", "size", "division", "index there"], lines),
        ],
        [(1, "the strides"), (1, "the position"), (2, "the index, by remainders from the last dimension")],
        {"shape": shape, "index": index, "ordinal": ordinal},
        {"strides": strides, "position": position, "at": at},
    )


@MODULE.question("2.1 2.4", COMPUTE, 5)
def permuted(rng: Rng) -> Exercise:
    """Shape, strides and the inverse of a permutation."""
    shape, order = tuple(rng.sample([2, 3, 4, 5], 3)), rng.choice([(2, 0, 1), (1, 2, 0)])
    view = np.arange(math.prod(shape), dtype=np.float64).reshape(shape).transpose(order)
    index = tuple(rng.integer(1, size - 1) for size in view.shape)
    new, strides = view.shape, tuple(stride // 8 for stride in view.strides)
    position, inverse = int(view[index]), tuple(int(i) for i in np.argsort(order))
    return exercise(
        [
            f"a is contiguous with shape {shape}, and b = a.permute{order}.",
            parts(
                "Give shape and strides of b. Is b contiguous?",
                f"At which position in storage is the element of b at index {index}?",
                "A gradient with the shape of b arrives. With which order does it go back to a? Why would a test with a transposed matrix "
                "not find a wrong order?",
            ),
        ],
        parts(
            f"Shape {new}, strides {strides}: dimension i of b is dimension order[i] of a, whose strides are {strides_of(shape)}. b is "
            "not contiguous, as its last stride is not 1.",
            f"{' + '.join(f'{i} · {s}' for i, s in zip(index, strides, strict=True))} = {position}",
            f"permute{inverse}, the inverse order. Swapping two dimensions is its own inverse, so for a matrix the order and its inverse "
            "give the same result.",
        ),
        [(2, "shape, strides, not contiguous"), (1, "the position"), (2, "the inverse order, and why a transposition hides the mistake")],
        {"shape": shape, "order": order, "index": index},
        {"shape": new, "strides": strides, "position": position, "inverse": inverse},
    )


@MODULE.question("2.1", COMPUTE, 4)
def slices(rng: Rng) -> Exercise:
    """Shape, strides and offset of slices."""
    rows, columns = rng.integer(4, 6), rng.integer(5, 7)
    top, left = rng.integer(1, 2), rng.integer(1, 2)
    picks = [(slice(top, top + 2), slice(left, left + 3)), (slice(None, None, 2), left), (top, slice(left, None, 2))]
    shown = [f"t[{top}:{top + 2}, {left}:{left + 3}]", f"t[::2, {left}]", f"t[{top}, {left}::2]"]
    grid = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)
    views = [grid[pick] for pick in picks]
    layouts = [(view.shape, tuple(s // 8 for s in view.strides), int(view.flat[0])) for view in views]
    return exercise(
        [
            f"t is contiguous with shape ({rows}, {columns}). For each view give shape, strides and offset: "
            f"{', '.join(f'`{text}`' for text in shown)}. Then: the row `{shown[2]}` is kept in a variable and `t` is deleted. How many "
            "numbers stay in memory, and how do you keep only those of the row?",
        ],
        [
            table(["view", "shape", "strides", "offset"], [[f"`{text}`", *layout] for text, layout in zip(shown, layouts, strict=True)]),
            f"All {rows * columns}: a view keeps the whole storage alive. `clone()` copies the {layouts[2][0][0]} numbers to a storage of "
            "their own.",
        ],
        [(3, "one point for each view"), (1, "the whole storage; clone")],
        {"shape": (rows, columns), "picks": picks},
        {"layouts": layouts},
    )


@MODULE.question("2.1 2.3b", EXPLAIN, 4)
def view_or_copy(rng: Rng) -> Exercise:
    """Why a permuted tensor cannot be viewed."""
    rows, columns = rng.choice([(2, 3), (3, 2), (2, 4), (4, 2)])
    steps = np.arange(rows * columns).reshape(rows, columns).T.ravel().tolist()
    return exercise(
        f"t is contiguous with shape ({rows}, {columns}). `t.permute(1, 0).view({rows * columns})` raises an error, `t.permute(1, "
        f"0).contiguous().view({rows * columns})` does not, and neither does `t.view({columns}, {rows})`. List the positions in storage "
        "of the elements of `t.permute(1, 0)` in reading order, and explain from it why no view exists. What does `contiguous()` do, and "
        f"why is `t.view({columns}, {rows})` not the transposed matrix?",
        [
            f"The positions are {numbers(steps)}. A tensor of one dimension reaches its elements by steps of one size, its only stride; "
            "these steps differ.",
            "`contiguous()` copies the elements to a new storage, in reading order. Then the positions are 0, 1, 2 and so on.",
            f"`t.view({columns}, {rows})` keeps the reading order of t and only breaks it into other rows. Transposing changes the order "
            "in which the elements are read.",
        ],
        [(1, "the positions"), (1, "one stride cannot describe them"), (1, "contiguous copies"), (1, "view keeps the reading order")],
        {"shape": (rows, columns)},
        {"positions": steps},
    )


@MODULE.question("2.1", MISTAKE, 4)
def wrong_end(rng: Rng) -> Exercise:
    """A to_index that begins with the first dimension."""
    shape = tuple(rng.sample([2, 3, 4, 5], 2))
    ordinal = next(
        n for n in rng.shuffle(range(2, math.prod(shape) - 1)) if (n % shape[0], n // shape[0] % shape[1]) != divmod(n, shape[1])
    )
    body = "for dim in range(len(shape)):\n    out_index[dim] = ordinal % shape[dim]\n    ordinal = ordinal // shape[dim]"
    got = (ordinal % shape[0], ordinal // shape[0] % shape[1])
    right = tuple(int(i) for i in np.unravel_index(ordinal, shape))
    return exercise(
        [
            code("def to_index(ordinal, shape, out_index):\n    " + body.replace("\n", "\n    ")),
            parts(
                f"Which index does it write for ordinal {ordinal} in shape {shape}, and which is right?",
                "The kernels of map and zip still return right results with it. Why?",
                "Where does it matter? Fix the function.",
            ),
        ],
        parts(
            f"{got}; right is {right}.",
            "It still visits each index exactly once, and out and input use the same index. Only the order of the visits differs.",
            "Wherever the order of ordinals means something: the elements of a view, a copy in reading order, or printing. The loop must "
            "run from the last dimension to the first: `for dim in range(len(shape) - 1, -1, -1)`.",
        ),
        [(2, "both indices"), (1, "every index is still visited once"), (1, "the loop from the last dimension")],
        {"shape": shape, "ordinal": ordinal, "body": body},
        {"got": got, "right": right},
    )


def together(one: Shape, other: Shape) -> Shape | None:
    """The broadcast shape by NumPy; None if there is none."""
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        return None


@MODULE.question("2.2", COMPUTE, 4)
def broadcast_shapes(rng: Rng) -> Exercise:
    """Which shapes broadcast, and to which."""
    a, b, c = rng.sample([2, 3, 4, 5, 6], 3)
    pairs = rng.shuffle(
        [((a, b, 1), (b, c)), ((a, b), (a,)), ((a, b), (a, 1)), ((1, c), (a, 1, 1)), ((0, 1), (b,)), ((0, b), (a, b)), ((a, b), ())]
    )[:5]
    results = [together(one, other) for one, other in pairs]
    rows = [[one, other, "do not broadcast" if result is None else result] for (one, other), result in zip(pairs, results, strict=True)]
    return exercise(
        [
            "Give the broadcast shape of each pair, or say that there is none. Why is the larger of the two sizes not the rule? Name a "
            "pair of shapes for which it gives a wrong shape, and one for which it should raise an error and does not.",
            parts(*(f"{one} and {other}" for one, other in pairs)),
        ],
        [
            table(["first", "second", "result"], rows),
            "For (0,) and (1,) the larger size is 1, but the result has size 0. For (2,) and (3,) the larger is 3, but 2 is not 1 and "
            "cannot be stretched.",
        ],
        [(3, "the shapes; one point less for each mistake"), (1, "sizes 0 and 1, and two different sizes above 1")],
        {"pairs": pairs},
        {"results": results},
    )


@MODULE.question("2.2 2.3", COMPUTE, 4)
def broadcast_elements(rng: Rng) -> Exercise:
    """Which stored elements make an element of the result."""
    rows, columns = rng.integer(2, 3), rng.integer(3, 4)
    column, row = rng.table(rows, 1, 2, 9), rng.integers(columns, 1, 9)
    result = (np.array(column) * np.array(row)).tolist()
    i, j = rng.integer(1, rows - 1), rng.integer(1, columns - 1)
    return exercise(
        [
            f"a has shape ({rows}, 1) and the elements {numbers([x for (x,) in column])}; b has shape ({columns},) and the elements "
            f"{numbers(row)}.",
            parts(
                "Compute a * b.",
                f"What does `broadcast_index` write for index ({i}, {j}) of the result, for a and for b?",
                "Which strides can a kernel give a and b so that it needs no `broadcast_index`?",
            ),
        ],
        [
            parts(
                "The product is below.",
                f"({i}, 0) for a, whose second size is 1, and ({j},) for b, which lacks the first dimension.",
                "(1, 0) and (0, 1): a stride of 0 repeats an element.",
            ),
            matrix(result),
        ],
        [(2, "the product"), (1, "both indices"), (1, "stride 0 where an operand is stretched")],
        {"column": column, "row": row, "at": (i, j)},
        {"result": result, "index": [(i, 0), (j,)]},
    )


@MODULE.question("2.3", MISTAKE, 4)
def same_position(rng: Rng) -> Exercise:
    """A map that uses one position for both tensors."""
    rows = rng.table(2, 3, 1, 9)
    flat = [x for row in rows for x in row]
    body = "for i in range(len(out)):\n    out[i] = fn(in_storage[i])"
    got = np.array([-x for x in flat]).reshape(3, 2).tolist()
    right = (-np.array(rows).T).tolist()
    return exercise(
        [
            code("def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):\n    " + body.replace("\n", "\n    ")),
            f"t is {rows}. What does this kernel return for `-t.permute(1, 0)`, and what is right? For which inputs is it right? Name the "
            "three functions of Tasks 2.1 and 2.2 that the right loop calls for each element, in order.",
        ],
        [
            "It returns",
            matrix(got),
            "and right is",
            matrix(right),
            "It is right only if both tensors are contiguous and have the same shape: then equal ordinals are equal positions. The right "
            "loop goes from the ordinal to an index of out (`to_index`), to an index of the input (`broadcast_index`), and from each to a "
            "position (`index_to_position`).",
        ],
        [(2, "both results"), (1, "contiguous and of one shape"), (1, "the three functions")],
        {"rows": rows, "body": body},
        {"got": got, "right": right},
    )


@MODULE.question("2.4", COMPUTE, 5)
def bias_gradient(rng: Rng) -> Exercise:
    """Gradients of a bias that broadcasting stretched."""
    arrives = rng.table(2, 3, 1, 9)
    g = np.array(arrives)
    answers = {(2, 3): g, (3,): g.sum(0), (2, 1): g.sum(1, keepdims=True), (1,): g.sum().reshape(1)}
    rows = [[shape, value.tolist()] for shape, value in answers.items()]
    return exercise(
        [
            "y = x + b, where x has shape (2, 3). The gradient of y is",
            matrix(arrives),
            f"What is the gradient of b if b has shape {', '.join(map(str, list(answers)[:-1]))} or (1,)? Nothing in the forward code is "
            "a sum: explain why sums appear in the backward pass.",
        ],
        [
            table(["shape of b", "gradient of b"], rows),
            "Broadcasting uses one stored number in several places of the result. Each use contributes a derivative, and the derivative "
            "of a number that is used several times is the sum over its uses. The gradient then has the shape of b again.",
        ],
        [(4, "one point for each gradient"), (1, "the derivative sums over all uses")],
        {"arrives": arrives, "shapes": list(answers)},
        {"gradients": [value.tolist() for value in answers.values()]},
    )


@MODULE.question("2.4", COMPUTE, 4)
def elementwise_gradient(rng: Rng) -> Exercise:
    """The gradient of a sum of powers of a difference."""
    x, y = rng.table(2, 2, 1, 6), rng.table(2, 2, 1, 6)
    d = np.array(x) - np.array(y)
    gradient, loss = (3 * d**2).tolist(), int((d**3).sum())
    return exercise(
        [
            f"x is {x} and y is {y}. L = (d * d * d).sum() with d = x - y.",
            parts(
                "Compute L and the gradients of x and y.",
                "Give the shape of the gradient at each step of the backward pass, from L to y.",
                "d is an input of two products here. Which rule adds up what it receives, and by how much is the gradient wrong if one "
                "contribution is lost?",
            ),
        ],
        parts(
            f"L = {loss}. The gradient of x is 3d² = {gradient}, that of y is {(-np.array(gradient)).tolist()}.",
            "(1,) at the sum; (2, 2) from the products on, through the difference and the negation.",
            "Backpropagation adds up all contributions to a node before it visits it. d receives d² three times, so one lost contribution "
            "is a third of the gradient.",
        ),
        [(2, "L and both gradients"), (1, "the shapes"), (1, "three equal contributions")],
        {"x": x, "y": y},
        {"loss": loss, "x": gradient},
    )


@MODULE.question("2.5", MISTAKE, 4)
def labels(rng: Rng) -> Exercise:
    """Labels whose shape broadcasts where it should not."""
    n = rng.choice([20, 30, 40, 50])
    return exercise(
        [
            f"A network returns probabilities p of shape ({n}, 1); the labels y have shape ({n},). The loss of a point is that of the "
            "course.",
            code("p_right = p * y + (1 - p) * (1 - y)\nloss = (-p_right.log()).mean()"),
            parts(
                "Which shape does p_right have, and how many losses are averaged? Which are right?",
                "Why is there no error message, and why does the network even learn a little, if half of the labels are 1?",
                "Fix it in one line.",
            ),
        ],
        parts(
            f"({n}, {n}): {n * n} numbers. Entry (i, j) compares point i with the label of point j, so only the {n} on the diagonal are "
            "right.",
            "The shapes broadcast, and a mean of any shape is one number. Every point is compared with all labels, so the loss pulls p "
            "toward the mean "
            "label, 1/2; only one part in " + f"{n} pulls toward its own label.",
            f"`p = p.view({n})` before the loss (or labels of shape ({n}, 1)).",
        ),
        [
            (2, "the shape, and that only the diagonal is right"),
            (1, "broadcasting is legal; mostly the mean label is learned"),
            (1, "equal shapes"),
        ],
        {"n": n},
        {"shape": (n, n)},
    )


@MODULE.question("2.5 3.5", COMPUTE, 4)
def layer_shapes(rng: Rng) -> Exercise:
    """A linear layer without a matrix product, shape by shape."""
    points, inputs, outputs = rng.sample([10, 20, 30, 50], 1)[0], rng.integer(3, 8), rng.integer(9, 12)
    shapes: Sequence[Shape] = [
        (points, inputs, 1),
        (1, inputs, outputs),
        (points, inputs, outputs),
        (points, 1, outputs),
        (points, outputs),
    ]
    stored = [math.prod(shapes[2]), math.prod(shapes[4])]
    names = ["the viewed inputs", "the viewed weights", "the products", "their sum along the inputs", "the viewed result"]
    return exercise(
        [
            f"A linear layer of Task 2.5 gets {points} points of {inputs} numbers and returns {outputs} numbers for each.",
            parts(
                f"Give the shape of {', '.join(names)}.",
                "How many numbers does the tensor of products store, and how many the result? What does Module 3 change about it?",
                "How many parameters does the layer have? What is the shape of the gradient of the bias, and which dimension does it sum "
                "over?",
            ),
        ],
        [
            parts(
                "See the table.",
                f"{stored[0]} and {stored[1]}. A matrix product adds up the products as it computes them, so that they are never stored.",
                f"{inputs} · {outputs} + {outputs} = {inputs * outputs + outputs}. ({outputs},), a sum over the points.",
            ),
            table(["tensor", "shape"], list(zip(names, shapes, strict=True))),
        ],
        [(2, "the shapes"), (1, "both counts, and why the products vanish"), (1, "parameters and the bias")],
        {"points": points, "inputs": inputs, "outputs": outputs},
        {"shapes": shapes, "parameters": inputs * outputs + outputs},
    )
