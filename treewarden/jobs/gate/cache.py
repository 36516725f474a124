"""What came of earlier audits, kept beside the configuration: entries of gates alone, nothing of any table.

Nothing in the folder is trusted further than it binds itself: an entry holds the key that it was asked for by, and one
that does not, is broken, or belongs to another user is as good as none. Whoever can write into the folder as this user
can also change what the audits themselves run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from treewarden.jobs.gate.gate_job import GateAnswer
from treewarden.jobs.gate.models import GateModel
from treewarden.ppdm_models.files.private import is_own_folder, own_bytes, write_own
from treewarden.reports.document.gate import Entry
from treewarden.reports.document.parts import Part, Text

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
            return str(error.strerror or error)
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
