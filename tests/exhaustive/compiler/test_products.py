"""Matrix products that are written as a multiplication and a sum: which are found, and that they compute the same."""

import itertools

import pytest

import minitorch
from tests.compiler.test_products import FORMS, check_form, check_products
from tests.marks import needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize(("dtype", "tolerance"), [(minitorch.float64, 1e-14), (minitorch.float32, 1e-6)], ids=["float64", "float32"])
def test_products_of_any_size(dtype, tolerance):
    sizes = [(1, 1, 1), (1, 9, 4), (2, 4, 5), (3, 5, 1), (4, 1, 9), (9, 3, 2), (7, 8, 16), (6, 17, 3), (70, 80, 12)]
    check_products(sizes, dtype, tolerance, list(itertools.product((False, True), repeat=2)))


@pytest.mark.parametrize("form", FORMS)
def test_a_product_is_computed(form):
    check_form(form)
