"""A first ``treewarden.toml``: what a repository holds, as a configuration that runs where the guesses are right."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from treewarden.audit.progress import Step, silent
from treewarden.jobs.gate.config import NAME, ConfigurationError, read_configuration, said_in
from treewarden.jobs.gate.gating import covered_files, is_ignored
from treewarden.jobs.gate.model_files import (
    identity,
    is_foreign_model,
    is_model_folder,
    is_named_as_model,
)
from treewarden.jobs.gate.models import models_of
from treewarden.jobs.inspecting import said_of
from treewarden.ppdm_models.errors import OutputError, TableError, TreewardenError
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.matching import are_alike
from treewarden.reports.document.words import counted, listed

# What a repository holds that a gate is about: models, known by their content, and tables, known by their suffix.

CSV = (".csv", ".tsv")
PACKED = tuple(f"{name}{packed}" for name in CSV for packed in (".gz", ".zst"))
OF_PROGRAMS = (".xlsx", ".xlsm", ".xls", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".dta")
TABLES = (*CSV, *PACKED, ".parquet", ".pq", ".arrow", ".feather", *OF_PROGRAMS)
NO_MODELS = (".md", ".py", ".toml", ".yml", ".yaml", ".lock", ".cfg", ".ini", ".html", ".ipynb")
NO_FOLDERS = ("node_modules", "__pycache__", "site-packages")
MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, where it lies, and what its columns are called."""

    file: str
    columns: tuple[str, ...]
    path: Path | None = field(default=None, compare=False)

    def column(self, name: str) -> str | None:
        """Return what a column of a model is called in this table."""
        if name in self.columns:
            return name
        return next((column for column in self.columns if are_alike(name, column)), None)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model: its target, "" where its file names none, its classes, and the features that it tests and knows."""

    file: str
    format: str
    target: str
    tested: tuple[str, ...]
    features: tuple[str, ...]
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableGuess:
    """The table that a model may have been trained on, its sensitive column, and other tables that would do."""

    table: str
    sensitive: str
    others: tuple[str, ...] = ()


def survey(root: Path) -> tuple[tuple[FoundModel, ...], tuple[FoundTable, ...], tuple[str, ...]]:
    """Return the models and tables in a folder, without what is hidden or was installed.

    The last are files that are models by their names or first bytes, and cannot be read.
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
                tables.append(FoundTable(file, columns, path))
            continue
        if suffix in NO_MODELS:
            continue
        found_model = _model(path, file)
        if found_model is not None:
            models.append(found_model)
        elif path.is_dir() or is_named_as_model(path.name) or is_foreign_model(path):
            broken.append(file)
    return tuple(models), tuple(tables), tuple(broken)


def guess(model: FoundModel, tables: Sequence[FoundTable]) -> TableGuess | None:
    """Return the table that has a model's target and features and little else; None where none has them."""
    fitting: list[tuple[FoundTable, str]] = []
    for table in tables:
        sensitive = _sensitive(model, table)
        has_all = all(table.column(name) is not None for name in model.tested)
        if sensitive is not None and has_all:
            fitting.append((table, sensitive))
    if not fitting:
        return None
    if len(fitting) > 1 and model.classes:  # then what their columns hold tells more
        told = [(table, name) for table, name in fitting if _holds_classes(table, name, model)]
        fitting = told or fitting
    found = sorted((len(table.columns), table.file, name) for table, name in fitting)
    (_, file, sensitive), *others = found
    return TableGuess(file, sensitive, tuple(other for _, other, _ in others))


FIRST_RECORDS = 1_000
"""So many records show which values a column has, as far as a guess needs it."""


def _holds_classes(table: FoundTable, column: str, model: FoundModel) -> bool:
    """Return whether the first values of a column are classes of a model; no value is kept or shown."""
    if table.path is None:
        return True
    try:
        batch = next(open_batches(table.path).read((column,)), None)
    except TableError:
        return False
    if batch is None:
        return False
    seen = {
        str(value)
        for value in batch.column(0).slice(0, FIRST_RECORDS).to_pylist()
        if value is not None
    }
    return bool(seen) and seen <= set(model.classes)


def _sensitive(model: FoundModel, table: FoundTable) -> str | None:
    """Return the column that a model predicts.

    Where its file names none, it is the only one that is no feature, or the only one of these that holds its classes.
    """
    if model.target:
        return table.column(model.target)
    features = {table.column(name) for name in model.features}
    left = [column for column in table.columns if column not in features]
    if len(left) > 1 and model.classes:
        left = [column for column in left if _holds_classes(table, column, model)]
    return left[0] if len(left) == 1 else None


def _files(root: Path) -> Iterator[Path]:
    """Yield files in name order, and folders that are one model, as Spark and MLflow write them."""
    seen = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_left_out(here / name))
        saved = [name for name in folders if is_model_folder(here / name)]
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
        tuple(str(feature["name"]) for feature in features if feature["tested"]),
        tuple(str(feature["name"]) for feature in features),
        tuple(map(str, said.get("classes") or ())),
    )


def _columns(path: Path) -> tuple[str, ...]:
    """Return the names of a table's columns; no record is read."""
    try:
        return open_batches(path).names
    except TableError:
        return ()


HEAD = """\
# Which models "treewarden gate" audits, and how. Every path starts from the folder of this file.
# All keys: docs/gate-configuration.md

policy = "standard"          # a built-in policy ("treewarden policy list"), or a file of your own
# fail_on = "warning"        # checks of this severity or higher are required; default "error"
# waivers = "waivers.toml"   # default "treewarden-waivers.toml", if it exists
"""


@dataclass(frozen=True, slots=True)
class ModelGroup:
    """Models that one entry is about: the same table and column, and, where they have no table, nothing else."""

    models: tuple[FoundModel, ...]
    guess: TableGuess | None


@dataclass(frozen=True, slots=True)
class FirstConfig:
    """A first configuration: its text, and how many models it audits and leaves open."""

    text: str
    ready: int
    left_open: tuple[str, ...]
    broken: tuple[str, ...] = ()
    is_update: bool = False

    def lines(self, file: Path) -> Iterator[str]:
        """Yield what to do next."""
        option = "" if file.name == NAME and not file.is_absolute() else f" --config {file}"
        models = counted(self.ready, "model", "models")
        if not self.is_update:
            yield f"Wrote {file}: {models} ready to be audited."
        elif self.ready:
            yield f"Added to {file}: {models}, ready to be audited."
        elif self.left_open or self.broken:
            yield f"{file}: no model to add that is ready to be audited."
        else:
            yield f"{file}: nothing to add. It covers every model that was found."
        if self.left_open:
            yield f"Not configured: no matching table or target was found for {listed(list(self.left_open))}."
        if self.broken:
            yield f"Not configured: {listed(list(self.broken))} cannot be read. Why: treewarden inspect FILE"
            yield "The gate reports NO AUDIT for such a file until you export it, remove it, or list it under ignore."
        steps = []
        if self.ready:
            steps.append(
                f"Read {file}, and check two guesses in it: that 'table' is the training table, and that\n"
                "     'sensitive' is the column that the model predicts."
            )
        if self.left_open:
            steps.append(
                f"Fill in the tables of models that are not configured in {file}, and uncomment them."
            )
        if self.ready or self.is_update:
            steps.append(f"treewarden gate{option}")
        yield "Next:"
        for number, step in enumerate(steps, start=1):
            yield from f"  {number}. {step}".split("\n")


def begun(root: Path, name: str = NAME, step: Step = silent) -> FirstConfig:
    """Return a first configuration for the models and tables in a folder.

    Raises:
        OutputError: there is a configuration already.
        ConfigurationError: there is no model.
    """
    if (root / name).exists():
        raise OutputError(
            name,
            "already exists and is never overwritten; edit it, or name another file with --config",
        )
    with step("looking for models and tables"):
        models, tables, broken = survey(root)
    if not models:
        problem = (
            "it contains no model that treewarden can read; add the models first; for the formats: "
            "treewarden list formats"
        )
        raise ConfigurationError(str(root), problem)
    groups = list(_groups(models, tables))
    sections = [section for group in groups for section in _sections(root, group)]
    open_models = _left_open(groups)
    head = HEAD
    if broken:
        head += f"# ignore = [{', '.join(map(_toml, broken))}]   # model files that need no audit\n"
    ready = len(models) - len(open_models)
    return FirstConfig("\n".join([head, *sections]), ready, open_models, broken)


def updated(path: Path, step: Step = silent) -> FirstConfig:
    """Return a configuration with entries for the models that it does not cover yet; what it says stays as it is.

    Raises:
        ConfigurationError: it is not understood, or does not fit the files there are.
    """
    configuration = read_configuration(path)
    root, text = configuration.root, configuration.path.read_text("utf-8-sig")
    covered = covered_files(configuration, models_of(configuration))
    with step("looking for models and tables"):
        models, tables, broken = survey(root)

    def is_new(file: str) -> bool:
        return identity(root / file) not in covered and not is_ignored(configuration, file)

    groups = list(_groups([model for model in models if is_new(model.file)], tables))
    sections = [
        section
        for group in groups
        if group.guess is not None or not all(_toml(model.file) in text for model in group.models)
        for section in _sections(root, group)
    ]
    open_models = _left_open(groups)
    ready = sum(len(group.models) for group in groups) - len(open_models)
    text = "\n".join([text.rstrip("\n"), "", *sections]) if sections else text
    said_in(text.encode("utf-8"), configuration.path.name)
    return FirstConfig(text, ready, open_models, tuple(filter(is_new, broken)), is_update=True)


def _left_open(groups: Sequence[ModelGroup]) -> tuple[str, ...]:
    return tuple(model.file for group in groups if group.guess is None for model in group.models)


def _groups(models: Sequence[FoundModel], tables: Sequence[FoundTable]) -> Iterator[ModelGroup]:
    """Yield models of one folder and suffix that have the same table and column."""
    found: dict[tuple[str, str, TableGuess | None, str], list[FoundModel]] = {}
    for model in models:
        path, guessed = PurePosixPath(model.file), guess(model, tables)
        alone = "" if guessed is not None else model.target
        found.setdefault((str(path.parent), path.suffix, guessed, alone), []).append(model)
    for (_, _, guessed, _), group in found.items():
        yield ModelGroup(tuple(group), guessed)


def _sections(root: Path, group: ModelGroup) -> Iterator[str]:
    formats = listed(sorted({model.format for model in group.models}))
    lines = [f"# {counted(len(group.models), 'model', 'models')} ({formats})", "[[model]]"]
    lines.append(f"path = {_path(root, group.models)}")
    if group.guess is not None:
        others = group.guess.others
        more = f"    # or {listed(list(map(json.dumps, others)))}" if others else ""
        lines.append(f"table = {_toml(group.guess.table)}{more}")
        lines.append(f"sensitive = {_toml(group.guess.sensitive)}")
        lines.append(
            '# qi = ["..."]           # columns that an adversary knows; default: the model\'s columns'
        )
        lines.append("# worlds_budget = 60     # seconds to search for proofs; default 20")
    else:
        target = group.models[0].target
        wanted = [*group.models[0].tested[:8], *([target] if target else [])]
        lines.append(
            f'table = "TABLE"        # the table with the columns {_comment(listed(wanted))}'
        )
        lines.append(f"sensitive = {_toml(target or 'COLUMN')}")
        lines = [lines[0], *(f"# {line}" for line in lines[1:])]
    yield "\n".join([*lines, ""])


def _path(root: Path, models: Sequence[FoundModel]) -> str:
    """Return a pattern where it matches these models and nothing else, else their paths."""
    files = [model.file for model in models]
    if len(files) == 1:
        return _toml(files[0])
    first = PurePosixPath(files[0])
    folder = "" if str(first.parent) == "." else f"{first.parent}/"
    if first.suffix and glob.escape(folder) == folder:
        pattern = f"{folder}*{first.suffix}"
        matched = {path.relative_to(root).as_posix() for path in root.glob(pattern)}
        if matched == set(files):
            return _toml(pattern)
    return f"[{', '.join(map(_toml, files))}]"


def _toml(text: str) -> str:
    """Return a text as TOML says it: JSON's escapes are among its own, once a sign needs no pair of them."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Return a text that stays in its line."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "")
