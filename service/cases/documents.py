"""The documents of audits as they are kept: the full one for who may see it, else the one without small counts."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationError
from sqlalchemy import select

from treewarden.reports.document.document import Document
from treewarden.service.database.tables import blob, report
from treewarden.service.people.permissions import Permission
from treewarden.service.people.principal import Principal
from treewarden.service.site import Unit

Kind = Literal["internal", "public"]


def kinds_for(who: Principal) -> tuple[Kind, ...]:
    """Return the kinds of reports that somebody may see, the one that tells most first."""
    return ("internal", "public") if who.may(Permission.INTERNAL) else ("public",)


def kept_document(unit: Unit, audit_id: str, kind: Kind) -> Document | None:
    """Return the document of an audit of somebody's own organisation; None where none is kept that can be read.

    Raises:
        UnavailableError: the vault cannot be read.
    """
    found = unit.connection.execute(
        select(blob)
        .join(report, report.c.blob_id == blob.c.id)
        .where(report.c.audit_id == audit_id, report.c.kind == kind, report.c.form == "json")
    ).first()
    if found is None or found.sealed_key is None:
        return None
    try:
        return Document.model_validate_json(
            unit.site.vault.read(found.id, found.digest, found.sealed_key)
        )
    except ValidationError:  # of a version whose documents held something else
        return None
