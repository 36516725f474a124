"""The checks of a research environment's tools and the clauses that ask the same, on models of scikit-learn.

What the tools look for is written down here from their definitions: the structural attack of SACRO-ML with the risk
appetite that ACRO ships, which look at the leaves that records fall in and at the shares that are predicted there.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.kit.tiers import seeds
from treewarden.policies.pack import load_pack

THRESHOLD = 10
ASKED = ("smallest-leaf", "small-groups", "class-disclosure", "residual-freedom")


CASES = [(300, 1, None), (300, 5, 3), (300, 120, 1), (60, 1, None)]
"""How many records, how few to a leaf, and how deep."""


def table(records, seed, classes):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.integers(0, 4, records) for name in ("a", "b", "c")})
    noise = random.integers(0, classes, records)
    told = np.where(random.random(records) < 0.5, frame["a"] % classes, noise)
    return frame, pd.Series([f"c{code}" for code in told], name="told")


def parameters(tree):
    leaves = (tree.tree_.children_left == tree.tree_.children_right).sum()
    return 2 * (tree.tree_.node_count - leaves) + leaves * (tree.n_classes_ - 1)


def risks(model, frame, records):
    """Return what is a risk by the structural attack, under the names of the clauses."""
    leaf, first, counts = np.unique(model.apply(frame), return_index=True, return_counts=True)
    shares = model.predict_proba(frame.iloc[first])
    groups = shares * counts[:, None]
    few = (groups > 1e-6) & (groups < THRESHOLD - 1e-6)
    return {
        "smallest-leaf": (counts < THRESHOLD).any(),
        "small-groups": few.any(),
        "class-disclosure": np.isclose(shares, 0).any(),
        "residual-freedom": records - parameters(model) < THRESHOLD,
    }


def found(model, frame, target):
    result = tw.audit(model, (frame, target), policy="research-output", worlds=False, jobs=1)
    failing = result.findings.query("verdict == 'FAIL'")["clause"]
    return {clause: clause in set(failing) for clause in ASKED}


def grown(records, least, depth, classes, seed):
    frame, target = table(records, seed, classes)
    model = DecisionTreeClassifier(min_samples_leaf=least, max_depth=depth, random_state=0)
    return model.fit(frame, target), frame, target


@pytest.mark.parametrize("seed", seeds(3, quick=1))
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_tree_breaks_a_clause_exactly_where_the_check_finds_a_risk(seed, case, classes):
    model, frame, target = grown(*case, classes, seed)
    assert found(model, frame, target) == risks(model, frame, len(frame))


def test_the_cases_show_every_check_both_ways():
    seen = {clause: set() for clause in ASKED}
    for case in CASES:
        model, frame, _ = grown(*case, 3, 0)
        for clause, is_risk in risks(model, frame, len(frame)).items():
            seen[clause].add(bool(is_risk))
    assert seen == {clause: {True, False} for clause in ASKED}


def test_a_forest_has_the_degrees_of_freedom_that_the_check_counts():
    frame, target = table(300, 1, 3)
    model = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(frame, target)
    result = tw.audit(model, (frame, target), policy="research-output", worlds=False, jobs=1)
    row = result.readings.query("measure == 'residual_freedom'").iloc[0]
    assert row["low"] == row["high"] == 300 - sum(map(parameters, model.estimators_))


def test_the_limits_are_those_of_the_risk_appetite_that_ships_with_acro():
    limits = {clause.id: clause.limit for clause in load_pack("research-output").clauses}
    assert [limits[clause] for clause in ASKED] == [THRESHOLD, THRESHOLD, 0, THRESHOLD]
