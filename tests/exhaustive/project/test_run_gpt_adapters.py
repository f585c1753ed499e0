"""Adapters that run_gpt.py trains for a checkpoint: the base stays as it is, and the chat writes with both."""

import io
import signal

import numpy as np
import pytest

from minitorch.io.formats import read_arrays
from project import chat, run_gpt
from project.lab import language_model
from project.lab.training import run_files, text_trainer
from project.lab.training.text_trainer import Run, Setting
from tests.project.test_run_gpt import on_the_simple_backend

OLD, NEW = "abcd\n" * 60, "acbd\n" * 60
SETTING = Setting(steps=60, batch=4, context=8, layers=1, heads=2, width=8, rate=0.03)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with both texts, and a checkpoint of a model that has learned the first one."""
    folder = tmp_path_factory.mktemp("adapters")
    (folder / "old").write_text(OLD, encoding="utf-8")
    (folder / "new").write_text(NEW, encoding="utf-8")
    arguments = ["--text", str(folder / "old"), *SETTING.flags(), "--length", "0", "--checkpoint", str(folder / "base")]
    assert run_gpt.main(arguments) == 0
    return folder


def adapt(files, adapter, *more):
    names = {"--from": files / "base", "--text": files / "new", "--adapter": adapter, "--steps": 60, "--rate": 0.05, "--batch": 4}
    return run_gpt.main([str(word) for pair in names.items() for word in pair] + ["--log-every", "20", "--length", "0", *more])


def chat_about(files, monkeypatch, capsys, line, *more):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))
    assert chat.main([str(files / "base"), "--temperature", "0", *map(str, more)]) == 0
    return capsys.readouterr().out


def test_a_model_is_trained_then_adapters_for_it_and_the_chat_writes_with_them(files, tmp_path, monkeypatch, capsys):
    before, adapter = (files / "base").read_bytes(), tmp_path / "an adapter"
    capsys.readouterr()
    assert adapt(files, adapter) == 0
    text, size, *_, last = capsys.readouterr().out.splitlines()
    assert text == f"{files / 'new'}: 270 tokens to train on, 30 to validate with, 256 different"
    assert size == "GPT: 3,512 parameters, of which 512 are trained"  # 4 · (8 + 24 + 8 + 8 + 8 + 32 + 32 + 8)
    assert last == f"Chat with the adapters: python project/chat.py {files / 'base'} --adapter '{adapter}'"
    assert (files / "base").read_bytes() == before
    arrays, notes = read_arrays(adapter)
    layers = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    assert {*arrays} == {f"h.0.{layer}.{part}" for layer in layers for part in "AB"}
    assert (notes["rank"], notes["alpha"]) == ("4", "8.0")
    assert chat_about(files, monkeypatch, capsys, "a") == "bcd\n"
    assert chat_about(files, monkeypatch, capsys, "a", "--adapter", adapter) == "cbd\n"
    assert chat_about(files, monkeypatch, capsys, "a", "--adapter", adapter, "--int8") == "cbd\n"


def test_the_same_rank_and_seed_train_the_same_adapters(files, tmp_path):
    for name, options in {"one": ("2", "7"), "same": ("2", "7"), "other": ("2", "8")}.items():
        assert adapt(files, tmp_path / name, "--rank", options[0], "--seed", options[1], "--steps", "2") == 0
    one, same, other = (read_arrays(tmp_path / name) for name in ("one", "same", "other"))
    assert (one[1]["rank"], one[1]["alpha"]) == ("2", "4.0")
    assert one[0]["h.0.mlp.c_fc.A"].shape == (2, 8)
    assert all(np.array_equal(one[0][name], array) for name, array in same[0].items())
    assert not np.array_equal(one[0]["h.0.mlp.c_fc.A"], other[0]["h.0.mlp.c_fc.A"])


def test_the_seed_draws_the_adapters_and_nothing_decays(files):
    base = language_model.load(files / "base")
    run = Run(text_trainer.adapter_setting(base, {"seed": 7, "rank": 2}, "base"), NEW, base)
    expected = np.random.default_rng(7).normal(0, 8**-0.5, (2, 8))
    np.testing.assert_allclose(run.model.h.modules()[0].attn.c_attn.A.value.to_numpy(), expected, rtol=1e-6)
    assert {group["weight_decay"] for group in run.training.optimizer.param_groups} == {0.0}


def test_after_ctrl_c_the_file_has_what_was_learned_so_far(files, tmp_path, monkeypatch, capsys):
    advance = Run.advance

    def pressed(run):
        if run.step == 4:
            signal.raise_signal(signal.SIGINT)
        return advance(run)

    monkeypatch.setattr(Run, "advance", pressed)
    capsys.readouterr()
    assert adapt(files, tmp_path / "adapter") == 130
    assert "run_gpt.py: stopped. 5 of 60 steps" in capsys.readouterr().err
    model = language_model.load(files / "base").model
    language_model.load_adapter(model, tmp_path / "adapter")
    assert model.h.modules()[0].mlp.c_fc.B.value.to_numpy().any()


def test_the_run_is_kept_with_a_command_that_repeats_it(files, tmp_path, monkeypatch):
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path / "runs"))
    assert adapt(files, tmp_path / "adapter", "--steps", "1") == 0
    (kept,) = run_files.latest(1)
    assert kept.settings["rank"] == 4
    assert kept.command.endswith(f" --rank 4 --text {files / 'new'} --from {files / 'base'} --adapter {tmp_path / 'adapter'}")
