"""Whether the probabilities that a PMML file states beside class counts are those of the counts.

Producers write the share of the class in its node; of the node's ``recordCount``, where that is another number (SPSS,
sklearn-pmml's forests); the share after a Laplace correction; or one with the weights that priors or costs give the
classes, the same at every node (R's rpart). Of anything else nobody could tell what it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models.formats.common.xml import Element
from treewarden.ppdm_models.formats.common.xml_edit import ElementSpan
from treewarden.ppdm_models.formats.pmml._values import number
from treewarden.ppdm_models.tree.tree import Node

BAND = "treewarden:band"
"""An extension of a leaf: the least and the most that a class's count can be, and the class."""

IMPURITY = "treewarden:impurity"
"""An extension of a node: the criterion, and the least and the most that its impurity can be."""

LEAST_HALF, MOST_HALF = 1e-6, 0.05
"""Half a unit of the last decimal that is printed: at least what single precision loses, at most half a tenth."""
LEAST_NODES = 3
"""So many nodes of several classes have to agree about the weights of classes: two numbers fit any weights."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The probabilities of one node: by class its count and what the file states, and where the node stands.

    ``total`` is the node's own count of records; None where it has none.
    """

    where: str
    counts: tuple[float, ...]
    texts: tuple[str | None, ...]
    total: float | None

    @property
    def shares(self) -> tuple[float | None, ...]:
        """The probabilities as numbers; None where none is stated."""
        return tuple(None if text is None else number(text) for text in self.texts)


@dataclass(slots=True)
class StatedShares:
    """The probabilities of one attribute that a tree states beside class counts."""

    attribute: str
    nodes: list[Stated] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def contradiction(self) -> str | None:
        """Return where they are no share of the counts in any way that producers write them; None where they are."""
        half = _half([text for node in self.nodes for text in node.texts if text is not None])
        wrong = next((node for node in self.nodes if not _are_shares(node, half)), None)
        if wrong is None or self._are_corrected(half) or self._are_weighed(half):
            return None
        stated = ", ".join("-" if text is None else text[:20] for text in wrong.texts[:6])
        counts = ", ".join(f"{count:g}" for count in wrong.counts[:6])
        return f"{wrong.where}: its {self.attribute} ({stated}) is not the share of its counts ({counts})"

    @property
    def weighs_classes(self) -> bool:
        """Whether the probabilities are those under one weight per class that is not 1."""
        half = _half([text for node in self.nodes for text in node.texts if text is not None])
        plain = all(_are_shares(node, half) for node in self.nodes)
        return bool(self.nodes) and not plain and self._are_weighed(half)

    def _are_corrected(self, half: float) -> bool:
        """Return whether all are shares after one record more of each class."""
        return all(
            _are_near(
                node.shares,
                [(count + 1) / (math.fsum(node.counts) + size) for count in node.counts],
                half,
            )
            for node in self.nodes
            for size in [len(node.counts)]
        )

    def _are_weighed(self, half: float) -> bool:
        """Return whether one weight for each class makes shares of the counts of all nodes."""
        mixed = [node for node in self.nodes if sum(count > 0 for count in node.counts) > 1]
        weights = _weights(mixed)
        if len(mixed) < LEAST_NODES or weights is None:
            return False
        for node in self.nodes:
            weighed = [w * count for w, count in zip(weights, node.counts, strict=True)]
            total = math.fsum(weighed)
            if not total or not _are_near(node.shares, [one / total for one in weighed], half):
                return False
        return True


def _weights(nodes: Sequence[Stated]) -> list[float] | None:
    """Return a weight for each class, 1 for the first, from the first node that has all; None where none has."""
    for node in nodes:
        shares = node.shares
        if None in shares or not all(node.counts) or not all(shares):
            continue
        ratios = [share / count for share, count in zip(shares, node.counts, strict=True) if share]
        return [ratio / ratios[0] for ratio in ratios]
    return None


def _are_shares(node: Stated, half: float) -> bool:
    """Return whether the probabilities are shares of what the classes sum to, or of the node's records."""
    totals = [math.fsum(node.counts)]
    totals += [] if node.total is None else [node.total]
    if not any(node.counts):
        return True  # of no records nothing is a share
    return any(
        total > 0 and _are_near(node.shares, [count / total for count in node.counts], half)
        for total in totals
    )


def _are_near(stated: Sequence[float | None], shares: Sequence[float], half: float) -> bool:
    pairs = zip(stated, shares, strict=True)
    return all(said is None or abs(said - share) <= half for said, share in pairs)


def _half(texts: Sequence[str]) -> float:
    """Return half a unit of the last decimal that is printed anywhere."""
    decimals = max(map(_decimals, texts), default=0)
    return min(max(0.5 * 10.0**-decimals * (1 + 1e-9), LEAST_HALF), MOST_HALF)


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.strip().lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return digits - (int(exponent) if exponent.lstrip("+-").isdigit() and len(exponent) < 6 else 0)


def contradictions(shares: Sequence[StatedShares]) -> Iterator[str]:
    """Yield what is stated of nodes and is no share of their counts."""
    for stated in shares:
        yield from stated.problems
        said = stated.contradiction()
        if said is not None:
            yield said


def are_of_one(texts: Sequence[str]) -> bool:
    """Return whether probabilities sum to 1, or to what rounding each of them makes of it."""
    known = [share for share in map(number, texts) if share is not None]
    return abs(math.fsum(known) - 1.0) <= max(len(known) * _half(texts), 1e-3)


# Numbers that producers put at nodes in extensions of their own (SPSS, Statistica): what no audit reads.

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


def telling_parts(node: ElementSpan) -> Iterator[ElementSpan]:
    """Yield the extensions of a node in a file that hold such numbers."""
    for part in node.children:
        said = part.attributes
        if part.name == "Extension" and _tells(said.get("name"), said.get("value")):
            yield part


def _tells(name: str | None, value: str | None) -> bool:
    return name not in SILENT and number(value) is not None
