"""The tests of tests/torch_face/test_vision.py on the fast backend."""

from tests.torch_face.test_vision import *
