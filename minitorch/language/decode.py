"""Stage 7 - A few new tokens through `GPT2` on the compiled backend: one kernel for each block, instead of some thirty operations.

What the kernels read is found and checked once for a text. For each further token, comparing identities tells whether it is still the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from minitorch.core.context import grad_mode
from minitorch.core.kernel import register_kernel
from minitorch.core.recording import active
from minitorch.kernels.decode import decode_kernels
from minitorch.kernels.jit import threads
from minitorch.kernels.loop import accepts
from minitorch.language.cache import KeyValueCache
from minitorch.language.layers import Embedding, LayerNorm, Linear
from minitorch.language.model import GPT2, MLP, Block, SelfAttention
from minitorch.module import Module
from minitorch.tensor_data import Storage, TensorData, contiguous_layout

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

EPS = 1e-5
"""Added to the variance by layer normalization."""

MAX_TOKENS = 16
"""The largest number of tokens at once. The kernel multiplies them one by one; more are faster as the rows of a matrix."""

THRESHOLD = 1 << 22
"""Number of multiplications from which the operations of a block are faster: on several threads, or with the rows of a matrix."""


class UnsuitableError(Exception):
    """The kernels do not compute this: `GPT2.forward` does, or refuses it."""


def require(suitable: bool) -> None:
    """Raise UnsuitableError unless this is true."""
    if not suitable:
        raise UnsuitableError


# What the kernels read and write


class Plan:
    """The modules and the memory of a text: found and checked once, and recognized for each further token.

    Args:
        model: The model.
        caches: A `KeyValueCache` for each block. They are not kept: a plan lives as long as they do.

    Attributes:
        like: The embedding of tokens.
        table: Its numbers, a row for each token.
        positions: Those of the embedding of positions.
        norm: Weight and bias of the last normalization.
        blocks: For each block, its parameters in the order of the kernel.
        heads: For each block, its number of heads.
        sizes: For each block, the shape of the memory for its keys and for its values.
        multiplications: The largest number of them in a block, for one token, attention aside.

    Raises:
        UnsuitableError: If the kernels do not compute this model, or the memory of a cache does not fit it.
    """

    def __init__(self, model: GPT2, caches: Sequence[KeyValueCache]) -> None:
        wte, wpe, ln_f, h = children(model, wte=Embedding, wpe=Embedding, ln_f=LayerNorm, h=Module)
        blocks = children(h, **dict.fromkeys(h._modules, Block))
        require(len(blocks) == len(caches) == len(set(caches)))
        self.containers: list[Any] = [model, h, *blocks]
        self.layers, self.attns, self.blocks, self.heads, self.sizes, self.multiplications = [wte, wpe, ln_f], [], [], [], [], 0
        self.like = wte._parameters["weight"].value
        require(accepts(self.like) and self.like.dims == 2)
        width, values = self.like.shape[1], (self.like, wpe._parameters["weight"].value, *weights((ln_f,)))
        table, positions, *self.norm = storages(values, (self.like.shape, (model.context, width), (width,), (width,)), self.like)
        self.table, self.positions = table.reshape(-1, width), positions.reshape(-1, width)
        for block, cache in zip(blocks, caches, strict=True):
            self._add(block, cache)
        self.children = [dict(module._modules) for module in self.containers]
        self.parameters = [dict(layer._parameters) for layer in self.layers]

    def _add(self, block: Module, cache: KeyValueCache) -> None:
        """Add a block and its cache."""
        ln_1, attn, ln_2, mlp = children(block, ln_1=LayerNorm, attn=SelfAttention, ln_2=LayerNorm, mlp=MLP)
        layers = ln_1, *children(attn, c_attn=Linear, c_proj=Linear), ln_2, *children(mlp, c_fc=Linear, c_proj=Linear)
        width, values = self.like.shape[1], weights(layers)
        hidden, memory = values[8].shape[-1], [part for part in (cache.keys, cache.values) if part is not None]
        require(width % attn.heads == 0 and len(memory) in (0, 2))
        size = 1, attn.heads, cache.capacity, width // attn.heads
        storages(memory, [size] * len(memory), self.like)
        self.containers += attn, mlp
        self.layers += layers
        self.multiplications = max(self.multiplications, width * (4 * width + 2 * hidden))
        self.attns.append(attn)
        self.heads.append(attn.heads)
        self.sizes.append(size)
        self.blocks.append(tuple(storages(values, shapes(width, hidden), self.like)))

    def open(self, caches: Sequence[KeyValueCache]) -> None:
        """Take the memory of new caches, and note which objects the memory and the parameters are."""
        for cache, size in zip(caches, self.sizes, strict=True):
            if cache.keys is None:
                cache.keys, cache.values = self.like.zeros(size), self.like.zeros(size)
        self.memory, self.data = memory_of(caches), self._data()

    def _data(self) -> list[TensorData]:
        """The data of all parameters."""
        return [parameter.value._tensor for each in self.parameters for parameter in each.values()]

    def is_current(self, model: GPT2, caches: Sequence[KeyValueCache]) -> bool:
        """Whether model, modules, parameters and memory are still the same objects."""
        return (
            model is self.containers[0]
            and [module._modules for module in self.containers] == self.children
            and [layer._parameters for layer in self.layers] == self.parameters
            and not any("forward" in vars(module) for module in (*self.containers[1:], *self.layers))
            and [attn.heads for attn in self.attns] == self.heads
            and self._data() == self.data
            and memory_of(caches) == self.memory
        )

    def accepts(self, row: list[int], caches: Sequence[KeyValueCache]) -> bool:
        """Whether tokens are those of rows and fit into the context and the caches, and the kernels are faster than operations."""
        count, context = len(row), min(len(self.positions), self.containers[0].context)
        space = [0 <= cache.length <= size[2] - count and size[2] == cache.capacity for cache, size in zip(caches, self.sizes, strict=True)]
        fits = all(space) and caches[0].length + count <= context and min(row) >= 0 and max(row) < len(self.table)
        return fits and (count * self.multiplications < THRESHOLD or (count == 1 and threads() == 1))


def memory_of(caches: Sequence[KeyValueCache]) -> list[tuple[Any, Any]]:
    """The data of each cache's keys and values; None where it has none."""
    return [(getattr(cache.keys, "_tensor", None), getattr(cache.values, "_tensor", None)) for cache in caches]


plans: WeakKeyDictionary[KeyValueCache, Plan] = WeakKeyDictionary()
"""The plan of a text, by its first cache."""


def find_plan(model: GPT2, tokens: Tensor, caches: Sequence[Any]) -> tuple[Plan, list[int]]:
    """The plan for a text, and its next tokens."""
    numbers = tokens._tensor
    require(len(numbers.shape) == 2 and numbers.shape[0] == 1 and 0 < numbers.size <= MAX_TOKENS and numbers.dtype.kind == "i")
    require(all(type(cache) is KeyValueCache for cache in caches))
    plan, [row] = plans.get(caches[0]), numbers.array().tolist()
    known = plan is not None and plan.is_current(model, caches)
    plan = plan if plan is not None and known else Plan(model, caches)
    require(plan.like.backend is tokens.backend and plan.accepts(row, caches))
    if not known:
        plan.open(caches)
        plans[caches[0]] = plan
    return plan, row


# Finding modules and numbers


def children(module: Module, /, **kinds: type[Module]) -> list[Any]:
    """The children of these names, if they have exactly these types and compute what these do."""
    found = [module._modules.get(name) for name in kinds]
    require(list(map(type, found)) == list(kinds.values()) and not any("forward" in vars(child) for child in found))
    return found


def weights(layers: Sequence[Module]) -> list[Any]:
    """The weight and the bias of each layer."""
    return [layer._parameters[name].value for layer in layers for name in ("weight", "bias")]


def shapes(width: int, hidden: int) -> list[tuple[int, ...]]:
    """The shapes of the parameters of a block, in the order of the kernel."""
    sizes = (), (width, 3 * width), (width, width), (), (width, hidden), (hidden, width)
    return [shape for size in sizes for shape in (size or (width,), size[1:] or (width,))]


def storages(values: Sequence[Any], shapes: Sequence[tuple[int, ...]], like: Tensor) -> list[Storage]:
    """The numbers of tensors, if each has its shape, is a storage as a whole, and has the class, backend and dtype of another tensor."""
    for x, shape in zip(values, shapes, strict=True):
        require(type(x) is type(like) and x.backend is like.backend and x.dtype is like.dtype and x.shape == shape)
        require(x._tensor.strides == contiguous_layout(shape)[0] and len(x._tensor._storage) == x._tensor.size)
    return [x._tensor._storage for x in values]


# The tokens


def decode(model: GPT2, tokens: Tensor, caches: Sequence[Any] | None = None) -> Tensor:
    """The logits of a few tokens of one text, whose keys and values go to caches, without gradients; see `GPT2.forward`."""
    if not caches or grad_mode.enabled or active.recorder is not None:
        return NotImplemented
    try:
        plan, row = find_plan(model, tokens, caches)
    except UnsuitableError:
        return NotImplemented
    kernels, start = decode_kernels(), caches[0].length
    x = plan.table[row] + plan.positions[start : start + len(row)]
    for parameters, (keys, values), heads, cache in zip(plan.blocks, plan.memory, plan.heads, caches, strict=True):
        kernels.block(x, parameters, keys._storage, values._storage, heads, cache.length, EPS)
        cache.length += len(row)
        keys.bump_version()
        values.bump_version()
    logits = TensorData.empty((1, len(row), len(plan.table)), x.dtype)
    kernels.logits(logits._storage.reshape(len(row), -1), x, *plan.norm, EPS, plan.table.reshape(-1))
    return plan.like._like(logits)


register_kernel("GPT2", "fast", decode)
