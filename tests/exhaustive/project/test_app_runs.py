"""The page of training runs and the latest runs on the board; the comparison in words, and the exports."""

import csv
import io
import zipfile

import pytest

from tests.project.browser import CHROMIUM, button, page, start_server
from tests.project.pages import ignore_saved_files, open_page, page_text, texts
from tests.project.test_app_runs import folder


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path; apt install chromium")
def test_two_runs_are_selected_overlaid_exported_and_opened_in_a_browser(start_server, page, tmp_path, monkeypatch):
    from project import run_scalar

    environment = {"MINITORCH_RUNS": str(tmp_path / "kept")}
    monkeypatch.setenv("MINITORCH_RUNS", environment["MINITORCH_RUNS"])
    for hidden in ("2", "3"):
        assert run_scalar.main(["--points", "4", "--hidden", hidden, "--epochs", "3"]) == 0
    address, log = start_server(environment=environment)
    page.goto(address)
    page.get_by_role("link", name="Open", exact=True).first.click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    page.get_by_text("A: run_scalar: after 3 epochs").wait_for()  # the newer run, which the board linked
    assert "-run_scalar-" in page.url

    table = page.get_by_test_id("stDataFrame").bounding_box()
    page.mouse.click(table["x"] + 15, table["y"] + 90)  # the box of the second row; the table is one canvas
    page.get_by_text("A: hidden 3: after 3 epochs").wait_for()
    page.get_by_text("B: hidden 2: after 3 epochs").wait_for()
    page.get_by_test_id("stVegaLiteChart").locator("svg, canvas").first.wait_for()
    assert page.get_by_test_id("stVegaLiteChart").count() == 1

    for key, name in (("runs_csv", "runs.csv"), ("runs_zip", "runs.zip")):
        with page.expect_download() as download:
            button(page, key).click()
        assert download.value.suggested_filename == name
        content = download.value.path().read_bytes()
        if name == "runs.csv":
            rows = list(csv.DictReader(io.StringIO(content.decode())))
            assert [(row["setting_hidden"], row["at"]) for row in rows] == [(hidden, at) for hidden in "32" for at in "123"]
        else:
            assert sorted(zipfile.ZipFile(io.BytesIO(content)).namelist()) == ["curves.png", "report.md", "runs.json"]

    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(500)
    assert page.locator(".stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.reload()
    page.get_by_text("B: hidden 2: after 3 epochs").wait_for()  # the address contains the selection

    page.get_by_role("link", name="Open in Training").last.click()
    page.get_by_text("--dataset Simple --points 4 --hidden 2 --rate 0.5 --epochs 3 --seed 0").wait_for()
    page.get_by_role("link", name="Runs", exact=True).first.click()
    page.get_by_text("B: hidden 2: after 3 epochs").wait_for()  # the selection is kept
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete 2 runs").click()
    page.get_by_text("There are no runs yet.").wait_for()
    assert run_scalar.main(["--points", "4", "--epochs", "3"]) == 0
    page.get_by_text("No run is selected").wait_for()  # the page found the new run by itself
    assert page.hosts == {"127.0.0.1"}
    assert "Traceback" not in log.read_text()
