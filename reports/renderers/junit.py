"""JUnit XML for test reports: a suite for each model, a case for each check of its policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lxml import etree

from treewarden.policies.verdict import FindingKind, counts
from treewarden.reports.document.gate import ClauseOutcome, Entry, Gate
from treewarden.reports.document.words import printable
from treewarden.reports.figures.gate_rows import ACCEPTED, GateRow, gate_rows
from treewarden.reports.renderers import GateRenderer


class JunitRenderer(GateRenderer):
    """A clause that counts and is not met, or not decided, is a failure; its places are lines of the failure's text.

    What was accepted, does not count, or does not apply to the model is skipped and says why. A model without audit is
    an error.
    """

    media_type = "application/xml"
    suffix = "junit.xml"

    def render_gate(self, gate: Gate) -> bytes:
        rows: dict[str, list[GateRow]] = {}
        for row in gate_rows(gate):
            rows.setdefault(_key(row.entry), []).append(row)
        suites = [_suite(entry, gate, rows.get(_key(entry), [])) for entry in gate.entries]
        root = _element("testsuites", suites, name="treewarden", **_totals(suites))
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def _key(entry: Entry) -> str:
    return f"{entry.name}\n{entry.file}"


def _totals(suites: Sequence[etree._Element]) -> dict[str, str]:
    return {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }


def _suite(entry: Entry, gate: Gate, rows: Sequence[GateRow]) -> etree._Element:
    cases = list(_cases(entry, gate, rows))
    tags = [each.tag for case in cases for each in case]
    said = {"assumed-known": entry.assumed_known} if entry.assumed_known else {}
    known = [_element("property", name=name, value=text) for name, text in said.items()]
    properties = [_element("properties", known)] if known else []
    return _element(
        "testsuite",
        [*properties, *cases],
        name=entry.name,
        tests=str(len(cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
    )


def _cases(entry: Entry, gate: Gate, rows: Sequence[GateRow]) -> Iterator[etree._Element]:
    told = {clause_outcome.clause for clause_outcome in entry.clauses}
    for clause in entry.clauses:
        broken = [row for row in rows if row.result.clause == clause.clause]
        yield _case(entry, clause.clause, _outcome(clause, gate, broken))
    for skipped in entry.not_judged:
        yield _case(entry, skipped.name, _element("skipped", message=skipped.text))
    for row in rows:
        if row.result.clause not in told:
            kind = "error" if row.result.clause == FindingKind.NO_AUDIT.value else "failure"
            said = _element(kind, message=row.result.message, type=entry.outcome)
            said.text = _line(row)
            yield _case(entry, row.rule_id, said)


def _case(entry: Entry, name: str, outcome: etree._Element | None) -> etree._Element:
    inside = [] if outcome is None else [outcome]
    return _element("testcase", inside, classname=entry.name, name=name, file=entry.file)


def _outcome(clause: ClauseOutcome, gate: Gate, rows: Sequence[GateRow]) -> etree._Element | None:
    if clause.verdict == "PASS":
        return None
    if clause.accepted is not None:
        why = f"accepted, {ACCEPTED[clause.accepted.by]}: {clause.accepted.reason}"
        return _element("skipped", message=f"{clause.message} ({why})")
    if not counts(clause.severity, gate.fail_on):
        why = f"does not count: a {clause.severity}"
        return _element("skipped", message=f"{clause.message} ({why})")
    failure = _element("failure", message=clause.message, type=clause.verdict)
    failure.text = "\n".join(map(_line, rows)) or printable(clause.message)
    return failure


def _line(row: GateRow) -> str:
    return printable(f"{row.entry.file}:{row.line}: {row.sentence} [{row.result.id}]")


def _element(
    tag: str, children: Sequence[etree._Element] = (), **attributes: str
) -> etree._Element:
    """Return an element; what XML cannot hold in its attributes is escaped."""
    said = {name: printable(text) for name, text in attributes.items()}
    element = etree.Element(tag, said)
    element.extend(children)
    return element


RENDERER = JunitRenderer()
