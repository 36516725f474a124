"""The trees of a HistGradientBoosting estimator (64-bit numbers, sets of categories), and how its leaves were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.sklearn._arrays import TreeArrays, threshold_tests
from treewarden.ppdm_models.formats.skops._estimator import Fitted
from treewarden.ppdm_models.formats.skops._parts import Array, SkopsPart
from treewarden.ppdm_models.formats.skops._pipeline_columns import followed, places_in
from treewarden.ppdm_models.formats.skops._table_tests import Derived, MatrixOrigin, tree_of_table
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    EnsembleGrowth,
    Fact,
    GrownTree,
    Link,
    Member,
    TreeSampling,
    stated_fact,
)
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, MissingTest, Predicate
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Learner,
    Missing,
    Node,
    Task,
    Tree,
    rebuilt,
)

# What a boosted estimator of scikit-learn tells of how its leaves were made.

STOPPED = "some of the records were held out for early stopping (validation_fraction)"
WEIGHED = "its records were given weights"
CLASS_WEIGHT = "its classes were given weights (class_weight)"
CONSTRAINED = "constraints that predictions rise or fall with a column limited its leaf values"
OTHER_IMPURITY = "its nodes hold impurities that are no variances (criterion), which are not used"
VARIANCES = ("friedman_mse", "squared_error", "mse", "deprecated")
"""What criterion says where the impurity of a node is the variance of its residuals, since 1.9 nothing."""

Grown = Sequence[tuple[Tree, TreeArrays]]


def of_binned(fitted: Fitted, grown: Grown, start: tuple[float, ...]) -> EnsembleGrowth:
    """Return what tells how the leaves of a HistGradientBoosting estimator were made."""
    refused = ""
    if is_set(fitted, "monotonic_cst"):
        refused = CONSTRAINED
    elif is_set(fitted, "class_weight"):
        refused = CLASS_WEIGHT
    elif keeps_aside(fitted, "do_early_stopping_", default=True):
        refused = STOPPED
    growth = _growth(
        "sklearn_hist", fitted, grown, start, ("learning_rate", "l2_regularization"), refused
    )
    return replace(growth, scored=bool(fitted.plain("do_early_stopping_", default=False)))


def keeps_aside(fitted: Fitted, setting: str, default: object = None) -> bool:
    """Return whether training kept records aside to know when to stop, as a setting says: drawn once, for all trees.

    Where the share to keep aside (``validation_fraction``) is said to be none, it looked at the records of the trees.
    """
    is_asked = fitted.plain(setting, default) not in (None, False)
    return is_asked and fitted.plain("validation_fraction", 0.1) is not None


def of_boosted(fitted: Fitted, grown: Grown, start: tuple[float, ...]) -> EnsembleGrowth:
    """Return what tells how the leaves of a GradientBoosting estimator were made; their values are not shrunk."""
    refused = ""
    if keeps_aside(fitted, "n_iter_no_change"):
        refused = STOPPED
    elif not all(arrays.is_unweighted for _, arrays in grown):
        refused = WEIGHED
    elif fitted.plain("criterion", VARIANCES[0]) not in VARIANCES:
        refused = OTHER_IMPURITY
    is_sampled = fitted.plain("subsample", 1.0) != 1.0
    names = ("learning_rate", *(("subsample",) if is_sampled else ()))
    return _growth("sklearn_boosting", fitted, grown, start, names, refused)


def _growth(
    library: str,
    fitted: Fitted,
    grown: Grown,
    start: tuple[float, ...],
    names: Sequence[str],
    refused: str,
) -> EnsembleGrowth:
    outputs = len(start)
    has_impurities = not are_withheld([arrays.impurity for _, arrays in grown])
    return EnsembleGrowth(
        library,
        str(fitted.plain("loss", ""))[:60],
        outputs,
        tuple(tuple(range(first, first + outputs)) for first in range(0, len(grown), outputs)),
        tuple(
            _tree(tree, arrays, place % outputs, has_impurities)
            for place, (tree, arrays) in enumerate(grown)
        ),
        start,
        facts=_facts(fitted, names),
        refused=refused,
    )


def are_withheld(impurities: Sequence[Array | None]) -> bool:
    """Return whether all trees say an impurity of 0 at all nodes, which one with a split cannot have."""
    told = [each for each in impurities if each is not None]
    return not any(each.any() for each in told) and any(len(each) > 1 for each in told)


def _tree(tree: Tree, arrays: TreeArrays, output: int, has_impurities: bool) -> GrownTree:
    rows = np.array([int(node.name) for node in tree.nodes], dtype=np.intp)
    values = np.where(arrays.children_left < 0, arrays.value[:, 0], np.nan)
    return GrownTree(
        values[rows],
        output,
        counts=arrays.samples[rows].astype(np.float64),
        second=arrays.impurity[rows] if has_impurities and arrays.impurity is not None else None,
    )


def _facts(fitted: Fitted, names: Sequence[str]) -> dict[str, Fact]:
    said = {name: fitted.plain(name) for name in names}
    return {
        name: stated_fact(value)
        for name, value in said.items()
        if isinstance(value, int | float) and np.isfinite(value)
    }


def is_set(fitted: Fitted, name: str) -> bool:
    """Whether a setting is there and something: a number, a text, a list or a dictionary."""
    part = fitted.known.get(name)
    return part is not None and (part.loader != "JsonNode" or part.plain() is not None)


FIELDS = (
    *("value", "count", "feature_idx", "num_threshold", "missing_go_to_left"),
    *("left", "right", "is_leaf", "is_categorical", "bitset_idx"),
)
LINKS = {
    "squared_error": Link.IDENTITY,
    "absolute_error": Link.IDENTITY,
    "quantile": Link.IDENTITY,
    "poisson": Link.EXP,
    "gamma": Link.EXP,
}
"""What becomes of the sum of a regression's trees, by its loss."""
WORD_BITS = 32


def binned(fitted: Fitted) -> Ensemble:
    """Return the ensemble of a fitted HistGradientBoosting estimator.

    Raises:
        TreeFormatError: it is not fitted, of a scikit-learn that encodes categories otherwise, or contradicts itself.
    """
    outputs = len(fitted.classes) if len(fitted.classes) > 2 else 1
    table = _table(fitted)
    held_out = keeps_aside(fitted, "do_early_stopping_", default=True)
    least = fitted.plain("min_samples_leaf", 1)
    least = least if isinstance(least, int) and least > 0 else 1
    grown = _trees(fitted, outputs, table, least)
    trees = [tree for tree, _ in grown]
    base = _base(fitted, outputs)
    return Ensemble(
        members=tuple(Member(tree, output=place % outputs) for place, tree in enumerate(trees)),
        combination=Combination.SUM,
        features=trees[0].features,
        target="",
        classes=fitted.classes,
        task=Task.CLASSIFICATION if fitted.classes else Task.REGRESSION,
        base=base,
        link=_link(fitted),
        sampling=TreeSampling(resampled=held_out, held_out=held_out),
        growth=of_binned(fitted, grown, base),
        source=fitted.part.source,
        notes=fitted.notes,
    )


def _trees(
    fitted: Fitted, outputs: int, table: MatrixOrigin | None, least: int
) -> list[tuple[Tree, TreeArrays]]:
    if "_predictors" not in fitted.known:
        raise fitted.part.refused(f"this {fitted.part.kind} is not fitted; call fit first")
    rounds = [part.items() for part in fitted.known["_predictors"].items()]
    parts = [part for skops_parts in rounds for part in skops_parts]
    if not 0 < len(parts) <= limits.TREES or any(
        len(skops_parts) != outputs for skops_parts in rounds
    ):
        per_round = "one tree" if outputs == 1 else f"{outputs} trees (one for each output)"
        raise fitted.part.refused(
            f"every boosting round must have {per_round}, but the model has {len(parts):,} trees in "
            f"{len(rounds):,} rounds"
        )
    trees: list[tuple[Tree, TreeArrays]] = []
    total = 0
    for part in parts:
        tree, arrays = _tree_of_bins(part, fitted, table, least)
        trees.append((tree if table is None else tree_of_table(tree, table), arrays))
        total += len(tree.nodes)
        if total > limits.FILE_NODES:
            raise part.refused(
                f"all trees together have more than {limits.FILE_NODES:,} nodes, "
                "which is the limit; train a smaller model"
            )
    return trees


def _table(fitted: Fitted) -> MatrixOrigin | None:
    """Return what the trees' columns were made of: the estimator codes categories itself, and puts them first."""
    preparing = fitted.known.get("_preprocessor")
    is_none = preparing is None or (preparing.loader == "JsonNode" and preparing.plain() is None)
    categorical = fitted.known.get("is_categorical_")
    if preparing is None or is_none:
        if (
            categorical is not None
            and categorical.loader == "NdArrayNode"
            and categorical.array().any()
        ):
            raise fitted.part.refused(
                "its categories are not in it; fit it again with scikit-learn 1.4 or newer"
            )
        return (
            None
            if fitted.columns is None
            else MatrixOrigin(fitted.columns, fitted.names, single=False)
        )
    columns: Sequence[Derived] = (
        [Derived(place) for place in range(fitted.width)]
        if fitted.columns is None
        else fitted.columns
    )
    skops_parts = preparing.attributes()
    places = skops_parts["_transformer_to_input_indices"].attributes()
    seen: list[Derived] = []
    for entry in skops_parts["transformers_"].items():
        name, step, *_ = entry.items()
        indices = places_in(places[str(name.plain())], len(columns))
        taken = [columns[index] for index in indices]
        if step.kind == "OrdinalEncoder":
            seen.extend(followed(step, taken))
        elif step.kind == "FunctionTransformer":  # checks that they are numbers
            seen.extend(taken)
    if len(seen) != fitted.width:
        raise preparing.refused(f"produces {len(seen)} columns instead of {fitted.width}")
    return MatrixOrigin(seen, fitted.names, single=False)


def _tree_of_bins(
    part: SkopsPart, fitted: Fitted, table: MatrixOrigin | None, least: int
) -> tuple[Tree, TreeArrays]:
    column = _node_columns(part)
    arrays = _arrays(column)
    arrays.check(part.source, fitted.width)
    assert arrays.missing_left is not None
    names = fitted.names if table is None else tuple(map(str, range(fitted.width)))
    branches = _branches(part, column, arrays, names, table)
    nodes = []
    for index in range(len(arrays.children_left)):
        left, right = int(arrays.children_left[index]), int(arrays.children_right[index])
        is_leaf = left < 0
        nodes.append(
            Node(
                index=index,
                name=str(index),
                parent=branches.parents.get(index),
                children=() if is_leaf else (left, right),
                test=branches.tests.get(index, Always()),
                score=float(arrays.value[index, 0]) if is_leaf else None,
                records=float(arrays.samples[index]),
                default_child=None if is_leaf else left if arrays.missing_left[index] else right,
            )
        )
    tree = Tree(
        nodes=tuple(nodes),
        features=tuple(Feature(name, numeric=True) for name in names),
        target="",
        task=Task.REGRESSION,
        learner=Learner(min_leaf_records=least, multiway=False),
        missing=Missing.DEFAULT_CHILD,
        source=part.source,
    )
    return rebuilt(tree, tree.nodes), arrays


def _node_columns(part: SkopsPart) -> dict[str, Array]:
    """Return what a tree holds of its nodes, by the name of the field.

    Raises:
        TreeFormatError: a field is not there, or holds something that is no number.
    """
    skops_parts = part.attributes()
    if "nodes" not in skops_parts or skops_parts["nodes"].loader != "NdArrayNode":
        raise part.refused("has no nodes")
    table_of_nodes = skops_parts["nodes"].array()
    absent = [name for name in FIELDS if name not in (table_of_nodes.dtype.names or ())]
    if absent or table_of_nodes.ndim != 1:
        raise part.refused(f"its nodes have no {(absent or ['order'])[0]}")
    column: dict[str, Array] = {
        name: table_of_nodes[name]  # type: ignore[call-overload]  # it has named fields
        for name in FIELDS
    }
    if any(array.dtype.kind not in "biuf" for array in column.values()):
        raise part.refused("a node contains something that is not a number")
    return column


@dataclass(frozen=True, slots=True)
class _Branches:
    """How records come to a node: from which parent, and by which test; neither is there for the root."""

    parents: dict[int, int]
    tests: dict[int, Predicate]


def _branches(
    part: SkopsPart,
    column: dict[str, Array],
    arrays: TreeArrays,
    names: Sequence[str],
    table: MatrixOrigin | None,
) -> _Branches:
    """Return how records come to each node.

    Raises:
        TreeFormatError: a node splits categories that the file does not hold.
    """
    skops_parts = part.attributes()
    sets = (
        skops_parts["raw_left_cat_bitsets"].array()
        if "raw_left_cat_bitsets" in skops_parts
        else None
    )
    coded = () if table is None else tuple(each.codes is not None for each in table.columns)
    branches = _Branches({}, {})
    parents, tests = branches.parents, branches.tests
    for index in range(len(arrays.children_left)):
        left, right = int(arrays.children_left[index]), int(arrays.children_right[index])
        if left < 0:
            continue
        parents[left] = parents[right] = index
        place = int(arrays.feature[index])
        if column["is_categorical"][index]:
            if sets is None or not (coded and coded[place]):
                raise part.refused(
                    f"node {index} tests categories, but the file has no category sets for its column; "
                    "train and save the model again"
                )
            codes = _codes(part, sets, int(column["bitset_idx"][index]))
            tests[left], tests[right] = _set_tests(names[place], codes)
        else:
            end = float(arrays.threshold[index])
            tests[left], tests[right] = threshold_tests(names[place], end)
    return branches


def _arrays(column: dict[str, Array]) -> TreeArrays:
    is_leaf = column["is_leaf"].astype(bool)
    counts = column["count"].astype(np.int64)
    return TreeArrays(
        children_left=np.where(is_leaf, -1, column["left"].astype(np.int64)),
        children_right=np.where(is_leaf, -1, column["right"].astype(np.int64)),
        feature=column["feature_idx"].astype(np.int64),
        threshold=column["num_threshold"].astype(np.float64),
        samples=counts,
        weighted=counts.astype(np.float64),
        value=column["value"].astype(np.float64)[:, None],
        missing_left=column["missing_go_to_left"].astype(bool),
    )


def _codes(part: SkopsPart, sets: Array, row: int) -> tuple[str, ...]:
    """Return the codes in one set of bits, the lowest bit of the first word first."""
    if sets.ndim != 2 or not 0 <= row < len(sets) or sets.dtype.kind != "u":
        raise part.refused(f"names the set of categories {row}, which does not exist")
    words = [int(word) for word in sets[row].tolist()]
    bits = range(len(words) * WORD_BITS)
    codes = [bit for bit in bits if words[bit // WORD_BITS] >> (bit % WORD_BITS) & 1]
    return tuple(map(str, codes))


def _set_tests(name: str, codes: tuple[str, ...]) -> tuple[Predicate, Predicate]:
    if not codes:  # missing values alone go left
        return MissingTest(name), MissingTest(name, negated=True)
    return CategoryTest(name, codes), CategoryTest(name, codes, negated=True)


def _base(fitted: Fitted, outputs: int) -> tuple[float, ...]:
    part = fitted.known.get("_baseline_prediction")
    if part is None or part.loader != "NdArrayNode":
        raise fitted.part.refused("has no starting score; call fit first")
    found = part.array()
    if (
        found.size != outputs
        or found.dtype.kind != "f"
        or not np.isfinite(found.astype(np.float64)).all()
    ):
        raise part.refused(f"this is not one number for each of {outputs} outputs")
    return tuple(float(number) for number in found.astype(np.float64).reshape(-1).tolist())


def _link(fitted: Fitted) -> Link:
    loss = fitted.plain("loss")
    if fitted.classes:
        if loss != "log_loss":
            raise fitted.part.refused(
                f"the loss {str(loss)[:40]!r} is not supported; train with log_loss"
            )
        return Link.LOGISTIC if len(fitted.classes) == 2 else Link.SOFTMAX
    if loss not in LINKS:
        raise fitted.part.refused(
            f"the loss {str(loss)[:40]!r} is not supported; train with one of {', '.join(LINKS)}"
        )
    return LINKS[str(loss)]
