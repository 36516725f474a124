"""Rows of leaves that were not split, by the settings at which training stopped: pure, or with no split that gains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.class_facts import LeafFacts
from treewarden.audit.facts.rows import (
    TRUTH_TOLERANCE_SHARE,
    LeafMass,
    LeftOut,
    Linear,
    Origin,
    Row,
    SplitFamily,
    WholeRecords,
)
from treewarden.audit.facts.stopped_leaves import (
    StoppedLeaves,
    counted_masses,
    decrease,
    gains_more,
    is_of_people,
    most_of_best_first,
    settings_in_force,
    unsplit_rows,
)
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion

WHY = "why leaves were not split ({}), which is not modelled here"
REFUTED = "why leaves were not split, as {} would not have stopped some of them in the true table"


def unsplit_leaf_rows(case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
    """Yield what the settings of a known learner prove of leaves that were not split, and what is left out of that."""
    masses, settings = counted_masses(case), settings_in_force(case)
    if masses is not None and not settings:
        return  # whether a leaf is pure is known, and nothing else stopped one
    others, is_plain = case.tree.learner.unmodelled, is_of_people(case)
    if others or not is_plain:
        named = (*settings, *others) or ("the settings of scikit-learn",)
        yield LeftOut(0, "", WHY.format(", ".join(named)), is_open=True)
    elif masses is None and settings:
        yield LeftOut(0, "", WHY.format(", ".join(settings)), is_open=True)
    elif masses is None:
        yield from _pure_leaves(case)
    else:
        yield from _weak_splits(case, masses, settings)


def _pure_leaves(case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
    """Yield that every leaf that could be split is pure; with parts of the columns, only where leaves of one count."""
    leaves = StoppedLeaves.of(case)
    is_sure = case.tree.learner.all_features or leaves.by.smallest <= 1
    found = [facts for facts in leaves.splittable() if any(leaves.candidates(facts.node))]
    if any(_is_mixed(case, facts) for facts in found):
        return
    for facts in found:
        if facts.label is None or facts.masses[facts.label] is not None:
            continue
        here, index = case.members.stops(facts.node.index), facts.node.index
        people = float(case.population.counts[here].sum())
        said = f"{case.tree.where(facts.node)} could be split and was not, so that it is pure"
        origin, classes = Origin("stopped_leaf", said, index), np.full(len(here), facts.label)
        line = Linear(here, classes.astype(np.intp), np.ones(len(here)), people, people, origin)
        known = is_sure and any(
            isinstance(each, SplitFamily) for each in leaves.candidates(facts.node)
        )
        if not known:
            yield LeftOut(index, "", "that leaves which could be split are pure", lines=(line,))
        elif case.knowledge.split is SplitLevel.NONE:
            yield WholeRecords(line)
        else:
            yield LeafMass(index, facts.label, people, people, origin)


def _is_mixed(case: Case, facts: LeafFacts) -> bool:
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    classes = truth[case.members.stops(facts.node.index)].sum(axis=0)
    return int((classes > 0).sum()) > 1


def _weak_splits(
    case: Case, masses: FloatArray, settings: tuple[str, ...]
) -> Iterator[WholeRecords | LeftOut]:
    """Yield, of leaves with known counts, that no split gains more than the settings allow; else what is left out."""
    learner, leaves = case.tree.learner, StoppedLeaves.of(case)
    stopping, records = leaves.stopping, float(masses.sum())
    is_sklearn = learner.tool is Tool.SCIKIT_LEARN
    criterion = learner.criterion or (None if is_sklearn else Criterion.GINI)
    why = WHY.format(", ".join(settings))
    is_limited = any("max_leaf_nodes" in setting for setting in settings)
    most: FloatArray | None = np.full(len(masses), stopping.min_impurity_decrease)
    if criterion is None or (is_limited and stopping.pruning_alpha > 0):
        yield LeftOut(0, "", why, is_open=True)  # pruned leaves counted when the tree was full
        return
    if is_limited:
        most = most_of_best_first(case, masses, criterion)
    for facts in leaves.splittable():
        index = facts.node.index
        everything = np.diag(masses[index])[None]
        greatest = float(decrease(criterion, everything, records)[0])
        least = stopping.pruning_alpha or (0.0 if most is None else float(most[index]))
        if not is_sklearn:
            least = 0.0  # rpart prunes by errors, and Spark by labels
        if greatest <= least * (1 - TRUTH_TOLERANCE_SHARE) or not any(
            leaves.candidates(facts.node)
        ):
            continue  # pure, or no split gains as much
        is_modelled = is_sklearn and learner.all_features
        if stopping.pruning_alpha > 0 or most is None or not is_modelled:
            yield LeftOut(index, "", why, is_open=True)
            continue
        found = tuple(leaves.candidates(facts.node))
        if gains_more(case, found, least, records):
            yield LeftOut(0, "", REFUTED.format(", ".join(settings)), is_open=True)
            return
        yield from unsplit_rows(
            case, facts.node, found, masses=masses[index], most=least, records=records, why=why
        )
