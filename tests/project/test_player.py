"""The player of a sequence: stepping, both ends, and playing to the last picture."""

import pytest
from streamlit.testing.v1 import AppTest

from project.lab.widgets import player
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  a fixture


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


def current_picture(app):
    assert not app.exception, app.exception[0].message
    return app.markdown[0].value


def press(app, key):
    return app.button(key=key).click().run()


def test_the_player_starts_at_the_first_picture_and_steps_forward_and_back(app):
    assert current_picture(app) == "picture 0"
    assert app.button(key="back").disabled
    assert current_picture(press(app, "forward")) == "picture 1"
    assert current_picture(press(app, "forward")) == "picture 2"
    assert current_picture(press(app, "back")) == "picture 1"


def test_the_player_ends_at_the_last_picture(app):
    app.select_slider(key="picture").set_value(5).run()
    assert current_picture(app) == "picture 5"
    assert app.button(key="forward").disabled


def test_the_picture_is_clamped_to_a_shorter_sequence(app):
    app.select_slider(key="picture").set_value(5).run()
    app.number_input[0].set_value(1).run()
    assert current_picture(app) == "picture 1"


def test_a_sequence_of_one_picture_has_no_active_buttons(app):
    app.number_input[0].set_value(0).run()
    assert current_picture(app) == "picture 0"
    assert not app.select_slider
    assert all(button.disabled for button in app.button)


def test_during_play_every_run_shows_the_next_picture_until_the_last(app):
    assert app.button(key="pause").disabled
    assert current_picture(press(app, "play")) == "picture 1"
    assert app.button(key="play").disabled
    assert current_picture(app.run()) == "picture 2"
    assert not app.button(key="pause").disabled
    for _ in range(3):
        app.run()
    assert current_picture(app) == "picture 5"
    assert app.button(key="pause").disabled
    assert current_picture(app.run()) == "picture 5"


def test_at_the_end_play_starts_over(app):
    app.select_slider(key="picture").set_value(5).run()
    assert current_picture(press(app, "play")) == "picture 0"
    assert current_picture(app.run()) == "picture 1"


@pytest.mark.parametrize(("key", "picture"), [("pause", 1), ("forward", 2), ("back", 0)])
def test_every_other_button_stops_playing(app, key, picture):
    press(app, "play")
    assert current_picture(press(app, key)) == f"picture {picture}"
    assert current_picture(app.run()) == f"picture {picture}"


def test_play_continues_from_the_slider_position(app):
    press(app, "play")
    app.select_slider(key="picture").set_value(3).run()
    assert current_picture(app) == "picture 4"


def test_the_clock_reruns_the_page_only_after_the_interval(app, monkeypatch):
    press(app, "play")
    rerun = []
    monkeypatch.setattr(player.st, "rerun", lambda: rerun.append("rerun"))
    app.run()  # the clock is part of this run, right after the picture
    assert not rerun
    press(app, "pause")
    monkeypatch.setattr(player, "PACE", -1.0)
    press(app, "play")
    assert rerun


def test_without_play_the_play_buttons_are_absent():
    def plain():
        from project.lab.widgets.player import player

        player(3, "picture", "Visited so far")

    app = AppTest.from_function(plain).run()
    assert [button.key for button in app.button] == ["back", "forward"]


@pytest.mark.parametrize(("step", "shown"), [("3", 3), ("99", 20), ("-99", 0), ("x", 1)])
def test_the_address_may_name_the_first_picture(step, shown):
    assert open_page("m3_tiling", n="4", tile="2", tiling_step=step).select_slider(key="tiling_step").value == shown
