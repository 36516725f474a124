"""What a BigML model tells beside its tree: histograms down to single records, people, names and dates."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

HISTOGRAMS = ("bins", "counts", "categories")
SECRETS = (
    ("creator", LeakKind.AUTHOR, "the account that made the model"),
    ("created", LeakKind.TIMESTAMP, "when the model was made"),
    ("updated", LeakKind.TIMESTAMP, "when the model was changed"),
    ("dataset", LeakKind.IDENTIFIER, "the service's name for the data set"),
    ("source", LeakKind.IDENTIFIER, "the service's name for the source of the data"),
    ("resource", LeakKind.IDENTIFIER, "the service's name for the model"),
    ("seed", LeakKind.REPLAY, "the random seed"),
)


def leaks_of(model: Part) -> tuple[Leak, ...]:
    """Return what the file gives away, in a fixed order.

    Raises:
        TreeFormatError: a part of it is malformed.
    """
    inner = model["model"]
    return (*_fields(inner["fields"]), *_leaves(inner["root"]), *_secrets(model))


def _fields(fields: Part) -> Iterator[Leak]:
    for _, field in fields.entries():
        summary = field.get("summary")
        if summary is None:
            continue
        name = field["name"].text()
        yield from _histogram(summary, f"the histogram of {name!r}")
        low, high = summary.get("minimum"), summary.get("maximum")
        if low is not None and high is not None:
            what = f"the smallest and the largest value of {name!r}"
            yield Leak(LeakKind.EXTREMES, summary.pointer, what, records=1)


def _histogram(summary: Part, what: str) -> Iterator[Leak]:
    for key in HISTOGRAMS:
        listed = summary.get(key)
        if listed is None or not len(listed):
            continue
        populations = [item.at(1).amount() for item in listed]
        smallest = min((size for size in populations if size > 0), default=0)
        yield Leak(
            LeakKind.HISTOGRAM,
            listed.pointer,
            f"{what}, in {len(populations)} parts",
            records=int(smallest) or None,
        )


def _leaves(root: Part) -> Iterator[Leak]:
    """Yield the target values that the leaves of a regression list, once for the smallest part of all."""
    smallest: tuple[float, Part] | None = None
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.get("children") or ())
        summary = node.get("objective_summary")
        for key in ("bins", "counts"):
            for item in (summary.get(key) if summary is not None else None) or ():
                size = item.at(1).amount()
                if size > 0 and (smallest is None or size < smallest[0]):
                    smallest = (size, item)
    if smallest is not None:
        size, item = smallest
        what = "target values of the records of single nodes"
        yield Leak(LeakKind.EXACT_TARGETS, item.pointer, what, records=int(size) or None)


def _secrets(model: Part) -> Iterator[Leak]:
    for key, kind, what in SECRETS:
        part = model.get(key)
        if part is not None and part.value != "":
            yield Leak(kind, part.pointer, what)
