"""The tests of tests/torch_face/test_embedding_bag.py on the fast backend."""

from tests.torch_face.test_embedding_bag import *
