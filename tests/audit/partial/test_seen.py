"""A tree as somebody sees it who knows only some columns, held against every table that he must think possible."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.partial_cases import every_table
from tests.kit.cases import multiway_tree, random_table
from tests.kit.rows import rows
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.partial.fitting.flows import AdversaryBudget
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import NO_SIZES, SPLITS_NOT_USED, WEIGHED
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.ppdm_models.tree.tree import Criterion, Quality

NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def small(seed, records=5):
    """Return a tree of two columns, each of two values, and its few people."""
    table = random_table(seed, features=2, classes=2, records=records, values=2)
    tree = multiway_tree(table, Criterion.GINI, min_records=1)
    return tree, build_population(tree, table, sensitive="class")


@rows("seed", range(30))
def test_what_is_certain_and_possible_is_that_of_every_table(seed):
    tree, population = small(seed)
    known = ["x0"] if seed % 2 else ["x1"]
    seen = infer_target(TreeContext(tree, population, NO_SPLITS), known, clock(5.0))
    tables = every_table(tree, population, known)
    counts = tables[0].sum(axis=1)
    assert (seen.worlds.certain == (tables.min(axis=0) == counts[:, None]).any(axis=1)).all()
    assert (seen.worlds.excluded == (tables.max(axis=0) == 0)).all()
    assert not seen.worlds.open_profiles.any()
    assert not seen.worlds.open_exclusions.any()
    assert (seen.worlds.low == tables.min(axis=0)).all()
    assert (seen.worlds.high == tables.max(axis=0)).all()
    assert bool(seen.worlds.witnesses) != seen.worlds.certain.all()
    for witness in seen.worlds.witnesses:
        assert (tables == witness.table).all(axis=(1, 2)).any()
        value = seen.worlds.low[witness.profile].argmax()
        assert witness.table[witness.profile, value] == seen.worlds.low[witness.profile, value]


@pytest.mark.parametrize("seed", range(10))
def test_with_little_effort_it_is_told_who_is_certain_and_no_table_is_shown(seed):
    tree, population = small(seed)
    seen = infer_target(TreeContext(tree, population, NO_SPLITS), ["x0"], clock(5.0))
    context = TreeContext(tree, population, NO_SPLITS)
    little = infer_target(context, ["x0"], clock(5.0), effort=AdversaryBudget(flows=0))
    for name in ("certain", "excluded", "open_profiles", "open_exclusions"):
        assert np.array_equal(getattr(seen.worlds, name), getattr(little.worlds, name))
    assert np.array_equal(seen.posterior.values, little.posterior.values)
    assert (little.worlds.low <= seen.worlds.low).all()
    assert (little.worlds.high >= seen.worlds.high).all()
    assert not little.worlds.witnesses


@pytest.mark.parametrize("seed", seeds(20, quick=4))
def test_nobody_who_knows_less_is_surer_or_proves_more(seed):
    table = random_table(seed, features=3, records=40)
    tree = multiway_tree(table, Criterion.ENTROPY)
    population = build_population(tree, table, sensitive="class")
    known = list(population.qi)
    best = np.inf, np.inf
    while known:
        seen = infer_target(TreeContext(tree, population, NO_SPLITS), known, clock(5.0))
        certain = float(seen.population.counts[seen.worlds.certain].sum())
        sure = float(seen.posterior.values.max())
        full = infer_target(TreeContext(tree, population, NO_SPLITS), population.qi, clock(5.0))
        assert certain <= best[0]
        assert sure <= float(full.posterior.values.max()) + 1e-9
        assert seen.posterior.values.sum(axis=1) == pytest.approx(1)
        best = certain, sure
        known.pop()


def test_labels_and_rates_of_leaves_are_used_as_far_as_they_are_known():
    tree, population = small(3, records=12)
    by_counts = infer_target(TreeContext(tree, population, NO_SPLITS), ["x0"], clock(5.0))
    labels = NO_SPLITS.model_copy(update={"leaf": LeafLevel.LABELS})
    by_labels = infer_target(TreeContext(tree, population, labels), ["x0"], clock(5.0))
    assert by_labels.posterior.values == pytest.approx(np.full((2, 2), 0.5))
    assert by_counts.posterior.values.max() > 0.5
    assert by_labels.worlds.certain.sum() <= by_counts.worlds.certain.sum()


def test_choices_of_splits_that_are_not_used_leave_open_who_is_not_certain():
    tree, population = small(3, records=12)
    gini = Knowledge(split=SplitLevel.GINI)
    bare = infer_target(TreeContext(tree, population, NO_SPLITS), ["x0"], clock(5.0))
    seen = infer_target(TreeContext(tree, population, gini), ["x0"], clock(5.0))
    assert seen.doubts == (SPLITS_NOT_USED,)
    assert seen.posterior.values == pytest.approx(bare.posterior.values)
    assert (seen.worlds.certain == bare.worlds.certain).all()
    one_class = (seen.population.truth > 0).sum(axis=1) == 1
    assert (seen.worlds.open_profiles == (one_class & ~seen.worlds.certain)).all()


def test_what_is_not_worked_out_is_said():
    tree, population = small(3, records=12)
    weighed = replace(population, weight=np.ones(len(population.counts)))
    assert infer_target(TreeContext(tree, weighed, NO_SPLITS), ["x0"], clock(5.0)) is WEIGHED
    bare = replace(tree, quality=Quality.NORMALISED)
    assert infer_target(TreeContext(bare, population, NO_SPLITS), ["x0"], clock(5.0)) is NO_SIZES
