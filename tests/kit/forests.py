"""Small ensembles made by hand, for tests to share."""

from __future__ import annotations

from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Task,
    Tree,
)

FEATURES = (Feature("age", True), Feature("sex", False, ("F", "M")))


def stump(threshold, left, right, *, counts=None, classes=("no", "yes"), **changes):
    """Return a tree with one split on ``age``: labels (or numbers) below and above it, and their records if given."""
    task = Task.REGRESSION if isinstance(left, float) else Task.CLASSIFICATION
    sizes = counts or (None, None)
    nodes = (
        Node(0, "0", None, (1, 2), records=sum(sizes) if counts else None),
        Node(1, "1", 0, (), NumericTest("age", high=threshold), left, sizes[0], line=7),
        Node(2, "2", 0, (), NumericTest("age", threshold, low_closed=True), right, sizes[1]),
    )
    said = {
        "quality": Quality.EXACT if counts else Quality.ABSENT,
        "source": "forest.json",
        "task": task,
        "classes": () if task is Task.REGRESSION else classes,
        "target": "flu",
    }
    return Tree(nodes, FEATURES, **(said | changes))


def by_sex(female, male):
    """Return a tree with one split on ``sex``."""
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (), CategoryTest("sex", ("F",)), female),
        Node(2, "2", 0, (), CategoryTest("sex", ("M",)), male),
    )
    classes = ("no", "yes")
    return Tree(nodes, FEATURES, "flu", classes, quality=Quality.ABSENT, source="forest.json")


def forest(*trees, resampled=None, **changes):
    """Return an ensemble of trees that vote; numbers are averaged."""
    is_number = trees[0].task is Task.REGRESSION
    said = {
        "members": tuple(Member(tree) for tree in trees),
        "combination": Combination.AVERAGE if is_number else Combination.MAJORITY_VOTE,
        "features": FEATURES,
        "target": "flu",
        "classes": () if is_number else trees[0].classes,
        "task": trees[0].task,
        "sampling": TreeSampling(resampled),
        "source": "forest.json",
    }
    return Ensemble(**(said | changes))
