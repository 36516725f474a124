"""The trees of a skops file's estimator: one, those of a forest, or boosted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.formats.sklearn._arrays import (
    UNMODELLED,
    TreeArrays,
    class_label,
    tree_from_arrays,
)
from treewarden.ppdm_models.formats.sklearn._fitted import (
    arrays_of,
)
from treewarden.ppdm_models.formats.skops._boosted import binned, is_set, keeps_aside, of_boosted
from treewarden.ppdm_models.formats.skops._estimator import (
    BAGGED,
    BINNED,
    BOOSTED,
    FORESTS,
    REWEIGHTED,
    TREES,
    VOTED,
    Fitted,
    claims_privacy,
    grew_under_policy,
    policy_growth,
)
from treewarden.ppdm_models.formats.skops._parts import Array, SkopsPart
from treewarden.ppdm_models.formats.skops._privacy_claims import claiming, claiming_inside
from treewarden.ppdm_models.formats.skops._table_tests import tree_of_table
from treewarden.ppdm_models.formats.skops._votes import voters_of, weights_of
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    Model,
    SeededBootstrap,
    TreeSampling,
)
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tree import (
    CLASS_WEIGHT,
    Feature,
    Missing,
    Task,
    Tree,
)

SMALLEST_SHARE = float(np.finfo(np.float64).eps)


def model_of(fitted: Fitted) -> Model:
    """Return the tree or ensemble of a fitted estimator.

    Raises:
        TreeFormatError: it is another estimator, not fitted, or damaged.
    """
    return claiming(_model_of(fitted), fitted)


def _model_of(fitted: Fitted) -> Model:
    kind = fitted.part.kind
    if kind.startswith(FORESTS):
        return _forest(fitted)
    if kind.startswith(BINNED):
        return binned(fitted)
    if kind.startswith(BAGGED):
        return _bagged(fitted)
    if kind.startswith(REWEIGHTED):
        return _reweighted(fitted)
    if kind.startswith(BOOSTED):
        return _boosted(fitted)
    if kind.startswith(VOTED):
        return _voted(fitted)
    tree = _tree(fitted, fitted.part, fitted.classes)
    return replace(tree, notes=(*fitted.notes, *tree.notes))


def arrays_in(part: SkopsPart, features: int) -> TreeArrays:
    """Return the checked arrays of one fitted tree."""
    skops_parts = part.attributes()
    if "tree_" not in skops_parts:
        raise part.refused(f"this {part.kind} is not fitted; call fit first")
    state = skops_parts["tree_"].attributes()
    if "nodes" not in state or "values" not in state:
        raise skops_parts["tree_"].refused("it has no nodes and values")
    nodes, values = state["nodes"].array(), state["values"].array()
    if nodes.dtype.names is None or nodes.ndim != 1:
        raise state["nodes"].refused("its nodes have no named fields")
    columns: dict[str, Array] = {
        name: nodes[name]  # type: ignore[call-overload]  # it has named fields
        for name in nodes.dtype.names
    }
    return arrays_of(columns, values, str(skops_parts["tree_"].refused("").where), features)


def parts_of(fitted: Fitted) -> Sequence[SkopsPart]:
    """Return the fitted trees of a forest or of a boosted model, by round and then by output."""
    if "estimators_" not in fitted.known:
        raise fitted.part.refused(f"this {fitted.part.kind} is not fitted; call fit first")
    parts = fitted.known["estimators_"].items()
    if not 0 < len(parts) <= limits.TREES:
        raise fitted.part.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    other = next((part.kind for part in parts if not part.kind.startswith(TREES)), None)
    if other is not None:
        problem = (
            f"contains a {other[:60]}, which is not a tree; give a "
            f"{fitted.part.kind} of decision trees"
        )
        raise fitted.known["estimators_"].refused(problem)
    return parts


def _tree(fitted: Fitted, part: SkopsPart, classes: tuple[str, ...], boosted: bool = False) -> Tree:
    return _tree_of_columns(fitted, part, arrays_in(part, fitted.width), classes, boosted)


def _tree_of_columns(
    fitted: Fitted, part: SkopsPart, arrays: TreeArrays, classes: tuple[str, ...], boosted: bool
) -> Tree:
    width = arrays.value.shape[1]
    if width != (len(classes) or 1):
        raise part.refused(f"there are {width} numbers per node for {len(classes)} classes")
    skops_parts = part.attributes()
    settings = {
        name: item.plain() for name, item in skops_parts.items() if item.loader == "JsonNode"
    }
    if "max_features_" in skops_parts:
        settings["max_features_"] = skops_parts["max_features_"].plain()
    # What is not plain, an array or a dictionary of numbers, is set.
    settings |= {name: "set" for name in UNMODELLED if name in skops_parts and name not in settings}
    if is_set(fitted, CLASS_WEIGHT):  # a forest holds it for all of its trees
        settings[CLASS_WEIGHT] = "set"
    table = fitted.table()
    names = fitted.names if table is None else tuple(map(str, range(fitted.width)))
    tree = tree_from_arrays(
        arrays,
        names,
        classes,
        settings=settings,
        target="",
        source=fitted.part.source,
        tells_counts=arrays.tells_counts and not claims_privacy(part),
    )
    is_allowed = grew_under_policy(part)
    if is_allowed:
        tree = replace(tree, learner=policy_growth(part, settings))
    if boosted or is_allowed:  # both refuse missing values
        assert isinstance(tree.nodes, NodeTable)
        bare = replace(tree.nodes, default_children=None)
        if (
            boosted
        ):  # predictions need neither the means of residuals at inner nodes nor any variance
            scores = arrays.value[[int(name) for name in bare.names], 0].tolist()
            is_inner = np.bincount(bare.parents[1:], minlength=len(bare)) > 0
            leaf_scores = [None if i else score for i, score in zip(is_inner, scores, strict=True)]
            bare = replace(bare, scores=leaf_scores, spreads=None)
        tree = replace(tree, nodes=bare, missing=Missing.NULL_PREDICTION)
    return tree if table is None else tree_of_table(tree, table)


def _trees(
    fitted: Fitted, classes: tuple[str, ...], boosted: bool = False
) -> list[tuple[Tree, TreeArrays]]:
    """Return the trees and their arrays; many may name one and the same file, so nodes are counted as they come."""
    trees: list[tuple[Tree, TreeArrays]] = []
    total = 0
    for part in parts_of(fitted):
        arrays = arrays_in(part, fitted.width)
        tree = _tree_of_columns(fitted, part, arrays, classes, boosted)
        trees.append((claiming_inside(tree, part, fitted), arrays))
        total += len(trees[-1][0].nodes)
        if total > limits.FILE_NODES:
            raise part.refused(
                f"all trees together have more than {limits.FILE_NODES:,} nodes, "
                "which is the limit; train a smaller model"
            )
    return trees


def _forest(fitted: Fitted) -> Ensemble:
    trees = _trees(fitted, fitted.classes)
    default = fitted.part.kind.startswith("RandomForest")
    resampled = fitted.plain("bootstrap", default) is not False
    ensemble = _ensemble(
        fitted,
        tuple(Member(tree) for tree, _ in trees),
        Combination.AVERAGE,
        TreeSampling(resampled),
    )
    notes = (*ensemble.notes, *dict.fromkeys(note for tree, _ in trees for note in tree.notes))
    seeds = _seeds(fitted) if resampled else ()
    bootstrap = _bootstrap(fitted, trees) if seeds else None
    sampling = TreeSampling(resampled, seeds=seeds, bootstrap=bootstrap)
    return replace(ensemble, notes=notes, sampling=sampling)


def _bagged(fitted: Fitted) -> Ensemble:
    """Return the ensemble of a Bagging estimator: the mean of trees on samples of the records.

    Raises:
        TreeFormatError: its trees see some of the columns each, or not all classes.
    """
    every = list(range(fitted.width))
    for part in fitted.known["estimators_features_"].items() if _has_columns(fitted) else ():
        if part.array().tolist() != every:
            problem = "each of its trees uses only some of the columns; set max_features=1.0, or fit a RandomForest"
            raise part.refused(problem)
    _check_classes(fitted)
    trees = _trees(fitted, fitted.classes)
    members = tuple(Member(tree) for tree, _ in trees)
    share = fitted.plain("max_samples", 1.0)  # the whole number 1 is one record
    takes_all = share is None or (isinstance(share, float) and share == 1.0)
    is_whole = takes_all and fitted.plain("bootstrap", True) is False
    ensemble = _ensemble(fitted, members, Combination.AVERAGE, TreeSampling(not is_whole))
    notes = (*ensemble.notes, *dict.fromkeys(note for tree, _ in trees for note in tree.notes))
    return replace(ensemble, notes=notes)


def _has_columns(fitted: Fitted) -> bool:
    part = fitted.known.get("estimators_features_")
    return part is not None and part.loader == "ListNode"


def _check_classes(fitted: Fitted) -> None:
    """Refuse trees that know other classes than the ensemble numbers.

    Raises:
        TreeFormatError: one does.
    """
    for part in parts_of(fitted) if fitted.classes else ():
        known = part.attributes().get("classes_")
        found = () if known is None else tuple(known.array().tolist())
        numbered = tuple(range(len(fitted.classes)))
        if found != numbered and tuple(map(class_label, found)) != fitted.classes:
            raise part.refused(
                f"a tree has {len(found)} classes, but the model has {len(fitted.classes)}"
            )


def _reweighted(fitted: Fitted) -> Ensemble:
    """Return the ensemble of an AdaBoost estimator: trees vote with their weights, or the middle one counts.

    A classifier's trees are fitted on records that weigh more where the trees before were wrong; a regressor's, on
    samples that are drawn by such weights. (Hastie et al. 2009, SAMME; Drucker 1997.)

    Raises:
        TreeFormatError: it adds up probabilities (SAMME.R), or its weights are none of its trees'.
    """
    if str(fitted.plain("algorithm", "SAMME")) == "SAMME.R":
        raise fitted.part.refused(
            "algorithm='SAMME.R' is not supported; fit it with algorithm='SAMME'"
        )
    _check_classes(fitted)
    trees = _trees(fitted, fitted.classes)
    part = fitted.known.get("estimator_weights_")
    weights = np.zeros(0) if part is None or part.loader != "NdArrayNode" else part.array()
    numbers = weights.astype(np.float64) if weights.dtype.kind in "fiu" else np.full(1, np.nan)
    if len(numbers) < len(trees) or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise fitted.part.refused("estimator_weights_ are not weights of its trees; call fit first")
    pairs = zip(trees, numbers.tolist(), strict=False)
    members = tuple(Member(tree, weight=weight) for (tree, _), weight in pairs)
    votes = Combination.WEIGHTED_MAJORITY_VOTE if fitted.classes else Combination.WEIGHTED_MEDIAN
    return _ensemble(fitted, members, votes, TreeSampling(not fitted.classes))


def _voted(fitted: Fitted) -> Ensemble:
    """Return the ensemble of estimators that vote, or whose probabilities or numbers are averaged.

    Raises:
        TreeFormatError: one of them is no tree or forest, or the weights are none.
    """
    voters = voters_of(fitted)
    weights = weights_of(fitted, len(voters))
    parts: list[Tree | Ensemble] = []
    for voter in voters:
        if voter.part.kind.startswith(FORESTS):
            parts.append(claiming(_forest(voter), voter))
        else:
            tree = _tree(voter, voter.part, voter.classes)
            parts.append(claiming_inside(tree, voter.part, fitted))
    is_hard = bool(fitted.classes) and str(fitted.plain("voting", "hard")) != "soft"
    drawn = [part.sampling.resampled for part in parts if isinstance(part, Ensemble)]
    members = tuple(
        Member(part, weight=weight) for part, weight in zip(parts, weights, strict=True)
    )
    combination = Combination.WEIGHTED_MAJORITY_VOTE if is_hard else Combination.WEIGHTED_AVERAGE
    ensemble = _ensemble(fitted, members, combination, TreeSampling(any(drawn)))
    return replace(ensemble, notes=(*ensemble.notes, *(n for part in parts for n in part.notes)))


def _seeds(fitted: Fitted) -> tuple[int, ...]:
    """Return what the bootstrap of each tree was drawn from; nothing where one of them does not say it."""
    skops_parts = [part.attributes().get("random_state") for part in parts_of(fitted)]
    seeds = [None if part is None else part.plain() for part in skops_parts]
    found = [seed for seed in seeds if type(seed) is int and 0 <= seed < 2**32]
    return tuple(found) if len(found) == len(seeds) else ()


def _bootstrap(fitted: Fitted, trees: Sequence[tuple[Tree, TreeArrays]]) -> SeededBootstrap | None:
    """Return what the seeds of a forest's trees drew from; None where something else had a part in it.

    Weights of records and of classes change the draws, or their sums, from version to version, and a forest with
    ``warm_start`` may have trees of several tables.
    """
    weights = fitted.known.get("_sample_weight")
    has_weights = weights is not None and (
        weights.loader != "JsonNode" or weights.plain() is not None
    )
    is_warm = fitted.plain("warm_start", False) is not False
    is_of_library = fitted.part.module.startswith("sklearn.")
    if has_weights or is_warm or is_set(fitted, CLASS_WEIGHT) or not is_of_library:
        return None
    records = fitted.plain("_n_samples")
    if records is None and fitted.plain("max_samples") is None:
        records = float(trees[0][1].weighted[0])  # as many draws as records
    if not isinstance(records, int | float) or records != int(records) or records < 1:
        return None
    distinct = tuple(arrays.samples[_numbers(tree)] for tree, arrays in trees)
    return SeededBootstrap(int(records), distinct, is_unweighted=weights is not None)


def _numbers(tree: Tree) -> IndexArray:
    """Return scikit-learn's number of each node, (N,)."""
    nodes = tree.nodes
    names = nodes.names if isinstance(nodes, NodeTable) else [node.name for node in nodes]
    return np.array(list(map(int, names)), dtype=np.intp)


def _boosted(fitted: Fitted) -> Ensemble:
    rate = fitted.plain("learning_rate")
    rate = float(rate) if isinstance(rate, int | float) else float("nan")
    outputs = len(fitted.classes) if len(fitted.classes) > 2 else 1
    trees = _trees(fitted, (), boosted=True)
    if not 0 < rate < float("inf") or len(trees) % outputs:
        raise fitted.part.refused("its learning rate or number of trees is not valid")
    factor = 2.0 if fitted.plain("loss") == "exponential" else 1.0
    members = tuple(
        Member(tree, weight=factor * rate, output=place % outputs)
        for place, (tree, _) in enumerate(trees)
    )
    link = {0: Link.IDENTITY, 2: Link.LOGISTIC}.get(len(fitted.classes), Link.SOFTMAX)
    base = _base(fitted, outputs)
    held_out = keeps_aside(fitted, "n_iter_no_change")
    resampled = held_out or fitted.plain("subsample", 1.0) != 1.0
    sampling = TreeSampling(resampled, held_out)
    ensemble = _ensemble(fitted, members, Combination.WEIGHTED_SUM, sampling)
    growth = of_boosted(fitted, trees, base)
    return replace(ensemble, base=base, link=link, growth=growth)


def _base(fitted: Fitted, outputs: int) -> tuple[float, ...]:
    """Return what is predicted before the first tree, on the scale of the scores."""
    if "init_" not in fitted.known:
        raise fitted.part.refused(f"this {fitted.part.kind} is not fitted; call fit first")
    init = fitted.known["init_"]
    if init.plain() == "zero":
        return (0.0,) * outputs
    skops_parts = init.attributes() if init.kind.startswith("Dummy") else {}
    name = "class_prior_" if fitted.classes else "constant_"
    if name not in skops_parts or (fitted.classes and _strategy(skops_parts) != "prior"):
        raise init.refused(
            f"starts from a {init.kind[:60]}, which is not a constant; train with the default init"
        )
    numbers = skops_parts[name].array()
    if numbers.size != (len(fitted.classes) or 1) or numbers.dtype.kind not in "iuf":
        raise skops_parts[name].refused("this is not one number for each output")
    start = numbers.astype(np.float64).reshape(-1)
    if not np.isfinite(start).all() or (fitted.classes and ((start < 0) | (start > 1)).any()):
        raise skops_parts[name].refused("these are not shares of the classes")
    if not fitted.classes:
        return (float(start[0]),)
    logs = np.log(np.clip(start, SMALLEST_SHARE, 1 - SMALLEST_SHARE))
    if outputs == 1:
        share = float(np.clip(start[1], SMALLEST_SHARE, 1 - SMALLEST_SHARE))
        return (float(np.log(share / (1 - share))),)
    return tuple((logs - logs.mean()).tolist())


def _strategy(skops_parts: Mapping[str, SkopsPart]) -> object:
    return skops_parts["strategy"].plain() if "strategy" in skops_parts else "prior"


def _ensemble(
    fitted: Fitted,
    members: tuple[Member, ...],
    combination: Combination,
    sampling: TreeSampling,
) -> Ensemble:
    return Ensemble(
        members=members,
        combination=combination,
        features=_features(fitted),
        target="",
        classes=fitted.classes,
        task=Task.CLASSIFICATION if fitted.classes else Task.REGRESSION,
        sampling=sampling,
        source=fitted.part.source,
        notes=fitted.notes,
    )


def _features(fitted: Fitted) -> tuple[Feature, ...]:
    table = fitted.table()
    if table is not None:
        return table.features()
    return tuple(Feature(name, numeric=True, single=True) for name in fitted.names)
