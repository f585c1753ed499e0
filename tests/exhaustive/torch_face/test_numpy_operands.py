"""The tests of tests/torch_face/test_numpy_operands.py on the fast backend."""

from tests.torch_face.test_numpy_operands import *
