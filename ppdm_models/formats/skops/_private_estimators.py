"""What the estimator of a private learner holds beside the trees that it drew: attributes, values and numbers of nodes.

A claim of differential privacy is about what the mechanism drew. Each attribute that diffprivlib's or treewarden's
learner keeps is listed with the values that it has. Whatever else a file holds was drawn by nobody, and leaves the
claim open; numbers of records or classes void it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from treewarden.ppdm_models.formats.skops._estimator import (
    FORESTS,
    PRIVATE_TREE,
    Fitted,
    claims_privacy,
)
from treewarden.ppdm_models.formats.skops._parts import SkopsPart
from treewarden.ppdm_models.formats.skops._pipeline_columns import steps_of
from treewarden.ppdm_models.formats.skops._privacy_claims import SPENT, column_names, read_bounds
from treewarden.ppdm_models.tree.privacy_claim import BoundsOrigin, read_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


def beside_private_trees(root: SkopsPart, fitted: Fitted) -> Iterator[Leak]:
    """Yield what no private learner keeps, nor the steps before it: nobody drew it with noise."""
    private = [part for part in _nested(fitted.part, MOST_NESTED) if claims_privacy(part)]
    if not private:
        return
    for part in private:
        yield from beside_learner(part)
        if "tree_" in part.attributes():
            yield from _beside_labels(part)
    part = root
    while part.kind == "Pipeline":
        steps = [step for _, step in steps_of(part)]
        for step in (part, *steps[:-1]):
            if step.loader == "ObjectNode" and step.kind in OWN_OF_STEP:
                yield from _beside_step(step)
        part = steps[-1]


OWN_OF_STEP: Mapping[str, frozenset[str]] = {
    "Pipeline": frozenset(("steps", "memory", "verbose", "transform_input")),
    "FunctionTransformer": frozenset(
        (
            *("func", "inverse_func", "validate", "accept_sparse", "check_inverse"),
            *("feature_names_out", "n_features_in_", "feature_names_in_"),
        )
    ),
}
"""What scikit-learn keeps in steps that change nothing, by their class."""
ARGUMENTS = ("kw_args", "inv_kw_args")
"""Arguments of a function: where there is no function, anything else may stand there."""
VERSION = frozenset(("_sklearn_version",))
AttributeParts = Mapping[str, SkopsPart]
"""The attributes of an estimator, by name."""
NOTHING_AROUND: AttributeParts = {}
ValueRule = Callable[[SkopsPart, AttributeParts], bool]
"""Says whether a learner gives an attribute its value, beside the others of its estimator."""


def _is_read(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Take any value: it is judged, or told of, elsewhere."""
    return True


def _one_of(*values: object) -> ValueRule:
    def rule(part: SkopsPart, attributes: AttributeParts) -> bool:
        if part.loader not in ("JsonNode", "NdArrayNode"):
            return False
        value = part.plain()
        return any(type(value) is type(each) and value == each for each in values)

    return rule


def _as_many_as(listing: str) -> ValueRule:
    def rule(part: SkopsPart, attributes: AttributeParts) -> bool:
        if listing not in attributes:
            return False
        listed = attributes[listing]
        is_array = listed.loader == "NdArrayNode"
        return part.plain() == (listed.array().size if is_array else len(listed.items()))

    return rule


def _same_as(*names: str) -> ValueRule:
    def rule(part: SkopsPart, attributes: AttributeParts) -> bool:
        return any(
            name in attributes and part.plain() == attributes[name].plain() for name in names
        )

    return rule


def _is_share(part: SkopsPart, attributes: AttributeParts) -> bool:
    value = part.plain()
    return isinstance(value, float) and 0 < value < 1


def _are_classes(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Return whether the classes that were given are those that the estimator predicts, and no more."""
    if part.loader not in ("ListNode", "TupleNode", "NdArrayNode"):
        return part.loader == "JsonNode" and part.plain() is None
    is_listed = part.loader != "NdArrayNode"
    given = [item.plain() for item in part.items()] if is_listed else part.array().tolist()
    found = attributes["classes_"].array().tolist() if "classes_" in attributes else []
    return sorted(map(str, given)) == sorted(map(str, found))


def _are_bounds(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Return whether an attribute holds two ends for each column, and no more, or nothing."""
    if part.loader == "JsonNode" and part.plain() is None:
        return True
    names = column_names(attributes)
    is_whole = part.loader != "DictNode" or part.attributes().keys() == set(names)
    return is_whole and bool(read_bounds(part, names))


def _is_claim(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Return whether the claim of treewarden's learner is what its settings make it."""
    said = part.plain()
    try:
        claim = read_claim(said if isinstance(said, str) else "", "the file")
    except ValueError:
        return False
    is_set = not any(
        name not in attributes
        or (attributes[name].loader == "JsonNode" and attributes[name].plain() is None)
        for name in ("bounds", "classes")
    )
    is_public = claim.bounds_origin is BoundsOrigin.PUBLIC
    epsilon = attributes["epsilon"].plain() if "epsilon" in attributes else None
    return claim.epsilon == epsilon and is_public == is_set


def _is_accountant(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Return whether an object adds up what was spent on a few models, this one among them, as diffprivlib does."""
    if part.loader != "ObjectNode" or part.kind != "BudgetAccountant":
        return part.loader == "JsonNode" and part.plain() is None
    kept = dict(part.attributes())
    entries = kept.pop(SPENT).items() if SPENT in kept else []
    if len(entries) > MOST_SPENT or not kept.keys() <= UNLIMITED.keys():
        return False
    spent = [tuple(number.plain() for number in entry.items()) for entry in entries]
    is_unlimited = all(value.plain() == UNLIMITED[name] for name, value in kept.items())
    epsilon = attributes["epsilon"].plain() if "epsilon" in attributes else None
    return is_unlimited and all(pair == (epsilon, 0) for pair in spent)


def _is_template(part: SkopsPart, attributes: AttributeParts) -> bool:
    """Return whether an estimator is not fitted, and holds what its learner gives it alone."""
    if part.loader != "ObjectNode":
        return part.loader == "JsonNode" and part.plain() is None
    return "tree_" not in part.attributes() and not any(beside_learner(part, attributes))


def _are_settings(part: SkopsPart, attributes: AttributeParts) -> bool:
    return all(item.plain() in OWN_OF_DIFFPRIVLIB for item in part.items())


OWN_OF_TREE: Mapping[str, ValueRule] = {
    **dict.fromkeys(("epsilon", "random_state", "tree_"), _is_read),
    **dict.fromkeys(("classes_", "n_features_in_", "feature_names_in_"), _is_read),
    "bounds": _are_bounds,
    "classes": _are_classes,
    "n_classes_": _as_many_as("classes_"),
    "n_outputs_": _one_of(1),
    "max_features_": _same_as("n_features_in_"),
    "max_depth": _one_of(*range(65)),
}
"""What each private learner keeps of a tree, by name."""
OWN_OF_PRIVATE_TREE: Mapping[str, ValueRule] = {
    **OWN_OF_TREE,
    "claim_": _is_claim,
    "spent_": _same_as("epsilon"),
    "label_share": _is_share,
    "bins": _one_of(*range(1, 1025)),
}
OWN_OF_DIFFPRIVLIB: Mapping[str, ValueRule] = {
    **OWN_OF_TREE,
    "accountant": _is_accountant,
    "criterion": _one_of(None, "gini"),
    "splitter": _one_of(None, "best"),
    "min_samples_split": _one_of(None, 2),
    "min_samples_leaf": _one_of(None, 1),
    "min_weight_fraction_leaf": _one_of(None, 0.0),
    "max_features": _one_of(None, "sqrt"),
    "min_impurity_decrease": _one_of(None, 0.0),
    "ccp_alpha": _one_of(None, 0.0),
    **dict.fromkeys(("max_leaf_nodes", "class_weight", "monotonic_cst"), _one_of(None)),
}
"""diffprivlib leaves many settings alone: they are what it or scikit-learn gives them."""
OWN_OF_DIFFPRIVLIB_FOREST: Mapping[str, ValueRule] = {
    **OWN_OF_DIFFPRIVLIB,
    **dict.fromkeys(("estimator", "estimator_", "base_estimator", "base_estimator_"), _is_template),
    **dict.fromkeys(("warm_start", "shuffle"), _one_of(False, True)),
    **dict.fromkeys(("bootstrap", "oob_score"), _one_of(False)),
    "estimators_": _is_read,
    "estimator_params": _are_settings,
    "n_estimators": _as_many_as("estimators_"),
    "max_samples": _one_of(None),
    "n_jobs": _one_of(None, *range(-2, 257)),
    "verbose": _one_of(*range(10)),
}
UNLIMITED = {
    "_BudgetAccountant__epsilon": math.inf,
    "_BudgetAccountant__delta": 1.0,
    "_BudgetAccountant__min_epsilon": 0,
    "_BudgetAccountant__slack": 0.0,
}
"""What diffprivlib's accountant holds by itself. One with limits, or of other models too, is not followed."""
MOST_SPENT = 100
MOST_NESTED = 3
"""Estimators of estimators of a private one are looked into so deep."""


def _nested(part: SkopsPart, levels: int) -> Iterator[SkopsPart]:
    """Yield an estimator, and those that it is made of."""
    if part.loader != "ObjectNode":
        return
    yield part
    listed = part.attributes().get("estimators_")
    if levels and listed is not None and listed.loader in ("ListNode", "NdArrayNode"):
        for inner in listed.items():
            yield from _nested(inner, levels - 1)


def beside_learner(part: SkopsPart, around: AttributeParts = NOTHING_AROUND) -> Iterator[Leak]:
    """Yield attributes of a private estimator that its learner does not keep, or not with such a value.

    ``around`` are those of the estimator that it is a template of: it has columns and classes once it is fitted.
    """
    if part.kind.startswith(PRIVATE_TREE):
        own = OWN_OF_PRIVATE_TREE
    else:
        own = OWN_OF_DIFFPRIVLIB_FOREST if part.kind.startswith(FORESTS) else OWN_OF_DIFFPRIVLIB
    kept = part.attributes()
    known = {**around, **kept}
    for name in sorted(kept.keys() - VERSION):
        if name not in own:
            yield _not_its_own(part, name)
        elif not own[name](kept[name], known):
            what = f"a value of {name[:40]!r} that a {part.kind[:60]} does not give it: treewarden does not inspect it"
            yield Leak(LeakKind.UNKNOWN, part.place_of(name), what)


OF_STATE = frozenset(("max_depth", "node_count", "nodes", "values"))
OF_NODES = frozenset(("left_child", "right_child", "feature", "threshold"))
"""What a private tree publishes of its nodes: its tests."""
UNDEFINED = -2
"""What scikit-learn writes for the test of a leaf."""


def _beside_labels(part: SkopsPart) -> Iterator[Leak]:
    """Yield numbers in the checked arrays of a private tree that are neither its tests nor the label of a leaf."""
    where = part.place_of("tree_")
    state = part.attributes()["tree_"].attributes()
    nodes: Any = state["nodes"].array()
    is_leaf = nodes["left_child"] < 0
    values: Any = state["values"].array().reshape(len(nodes), -1)
    is_label = np.isin(values, (0, 1)).all(axis=1) & (values.sum(axis=1) == is_leaf)
    if not is_label.all():
        what = "numbers of the classes in its nodes (values), beside one label for each leaf"
        yield Leak(LeakKind.HISTOGRAM, where, what)
    is_tested = all((nodes[name][is_leaf] == UNDEFINED).all() for name in ("feature", "threshold"))
    if not is_tested:
        yield Leak(LeakKind.UNKNOWN, where, "numbers in leaves, where a test would stand")
    for name in nodes.dtype.names:
        if name not in OF_NODES and nodes[name].any():
            what = f"numbers of its nodes ({name[:40]}), which neither tests nor labels need"
            yield Leak(LeakKind.TARGET_STATISTICS, where, what)
    for name in sorted(state.keys() - OF_STATE):
        yield _not_its_own(part.attributes()["tree_"], name)


def _beside_step(step: SkopsPart) -> Iterator[Leak]:
    for name, value in step.attributes().items():
        if name in ARGUMENTS and step.kind == "FunctionTransformer":
            is_empty = value.loader == "JsonNode" and value.plain() is None
            if not is_empty and (value.loader != "DictNode" or value.attributes()):
                yield _not_its_own(step, name)
        elif name not in OWN_OF_STEP[step.kind] | VERSION:
            yield _not_its_own(step, name)


def _not_its_own(part: SkopsPart, name: str) -> Leak:
    what = f"{name[:40]!r}, which a {part.kind[:60]} does not have by itself: treewarden does not inspect it"
    return Leak(LeakKind.UNKNOWN, part.place_of(name), what)
