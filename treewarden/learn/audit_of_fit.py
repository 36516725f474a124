"""The audit of a tree that was just grown, over the records that it was grown from, as its columns are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.policies.pack import Pack
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.learn.drawn_cuts import Records
from treewarden.ppdm_models.tables.frames import IN_MEMORY
from treewarden.ppdm_models.tables.read_table import table_of_arrow
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Task, Tree

SECONDS = 20.0
"""For proofs over whole records, each time that the tree is audited."""


def verdict_of_fit(estimator: Any, records: Records, pack: Pack, task: Task) -> Verdict:  # noqa: ANN401  # of scikit-learn
    """Return the verdict of a policy on a fitted estimator, as if its seed were not known.

    What cannot be audited is undetermined.
    """
    names = getattr(estimator, "feature_names_in_", None)
    width = records.columns.shape[1]
    columns = [f"x{place}" for place in range(width)] if names is None else list(map(str, names))
    target, weight = _unused_name("target", columns), _unused_name("weight", columns)
    weights = records.sums.sum(axis=1) if task is Task.CLASSIFICATION else records.sums[:, 0]
    is_weighed = bool((weights != 1).any())
    table = _table(estimator, records, (columns, target), task)
    if is_weighed:
        table = table.append_column(weight, pa.array(weights))
    options = AuditOptions(
        sensitive=target,
        sampling_weights=weight if is_weighed else None,
        levels=False,
        jobs=1,
        worlds_budget=SECONDS,
    )
    try:
        file = _without_seed(open_fitted(estimator, target=target, names=columns))
        request = Request(file, _read(table), options, policy=pack, fail_on=pack.fail_on)
        return audit_file(request).decision.verdict
    except TreewardenError:
        return Verdict.UNDETERMINED


def _read(table: pa.Table) -> Table:
    return table_of_arrow(table, "data", (), IN_MEMORY)


def _unused_name(name: str, columns: list[str]) -> str:
    while name in columns:
        name += "_"
    return name


def _table(
    estimator: Any,  # noqa: ANN401  # of scikit-learn
    records: Records,
    names: tuple[list[str], str],
    task: Task,
) -> pa.Table:
    columns, target = names
    arrays = [pa.array(column) for column in records.columns.T.astype(np.float64)]
    if task is Task.CLASSIFICATION:
        labels = [class_label(value) for value in estimator.classes_.tolist()]
        values = pa.array([labels[code] for code in records.people.argmax(axis=1).tolist()])
    else:
        values = pa.array(records.sums[:, 1] / records.sums[:, 0])
    return pa.table([*arrays, values], names=[*columns, target])


def _without_seed(file: OpenedFile) -> OpenedFile:
    assert isinstance(file.model, Tree)
    learner = replace(file.model.learner, unmodelled=())
    return replace(file, model=replace(file.model, learner=learner))
