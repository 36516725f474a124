"""Treelite's JSON written from its trees alone: nodes in preorder, no gains, no sums of second derivatives."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.plain import UnwritableError
from treewarden.ppdm_models.formats.rare._treelite import (
    LINKS,
    LISTS,
    LISTS_ARE_RIGHT,
    SCALED,
    bootstrapped,
)

REST = "gains of splits, sums of second derivatives, and whatever else a file of the same trees need not hold"
TASKS = ("kBinaryClf", "kRegressor", "kMultiClf", "kLearningToRank")
FLOATS = ("float32", "float64")
MOST_DRAWS = 10**12


def plain_document(document: JsonPart) -> dict[str, object]:
    """Return the document of a model that was read, with what the model holds and nothing else.

    Raises:
        UnwritableError: it is of another version, or has a word or number that no model holds.
    """
    if document.get("task_param") is not None:
        raise UnwritableError("version 3 of the format")
    link, task = document["postprocessor"].text(), document["task_type"].text()
    types = [document[key].text() for key in ("threshold_type", "leaf_output_type")]
    if link not in LINKS or task not in TASKS or not set(types) <= set(FLOATS):
        raise UnwritableError("a task or type that is not known")
    alpha = document.get("sigmoid_alpha")
    scale = alpha.number() if alpha is not None and link in SCALED else 1.0
    is_vector = [number.whole(low=-1) == -1 for number in document["class_id"]]
    targets = document["num_target"].whole(low=1)
    classes = [number.whole(low=1) for number in document["num_class"]]
    several = targets > 1
    ids = [number.whole(low=-1) for number in document["target_id" if several else "class_id"]]
    shape = [targets if several else 1, max(classes)] if any(is_vector) or several else [1, 1]
    base = document.get("base_scores")
    width = targets if several else classes[0]
    scores = [0.0] * width if base is None else [number + 0.0 for number in base.numbers()]
    return {
        "threshold_type": types[0],
        "leaf_output_type": types[1],
        "num_feature": document["num_feature"].whole(),
        "task_type": task,
        "average_tree_output": document["average_tree_output"].flag(),
        "num_target": targets,
        "num_class": classes,
        "leaf_vector_shape": shape,
        "target_id": ids if several else [0] * len(ids),
        "class_id": [0] * len(ids) if several else ids,
        "postprocessor": link,
        "sigmoid_alpha": scale,
        "ratio_c": 1.0,
        "base_scores": scores if len(scores) == width else scores * width,
        "attributes": "",
        "trees": list(_trees(document, is_single=types[0] == FLOATS[0])),
    }


def _trees(document: JsonPart, *, is_single: bool) -> Iterator[dict[str, object]]:
    parts = list(document["trees"])
    draws = {part["nodes"].at(0)["sum_hess"].amount() for part in parts if bootstrapped(part)}
    if len(draws) > 1 or not all(number.is_integer() for number in draws):
        raise UnwritableError("numbers of records that were drawn, which differ")
    for part in parts:
        nodes = list(_nodes(part, is_single=is_single))
        if bootstrapped(part):
            number = min(draws)
            if number > MOST_DRAWS or nodes[0].get("data_count") == number:
                raise UnwritableError("weights of records that cannot be told by one number")
            nodes[0]["sum_hess"] = number
        is_listed = any("category_list" in node for node in nodes)
        yield {"num_nodes": len(nodes), "has_categorical_split": is_listed, "nodes": nodes}


def _nodes(part: JsonPart, *, is_single: bool) -> Iterator[dict[str, object]]:
    """Yield the nodes in preorder, the left child first."""
    by_id = {node["node_id"].whole(): node for node in part["nodes"]}
    order, pending = [], [part["nodes"].at(0)["node_id"].whole()]
    while pending:
        number = pending.pop()
        order.append(number)
        if _value(by_id[number]) is None:
            pending += [by_id[number][key].whole() for key in ("right_child", "left_child")]
    numbers = {number: place for place, number in enumerate(order)}
    for number in order:
        node = by_id[number]
        plain: dict[str, object] = {"node_id": numbers[number]}
        value = _value(node)
        if value is None:
            plain |= _split(node, numbers, is_single=is_single)
        else:
            values = [each + 0.0 for each in value.numbers()]
            plain["leaf_value"] = values if value.is_list else values[0]
        count = node.get("data_count")
        if count is not None:
            plain["data_count"] = count.whole()
        yield plain


def _value(node: JsonPart) -> JsonPart | None:
    value = node.get("leaf_value")
    return node.get("leaf_vector") if value is None else value


def _split(node: JsonPart, numbers: dict[int, int], *, is_single: bool) -> dict[str, object]:
    listed = next((part for key in LISTS if (part := node.get(key)) is not None), None)
    plain: dict[str, object] = {
        "split_feature_id": node["split_feature_id"].whole(),
        "default_left": node["default_left"].flag(),
    }
    if listed is None:
        threshold = node["threshold"]
        plain |= {
            "node_type": "numerical_test_node",
            "comparison_op": node["comparison_op"].text(),
            "threshold": (threshold.single() if is_single else threshold.number()) + 0.0,
        }
    else:
        side = next((part for key in LISTS_ARE_RIGHT if (part := node.get(key)) is not None), None)
        plain |= {
            "node_type": "categorical_test_node",
            "category_list_right_child": side is not None and side.flag(),
            "category_list": sorted({part.whole() for part in listed}),
        }
    children = {key: numbers[node[key].whole()] for key in ("left_child", "right_child")}
    return plain | children
