"""Files of adapters: what is in them, what is refused before anything changes; and adapters on the compiled backend."""

import numpy as np
import pytest

import minitorch
from minitorch import tensor
from minitorch.io.formats import FileFormatError, read_arrays, write_arrays
from minitorch.language import quantization
from minitorch.language.layers import Linear
from minitorch.language.lora import LoRALinear, add_adapters, fingerprint, load_adapters, merge_adapters, named_layers, save_adapters
from minitorch.language.model import GPT2, cross_entropy
from minitorch.language.quantization import quantize
from minitorch.language.weights import named_weights
from minitorch.optim import Adam
from tests.errors import raises
from tests.marks import needs_compiler

from .test_lora import ATTENTION, TOKENS, Pair, random_weights, values

REMEDY = "load the weights it was trained on, and call add_adapters with its layers, rank and alpha"


def adapted_model(names=tuple(ATTENTION), rank=2, alpha=4.0, seed=0, weights_seed=0, backend=minitorch.SimpleBackend):
    """A model with adapters whose B is not zero."""
    model = GPT2(7, 4, 2, 2, 4, backend)
    random_weights(model, weights_seed)
    add_adapters(model, names, rank, alpha, seed)
    for number, layer in enumerate(named_layers(model, LoRALinear).values()):
        drawn = np.random.default_rng((seed, number)).normal(size=layer.B.value.shape)
        layer.B.update(tensor(drawn, backend))
    return model


@pytest.fixture
def file(tmp_path):
    """A file of the adapters of `adapted_model()`."""
    path = tmp_path / "adapters.safetensors"
    save_adapters(adapted_model(), path)
    return path


# Merged models


def test_a_merged_model_has_linear_layers_with_the_weights_that_the_adapters_make():
    model, merged = adapted_model(), adapted_model()
    named_layers(merged, LoRALinear)["h.0.attn.c_attn"].merge()  # one is merged already
    merge_adapters(merged)
    assert not named_layers(merged, LoRALinear)
    assert named_layers(merged, Linear).keys() == named_layers(model, Linear).keys() | {*ATTENTION}
    found, w = named_weights(merged), named_weights(model)
    expected = {name: array for name, array in w.items() if not name.endswith((".A", ".B"))}
    for name in ATTENTION:
        expected[f"{name}.weight"] = expected[f"{name}.weight"] + (w[f"{name}.B"] @ w[f"{name}.A"]).T * 2
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(merged(tensor(TOKENS)).to_numpy(), model(tensor(TOKENS)).to_numpy(), rtol=1e-9)


def test_a_merged_model_without_adapters_stays_as_it_is():
    model = GPT2(7, 4, 1, 2, 4)
    layers = named_layers(model, Linear)
    merge_adapters(model)
    assert named_layers(model, Linear) == layers


def test_the_numbers_of_a_quantized_layer_with_a_merged_adapter_are_within_the_bound_of_those_that_are_not_quantized(monkeypatch):
    monkeypatch.setattr(quantization, "int_product", quantization._int_product)
    model = Pair()
    random_weights(model, 0)
    add_adapters(model, ["first"], 2, 6.0)
    draw = np.random.default_rng(1)
    model.first.B.update(tensor(draw.normal(size=model.first.B.value.shape)))
    w = named_weights(model)
    weight = w["first.weight"] + (w["first.B"] @ w["first.A"]).T * 3
    x = draw.normal(size=(5, weight.shape[0]))
    merge_adapters(model)
    quantize(model)
    with minitorch.no_grad():
        found = model.first(tensor(x)).to_numpy()
    step_x, step_w = np.abs(x).max(1)[:, None] / 254, np.abs(weight).max(0) / 254
    # (x + d) · (w + e) - x · w = x · e + d · w + d · e
    bound = np.abs(x).sum(1)[:, None] * step_w + step_x * np.abs(weight).sum(0) + len(weight) * step_x * step_w
    assert (np.abs(found - (x @ weight + w["first.bias"])) <= bound * 1.001 + 1e-6).all()
    assert (np.abs(found - (x @ w["first.weight"] + w["first.bias"])) > bound).any()  # without the adapter


# What a file holds


def test_a_file_holds_adapters_and_nothing_else(file):
    arrays, notes = read_arrays(file)
    expected = {name: array for name, array in values(adapted_model()).items() if name.endswith((".A", ".B"))}
    assert arrays.keys() == expected.keys() == {f"{name}.{part}" for name in ATTENTION for part in "AB"}
    assert all(np.array_equal(arrays[name], array) for name, array in expected.items())
    assert notes == {"format": "minitorch-lora-1", "rank": "2", "alpha": "4.0", "base": fingerprint(adapted_model())}
    assert file.stat().st_size < 2000  # 64 numbers; the model has 640


def test_loaded_adapters_give_the_outputs_of_the_saved_ones(file):
    saved, other = adapted_model(), adapted_model(seed=9)
    x = tensor(TOKENS)
    assert not np.allclose(other(x).to_numpy(), saved(x).to_numpy())
    load_adapters(other, file)
    assert np.array_equal(other(x).to_numpy(), saved(x).to_numpy())
    assert all(p.value.is_leaf() is name.endswith((".A", ".B")) for name, p in other.named_parameters())


def test_merged_adapters_are_saved_as_unmerged_ones(file, tmp_path):
    model = adapted_model()
    for layer in named_layers(model, LoRALinear).values():
        layer.merge()
    save_adapters(model, tmp_path / "merged.safetensors")
    assert (tmp_path / "merged.safetensors").read_bytes() == file.read_bytes()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(file, monkeypatch):
    before = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            save_adapters(adapted_model(seed=4), file)
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    save_adapters(adapted_model(seed=4), file)
    assert file.read_bytes() != before


def test_adapters_of_float64_load_into_a_float32_copy_of_the_model(file):
    weights = {name: array for name, array in values(adapted_model()).items() if not name.endswith((".A", ".B"))}
    model = GPT2(7, 4, 2, 2, 4)
    for name, parameter in model.named_parameters():
        parameter.update(tensor(weights[name], dtype="float32"))
    add_adapters(model, ATTENTION, 2, 4.0, seed=3)
    load_adapters(model, file)
    found = values(model)["h.0.attn.c_attn.B"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, values(adapted_model())["h.0.attn.c_attn.B"].astype(np.float32))


def test_the_fingerprint_depends_on_names_shapes_and_all_weights_but_not_on_adapters():
    model = adapted_model()
    before = fingerprint(model)
    assert fingerprint(adapted_model(seed=8, rank=1)) == before
    assert fingerprint(adapted_model(weights_seed=1)) != before
    plain = GPT2(7, 4, 2, 2, 4)
    random_weights(plain)
    assert fingerprint(plain) == before
    for layer in named_layers(model, LoRALinear).values():
        layer.merge()
    assert fingerprint(model) == before
    with minitorch.no_grad():
        model.ln_f.bias.update(model.ln_f.bias.value + 0.001)
    assert fingerprint(model) != before


# What is refused


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"names": ["h.0.attn.c_attn"]}, "an unknown h.1.attn.c_attn.A, an unknown h.1.attn.c_attn.B"),
        ({"names": [*ATTENTION, "h.0.mlp.c_fc"]}, "no h.0.mlp.c_fc.A, no h.0.mlp.c_fc.B"),
        (
            {"rank": 1},
            "h.0.attn.c_attn.A of shape (2, 4) instead of (1, 4), h.0.attn.c_attn.B of shape (12, 2) instead of (12, 1), "
            "h.1.attn.c_attn.A of shape (2, 4) instead of (1, 4), h.1.attn.c_attn.B of shape (12, 2) instead of (12, 1), "
            "rank 2 instead of 1",
        ),
        ({"alpha": 8.0}, "alpha 4.0 instead of 8.0"),
        ({"weights_seed": 1}, "adapters for other weights"),
        (
            {"names": ["h.0.mlp.c_fc"], "rank": 3, "alpha": 1.0, "weights_seed": 1},
            "no h.0.mlp.c_fc.A, no h.0.mlp.c_fc.B, an unknown h.0.attn.c_attn.A, an unknown h.0.attn.c_attn.B, "
            "an unknown h.1.attn.c_attn.A and 4 more",
        ),
    ],
)
def test_adapters_for_another_model_are_refused_before_anything_changes(file, changes, found):
    model = adapted_model(**{"seed": 5, **changes})
    before = values(model)
    count = len(changes.get("names", ATTENTION))
    with raises(ValueError, f"load_adapters expected a file for the {count} adapters of this model, got {found} in {file}; {REMEDY}"):
        load_adapters(model, file)
    after = values(model)
    assert all(np.array_equal(after[name], array) for name, array in before.items())


def test_adapters_of_whole_numbers_are_refused(file):
    arrays, notes = read_arrays(file)
    write_arrays(file, {name: array.astype(np.int64) if name == "h.1.attn.c_attn.B" else array for name, array in arrays.items()}, notes)
    model = adapted_model(seed=5)
    before = values(model)
    with pytest.raises(ValueError, match=r"got h\.1\.attn\.c_attn\.B of int64 in "):
        load_adapters(model, file)
    assert all(np.array_equal(values(model)[name], array) for name, array in before.items())


def test_files_of_other_kinds_are_refused(tmp_path, file):
    model, path = adapted_model(), tmp_path / "other.safetensors"
    write_arrays(path, named_weights(model))
    with raises(FileFormatError, f"{path} expected the format 'minitorch-lora-1', got None; name a file that save_adapters wrote"):
        load_adapters(model, path)
    path.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(FileFormatError, match="expected a whole safetensors file"):
        load_adapters(model, path)
    with pytest.raises(FileNotFoundError):
        load_adapters(model, tmp_path / "missing")


def test_a_model_must_have_adapters_that_are_not_merged(file):
    for call in (save_adapters, load_adapters):
        with raises(RuntimeError, f"{call.__name__} expected a model with adapters, got one without; call add_adapters first"):
            call(Pair(), file)
    model = adapted_model(seed=5)
    named_layers(model, LoRALinear)["h.1.attn.c_attn"].merge()
    before = values(model)
    message = "load_adapters expected adapters that are not merged, got h.1.attn.c_attn; call its unmerge first"
    with raises(RuntimeError, message):
        load_adapters(model, file)
    assert all(np.array_equal(values(model)[name], array) for name, array in before.items())


def test_a_layer_of_a_derived_class_is_no_layer_to_adapt():
    class Doubled(Linear):
        def forward(self, x):
            return super().forward(x) * 2

    model = Pair()
    model.third = Doubled(2, 2, minitorch.SimpleBackend)
    with raises(ValueError, "add_adapters expected names of linear layers, got 'third'; this model has first, inner.second"):
        add_adapters(model, ["third"], rank=1, alpha=1.0)


# The compiled backend


@needs_compiler
def test_training_and_merging_are_the_same_on_the_compiled_backend(tmp_path):
    found = []
    for backend in (minitorch.SimpleBackend, tensor([0.0]).to("cpu").backend):
        model = adapted_model(backend=backend)
        tokens, steps = tensor(TOKENS, backend), Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            steps.zero_grad()
            cross_entropy(model(tokens), tensor(TOKENS[:, ::-1].copy(), backend)).backward()
            steps.step()
        before = model(tokens).to_numpy()
        for layer in named_layers(model, LoRALinear).values():
            assert layer.A.value.backend is backend
            layer.merge()
        np.testing.assert_allclose(model(tokens).to_numpy(), before, rtol=1e-7, atol=1e-9)
        found.append(before)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7, atol=1e-9)


@needs_compiler
def test_new_adapters_change_no_output_by_a_single_bit_on_the_compiled_backend():
    backend = tensor([0.0]).to("cpu").backend
    model = GPT2(7, 4, 2, 2, 4, backend)
    random_weights(model)
    before = model(tensor(TOKENS, backend)).to_numpy().copy()
    add_adapters(model, list(named_layers(model, Linear)), rank=2, alpha=4.0)
    assert model(tensor(TOKENS, backend)).to_numpy().tobytes() == before.tobytes()
