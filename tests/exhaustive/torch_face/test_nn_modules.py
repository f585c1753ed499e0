"""The tests of tests/torch_face/test_nn_modules.py on the fast backend."""

from tests.torch_face.test_nn_modules import *
