"""The program that trains a GPT on a text: what it learns, prints, refuses and saves, and how it resumes; on the simple backend."""

import io
import math
import re
import shlex
import signal
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, tensor
from minitorch.language import GPT2, named_weights
from project import run_gpt
from project.lab import language_model
from project.lab.training import checkpoint, loop, text_trainer
from project.lab.training.text_trainer import Run, Setting, Text
from tests.errors import raises
from tests.project.programs import refusal

HELP = "run: python project/run_gpt.py --help"
SENTENCE = "The cat sat on the mat, and the dog lay on the log.\n"

TINY = Setting(steps=7, batch=2, context=4, layers=1, heads=2, width=8, seed=3)


@pytest.fixture(scope="module", autouse=True)
def on_the_simple_backend():
    """Train without compiling kernels, and validate with two batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "FastBackend", SimpleBackend)
        patch.setattr(text_trainer, "VALIDATION_BATCHES", 2)
        yield


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a text.txt"
    path.write_text(SENTENCE * 10, encoding="utf-8")
    return path


def small(file, *more):
    return ["--text", str(file), *TINY.flags(), "--log-every", "2", "--length", "5", *more]


def weights(run):
    return {name: array.tobytes() for name, array in named_weights(run.model).items()}


def trained(run):
    """The weights, the losses and a sampled text of a run, at its end."""
    while not run.done:
        run.advance()
    return weights(run), run.losses, list(run.sample("The ", 9, 1.0))


@pytest.fixture(scope="module")
def whole():
    """The results of a run that was not interrupted."""
    return trained(Run(TINY, SENTENCE * 10))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the program: its text, the contents of its checkpoint, and what it printed."""
    folder = tmp_path_factory.mktemp("gpt")
    (folder / "text").write_text(SENTENCE * 10, encoding="utf-8")
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert run_gpt.main(small(folder / "text", "--checkpoint", str(folder / "run"))) == 0
    return SimpleNamespace(text=folder / "text", checkpoint=(folder / "run").read_bytes(), out=out.getvalue(), err=err.getvalue())


@pytest.fixture
def path(tmp_path, finished):
    """The checkpoint of a finished run."""
    path = tmp_path / "run.safetensors"
    path.write_bytes(finished.checkpoint)
    return path


def test_the_book_is_prose_without_code_and_without_what_stands_above_the_titles():
    book = text_trainer.book()
    assert len(book) > 100_000
    assert book.startswith("# ")
    assert "## The idea\n" in book
    for code in ("```", "kernelspec", "import minitorch\n", "{code-cell}", "\n\n\n", "\\n", "{check}", "\n:"):
        assert code not in book


def test_where_there_is_no_book_a_text_is_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(text_trainer, "ROOT", tmp_path)
    expected = f"the course's book expected in {tmp_path / 'docs'}, got none; name a text with --text FILE, or learn --stories N"
    assert refusal(run_gpt, capsys) == expected


def test_a_text_becomes_the_bytes_of_its_utf_8_and_its_last_tenth_is_kept_apart():
    text = Text("cabbé" * 3 + "c", 1)
    assert text.train.tolist() == [*"cabbé".encode()] * 2 + [*b"cabb", 0xC3]
    assert text.valid.tolist() == [0xA9, *b"c"]
    assert text.numbers("bag") == [98, 97, 103]


def test_a_text_needs_one_token_more_than_ten_contexts():
    assert len(Text("ab" * 20 + "a", 4).valid) == 5
    message = "the text expected at least 41 tokens for a context of 4, got 40; take a longer text or a smaller --context"
    with raises(ValueError, message):
        Text("ab" * 20, 4)


@pytest.mark.parametrize("step", [0, 3])
def test_a_run_resumed_after_any_step_ends_with_the_weights_of_one_that_was_not_interrupted(whole, step, tmp_path):
    run = Run(TINY, SENTENCE * 10)
    assert weights(run) != whole[0]
    for _ in range(step):
        run.advance()
    checkpoint.save(tmp_path / "run", run.checkpoint())
    minitorch.rand((3,))  # random numbers drawn elsewhere
    run = Run.restored(checkpoint.load(tmp_path / "run"), SENTENCE * 10)
    assert run.step == step
    run.validation_loss()
    assert trained(run) == whole


def test_the_learning_rate_rises_falls_to_a_tenth_and_gradients_are_cut_to_the_same_length(monkeypatch):
    run = Run(replace(TINY, steps=40), SENTENCE * 10)
    step, lengths, rates = run.training.optimizer.step, [], []

    def measured():
        gradients = [parameter.value.grad.to_numpy().astype(float) for parameter in run.model.parameters()]
        lengths.append(math.sqrt(sum((gradient**2).sum() for gradient in gradients)))
        rates.append(run.training.optimizer.lr)
        step()

    monkeypatch.setattr(run.training.optimizer, "step", measured)
    run.training.largest_norm = 0.25
    while not run.done:
        run.advance()
    assert lengths == pytest.approx([0.25] * 40, rel=1e-4)
    assert rates[:2] + rates[20:21] + rates[-1:] == pytest.approx([0.0015, 0.003, 0.00165, 0.0003])  # warm-up of 2


def test_validation_asks_the_same_each_time_and_leaves_the_run_as_it_was(whole):
    run = Run(TINY, SENTENCE * 10)
    first = run.validation_loss()
    assert run.validation_loss() == first
    assert run.advance() == whole[1][0]
    fresh, valid = Run(TINY, SENTENCE * 10), np.random.default_rng(1)
    starts = np.concatenate([valid.integers(0, len(run.text.valid) - 4, 2) for _ in range(2)])  # 2 batches of 2
    pieces = run.text.valid[starts[:, None] + np.arange(5)]
    logits = fresh.model(tensor(pieces[:, :-1], SimpleBackend)).to_numpy().astype(float).reshape(16, -1)
    expected = np.log(np.exp(logits).sum(1)) - logits[np.arange(16), pieces[:, 1:].reshape(-1)]
    assert first == pytest.approx(expected.mean(), rel=1e-5)


def test_it_prints_the_text_the_log_the_outcome_and_what_the_network_writes(finished):
    head, size, *log, summary, gap, written, _ = finished.out.split("\n", 9)
    assert head == f"{finished.text}: 468 tokens to train on, 52 to validate with, 256 different"
    assert size == "GPT: 2,968 parameters"  # 256 · 8 + 4 · 8 + 12 · 8² + 13 · 8 + 16
    pattern = r"step (\d)/7  loss \d\.\d{4}  valid \d\.\d{4}  \d+\.\d{3} s a step"
    assert [re.fullmatch(pattern, line)[1] for line in log] == ["2", "4", "6", "7"]
    assert re.fullmatch(r"7 of 7 steps in \d+\.\d s \(\d+\.\d{3} s a step\)\.", summary)
    assert gap == ""
    assert written.startswith("The ")
    assert len(finished.out.partition("s a step).\n\n")[2]) <= len("The ") + 5 + len("\n")
    assert finished.err == ""


def test_a_line_is_the_mean_since_the_line_before_and_another_seed_gives_others(file, whole, finished, capsys):
    means = [f"{np.mean(losses):.4f}" for losses in np.split(np.array(whole[1]), [2, 4, 6])]
    assert re.findall(r"loss (\d\.\d{4})", finished.out) == means
    run_gpt.main(small(file, "--seed", "4", "--steps", "2"))
    assert re.findall(r"loss (\d\.\d{4})", capsys.readouterr().out) != means[:1]


def test_what_would_command_a_terminal_is_not_printed(tmp_path, capsys):
    path = tmp_path / "escapes"
    path.write_text("\x1b[2J\x07" * 30, encoding="utf-8")
    assert run_gpt.main(small(path, "--steps", "1")) == 0
    out = capsys.readouterr().out
    assert "\N{REPLACEMENT CHARACTER}" in out
    assert not {"\x1b", "\x07"} & set(out)


@pytest.mark.parametrize(("flags", "written"), [([], "The "), (["--beginning", "xéz"], "xéz")])
def test_a_beginning_may_have_characters_that_the_text_lacks(tmp_path, capsys, flags, written):
    (tmp_path / "text").write_text("zyx" * 40, encoding="utf-8")
    run_gpt.main(small(tmp_path / "text", "--steps", "1", "--length", "0", *flags))
    assert capsys.readouterr().out.endswith(f").\n\n{written}\n")


TOO_SHORT = "the text expected at least 641 tokens for a context of 64, got 3; take a longer text or a smaller --context"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--steps 0", "steps expected a whole number from 1 to 1000000, got 0"),
        ("--batch 1.5", "batch expected a whole number from 1 to 4096, got 1.5"),
        ("--context many", "context expected a whole number from 1 to 4096, got 'many'"),
        ("--layers -1", "layers expected a whole number from 1 to 100, got -1"),
        ("--heads 5", "heads expected a number that divides width, 64, got 5"),
        ("--width 4097", "width expected a whole number from 1 to 4096, got 4097"),
        ("--rate nan", "rate expected a number from 1e-09 to 1.0, such as 0.003, got nan"),
        ("--seed -1", "seed expected a whole number from 0 to 4294967295, got -1"),
        ("--length -1", f"Invalid value for '--length': expected a whole number of at least 0, got -1; {HELP}"),
        ("--temperature -0.5", f"Invalid value for '--temperature': expected a number from 0 to 1000, got -0.5; {HELP}"),
        ("--beginning ''", "beginning expected at least one character, got none"),
        ("--text {empty}", "{empty} expected a text, got an empty file; name another with --text FILE"),
        ("--text {latin}", "{latin} expected text in UTF-8, got byte 0xe9 at 3, which is none; save it as UTF-8"),
        ("--text {windows}", TOO_SHORT),  # marks of Windows do not count
        ("--text {missing}", "[Errno 2] No such file or directory: '{missing}'"),
        ("--text {here}", "[Errno 21] Is a directory: '{here}'"),
        ("--resume", "--resume expected the file to resume from, got none; add --checkpoint FILE"),
        (
            "--checkpoint {path} --batch 2",
            "--checkpoint expected a new file, got '{path}', which exists; add --resume to resume it, or delete it",
        ),
        (
            "--checkpoint {missing}/gpt",
            "--checkpoint expected a file in an existing folder, got '{missing}/gpt'; make '{missing}' first",
        ),
        (
            "--checkpoint {path} --resume --steps 9 --rate 0.5 --seed 3",
            "--resume expected the settings of {path}, got --steps 9 (there 7), --rate 0.5 (there 0.003); leave these options out, or "
            "begin a new run",
        ),
        (
            "--checkpoint {path} --resume --text {backwards}",  # the same characters
            "{path} was made with another text; name that one with --text FILE, or begin anew",
        ),
        (
            "--checkpoint {missing} --resume",
            "expected a checkpoint at {missing}, got none; name a file that a program has written with --checkpoint",
        ),
        ("--from {path}", "--from expected a file for the adapters, got none; add --adapter FILE"),
        ("--adapter a", "--adapter expected a checkpoint to train adapters for, got none; add --from FILE"),
        ("--rank 2", "--rank expected a checkpoint to train adapters for, got none; add --from FILE"),
        ("--from {path} --adapter a --rank 0", "rank expected a whole number from 1 to 1024, got 0"),
        (
            "--from {path} --adapter a --checkpoint b",
            "--checkpoint expected a run that trains all weights, got one with --from; leave one of them out",
        ),
        (
            "--from {path} --adapter {empty}",
            "--adapter expected a new file, got '{empty}', which exists; name another one, or delete it",
        ),
        (
            "--from {path} --adapter {missing}/a",
            "--adapter expected a file in an existing folder, got '{missing}/a'; make '{missing}' first",
        ),
        (
            "--from {missing} --adapter a",
            "expected a checkpoint at {missing}, got none; name a file that a program has written with --checkpoint",
        ),
        (
            "--from {path} --adapter a --tokens 300 --heads 2 --width 16",
            "--from expected the sizes of {path}, got --tokens 300 (there 256), --width 16 (there 8); leave these options out",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_line(path, command, message, capsys):
    here = path.parent
    contents = {"empty": b"", "latin": b"caf\xe9 au lait", "windows": b"\xef\xbb\xbfo\r\no", "backwards": SENTENCE[::-1].encode() * 10}
    for name, content in contents.items():
        (here / name).write_bytes(content)
    paths = {"path": path, "here": here, "missing": here / "missing"} | {name: here / name for name in contents}
    assert refusal(run_gpt, capsys, *(word.format(**paths) for word in shlex.split(command))) == message.format(**paths)


def test_a_loss_that_is_not_a_number_ends_it_and_is_not_kept(file, tmp_path, monkeypatch, capsys):
    advance = Run.advance
    monkeypatch.setattr(Run, "advance", lambda run: advance(run) if run.step < 3 else run.losses.append(math.nan))
    path = tmp_path / "run"
    assert run_gpt.main(small(file, "--checkpoint", str(path))) == 1
    expected = "run_gpt.py: the loss is infinite or not a number after step 3; begin a new run with a --rate below 0.003\n"
    assert capsys.readouterr().err == expected
    assert checkpoint.load(path).about["step"] == 2


def test_gradients_that_are_not_numbers_end_it(file, monkeypatch, capsys):
    monkeypatch.setattr(language_model, "make_model", lambda *sizes: filled_with_nan(GPT2(*sizes[:1], 4, 1, 2, 8)))
    assert run_gpt.main(small(file)) == 1
    message = "clip_gradients expected finite gradients, got the norm nan; train again with a smaller rate or a longer warm-up, "
    assert capsys.readouterr().err == f"run_gpt.py: {message}or find the operation that makes it\n"


def filled_with_nan(model):
    for parameter in model.parameters():
        parameter.update(parameter.value * math.nan)
    return model


def test_a_finished_run_that_is_resumed_writes_the_same_again(finished, path, capsys):
    assert run_gpt.main(["--text", str(finished.text), "--checkpoint", str(path), "--resume", "--length", "5"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2] == "Resuming after step 7 of 7."
    assert out.partition("s a step).\n")[2] == finished.out.partition("s a step).\n")[2]
    assert path.read_bytes() == finished.checkpoint


def test_ctrl_c_saves_where_it_stands_and_the_command_told_goes_on_to_the_same_weights(file, path, tmp_path, monkeypatch, capsys):
    advance, stopped = Run.advance, tmp_path / "stopped here"

    def pressed(run):
        if run.step == 2:
            signal.raise_signal(signal.SIGINT)
        return advance(run)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", pressed)
        assert run_gpt.main(small(file, "--checkpoint", str(stopped))) == 130
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    outcome, how = err.splitlines()
    assert re.fullmatch(r"run_gpt\.py: stopped\. 3 of 7 steps in \d+\.\d s \(\d+\.\d{3} s a step\)\.", outcome)
    assert how == f"Resume with: python project/run_gpt.py --text '{file}' --checkpoint '{stopped}' --resume"
    assert checkpoint.load(stopped).about["step"] == 3
    assert run_gpt.main(["--text", str(file), "--checkpoint", str(stopped), "--resume", "--log-every", "2", "--length", "5"]) == 0
    assert "Resuming after step 3 of 7.\nstep 4/7  loss" in capsys.readouterr().out
    one, other = checkpoint.load(stopped), checkpoint.load(path)
    assert one.about | {"seconds": 0} == other.about | {"seconds": 0}
    assert {name: array.tobytes() for name, array in one.arrays.items()} == {name: array.tobytes() for name, array in other.arrays.items()}


def test_a_second_ctrl_c_ends_a_step_and_leaves_the_last_checkpoint(file, tmp_path, monkeypatch, capsys):
    advance, path = Run.advance, tmp_path / "run"

    def pressed_twice(run):
        if run.step == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return advance(run)

    monkeypatch.setattr(Run, "advance", pressed_twice)
    assert run_gpt.main(small(file, "--checkpoint", str(path))) == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("Resume with: ")
    assert checkpoint.load(path).about["step"] == 2


def test_checkpoints_come_between_lines_as_well_when_these_are_rare(file, tmp_path, monkeypatch):
    kept, save = [], checkpoint.save
    monkeypatch.setattr(loop, "SAVED_EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "save", lambda path, saved: kept.append(saved.about["step"]) or save(path, saved))
    run_gpt.main(small(file, "--checkpoint", str(tmp_path / "run"), "--log-every", "100"))
    assert kept == [1, 2, 3, 4, 5, 6, 7]


def test_files_that_are_no_checkpoints_of_this_network_are_refused(file, path, capsys):
    resume = ["--text", file, "--checkpoint", path, "--resume"]
    saved = checkpoint.load(path)
    saved.arrays["model.ln_f.weight"] = np.ones(9, np.float32)
    checkpoint.save(path, saved)
    assert "ln_f.weight of shape (9,) instead of (8,)" in refusal(run_gpt, capsys, *resume)
    saved.about["program"] = "run_sentiment"
    checkpoint.save(path, saved)
    assert refusal(run_gpt, capsys, *resume) == f"{path} is a checkpoint of run_sentiment.py; resume it there"
