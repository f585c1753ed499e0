"""The page on number formats: flipping bits, changing the format, typing numbers, and its messages."""

import pytest

from tests.project.pages import fill, ignore_saved_files, open_page, open_with, page_text, press, unwritten  # noqa: F401  a fixture

pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")


FEW = {"formats_terms": "20"}  # so that the running sums are fast


def test_the_page_begins_with_1_in_float16():
    app = open_page("m7_formats", **FEW)
    assert app.text_input(key="formats_bits").value == "0x3c00"
    assert "= (-1)^0 · 2^(15 - 15) · 1.0000000000 in binary" in app.code[0].value
    assert app.table[0].value["gap"].tolist() == ["0.000488281", "", "0.000976562"]
    assert not app.error
    assert not app.warning


def test_a_number_keeps_its_value_when_the_format_changes():
    app = open_page("m7_formats", formats_bits="0x3d00", **FEW)  # 1.25
    assert fill(app, formats_dtype="bfloat16").text_input(key="formats_bits").value == "0x3fa0"
    assert fill(app, formats_dtype="float64").text_input(key="formats_bits").value == "0x3ff4000000000000"
    assert "= 1.25" in app.code[0].value


def test_the_buttons_go_to_the_next_number_and_end_at_infinity():
    app = press(open_page("m7_formats", formats_bits="0x7bff", **FEW), "formats_arrow_upward")
    assert app.text_input(key="formats_bits").value == "0x7c00"
    assert app.button(key="formats_arrow_upward").disabled
    press(press(app, "formats_arrow_downward"), "formats_arrow_downward")
    assert app.text_input(key="formats_bits").value == "0x7bfe"


def test_an_example_sets_the_bits_in_the_current_format():
    app = fill(open_page("m7_formats", formats_dtype="float32", **FEW), formats_example="smallest subnormal")
    assert app.text_input(key="formats_bits").value == "0x00000001"
    assert "A subnormal number" in page_text(app)
    fill(app, formats_example="NaN")
    assert app.button(key="formats_arrow_upward").disabled
    assert app.button(key="formats_arrow_downward").disabled
    assert "not equal to any number, not even to itself" in page_text(app)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"formats_bits": "0x12345"}, "expected at most 4 hexadecimal digits, the 16 bits of a float16, got '0x12345'"),
        ({"formats_number": "__import__('os')"}, "expected a decimal number of at most 60 characters"),
        ({"formats_number": "1e999"}, "expected 0 or a number of a size from 1e-400 to 1e400, got '1e999'"),
        ({"formats_a": "inf"}, "expected a decimal number of at most 60 characters, got 'inf'"),
    ],
)
def test_invalid_input_is_refused_with_a_message(query, says):
    app = open_page("m7_formats", **query, **FEW)
    assert len(app.error) == 1
    assert says in page_text(app)


def test_the_format_can_be_changed_although_the_bits_are_invalid():
    assert not fill(open_page("m7_formats", formats_bits="?", **FEW), formats_dtype="float32").exception


def test_a_typed_number_is_rounded_in_every_format():
    app = open_page("m7_formats", formats_number="2049", **FEW)
    assert "a tie. Ties go to the neighbor whose last bit is 0, which is 2048." in page_text(app)
    assert app.table[1].value["nearest number"].tolist() == ["2048", "2048", "2049", "2049"]


def test_an_example_of_a_sum_sets_both_terms():
    app = open_page("m7_formats", **FEW)
    assert app.table[2].value["a + b"].tolist() == ["2048", "2048", "2049", "2049"]
    fill(app, formats_sum="0.1 + 0.2")
    assert (app.text_input(key="formats_a").value, app.text_input(key="formats_b").value) == ("0.1", "0.2")
    assert "In float16 and float64, a + b is not the number nearest to 0.3" in page_text(app)


def test_the_running_sums_are_computed_again_only_if_their_settings_change(monkeypatch):
    from project.lab.explorers import rounding

    app = open_page("m7_formats", formats_term="0.1", **FEW)
    assert "The sum of 20 terms of 0.1 is 2. float32 reaches 2.0000002" in page_text(app)
    calls = []
    monkeypatch.setattr(rounding, "running_sums", lambda term, count, dtype: calls.append(dtype) or [0.0] * count)
    fill(app, formats_bits="0x0000")
    assert calls == []
    fill(app, formats_terms=30)
    assert calls == ["float32", "float16", "bfloat16"]


def test_an_error_of_the_library_becomes_a_card(monkeypatch):
    app = open_with(monkeypatch, "m7_formats", "project.lab.explorers.formats.number", unwritten("2.3"), **FEW)
    assert "Task 2.3 is not written yet" in page_text(app)
