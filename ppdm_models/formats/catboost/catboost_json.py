"""CatBoost's JSON: symmetric and other trees, with how many records reached each leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.catboost._account import (
    account_of,
    has_statistics,
)
from treewarden.ppdm_models.formats.catboost._growth import growth_of, leaks_of
from treewarden.ppdm_models.formats.catboost._trees import (
    CatboostSplits,
    is_symmetric,
    nested,
    read_splits,
    symmetric,
)
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import bounded, simplest, unique
from treewarden.ppdm_models.formats.common.shapes import AccountedJson
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    Model,
    Shrinkage,
    TreeSampling,
    shrinkage_of,
)
from treewarden.ppdm_models.tree.side_channels import unread_rest
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    Quality,
    Task,
    Tree,
)

LINKS = {
    "Logloss": Link.LOGISTIC,
    "CrossEntropy": Link.LOGISTIC,
    "MultiCrossEntropy": Link.LOGISTIC,
    "MultiLogloss": Link.LOGISTIC,
    "MultiClassOneVsAll": Link.LOGISTIC,
    "MultiClass": Link.SOFTMAX,
    "Poisson": Link.EXP,
    "Tweedie": Link.EXP,
    "LogLinQuantile": Link.EXP,
}
CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
NUMBERS = (
    *("RMSE", "MAE", "Quantile", "MultiQuantile", "MAPE", "Huber", "Expectile", "Lq", "MultiRMSE"),
    *("QueryRMSE", "PairLogit", "PairLogitPairwise", "YetiRank", "YetiRankPairwise", "LambdaMart"),
)
PAIRWISE = ("PairLogit", "PairLogitPairwise", "YetiRank", "YetiRankPairwise")


class CatBoostJson(Format):
    """What ``save_model(..., format="json")`` writes; a split on target statistics is a derived feature."""

    how_to_export = "save it again with model.save_model('model.json', format='json')"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return (
            opens_json(data) == b"{"
            and b'"features_info"' in data
            and (b'"oblivious_trees"' in data or b'"trees"' in data)
        )

    def open(self, data: bytes, source: str) -> Opened:
        document = read_part(data, source)
        leaks = leaks_of(document)
        model = _read(document)
        if has_statistics(document):
            return Opened(model, (*leaks, unread_rest("catboost_json")))
        return AccountedJson(data, document.value, model, leaks, account_of(document))


def _read(document: JsonPart) -> Model:
    splits = read_splits(document["features_info"])
    kind = "oblivious_trees" if is_symmetric(document) else "trees"
    parts = document[kind]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    grow = symmetric if kind == "oblivious_trees" else nested
    forest = bounded((grow(part, splits) for part in parts), document.source)
    return simplest(_ensemble(document, splits, forest))


def _ensemble(
    document: JsonPart, splits: CatboostSplits, forest: Sequence[tuple[Node, ...]]
) -> Ensemble:
    loss = _loss(document)
    scale, base = _scale_and_bias(document, forest)
    classes, notes = _classes(document, loss, len(base))
    trees = [_tree(nodes, splits, loss, document) for nodes in forest]
    return Ensemble(
        members=tuple(
            Member(tree, weight=scale, name=str(index)) for index, tree in enumerate(trees)
        ),
        combination=Combination.SUM if scale == 1 else Combination.WEIGHTED_SUM,
        features=splits.features,
        target="",
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        base=base,
        link=LINKS.get(loss, Link.IDENTITY if loss in NUMBERS else Link.UNKNOWN),
        sampling=TreeSampling(False),
        shrinkage=_shrinkage(document) if loss == "RMSE" and scale == 1 else None,
        growth=growth_of(document, _params(document), loss, forest, scale, base),
        source=document.source,
        format="catboost_json",
        notes=(*notes, *splits.notes, *_stopped(document, len(trees))),
    )


def _tree(nodes: tuple[Node, ...], splits: CatboostSplits, loss: str, document: JsonPart) -> Tree:
    tree = with_support(
        Tree(
            nodes=nodes,
            features=splits.features,
            target="",
            task=Task.REGRESSION,
            missing=Missing.DEFAULT_CHILD,
            source=document.source,
            format="catboost_json",
        )
    )
    if tree.has_people and (loss in PAIRWISE or _has_class_weights(document)):
        return replace(tree, quality=Quality.WEIGHTED)
    return tree


def _params(document: JsonPart) -> JsonPart | None:
    info = document.get("model_info")
    params = None if info is None else info.get("params")
    if (
        params is not None and not params.is_object
    ):  # older versions write it as JSON inside a string
        return read_part(params.text().encode("utf-8", "surrogatepass"), document.source)
    return params


def _loss(document: JsonPart) -> str:
    """Return the name of the loss; empty where the file does not say."""
    params = _params(document)
    loss = None if params is None else params.get("loss_function")
    kind = None if loss is None else loss.get("type")
    return "" if kind is None else kind.text()


def _shrinkage(document: JsonPart) -> Shrinkage | None:
    """Return how leaves were shrunk; None where that is not said, or later steps changed them."""
    params = _params(document)
    boosting = None if params is None else params.get("boosting_options")
    learner = None if params is None else params.get("tree_learner_options")
    if boosting is None or learner is None:
        return None
    steps, shrunk = learner.get("leaf_estimation_iterations"), boosting.get("model_shrink_rate")
    rate, ridge = boosting.get("learning_rate"), learner.get("l2_leaf_reg")
    is_plain = steps is not None and steps.value == 1 and (shrunk is None or shrunk.value == 0)
    if not is_plain or rate is None or ridge is None:
        return None
    return shrinkage_of(rate.number(), ridge.number())


def _has_class_weights(document: JsonPart) -> bool:
    params = _params(document)
    options = None if params is None else params.get("data_processing_options")
    if options is None:
        return False
    automatic, json_part = options.get("auto_class_weights"), options.get("class_weights")
    return (automatic is not None and automatic.value != "None") or bool(
        json_part and json_part.value
    )


def _scale_and_bias(
    document: JsonPart, forest: Sequence[tuple[Node, ...]]
) -> tuple[float, tuple[float, ...]]:
    """Return the factor of all trees and the start of each output; one bias may stand for all."""
    widths = {
        len(node.outputs) if node.outputs is not None else 1
        for nodes in forest
        for node in nodes
        if node.is_leaf
    }
    if len(widths) > 1:
        raise document.refused("its leaves have different numbers of values")
    width = widths.pop()
    json_part = document.get("scale_and_bias")
    if json_part is None:
        return 1.0, (0.0,) * width
    bias = json_part.at(1).numbers()
    if len(bias) not in (1, width):
        raise json_part.refused(f"there are {len(bias)} biases for {width} outputs")
    return json_part.at(0).number(), bias if len(bias) == width else bias * width


def _stopped(document: JsonPart, trees: int) -> Iterator[str]:
    """Yield which trees did best on held-out records, where the file says it and more trees stayed."""
    json_part: JsonPart | None = document
    for key in ("model_info", "training"):
        json_part = None if json_part is None else json_part.get(key)
    if json_part is not None and not json_part.is_object:
        json_part = read_part(json_part.text().encode("utf-8", "surrogatepass"), document.source)
    metrics = None if json_part is None else json_part.get("metrics")
    best = None if metrics is None else metrics.get("best_iteration")
    value = None if best is None else best.value
    if isinstance(value, int) and 0 <= value < trees - 1:
        yield (
            f"{document.source}: the first {value + 1:,} of its {trees:,} trees did best "
            f"on held-out records (best_iteration {value}). The library predicts with all "
            f"{trees:,}, so all are judged"
        )


def _classes(document: JsonPart, loss: str, width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the class labels (none for a regression), and what is to say about them."""
    if loss not in CLASSIFIERS:
        return (), ()
    count = max(2, width)
    info = document.get("model_info")
    params = None if info is None else info.get("class_params")
    names = None if params is None else params.get("class_names")
    if names is None or not len(names):
        note = f"{document.source}: the file does not name its classes, so class numbers are used"
        return tuple(str(index) for index in range(count)), (note,)
    labels = unique((name.label() for name in names), "classes", document.source, limits.CLASSES)
    if len(labels) != count:
        raise names.refused(f"there are {len(labels)} classes for {width} outputs")
    return labels, ()


FORMAT = CatBoostJson()
