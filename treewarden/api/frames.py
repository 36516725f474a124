"""Parts of a report as pandas DataFrames; pandas is imported when the first is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from treewarden.api.regrowing import Regrown
from treewarden.reports.document.document import Attempt
from treewarden.reports.document.parts import Finding, Number, Reading, Value

if TYPE_CHECKING:
    import pandas as pd


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row per clause of the policy, as the report lists them; ``places`` counts where it breaks.

    ``accepted`` is why what breaks does not count, "" where it does.
    """
    return frame_of(
        (
            {
                "clause": finding.clause,
                "verdict": finding.verdict,
                "severity": finding.severity,
                "measure": finding.measure,
                "low": _ends(finding.value)[0],
                "high": _ends(finding.value)[1],
                "value": finding.value.text,
                "rule": finding.rule,
                "limit": _float(finding.limit),
                "unit": finding.unit,
                "places": len(finding.where),
                "message": finding.message,
                "why": finding.why,
                "source": finding.source,
                "accepted": "" if finding.accepted is None else finding.accepted.reason,
            }
            for finding in findings
        ),
        _FINDING,
    )


def readings_frame(readings: Mapping[str, Reading]) -> pd.DataFrame:
    """Return one row per measure, its name as index; both ends are missing where it could not be told."""
    frame = frame_of(
        (
            {
                "reading": name,
                "measure": reading.measure,
                "low": _ends(reading)[0],
                "high": _ends(reading)[1],
                "value": reading.text,
                "unit": reading.unit,
                "danger": reading.danger,
                "plain": reading.plain,
                "reason": reading.reason,
            }
            for name, reading in readings.items()
        ),
        _READING,
    )
    return frame.set_index("reading")


def attempts_frame(attempts: Iterable[Attempt], regrown: Iterable[Regrown] = ()) -> pd.DataFrame:
    """Return one row per change that was tried, best first, as the report of a repair lists them.

    Below them stand the settings that the model was trained again with; what those would change is not told.
    ``utility`` is cross-validated, and told of these alone.
    """
    rows = [
        {
            "name": attempt.name,
            "verdict": attempt.verdict,
            "title": attempt.title,
            "leaves": attempt.leaves,
            "leaves_lost": attempt.leaves_lost,
            "accuracy_before": _ends(attempt.accuracy_before)[0],
            "accuracy_after": _ends(attempt.accuracy_after)[0],
            "predictions_changed": _float(attempt.predictions_changed),
            "utility": None if attempt.utility_after is None else _ends(attempt.utility_after)[0],
            "numbers_withheld": _float(attempt.numbers_withheld),
            "is_recommended": attempt.is_recommended,
            "is_applied": attempt.is_applied,
            "is_unbeaten": attempt.is_unbeaten,
            "failing": "; ".join(attempt.failing),
            "problem": attempt.problem,
        }
        for attempt in attempts
    ]
    rows += [
        {
            "name": each.name,
            "verdict": each.verdict.name,
            "title": "trained again",
            "leaves": each.leaves,
            "accuracy_after": each.accuracy,
            "utility": None if math.isnan(each.utility) else each.utility,
            **dict.fromkeys(("is_recommended", "is_applied", "is_unbeaten"), False),
            "failing": "; ".join(finding.clause for finding in each.audited.decision.failing)
            if each.audited
            else "",
            "problem": each.problem,
        }
        for each in regrown
    ]
    return frame_of(rows, _ATTEMPT)


def frame_of(
    rows: Iterable[Mapping[str, object]], kinds: Mapping[str, pa.DataType]
) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have these types, also where there is no row."""
    schema = pa.schema(list(kinds.items()))
    return pa.Table.from_pylist(list(rows), schema=schema).to_pandas()


_TEXT, _NUMBER, _COUNT, _TRUTH = pa.string(), pa.float64(), pa.int64(), pa.bool_()
_FINDING = {
    **dict.fromkeys(("clause", "verdict", "severity", "measure"), _TEXT),
    **dict.fromkeys(("low", "high"), _NUMBER),
    **dict.fromkeys(("value", "rule"), _TEXT),
    "limit": _NUMBER,
    "unit": _TEXT,
    "places": _COUNT,
    **dict.fromkeys(("message", "why", "source", "accepted"), _TEXT),
}
_READING = {
    **dict.fromkeys(("reading", "measure"), _TEXT),
    **dict.fromkeys(("low", "high"), _NUMBER),
    **dict.fromkeys(("value", "unit", "danger", "plain", "reason"), _TEXT),
}
_ATTEMPT = {
    **dict.fromkeys(("name", "verdict", "title"), _TEXT),
    **dict.fromkeys(("leaves", "leaves_lost"), _COUNT),
    **dict.fromkeys(("accuracy_before", "accuracy_after", "utility"), _NUMBER),
    **dict.fromkeys(("predictions_changed", "numbers_withheld"), _NUMBER),
    **dict.fromkeys(("is_recommended", "is_applied", "is_unbeaten"), _TRUTH),
    **dict.fromkeys(("failing", "problem"), _TEXT),
}


def _ends(value: Value) -> tuple[float | None, float | None]:
    return _float(value.low), _float(value.high)


def _float(number: Number | None) -> float | None:
    return None if number is None else float(number)
