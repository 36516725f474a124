"""How to grow a boosted model again, where no change of the file suffices or beside one: settings, with figures.

Figures of this model are those that the search measured: how many people the first rounds alone settle. All others are
of the study (docs/studies/ensembles.md) and say so; where nothing was measured, no figure is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treewarden.audit.result import Audit
from treewarden.audit.worlds.result import Worlds
from treewarden.policies.judging.decision import Decision
from treewarden.policies.repairing.attempts import Attempt
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model

DROPPED = "drop_trees"
STUDY = (
    "in the study of published ensembles (German credit, 700 people, XGBoost, depth 3, 50 rounds)"
)


@dataclass(frozen=True, slots=True)
class Names:
    """What a library calls the number of rounds, what makes leaves larger, the size of trees, and row sampling."""

    rounds: str
    leaves: str
    depth: str
    sampling: str


NAMES: Mapping[str, Names] = {
    "xgboost": Names("num_boost_round", "min_child_weight", "max_depth", "subsample"),
    "lightgbm": Names("num_iterations", "min_data_in_leaf", "num_leaves", "bagging_fraction"),
    "catboost": Names("iterations", "min_data_in_leaf", "depth", ""),
    "sklearn_boosting": Names("n_estimators", "min_samples_leaf", "max_depth", "subsample"),
    "sklearn_hist": Names("max_iter", "min_samples_leaf", "max_depth", ""),
    "spark": Names("maxIter", "minInstancesPerNode", "maxDepth", ""),
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
SAMPLED = (("heart, LightGBM, bagging 0.8", "1.000", "0.000"),)
"""A row of the study's samples: certain where seed and order are known, and where the order is not."""


def advice(
    model: Model, audit: Audit, decision: Decision, attempts: Sequence[Attempt]
) -> tuple[str, ...]:
    """Return what to grow a boosted model with instead, one sentence or two each; nothing where it passes as it is."""
    growth = model.growth if isinstance(model, Ensemble) else None
    if growth is None or growth.library not in NAMES or decision.verdict is Verdict.PASS:
        return ()
    names = NAMES[growth.library]
    found = [*_rounds(names, audit, len(growth.rounds), attempts)]
    if model.classes:
        found += _studied(names)
    return tuple(found)


def certain_in(audit: Audit | None) -> tuple[float, bool] | None:
    """Return how many people an audit proves the value of, and whether it left others open; None where it is silent."""
    worlds = None if audit is None else audit.full.evidence.worlds
    if not isinstance(worlds, Worlds):
        return None
    return float(worlds.counts[worlds.certain].sum()), bool(worlds.open_profiles.any())


def _rounds(names: Names, audit: Audit, rounds: int, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Yield what fewer rounds would leave, as far as models without the last ones were audited."""
    told = []
    for each in attempts:
        is_alone = each.proposal.remedies == (DROPPED,) and not each.not_audited
        found = certain_in(each.audit) if is_alone else None
        if found is not None and each.proposal.kept:
            told.append((each.proposal.kept, *found))
    if not told:
        return
    whole = certain_in(audit)
    if whole == (0.0, False):
        return
    all_of = "" if whole is None else f", by all {rounds:,} that of {_people(whole[0])}"
    safe = max((kept for kept, certain, is_open in told if not certain and not is_open), default=0)
    if safe:
        said = f"{_first(safe)} of this model nobody's value is proved{all_of}"
    else:
        kept, certain, is_open = min(told)
        said = f"{_first(kept)} of this model the value of {_people(certain)} is proved"
        said += f", and others are open{all_of}" if is_open else all_of
    yield f"Grow fewer rounds ({names.rounds}): {said}, as audited here."


def _first(rounds: int) -> str:
    return f"by the first {rounds:,} rounds" if rounds > 1 else "by the first round"


def _people(number: float) -> str:
    return f"{number:,.0f} {'person' if number == 1 else 'people'}"


def _studied(names: Names) -> Iterator[str]:
    few, many = LEAVES
    yield (
        f"Grow larger leaves ({names.leaves}): {STUDY} {_share(WHOLE)} of the people were certain, with {few.lever} "
        f"still {_share(few)}, with {many.lever} {_share(many)}. Of this model that was not measured."
    )
    yield (
        f"Grow shallower trees ({names.depth}): with {DEPTH.lever} {_share(DEPTH)} were certain in the same study. Of "
        "this model that was not measured."
    )
    if names.sampling:
        row, known, unknown = SAMPLED[0]
        known, unknown = (f"{100 * float(each):.0f} %" for each in (known, unknown))
        yield (
            f"Let each round see a sample ({names.sampling}) drawn with a random seed that nobody publishes: in the "
            f"study ({row}) {known} of the people were certain where the draws could be repeated, and "
            f"{unknown} by bounds alone where not. Nothing passes by bounds, so the audit of such a model "
            "stays UNDETERMINED."
        )


def _share(found: Measured) -> str:
    return f"{100 * float(found.certain):.3g} %"
