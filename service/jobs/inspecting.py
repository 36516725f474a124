"""What is read off a model or a table when it arrives: what it publishes, and names and kinds of columns; no values."""

from __future__ import annotations

from treewarden.jobs.inputs import ModelBytes
from treewarden.jobs.inspecting import said_of
from treewarden.service.jobs.orders import JobAnswer, JobOrder
from treewarden.service.jobs.reading import content, table_of


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
