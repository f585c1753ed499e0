"""The tests of tests/torch_face/test_distributions.py on the fast backend."""

from tests.torch_face.test_distributions import *
