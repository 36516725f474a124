"""What a notebook shows of a result: the verdict and why on a small card, and the full report in a frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jinja2 import Environment, StrictUndefined

from treewarden.reports.document.document import Document
from treewarden.reports.document.names import summary_of
from treewarden.reports.document.parts import Finding
from treewarden.reports.document.words import printable

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
    ordered = sorted(broken, key=lambda each: each.verdict != "FAIL")
    more = len(ordered) - MOST_REASONS
    said = [finding.message for finding in ordered[:MOST_REASONS]]
    return [*said, f"and {more} more"] if more > 0 else said


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
    """Return which columns were assumed known and not judged, as a fact of the card."""
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
