"""Task 6.4 beside GPT-2's architecture in PyTorch, whose weights it takes; and what models and weights refuse."""

import numpy as np
import pytest

import minitorch
from minitorch import tensor
from minitorch.io.formats import read_arrays, write_arrays
from minitorch.language.model import GPT2, cross_entropy
from minitorch.language.weights import load_weights, named_weights
from tests.errors import raises
from tests.marks import needs_compiler

from .test_model import logits_of, random_weights

TOKENS, TARGETS = np.array([[0, 3, 1, 4], [2, 2, 0, 1]]), np.array([[3, 1, 4, 0], [2, 0, 1, 3]])


def torch_logits(torch, w, tokens, layers, heads):
    """GPT-2 from functions of PyTorch; the weights have the published names and layout."""
    F, width = torch.nn.functional, w["wte.weight"].shape[1]

    def norm(name, x):
        return F.layer_norm(x, (width,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    def linear(name, x):
        return F.linear(x, w[f"{name}.weight"].T, w[f"{name}.bias"])

    x = F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"][: tokens.shape[1]]
    for number in range(layers):
        name = f"h.{number}."
        parts = linear(f"{name}attn.c_attn", norm(f"{name}ln_1", x)).split(width, -1)
        query, key, value = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2)
        x = x + linear(f"{name}attn.c_proj", attended)
        x = x + linear(f"{name}mlp.c_proj", F.gelu(linear(f"{name}mlp.c_fc", norm(f"{name}ln_2", x)), approximate="tanh"))
    return F.linear(norm("ln_f", x), w["wte.weight"])


def test_logits_loss_and_gradients_are_those_of_torch_with_the_same_weights():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    model = GPT2(5, 4, 2, 2, 4)
    w = {name: torch.tensor(array, requires_grad=True) for name, array in random_weights(model).items()}
    logits, expected = model(tensor(TOKENS)), torch_logits(torch, w, torch.tensor(TOKENS), 2, 2)
    np.testing.assert_allclose(logits.to_numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-10)
    loss, right = (
        cross_entropy(logits, tensor(TARGETS)),
        torch.nn.functional.cross_entropy(expected.flatten(0, 1), torch.tensor(TARGETS).flatten()),
    )
    assert loss.item() == pytest.approx(right.item())
    loss.backward()
    right.backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameter.value.grad.to_numpy(), w[name].grad.numpy(), rtol=1e-6, atol=1e-9, err_msg=name)


def test_names_and_shapes_are_those_of_the_published_layout():
    shapes = {name: array.shape for name, array in named_weights(GPT2(7, 5, 1, 2, 4)).items()}
    assert shapes == {
        "wte.weight": (7, 4), "wpe.weight": (5, 4),
        "h.0.ln_1.weight": (4,), "h.0.ln_1.bias": (4,),
        "h.0.attn.c_attn.weight": (4, 12), "h.0.attn.c_attn.bias": (12,), "h.0.attn.c_proj.weight": (4, 4), "h.0.attn.c_proj.bias": (4,),
        "h.0.ln_2.weight": (4,), "h.0.ln_2.bias": (4,),
        "h.0.mlp.c_fc.weight": (4, 16), "h.0.mlp.c_fc.bias": (16,), "h.0.mlp.c_proj.weight": (16, 4), "h.0.mlp.c_proj.bias": (4,),
        "ln_f.weight": (4,), "ln_f.bias": (4,),
    }  # fmt: skip


def test_weights_go_through_a_file_and_masks_in_it_are_ignored(tmp_path):
    model, other = GPT2(5, 4, 1, 2, 4), GPT2(5, 4, 1, 2, 4)
    w = random_weights(model)
    masks = {"h.0.attn.bias": np.ones((1, 1, 4, 4)), "h.0.attn.masked_bias": np.array(-1e4)}
    write_arrays(tmp_path / "model.safetensors", {**w, **masks})
    load_weights(other, read_arrays(tmp_path / "model.safetensors")[0])
    np.testing.assert_array_equal(other(tensor(TOKENS)).to_numpy(), model(tensor(TOKENS)).to_numpy())


def test_weights_that_do_not_fit_are_refused_before_anything_changes():
    model = GPT2(5, 4, 1, 2, 4)
    before = named_weights(model)
    wrong = {name: array + 1 for name, array in before.items() if name != "ln_f.bias"}
    wrong |= {"wpe.weight": np.zeros((8, 4)), "lm_head.bias": np.zeros(5)}
    message = (
        "load_weights expected the 16 weights of the model, got no ln_f.bias, an unknown lm_head.bias, wpe.weight of shape (8, 4) "
        "instead of (4, 4); build it with the same sizes"
    )
    with raises(ValueError, message):
        load_weights(model, wrong)
    with raises(ValueError, "load_weights expected the 16 weights of the model, got no wte.weight, no wpe.weight, no h.0.ln_1.weight, "
                "no h.0.ln_1.bias, no h.0.attn.c_attn.weight and 11 more; build it with the same sizes"):  # fmt: skip
        load_weights(model, {})
    assert all(np.array_equal(before[name], array) for name, array in named_weights(model).items())


def test_copies_of_weights_do_not_change_with_the_model():
    model = GPT2(5, 4, 1, 2, 4)
    before = named_weights(model)["wte.weight"]
    first = before.copy()
    with minitorch.no_grad():
        model.wte.weight.value[0, 0] = 9.0
    assert np.array_equal(before, first)


def test_sizes_and_tokens_that_do_not_fit_are_refused():
    sizes = "{'vocabulary': 5, 'context': 4, 'layers': 1, 'heads': 3, 'width': 4}"
    with raises(ValueError, f"GPT2 expected sizes of at least 1 and heads that divide width, got {sizes}; try heads=4 and width=64"):
        GPT2(5, 4, 1, 3, 4)
    model = GPT2(5, 4, 1, 2, 4)
    with raises(ValueError, "GPT2 expected tokens of shape (B, T), got (3,); add a dimension with view(1, -1)"):
        model(tensor(np.array([1, 2, 3])))
    with raises(ValueError, "GPT2 expected at most 4 tokens, its context, got 5; shorten the text"):
        model(tensor(np.array([[1] * 5])))


@needs_compiler
def test_the_model_computes_the_same_on_the_compiled_backend():
    minitorch.manual_seed(0)
    model = GPT2(5, 4, 2, 2, 4, backend=tensor([0.0]).to("cpu").backend)
    w = random_weights(model)
    out = model(tensor(TOKENS, model.wte.weight.value.backend))
    np.testing.assert_allclose(out.to_numpy(), logits_of(w, TOKENS, 2, 2), rtol=1e-8, atol=1e-10)
