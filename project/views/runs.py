"""Every training run: compare settings and curves, repeat a run, export or delete it; and sweeps. The page runs no student code."""

from collections.abc import Sequence

import streamlit as st

from project.lab import registry
from project.lab.cards import plain
from project.lab.charts.drawing import draw
from project.lab.sweeps import page
from project.lab.training import run_files, run_logs, runs_comparison, runs_export
from project.lab.training.run_files import RunFile, Unreadable
from project.lab.widgets.parts import show_one

ADDRESS = "selected"  # the query parameter with the ids of the selected runs
COLUMNS = {
    "started": st.column_config.TextColumn(help="Local time at which training started."),
    "program": st.column_config.TextColumn(help="The file in project/ that trained, without .py."),
    "settings": st.column_config.TextColumn(
        width="medium", help="The settings that differ between the runs of this program; all settings if there are none."
    ),
    "trained": st.column_config.TextColumn(help="Finished epochs or steps."),
    "loss": st.column_config.NumberColumn(format="%.4f", help="Loss of the last epoch; empty if it is infinite or not a number."),
    "accuracy": st.column_config.NumberColumn(
        format="percent", help="Accuracy after the last epoch: on the validation data if there are any, otherwise on the training data."
    ),
    "seconds": st.column_config.NumberColumn(format="%.2f", help="Time spent on training."),
    "status": st.column_config.TextColumn(
        help="finished; stopped: ended before its last epoch or step, or still running; failed: ended with an error."
    ),
    "your code": st.column_config.TextColumn(help="Whether minitorch/ or the program has changed since the run started."),
}
state = st.session_state


def folder_contents() -> list[tuple[str, int]]:
    """Return the names and modification times of the files, which tell whether a run was added or has continued."""
    found = []
    for path in sorted(run_files.folder().glob("*.json")):
        try:
            found.append((path.name, path.stat().st_mtime_ns))
        except OSError:  # it has just been removed
            continue
    return found + [(str(path), modified) for path, modified in run_logs.modification_times().items()]


def has_changed(run: RunFile) -> bool:
    """Whether the source code differs from that at the start of the run, if that is known."""
    if not run.digest:
        return False
    stamp = state.get("sources")
    if state.get("runs_digests", (None, {}))[0] != stamp:
        state.runs_digests = stamp, {}
    digests = state.runs_digests[1]
    if run.program not in digests:
        digests[run.program] = run_files.digest(run.program)
    return run.digest != digests[run.program]


def show_empty() -> None:
    """Say how to make the first run."""
    programs = {page: program for program, (page, _, _) in runs_comparison.PAGES.items()}
    pages = [row for row in registry.present(registry.ROWS) if row.name in programs and row.module is not None]
    if not pages:
        st.info("There are no runs yet. The first training program comes with Module 1.", icon=":material/history:")
        return
    st.info(
        "There are no runs yet. Open a training page and press **Start**, or run the command below in a terminal. The run appears here "
        "when it ends.",
        icon=":material/history:",
    )
    with st.container(horizontal=True):
        for row in pages:
            st.page_link(row.path, label=row.title, icon=f":material/{row.icon}:", query_params=row.query)
    st.code(f"python project/{programs[pages[0].name]}.py", language="bash")
    if examples := run_files.examples():
        st.write(f"**An example**: {len(examples)} runs with different learning rates.")
        show_comparison(examples)


def select(runs: Sequence[RunFile]) -> list[RunFile]:
    """Show the table of runs and return those that are selected."""
    ids = [run.id for run in runs]
    key = f"runs_table_{hash(tuple(ids))}"  # rows are known by their positions, which change with the list
    state.setdefault("runs_selected", [])
    if key not in state and ADDRESS in st.query_params:  # the page has just been opened, or the list has changed
        state.runs_selected = st.query_params[ADDRESS].split(",")
    rows = [ids.index(id) for id in state.runs_selected if id in ids]
    table = st.dataframe(
        runs_comparison.table(runs, [has_changed(run) for run in runs]),
        hide_index=True,
        column_config=COLUMNS,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": sorted(rows)}},
        placeholder="",
        key=key,
        alt=f"Table of {len(runs)} training runs, the newest first",
    )
    selected = [runs[row] for row in sorted(table.selection.rows) if row < len(runs)]
    state.runs_selected = [run.id for run in selected]
    if selected:
        st.query_params[ADDRESS] = ",".join(state.runs_selected)
    elif ADDRESS in st.query_params:
        del st.query_params[ADDRESS]
    return selected


def delete(runs: Sequence[RunFile]) -> None:
    """Delete the files of runs; store the error message if that fails."""
    try:
        run_files.delete(runs)
    except OSError as error:
        state.runs_error = f"{error.filename} could not be deleted ({error.strerror}); check the permissions of its folder."


def show_actions(selected: Sequence[RunFile], compared: Sequence[RunFile]) -> None:
    """Show the buttons that export and delete the selected runs."""
    count = "1 run" if len(selected) == 1 else f"{len(selected)} runs"
    icon = ":material/download:"
    with st.container(horizontal=True):
        st.download_button(
            "Report",
            lambda: runs_export.to_zip(compared),
            "runs.zip",
            "application/zip",
            key="runs_zip",
            help="For a hand-in: a zip file of report.md, curves.png and runs.json",
            on_click="ignore",
            type="primary",
            icon=icon,
        )
        st.download_button(
            "CSV",
            lambda: runs_export.to_csv(selected),
            "runs.csv",
            "text/csv",
            key="runs_csv",
            help="The curves as a table, one row for each point, with the settings of its run",
            on_click="ignore",
            icon=icon,
        )
        st.download_button(
            "JSON",
            lambda: runs_export.to_json(selected),
            "runs.json",
            "application/json",
            key="runs_json",
            help="Everything in the files of these runs",
            on_click="ignore",
            icon=icon,
        )
        with st.popover("Delete", icon=":material/delete:", help="Asks for confirmation", key="runs_delete_menu"):
            st.write(f"Delete {count}? This cannot be undone.")
            st.button(f"Delete {count}", on_click=delete, args=(selected,), type="primary", key="runs_delete", help="Deletes the files")


def show_comparison(runs: Sequence[RunFile]) -> None:
    """Show the overlaid curves, with a description, and the settings."""
    labels = runs_comparison.labels(runs)
    curves, settings = st.columns(2, gap="large")
    with curves:
        spec = runs_comparison.chart(runs)
        if spec is not None:
            draw(spec, "runs_chart")
        st.caption("  \n".join(plain(runs_comparison.in_words(run, label)) for run, label in zip(runs, labels, strict=True)))
        if len({run.program for run in runs}) > 1:
            st.caption("The losses of different programs are not comparable: some are sums over all points, others are means.")
    with settings:
        st.table([{name: plain(cell) for name, cell in row.items()} for row in runs_comparison.settings_table(runs)], width="content")


def show_run(run: RunFile, label: str) -> None:
    """Show how to repeat a run, and where to open its settings."""
    st.write(f"**{plain(label)}**")
    if run.note:
        st.caption(plain(run.note))
    if has_changed(run):
        st.caption("Your code has changed since this run started: the command may give other numbers.")
    st.code(run.command, language="bash", wrap_lines=True)
    if found := runs_comparison.link(run):
        for row in registry.present([registry.view(found[0])]):
            st.page_link(row.path, label=f"Open in {row.title}", icon=f":material/{row.icon}:", query_params={**found[1], **row.query})


def show_unreadable(files: Sequence[Unreadable]) -> None:
    """List the files that are no runs, and what to do with them."""
    if files:
        st.warning(
            "\n".join([f"In `{run_files.folder()}`:", "", *(f"* {plain(f'{file.path.name} {file.reason}')}." for file in files)]),
            icon=":material/warning:",
        )


def show_runs() -> None:
    """Show the runs, and compare those that are selected."""
    st.write(
        "Every training run of a program or a page is kept as a file: its settings, its curves, and the command that repeats it. The "
        f"newest {run_files.MOST_RUNS} are kept; older ones are removed. Logs of `SummaryWriter` in the folders "
        "`runs` and `logs` appear here, too. Select rows to compare runs, export them, or delete them."
    )
    seen = folder_contents()
    runs, unreadable = run_files.read_all()
    if "runs_error" in state:
        st.error(plain(state.pop("runs_error")), icon=":material/error:")
    show_unreadable(unreadable)
    if runs:
        selected = select(runs)
        compared = selected[: runs_comparison.MOST]
        if not selected:
            st.caption("No run is selected, so the newest is shown. Select rows with the boxes on the left of the table.")
            show_comparison(runs[:1])
        else:
            if len(selected) > len(compared):
                st.caption(
                    f"The first {len(compared)} of the {len(selected)} selected runs are compared; CSV, JSON and Delete apply to all."
                )
            show_actions(selected, compared)
            show_comparison(compared)
            st.subheader("Repeat a run")
            for run, label in zip(compared, runs_comparison.labels(compared), strict=True):
                show_run(run, label)
    else:
        show_empty()
    page.follow(folder_contents, seen)


st.title("Runs")
show_one(runs=show_runs, sweeps=page.show)
