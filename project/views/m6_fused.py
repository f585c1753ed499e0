"""Module 6: the online softmax of one query, one tile after the other, the memory of tiles and of all scores, and the tiles on a GPU."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing, grids
from project.lab.guard import task_guard
from project.lab.widgets import kernel_report
from project.lab.widgets.fields import whole_number

with task_guard():
    from project.lab.explorers import language_cuda, language_fused

st.title("Fused attention")
st.write(
    "One query reads its keys tile by tile. It keeps three things: the largest score m, the sum l of the weights relative to m, and the "
    "sum o of the values times these weights. A tile with a larger score changes m, so l and o are multiplied by a factor first."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    tile = whole_number("Keys of a tile", "fused_tile", 3, 1, language_fused.KEYS)
    masked = whole_number("Masked keys", "fused_masked", 0, 0, language_fused.KEYS)
    seed = whole_number("Seed", "fused_seed", 0, 0, 10_000)

scores, values = language_fused.draw(seed, masked)
st.html(grids.side_by_side([grids.grid(scores, "scores"), grids.grid(values.T, "values, a column for each key")]))

st.subheader("Tile by tile")
number = language_fused.number
with task_guard(stop=False):
    found = language_fused.steps(scores, values, tile)
    rows, before = [], language_fused.student.MASKED
    for part, largest, total, output in found:
        rows.append(
            {
                "scores": ", ".join(map(number, part)),
                "factor": f"{np.exp(before - largest):.3f}",
                "m": number(largest),
                "l": number(total),
                "o": ", ".join(map(number, output)),
            }
        )
        before = largest
    st.table(rows)
    _, _, total, output = found[-1]
    end = output / total if total else output
    st.caption(
        f"o / l = ({', '.join(map(number, end))}). Softmax over all scores at once gives "
        f"({', '.join(map(number, language_fused.softmax_mean(scores, values)))})."
    )

st.subheader("Memory of one head")
drawing.draw(language_fused.memory(tile), "fused_memory")
task_source.show_task("6.5")

st.subheader("On a GPU")
st.write(
    "A block takes 32 queries of a head, copies one tile of 32 keys and values after the other to shared memory, and uses each of them for "
    "all its queries. The kernel is interpreted here, for one head with 64 numbers for each token, and needs no GPU."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    length = whole_number("Tokens", "fused_tokens", 96, 1, language_cuda.LONGEST)
    causal = st.toggle("Causal", True, key="fused_causal", bind="query-params")
with task_guard(stop=False):
    report = language_cuda.inspect(length, causal)
    kernel_report.totals(report)
    kernel_report.findings(report)
    st.html(grids.grid(language_cuda.tile_reads(report), "reads of each tile of keys"))
    mine, separate = language_cuda.traffic(report)
    st.caption(
        f"Shared memory: {report.shared_bytes:,} bytes per block. Barriers: {report.barriers}. Numbers read from global memory and written "
        f"to it: {mine:,}. One kernel each for scores, softmax and sums, with all scores in global memory: {separate:,}."
    )
task_source.show_task("6.5b")
