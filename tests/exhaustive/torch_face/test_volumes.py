"""The tests of tests/torch_face/test_volumes.py on the fast backend."""

from tests.torch_face.test_volumes import *
