"""The tests of tests/torch_face/test_linalg.py on the fast backend."""

from tests.torch_face.test_linalg import *
