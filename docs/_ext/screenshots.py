"""Makes the pictures of reports that the pages show: ``python -m docs._ext.screenshots``, or ``make docs-pictures``.

Needs chromium, playwright, typst and Pillow. The reports are those of ``treewarden demo`` and of the page on
adversaries with partial knowledge; the release is one of the demo's repaired tree, in a service that is started for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import httpx
from click.testing import CliRunner

from docs._ext.console import replayed
from treewarden.cli import cli
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.service.operations.demo import REVIEWER, _printed_lines, _sent, _uploaded

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"
DEMO = ("tree.pmml", "--data", "survey.csv", "--sensitive", "affair", "--policy", "strict", "-q")
PURPOSE = "A seminar on survey methods shows which answers go together."
PASSWORD = "a plain lamp above nine boats"
MARGIN = 14
"""Of pixels around pages of paper, and beside a section that is cut out."""


def picture_report(browser: Browser, folder: Path) -> None:
    """Show the first page of the demo's report."""
    with contextlib.chdir(folder):
        CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
    page = browser.new_page(viewport={"width": 960, "height": 1600})
    page.goto((folder / "demo-report" / "audit.html").as_uri())
    steps = page.locator("ol").first.bounding_box()
    assert steps is not None
    height = steps["y"] + steps["height"] + MARGIN
    clip = {"x": 0, "y": 0, "width": 960, "height": height}
    page.screenshot(path=IMAGES / "report.png", clip=clip)


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
    clip = {
        "x": box["x"] - MARGIN,
        "y": box["y"],
        "width": box["width"] + 2 * MARGIN,
        "height": height,
    }
    page.screenshot(path=IMAGES / "adversaries.png", full_page=True, clip=clip)


def _ran(folder: Path, *words: str) -> None:
    """Run a command in the folder of the demo's files."""
    with contextlib.chdir(folder):
        CliRunner().invoke(cli, ["demo"], catch_exceptions=False)
        os.chdir(folder / "demo-report")
        CliRunner().invoke(cli, list(words), catch_exceptions=False)


def picture_pdf(_: Browser, folder: Path) -> None:
    """Show the first two pages of the PDF of a repair side by side."""
    import typst  # noqa: PLC0415  # an extra
    from PIL import Image  # noqa: PLC0415  # comes with the figures

    compiled, pages = typst.compile, []

    def with_pages(source: bytes, **settings: Any) -> Any:  # noqa: ANN401
        drawn = {**settings, "format": "png", "ppi": 96.0, "pdf_standards": []}
        pages.extend(Image.open(io.BytesIO(each)) for each in compiled(source, **drawn))
        return compiled(source, **settings)

    with mock.patch.object(typst, "compile", with_pages):
        wanted = ("--purpose", PURPOSE, "--format", "pdf=repair.pdf", "-o", "survey-repaired.pmml")
        _ran(folder, "repair", *DEMO, *wanted)
    width, height = pages[0].size
    sheet = Image.new("RGB", (2 * width + 3 * MARGIN, height + 2 * MARGIN), "#c9ced8")
    for place, page in enumerate(pages[:2]):
        sheet.paste(page, (MARGIN + place * (width + MARGIN), MARGIN))
    sheet.quantize(64).save(IMAGES / "compliance-pdf.png", optimize=True)


def picture_public(browser: Browser, folder: Path) -> None:
    """Show the checks on a redacted compliance page."""
    wanted = ("--purpose", PURPOSE, "--redacted", "--format", "compliance=public.html")
    _ran(folder, "audit", *DEMO, *wanted)
    page = browser.new_page(viewport={"width": 1120, "height": 1050})
    page.goto((folder / "demo-report" / "public.html").as_uri())
    page.get_by_role("heading", name="Each check").evaluate("heading => heading.scrollIntoView()")
    page.screenshot(path=IMAGES / "compliance-public.png")


def picture_release(browser: Browser, folder: Path) -> None:
    """Show a release that waits for the decision of the person who looks at it."""
    _ran(folder, "audit", *DEMO)
    command = [sys.executable, "-m", "treewarden", "serve", "--data-dir", str(folder / "data")]
    command += ["--create-admin", "ada", "--port", "8444"]
    environment = {"TREEWARDEN_LOG_LEVEL": "warning"} | os.environ
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            said = _printed_lines(server)
            release, password = _release(browser, said["http"], said["token"], folder)
            page = browser.new_page(viewport={"width": 1280, "height": 920})
            page.goto(f"{said['http']}/sign-in")
            for fields in ({"name": REVIEWER, "password": password}, {"password": password}):
                for name, value in fields.items():
                    page.fill(f"[name={name}]", value)
                if page.locator("[name=new_password]").count():
                    page.fill("[name=new_password]", PASSWORD)
                page.click("form.form button.primary")
            page.goto(f"{said['http']}/releases/{release}")
            page.screenshot(path=IMAGES / "service.png")
        finally:
            server.terminate()


def _release(browser: Browser, address: str, token: str, folder: Path) -> tuple[str, str]:
    """Return the id of a release of the demo's repaired tree, and the one-time password of a reviewer."""
    tree = read_bytes(folder / "demo-report" / "tree-repaired.pmml")
    table = read_bytes(folder / "demo-report" / "survey.csv")
    headers = {"Authorization": f"Bearer {token}"}
    page = browser.new_page()
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=120) as client:
        model = _sent(client, "POST", "/models", {"name": "Marriage survey"})
        digest = _uploaded(client, "model", tree)
        file = {"digest": digest, "file_name": "survey.pmml"}
        version = _sent(client, "POST", f"/models/{model['id']}/versions", file)
        digest = _uploaded(client, "table", table)
        kept = _sent(client, "POST", "/tables", {"digest": digest, "file_name": "survey.csv"})
        wanted = {"model_version_id": version["id"], "table_id": kept["id"], "pack": "strict"}
        audit = _sent(client, "POST", "/audits", wanted | {"options": {"sensitive": "affair"}})
        while client.get(f"/audits/{audit['id']}").json()["state"] in ("queued", "running"):
            page.wait_for_timeout(500)
        wish = {"audit_id": audit["id"], "title": "Marriage survey 1", "purpose": PURPOSE}
        release = _sent(client, "POST", "/releases", wish)
        made = _sent(client, "POST", "/accounts", {"name": REVIEWER, "role": "reviewer"})
    return str(release["id"]), str(made["password"])


PICTURES = (picture_report, picture_adversaries, picture_pdf, picture_public, picture_release)


def main() -> None:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # a tool of the docs alone

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for picture in PICTURES:
            with tempfile.TemporaryDirectory() as folder:
                picture(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
