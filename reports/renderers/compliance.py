"""A report to file: the evidence check by check, the remaining risk, and lines to sign."""

from __future__ import annotations

from treewarden.reports.document.document import Document
from treewarden.reports.figures.compliance import filing
from treewarden.reports.figures.pages import environment
from treewarden.reports.figures.remaining import ReportSection
from treewarden.reports.renderers import FilingRenderer


class ComplianceRenderer(FilingRenderer):
    """HTML with its style inside, like the report for reading; it prints on A4, and says what the PDF says."""

    media_type = "text/html; charset=utf-8"
    suffix = "compliance.html"

    def render_with(self, document: Document, report_sections: tuple[ReportSection, ...]) -> bytes:
        page = environment().get_template("compliance.html.j2")
        return page.render(doc=document, said=filing(document, report_sections)).encode("utf-8")


RENDERER = ComplianceRenderer()
