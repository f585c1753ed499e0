"""The page "A language model": its models, the text, the next token, what the model computes, and other weights."""

import pytest

import minitorch
from minitorch import SimpleBackend
from minitorch.language import add_adapters, generation, lora, quantization, save_adapters
from minitorch.language.layers import Linear
from project.lab import language_model
from project.lab.explorers import language_model_pass, language_model_training
from project.lab.training import checkpoint
from project.lab.training.checkpoint import Checkpoint
from project.lab.training.jobs import Failed
from tests.project.pages import fill, forward, ignore_saved_files, open_page, page_text, press, specs, unwritten  # noqa: F401  a fixture
from tests.project.test_language_model_training import FakeJob

NAME = "m6_language_model"
SIZES = {"context": 16, "layers": 2, "heads": 2, "width": 8}
NOTES = {"program": "run_gpt", "setting": SIZES, "merges": [[116, 104]], "step": 3, "date": "2026-11-29", "command": "python …"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A checkpoint of a model that knows nothing, and adapters for it, in place of those that ship."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "FastBackend", SimpleBackend)
        patch.setattr(quantization, "int_product", quantization._int_product)
        patch.setattr(language_model, "SHIPPED", folder / "stories")
        patch.setattr(language_model_pass, "ADAPTER", folder / "adapter")
        minitorch.manual_seed(0)
        model = language_model.make_model(257, SIZES)
        arrays = {f"model.{name}": parameter.value.to_numpy() for name, parameter in model.named_parameters()}
        checkpoint.save(folder / "stories", Checkpoint(NOTES, arrays))
        add_adapters(model, list(lora.named_layers(model, Linear)), 2, 2.0)
        model.h.modules()[1].mlp.c_fc.B.update(model.h.modules()[1].mlp.c_fc.B.value + 1)
        save_adapters(model, folder / "adapter")
        yield folder


def open_model(**query):
    return open_page(NAME, **{"language_text_0": "the cat", **query})


@pytest.mark.usefixtures("files")
def test_the_model_that_ships_is_shown_at_once():
    app = open_model()
    text = page_text(app)
    assert not app.error
    assert "257 tokens, 3 steps. It learned synthetic stories and sums on 2026-11-29, by `python …`." in text
    assert "6 tokens of a vocabulary of 257" in text
    assert "Most likely next:" in text
    assert "The query 5 't' attends: head 1 most to" in text
    assert "It ends at" in text
    assert "Memory for all 16 positions of the context is taken once: 2,048 bytes, 128 for each position. 6 of them are written" in text
    assert "Choose other weights at the top of the page." in text
    assert len(specs(app)) == 5  # bars, two heads, the stream and its logits


@pytest.mark.usefixtures("files")
def test_a_step_adds_a_token_and_goes_to_it():
    app = open_model(language_temperature="2.0", language_samples="3")
    drawn = app.session_state["language_generated"][1]
    assert len(drawn) == 11  # until the context is full
    forward(forward(app))
    assert app.session_state["language_position"] == 7
    assert "8 tokens of a vocabulary of 257" in page_text(app)
    assert "the last step wrote 128." in page_text(app)
    assert app.selectbox(key="language_target").value == drawn[2]
    fill(app, language_samples=4)
    assert app.session_state["language_generated"][1] != drawn


@pytest.mark.usefixtures("files")
def test_an_earlier_position_shows_what_was_expected_there():
    app = fill(open_model(), language_position=1)
    assert "The query 1 'e' attends" in page_text(app)
    assert app.selectbox(key="language_target").value == ord(" ")
    assert "The query 0 'th' attends" in page_text(fill(app, language_position=0))
    assert "The query 2 'c' attends" in page_text(fill(app, language_text_0="thac"))  # a new text begins at its end


@pytest.mark.usefixtures("files")
def test_settings_move_the_bars():
    app = open_model(language_top_k="2")
    assert "Probabilities of 2 of 257 tokens are above 0; they sum to 1." in page_text(app)
    assert "Probabilities of 1 of 257 tokens are above 0" in page_text(fill(app, language_temperature=0.0))


@pytest.mark.usefixtures("files")
def test_int8_and_adapters_are_compared_with_the_weights_of_the_file():
    app = open_model(language_weights="int8")
    assert not app.error
    large, small = (row["bytes"] for row in app.table[0].value.to_dict("records"))
    assert (large, small) == ("15,776", "11,744")  # 3,944 numbers; 1,536 of them become a byte each, with 144 scales
    assert "The largest change is that of" in page_text(app)
    fill(app, language_weights="float32 and adapters")
    assert [row["weights"] for row in app.table[0].value.to_dict("records")] == ["float32", "float32 and adapters"]
    assert "The adapters have learned stories in which everything is red." in page_text(app)
    fill(app, language_weights="int8 with merged adapters")
    assert [row["bytes"] for row in app.table[0].value.to_dict("records")] == ["15,776", "11,744"]
    assert "a scale for each output. Embeddings and normalizations remain.\nThe adapters have learned stories" in page_text(app)
    assert not app.error


@pytest.mark.usefixtures("files")
def test_text_that_does_not_fit_is_refused():
    app = fill(open_model(), language_text_0="x" * 17)
    assert [error.value.replace("\\", "") for error in app.error] == ["expected 1 to 16 tokens, got 17"]


@pytest.mark.usefixtures("files")
def test_functions_that_are_not_written_leave_the_rest(monkeypatch):
    monkeypatch.setattr(generation, "generate", lambda *given: exec(unwritten("6.6")))
    app = open_model()
    assert "Task 6.6 is not written yet" in page_text(app)
    assert "Task 6.6 is not written yet" in page_text(app.run())
    assert "The query 5 't' attends" in page_text(app)


# Other models


def test_a_checkpoint_is_loaded_and_only_the_shipped_model_has_adapters(files):
    app = open_page(NAME, language_source="load a checkpoint", language_file=str(files / "stories"), language_text_2="that")
    assert "The query 2 't' attends" in page_text(app)
    assert "float32 and adapters" not in app.get("button_group")[1].options
    assert not app.error


def test_without_a_file_the_page_names_the_command_that_makes_one():
    app = open_page(NAME, language_source="load a checkpoint")
    assert app.code[0].value == "python project/run_gpt.py --checkpoint gpt.safetensors"
    assert not app.error


@pytest.fixture
def _fake_program(monkeypatch):
    """Replaces the program that trains. FakeJob.started has the one that was started last."""
    monkeypatch.setattr(language_model_training, "Job", FakeJob)


def open_training(**query):
    return open_page(NAME, language_source="train a small one", **query)


@pytest.mark.usefixtures("_fake_program")
def test_training_shows_its_progress_and_ends_with_a_model(files):
    app = open_training(language_steps="40", language_heads="4")
    assert "Press **Start** to train a model." in page_text(app)
    assert app.button(key="language_stop").disabled
    press(app, "language_start")
    job, run = FakeJob.started[-1], app.session_state["language_run"]
    assert (run.setting.steps, run.setting.heads, run.text) == (40, 4, "repeated words")
    assert app.button(key="language_start").disabled
    run.checkpoint.write_bytes((files / "stories").read_bytes())
    job.lines += [{"parameters": 99}, {"step": 20, "loss": 2.0, "valid": 2.0, "seconds": 0.1}]
    job.running = False
    assert "99 parameters. After 20 of 40 steps" in page_text(app.run())
    assert not app.button(key="language_start").disabled
    assert app.text_input(key="language_text_1").value == "cafe cafe ca"
    assert "The query 11 'a' attends" in page_text(app)


@pytest.mark.usefixtures("_fake_program")
def test_training_can_be_stopped():
    app = press(press(open_training(), "language_start"), "language_stop")
    assert not FakeJob.started[-1].running
    assert app.button(key="language_stop").disabled


@pytest.mark.usefixtures("_fake_program")
def test_an_error_of_the_program_is_shown(monkeypatch):
    def read(job):
        job.running = False
        raise Failed("the loss is infinite")

    monkeypatch.setattr(FakeJob, "read", read)
    app = press(open_training(), "language_start")
    assert "Training failed." in page_text(app)
    assert app.code[0].value == "the loss is infinite"
