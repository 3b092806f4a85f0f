"""Make the pictures of the tutorial, of the README, of the second round and of a room that talks, by walking there.

    make screenshots

With a name (`python scripts/screenshots.py deliberation`) only those of that page. Needs Chromium, and for the tutorial
the port 8000 to be free, as it is seen in the pictures. Takes a few minutes.
"""

import io
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
PORT = 8000
SIZE: ViewportSize = {"width": 1100, "height": 800}
TALLEST = 1100
COLOURS = 64
END = """Math.max(...[...document.querySelectorAll("main > *")].map((one) => one.getBoundingClientRect().bottom))"""
ROOM = 16
"""Pixels around a part of a page."""

sys.path.insert(0, str(ROOT))

from tests.support import talking_in_browser, tutorial_walk, two_rounds_walk  # noqa: E402 - shared with the tests


def take(folder: str, page: Page, name: str, part: Locator | None) -> None:
    """Write a picture of what a locator finds and all between, or of the window down to where the page ends."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    if part is None:
        height = min(SIZE["height"], page.evaluate(END) + ROOM)
        png = page.screenshot(clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height})
    else:
        page.evaluate("scrollTo(0, 0)")
        png = page.screenshot(full_page=True, clip=around([box for one in part.all() if (box := one.bounding_box())]))
    save(FIGURES / folder / f"{name}.png", png)
    if (folder, name) == ("tutorial", "pair"):
        save(FIGURES / "pair_page.png", png)


def whole(folder: str, page: Page, name: str) -> None:
    """Write a picture of what a screen shows, as it is there."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    save(FIGURES / folder / f"{name}.png", page.screenshot())


def around(boxes: list[FloatRect]) -> FloatRect:
    """Return the rectangle over the whole width that has all of these in it."""
    top = max(0, min(box["y"] for box in boxes) - ROOM)
    bottom = max(box["y"] + box["height"] for box in boxes) + ROOM
    return {"x": 0, "y": top, "width": SIZE["width"], "height": min(bottom - top, TALLEST)}


def save(file: Path, png: bytes) -> None:
    """Write a picture with few colours, as pages have few."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1024} kB")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["tutorial", "deliberation", "room"]
    for folder in wanted:
        (FIGURES / folder).mkdir(exist_ok=True)
    window: dict[str, Any] = {"viewport": SIZE, "device_scale_factor": 1.5}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        if "tutorial" in wanted:
            page = browser.new_context(**window).new_page()
            tutorial_walk.follow(page, Path(home), partial(take, "tutorial"), PORT)
        if "deliberation" in wanted:
            two_rounds_walk.follow(browser, Path(home), partial(take, "deliberation"), **window)
        if "room" in wanted:
            talking_in_browser.follow(browser, Path(home), partial(whole, "room"))
        browser.close()
