"""Makes the pictures of reports that the pages show: ``python -m docs._ext.screenshots``, or ``make docs-pictures``.

Needs chromium and playwright. The reports are those of ``treewarden demo`` and of the page on adversaries with partial
knowledge.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from docs._ext.console import replayed
from treewarden.cli import cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"


def picture_report(browser: Browser, folder: Path) -> None:
    """Show the first page of the demo's report."""
    with contextlib.chdir(folder):
        CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
    page = browser.new_page(viewport={"width": 960, "height": 1110})
    page.goto((folder / "demo-report" / "audit.html").as_uri())
    page.screenshot(path=IMAGES / "report.png")


def picture_adversaries(browser: Browser, folder: Path) -> None:
    """Show what each adversary of the page can infer: the head of that section, without its details."""
    shown = (DOCS / "neighbour.md").read_text("utf-8").split("\n## Protect a column")[0]
    replayed(shown, folder)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto((folder / "reports" / "audit.html").as_uri())
    section = page.locator("section#adversaries")
    box = section.bounding_box()
    table = section.locator("table").first.bounding_box()
    assert box is not None
    assert table is not None
    height = table["y"] + table["height"] + 8 - box["y"]
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": height}
    page.screenshot(path=IMAGES / "adversaries.png", full_page=True, clip=clip)


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # a tool of the docs alone

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for picture in (picture_report, picture_adversaries):
            with tempfile.TemporaryDirectory() as folder:
                picture(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
