"""Code quality of GitLab: findings at their lines in a merge request."""

from __future__ import annotations

import json

from treewarden.policies.verdict import FindingKind
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.words import printable
from treewarden.reports.figures.gate_rows import GateRow, gate_rows
from treewarden.reports.renderers import GateRenderer


class GitlabRenderer(GateRenderer):
    """A list of issues, worst first: no audit is a blocker, an error critical, one not decided major, a warning minor.

    What was accepted, or is only a note, is information. The fingerprint tells the same finding in two models apart;
    the finding's own id ends the description.
    """

    media_type = "application/json"
    suffix = "gitlab.json"

    def render_gate(self, gate: Gate) -> bytes:
        issues = [
            {
                "description": printable(f"{row.sentence} [{row.result.id}]"),
                "check_name": printable(row.rule_id),
                "fingerprint": row.key,
                "severity": _severity(row),
                "location": {"path": printable(row.entry.file), "lines": {"begin": row.line}},
            }
            for row in gate_rows(gate)
        ]
        return (json.dumps(issues, indent=1, allow_nan=False) + "\n").encode("ascii")


def _severity(row: GateRow) -> str:
    if row.accepted or row.result.severity == "note":
        return "info"
    if row.result.severity == "warning":
        return "minor"
    if row.result.clause == FindingKind.NO_AUDIT.value:
        return "blocker"
    return "critical" if row.result.verdict == "FAIL" else "major"


RENDERER = GitlabRenderer()
