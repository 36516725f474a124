"""What an rpart object gives away beside its tree: further splits, exact means, the call, and lists of all records."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.codecs.r.rpart_splits import frame_rows
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

OF_RECORDS = {
    "y": (LeakKind.RAW_RECORDS, "the target of every training record"),
    "x": (LeakKind.RAW_RECORDS, "the features of every training record"),
    "model": (LeakKind.RAW_RECORDS, "the training records themselves"),
    "where": (LeakKind.PER_RECORD, "the leaf of every training record"),
    "weights": (LeakKind.PER_RECORD, "the weight of every training record"),
}


def leaks_of(root: Part) -> Iterator[Leak]:
    """Yield what the object tells beside its tree."""
    rows = frame_rows(root)
    others = sum(len(row.competitors) + len(row.surrogates) for row in rows)
    if others:
        what = f"{others} splits that were not used tell how the target differs over further attributes"
        yield Leak(LeakKind.TARGET_STATISTICS, "/splits", what)
    sizes = [row.part["n"].amount() for row in rows if row.is_leaf]
    if root["method"].text() != "class" and min(sizes, default=3) <= 2:
        what = "mean and deviance of a node with 1 or 2 records give their target values exactly"
        yield Leak(LeakKind.EXACT_TARGETS, "/frame", what, records=int(min(sizes)))
    call = root.get("call")
    if call is not None and call.value:
        what = "the call with all settings: training can be repeated on guessed records"
        yield Leak(LeakKind.REPLAY, "/call", what)
    yield from _per_record(root)


def _per_record(root: Part) -> Iterator[Leak]:
    """Yield the parts of R's object that hold something of every training record."""
    for key, (kind, what) in OF_RECORDS.items():
        part = root.get(key)
        if part is not None and isinstance(part.value, (list, dict)) and part.value:
            size = len(part.value) if isinstance(part.value, list) else None
            yield Leak(kind, part.pointer, what, records=size)
