"""What a model file publishes, in plain values: its shape, for how many people its numbers speak, what else leaks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from treewarden.ppdm_models.semantics.partition import problems
from treewarden.ppdm_models.semantics.support import REASONS
from treewarden.ppdm_models.tree.ensemble import (
    Ensemble,
    Model,
    claim_of,
    claims_privacy,
    outputs_of,
    trees_of,
)
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import (
    WORST_LAST,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
    count_of,
)

DRAWS = {
    True: "the numbers count draws of a random sample, not people",
    None: "the file does not state whether its numbers count people or draws of a random sample",
}
HELD_OUT = "some records were held out for early stopping; the numbers count the others"
MOST_TREES = 1000
"""The most trees that are described one by one."""

MOST_LEAVES = 10_000
"""The most leaves that are listed."""


def describe(model: Model, leaks: Sequence[Leak] = ()) -> dict[str, object]:
    """Return what a model publishes, ready for JSON.

    ``support.records`` and ``support.smallest_leaf`` are None where no published number counts people;
    ``support.smallest_published`` is the smallest number on a leaf, draws of a sample included; leaves that nobody
    reached count in ``support.empty_leaves`` and nowhere else. ``support.qualities`` says how many trees have each
    quality. ``publishes`` says how many leaves tell their label, their size, the rates and the counts of their
    classes; ``claim`` is what is claimed of differential privacy, in words (None: nothing), whether the file holds the
    seed of its draws, what an accountant in it adds up, and what it publishes without noise; ``notes`` is what the
    reader found remarkable.
    """
    trees = [_Summary.from_tree(tree) for tree in trees_of(model)]
    said: dict[str, object] = {
        "trees": len(trees),
        "nodes": sum(summary.nodes for summary in trees),
        "leaves": sum(summary.leaves for summary in trees),
        "depth": max((summary.depth for summary in trees), default=0),
        "task": str(model.task),
        "target": model.target,
        "classes": list(model.classes),
        "outputs": outputs_of(model),
        "features": _features(model, {name for summary in trees for name in summary.tested}),
        "criterion": _criterion(model),
        "support": _support(model, trees),
        "publishes": {
            "labels": sum(summary.labels for summary in trees),
            "sizes": sum(summary.sizes for summary in trees),
            "rates": sum(summary.rates for summary in trees),
            "counts": sum(summary.counts for summary in trees),
            "inner_labels": sum(summary.inner_labels for summary in trees),
            "impurities": sum(summary.impurities for summary in trees),
            "unused": list(dict.fromkeys(kind for tree in trees_of(model) for kind in tree.unused)),
        },
        "claim": _claim(model),
        "notes": list(model.notes),
        "leaks": [_leak(leak) for leak in leaks],
    }
    if isinstance(model, Ensemble):
        said["combination"] = str(model.combination)
        said["link"] = str(model.link)
        said["resampled"] = model.sampling.resampled
        said["others"] = [other.kind for other in islice(model.others, MOST_TREES)]
        said["members"] = [
            summary.entry(number) for number, summary in enumerate(trees[:MOST_TREES], 1)
        ]
    return said


def leaf_entries(model: Model, *, exact: bool = False) -> Iterator[dict[str, object]]:
    """Yield what each leaf publishes, at most ``MOST_LEAVES``: its tree (from 1), region, label or value, records.

    Where no child takes some records and the node above then predicts for them, that rest is a leaf too. Thresholds are
    rounded for reading, unless ``exact``.
    """
    return islice(_leaf_entries(model, exact), MOST_LEAVES)


def _leaf_entries(model: Model, exact: bool) -> Iterator[dict[str, object]]:
    draws = may_be_draws(model)
    for number, tree in enumerate(trees_of(model), 1):
        rests = set()
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION:
            rests = {problem.node for problem in problems(tree) if problem.kind == "gap"}
        for node in tree.nodes:
            if not node.is_leaf and node.index not in rests:
                continue
            path = path_text(tree, node.index, exact=exact)
            yield {
                "tree": number,
                "node": node.name,
                "region": path if node.is_leaf else f"{path}, where no test below it holds",
                "says": _says(tree, node),
                "records": count_of(node) if node.is_leaf and tree.has_people else None,
                "quality": "draws" if draws and tree.has_people else str(tree.quality),
            }


def may_be_draws(model: Model) -> bool:
    """Return whether the counts of a model's trees may be draws of a random sample, so that they tell of no people."""
    return isinstance(model, Ensemble) and model.sampling.resampled is not False


@dataclass(frozen=True, slots=True)
class _Summary:
    """One tree in numbers; ``smallest`` and ``records`` only where they count people (or draws)."""

    nodes: int
    leaves: int
    depth: int
    tested: frozenset[str]
    quality: Quality
    records: float | None
    smallest: float | None
    empty: int
    labels: int
    sizes: int
    rates: int
    counts: int
    inner_labels: int
    impurities: int

    @classmethod
    def from_tree(cls, tree: Tree) -> _Summary:
        leaves = tree.leaves
        sizes = (
            [size for size in map(count_of, leaves) if size is not None] if tree.has_people else []
        )
        total = count_of(tree.root) if tree.has_people else None
        if total is None and sizes and len(sizes) == len(leaves):
            total = math.fsum(sizes)
        with_counts = sum(map(_has_counts, leaves))
        return cls(
            nodes=len(tree.nodes),
            leaves=len(leaves),
            depth=tree.depth,
            tested=frozenset(name for node in tree.nodes for name in features_of(node.test)),
            quality=tree.quality,
            records=total,
            smallest=min((size for size in sizes if size > 0), default=None),
            empty=sizes.count(0.0),
            labels=sum(leaf.score is not None or leaf.outputs is not None for leaf in leaves),
            sizes=len(sizes),
            rates=sum(leaf.class_shares is not None or _has_counts(leaf) for leaf in leaves),
            counts=with_counts if tree.has_people else 0,
            inner_labels=sum(node.score in tree.classes for node in tree.nodes if not node.is_leaf)
            if tree.classes
            else 0,
            impurities=sum(node.impurity is not None for node in tree.nodes),
        )

    def entry(self, number: int) -> dict[str, object]:
        return {
            "tree": number,
            "nodes": self.nodes,
            "leaves": self.leaves,
            "depth": self.depth,
            "quality": str(self.quality),
            "smallest_published": self.smallest,
        }


def _claim(model: Model) -> dict[str, object] | None:
    """Return what is claimed of differential privacy, and what its accountant adds up; None where nothing is."""
    if not claims_privacy(model):
        return None
    claim = claim_of(model)
    if claim is None:
        return {
            "words": "",
            "seeded": None,
            "spent": None,
            "unprotected": [],
            "open": [],
            "trees": [],
        }
    return {
        "words": claim.words,
        "seeded": claim.is_seeded,
        "spent": claim.spent,
        "unprotected": [*claim.producer.unprotected],
        "open": [*claim.producer.unevaluated],
        "trees": _claims_of_trees(model),
    }


def _claims_of_trees(model: Model) -> list[dict[str, object]]:
    """Return what each tree claims by itself, with how many trees do; nothing where all make one claim of the whole."""
    claims = [tree.learner.claim for tree in trees_of(model)]
    counted = Counter("" if claim is None else claim.words for claim in claims)
    if claim_of(model) in claims and len(counted) == 1:
        return []
    said = [{"words": words, "trees": trees} for words, trees in counted.items()]
    return said[:MOST_TREES]


def _features(model: Model, tested: set[str]) -> list[dict[str, object]]:
    return [
        {
            "name": feature.name,
            "type": "numeric" if feature.numeric else "categorical",
            "tested": feature.name in tested,
            "values": len(feature.values),
        }
        for feature in model.features
    ]


def _criterion(model: Model) -> str | None:
    """Return the criterion that every tree was grown by, if all say the same."""
    criteria = {tree.learner.criterion for tree in trees_of(model)}
    criterion = criteria.pop() if len(criteria) == 1 else None
    return None if criterion is None else str(criterion)


def _support(model: Model, trees: Sequence[_Summary]) -> dict[str, object]:
    found = Counter(tree.quality for tree in trees)
    quality = max(found, key=WORST_LAST.index, default=Quality.ABSENT)
    reason = REASONS[quality]
    is_people = quality in (Quality.EXACT, Quality.DERIVED)
    if is_people and isinstance(model, Ensemble) and may_be_draws(model):
        reason = HELD_OUT if model.sampling.held_out else DRAWS[model.sampling.resampled]
        is_people = False
    sizes = [tree.smallest for tree in trees if tree.smallest is not None]
    totals = {tree.records for tree in trees}
    return {
        "quality": str(quality),
        "reason": reason,
        "counts_people": is_people,
        "records": totals.pop() if is_people and len(totals) == 1 else None,
        "smallest_leaf": min(sizes, default=None) if is_people else None,
        "smallest_published": min(sizes, default=None),
        "empty_leaves": sum(tree.empty for tree in trees),
        "qualities": {str(each): found[each] for each in WORST_LAST if found[each]},
    }


def _leak(leak: Leak) -> dict[str, object]:
    return {
        "kind": str(leak.kind),
        "group": str(leak.kind.group),
        "where": leak.where,
        "what": leak.what,
        "records": leak.records,
        "removable": leak.removable,
    }


def _says(tree: Tree, node: Node) -> str | float | list[float] | None:
    if node.score is None and node.outputs is not None:
        return list(node.outputs)
    if tree.task is Task.CLASSIFICATION or node.score is None:
        return node.score
    return float(node.score)


def _has_counts(node: Node) -> bool:
    return node.class_counts is not None and any(count is not None for count in node.class_counts)
