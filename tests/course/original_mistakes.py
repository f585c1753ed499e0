"""One mistake for each task of the original MiniTorch course, planted in the starter of original_styles."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """Text of one file, which must occur there once, and what replaces it."""

    file: str
    before: str
    after: str


MISTAKES = {
    "0.1": Change("minitorch/operators.py", "return y if x < y else x", "return x if x < y else y"),
    "0.3": Change("minitorch/operators.py", "return map(neg)(ls)", "return map(id)(ls)"),
    "0.4": Change("minitorch/module.py", 'child_name + "." + name', "name"),
    "1.1": Change("minitorch/autodiff.py", "/ (2.0 * epsilon)", "/ epsilon"),
    "1.2": Change("minitorch/scalar.py", "return LT.apply(b, self)", "return LT.apply(self, b)"),
    "1.3": Change("minitorch/scalar.py", "zip(h.inputs, derivatives)", "zip(h.inputs, derivatives[::-1])"),
    "1.4": Change("minitorch/scalar_functions.py", "return d_output * e\n", "return d_output\n"),
    "1.5": Change("project/run_scalar.py", "total = bias.value", "total = minitorch.Scalar(0.0)"),
    "2.1": Change("minitorch/tensor_data.py", "tuple(self.strides[o] for o in order)", "tuple(self.strides)"),
    "2.2": Change("minitorch/tensor_data.py", "if s != t and s != 1 and t != 1:", "if s > t and t != 1:"),
    "2.3": Change("minitorch/tensor.py", "LT.apply(self._ensure_tensor(b), self)", "LT.apply(self, self._ensure_tensor(b))"),
    "2.4": Change("minitorch/tensor_functions.py", "return grad_output * s * (-s + 1.0)", "return grad_output * s"),
    "2.5": Change("project/run_tensor.py", "h = self.layer2.forward(h).relu()", "h = self.layer2.forward(h)"),
    "3.1": Change("minitorch/fast_ops.py", "a_storage[first + s * step]", "a_storage[first + s]"),
    "3.2": Change("minitorch/fast_ops.py", "b_pos += b_strides[1]", "b_pos += 1"),
    "3.3": Change("minitorch/cuda_ops.py", "cache[pos] = a[i] if i < size else 0.0", "cache[pos] = a[i] if i < size else 1.0"),
    "3.4": Change("minitorch/cuda_ops.py", "total += a_tile[pi, k] * b_tile[k, pj]", "total += a_tile[k, pi] * b_tile[k, pj]"),
    "3.5": Change(
        "project/run_fast_tensor.py", "x @ self.weights.value + self.bias.value.view(1, self.out_size)", "x @ self.weights.value"
    ),
    "4.1": Change("minitorch/fast_conv.py", "x = w - k if reverse else w + k\n", "x = w + k\n"),
    "4.2": Change("minitorch/fast_conv.py", "x = w - kc if reverse else w + kc\n", "x = w + kc\n"),
    "4.3": Change("minitorch/nn.py", "tiled.mean(4)", "tiled.sum(4)"),
    "4.4": Change(
        "minitorch/nn.py", "(rand(input.shape, backend=input.backend) > rate)", "(rand(input.shape, backend=input.backend) < rate)"
    ),
    "4.5": Change(
        "project/run_mnist_multiclass.py",
        "self.linear1(pooled.view(pooled.shape[0], 392)).relu()",
        "self.linear1(pooled.view(pooled.shape[0], 392))",
    ),
}
"""Each is caught by a published test of its task, or, for the networks, computes a wrong one; the code of other tasks stays right."""
