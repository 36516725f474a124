"""What a repository holds that a gate is about: models, known by their content, and tables, known by their suffix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treewarden.jobs.inspecting import said_of
from treewarden.ppdm_models.errors import TableError, TreewardenError
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.matching import are_alike

CSV = (".csv", ".tsv")
PACKED = tuple(f"{name}{packed}" for name in CSV for packed in (".gz", ".zst"))
OF_PROGRAMS = (".xlsx", ".xlsm", ".xls", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".dta")
TABLES = (*CSV, *PACKED, ".parquet", ".pq", ".arrow", ".feather", *OF_PROGRAMS)
ONLY_MODELS = (".pmml", ".skops", ".onnx")
NO_MODELS = (".md", ".py", ".toml", ".yml", ".yaml", ".lock", ".cfg", ".ini", ".html", ".ipynb")
NO_FOLDERS = ("node_modules", "__pycache__", "site-packages")
MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, and what its columns are called."""

    file: str
    columns: tuple[str, ...]

    def column(self, name: str) -> str | None:
        """Return what a column of a model is called in this table."""
        if name in self.columns:
            return name
        return next((column for column in self.columns if are_alike(name, column)), None)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model: its target, "" where its file names none, and the features that it tests and knows."""

    file: str
    format: str
    target: str
    tested: tuple[str, ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """The table that a model may have been trained on, its sensitive column, and other tables that would do."""

    table: str
    sensitive: str
    others: tuple[str, ...] = ()


def survey(root: Path) -> tuple[tuple[FoundModel, ...], tuple[FoundTable, ...], tuple[str, ...]]:
    """Return the models and tables in a folder, without what is hidden or was installed.

    The last are files that by their names are models, and cannot be read.
    """
    models: list[FoundModel] = []
    broken: list[str] = []
    tables: list[FoundTable] = []
    for path in _files(root):
        file = path.relative_to(root).as_posix()
        suffix = path.suffix.lower()
        if path.name.lower().endswith(TABLES) and path.is_file():
            columns = _columns(path)
            if columns:
                tables.append(FoundTable(file, columns))
            continue
        if suffix in NO_MODELS:
            continue
        found = _model(path, file)
        if found is not None:
            models.append(found)
        elif suffix in ONLY_MODELS:
            broken.append(file)
    return tuple(models), tuple(tables), tuple(broken)


def guess(model: FoundModel, tables: Sequence[FoundTable]) -> Guess | None:
    """Return the table that has a model's target and features and little else; None where none has them."""
    found: list[tuple[int, str, str]] = []
    for table in tables:
        sensitive = _sensitive(model, table)
        has_all = all(table.column(name) is not None for name in model.tested)
        if sensitive is not None and has_all:
            found.append((len(table.columns), table.file, sensitive))
    if not found:
        return None
    found.sort()
    (_, file, sensitive), *others = found
    return Guess(file, sensitive, tuple(other for _, other, _ in others))


def _sensitive(model: FoundModel, table: FoundTable) -> str | None:
    """Return the column that a model predicts; where its file names none, the only one that is no feature."""
    if model.target:
        return table.column(model.target)
    features = {table.column(name) for name in model.features}
    left = [column for column in table.columns if column not in features]
    return left[0] if len(left) == 1 else None


def _files(root: Path) -> Iterator[Path]:
    """Yield files in name order, and folders that hold a model as Spark writes it."""
    seen = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_left_out(here / name))
        saved = [name for name in folders if (here / name / "metadata").is_dir()]
        folders[:] = [name for name in folders if name not in saved]
        yield from (here / name for name in saved)
        for name in sorted(files):
            if not name.startswith((".", "~$")):  # the last is Excel's, while a file is open
                seen += 1
                yield here / name
        if seen > MOST_FILES:
            return


def _is_left_out(folder: Path) -> bool:
    is_installed = folder.name in NO_FOLDERS or (folder / "pyvenv.cfg").exists()
    return folder.name.startswith(".") or is_installed or folder.is_symlink()


def _model(path: Path, file: str) -> FoundModel | None:
    try:
        said = said_of(path)
    except (TreewardenError, OSError, MemoryError):
        return None
    features = said["features"]
    return FoundModel(
        file,
        str(said["format"]),
        str(said["target"] or ""),
        tuple(str(each["name"]) for each in features if each["tested"]),
        tuple(str(each["name"]) for each in features),
    )


def _columns(path: Path) -> tuple[str, ...]:
    """Return the names of a table's columns; no record is read."""
    try:
        return open_batches(path).names
    except TableError:
        return ()
