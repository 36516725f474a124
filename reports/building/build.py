"""From an audit and its decision to the document that renderers print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.audit.claims.result import CLAIM_NOT_JUDGED, NO_CLAIM
from treewarden.audit.evidence import ONE_TREE, Evidence
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import Forest
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import NOT_BLAMED, Audit
from treewarden.policies.clause import atomic_parts
from treewarden.policies.judging import decision as decisions
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.figures import limit_text
from treewarden.policies.pack import Pack
from treewarden.policies.rules import rules
from treewarden.policies.verdict import FindingKind, PolicyVerdict
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.adversaries import (
    adversaries,
    leaf_cases,
    parameters,
    place_value,
    plain,
    readings,
)
from treewarden.reports.building.certain import blame_part, worlds_part
from treewarden.reports.building.facts import (
    ABOUT_WAIVERS,
    assumed_known,
    column_parts,
    knowledge,
    model,
    population,
    quoted_column,
    secret_steps,
    solver,
    untold,
)
from treewarden.reports.building.lessons import lessons, plots, tree_nodes
from treewarden.reports.building.story import Story, audit_story
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.document import (
    Document,
    Dropped,
    Policy,
    Provenance,
    finding_id,
    is_about_waivers,
)
from treewarden.reports.document.inferred_parts import (
    AttacksTried,
    BlamedNumbers,
    Claim,
    Ensemble,
    TriedAttack,
    Values,
)
from treewarden.reports.document.parts import (
    Accepted,
    AssumedKnown,
    Finding,
    Guidance,
    Piece,
    Place,
    Reading,
    UnjudgedClause,
    number,
)
from treewarden.reports.document.words import count

CONFIDENTIAL = (
    "Confidential: this report names groups, counts and true values of people in the table. Keep it with the table. "
    "To share results, use a redacted report."
)
COMBINED = "several requirements combined"
JUDGED = {
    "": "of the model as a whole",
    "model": "of the model as a whole",
    "leaf": "leaf by leaf",
    "profile": "group by group",
    "tree": "tree by tree",
}
OF_THE_FILE = (
    "Confidential until the model is published: this report contains nothing from a table, "
    "only numbers from the model's file."
)
ALONE = (
    "No table was given, so only the file was judged. Its numbers were not compared with "
    "a table, and checks that need the training table are not decided."
)
ABOUT_THE_EVIDENCE = "whether the file and the table can be believed"
ABOUT: Mapping[str, str] = {
    FindingKind.FACTS_AGREE: "whether the assumed knowledge agrees with the table",
    FindingKind.RELEASES_LINKED: "whether people can be matched across the tables of the releases",
}
ABOUT_THE_POLICY = "whether the policy covers what is to be judged"


def audit_document(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    purpose: str = "",
    command: str = "",
    assumed: AssumedKnown | None = None,
    *,
    draws_tree: bool = True,
) -> Document:
    """Return the report of an audit; ``purpose`` is what the model is to be published for, in its owner's words.

    ``command`` is how the model is repaired, as it is typed where the audit was asked for. ``assumed`` is what was
    assumed known, where another report of this audit has worked it out. Without ``draws_tree`` the report lists no
    nodes, for forms that show none.
    """
    evidence = audit.full.evidence
    title = f"Privacy audit of {evidence.source}"
    secret = quoted_column(audit, evidence.secret_name) if evidence.secret_name else ""
    story = audit_story(evidence, decision, command, untold(audit), secret)
    return document_of(
        audit,
        decision,
        provenance,
        kind="audit",
        title=title,
        story=story,
        purpose=purpose,
        assumed=assumed,
        draws_tree=draws_tree,
    )


def document_of(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    kind: str,
    title: str,
    story: Story,
    purpose: str,
    assumed: AssumedKnown | None = None,
    draws_tree: bool = True,
) -> Document:
    """Return the report of an audit or a repair, with its story."""
    exposure, pack = audit.full, decision.pack
    evidence = exposure.evidence
    cases, assumed = leaf_cases(evidence, decision), assumed or assumed_known(audit)
    ensemble, values = _of_several(evidence)
    shown_readings, coverage = readings(audit), evidence.records.coverage
    return Document(
        kind="repair" if kind == "repair" else "audit",
        confidential=OF_THE_FILE if evidence.population.is_absent else CONFIDENTIAL,
        title=title,
        purpose=purpose,
        verdict=word(decision.verdict),
        headline=story.headline,
        meaning=story.meaning,
        next_steps=(*story.next_steps, *secret_steps(assumed)),
        lessons=lessons(audit),
        findings=tuple(map(finding_part, decision.findings)),
        fail_on=decision.fail_on,
        not_judged=tuple(_unjudged_clauses(decision)),
        assumed_known=assumed,
        basis="file" if evidence.population.is_absent else "table",
        rests_on=ALONE if evidence.population.is_absent else "",
        unlimited=proved_unlimited(decision, shown_readings),
        rebuilt_domain="" if coverage is None else f"The public domain was {coverage.words}.",
        leaves=cases.told,
        leaves_broken=cases.number,
        readings=shown_readings,
        solver=solver(exposure, len(audit.dropped)),
        population=population(evidence),
        model=model(evidence),
        knowledge=knowledge(evidence, audit.dropped),
        policy=policy_part(pack),
        dropped=_dropped(audit),
        warnings=audit.warnings,
        tree=tree_nodes(evidence, decision) if draws_tree else (),
        plots=plots(audit.primary_exposure, decision),
        worlds=worlds_part(evidence) if asks_worlds(evidence) and not audit.secret else None,
        ensemble=ensemble,
        values=values,
        blame=_blame(audit, evidence.forest),
        attacks=_attacks(audit, provenance),
        adversaries=adversaries(audit, decision),
        columns=column_parts(audit),
        claims=_claims(audit, pack),
        provenance=provenance,
    )


def _dropped(audit: Audit) -> tuple[Dropped, ...]:
    """Return the rows that the table breaks."""
    return tuple(
        Dropped(
            constraint=dropped_row.constraint,
            where=dropped_row.where,
            problem=dropped_row.problem,
            is_published=dropped_row.is_published,
        )
        for dropped_row in audit.dropped
    )


def _of_several(evidence: Evidence) -> tuple[Ensemble | None, Values | None]:
    """Return what several trees, and models that predict a number, prove; None where it is not asked."""
    asks = asks_together(evidence), asks_values(evidence)
    if not any(asks):
        return None, None
    from treewarden.reports.building.ensembles import ensemble_part, values_part  # as it says

    return ensemble_part(evidence) if asks[0] else None, values_part(evidence) if asks[1] else None


def _claims(audit: Audit, pack: Pack) -> tuple[Claim, ...]:
    """Return what came of claims of differential privacy; none where nothing is claimed."""
    if audit.full.evidence.claim in (NO_CLAIM, CLAIM_NOT_JUDGED):
        return ()
    from treewarden.reports.building.claims import claim_parts  # where something is claimed

    return claim_parts(audit, pack)


def _attacks(audit: Audit, provenance: Provenance) -> AttacksTried | None:
    """Return what attacks by trial found; None where none was asked for."""
    if not audit.attacks:
        return None
    asked = None if provenance.asked is None else provenance.asked.options.get("attack")
    return AttacksTried(
        estimator=str(asked or ""),
        results=tuple(
            TriedAttack(
                name=result.name,
                metrics={name: number(round(each, 6)) for name, each in result.metrics.items()},
            )
            for result in audit.attacks
        ),
        sentences=(
            (
                "Attacks give lower bounds and do not count for the verdict: what they miss "
                "is not safe. Compare them with the proofs (membership_proved) and the exact "
                "posterior (membership_advantage)."
            ),
            *(
                f"{result.name}: "
                + ", ".join(f"{n} {each:.3f}" for n, each in result.metrics.items())
                for result in audit.attacks
            ),
        ),
    )


def _blame(audit: Audit, forest: Forest) -> BlamedNumbers | None:
    """Return which numbers prove people's values; None where nobody asked."""
    if audit.blame is NOT_BLAMED:
        return None

    return blame_part(audit.blame, forest)


def policy_part(pack: Pack) -> Policy:
    """Return the pack as documents name it."""
    return Policy(
        name=pack.name,
        version=pack.version,
        title=pack.title,
        description=pack.description,
        sha256=pack.digest,
        extends=tuple(f"{base.name} {base.version}" for base in pack.bases),
    )


def asks_worlds(evidence: Evidence) -> bool:
    """Return whether whole records can be reasoned over: of a tree, or of trees whose leaves say who is in them."""
    if evidence.population.is_absent or evidence.task is Task.REGRESSION:
        return False
    return not asks_together(evidence) or not isinstance(evidence.together, Undetermined)


def asks_together(evidence: Evidence) -> bool:
    """Return whether there are several trees whose leaves could prove something of people together.

    Of numbers the part about values says that, and only what each of several releases adds is told beside it.
    """
    has_several = evidence.forest.is_ensemble or evidence.together is not ONE_TREE
    is_told = evidence.task is not Task.REGRESSION or evidence.is_of_several
    return has_several and not evidence.population.is_absent and is_told


def asks_values(evidence: Evidence) -> bool:
    """Return whether leaves could prove something of people's numbers."""
    return evidence.task is Task.REGRESSION and not evidence.population.is_absent


def finding_part(finding: decisions.Finding) -> Finding:
    """Return what came of a clause as documents hold it."""
    requirement, limit = finding.requirement, finding.requirement.limit
    return Finding(
        clause=finding.clause,
        measure=requirement.measure,
        parameters=parameters(requirement.parameters),
        plain=_plain(finding),
        rule=requirement.rule,
        limit=None if limit is None else number(limit),
        limit_text=_limit_text(requirement.rule, limit, requirement.unit)
        if limit is not None
        else _asks(finding),
        unit=requirement.unit,
        value=value(finding.reading, requirement.unit, limit),
        verdict=word(finding.verdict),
        severity=finding.severity,
        message=finding.message,
        why=finding.why,
        source=finding.source,
        id=finding_id(finding.key),
        accepted=_accepted(finding.accepted),
        guidance=tuple(
            Guidance(document=guidance.document, paragraph=guidance.paragraph, says=guidance.says)
            for guidance in finding.guidance
        ),
        where=tuple(
            Place(
                kind=place.kind,
                path=place.path,
                node=place.name,
                index=place.index,
                line=place.line,
                profile=place.profile,
                value=place_value(finding, place),
                note="" if finding.is_combined else place.note,
                tree=place.tree,
                id=finding_id(finding.key, place.leaf),
                leaf=place.leaf,
                accepted=_accepted(place.accepted),
            )
            for place in finding.places
        ),
        scope=requirement.scope,
        under=requirement.under,
        of=finding.of,
        parts=tuple(map(_piece, finding.pieces)),
    )


def _piece(piece: decisions.ClausePiece) -> Piece:
    atom = piece.atom
    unit = measures()[atom.call.measure].unit
    return Piece(
        measure=atom.call.measure,
        parameters=parameters(atom.call.parameters),
        plain=plain(atom.call),
        rule=atom.rule,
        limit=number(atom.limit),
        limit_text=_limit_text(atom.rule, atom.limit, unit),
        unit=unit,
        value=value(piece.reading, unit, atom.limit),
        verdict=word(piece.verdict),
    )


def _unjudged_clauses(decision: Decision) -> Iterator[UnjudgedClause]:
    """Yield the clauses that do not apply, each with what it would measure."""
    pack = decision.pack
    left_out = {row.id: row.clause for row in pack.dropped if row.clause is not None}
    clauses = left_out | {clause.id: clause for clause in pack.clauses}
    for name, why in decision.not_judged:
        atoms = clauses[name].atoms if name in clauses else ()
        words = dict.fromkeys(plain(atom.call) for atom in atoms)
        yield UnjudgedClause(name=name, text=why, plain="; ".join(words))


def _plain(finding: decisions.Finding) -> str:
    if finding.clause == FindingKind.NOTHING_JUDGED:
        return ABOUT_THE_POLICY
    if finding.is_about_evidence:
        is_waivers = is_about_waivers(finding.clause, finding.requirement.measure)
        if finding.clause in ABOUT:
            return ABOUT[finding.clause]
        return ABOUT_WAIVERS if is_waivers else ABOUT_THE_EVIDENCE
    if finding.is_combined:
        return f"{COMBINED}, {JUDGED[finding.requirement.scope]}"
    return plain(finding.requirement.call)


def _asks(finding: decisions.Finding) -> str:
    return finding.requirement.asks if finding.is_combined else "–"


def _limit_text(rule: str, limit: float, unit: str) -> str:
    return limit_text(rules()[rule].words, limit, unit)


def _accepted(accepted: decisions.Accepted | None) -> Accepted | None:
    return None if accepted is None else Accepted(by=accepted.by, reason=accepted.reason)


# What a file proves although the policy that it passes has no check on it: said beside the verdict.

LIMITED_BY = {
    "certain_disclosure": frozenset({"certain_disclosure", "certain_in_small_groups"}),
    "membership_proved": frozenset({"membership_proved"}),
}
"""Metrics that count proved people, and those whose checks limit that."""
WORDS = {
    "certain_disclosure": ("the value of {}", "follows from the file with certainty"),
    "membership_proved": ("for {}", "the file proves that they are in the table"),
}


def proved_unlimited(decision: Decision, readings: Mapping[str, Reading]) -> str:
    """Return what is proved, or may be, of people although no check of a policy that passes limits it; "" for nothing.

    ``readings`` are those of the report, by the name of their metric.
    """
    if decision.verdict is not PolicyVerdict.PASS:
        return ""
    return " ".join(_sentences(decision, readings))


def _sentences(decision: Decision, readings: Mapping[str, Reading]) -> Iterator[str]:
    unjudged = {clause for clause, _ in decision.not_judged}
    asked = {
        atom.measure
        for clause in decision.pack.clauses
        if clause.id not in unjudged
        for atom in atomic_parts(clause)
    }
    for measure, limiting in LIMITED_BY.items():
        reading = readings.get(measure)
        if limiting & asked or reading is None:
            continue
        low, high = (
            end if isinstance(end, int | float) else 0 for end in (reading.low, reading.high)
        )
        what, verb = WORDS[measure]
        if low > 0:
            yield f"No check of this policy limits what is proved: {what.format(_people(low))} {verb}."
        elif high > 0:
            yield (
                "No check of this policy limits what is proved. It is not decided whether "
                f"{what.format(f'up to {_people(high)}')} {verb}."
            )


def _people(number: float) -> str:
    return f"{count(number)} {'person' if number == 1 else 'people'}"
