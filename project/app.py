"""The app: `streamlit run project/app.py`, or `streamlit run project/app.py -- 1` to open Module 1. This file only routes."""

import gc
import sys
from pathlib import Path

import streamlit as st

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)  # for the files of this folder, whatever else is installed

from project.lab import sources  # noqa: E402  # found through the line above

sources.refresh()
from project.lab import registry  # noqa: E402  # read again if it has changed


@st.cache_resource(show_spinner=False)
def freeze() -> None:
    """Exclude imported objects from garbage collection, which Streamlit runs after every script run."""
    gc.freeze()


st.set_page_config(
    page_title="MiniTorch", page_icon=str(Path(__file__).with_name("lab") / "icon.svg"), layout="wide", initial_sidebar_state=230
)
st.html("<style>.stMainBlockContainer {padding: 3rem clamp(1rem, 2.5vw, 3rem)}</style>")
arguments = sys.argv[1:] if Path(sys.argv[0]).resolve() == Path(__file__).resolve() else []
first, complaint = registry.start(arguments)
pages = {
    row.name: st.Page(row.path, title=row.title, icon=f":material/{row.icon}:", url_path=row.name, default=row == registry.VIEWS[0])
    for row in registry.present()
}
page = st.navigation({heading: [pages[row.name] for row in rows] for heading, rows in registry.sections().items()})
freeze()
if "opened" not in st.session_state:
    st.session_state["opened"] = True
    if page == pages[registry.VIEWS[0].name] and first != registry.VIEWS[0]:  # an address that names a page takes precedence
        st.switch_page(pages[first.name])
if complaint:
    st.warning(f"streamlit run project/app.py {complaint}")
sources.follow()  # before the page, because a card may end the page early
page.run()
