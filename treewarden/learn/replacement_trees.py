"""A new tree as a file, in place of a model that no change lets pass: grown under the policy, or with privacy.

The first grows from the same table under the policy. The second has differential privacy and says its claim. Only what
is public goes into it beside the draws: the columns, categories and classes that the failing file declares, and bounds
of numbers that the owner states. No score is measured on the table for it, as that would cost privacy too.
"""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from treewarden.audit.progress import Step, nobody_hears
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import JudgedAudit, audit_file
from treewarden.jobs.inputs import ModelBytes, model_name, read
from treewarden.learn.policy_tree import PolicyTreeClassifier, PolicyTreeRegressor
from treewarden.learn.private_tree import PrivateTreeClassifier
from treewarden.policies.remedies import Proposal
from treewarden.policies.repair.attempts import RepairAttempt, cost_of_new_model
from treewarden.policies.repair.utility import UtilityName, cross_validation
from treewarden.policies.verdict import NEW_MODEL, PolicyVerdict
from treewarden.ppdm_models.errors import RemedyError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Feature, Task, Tree
from treewarden.reports.document.words import percent

SCORINGS = {"accuracy": "accuracy", "auc": "roc_auc_ovr", "log-loss": "neg_log_loss"}
"""What scikit-learn calls each utility, of classes."""
SHARES = ("accuracy", "roc_auc_ovr")
"""Those that reports write in per cent."""
FOLDS = 5


@dataclass(frozen=True, slots=True)
class GrownFile:
    """The file of a grown tree that passes, None where none does, and what came of it in words.

    The ``attempt`` is what reports show beside the changes of the model; None of a private tree.
    """

    data: bytes | None
    message: str
    attempt: RepairAttempt | None = None


def grown_file(
    request: Request, subject: AuditInputs, target: str | None, utility: UtilityName, step: Step
) -> GrownFile:
    """Grow a tree under the policy of a request, from the features of its model, and audit its file.

    Numbers are compared and categories are numbered in their order; missing numbers count as the median, missing
    categories as one of their own. ``target`` is the format, PMML where it is None.

    Raises:
        RemedyError: the table has weights.
        TreewardenError: the table cannot be read record by record, or no audit of the file is possible.
    """
    options, model = request.options, subject.tree
    if options.weights is not None or options.sampling_weights is not None:
        problem = "--grow needs one row per person; remove --grow, or the weights"
        raise RemedyError(model_name(request.model), problem)
    request, table = _under_names_of(subject, request)
    name = subject.population.sensitive or model.target
    inputs, numbers = feature_frame(table, model.features)
    is_of_classes = model.task is Task.CLASSIFICATION
    values = target_values(table, Feature(name, not is_of_classes, model.classes))
    pipeline = _pipeline(subject, inputs, numbers)
    with step("growing a tree under the policy") as share, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has no split is said below
        share = share or nobody_hears
        pipeline.fit(inputs, values)
        share(1, FOLDS + 1, "trees")
        leaves = int(pipeline[-1].get_n_leaves())
        if leaves == 1:
            said = "No tree with a split, grown under the policy, passes."
            return GrownFile(None, said)
        scoring = SCORINGS[utility] if is_of_classes else "r2"
        scores = []
        for fold in check_cv(FOLDS, values, classifier=is_of_classes).split(inputs, values):
            scores += cross_val_score(
                clone(pipeline), inputs, values, cv=[fold], scoring=scoring, error_score=np.nan
            ).tolist()
            share(1 + len(scores), FOLDS + 1, "trees")
    data = converted(open_fitted(pipeline, target=name).model, target or "pmml")
    file = ModelBytes(data, model_name(request.model))
    brief = replace(request.options, levels=False)  # the report adds them
    with step("auditing the grown tree as its file"):
        done = audit_file(replace(request, model=file, policy=subject.pack, options=brief))
    attempt = _attempt(subject, done, float(np.mean(scores)), utility)
    said = f"A tree of {leaves} leaves was grown under the policy{_worth(scores, scoring)}"
    if done.decision.verdict is not PolicyVerdict.PASS:
        failed = f"{said}; its file does not pass ({done.decision.verdict.name})."
        return GrownFile(None, failed, attempt)
    return GrownFile(data, f"{said}; its file passes.", attempt)


def _attempt(
    subject: AuditInputs, done: JudgedAudit, utility: float, name: UtilityName
) -> RepairAttempt | None:
    """Return the audit of a grown tree as an attempt to repair the model, with what it costs in place of that."""
    tree, people = done.subject.tree, done.subject.population
    if not isinstance(tree, Tree):
        return None
    validation = cross_validation(subject.tree, subject.population, name)
    cost = cost_of_new_model(
        subject.tree, subject.population, tree, people, utility=utility, validation=validation
    )
    title = f"train a new tree of {tree.leaf_count} leaves under the policy"
    proposal = Proposal((NEW_MODEL,), title, tree, (), ())
    return RepairAttempt(NEW_MODEL, proposal, cost, done.audit, done.decision)


def _under_names_of(subject: AuditInputs, request: Request) -> tuple[Request, Table]:
    """Return the table with its columns under the names that the model has for them, and a request that says so.

    Raises:
        TreewardenError: the table cannot be read record by record, or lacks a column.
    """
    found = matched(
        subject.tree,
        read(request.data),
        sensitive=subject.population.sensitive or None,
        qi=request.options.qi,
    )
    sensitive = found.sensitive or request.options.sensitive
    options = replace(request.options, sensitive=sensitive, qi=found.qi)
    return replace(request, data=found.table, options=options), found.table


def _worth(scores: Any, scoring: str) -> str:  # noqa: ANN401  # an array of scikit-learn's
    mean = float(np.mean(scores))
    name = {"neg_log_loss": "log loss", "roc_auc_ovr": "AUC", "r2": "R²"}.get(scoring, scoring)
    value = -mean if scoring == "neg_log_loss" else mean
    text = percent(value) if scoring in SHARES else f"{value:.3g}"
    return "" if math.isnan(mean) else f" ({name} {text} in cross-validation)"


def _pipeline(subject: AuditInputs, inputs: pd.DataFrame, numbers: list[str]) -> Pipeline:
    is_of_classes = subject.tree.task is Task.CLASSIFICATION
    make = PolicyTreeClassifier if is_of_classes else PolicyTreeRegressor
    words = [column for column in inputs.columns if column not in numbers]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    parts = []
    if numbers:
        lacking = bool(inputs[numbers].isna().to_numpy().any())
        parts.append(
            ("numbers", SimpleImputer(strategy="median") if lacking else "passthrough", numbers)
        )
    if words:
        parts.append(("categories", encoder, words))
    return make_pipeline(ColumnTransformer(parts), make(subject.pack))


def feature_frame(table: Table, features: tuple[Feature, ...]) -> tuple[pd.DataFrame, list[str]]:
    """Return the features of a model as columns, and the names of those that are numbers."""
    columns: dict[str, Any] = {}
    numbers = []
    for feature in features:
        column = table.column(feature)
        if isinstance(column, CategoricalColumn):
            names = np.array([*column.categories, "(missing)"], dtype=object)
            columns[feature.name] = names[column.codes]
        else:
            columns[feature.name] = column.numbers
            numbers.append(feature.name)
    return pd.DataFrame(columns), numbers


def target_values(table: Table, feature: Feature) -> Any:  # noqa: ANN401  # texts or numbers
    """Return what the model predicts, record by record.

    Raises:
        RemedyError: a record lacks it.
    """
    column = table.column(feature)
    if column.missing.any():
        problem = f"column {feature.name!r} lacks values; leave such records out"
        raise RemedyError(table.source, problem)
    if isinstance(column, CategoricalColumn):
        return np.array(column.categories, dtype=str)[column.codes]
    return column.numbers


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
    bounds: dict[str, tuple[float, float]] = {}
    for entry in entries:
        name, _, ends = entry.rpartition("=")
        try:
            bounds |= checked_bounds({name: ends.split(":") if name else ()})
        except ValueError as error:
            raise ValueError(f"{entry!r}: write COLUMN=LOW:HIGH, such as age=0:120") from error
    return bounds


def checked_bounds(bounds: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return bounds by column as pairs of numbers.

    Raises:
        ValueError: one is not two finite numbers, the lower one first.
    """
    found = {}
    for name, ends in bounds.items():
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low = high = math.nan
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"{name!r}: give two numbers, the lower one first, such as (0, 120)")
        found[str(name)] = (low, high)
    return found


@dataclass(frozen=True, slots=True)
class PrivateTraining:
    """All that a private tree is trained with, checked before any of it is spent: ``values`` are the ``target``."""

    request: Request
    pipeline: Pipeline
    inputs: pd.DataFrame
    values: Any
    target: str


def prepare_private(
    request: Request, subject: AuditInputs, private_request: PrivateTreeRequest
) -> PrivateTraining:
    """Check that a private tree can be trained on the features of a model, and return what it takes.

    Raises:
        RemedyError: the model predicts a number, bounds or categories are not known, or the table has weights.
        TreewardenError: the table cannot be read record by record.
    """
    options, model = request.options, subject.tree
    if model.task is not Task.CLASSIFICATION or not model.classes:
        problem = "--private trains only classification trees, but this model has no classes"
        raise RemedyError(model_name(request.model), f"{problem}; leave out --private")
    if options.weights is not None or options.sampling_weights is not None:
        problem = "--private needs one row per person; remove --private, or the weights"
        raise RemedyError(model_name(request.model), problem)
    _check_public(model.features, private_request)
    request, table = _under_names_of(subject, request)
    name = subject.population.sensitive or model.target
    inputs, numbers = feature_frame(table, model.features)
    if bool(inputs[numbers].isna().to_numpy().any()):
        raise RemedyError(table.source, "a numeric column lacks values; leave such records out")
    values = target_values(table, Feature(name, False, model.classes))
    for feature in model.features:
        _check_values(feature, inputs[feature.name], table.source)
    _check_values(Feature(name, False, model.classes), values, table.source)
    pipeline = _private_pipeline(model.features, model.classes, numbers, private_request)
    return PrivateTraining(request, pipeline, inputs, values, name)


def private_file(
    request: Request,
    subject: AuditInputs,
    private_request: PrivateTreeRequest,
    target: str | None,
    step: Step,
) -> GrownFile:
    """Train a private tree on the features of a model, and audit its file under the policy of the request.

    Raises:
        RemedyError: as ``prepare_private``.
        TreewardenError: the table cannot be read record by record, or no audit of the file is possible.
    """
    training = prepare_private(request, subject, private_request)
    with step("training a private tree"):
        training.pipeline.fit(training.inputs, training.values)
    model = open_fitted(training.pipeline, target=training.target).model
    data = converted(model, target or "pmml")
    file = ModelBytes(data, model_name(request.model))
    with step("auditing the private tree as its file"):
        done = audit_file(replace(training.request, model=file, policy=subject.pack))
    said = (
        f"A private tree with {2**DEPTH} leaves was trained. It spent epsilon = "
        f"{private_request.epsilon:g}; another run spends it again"
    )
    if done.decision.verdict is not PolicyVerdict.PASS:
        return GrownFile(None, f"{said}. Its file does not pass ({done.decision.verdict.name}).")
    return GrownFile(data, f"{said}. Its file passes.")


def unbounded_columns(
    features: Sequence[Feature], private_request: PrivateTreeRequest
) -> list[str]:
    """Return the numeric columns whose bounds are not known."""
    names = (feature.name for feature in features if feature.numeric)
    return [name for name in names if name not in private_request.bounds]


def _check_public(features: Sequence[Feature], private_request: PrivateTreeRequest) -> None:
    """Check that what a private tree must not read from the table is known of all columns.

    Raises:
        RemedyError: bounds or values of some are not, or bounds are of columns that the model does not test.
    """
    numbers = [feature.name for feature in features if feature.numeric]
    unbounded = unbounded_columns(features, private_request)
    if unbounded:
        added = " ".join(f"--bound {shlex.quote(f'{name}=LOW:HIGH')}" for name in unbounded)
        raise RemedyError(
            "--private",
            f"{_columns(unbounded)} public bounds; add {added}, each known without the table",
        )
    unlisted = [feature.name for feature in features if not feature.numeric and not feature.values]
    if unlisted:
        raise RemedyError(
            "--private",
            f"{_columns(unlisted)} a public list of values, which the file lacks and a private tree must not read "
            "from the table; train it in Python (treewarden.learn.PrivateTreeClassifier)",
        )
    strange = [name for name in private_request.bounds if name not in numbers]
    if strange:
        raise RemedyError(
            "--bound",
            f"the model has no numeric {'column' if len(strange) == 1 else 'columns'} {_quoted(strange)}; its "
            f"numeric columns are {_quoted(numbers) or 'none'}",
        )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _columns(names: Sequence[str]) -> str:
    """Return named columns as what a sentence is about, with its verb."""
    if len(names) == 1:
        return f"column {names[0]!r} needs"
    return f"columns {_quoted(names)} need"


LEAST_PEOPLE = 10
"""A value of fewer records is not taken for one that anybody knows without the table."""


def _check_values(feature: Feature, column: Any, source: str) -> None:  # noqa: ANN401  # values, record by record
    """Check that no value that the failing file lists, and the private one would, is one of a few records.

    The failing file has read its lists from the table, so that a rare value would tell of its people without noise.

    Raises:
        RemedyError: one is.
    """
    if feature.numeric:
        return
    names, people = np.unique(np.asarray(column, dtype=str), return_counts=True)
    rare = [
        name
        for name, count in zip(names.tolist(), people.tolist(), strict=True)
        if count < LEAST_PEOPLE
    ]
    if set(rare) & set(feature.values):
        problem = (
            f"a value of {feature.name!r} has fewer than {LEAST_PEOPLE} records, and the new file would list it; merge "
            "rare values before the training, or train with a public list of values in Python "
            "(treewarden.learn.PrivateTreeClassifier)"
        )
        raise RemedyError(source, problem)


def _private_pipeline(
    features: Sequence[Feature],
    classes: Sequence[str],
    numbers: Sequence[str],
    private_request: PrivateTreeRequest,
) -> Pipeline:
    """Return the steps from the table's columns to a private tree; no record has a part in their settings."""
    words = [feature for feature in features if feature.name not in numbers]
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
