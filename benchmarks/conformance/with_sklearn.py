"""Scikit-learn's own predictions, by a tree built anew from the arrays that its ``__getstate__`` told.

skops trusts no fitted tree by itself, so no estimator is loaded: the arrays as JSON say all that a prediction needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.conformance.library import library, numbers
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Model

PACKAGE = "sklearn"
FORMATS = ("skops_file", "sklearn_json", "graphviz_dot", "sklearn_text")
EXACT = ("skops_file", "sklearn_json")


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    """Ask the tree whose arrays are the file, or stand beside it."""
    if model.format not in EXACT:
        raise NoToolError("scikit-learn does not load what it prints")
    arrays = path.with_name(path.name.partition(".")[0] + ".tree_state.json")
    if not arrays.exists():
        raise NoToolError("the tree's arrays are not beside it, and skops trusts no fitted tree")
    state = json.loads(arrays.read_bytes())
    tree = _built(library("sklearn.tree._tree"), state)
    table = numbers(model.features, columns).astype(np.float32)
    stops = tree.apply(table)
    values = tree.predict(table)
    takes_gaps = "missing_go_to_left" in dict(state["nodes_dtype"])  # since scikit-learn 1.3
    silent = np.zeros(len(table), dtype=bool) if takes_gaps else np.isnan(table).any(axis=1)
    names = stops.astype(str)[:, None]
    if model.classes:
        values = values / values.sum(axis=1, keepdims=True)
    return Said(columns, silent, scores=values, stops=names, tolerance=1e-9)


def _built(module: Any, state: dict[str, Any]) -> Any:
    classes = np.array(state["n_classes"], dtype=np.intp)
    tree = module.Tree(state["n_features"], classes, len(classes))
    names = [name for name, _ in state["nodes_dtype"] if name]
    nodes = np.zeros(len(state["nodes"]), dtype=module.NODE_DTYPE)
    for place, name in enumerate(names):
        nodes[name] = [node[place] for node in state["nodes"]]
    tree.__setstate__(
        {
            "max_depth": state["max_depth"],
            "node_count": len(nodes),
            "nodes": nodes,
            "values": np.ascontiguousarray(state["values"], dtype=np.float64),
        }
    )
    return tree
