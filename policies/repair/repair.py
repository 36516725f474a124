"""Searches for a change that lets a model pass: each proposal is audited and judged like the original."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge, out_of_reach
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.repair.attempts import RepairAttempt, RepairSearch, SearchEnd, order
from treewarden.policies.repair.search import (
    AuditAll,
    Found,
    Glance,
    RemedySearch,
    Tell,
    Trial,
    to_nobody,
)
from treewarden.policies.repair.utility import NO_LIMIT, Deadline, RepairResources
from treewarden.policies.verdict import PolicyVerdict, capital
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tables.taxonomy import fitting
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import Tree

# What came of a search for a repair, in words.


def doubts(decision: Decision) -> bool:
    """Return whether the evidence itself is in doubt, so that no change of the tree can lead to a pass."""
    return any(finding.is_about_evidence for finding in decision.findings)


def message(
    whole: str,
    decision: Decision,
    attempts: Sequence[RepairAttempt],
    recommended: RepairAttempt | None,
    nearest: RepairAttempt | None,
    refusals: Sequence[NoProposal],
    ended: SearchEnd,
) -> str:
    """Return what came of the search; ``whole`` is what the model is called."""
    if decision.verdict is PolicyVerdict.PASS:
        return f"The {whole} passes as it is; nothing needs to change."
    if doubts(decision):
        doubt = next(finding for finding in decision.findings if finding.is_about_evidence)
        return f"No change to the {whole} can help. {doubt.message}"
    if recommended is not None:
        found = f"This change passes ({recommended.name}): {recommended.title}."
        return " ".join([found, *_early(attempts, ended)])
    if nearest is None and ended is not SearchEnd.DONE:
        said = ["No change was found that passes.", *_early(attempts, ended)]
    elif nearest is None:
        said = [f"There is no change to try for this {whole}. Failed checks:"]
        said += [finding.message for finding in decision.failing]
    else:
        said = ["No change that was tried passes.", *_early(attempts, ended)]
        said += [f"Nearest: {nearest.title} ({nearest.name}).", *_lacks(nearest)]
        return " ".join(said)
    reasons = dict.fromkeys(refusal.reason for refusal in refusals)
    said += [f"{capital(reason)}." for reason in reasons]
    return " ".join(said)


def _lacks(nearest: RepairAttempt) -> Iterator[str]:
    """Yield which checks an attempt does not pass, without their figures, and once why some are not decided."""
    names = dict.fromkeys(finding.message.partition(":")[0] for finding in nearest.failing)
    if not names:
        yield f"It could not be audited in full: {nearest.problem}."
        return
    yield f"Checks that it does not pass: {'; '.join(names)}."
    readings = [finding.reading for finding in nearest.failing]
    why = next((reading.reason for reading in readings if isinstance(reading, Undetermined)), "")
    if why:
        yield f"{'Not' if len(names) == 1 else 'Some are not'} decided, because {why}."


def _early(attempts: Sequence[RepairAttempt], ended: SearchEnd) -> list[str]:
    """Return why the search is not complete, if so, and how many changes were left."""
    if ended is SearchEnd.DONE:
        return []
    left = sum(not attempt.is_tried for attempt in attempts)
    changes = f"{left} {'change was' if left == 1 else 'changes were'} not tried"
    why = "was interrupted" if ended is SearchEnd.INTERRUPTED else "ran out of time"
    more = "" if ended is SearchEnd.INTERRUPTED else "; a larger --time-limit may find more"
    return [f"The search {why}: {changes}{more}."]


# How to train a boosted model again, where no change of the file suffices or along with one: settings, with figures.
#
# Figures of this model are those that the search measured: how many people the first rounds alone settle. All others
# are of the study (docs/engineering/studies/ensembles.md) and say so; where nothing was measured, no figure is given.

DROPPED = "drop_trees"
STUDY = (
    "in the study of published ensembles (German credit, 700 people, XGBoost, depth 3, 50 rounds)"
)


@dataclass(frozen=True, slots=True)
class SettingNames:
    """What a library calls the number of rounds, what makes leaves larger, the size of trees, and row sampling."""

    rounds: str
    leaves: str
    depth: str
    sampling: str


NAMES: Mapping[str, SettingNames] = {
    "xgboost": SettingNames("num_boost_round", "min_child_weight", "max_depth", "subsample"),
    "lightgbm": SettingNames(
        "num_iterations", "min_data_in_leaf", "num_leaves", "bagging_fraction"
    ),
    "catboost": SettingNames("iterations", "min_data_in_leaf", "depth", ""),
    "sklearn_boosting": SettingNames("n_estimators", "min_samples_leaf", "max_depth", "subsample"),
    "sklearn_hist": SettingNames("max_iter", "min_samples_leaf", "max_depth", ""),
    "gbm": SettingNames("n.trees", "n.minobsinnode", "interaction.depth", "bag.fraction"),
    "spark": SettingNames("maxIter", "minInstancesPerNode", "maxDepth", ""),
}
"""By the name of the library in its growth. CatBoost has larger leaves in other trees than symmetric ones only."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a lever of the study came to: the share of people certain, and the row of its table."""

    lever: str
    certain: str


WHOLE = Measured("depth 3, 50 rounds", "1.000")
LEAVES = (Measured("min_child_weight 5", "1.000"), Measured("min_child_weight 20", "0.003"))
DEPTH = Measured("depth 2", "0.113")
MEMBERSHIP = "membership_"
MEMBER_LEVERS = (
    ("depth 3, 100 rounds", "all", "147.6"),
    ("depth 3, 100 rounds", "without sum_hessian", "147.6"),
    ("depth 6, min_child_weight 5", "all", "140.0"),
    ("depth 6, min_child_weight 20", "all", "0.0"),
    ("depth 3, 5 rounds", "all", "54.6"),
)
"""Of the study of membership, heart: the model, what is published of it, and the mean number of 148 members proved."""
OF_BOOSTED_MEMBERS = (
    "Membership: train larger leaves ({}) or fewer rounds. In the study of membership (heart, 148 people, XGBoost, "
    "depth 3, 100 rounds, means of five draws) 147.6 people were proved to be in the table, with min_child_weight 20 "
    "nobody, after 5 rounds 54.6. What does not help: without sum_hessian it was 147.6 still, and with "
    "min_child_weight 5 140. This model was not measured."
)
OF_TREE_MEMBERS = (
    "Membership: train larger leaves (min_samples_leaf) and fewer levels. Pruning the trained tree keeps the "
    "thresholds above, which prove members too."
)
REBUILT = frozenset({"records_rebuilt", "rebuilt_linkable"})
REBUILT_LEVERS = (
    ("forest of 100 trees, all records", "300"),
    ("10 trees", "296 to 300"),
    ("leaves of at least 5 records", "300"),
    ("leaves of at least 20 records, 10 trees", "18 to 136"),
)
"""Of the study of reconstruction, COMPAS, samples of 300 records: the training, and how many records are proved."""
OF_REBUILT = (
    "Records that the file proves: train few trees with large leaves, or on bootstrap samples whose seeds are not "
    "published (scikit-learn's files have them; treewarden redact removes them; the audit is then UNDETERMINED). In "
    "the study of reconstruction (COMPAS, 300 records) a forest of 100 trees proved all 300, and 10 trees with leaves "
    "of at least 20 records 18 to 136. What does not help alone: 10 trees proved 296 to 300, and leaves of at least 5 "
    "records 300. This model was not measured."
)
SAMPLED = (("heart, LightGBM, bagging 0.8", "1.000", "0.000"),)
"""A row of the study's samples: certain where seed and order are known, and where the order is not."""


def advice(
    model: Model, audit: Audit, decision: Decision, attempts: Sequence[RepairAttempt]
) -> tuple[str, ...]:
    """Return what to grow a model with instead, one sentence or two each; nothing where it passes as it is.

    Of a model that is not boosted only what protects members and whole records is said.
    """
    if decision.verdict is PolicyVerdict.PASS:
        return ()
    growth = model.growth if isinstance(model, Ensemble) else None
    proves_members = any(
        finding.requirement.measure.startswith(MEMBERSHIP) for finding in decision.failing
    )
    proves_records = any(finding.requirement.measure in REBUILT for finding in decision.failing)
    of_records = (OF_REBUILT,) if proves_records else ()
    if growth is None or growth.library not in NAMES:
        of_members = (OF_TREE_MEMBERS,) if proves_members and growth is None else ()
        return (*of_members, *of_records)
    names = NAMES[growth.library]
    found = [OF_BOOSTED_MEMBERS.format(names.leaves)] if proves_members else []
    found += of_records
    found += _rounds(names, audit, len(growth.rounds), attempts)
    if model.classes:
        found += _studied(names)
    return tuple(found)


def certain_in(audit: Audit | None) -> tuple[float, bool] | None:
    """Return how many people an audit proves the value of, and whether it left others open; None where it is silent."""
    worlds = None if audit is None else audit.full.evidence.worlds
    if not isinstance(worlds, ConsistentTables):
        return None
    return float(worlds.counts[worlds.certain].sum()), bool(worlds.open_profiles.any())


def _rounds(
    names: SettingNames, audit: Audit, rounds: int, attempts: Sequence[RepairAttempt]
) -> Iterator[str]:
    """Yield what fewer rounds would leave, as far as models without the last ones were audited."""
    told = []
    for attempt in attempts:
        is_alone = attempt.proposal.remedies == (DROPPED,) and not attempt.not_audited
        found = certain_in(attempt.audit) if is_alone else None
        if found is not None and attempt.proposal.kept:
            told.append((attempt.proposal.kept, *found))
    if not told:
        return
    whole = certain_in(audit)
    if whole == (0.0, False):
        return
    all_of = "" if whole is None else f", by all {rounds:,} that of {_people(whole[0])}"
    safe = max((kept for kept, certain, is_open in told if not certain and not is_open), default=0)
    if safe:
        said = f"{_first(safe)} of this model, nobody's value is proved{all_of}"
    else:
        kept, certain, is_open = min(told)
        said = f"{_first(kept)} of this model, the value of {_people(certain)} is proved"
        said += f", and others are not decided{all_of}" if is_open else all_of
    yield f"Train fewer rounds ({names.rounds}): {said} (measured here)."


def _first(rounds: int) -> str:
    return f"by the first {rounds:,} rounds" if rounds > 1 else "by the first round"


def _people(number: float) -> str:
    return f"{number:,.0f} {'person' if number == 1 else 'people'}"


def _studied(names: SettingNames) -> Iterator[str]:
    few, many = LEAVES
    yield (
        f"Train larger leaves ({names.leaves}): {STUDY} the values of {_share(WHOLE)} of the people were proved, with "
        f"{few.lever} still {_share(few)}, with {many.lever} {_share(many)}. This model was not measured."
    )
    yield (
        f"Train shallower trees ({names.depth}): with {DEPTH.lever} it was {_share(DEPTH)} in the same study. "
        "This model was not measured."
    )
    if names.sampling:
        row, known, unknown = SAMPLED[0]
        known, unknown = (f"{100 * float(each):.0f} %" for each in (known, unknown))
        yield (
            f"Train each round on a sample ({names.sampling}) with a random seed that is not published: in the "
            f"study ({row}) the values of {known} of the people were proved if the samples could be repeated, and "
            f"{unknown} by bounds alone if not. Bounds alone never pass, so the audit of such a model "
            "stays UNDETERMINED."
        )


def _share(measured: Measured) -> str:
    return f"{100 * float(measured.certain):.3g} %"


__all__ = [
    "AuditAll",
    "RepairResources",
    "RepairAttempt",
    "RepairSearch",
    "SearchEnd",
    "order",
    "repair",
]

Auditor = Callable[[Model], Audit]
EVERY_CHANGE = "every change"
"""What is refused where no changed model can be written."""


def repair(
    model: Model,
    population: Population,
    audit: Auditor,
    pack: Pack,
    resources: RepairResources | None = None,
    audit_all: AuditAll | None = None,
    step: Step = silent,
    *,
    glance: Glance | None = None,
    deadline: Deadline = NO_LIMIT,
    every: bool = True,
    chosen: str = "",
    tell: Tell = to_nobody,
    refused: str = "",
) -> RepairSearch:
    """Try each remedy, and each after the one before it, until all that is worth it was audited and judged.

    ``population`` is that of the original; ``audit`` audits any model over the same people, under the same knowledge,
    with the pack's measures taken; ``audit_all`` does so for several proposals, each as it would be published. What
    fails at a ``glance`` is not audited. Without ``every``, what costs more than a change that passes is not audited
    either, but for the one that is ``chosen`` by its name.

    ``refused`` is why no changed model can be written: nothing is tried then.

    ``step`` is told of each stage, and ``tell`` in words of each change. At the ``deadline``, and at a keyboard
    interrupt, the search ends, and what it found so far is returned; what else they raise ends the run.

    Raises:
        TaxonomyError: a hierarchy speaks of what the model does not know, or lacks a value.
        TreewardenError: the original cannot be audited.
    """
    resources = resources or RepairResources()
    fitting(resources.taxonomies, model.features)
    result = audit(model)
    decision = judge(result, pack)
    trial = Trial(
        model=model,
        population=population,
        audit_all=audit_all or _one_by_one(audit),
        pack=pack,
        given=resources,
        step=step,
        glance=glance,
        deadline=deadline,
        every=every,
        wanted=chosen,
        tell=tell,
    )
    search = RemedySearch(trial)
    if refused:
        search.refusals.append(NoProposal((EVERY_CHANGE,), refused))
    elif decision.verdict is not PolicyVerdict.PASS and not doubts(decision):
        search.run(result, decision)
    return _outcome(model, result, decision, search)


def _outcome(model: Model, result: Audit, decision: Decision, search: RemedySearch) -> RepairSearch:
    """Return what came of a search: what is recommended, or the nearest, and that in words."""
    attempts, refusals = tuple(search.attempts), tuple(search.refusals)
    best = min((attempt for attempt in attempts if attempt.is_tried), key=order, default=None)
    recommended = best if best is not None and best.verdict is PolicyVerdict.PASS else None
    nearest = None if recommended else best
    whole = "tree" if isinstance(model, Tree) else "model"
    said = message(
        whole,
        decision,
        attempts,
        recommended=recommended,
        nearest=nearest,
        refusals=refusals,
        ended=search.ended,
    )
    if decision.verdict is not PolicyVerdict.PASS and recommended is None:
        said = " ".join(filter(None, (out_of_reach(result, decision), said)))
    return RepairSearch(
        audit=result,
        decision=decision,
        attempts=attempts,
        refusals=refusals,
        recommended=recommended,
        nearest=nearest,
        message=said,
        applied=recommended,
        ended=search.ended,
        advice=advice(model, result, decision, attempts),
        utility=search.trial.given.utility,
        validation=search.validation,
    )


def _one_by_one(audit: Auditor) -> AuditAll:
    def audit_all(
        proposals: Iterator[Proposal], most: int
    ) -> Generator[tuple[int, Found], None, None]:
        for number, proposal in enumerate(proposals):
            yield number, _audited(audit, proposal.model)

    return audit_all


def _audited(audit: Auditor, model: Model) -> Found:
    try:
        return audit(model)
    except TreewardenError as error:
        return error
