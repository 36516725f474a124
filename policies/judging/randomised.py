"""What a policy says of a table of noisy records: its clauses about noise are judged, and no other ever passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.measures import NO_MODEL, measured_of_noise
from treewarden.audit.randomised.result import Randomisation
from treewarden.audit.reading import Reading, Spot
from treewarden.policies.clause import Clause, Pack
from treewarden.policies.judging.combining import whole_verdict
from treewarden.policies.judging.decision import NOTHING_JUDGED, Decision, Finding, Place
from treewarden.policies.judging.finding import breaking, doubt, loosened, of_atom, of_parts
from treewarden.policies.judging.held import Held, counted
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict, worst

OF_PLACES = ("leaf", "profile", "tree")


def judge_randomised(randomised: Randomisation, pack: Pack) -> Decision:
    """Return the verdict of a pack on a table of noisy records, and why.

    A clause that says for which models it is does not apply. Any other clause about models is undetermined: there is
    none. Where nothing that counts applies, the verdict is no better than undetermined.
    """
    asked = [clause for clause in pack.clauses if clause.when is None]
    findings = tuple(_finding(randomised, clause) for clause in asked)
    not_judged = [
        (clause.id, "it is about models of a kind, and a table of noisy records is judged")
        for clause in pack.clauses
        if clause.when is not None
    ]
    not_judged += [(each.id, f"left out by this policy: {each.reason}") for each in pack.dropped]
    counting = [
        found.verdict for clause, found in zip(asked, findings, strict=True) if pack.counts(clause)
    ]
    if not counting:
        findings = (_nothing(randomised, pack), *findings)
        counting = [Verdict.UNDETERMINED]
    return Decision(worst(counting), findings, pack, pack.fail_on, tuple(not_judged))


def _finding(randomised: Randomisation, clause: Clause) -> Finding:
    taken = {atom.call: measured_of_noise(atom.call, randomised) for atom in clause.atoms}
    readings: list[Reading] = [taken[atom.call].reading for atom in clause.atoms]
    if clause.scope in OF_PLACES or clause.under is not None:
        readings = [NO_MODEL for _ in readings]
    told = {atom.call: reading for atom, reading in zip(clause.atoms, readings, strict=True)}
    places: tuple[Place, ...] = ()
    if clause.is_combined:
        verdict = whole_verdict(clause, lambda atom: told[atom.call])
        found = Held(verdict, counted(np.array([verdict], dtype=np.intp), readings))
        made = of_parts(clause, found, readings, places)
    else:
        reading = readings[0]
        verdict = rules()[clause.atom.rule].judge(reading, clause.atom.limit)
        if reading is not NO_MODEL:
            places = tuple(map(_place, breaking(clause, taken[clause.atom.call])))
        made = of_atom(clause, Held(verdict, reading), places)
    return replace(
        made,
        why=" ".join([*([clause.why] if clause.why else []), *loosened(clause)]),
        guidance=clause.guidance,
        scope=clause.scope or "",
        under=clause.under_words,
    )


def _place(spot: Spot) -> Place:
    return Place("column", spot.index, 0, spot.note, "", "", None, spot.low, spot.high, "")


def _nothing(randomised: Randomisation, pack: Pack) -> Finding:
    reason = (
        f"no clause of the policy that counts is about {randomised.source}, so nothing was shown of it; "
        f"clauses of severity {pack.fail_on} or graver count; choose a policy that is about such tables"
    )
    return doubt(NOTHING_JUDGED, reason)
