"""The pages on attention, on larger models and on PyTorch, the links to the glossary, and what the interactive figures are made of."""

import math
import re

import numpy as np
import pytest

import minitorch
import minitorch.torch

from .test_docs import CHAPTERS, DOCS, check_answers, code_cells, glossary, page_name, questions, run_extension
from .test_nn_functional import softmax_of

PAGES = [DOCS / f"{name}.md" for name in ("attention", "training_large", "data_parallel", "from_here_to_pytorch")]

TERM = re.compile(r"\{term\}`([^`<]+?)(?: <([^>]+)>)?`")


def row(name: str, table: int) -> list[list[float]]:
    """The numbers of the cells of a row of one of the tables of the page on attention."""
    text = (DOCS / "attention.md").read_text(encoding="utf-8")
    body = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[table]
    (found,) = [line for line in body.splitlines() if line.startswith(f"| {name} |")]
    cells = [cell.replace("−∞", "-inf") for cell in found.split("|")[2:-1]]
    return [[float(number) for number in re.findall(r"-inf|[\d.]+", cell)] for cell in cells]


def shown(values: np.ndarray) -> list[float]:
    """The numbers as the page shows them, with three digits."""
    return [float(value) for value in np.round(values, 3)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_has_an_example_a_figure_common_mistakes_and_questions(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"---\n(?:(?!---\n).*\n)*difficulty: [123]\n", text)
    assert re.search(r"^## By hand|^\*\*By hand", text, re.MULTILINE)
    assert re.search(r"^(grids|lines)\(", "".join(code_cells(page)), re.MULTILINE)
    assert "\n## Common mistakes\n" in text
    assert len(text.partition("## Check yourself")[0].split()) <= 1400
    found = questions(page)
    assert 5 <= len(found) <= 8
    assert all(len(question["answer"].split()) >= 5 for question in found)
    assert page.stem in (DOCS / "index.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("page", PAGES[:-1], ids=page_name)
def test_answers_are_what_the_code_of_their_questions_prints(page) -> None:
    check_answers(page)


def test_the_numbers_of_attention_by_hand_are_numpys() -> None:
    text = (DOCS / "attention.md").read_text(encoding="utf-8")
    x = np.array([[1, 0], [0, 1], [1, 1]])
    query, key, value = x * [2, 1], x, x * [2, 4]  # the three matrices are diagonal
    scores = query @ key.T
    scaled = np.where(np.tri(3) > 0, scores / math.sqrt(2), -math.inf)
    weights = softmax_of(scaled, -1)
    for i in range(3):
        assert row(f"token {i + 1}", 0) == [x[i].tolist(), query[i].tolist(), key[i].tolist(), value[i].tolist()]
        assert row(f"token {i + 1}", 1) == [scores[i].tolist(), shown(scaled[i]), shown(weights[i])]
    out = weights @ value
    assert f"= ({out[2, 0]:.3f}, {out[2, 1]:.3f})$" in text
    assert f"token 2 gets $({out[1, 0]:.3f}, {out[1, 1]:.3f})$" in text
    powers = np.exp(scaled[2])
    for number in (*powers, powers.sum()):
        assert f"{number:.3f}" in text
    y = (x + out)[2]
    sentence = text.partition("**Layer norm.**")[2].partition("\n\n")[0]
    for number in (*y, y.mean(), y.std()):
        assert f"{number:.3f}" in sentence


def test_the_heads_of_the_page_on_attention_are_numpys() -> None:
    query, key = [2, 1], np.array([[1, 0, 1], [0, 1, 1]])
    for head in range(2):
        scores = query[head] * key[head]
        assert row(f"head {head + 1}", 2) == [[query[head]], key[head].tolist(), scores.tolist(), shown(softmax_of(scores, -1))]


def test_the_model_of_the_primer_makes_more_mistakes_at_its_lowest_loss_than_beside_it() -> None:
    hours, passed = np.arange(1, 7), np.array([0, 0, 1, 0, 1, 1])

    def true_label(bias: float) -> np.ndarray:
        p = 1 / (1 + np.exp(-(hours + bias)))
        return np.where(passed, p, 1 - p)

    assert min(np.linspace(-6.5, -0.5, 61), key=lambda bias: -np.log(true_label(bias)).mean()) == pytest.approx(-3.5)
    assert [int((true_label(bias) < 0.5).sum()) for bias in (-4.1, -3.5, -2.9)] == [1, 2, 1]
    narrow, barely = true_label(-3.5), true_label(-2.9)
    assert 0.5 < barely[2] < 0.55
    assert (barely < narrow).tolist() == [True, True, False, True, False, False]
    text = (DOCS / "primer" / "machine_learning.md").read_text(encoding="utf-8")
    assert f"the true label has probability {narrow[2]:.2f}" in text


def test_the_line_of_the_training_loop_is_numpys_and_1500_epochs_classify_all_points() -> None:
    data = minitorch.datasets["Simple"](50, 0)
    inputs, labels = np.column_stack([np.array(data.X), np.ones(50)]), np.array(data.y)
    weights = np.zeros(3)

    def train(epochs: int) -> int:
        for _ in range(epochs):
            weights[:] -= inputs.T @ (1 / (1 + np.exp(-inputs @ weights)) - labels) / 50
        return int(((inputs @ weights > 0) == labels).sum())

    assert train(200) < 50
    w_1, w_2, b = weights.tolist()
    text = (DOCS / "primer" / "training_loop.md").read_text(encoding="utf-8")
    assert f"${w_1:.2f} x_1 + {w_2:.2f} x_2 + {b:.2f} = 0$" in text
    assert f"= {-b / w_1:.2f}$, and at the top, where $x_2 = 1$, at $x_1 = {b + w_2:.2f} / {-w_1:.2f} = {-(b + w_2) / w_1:.2f}$" in text
    assert train(1300) == 50


def test_the_limits_of_half_precision_follow_from_the_bits() -> None:
    text = (DOCS / "training_large.md").read_text(encoding="utf-8")
    for name, exponent, fraction in (("float16", 5, 10), ("bfloat16", 8, 7)):
        bias = 2 ** (exponent - 1) - 1
        smallest, largest = 2.0 ** (1 - bias - fraction), (2 - 2.0**-fraction) * 2.0**bias
        (line,) = re.findall(rf"^\| `{name}` \|(.*)\|$", text, re.MULTILINE)
        assert [float(cell) for cell in line.split("|")] == [
            pytest.approx(smallest, rel=0.01),
            pytest.approx(largest, rel=0.01),
            pytest.approx(1 + 2.0**-fraction, rel=1e-4),
        ]


def comparison() -> list[list[str]]:
    """The rows of the table that compares the two interfaces: an expression, and its value in the course's and in PyTorch's."""
    text = (DOCS / "from_here_to_pytorch.md").read_text(encoding="utf-8")
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:4]] for line in text.splitlines() if line.startswith("| ")]
    assert rows[0] == ["written", "course", "PyTorch's interface"]
    return rows[1:]


def check_table(library, number: int) -> None:
    assert len(comparison()) >= 9
    for expression, *values in comparison():
        x = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        found = eval(expression, {**vars(library), "x": x, "len": len, "callable": callable})
        wanted = eval(values[number - 1], {"math": math})
        assert found == (pytest.approx(wanted, abs=1e-4) if isinstance(wanted, float) else wanted), expression


def test_the_table_of_the_two_interfaces_shows_the_course_s_values() -> None:
    check_table(minitorch, 1)


def test_pytorch_agrees_with_the_table_of_the_two_interfaces() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for expression, _, wanted in comparison():
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        found = eval(expression, {**vars(torch), "x": x, "len": len, "callable": callable})
        assert found == eval(wanted, {"math": math}), expression


def test_by_hand_on_the_page_on_pytorch_is_numpys() -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]])
    assert x.mean(1).tolist() == [2, 5]
    assert (x - x.mean(1, keepdims=True)).tolist() == [[-1, 0, 1]] * 2
    with pytest.raises(ValueError, match="broadcast"):
        _ = x - x.mean(1)
    text = (DOCS / "from_here_to_pytorch.md").read_text(encoding="utf-8").partition("## By hand")[2].partition("## A program")[0]
    assert "The means are 2 and 5." in text
    assert "$(-1, 0, 1)$" in text


def test_the_table_of_names_has_a_folded_part_for_each_group_and_the_reason_for_each_absent_name() -> None:
    code = """
from torch_names import names_table
groups = {"a": {"title": "Layers", "names": ["torch.nn.A", "torch.nn.B", "torch.nn.b.C"]}, "d": {"title": "One", "names": ["torch.d"]}}
print(names_table({"groups": groups, "absent": {"torch.nn.B": "too large", "torch.e.E": "too far"}}))
"""
    parts = [" ".join(part.split()) for part in run_extension(code).split(":::{dropdown} ")]
    assert parts[1:] == [
        "Layers: 2 of 3 In `torch.nn`: `A`, `b.C` * Absent: `B` (too large) :::",
        "One: 1 of 1 In `torch`: `d` :::",
        "Others that are absent: 0 of 1 In `torch.e`: * Absent: `E` (too far) :::",
    ]


@pytest.mark.parametrize("page", CHAPTERS, ids=page_name)
def test_a_chapter_links_its_terms_to_the_glossary_once_each(page) -> None:
    linked = [target or name for name, target in TERM.findall(page.read_text(encoding="utf-8"))]
    terms = {term.lower() for term in glossary()}
    assert 2 <= len(linked) <= 7
    assert len({term.lower() for term in linked}) == len(linked), "a term is linked twice"
    assert {term.lower() for term in linked} <= terms


def test_views_of_the_interactive_figure_are_those_of_the_library() -> None:
    found = run_extension("import json, interactive_figures\nprint(json.dumps(interactive_figures.layouts()))")
    t = minitorch.tensor(np.arange(12.0).reshape(3, 4))
    views = {name: eval(name, {"t": t}) for name in re.findall(r'"(t[^"]*)": \[\[', found)}
    assert len(views) == 5
    layouts = {name: [list(view.shape), list(view.stride()), view.storage_offset()] for name, view in views.items()}
    for name, layout in layouts.items():
        assert f'"{name}": {layout}' in found


@pytest.mark.parametrize(("name", "inputs", "buttons"), [("descent", 1, 2), ("fit", 2, 0), ("views", 1, 0)])
def test_an_interactive_figure_has_labeled_controls_a_caption_and_needs_no_other_file(name, inputs, buttons) -> None:
    drawn = run_extension(f"import interactive_figures\nprint(interactive_figures.{name}())")
    assert drawn.count('<input type="range"') == inputs
    assert drawn.count('<button type="button"') == buttons
    assert len(re.findall(r"<label>\w[^<]+<(?:input|select) ", drawn)) == inputs + (name == "views")
    assert len(re.findall(r"<figcaption>(.+?)</figcaption>", drawn)[0].split()) > 20
    assert 'aria-live="polite"' in drawn
    assert not re.search(r"\b(src|href|import|fetch|XMLHttpRequest)\b", drawn)
