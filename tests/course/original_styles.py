"""Complete hand-ins of the original MiniTorch course: one in full, the starter, and other styles as changes to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from .original_edition_2020 import EDITION_2020
from .original_mistakes import MISTAKES as MISTAKES
from .original_mistakes import Change
from .original_rewrites import FUNCTIONAL, NUMPY

STARTER = Path(__file__).parent / "originals" / "starter"
"""A Module-4 repository with all tasks written; each file has the suffix .txt, so that no tool takes it for a file of this repository."""

OPERATORS, OPS, FUNCTIONS, TENSOR = (f"minitorch/{name}.py" for name in ("operators", "tensor_ops", "tensor_functions", "tensor"))
SCALAR, SCALAR_FUNCTIONS, FAST, CUDA = (f"minitorch/{name}.py" for name in ("scalar", "scalar_functions", "fast_ops", "cuda_ops"))
CONV, NN, TEST_NN = "minitorch/fast_conv.py", "minitorch/nn.py", "tests/test_nn.py"
RUN_SCALAR, RUN_TENSOR, RUN_FAST = (f"project/run_{name}.py" for name in ("scalar", "tensor", "fast_tensor"))
MNIST, SENTIMENT = "project/run_mnist_multiclass.py", "project/run_sentiment.py"

LAYER_NAMES = [
    *[Change(RUN_SCALAR, f"self.layer{i} = ", f"self.linear{i} = ") for i in (1, 2, 3)],
    *[Change(RUN_SCALAR, f"self.layer{i}.forward", f"self.linear{i}.forward") for i in (1, 2, 3)],
    *[Change(RUN_TENSOR, f"self.layer{i} = ", f"self.{name} = ") for i, name in ((1, "input"), (2, "hidden"), (3, "out"))],
    *[Change(RUN_TENSOR, f"self.layer{i}.forward", f"self.{name}.forward") for i, name in ((1, "input"), (2, "hidden"), (3, "out"))],
    Change(RUN_TENSOR, "self.weights = RParam", "self.w = RParam"),
    Change(RUN_TENSOR, "self.bias = RParam", "self.b = RParam"),
    Change(RUN_TENSOR, "self.weights.value.view", "self.w.value.view"),
    Change(RUN_TENSOR, "self.bias.value.view", "self.b.value.view"),
    *[Change(MNIST, f"self.conv{i} = ", f"self.conv2d_{i} = ") for i in (1, 2)],
    *[Change(MNIST, f"self.conv{i}(", f"self.conv2d_{i}(") for i in (1, 2)],
    *[Change(MNIST, f"self.linear{i} = ", f"self.fc{i} = ") for i in (1, 2)],
    *[Change(MNIST, f"self.linear{i}(", f"self.fc{i}(") for i in (1, 2)],
    *[Change(SENTIMENT, f"self.conv{i} = ", f"self.conv1d_{i} = ") for i in (1, 2, 3)],
    *[Change(SENTIMENT, f"self.conv{i}(", f"self.conv1d_{i}(") for i in (1, 2, 3)],
    Change(SENTIMENT, "self.linear = ", "self.lin1 = "),
    Change(SENTIMENT, "self.linear(", "self.lin1("),
]

MAX_IN_BACKEND = [
    Change(
        OPS,
        "        self.mul_reduce = ops.reduce(operators.mul, 1.0)\n",
        "        self.mul_reduce = ops.reduce(operators.mul, 1.0)\n        self.max_reduce = ops.reduce(operators.max, -1e9)\n",
    ),
    Change(NN, "max_reduce = FastOps.reduce(operators.max, -1e9)\n\n\n", ""),
    Change(NN, "from . import operators\n", ""),
    Change(NN, "from .fast_ops import FastOps\n", ""),
    Change(NN, "return max_reduce(input, dim) == input", "return input.f.max_reduce(input, dim) == input"),
    Change(NN, "return max_reduce(input, d)", "return input.f.max_reduce(input, d)"),
]

CONVOLUTION_ADDS = [
    *[
        Change(
            CONV,
            f"b, oc, {names} = {indices}\n        total = 0.0\n",
            f"b, oc, {names} = {indices}\n        o = index_to_position(index, out_strides)\n",
        )
        for names, indices in (("w", "index[0], index[1], index[2]"), ("h, w", "index[0], index[1], index[2], index[3]"))
    ],
    Change(
        CONV,
        "                    total += input[b * s1[0] + ic * s1[1] + x * s1[2]] * weight[oc * s2[0] + ic * s2[1] + k * s2[2]]\n"
        "        out[index_to_position(index, out_strides)] = total\n",
        "                    out[o] += input[b * s1[0] + ic * s1[1] + x * s1[2]] * weight[oc * s2[0] + ic * s2[1] + k * s2[2]]\n",
    ),
    Change(
        CONV,
        "total += v * weight[oc * s2[0] + ic * s2[1] + kr * s2[2] + kc * s2[3]]\n"
        "        out[index_to_position(index, out_strides)] = total\n",
        "out[o] += v * weight[oc * s2[0] + ic * s2[1] + kr * s2[2] + kc * s2[3]]\n",
    ),
]

NUMBA_CUDA_NAMES = [
    Change(CUDA, "import numba\nfrom numba import cuda\n", "import numba\nimport numba.cuda\nfrom numba import cuda\n"),
    *[
        Change(CUDA, f"    cuda.syncthreads()\n{after}", f"    numba.cuda.syncthreads()\n{after}")
        for after in (
            "    stride = BLOCK_DIM // 2\n    while",
            "        stride //= 2\n    if pos == 0 and",
            "            stride = BLOCK_DIM // 2\n",
            "                stride //= 2\n",
            "    if i < size and j < size:\n        total",
            "        for k in range(BLOCK_DIM):\n",
            "    if i < out_shape[1] and",
        )
    ],
    Change(CUDA, "cache[pos] = a[i] if i < size else 0.0", "cache[pos] = 0\n    if i < size:\n        cache[pos] = a[i]"),
    Change(CUDA, "        total = numba.float64(0)\n        for k in range(size):", "        total = 0\n        for k in range(size):"),
    Change(CUDA, "    total = numba.float64(0)\n    for start", "    total = 0\n    for start"),
    Change(
        CUDA, "        a_tile[pi, pj] = 0.0\n        b_tile[pi, pj] = 0.0\n", "        a_tile[pi, pj] = 0\n        b_tile[pi, pj] = 0\n"
    ),
    Change(FAST, "                total = 0.0\n", "                total = 0\n"),
    Change(NN, "from typing import Tuple\n", "import math\nfrom typing import Tuple\n"),
    Change(NN, "FastOps.reduce(operators.max, -1e9)", "FastOps.reduce(operators.max, -math.inf)"),
]

DROPOUT_DEFAULT_BACKEND = [
    Change(NN, "    if ignore:\n        return input\n    return input *", "    return input if ignore else input *"),
    Change(NN, "(rand(input.shape, backend=input.backend) > rate)", "(rand(input.shape) > rate)"),
]

TEST_OF_MAX = '''    """The maximum is the largest element along each dimension."""
    for i in range(2):
        for j in range(3):
            largest = t[i, j, 0]
            for k in range(4):
                largest = t[i, j, k] if t[i, j, k] > largest else largest
            assert_close(minitorch.max(t, tensor([2]))[i, j, 0], largest)
'''

TEST_WITH_BUILTIN_MAX = '''    """Python's max gives the same."""
    out = minitorch.max(t, tensor([2]))
    for i in range(2):
        for j in range(3):
            assert_close(out[i, j, 0], max([t[i, j, k] for k in range(4)]))
'''

MAX_TENSOR_ONLY = [
    Change(
        NN,
        "max = Max.apply\n",
        'def max(input: Tensor, dim: Tensor) -> Tensor:\n    """Take the largest element along a dimension, given as a tensor."""\n'
        "    return Max.apply(input, dim)\n",
    ),
    Change(TEST_NN, TEST_OF_MAX, TEST_WITH_BUILTIN_MAX),
]

MAX_INT_OR_TENSOR = [
    Change(
        NN,
        "max = Max.apply\n",
        "def max(input: Tensor, dim: int | Tensor) -> Tensor:\n"
        '    """Take the largest element along a dimension, given as a number or a tensor."""\n'
        "    if isinstance(dim, int):\n        dim = input._ensure_tensor(dim)\n    return Max.apply(input, dim)\n",
    ),
    Change(NN, "from typing import Tuple\n", "from __future__ import annotations\n\nfrom typing import Tuple\n"),
    Change(NN, "e = (input - max(input, tensor([dim]))).exp()", "e = (input - max(input, dim)).exp()"),
    Change(NN, "shifted = input - max(input, tensor([dim]))", "shifted = input - max(input, dim)"),
    Change(NN, "max(tiled, tensor([4]))", "max(tiled, 4)"),
    Change(NN, "import Function, rand, tensor\n", "import Function, rand\n"),
    Change(TEST_NN, TEST_OF_MAX, TEST_WITH_BUILTIN_MAX.replace("tensor([2])", "2")),
]

CHAIN_RULE_BY_HAND = [
    Change(
        SCALAR,
        "        derivatives = h.last_fn._backward(h.ctx, d_output)\n        return list(zip(h.inputs, derivatives))\n",
        "        return [(x, d) for x, d in zip(h.inputs, h.last_fn.backward(h.ctx, d_output))]\n",
    ),
    *[
        Change(SCALAR_FUNCTIONS, f"        return {value}\n", f"        return ({value},)\n")
        for value in (
            "operators.log_back(a, d_output)",
            "operators.inv_back(a, d_output)",
            "-d_output",
            "d_output * s * (1.0 - s)",
            "operators.relu_back(a, d_output)",
            "d_output * e",
        )
    ],
]

IS_CLOSE_TENSORS = [Change(TENSOR, "IsClose.apply(self, self._ensure_tensor(y))", "IsClose.apply(self, y)")]

MATMUL_EXPORTED = [
    Change(
        "minitorch/__init__.py",
        "from .tensor_functions import tensor  # noqa: F401\n",
        "from .tensor_functions import MatMul, tensor  # noqa: F401\n",
    ),
    Change(RUN_FAST, "x @ self.weights.value +", "minitorch.MatMul.apply(x, self.weights.value) +"),
    *[
        Change(
            file,
            "x.view(batch, in_size) @ self.weights.value.view(in_size, self.out_size)",
            "minitorch.MatMul.apply(x.view(batch, in_size), self.weights.value.view(in_size, self.out_size))",
        )
        for file in (MNIST, SENTIMENT)
    ],
]

SUM_PRACTICE_UNGUARDED = [Change(CUDA, "    if pos == 0 and i < size:\n", "    if pos == 0:\n")]
"""For 64 numbers a third block writes past the end of the two cells of the output, which no test on a GPU shows."""


# Task 0.3 called at once: map(fn, ls) instead of map(fn)(ls)

MAP_CURRIED = '''def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], Iterable[float]]:
    """Make a function that applies fn to each element."""

    def mapped(ls: Iterable[float]) -> Iterable[float]:
        result = []
        for x in ls:
            result.append(fn(x))
        return result

    return mapped
'''
ZIP_CURRIED = '''def zipWith(fn: Callable[[float, float], float]) -> Callable[[Iterable[float], Iterable[float]], Iterable[float]]:
    """Make a function that combines two lists element by element."""

    def zipped(ls1: Iterable[float], ls2: Iterable[float]) -> Iterable[float]:
        result = []
        for x, y in zip(ls1, ls2):
            result.append(fn(x, y))
        return result

    return zipped
'''
REDUCE_CURRIED = '''def reduce(fn: Callable[[float, float], float], start: float) -> Callable[[Iterable[float]], float]:
    """Make a function that combines all elements, beginning with start."""

    def reduced(ls: Iterable[float]) -> float:
        total = start
        for x in ls:
            total = fn(total, x)
        return total

    return reduced
'''

MAP_AT_ONCE = [
    Change(
        OPERATORS,
        MAP_CURRIED,
        "def map(fn: Callable, ls: Iterable[float]) -> Iterable[float]:\n"
        '    """Apply fn to each element."""\n    return [fn(x) for x in ls]\n',
    ),
    Change(
        OPERATORS,
        ZIP_CURRIED,
        "def zipWith(fn: Callable, ls1: Iterable[float], ls2: Iterable[float]) -> Iterable[float]:\n"
        '    """Combine two lists element by element."""\n    return [fn(x, y) for x, y in zip(ls1, ls2)]\n',
    ),
    Change(OPERATORS, "map(neg)(ls)", "map(neg, ls)"),
    Change(OPERATORS, "zipWith(add)(ls1, ls2)", "zipWith(add, ls1, ls2)"),
]

REDUCE_START_LIST = [
    *MAP_AT_ONCE,
    Change(
        OPERATORS,
        REDUCE_CURRIED,
        'def reduce(fn: Callable, start: float, lst: Iterable[float]) -> float:\n    """Combine all elements, beginning with start."""\n'
        "    for x in lst:\n        start = fn(start, x)\n    return start\n",
    ),
    Change(OPERATORS, "reduce(add, 0.0)(ls)", "reduce(add, 0.0, ls)"),
    Change(OPERATORS, "reduce(mul, 1.0)(ls)", "reduce(mul, 1.0, ls)"),
]

REDUCE_LIST = [
    *MAP_AT_ONCE,
    Change(
        OPERATORS,
        REDUCE_CURRIED,
        'def reduce(fn: Callable, ls: Iterable[float]) -> float:\n    """Combine all elements, beginning with the first."""\n'
        "    items = list(ls)\n    total = items[0]\n    for x in items[1:]:\n        total = fn(total, x)\n    return total\n",
    ),
    Change(OPERATORS, "reduce(add, 0.0)(ls)", "reduce(add, ls) if len(list(ls)) > 0 else 0.0"),
    Change(OPERATORS, "reduce(mul, 1.0)(ls)", "reduce(mul, ls) if len(list(ls)) > 0 else 1.0"),
]

REDUCE_LIST_START = [
    Change(
        OPERATORS,
        REDUCE_CURRIED,
        'def reduce(fn: Callable) -> Callable[[Iterable[float], float], float]:\n    """Make a function of a list and a first value."""\n\n'
        "    def reduced(ls: Iterable[float], start: float) -> float:\n        for x in ls:\n            start = fn(start, x)\n"
        "        return start\n\n    return reduced\n",
    ),
    Change(OPERATORS, "reduce(add, 0.0)(ls)", "reduce(add)(ls, 0.0)"),
    Change(OPERATORS, "reduce(mul, 1.0)(ls)", "reduce(mul)(ls, 1.0)"),
]

STYLES: dict[str, list[Change]] = {
    "plain": [],
    "layer_names": LAYER_NAMES,
    "max_in_backend": MAX_IN_BACKEND,
    "convolution_adds": CONVOLUTION_ADDS,
    "numba_cuda_names": NUMBA_CUDA_NAMES,
    "dropout_default_backend": DROPOUT_DEFAULT_BACKEND,
    "max_tensor_only": MAX_TENSOR_ONLY,
    "max_int_or_tensor": MAX_INT_OR_TENSOR,
    "chain_rule_by_hand": CHAIN_RULE_BY_HAND,
    "is_close_tensors": IS_CLOSE_TENSORS,
    "reduce_start_list": REDUCE_START_LIST,
    "reduce_list_start": REDUCE_LIST_START,
    "reduce_list": REDUCE_LIST,
    "matmul_exported": MATMUL_EXPORTED,
    "edition_2020": EDITION_2020,
    "sum_practice_unguarded": SUM_PRACTICE_UNGUARDED,
    "functional": FUNCTIONAL,
    "numpy": NUMPY,
}
"""How each style differs from the starter. All are right by the published tests, edition_2020 by those of that year."""

LATER_MODULES = ("minitorch/fast_ops.py", CUDA, CONV, NN, TEST_NN, RUN_FAST, MNIST, SENTIMENT)
"""What is missing from edition_2020, a hand-in of Module 2."""


def starter_files() -> dict[str, str]:
    """The files of the starter: text by path."""
    paths = {file.relative_to(STARTER).with_suffix("").as_posix(): file for file in sorted(STARTER.rglob("*.txt"))}
    return {path: file.read_text(encoding="utf-8") for path, file in paths.items()}


def style_files(name: str, *changes: Change) -> dict[str, str]:
    """The files of a style: text by path. More changes, such as a planted mistake, apply after those of the style."""
    files = starter_files()
    for file, before, after in [*STYLES[name], *changes]:
        count = files[file].count(before)
        if count != 1:
            raise ValueError(f"style {name}: expected this text once in {file}, got it {count} times; adapt the change:\n{before}")
        files[file] = files[file].replace(before, after)
    return {path: text for path, text in files.items() if name != "edition_2020" or path not in LATER_MODULES}


def write_style(name: str, folder: Path, *changes: Change) -> Path:
    """Write the hand-in of a style to folder / name, and return that path."""
    target = folder / name
    if target.exists():
        shutil.rmtree(target)
    for path, text in style_files(name, *changes).items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return target
