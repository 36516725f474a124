"""From an audit and its decision, or a repair, to the document that renderers print."""

from __future__ import annotations

from treewarden.audit.evidence import ONE_TREE, Evidence
from treewarden.audit.measures import MeasureCall, measures
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging import decision as decisions
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.figures import figure
from treewarden.policies.pack import Pack
from treewarden.policies.repairing.attempts import Repair
from treewarden.policies.rules import rules
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.acceptance import ABOUT_WAIVERS
from treewarden.reports.building.adversaries import adversaries
from treewarden.reports.building.assumed import knowledge, untold
from treewarden.reports.building.assumed_columns import assumed_known, secret_steps
from treewarden.reports.building.cases import MOST_CASES, leaf_cases
from treewarden.reports.building.certain import worlds_part
from treewarden.reports.building.compare import repair_part
from treewarden.reports.building.facts import model, population, solver
from treewarden.reports.building.lessons import lessons
from treewarden.reports.building.nodes import tree_nodes
from treewarden.reports.building.numbers import values_part
from treewarden.reports.building.series import plots
from treewarden.reports.building.story import Story, audit_story, repair_story
from treewarden.reports.building.together import ensemble_part
from treewarden.reports.building.values import parameters, place_value, plain, readings
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.document import Document, Dropped, Policy, Provenance
from treewarden.reports.document.naming import finding_id, is_about_waivers
from treewarden.reports.document.parts import (
    Accepted,
    AssumedKnown,
    Finding,
    Guidance,
    Piece,
    Place,
    Row,
    number,
)

CONFIDENTIAL = (
    "Confidential: this report names profiles, counts and true values of people in the table. Keep it with the table; "
    "--redacted writes one without them."
)
COMBINED = "several demands together"
JUDGED = {
    "": "of the model as a whole",
    "model": "of the model as a whole",
    "leaf": "leaf by leaf",
    "profile": "profile by profile",
    "tree": "tree by tree",
}
OF_THE_FILE = (
    "Confidential until the model is published: this report holds nothing of a table, and what it counts stands in the "
    "model's file."
)
ALONE = (
    "No table was given: this rests on the file alone. What its own numbers prove was judged; whether they are true of "
    "the people was not checked; every demand that needs people is undecided."
)
ABOUT_THE_EVIDENCE = "whether the file and the table can be believed"
ABOUT = {
    decisions.FACTS_AGREE: "whether what the adversary is said to know is true of the table",
    decisions.RELEASES_LINKED: "whether it is known who is who in the tables of the releases",
}
ABOUT_THE_POLICY = "whether the policy asks what is to be judged"


def audit_document(
    audit: Audit,
    decision: Decision,
    provenance: Provenance,
    purpose: str = "",
    command: str = "",
    assumed: AssumedKnown | None = None,
) -> Document:
    """Return the report of an audit; ``purpose`` is what the model is to be published for, in its owner's words.

    ``command`` is how the model is repaired, as it is typed where the audit was asked for. ``assumed`` is what was
    assumed known, where another report of this audit has worked it out.
    """
    evidence = audit.full.evidence
    title = f"Privacy audit of {evidence.source}"
    story = audit_story(evidence, decision, command, untold(audit))
    return _document(audit, decision, provenance, "audit", title, story, purpose, assumed)


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
    assumed: AssumedKnown | None = None,
) -> Document:
    exposure, pack = audit.full, decision.pack
    evidence = exposure.evidence
    cases, assumed = leaf_cases(evidence, decision), assumed or assumed_known(audit)
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
        not_judged=tuple(Row(name=name, text=why) for name, why in decision.not_judged),
        assumed_known=assumed,
        basis="file" if evidence.population.is_absent else "table",
        rests_on=ALONE if evidence.population.is_absent else "",
        leaves=cases[:MOST_CASES],
        leaves_broken=len(cases),
        readings=readings(audit),
        solver=solver(exposure, len(audit.dropped)),
        population=population(evidence),
        model=model(evidence),
        knowledge=knowledge(evidence, audit.dropped),
        policy=policy_part(pack),
        dropped=tuple(
            Dropped(
                constraint=each.constraint,
                where=each.where,
                problem=each.problem,
                is_published=each.is_published,
            )
            for each in audit.dropped
        ),
        warnings=audit.warnings,
        tree=tree_nodes(evidence, decision),
        plots=plots(audit.told, decision),
        worlds=worlds_part(evidence) if asks_worlds(evidence) and not audit.secret else None,
        ensemble=ensemble_part(evidence) if asks_together(evidence) else None,
        values=values_part(evidence) if asks_values(evidence) else None,
        adversaries=adversaries(audit, decision),
        provenance=provenance,
    )


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


def finding_part(found: decisions.Finding) -> Finding:
    """Return what came of a clause as documents hold it."""
    is_clause = found.limit is not None
    limit = found.limit
    return Finding(
        clause=found.clause,
        measure=found.measure,
        parameters=parameters(found.parameters),
        plain=_plain(found),
        rule=found.rule,
        limit=None if limit is None else number(limit),
        limit_text=_limit_text(found.rule, limit, found.unit)
        if limit is not None
        else _asks(found),
        unit=found.unit,
        value=value(found.reading, found.unit, limit if is_clause else None),
        verdict=word(found.verdict),
        severity=found.severity,
        message=found.message,
        why=found.why,
        source=found.source,
        id=finding_id(found.key),
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
                value=place_value(found, place),
                note="" if found.is_combined else place.note,
                tree=place.tree,
                id=finding_id(found.key, place.leaf),
                leaf=place.leaf,
                accepted=_accepted(place.accepted),
            )
            for place in found.places
        ),
        scope=found.scope,
        under=found.under,
        of=found.of,
        parts=tuple(map(_piece, found.pieces)),
    )


def _piece(found: decisions.Piece) -> Piece:
    atom = found.atom
    unit = measures()[atom.call.measure].unit
    return Piece(
        measure=atom.call.measure,
        parameters=parameters(atom.call.parameters),
        plain=plain(atom.call),
        rule=atom.rule,
        limit=number(atom.limit),
        limit_text=_limit_text(atom.rule, atom.limit, unit),
        unit=unit,
        value=value(found.reading, unit, atom.limit),
        verdict=word(found.verdict),
    )


def _plain(found: decisions.Finding) -> str:
    if found.clause == decisions.NOTHING_JUDGED:
        return ABOUT_THE_POLICY
    if found.is_about_evidence:
        is_waivers = is_about_waivers(found.clause, found.measure)
        if found.clause in ABOUT:
            return ABOUT[found.clause]
        return ABOUT_WAIVERS if is_waivers else ABOUT_THE_EVIDENCE
    if found.is_combined:
        return f"{COMBINED}, {JUDGED[found.scope]}"
    return plain(MeasureCall(found.measure, found.parameters))


def _asks(found: decisions.Finding) -> str:
    return found.asks if found.is_combined else "–"


def _limit_text(rule: str, limit: float, unit: str) -> str:
    return f"{rules()[rule].words} {figure(limit, unit)}"


def _accepted(found: decisions.Accepted | None) -> Accepted | None:
    return None if found is None else Accepted(by=found.by, reason=found.reason)
