"""The trace: what a person reads, and its picture."""

import re
import xml.etree.ElementTree as ET

import pytest

import minitorch
from minitorch import FastBackend, nn, optim
from minitorch.compiler import trace_figure
from minitorch.compiler.trace import TEMPORARY
from tests.marks import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def step():
    """A compiled step of one linear layer, called three times."""
    minitorch.manual_seed(0)
    model = nn.Linear(2, 3, device=FastBackend, dtype=minitorch.float64)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @minitorch.compile
    def train(x):
        loss = model(x).relu().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for _ in range(3):
        train(minitorch.rand((4, 2), backend=FastBackend))
    return train


def test_a_trace_has_three_parts_with_shapes_names_and_lines(step):
    lines = str(step.trace).splitlines()
    assert lines[0] == "def train(input0: float64[4, 2]):"
    assert [line.strip() for line in lines if line.strip().startswith("# ")] == ["# forward", "# backward", "# optimizer"]
    assert re.match(r"    t\d+: float64\[4, 3\] = matmul\(input0, model\.weight\) +# test_trace\.py:\d+$", lines[2])
    assert re.search(r"^    t\d+: float64\[4, 3\] = add\(t\d+, model\.bias\)", lines[3])
    assert sum(line.strip().startswith("plain(model.") for line in lines) == 2
    assert re.fullmatch(r"    return t\d+", lines[-1])


def test_the_stages_get_shorter_and_end_with_the_source(step):
    stages = step.stages()
    assert [title for title, _ in stages] == ["recorded", "fold_constants", "reuse_results", "skip_copies", "drop_unused", "fuse"]
    lengths = [len(text.splitlines()) for _, text in stages[:-1]]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < lengths[0]
    assert "def fused(" in stages[-1][1]


def test_a_function_that_has_not_been_called_has_no_trace():
    with pytest.raises(RuntimeError, match="relu has no trace, because it has not been called yet; call it once"):
        minitorch.compile(nn.relu, fallback="eager").trace  # noqa: B018
    assert minitorch.compile(nn.relu).name == "relu"


def test_a_picture_has_a_row_for_each_operation_and_a_bar_for_each_temporary_buffer(step):
    picture = ET.fromstring(step.figure())
    name = "{http://www.w3.org/2000/svg}"
    rows = [each.text for each in picture.iter(f"{name}text")]
    assert rows == [str(node) for node in step.trace.nodes]
    bars = [each for each in picture.iter(f"{name}rect") if each.get("opacity")]
    temporary = {buffer for node in step.trace.nodes for buffer in node.buffers() if buffer.role == TEMPORARY}
    assert len(bars) == len(temporary)
    colors = {each.get("fill") for each in picture.iter(f"{name}rect")}
    assert colors == set(trace_figure.COLORS.values())
    title = picture.find(f"{name}title")
    assert title is not None
    assert re.fullmatch(
        r"The program train: \d+ operations, \d+ in the forward pass, \d+ in the backward pass, 2 of the optimizer, .*", str(title.text)
    )
