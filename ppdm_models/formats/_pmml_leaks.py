"""Finds what a PMML file gives away beside its trees, and how each thing is taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ppdm_models.formats._pmml_values import number
from ppdm_models.formats._xml_edit import Document, Edit, Span
from ppdm_models.leaks import Leak, LeakKind
from ppdm_models.predicate import number_text

FEW = 10
"""A value or missing value that fewer training records than this have is a rare one."""

MARKUP = re.compile(r"<\s*(\w+:)?(Node|TreeModel|Segment|Segmentation|MiningModel|row)\b")
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
PATH = re.compile(
    r"(?<![\w/:])(/(home|Users|root|mnt|data|srv|var|tmp|opt)/\S+|[A-Za-z]:\\\S+|\\\\\w+\\\S+|file:/\S+)"
)
HEX_ID = re.compile(
    r"\b([0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"
)
SEED = re.compile(rb"\b(random_state|random_seed|seed)\s*=\s*[0-9]+")
USERS = ("user", "author", "creator", "username")


@dataclass(frozen=True, slots=True)
class Found:
    """A leak, and the edits that take it out; none where that would change the model."""

    leak: Leak
    edits: tuple[Edit, ...] = ()


def find(document: Document) -> list[Found]:
    """Return what a file gives away, in the file's order."""
    found = [(item.start, leak) for item, leak in _each(document)]
    return [leak for _, leak in sorted(found, key=lambda pair: pair[0])]


def _each(document: Document) -> Iterator[tuple[Span, Found]]:
    for comment in document.comments:
        yield comment, _comment(document, comment)
    finders = {
        "Header": _header,
        "MiningBuildTask": _task,
        "DataField": _field,
        "ModelStats": _statistics,
        "Targets": _targets,
        "PredictiveModelQuality": _quality,
        "ModelVerification": _verification,
    }
    surrogates: list[Span] = []
    for span in document.root.within():
        if span.name in finders:
            for found in finders[span.name](document, span):
                yield span, found
        if span.attributes.get("booleanOperator") == "surrogate":
            surrogates.append(span)
    if surrogates:
        what = f"{len(surrogates)} tests name surrogate splits: more attributes than the tree needs"
        yield surrogates[0], Found(Leak(LeakKind.DIFFERENCING, _where(surrogates[0]), what))


def _where(span: Span) -> str:
    return f"line {span.line}"


def _removed(
    document: Document, kind: LeakKind, span: Span, what: str, records: int | None = None
) -> Found:
    return Found(Leak(kind, _where(span), what, records, True), (document.removal(span),))


def _without_attributes(
    document: Document, kind: LeakKind, span: Span, names: tuple[str, ...], what: str
) -> Found:
    edits = (document.attribute(span, name, None) for name in names)
    return Found(
        Leak(kind, _where(span), what, None, True),
        tuple(edit for edit in edits if edit is not None),
    )


def _comment(document: Document, comment: Span) -> Found:
    text = comment.text
    if MARKUP.search(text):
        nodes = len(re.findall(r"<\s*(?:\w+:)?Node\b", text))
        what = (
            f"a comment holds {nodes} nodes of another tree"
            if nodes
            else "a comment holds a part of a model"
        )
        return _removed(document, LeakKind.OLD_MODEL, comment, what)
    kind = LeakKind.PERSON if MAIL.search(text) else LeakKind.PATH if PATH.search(text) else None
    words = f"a comment of {len(text)} characters that a person wrote or a tool left"
    return _removed(document, kind or LeakKind.IDENTIFIER, comment, words)


def _header(document: Document, header: Span) -> Iterator[Found]:
    if header.attributes.get("copyright"):
        edit = document.attribute(header, "copyright", "")
        assert edit is not None
        leak = Leak(LeakKind.PERSON, _where(header), "the copyright names who made it", None, True)
        yield Found(leak, (edit,))
    description = header.attributes.get("description") or ""
    if HEX_ID.search(description):
        what = "the description holds an identifier"
        yield _without_attributes(document, LeakKind.IDENTIFIER, header, ("description",), what)
    for item in header.within():
        if item.name == "Timestamp":
            yield _removed(document, LeakKind.TIMESTAMP, item, "when the model was made")
        elif item.name == "Annotation":
            yield _removed(document, LeakKind.PERSON, item, "a note that somebody wrote")
        elif item.name == "Extension" and (item.attributes.get("name") or "").lower() in USERS:
            yield _removed(document, LeakKind.PERSON, item, "the name of the user who made it")
        else:
            yield from _places(document, item)


def _places(document: Document, item: Span) -> Iterator[Found]:
    """Yield attributes that hold a mail address or a path of somebody's machine."""
    for name, value in item.attributes.items():
        for kind, pattern, what in (
            (LeakKind.PERSON, MAIL, "a mail address"),
            (LeakKind.PATH, PATH, "a path on the machine where it was made"),
        ):
            found = pattern.search(value)
            if found and not (item.name == "Header" and name == "copyright"):
                edit = document.attribute(item, name, pattern.sub("", value))
                said = f"{name} of {item.name} holds {what}"
                leak = Leak(kind, _where(item), said, None, True)
                yield Found(leak, () if edit is None else (edit,))
                break


def _task(document: Document, task: Span) -> Iterator[Found]:
    for item in task.within():
        yield from _places(document, item)
        if PATH.search(item.text):
            what = "a path on the machine where it was made"
            yield _removed(document, LeakKind.PATH, item, what)
    edits = []
    for seed in SEED.finditer(document.data, task.start, task.end):
        edits.append(Edit(seed.start(), seed.end(), seed[1] + b"=None"))
    if edits:
        what = "the random seed: with the data, the learning can be repeated"
        yield Found(Leak(LeakKind.REPLAY, _where(task), what, None, True), tuple(edits))


def _field(document: Document, field: Span) -> Iterator[Found]:
    name = field.attributes.get("name") or ""
    for interval in field.children:
        ends = [interval.attributes.get(side) for side in ("leftMargin", "rightMargin")]
        if interval.name == "Interval" and any(end is not None for end in ends):
            what = f"the range of {name!r}, which tools take from the training records: its extremes are somebody's"
            yield _removed(document, LeakKind.EXTREMES, interval, what)


def _statistics(document: Document, statistics: Span) -> Iterator[Found]:
    for univariate in statistics.within("UnivariateStats"):
        name = univariate.attributes.get("field") or ""
        for item in univariate.children:
            if item.name == "NumericInfo":
                named = tuple(
                    side for side in ("minimum", "maximum") if item.attributes.get(side) is not None
                )
                if named:
                    what = f"{' and '.join(named)} of {name!r} in the training records"
                    yield _without_attributes(document, LeakKind.EXTREMES, item, named, what)
                for quantile in item.children:
                    if quantile.name == "Quantile":
                        what = f"a quantile of {name!r} in the training records"
                        yield _removed(document, LeakKind.EXTREMES, quantile, what)
            elif item.name in ("DiscrStats", "ContStats"):
                yield from _histogram(document, item, name)
            elif item.name == "Counts":
                yield from _missing(document, item, name)


def _histogram(document: Document, item: Span, name: str) -> Iterator[Found]:
    arrays = [inner for inner in item.children if inner.name == "Array"]
    counts = next(
        (
            numbers
            for array in arrays
            if array.attributes.get("type") != "string"
            and (numbers := [number(text) for text in array.text.split()])
            and None not in numbers
        ),
        [],
    )
    positive = [int(count) for count in counts if count]
    least = min(positive, default=None)
    cells = f", {len(positive)} cells, the smallest of {least}" if least is not None else ""
    what = f"how often each value of {name!r} occurs in the training records{cells}"
    yield _removed(document, LeakKind.HISTOGRAM, item, what, least)
    few = [count for count in positive if count < FEW]
    if item.name == "DiscrStats" and few:
        what = f"{len(few)} values of {name!r} are those of fewer than {FEW} training records"
        yield Found(Leak(LeakKind.RARE_VALUES, _where(item), what, min(few)))


def _missing(document: Document, item: Span, name: str) -> Iterator[Found]:
    for kind in ("missingFreq", "invalidFreq"):
        count = number(item.attributes.get(kind))
        if count is not None and 0 < count < FEW:
            what = f"{kind} of {name!r} is {number_text(count)} training records"
            edit = document.attribute(item, kind, None)
            leak = Leak(LeakKind.SMALL_COUNTS, _where(item), what, int(count), True)
            yield Found(leak, () if edit is None else (edit,))


def _targets(document: Document, targets: Span) -> Iterator[Found]:
    values = [
        item for item in targets.within("TargetValue") if "priorProbability" in item.attributes
    ]
    edits = [document.attribute(item, "priorProbability", None) for item in values]
    if values:
        what = f"the share of each of {len(values)} classes in the training records"
        leak = Leak(LeakKind.TARGET_STATISTICS, _where(values[0]), what, None, True)
        yield Found(leak, tuple(edit for edit in edits if edit is not None))


def _quality(document: Document, quality: Span) -> Iterator[Found]:
    names = tuple(
        name for name in ("numOfRecords", "numOfRecordsWeighted") if name in quality.attributes
    )
    if names:
        count = number(quality.attributes[names[0]])
        said = "" if count is None else f": {number_text(count)}"
        what = f"how many records the model was {quality.attributes.get('dataUsage') or 'made'} with{said}"
        yield _without_attributes(document, LeakKind.TARGET_STATISTICS, quality, names, what)


def _verification(document: Document, verification: Span) -> Iterator[Found]:
    rows = sum(1 for _ in verification.within("row"))
    what = f"{rows} whole records, put there to verify the model: often training records"
    yield _removed(document, LeakKind.RAW_RECORDS, verification, what, rows)
