"""Spark ML's saved models, a folder or a zip archive of it: counts of each class at every node."""

from __future__ import annotations

from dataclasses import replace

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.json_layout import opened_plainly, same_predictions
from treewarden.ppdm_models.formats.common.node_order import bounded, features_named
from treewarden.ppdm_models.formats.spark._folders import (
    PipelineStage,
    SavedModel,
    SparkNames,
    growth_of,
    leaks_of,
    read_names,
    read_saved,
)
from treewarden.ppdm_models.formats.spark._nodes import groups_of, nodes_of, tree_of, used_features
from treewarden.ppdm_models.formats.spark._plain import plain_archive
from treewarden.ppdm_models.limits import is_archive
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    Model,
    TreeSampling,
    trees_of,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import MOST, Criterion, Feature, Learner, Stopping, Task, Tree

REST = "seeds, times, names of the server, impurities and gains, and other content that the same trees do not need"
CRITERIA = {"gini": Criterion.GINI, "entropy": Criterion.ENTROPY}


class SparkMl(Format):
    """A decision tree, random forest or boosted trees, alone or as the stage of a pipeline."""

    how_to_export = "save it again with model.save, and give the whole folder"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"metadata/part-" in data and b".parquet" in data

    def open(self, data: bytes, source: str) -> Opened:
        saved_model = read_saved(data, source)
        leaks = leaks_of(saved_model)
        model = _read(saved_model)
        return opened_plainly(
            data,
            model,
            leaks,
            form="spark_ml",
            write=lambda: plain_archive(saved_model, model),
            read=lambda plain: _read(read_saved(plain, source)),
            is_same=_is_same,
            difference=REST,
        )


def _is_same(one: Model, two: Model) -> bool:
    """Return whether two models say the same of records, by the same features and classes, grown in the same way."""
    return (
        same_predictions(one, two)
        and (one.features, one.target) == (two.features, two.target)
        and _grown(one) == _grown(two)
    )


def _grown(model: Model) -> object:
    growth = model.growth if isinstance(model, Ensemble) else None
    learners = [(tree.learner, tree.learner.stopping) for tree in trees_of(model)]
    spreads = [[node.figures for node in tree.nodes] for tree in trees_of(model)]
    sampling = model.sampling if isinstance(model, Ensemble) else None
    settings = None if growth is None else (growth.objective, dict(growth.facts), growth.refused)
    return learners, spreads, sampling, settings


def _read(saved: SavedModel) -> Model:
    source, stage = saved.source, saved.trees()
    is_single = stage.kind.startswith("DecisionTree")
    groups = groups_of(saved.rows(stage, "data"), is_single, stage.metadata)
    names = read_names(saved, stage, used_features(groups))
    boosted = stage.kind.startswith("GBT")
    classes = () if boosted else names.classes
    forest = bounded((nodes_of(rows, names.features, classes, source) for rows in groups), source)
    tested = (node for nodes in forest for node in nodes)
    features = features_named(names.features, tested, source)
    trees = [
        tree_of(nodes, rows, features, (names.target, classes), _learner(stage), source)
        for nodes, rows in zip(forest, groups, strict=True)
    ]
    if is_single:
        return replace(trees[0], notes=(*names.notes, *trees[0].notes))
    return _ensemble(saved, stage, trees, groups, names, features)


def _learner(stage: PipelineStage) -> Learner:
    impurity, smallest = stage.text("impurity"), stage.setting("minInstancesPerNode")
    bins = stage.setting("maxBins")
    return Learner(
        criterion=CRITERIA.get(impurity),
        min_leaf_records=1 if smallest is None else smallest.whole(low=1),
        all_features=stage.kind.startswith(("DecisionTree", "GBT")),
        multiway=False,
        tool=Tool.SPARK,
        max_bins=None if bins is None else bins.whole(low=2),
        stopping=_stopping(stage),
    )


def _stopping(stage: PipelineStage) -> Stopping | None:
    """Return when Spark stopped; its gain is of the records of a node alone."""
    deepest, gain = stage.setting("maxDepth"), stage.setting("minInfoGain")
    if deepest is None:
        return None
    least = 0.0 if gain is None else gain.amount()
    return Stopping(deepest.whole(high=MOST), min_impurity_decrease=least)


def _ensemble(
    saved: SavedModel,
    stage: PipelineStage,
    trees: list[Tree],
    groups: list[list[JsonPart]],
    names: SparkNames,
    features: tuple[Feature, ...],
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
        sampling=TreeSampling(_resampled(stage, len(trees))),
        growth=growth_of(stage, trees, groups, weights, factor) if boosted else None,
        source=saved.source,
        format="spark_ml",
        notes=names.notes,
    )


def _weights(saved: SavedModel, stage: PipelineStage, size: int) -> list[float]:
    rows = saved.rows(stage, "treesMetadata")
    found = {}
    for row in rows:  # its columns have names in some versions, numbers in others
        number, weight = row.get("treeID") or row["_1"], row.get("weights") or row["_3"]
        found[number.whole()] = weight.number()
    if sorted(found) != list(range(size)):
        raise TreeFormatError(
            saved.source, f"there are weights for {len(found)} trees, but {size} are expected"
        )
    return [found[index] for index in range(size)]


def _resampled(stage: PipelineStage, trees: int) -> bool:
    """Whether each tree saw a sample of the records: drawn with replacement in a forest of several trees."""
    rate, drawn = stage.setting("subsamplingRate"), stage.setting("bootstrap")
    sampled = rate is not None and rate.number() < 1
    forest = stage.kind.startswith("RandomForest") and trees > 1
    return sampled or (forest and (drawn is None or drawn.flag()))


FORMAT = SparkMl()
