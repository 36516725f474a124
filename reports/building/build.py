"""From an audit and its decision, or a repair, to the document that renderers print."""

from __future__ import annotations

from audit.evidence import Evidence
from audit.measures import MeasureCall
from audit.reading import Interval
from audit.result import Audit
from policies.judging import decision as decisions
from policies.judging.decision import Decision
from policies.judging.figures import figure
from policies.repairing.attempts import Repair
from policies.rules import rules
from ppdm_models.tree.tree import Task
from reports.building.assumed import knowledge
from reports.building.cases import MOST_CASES, leaf_cases
from reports.building.certain import worlds_part
from reports.building.compare import repair_part
from reports.building.facts import model, population, solver
from reports.building.lessons import lessons
from reports.building.nodes import tree_nodes
from reports.building.series import plots
from reports.building.story import Story, audit_story, repair_story
from reports.building.values import parameters, plain, readings, value, word
from reports.document.document import Document, Dropped, Policy, Provenance
from reports.document.parts import Accepted, Finding, Guidance, Place, Row, number

CONFIDENTIAL = (
    "Confidential: this report names profiles, counts and true values of people in the table. Keep it with the table; "
    "--redacted writes one without them."
)
ABOUT_THE_EVIDENCE = "whether the file and the table can be believed"


def audit_document(
    audit: Audit, decision: Decision, provenance: Provenance, purpose: str = ""
) -> Document:
    """Return the report of an audit; ``purpose`` is what the model is to be published for, in its owner's words."""
    evidence = audit.full.evidence
    title = f"Privacy audit of {evidence.source}"
    story = audit_story(evidence, decision)
    return _document(audit, decision, provenance, "audit", title, story, purpose)


def repair_document(repair: Repair, provenance: Provenance, purpose: str = "") -> Document:
    """Return the report of a repair: on the model that is written, else on the model as it was given."""
    audit, decision = repair.audit, repair.decision
    best = repair.applied
    if best is not None and best.audit is not None and best.decision is not None:
        audit, decision = best.audit, best.decision
    title, story = f"Repair of {repair.audit.full.evidence.source}", repair_story(repair)
    document = _document(audit, decision, provenance, "repair", title, story, purpose)
    return document.model_copy(update={"repair": repair_part(repair)})


def _document(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    kind: str,
    title: str,
    story: Story,
    purpose: str,
) -> Document:
    exposure, pack = audit.full, decision.pack
    evidence = exposure.evidence
    cases = leaf_cases(evidence, decision)
    return Document(
        kind="repair" if kind == "repair" else "audit",
        confidential=CONFIDENTIAL,
        title=title,
        purpose=purpose,
        verdict=word(decision.verdict),
        headline=story.headline,
        meaning=story.meaning,
        next_steps=story.next_steps,
        lessons=lessons(exposure),
        findings=tuple(_finding(finding) for finding in decision.findings),
        fail_on=decision.fail_on,
        not_judged=tuple(Row(name=name, text=why) for name, why in decision.not_judged),
        leaves=cases[:MOST_CASES],
        leaves_broken=len(cases),
        readings=readings(exposure),
        solver=solver(exposure),
        population=population(evidence),
        model=model(evidence),
        knowledge=knowledge(evidence),
        policy=Policy(
            name=pack.name,
            version=pack.version,
            title=pack.title,
            description=pack.description,
            sha256=pack.digest,
        ),
        dropped=tuple(
            Dropped(
                constraint=each.constraint,
                where=each.where,
                problem=each.problem,
                is_published=each.is_published,
            )
            for each in exposure.dropped
        ),
        warnings=audit.warnings,
        tree=tree_nodes(evidence, decision),
        plots=plots(exposure, decision),
        worlds=worlds_part(evidence) if asks_worlds(evidence) else None,
        provenance=provenance,
    )


def asks_worlds(evidence: Evidence) -> bool:
    """Return whether whole records can be reasoned over at all: for a single tree that tells classes."""
    return not evidence.forest.is_ensemble and evidence.task is not Task.REGRESSION


def _finding(found: decisions.Finding) -> Finding:
    is_clause = found.limit is not None
    limit = found.limit
    return Finding(
        clause=found.clause,
        measure=found.measure,
        parameters=parameters(found.parameters),
        plain=plain(MeasureCall(found.measure, found.parameters))
        if found.measure
        else ABOUT_THE_EVIDENCE,
        rule=found.rule,
        limit=None if limit is None else number(limit),
        limit_text=f"{rules()[found.rule].words} {figure(limit, found.unit)}"
        if limit is not None
        else "–",
        unit=found.unit,
        value=value(found.reading, found.unit, limit if is_clause else None),
        verdict=word(found.verdict),
        severity=found.severity,
        message=found.message,
        why=found.why,
        source=found.source,
        id=decisions.finding_id(found.clause),
        accepted=_accepted(found.accepted),
        guidance=tuple(
            Guidance(document=each.document, paragraph=each.paragraph, says=each.says)
            for each in found.guidance
        ),
        where=tuple(
            Place(
                kind=place.kind,
                path=place.path,
                node=place.name,
                index=place.index,
                line=place.line,
                profile=place.profile,
                value=value(Interval(place.low, place.high), found.unit, limit),
                note=place.note,
                tree=place.tree,
                id=decisions.finding_id(found.clause, place.leaf),
                leaf=place.leaf,
                accepted=_accepted(place.accepted),
            )
            for place in found.places
        ),
    )


def _accepted(found: decisions.Accepted | None) -> Accepted | None:
    return None if found is None else Accepted(by=found.by, reason=found.reason)
