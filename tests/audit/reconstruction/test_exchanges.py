"""Rows that are not proved, as people could exchange values: every exchange is made, and the trees are grown again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reconstruction.domain import find_domain
from treewarden.audit.reconstruction.exchanges import _ranks, find_exchanges
from treewarden.audit.reconstruction.of_table import rebuild_people
from treewarden.audit.reconstruction.people_rows import (
    codes_of_people,
    compares_columns,
    domain_of,
    hides_splits,
    is_sampled,
    rows_of_people,
    tells_choices,
)
from treewarden.ppdm_models.arrays import alike
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Learner, Stopping


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


def people_of(model, numbers, codes):
    """Return the people of a model over such numbers (n, F) and classes (n,)."""
    texts = {
        f"x{n}": [repr(number) for number in each] for n, each in enumerate(numbers.T.tolist())
    }
    table = table_of(texts | {"ill": [str(code) for code in codes]})
    return build_population(model, table, sensitive="ill")


def people_rows(learner, numbers, codes):
    """Return the forest of a fitted estimator, its people, the domain and their rows."""
    model = open_model(skops.io.dumps(learner), "model.skops").model
    people = people_of(model, numbers, codes.tolist())
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


# (x0, x1, class): the tree after the step has the first row of all that is proved in each table that grows it.
SCALED = [(2, 1, 1), (1, 1, 0), (0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 1, 0), (2, 0, 0), (2, 0, 0)]
SCALED = [*SCALED, (2, 1, 1)]
ENCODED = [(2, 1, 0), (1, 2, 0), (2, 1, 0), (2, 0, 1), (0, 0, 1), (1, 1, 1)]


@pytest.mark.parametrize(
    ("step", "records", "first", "settings"),
    [
        (StandardScaler(), SCALED, 1e9, {"max_depth": 2}),
        (OneHotEncoder(categories=[[0.0, 1.0, 2.0]] * 2), ENCODED, 0.0, {"max_depth": 1}),
    ],
)
def test_no_exchange_is_followed_through_steps_before_the_tree(step, records, first, settings):
    numbers = np.array([record[:2] for record in records], dtype=float)
    numbers[:, 0] += first
    codes = [record[2] for record in records]
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0, **settings)
    learner = make_pipeline(step, tree).fit(frame(numbers), codes)
    model = open_model(skops.io.dumps(learner), "model.skops").model
    people = people_of(model, numbers, codes)
    found = rebuild_people(forest_of(model, people), people, FOREVER)
    assert found.rows_in_groups(2)[1] > 0


def test_rpart_compares_numbers_of_64_bits():
    numbers, codes = np.array([[1e9], [1e9 + 1], [1e9 + 2], [2e9]]), [0, 1, 0, 1]
    tree = from_sklearn(DecisionTreeClassifier(max_depth=1).fit(frame(numbers), codes))
    plain = tuple(replace(each, single=False) for each in tree.features)
    tree = replace(tree, features=plain, learner=Learner(Criterion.GINI, tool=Tool.RPART))
    people = people_of(tree, numbers, codes)
    forest = forest_of(tree, people)
    domain = find_domain(forest.trees, domain_of(people, forest.trees))
    truth = np.rint(people.truth).astype(np.int64)
    rows = rows_of_people(codes_of_people(people, domain), forest.stops[0], truth)
    (ranks,) = _ranks(forest, people, ["x0"], rows)
    assert len(ranks.values) == len(numbers)


def test_what_chose_splits_on_samples_bears_no_exchange():
    numbers, codes = np.arange(40.0)[:, None], np.arange(40) % 2
    settings = {"n_estimators": 2, "n_iter_no_change": 1, "validation_fraction": 0.5}
    learner = GradientBoostingClassifier(**settings).fit(frame(numbers), codes)
    held_out = open_model(skops.io.dumps(learner), "model.skops").model
    assert is_sampled(held_out)
    whole = replace(held_out, sampling=replace(held_out.sampling, resampled=False))
    assert not is_sampled(whole)
    assert is_sampled(replace(whole, growth=replace(whole.growth, library="catboost")))
    # XGBoost's files do not say which share of the records each tree saw.
    assert is_sampled(replace(whole, growth=replace(whole.growth, library="xgboost", facts={})))


def test_a_printed_estimator_may_have_compared_all_columns():
    numbers, codes = np.arange(8.0)[:, None], np.arange(8) % 2
    tree = from_sklearn(DecisionTreeClassifier(max_depth=2).fit(frame(numbers), codes))
    drew = replace(tree.learner, all_features=False)
    for stopping, compares in ((None, False), (Stopping(), True)):
        drawn = replace(tree, format="pmml", learner=replace(drew, stopping=stopping))
        assert compares_columns(forest_of(drawn, people_of(drawn, numbers, codes))) is compares


def test_weka_and_seeded_policy_trees_may_have_pruned_any_leaf():
    numbers, codes = np.array([[0.0], [0.0], [1.0]]), [0, 0, 1]
    tree = from_sklearn(DecisionTreeClassifier(max_depth=1).fit(frame(numbers), codes))
    for learner in (
        Learner(tool=Tool.WEKA),
        Learner(tool=Tool.POLICY_TREE, unmodelled=("random_state",)),
    ):
        other = replace(tree, learner=learner)
        people = people_of(other, numbers, codes)
        forest = forest_of(other, people)
        domain = find_domain(forest.trees, domain_of(people, forest.trees))
        truth = np.rint(people.truth).astype(np.int64)
        rows = rows_of_people(codes_of_people(people, domain), forest.stops[0], truth)
        assert hides_splits(forest, rows).all()
