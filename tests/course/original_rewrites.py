"""Two styles of hand-ins of the original course: lambdas, comprehensions and recursion in Modules 0 and 1, and NumPy in Module 2."""

from __future__ import annotations

from .original_mistakes import Change

OPERATORS, MODULE, AUTODIFF, SCALAR = (f"minitorch/{name}.py" for name in ("operators", "module", "autodiff", "scalar"))
DATA, OPS, FUNCTIONS = (f"minitorch/{name}.py" for name in ("tensor_data", "tensor_ops", "tensor_functions"))

ONE_LINERS = [
    ("mul(x: float, y: float) -> float", "Multiply two numbers.", "x * y", "mul = lambda x, y: x * y"),
    ("id(x: float) -> float", "Return the input.", "x", "id = lambda x: x"),
    ("add(x: float, y: float) -> float", "Add two numbers.", "x + y", "add = lambda x, y: x + y"),
    ("neg(x: float) -> float", "Flip the sign.", "-x", "neg = lambda x: -1.0 * x"),
    (
        "lt(x: float, y: float) -> float",
        "Return 1.0 if x is less than y, else 0.0.",
        "1.0 if x < y else 0.0",
        "lt = lambda x, y: float(x < y)",
    ),
    ("eq(x: float, y: float) -> float", "Return 1.0 if x equals y, else 0.0.", "1.0 if x == y else 0.0", "eq = lambda x, y: float(x == y)"),
    ("max(x: float, y: float) -> float", "Return the larger number.", "y if x < y else x", "max = lambda x, y: x if x > y else y"),
    ("relu(x: float) -> float", "Replace negative numbers by zero.", "x if x > 0 else 0.0", "relu = lambda x: (x > 0) * x + 0.0"),
    ("exp(x: float) -> float", "Compute the exponential.", "math.exp(x)", "exp = lambda x: math.exp(x)"),
    ("inv(x: float) -> float", "Compute the reciprocal.", "1.0 / x", "inv = lambda x: x**-1.0"),
    (
        "relu_back(x: float, d: float) -> float",
        "Multiply d by the derivative of relu at x.",
        "d if x > 0 else 0.0",
        "relu_back = lambda x, d: (x > 0) * d + 0.0",
    ),
    (
        "negList(ls: Iterable[float]) -> Iterable[float]",
        "Negate each element.",
        "map(neg)(ls)",
        "negList = map(neg)",
    ),
    (
        "addLists(ls1: Iterable[float], ls2: Iterable[float]) -> Iterable[float]",
        "Add two lists element by element.",
        "zipWith(add)(ls1, ls2)",
        "addLists = zipWith(add)",
    ),
    ("sum(ls: Iterable[float]) -> float", "Add up a list.", "reduce(add, 0.0)(ls)", "sum = reduce(add, 0.0)"),
    ("prod(ls: Iterable[float]) -> float", "Multiply up a list.", "reduce(mul, 1.0)(ls)", "prod = reduce(mul, 1.0)"),
]

FUNCTIONAL = [
    *[Change(OPERATORS, f'def {head}:\n    """{doc}"""\n    return {body}\n', f"{after}\n") for head, doc, body, after in ONE_LINERS],
    Change(
        OPERATORS,
        """
    def mapped(ls: Iterable[float]) -> Iterable[float]:
        result = []
        for x in ls:
            result.append(fn(x))
        return result

    return mapped
""",
        "    return lambda ls: [fn(x) for x in ls]\n",
    ),
    Change(
        OPERATORS,
        """
    def zipped(ls1: Iterable[float], ls2: Iterable[float]) -> Iterable[float]:
        result = []
        for x, y in zip(ls1, ls2):
            result.append(fn(x, y))
        return result

    return zipped
""",
        """
    def zipped(ls1: Iterable[float], ls2: Iterable[float]) -> Iterable[float]:
        (a, *as_), (b, *bs) = ls1 or [None], ls2 or [None]
        return [fn(a, b)] + zipped(as_, bs) if ls1 and ls2 else []

    return lambda ls1, ls2: zipped(list(ls1), list(ls2))
""",
    ),
    Change(
        OPERATORS,
        """
    def reduced(ls: Iterable[float]) -> float:
        total = start
        for x in ls:
            total = fn(total, x)
        return total

    return reduced
""",
        """    return lambda ls: (lambda items: fn(reduce(fn, start)(items[:-1]), items[-1]) if items else start)(list(ls))
""",
    ),
    Change(
        MODULE,
        "        self.training = True\n        for child in self.modules():\n            child.train()\n",
        "        self.training, _ = True, [child.train() for child in self.modules()]\n",
    ),
    Change(
        MODULE,
        "        self.training = False\n        for child in self.modules():\n            child.eval()\n",
        "        self.training, _ = False, [child.eval() for child in self.modules()]\n",
    ),
    Change(
        MODULE,
        """        found: List[Tuple[str, Parameter]] = []
        for name, parameter in self._parameters.items():
            found.append((name, parameter))
        for child_name, child in self._modules.items():
            for name, parameter in child.named_parameters():
                found.append((child_name + "." + name, parameter))
        return found
""",
        """        return [*self._parameters.items()] + [
            (f"{child}.{name}", parameter) for child in self._modules for name, parameter in self._modules[child].named_parameters()
        ]
""",
    ),
    Change(
        MODULE,
        "return [parameter for _, parameter in self.named_parameters()]",
        "return list(map(lambda pair: pair[1], self.named_parameters()))",
    ),
    Change(
        AUTODIFF,
        """    above = list(vals)
    below = list(vals)
    above[arg] = vals[arg] + epsilon
    below[arg] = vals[arg] - epsilon
    return (f(*above) - f(*below)) / (2.0 * epsilon)
""",
        """    moved = lambda step: f(*[v + step if i == arg else v for i, v in enumerate(vals)])
    return (moved(epsilon) - moved(-epsilon)) / (2 * epsilon)
""",
    ),
    Change(
        AUTODIFF,
        """    visited: Set[int] = set()
    order: List[Variable] = []

    def visit(v: Variable) -> None:
        if v.is_constant() or v.unique_id in visited:
            return
        visited.add(v.unique_id)
        if not v.is_leaf():
            for parent in v.parents:
                visit(parent)
        order.append(v)

    visit(variable)
    order.reverse()
    return order
""",
        """    visited: Set[int] = set()

    def visit(v: Variable) -> List[Variable]:
        if v.unique_id in visited or v.is_constant():
            return []
        visited.add(v.unique_id)
        return [below for parent in v.parents for below in visit(parent)] + [v]

    return visit(variable)[::-1]
""",
    ),
    Change(
        AUTODIFF,
        """            if parent.is_constant():
                continue
            if parent.unique_id in derivatives:
                derivatives[parent.unique_id] = derivatives[parent.unique_id] + d_parent
            else:
                derivatives[parent.unique_id] = d_parent
""",
        """            derivatives[parent.unique_id] = derivatives.get(parent.unique_id, 0.0) + d_parent
""",
    ),
    Change(
        SCALAR,
        "        derivatives = h.last_fn._backward(h.ctx, d_output)\n        return list(zip(h.inputs, derivatives))\n",
        "        return zip(h.inputs, h.last_fn._backward(h.ctx, d_output))\n",
    ),
    Change(
        "project/run_scalar.py",
        """        outputs = []
        for j, bias in enumerate(self.bias):
            total = bias.value
            for x, row in zip(inputs, self.weights):
                total = total + x * row[j].value
            outputs.append(total)
        return outputs
""",
        """        return [sum([x * w[j].value for x, w in zip(inputs, self.weights)], b.value) for j, b in enumerate(self.bias)]
""",
    ),
]

AS_STRIDED = "np.lib.stride_tricks.as_strided"

NUMPY = [
    Change(
        DATA,
        """    n = len(shape1) if len(shape1) > len(shape2) else len(shape2)
    padded1 = [1] * (n - len(shape1)) + list(shape1)
    padded2 = [1] * (n - len(shape2)) + list(shape2)
    result = []
    for s, t in zip(padded1, padded2):
        if s != t and s != 1 and t != 1:
            raise IndexingError(f"Cannot broadcast {shape1} and {shape2}")
        result.append(t if s == 1 else s)
    return tuple(result)
""",
        """    try:
        return np.broadcast_shapes(tuple(shape1), tuple(shape2))
    except ValueError as error:
        raise IndexingError(str(error))
""",
    ),
    Change(
        DATA,
        """        out_index = array(self.shape)
        for i in range(self.size):
            to_index(i, self._shape, out_index)
            yield tuple(out_index)
""",
        "        yield from np.ndindex(*self.shape)\n",
    ),
    Change(
        DATA,
        """        assert sorted(order) == list(range(self.dims)), f"{order} is no order of the dimensions of {self.shape}"
        shape = tuple(self.shape[o] for o in order)
        strides = tuple(self.strides[o] for o in order)
        return TensorData(self._storage, shape, strides)
""",
        """        axes = np.array(order, dtype=int)
        assert (np.sort(axes) == np.arange(self.dims)).all()
        return TensorData(self._storage, tuple(int(s) for s in self._shape[axes]), tuple(self._strides[axes]))
""",
    ),
    Change(
        OPS,
        "\n# Task 2.3\n",
        f'''
# Task 2.3


def as_array(storage: Storage, shape: Shape, strides: Strides) -> Any:
    """View a storage as an array of NumPy."""
    return {AS_STRIDED}(storage, tuple(shape), tuple(np.array(strides) * storage.itemsize))
''',
    ),
    Change(
        OPS,
        """        out_index = np.zeros(len(out_shape), dtype=np.int32)
        in_index = np.zeros(len(in_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            value = fn(in_storage[index_to_position(in_index, in_strides)])
            out[index_to_position(out_index, out_strides)] = value
""",
        """        target = as_array(out, out_shape, out_strides)
        source = np.broadcast_to(as_array(in_storage, in_shape, in_strides), target.shape)
        target[...] = np.vectorize(fn, otypes=[float])(source)
""",
    ),
    Change(
        OPS,
        """        out_index = np.zeros(len(out_shape), dtype=np.int32)
        a_index = np.zeros(len(a_shape), dtype=np.int32)
        b_index = np.zeros(len(b_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x = a_storage[index_to_position(a_index, a_strides)]
            y = b_storage[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(x, y)
""",
        """        a = as_array(a_storage, a_shape, a_strides)
        b = as_array(b_storage, b_shape, b_strides)
        as_array(out, out_shape, out_strides)[...] = np.vectorize(fn, otypes=[float])(a, b)
""",
    ),
    Change(
        OPS,
        """        out_index = np.zeros(len(out_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, out_index)
            o = index_to_position(out_index, out_strides)
            for s in range(a_shape[reduce_dim]):
                out_index[reduce_dim] = s
                out[o] = fn(out[o], a_storage[index_to_position(out_index, a_strides)])
""",
        """        target = as_array(out, out_shape, out_strides)
        for part in np.moveaxis(as_array(a_storage, a_shape, a_strides), reduce_dim, 0):
            target[...] = np.vectorize(fn, otypes=[float])(target, np.expand_dims(part, reduce_dim))
""",
    ),
    Change(OPS, "import broadcast_index, index_to_position, shape_broadcast, to_index", "import shape_broadcast"),
    Change(
        FUNCTIONS,
        """        back: List[int] = [0] * len(dims)
        for i, d in enumerate(dims):
            back[d] = i
        return grad_output._new(grad_output._tensor.permute(*back)), 0.0
""",
        """        return grad_output._new(grad_output._tensor.permute(*np.argsort(dims))), 0.0
""",
    ),
]
