"""The model and the table of an audit, each a file or in memory, and the names that reports and pipelines give them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treewarden.ppdm_models.errors import OutputError, TableError
from treewarden.ppdm_models.files.load import OpenedFile, open_model, read_bytes
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.limits import archived
from treewarden.ppdm_models.tables.counting.addresses import (
    TableAddress,
    address_of,
    digest_at,
    has_no_records,
    is_address,
)
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Ensemble, with_trees

if TYPE_CHECKING:  # tables and documents, of which a file alone needs nothing
    from treewarden.reports.document.parts import File


@dataclass(frozen=True, slots=True)
class ModelBytes:
    """The bytes of a model file, and what the file is called in messages."""

    data: bytes
    name: str = "model"


@dataclass(frozen=True, slots=True)
class OutputBytes:
    """The bytes of an output that is published with the model, and what it is called in messages."""

    data: bytes
    name: str


ModelInput = Path | ModelBytes | OpenedFile
"""A model as a file, as the bytes of one, or as it was read from a fitted estimator."""
TableInput = Path | TableAddress | Table
"""A table as a file, a folder or a pattern; one of a database; or as it was read from a data frame."""
OutputInput = Path | OutputBytes
"""An output as a file, or as the bytes of one."""


def model_name(model: ModelInput) -> str:
    """Return what a model is called in messages and reports: its file's name, without folders."""
    return model.model.source if isinstance(model, OpenedFile) else model.name


def table_name(table: TableInput) -> str:
    """Return what a table is called in messages and reports."""
    return table.source if isinstance(table, Table) else table.name


def table_input(text: str) -> Path | TableAddress:
    """Return the table that is meant by what a user typed: a path, or an address.

    Raises:
        TableError: it is an address that names no table.
    """
    return address_of(text) if is_address(text) else Path(text)


def opened(model: ModelInput) -> OpenedFile:
    """Return the model, read.

    Raises:
        TreeFormatError: the file or the bytes hold no model that is understood.
    """
    if isinstance(model, Path):
        return open_model(read_bytes(model), model.name)
    return open_model(model.data, model.name) if isinstance(model, ModelBytes) else model


def read(table: TableInput | None) -> Table:
    """Return the table, read.

    Raises:
        TableError: the file cannot be read, or there is none; or its records can only be counted.
    """
    if table is None:
        raise TableError("data", "no table was given; give the training table")
    if isinstance(table, TableAddress) or (isinstance(table, Path) and has_no_records(table)):
        problem = "a folder, a pattern or a database is read as counts, and this command needs each record"
        raise TableError(table.name, f"{problem}; give one CSV, Parquet or Arrow file")
    if isinstance(table, Table):
        return table
    from treewarden.ppdm_models.tables.read_table import read_table  # heavy: pyarrow

    return read_table(table)


def file_of_source(source: ModelInput | TableInput | OutputInput) -> File:
    """Return what a report tells of a file by name, and the digest of its bytes.

    In memory the digest is of what is the same in any process: the model as it would be written, the table's names and
    values.
    """
    from treewarden.reports.document.parts import File  # heavy: pydantic

    if isinstance(source, Path):
        return File(name=source.name, sha256=_of_file(source))
    if isinstance(
        source, TableAddress
    ):  # what a database holds has no bytes but those of what comes back
        from treewarden.ppdm_models.tables.counting.databases import open_source  # heavy: DuckDB
        from treewarden.ppdm_models.tables.counting.source import count_table  # as above

        return File(name=source.name, sha256=count_table(open_source(source)).digest)
    if isinstance(source, ModelBytes | OutputBytes):
        return File(name=source.name, sha256=hashlib.sha256(source.data).hexdigest())
    if isinstance(source, OpenedFile):
        return File(name=model_name(source), sha256=hashlib.sha256(_content(source)).hexdigest())
    return File(name=source.source, sha256=_of_table(source))


def told_table(table: TableInput) -> File:
    """Return what a report tells of a table, by name and digest; of a folder it is that of its files' digests.

    Raises:
        TableError: it cannot be read.
    """
    if isinstance(table, Path):
        from treewarden.reports.document.parts import File  # heavy: pydantic

        return File(name=table.name, sha256=digest_at(table))
    return file_of_source(table)


def saved(file: OpenedFile) -> bytes:
    """Return a model as the bytes of a file: as it would be rewritten, else in the first format that can say it.

    Raises:
        OutputError: none can.
    """
    if isinstance(file.opened, Rewritable):
        with suppress(OutputError):
            return file.opened.rewrite(file.model)
    from treewarden.ppdm_models.files.convert import MODELS, converted  # for writing only

    *others, last = MODELS
    for target in others:
        with suppress(OutputError):
            return converted(file.model, target)
    return converted(file.model, last)


def _content(file: OpenedFile) -> bytes:
    try:
        return saved(file)
    except OutputError:  # no format can say it
        return repr(file.model).encode("utf-8")


def _of_file(path: Path) -> str:
    if path.is_dir():  # a model as Spark writes it: the digest is of the archive that it is read as
        return hashlib.sha256(archived(path)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_table(table: Table) -> str:
    from treewarden.ppdm_models.tables.arrow_column import content_of  # heavy: pyarrow

    digest = hashlib.sha256()
    for name, column in table.columns.items():
        for part in (name.encode("utf-8", "surrogatepass"), *content_of(column)):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


# Names of several releases: their file's name, with as much of its path as tells it from the others.


def release_names(models: Sequence[ModelInput]) -> tuple[str, ...]:
    """Return the shortest end of each model's path that no other ends in.

    What has no path of its own (a model in memory, the same file twice) keeps its name, whatever others are called.
    """
    parts = [_name_parts(model) for model in models]
    return tuple(
        _shortest(own, [other for place, other in enumerate(parts) if place != number])
        for number, own in enumerate(parts)
    )


def called(file: OpenedFile, name: str) -> OpenedFile:
    """Return a file whose model, trees and notes bear another name than the file's own."""
    model = file.model
    if model.source == name:
        return file
    notes = tuple(map(partial(_renamed, old=f"{model.source}: ", new=f"{name}: "), model.notes))
    if isinstance(model, Ensemble):
        named = with_trees(model, (replace(tree, source=name) for tree in model.trees))
        model = replace(named, growth=model.growth, sampling=model.sampling)
    return replace(file, model=replace(model, source=name, notes=notes))


def _renamed(text: str, old: str, new: str) -> str:
    return f"{new}{text.removeprefix(old)}" if text.startswith(old) else text


def _name_parts(model: ModelInput) -> tuple[str, ...]:
    if not isinstance(model, Path):
        return (model_name(model),)
    return model.absolute().parts[1:]


def _shortest(names: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> str:
    for size in range(1, len(names) + 1):
        if all(other[-size:] != names[-size:] for other in others):
            return "/".join(names[-size:])
    return names[-1]


# The name of a model in a pipeline: its path, seen from where the pipeline runs.


def known_as(model: ModelInput) -> str:
    """Return a model's path: from the folder of the command where it is inside, else as it was given; "" in memory."""
    if not isinstance(model, Path):
        return ""
    here = Path.cwd()
    if model.is_absolute() and model.is_relative_to(here):
        model = model.relative_to(here)
    return model.as_posix()
