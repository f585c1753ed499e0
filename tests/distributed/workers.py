"""Functions that the tests of torch.multiprocessing run in other processes."""

import os
import signal

import minitorch.torch as torch


def raise_in_second(index, text):
    if index == 1:
        raise ValueError(text)


def end(index, how):
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def train(index, model, tensor, queue):
    """Write into a shared tensor, take a step of a shared model, and send tensors."""
    tensor[index] = index + 1.0
    model.weight.grad = None
    optimizer = torch.optim.SGD([model.bias], lr=1.0)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert tensor.is_shared()
    queue.put((index, torch.arange(3) + index, tensor))
