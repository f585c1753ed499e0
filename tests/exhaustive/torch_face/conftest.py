"""Here tests of minitorch.torch compute on the fast backend, which is the default one."""

from tests.torch_face.conftest import fast_backend

__all__ = ["fast_backend"]
