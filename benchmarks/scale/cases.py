"""The tables and trees of the scale benchmark, written once into a folder and found there by the next run."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.scale.tables import People, people, write_counted, write_records
from benchmarks.scale.trees import tree_of
from treewarden.ppdm_models.formats.own.treewarden_json import FORMAT

LISTED = 10
"""So many times the file of records is listed where a table is larger than it."""


@dataclass(frozen=True)
class Size:
    """How large a case is; ``listed`` is how many files of so many records the table consists of."""

    profiles: int
    records: int
    leaves: int = 500
    listed: int = 1

    @property
    def all_records(self) -> int:
        """The records of all files."""
        return self.records * self.listed


@dataclass(frozen=True)
class Files:
    """A tree and its table: ``data`` as it is given to an audit, ``listed`` as it is to DuckDB."""

    tree: Path
    data: str
    listed: tuple[str, ...]
    options: tuple[str, ...] = ()


def counted(size: Size, folder: Path) -> Files:
    """Return a case whose table has one row for each profile and class, with a column of counts."""
    table = folder / f"counted-{size.profiles}-{size.records}.parquet"
    if not table.exists():
        write_counted(_people(size), _beside(table))
        _beside(table).replace(table)
    return Files(_tree(size, folder), str(table), (str(table),), ("--weights", "n"))


def in_records(size: Size, folder: Path) -> Files:
    """Return a case whose table has one row for each record; of several files each is the same one by another name."""
    table = folder / f"records-{size.profiles}-{size.records}.parquet"
    if not table.exists():
        write_records(_people(replace(size, listed=1)), _beside(table))
        _beside(table).replace(table)
    if size.listed == 1:
        return Files(_tree(size, folder), str(table), (str(table),))
    parts = folder / f"{table.stem}-{size.listed}"
    parts.mkdir(exist_ok=True)
    names = [parts / f"part-{number:02}.parquet" for number in range(size.listed)]
    for name in names:
        if not name.exists():
            name.symlink_to(table.resolve())
    return Files(_tree(size, folder), str(parts / "part-*.parquet"), tuple(map(str, names)))


def signatures(folder: Path) -> int:
    """Return how many kinds of profiles the last report in a folder says that the estimate told apart."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return int(report["solver"]["signatures"])


def _people(size: Size) -> People:
    one = people(size.profiles, size.records)
    return replace(one, counts=one.counts * size.listed)


def _tree(size: Size, folder: Path) -> Path:
    path = folder / f"tree-{size.leaves}-{size.profiles}-{size.all_records}.json"
    if not path.exists():
        path.write_bytes(FORMAT.write(tree_of(_people(size), size.leaves)))
    return path


def _beside(path: Path) -> Path:
    """Return where a file is written until it is whole."""
    return path.with_suffix(".unfinished")
