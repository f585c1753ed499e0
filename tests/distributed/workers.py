"""Functions that the tests of torch.multiprocessing run in other processes."""

import os
import signal
import time

import minitorch.torch as torch


def raise_in_second(index, text):
    if index == 1:
        raise ValueError(text)


def end(index, how):
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def train(index, model, tensor, queue):
    """Take a step of a shared model, write into a shared tensor, and send tensors.

    Two steps at the same time could begin with one bias and lose one of them, so each process waits until the one before has written.
    """
    end = time.monotonic() + 60
    while index and tensor[index - 1].item() != index:
        assert time.monotonic() < end, "the process before has written nothing that can be seen"
        time.sleep(0.001)
    model.weight.grad = None
    optimizer = torch.optim.SGD([model.bias], lr=1.0)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    tensor[index] = index + 1.0
    assert tensor.is_shared()
    queue.put((index, torch.arange(3) + index, tensor))
