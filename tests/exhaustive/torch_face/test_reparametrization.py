"""The tests of tests/torch_face/test_reparametrization.py on the fast backend."""

from tests.torch_face.test_reparametrization import *
