"""Rows that are not proved, as people could exchange values: every exchange is made, and the trees are grown again."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reconstruction.domain import find_domain
from treewarden.audit.reconstruction.exchanges import find_exchanges
from treewarden.audit.reconstruction.people_rows import (
    codes_of_people,
    domain_of,
    hides_splits,
    rows_of_people,
    tells_choices,
)
from treewarden.ppdm_models.arrays import alike
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import table_of


def drawn_case(random):
    """Return an estimator that is not fitted, numbers (n, F) of few values and classes (n,)."""
    records, width, classes = (int(random.integers(*ends)) for ends in ((8, 60), (1, 5), (2, 4)))
    values = np.stack(
        [random.integers(0, int(random.integers(2, 7)), size=records) for _ in range(width)], axis=1
    )
    numbers = values * random.choice([1.0, 0.1, 1000.0], size=width)
    drawn = (values.sum(axis=1) + random.integers(0, 3, size=records)) % classes
    codes = np.unique(drawn, return_inverse=True)[1]
    settings = {
        "max_depth": random.choice([None, 1, 2, 3]),
        "min_samples_leaf": int(random.choice([1, 2, 3, 5])),
        "min_samples_split": int(random.choice([2, 2, 6])),
        "criterion": str(random.choice(["gini", "entropy"])),
        "max_features": random.choice([None, None, 1, 2]),
        "max_leaf_nodes": random.choice([None, None, 3, 5]),
        "min_impurity_decrease": float(random.choice([0.0, 0.0, 0.01, 0.03])),
        "random_state": int(random.integers(1000)),
    }
    if settings["max_features"] is not None:
        settings["max_features"] = min(int(settings["max_features"]), width)
    if random.random() < 0.6:
        return DecisionTreeClassifier(**settings), numbers, codes
    kind = ExtraTreesClassifier if random.random() < 0.1 else RandomForestClassifier
    return kind(n_estimators=3, bootstrap=False, **settings), numbers, codes


def people_rows(learner, numbers, codes):
    """Return the forest of a fitted estimator, its people, the domain and their rows."""
    names = [f"x{n}" for n in range(numbers.shape[1])]
    model = open_model(skops.io.dumps(learner), "model.skops").model
    texts = {
        name: [repr(number) for number in numbers[:, n].tolist()] for n, name in enumerate(names)
    }
    table = table_of(texts | {"ill": [str(code) for code in codes.tolist()]})
    people = build_population(model, table, sensitive="ill")
    forest = forest_of(model, people)
    domain = find_domain(forest.trees, domain_of(people, forest.trees))
    _, cell = alike(list(forest.stops))
    truth = np.rint(people.truth).astype(np.int64)
    rows = rows_of_people(codes_of_people(people, domain), cell, truth)
    return forest, people, domain, rows


def frame(numbers):
    return pd.DataFrame(numbers, columns=[f"x{n}" for n in range(numbers.shape[1])])


def arrays_of(learner):
    trees = [each.tree_ for each in getattr(learner, "estimators_", [learner])]
    return [
        (tree.children_left, tree.feature, tree.threshold, tree.value, tree.n_node_samples)
        for tree in trees
    ]


def exchanged(numbers, codes, case, exchange):
    """Return the numbers after an exchange: nobody has the row then."""
    _, people, domain, rows = case
    tested = [name for factor in domain.factors for name in factor.columns]
    places = [int(name[1:]) for name in tested]
    moved = [int(name[1:]) for name in domain.factors[exchange.factor].columns]

    def having(row, numbers):
        values = [people.columns[name].numbers[rows.profile[row]] for name in tested]
        return (numbers[:, places] == values).all(axis=1) & (codes == rows.coordinates[row, 0])

    waiting = np.flatnonzero(having(exchange.row, numbers))
    after = numbers.copy()
    for partner, many in exchange.partners:
        own, waiting = waiting[:many], waiting[many:]
        theirs = np.flatnonzero(having(partner, numbers))[:many]
        assert len(own) == len(theirs) == many > 0
        for column in moved:
            after[own, column] = numbers[theirs, column]
            after[theirs, column] = numbers[own, column]
    assert not len(waiting)
    assert not having(exchange.row, after).any()
    return after


def changed_by_exchanges(seed):
    """Return the exchanges of a drawn case after which the estimator grows other trees, and how many there are."""
    random = np.random.default_rng(seed)
    learner, numbers, codes = drawn_case(random)
    if len(np.unique(codes)) < 2:
        return [], 0
    before = arrays_of(learner.fit(frame(numbers), codes))
    case = people_rows(learner, numbers, codes)
    if not all(map(tells_choices, case[0].trees)):
        return [], 0
    found = find_exchanges(*case, np.ones(len(case[-1].cell), dtype=bool))
    bad = []
    for exchange in found:
        after = arrays_of(learner.fit(frame(exchanged(numbers, codes, case, exchange)), codes))
        is_same = all(
            np.array_equal(one, other, equal_nan=True)
            for first, second in zip(before, after, strict=True)
            for one, other in zip(first, second, strict=True)
        )
        bad += [] if is_same else [(seed, exchange)]
    return bad, len(found)


@pytest.mark.parametrize("start", seeds(40, quick=(0, 9), second=20))
def test_trees_are_grown_again_after_each_exchange(start):
    judged = [changed_by_exchanges(seed) for seed in range(20 * start, 20 * start + 20)]
    assert not [each for bad, _ in judged for each in bad]
    assert sum(found for _, found in judged) > 0


def swapped_in_leaves(seed):
    """Return how often trees stay as they are, and how often not, after a swap within a class and leaf, by whether the
    leaf may hide splits that were pruned: (2, 2).
    """
    random = np.random.default_rng(seed)
    _, numbers, codes = drawn_case(random)
    settings = {
        "ccp_alpha": float(random.choice([0.01, 0.03, 0.06])),
        "max_leaf_nodes": random.choice([None, 4, 8]),
        "criterion": str(random.choice(["gini", "entropy"])),
        "random_state": 0,
    }
    learner = DecisionTreeClassifier(**settings).fit(frame(numbers), codes)
    found = np.zeros((2, 2), dtype=np.int64)
    if len(np.unique(codes)) < 2 or learner.tree_.node_count == 1:
        return found
    before = arrays_of(learner)
    forest, people, _, rows = people_rows(learner, numbers, codes)
    hidden = {
        int(leaf): bool(hides)
        for leaf, hides in zip(
            forest.stops[0, rows.profile], hides_splits(forest, rows), strict=True
        )
    }
    order = {int(node.name): node.index for node in forest.trees[0].nodes}
    stops = learner.apply(frame(numbers))
    for _ in range(6):
        one = int(random.integers(len(codes)))
        others = np.flatnonzero((stops == stops[one]) & (codes == codes[one]))
        other, column = int(random.choice(others)), int(random.integers(numbers.shape[1]))
        after = numbers.copy()
        after[[one, other], column] = after[[other, one], column]
        grown = arrays_of(learner.fit(frame(after), codes))
        is_same = all(map(np.array_equal, before[0], grown[0]))
        found[int(hidden[order[int(stops[one])]]), int(is_same)] += 1
    return found


@pytest.mark.parametrize("start", seeds(20, quick=(0,), second=8))
def test_swaps_within_a_class_leave_trees_alone_where_no_leaf_hides_splits(start):
    found = sum(swapped_in_leaves(seed) for seed in range(40 * start, 40 * start + 40))
    assert found[0, 0] == 0
    assert found[0, 1] > 0
    assert found[1].sum() > 0
