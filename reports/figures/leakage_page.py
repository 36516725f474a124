"""What sides learnt from each other, as one self-contained page: it needs no library that draws."""

from __future__ import annotations

from treewarden.reports.document.vertical import LeakageDocument
from treewarden.reports.figures.message_flow import message_flow
from treewarden.reports.figures.pages import environment

REAL = "Confidential: what was seen of people, and by whom"
SIMULATED = f"Simulated: no protection. {REAL}"


def leakage_page(document: LeakageDocument) -> bytes:
    """Return the page; same document, same bytes."""
    page = environment().get_template("leakage.html.j2")
    return page.render(
        doc=document,
        flow=message_flow(document),
        is_file=False,
        running=SIMULATED if document.is_ideal else REAL,
    ).encode("utf-8")
