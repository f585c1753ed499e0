"""The tests of tests/torch_face/test_errors.py on the fast backend."""

from tests.torch_face.test_errors import *
