"""The tests of tests/torch_face/test_data.py on the fast backend."""

from tests.torch_face.test_data import *
