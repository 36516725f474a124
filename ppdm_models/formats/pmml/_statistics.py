"""Statistics of the training records that a PMML file may hold beside its trees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from treewarden.ppdm_models.formats.common.origin import is_marker, is_number
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.pmml._values import number
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

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
