"""What a network sees, on the page: the gradient with respect to the pixels, and the images that excite a unit most."""

import re

from tests.project.classifier_pages import page_text, picture_markup, until_done
from tests.project.pages import ignore_saved_files, open_page


def test_the_page_shows_the_saliency_of_an_image_and_of_a_drawing():
    app = open_page("m4_images", images_limit="48", images_epochs="1", images_batch="48", images_digit="4")
    app.button(key="images_start").click().run()
    until_done(app, "images")
    assert 'title="gradient of the log probability of 4, from' in picture_markup(app)
    assert "After epoch 1. Log probability of 4: more ink at row" in page_text(app)
    app.selectbox(key="images_digit").set_value("9").run()
    assert 'title="the gradient for 9 over the image"' in picture_markup(app)
    app.segmented_control(key="images_of").set_value("your drawing").run()
    assert "the gradient for 9" not in picture_markup(app)
    app.session_state["images_pad_strokes"] = [[(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]]
    app.run()
    assert 'title="the gradient for 9 over the image"' in picture_markup(app)
    assert not app.exception


def test_the_page_shows_the_images_that_excite_a_channel():
    app = open_page("m4_images", images_limit="48", images_epochs="1", images_batch="48")
    app.button(key="images_start").click().run()
    until_done(app, "images")
    assert len(re.findall(r'title="a \d; the unit reads', picture_markup(app))) == 12
    assert "Digits among the 12 images" in page_text(app) or "never positive" in page_text(app)
    first = picture_markup(app)
    app.segmented_control(key="images_layer").set_value("out").run()
    app.number_input(key="images_channel").set_value(7).run()
    assert len(re.findall(r'title="a \d; the unit reads', picture_markup(app))) == 12
    assert picture_markup(app) != first
    assert not app.exception
