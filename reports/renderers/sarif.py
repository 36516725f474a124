"""SARIF 2.1.0 for code scanning: each finding at its line of the model's file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from treewarden.policies.verdict import FindingKind, counts
from treewarden.reports.document.gate import Entry, Gate, Outcome, Rule
from treewarden.reports.document.inferred_parts import BlamedLeaf
from treewarden.reports.document.words import printable, sentence
from treewarden.reports.figures.gate_rows import FIRST_LINE, GateRow, gate_rows, in_words, marked
from treewarden.reports.renderers import GateRenderer

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
EXIT_CODES: Mapping[Outcome, int] = {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3, "NO AUDIT": 4}
FINGERPRINT = "treewarden/v1"
LINE_HASH = "primaryLocationLineHash"
"""The fingerprint by which GitHub knows a finding again: given, so that it stays the same when lines move."""


class SarifRenderer(GateRenderer):
    """One run with a rule per clause and a result per finding; relative paths are relative to ``%SRCROOT%``.

    What could not be decided is a result of the kind ``fail``, at the level of its clause: a kind of its own
    (``open``) must have the level ``none``, which readers may hide, and it stops a model as a failure does. The
    property ``verdict`` tells the two apart. What was accepted is suppressed. A model without audit is a notification
    of the invocation, and a result too, as GitHub shows results only.
    """

    media_type = "application/sarif+json"
    suffix = "sarif"

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        rules = _rules(gate, rows)
        order = {name: index for index, name in enumerate(rules)}
        run = {
            "tool": {
                "driver": {
                    "name": "treewarden",
                    **({"version": printable(gate.version)} if gate.version else {}),
                    "rules": [_rule(name, rule) for name, rule in rules.items()],
                }
            },
            "invocations": [_invocation(gate)],
            "originalUriBaseIds": {
                ROOT: {"description": _text("The folder that the command ran in.")}
            },
            "columnKind": "unicodeCodePoints",
            "properties": {
                "assumedKnown": [
                    {"model": printable(entry.name), "text": printable(entry.assumed_known)}
                    for entry in gate.entries
                    if entry.assumed_known
                ]
            },
            "results": [_result(row, order[row.rule_id], gate) for row in rows],
        }
        said = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        # without indents, which take three times as long
        return (json.dumps(said, allow_nan=False) + "\n").encode("ascii")


def _rules(gate: Gate, rows: Sequence[GateRow]) -> dict[str, Rule]:
    """Return all rules by id, in the order of their ids: of what is not met, and of what is met everywhere."""
    rules = {row.rule_id: row.rule for row in rows}
    clauses = {rule.clause for rule in rules.values()}
    for entry in gate.entries:
        for rule in entry.rules:
            if rule.clause not in clauses:
                rules.setdefault(rule.clause, rule)
    return dict(sorted(rules.items()))


def _rule(name: str, rule: Rule) -> dict[str, Any]:
    plain = sentence(rule.plain)
    asks = f"The policy {rule.policy} requires {rule.asks}." if rule.asks else ""
    parts = {"": plain, "Asked": asks, "Why": rule.why, "Source": rule.source}
    said = {key: text for key, text in parts.items() if text}
    lines = (f"{key}: {printable(text)}" if key else printable(text) for key, text in said.items())
    markdown = (f"**{key}:** {marked(text)}" if key else marked(text) for key, text in said.items())
    return {
        "id": printable(name),
        "name": printable(name),
        "shortDescription": _text(plain),
        "fullDescription": _text(" ".join(each for each in (plain, rule.why or asks) if each)),
        "help": {"text": _unlinked("\n".join(lines)), "markdown": "\n\n".join(markdown)},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": ["privacy"],
            **({"policy": printable(rule.policy)} if rule.policy else {}),
            **({"policyVersion": printable(rule.version)} if rule.version else {}),
        },
    }


def _result(row: GateRow, rule: int, gate: Gate) -> dict[str, Any]:
    found = row.result
    result: dict[str, Any] = {
        "ruleId": printable(row.rule_id),
        "ruleIndex": rule,
        "kind": "fail",
        "level": found.severity,
        "message": _text(row.sentence),
        "locations": [_location(row.entry, row.line, row)],
        "partialFingerprints": {FINGERPRINT: printable(found.id), LINE_HASH: f"{row.key}:1"},
        "properties": {
            "id": printable(found.id),
            "model": printable(row.entry.name),
            "verdict": "NO AUDIT" if found.clause == FindingKind.NO_AUDIT.value else found.verdict,
            "counts": not row.accepted and counts(found.severity, gate.fail_on),
        },
    }
    related = [_related(row.entry, leaf) for leaf in found.together]
    related += [_related_output(row.entry, words) for words in found.outputs]
    if related:
        result["relatedLocations"] = [
            {"id": number, **location} for number, location in enumerate(related)
        ]
    if found.accepted is not None:
        justification = printable(row.accepted)
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": justification}
        ]
    return result


def _related(entry: Entry, leaf: BlamedLeaf) -> dict[str, Any]:
    """Return a leaf whose numbers prove values together with those of the result's leaf, or of other leaves named."""
    name = f"node {leaf.node}"
    return {
        **_location(entry, leaf.line or FIRST_LINE),
        "logicalLocations": [
            {"name": printable(leaf.node), "fullyQualifiedName": printable(name), "kind": "leaf"}
        ],
        "message": _text(f"The class counts of {name} help to prove values."),
    }


def _related_output(entry: Entry, words: str) -> dict[str, Any]:
    """Return a number beside the model that helps to prove values, said at the model: it may be in no file."""
    return {
        **_location(entry, FIRST_LINE),
        "message": _text(f"This published number helps to prove values: {printable(words)}"),
    }


def _location(entry: Entry, line: int, row: GateRow | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": artifact(entry.file),
            "region": {"startLine": line},
        }
    }
    if row is not None and row.result.path:
        location["logicalLocations"] = [
            {
                "name": printable(row.result.node),
                "fullyQualifiedName": printable(row.where),
                "kind": "leaf",
            }
        ]
    return location


def artifact(file: str) -> dict[str, str]:
    """Return where a file is, percent-encoded: from the folder that the command ran in, where the path is relative."""
    if PureWindowsPath(file).drive and PureWindowsPath(file).is_absolute():
        return {"uri": f"file:///{quote(PureWindowsPath(file).as_posix(), safe='/:')}"}
    path = PurePosixPath(file)
    if path.is_absolute():
        return {"uri": f"file://{quote(str(path))}"}
    return {"uri": quote(str(path)), "uriBaseId": ROOT}


def _invocation(gate: Gate) -> dict[str, Any]:
    broken = [each for each in gate.entries if each.outcome == "NO AUDIT"]
    invocation: dict[str, Any] = {
        "executionSuccessful": not broken,
        "exitCode": EXIT_CODES[gate.outcome],
        "exitCodeDescription": f"{gate.outcome}: {in_words(gate)}",
    }
    told = [("error", f"No audit: {each.problem}", each) for each in broken]
    told += [("note", each.assumed_known, each) for each in gate.entries if each.assumed_known]
    told += [("note", each.unlimited, each) for each in gate.entries if each.unlimited]
    if told:
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": _text(said), "locations": [_location(entry, 1)]}
            for level, said, entry in told
        ]
    return invocation


def _text(text: str) -> dict[str, str]:
    return {"text": _unlinked(printable(text))}


def _unlinked(text: str) -> str:
    """Return a text in which no name from a file makes a link, as ``[name](target)`` does in SARIF."""
    return text.replace("](", "] (")


RENDERER = SarifRenderer()
