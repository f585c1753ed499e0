"""The tests of tests/torch_face/test_known_values.py on the fast backend."""

from tests.torch_face.test_known_values import *
