"""Finds what a PMML file gives away beside its trees, and how each thing is taken out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treewarden.ppdm_models.formats.common.origin import is_maker, is_moment
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.pmml._statistics import (
    FoundLeak,
    of_field,
    of_partition,
    of_quality,
    of_scaling,
    of_schema_field,
    of_statistics,
    of_targets,
    relations,
    removed,
    where_of,
    without_attributes,
)
from treewarden.ppdm_models.formats.pmml._unread import unread
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

MARKUP = re.compile(
    r"<\s*/?(\w+:)?(Node|TreeModel|Segment|Segmentation|MiningModel|ScoreDistribution|SimplePredicate|row)\b"
)
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
PATH = re.compile(
    r"(?<![\w/:])(/(home|Users|root|mnt|data|srv|var|tmp|opt)/\S+|[A-Za-z]:\\\S+|\\\\\w+\\\S+|file:/\S+)"
)
HEX_ID = re.compile(
    r"\b([0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"
)
SEED = re.compile(rb"\b(random_state|random_seed|seed)\s*=\s*[0-9]+")
HOLDS_TABLES = ("ModelVerification", "MapValues", "ChildParent", "TextIndexNormalization")
"""Where a table is looked up, or is found already as one of records."""
SET_ASIDE = ("PMML", "Extension", "MiningBuildTask")
"""What a table may be taken out of; all that is inside nodes stands in the outermost element here."""
USERS = ("user", "author", "creator", "username")


def find(document: XmlDocument) -> list[FoundLeak]:
    """Return what a file gives away, in the file's order."""
    found = [(item.start, leak) for item, leak in _find_leaks(document)]
    found += unread(document)
    return [leak for _, leak in sorted(found, key=lambda pair: pair[0])]


def _find_leaks(document: XmlDocument) -> Iterator[tuple[ElementSpan, FoundLeak]]:
    for comment in document.comments:
        yield comment, _comment(document, comment)
    finders = {
        "Header": _header,
        "MiningBuildTask": _task,
        "DataField": of_field,
        "ModelStats": of_statistics,
        "Targets": of_targets,
        "PredictiveModelQuality": of_quality,
        "ModelVerification": _verification,
        "MiningField": of_schema_field,
        "MultivariateStats": relations,
        "Correlations": relations,
        "NormContinuous": of_scaling,
        "Partition": of_partition,
    }
    surrogates: list[ElementSpan] = []
    for span in document.root.within():
        if span.name in finders:
            for found_leak in finders[span.name](document, span):
                yield span, found_leak
        if span.attributes.get("booleanOperator") == "surrogate":
            surrogates.append(span)
    for table, is_aside in _loose_tables(document.root):
        yield table, _table(document, table, is_aside)
    if surrogates:
        what = f"{len(surrogates)} tests name surrogate splits: more attributes than the tree needs"
        yield surrogates[0], FoundLeak(Leak(LeakKind.DIFFERENCING, where_of(surrogates[0]), what))


def _comment(document: XmlDocument, comment: ElementSpan) -> FoundLeak:
    text = comment.text
    if MARKUP.search(text):
        nodes = len(re.findall(r"<\s*(?:\w+:)?Node\b", text))
        what = (
            f"a comment holds {nodes} nodes of another tree"
            if nodes
            else "a comment holds a part of a model"
        )
        return removed(document, LeakKind.OLD_MODEL, comment, what)
    kind = LeakKind.PERSON if MAIL.search(text) else LeakKind.UNKNOWN
    words = f"a comment of {len(text)} characters that a person wrote or a tool left: read it"
    return removed(document, kind, comment, words)


def _header(document: XmlDocument, header: ElementSpan) -> Iterator[FoundLeak]:
    if header.attributes.get("copyright"):
        edit = document.attribute(header, "copyright", "")
        assert edit is not None
        kind, what = LeakKind.AUTHOR, "the copyright names who made it"
        if not is_maker(header.attributes["copyright"]):
            kind, what = LeakKind.UNKNOWN, "the copyright is more than a year and a name: read it"
        yield FoundLeak(Leak(kind, where_of(header), what, None, True), (edit,))
    description = header.attributes.get("description") or ""
    if HEX_ID.search(description):
        what = "the description holds an identifier"
        yield without_attributes(document, LeakKind.IDENTIFIER, header, ("description",), what)
    for item in header.within():
        if item.name == "Timestamp":
            kind, what = LeakKind.TIMESTAMP, "when the model was made"
            if not is_moment(item.text):
                kind, what = LeakKind.UNKNOWN, "a Timestamp that is no date: read it"
            yield removed(document, kind, item, what)
        elif item.name == "Annotation":
            yield removed(document, LeakKind.UNKNOWN, item, "a note that somebody wrote: read it")
        elif item.name == "Extension" and (item.attributes.get("name") or "").lower() in USERS:
            yield removed(document, LeakKind.AUTHOR, item, "the name of the user who made it")
        else:
            yield from _places(document, item, LeakKind.AUTHOR)


def _places(document: XmlDocument, item: ElementSpan, who: LeakKind) -> Iterator[FoundLeak]:
    """Yield attributes that hold a mail address, of ``who``, or a path of somebody's machine."""
    for name, value in item.attributes.items():
        for kind, pattern, what in (
            (who, MAIL, "a mail address"),
            (LeakKind.PATH, PATH, "a path on the machine where it was made"),
        ):
            found = pattern.search(value)
            if found and not (item.name == "Header" and name == "copyright"):
                edit = document.attribute(item, name, pattern.sub("", value))
                said = f"{name} of {item.name} holds {what}"
                leak = Leak(kind, where_of(item), said, None, True)
                yield FoundLeak(leak, () if edit is None else (edit,))
                break


def _task(document: XmlDocument, task: ElementSpan) -> Iterator[FoundLeak]:
    for item in task.within():
        yield from _places(document, item, LeakKind.PERSON)
        if PATH.search(item.text):
            what = "a path on the machine where it was made"
            yield removed(document, LeakKind.PATH, item, what)
    edits = []
    for seed in SEED.finditer(document.data, task.start, task.end):
        edits.append(Edit(seed.start(), seed.end(), seed[1] + b"=None"))
    if edits:
        what = "the random seed: with the data, the learning can be repeated"
        yield FoundLeak(Leak(LeakKind.REPLAY, where_of(task), what, None, True), tuple(edits))


def _loose_tables(root: ElementSpan) -> Iterator[tuple[ElementSpan, bool]]:
    """Yield tables that stand where nothing is looked up, and whether they stand where no model reads them."""
    stack = [(root, root)]
    while stack:
        span, above = stack.pop()
        if span.name == "InlineTable":
            yield span, above.name in SET_ASIDE
        elif span.name not in HOLDS_TABLES:
            stack.extend((child, span) for child in reversed(span.children))


def _table(document: XmlDocument, table: ElementSpan, is_aside: bool) -> FoundLeak:
    rows = sum(1 for _ in table.within("row"))
    size = f" of {rows} rows" if rows else ""
    what = f"a table{size} in which nothing is looked up"
    if not is_aside:
        return FoundLeak(Leak(LeakKind.RAW_RECORDS, where_of(table), what, rows or None))
    return removed(document, LeakKind.RAW_RECORDS, table, what, rows or None)


def _verification(document: XmlDocument, verification: ElementSpan) -> Iterator[FoundLeak]:
    rows = sum(1 for _ in verification.within("row"))
    what = f"{rows} whole records, put there to verify the model: often training records"
    yield removed(document, LeakKind.RAW_RECORDS, verification, what, rows)
