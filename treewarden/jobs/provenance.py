"""Where a report comes from: the version, the files by name and digest, and when."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import treewarden
from policies.pack import Pack
from reports.document.document import Provenance
from reports.document.parts import File, number
from treewarden.jobs.inputs import told
from treewarden.jobs.subject import Request


@dataclass(frozen=True, slots=True)
class Clock:
    """Started with the command; the only clock there is."""

    begun: float = field(default_factory=time.monotonic)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def provenance(self, request: Request, pack: Pack) -> Provenance:
        """Return the provenance of a result that is finished now."""
        return Provenance(
            version=treewarden.__version__,
            model=told(request.model),
            table=told(request.data),
            pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
            created=self.created.isoformat(timespec="seconds"),
            seconds=number(round(time.monotonic() - self.begun, 2)),
        )
