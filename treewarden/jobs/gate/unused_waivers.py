"""Waivers that no model of a gate needs: an entry of their own, told once over all models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from treewarden.jobs.gate.gate_job import GateAnswer
from treewarden.jobs.gate.models import GateModel
from treewarden.policies.exceptions.apply_waivers import findings_about, unused
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.policies.judging.decision import Finding, WaiverUses
from treewarden.policies.pack import Pack, load_pack
from treewarden.policies.verdict import SEVERITIES, counts
from treewarden.reports.building.assumed import ABOUT_WAIVERS
from treewarden.reports.document.gate import ClauseOutcome, Entry, Result, Rule
from treewarden.reports.document.names import finding_id
from treewarden.reports.document.words import counted


def entry_of_waivers(
    path: Path, file: str, held: Sequence[tuple[GateModel, GateAnswer]], today: date
) -> Entry | None:
    """Return what is wrong with the waivers of a file that none of the models they are held against needed.

    Where the models' policies differ on how grave that is, the gravest counts.
    """
    waivers = read_waivers(path.read_bytes(), path.name)
    uses = [
        WaiverUses(frozenset(gate_answer.needed), frozenset(gate_answer.told))
        for _, gate_answer in held
    ]
    waiver_faults = unused(waivers, uses, today)
    if not waiver_faults:
        return None
    packs = [load_pack(str(policy)) for policy in dict.fromkeys(model.policy for model, _ in held)]
    pack = max(packs, key=lambda each: SEVERITIES.index(each.waivers.unused))
    findings = findings_about(waivers.source, waiver_faults, pack.waivers)
    fail_on = min((model.fail_on for model, _ in held), key=SEVERITIES.index)
    is_broken = any(counts(finding.severity, fail_on) for finding in findings)
    number = counted(len(waiver_faults), "waiver is", "waivers are")
    return Entry(
        name=file,
        file=file,
        outcome="FAIL" if is_broken else "PASS",
        headline=f"{number} not needed by any model, or not valid",
        policy=pack.name,
        rules=tuple(_rule(finding, pack) for finding in findings),
        clauses=tuple(
            ClauseOutcome(
                clause=finding.clause,
                verdict="FAIL",
                severity=finding.severity,
                message=finding.message,
            )
            for finding in findings
        ),
        results=tuple(_result(finding) for finding in findings),
    )


def _rule(finding: Finding, pack: Pack) -> Rule:
    return Rule(
        clause=finding.clause,
        plain=ABOUT_WAIVERS,
        asks="",
        why="",
        source="",
        severity=finding.severity,
        policy=pack.name,
        version=pack.version,
    )


def _result(finding: Finding) -> Result:
    return Result(
        id=finding_id(finding.clause),
        clause=finding.clause,
        verdict="FAIL",
        severity=finding.severity,
        message=finding.message,
        leaf="",
        path="",
        node="",
        line=None,
    )
