"""The nodes of one treelite tree: numbered, with tests on numbers or on lists of category numbers.

Treelite's JSON is also written from its trees alone: nodes in preorder, without gains and sums of second derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.tree.ensemble import Link
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Node

# What stands above the trees of a treelite file, in the words of versions 3 and 4: outputs, scores, classes.

LINKS = {
    "identity": Link.IDENTITY,
    "identity_multiclass": Link.IDENTITY,
    "sigmoid": Link.LOGISTIC,
    "multiclass_ova": Link.LOGISTIC,
    "exponential": Link.EXP,
    "softmax": Link.SOFTMAX,
}
SCALED = ("sigmoid", "multiclass_ova")
EVERY = -1


@dataclass(frozen=True, slots=True)
class TreeliteHeader:
    """The model around the trees.

    ``width`` numbers come out; ``outputs`` says which of them a tree adds to (None: its leaves hold all of them).
    ``factor`` multiplies the summed score before the link.
    """

    width: int
    classes: tuple[str, ...]
    outputs: tuple[int | None, ...]
    average: bool
    link: Link
    factor: float
    base: tuple[float, ...]
    single: bool
    features: int


def read_header(document: JsonPart, trees: int) -> TreeliteHeader:
    """Return the header of a file with so many trees.

    Raises:
        TreeFormatError: it is malformed, or the model has several targets with several classes each.
    """
    old = document.get("task_param")
    width, classifies = _old_width(old) if old is not None else _width(document)
    settings = document.get("model_param") or document
    name = _postprocessor(settings)
    alpha = settings.get("sigmoid_alpha")
    factor = alpha.number() if alpha is not None and name in SCALED else 1.0
    task = document["task_type"].text()
    classifies = classifies or task == "kBinaryClf" or name == "sigmoid"
    threshold = document.get("threshold_type")
    return TreeliteHeader(
        width=width,
        classes=tuple(str(index) for index in range(max(2, width))) if classifies else (),
        outputs=_old_outputs(old, trees, width)
        if old is not None
        else _outputs(document, trees, width),
        average=document["average_tree_output"].flag(),
        link=LINKS.get(name, Link.UNKNOWN),
        factor=factor,
        base=tuple(factor * number for number in _base(settings, width)),
        single=threshold is None or threshold.text() == "float32",
        features=document["num_feature"].whole(high=limits.FEATURES),
    )


def _postprocessor(settings: JsonPart) -> str:
    for key in ("postprocessor", "pred_transform"):
        json_part = settings.get(key)
        if json_part is not None:
            return json_part.text()
    raise settings.refused("it has no postprocessor, so scores cannot be turned into predictions")


def _width(document: JsonPart) -> tuple[int, bool]:
    """Return the number of outputs, and whether they are classes."""
    targets = document["num_target"].whole(low=1, high=limits.CLASSES)
    classes = [item.whole(low=1, high=limits.CLASSES) for item in document["num_class"]]
    if len(classes) != targets:
        raise document["num_class"].refused(
            f"there are {len(classes)} numbers for {targets} targets"
        )
    if targets > 1 and max(classes) > 1:
        raise document.refused(
            "the model has several targets with several classes each; give a model with one target"
        )
    return (targets, False) if targets > 1 else (classes[0], classes[0] > 1)


def _old_width(task: JsonPart) -> tuple[int, bool]:
    width = task["num_class"].whole(low=1, high=limits.CLASSES)
    return width, width > 1


def _outputs(document: JsonPart, trees: int, width: int) -> tuple[int | None, ...]:
    several = document["num_target"].whole() > 1
    key = "target_id" if several else "class_id"
    ids = [item.whole(low=EVERY) for item in document[key]]
    if len(ids) != trees or max(ids, default=0) >= width:
        raise document.refused(
            f"{key} must have one number below {width} for each of the {trees} trees"
        )
    return tuple(None if number == EVERY else number for number in ids)


def _old_outputs(task: JsonPart, trees: int, width: int) -> tuple[int | None, ...]:
    """Version 3: trees take turns at the classes, or each tells all of them."""
    size = task["leaf_vector_size"].whole(low=1, high=limits.CLASSES)
    if size > 1:
        if size != width:
            raise task.refused(f"leaves have {size} values for {width} classes")
        return (None,) * trees
    if width > 1 and not task["grove_per_class"].flag():
        raise task.refused("the model has several classes, but neither a tree nor a value for each")
    return tuple(index % width for index in range(trees))


def _base(settings: JsonPart, width: int) -> tuple[float, ...]:
    for key in ("base_scores", "global_bias"):
        json_part = settings.get(key)
        if json_part is not None:
            base = json_part.numbers()
            if len(base) not in (1, width):
                raise json_part.refused(f"there are {len(base)} numbers for {width} outputs")
            return base if len(base) == width else base * width
    return (0.0,) * width


OPERATORS = ("<", "<=", ">", ">=", "==")
LISTS = ("category_list", "categories_list", "matching_categories")
LISTS_ARE_RIGHT = ("category_list_right_child", "categories_list_right_child")
LARGEST_CATEGORY = 2**32 - 1


def nodes_of(part: JsonPart, width: int, header: TreeliteHeader) -> tuple[Node, ...]:
    """Return the nodes of a tree whose leaves hold ``width`` values each.

    Raises:
        TreeFormatError: a node is malformed, or the nodes form no tree.
    """
    by_id: dict[int, JsonPart] = {}
    for node in part["nodes"]:
        if by_id.setdefault(node["node_id"].whole(), node) is not node:
            raise node.refused("its node_id also belongs to another node")
    if not by_id:
        raise part.refused("the tree has no nodes")

    def draft_of(number: int) -> Draft:
        if number not in by_id:
            raise part.refused(f"node {number} is missing")
        return _draft(by_id[number], width, header)

    return grown(next(iter(by_id)), draft_of, part.where)


def bootstrapped(part: JsonPart) -> bool:
    """Whether the file's own numbers say that records were drawn several times or had weights."""
    for node in part["nodes"]:
        json_part, weighed = node.get("data_count"), node.get("sum_hess")
        if json_part is not None and weighed is not None and json_part.amount() != weighed.amount():
            return True
    return False


def _draft(node: JsonPart, width: int, header: TreeliteHeader) -> Draft:
    name = str(node["node_id"].whole())
    json_part = node.get("data_count")
    records = None if json_part is None else json_part.amount()
    value = node.get("leaf_value") or node.get("leaf_vector")
    if value is None:
        return Draft(name=name, branches=_branches(node, header.single), records=records)
    values = value.numbers()
    if len(values) != width:
        raise value.refused(f"contains {len(values)} values, but {width} are expected")
    if value.is_list and width > 1:
        return Draft(name=name, outputs=values, records=records)
    return Draft(name=name, score=values[0], records=records)


def _branches(node: JsonPart, single: bool) -> tuple[Branch, Branch]:
    left, right = node["left_child"].whole(), node["right_child"].whole()
    feature = f"f{node['split_feature_id'].whole()}"
    to_left = node["default_left"].flag()
    yes, no = _tests(node, feature, single)
    return Branch(left, yes, to_left), Branch(right, no, not to_left)


def _tests(node: JsonPart, feature: str, single: bool) -> tuple[Predicate, Predicate]:
    """Return the test of the left side, and of the right one."""
    listed = next((json_part for key in LISTS if (json_part := node.get(key)) is not None), None)
    if listed is None:
        operator, threshold = node["comparison_op"].text(), node["threshold"]
        if operator not in OPERATORS:
            raise node.refused(
                f"unknown comparison_op {operator!r}; known values: {', '.join(OPERATORS)}"
            )
        return compared(feature, operator, threshold.single() if single else threshold.number())
    inside, outside = belongs(feature, (str(item.whole(high=LARGEST_CATEGORY)) for item in listed))
    on_right = next(
        (json_part for key in LISTS_ARE_RIGHT if (json_part := node.get(key)) is not None), None
    )
    return (outside, inside) if on_right is not None and on_right.flag() else (inside, outside)


REST = (
    "gains of splits, sums of second derivatives, and other content that the same trees do not need"
)
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
        raise UnwritableError("trees that were trained on samples of different sizes")
    for part in parts:
        nodes = list(_nodes(part, is_single=is_single))
        if bootstrapped(part):
            number = min(draws)
            if number > MOST_DRAWS or nodes[0].get("data_count") == number:
                raise UnwritableError("sums of weights that are too large for the format")
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
