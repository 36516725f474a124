"""What all trees of a model prove together, for the report: in figures, in words, and over the number of trees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import Evidence
from treewarden.audit.joint.result import EnsembleInference, Released
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import EXACT_SHARE, ValueBounds
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.column import brief
from treewarden.ppdm_models.tree.ensemble import Fact, FactSource
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.document.inferred_parts import (
    Ensemble,
    KnownNumber,
    OverTrees,
    Release,
    Values,
)
from treewarden.reports.document.parts import Row, number
from treewarden.reports.document.words import count, counted, percent, sentence

FACTS = {
    "eta": "Learning rate (eta)",
    "lambda": "L2 regularisation (lambda)",
    "alpha": "L1 regularisation (alpha)",
    "max_delta_step": "Largest step (max_delta_step)",
    "scale_pos_weight": "Weight of the second class (scale_pos_weight)",
    "learning_rate": "Learning rate (learning_rate)",
    "lambda_l2": "L2 regularisation (lambda_l2)",
    "lambda_l1": "L1 regularisation (lambda_l1)",
    "l2_regularization": "L2 regularisation (l2_regularization)",
    "cat_l2": "More of it below splits on categories (cat_l2)",
    "boost_from_average": "Starts from the average (boost_from_average)",
    "sigmoid": "Slope of the probabilities (sigmoid)",
    "num_class": "Number of classes (num_class)",
    "l2_leaf_reg": "L2 regularisation (l2_leaf_reg)",
    "leaf_estimation_iterations": "Steps of each leaf (leaf_estimation_iterations)",
    "leaf_estimation_method": "Newton's steps 1, gradient steps 0 (leaf_estimation_method)",
    "leaf_estimation_backtracking": "Steps may be halved 1, may not 0 (leaf_estimation_backtracking)",
    "stepSize": "Learning rate (stepSize)",
    "subsample": "Share of the records in each round (subsample)",
    "bagging_fraction": "Share of the records in each round (bagging_fraction)",
    "pos_bagging_fraction": "Share of the records of the second class (pos_bagging_fraction)",
    "neg_bagging_fraction": "Share of the records of the first class (neg_bagging_fraction)",
    "bagging_freq": "Rounds until others are drawn (bagging_freq)",
    "bagging_seed": "Seed of the draws (bagging_seed)",
    "seed": "Seed of the draws (seed)",
}
SOURCES = {
    FactSource.KNOWN: "the file says so",
    FactSource.DERIVED: "follows from the file's numbers",
    FactSource.WITHHELD: "withheld",
    FactSource.TOLD: "not in the file, and assumed to be known",
    FactSource.TAKEN: "not in the file; what its library does by itself",
}


def ensemble_part(evidence: Evidence) -> Ensemble:
    """Return what the leaves of all trees prove, or why that could not be told."""
    if evidence.task is Task.REGRESSION:
        return _of_numbers(evidence)
    together = evidence.together
    if isinstance(together, Undetermined):
        return _untold(evidence, together)
    by_leaf = float(evidence.population.counts[together.by_leaf].sum())
    worlds = evidence.worlds
    certain = (
        float(worlds.counts[worlds.certain].sum()) if isinstance(worlds, ConsistentTables) else None
    )
    return Ensemble(
        trees=together.trees,
        leaves=together.leaves,
        recovered_leaves=together.recovered,
        replayed=together.is_replayed,
        reasons=tuple(map(sentence, (*together.said, *together.left))),
        records_certain_by_leaf=number(by_leaf),
        records_certain=None if certain is None else number(certain),
        summary=_summary(together, by_leaf, certain, evidence.population.records),
        facts=fact_rows(together.facts),
        over_trees=tuple(
            OverTrees(
                trees=over_tree.trees,
                by_leaf=number(over_tree.by_leaf),
                certain=number(over_tree.certain),
                guessed=None if over_tree.guessed is None else number(over_tree.guessed),
                predicted=None if over_tree.predicted is None else number(over_tree.predicted),
            )
            for over_tree in together.over_trees
        ),
        releases=tuple(map(_release, together.releases)),
        differences=together.differences,
    )


def _untold(evidence: Evidence, why: Undetermined) -> Ensemble:
    return Ensemble(
        trees=len(evidence.trees),
        leaves=sum(tree.leaf_count for tree in evidence.trees),
        recovered_leaves=0,
        replayed=False,
        reasons=(sentence(why.reason),),
        records_certain_by_leaf=None,
        records_certain=None,
        summary=sentence(why.reason),
    )


def _of_numbers(evidence: Evidence) -> Ensemble:
    """Return what several releases prove of people's numbers; certain is whose number follows exactly."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        return _untold(evidence, numbers)
    people, exact = evidence.population.records, numbers.exact
    by_leaf = float(numbers.counts[numbers.by_leaf <= EXACT_SHARE * numbers.span].sum())
    return Ensemble(
        trees=sum(release.trees for release in numbers.releases),
        leaves=numbers.leaves,
        recovered_leaves=numbers.recovered,
        replayed=False,
        reasons=tuple(map(sentence, (*numbers.said, *numbers.left))),
        records_certain_by_leaf=number(by_leaf),
        records_certain=number(exact),
        summary=(
            f"The sum of the people’s numbers follows exactly from the files for {count(numbers.recovered)} of "
            f"{counted(numbers.leaves, 'leaf', 'leaves')}. One leaf alone determines the number of "
            f"{counted(by_leaf, 'person', 'people')}, all leaves of all releases together that of {count(exact)} "
            f"({percent(exact / people)})."
        ),
        facts=fact_rows(numbers.facts),
        releases=tuple(map(_release, numbers.releases)),
        differences=numbers.differences,
    )


def _release(release: Released) -> Release:
    return Release(
        name=release.name,
        trees=release.trees,
        people=number(release.people),
        joined=number(release.joined),
        left=number(release.left),
        certain_alone=None if release.alone is None else number(release.alone),
        certain_so_far=None if release.so_far is None else number(release.so_far),
    )


def fact_rows(facts: Mapping[str, Fact]) -> tuple[Row, ...]:
    """Return the settings of a training that are known, and where from."""
    return tuple(
        Row(name=FACTS.get(name, name), text=f"{fact.value:g}: {SOURCES[fact.source]}")
        for name, fact in facts.items()
        if fact.value is not None
    )


def _summary(
    together: EnsembleInference, by_leaf: float, certain: float | None, people: float
) -> str:
    leaves = counted(together.leaves, "leaf", "leaves")
    if together.is_replayed:
        said = (
            f"With a random seed, treewarden drew the training sample of each tree again. All {leaves} fit these "
            f"samples. The class counts of {count(together.recovered)} of them follow from the file."
        )
    elif together.recovered == together.leaves:
        said = f"The class counts of all {leaves} follow from the file."
    else:
        said = (
            f"The class counts of {count(together.recovered)} of {leaves} follow exactly from the "
            "file, those of the others within bounds."
        )
    values = "value" if by_leaf == 1 else "values"
    said += f" Single leaves prove the {values} of {counted(by_leaf, 'person', 'people')}"
    if certain is None:
        return f"{said}."
    of_all = "of all releases " if together.releases else ""
    values = "value" if certain == 1 else "values"
    whose = f"{counted(certain, 'person', 'people')} ({percent(certain / people)})"
    return f"{said}. All leaves {of_all}together prove the {values} of {whose}."


# What a model's leaves prove of the numbers that people have, for the report: in figures and in words.

MOST_KNOWN = 20


def values_part(evidence: Evidence) -> Values:
    """Return between which ends people's numbers lie, or why that could not be told."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        said = sentence(numbers.reason)
        return Values(
            exact=None,
            narrowest=None,
            median_width=None,
            range=None,
            step=None,
            summary=said,
            reasons=(said,),
        )
    width = np.where(numbers.is_exact, 0.0, numbers.width)
    return Values(
        exact=number(numbers.exact),
        narrowest=number(float(width.min())),
        median_width=number(_median(width, numbers)),
        range=(number(numbers.range.low), number(numbers.range.high)),
        step=number(numbers.step) if numbers.step else None,
        summary=_numbers_summary(numbers, width),
        reasons=tuple(map(sentence, (*numbers.said, *numbers.left))),
        facts=fact_rows(numbers.facts),
        known=tuple(_narrowest_numbers(evidence, numbers, width)),
    )


def _median(width: FloatArray, numbers: ValueBounds) -> float:
    """Return the width that half of the people have at most."""
    order = np.argsort(width, kind="stable")
    below = np.cumsum(numbers.counts[order])
    return float(width[order][np.searchsorted(below, below[-1] / 2)])


def _narrowest_numbers(
    evidence: Evidence, numbers: ValueBounds, width: FloatArray
) -> list[KnownNumber]:
    """Return the people of whom most is known, the narrowest interval first; nobody of whom nothing is."""
    order = np.argsort(width, kind="stable")[:MOST_KNOWN].tolist()
    return [
        KnownNumber(
            profile=evidence.population.describe(profile),
            records=number(float(numbers.counts[profile])),
            low=number(float(numbers.low[profile])),
            high=number(float(numbers.high[profile])),
            exact=bool(numbers.is_exact[profile]),
        )
        for profile in order
        if width[profile] < numbers.span
    ]


def _numbers_summary(numbers: ValueBounds, width: FloatArray) -> str:
    exact, people = numbers.exact, float(numbers.counts.sum())
    low, high = numbers.range.low, numbers.range.high
    said, whose = "The leaves determine nobody’s number exactly.", ""
    if exact:
        who = f"{count(exact)} of {counted(people, 'person', 'people')}"
        said = f"The leaves determine the number of {who} exactly ({percent(exact / people)})."
        whose = "of the others "
    if exact == people:
        return said
    rest = float(width[~numbers.is_exact].min())
    return (
        f"{said} {sentence(f'{whose}the narrowest interval')[:-1]} is {brief(rest)} wide, where the table's values go "
        f"from {brief(low)} to {brief(high)}; half of the people have one of at most {brief(_median(width, numbers))}."
    )
