"""The tests of tests/torch_face/test_in_place.py on the fast backend."""

from tests.torch_face.test_in_place import *
