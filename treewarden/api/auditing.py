"""``treewarden.audit`` and ``treewarden.inspect``: what a model gives away of its people, and what its file publishes.

An audit needs the training table; an inspection needs the model alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import pyarrow as pa

from treewarden.api.frames import Card, frame_of
from treewarden.api.requests import (
    AnyPath,
    ArgumentError,
    KnowledgeLike,
    Listener,
    Options,
    PolicyLike,
    earlier_of,
    model_input,
    request_of,
    say_of,
    step_of,
)
from treewarden.api.result import Result, naming_arguments, save_trees
from treewarden.audit.options import AuditOptions
from treewarden.audit.reconstruction.domain import DeclaredDomain
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.jobs.auditing import CommandClock, audit_file
from treewarden.jobs.further_files import load_public_domain
from treewarden.jobs.inputs import ModelInput, model_name, opened
from treewarden.jobs.inspecting import facts, lines, said_of
from treewarden.policies.verdict import Severity

if TYPE_CHECKING:
    import pandas as pd


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
        waivers: The path of a TOML file with accepted exceptions. Each names its owner and its last day.
        baseline: The path of a file from ``treewarden audit --write-baseline``. Findings that it lists, and that are no
            worse, do not count.
        earlier: Models of the same people that were published before, in order: models, or pairs of a model and its
            own table.
        id: The column that identifies a person, in several tables or in several records of one table. Without it, an
            audit of several tables never passes.
        worlds_budget: Seconds to search for proofs. What is not proved or refuted by then is not decided.
        jobs: Number of processes. Default: all cores. The result does not depend on it.
        solver: The solver interface: "auto", or IPOPT for every block by "casadi" or "cyipopt".
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
    request = request_of(
        model,
        data,
        sensitive=sensitive,
        qi=qi,
        judgment={"policy": policy, "fail_on": fail_on, "waivers": waivers, "baseline": baseline},
        knowledge=knowledge,
        settings=more,
        alone=True,
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


_TREE = {
    **dict.fromkeys(("tree", "nodes", "leaves", "depth"), pa.int64()),
    "quality": pa.string(),
    "smallest_published": pa.float64(),
}
_LEAF = {
    "tree": pa.int64(),
    **dict.fromkeys(("node", "region", "says"), pa.string()),
    "records": pa.float64(),
    "quality": pa.string(),
}
_LEAK = {
    **dict.fromkeys(("kind", "group", "where", "what"), pa.string()),
    "records": pa.float64(),
    "removable": pa.bool_(),
}


class Inspection:
    """The content of a model, as ``treewarden inspect`` shows it. A notebook shows it as a card."""

    def __init__(self, model: ModelInput, facts: dict[str, Any]) -> None:
        self._model = model
        self._name = model_name(model)
        self._said = facts

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``treewarden inspect --leaves --format jsonl`` as plain values, without the path."""
        return dict(self._said)

    @cached_property
    def trees(self) -> pd.DataFrame:
        """One row per tree, at most 1,000."""
        whole = {
            **{name: self._said[name] for name in ("nodes", "leaves", "depth")},
            "tree": 1,
            "quality": self._said["support"]["quality"],
            "smallest_published": self._said["support"]["smallest_published"],
        }
        return frame_of(self._said.get("members") or [whole], _TREE)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """One row per leaf, at most 10,000: its region, its prediction, and its number of records if published."""
        return frame_of(
            (
                {**each, "says": None if each["says"] is None else str(each["says"])}
                for each in self._said["leaf"]
            ),
            _LEAF,
        )

    @cached_property
    def leaks(self) -> pd.DataFrame:
        """One row per finding in the file outside its trees."""
        return frame_of(self._said["leaks"], _LEAK)

    def save_model(self, path: AnyPath) -> Path:
        """Write the trees alone, as PMML (``.pmml``) or our own JSON (``.json``): a fitted estimator becomes a file.

        Raises:
            OutputError: the suffix stands for no format, the format cannot say something that the trees hold, or the
                file cannot be written or is one that was read.
        """
        inputs = [self._model] if isinstance(self._model, Path) else []
        return save_trees(opened(self._model).model, path, inputs)

    def __repr__(self) -> str:
        return "\n".join([self._name, *lines(self._said)])

    def _repr_html_(self) -> str:
        said: list[tuple[str, str]] = []
        for name, text in facts(self._said):
            said.append((name or said[-1][0], text))
        return Card("INSPECTED", self._name, said[0][1], facts=said[1:]).html()


def inspect(model: object, *, domain: AnyPath | None = None, target: str = "") -> Inspection:
    """Show what a model contains and publishes: the same as ``treewarden inspect``. No table is needed.

    Args:
        model: The path of a model file, its bytes, or a fitted estimator.
        domain: The path of a TOML file with what is public of the columns: with it the file may prove more records.
        target: The name of the column that a fitted estimator predicts, which it does not know.

    Raises:
        TreeFormatError: the model cannot be read.
        KnowledgeError: the domain cannot be read, or does not fit the model.

    Example:
        >>> tw.inspect("tree.pmml").leaks
        >>> tw.inspect(estimator, target="diagnosis").save_model("tree.pmml")
    """
    read = model_input(model, options=AuditOptions(sensitive=target or None))
    public = DeclaredDomain() if domain is None else load_public_domain(Path(domain))
    return Inspection(read, said_of(read, leaves=True, domain=public))
