"""The page on attention: training, loading a checkpoint, typing a text, and generating characters one by one."""

import pytest

from minitorch import SimpleBackend
from project.lab.explorers import attention, attention_training
from project.lab.training import checkpoint, text_trainer
from project.lab.training.jobs import Failed
from project.lab.training.text_trainer import Setting
from tests.project.pages import fill, forward, ignore_saved_files, open_page, page_text, press  # noqa: F401  a fixture
from tests.project.test_attention import TEXT, FakeJob


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A checkpoint of a model, trained for some steps on the backend that compiles nothing."""
    path = tmp_path_factory.mktemp("gpt") / "gpt.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_trainer, "FastBackend", SimpleBackend)
        patch.setattr(text_trainer, "VALIDATION_BATCHES", 1)
        run = text_trainer.Run(Setting(steps=3, batch=1, context=24, layers=2, heads=2, width=8, rate=1e-2), 2 * TEXT)
        while not run.done:
            run.advance()
        checkpoint.save(path, run.checkpoint())
    return path


def open_model(file, **query):
    return open_page("m7_attention", attention_source="load a checkpoint", attention_file=str(file), **query)


def test_a_checkpoint_is_shown_with_its_attention_and_its_next_character(file):
    app = open_model(file, attention_text="the cat")
    text = page_text(app)
    assert "After 3 steps, layer 2. The query 6 't' attends: head 1 most to" in text
    assert "Most likely next:" in text
    assert len(app.get("vega_lite_chart")) == 3  # two heads, and the probabilities
    assert not app.error


def test_layer_and_query_select_what_is_described(file):
    app = open_model(file, attention_text="the cat", attention_layer="1", attention_query="2")
    loaded = attention.load(file)
    first, second = attention.forward(loaded.model, attention.encode(loaded, "the cat")).weights
    assert f"layer 1. {attention.in_words(first, 'the cat', 2)}" in page_text(app)
    assert f"layer 2. {attention.in_words(second, 'the cat', 2)}" in page_text(fill(app, attention_layer=2))
    assert attention.in_words(first, "the cat", 2) != attention.in_words(second, "the cat", 2)
    fill(app, attention_query=0)
    assert "The query 0 't' attends: head 1 most to itself (weight 1.00); head 2 most to itself (weight 1.00)." in page_text(app)


def test_a_shorter_text_keeps_the_query_in_range(file):
    app = open_model(file, attention_text="the cat", attention_query="6")
    assert "The query 1 'h' attends" in page_text(fill(app, attention_text="th"))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("the dog", "expected characters of the text that the model was trained on, got 'd', 'g' as well"),
        ("t" * 25, "expected 1 to 24 characters, got 25"),
        ("", "expected 1 to 24 characters, got 0"),
    ],
)
def test_an_invalid_text_is_refused_with_the_characters_that_the_model_knows(file, typed, says):
    app = fill(open_model(file, attention_text="the cat"), attention_text=typed)
    assert len(app.error) == 1
    assert says in page_text(app)
    assert "The characters are ␣.acehmnost." in page_text(app)


def test_without_a_file_the_page_names_the_command_that_makes_one():
    app = open_page("m7_attention", attention_source="load a checkpoint")
    assert app.code[0].value == "python project/run_gpt.py --checkpoint gpt.safetensors"
    assert not app.error


def test_characters_are_generated_one_by_one_from_the_seed(file):
    app = open_model(file, attention_text="the cat", attention_samples="3", attention_temperature="2.0")
    assert app.code[-1].value == "the cat▏"
    whole = app.session_state["attention_generated"][1]
    assert len(whole) == 80
    assert forward(forward(app)).code[-1].value == f"the cat▏{whole[:2]}"
    assert fill(app, attention_step=80).code[-1].value == f"the cat▏{whole}"
    fill(app, attention_samples=4)
    assert app.session_state["attention_generated"][1] != whole


# Training


@pytest.fixture
def _fake_program(monkeypatch):
    """Replaces the program that trains. FakeJob.started has the one that was started last."""
    monkeypatch.setattr(attention_training, "Job", FakeJob)


@pytest.mark.usefixtures("_fake_program")
def test_training_shows_its_progress_and_ends_with_a_model(file):
    app = open_page("m7_attention", attention_steps="40", attention_heads="4")
    assert "Press **Start** to train a model." in page_text(app)
    assert app.button(key="attention_stop").disabled
    press(app, "attention_start")
    job, run = FakeJob.started[-1], app.session_state["attention_run"]
    assert (run.setting.steps, run.setting.heads, run.text) == (40, 4, "repeated words")
    assert app.button(key="attention_start").disabled
    run.checkpoint.write_bytes(file.read_bytes())
    job.lines += [{"parameters": 99}, {"step": 20, "loss": 2.0, "valid": 2.0, "seconds": 0.1}]
    job.running = False
    assert "99 parameters. After 20 of 40 steps" in page_text(app.run())
    assert not app.button(key="attention_start").disabled
    assert app.text_input(key="attention_text").value == "cae cae ca"  # the model does not know f
    assert "After 3 steps, layer 2." in page_text(app)


@pytest.mark.usefixtures("_fake_program")
def test_training_can_be_stopped():
    app = press(press(open_page("m7_attention"), "attention_start"), "attention_stop")
    assert not FakeJob.started[-1].running
    assert app.button(key="attention_stop").disabled


@pytest.mark.usefixtures("_fake_program")
def test_an_error_of_the_program_is_shown(monkeypatch):
    def read(job):
        job.running = False
        raise Failed("the loss is infinite")

    monkeypatch.setattr(FakeJob, "read", read)
    app = press(open_page("m7_attention"), "attention_start")
    assert "Training failed." in page_text(app)
    assert app.code[0].value == "the loss is infinite"
