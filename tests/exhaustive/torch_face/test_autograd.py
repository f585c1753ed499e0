"""The tests of tests/torch_face/test_autograd.py on the fast backend."""

from tests.torch_face.test_autograd import *
