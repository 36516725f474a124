"""One audit of a gate as a job that any process can do, and its answer: only records that travel cheaply."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from treewarden.audit.progress import Step, silent
from treewarden.jobs.gate.models import GateModel
from treewarden.policies.verdict import Severity
from treewarden.reports.document.gate import Entry

PLACE = "treewarden.jobs.gate.auditing"
"""Where audits are done: loaded when one is, as all libraries come with it."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What came of a model, and its own reports by form.

    ``needed`` and ``told`` are numbers of waivers: those that it took, and those that its entry tells of. ``baseline``
    is what a baseline holds of it.
    """

    entry: Entry
    reports: Mapping[str, bytes] = field(default_factory=dict)
    needed: tuple[int, ...] = ()
    told: tuple[int, ...] = ()
    baseline: object = None


@dataclass(frozen=True, slots=True)
class GateJob:
    """Audits one model and makes its reports; whatever goes wrong with it is told in the answer, never raised.

    ``model_digest`` and ``table_digest`` are what the files were when the gate looked,
    ``created`` says when that was. ``rests_on`` is the digest of all its files, where others than this machine may
    read them. What solvers say is ``kept`` in a folder, where one is named.
    """

    model: GateModel
    forms: tuple[str, ...] = ()
    jobs: int | None = 1
    model_digest: str = ""
    table_digest: str = ""
    created: str = ""
    today: date | None = None
    wants_baseline: bool = False
    rests_on: str = ""
    kept: Path | None = None

    def __call__(self, step: Step = silent) -> GateAnswer:
        """Audit it here."""
        answered: Callable[[GateJob, Step], GateAnswer] = importlib.import_module(PLACE).answered
        return answered(self, step)


# What is asked of one run of a gate, beside its configuration.


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of one run of a gate.

    ``paths`` are the models or folders that are wanted, all where there are none. ``forms`` are reports that each model
    has of its own. ``baseline`` holds for all models, whatever is configured; ``new_baseline`` is where a new one goes:
    what is configured there is not read. ``cache`` is the folder of earlier results, None for none. A ``fresh`` run
    takes no result from there, and only replaces those that are there. ``attestations`` by one of the ``trust``ed keys
    stand for the audits of models that have no table here. What solvers say is ``kept`` in that folder, for a run that
    goes on where this one is interrupted.
    """

    paths: tuple[Path, ...] = ()
    fail_on: Severity | None = None
    changed_since: str | None = None
    jobs: int | None = None
    cache: Path | None = None
    fresh: bool = False
    forms: tuple[str, ...] = ()
    baseline: Path | None = None
    new_baseline: Path | None = None
    attestations: tuple[Path, ...] = ()
    trust: tuple[Path, ...] = ()
    kept: Path | None = None
    today: date = field(default_factory=lambda: datetime.now(UTC).date())

    @property
    def is_of_all(self) -> bool:
        """Whether all models are wanted."""
        return not self.paths and self.changed_since is None

    @property
    def needs_audits(self) -> bool:
        """Whether a model must be audited though nothing changed."""
        return self.fresh or bool(self.forms) or self.new_baseline is not None

    def applied(self, model: GateModel) -> GateModel:
        """Return a model as it is audited in this run."""
        is_absent = model.table is None
        return replace(
            model,
            fail_on=self.fail_on or model.fail_on,
            baseline=self.baseline or model.baseline,
            attestations=self.attestations if is_absent else (),
            trust=self.trust if is_absent else (),
        )
