"""A new tree with differential privacy in place of a model that no change lets pass, as a file that says its claim.

Only what is public goes into it beside the draws: the columns, categories and classes that the failing file declares,
and bounds of numbers that the owner states. No score is measured on the table, as that would cost privacy too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from treewarden.audit.progress import Step
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.inputs import ModelBytes, model_name, read
from treewarden.learn.grown_file import GrownFile, feature_frame, target_values
from treewarden.learn.private_tree import PrivateTreeClassifier
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import RemedyError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tree.tree import Feature, Task

DEPTH = 3
"""The tests on each path: few leaves, so that each is likely large; no record has a part in it."""


@dataclass(frozen=True, slots=True)
class PrivateTreeRequest:
    """The epsilon that a tree may cost, and the bounds of numeric columns by name, known without the table."""

    epsilon: float
    bounds: Mapping[str, tuple[float, float]]


def read_bounds(entries: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return bounds that are written ``age=0:120``.

    Raises:
        ValueError: an entry is no name and two numbers, the lower one first.
    """
    bounds = {}
    for entry in entries:
        name, _, ends = entry.rpartition("=")
        low, _, high = ends.partition(":")
        try:
            pair = (float(low), float(high))
        except ValueError:
            pair = (math.nan, math.nan)
        if not name or not (
            math.isfinite(pair[0]) and math.isfinite(pair[1]) and pair[0] < pair[1]
        ):
            raise ValueError(f"{entry!r}: write COLUMN=LOW:HIGH, such as age=0:120")
        bounds[name] = pair
    return bounds


def private_file(
    request: Request,
    subject: AuditInputs,
    private_request: PrivateTreeRequest,
    target: str | None,
    step: Step,
) -> GrownFile:
    """Train a private tree on the features of a model, and audit its file under the policy of the request.

    Raises:
        RemedyError: the model predicts a number, bounds or categories are not known, or the table has weights.
        TreewardenError: the table cannot be read record by record, or no audit of the file is possible.
    """
    options, model = request.options, subject.tree
    if model.task is not Task.CLASSIFICATION or not model.classes:
        raise RemedyError(model_name(request.model), "private trees predict classes; it has none")
    if options.weights is not None or options.sampling_weights is not None:
        problem = "--private needs one row per person; remove --private, or the weights"
        raise RemedyError(model_name(request.model), problem)
    name = subject.population.sensitive or model.target
    table = read(request.data)
    inputs, numbers = feature_frame(table, model.features)
    if bool(inputs[numbers].isna().to_numpy().any()):
        raise RemedyError(table.source, "a numeric column lacks values; leave such records out")
    values = target_values(table, Feature(name, False, model.classes))
    pipeline = _pipeline(model.features, model.classes, numbers, private_request)
    with step("training a private tree"):
        pipeline.fit(inputs, values)
    data = converted(open_fitted(pipeline, target=name).model, target or "pmml")
    file = ModelBytes(data, model_name(request.model))
    with step("auditing the private tree as its file"):
        done = audit_file(replace(request, model=file, data=table, policy=subject.pack))
    said = (
        f"A private tree with {2**DEPTH} leaves was trained. It spent epsilon = "
        f"{private_request.epsilon:g}; another run spends it again"
    )
    if done.decision.verdict is not Verdict.PASS:
        return GrownFile(None, f"{said}. Its file does not pass ({done.decision.verdict.name}).")
    return GrownFile(data, f"{said}. Its file passes.")


def _pipeline(
    features: Sequence[Feature],
    classes: Sequence[str],
    numbers: Sequence[str],
    private_request: PrivateTreeRequest,
) -> Pipeline:
    """Return the steps from the table's columns to a private tree; no record has a part in their settings.

    Raises:
        RemedyError: the bounds of a numeric column, or the values of another, are not known.
    """
    words = [feature for feature in features if feature.name not in numbers]
    for number in numbers:
        if number not in private_request.bounds:
            problem = (
                f"column {number!r} needs public bounds; add --bound {number}=LOW:HIGH, known without "
                "the table"
            )
            raise RemedyError("--private", problem)
    for feature in words:
        if not feature.values:
            problem = (
                f"the file does not list the values of {feature.name!r}, and a private tree must not "
                "read them from the table"
            )
            raise RemedyError("--private", problem)
    parts: list[Any] = [("numbers", "passthrough", list(numbers))] if numbers else []
    if words:
        encoder = OrdinalEncoder(
            categories=[list(feature.values) for feature in words],
            handle_unknown="use_encoded_value",
            unknown_value=-1,
        )
        parts.append(("categories", encoder, [feature.name for feature in words]))
    ends = [private_request.bounds[number] for number in numbers]
    ends += [(-1.0, len(feature.values) - 1.0) for feature in words]
    low, high = np.array(ends, dtype=np.float64).T
    learner = PrivateTreeClassifier(
        private_request.epsilon, bounds=(low, high), classes=list(classes), max_depth=DEPTH
    )
    return make_pipeline(ColumnTransformer(parts), learner)
