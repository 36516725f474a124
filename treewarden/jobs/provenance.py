"""Where a report comes from: the version, the files by name and digest, and when."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import treewarden
from treewarden.audit.adversary.knowledge import Knowledge
from treewarden.jobs.inputs import told, told_table
from treewarden.jobs.subject import Request
from treewarden.policies.pack import Pack
from treewarden.reports.document.document import Asked, EarlierFiles, Provenance
from treewarden.reports.document.parts import File, number


@dataclass(frozen=True, slots=True)
class Clock:
    """Started with the command; the only clock there is."""

    begun: float = field(default_factory=time.monotonic)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def provenance(
        self,
        request: Request,
        pack: Pack,
        knowledge: Knowledge | None = None,
        table: File | None = None,
    ) -> Provenance:
        """Return the provenance of a result that is finished now; with the ``knowledge``, what was asked too.

        ``table`` is what is told of a table that was counted, whose digest was taken meanwhile.
        """
        if table is None and request.data is not None:
            table = told_table(request.data)
        return Provenance(
            version=treewarden.__version__,
            model=told(request.model),
            table=table,
            earlier=tuple(
                EarlierFiles(model=told(each.model), table=told_table(each.data))
                for each in request.earlier
            ),
            pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
            created=self.created.isoformat(timespec="seconds"),
            seconds=number(round(time.monotonic() - self.begun, 2)),
            asked=None if knowledge is None else asked_of(request, knowledge),
        )


def asked_of(request: Request, knowledge: Knowledge) -> Asked:
    """Return what was asked of an audit: its options, and what the adversary is taken to know."""
    known = knowledge.model_dump(mode="json", by_alias=True)
    facts = tuple(json.dumps(fact, sort_keys=True) for fact in known.pop("facts"))
    training, seeds = known.pop("training"), known.pop("seeds")
    adversaries = tuple(json.dumps(each, sort_keys=True) for each in known.pop("adversaries"))
    secret = known.pop("secret")
    return Asked(
        options=asdict(request.options),
        knowledge=known,
        facts=facts,
        training=training,
        seeds=seeds,
        adversaries=adversaries,
        secret="" if secret is None else json.dumps(secret, sort_keys=True),
    )
