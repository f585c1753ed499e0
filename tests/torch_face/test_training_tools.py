"""torch.utils.checkpoint and torch.amp, without PyTorch: results must equal those of the plain program."""

from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.amp import GradScaler, autocast
from minitorch.torch.utils.checkpoint import checkpoint


def gradients(use: Any) -> list[Any]:
    """The results and gradients of a network with dropout, whose middle is called through `use`."""
    torch.manual_seed(3)
    first, middle, last = nn.Linear(3, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5)), nn.Linear(8, 1)
    x = torch.randn(4, 3, requires_grad=True)
    out = last(use(middle, first(x)))
    out.sum().backward()
    return [out.tolist(), x.grad.tolist(), *[p.grad.tolist() for p in (*first.parameters(), *middle.parameters(), *last.parameters())]]


def test_a_checkpoint_has_the_same_gradients() -> None:
    plain = gradients(lambda fn, x: fn(x))
    assert gradients(lambda fn, x: checkpoint(fn, x, use_reentrant=False)) == plain
    assert gradients(lambda fn, x: torch.utils.checkpoint.checkpoint(fn, x)) == plain


def test_a_checkpoint_runs_its_function_twice_and_takes_other_arguments() -> None:
    calls = []

    def both(x: Any, factor: float, *, shift: Any) -> tuple[Any, Any]:
        calls.append(x.requires_grad)
        return x * factor + shift, x.sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shift = torch.tensor([1.0, 1.0], requires_grad=True)
    y, total = checkpoint(both, x, 3.0, shift=shift)
    assert (y.tolist(), total.item()) == ([4.0, 7.0], 3.0)
    (y.sum() + 10 * total).backward()
    assert calls == [True, True]
    assert (x.grad.tolist(), shift.grad.tolist()) == ([13.0, 13.0], [1.0, 1.0])


def test_unscale_divides_the_gradients_of_plain_tensors_too() -> None:
    scaler, w = GradScaler(init_scale=4.0), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    losses = scaler.scale([w.sum(), (2 * w).sum()])
    assert [loss.item() for loss in losses] == [4.0, 8.0]
    losses[0].backward()
    assert w.grad.item() == 4
    scaler.unscale_(optimizer)
    assert w.grad.item() == 1


def test_autocast_can_be_switched_off_only() -> None:
    @autocast("cpu", enabled=False)
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with torch.autocast("cuda", dtype=torch.float16, enabled=False), torch.cuda.amp.autocast(enabled=False):
        assert double(torch.ones(1)).dtype is torch.float32
    for use in (lambda: autocast("cuda"), torch.cuda.amp.autocast):
        with pytest.raises(NotImplementedError, match="autocast supports enabled=False only"):
            use()
    with pytest.raises(ValueError, match='autocast expected device_type "cpu" or "cuda", got \'tpu\''):
        autocast("tpu", enabled=False)


# torch.utils


def test_stacked_data_sets_are_pytorch_s() -> None:
    theirs = pytest.importorskip("torch.utils.data", reason="compares with PyTorch")
    for library in (theirs, torch.utils.data):
        pairs, dicts = library.StackDataset([1, 2, 3], "abc"), library.StackDataset(x=[1, 2], y="ab")
        assert (len(pairs), pairs[1], len(dicts), dicts[1]) == (3, (2, "b"), 2, {"x": 2, "y": "b"})
        for args, named in (((), {}), (([1],), {"x": [1]}), (([1], [1, 2]), {})):
            with pytest.raises(ValueError, match=r"(?i)data ?set|given"):
                library.StackDataset(*args, **named)


def test_wrong_stacks_of_data_sets_say_why() -> None:
    stack = torch.utils.data.StackDataset
    with pytest.raises(ValueError, match="StackDataset expected data sets, all with names or all without, got both"):
        stack([1], x=[1])
    with pytest.raises(ValueError, match="all with names or all without, got none"):
        stack()
    with pytest.raises(ValueError, match="StackDataset expected data sets of equal length, got lengths 1, 2"):
        stack([1], [1, 2])


def test_one_reader_reads_a_whole_stream_whatever_the_workers() -> None:
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            info = torch.utils.data.get_worker_info()
            return iter(range(6) if info is None else range(info.id, 6, info.num_workers))

    assert sorted(int(x) for x in torch.utils.data.DataLoader(Stream(), num_workers=2, batch_size=None)) == list(range(6))


def test_a_chain_of_checkpoints_has_the_gradients_of_the_chain() -> None:
    checkpoints = torch.utils.checkpoint
    layers, calls = nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)]), []
    for layer in layers:
        layer.register_forward_hook(lambda *_: calls.append(1))
    x = torch.randn(2, 3, requires_grad=True)
    layers(x).sum().backward()
    leaves = [x, *layers.parameters()]
    expected = [leaf.grad.tolist() for leaf in leaves]
    for segments, runs in ((1, 5), (2, 7), (5, 9)):
        layers.zero_grad()
        x.grad = None
        calls.clear()
        checkpoints.checkpoint_sequential(layers, segments, x, use_reentrant=False).sum().backward()
        assert [leaf.grad.tolist() for leaf in leaves] == expected
        assert len(calls) == runs
    with pytest.raises(ValueError, match="checkpoint_sequential expected from 1 to 5 segments, one for each function at most, got 6"):
        checkpoints.checkpoint_sequential(layers, 6, x)
    with pytest.raises(NotImplementedError, match="checkpoint supports context_fn=None only"):
        checkpoints.checkpoint(layers, x, context_fn=lambda: None)


@pytest.mark.parametrize("name", ["collect_env", "cpp_extension", "model_zoo", "dlpack"])
def test_absent_utilities_say_why(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"torch\.utils has no {name} in minitorch: \w+"):
        getattr(torch.utils, name)
