"""Numbers that producers put at nodes in extensions of their own (SPSS, Statistica): what no audit reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.common.xml_edit import Span
from treewarden.ppdm_models.codecs.pmml.values import number
from treewarden.ppdm_models.codecs.pmml.write import BAND, IMPURITY
from treewarden.ppdm_models.tree.tree import Node

SILENT = (BAND, IMPURITY, "defaultChild", "storageType", "cellRef")
"""Extensions of a node that are read, or say nothing of its records."""
MOST_NAMES = 5


def extra_kinds(extensions: Iterable[Element], nodes: Sequence[Node]) -> list[str]:
    """Return the kinds of numbers in extensions of nodes, unless every node has counts of all classes.

    A statistic of a node or a split follows from those counts.
    """
    if all(node.class_counts is not None and None not in node.class_counts for node in nodes):
        return []
    names = dict.fromkeys(
        part.get("name") or "" for part in extensions if _tells(part.get("name"), part.get("value"))
    )
    return [f"the numbers {name[:40]!r} at its nodes" for name in list(names)[:MOST_NAMES]]


def telling_parts(node: Span) -> Iterator[Span]:
    """Yield the extensions of a node in a file that hold such numbers."""
    for part in node.children:
        said = part.attributes
        if part.name == "Extension" and _tells(said.get("name"), said.get("value")):
            yield part


def _tells(name: str | None, value: str | None) -> bool:
    return name not in SILENT and number(value) is not None
