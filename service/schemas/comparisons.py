"""Two audits side by side, of one model or of two."""

from __future__ import annotations

from treewarden.service.schemas.audits import Audit, Verdict
from treewarden.service.schemas.base import Body
from treewarden.service.schemas.models import Difference


class ClauseChange(Body):
    """A clause in both audits: its verdicts, null where an audit does not have it, and what was read, in words."""

    clause: str
    plain: str
    limit: str
    from_verdict: Verdict | None = None
    to_verdict: Verdict | None = None
    from_value: str = ""
    to_value: str = ""
    is_changed: bool


class ReadingChange(Body):
    """A reading that is not the same in both, in words."""

    plain: str
    from_value: str
    to_value: str


class AuditComparison(Body):
    """What differs between two audits.

    ``is_same_table`` is null where one had none. ``clauses`` and ``readings`` come of the kept reports: ``is_internal``
    says of the full ones; without it readings are left out. ``problem`` says why there are neither.
    """

    from_audit: Audit
    to_audit: Audit
    is_same_policy: bool
    is_same_table: bool | None
    is_same_question: bool
    is_internal: bool
    problem: str = ""
    clauses: tuple[ClauseChange, ...] = ()
    readings: tuple[ReadingChange, ...] = ()
    new: tuple[Difference, ...] = ()
    gone: tuple[Difference, ...] = ()
    same: int = 0
