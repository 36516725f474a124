"""A policy's findings on a table of noisy records: its clauses about noise are judged, and no other ever passes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.measures import NO_MODEL, measured_of_noise
from treewarden.audit.reading import Reading, Spot
from treewarden.policies.clause import Clause, Pack
from treewarden.policies.judging.clause_evaluation import (
    ClauseEvaluation,
    counted,
    whole_verdict,
)
from treewarden.policies.judging.decision import (
    Decision,
    Finding,
    Location,
)
from treewarden.policies.judging.finding import breaking, doubt, loosened, of_atom, of_parts
from treewarden.policies.rules import rules
from treewarden.policies.verdict import FindingKind, PolicyVerdict, worst

if TYPE_CHECKING:
    from treewarden.audit.randomised.result import Randomisation


OF_PLACES = ("leaf", "profile", "tree")


def judge_randomised(randomised: Randomisation, pack: Pack) -> Decision:
    """Return the verdict of a pack on a table of noisy records, and why.

    A clause that says for which models it is does not apply. Any other clause about models is undetermined: there is
    none. Where nothing that counts applies, the verdict is no better than undetermined.
    """
    clauses = [clause for clause in pack.clauses if clause.when is None]
    findings = tuple(_finding(randomised, clause) for clause in clauses)
    not_judged = [
        (clause.id, "applies to models only; this is a table of noisy records")
        for clause in pack.clauses
        if clause.when is not None
    ]
    not_judged += [(each.id, f"left out by this policy: {each.reason}") for each in pack.dropped]
    counting = [
        finding.verdict
        for clause, finding in zip(clauses, findings, strict=True)
        if pack.counts(clause)
    ]
    if not counting:
        findings = (_nothing(randomised, pack), *findings)
        counting = [PolicyVerdict.UNDETERMINED]
    return Decision(worst(counting), findings, pack, pack.fail_on, tuple(not_judged))


def _finding(randomised: Randomisation, clause: Clause) -> Finding:
    measurements = {atom.call: measured_of_noise(atom.call, randomised) for atom in clause.atoms}
    readings: list[Reading] = [measurements[atom.call].reading for atom in clause.atoms]
    if clause.scope in OF_PLACES or clause.under is not None:
        readings = [NO_MODEL for _ in readings]
    told = {atom.call: reading for atom, reading in zip(clause.atoms, readings, strict=True)}
    places: tuple[Location, ...] = ()
    if clause.is_combined:
        verdict = whole_verdict(clause, lambda atom: told[atom.call])
        clause_evaluation = ClauseEvaluation(
            verdict, counted(np.array([verdict], dtype=np.intp), readings)
        )
        finding = of_parts(clause, clause_evaluation, readings, places)
    else:
        reading = readings[0]
        verdict = rules()[clause.atom.rule].judge(reading, clause.atom.limit)
        if reading is not NO_MODEL:
            places = tuple(map(_noise_place, breaking(clause, measurements[clause.atom.call])))
        finding = of_atom(clause, ClauseEvaluation(verdict, reading), places)
    return replace(
        finding,
        why=" ".join([*([clause.why] if clause.why else []), *loosened(clause)]),
        guidance=clause.guidance,
    )


def _noise_place(spot: Spot) -> Location:
    return Location(
        kind="column",
        index=spot.index,
        node=0,
        name=spot.note,
        path="",
        profile="",
        line=None,
        low=spot.low,
        high=spot.high,
        note="",
    )


def _nothing(randomised: Randomisation, pack: Pack) -> Finding:
    reason = (
        f"no required check of the policy applies to {randomised.source}, so nothing was decided about it "
        f"(required: severity {pack.fail_on} or higher); choose a policy for such tables"
    )
    return doubt(FindingKind.NOTHING_JUDGED, reason)
