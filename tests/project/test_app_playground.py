"""The page of the playground: settings, training, the board's events, a race, and points of one's own."""

import shlex
from urllib.parse import parse_qs

import pytest

from project import run_playground
from project.lab.playground import page as playground
from project.lab.playground import share
from project.lab.playground.points import make_points
from project.lab.playground.presets import PRESETS
from project.lab.playground.setting import PlaygroundSetting
from project.lab.training import run_files
from tests.project.pages import epoch, fill, ignore_saved_files, open_page, page_text, press, replace_function, texts, unwritten  # noqa: F401


def trainer_of(app):
    return app.session_state["pg_trainer"]


class State(dict):
    """The session state outside of a run of the page."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def send(app, event):
    """The page after the board sent an event; AppTest has no browser, so the callback is called between two runs."""
    state = State({key: app.session_state[key] for key in ("pg_trainer", "pg_label", "pg_layers")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playground, "state", state)
        playground.act(event)
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def test_a_step_is_an_epoch_and_one_batch_is_an_update():
    app = open_page("playground", pg_points="20", pg_test="0")
    assert epoch(app) == 0
    assert (trainer_of(press(app, "pg_batch_step")).updates, epoch(app)) == (1, 0)
    assert (trainer_of(press(app, "pg_step")).updates, epoch(app)) == (2, 1)  # to the end of the epoch that was begun
    assert (trainer_of(press(app, "pg_step")).updates, epoch(app)) == (4, 2)
    assert app.metric[1].value == f"{trainer_of(app).losses[1]:.3f}"
    assert epoch(press(app, "pg_reset")) == 0


def test_play_trains_until_pause():
    app = press(open_page("playground"), "pg_start")
    updates = trainer_of(app).updates
    assert updates > 0
    assert app.button(key="pg_start").disabled
    assert trainer_of(press(app, "pg_pause")).updates == updates
    assert not app.button(key="pg_start").disabled


def train(**query):
    """The page after the last epoch of tensors on 10 points."""
    app = press(open_page("playground", pg_points="10", pg_network="tensors", **query), "pg_start")
    while not trainer_of(app).done:
        app.run()
    return app.run()


def test_training_ends_after_the_last_epoch():
    app = train(pg_epochs="1")
    assert epoch(app) == 1
    assert app.button(key="pg_start").disabled
    assert app.button(key="pg_pause").disabled


def test_the_address_contains_the_settings_and_the_command_repeats_them():
    app = open_page("playground", pg_network="fast", pg_dataset="Circle", pg_layers="5", pg_activation="relu", pg_noise="0.1", pg_seed="3")
    setting = trainer_of(app).setting
    chosen = (setting.network, setting.dataset, setting.layers, setting.activation, setting.noise, setting.seed)
    assert chosen == ("fast", "Circle", "5", "relu", 0.1, 3)
    assert setting.command() in texts(app.code)
    assert "FastBackend" in texts(app.code)[1]


def test_a_live_setting_changes_the_run_and_another_one_begins_a_new_network():
    app = press(open_page("playground", pg_points="20"), "pg_step")
    before = trainer_of(app)
    assert trainer_of(fill(app, pg_activation="relu", pg_rate=0.1)) is before
    assert (before.setting.activation, before.optimizer.lr) == ("relu", 0.1)
    assert "were changed during this run" in page_text(app)
    assert trainer_of(fill(app, pg_seed=1)) is not before
    assert "were changed during this run" not in page_text(app)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pg_layers": "4,9"}, "layers expected up to 6 numbers of units"),
        ({"pg_features": []}, "The network expected at least one input, got none."),
    ],
)
def test_a_network_that_cannot_be_built_is_refused(change, message):
    app = fill(open_page("playground"), **change)
    assert message in page_text(app)
    assert not app.exception


def test_what_is_clicked_on_the_board_changes_points_weights_and_layers():
    app = open_page("playground", pg_points="20")
    send(app, {"kind": "add", "x": (0.25, 0.5)})
    assert trainer_of(app).points.X[-1] == (0.25, 0.5)
    assert trainer_of(app).points.y[-1] == 1
    assert "--file points.csv" in texts(app.code)[0]
    send(app, {"kind": "delete", "number": 0})
    assert len(trainer_of(app).points.X) == 20
    send(app, {"kind": "weight", "layer": 0, "i": 1, "j": 2, "value": 0.75})
    assert trainer_of(app).weights()[0][1][2] == 0.75
    send(app, {"kind": "bias", "layer": 2, "i": 0, "j": 0, "value": -0.5})
    assert trainer_of(app).biases()[2] == [-0.5]
    send(app, {"kind": "layers", "layers": [2]})
    assert app.text_input(key="pg_layers").value == "2"
    assert trainer_of(app).setting.sizes == [2, 2, 1]
    assert trainer_of(app).points.X[-1] == (0.25, 0.5)  # the points stay
    assert trainer_of(press(app, "pg_original")).points == make_points(PlaygroundSetting(points=20))


def test_the_last_training_point_cannot_be_removed():
    app = open_page("playground", pg_points="4", pg_test="90")
    assert trainer_of(app).points.is_test.count(False) == 1
    send(app, {"kind": "delete", "number": trainer_of(app).points.is_test.index(False)})
    assert len(trainer_of(app).points.X) == 4


def test_a_weight_is_set_without_a_pointer():
    app = fill(open_page("playground"), pg_parameter="layer 2, bias of output 3", pg_value=1.5)
    assert trainer_of(press(app, "pg_set")).biases()[1][2] == 1.5


def test_a_race_trains_both_settings_as_long():
    app = press(open_page("playground", pg_points="20", pg_network="tensors", pg_epochs="3"), "pg_race")
    press(press(fill(app, pg_rate=0.01), "pg_step"), "pg_batch_step")
    rival = app.session_state["pg_rival"]
    assert (rival.epoch, rival.updates, rival.setting.rate) == (1, 3, 0.5)
    assert trainer_of(app).setting.rate == 0.01
    assert rival.losses != trainer_of(app).losses
    assert "of the rival" in app.metric[1].delta
    assert "The rival has rate 0.5." in page_text(app)
    assert "The rival has" not in page_text(press(app, "pg_end_race"))


def test_a_rival_with_other_batches_is_as_far_in_the_epoch():
    trainer, rival = (playground.make_trainer(PlaygroundSetting(network="tensors", batch=batch, epochs=2)) for batch in (7, 35))
    for _ in range(12):  # 70 training points: 10 updates are an epoch
        trainer.advance()
        playground.catch_up(trainer, rival)
    assert (trainer.epoch, rival.epoch) == (1, 1)
    assert (trainer.updates, rival.updates) == (12, 3)


def upload(content):
    app = open_page("playground")
    return app.file_uploader(key="pg_file").upload("mine.csv", content, "text/csv").run()


def test_an_uploaded_file_replaces_the_data_set():
    app = upload(b"x1,x2,label\n0,0,1\n10,10,0\n5,5,1\n")
    assert trainer_of(app).points.X == ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5))
    assert "--file points.csv" in texts(app.code)[0]
    disabled = [app.selectbox(key="pg_dataset"), app.number_input(key="pg_points"), app.slider(key="pg_noise")]
    disabled.append(app.selectbox(key="pg_preset"))
    assert [(each.disabled, each.help) for each in disabled] == [(True, REASON)] * 4
    assert not app.slider(key="pg_test").disabled
    app.file_uploader(key="pg_file").clear().run()
    assert not any(each.disabled for each in [app.selectbox(key="pg_dataset"), app.number_input(key="pg_points")])
    assert trainer_of(app).points == make_points(PlaygroundSetting())


REASON = "Without effect: the points come from your file. Remove it under **Data** first."


def test_the_rate_follows_the_optimizer_and_can_be_changed():
    app = fill(open_page("playground"), pg_optimizer="Adam")
    assert trainer_of(app).setting.rate == 0.03
    assert trainer_of(fill(app, pg_rate=0.2)).setting.rate == 0.2
    assert trainer_of(fill(app, pg_optimizer="momentum")).setting.rate == 0.05
    assert trainer_of(open_page("playground", pg_optimizer="Adam")).setting.rate == 0.03
    assert trainer_of(open_page("playground", pg_optimizer="Adam", pg_rate="0.5")).setting.rate == 0.5


@pytest.mark.parametrize("title", PRESETS)
def test_a_preset_fills_the_controls_says_what_to_watch_and_keeps_the_kind_of_network(title):
    app = press(fill(open_page("playground"), pg_network="tensors", pg_seed=3, pg_epochs=7), "pg_step")
    setting = trainer_of(fill(app, pg_preset=title)).setting
    assert setting == PlaygroundSetting(network="tensors", seed=3, **PRESETS[title].changed)
    assert trainer_of(app).updates == 0
    assert texts(app.info) == [PRESETS[title].watch]
    assert trainer_of(fill(app, pg_preset=None)).setting == setting
    assert not app.info


def test_a_link_carries_settings_weights_and_points():
    app = press(fill(open_page("playground", pg_points="20"), pg_layers="3", pg_features=["x1", "x1*x2"], pg_optimizer="Adam"), "pg_step")
    send(app, {"kind": "add", "x": (0.25, 1 / 3), "y": 1})
    first, url = trainer_of(app), texts(app.code)[2]
    query = parse_qs(url.partition("?")[2])
    other = open_page("playground", **query)
    second = trainer_of(other)
    assert (second.setting, second.points) == (first.setting, first.points)
    assert (second.weights(), second.biases()) == (first.weights(), first.biases())
    assert share.PARAMETER not in other.query_params
    other.query_params[share.PARAMETER] = query[share.PARAMETER]  # as a browser may bring it back
    assert trainer_of(press(other, "pg_reset")).weights() != first.weights()
    assert trainer_of(other).points == first.points


def test_a_link_that_is_damaged_is_refused_once():
    app = open_page("playground", pg_shared="abc")
    assert share.DAMAGED in page_text(app)
    assert trainer_of(app.run()).updates == 0


def test_an_uploaded_file_that_cannot_be_read_is_refused():
    app = upload(b"0,0,1\n10,cat,0\n")
    assert "line 2 of the file expected numbers for x1 and x2, got '10' and 'cat'" in page_text(app)
    assert not app.exception


def test_a_run_is_kept_as_that_of_the_same_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    app = train(pg_epochs="2")
    assert run_playground.main(shlex.split(trainer_of(app).setting.command())[2:]) == 0
    capsys.readouterr()
    (from_program, from_page), unreadable = run_files.read_all()
    assert unreadable == []
    assert from_page.status == "finished"
    assert (from_page.curves, from_page.settings) == (from_program.curves, from_program.settings)


def test_an_error_of_student_code_stops_training_and_is_shown(monkeypatch):
    app = press(open_page("playground", pg_network="tensors"), "pg_step")
    replace_function(monkeypatch, "minitorch.tensor_functions.Sigmoid.backward", unwritten("2.4"))
    press(app, "pg_start")
    assert "2.4" in texts(app.info)[0]
    assert app.button(key="pg_start").disabled


# The points as a picture and a table


def test_the_points_are_shown_as_a_picture_and_a_table_with_the_source_of_their_data_set():
    app = open_page("m0_datasets", pg_dataset="Simple", pg_points="20", pg_seed="3")
    rows = app.dataframe[0].value
    assert len(rows) == 20
    assert list(rows["label"]) == [int(x_1 < 1 / 2) for x_1 in rows["x_1"]]
    assert list(rows["set"]).count("test") == 6  # 30 % of them
    assert f"20 points, {sum(rows['label'])} with label 1 (triangles)" in page_text(app)
    assert "minitorch.datasets['Simple'](20, seed=3)" in texts(app.code)
    assert any(text.startswith("def simple(") for text in texts(app.code))
    assert not open_page("playground").dataframe


def test_the_points_are_shown_before_the_network_is_written(monkeypatch):
    replace_function(monkeypatch, "minitorch.module.Module.parameters", unwritten("0.4"), "minitorch/module.py")
    app = open_page("m0_datasets", pg_points="20")
    assert "Task 0\\.4 is not written yet" in app.info[0].value
    assert not app.metric
    assert len(app.dataframe[0].value) == 20
