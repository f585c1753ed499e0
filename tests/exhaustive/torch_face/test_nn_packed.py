"""The tests of tests/torch_face/test_nn_packed.py on the fast backend."""

from tests.torch_face.test_nn_packed import *
