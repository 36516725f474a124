"""What a job reads of the files that an order names, in the process of the job: sealed files stay in memory.

Of a model or a table on arrival: what it publishes, and names and kinds of columns; no values. Of two models: how their
trees differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from treewarden.jobs.audit_inputs import DataDictionary
from treewarden.jobs.inputs import ModelBytes
from treewarden.jobs.inspecting import said_of
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.outputs.sheets import read_sheet
from treewarden.ppdm_models.semantics.describe import describe, leaf_entries
from treewarden.ppdm_models.tables.read_table import read_table_bytes
from treewarden.ppdm_models.tables.table import Table, read_dictionary_bytes
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import counted, printable
from treewarden.service.errors import ConflictError
from treewarden.service.vault.addresses import open_below
from treewarden.service.vault.vault import opened_stream
from treewarden.service.worker.orders import JobAnswer, JobOrder, PlainFile, SealedFile

TOLD = {
    "task": "what it predicts",
    "target": "the target",
    "classes": "the classes",
    "trees": "the number of trees",
    "nodes": "the number of nodes",
    "leaves": "the number of leaves",
    "depth": "the depth",
    "criterion": "the criterion",
    "format": "the format",
}
MOST_LINES = 200


def content(file: SealedFile | PlainFile) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnavailableError: it was erased, or cannot be unsealed.
        InvalidError: its path is not allowed any more.
    """
    if isinstance(file, PlainFile):
        with open_below(file.path, file.roots, file.most) as plain:
            return plain.read()
    with Path(file.place).open("rb") as sealed:
        return b"".join(opened_stream(sealed, bytes.fromhex(file.key)))


def table_of(file: SealedFile | PlainFile) -> tuple[Table, File]:
    """Return a table, and what a report tells of its file.

    Raises:
        ConflictError: it was changed since it was named.
        TableError: it is no table that can be read.
    """
    data = named_content(file)
    return read_table_bytes(data, file.name), File(name=file.name, sha256=_sha256(data))


def dictionary_in(file: SealedFile | PlainFile) -> DataDictionary:
    """Return what a file says that columns mean; errors as for ``table_of``, and ``DictionaryError``."""
    return DataDictionary(file.name, read_dictionary_bytes(named_content(file), file.name))


def named_content(file: SealedFile | PlainFile) -> bytes:
    """Return the bytes of a file, which are those that were named.

    Raises:
        ConflictError: it was changed since it was named: what was said of it is of another file.
    """
    data = content(file)
    if file.digest and _sha256(data) != file.digest:
        raise ConflictError(file.name, "was changed after it was chosen; choose it again")
    return data


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def inspected_model(order: JobOrder) -> JobAnswer:
    """Return what ``treewarden inspect`` says of a model."""
    assert order.model is not None
    said = said_of(ModelBytes(content(order.model), order.model.name))
    return JobAnswer(summary=said, format=str(said["format"]))


def inspected_table(order: JobOrder) -> JobAnswer:
    """Return the columns of a table, and how many records it has."""
    assert order.table is not None
    table, file = table_of(order.table)
    columns = tuple(
        {"name": name, "kind": "number" if table.guessed(name).numeric else "category"}
        for name in table.columns
    )
    return JobAnswer(columns=columns, records=table.rows, digest=file.sha256)


def inspected_output(order: JobOrder) -> JobAnswer:
    """Return the digest of a file that has cells as outputs do; what they say is read with the table."""
    assert order.table is not None
    data = named_content(order.table)
    read_sheet(data, order.table.name)
    return JobAnswer(digest=_sha256(data))


def inspected_dictionary(order: JobOrder) -> JobAnswer:
    """Return the digest of a data dictionary."""
    assert order.table is not None
    data = named_content(order.table)
    read_dictionary_bytes(data, order.table.name)
    return JobAnswer(digest=_sha256(data))


def compared(order: JobOrder) -> JobAnswer:
    """Return how the trees of two models differ."""
    assert order.model is not None
    assert order.other is not None
    old = open_model(content(order.model), order.model.name)
    new = open_model(content(order.other), order.other.name)
    said = [
        {"format": opened_file.model.format, **describe(opened_file.model, opened_file.leaks)}
        for opened_file in (old, new)
    ]
    lines = [*_facts(*said), *_leaves(old.model, new.model)]
    more = len(lines) - MOST_LINES
    if more > 0:
        lines = [*lines[:MOST_LINES], f"and {counted(more, 'more difference', 'more differences')}"]
    return JobAnswer(trees=tuple(map(printable, lines)))


def _facts(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for key, words in TOLD.items():
        if old.get(key) != new.get(key):
            yield f"{words}: {_text(old.get(key))}, now {_text(new.get(key))}"


def _leaves(old: Model, new: Model) -> Iterator[str]:
    """Yield leaves by the way that leads to them: those that went, that came, and that say something else."""
    before, after = _by_region(old), _by_region(new)
    for region, said in before.items():
        if region not in after:
            yield f"leaf gone: {region}"
        elif after[region] != said:
            yield f"leaf changed: {region}: {said}, now {after[region]}"
    for region in after:
        if region not in before:
            yield f"leaf new: {region}"


def _by_region(model: Model) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in leaf_entries(model, exact=True):
        records = "" if entry["records"] is None else f", {entry['records']:g} records"
        region = f"tree {entry['tree']}, {entry['region']}"
        found[region] = f"says {_text(entry['says'])}{records}"
    return found


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "nothing" if value in (None, "") else str(value)
