"""Parts of a report as pandas DataFrames, and what a notebook shows of a result.

pandas is imported when the first frame is made. A notebook shows the verdict and why on a small card, and the full
report in a frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from jinja2 import Environment, StrictUndefined

from treewarden.api.regrowing import Regrown
from treewarden.reports.document.document import Attempt, Document, summary_of
from treewarden.reports.document.parts import Finding, Number, Reading, Value
from treewarden.reports.document.words import printable

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


MOST_REASONS = 3
MOST_CASES = 3
COLOURS = {"PASS": "#1b6e3c", "FAIL": "#a3161a", "UNDETERMINED": "#7a5200"}
"""White text on each is readable (7 to 1 or better), on light pages and on dark ones."""


@dataclass(frozen=True, slots=True)
class Card:
    """What stands on a card; ``report`` is a page of its own, which can run nothing and fetch nothing."""

    verdict: str
    title: str
    headline: str
    reasons: Sequence[str] = ()
    cases: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    advice: Sequence[str] = ()
    report: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default=())

    def html(self) -> str:
        """Return the card as HTML without script or style sheet; every name in it is escaped."""
        colour = COLOURS.get(self.verdict, "#44546a")
        return _TEMPLATE.render(card=self, colour=colour)


def reasons(document: Document) -> list[str]:
    """Return why it does not pass: the clauses that break, then those that were not decided, of those that count.

    What is accepted is no reason.
    """
    broken = [
        finding
        for finding in document.findings
        if finding.verdict != "PASS" and document.counts(finding) and finding.accepted is None
    ]
    ordered = sorted(broken, key=lambda entry: entry.verdict != "FAIL")
    more = len(ordered) - MOST_REASONS
    said = [finding.message for finding in ordered[:MOST_REASONS]]
    if more <= 0:
        return said
    return [
        *said,
        "1 more check did not pass." if more == 1 else f"{more} more checks did not pass.",
    ]


def cases(findings: Iterable[Finding]) -> list[str]:
    """Return the worst places of the clauses that break, each once: who, what is read of them, by which clause."""
    found: dict[str, str] = {}
    broken = [
        finding for finding in findings if finding.verdict == "FAIL" and finding.accepted is None
    ]
    for rank in range(MOST_CASES):
        for each in broken:
            if rank < len(each.where):
                place = each.where[rank]
                who = place.profile or place.path or place.note
                found.setdefault(who, f"{who}: {place.value.text} ({each.clause})")
    return list(found.values())[:MOST_CASES]


def assumed_facts(document: Document) -> list[tuple[str, str]]:
    """Return which columns were assumed known to adversaries and not judged, as a fact of the card."""
    said = summary_of(document)
    return [("Not judged", said)] if said else []


def _cell_value(value: object) -> object:
    return printable(value) if type(value) is str else value


_ENVIRONMENT = Environment(
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_cell_value,
)
_TEMPLATE = _ENVIRONMENT.from_string("""\
<div style="border:1px solid rgba(128,128,128,.5);border-left:6px solid {{ colour }};border-radius:4px;\
padding:.7em 1em;margin:.3em 0;max-width:60em;line-height:1.45">
  <div><span style="background:{{ colour }};color:#fff;font-weight:700;padding:.15em .6em;border-radius:3px">\
{{ card.verdict }}</span> <span style="opacity:.85">{{ card.title }}</span></div>
  <p style="margin:.5em 0;font-weight:600">{{ card.headline }}</p>
  {% if card.reasons %}
  <div>Why</div>
  <ul style="margin:.2em 0 .5em 1.2em;padding:0">
    {% for reason in card.reasons %}
    <li>{{ reason }}</li>
    {% endfor %}
  </ul>
  {% endif %}
  {% if card.cases %}
  <div>Worst cases</div>
  <ul style="margin:.2em 0 .5em 1.2em;padding:0">
    {% for case in card.cases %}
    <li>{{ case }}</li>
    {% endfor %}
  </ul>
  {% endif %}
  {% if card.rows %}
  <div style="overflow-x:auto"><table style="margin:.4em 0"><thead><tr>
    {% for name in card.columns %}
    <th style="text-align:left" scope="col">{{ name }}</th>
    {% endfor %}
  </tr></thead><tbody>
    {% for row in card.rows %}
    <tr>{% for cell in row %}<td style="text-align:left">{{ cell }}</td>{% endfor %}</tr>
    {% endfor %}
  </tbody></table></div>
  {% endif %}
  {% if card.advice %}
  <div>What to do</div>
  <ul style="margin:.2em 0 .5em 1.2em;padding:0">
    {% for line in card.advice %}
    <li>{{ line }}</li>
    {% endfor %}
  </ul>
  {% endif %}
  {% for name, text in card.facts %}
  <div style="opacity:.85">{{ name }}: {{ text }}</div>
  {% endfor %}
  {% if card.report %}
  <details style="margin-top:.5em"><summary>Full report</summary>
    <iframe sandbox="" title="Full report" loading="lazy" srcdoc="{{ card.report | forceescape }}" \
style="width:100%;height:40em;border:1px solid rgba(128,128,128,.5);background:#fff"></iframe>
  </details>
  {% endif %}
</div>
""")
