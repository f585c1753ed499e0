"""The tests of tests/torch_face/test_special.py on the fast backend."""

from tests.torch_face.test_special import *
