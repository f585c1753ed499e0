"""The training page of Module 2, where the compiled step learns the same as the step that is not compiled."""

from tests.marks import needs_compiler
from tests.project.pages import ignore_saved_files, open_page, texts


@needs_compiler
def test_a_compiled_step_learns_the_same_and_tells_its_gain():
    losses = []
    for compiled in ("false", "true"):
        app = open_page("m2_training", points="4", hidden="2", epochs="30", compile=compiled)
        for _ in range(12):
            app.button(key="step").click().run()
        losses.append(app.metric[1].value)
        assert (" --compile" in app.code[0].value) == (compiled == "true")
        gains = [text for text in texts(app.caption) if "Compiled: 6 of 12 steps were replayed; a step takes" in text]
        assert len(gains) == (compiled == "true")
    assert losses[0] == losses[1]
