"""Module 0: the tree of modules in a network."""

import inspect

import streamlit as st

from project.lab.cards import WrongResult
from project.lab.guard import task_guard

st.title("Module tree")
st.write("A module contains parameters and other modules. `train()`, `eval()` and `named_parameters()` act on the whole tree.")

with task_guard():
    from project.lab.explorers.module_examples import EXAMPLES, paths, tree

chosen = st.selectbox("Module", list(EXAMPLES), index=1, key="module", bind="query-params")
with task_guard():
    root = EXAMPLES[chosen]()
    modules = paths(root)

left, right = st.columns(2)
where = left.selectbox("Call on", list(modules), format_func=lambda name: name or "(root)", key="where", bind="query-params")
with right:
    mode = st.segmented_control("Mode", ["initial", "train()", "eval()"], default="initial", required=True, key="mode", bind="query-params")
with task_guard(stop=False):
    if mode == "train()":
        root.eval()  # to see what train() changes
        modules[where].train()
    elif mode == "eval()":
        modules[where].eval()

tree_side, list_side = st.columns(2, gap="large")
with tree_side:
    st.subheader("The tree")
    st.markdown("\n".join(tree(root)))
    states = [module.training for module in modules.values()]
    st.caption(f"{len(states)} modules, {sum(states)} in training mode, {len(states) - sum(states)} in evaluation mode.")
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
