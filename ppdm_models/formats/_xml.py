"""Parses XML that nobody vouches for: no entities, no DTD, no network, bounded depth and size."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from lxml import etree

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError

LAST_LINE = 65_000
"""libxml2 counts lines in 16 bits; in longer files each element is given its line as an attribute."""

LINE = "{urn:treewarden}line"


def parse(data: bytes, source: str) -> etree._Element:
    """Return the root element.

    A document type without entities is allowed and never fetched. The bytes are scanned once before a tree is built of
    them, so that what is hostile is refused while it is cheap.

    Raises:
        TreeFormatError: not well-formed XML, declares an entity, or nests or holds more elements than the limits allow.
    """
    lines = _scan(data, source)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise TreeFormatError(
            source, f"not XML that can be read ({error}); export it again"
        ) from error
    if lines[-1:] > [LAST_LINE]:
        for element, line in zip(root.iter(etree.Element), lines, strict=False):
            element.set(LINE, str(line))
    return root


def name_of(element: etree._Element) -> str:
    """Return the local name of an element of PMML (of any version, or without a namespace); "" for anything else."""
    if not isinstance(element.tag, str):
        return ""
    namespace, _, local = element.tag.rpartition("}")
    return local if not namespace or "dmg.org" in namespace else ""


def children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the child elements with one of these local names, in document order."""
    for child in element:
        if name_of(child) in names:
            yield child


def first(element: etree._Element, *names: str) -> etree._Element | None:
    """Return the first child with one of these local names."""
    return next(children(element, *names), None)


def line_of(element: etree._Element) -> int | None:
    """Return the line an element starts on."""
    if element.get(LINE) is not None:
        return int(element.get(LINE, ""))
    line = element.sourceline
    return line if isinstance(line, int) else None


def text_of(element: etree._Element) -> str:
    """Return the text of an element, without that of the elements and comments inside it."""
    return (element.text or "") + "".join(child.tail or "" for child in element)


def _scan(data: bytes, source: str) -> list[int]:
    """Refuse what is hostile; return the line that each element starts on."""
    parser = expat.ParserCreate()
    depth = 0
    lines: list[int] = []

    def refuse_entity(name: str, *_: object) -> None:
        raise TreeFormatError(
            f"{source}:{parser.CurrentLineNumber}",
            f"declares the entity {name!r}; remove it, a tree needs none",
        )

    def start(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        lines.append(parser.CurrentLineNumber)
        if depth > limits.XML_DEPTH:
            raise TreeFormatError(
                f"{source}:{parser.CurrentLineNumber}",
                f"elements nest more than {limits.XML_DEPTH} deep, as no real tree does; export it again",
            )
        if len(lines) > limits.XML_ELEMENTS:
            raise TreeFormatError(
                source, f"more than {limits.XML_ELEMENTS:,} XML elements; give the tree alone"
            )

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.EntityDeclHandler = refuse_entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise TreeFormatError(
            f"{source}:{error.lineno}",
            f"not XML that can be read ({expat.errors.messages[error.code]}); export it again",
        ) from error
    except (LookupError, ValueError) as error:
        raise TreeFormatError(
            source, f"not XML that can be read ({error}); export it again"
        ) from error
    return lines
