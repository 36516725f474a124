"""A fitted estimator that passes: the one that was given, cut back as its file was, or grown anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from treewarden.api.asking import model_input
from treewarden.api.pruned import pruned_copy
from treewarden.api.regrowing import Regrown, Settings, regrow
from treewarden.api.training import Training, innermost, is_of_scikit, training_of
from treewarden.audit.result import Audit
from treewarden.audit.stages import Step
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.inputs import ModelBytes, model_name, opened, read, saved
from treewarden.jobs.repairing import Repaired
from treewarden.jobs.subject import Request, Subject
from treewarden.policies.judging.decision import Decision
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Offer:
    """An estimator that passes, and the audit that says so; none where the one that was given needs no other.

    ``settings`` are those that it was grown anew with, ``tried`` all that were; ``file`` is its own file, audited as
    read, where no change of the original passes.
    """

    estimator: Any = None
    audit: Audit | None = None
    decision: Decision | None = None
    settings: Settings | None = None
    tried: tuple[Regrown, ...] = ()
    file: bytes | None = None


def offer(
    model: object,
    data: object,
    repaired: Repaired,
    subject: Subject,
    request: Request,
    step: Step,
    seconds: float,
) -> Offer:
    """Return the estimator to go on with; nothing where the model is none of scikit-learn's, or nothing passes.

    Nor is one offered where the data do not give back what the model predicts: it was fitted on others.
    """
    if not isinstance(request.model, OpenedFile) or not is_of_scikit(innermost(model)):
        return Offer()
    if not repaired.repair.is_needed:
        return Offer(model)
    estimator = innermost(model)
    # The table was read before: in memory it is not read again for every estimator that is audited.
    table = read(request.data)
    asked = replace(request, data=table, policy=subject.pack)
    training = training_of(estimator, data, table, request.options.sensitive or "")
    if training is None or not training.agrees(estimator, subject.tree):
        return Offer()
    cut = _cut_back(estimator, repaired, training, asked, step)
    if cut is not None:
        return cut
    options = request.options
    if options.weights is not None or options.sampling_weights is not None or seconds <= 0:
        return Offer()
    tried = regrow(estimator, training, asked, step, seconds)
    best = next((each for each in tried if each.verdict is Verdict.PASS), None)
    if best is None:
        return Offer(tried=tried)
    file = None
    if repaired.file is None and best.audited is not None:
        file = _published(best.audited.subject.file, asked, step)
    done = best.audited
    assert done is not None
    return Offer(best.estimator, done.audit, done.decision, best.settings, tried, file)


def _cut_back(
    estimator: object, repaired: Repaired, training: Training, request: Request, step: Step
) -> Offer | None:
    """Return the estimator cut back to what was written, if that says it all, and it passes on its own."""
    applied = repaired.repair.applied
    if applied is None or applied.proposal.withheld or not isinstance(applied.proposal.model, Tree):
        return None
    found = pruned_copy(estimator, applied.proposal.model)
    if found is None or not training.agrees(found, applied.proposal.model):
        return None
    try:
        file = opened(model_input(found, training.table, request.options))
        if _is_same(file, repaired.file):
            return Offer(found, applied.audit, applied.decision)
        with step("auditing the estimator cut back"):
            done = audit_file(replace(request, model=file))
    except TreewardenError:
        return None
    passes = done.decision.verdict is Verdict.PASS
    return Offer(found, done.audit, done.decision) if passes else None


def _is_same(file: OpenedFile, published: bytes | None) -> bool:
    """Return whether an estimator says what a file says, which was audited."""
    if published is None:
        return False
    other = open_model(published, model_name(file))
    return file.model == other.model and set(file.leaks) <= set(other.leaks)


def _published(file: OpenedFile, request: Request, step: Step) -> bytes | None:
    """Return the file of an estimator, if it passes as whoever gets it reads it."""
    try:
        data = saved(file)
        with step("auditing the file of the model grown anew"):
            done = audit_file(replace(request, model=ModelBytes(data, model_name(file))))
    except TreewardenError:
        return None
    return data if done.decision.verdict is Verdict.PASS else None
