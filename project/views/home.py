"""The board: the status of every task, and which one is next."""

from html import escape

import streamlit as st

from course.cli.common import current_task, reference_note
from course.manifest import ROOT, Manifest, Task, course
from course.runner.next_task import next_task
from course.runner.packages import CannotRun
from course.runner.progress import TaskState, cached_states, run_tasks
from project.lab import registry, tours
from project.lab.cards import plain
from project.lab.charts.palette import BLUE, GRAY, GREEN, ORANGE, RED, rgba
from project.lab.training import run_files, runs_comparison

LATEST = 3  # runs on the board

LABELS = {  # state: icon, color, text
    "passed": ("check_circle", "green", "passed"),
    "failing": ("cancel", "red", "failing"),
    "todo": ("edit_note", "blue", "todo"),
    "blocked": ("lock", "orange", "blocked"),
    "stale": ("history", "gray", "passed before the last change"),
    "unknown": ("help", "gray", "not tested"),
    "not run": ("block", "gray", "cannot run here"),
}

FILLS = {
    "passed": rgba(GREEN, 0.65),
    "stale": rgba(GREEN, 0.25),
    "failing": rgba(RED, 0.5),
    "todo": rgba(BLUE, 0.3),
    "blocked": rgba(ORANGE, 0.3),
    "unknown": rgba(GRAY, 0.12),
    "not run": rgba(GRAY, 0.4),
}

MAP = """
<style>
.map {display: grid; grid-template-columns: max-content 1fr; gap: 3px .8rem; font-size: .8rem}
.map b, .map small {font: inherit}
.map > div {display: flex}
.map > div span {box-sizing: border-box; border: 1px solid #8888; border-radius: 4px; margin-right: 2px}
.map > div span {text-align: center; overflow: hidden}
.map p {font-size: inherit; grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 0 1rem; margin: .2rem 0 0}
.map i {display: inline-block; width: .8rem; height: .8rem; border: 1px solid #8888; border-radius: 3px; margin-right: .4rem}
@media (max-width: 640px) {.map small {display: none} .map {font-size: .7rem}}
</style>
"""


def show_map(manifest: Manifest, states: dict[str, TaskState]) -> None:
    """Show the tasks of every module as cells: the color is the status, the width the points."""
    rows, most = [], max(sum(task.points for task in manifest.tasks if task.stage == stage.number) for stage in manifest.stages)
    for stage in manifest.stages:
        cells = []
        for task in manifest.tasks:
            if task.stage == stage.number:
                state = states[task.id].state
                about = escape(f"{task.id} {task.title}, {task.worth}: {LABELS[state][2]}")
                style = f"width:{100 * task.points / most:.2f}%;background:{FILLS[state]}"
                cells.append(f"<span title='{about}' style='{style}'>{task.id}</span>")
        rows.append(f"<b>{stage.number}<small> · {escape(stage.title)}</small></b><div>{''.join(cells)}</div>" if cells else "")
    used = [state for state in FILLS if any(each.state == state for each in states.values())]
    legend = "".join(f"<span><i style='background:{FILLS[state]}'></i>{LABELS[state][2]}</span>" for state in used)
    label = "The tasks of every module by points; the list below has them as text"
    st.html(f"{MAP}<div class='map' role='img' aria-label='{label}'>{''.join(rows)}<p>{legend}</p></div>")


def run_tests(tasks: tuple[Task, ...]) -> None:
    """Run the tests of these tasks in a separate process, which stores the results."""
    try:
        with st.spinner("Running the tests. This may take a minute.", show_time=True):
            run_tasks([task.id for task in tasks])
    except CannotRun as error:
        st.error(str(error))


def show_summary(tasks: tuple[Task, ...], states: dict[str, TaskState]) -> None:
    """Show the points so far and the next task."""
    points = sum(task.points for task in tasks if states[task.id].state == "passed")
    total = sum(task.points for task in tasks if not task.extra)
    untested = sum(states[task.id].state in ("unknown", "stale") for task in tasks)
    note = f"; {untested} of {len(tasks)} tasks not tested since the last change" if 0 < untested < len(tasks) else ""
    st.progress(min(points / total, 1.0), text=f"{points} of {total} points{note}")
    if note := reference_note(ROOT):
        st.info(note.replace("make workspace", "`make workspace`"), icon=":material/school:")
    if all(states[task.id].state == "unknown" for task in tasks):
        st.info("The tests have not run on these files yet. Press **Run the tests**.", icon=":material/science:")
        return
    following = next_task(manifest, states, current_task(ROOT, manifest, states))
    if untested and (following is None or states[following.id].state == "unknown"):
        st.info("All tasks tested so far pass. Press **Run the tests** to test the others.", icon=":material/science:")
    elif following is None:
        st.success("All tasks pass.", icon=":material/celebration:")
    else:
        st.info(
            f"**Next: Task {following.id}, {following.title}.** Open `{following.files[0]}` and read the chapter `{following.page}`. "
            f"Test your code with `course test {following.id}`.",
            icon=":material/arrow_forward:",
        )


def celebrate(tasks: tuple[Task, ...], states: dict[str, TaskState]) -> None:
    """Celebrate tasks that have passed since the board was opened."""
    passed = {task.id: task for task in tasks if states[task.id].state == "passed"}
    known = st.session_state.setdefault("board_passed", set(passed))
    new = [task for id, task in passed.items() if id not in known]
    known.update(passed)
    for task in new:
        st.toast(f"**Task {task.id}, {task.title}, passes:** {task.worth}.", icon=":material/celebration:", duration="long")
    if new:
        st.balloons()


def show_task(task: Task, state: TaskState) -> None:
    """Show one task, its status and its page."""
    icon, color, word = LABELS[state.state]
    count = f", {state.passed} of {state.total} tests" if state.total and state.state != "passed" else ""
    waits = f" by Task {', '.join(state.blocked_by)}" if state.state == "blocked" and state.blocked_by else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{task.id}** {task.title} :gray[· {task.worth}]", width=310)
        st.markdown(f":{color}[:material/{icon}: {word}{waits}{count}]", width=260)
        page = registry.view(task.app)
        st.page_link(page.path, label=page.title, icon=f":material/{page.icon}:", width=180, query_params=page.query)
    if state.state == "failing" and state.card is not None:
        with st.expander(f"First failing test of Task {task.id}"):
            show_failure(state)


def show_failure(state: TaskState) -> None:
    """Show a summary of the first failing test."""
    card = state.card
    assert card is not None
    if card.says:
        st.markdown(card.says)
    facts = [f"{name} = {value}" for name, value in card.inputs.items()]
    facts += [f"expected {card.expected}", f"yours    {card.yours}"] if card.expected is not None else []
    facts += [card.error] if card.error else []
    places = [card.place] if card.place is not None else card.called
    facts += [f"{place.file}:{place.line}: {place.source.strip() or place.function}" for place in places]
    st.code("\n".join(facts), language=None, wrap_lines=True)
    st.caption(f"For details, run `course test {state.task}`.")


def show_runs() -> None:
    """Show the latest training runs, with links to their page."""
    runs = run_files.latest(LATEST)
    if not runs:
        return
    page = registry.view("runs")
    with st.container(border=True):
        st.subheader("Latest training runs")
        for run in runs:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{plain(run.program)}** :gray[· {runs_comparison.when(run)}]", width=310)
                st.markdown(plain(runs_comparison.result(run)), width=260)
                link = {**page.query, "selected": run.id}
                st.page_link(page.path, label="Open", icon=f":material/{page.icon}:", width=180, query_params=link, help="Its curves")


def show_tour(module: int) -> None:
    """Show how much of a module's tour is done, with a link to its next step."""
    steps = tours.steps_of(module)
    if not steps:
        return
    following = tours.next_step(steps)
    if following is None:
        st.caption(f":material/tour: Tour: all {len(steps)} steps done.")
        return
    page = registry.view(following.page)
    label = f"Tour, {tours.count(steps)} steps: {following.text}"
    help = "A tour of the pages of this module. Its steps tick themselves off."
    st.page_link(page.path, label=label, icon=":material/tour:", query_params=page.query, help=help)


st.title("MiniTorch")
st.write("Build a small PyTorch, task by task. This page shows your progress; the pages of each module let you explore your own code.")
manifest = course()
if st.button("Run the tests", icon=":material/science:", type="primary", help="Runs the tests of all tasks, like `course status`."):
    run_tests(manifest.tasks)
states = cached_states()
show_map(manifest, states)
celebrate(manifest.tasks, states)
show_summary(manifest.tasks, states)
show_runs()
for stage in manifest.stages:
    with st.container(border=True):
        st.subheader(f"Module {stage.number}: {stage.title}")
        for task in manifest.tasks:
            if task.stage == stage.number:
                show_task(task, states[task.id])
        show_tour(stage.number)
st.caption("A task is *blocked* if its tests need another task that is not written yet.")
