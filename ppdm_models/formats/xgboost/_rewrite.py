"""Puts changed trees back into an XGBoost model file: withheld sums become 0, pruned nodes and dropped trees go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.formats.common.boosted import LEAF, leaf_score, paired
from treewarden.ppdm_models.formats.common.json import Steps, as_list, as_object, pointer
from treewarden.ppdm_models.formats.common.origin import is_origin, telling
from treewarden.ppdm_models.formats.xgboost._implied_sums import are_implied, are_told, clear
from treewarden.ppdm_models.formats.xgboost._learner import (
    Booster,
    booster_of,
    category_names,
    learner_of,
)
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakGroup, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

PER_NODE = (
    "base_weights",
    "default_left",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
)
OF_SPLITS = frozenset(("default_left", "loss_changes", "split_indices", "split_type"))
"""What only nodes that are split have."""
BEST = ("best_iteration", "best_ntree_limit", "best_score")
"""The attributes that say which trees did best on other records; they may be gone."""


def rewritten(document: object, before: Model, changed: Model, source: str) -> object:
    """Return the document with the changed trees; the document is used up.

    Raises:
        OutputError: a tree was added or taken out between others, a leaf has no number, or a tree of vectors was
            pruned.
    """
    learner, steps = learner_of(document, source)
    booster = booster_of(learner, source, steps)
    at = [*booster.steps, "trees"]
    raw = as_list(booster.model.get("trees"), source, at)
    pairs = paired(before, changed, drops=True)
    if len(pairs) < len(raw):
        _drop(learner, booster, len(pairs), source)
    for index, (old, new) in enumerate(pairs):
        if old.nodes != new.nodes:
            tree = as_object(raw[index], source, [*at, index])
            _withhold(tree, old, new)
            _prune(tree, old, new)
    return document


def _drop(learner: dict[str, object], booster: Booster, count: int, source: str) -> None:
    """Keep the first trees, and nothing that tells how many there were."""
    model = booster.model
    for name in ("trees", "tree_info"):
        column = as_list(model[name], source, [*booster.steps, name])
        del column[count:]
    weights = model.get("weight_drop")
    if isinstance(weights, list):
        del weights[count:]
    ends = model.get("iteration_indptr")
    if isinstance(ends, list):
        ends[:] = [end for end in ends if isinstance(end, int) and end <= count]
    parameters = model.get("gbtree_model_param")
    if isinstance(parameters, dict):
        parameters["num_trees"] = str(count)
    attributes = learner.get("attributes")
    if isinstance(attributes, dict):
        for name in BEST:
            attributes.pop(name, None)


def _column(tree: dict[str, object], name: str) -> list[object]:
    column = tree[name]
    assert isinstance(column, list)
    return column


def _withhold(tree: dict[str, object], old: Tree, new: Tree) -> None:
    published = {node.name for node in old.nodes if node.records is not None}
    for node in new.nodes:
        if node.records is None and node.name in published:
            for name in (
                "sum_hessian",
                "loss_changes",
                *(() if node.is_leaf else ("base_weights",)),
            ):
                if name in tree:
                    _column(tree, name)[int(node.name)] = 0.0


def _prune(tree: dict[str, object], old: Tree, new: Tree) -> None:
    """Make leaves of the nodes that lost their children, give each leaf its number, and drop what nothing reaches."""
    before = {node.name: node for node in old.nodes}
    lefts, rights = _column(tree, "left_children"), _column(tree, "right_children")
    for leaf in new.leaves:
        was = before[leaf.name]
        if was.is_leaf and leaf.score == was.score and leaf.outputs == was.outputs:
            continue
        if leaf.outputs is not None or was.outputs is not None:
            raise OutputError(
                old.source,
                "a tree whose leaves contain vectors cannot be pruned; train the model again",
            )
        index, score = int(leaf.name), float(np.float32(leaf_score(new, leaf)))
        lefts[index] = rights[index] = LEAF
        for name, value in (
            ("split_conditions", score),
            ("base_weights", score),
            ("loss_changes", 0.0),
            ("split_indices", 0),
            ("default_left", 0),
            ("split_type", 0),
        ):
            if name in tree:
                _column(tree, name)[index] = value
    if len(new.nodes) < len(old.nodes):
        _keep(tree, sorted(int(node.name) for node in new.nodes))


def _keep(tree: dict[str, object], nodes: list[int]) -> None:
    """Keep some nodes, under new numbers in the old order."""
    number = {old: new for new, old in enumerate(nodes)}
    _keep_categories(tree, number)
    for name in PER_NODE:
        if name in tree:
            column = _column(tree, name)
            column[:] = [column[index] for index in nodes]
    for name in ("left_children", "right_children", "parents"):
        column = _column(tree, name)
        column[:] = [number.get(node, node) if isinstance(node, int) else node for node in column]
    parameters = tree.get("tree_param")
    if isinstance(parameters, dict):
        parameters.update(num_nodes=str(len(nodes)), num_deleted="0")


def _clear_leaves(tree: dict[str, object]) -> None:
    """Take out of leaves what they were split by before they were pruned."""
    lefts = _column(tree, "left_children")
    leaves = [node for node, child in enumerate(lefts) if child == LEAF]
    for name in OF_SPLITS & tree.keys():
        column = _column(tree, name)
        for leaf in leaves if len(column) == len(lefts) else ():
            was = column[leaf]
            if was and isinstance(was, int | float):
                column[leaf] = type(was)(0)


def reached_nodes(lefts: Sequence[object], rights: Sequence[object]) -> list[int]:
    """Return the nodes of a tree to which a path leads from the first, in order."""
    reached, pending = set[int](), [0]
    while pending:
        node = pending.pop()
        if node not in reached and 0 <= node < min(len(lefts), len(rights)):
            reached.add(node)
            children = (lefts[node], rights[node])
            pending += [child for child in children if type(child) is int and child > 0]
    return sorted(reached)


def _keep_categories(tree: dict[str, object], number: dict[int, int]) -> None:
    if not tree.get("categories_nodes"):
        return
    nodes, starts, sizes, codes = (
        _column(tree, name)
        for name in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    types, old_codes = _column(tree, "split_type"), list(codes)
    entries = [
        (node, old_codes[start : start + size])
        for node, start, size in zip(nodes, starts, sizes, strict=True)
        if isinstance(node, int) and isinstance(start, int) and isinstance(size, int)
        if node in number and types[node]
    ]
    codes[:] = [code for _, listed in entries for code in listed]
    nodes[:] = [number[node] for node, _ in entries]
    sizes[:] = [len(listed) for _, listed in entries]
    starts[:] = np.cumsum([0, *(len(listed) for _, listed in entries)])[:-1].tolist()


# Side channels of an XGBoost model file: attributes, names, categories, a configuration.

SEEDS = ("seed", "random_state")


def leaks_of(document: object, source: str) -> tuple[Leak, ...]:
    """Return the leaks, attributes first."""
    learner, steps = learner_of(document, source)
    return (
        *(leak for _, leak in _attributes(learner, source, steps)),
        *_names(learner, source, steps),
        *_categories(learner, source, steps),
        *_configuration(document),
    )


def without_leaks(document: object, source: str, kinds: frozenset[LeakKind]) -> object:
    """Return the document without the attributes and sums of these kinds; the document is used up."""
    learner, steps = learner_of(document, source)
    attributes = learner.get("attributes")
    telling_names = dict(_attributes(learner, source, steps))
    if LeakKind.AVERAGES in kinds:
        trees, _ = _trees_of(document, source)
        if are_told(trees) and not are_implied(trees):
            clear(trees)
    if LeakKind.UNKNOWN in kinds:
        for tree in _trees_of(document, source)[0]:
            reached = reached_nodes(_column(tree, "left_children"), _column(tree, "right_children"))
            size = len(_column(tree, "left_children"))
            columns = [tree[name] for name in PER_NODE if name in tree]
            whole = all(isinstance(each, list) and len(each) == size for each in columns)
            if len(reached) < size and whole:
                _keep(tree, reached)
            _clear_leaves(tree)
    if not isinstance(attributes, dict):
        return document
    for name in list(attributes):
        leak = telling_names.get(name)
        if leak is not None and leak.kind in kinds or leak is None and LeakKind.UNKNOWN in kinds:
            del attributes[name]
    return document


def unexplained_sums(document: object, source: str) -> Iterator[Leak]:
    """Yield that inner nodes hold weights or gains that do not follow from the leaves of a checked document."""
    trees, at = _trees_of(document, source)
    if are_told(trees) and not are_implied(trees):
        what = (
            "base_weights and loss_changes of nodes that do not follow from the leaves: averages of the training "
            "records, or anything else"
        )
        yield Leak(LeakKind.AVERAGES, pointer(at), what, removable=True)


def trees_of_document(document: object, source: str) -> list[dict[str, object]]:
    """Return the trees of a checked document, as they stand in it."""
    return _trees_of(document, source)[0]


def _trees_of(document: object, source: str) -> tuple[list[dict[str, object]], Steps]:
    learner, steps = learner_of(document, source)
    booster = booster_of(learner, source, steps)
    at = [*booster.steps, "trees"]
    listed = as_list(booster.model.get("trees"), source, at)
    return [as_object(tree, source, [*at, index]) for index, tree in enumerate(listed)], at


def _attributes(learner: dict[str, object], source: str, steps: Steps) -> list[tuple[str, Leak]]:
    at = [*steps, "attributes"]
    found = []
    for name, value in as_object(learner.get("attributes", {}), source, at).items():
        kind = telling(str(value), name)
        if kind is not None and kind.group is LeakGroup.ORIGIN and not is_origin(str(value)):
            kind = None  # more than that: a text of its own
        if kind is not None:
            what = f"the attribute {name!r} holds what looks like a {kind}"
            found.append((name, Leak(kind, pointer([*at, name]), what, removable=True)))
    return found


def _names(learner: dict[str, object], source: str, steps: Steps) -> Iterator[Leak]:
    at = [*steps, "feature_names"]
    for index, name in enumerate(as_list(learner.get("feature_names", []), source, at)):
        kind = telling(str(name))
        if kind is not None:
            yield Leak(kind, pointer([*at, index]), f"a feature's name looks like a {kind}")


def _categories(learner: dict[str, object], source: str, steps: Steps) -> Iterator[Leak]:
    booster = booster_of(learner, source, steps)
    at = [*booster.steps, "cats"]
    for index, names in category_names(booster.model.get("cats"), source, at).items():
        yield Leak(
            LeakKind.CATEGORIES,
            pointer([*at, "enc", index]),
            f"lists the {len(names)} categories of a feature that the training data had, including "
            "categories of a single record",
        )


def _configuration(document: object) -> Iterator[Leak]:
    """A snapshot holds the training configuration beside the model."""
    if not isinstance(document, dict) or not isinstance(document.get("Config"), dict):
        return
    stack: list[tuple[list[str | int], object]] = [(["Config"], document["Config"])]
    while stack:
        steps, part = stack.pop()
        for name, value in reversed(part.items()) if isinstance(part, dict) else ():
            if name in SEEDS:
                yield Leak(
                    LeakKind.REPLAY,
                    pointer([*steps, name]),
                    "the seed: with a part of the training data, an adversary can repeat the training",
                )
            stack.append(([*steps, name], value))
