"""What a file proves of the records it was trained on, by itself, as plain values."""

from __future__ import annotations

import math
from typing import Any

from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredDomain, PublicDomainError
from treewarden.audit.reconstruction.of_model import NOTHING_PUBLIC, Reconstruction, reconstruct
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import Model

SECONDS = 30.0
"""How long an inspection looks for proofs where a public domain is declared."""
UNASKED_SECONDS = 2.0
"""How long it does where none is: nobody has asked, and most often little can be said."""


def rebuilt_of(
    model: Model, declared: DeclaredDomain | None = None, *, where: str = "domain"
) -> Reconstruction | Undetermined:
    """Return which records every table has that fits a model's file; ``where`` is what declares the domain.

    Raises:
        KnowledgeError: what is declared does not fit the model.
    """
    try:
        if declared is None:
            return reconstruct(model, clock(UNASKED_SECONDS), NOTHING_PUBLIC)
        return reconstruct(model, clock(SECONDS), declared)
    except PublicDomainError as error:
        raise KnowledgeError(where, f"{error}; use the names of its columns") from error


def rebuilt_values(rebuilt: Reconstruction | Undetermined) -> dict[str, Any]:
    """Return what is proved as plain values, ready for JSON; no record is among them."""
    if isinstance(rebuilt, Undetermined):
        return {"reason": rebuilt.reason}
    tables = rebuilt.tables
    is_infinite = tables is not None and math.isinf(tables)
    return {
        "records": rebuilt.records,
        "records_proved": rebuilt.records_proved,
        "whole_records": rebuilt.whole_records,
        "columns": rebuilt.columns_proved,
        "tables": "infinite" if is_infinite else tables,
        "decided": rebuilt.is_decided,
    }
