"""``treewarden.audit``: what does a published model give away?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from treewarden.api.keywords import naming_arguments
from treewarden.api.messages import ArgumentError, Listener, say_of, step_of
from treewarden.api.requests import (
    AnyPath,
    KnowledgeLike,
    Options,
    PolicyLike,
    earlier_of,
    request_of,
)
from treewarden.api.result import Result
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
    """Audit a model that is about to be published, and judge it by a policy; what ``treewarden audit`` does.

    Args:
        model: The path of a model file, its bytes, or a fitted estimator.
        data: What the model was trained on: the path of a table in any form that is read, a pandas or polars DataFrame,
            an Arrow table, anything else with the Arrow interface, or a pair ``(X, y)``. None: there is no table, and
            only what the file alone says is judged.
        sensitive: The column that the model predicts. Of a pair it is what y is called, and may be left out.
        qi: The columns that the adversary knows of everyone; by default the model's features.
        policy: A pack that ships, by name; the path of a TOML file; or what such a file says, as a mapping.
        knowledge: All that the adversary knows: the path of a TOML file, or what such a file says, as a mapping.
        fail_on: Checks of this severity or higher are required: "error", "warning" or "note".
        waivers: The path of a TOML file that says what is accepted, by whom and until when.
        baseline: The path of a file from ``treewarden audit --write-baseline``: what it knows and is no worse does not
            count.
        earlier: What was published before, of the same people or of some of them, in that order: models, or pairs of a
            model and its own table.
        id: The column that says who is who: in several tables, or in several records of one table (checks of
            contributors count each once). Without it nothing of several tables passes; what the releases of one table
            prove holds, and may fail.
        worlds_budget: Seconds for reasoning over whole records; what that does not prove is undetermined.
        jobs: Processes for the estimate and for questions about whole records (all cores); any number gives the same
            result.
        solver: The door to IPOPT.
        progress: Who hears of what takes long: nobody, True for standard error, or a function of one text.
        cluster: The address of a Dask or Ray cluster to spread the work over; the result is the same.
        cluster_required: Whether to raise where it is not there; else this machine takes over, and ``progress`` hears
            of it.
        options: Further flags of ``treewarden audit``, by name.

    Raises:
        TreewardenError: an argument cannot be, something cannot be read or does not fit, or no audit is possible.
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
    return Result(done.audit, done.decision, provenance, request.options, request.files)


def _path(name: str, given: object) -> Path | None:
    if given is None or isinstance(given, str | os.PathLike):
        return None if given is None else Path(given)
    raise ArgumentError(name, f"give the path of a file, not {type(given).__name__}")
