"""The tests of tests/torch_face/test_serialization.py on the fast backend."""

from tests.torch_face.test_serialization import *
