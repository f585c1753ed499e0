"""A hand-in of the edition of 2020 for Modules 0 to 2: no is_close, count for to_index, parameters as a dictionary."""

from __future__ import annotations

from .original_mistakes import Change

INIT, OPERATORS, MODULE, DATA, OPS, FUNCTIONS, TENSOR = (
    f"minitorch/{name}.py" for name in ("__init__", "operators", "module", "tensor_data", "tensor_ops", "tensor_functions", "tensor")
)

EDITION_2020 = [
    *[Change(INIT, f"from .{name} import *  # noqa: F403\n", "") for name in ("fast_ops", "cuda_ops", "fast_conv", "nn")],
    Change(INIT, "from . import fast_ops, cuda_ops, operators, scalar", "from . import operators, scalar"),
    Change(
        OPERATORS,
        'def is_close(x: float, y: float) -> bool:\n    """Check whether two numbers differ by less than 0.01."""\n'
        "    return abs(x - y) < 1e-2\n\n\n",
        "",
    ),
    Change(
        "tests/strategies.py",
        'assert minitorch.operators.is_close(a, b), f"{a:f} is not close to {b:f}"',
        "np.testing.assert_allclose(a, b, 1e-2, 1e-2)",
    ),
    Change("tests/strategies.py", "\nimport minitorch\n", ""),
    Change("tests/strategies.py", "from hypothesis import settings\n", "import numpy as np\nfrom hypothesis import settings\n"),
    # The mode is a word, and parameters are a dictionary.
    Change(MODULE, "    training: bool\n", "    mode: str\n"),
    Change(
        MODULE,
        "        self._parameters = {}\n        self.training = True\n",
        '        self._parameters = {}\n        self.mode = "train"\n',
    ),
    Change(MODULE, "        self.training = True\n        for", '        self.mode = "train"\n        for'),
    Change(MODULE, "        self.training = False\n", '        self.mode = "eval"\n'),
    Change(MODULE, "def named_parameters(self) -> Sequence[Tuple[str, Parameter]]:", "def named_parameters(self) -> Dict[str, Parameter]:"),
    Change(MODULE, "found: List[Tuple[str, Parameter]] = []", "found: Dict[str, Parameter] = {}"),
    Change(
        MODULE,
        "            found.append((name, parameter))\n        for child_name",
        "            found[name] = parameter\n        for child_name",
    ),
    Change(MODULE, "in child.named_parameters():", "in child.named_parameters().items():"),
    Change(MODULE, 'found.append((child_name + "." + name, parameter))', 'found[child_name + "." + name] = parameter'),
    Change(MODULE, "return [parameter for _, parameter in self.named_parameters()]", "return self.named_parameters().values()"),
    Change(MODULE, "def parameters(self) -> Sequence[Parameter]:", "def parameters(self) -> Iterable[Parameter]:"),
    Change(MODULE, "import Any, Dict, List, Optional, Sequence, Tuple", "import Any, Dict, Iterable, Optional, Sequence"),
    # count instead of to_index
    Change(DATA, "def to_index(ordinal: int,", "def count(position: int,"),
    Change(DATA, "    rest = ordinal + 0\n", "    rest = position + 0\n"),
    Change(DATA, "to_index(i, self._shape, out_index)", "count(i, self._shape, out_index)"),
    Change(
        OPS,
        "import broadcast_index, index_to_position, shape_broadcast, to_index",
        "import broadcast_index, count, index_to_position, shape_broadcast",
    ),
    *[
        Change(
            OPS,
            f"            to_index(i, out_shape, out_index)\n            {after}",
            f"            count(i, out_shape, out_index)\n            {after}",
        )
        for after in ("broadcast_index(out_index, out_shape, in_shape", "broadcast_index(out_index, out_shape, a_shape", "o = ")
    ],
    # Tensors without is_close
    Change(OPS, "        self.is_close_zip = ops.zip(operators.is_close)\n", ""),
    Change(
        FUNCTIONS,
        '''class IsClose(Function):
    """|x - y| < 0.01"""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """Forward."""
        return a.f.is_close_zip(a, b)


''',
        "",
    ),
    Change(TENSOR, "    IsClose,\n", ""),
    Change(
        TENSOR,
        '''    def is_close(self, y: Tensor) -> Tensor:
        """Compare element by element."""
        return IsClose.apply(self, self._ensure_tensor(y))

''',
        "",
    ),
]
