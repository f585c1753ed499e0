"""The tests of tests/torch_face/test_tutorials.py on the fast backend."""

from tests.torch_face.test_tutorials import *
