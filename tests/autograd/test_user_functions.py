"""Functions that users define, and what they save for backward."""

import numpy as np
import pytest

from minitorch import Function, float32, grad_check, no_grad, tensor, where
from minitorch.core.context import grad_mode
from tests.errors import raises


def leaf(values, dtype=None):
    return tensor(values, requires_grad=True, dtype=dtype)


class Cube(Function):
    """a³ · k, with a plain number k."""

    @staticmethod
    def forward(ctx, a, k):
        ctx.save_for_backward(a, k)
        return a * a * a * k

    @staticmethod
    def backward(ctx, grad_output):
        a, k = ctx.saved_values
        return grad_output * a * a * (3 * k)


def test_a_user_defined_function_with_a_plain_argument():
    x = leaf([2.0, -1.0])
    y = Cube.apply(x, 5)
    assert (y.tolist(), y.history.last_fn) == ([40.0, -5.0], Cube)
    y.backward(tensor([1.0, 2.0]))
    assert x.grad.tolist() == [60.0, 30.0]  # 3 · 5 · x² · grad
    grad_check(lambda a: Cube.apply(a, 0.5), tensor([1.5, -0.5]))


def test_a_function_of_tensors_and_plain_values_in_any_order():
    class Mix(Function):
        @staticmethod
        def forward(ctx, scale, a, names, b):
            ctx.save_for_backward(scale, a, b)
            assert names == ("a", "b")
            return a * b * scale

        @staticmethod
        def backward(ctx, grad_output):
            scale, a, b = ctx.saved_tensors
            return None, grad_output * b * scale, None, grad_output * a * scale

    a, b = leaf([2.0]), leaf([[3.0], [5.0]])
    Mix.apply(10, a, ("a", "b"), b).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([80.0], [[20.0], [20.0]])


def test_gradients_of_plain_values_may_be_left_out_and_of_constants_none():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, a, b, k):
            ctx.save_for_backward(b, k)
            return a * b * k

        @staticmethod
        def backward(ctx, grad_output):
            b, k = ctx.saved_values
            assert ctx.needs_input_grad == [True, False, False]
            return grad_output * b * k, None

    a = leaf([2.0])
    Scaled.apply(a, tensor([3.0]), 5.0).backward()
    assert a.grad.tolist() == [15.0]


def test_no_gradient_counts_as_zeros():
    class Flat(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 0

        @staticmethod
        def backward(ctx, grad_output):
            return None

    x = leaf([1.0, 2.0])
    Flat.apply(x * 2).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_number_may_stand_for_a_gradient():
    class Shift(Function):
        @staticmethod
        def forward(ctx, a):
            return a + 1

        @staticmethod
        def backward(ctx, grad_output):
            return 2.5

    x = leaf([1.0, 2.0])
    Shift.apply(x).sum().backward()
    assert x.grad.tolist() == [2.5, 2.5]


def test_the_gradient_that_backward_gets_has_the_shape_and_dtype_of_the_output():
    class Seen(Function):
        seen = None

        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, grad_output):
            Seen.seen = (grad_output.shape, grad_output.dtype, grad_output.requires_grad)
            return grad_output

    x = leaf([[1.0], [2.0]], float32)
    (Seen.apply(x) * tensor(np.ones((2, 3)))).sum().backward()
    assert Seen.seen == ((2, 1), float32, False)
    assert x.grad.tolist() == [[3.0], [3.0]]


def test_what_forward_computes_is_not_recorded():
    x = leaf([2.0])
    y = Cube.apply(x, 1)
    assert [id(p) for p in y.parents] == [id(x)]


def test_an_error_inside_forward_or_backward_leaves_recording_as_it_was():
    for error in (ZeroDivisionError, KeyboardInterrupt):

        class Fails(Function):
            @staticmethod
            def forward(ctx, a, now, error=error):
                if now:
                    raise error
                return a * 1

            @staticmethod
            def backward(ctx, grad_output, error=error):
                raise error

        x = leaf([1.0])
        with pytest.raises(error):
            Fails.apply(x, True)
        assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
        with pytest.raises(error):
            Fails.apply(x, False).backward(retain_graph=True)
        assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
        with no_grad():
            with pytest.raises(error):
                Fails.apply(x, True)
            assert not grad_mode.enabled


# Writing to what backward needs


def written(op, shape):
    return raises(
        RuntimeError,
        f"backward of {op} needs a tensor of shape {shape} as it was in forward, but it has been written into since; "
        "write into a copy: x.clone()",
    )


def test_a_saved_input_must_not_be_written_to():
    x, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (x * w).sum()
    w[0] = 5
    with written("Mul", (2,)):
        out.backward()


def test_a_saved_output_must_not_be_written_to():
    x = leaf([1.0, 2.0])
    y = x.exp()
    with no_grad():
        y[0] = 5
    with written("Exp", (2,)):
        y.sum().backward()


def test_a_saved_view_must_not_be_written_to_through_its_base_nor_the_base_through_a_view():
    base = tensor([[1.0, 2.0], [3.0, 4.0]])
    x = leaf([1.0, 1.0])
    out = (x * base[0]).sum()
    base[1, 1] = 9  # the same storage, though not the same elements
    with written("Mul", (2,)):
        out.backward()
    out = (x * base).sum()
    base.permute(1, 0)[0][...] = 9
    with written("Mul", (2, 2)):
        out.backward()
    out = (x * base).sum()
    base.detach().view(4)[0] = 9
    with written("Mul", (2, 2)):
        out.backward()


def test_a_leaf_written_in_no_grad_is_noticed():
    x = leaf([1.0, 2.0])
    out = (x * x).sum()
    with no_grad():
        x[0] = 5
    with written("Mul", (2,)):
        out.backward()


def test_what_is_not_saved_may_be_written_to():
    x, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (x + w).sum() + where(w > 3, x, 0).sum()
    w[0] = 5
    out.backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_copy_may_be_written_to():
    x, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (x * w).sum()
    w.clone()[0] = 5
    tensor(w)[0] = 5
    out.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_function_may_keep_what_it_likes_in_its_context():
    class Stretch(Function):
        @staticmethod
        def forward(ctx, a, k):
            ctx.k = k
            return a * k

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.k

    x = leaf([1.0, 2.0])
    Stretch.apply(x, 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_backward_may_return_its_gradients_in_a_list():
    class Both(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + 2 * b

        @staticmethod
        def backward(ctx, grad_output):
            return [grad_output, 2 * grad_output]

    x, y = leaf([1.0]), leaf([1.0])
    Both.apply(x, y).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [2.0])
