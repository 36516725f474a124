"""The shapes of what an XGBoost file says beside the columns of its trees: which keys, and how much behind each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

NUMBER = re.compile(r"(?=.{1,25}\Z)-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3})?|nan|-?inf")
WHOLE = re.compile(r"-?[0-9]{1,10}")
TYPES = frozenset(("int", "float", "i", "q", "c"))
OBJECTIVES = frozenset(
    """
    reg:squarederror reg:squaredlogerror reg:logistic reg:linear reg:pseudohubererror reg:absoluteerror reg:gamma
    reg:tweedie reg:quantileerror reg:expectileerror count:poisson survival:cox survival:aft binary:logistic
    binary:logitraw binary:hinge multi:softmax multi:softprob rank:ndcg rank:pairwise rank:map
    """.split()  # noqa: SIM905  # a list of so many words would be as many lines
)
PARAMETERS: Mapping[str, frozenset[str]] = {
    "reg_loss_param": frozenset(("scale_pos_weight",)),
    "softmax_multiclass_param": frozenset(("num_class",)),
    "pseudo_huber_param": frozenset(("huber_slope",)),
    "tweedie_regression_param": frozenset(("tweedie_variance_power",)),
    "poisson_regression_param": frozenset(("max_delta_step",)),
    "quantile_loss_param": frozenset(("quantile_alpha",)),
    "expectile_loss_param": frozenset(("expectile_alpha",)),
    "aft_loss_param": frozenset(("aft_loss_distribution", "aft_loss_distribution_scale")),
    "lambda_rank_param": frozenset(("num_pairsample", "fix_list_weight")),
    "lambdarank_param": frozenset(
        """
        lambdarank_bias_norm lambdarank_normalization lambdarank_num_pair_per_sample lambdarank_pair_method
        lambdarank_score_normalization lambdarank_unbiased ndcg_exp_gain
        """.split()  # noqa: SIM905  # as above
    ),
}
WORDS = frozenset(("normal", "logistic", "extreme", "topk", "mean"))
LEARNER_PARAMETERS = frozenset(
    ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
)
MODEL_PARAMETERS = frozenset(("num_parallel_tree", "num_trees", "size_leaf_vector"))
TREE_PARAMETERS = frozenset(
    ("num_deleted", "num_feature", "num_nodes", "num_roots", "size_leaf_vector")
)

FRACTIONS = frozenset(
    ("base_weights", "leaf_weights", "loss_changes", "split_conditions", "sum_hessian")
)
"""The columns of a tree that hold numbers; all others hold whole ones."""
MOST_WHOLE = 2**63
NO_PARENT = (-1, 2**31 - 1)
"""What stands for the parent of the first node."""
SINGLE_DIGITS = 9
"""Digits that tell any number of 32 bits from all others."""
HESSIAN_ROUNDING = 1e-3
"""How far the sum of second derivatives of two children may be from that of their node, relatively."""


def is_number(value: object) -> bool:
    """Return whether it is one number, as such or as a text."""
    if isinstance(value, str):
        return bool(NUMBER.fullmatch(value))
    return isinstance(value, int | float)


def is_whole(value: object) -> bool:
    """Return whether it is one whole number, as such or as a text."""
    if isinstance(value, str):
        return bool(WHOLE.fullmatch(value))
    return type(value) is int


def are_wholes(value: object, keys: frozenset[str]) -> bool:
    """Return whether it is an object of these keys, with one whole number behind each."""
    return isinstance(value, dict) and value.keys() <= keys and all(map(is_whole, value.values()))


def is_objective(value: object, outputs: int) -> bool:
    """Return whether it is an objective as the library writes it: its name, and one object of parameters."""
    if not isinstance(value, dict) or str(value.get("name", "reg:linear")) not in OBJECTIVES:
        return False
    rest = value.keys() - {"name"}
    if len(rest) > 1 or not rest <= PARAMETERS.keys():
        return False
    return all(
        isinstance(value[key], dict)
        and value[key].keys() <= PARAMETERS[key]
        and all(str(each) in WORDS or are_numbers(each, outputs) for each in value[key].values())
        for key in rest
    )


def are_numbers(value: object, most: int) -> bool:
    """Return whether it is one number, or a text that lists at most so many."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        listed = value[1:-1].split(",")
        return len(listed) <= most and all(_is_single(each.strip()) for each in listed)
    return _is_single(value)


def _is_single(value: object) -> bool:
    """Return whether it is a number with no more digits than one of 32 bits needs."""
    mantissa = str(value).upper().partition("E")[0]
    digits = "".join(char for char in mantissa if char.isdigit()).strip("0")
    return is_number(value) and len(digits) <= SINGLE_DIGITS


def is_learner_parameters(value: object, outputs: int) -> bool:
    """Return whether the parameters are of the learner: one number each, and a start for each output."""
    if not isinstance(value, dict) or not value.keys() <= LEARNER_PARAMETERS:
        return False
    others = all(is_whole(each) for key, each in value.items() if key != "base_score")
    is_flag = str(value.get("boost_from_average", 0)) in ("0", "1")
    return others and is_flag and are_numbers(value.get("base_score", 0), outputs)


def strange_in(tree: Mapping[str, object], features: int) -> list[str]:
    """Return the keys of a tree that hold something where the library has nothing, or more or less than it has.

    ``features`` are those of the whole model, 0 where it does not say how many.
    """
    columns = {key: value for key, value in tree.items() if isinstance(value, list)}
    foreign = _without_numbers(tree)
    if foreign:
        return foreign
    size = len(columns.get("left_children", ()))
    types = columns.get("split_type", [])
    parameters = tree.get("tree_param")
    said = parameters.get("size_leaf_vector", 0) if isinstance(parameters, dict) else 0
    width = int(said) if is_whole(said) else 0
    leaves = sum(child == -1 for child in columns.get("left_children", ()))
    sizes = [each for each in columns.get("categories_sizes", ()) if type(each) is int]
    listed = [node for node, kind in enumerate(types) if kind == 1]
    lengths = {
        **dict.fromkeys(("loss_changes", "parents", "split_type", "sum_hessian"), size),
        "categories": sum(sizes),
        "categories_segments": len(listed),
        "categories_sizes": len(listed),
        "leaf_weights": leaves * width if width > 1 else 0,
    }
    strange = [
        key for key, length in lengths.items() if len(columns.get(key, ())) not in (0, length)
    ]
    weights = {0, size * max(1, width), *((leaves - 1) * width for _ in range(width > 1))}
    if len(columns.get("base_weights", ())) not in weights:
        strange.append("base_weights")
    if not _are_parents(columns):
        strange.append("parents")
    if columns.get("categories_nodes", []) != listed:
        strange.append("categories_nodes")
    counts = columns.get("leaf_child_counts", [])
    if len(counts) not in (0, size) or any(counts):
        strange.append("leaf_child_counts")
    if not _are_parameters(tree.get("tree_param", {}), size, features):
        strange.append("tree_param")
    if width <= 1:
        strange += _odd_leaves(columns)
        strange += _odd_sums(columns)
    return strange


def _without_numbers(tree: Mapping[str, object]) -> list[str]:
    """Return the columns of a tree that hold anything but numbers, or but whole ones where it has these alone."""
    found = []
    for key, column in tree.items():
        if key in ("id", "tree_param"):
            continue
        kinds = (int, float) if key in FRACTIONS else (int,)
        kinds = (*kinds, bool) if key == "default_left" else kinds
        if not isinstance(column, list) or any(
            type(each) not in kinds or (type(each) is int and abs(each) > MOST_WHOLE)
            for each in column
        ):
            found.append(key)
    flags = [key for key in ("default_left", "split_type") if key not in found]
    return found + [key for key in flags if not set(tree.get(key) or ()) <= {0, 1}]  # type: ignore[call-overload]  # a list of numbers


def _are_parameters(parameters: object, size: int, features: int) -> bool:
    """Return whether the parameters of a tree are whole numbers, and those of this tree."""
    if not isinstance(parameters, dict) or not are_wholes(parameters, TREE_PARAMETERS):
        return False
    expected = {"num_nodes": size, "num_feature": features} if features else {"num_nodes": size}
    if any(int(parameters.get(key, value)) != value for key, value in expected.items()):
        return False
    deleted, roots = (int(parameters.get(key, 0)) for key in ("num_deleted", "num_roots"))
    return 0 <= deleted <= size and roots in (0, 1)


def _odd_leaves(columns: Mapping[str, list[object]]) -> Iterator[str]:
    """Yield the columns that hold at a leaf what only a node that was split has."""
    left = columns.get("left_children", [])
    leaves = [node for node, child in enumerate(left) if child == -1]
    plain = {"right_children": -1, **dict.fromkeys(("split_indices", "loss_changes"), 0)}
    plain |= dict.fromkeys(("split_type", "default_left"), 0)
    for key, nothing in plain.items():
        column = columns.get(key, [])
        if len(column) == len(left) and any(column[node] != nothing for node in leaves):
            yield key


def _odd_sums(columns: Mapping[str, list[object]]) -> Iterator[str]:
    """Yield the sums of second derivatives where two children do not add up to their node; 0 was withheld."""
    left, right, sums = (
        columns.get(key, []) for key in ("left_children", "right_children", "sum_hessian")
    )
    numbers = [float(each) for each in sums if isinstance(each, int | float)]
    size = len(numbers)
    if not size or not len(left) == len(right) == size:
        return
    for node, pair in enumerate(zip(left, right, strict=True)):
        children = [each for each in pair if type(each) is int and 0 < each < size]
        below = sum(numbers[child] for child in children)
        told = numbers[node] and all(numbers[child] for child in children)
        if len(children) == 2 and told and not _is_near(below, numbers[node]):
            yield "sum_hessian"
            return


def _is_near(first: float, second: float) -> bool:
    return abs(first - second) <= HESSIAN_ROUNDING * max(abs(first), abs(second))


def _are_parents(columns: Mapping[str, list[object]]) -> bool:
    """Return whether each child names the node that names it; nodes that were cut off name none that is of use."""
    parents = columns.get("parents", [])
    sides = (columns.get(key, []) for key in ("left_children", "right_children"))
    below = [
        (node, child)
        for node, pair in enumerate(zip(*sides, strict=False))
        if pair[0] != -1
        for child in pair
    ]
    return (
        not parents
        or parents[0] in NO_PARENT
        and all(
            type(child) is int and 0 <= child < len(parents) and parents[child] == node
            for node, child in below
        )
    )
