"""Module 0: the tree of modules in a network."""

import inspect

import streamlit as st

from project.lab.cards import WrongResult
from project.lab.charts import cells
from project.lab.guard import task_guard

# Each module is above its children; the lines are borders of the list items.
STYLE = """
<style>
.tree, .tree ul {display: flex; justify-content: center; list-style: none; margin: 0; padding: 0; position: relative}
.tree {justify-content: start; max-width: 100%; overflow-x: auto; padding: 5px}
.tree ul {padding-top: 1.2rem}
.tree ul::before {content: ""; position: absolute; top: 0; left: 50%; height: 1.2rem; border-left: 1.5px solid}
.tree li {display: flex; flex-direction: column; align-items: center; position: relative}
.tree li li {padding: 1.2rem .25rem 0}
.tree li li::before {content: ""; position: absolute; top: 0; left: 0; right: 0; border-top: 1.5px solid}
.tree li li:first-child::before {left: 50%}
.tree li li:last-child::before {right: 50%}
.tree li li::after {content: ""; position: absolute; top: 0; left: 50%; height: 1.2rem; border-left: 1.5px solid}
.module, .parameter {font: inherit; font-size: .82rem; color: inherit; border-radius: 8px; padding: .3rem .6rem; text-align: center}
.module {border: 2px solid var(--blue); cursor: pointer; background: color-mix(in srgb, var(--blue) 22%, var(--st-background-color))}
.evaluation {border-style: dashed; background: transparent}
.selected {outline: 3px solid var(--orange); outline-offset: 1px}
.module :is(b, small) {display: block}
.parameter {border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, transparent); white-space: nowrap}
.parameter b {display: block}
</style>
"""
state = st.session_state

st.title("Module tree")
st.write("A module contains parameters and other modules. `train()`, `eval()` and `named_parameters()` act on the whole tree.")

with task_guard():
    from project.lab.explorers.module_examples import EXAMPLES, paths, tree

chosen = st.selectbox("Module", list(EXAMPLES), index=1, key="module", bind="query-params")
with task_guard():
    root = EXAMPLES[chosen]()
    modules = paths(root)

left, right = st.columns(2)
with left:
    where = st.selectbox("Call on", list(modules), format_func=lambda name: name or "(root)", key="where", bind="query-params")
with right:
    mode = st.segmented_control("Mode", ["initial", "train()", "eval()"], default="initial", required=True, key="mode", bind="query-params")
with task_guard(stop=False):
    if mode == "train()":
        root.eval()  # to see what train() changes
        modules[where].train()
    elif mode == "eval()":
        modules[where].eval()


def pick() -> None:
    """Call on the module that was clicked."""
    picked = (state.module_tree.picked or "").removesuffix(".")
    if picked in modules:
        state.where = picked


tree_side, list_side = st.columns([3, 2], gap="large")
with tree_side:
    cells.draw([f'{STYLE}<ul class="tree">{tree(root, where)}</ul>'], "module_tree", pick)
    states = [module.training for module in modules.values()]
    st.caption(
        f"{len(states)} modules, {sum(states)} in training mode, {len(states) - sum(states)} in evaluation mode. Dashed: evaluation. "
        "Click a module to call train() or eval() on it."
    )
with list_side:
    st.subheader("named_parameters()")
    with task_guard():
        named = root.named_parameters()
        if named is None:
            raise WrongResult("named_parameters() expected to return pairs of a name and a Parameter, got None; is the return missing?")
        st.table([{"name": name, "value": str(parameter)} for name, parameter in named], width="content")
        st.caption(f"{len(list(named))} parameters; parameters() returns {len(list(root.parameters()))}.")
with st.expander("Source code of the module"), task_guard():
    st.code(inspect.getsource(type(root)), language="python")
