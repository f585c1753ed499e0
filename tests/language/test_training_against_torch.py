"""AdamW and clipping of the course compared with PyTorch's."""

import numpy as np
import pytest

from minitorch import tensor
from minitorch.language.training import AdamW, clip_gradients
from minitorch.module import Parameter

torch = pytest.importorskip("torch", reason="compares with PyTorch")

SHAPES = ((3,), (2, 4), (2, 1, 3))


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.95)])
def test_trajectories_are_those_of_torch(decay, betas):
    draw = np.random.default_rng(3)
    starts = [draw.normal(size=shape) for shape in SHAPES]
    ours, theirs = [Parameter(tensor(x)) for x in starts], [torch.tensor(x, requires_grad=True) for x in starts]
    mine = AdamW(ours, 0.05, betas, 1e-8, decay)
    other = torch.optim.AdamW(theirs, 0.05, betas, 1e-8, decay)
    for _ in range(12):
        for parameter, x in zip(ours, theirs, strict=True):
            gradient = draw.normal(size=tuple(x.shape)) * 2
            parameter.value.grad, x.grad = tensor(gradient), torch.tensor(gradient)
        norm = torch.nn.utils.clip_grad_norm_(theirs, 3.0)
        assert clip_gradients(ours, 3.0) == pytest.approx(float(norm), rel=1e-12)
        mine.step()
        other.step()
        for parameter, x in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(parameter.value.to_numpy(), x.detach().numpy(), rtol=1e-6, atol=1e-8)
