"""One audit of a gate as a job for any process, its answer, and the cache of earlier answers.

A job and its answer are records that travel cheaply. The cache stands beside the configuration and holds entries of
gates alone, nothing of any table. Nothing in its folder is trusted further than it binds itself: an entry holds the key
that it was asked for by, and is ignored where that differs, where it is broken, or where it belongs to another user.
Anyone who can write into the folder as this user can also change what the audits themselves run.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from treewarden.audit.progress import Step, silent
from treewarden.jobs.gate.models import GateModel
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import os_reason
from treewarden.ppdm_models.files.private import is_own_folder, own_bytes, write_own
from treewarden.reports.document.gate import Entry
from treewarden.reports.document.parts import Part, Text

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

    ``model_digest`` and ``table_digest`` are what the files were when the gate looked, ``created`` says when that was.
    ``rests_on`` is the digest of all its files, where others than this machine may read them. What solvers say is
    ``kept`` in a folder, where one is named.
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


# The request for one run of a gate, in addition to its configuration.


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


NAME = ".treewarden-cache"
VARIABLE = "TREEWARDEN_CACHE"
KEPT_SECONDS = 30 * 24 * 3600.0
MOST_BYTES = 64 * 2**20
KEY_LETTERS = 64


class CachedEntry(Part):
    """One file of the cache; ``needed`` and ``told`` are numbers of waivers."""

    schema_version: Literal["treewarden-gate-cache/1"] = "treewarden-gate-cache/1"
    key: Text
    entry: Entry
    needed: tuple[int, ...] = ()
    told: tuple[int, ...] = ()


class Cache:
    """A folder of entries by key; where it cannot be used, nothing is found and nothing is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str, model: GateModel) -> GateAnswer | None:
        """Return what came of a model, or None; what is returned is kept for longer."""
        if not key:
            return None
        path = self._path(key)
        data = own_bytes(path, MOST_BYTES)
        if data is None or not is_own_folder(self.folder):
            return None
        try:
            cached_entry = CachedEntry.model_validate_json(data)
        except (ValidationError, ValueError, RecursionError):
            return None
        entry = cached_entry.entry
        is_bound = cached_entry.key == key and (entry.name, entry.file) == (model.name, model.file)
        if not is_bound or entry.outcome == "NO AUDIT" or entry.is_cached:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        known = entry.model_copy(update={"is_cached": True})
        return GateAnswer(known, needed=cached_entry.needed, told=cached_entry.told)

    def has(self, key: str) -> bool:
        """Return whether there is a result, good or not, under a key."""
        return self._path(key).is_file()

    def put(self, answers: Mapping[str, GateAnswer]) -> str:
        """Keep what came of models by key, each whole or not at all; return why that was not possible, else ""."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_own_folder(self.folder):
                return (
                    "other users can write into this folder; make it yours alone: chmod 700 FOLDER"
                )
            ignored = self.folder / ".gitignore"
            if not ignored.exists():
                write_own(ignored, b"*\n")
            for key, answer in answers.items():
                if answer.entry.outcome != "NO AUDIT":
                    cached_entry = CachedEntry(
                        key=key, entry=answer.entry, needed=answer.needed, told=answer.told
                    )
                    write_own(
                        self._path(key), cached_entry.model_dump_json(by_alias=True).encode("utf-8")
                    )
        except OSError as error:
            return os_reason(error)
        return ""

    def forget_old(self) -> None:
        """Remove entries that nothing asked for in a month; no other file."""
        oldest = time.time() - KEPT_SECONDS
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                is_entry = path.suffix in (".json", ".tmp") and not path.is_symlink()
                with contextlib.suppress(OSError):
                    if is_entry and path.stat().st_mtime < oldest:
                        path.unlink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:KEY_LETTERS]}.json"


def cache_folder(root: Path) -> Path:
    """Return where entries are kept: beside the configuration, or where the environment says."""
    said = os.environ.get(VARIABLE)
    return Path(said).expanduser().absolute() if said else root / NAME
