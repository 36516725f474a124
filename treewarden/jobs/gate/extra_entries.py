"""Entries of a gate beside its audits: model files that no ``[[model]]`` covers, and waivers that no model needs.

Loaded where there is a file that may be a model (the formats say whether it is one), or a file of waivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from treewarden.jobs.gate.gate_job import GateAnswer
from treewarden.jobs.gate.model_files import CandidateFile, bytes_of
from treewarden.jobs.gate.models import GateModel
from treewarden.policies.exceptions.apply_waivers import findings_about, unused
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.policies.judging.decision import Finding, WaiverUses
from treewarden.policies.pack import Pack, load_pack
from treewarden.policies.verdict import SEVERITIES, counts
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import read_bytes, sniffed
from treewarden.ppdm_models.unsupported_files import model_advice, unpacked_start
from treewarden.reports.building.entry import unaudited
from treewarden.reports.building.facts import ABOUT_WAIVERS
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.gate import ClauseOutcome, Entry, Result, Rule
from treewarden.reports.document.words import counted

MOST_ENTRIES = 200
"""So many files have an entry of their own; one more entry counts the rest."""


@dataclass(frozen=True, slots=True)
class UncoveredModel:
    """A model file that no entry covers; ``problem`` says why treewarden cannot read it, "" where it can."""

    file: str
    problem: str = ""


def uncovered_models(files: Iterable[CandidateFile]) -> Iterator[UncoveredModel]:
    """Yield those of some files that are models."""
    for candidate in files:
        uncovered_model = _uncovered_model(candidate)
        if uncovered_model is not None:
            yield uncovered_model


def entries_of(models: Iterable[UncoveredModel], configuration: str) -> tuple[Entry, ...]:
    """Return an entry with NO AUDIT for each of them; ``configuration`` is the name of its file."""
    listed = list(models)
    entries = [
        unaudited(model.file, model.file, _problem(model, configuration))
        for model in listed[:MOST_ENTRIES]
    ]
    if listed[MOST_ENTRIES:]:
        number = counted(len(listed) - MOST_ENTRIES, "more model file", "more model files")
        problem = f"no entry covers {number}; configure them, or ignore their folders"
        entries.append(unaudited(f"{configuration} ({number})", configuration, problem))
    return tuple(entries)


def not_all_looked_at(configuration: str, most: int) -> Entry:
    """Return the entry which says that a folder holds too many files to look at all of them."""
    problem = (
        f"its folder has more than {most:,} files, so not all were searched for models; list folders without models: "
        'ignore = ["FOLDER"]'
    )
    return unaudited(f"{configuration} (files)", configuration, problem)


def _uncovered_model(candidate: CandidateFile) -> UncoveredModel | None:
    path = candidate.path
    if path.is_dir():
        try:
            read_bytes(path)
        except TreewardenError as error:
            return UncoveredModel(candidate.file, error.problem)
        return UncoveredModel(candidate.file)
    data = bytes_of(path)
    advice = model_advice(data, path.name)
    if candidate.is_certain and advice:
        return UncoveredModel(candidate.file, advice)
    if sniffed(data) or sniffed(unpacked_start(data)):
        return UncoveredModel(candidate.file)
    if candidate.is_certain:
        return UncoveredModel(candidate.file, "not a format that treewarden can read")
    return None


def _problem(model: UncoveredModel, configuration: str) -> str:
    start = f"not listed in {configuration}"
    if not model.problem:
        advice = (
            "run treewarden gate --init --update and fill in what its entry lacks, or list what "
            "needs no audit under ignore"
        )
        return f"{start}; {advice}"
    problem = model.problem.rstrip(".")
    advice = "or list it under ignore"
    if "; " not in problem:
        advice = "export it in a format of docs/formats.md, or list it under ignore"
    return f"{start}, and cannot be read: {problem}; {advice}"


def entry_of_waivers(
    path: Path, file: str, answers: Sequence[tuple[GateModel, GateAnswer]], today: date
) -> Entry | None:
    """Return what is wrong with the waivers of a file that none of the models they are held against needed.

    Where the models' policies differ on how grave that is, the gravest counts.
    """
    waivers = read_waivers(path.read_bytes(), path.name)
    uses = [
        WaiverUses(frozenset(gate_answer.needed), frozenset(gate_answer.told))
        for _, gate_answer in answers
    ]
    waiver_faults = unused(waivers, uses, today)
    if not waiver_faults:
        return None
    packs = [
        load_pack(str(policy)) for policy in dict.fromkeys(model.policy for model, _ in answers)
    ]
    pack = max(packs, key=lambda entry: SEVERITIES.index(entry.waivers.unused))
    findings = findings_about(waivers.source, waiver_faults, pack.waivers)
    fail_on = min((model.fail_on for model, _ in answers), key=SEVERITIES.index)
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
