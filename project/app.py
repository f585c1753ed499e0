"""The app: `streamlit run project/app.py`, or `streamlit run project/app.py -- 1` to open Module 1. This file only routes."""

import gc
import sys
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)  # for the files of this folder, whatever else is installed

from project.lab import sources  # noqa: E402  # found through the line above

sources.refresh()
from project.lab import kernels, registry, tours  # noqa: E402  # read again if they have changed

STYLE = """
.stMainBlockContainer {padding: 3rem clamp(1rem, 2.5vw, 3rem)}
.stMain h1 {font-size: 1.9rem; padding: 0.5rem 0}
.stColumn:has(> * > * > .st-key-boundary_chart) {container-type: inline-size}
.st-key-boundary_chart {flex: none; height: calc(100cqw + 102px)}
.stPageLink a, .stPageLink a * {white-space: normal; height: auto}
.st-key-graph_moment {display: none}
.st-key-tour button {height: auto; text-align: left}
.stMainBlockContainer > .stVerticalBlock {position: relative}
@media (min-width: 641px) and (max-height: 600px) {
  .stMainBlockContainer {padding-top: 1rem; padding-bottom: 1rem}
  .stApp:has([data-testid="stExpandSidebarButton"]) .stMainBlockContainer {padding-left: 3.5rem}
  .stAppHeader {background: none; pointer-events: none}
  .stAppHeader button {pointer-events: auto}
  .stMainBlockContainer > .stVerticalBlock {gap: .5rem}
  .stMain h1 {font-size: 1.4rem; padding: 0 0 .8rem}
}
@media (min-width: 1000px), (min-width: 641px) and (max-height: 600px) {
  :has(> .stVerticalBlock > .st-key-tour) {position: absolute; top: 1.3rem; right: 0; width: auto; max-width: 55%; z-index: 1}
}
@media (max-height: 600px) {:has(> .stVerticalBlock > .st-key-tour) {top: 0}}
@media (max-width: 1000px) {
  .stColumn:has(.stVegaLiteChart, .kernel) {min-width: min(22.5rem, 100%)}
  .stColumn:has(+ .stColumn .stVegaLiteChart) {flex-basis: 9rem}
}
@media (max-width: 640px) {
  .stMainBlockContainer {padding-top: 4.5rem}
  .stColumn:has(:is(.st-key-start, .st-key-images_start, .st-key-sentiment_start, .st-key-picture, .stVegaLiteChart)) {order: -1}
  :has(> [class*="_settings"]) {order: 1}
  .stMain .stButtonGroup > * {flex-wrap: wrap}
}
[class*="_curves_side"] {flex: 1 1 300px; min-width: min(300px, 100%)}
"""
"""Smaller titles, and charts that grow with the page. The decision boundary of a training page is as high as its column is wide; its axes
and legend take 102 pixels more in height than in width. On a phone, a figure is above the column, or the row, of its settings; on the
low screen of a projector, everything moves up."""


sys.setswitchinterval(0.001)  # a thread that trains gives way after 1 ms, not 5: a page waits for its turn many times while it is built


@st.cache_resource(show_spinner=False)
def frozen() -> dict[str, object]:
    """Return what `freeze` notes for the next time: the number of imported modules, and the state of the files."""
    return {}


def freeze() -> None:
    """Exclude what was imported from garbage collection, which Streamlit runs after every script run: 50 ms with all imported objects."""
    noted = frozen()
    now = {"modules": len(sys.modules), "files": hash(st.session_state.get("sources"))}
    if noted != now:
        if noted.get("files") != now["files"]:
            gc.unfreeze()  # the modules that were imported before a file was saved are garbage now
        noted.update(now)
        gc.collect()
        gc.freeze()


st.set_page_config(
    page_title="MiniTorch", page_icon=str(Path(__file__).with_name("lab") / "icon.svg"), layout="wide", initial_sidebar_state=230
)
st.html(f"<style>{STYLE}</style>")
st.html(Path(__file__).with_name("lab") / "contrast.css")
st.html(f"<script>{Path(__file__).with_name('lab').joinpath('history.js').read_text()}</script>", unsafe_allow_javascript=True)
served = Path(sys.argv[0]).resolve() == Path(__file__).resolve()  # not in a test of the pages
arguments = sys.argv[1:] if served else []
first, complaint = registry.start(arguments)
pages = {
    row.name: st.Page(
        row.path, title=row.title, icon=f":material/{row.icon}:", url_path=row.name, default=row == registry.VIEWS[0], help=row.purpose
    )
    for row in registry.present()
}
menu = {heading: [pages[row.name] for row in rows] for heading, rows in registry.sections().items()}
for row in registry.present(registry.PARTS):
    pages[row.name] = st.Page(lambda: None, title=row.title, url_path=row.name, visibility="hidden")
    menu[""].append(pages[row.name])
page = st.navigation(menu)
name = next(name for name, each in pages.items() if each == page)
part = registry.view(name)
if part.within:  # the browser replaces the address, so that Back does not lead to it again
    given = {part.prefix + key: st.query_params.get_all(key) for key in st.query_params}
    address = f"{part.within}?{urlencode({**given, **part.query}, doseq=True)}"
    st.html(f"<script>location.replace('{address}')</script>", unsafe_allow_javascript=True)
    st.stop()
if "opened" not in st.session_state:
    st.session_state["opened"] = True
    if page == pages[registry.VIEWS[0].name] and first != registry.VIEWS[0]:  # an address that names a page takes precedence
        st.switch_page(pages[first.name])
if complaint:
    st.warning(f"streamlit run project/app.py {complaint}")
sources.follow()  # before the page, because a card may end the page early
place = st.container()
try:
    page.run()
finally:  # a card may end the page early
    try:
        tours.show(place, registry.opened(name, st.session_state.to_dict()))
    finally:
        freeze()
        if served:
            kernels.compile_in_background()
