"""The tests of tests/torch_face/test_binomial.py on the fast backend."""

from tests.torch_face.test_binomial import *
