"""The report to file as an accessible PDF (PDF/UA-1). Needs treewarden[pdf]."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.document.document import Document
from treewarden.reports.figures.compliance import breakable, drawable, filing
from treewarden.reports.figures.remaining import ReportSection
from treewarden.reports.renderers import FilingRenderer

STANDARD = "ua-1"
TEMPLATES = Path(__file__).parent.parent / "templates"
NOT_INSTALLED = (
    "a PDF needs the package typst, which is not installed; pip install 'treewarden[pdf]'"
)


class PdfRenderer(FilingRenderer):
    """The same sections as the compliance page, set by Typst with the fonts that come with it.

    What files and tables say reaches the template as data, so that no name is ever code; no file outside
    its folder is open to it. The time in the file is that of the document. A sign that the fonts lack is written by its
    code.
    """

    media_type = "application/pdf"
    suffix = "pdf"
    is_text = False

    def check(self) -> None:
        _typst()

    def render_with(self, document: Document, report_sections: tuple[ReportSection, ...]) -> bytes:
        typst = _typst()
        said = {
            **asdict(filing(document, report_sections)),
            "date": _date(document.provenance.created),
        }
        try:
            made = typst.compile(
                (TEMPLATES / "compliance.typ").read_bytes(),
                format="pdf",
                root=str(TEMPLATES),
                ignore_system_fonts=True,
                font_paths=[],
                sys_inputs={"said": json.dumps(_printable_part(said))},
                pdf_standards=[STANDARD],
            )
        except typst.TypstError as error:
            problem = f"the PDF could not be made ({error.message}); choose --format compliance"
            raise OutputError("report", problem) from error
        return bytes(made)


def _typst() -> Any:  # noqa: ANN401  # a package that may not be there
    try:
        return importlib.import_module("typst")
    except ImportError as error:
        raise OutputError("report", NOT_INSTALLED) from error


def _date(created: str | None) -> list[int] | None:
    """Return year to second as the document says them; None where it says no time."""
    try:
        moment = datetime.fromisoformat(created or "")
    except ValueError:
        return None
    return [
        moment.year,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
    ]


def _printable_part(part: Any) -> Any:  # noqa: ANN401  # any part of what the template is told
    """Return the same with every text as the fonts can show it, and long words that may be broken."""
    if isinstance(part, str):
        return breakable(drawable(part))
    if isinstance(part, dict):
        return {name: _printable_part(inner) for name, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_printable_part(inner) for inner in part]
    return part


RENDERER = PdfRenderer()
