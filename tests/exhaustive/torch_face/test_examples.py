"""The tests of tests/torch_face/test_examples.py on the fast backend."""

from tests.torch_face.test_examples import *
