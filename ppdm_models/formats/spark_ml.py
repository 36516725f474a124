"""Spark ML's saved models, a folder or a zip archive of it: counts of each class at every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ppdm_models import limits
from ppdm_models.archive import is_archive
from ppdm_models.ensemble import Combination, Ensemble, Link, Member, Model
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats import Format
from ppdm_models.formats._grow import bounded, features_named
from ppdm_models.formats._part import Part
from ppdm_models.formats._spark_files import Saved, Stage, read_saved
from ppdm_models.formats._spark_leaks import leaks_of
from ppdm_models.formats._spark_names import Names, read_names
from ppdm_models.formats._spark_nodes import are_weighed, nodes_of
from ppdm_models.leaks import Leak
from ppdm_models.support import with_support
from ppdm_models.tree import Criterion, Feature, Learner, Missing, Node, Task, Tree

CRITERIA = {"gini": Criterion.GINI, "entropy": Criterion.ENTROPY}


class SparkMl(Format):
    """A decision tree, random forest or boosted trees, alone or as the stage of a pipeline."""

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"metadata/part-" in data and b".parquet" in data

    def read(self, data: bytes, source: str) -> Model:
        saved = read_saved(data, source)
        leaks_of(saved)  # so that what is read can also be looked through
        stage = saved.trees()
        groups = _groups(saved.rows(stage, "data"), stage)
        names = read_names(saved, stage, _used(groups))
        boosted = stage.kind.startswith("GBT")
        classes = () if boosted else names.classes
        forest = bounded(
            (nodes_of(rows, names.features, classes, source) for rows in groups), source
        )
        tested = (node for nodes in forest for node in nodes)
        features = features_named(names.features, tested, source)
        trees = [
            _tree(nodes, rows, features, replace(names, classes=classes), stage, source)
            for nodes, rows in zip(forest, groups, strict=True)
        ]
        if stage.kind.startswith("DecisionTree"):
            return replace(trees[0], notes=(*names.notes, *trees[0].notes))
        return _ensemble(saved, stage, trees, names, features)

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        return leaks_of(read_saved(data, source))


def _groups(rows: list[Part], stage: Stage) -> list[list[Part]]:
    """Return the rows of each tree, in the order of the trees' numbers."""
    if stage.kind.startswith("DecisionTree"):
        groups = {0: rows}
    else:
        groups = {}
        for row in rows:
            groups.setdefault(row["treeID"].whole(), []).append(row["nodeData"])
    if not 0 < len(groups) <= limits.TREES or not all(groups.values()):
        raise stage.metadata.refused(f"{len(groups):,} trees; give 1 to {limits.TREES:,}")
    return [group for _, group in sorted(groups.items())]


def _used(groups: list[list[Part]]) -> int:
    """Return how many features there are at least: up to the last one that a split asks."""
    return 1 + max(
        row["split"]["featureIndex"].whole(low=-1, high=limits.FEATURES - 1)
        for rows in groups
        for row in rows
    )


def _tree(
    nodes: tuple[Node, ...],
    rows: Sequence[Part],
    features: tuple[Feature, ...],
    names: Names,
    stage: Stage,
    source: str,
) -> Tree:
    weighed = are_weighed(rows, names.classes)
    if weighed:
        nodes = tuple(_as_outputs(node) for node in nodes)
    tree = with_support(
        Tree(
            nodes=nodes,
            features=features,
            target=names.target,
            classes=names.classes,
            task=Task.CLASSIFICATION if names.classes else Task.REGRESSION,
            learner=_learner(stage),
            missing=Missing.DEFAULT_CHILD,
            source=source,
            format="spark_ml",
        )
    )
    if not weighed:
        return tree
    note = f"{source}: records had weights, so the shares of the classes are of weights, the counts of records"
    return replace(tree, notes=(*tree.notes, note))


def _as_outputs(node: Node) -> Node:
    """Return a node whose class numbers are weights: kept for predictions, not as counts."""
    weights = [weight or 0.0 for weight in node.class_counts or ()]
    total = sum(weights)
    if not total:
        return replace(node, class_counts=None)
    return replace(node, class_counts=None, outputs=tuple(weight / total for weight in weights))


def _learner(stage: Stage) -> Learner:
    impurity, smallest = stage.text("impurity"), stage.setting("minInstancesPerNode")
    return Learner(
        criterion=CRITERIA.get(impurity),
        min_leaf_records=1 if smallest is None else smallest.whole(low=1),
        all_features=stage.kind.startswith(("DecisionTree", "GBT")),
        multiway=False,
    )


def _ensemble(
    saved: Saved, stage: Stage, trees: list[Tree], names: Names, features: tuple[Feature, ...]
) -> Ensemble:
    boosted, classifies = stage.kind.startswith("GBT"), bool(names.classes)
    weights = _weights(saved, stage, len(trees))
    factor = 2.0 if boosted and classifies else 1.0  # Spark's logistic loss is of twice the margin
    forest = not boosted
    combination = Combination.WEIGHTED_AVERAGE if forest else Combination.WEIGHTED_SUM
    return Ensemble(
        members=tuple(
            Member(tree, weight=factor * weight, name=str(index))
            for index, (tree, weight) in enumerate(zip(trees, weights, strict=True))
        ),
        combination=combination,
        features=features,
        target=names.target,
        classes=names.classes,
        task=Task.CLASSIFICATION if classifies else Task.REGRESSION,
        link=Link.LOGISTIC if boosted and classifies else Link.IDENTITY,
        resampled=_resampled(stage, len(trees)),
        source=saved.source,
        format="spark_ml",
        notes=names.notes,
    )


def _weights(saved: Saved, stage: Stage, size: int) -> list[float]:
    rows = saved.rows(stage, "treesMetadata")
    found = {}
    for row in rows:  # its columns have names in some versions, numbers in others
        number, weight = row.get("treeID") or row["_1"], row.get("weights") or row["_3"]
        found[number.whole()] = weight.number()
    if sorted(found) != list(range(size)):
        raise TreeFormatError(
            saved.source, f"weights of {len(found)} trees, where {size} are expected"
        )
    return [found[index] for index in range(size)]


def _resampled(stage: Stage, trees: int) -> bool:
    """Whether each tree saw a sample of the records: drawn with replacement in a forest of several trees."""
    rate, drawn = stage.setting("subsamplingRate"), stage.setting("bootstrap")
    sampled = rate is not None and rate.number() < 1
    forest = stage.kind.startswith("RandomForest") and trees > 1
    return sampled or (forest and (drawn is None or drawn.flag()))


FORMAT = SparkMl()
