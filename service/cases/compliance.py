"""The compliance report of a release: what a data protection officer files, from the document of its audit."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from treewarden.reports.renderers import FilingRenderer, renderer
from treewarden.service.cases.documents import kept_document, kinds_for
from treewarden.service.cases.release_record import release_record
from treewarden.service.cases.releases import get_release
from treewarden.service.errors import NotFoundError
from treewarden.service.people.principal import Principal
from treewarden.service.site import Unit

Form = Literal["html", "pdf"]
RENDERERS = {"html": "compliance", "pdf": "pdf"}
NO_PDF = "no PDF is made here, as typst is not installed; take the page and print it, or pip install 'treewarden[pdf]'"
NO_REPORT = "no report of its audit is kept that says enough; audit the version again, and ask with that audit"


def makes_pdf() -> bool:
    """Return whether PDFs can be made here."""
    return find_spec("typst") is not None


def compliance_report(unit: Unit, who: Principal, release_id: str, form: Form) -> bytes:
    """Return the compliance report of a release: the full one for who may see it where it is kept.

    Where the audit named no purpose, that of the release stands in it; what the service holds of the release is a
    section of its own.

    Raises:
        NotFoundError: the organisation has no such release, no report of its audit is kept, or no PDF can be made.
    """
    release = get_release(unit, who, release_id)
    if form == "pdf" and not makes_pdf():
        raise NotFoundError("report", NO_PDF)
    documents = (kept_document(unit, release.audit_id, kind) for kind in kinds_for(who))
    document = next((each for each in documents if each is not None), None)
    if document is None:
        raise NotFoundError("report", NO_REPORT)
    if not document.purpose:
        document = document.model_copy(update={"purpose": release.purpose})
    made = renderer(RENDERERS[form])
    assert isinstance(made, FilingRenderer)
    return made.render_with(document, (release_record(unit, who, release),))
