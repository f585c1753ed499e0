"""Runs in the sandbox beside a hand-in of the original MiniTorch course: does with that course's package what probes ask of this one's.

Beside it is this course's `cuda_limits.py`: the simulator refuses kernels that a GPU, or the compiler for it, refuses.

It knows no expected value. Arguments arrive as plain numbers, lists and tuples; kernels of the original course take shapes and strides
as arrays, functions take dimensions as tensors or as numbers, and tensors are made with a backend. Modules of the package are imported
when they are used, because a hand-in of Module 0 has only the first ones.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import math
import os
import random
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

UNUSED = (
    "altair",
    "chalk",
    "colour",
    "datasets",
    "embeddings",
    "graphviz",
    "mnist",
    "networkx",
    "pandas",
    "plotly",
    "requests",
    "streamlit",
)
"""Packages that programs of the original course import, and that no graded code needs: data sets, figures and the app."""

THREADS_PER_BLOCK = 32
BLOCK_DIM = 32
REDUCE_BLOCK = 1024
"""The numbers of threads with which the original course launches kernels."""


class _Unused(types.ModuleType):
    """A module whose attributes may be imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unused(f"{self.__name__}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _Unused(self.__name__)


class _NoDigits:
    """MNIST of the package mnist, which the program of Task 4.5 reads when it is imported."""

    def __init__(self, folder: str) -> None:
        self.load_training = self.load_testing = lambda: ([], [])


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of `UNUSED` that are not installed."""

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in UNUSED else None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Unused(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "mnist":
            vars(module)["MNIST"] = _NoDigits


def _missing_in_simulator(name: str) -> Any:
    """What numba.cuda lacks in the simulator: names that a kernel writes out, as in `numba.cuda.syncthreads()`."""
    if name == "is_cuda_array":
        return lambda array: hasattr(array, "copy_to_host")
    context = importlib.import_module("numba.cuda.simulator.kernel")._get_kernel_context()
    if context is None:
        raise AttributeError(f"module 'numba.cuda' has no attribute {name!r}")
    return getattr(context, name)


sys.meta_path.append(_Finder())  # after all others: an installed package is found before
sys.path.append(f"{sys.path[0]}/project")  # programs may import files beside them by their bare names
if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    vars(importlib.import_module("numba.cuda"))["__getattr__"] = _missing_in_simulator
    importlib.import_module("cuda_limits").watch_simulator()
if os.environ.get("KERNELS_IN_ONE_THREAD") == "1":  # a prange is a range then
    numba = importlib.import_module("numba")
    serial = partial(lambda njit, *args, **options: njit(*args, **{**options, "parallel": False}), numba.njit)
    vars(numba)["njit"] = serial
package = importlib.import_module("minitorch")


def _module(name: str) -> Any:
    return importlib.import_module(f"minitorch.{name}")


@cache
def backend(operations: str) -> Any:
    """The backend of a class of operations, such as "FastOps"."""
    where = {"SimpleOps": "tensor_ops", "FastOps": "fast_ops", "CudaOps": "cuda_ops"}[operations]
    return _module("tensor_ops").TensorBackend(getattr(_module(where), operations))


def __getattr__(name: str) -> Any:
    if name in ("SimpleBackend", "FastBackend"):
        given = getattr(_module("tensor_ops"), name, None) if name == "SimpleBackend" else None
        return given if given is not None else backend(name.replace("Backend", "Ops"))
    raise AttributeError(name)


def cuda_backend() -> Any:
    """The backend of CUDA kernels."""
    return backend("CudaOps")


def manual_seed(seed: int) -> None:
    """Seed what a hand-in may draw random numbers from."""
    random.seed(seed)
    np.random.seed(seed)


def compiler_is_off() -> bool:
    """Whether numba compiles nothing: never here."""
    return False


def run_test(name: str) -> bool:
    """Run a test of the hand-in, such as "tests.test_nn:test_max"; it raises an error if it fails."""
    module, _, function = name.partition(":")
    getattr(importlib.import_module(module), function)()
    return True


# Variables


def variables(result: Any) -> list[Any]:
    """A variable and all that it depends on, in no particular order."""
    found: dict[int, Any] = {}
    left = [result]
    while left:
        variable = left.pop()
        if id(variable) not in found:
            found[id(variable)] = variable
            left += list(getattr(getattr(variable, "history", None), "inputs", None) or ())
    return list(found.values())


# Tensors


def tensor_data(storage: Any, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> Any:
    """A TensorData; the original course has no offsets."""
    made = np.array(storage, dtype=np.float64)[offset:]
    return _module("tensor_data").TensorData(made, tuple(shape), None if strides is None else tuple(strides))


def tensor_of(data: Any, backend: Any = None) -> Any:
    """A tensor of a TensorData."""
    return _module("tensor").Tensor(data, backend=__getattr__("SimpleBackend") if backend is None else backend)


def tensor(array: np.ndarray, backend: Any = None) -> Any:
    """A tensor of an array, without a history."""
    return tensor_of(tensor_data(array.reshape(-1), array.shape), backend)


def offset(data: Any) -> Any:
    """The offset of a TensorData; the original course has none."""
    return getattr(data, "offset", 0)


def version(data: Any) -> Any:
    """The version counter of a TensorData; the original course has none."""
    return getattr(data, "_version", None)


def requires_grad(made: Any) -> Callable[[bool], Any]:
    """Its method requires_grad_, which returns nothing in the original course, as one that returns the tensor."""

    def require(flag: bool) -> Any:
        made.requires_grad_(flag)
        return made

    return require


def move_to(made: Any) -> Callable[[Any], Any]:
    """A function that copies a tensor to a backend."""
    data = made._tensor
    return lambda backend: tensor_of(tensor_data(data._storage, data.shape, data.strides), backend)


def reduce_of(backend: Any) -> Callable[..., Any]:
    """The reductions of CUDA kernels, from a function and a start."""
    return lambda fn, start: lambda a, dim: _module("cuda_ops").CudaOps.reduce(fn, start)(a, dim)


def _numbers_as_tensor(numbers: Sequence[int]) -> Any:
    return tensor(np.array(numbers, dtype=np.float64))


def _either(call: Callable[[Any], Any], number: Any, as_tensor: Any) -> Any:
    """The result of a call with a tensor, in which the original course passes dimensions, or else with the number."""
    try:
        return call(as_tensor)
    except Exception:
        return call(number)


# Index functions and kernels on lists


def to_index(ordinal: int, shape: Sequence[int], index: list[int]) -> None:
    """Write an index into a list."""
    array = np.array(index)
    _module("tensor_data").to_index(ordinal, np.array(shape, dtype=np.int64), array)
    index[:] = array.tolist()


def index_to_position(index: Any, strides: Sequence[int]) -> Any:
    """The position of an index."""
    return _module("tensor_data").index_to_position(np.array(index, dtype=np.int64), np.array(strides, dtype=np.int64))


def broadcast_index(big_index: Sequence[int], big_shape: Sequence[int], shape: Sequence[int], index: list[int]) -> None:
    """Write the index in a smaller shape into a list."""
    array, big = np.array(index, dtype=np.int64), np.array(big_index, dtype=np.int64)
    _module("tensor_data").broadcast_index(big, np.array(big_shape, dtype=np.int64), np.array(shape, dtype=np.int64), array)
    index[:] = array.tolist()


def shape_broadcast(a: Iterable[int], b: Iterable[int]) -> Any:
    """The broadcast shape, of tuples."""
    return tuple(map(int, _module("tensor_data").shape_broadcast(tuple(a), tuple(b))))


def with_arrays(kernel: Callable[..., None]) -> Callable[..., None]:
    """A kernel whose shapes and strides may be passed as tuples."""

    def call(*arguments: Any) -> None:
        kernel(*(np.array(one, dtype=np.int64) if isinstance(one, tuple) else one for one in arguments))

    return call


def plain_map(fn: Callable[[float], float]) -> Callable[..., None]:
    """tensor_map of Module 2."""
    return with_arrays(_module("tensor_ops").tensor_map(fn))


def plain_zip(fn: Callable[[float, float], float]) -> Callable[..., None]:
    """tensor_zip of Module 2."""
    return with_arrays(_module("tensor_ops").tensor_zip(fn))


def plain_reduce(fn: Callable[[float, float], float]) -> Callable[..., None]:
    """tensor_reduce of Module 2."""
    return with_arrays(_module("tensor_ops").tensor_reduce(fn))


def compiled(fn: Callable[..., float]) -> Any:
    """A function that compiled kernels call."""
    from numba import njit

    return njit()(fn)


# CUDA


def cuda_jit(kernel: Any) -> Any:
    """A kernel of CUDA; it may be compiled already."""
    from numba import cuda

    return kernel if hasattr(kernel, "__getitem__") else cuda.jit()(kernel)


def device_function(fn: Callable[..., float]) -> Any:
    """A function that CUDA kernels call."""
    from numba import cuda

    return cuda.jit(device=True)(fn)


def launch(kernel: Any, blocks: Any, threads: Any, *arguments: Any) -> None:
    """Launch a kernel."""
    with_arrays(kernel[blocks, threads])(*arguments)


def blocks_for(size: int, threads: int) -> int:
    """The number of blocks with a thread for each element."""
    return math.ceil(size / threads)


# Functions of networks


def _functional(name: str) -> Callable[..., Any]:
    return lambda *arguments, **named: getattr(_module("nn"), name)(*arguments, **named)


nn_tile, nn_avgpool2d, nn_maxpool2d = (_functional(name) for name in ("tile", "avgpool2d", "maxpool2d"))
nn_dropout, nn_softmax, nn_logsoftmax, nn_argmax = (_functional(name) for name in ("dropout", "softmax", "logsoftmax", "argmax"))


def nn_max(made: Any, dim: int) -> Any:
    """The maximum along a dimension."""
    return _either(lambda given: _module("nn").max(made, given), dim, _numbers_as_tensor([dim]))


def nn_Max(made: Any, dim: int) -> Any:  # stands for the class
    """Max.apply along a dimension."""
    return _either(lambda given: _module("nn").Max.apply(made, given), dim, _numbers_as_tensor([dim]))


def network(program: str, *arguments: Any) -> Any:
    """A network of a program: with these arguments, or with as many of them as it takes."""
    module, _, name = program.partition(":")
    make = getattr(importlib.import_module(module), name)
    for count in range(len(arguments), 0, -1):
        try:
            return make(*arguments[:count])
        except TypeError:
            continue
    return make()


def shapes(module: Any) -> list[list[Any]]:
    """The name and shape of every parameter of a module."""
    return [[name, [int(size) for size in parameter.value.shape]] for name, parameter in module.named_parameters()]


def write(module: Any, values: Sequence[Sequence[Any]]) -> None:
    """Give parameters, by name, these numbers in the shape and on the backend that they have."""
    named = dict(module.named_parameters())
    for name, numbers in values:
        value = named[name].value
        named[name].update(tensor(np.array(numbers, dtype=np.float64).reshape(tuple(value.shape)), value.backend))


def values(out: Any) -> list[float]:
    """The numbers of a tensor, in order."""
    data = out._tensor
    storage = data._storage.copy_to_host() if hasattr(data._storage, "copy_to_host") else data._storage
    return [float(storage[int(sum(i * s for i, s in zip(index, data.strides)))]) for index in np.ndindex(*data.shape)]  # noqa: B905


def backend_of(module: Any) -> Any:
    """The backend of a module's parameters."""
    return module.named_parameters()[0][1].value.backend


def train_scalars(module: Any, points: Sequence[Sequence[float]], labels: Sequence[int], rate: float, epochs: int) -> None:
    """Gradient descent on the mean of -log(probability of the right label), point by point."""
    scalar, optimizer = _module("scalar").Scalar, package.SGD(module.parameters(), rate)
    for _ in range(epochs):
        optimizer.zero_grad()
        for point, label in zip(points, labels):  # noqa: B905
            probability = module.forward([scalar(x) for x in point])
            right = probability if label == 1 else -probability + 1.0
            (-right.log() / len(points)).backward()
        optimizer.step()


def train_tensors(module: Any, points: Sequence[Sequence[float]], labels: Sequence[int], rate: float, epochs: int) -> None:
    """Gradient descent on the mean of -log(probability of the right label) over all points."""
    optimizer, count, on = package.SGD(module.parameters(), rate), len(points), backend_of(module)
    x, y = tensor(np.array(points), on), tensor(np.array(labels, dtype=np.float64), on)
    for _ in range(epochs):
        optimizer.zero_grad()
        out = module.forward(x).view(count)
        right = out * y + (out - 1.0) * (y - 1.0)
        (-right.log() / count).sum().view(1).backward()
        optimizer.step()
