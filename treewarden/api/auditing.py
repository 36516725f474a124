"""``treewarden.audit``: what does a published model give away?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, Unpack

from policies.clause import Severity
from treewarden.api.asking import KnowledgeLike, Options, PolicyLike, request_of
from treewarden.api.result import Result
from treewarden.api.telling import Listener, step_of
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.provenance import Clock


def audit(
    model: object,
    data: object,
    *,
    sensitive: str | None = None,
    qi: str | Iterable[str] | None = None,
    policy: PolicyLike = "standard",
    knowledge: KnowledgeLike | None = None,
    fail_on: Severity = "error",
    worlds_budget: float = 20.0,
    jobs: int | None = None,
    solver: Literal["auto", "casadi", "cyipopt"] = "auto",
    progress: Listener = None,
    **options: Unpack[Options],
) -> Result:
    """Audit a model that is about to be published, and judge it by a policy; what ``treewarden audit`` does.

    Args:
        model: The path of a model file, its bytes, or a fitted estimator.
        data: What the model was trained on: the path of a CSV or Parquet file, a pandas or polars DataFrame, an Arrow
            table, anything else with the Arrow interface, or a pair ``(X, y)``.
        sensitive: The column that the model predicts. Of a pair it is what y is called, and may be left out.
        qi: The columns that the adversary knows of everyone; by default the model's features.
        policy: A pack that ships, by name; the path of a TOML file; or what such a file says, as a mapping.
        knowledge: All that the adversary knows: the path of a TOML file, or what such a file says, as a mapping.
        fail_on: Clauses of this severity or a graver one have to be met: "error", "warning" or "note".
        worlds_budget: Seconds for reasoning over whole records; what that does not prove is undetermined.
        jobs: Processes to solve with (all cores); the result is the same for any number.
        solver: The door to IPOPT.
        progress: Who hears of what takes long: nobody, True for standard error, or a function of one text.
        options: Further flags of ``treewarden audit``, by name.

    Raises:
        TreewardenError: an argument cannot be, something cannot be read or does not fit, or no audit is possible.
    """
    clock, step = Clock(), step_of(progress)
    more = {"worlds_budget": worlds_budget, "jobs": jobs, "solver": solver, **options}
    request = request_of(model, data, sensitive, qi, policy, knowledge, more, fail_on)
    asked = replace(request, options=replace(request.options, levels=False))
    done = audit_file(asked, step)
    provenance = clock.provenance(request, done.subject.pack)
    return Result(done.audit, done.decision, provenance, request.options, request.files)
