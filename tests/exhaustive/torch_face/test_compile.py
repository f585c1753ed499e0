"""The tests of tests/torch_face/test_compile.py on the fast backend, for all optimizers and for batch statistics."""

import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from tests.torch_face.test_compile import *


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_compiled_step_has_the_same_losses(name: str) -> None:
    check_losses(name)


def test_batch_statistics_of_a_compiled_module_go_on() -> None:
    found = []
    for compiled in (as_it_is, torch.compile):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        losses = losses_of(model, compiled(model))
        found.append((losses, model[1].running_mean.tolist(), model[1].running_var.tolist(), model[1].num_batches_tracked.item()))
    assert found[0] == found[1]
    assert found[0][3] == 20
