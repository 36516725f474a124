"""Statistics of the training records that a PMML file may hold beside its trees, and its stated probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models.formats.common.origin import is_marker, is_number
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._values import number
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node

# One thing that a PMML file gives away, and the edits that take it out.


@dataclass(frozen=True, slots=True)
class FoundLeak:
    """A leak, and the edits that take it out; none where that would change the model."""

    leak: Leak
    edits: tuple[Edit, ...] = ()


def where_of(span: ElementSpan) -> str:
    """Return the place of an element in words."""
    return f"line {span.line}"


def removed(
    document: XmlDocument, kind: LeakKind, span: ElementSpan, what: str, records: int | None = None
) -> FoundLeak:
    """Return a leak that goes with its element."""
    return FoundLeak(Leak(kind, where_of(span), what, records, True), (document.removal(span),))


def without_attributes(
    document: XmlDocument, kind: LeakKind, span: ElementSpan, names: tuple[str, ...], what: str
) -> FoundLeak:
    """Return a leak that goes with some attributes of its element."""
    edits = (document.attribute(span, name, None) for name in names)
    return FoundLeak(
        Leak(kind, where_of(span), what, None, True),
        tuple(edit for edit in edits if edit is not None),
    )


FEW = 10
"""A value or missing value that fewer training records than this have is a rare one."""
ORDERED = ("median", "interQuartileRange")
MEANS = ("mean", "standardDeviation")
QUALITY = ("ConfusionMatrix", "LiftData", "ROC")
IMPUTED = {
    "asMedian": (LeakKind.MEDIANS, "the median"),
    "asMean": (LeakKind.AVERAGES, "the mean"),
    "asMode": (LeakKind.AVERAGES, "the most common value"),
}
TRUTHS = ("true", "false")
OFTEN_IMPUTED = (LeakKind.AVERAGES, "as a rule the mean or the most common value")


def of_field(document: XmlDocument, field: ElementSpan) -> Iterator[FoundLeak]:
    """Yield the range of a field."""
    name = field.attributes.get("name") or ""
    for interval in field.children:
        ends = [interval.attributes.get(side) for side in ("leftMargin", "rightMargin")]
        if interval.name == "Interval" and any(end is not None for end in ends):
            what = (
                f"the range of {name!r}. Tools take it from the training records, so its "
                "ends are values of single people"
            )
            yield removed(document, LeakKind.EXTREMES, interval, what)


def of_statistics(document: XmlDocument, statistics: ElementSpan) -> Iterator[FoundLeak]:
    """Yield what univariate statistics say of the training records."""
    for univariate in statistics.within("UnivariateStats"):
        name = univariate.attributes.get("field") or ""
        for item in univariate.children:
            if item.name == "NumericInfo":
                named = tuple(
                    side for side in ("minimum", "maximum") if item.attributes.get(side) is not None
                )
                if named:
                    what = f"{' and '.join(named)} of {name!r} in the training records"
                    yield without_attributes(document, LeakKind.EXTREMES, item, named, what)
                for kind, names in ((LeakKind.MEDIANS, ORDERED), (LeakKind.AVERAGES, MEANS)):
                    told = tuple(each for each in names if item.attributes.get(each) is not None)
                    if told:
                        what = f"{' and '.join(told)} of {name!r} in the training records"
                        yield without_attributes(document, kind, item, told, what)
                for quantile in item.children:
                    if quantile.name == "Quantile":
                        what = f"a quantile of {name!r} in the training records"
                        yield removed(document, LeakKind.MEDIANS, quantile, what)
            elif item.name in ("DiscrStats", "ContStats"):
                yield from _histogram(document, item, name)
            elif item.name == "Counts":
                yield from _missing(document, item, name)
            elif item.name == "Anova":
                what = f"how the target depends on {name!r} in the training records"
                yield removed(document, LeakKind.TARGET_STATISTICS, item, what)


def _histogram(document: XmlDocument, item: ElementSpan, name: str) -> Iterator[FoundLeak]:
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
    yield removed(document, LeakKind.HISTOGRAM, item, what, least)
    few = [count for count in positive if count < FEW]
    if item.name == "DiscrStats" and few:
        what = f"{len(few)} values of {name!r} are those of fewer than {FEW} training records"
        yield removed(document, LeakKind.RARE_VALUES, item, what, min(few))


def _missing(document: XmlDocument, item: ElementSpan, name: str) -> Iterator[FoundLeak]:
    for kind in ("missingFreq", "invalidFreq"):
        count = number(item.attributes.get(kind))
        if count is not None and 0 < count < FEW:
            what = f"{kind} of {name!r} is {number_text(count)} training records"
            edit = document.attribute(item, kind, None)
            leak = Leak(LeakKind.SMALL_COUNTS, where_of(item), what, int(count), True)
            yield FoundLeak(leak, () if edit is None else (edit,))


def of_targets(document: XmlDocument, targets: ElementSpan) -> Iterator[FoundLeak]:
    """Yield the shares of the classes."""
    values = [
        item for item in targets.within("TargetValue") if "priorProbability" in item.attributes
    ]
    edits = [document.attribute(item, "priorProbability", None) for item in values]
    if values:
        what = f"the share of each of {len(values)} classes in the training records"
        leak = Leak(LeakKind.TARGET_STATISTICS, where_of(values[0]), what, None, True)
        yield FoundLeak(leak, tuple(edit for edit in edits if edit is not None))


def of_quality(document: XmlDocument, quality: ElementSpan) -> Iterator[FoundLeak]:
    """Yield what measures of the model say of the records they were taken on."""
    names = tuple(
        name for name in ("numOfRecords", "numOfRecordsWeighted") if name in quality.attributes
    )
    if names:
        count = number(quality.attributes[names[0]])
        said = "" if count is None else f": {number_text(count)}"
        what = (
            "the number of records that the model was "
            f"{quality.attributes.get('dataUsage') or 'made'} with{said}"
        )
        yield without_attributes(document, LeakKind.TARGET_STATISTICS, quality, names, what)
    for item in quality.within(*QUALITY):
        what = f"how well records are predicted, as a {item.name}: it shows how many records have each value"
        yield removed(document, LeakKind.TARGET_STATISTICS, item, what)


def of_schema_field(document: XmlDocument, field: ElementSpan) -> Iterator[FoundLeak]:
    """Yield what a field of a mining schema says of the training records."""
    yield from _imputed(document, field)
    yield from _clipped(document, field)


def _imputed(document: XmlDocument, field: ElementSpan) -> Iterator[FoundLeak]:
    """Yield that missing values become a statistic of the training records; the model predicts with it, so it stays."""
    replacement = field.attributes.get("missingValueReplacement")
    if replacement is None or _is_sign(replacement):
        return
    kind, words = IMPUTED.get(field.attributes.get("missingValueTreatment") or "", OFTEN_IMPUTED)
    name = field.attributes.get("name") or ""
    what = f"{words} of {name!r} in the training records, used to replace missing values"
    yield FoundLeak(Leak(kind, where_of(field), what))


def _is_sign(text: str) -> bool:
    """Return whether a text is a word for no value, which is no statistic; a number or truth value may be one."""
    return is_marker(text) and not is_number(text) and text.strip().lower() not in TRUTHS


def _clipped(document: XmlDocument, field: ElementSpan) -> Iterator[FoundLeak]:
    """Yield the ends beyond which values count as outliers; where the model does nothing there, they can go."""
    named = tuple(end for end in ("lowValue", "highValue") if field.attributes.get(end) is not None)
    if not named:
        return
    name = field.attributes.get("name") or ""
    what = (
        f"the limits of {name!r}. Tools take them from the training records, so they are "
        "values of single people"
    )
    if (field.attributes.get("outliers") or "asIs") == "asIs":
        yield without_attributes(document, LeakKind.EXTREMES, field, named, what)
    else:
        yield FoundLeak(Leak(LeakKind.EXTREMES, where_of(field), what))


def of_scaling(document: XmlDocument, scaling: ElementSpan) -> Iterator[FoundLeak]:
    """Yield that the points between which a field is scaled are numbers of the training records; they stay."""
    points = [item for item in scaling.children if item.name == "LinearNorm"]
    told = [item.attributes.get(side) or "" for item in points for side in ("orig", "norm")]
    if all(map(_is_round, told)):
        return
    name = scaling.attributes.get("field") or ""
    what = (
        f"the points by which {name!r} is scaled. Tools take them from the training "
        "records: min-max scaling uses the extremes, other scaling the mean"
    )
    yield FoundLeak(Leak(LeakKind.EXTREMES, where_of(scaling), what))


def _is_round(text: str) -> bool:
    """Return whether a number is 0, 1 or another power of 2 or 10, of either sign: what people choose as a scale."""
    value = number(text)
    if value is None:
        return False
    return value == 0 or math.frexp(abs(value))[0] == 0.5 or _is_power_of_ten(abs(value))


def _is_power_of_ten(value: float) -> bool:
    return float(f"1e{round(math.log10(value))}") == value


def relations(document: XmlDocument, item: ElementSpan) -> Iterator[FoundLeak]:
    """Yield statistics over several features."""
    what = f"how features are correlated in the training records ({item.name})"
    yield removed(document, LeakKind.AVERAGES, item, what)


def of_partition(document: XmlDocument, item: ElementSpan) -> Iterator[FoundLeak]:
    """Yield the statistics of a node."""
    what = "statistics of the records of one node: extremes, quantiles or counts of their values"
    yield removed(document, LeakKind.HISTOGRAM, item, what)


HOLDS_TABLES = ("ModelVerification", "MapValues", "ChildParent", "TextIndexNormalization")
"""Where a table is looked up, or is found already as one of records."""
SET_ASIDE = ("PMML", "Extension", "MiningBuildTask")
"""What a table may be taken out of; all that is inside nodes stands in the outermost element here."""


def loose_tables(root: ElementSpan) -> Iterator[tuple[ElementSpan, bool]]:
    """Yield tables that stand where nothing is looked up, and whether they stand where no model reads them."""
    stack = [(root, root)]
    while stack:
        span, above = stack.pop()
        if span.name == "InlineTable":
            yield span, above.name in SET_ASIDE
        elif span.name not in HOLDS_TABLES:
            stack.extend((child, span) for child in reversed(span.children))


def of_table(document: XmlDocument, table: ElementSpan, is_aside: bool) -> FoundLeak:
    """Return that a table stands there; it can go where no model reads it."""
    rows = sum(1 for _ in table.within("row"))
    size = f" of {rows} rows" if rows else ""
    what = f"a table{size} that the model does not use"
    if not is_aside:
        return FoundLeak(Leak(LeakKind.RAW_RECORDS, where_of(table), what, rows or None))
    return removed(document, LeakKind.RAW_RECORDS, table, what, rows or None)


def of_verification(document: XmlDocument, verification: ElementSpan) -> Iterator[FoundLeak]:
    """Yield the records on which a model is to be tried."""
    rows = sum(1 for _ in verification.within("row"))
    what = f"{rows} complete records for the verification of the model, often training records"
    yield removed(document, LeakKind.RAW_RECORDS, verification, what, rows)


# Whether the probabilities that a PMML file states beside class counts are those of the counts.
#
# Producers write the share of the class in its node; of the node's ``recordCount``, where that is another number (SPSS,
# sklearn-pmml's forests); the share after a Laplace correction; or one with the weights that priors or costs give the
# classes, the same at every node (R's rpart). Of anything else nobody could tell what it says.

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
