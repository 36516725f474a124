"""What a repair in Python comes to: every change that was tried, and the model that passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewarden.api.frames import Card, assumed_facts, attempts_frame, reasons
from treewarden.api.leaf_views import draw_curve, grown_points
from treewarden.api.refits import KNOBS_OF_LIBRARY
from treewarden.api.regrowing import Offer
from treewarden.api.requests import (
    AnyPath,
    ArgumentError,
)
from treewarden.api.result import Result, in_python, save_bytes, save_report, with_keywords
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import model_name
from treewarden.jobs.repairing import Repaired
from treewarden.policies.judging.decision import Decision
from treewarden.policies.remedies import Proposal
from treewarden.policies.repair.attempts import RepairAttempt, cost_of_new_model, marked
from treewarden.policies.verdict import NEW_MODEL
from treewarden.policies.verdict import PolicyVerdict as Answer
from treewarden.ppdm_models.errors import RemedyError
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.building.steps import another_training
from treewarden.reports.document.document import Document, Provenance
from treewarden.reports.figures.curve import curve_of, marked_curve
from treewarden.reports.renderers import renderer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_ROWS = 6
NOTHING_USEFUL = (
    "No useful change was found: of what was tried, only a tree without a split passes, if any. "
    "Try grow=True (trains a tree under the policy), or train {}, less depth or fewer columns."
)
NO_SETTING = (
    "No setting that was tried passes. Train with a much larger {size} (100 or more), {depth}=2 and "
    "fewer {rounds}, and repair that model, which rounds its leaf values. Or try grow=True (trains a "
    "single tree under the policy)."
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
        said = with_keywords(self._repaired.repair.message)
        if self.suggestion is None:
            return said if self.is_found or not self.is_needed else f"{said} {self._advice}"
        if self._repaired.file is not None:
            return f"{said} Trained again with {self._offer.name}, the model passes too."
        return f"Trained again with {self._offer.name}, the model passes. {said}"

    @property
    def _advice(self) -> str:
        """What to do where nothing that was tried passes."""
        library = self._subject.tree.format.partition("_")[0]
        knobs = KNOBS_OF_LIBRARY.get(library)
        if knobs is None:
            return NOTHING_USEFUL.format(another_training(self._subject.tree))
        return NO_SETTING.format(size=knobs.size, depth=knobs.depth, rounds=knobs.rounds)

    @cached_property
    def original(self) -> Result:
        """The audit of the unchanged model."""
        repair_search = self._repaired.repair
        return self._result(repair_search.audit, repair_search.decision)

    @cached_property
    def result(self) -> Result:
        """The audit of the repaired model, or of the original if there is none."""
        if self._offer.file is not None and self.estimator_result is not None:
            return self.estimator_result
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
        return in_python(repair_document(self._repaired.repair, self._provenance))

    @cached_property
    def _document(self) -> Document:
        full = replace(self._subject, options=self._request.options)
        told = with_models_trained_again(self._repaired, self._offer, self._subject)
        return in_python(repair_document(told.with_levels(full).repair, self._provenance))


def with_models_trained_again(repaired: Repaired, offered: Offer, subject: AuditInputs) -> Repaired:
    """Return a repair with the audited models that were trained again among its attempts, as reports show them.

    The one whose file is published in place of a changed file is the one that is applied.
    """
    new: list[RepairAttempt] = []
    chosen = None
    for grown in offered.tried:
        if grown.audited is None:
            continue
        model = grown.audited.audit.full.evidence.model
        cost = cost_of_new_model(
            subject.tree,
            subject.population,
            model,
            grown.audited.subject.population,
            utility=grown.utility,
            validation=repaired.repair.validation,
        )
        proposal = Proposal((NEW_MODEL,), f"train it again with {grown.name}", model, (), ())
        name = f"{NEW_MODEL}-{len(new) + 1}"
        done = grown.audited
        new.append(RepairAttempt(name, proposal, cost, done.audit, done.decision))
        if offered.file is not None and done.audit is offered.audit:
            chosen = name
    if not new:
        return repaired
    attempts = marked((*repaired.repair.attempts, *new))
    told = replace(repaired.repair, attempts=attempts)
    if chosen is not None:
        applied = next(attempt for attempt in attempts if attempt.name == chosen)
        told = replace(told, applied=applied, recommended=applied, has_new_model=True)
    return replace(repaired, repair=told)


def attempt_named(attempts: Sequence[RepairAttempt], name: str) -> RepairAttempt:
    """Return the change of this name that was tried and passes.

    Raises:
        ArgumentError: there is none of this name, or it does not pass.
    """
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
