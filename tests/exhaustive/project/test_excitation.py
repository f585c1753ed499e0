"""What excites a unit: its strongest images, the pixels that it reads, and the page."""

import re

from tests.project.classifier_pages import page_text, picture_markup, until_done
from tests.project.pages import ignore_saved_files, open_page


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
