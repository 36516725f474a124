"""Lays a tree out as our own JSON: the same tree gives the same bytes."""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import ValidationError

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.formats.own._document import TreeDocument
from treewarden.ppdm_models.formats.own._entries import test_entry, treatment_entry
from treewarden.ppdm_models.tree.tree import Node, Tree


def written(tree: Tree) -> bytes:
    """Return the tree as JSON.

    Raises:
        OutputError: two nodes have the same name, or the tree holds what JSON cannot.
    """
    names = [node.name for node in tree.nodes]
    if len(set(names)) < len(names):
        raise OutputError(tree.source, "two nodes have the same name; rename one")
    try:
        return _laid_out(_entry(tree).model_dump(mode="json")).encode()
    except (ValidationError, ValueError) as error:
        raise OutputError(tree.source, f"the tree cannot be written as JSON ({error})") from error


def _entry(tree: Tree) -> TreeDocument:
    return TreeDocument.model_validate(
        {
            "format": "treewarden-tree",
            "version": 1,
            "target": tree.target,
            "task": tree.task,
            "classes": tree.classes,
            "features": tuple(
                {
                    "name": feature.name,
                    "type": "numeric" if feature.numeric else "categorical",
                    "values": feature.values,
                    "single": feature.single,
                    "treatments": tuple(map(treatment_entry, feature.treatments)) or None,
                }
                for feature in tree.features
            ),
            "learner": {
                "criterion": tree.learner.criterion,
                "min_leaf_records": tree.learner.min_leaf_records,
                "all_features": tree.learner.all_features,
                "multiway": tree.learner.multiway,
                "tool": tree.learner.tool,
                "max_bins": tree.learner.max_bins,
                "sets": tree.learner.sets,
                "unmodelled": tree.learner.unmodelled,
                "claim": None if tree.learner.claim is None else tree.learner.claim.words,
                "lists_columns": None
                if tree.learner.lists_columns is tree.learner.usually_lists_columns
                else tree.learner.lists_columns,
            },
            "quality": tree.quality,
            "missing": tree.missing,
            "no_true_child": tree.no_true_child,
            "nodes": tuple(_node_entry(tree, node) for node in tree.nodes),
        }
    )


def _node_entry(tree: Tree, node: Node) -> dict[str, object]:
    counts = node.class_counts
    shares = node.class_shares if counts is None else None
    return {
        "id": node.name,
        "parent": None if node.parent is None else tree.nodes[node.parent].name,
        "test": test_entry(node.test),
        "score": node.score,
        "records": node.records,
        "class_counts": None if counts is None else dict(zip(tree.classes, counts, strict=True)),
        "class_shares": None if shares is None else dict(zip(tree.classes, shares, strict=True)),
        "bands": None if node.bands is None else dict(zip(tree.classes, node.bands, strict=True)),
        "impurity": None if node.impurity is None else asdict(node.impurity),
        "default_child": None
        if node.default_child is None
        else tree.nodes[node.default_child].name,
    }


def _laid_out(document: dict[str, object]) -> str:
    """Lay the document out for people and for diffs: one line per key, and per node and feature; nulls left out."""
    lines = []
    for key, value in document.items():
        if key in ("nodes", "features") and isinstance(value, list):
            entries = ",\n    ".join(_compact(entry) for entry in value)
            lines.append(f'  "{key}": [\n    {entries}\n  ]' if value else f'  "{key}": []')
        else:
            lines.append(f'  "{key}": {_compact(value, keep_null=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: object, keep_null: bool = False) -> str:
    if isinstance(value, dict) and not keep_null:
        value = {key: inner for key, inner in value.items() if inner is not None}
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
