"""``treewarden.audit``: what does a published model give away?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from treewarden.api.messages import ArgumentError, Listener, say_of, step_of
from treewarden.api.requests import (
    AnyPath,
    KnowledgeLike,
    Options,
    PolicyLike,
    earlier_of,
    request_of,
)
from treewarden.api.result import Result, naming_arguments
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.jobs.auditing import CommandClock, audit_file
from treewarden.policies.verdict import Severity


@naming_arguments
def audit(
    model: object,
    data: object | None,
    *,
    sensitive: str | None = None,
    qi: str | Iterable[str] | None = None,
    policy: PolicyLike = "standard",
    knowledge: KnowledgeLike | None = None,
    fail_on: Severity = "error",
    waivers: AnyPath | None = None,
    baseline: AnyPath | None = None,
    earlier: Sequence[object] = (),
    id: str | None = None,  # noqa: A002  # as the flag is called
    worlds_budget: float = 20.0,
    jobs: int | None = None,
    solver: Literal["auto", "casadi", "cyipopt"] = "auto",
    progress: Listener = None,
    cluster: str | None = None,
    cluster_required: bool = False,
    **options: Unpack[Options],
) -> Result:
    """Audit a model before it is published, and judge it by a policy: the same as ``treewarden audit``.

    Args:
        model: The path of a model file, its bytes, or a fitted estimator.
        data: The training table: a path (CSV, Parquet, Excel, ...), a pandas or polars DataFrame, an Arrow table, or a
            pair ``(X, y)``. With None, only the file itself is judged.
        sensitive: The column to protect: the target of the model. Default: the target that the
            model names. With a pair ``(X, y)`` it is the name of y.
        qi: The quasi-identifiers: columns that an adversary knows about everyone. Default: the model's features.
        policy: The name of a built-in policy, the path of a TOML file, or its content as a mapping.
        knowledge: Everything that the adversary knows: the path of a TOML file, or its content as a mapping.
        fail_on: Checks of this severity or higher are required: "error", "warning" or "note".
        waivers: The path of a TOML file with accepted exceptions: by whom, and until when.
        baseline: The path of a file from ``treewarden audit --write-baseline``. Findings that it lists, and that are no
            worse, do not count.
        earlier: Models of the same people that were published before, in order: models, or pairs of a model and its
            own table.
        id: The column that identifies a person, in several tables or in several records of one table. Without it, an
            audit of several tables never passes.
        worlds_budget: Seconds to search for proofs. What is not proved or refuted by then is not decided.
        jobs: Number of processes. Default: all cores. The result does not depend on it.
        solver: The solver interface: "auto", "casadi" or "cyipopt".
        progress: None for no messages, True for messages on standard error, or a function that takes one text.
        cluster: The address of a Dask or Ray cluster that shares the work. The result does not depend on it.
        cluster_required: Whether to raise an error if the cluster does not answer, instead of working on this machine.
        options: Further options of ``treewarden audit``, by name, for example ``leaf="labels"``.

    Returns:
        The result: ``result.verdict``, ``result.findings``, ``result.save("audit.html")``.

    Raises:
        TreewardenError: an argument is not valid, a file cannot be read, or model and table do not belong together.

    Example:
        >>> result = tw.audit("tree.pmml", "table.csv", sensitive="diagnosis", policy="strict")
        >>> result.raise_for_verdict()
    """
    clock, step = CommandClock(), step_of(progress)
    more = {"worlds_budget": worlds_budget, "jobs": jobs, "solver": solver, **options}
    request = replace(
        request_of(
            model,
            data,
            sensitive=sensitive,
            qi=qi,
            policy=policy,
            knowledge=knowledge,
            more=more,
            fail_on=fail_on,
            alone=True,
        ),
        waivers=_path("waivers", waivers),
        baseline=_path("baseline", baseline),
    )
    if not (id is None or isinstance(id, str)):
        raise ArgumentError("id", f"give the name of a column, not {type(id).__name__}")
    if id is not None and data is None:
        raise ArgumentError("id", "names a column of the table; give data, too")
    request = replace(request, key=id)
    if earlier:
        request = replace(request, earlier=earlier_of(earlier, request, sensitive, data))
    asked = replace(request, options=replace(request.options, levels=False))
    with on_cluster(cluster, say_of(progress), is_required=cluster_required):
        done = audit_file(asked, step)
    provenance = clock.provenance(
        request, done.subject.pack, done.subject.knowledge, done.subject.table
    )
    return Result(done.audit, done.decision, provenance, request.options, request.paths)


def _path(name: str, given: object) -> Path | None:
    if given is None or isinstance(given, str | os.PathLike):
        return None if given is None else Path(given)
    raise ArgumentError(name, f"give the path of a file, not {type(given).__name__}")
