"""One audit of a gate as a job that any process can do, and its answer: only records that travel cheaply."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from treewarden.audit.stages import Step, silent
from treewarden.jobs.gate.models import GateModel
from treewarden.reports.document.gate import Entry

PLACE = "treewarden.jobs.gate.auditing"
"""Where audits are done: loaded when one is, as all libraries come with it."""


@dataclass(frozen=True, slots=True)
class Answer:
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
class Order:
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

    def __call__(self, step: Step = silent) -> Answer:
        """Audit it here."""
        answered: Callable[[Order, Step], Answer] = importlib.import_module(PLACE).answered
        return answered(self, step)
