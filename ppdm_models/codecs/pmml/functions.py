"""The functions that PMML computes a field with (PMML 4.4, Transformations and Functions), where they are monotone."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise

from ppdm_models.codecs.common.xml import Element
from ppdm_models.codecs.pmml.sources import Function, Mapped, Raw, Scaled, Source, Value, through
from ppdm_models.codecs.pmml.values import number

Ends = tuple[float, bool, float, bool]
"""Where an interval starts, whether that number is in it, where it ends, whether that is in it."""


def single(value: float) -> float:
    """Return a number rounded to 32 bits."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def piecewise(expression: Element, source: Source) -> Source | None:
    """Return a field put through straight lines (PMML 4.4, NormContinuous)."""
    points = [
        (number(item.get("orig")), number(item.get("norm")))
        for item in expression.all("LinearNorm")
    ]
    known = [(x, y) for x, y in points if x is not None and y is not None]
    outliers = expression.get("outliers") or "asIs"
    if len(known) < len(points) or len(known) < 2 or outliers == "asMissingValues":
        return None
    steps = list(pairwise(known))
    if any(b[0] <= a[0] for a, b in steps):
        return None
    rises = {b[1] > a[1] for a, b in steps if a[1] != b[1]}
    if len(rises) > 1:
        return None
    clamp = outliers == "asExtremeValues"

    def norm(value: float) -> float:
        if clamp:
            value = min(max(value, known[0][0]), known[-1][0])
        (x0, y0), (x1, y1) = next((step for step in steps if value <= step[1][0]), steps[-1])
        return y0 + (value - x0) / (x1 - x0) * (y1 - y0)

    if isinstance(source, Scaled | Raw | Mapped):
        return through(source, norm, rises != {False})
    return None


def interval_ends(item: Element) -> Ends | None:
    """Return the ends of an Interval element and whether they belong to it; None where it states none."""
    closure = item.get("closure") or ""
    ends = []
    for side, infinite in (("leftMargin", -math.inf), ("rightMargin", math.inf)):
        text = item.get(side)
        end = infinite if text is None else number(text)
        if end is None:
            return None
        ends.append(end)
    closed = (closure.startswith("closed"), closure.endswith("Closed"))
    if closure not in ("openOpen", "openClosed", "closedOpen", "closedClosed") or ends[0] > ends[1]:
        return None
    return ends[0], closed[0] and ends[0] > -math.inf, ends[1], closed[1] and ends[1] < math.inf


def gaps(
    intervals: Sequence[Ends],
) -> list[Ends]:
    """Return what lies between and around intervals."""
    gaps = []
    at, closed = -math.inf, False  # what is left starts here, with this number or after it
    for low, low_closed, high, high_closed in sorted(intervals):
        if low > at or (low == at and closed and not low_closed):
            gaps.append((at, closed, low, not low_closed))
        at, closed = high, not high_closed
    if at < math.inf:
        gaps.append((at, closed, math.inf, False))
    return gaps


def folded(function: str, known: Sequence[float]) -> Value | None:
    """Return what an arithmetic function of two constants gives; None for any other."""
    if len(known) != 2 or function not in ("+", "-", "*", "/"):
        return None
    one, two = known
    if function == "/":
        return one / two if two else None
    return {"+": one + two, "-": one - two, "*": one * two}[function]


def arithmetic(
    function: str, field: Source, known: Sequence[float], is_first: bool
) -> Source | None:
    """Return a field put through a function that never falls, or never rises; None for any other."""
    if len(known) == 1:
        return _with_constant(function, field, known[0], is_first)
    if known:
        return None
    if function in WITHIN:
        if isinstance(field, Raw):
            field = Scaled(field.feature, lambda value: value, missing=field.missing)
        if not isinstance(field, Scaled) or not _is_plain(field):
            return None
        made = through(field, SINGLE[function])
        assert isinstance(made, Scaled)
        return Scaled(made.feature, made.function, True, WITHIN[function], math.inf, made.missing)
    if function in SINGLE:
        return through(field, SINGLE[function])
    return None


def _is_plain(field: Scaled) -> bool:
    """Whether a field is a raw one unchanged, so that the ends of a function are ends of raw numbers."""
    return all(field.function(value) == value for value in (-2.5, 0.0, 0.1, 3e7))


def _with_constant(function: str, field: Source, constant: float, is_first: bool) -> Source | None:
    if function == "+":
        return through(field, lambda value: value + constant)
    if function == "-":
        if is_first:
            return through(field, lambda value: value - constant)
        return through(field, lambda value: constant - value, rising=False)
    if function == "*" and constant:
        return through(field, lambda value: value * constant, rising=constant > 0)
    if function == "/" and is_first and constant:
        return through(field, lambda value: value / constant, rising=constant > 0)
    if function in ("min", "max"):
        chosen = min if function == "min" else max
        return through(field, lambda value: chosen(value, constant))
    if function == "threshold" and is_first:
        return through(field, lambda value: float(value > constant))
    if function == "pow" and is_first and constant > 0 and constant % 2 == 1:
        return through(field, lambda value: _bounded(lambda: value**constant, value))
    if function == "pow" and not is_first and constant > 1:
        return through(field, lambda value: _bounded(lambda: constant**value, value))
    return None


def _bounded(compute: Callable[[], float], sign: float) -> float:
    try:
        return compute()
    except OverflowError:
        return math.copysign(math.inf, sign)


SINGLE: dict[str, Function] = {
    "ln": lambda value: math.log(value) if value > 0 else math.nan,
    "log10": lambda value: math.log10(value) if value > 0 else math.nan,
    "sqrt": lambda value: math.sqrt(value) if value >= 0 else math.nan,
    "exp": lambda value: _bounded(lambda: math.exp(value), 1.0),
    "floor": lambda value: float(math.floor(value)) if math.isfinite(value) else value,
    "ceil": lambda value: float(math.ceil(value)) if math.isfinite(value) else value,
}
WITHIN = {"ln": 0.0, "log10": 0.0, "sqrt": math.nextafter(0.0, -1.0)}
"""The open lower end of the numbers that some functions take."""
