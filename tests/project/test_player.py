"""The player of a sequence: one step on and back, its ends, and playing to the last picture."""

import pytest
from streamlit.testing.v1 import AppTest

from project.lab.widgets import player


def page():
    import streamlit as st

    from project.lab.widgets.player import player

    last = int(st.number_input("last", value=5))
    st.write(f"picture {player(last, 'picture', 'Steps taken', plays=True)}")


@pytest.fixture
def app():
    app = AppTest.from_function(page, default_timeout=30).run()
    assert not app.exception
    return app


def shown(app):
    assert not app.exception, app.exception[0].message
    return app.markdown[0].value


def press(app, key):
    return app.button(key=key).click().run()


def test_it_begins_at_the_first_picture_and_goes_on_and_back(app):
    assert shown(app) == "picture 0"
    assert app.button(key="back").disabled
    assert shown(press(app, "forward")) == "picture 1"
    assert shown(press(app, "forward")) == "picture 2"
    assert shown(press(app, "back")) == "picture 1"


def test_it_ends_at_the_last_picture(app):
    app.slider(key="picture").set_value(5).run()
    assert shown(app) == "picture 5"
    assert app.button(key="forward").disabled


def test_a_shorter_sequence_keeps_the_picture_within_it(app):
    app.slider(key="picture").set_value(5).run()
    app.number_input[0].set_value(1).run()
    assert shown(app) == "picture 1"


def test_a_sequence_of_one_picture_has_nothing_to_press(app):
    app.number_input[0].set_value(0).run()
    assert shown(app) == "picture 0"
    assert not app.slider
    assert all(button.disabled for button in app.button)


def test_while_it_plays_every_run_shows_the_next_picture_and_the_last_stops_it(app):
    assert app.button(key="pause").disabled
    assert shown(press(app, "play")) == "picture 1"
    assert app.button(key="play").disabled
    assert shown(app.run()) == "picture 2"
    assert not app.button(key="pause").disabled
    for _ in range(3):
        app.run()
    assert shown(app) == "picture 5"
    assert app.button(key="pause").disabled
    assert shown(app.run()) == "picture 5"


def test_at_the_end_play_begins_again(app):
    app.slider(key="picture").set_value(5).run()
    assert shown(press(app, "play")) == "picture 0"
    assert shown(app.run()) == "picture 1"


@pytest.mark.parametrize(("key", "picture"), [("pause", 1), ("forward", 2), ("back", 0)])
def test_every_other_button_stops_playing(app, key, picture):
    press(app, "play")
    assert shown(press(app, key)) == f"picture {picture}"
    assert shown(app.run()) == f"picture {picture}"


def test_playing_goes_on_from_where_the_slider_is_put(app):
    press(app, "play")
    app.slider(key="picture").set_value(3).run()
    assert shown(app) == "picture 4"


def test_the_clock_runs_the_page_again_when_it_is_time_and_not_before(app, monkeypatch):
    press(app, "play")
    rerun = []
    monkeypatch.setattr(player.st, "rerun", lambda: rerun.append("rerun"))
    app.run()  # the clock is part of this run, just after the picture
    assert not rerun
    press(app, "pause")
    monkeypatch.setattr(player, "PACE", -1.0)
    press(app, "play")
    assert rerun


def test_without_play_there_are_no_such_buttons():
    def plain():
        from project.lab.widgets.player import player

        player(3, "picture", "Visited so far")

    app = AppTest.from_function(plain).run()
    assert [button.key for button in app.button] == ["back", "forward"]
