"""``treewarden.repair``: what is the smallest change that lets a model pass?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from treewarden.api.frames import Card, assumed_facts, attempts_frame, reasons
from treewarden.api.leaf_views import draw_curve, grown_points
from treewarden.api.refits import Utility, checked_utility
from treewarden.api.regrowing import Offer, offer
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
from treewarden.api.result import Result, naming_arguments, save_bytes, save_report
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.inputs import ModelInput, model_name
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired, repair_file
from treewarden.policies.judging.decision import Decision
from treewarden.policies.repair.attempts import RepairAttempt, SearchEnd
from treewarden.policies.repair.search import Tell
from treewarden.policies.repair.utility import Deadline, Given, holdout_of
from treewarden.policies.verdict import Severity
from treewarden.policies.verdict import Verdict as Answer
from treewarden.ppdm_models.errors import OutputError, RemedyError
from treewarden.ppdm_models.files.convert import MODELS, converted
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tables.taxonomy import load_taxonomies
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.figures.curve import curve_of, marked_curve
from treewarden.reports.renderers import renderer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SUFFIXES = {"pmml": ".pmml", "treewarden_json": ".json"}
MOST_ROWS = 6
NOTHING_USEFUL = (
    "No useful change was found: only a tree without a split would pass. Try grow=True "
    "(trains a tree under the policy), or train with larger leaves, less depth or fewer "
    "columns."
)


class Repair:
    """What was tried, and the model that passes; in a notebook it shows itself as a card."""

    def __init__(
        self,
        repaired: Repaired,
        subject: AuditInputs,
        request: Request,
        provenance: Provenance,
        offer: Offer,
    ) -> None:
        self._repaired = repaired
        self._offer = offer
        self._subject = subject
        self._request = request
        self._provenance = provenance

    @property
    def is_needed(self) -> bool:
        """Whether the unchanged model fails."""
        return self._repaired.repair.is_needed

    @property
    def is_found(self) -> bool:
        """Whether a changed model passes, so that there is a file to publish."""
        return self.model_bytes is not None

    @property
    def message(self) -> str:
        """The outcome in one sentence."""
        said = self._repaired.repair.message
        if self.suggestion is None:
            return said if self.is_found or not self.is_needed else f"{said} {NOTHING_USEFUL}"
        grown = self._offer.tried[-1]
        too = " too" if self._repaired.file is not None else ""
        return f"{said} Trained again with {grown.name}, the model passes{too}."

    @cached_property
    def original(self) -> Result:
        """The audit of the unchanged model."""
        repair_search = self._repaired.repair
        return self._result(repair_search.audit, repair_search.decision)

    @cached_property
    def result(self) -> Result:
        """The audit of the repaired model, or of the original if there is none."""
        best = self._repaired.repair.applied
        if best is not None and best.audit is not None and best.decision is not None:
            return self._result(best.audit, best.decision)
        return self.original if self.estimator_result is None else self.estimator_result

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """Every change that was tried, best first; below them the settings that the model was trained again with."""
        told = self._brief.repair
        return attempts_frame(told.attempts if told else (), self._offer.tried)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the changes that were tried: what each is worth, and how far its weakest check is met.

        These are the points of the report: cross-validated utility where it is told, else training accuracy. Models
        that were trained again are drawn with them where both are cross-validated, or where no change was tried.
        """
        told = self._brief.repair
        curve = None if told is None else curve_of(told)
        grown = tuple(grown_points(self._offer))
        if curve is None or (grown and not curve.points):
            return draw_curve(marked_curve(grown, "cross-validated", is_percent=True), ax)
        if grown and curve.is_percent and curve.label.endswith("cross-validated"):
            both = (*curve.points, *grown)
            curve = marked_curve(both, curve.label, is_percent=True)
        return draw_curve(curve, ax)

    @property
    def model_bytes(self) -> bytes | None:
        """The file to publish, audited as its receiver reads it, or None if there is none."""
        return self._offer.file or self._repaired.file

    @property
    def estimator(self) -> Any:  # noqa: ANN401  # of a library that is no dependency
        """A scikit-learn estimator that passes: cut back as the file was, or trained again; None where there is none.

        Publish the file, not this: an estimator holds more than its file, for instance the counts of every node.
        """
        return self._offer.estimator

    @cached_property
    def estimator_result(self) -> Result | None:
        """The audit of ``estimator``; None where there is none, or it is the original."""
        audit, decision = self._offer.audit, self._offer.decision
        return None if audit is None or decision is None else self._result(audit, decision)

    @property
    def suggestion(self) -> dict[str, Any] | None:
        """The settings that ``estimator`` was trained again with, for ``set_params``; None where it was not."""
        return None if self._offer.settings is None else dict(self._offer.settings)

    def save_model(self, path: AnyPath) -> Path:
        """Write the repaired model: whole, or not at all.

        Raises:
            RemedyError: there is none; the message says why.
            OutputError: the file cannot be written, or is one that was read.
        """
        if self.model_bytes is None:
            raise RemedyError(model_name(self._request.model), f"no model to write: {self.message}")
        return save_bytes(self.model_bytes, path, self._request.paths)

    def save(self, path: AnyPath, *, redacted: bool = False, form: str | None = None) -> Path:
        """Write the report of the repair in the form that the suffix says; see ``Result.save``."""
        return save_report(
            self._document, path, self._request.paths, is_redacted=redacted, form=form
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report of the repair as plain values, every list written out (``treewarden-report/1``)."""
        return self._document.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """Return the JSON report of the repair as text."""
        return renderer("json").render(self._document).decode("utf-8")

    def raise_for_verdict(self) -> None:
        """Do nothing where there is a model that passes: the original, or the repaired one.

        Raises:
            FailedError: nothing passes, and the original fails.
            UndeterminedError: nothing passes, and the original could not be decided.
        """
        self.result.raise_for_verdict()

    def __repr__(self) -> str:
        return f"<Repair of {model_name(self._request.model)}: {self.message}>"

    def _repr_html_(self) -> str:
        brief = self._brief
        attempts = brief.repair.attempts if brief.repair else ()
        return Card(
            verdict=str(self.result.verdict),
            title=f"{brief.title}, policy “{brief.policy.title}”",
            headline=self.message,
            facts=assumed_facts(brief),
            reasons=[] if self.result.passed else reasons(brief),
            columns=("change", "verdict", "leaves", "accuracy"),
            rows=[
                (
                    attempt.name,
                    str(attempt.verdict),
                    attempt.leaves_text,
                    attempt.accuracy_after.text,
                )
                for attempt in attempts[:MOST_ROWS]
            ],
            report=renderer("html").render(self._document).decode("utf-8"),
        ).html()

    def _result(self, audit: Audit, decision: Decision) -> Result:
        options, files = self._request.options, self._request.paths
        return Result(audit, decision, self._provenance, options, files)

    @cached_property
    def _brief(self) -> Document:
        return repair_document(self._repaired.repair, self._provenance)

    @cached_property
    def _document(self) -> Document:
        full = replace(self._subject, options=self._request.options)
        return repair_document(self._repaired.with_levels(full).repair, self._provenance)


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
    widths, measure = _checked_widths(bands), checked_utility(utility)
    more = {"worlds_budget": worlds_budget, "jobs": jobs, "solver": solver, **options}
    request = request_of(
        model,
        data,
        sensitive=sensitive,
        qi=qi,
        judgment={"policy": policy, "fail_on": fail_on},
        knowledge=knowledge,
        more=more,
    )
    table = None if holdout is None else holdout_table(holdout, request, model)
    hierarchies = load_taxonomies(tuple(Path(path) for path in _all_paths(taxonomies)))
    task = _read_task(request, Given(hierarchies, bases=widths, utility=measure), table, to, step)
    with on_cluster(cluster, say_of(progress), is_required=cluster_required):
        repaired = task.search(every=every, change=apply or "", tell=say_of(progress))
    if apply is not None and repaired.repair.is_needed:
        repaired = repaired.choosing(_named(repaired.repair.attempts, apply), task.subject)
    other = task.offer(model, data, repaired, regrow_seconds, utility=measure, grow=grow)
    provenance = clock.provenance(request, task.subject.pack, table=task.subject.table)
    return Repair(repaired, task.subject, request, provenance, other)


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
    inputs: Given
    target: str | None
    deadline: Deadline
    step: Step

    def search(self, *, every: bool, change: str, tell: Tell) -> Repaired:
        """Look for a change that passes."""
        name = model_name(self.request.model)
        if isinstance(self.request.model, OpenedFile):
            name += SUFFIXES.get(self.target or "", "")
        return repair_file(
            self.subject,
            name,
            self.inputs,
            self.target,
            self.step,
            deadline=self.deadline,
            every=every,
            wanted=change,
            tell=tell,
        )

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
    inputs: Given,
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


def _named(attempts: Sequence[RepairAttempt], name: str) -> RepairAttempt:
    repair_attempts = {attempt.name: attempt for attempt in attempts}
    if name not in repair_attempts:
        have = ", ".join(repair_attempts) or "none, because no change could be tried"
        raise ArgumentError("apply", f"no change is called {name!r}; use {have}")
    if repair_attempts[name].verdict is not Answer.PASS:
        verdict = repair_attempts[name].verdict.name
        raise ArgumentError(
            "apply", f"{name} does not pass ({verdict}); see .attempts for the changes that pass"
        )
    return repair_attempts[name]
