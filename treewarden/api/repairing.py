"""``treewarden.repair``: what is the smallest change that lets a model pass?"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from treewarden.api.refits import Utility, checked_utility
from treewarden.api.regrowing import Offer, offer
from treewarden.api.repair_result import Repair, attempt_named
from treewarden.api.requests import (
    AnyPath,
    ArgumentError,
    KnowledgeLike,
    Listener,
    Options,
    PolicyLike,
    holdout_table,
    request_of,
    say_of,
    step_of,
)
from treewarden.api.result import naming_arguments
from treewarden.audit.progress import Step
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.inputs import ModelInput, model_name
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired, repair_file
from treewarden.policies.repair.attempts import SearchEnd
from treewarden.policies.repair.search import Tell
from treewarden.policies.repair.utility import Deadline, RepairResources, holdout_of
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import OutputError, RemedyError, in_role
from treewarden.ppdm_models.files.convert import MODELS, converted
from treewarden.ppdm_models.files.load import WRITTEN_SUFFIXES, OpenedFile
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tables.taxonomy import load_taxonomies

if TYPE_CHECKING:
    from treewarden.learn.replacement_trees import PrivateTreeRequest

LEARNERS = "treewarden.learn.replacement_trees"
"""What trains trees, where scikit-learn is installed."""


@naming_arguments
def repair(
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
    cluster: str | None = None,
    cluster_required: bool = False,
    to: Literal["pmml", "treewarden_json"] | None = None,
    apply: str | None = None,
    every: bool = False,
    holdout: object = None,
    taxonomies: Iterable[AnyPath] = (),
    bands: Iterable[int] = (),
    regrow_seconds: float = 60.0,
    utility: Utility = "accuracy",
    grow: bool = False,
    private: float | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    **options: Unpack[Options],
) -> Repair:
    """Find the smallest change that makes a failing model pass: the same as ``treewarden repair``.

    The search ends at ``time_limit``, or at Ctrl-C, with the best change so far. After Ctrl-C there is no file.

    Args:
        model: As for ``audit``.
        data: As for ``audit``.
        sensitive: As for ``audit``.
        qi: As for ``audit``.
        policy: As for ``audit``.
        knowledge: As for ``audit``.
        fail_on: As for ``audit``.
        worlds_budget: As for ``audit``, for each change that is tried.
        jobs: As for ``audit``.
        solver: As for ``audit``.
        progress: As for ``audit``.
        cluster: As for ``audit``.
        cluster_required: As for ``audit``.
        to: The format of the repaired model: "pmml" or "treewarden_json". Default: the format of the model.
        apply: The name of a change among ``attempts``, to be made instead of the cheapest one that passes.
        every: Whether to audit also changes that cost more than one that passes, as ``--list`` does.
        holdout: Records that the model was not trained on, in the same forms as ``data``. The loss is measured on them.
        taxonomies: The paths of value hierarchies to merge values by.
        bands: Widths of bands, in records. Counts are rounded to bands before they are withheld.
        regrow_seconds: Seconds to search for settings that train a scikit-learn model which passes, if no pruned model
            does. 0 turns this off.
        utility: The cross-validated score by which changes and such models are compared: "accuracy", "auc" or
            "log-loss".
        grow: Whether to train a tree under the policy too (``treewarden.learn``); for scikit-learn trees and pipelines.
        private: The epsilon of a tree with differential privacy that is trained if no change passes. Each call spends
            it anew.
        bounds: For ``private``: the lowest and highest value of each numeric column, known without the table.
        options: Further options of ``treewarden audit``, by name. ``time_limit``, in seconds, is for the whole repair.

    Returns:
        The repair: ``repair.is_found``, ``repair.message``, ``repair.save_model("tree-repaired.pmml")``.

    Raises:
        TreewardenError: an argument is not valid, a file cannot be read, or model and table do not belong together.

    Example:
        >>> repair = tw.repair("tree.pmml", "table.csv", sensitive="diagnosis")
        >>> repair.save_model("tree-repaired.pmml")
    """
    clock, step = CommandClock(), step_of(progress)
    if to is not None and to not in MODELS:
        raise ArgumentError("to", f"unknown format {to!r}; use one of {', '.join(MODELS)}")
    private_tree = _private_tree(private, bounds, is_grown=grow)
    widths, measure = _checked_widths(bands), checked_utility(utility)
    more = {"worlds_budget": worlds_budget, "jobs": jobs, "solver": solver, **options}
    request = request_of(
        model,
        data,
        sensitive=sensitive,
        qi=qi,
        judgment={"policy": policy, "fail_on": fail_on},
        knowledge=knowledge,
        settings=more,
    )
    table = None if holdout is None else holdout_table(holdout, request, model)
    hierarchies = load_taxonomies(tuple(Path(path) for path in _all_paths(taxonomies)))
    task = _read_task(
        request, RepairResources(hierarchies, bases=widths, utility=measure), table, to, step
    )
    if private_tree is not None:
        task.check_private_tree(private_tree)
    with on_cluster(cluster, say_of(progress), is_required=cluster_required):
        repaired = task.search(every=every, change=apply or "", tell=say_of(progress))
    if apply is not None and repaired.repair.is_needed:
        repaired = repaired.choosing(attempt_named(repaired.repair.attempts, apply), task.subject)
    if private_tree is not None:
        repaired = task.with_private_tree(repaired, private_tree)
        regrow_seconds = 0  # what is trained again without noise is no answer to this
    other = task.offer(model, data, repaired, regrow_seconds, utility=measure, grow=grow)
    provenance = clock.provenance(request, task.subject.pack, table=task.subject.table)
    return Repair(repaired, task.subject, request, provenance, other)


def _private_tree(
    epsilon: float | None, bounds: Mapping[str, tuple[float, float]] | None, *, is_grown: bool
) -> PrivateTreeRequest | None:
    """Return the private tree that is asked for; None where none is.

    Raises:
        ArgumentError: it cannot be such a tree, or bounds are given without one.
        RemedyError: scikit-learn is not installed.
    """
    if epsilon is None:
        if bounds:
            raise ArgumentError("bounds", "they are for private; add private=EPSILON")
        return None
    if is_grown:
        raise ArgumentError("private", "grow and private train different trees; choose one")
    is_number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not (is_number and 0 < epsilon < math.inf):
        raise ArgumentError("private", f"{epsilon!r} is not valid; give a number above 0")
    try:
        learners = importlib.import_module(LEARNERS)
    except ImportError as error:
        problem = "needs scikit-learn 1.6 or newer; pip install scikit-learn"
        raise RemedyError("private", problem) from error
    try:
        asked: PrivateTreeRequest = learners.PrivateTreeRequest(
            float(epsilon), learners.checked_bounds(bounds or {})
        )
    except ValueError as error:
        raise ArgumentError("bounds", str(error)) from error
    return asked


def _checked_widths(bands: Iterable[int]) -> tuple[int, ...]:
    """Return the widths of bands in their order.

    Raises:
        ArgumentError: one is no whole number, or too small.
    """
    widths = tuple(sorted(set(bands)))
    if any(type(width) is not int or width < 2 for width in widths):
        raise ArgumentError("bands", f"{widths!r}: give whole numbers of 2 or more")
    return widths


@dataclass(frozen=True, slots=True)
class _RepairTask:
    """A repair that is about to start: all of it read, the format of its file, and until when it may take.

    The ``request`` is without levels of knowledge, which only the report of the change that is applied shows.
    """

    request: Request
    subject: AuditInputs
    inputs: RepairResources
    target: str | None
    deadline: Deadline
    step: Step

    def search(self, *, every: bool, change: str, tell: Tell) -> Repaired:
        """Look for a change that passes."""
        name = model_name(self.request.model)
        if isinstance(self.request.model, OpenedFile):
            name += WRITTEN_SUFFIXES.get(self.target or "", "")
        return repair_file(
            self.subject,
            name,
            self.inputs,
            self.target,
            self.step,
            deadline=self.deadline,
            every=every,
            chosen=change,
            tell=tell,
        )

    def check_private_tree(self, private_tree: PrivateTreeRequest) -> None:
        """Check that a private tree can be trained: before a search that may take long.

        Raises:
            ArgumentError: bounds of some columns are not known.
            RemedyError: it cannot be trained from this table.
        """
        learners = importlib.import_module(LEARNERS)
        unbounded = learners.unbounded_columns(self.subject.tree.features, private_tree)
        if unbounded:
            entries = ", ".join(f"{name!r}: (LOW, HIGH)" for name in unbounded)
            problem = (
                f"numeric columns need public bounds; add {{{entries}}}, known without the table"
            )
            raise ArgumentError("bounds", problem)
        learners.prepare_private(self.request, self.subject, private_tree)

    def with_private_tree(self, repaired: Repaired, private_tree: PrivateTreeRequest) -> Repaired:
        """Return the repair with a private tree as its file, where no change passes and that does.

        Raises:
            RemedyError: the tree cannot be trained from this table.
        """
        if not repaired.repair.is_needed or repaired.file is not None:
            return repaired
        learners = importlib.import_module(LEARNERS)
        private = learners.private_file(
            self.request, self.subject, private_tree, self.target, self.step
        )
        return repaired.with_new_model(private.message, private.data)

    def offer(
        self,
        model: object,
        data: object,
        repaired: Repaired,
        seconds: float,
        *,
        utility: Utility,
        grow: bool,
    ) -> Offer:
        """Return the estimator to go on with, looked for at most so many seconds."""
        seconds = min(seconds, self.deadline.left)
        if repaired.repair.ended is SearchEnd.INTERRUPTED:
            return Offer()
        return offer(
            model,
            data,
            repaired,
            subject=self.subject,
            request=self.request,
            step=self.step,
            seconds=seconds,
            utility=utility,
            grow=grow,
        )


def _read_task(
    request: Request,
    inputs: RepairResources,
    holdout: Table | None,
    target: str | None,
    step: Step,
) -> _RepairTask:
    """Read all that the repair needs; it takes the first format that can say an estimator where none is named."""
    asked = replace(request, options=replace(request.options, levels=False))
    subject = read_subject(asked, step)
    target = target or _target(request.model)
    if holdout is not None:
        sensitive = request.options.sensitive or ""
        with in_role("the held-out records"):
            inputs = replace(inputs, holdout=holdout_of(subject.tree, holdout, sensitive))
    deadline = Deadline.after(request.options.time_limit)
    return _RepairTask(asked, subject, inputs, target, deadline, step)


def _all_paths(paths: Iterable[AnyPath]) -> Iterable[AnyPath]:
    return (paths,) if isinstance(paths, str | os.PathLike) else paths


def _target(model: ModelInput) -> str | None:
    """Return the first format that can say an estimator; None for what is a file, or is saved as one of its own."""
    if not isinstance(model, OpenedFile):
        return None
    if isinstance(model.opened, Rewritable):
        with suppress(OutputError):
            model.opened.rewrite(model.model)
            return None
    for target in MODELS:
        with suppress(OutputError):
            converted(model.model, target)
            return target
    return None
