"""What a CatBoost model tells beside its trees: target counts per category, how and when it was trained."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

OF_TARGETS = ("Borders", "Buckets")
COUNTS = (*OF_TARGETS, "Counter", "FeatureFreq")
EMPTY = str(2**64 - 1)
"""The hash of a place in the table that no category has."""

SECRETS = (
    ("train_finish_time", LeakKind.TIMESTAMP, "when the training ended"),
    ("model_guid", LeakKind.IDENTIFIER, "the number that names this model among all others"),
    ("params", LeakKind.REPLAY, "all training parameters, the random seed among them"),
    ("output_options", LeakKind.PATH, "the names of files and folders of the training"),
)


def leaks_of(document: Part) -> tuple[Leak, ...]:
    """Return what the file gives away, in a fixed order.

    Raises:
        TreeFormatError: a part of it is malformed.
    """
    return (*_statistics(document), *_categories(document), *_training(document))


def _statistics(document: Part) -> Iterator[Leak]:
    tables = document.get("ctr_data")
    for key, table in () if tables is None else tables.entries():
        stride = table["hash_stride"].whole(low=2)
        cells = list(table["hash_map"])
        rows = [
            cells[start + 1 : start + stride]
            for start in range(0, len(cells), stride)
            if cells[start].value != EMPTY
        ]
        listed = any(f'"type":"{kind}"' in key for kind in COUNTS)
        counts = [cell.amount() for row in rows for cell in row] if listed else []
        seen = [count for count in counts if count > 0]
        smallest = int(min(seen)) if seen else None
        yield Leak(
            _kind(key, rows) if listed else LeakKind.TARGET_STATISTICS,
            table.pointer,
            f"target counts of {len(rows)} categories, by hashes that a dictionary undoes",
            records=smallest,
        )


def _kind(key: str, rows: list[list[Part]]) -> LeakKind:
    """Return what counts tell: of a category of one record they give its target, or that it is the only one."""
    if all(sum(cell.amount() for cell in row) != 1 for row in rows):
        return LeakKind.TARGET_STATISTICS
    says_target = any(f'"type":"{kind}"' in key for kind in OF_TARGETS)
    return LeakKind.EXACT_TARGETS if says_target else LeakKind.RARE_VALUES


def _categories(document: Part) -> Iterator[Leak]:
    listed = document["features_info"].get("cat_features_hash")
    if listed is not None and len(listed):
        yield Leak(
            LeakKind.CATEGORIES,
            listed.pointer,
            f"{len(listed)} category values of the training data, rare ones too",
        )


def _training(document: Part) -> Iterator[Leak]:
    info = document.get("model_info")
    for key, kind, what in SECRETS:
        part = None if info is None else info.get(key)
        if part is not None:
            yield Leak(kind, part.pointer, what)
