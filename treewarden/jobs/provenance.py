"""Where a report comes from: the version, the files by name and digest, and when."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import treewarden
from policies.pack import Pack
from ppdm_models.codecs.common.archive import archived
from reports.document.document import Provenance
from reports.document.parts import File, number
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
            model=_file(request.model),
            table=_file(request.data),
            pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
            created=self.created.isoformat(timespec="seconds"),
            seconds=number(round(time.monotonic() - self.begun, 2)),
        )


def _file(path: Path) -> File:
    if path.is_dir():  # a model as Spark writes it: the digest is of the archive that it is read as
        return File(name=path.name, sha256=hashlib.sha256(archived(path)).hexdigest())
    with path.open("rb") as file:
        return File(name=path.name, sha256=hashlib.file_digest(file, "sha256").hexdigest())
