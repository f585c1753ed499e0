"""The program that continues lines with a trained model: what it writes, where a line ends, and what it refuses."""

import io
import re

import numpy as np
import pytest

from minitorch import SimpleBackend, tensor
from minitorch.language import QuantizedLinear, Tokenizer, add_adapters, generate, quantize, save_adapters
from project import chat
from project.lab import language_model
from project.lab.training import checkpoint, command_line
from project.lab.training.text_trainer import Run, Setting
from tests.project.programs import refusal

HELP = "run: python project/chat.py --help"
TEXT = "abc.\n" * 40
SETTING = Setting(steps=25, batch=4, context=8, layers=1, heads=2, width=8)


@pytest.fixture(scope="module", autouse=True)
def on_the_simple_backend():
    """Compile no kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "FastBackend", SimpleBackend)
        yield


FOLLOWING = dict(zip(b"abc.\n", b"bc.\na", strict=True))


@pytest.fixture
def knows(monkeypatch):
    """Let any model continue with what follows each character of TEXT; the texts that it gets, and the settings."""
    got = []

    def following(model, text, count, **settings):
        got.append((bytes(text), settings))
        last = text[-1]
        for _ in range(count):
            last = FOLLOWING[last]
            yield last

    monkeypatch.setattr(language_model, "continue_tokens", following)
    return got


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A checkpoint of a model that has learned nothing."""
    run = Run(SETTING, TEXT)
    path = tmp_path_factory.mktemp("chat") / "model"
    checkpoint.save(path, run.checkpoint())
    return path


def chat_about(monkeypatch, capsys, lines, *arguments):
    """What the program writes to standard output and to standard error after these lines."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    assert chat.main([*map(str, arguments)]) == 0
    return capsys.readouterr()


def test_each_line_is_continued_up_to_its_end_and_the_text_grows(model, knows, monkeypatch, capsys):
    out, err = chat_about(monkeypatch, capsys, ["ab", "", "abc"], model, "--top-k", "3")
    assert out == "c.\nabc.\n.\n"
    assert knows == [(text, {"temperature": 0.8, "top_k": 3, "top_p": None}) for text in (b"\nab", b"\nabc.\n", b"\nabc.\nabc.\nabc")]
    first, help, *rates = err.splitlines()
    assert first == f"{model.name}: 256 tokens, a context of 8, 12,000 bytes."
    assert help == "Type the beginning of a line, or nothing for a new one. Ctrl-C ends a line, Ctrl-D the program."
    assert [re.fullmatch(r"(\d+) tokens, \d+ a second", rate)[1] for rate in rates] == ["2", "4", "1"]


def test_a_line_has_at_most_so_many_tokens(model, knows, monkeypatch, capsys):
    assert chat_about(monkeypatch, capsys, ["a", "b"], model, "--length", "2")[0] == "bc\nc.\n"
    assert knows[1][0] == b"\nabc\nb"


def test_without_a_model_it_is_the_one_that_ships(knows, monkeypatch, capsys):
    _, err = chat_about(monkeypatch, capsys, ["b"])
    assert err.startswith("m6_stories.safetensors: 896 tokens, a context of 128, 1,573,760 bytes.")
    assert knows[0][0] == b"\nb"


def test_a_special_token_ends_a_line(model, monkeypatch, capsys):
    language = language_model.load(model)
    tokenizer = Tokenizer.train("", 257, ["<|end|>"])
    monkeypatch.setattr(language_model, "load", lambda path: language._replace(tokenizer=tokenizer))
    monkeypatch.setattr(language_model, "continue_tokens", lambda *_, **__: iter([97, 256, 98]))
    assert chat_about(monkeypatch, capsys, ["b"], model)[0] == "a\n"


def test_the_model_writes_and_the_seed_determines_what(model, monkeypatch, capsys):
    settings = model, "--length", "3"
    found = [chat_about(monkeypatch, capsys, ["ab"], *settings, "--seed", seed)[0] for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    tokens = list(generate(language_model.load(model).model, list(b"\nab"), 3, 0))
    expected = bytes(tokens).decode(errors="replace")
    assert chat_about(monkeypatch, capsys, ["ab"], *settings, "--temperature", "0")[0] == f"{command_line.printable(expected)}\n"


def test_the_bytes_of_a_quantized_model_are_told(model, monkeypatch, capsys):
    quantized = []
    monkeypatch.setattr(chat, "quantize", lambda model: quantized.append(model) or quantize(model))
    _, err = chat_about(monkeypatch, capsys, ["ab"], model, "--length", "1", "--int8")
    assert err.splitlines()[0] == f"{model.name}: 256 tokens, a context of 8, 12,000 bytes, quantized 9,984."
    assert isinstance(quantized[0].h.modules()[0].mlp.c_fc, QuantizedLinear)


def test_adapters_change_what_it_writes(model, tmp_path, monkeypatch, capsys):
    adapted = language_model.load(model).model
    add_adapters(adapted, ["h.0.mlp.c_proj", "h.0.attn.c_attn"], 2, 4.0)
    for name, parameter in adapted.named_parameters():
        if name.endswith(".B"):
            parameter.update(tensor(np.full(parameter.value.shape, 0.5, np.float32)))
    save_adapters(adapted, tmp_path / "adapter")
    logits = adapted(tensor(np.array([[97, 98]]))).to_numpy()
    read = language_model.load(model).model
    language_model.load_adapter(read, tmp_path / "adapter")
    np.testing.assert_array_equal(read(tensor(np.array([[97, 98]]))).to_numpy(), logits)
    settings = model, "--temperature", "0", "--length", "3"
    plain, _ = chat_about(monkeypatch, capsys, ["ab"], *settings)
    assert chat_about(monkeypatch, capsys, ["ab"], *settings, "--adapter", tmp_path / "adapter")[0] != plain
    both, err = chat_about(monkeypatch, capsys, ["ab"], *settings, "--adapter", tmp_path / "adapter", "--int8")
    assert both != plain
    assert err.splitlines()[0] == f"{model.name}: 256 tokens, a context of 8, 12,000 bytes, quantized 9,984."


def test_ctrl_c_ends_a_line_and_at_the_beginning_of_one_the_program(model, monkeypatch, capsys):
    def interrupted(*_, **__):
        yield 97
        raise KeyboardInterrupt

    monkeypatch.setattr(language_model, "continue_tokens", interrupted)
    assert chat_about(monkeypatch, capsys, ["ab", "b"], model)[0] == "a\na\n"
    monkeypatch.setattr("builtins.input", lambda prompt: (_ for _ in ()).throw(KeyboardInterrupt))
    assert chat_about(monkeypatch, capsys, ["ab"], model)[0] == ""


def test_what_would_command_a_terminal_is_not_printed(model, monkeypatch, capsys):
    monkeypatch.setattr(language_model, "continue_tokens", lambda *_, **__: iter(b"\x1b[2J"))
    assert chat_about(monkeypatch, capsys, ["ab"], model)[0] == "\N{REPLACEMENT CHARACTER}[2J\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "expected a checkpoint at nowhere, got none; name a file that a program has written with --checkpoint"),
        (["--temperature", "-1"], f"Invalid value for '--temperature': expected a number from 0 to 1000, got -1.0; {HELP}"),
        (["--temperature", "nan"], f"Invalid value for '--temperature': expected a number from 0 to 1000, got nan; {HELP}"),
        (["--top-k", "0"], f"Invalid value for '--top-k': expected a whole number of at least 1, got 0; {HELP}"),
        (["--top-p", "0"], f"Invalid value for '--top-p': expected a number above 0 and up to 1, got 0.0; {HELP}"),
        (["--top-p", "1.5"], f"Invalid value for '--top-p': expected a number above 0 and up to 1, got 1.5; {HELP}"),
        (["--top-p", "half"], f"Invalid value for '--top-p': expected a number above 0 and up to 1, got 'half'; {HELP}"),
        (
            ["{model}", "--adapter", "{model}"],
            "{model} expected adapters with their rank and alpha, got none; name a file that save_adapters wrote",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(model, arguments, message, capsys):
    assert refusal(chat, capsys, *(word.format(model=model) for word in arguments)) == message.format(model=model)
