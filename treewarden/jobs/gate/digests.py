"""Digests of what audits rest on: each file's bytes are read once a run, and again only where it changed meanwhile."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from datetime import date, datetime
from importlib.resources.abc import Traversable
from pathlib import Path

from treewarden.jobs.gate.models import GateModel
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.formats.common.archive import archived
from treewarden.ppdm_models.tables.counting.addresses import (
    Address,
    digest_at,
    has_no_records,
    parted,
)

MOST_PACKS = 32
"""So many packs that extend each other are followed; more are a circle, which reading them refuses."""

Stamp = tuple[int, int, int]


class Digests:
    """Remembers the digest of each file of this run."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Stamp | None, str]] = {}

    def of(self, path: Path) -> str:
        """Return the SHA-256 of a file's bytes; of a folder, of the archive that it is read as.

        Raises:
            OSError: it cannot be read.
            TreewardenError: it is a folder that holds too much.
        """
        stamp = _stamp(path)
        known = self._known.get(path)
        if known is None or stamp is None or known[0] != stamp:
            known = self._known[path] = (stamp, _digest(path))
        return known[1]

    def of_table(self, path: Path | Address) -> str:
        """Return the digest of a table: of a folder, a pattern or a database file it is taken each time.

        Of what a server holds it is that of the address alone.

        Raises:
            OSError: it cannot be read.
            TreewardenError: it is no table any more.
        """
        if isinstance(path, Address):
            return hashlib.sha256(str(path).encode()).hexdigest()
        return digest_at(path) if has_no_records(path) else self.of(parted(path)[0])


def key_of(model: GateModel, digests: Digests, version: str, today: date) -> str:
    """Return what the result of an audit is kept under: a hash of all that the result depends on.

    Raises:
        OSError: a file cannot be read.
        TreewardenError: a folder cannot be read.
    """

    def of(path: Path | None) -> str:
        return "" if path is None else digests.of(path)

    rests_on = {
        "treewarden": version,
        "name": model.name,
        "file": model.file,
        "model": digests.of(model.path),
        "table": "" if model.table is None else digests.of_table(model.table),
        "packs": [_digest_of_pack(each, digests) for each in packs(model.policy)],
        "knowledge": of(model.knowledge),
        "adversaries": [digests.of(each) for each in model.adversaries],
        "waivers": of(model.waivers),
        "days": [] if model.waivers is None else _days(model.waivers, today),
        "baseline": of(model.baseline),
        "attestations": [digests.of(each) for each in model.attestations],
        "trust": [digests.of(each) for each in model.trust],
        "attested_until": str(today) if model.attestations else "",
        "earlier": [[digests.of(path), digests.of_table(table)] for path, table in model.earlier],
        "id": model.key,
        "called": [each.name for each in model.inputs],
        "fail_on": model.fail_on,
        "settings": model.settings.given,
    }
    text = json.dumps(rests_on, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def packs(policy: str | Path) -> Iterator[Path | Traversable]:
    """Yield the file of a pack and of those that it extends, as far as they can be read."""
    shipped = shipped_packs()
    following: str | Path | None = policy
    for _ in range(MOST_PACKS):
        if following is None:
            return
        file = shipped.get(following) if isinstance(following, str) else following
        if file is None:
            return
        yield file
        try:
            said = tomllib.loads(file.read_text("utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            return  # then reading the pack fails too
        base = said.get("extends")
        if not isinstance(base, str):
            return
        following = base if base in shipped or not isinstance(file, Path) else file.parent / base


def _digest_of_pack(file: Path | Traversable, digests: Digests) -> str:
    if isinstance(file, Path):
        return digests.of(file)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _stamp(path: Path) -> Stamp | None:
    """Return what changes with a file's bytes; None of a folder, whose files change without it."""
    said = path.stat()
    return None if path.is_dir() else (said.st_size, said.st_mtime_ns, said.st_ino)


def _digest(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256(archived(path)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _days(waivers: Path, today: date) -> list[tuple[str, int]]:
    """Return the days in a file of waivers, and whether each is over, today, or to come: so may what counts change."""
    try:
        said = tomllib.loads(waivers.read_text("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return []  # then reading the waivers fails too
    return sorted({(str(each), (each > today) - (each < today)) for each in _dates(said)})


def _dates(said: object) -> Iterator[date]:
    if isinstance(said, datetime):
        yield said.date()
    elif isinstance(said, date):
        yield said
    elif isinstance(said, dict | list):
        for each in said.values() if isinstance(said, dict) else said:
            yield from _dates(each)
