"""ONNX Runtime's predictions: the label and the scores of a classifier, the number of a regressor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.conformance.library import library, numbers
from benchmarks.conformance.outcome import Said
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Model

PACKAGE = "onnxruntime"
FORMATS = ("onnx_ml",)


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    runtime = library(PACKAGE)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(_protobuf(path), options)
    table = numbers(model.features, columns).astype(np.float32)
    answers = session.run(None, {session.get_inputs()[0].name: table})
    scores = answers[-1]
    if isinstance(scores, list):  # a dictionary for each record
        scores = np.array([list(row.values()) for row in scores])
    named = [str(label) for label in answers[0].ravel()] if len(answers) == 2 else None
    silent = np.zeros(len(table), dtype=bool)
    scores = np.asarray(scores, dtype=np.float64).reshape(len(table), -1)
    return Said(columns, silent, scores=scores, labels=named, tolerance=2e-6)


def _protobuf(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes()
    onnx, json_format = library("onnx"), library("google.protobuf.json_format")
    return json_format.Parse(path.read_bytes(), onnx.ModelProto()).SerializeToString()
