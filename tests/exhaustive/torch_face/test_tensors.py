"""The tests of tests/torch_face/test_tensors.py on the fast backend."""

from tests.torch_face.test_tensors import *
