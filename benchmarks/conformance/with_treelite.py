"""Treelite's own predictions, of a model built anew from its JSON: treelite writes JSON, but does not read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.conformance.library import library, numbers, two_classes
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Model

PACKAGE = "treelite"
FORMATS = ("treelite_json",)


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    treelite = library(PACKAGE)
    document = json.loads(path.read_bytes())
    if "postprocessor" not in document:
        raise NoToolError("of a version that this treelite does not build")
    theirs = _built(library("treelite.model_builder"), document)
    single = document["threshold_type"] == "float32"
    table = numbers(model.features, columns).astype(np.float32 if single else np.float64)
    scores = treelite.gtil.predict(theirs, table, nthread=1)
    silent = np.zeros(len(table), dtype=bool)
    return Said(
        columns,
        silent,
        scores=two_classes(scores.reshape(len(table), -1), len(model.classes)),
        tolerance=2e-6,
    )


def _built(builder: Any, document: dict[str, Any]) -> Any:
    made = builder.ModelBuilder(
        threshold_type=document["threshold_type"],
        leaf_output_type=document["leaf_output_type"],
        metadata=builder.Metadata(
            num_feature=document["num_feature"],
            task_type=document["task_type"],
            average_tree_output=bool(document["average_tree_output"]),
            num_target=document["num_target"],
            num_class=document["num_class"],
            leaf_vector_shape=document["leaf_vector_shape"],
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=len(document["trees"]),
            target_id=document["target_id"],
            class_id=document["class_id"],
        ),
        postprocessor=builder.PostProcessorFunc(
            name=document["postprocessor"],
            **(
                {"sigmoid_alpha": document["sigmoid_alpha"]}
                if document["postprocessor"] == "sigmoid"
                else {}
            ),
        ),
        base_scores=document["base_scores"],
    )
    for tree in document["trees"]:
        made.start_tree()
        for node in tree["nodes"]:
            _node(made, node)
        made.end_tree()
    return made.commit()


def _node(made: Any, node: dict[str, Any]) -> None:
    made.start_node(node["node_id"])
    if "leaf_value" in node:
        made.leaf(node["leaf_value"])
    elif node["node_type"] == "categorical_test_node":
        made.categorical_test(
            feature_id=node["split_feature_id"],
            category_list=node["category_list"],
            category_list_right_child=node["category_list_right_child"],
            **_ways(node),
        )
    else:
        made.numerical_test(
            feature_id=node["split_feature_id"],
            threshold=node["threshold"],
            opname=node["comparison_op"],
            **_ways(node),
        )
    made.end_node()


def _ways(node: dict[str, Any]) -> dict[str, Any]:
    return {
        "default_left": node["default_left"],
        "left_child_key": node["left_child"],
        "right_child_key": node["right_child"],
    }
