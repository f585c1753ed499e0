"""Module 7: floating-point formats: the bits of a number, its value and its neighbors, rounding, and what rounding does to sums."""

from fractions import Fraction

import streamlit as st

from project.lab.cards import WrongResult, plain
from project.lab.charts.drawing import draw
from project.lab.guard import refuse, task_guard
from project.lab.typed.source import Refused
from project.lab.widgets.bit_cells import Group, bit_cells
from project.lab.widgets.fields import whole_number

SUMS = {"2048 + 1": ("2048", "1"), "0.1 + 0.2": ("0.1", "0.2"), "65504 + 16": ("65504", "16"), "1e8 + 1": ("1e8", "1")}
TERMS = ("1", "0.1", "0.01", "0.001")
DIGITS = "Enter a decimal number such as 0.1, -2.5 or 6.02e23."
state = st.session_state

st.title("Number formats")
st.write(
    "A floating-point number has a sign, an exponent and a fraction, each stored in a fixed number of bits. So there are gaps between the "
    "numbers of a format, and every result is rounded to one of them. Set the bits yourself, and see what a decimal number becomes."
)
with task_guard():
    from project.lab.explorers import formats, rounding

    offered = formats.available()


def typed_decimal(label: str, given: str, key: str, help: str) -> Fraction:
    """Show a field for a decimal number and return the number."""
    try:
        return rounding.read_decimal(st.text_input(label, given, key=key, bind="query-params", width=300, help=help))
    except Refused as refusal:
        refuse(str(refusal), DIGITS)


def choose_format() -> str:
    """Show the control for the format, and return it. A new format keeps the number, rounded if necessary."""
    help = "How many bits a number has, and what they mean."
    dtype = st.segmented_control("Format", offered, default="float16", required=True, key="formats_dtype", bind="query-params", help=help)
    dtype, before = dtype or "float16", state.get("formats_before")
    if before and before != dtype and "formats_pattern" in state:
        state.formats_bits = formats.write_bits(formats.convert(state.formats_pattern, before, dtype), dtype)
    state.formats_before = dtype
    return dtype


def check_rounding() -> None:
    """Check that the student's code keeps 1.5, a number of every format; the rest of the page takes its results for rounded numbers."""
    for dtype in offered:
        got = formats.value(rounding.nearest(Fraction(3, 2), dtype), dtype)
        if got != 1.5:
            raise WrongResult(f'tensor([1.5], dtype="{dtype}") expected to contain 1.5, got {got}')


def set_pattern(pattern: int | None, dtype: str) -> None:
    """Set the bits; None changes nothing."""
    with task_guard(stop=False):
        if pattern is not None:
            state.formats_bits = formats.write_bits(pattern, dtype)


def set_example(dtype: str) -> None:
    """Set the bits of the selected example."""
    with task_guard(stop=False):
        if state.formats_example:
            set_pattern(formats.special(state.formats_example, dtype), dtype)
    state.formats_example = None


def show_bits(pattern: int, dtype: str) -> None:
    """Show the bits as cells that flip when they are clicked."""
    found = formats.parts(pattern, dtype)
    exponent, fraction = len(found.exponent), len(found.fraction)
    groups = [
        Group("sign", found.sign, ["1 for a negative number"]),
        Group("exponent", found.exponent, [f"2^{exponent - 1 - place} = {2 ** (exponent - 1 - place)}" for place in range(exponent)]),
        Group("fraction", found.fraction, [f"2^-{1 + place}" for place in range(fraction)]),
    ]
    bit_cells(groups, "formats_cells", lambda flipped: set_pattern(int(flipped, 2), dtype))


def show_value(pattern: int, dtype: str) -> None:
    """Show the value of the bits, how it follows from them, and both neighbors."""
    below, above = formats.neighbors(pattern, dtype)
    st.code(formats.formula(pattern, dtype), language=None, wrap_lines=True)
    st.write(formats.about(pattern, dtype))
    st.table(formats.neighbor_rows(pattern, dtype), width="content")
    with st.container(horizontal=True):
        for label, other, icon in (("Next number below", below, "arrow_downward"), ("Next number above", above, "arrow_upward")):
            key = f"formats_{icon}"
            st.button(label, on_click=set_pattern, args=(other, dtype), disabled=other is None, icon=f":material/{icon}:", key=key)


def bits_section(dtype: str) -> None:
    """Show the number whose bits are set by hand."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = f"In hexadecimal: each digit is four bits. A {dtype} has {formats.size(dtype) // 4} digits."
        first = formats.write_bits(formats.special("1", dtype), dtype)
        text = st.text_input("Bits", first, key="formats_bits", bind="query-params", width=200, help=help)
        st.selectbox(
            "Example",
            formats.SPECIAL,
            None,
            key="formats_example",
            on_change=set_example,
            args=(dtype,),
            placeholder="Set a number",
            width=210,
            help="Sets the bits of this number.",
        )
    try:
        pattern = formats.read_bits(text, dtype)
    except Refused as refusal:
        refuse(str(refusal), "Enter hexadecimal digits, such as 0x3c00.")
    state.formats_pattern = pattern
    show_bits(pattern, dtype)
    st.caption("Click a bit to flip it. With the keyboard: the arrow keys move from bit to bit, Enter or Space flips it.")
    show_value(pattern, dtype)


def rounding_section(dtype: str) -> None:
    """Show what a typed decimal number becomes in each format."""
    st.subheader("Round a decimal number")
    st.write(
        "A format contains few of the decimal numbers. All others are rounded to the nearest number that it contains; if two are equally "
        "near, to the one whose last bit is 0."
    )
    x = typed_decimal("Decimal number", "0.1", "formats_number", "Read exactly, with all its digits, and rounded once.")
    draw(rounding.number_line(x, dtype), "formats_line")
    st.write(plain(rounding.rounding_in_words(x, dtype)))
    st.table(rounding.rounding_rows(x), width="content")
    st.caption("The gap is that between both neighbors. An error of 0.5 gaps is the largest possible one, as long as nothing overflows.")


def set_sum() -> None:
    """Set the terms of the selected example."""
    if state.formats_sum:
        state.formats_a, state.formats_b = SUMS[state.formats_sum]


def addition_section() -> None:
    """Show a sum of two numbers in each format."""
    st.subheader("Add two numbers")
    st.pills("Examples", SUMS, key="formats_sum", on_change=set_sum, help="Sets a and b.")
    with st.container(horizontal=True):
        a = typed_decimal("a", "2048", "formats_a", "The first term; rounded to each format before the addition.")
        b = typed_decimal("b", "1", "formats_b", "The second term; rounded to each format before the addition.")
    st.table(rounding.addition_rows(a, b), width="content")
    st.write(plain(rounding.addition_in_words(a, b)))


def sums_section() -> None:
    """Show the running sum of many equal terms."""
    st.subheader("Add many small numbers")
    st.write("Each sum is rounded before the next term is added. When a term is smaller than half of a gap, it is lost.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.selectbox(
            "Term", TERMS, key="formats_term", bind="query-params", width=120, help="The number that is added again and again."
        )
        count = whole_number("Number of terms", "formats_terms", 3000, 2, 4000)
    made_from, term = (text, count, state.get("sources")), Fraction(text)
    if state.get("formats_sums", ("",))[0] != made_from:
        sums = {dtype: rounding.running_sums(term, count, dtype) for dtype in ("float32", "float16", "bfloat16") if dtype in offered}
        state.formats_sums = made_from, sums, rounding.library_sum(term, count, "float16")
    _, sums, at_once = state.formats_sums
    draw(rounding.sums_chart(sums, term), "formats_sums_chart")
    st.write(plain(rounding.sums_in_words(sums, term)))
    st.write(
        f"`x.sum()` of the same {count} terms in float16 is {formats.decimal(at_once, 10)}: the library adds in float32 and rounds to "
        "float16 only once, at the end."
    )


with task_guard():
    check_rounding()
    dtype = choose_format()
    bits_section(dtype)
    rounding_section(dtype)
    addition_section()
    sums_section()
if "bfloat16" not in offered:
    st.caption("bfloat16 needs the package ml_dtypes: `pip install ml_dtypes`.")
