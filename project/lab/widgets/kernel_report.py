"""What the interpreter reports of a CUDA kernel: its totals and its mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from project.lab.cards import plain

if TYPE_CHECKING:
    from minitorch.cuda import KernelReport

MOST_FINDINGS = 6
"""The largest number of mistakes shown."""

HELP = {
    "Mistakes": "Races, accesses outside of arrays, barriers that not all threads reach.",
    "Coalesced": "The sectors of global memory that would be enough, divided by those that are transferred.",
    "Bank conflicts": "The largest number of threads of a warp that wait for the same bank of shared memory.",
    "Active threads": "The threads that are active when a warp executes a line, on average.",
    "Operations a byte": "Floating-point operations for each byte of global memory that is transferred.",
    "Sectors": "Blocks of 32 bytes of global memory that are transferred.",
}
"""What the totals are."""


def findings(report: KernelReport) -> None:
    """Show the mistakes in words."""
    for finding in report.findings[:MOST_FINDINGS]:
        st.error(plain(str(finding)), icon=":material/error:")
    if len(report.findings) > MOST_FINDINGS:
        st.caption(f"And {len(report.findings) - MOST_FINDINGS} more.")


def totals(report: KernelReport, before: KernelReport | None = None) -> None:
    """Show the totals of a launch and, where they differ, those of the kernel before its mistake was fixed."""
    was = numbers(before) if before else {}
    with st.container(horizontal=True):
        for name, value in numbers(report).items():
            change = f"before: {was[name]}" if was.get(name, value) != value else None
            st.metric(name, value, change, "off", delta_arrow="off", width=150, help=HELP[name])


def numbers(report: KernelReport) -> dict[str, str]:
    """Return the totals of a launch as text."""
    degree, mistakes = report.bank_conflict_degree, len(report.findings)
    return {
        "Mistakes": str(mistakes or "none"),
        "Coalesced": f"{report.coalescing:.0%}" if report.sectors else "no access",
        "Bank conflicts": f"{degree}-way" if degree > 1 else "none",
        "Active threads": f"{report.warp_efficiency:.0%}",
        "Operations a byte": f"{report.intensity:.2g}" if report.global_bytes else "no traffic" if report.flops else "none",
        "Sectors": f"{report.sectors:,}",
    }
