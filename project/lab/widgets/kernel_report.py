"""What the interpreter reports of a CUDA kernel: its totals and its mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from project.lab.cards import plain

if TYPE_CHECKING:
    from minitorch.cuda import KernelReport

MOST_FINDINGS = 6
"""The largest number of mistakes shown."""


def findings(report: KernelReport) -> None:
    """Show the mistakes in words."""
    for finding in report.findings[:MOST_FINDINGS]:
        st.error(plain(str(finding)), icon=":material/error:")
    if len(report.findings) > MOST_FINDINGS:
        st.caption(f"And {len(report.findings) - MOST_FINDINGS} more.")


def totals(report: KernelReport) -> None:
    """Show the totals of the launch."""
    with st.container(horizontal=True):
        mistakes = len(report.findings)
        st.metric("Mistakes", mistakes or "none", width=110, help="Races, accesses outside of arrays, barriers that not all threads reach.")
        help = "The sectors of global memory that would be enough, divided by those that are transferred."
        st.metric("Coalesced", f"{report.coalescing:.0%}" if report.sectors else "no access", width=120, help=help)
        degree = report.bank_conflict_degree
        help = "The largest number of threads of a warp that wait for the same bank of shared memory."
        st.metric("Bank conflicts", f"{degree}-way" if degree > 1 else "none", width=150, help=help)
        help = "The threads that are active when a warp executes a line, on average."
        st.metric("Active threads", f"{report.warp_efficiency:.0%}", width=150, help=help)
        help = "Floating-point operations for each byte of global memory that is transferred."
        known = f"{report.intensity:.2g}" if report.global_bytes else "no traffic" if report.flops else "none"
        st.metric("Operations a byte", known, width=160, help=help)
