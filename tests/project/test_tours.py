"""The tours of the modules: their steps exist, tick themselves off, and are stored."""

import json

import pytest

from project.lab import registry, tours
from project.lab.training import run_files
from tests.project.pages import fill, ignore_saved_files, open_page, open_with, texts, unwritten  # noqa: F401  a fixture


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """An own folder for the finished steps."""
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path))
    return tmp_path


def stored(folder):
    return json.loads((folder / ".tours.json").read_bytes()) if (folder / ".tours.json").exists() else []


ICONS = tuple(f":material/{name}:" for name in (tours.DONE, tours.OPEN))


def menu(app):
    """The label of the tour's menu, and the labels of its steps by icon."""
    (label,) = [block.proto.popover.label for block in app.get("popover")]
    links = [(link.proto.icon, link.proto.label) for link in app.get("page_link") if link.proto.icon in ICONS]
    return label, links


def test_every_step_has_its_own_id_and_a_page():
    assert len({step.id for step in tours.STEPS}) == len(tours.STEPS)
    assert {step.page for step in tours.STEPS} <= {view.name for view in registry.ROWS}


def test_every_module_has_a_tour_in_the_order_of_its_pages():
    order = [view.name for view in registry.VIEWS]
    pages = [registry.view(step.page) for step in tours.STEPS]
    assert [page.module for page in pages] == sorted(page.module for page in pages)
    places = [order.index(page.name) for page in pages if not page.within]
    assert places == sorted(places)
    assert all(tours.steps_of(view.module) for view in registry.VIEWS if view.module is not None)


def test_a_page_shows_the_next_step_and_ticks_off_and_stores_what_was_done(folder):
    app = open_page("m0_operators")
    label, steps = menu(app)
    assert label == "Tour of Module 0, 0 of 4: Choose relu. Where does its derivative jump?"
    assert [icon for icon, _ in steps] == [f":material/{tours.OPEN}:"] * 4
    assert stored(folder) == []
    fill(app, operator="relu")
    assert menu(app)[0] == "Tour of Module 0, 1 of 4: go to Module tree."
    assert menu(app)[1][0][0] == f":material/{tours.DONE}:"
    assert [toast.value for toast in app.toast] == ["Tour: Choose relu. Where does its derivative jump?"]
    assert stored(folder) == ["relu"]
    fill(app, operator="sigmoid")
    assert menu(app)[0].startswith("Tour of Module 0, 1 of 4")
    assert not app.toast


def test_a_page_shows_the_step_that_is_done_on_it_before_those_of_other_pages():
    assert menu(open_page("m0_modules"))[0] == "Tour of Module 0, 0 of 4: Switch a network to evaluation mode."


def test_another_session_sees_what_was_done_before(folder):
    (folder / ".tours.json").write_text('["relu"]')
    assert menu(open_page("m0_operators"))[0].startswith("Tour of Module 0, 1 of 4")


def test_what_another_session_has_written_meanwhile_is_kept(folder):
    app = open_page("m0_operators")
    (folder / ".tours.json").write_text('["eval"]')
    fill(app, operator="relu")
    assert stored(folder) == ["eval", "relu"]


@pytest.mark.parametrize(("content", "found"), [("{", set()), ("7", set()), ('[3, null, "relu"]', {"relu"})])
def test_a_damaged_file_is_no_error(folder, content, found):
    (folder / ".tours.json").write_text(content)
    assert tours.load() == found


def test_the_tour_continues_if_the_workspace_cannot_be_written_to(folder, monkeypatch):
    def refuse(*args):
        raise PermissionError("read-only")

    monkeypatch.setattr(tours, "write_bytes", refuse)
    assert menu(open_page("m0_operators", operator="relu"))[0].startswith("Tour of Module 0, 1 of 4")
    assert stored(folder) == []


DONE_BY = [
    ("relu", "m0_operators", {"operator": "relu"}),
    ("spiral", "m0_manual", {"dataset": "Spiral", "points": "200"}),
    ("line", "m0_manual", {"weight_1": "-10.0", "weight_2": "0.0", "bias": "5.0"}),  # Simple has label 1 where x_1 < 1/2
    ("paths", "m1_graph", {"order": "recursion, path by path"}),
    ("expand", "m2_strides", {"shape": "1, 4", "steps": "x.expand(3, 4)"}),
    ("sum", "m2_broadcasting", {"direction": "backward"}),
    ("reduce", "m2_functions", {"kind": "Reduction"}),
    ("race", "m3_grid", {"grid_missing": "the guard"}),
    ("pool", "m4_pooling", {"pool_direction": "backward"}),
    ("warm", "m4_softmax", {"softmax_temperature": "2.0"}),
    ("evaluate", "m4_dropout", {"drop_mode": "evaluation"}),
]


@pytest.mark.parametrize(("step", "page", "query"), DONE_BY)
def test_a_step_is_done_by_what_it_asks_for_only(folder, step, page, query):
    open_page(page)
    assert stored(folder) == []
    open_page(page, **query)
    assert stored(folder) == [step]


@pytest.mark.parametrize(
    ("before", "then", "step"),
    [
        ({"moment": 2}, {"moment": 3}, "backward"),  # when the player has reached it
        ({"quiz": True, "moment": 0}, {"answer_0": 2.0}, "predict"),
    ],
)
def test_steps_of_the_graph_are_done_by_what_is_chosen_on_the_page(folder, before, then, step):
    app = fill(open_page("m1_graph", f="x * y"), **before)
    assert stored(folder) == []
    fill(app, **then)
    assert stored(folder) == [step]


def test_training_is_a_step_after_20_epochs(folder):
    app = open_page("m1_training")
    trainer = app.session_state["trainer"]
    for _ in range(19):
        trainer.run_epoch()
    app.run()
    assert stored(folder) == []
    trainer.run_epoch()
    app.run()
    assert stored(folder) == ["scalars"]


def test_the_board_links_to_the_next_step_of_each_module(folder):
    (folder / ".tours.json").write_text(json.dumps([step.id for step in tours.steps_of(0)] + ["epsilon"]))
    app = open_page("home")
    assert ":material/tour: Tour: all 4 steps done." in texts(app.caption)
    labels = [link.proto.label for link in app.get("page_link")]
    assert "Tour, 1 of 6 steps: Step the backward pass through three variables." in labels
    assert "Tour, 0 of 6 steps: Drag the dimensions of the result into another order." in labels


def test_a_page_that_ends_with_a_card_shows_the_tour(monkeypatch):
    app = open_with(monkeypatch, "m0_operators", "minitorch.operators.sigmoid", unwritten("0.1"), "minitorch/operators.py")
    assert menu(app)[0].startswith("Tour of Module 0")


def test_the_file_of_the_tours_is_not_taken_for_a_run(folder):
    open_page("m0_operators", operator="relu")
    assert stored(folder) == ["relu"]
    app = open_page("runs")
    assert not app.warning
    assert run_files.read_all() == ([], [])
