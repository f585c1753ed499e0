"""float16, bfloat16, int8, int16 and uint8: kept narrow, computed with as the wide ones are, and rounded once."""

import math

import minitorch
from minitorch import bool_, int64, tensor
from minitorch.core.dtypes import float16
from tests.core.test_half_precision import backends, half_types


@backends
def test_what_passes_the_range_on_its_way_does_not_matter(backend):
    x = tensor([[60000.0, 60000.0], [60000.0, -60000.0]], backend, dtype=float16)
    assert x.mean().tolist() == [30000.0]
    assert x.mean(1).tolist() == [[60000.0], [0.0]]
    assert x.mean().dtype == float16
    assert x.sum((0, 1)).tolist() == [[math.inf]]
    assert tensor([300.0, -300.0, 0.0], backend, dtype=float16).std().tolist() == [300.0]
    assert tensor([300.0, -300.0, 0.0], backend, dtype=float16).var().tolist() == [math.inf]  # 90000
    assert tensor([[60000.0, 2.0], [1.0, 2**-5]], backend, dtype=float16).prod((0, 1)).tolist() == [[3750.0]]


@backends
@half_types
def test_the_largest_and_all_and_any(half, backend):
    x = tensor([[1.0, -math.inf], [math.nan, 3.0]], backend, dtype=half)
    assert str(x.max(1).tolist()) == "[[1.0], [nan]]"
    assert (x.max(1).dtype, x.argmax(1).dtype, x.all().dtype) == (half, int64, bool_)
    assert (x.argmin(1).tolist(), x.all().tolist(), (x == 3).any().tolist()) == ([[1], [0]], [True], [True])
    assert x[0].clip(-1, 0.5).tolist() == [0.5, -1.0]
    assert minitorch.where(x > 0, x, 7.0)[0].tolist() == [1.0, 7.0]
