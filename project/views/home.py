"""The board: every task, how it stands, and which one is next."""

import streamlit as st

from course.cli.common import current_task
from course.manifest import ROOT, Task, course
from course.runner.next_task import next_task
from course.runner.packages import CannotRun
from course.runner.progress import TaskState, cached_states, run_tasks
from project.lab import registry

LOOK = {  # state: its icon, its colour, its word
    "passed": ("check_circle", "green", "passed"),
    "failing": ("cancel", "red", "failing"),
    "todo": ("edit_note", "blue", "to write"),
    "blocked": ("lock", "orange", "waiting"),
    "stale": ("history", "gray", "passed before the last change"),
    "unknown": ("help", "gray", "not tested"),
}


def run_tests(tasks: tuple[Task, ...]) -> None:
    """Run the tests of these tasks in a process of their own; their results are remembered."""
    try:
        with st.spinner("The tests are running. This may take a minute.", show_time=True):
            run_tasks([task.id for task in tasks])
    except CannotRun as error:
        st.error(str(error))


def summary(tasks: tuple[Task, ...], states: dict[str, TaskState]) -> None:
    """How much is done, and the next thing to do."""
    points = sum(task.points for task in tasks if states[task.id].state == "passed")
    total = sum(task.points for task in tasks if not task.extra)
    untested = sum(states[task.id].state in ("unknown", "stale") for task in tasks)
    note = f"; {untested} of {len(tasks)} tasks not tested since the last change" if 0 < untested < len(tasks) else ""
    st.progress(min(points / total, 1.0), text=f"{points} of {total} points{note}")
    if all(states[task.id].state == "unknown" for task in tasks):
        st.info("The tests have not run on these files yet: press the button above.", icon=":material/science:")
        return
    following = next_task(manifest, states, current_task(ROOT, manifest))
    if untested and (following is None or states[following.id].state == "unknown"):
        st.info("What was tested has passed. To see where you stand, press the button above.", icon=":material/science:")
    elif following is None:
        st.success("Every task has passed.", icon=":material/celebration:")
    else:
        st.info(
            f"**Next: Task {following.id}, {following.title}.** Open `{following.files[0]}`; its chapter is `{following.page}`. "
            f"Test it with `course test {following.id}`.",
            icon=":material/arrow_forward:",
        )


def row(task: Task, state: TaskState) -> None:
    """One task."""
    icon, colour, word = LOOK[state.state]
    count = f", {state.passed} of {state.total} tests" if state.total and state.state != "passed" else ""
    waits = f" for Task {', '.join(state.blocked_by)}" if state.state == "blocked" and state.blocked_by else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{task.id}** {task.title} :gray[· {task.worth}]", width=310)
        st.markdown(f":{colour}[:material/{icon}: {word}{waits}{count}]", width=260)
        page = registry.view(task.app)
        st.page_link(page.path, label=page.title, icon=f":material/{page.icon}:", width=180)
    if state.state == "failing" and state.card is not None:
        with st.expander(f"What fails in Task {task.id}"):
            failure(state)


def failure(state: TaskState) -> None:
    """The first failing test, in short."""
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
    st.caption(f"More with `course test {state.task}`.")


st.title("MiniTorch")
st.write("You build a small PyTorch, task by task. Here you see how far you are; the pages of each module let you look at what you wrote.")
manifest = course()
if st.button("Run the tests", icon=":material/science:", type="primary", help="Runs the tests of all tasks, as `course status` does."):
    run_tests(manifest.tasks)
states = cached_states()
summary(manifest.tasks, states)
for stage in manifest.stages:
    with st.container(border=True):
        st.subheader(f"Module {stage.number}: {stage.title}")
        for task in manifest.tasks:
            if task.stage == stage.number:
                row(task, states[task.id])
st.caption("A task is *waiting* if its tests call code of another task that is not written yet.")
