"""A compiled training step on the GPU's backend: recorded and replayed, equal to NumPy's."""

import numpy as np

import minitorch


def test_a_step_replays_on_the_gpu():
    backend = minitorch.cuda_backend()
    weight = np.array([[0.5, -1.0], [2.0, 0.25]])
    parameter = minitorch.Parameter(minitorch.tensor(weight, backend=backend))
    optimizer = minitorch.SGD([parameter], lr=0.1)

    def step(x):
        loss = ((x @ parameter.value).relu() * 2.0).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = minitorch.compile(step)
    for number in range(4):
        x = np.array([[1.0 + number, 3.0]])
        loss = compiled(minitorch.tensor(x, backend=backend))
        product = x @ weight
        np.testing.assert_allclose(loss.to_numpy(), [2 * np.maximum(product, 0).sum()], rtol=1e-12)
        weight = weight - 0.1 * (x.T @ (2.0 * (product > 0)))
    np.testing.assert_allclose(parameter.value.to_numpy(), weight, rtol=1e-12)
    assert (compiled.recorded, compiled.replayed) == (1, 3)
    assert compiled.fuse() == ""  # there is nothing for the CPU's compiler in it
    assert compiled.trace.inputs[0].shape == (1, 2)
