"""Utility against privacy in one repair: the points that a report draws, a terminal names and a notebook plots.

They also make the table of everything that a repair tried: the best first, what each costs, what it still lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from treewarden.reports.document.document import Attempt, Repair
from treewarden.reports.document.parts import Number
from treewarden.reports.document.words import LOG_LOSS, Word, printable, wrapped

AS_GIVEN = "original"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One change (or the model as given, ``number`` 0): more is better in both, privacy in per cent of the limit.

    ``is_on_curve`` says that no other point has as much of both and more of one; ``text`` is its utility in words,
    ``privacy_text`` its privacy.
    """

    number: int
    name: str
    utility: float
    text: str
    privacy: float
    privacy_text: str
    verdict: Word
    is_chosen: bool = False
    is_unbeaten: bool = False
    is_on_curve: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """All points, the model as given first; ``label`` names the utility, in per cent unless it is a log loss."""

    points: tuple[CurvePoint, ...]
    label: str
    is_percent: bool

    @property
    def line(self) -> list[CurvePoint]:
        """The points on the curve, the least useful first."""
        return sorted((p for p in self.points if p.is_on_curve), key=lambda p: p.utility)


def curve_of(repair: Repair) -> Curve:
    """Return the points of a repair whose privacy and utility are told; changes are numbered as in its table."""
    attempts = repair.attempts
    label, is_percent = _label(repair)
    points = []
    if attempts and repair.privacy.low is not None:
        found = _utility(attempts[0], before=True)
        if found is not None:
            privacy = _percent(repair.privacy.low)
            points.append(
                CurvePoint(0, AS_GIVEN, *found, privacy, repair.privacy.text, repair.before.verdict)
            )
    for number, attempt in enumerate(attempts, start=1):
        found = _utility(attempt)
        if attempt.privacy.low is None or found is None:
            continue
        point = CurvePoint(
            number,
            attempt.name,
            *found,
            _percent(attempt.privacy.low),
            attempt.privacy.text,
            attempt.verdict,
            is_chosen=attempt.is_applied or (attempt.is_recommended and not _applied(repair)),
            is_unbeaten=attempt.is_unbeaten,
        )
        points.append(point)
    return marked_curve(points, label, is_percent=is_percent)


def caption(curve: Curve) -> str:
    """Return what the marks of a curve mean, of those that it has."""
    words = [
        "The numbers in the picture are the row numbers of the table below.",
        "The height shows how well the worst check is met: 100 % or more passes, and changes below the dotted line "
        "fail.",
    ]
    if len(curve.line) > 1:
        words.append(
            "The line joins the best changes: no other one is better in both utility and privacy."
        )
    if any(point.is_chosen for point in curve.points):
        words.append("The circle marks the chosen change.")
    words.append(
        "A filled mark means that no other change is at least as good in everything: privacy, utility, predictions "
        "kept, leaves kept and numbers kept."
    )
    return " ".join(words)


def marked_curve(points: Sequence[CurvePoint], label: str, *, is_percent: bool) -> Curve:
    """Return a curve of points, those marked that no other one beats."""
    marked = tuple(replace(p, is_on_curve=not any(_beats(q, p) for q in points)) for p in points)
    return Curve(marked, label, is_percent)


def _applied(repair: Repair) -> bool:
    return any(attempt.is_applied for attempt in repair.attempts)


def _beats(first: CurvePoint, second: CurvePoint) -> bool:
    ours, theirs = (first.utility, first.privacy), (second.utility, second.privacy)
    return ours != theirs and ours[0] >= theirs[0] and ours[1] >= theirs[1]


def _utility(attempt: Attempt, *, before: bool = False) -> tuple[float, str] | None:
    """Return the utility, more is better, and its words: cross-validated where told, else of the training records.

    Where not even that is known, it is the share of the predictions, or else of the leaves, that is kept.
    """
    if attempt.utility_before is not None and attempt.utility_after is not None:
        told = attempt.utility_before if before else attempt.utility_after
        if told.low is None:
            return None
        is_loss = bool(attempt.utility_name == LOG_LOSS)
        return (-float(told.low) if is_loss else _percent(told.low)), told.text
    said = attempt.accuracy_before if before else attempt.accuracy_after
    if said.low is not None:
        return _percent(said.low), said.text
    if before:
        return 100.0, "100 %"
    kept = attempt.leaves / (attempt.leaves + attempt.leaves_lost)
    if attempt.predictions_changed is not None:
        kept = 1 - float(attempt.predictions_changed)
    return 100 * kept, f"{100 * kept:.1f} %"


def _label(repair: Repair) -> tuple[str, bool]:
    if not repair.attempts:
        return "", True
    first = repair.attempts[0]
    if first.utility_before is not None:
        name = first.utility_name
        return f"{name}, cross-validated", name != LOG_LOSS
    if first.accuracy_before.low is not None:
        return "training accuracy", True
    is_told = first.predictions_changed is not None
    return ("predictions kept" if is_told else "leaves kept"), True


def _percent(share: Number | None) -> float:
    return 100 * float(share or 0)


HEADINGS = ("name", "verdict", "privacy score", "accuracy", "changed", "leaves", "numbers removed")
LOSS = "loss"
CROSS_VALIDATED = "cross-validated"


def advice_lines(repair: Repair, indent: str = "") -> Iterator[str]:
    """Yield how to grow the model again, as lines of text."""
    if not repair.advice:
        return
    yield ""
    yield f"{indent}To train the model again"
    for each in repair.advice:
        yield from wrapped(f"- {each}", f"{indent}  ")


def attempt_lines(repair: Repair) -> Iterator[str]:
    """Yield the lines: figures in columns, and under each row what the change is; the recommended one has a star."""
    if not repair.attempts:
        return
    first = repair.attempts[0]
    given = ("original", repair.before.verdict, repair.privacy.text, first.accuracy_before.text)
    has_accuracy = tells_accuracy(repair)
    said = [
        (
            *HEADINGS,
            *([LOSS] if first.loss_before else []),
            *([CROSS_VALIDATED] if first.utility_before else []),
        ),
        (*given, "-", str(repair.before.leaves), "-")
        + ((first.loss_before.text,) if first.loss_before else ())
        + ((first.utility_before.text,) if first.utility_before else ()),
        *(_row(attempt) for attempt in repair.attempts),
    ]
    rows = [
        tuple(
            printable(cell)
            for place, cell in enumerate(row)
            if has_accuracy or place != HEADINGS.index("accuracy")
        )
        for row in said
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    yield ""
    yield "  Tried, best first (* recommended, + chosen)"
    for number, row in enumerate(rows):
        each = repair.attempts[number - 2] if number > 1 else None
        yield f"  {_mark(each)} {_aligned(row, widths)}".rstrip()
        if each is not None:
            yield from wrapped(each.title, "      ")
            lacks = "; ".join([part for part in (", ".join(each.failing), each.problem) if part])
            yield from wrapped(f"failed: {lacks}", "      ") if lacks else ()
            why = each.not_audited
            yield from (
                wrapped(f"not audited{' further' * bool(lacks)}: {why}", "      ") if why else ()
            )


def tells_accuracy(repair: Repair) -> bool:
    """Return whether any attempt says how often it is right: a model of numbers never is, nor is it ever not."""
    return any(
        said.low is not None
        for attempt in repair.attempts
        for said in (attempt.accuracy_before, attempt.accuracy_after)
    )


def _row(attempt: Attempt) -> tuple[str, ...]:
    figures = (
        attempt.name,
        attempt.verdict,
        attempt.privacy.text,
        attempt.accuracy_after.text,
        attempt.predictions_changed_text,
        str(attempt.leaves),
        attempt.numbers_withheld_text,
    )
    loss = (attempt.loss_after.text,) if attempt.loss_after else ()
    return (*figures, *loss, *((attempt.utility_after.text,) if attempt.utility_after else ()))


def _mark(attempt: Attempt | None) -> str:
    if attempt is None or not (attempt.is_recommended or attempt.is_applied):
        return " "
    return "*" if attempt.is_recommended else "+"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    words = [said.ljust(width) for said, width in zip(row[:2], widths[:2], strict=True)]
    figures = [said.rjust(width) for said, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([*words, *figures])
