"""How the trees of two files differ, in words: what they are, and their leaves by the way that leads to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.semantics.describe import describe, leaf_entries
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.document.words import counted, printable
from treewarden.service.jobs.orders import JobAnswer, JobOrder
from treewarden.service.jobs.reading import content

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


def compared(order: JobOrder) -> JobAnswer:
    """Return how the trees of two models differ."""
    assert order.model is not None
    assert order.other is not None
    old = open_model(content(order.model), order.model.name)
    new = open_model(content(order.other), order.other.name)
    said = [
        {"format": each.model.format, **describe(each.model, each.leaks)} for each in (old, new)
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
