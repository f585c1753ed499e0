"""What tests of gradients share."""

from minitorch import Function, SimpleBackend, tensor


def leaf(values, dtype=None, backend=SimpleBackend):
    """A tensor that gets a gradient."""
    return tensor(values, backend, requires_grad=True, dtype=dtype)


def function(forward, backward=None, name="Written", **methods):
    """A Function as a user would write it."""
    methods |= {"forward": forward} | ({"backward": backward} if backward else {})
    return type(name, (Function,), {key: staticmethod(method) for key, method in methods.items()})


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
