"""The figures that are dragged, in a browser: with the mouse, a finger and the keyboard, on a laptop and on a phone."""

import math
import re

import pytest

from tests.project.browser import NEEDED, chromium, fits, open_page, server, wait_until

pytestmark = NEEDED


@pytest.fixture
def open_figure(open_page):
    """Opens a page on a laptop, or in another size; at the end, nothing may be wider than the page."""
    pages = []

    def start(address, width=1366, height=768):
        pages.append(open_page(address, width, height))
        return pages[-1]

    yield start
    assert all(fits(page) for page in pages)


def middle(element):
    """The middle of an element on the page."""
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def hold(page, handle, x, y):
    """Drag a handle to a place, and hold it there until the next frame is drawn."""
    page.mouse.move(*middle(handle))
    page.mouse.down()
    page.mouse.move(x, y, steps=5)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def numbers(text):
    """The numbers in a text, some of which have a typographic minus."""
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text.replace("− ", "-").replace("−", "-"))]


# The line of the manual classifier

POINTS = "points => [...points.children].map(({tagName, attributes: {d, cx, cy}}) => tagName === 'circle' ? [0, +cx.value, +cy.value] : "
POINTS += "[1, ...d.value.match(/[\\d.]+/g).slice(0, 2).map(Number)])"


def points_of(page):
    """Label and coordinates of the points that are drawn."""
    return [(label, x / 400, 1 - (y + 7 * label) / 400) for label, x, y in page.locator(".points").evaluate(POINTS)]


def check_line(page):
    """Compare count and loss in the figure with those of the line that it shows; return the line."""
    w1, w2, b = numbers(re.sub(r" · x.", "", page.locator(".formula").inner_text().removesuffix("> 0")))
    points = points_of(page)
    scores = [w1 * x + w2 * y + b for _, x, y in points]
    good = [(score > 0) == (label == 1) for (label, *_), score in zip(points, scores, strict=True)]
    p = [1 / (1 + math.exp(-score)) for score in scores]
    loss = sum(-math.log(each if label else 1 - each) for (label, *_), each in zip(points, p, strict=True)) / len(points)
    assert page.locator("b.correct").inner_text() == f"{sum(good)} of {len(points)}"
    assert page.locator("b.wrong").inner_text() == f"{len(points) - sum(good)}"
    assert page.locator(".points .wrong").count() == len(points) - sum(good)
    assert float(page.locator("b.loss").inner_text()) == pytest.approx(loss, abs=2e-3)
    return w1, w2, b


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_counts_and_loss_follow_the_line_while_it_is_dragged(open_figure, width, height):
    page = open_figure("m0_manual?weight_1=0&weight_2=4&bias=-1", width, height)
    assert check_line(page) == (0, 4, -1)
    position, angle = (page.get_by_label(f"{what} of the line") for what in ("Position", "Angle"))
    plane = page.locator(".plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    hold(page, position, box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert check_line(page) == pytest.approx((0, 4, -2), abs=0.03)  # through (1/2, 1/2)
    page.mouse.up()
    hold(page, angle, box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"])
    turned = check_line(page)
    assert [abs(value) for value in turned] == pytest.approx([4, 0, 2], abs=0.03)
    page.mouse.up()
    page.get_by_text(f"return ({', '.join(map(str, turned))})").wait_for()
    wait_until(page, lambda: f"weight_1={turned[0]:g}" in page.url)
    position.focus()
    page.keyboard.press("ArrowRight")
    moved = check_line(page)
    assert moved[2] == pytest.approx(-moved[0] * 0.51, abs=0.05)
    wait_until(page, lambda: f"bias={moved[2]:g}" in page.url)


# The point on a curve


def read(page, *names):
    """Numbers in the readout of the figure."""
    return [float(page.locator(f"b.{name}").inner_text()) for name in names]


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_tangent_secant_and_errors_follow_the_point_and_epsilon(open_figure, width, height):
    page = open_figure("m1_derivative?fx=x ** 3", width, height)
    point, epsilon = page.get_by_label("Point on the curve"), page.get_by_role("slider", name="epsilon")
    assert read(page, "x", "height", "size", "numeric", "slope", "away") == [1, 1, 1, 4, 3, 1]  # (2³ - 0³) / 2, and 3x²
    box = page.locator("svg.plane").bounding_box()
    lines = page.locator(".secant").get_attribute("d"), page.locator(".tangent").get_attribute("d")
    hold(page, point, box["x"] + (52 + 418 * 0.625) / 480 * box["width"], box["y"])  # 5/8 of the way from -1 to 3
    assert read(page, "x", "height", "numeric", "slope") == pytest.approx([1.5, 3.375, 7.75, 6.75])
    assert lines[0] != page.locator(".secant").get_attribute("d")
    assert lines[1] != page.locator(".tangent").get_attribute("d")
    page.mouse.up()
    wait_until(page, lambda: "at=1.5" in page.url)
    epsilon.scroll_into_view_if_needed()
    box = page.locator("svg.errors").bounding_box()
    hold(page, epsilon, box["x"] + (52 + 418 * 13 / 15) / 480 * box["width"], box["y"])  # two powers of ten below the largest
    assert read(page, "x", "size", "numeric", "away") == pytest.approx([1.5, 0.01, 6.7501, 1e-4], rel=1e-3)
    page.mouse.up()
    wait_until(page, lambda: page.locator(".st-key-epsilon input").input_value() == "1e-02")
    point.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert read(page, "x", "slope") == pytest.approx([1.65, 8.1675])
    wait_until(page, lambda: "at=1.65" in page.url)


def test_both_curves_fit_the_low_screen_of_a_projector_and_the_closed_menu_hides_no_title(open_figure):
    page = open_figure("m1_derivative", 853, 480)
    page.locator(".stSidebar").hover()
    page.locator("[data-testid=stSidebarCollapseButton] button").click()
    opener = page.locator("[data-testid=stExpandSidebarButton]")
    opener.wait_for()
    plots = page.locator(".plots")
    wait_until(page, lambda: (box := plots.bounding_box())["y"] + box["height"] <= 480)
    title, button = page.get_by_role("heading", name="Derivatives").bounding_box(), opener.bounding_box()
    assert title["x"] >= button["x"] + button["width"]


def test_a_point_where_the_function_is_undefined_is_told_while_it_is_dragged(open_figure):
    page = open_figure("m1_derivative?fx=sqrt(x)&at=1.5")
    box = page.locator("svg.plane").bounding_box()
    hold(page, page.get_by_label("Point on the curve"), box["x"] + 60, box["y"])
    assert page.locator("b.height").inner_text() == "undefined"
    assert page.locator("b.slope").inner_text() == "-"
    page.mouse.up()
    page.get_by_text("The function is undefined at x = -").wait_for()


# The window of a convolution


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_the_window_follows_the_pointer_over_image_and_result_and_a_click_goes_there(open_figure, width, height):
    query = "conv_image_2=typed&conv_typed_2=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]&conv_weight_2=[[1, 0, 2], [0, -1, 0], [0, 0, 0]]"
    page = open_figure(f"m4_convolution?{query}&conv_form=general&conv_step=0", width, height)
    terms, sections = page.locator(".terms"), page.locator(".picture section")
    formula = terms.inner_text()
    assert formula.startswith("out[o, y, x] = sum over")
    image, weight, products, result = (sections.nth(n).locator(".cell") for n in range(4))
    assert [each.count() for each in (image, weight, products, result)] == [25, 9, 9, 4]  # with a border of zeros; stride 2
    image.nth(18).hover()  # in[2, 2]: the window in the corner has its middle nearest to it
    lines = ["row 1: 5·1 + 6·0 = 5", "row 2: 8·0 + 9·(-1) = -9", "row 3: outside of the image, 0"]
    assert terms.inner_text().splitlines() == [*(f"channel 0, {each}" for each in lines), "out[0, 1, 1] = 5 + (-9) + 0 = -4"]
    assert sections.nth(2).locator("h4").inner_text() == "products, with sum -4"
    assert products.all_inner_texts()[:2] == ["5\n5·1", "0\n6·0"]
    assert [image.nth(n).get_attribute("class") for n in (12, 14, 0)] == ["cell tone read", "cell linked", "cell faint"]
    result.nth(0).hover()
    assert terms.inner_text().splitlines()[-1] == "out[0, 0, 0] = 0 + (-1) + 0 = -1"
    page.mouse.move(0, 0)
    assert terms.inner_text() == formula
    image.nth(18).click()
    page.get_by_text("out[0, 1, 1]: the window covers rows 1 to 3 and columns 1 to 3, 9 numbers").wait_for()
    page.mouse.move(0, 0)
    assert terms.inner_text().splitlines()[-1] == "out[0, 1, 1] = 5 + (-9) + 0 = -4"


def test_another_channel_of_the_result_has_its_own_weight(open_figure):
    page = open_figure("m4_convolution?conv_image_2=typed&conv_typed_2=[[1, 2], [3, 4]]&conv_weight_2=[[[[2]]], [[[5]]]]")
    page.locator(".picture section").nth(3).locator(".cell").nth(6).hover()
    assert page.locator(".terms").inner_text() == "channel 0, row 1: 3·5 = 15\nout[1, 1, 0] = 15"
    assert page.locator(".picture section").nth(1).locator(".cell").inner_text() == "5"


# The query of attention


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_the_row_under_the_pointer_is_the_query_and_a_click_keeps_it(open_figure, width, height):
    page = open_figure("m6_attention?attend_tokens=3&attend_heads=1", width, height)
    table = page.locator("table").all_inner_texts()  # projection, queries, keys, values, output
    queries, keys, values, out = ([numbers(row) for row in text.strip().splitlines() if numbers(row)] for text in table[1:])
    queries, keys, values = (rows[-3:] for rows in (queries, keys, values))  # without the caption
    words, rows = page.locator(".head p"), page.locator(".map")
    assert words.inner_text().startswith("out[2] = ")
    rows.scroll_into_view_if_needed()
    box = rows.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.625 * box["height"])  # the second of three rows, below the names
    scores = [sum(a * b for a, b in zip(queries[1], key, strict=True)) / math.sqrt(2) for key in keys[:2]]
    share = 1 / (1 + math.exp(scores[1] - scores[0]))
    assert words.inner_text().startswith(f"out[1] = {share:.2f}·(")
    expected = [share * a + (1 - share) * b for a, b in zip(values[0], values[1], strict=True)]
    assert numbers(words.inner_text())[-2:] == pytest.approx(expected, abs=0.011)
    assert out[-2] == pytest.approx(expected, abs=1e-3)
    page.mouse.move(0, 0)
    assert words.inner_text().startswith("out[2] = ")
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.625 * box["height"])
    page.mouse.move(0, 0)
    wait_until(page, lambda: words.inner_text().startswith("out[1] = "))
    rows.focus()
    page.keyboard.press("ArrowUp")
    wait_until(page, lambda: rows.get_attribute("aria-valuenow") == "0" and words.inner_text().startswith("out[0] = 1.00·"))


# The graph of a backward pass


WATCH_STEPS = """sentence => {
    window.steps = [];
    const note = () => window.steps.push([sentence.textContent, /moment=[^0]/.test(location.search)]);
    new MutationObserver(note).observe(sentence, {childList: true});
}"""
"""Notes the sentence of each step, and whether the page has been told of a step by then."""


def lit(page):
    """The nodes, edges, rules and lines of code that are lit."""
    return [page.locator(f".figure {part}.lit").all_text_contents() for part in (".node", ".edge", "li", "pre span")]


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_play_reaches_the_last_step_in_the_browser_and_the_arrow_keys_step(open_figure, width, height):
    page = open_figure("m1_graph?f=x * y * x&x=2&y=5&moment=0", width, height)
    slider = page.locator(".figure input")
    page.locator(".sentence").evaluate(WATCH_STEPS)
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: "moment=4" in page.url)
    sentences, told = zip(*page.evaluate("steps"), strict=True)
    assert list(dict.fromkeys(sentences)) == [
        "v2 = v1 · x is the output, so its derivative is 1. The chain rule passes 2 to v1 and 10 to x.",
        "v1 = x · y has the derivative 2. The chain rule passes 10 to x (added to 10, the sum is 20) and 4 to y.",
        "y is a leaf. It stores the derivative 4, the sum of all derivatives it received.",
        "x is a leaf. It stores the derivative 20, the sum of all derivatives it received.",
    ]
    assert not any(told[:4])  # the address changes when Play is over
    assert slider.input_value() == "4"
    assert page.locator(".edge .passed").all_text_contents() == ["← 10", "← 4", "← 2", "← 10"]
    page.locator(".scroll").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".edge.now .passed").all_text_contents() == ["← 10", "← 4"]
    wait_until(page, lambda: "moment=2" in page.url)
    for _ in range(2):
        page.get_by_role("button", name="Back").click()
    page.keyboard.press("ArrowRight")  # although Back, which had the focus, is disabled now
    assert slider.input_value() == "1"
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    stopped = slider.input_value()
    wait_until(page, lambda: f"moment={stopped}" in page.url)
    page.wait_for_timeout(1200)  # longer than a step
    assert slider.input_value() == stopped


@pytest.mark.parametrize("start", ["Play", "Forward"])
def test_a_change_during_play_or_just_after_a_step_keeps_the_step(open_figure, start):
    page = open_figure("m1_graph?f=-(x * x * x * x * x)&x=2")
    page.evaluate("window.setTimeout = ((later) => (f, ms) => later(f, ms === 400 ? 5000 : ms))(setTimeout)")  # as if the page were faster
    page.get_by_role("button", name=start).click()
    page.get_by_label("x", exact=True).fill("3")
    page.keyboard.press("Enter")
    wait_until(page, lambda: "value 3" in page.locator(".node.leaf").first.text_content())
    step = page.locator(".figure input").input_value()
    assert step != "1"  # at which the page opens
    wait_until(page, lambda: f"moment={step}" in page.url)
    page.wait_for_timeout(1200)  # longer than a step
    assert page.locator(".figure input").input_value() == step


def test_an_example_that_is_chosen_during_play_begins_at_the_first_visit(open_figure):
    page = open_figure("m1_graph?f=(x %2B y) * (x %2B y)&moment=2")
    page.get_by_role("button", name="Play").click()
    page.locator(".st-key-example input").click()
    page.get_by_role("option", name="A product").click()  # its graph has as many steps
    wait_until(page, lambda: "v2 = v1 · z" in page.locator(".figure svg").text_content())
    slider = page.locator(".figure input")
    assert (slider.input_value(), slider.get_attribute("max")) == ("1", "5")
    page.wait_for_timeout(1200)  # longer than a step
    assert slider.input_value() == "1"
    assert "moment=" not in page.url


def test_a_node_or_an_edge_that_is_pointed_at_lights_up_with_its_rule_and_its_code(open_figure):
    page = open_figure("m1_graph?f=x * y * x&x=2&y=5&moment=2")
    page.mouse.move(0, 0)
    node, code = ["v1 = x · y", "value 10", "gradient 2", "visit 2"], ["    return d_output * b, d_output * a"]
    rules = [
        "∂(x · y)/∂x = y; your backward returned 5 for 1 and 10 for 2",
        "∂(x · y)/∂y = x; your backward returned 2 for 1 and 4 for 2",
    ]
    page.locator(".node").filter(has_text="v2 = ").hover()
    nodes, edges, found, lines = lit(page)
    assert "v2 = v1 · x" in nodes[0]
    assert (edges, len(found), lines) == ([], 2, code)
    page.mouse.move(0, 0)  # away: the node of this step is lit
    nodes, edges, found, lines = lit(page)
    assert all(text in nodes[0] for text in node)
    assert (len(nodes), edges, found, lines) == (1, [], rules, code)
    page.locator(".edge").nth(1).locator("text").first.hover()
    nodes, edges, found, lines = lit(page)
    assert "v1 = x · y" in nodes[0]
    assert (len(edges), found, lines) == (1, rules[1:], code)
    assert page.locator(".where").inner_text().startswith("minitorch/scalar_functions.py, line ")


# The memory of a kernel


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_lines_lead_from_threads_to_the_whole_array_and_fix_it_shows_fewer_sectors(open_figure, width, height):
    page = open_figure("m3_kernels?kernel_name=strided copy: uncoalesced&kernel_step=1", width, height)
    arrays = page.locator("svg.memory")
    wait_until(page, lambda: arrays.count() == 2)
    assert arrays.nth(0).locator(".waste").count() == 32 * 7
    assert arrays.nth(0).locator(".ways").get_attribute("d").count("M") == 32
    sectors = page.get_by_test_id("stMetric").filter(has_text="Sectors")
    assert "72" in sectors.inner_text()
    page.get_by_text("Fix it").click()
    page.get_by_text("before: 72").wait_for()
    assert "16" in sectors.inner_text().splitlines()
    wait_until(page, lambda: arrays.nth(0).locator(".waste").count() == 0)
