"""The sweeps on the page of runs: what many runs of a program reached over the settings that were tried. It runs no student code."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from course.manifest import ROOT
from project.lab.cards import plain
from project.lab.charts import sweep_chart
from project.lab.charts.drawing import draw
from project.lab.sweeps import store, trials
from project.lab.sweeps.store import Request, Result

TICK = 2.0  # seconds from one look at the folder to the next
EXAMPLE = ROOT / "project" / "lab" / "models" / "m2_sweep"  # made by the command of `show_empty`, with --out
ADDRESS = "sweep"  # the query parameter with the name of the chosen sweep


def folder_contents() -> list[tuple[str, int]]:
    """Return the names of the sweeps and their numbers of files, which tell whether a sweep was added or has continued."""
    return [(path.parent.name, len(list(path.parent.iterdir()))) for path in sorted(store.folder().glob(f"*/{store.REQUEST}"))]


@st.fragment(run_every=TICK)
def follow(look: Callable[[], object], seen: object) -> None:
    """Rerun the page when a file was added or has changed: when `look` returns something else than it did."""
    if look() != seen:
        st.rerun(scope="app")


def read() -> tuple[dict[str, Request], list[str]]:
    """Return the sweeps by the names of their folders, the newest first, and what is wrong with the others."""
    found, wrong = {}, []
    for path in sorted(store.folder().glob(f"*/{store.REQUEST}"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            found[path.parent.name] = store.read_request(path.parent)
        except (ValueError, OSError) as error:
            wrong.append(str(error))
    return found, wrong


def show_empty() -> None:
    """Say how to start the first sweep."""
    present = trials.present()
    if not present:
        st.info("There are no sweeps yet. The first training program comes with Module 1.", icon=":material/query_stats:")
        return
    st.info(
        "There are no sweeps yet. Run this command in a terminal; its trials appear here as they finish.", icon=":material/query_stats:"
    )
    program = "run_tensor" if "run_tensor" in present else present[0]
    options = "--vary rate=0.03,0.1,0.3,1 --vary hidden=2,4,10 --set dataset=Xor"
    st.code(f"python project/sweep.py {program} {options}", language="bash", wrap_lines=True)
    if EXAMPLE.is_dir():
        st.write("**An example**, which this command made:")
        show_sweep(EXAMPLE, store.read_request(EXAMPLE))


def choose(sweeps: dict[str, Request]) -> str:
    """Show the choice of a sweep and return the name of its folder."""
    names = list(sweeps)
    wanted = st.query_params.get(ADDRESS, "")

    def label(name: str) -> str:
        request = sweeps[name]
        return f"{request.program}: {', '.join(request.choices())} ({request.search}), {name}"

    index = names.index(wanted) if wanted in names else 0
    chosen = st.selectbox("Sweep", names, index=index, format_func=label, key="sweeps_chosen", help="The newest is the first.")
    st.query_params[ADDRESS] = chosen
    return chosen


def show_progress(path: Path, request: Request, results: dict[store.Key, Result]) -> None:
    """Say how many trials have finished and how many failed, and how a stopped sweep continues."""
    total = sum(rung.trials for rung in request.rungs())
    failed = [result for _, result in sorted(results.items()) if result.outcome.error]
    done = f"{len(results)} of {total} trials have finished"
    if failed:
        first = f"{store.label(failed[0].trial.values)}: {failed[0].outcome.error}"
        done += f", {len(failed)} of them with an error. The first ({plain(first)})"
    st.caption(f"{done}.")
    if store.due(request, results):
        st.progress(len(results) / total)
        st.caption("This command continues the sweep if it was stopped:")
        st.code(request.command(path), language="bash", wrap_lines=True)


def show_charts(request: Request, results: Sequence[Result]) -> None:
    """Show what the trials reached over each option that varies."""
    with st.container(horizontal=True, gap="large"):
        for name in request.choices():
            with st.container(width="content"):
                draw(sweep_chart.chart(request, results, name), f"sweep_{name}")


def table(request: Request, results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a row for each setting with what its last trial reached, the best first, and then those that failed."""
    ranked = store.rank(results, request.metric)
    rows = [*ranked, *(result for result in results if result.outcome.error)]
    metrics = [name for name in store.METRICS if any(name in result.outcome.metrics for result in rows)]
    halving = request.search == "halving"
    return [
        {"rank": place if place <= len(ranked) else None, "trial": result.trial.number}
        | ({request.unit: result.trial.epochs} if halving else {})
        | result.trial.values
        | {name: result.outcome.metrics.get(name) for name in metrics}
        | {"seconds": result.outcome.seconds}
        | ({"error": result.outcome.error} if len(rows) > len(ranked) else {})
        for place, result in enumerate(rows, 1)
    ]


def show_table(request: Request, results: Sequence[Result]) -> None:
    """Show the table, which a click on the head of a column sorts."""
    rows = table(request, results)
    formats = {name: "%.4f" if name.endswith("loss") else "percent" for name in store.METRICS} | {"seconds": "%.2f"}
    columns = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items() if name in rows[0]}
    st.dataframe(
        rows, hide_index=True, column_config=columns, placeholder="", key="sweeps_table", alt=f"Table of {len(rows)} trials, the best first"
    )


def show_sweep(path: Path, request: Request) -> None:
    """Show a sweep."""
    try:
        results = store.read_results(path)
    except (ValueError, OSError) as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    ordered = [results[key] for key in sorted(results)]
    ranked = store.rank(ordered, request.metric)
    show_progress(path, request, results)
    if ranked:
        show_charts(request, ordered)
        settings = store.label(ranked[0].trial.values)
        st.write(plain(f"Trial {ranked[0].trial.number} ({settings}) reached {sweep_chart.reached(request, ordered)}. To repeat it:"))
        st.code(ranked[0].outcome.command, language="bash", wrap_lines=True)
    if ordered:
        show_table(request, ordered)


def show() -> None:
    """Show the sweeps."""
    st.write("A sweep runs a training program with many settings, in a terminal, and ranks them. Here is what each trial reached.")
    seen = folder_contents()
    sweeps, wrong = read()
    if wrong:
        st.warning("\n".join(f"* {plain(reason)}." for reason in wrong), icon=":material/warning:")
    if sweeps:
        name = choose(sweeps)
        show_sweep(store.folder() / name, sweeps[name])
    elif not wrong:
        show_empty()
    follow(folder_contents, seen)
