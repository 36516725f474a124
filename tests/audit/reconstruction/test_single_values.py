"""Records of single values that the rules of scikit-learn prove: hand cases, and the judge on a few files."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.judges.run_reconstruction import judge_values
from tests.kit.tiers import seeds
from treewarden.audit.progress import FOREVER
from treewarden.audit.reconstruction import cells, learner_rules, single_values
from treewarden.audit.reconstruction.cells import BEST_SPLITS, EQUAL_WEIGHTS, HALF_WAY
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Node

ROWS = [(0, 0, "no"), (0, 1, "yes"), (1, 0, "yes"), (1, 1, "yes"), (1, 1, "no")]
ROWS += [(2, 1, "no"), (2, 1, "yes"), (2, 1, "yes")]
BITS = DeclaredColumn((0.0, 1.0))
DOMAIN = DeclaredDomain({"a": DeclaredColumn((0.0, 1.0, 2.0)), "b": BITS})


def grown(rows=ROWS, **settings):
    """Return the tree that scikit-learn grows on columns a and b."""
    values = np.array([row[:2] for row in rows], dtype=float)
    learner = DecisionTreeClassifier(**({"max_depth": 2, "random_state": 0} | settings))
    learner.fit(values, [row[2] for row in rows])
    tree = from_sklearn(learner, feature_names=["a", "b"], class_names=["no", "yes"])
    return replace(tree, format="sklearn", target="ill")


def proved_of(found):
    """Return the records of single values that are proved, by the values of a and b and the class."""
    points, low = found.values.points, found.values.counts.low
    return {
        (*points.words_of(point), found.classes[code]): int(low[point, code])
        for point, code in np.argwhere(low).tolist()
    }


def test_the_choice_of_splits_proves_both_records_of_a_value_in_a_leaf_of_five():
    found = reconstruct(grown(), FOREVER, DOMAIN)
    proved = proved_of(found)
    assert proved["a: 1", "b: 1", "yes"] == proved["a: 1", "b: 1", "no"] == 1
    without = reconstruct(grown(), FOREVER, DOMAIN, seeks_values=False)
    assert (found.whole_records, without.whole_records, sum(proved.values())) == (5, 3, 5)
    assert found.tables == 3
    assert found.records_proved == without.records_proved == 8
    assert found.columns_proved == {"a": 5, "b": 8, "ill": 8}
    assert {HALF_WAY, BEST_SPLITS, EQUAL_WEIGHTS} <= {*found.assumed}
    assert found.example().startswith("a: ")


def test_an_impure_leaf_that_could_be_split_has_records_of_one_value_only():
    rows = [(0, 0, "no"), (0, 0, "no"), (0, 0, "yes"), *[(2, 0, "yes")] * 3]
    domain = DeclaredDomain({"a": DeclaredColumn((-1.0, 0.0, 2.0, 3.0))})
    found = reconstruct(grown(rows, max_depth=None), FOREVER, domain)
    # The threshold 1 is of 0 and 2, with one to three records at 2 and the rest at 3, or of -1 and 3 alone.
    assert (found.tables, found.whole_records) == (4, 0)
    narrow = DeclaredDomain({"a": DeclaredColumn((-1.0, 0.0, 2.0))})
    found = reconstruct(grown(rows, max_depth=None), FOREVER, narrow)
    assert (found.tables, found.whole_records) == (1, 6)
    # A leaf at the greatest depth may hold several values.
    assert reconstruct(grown(rows, max_depth=1), FOREVER, narrow).whole_records == 4


def test_of_random_columns_only_thresholds_are_used():
    tree = grown()
    drew = replace(tree, learner=replace(tree.learner, all_features=False))
    found = reconstruct(drew, FOREVER, DOMAIN)
    assert BEST_SPLITS not in found.assumed
    assert (found.whole_records, reconstruct(tree, FOREVER, DOMAIN).whole_records) == (3, 5)


def test_splits_that_are_best_in_no_table_prove_nothing_beside_counts():
    halves = ((-np.inf, 0.5), (0.5, np.inf))
    tests = [NumericTest("a", low, high, high_closed=high == 0.5) for low, high in halves]
    nodes = [Node(0, "0", None, (1, 2), records=4.0, class_counts=(2.0, 2.0))]
    for child, test in enumerate(tests, start=1):
        below = (2 * child + 1, 2 * child + 2)
        nodes.append(Node(child, str(child), 0, below, test, records=2.0, class_counts=(1.0, 1.0)))
    for leaf in range(3, 7):
        low, high = halves[(leaf - 3) % 2]
        test = NumericTest("b", low, high, high_closed=high == 0.5)
        counts = (1.0, 0.0) if leaf % 2 else (0.0, 1.0)
        parent = (leaf - 1) // 2
        nodes.append(Node(leaf, str(leaf), parent, (), test, records=1.0, class_counts=counts))
    # A cut of b at the root would have parted the classes.
    found = reconstruct(replace(grown(), nodes=tuple(nodes)), FOREVER, DOMAIN)
    assert (found.values, found.records_proved) == (None, 4)
    assert BEST_SPLITS not in found.assumed


def test_of_two_values_a_column_and_random_columns_nothing_is_searched():
    rows = [(min(a, 1), b, code) for a, b, code in ROWS]
    learner = grown(rows, max_depth=2, max_features=1)
    assert not learner.learner.all_features
    asked = {feature.name: BITS for feature in learner.used_features()}
    assert reconstruct(learner, FOREVER, DeclaredDomain(asked)).values is None


@pytest.mark.parametrize(
    ("module", "limit"),
    [(cells, "MOST_VALUES"), (learner_rules, "MOST_HELD"), (single_values, "WORK_SECONDS")],
)
def test_beyond_limits_nothing_more_is_proved(monkeypatch, module, limit):
    monkeypatch.setattr(module, limit, 0)
    found = reconstruct(grown(), FOREVER, DOMAIN)
    assert (found.values, found.whole_records) == (None, 3)


def test_what_the_work_does_not_decide_is_not_proved(monkeypatch):
    monkeypatch.setattr(single_values, "MOST_PROPOSED", 1)
    found = reconstruct(grown(), FOREVER, DOMAIN)
    assert not found.is_decided
    assert found.whole_records == 3


def test_rules_of_too_many_counts_are_left_out(monkeypatch):
    monkeypatch.setattr(learner_rules, "MOST_TUPLES", 1)
    found = reconstruct(grown(), FOREVER, DOMAIN)
    assert (found.whole_records, found.is_decided) == (3, False)


@pytest.mark.parametrize("start", seeds(60, quick=(0, 7), second=20))
def test_single_values_that_are_proved_are_in_every_table_that_gives_the_file(start):
    tallies = [judge_values(seed) for seed in range(10 * start, 10 * start + 10)]
    assert not [miss for tally in tallies for miss in tally.misses]
    assert sum(tally.files for tally in tallies) > 0
