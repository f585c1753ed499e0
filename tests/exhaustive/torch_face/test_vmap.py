"""The tests of tests/torch_face/test_vmap.py on the fast backend."""

from tests.torch_face.test_vmap import *
