"""Pictures of the app for the book: `python -m tests.project.screenshots` writes them to docs/images."""

import io

from PIL import Image

from benchmarks.app_browser import ROOT, Server, browser
from tests.project.browser import complete, new_page

FOLDER = ROOT / "docs" / "images"
MOST_BYTES = 150_000


def graph(page):
    """Four steps of the backward pass, of which the page shows the first."""
    for _ in range(3):
        page.get_by_role("button", name="Forward").click()
    complete(page)


def strides(page):
    """A selected element, and where it is in the storage."""
    page.locator('[data-pick="cell:1,1"]').click()
    complete(page)


def convolution(page):
    """The kernel in the middle of the image."""
    page.locator('[data-pick="0,2,2"]').click()
    complete(page)


PICTURES = {  # the file: the address, what is done there, and the height of the picture
    "app_graph.png": ("m1_graph", graph, 1000),
    "app_strides.png": ("m2_strides", strides, 920),
    "app_convolution.png": ("m4_convolution", convolution, 1098),
}


def take(page, path, height):
    """Keep a picture of the page beside the menu, without the tour, in 128 colors."""
    page.add_style_tag(content=".st-key-tour, [data-testid=stToastContainer], [data-testid=stToast] {display: none !important}")
    page.set_viewport_size({"width": 1280, "height": height})
    page.mouse.move(0, 0)  # away from what it would highlight
    page.wait_for_timeout(1500)
    box = page.locator(".stMain").bounding_box()
    data = page.screenshot(clip={"x": box["x"], "y": 40, "width": box["width"], "height": height - 40})
    Image.open(io.BytesIO(data)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, path


def main():
    """Take all pictures."""
    server = Server()
    try:
        with browser() as chromium:
            for name, (address, use, height) in PICTURES.items():
                page = new_page(chromium, 1280, height)
                page.goto(f"{server.address}/{address}")
                complete(page)
                use(page)
                take(page, FOLDER / name, height)
                page.context.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
