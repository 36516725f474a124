"""Grows an estimator anew under other settings, from the same records, until what it publishes passes."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.api.refits import (
    Settings,
    Training,
    Utility,
    boosting_library,
    cross_validated,
    final_of,
    innermost,
    is_of_scikit,
    lost_by,
    pruned_copy,
    refit_candidates,
    relabelled,
    training_of,
    tree_depth,
    with_file,
)
from treewarden.api.requests import model_input
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import JudgedAudit, audit_file
from treewarden.jobs.inputs import ModelBytes, model_name, opened, read, saved
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired, published
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge
from treewarden.policies.remedies import Proposal, remedies
from treewarden.policies.repair.attempts import privacy
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.tree import Tree

ROUNDED_FROM = 3 / 4
"""The part of the time that boosted models are fitted and audited in; the rest is for rounding their leaf values."""


@dataclass(frozen=True, slots=True)
class Regrown:
    """One estimator that was trained again, by the settings that changed, and what its audit came to.

    ``accuracy`` is the share of the training records it predicts rightly (of numbers: the variance it explains), and
    ``utility`` is cross-validated (NaN where it was not asked). ``audited`` is None where a clause about leaves alone
    broke, or no audit was possible; ``problem`` says which. ``rounding`` says how its leaf values were rounded in its
    ``file``, which was audited as its receiver reads it.
    """

    settings: Settings
    estimator: Any
    accuracy: float
    leaves: int
    audited: JudgedAudit | None
    problem: str = ""
    utility: float = math.nan
    learner: str = ""
    tree_count: int = 0
    rounding: str = ""
    file: bytes | None = None

    @property
    def trees(self) -> int:
        """How many trees it has."""
        if self.tree_count:
            return self.tree_count
        final = final_of(self.estimator)[0]
        return max(1, len(np.ravel(getattr(final, "estimators_", ()))))

    @property
    def name(self) -> str:
        """The settings as they are typed."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        said = f"{said}; {self.rounding}" if self.rounding else said
        return f"{self.learner}({said})" if self.learner else said

    @property
    def verdict(self) -> PolicyVerdict:
        """The verdict; a broken clause about leaves is a fail."""
        if self.audited is not None:
            return self.audited.decision.verdict
        return (
            PolicyVerdict.FAIL
            if self.problem.startswith("the check")
            else PolicyVerdict.UNDETERMINED
        )


def regrow(
    estimator: Any,  # noqa: ANN401  # of a library that is no dependency
    training: Training,
    request: Request,
    step: Step,
    seconds: float,
    *,
    utility: Utility = "accuracy",
    grow: bool = False,
) -> tuple[Regrown, ...]:
    """Return what was tried, what breaks a check on leaves first, then the rest by utility up to the first that passes.

    A tree without a split is never among them. Everything is fitted and looked at first, as that is quick beside an
    audit; what is left is compared by its cross-validated utility. Of that each audit goes twice as far down as the one
    before, until one passes; then those above it have their turn, until the time is up. With ``grow`` a tree grown
    under the policy is one of them, and the last where it is worth less. Of a boosted model, leaf values of what does
    not pass are rounded in the time that is left.
    """
    begun = time.monotonic()
    is_boosted = bool(boosting_library(final_of(estimator)[0]))
    half, end = begun + seconds / 2, begun + seconds * (ROUNDED_FROM if is_boosted else 1)
    with step("training the model again with other settings"):
        fitted = (*_under_policy(estimator, training, request, grow=grow),)
        fitted += tuple(_fitted(estimator, training, request, begun + seconds / 4))
        # What is grown under the policy comes first, as it is the likeliest to pass.
        grown = sorted(fitted, key=lambda regrown: (not regrown.learner, -regrown.accuracy))
        read = [
            _looked_at(each, request, training)
            for each in grown
            if each.leaves > each.trees and (each.learner or time.monotonic() <= half)
        ]
    broken = tuple(regrown for regrown, subject in read if subject is None)
    with step("comparing candidates by their cross-validated utility"):
        waiting = [
            (replace(regrown, utility=_utility(regrown, training, utility, half)), subject)
            for regrown, subject in read
            if subject is not None
        ]
    waiting.sort(key=lambda pair: -math.inf if math.isnan(pair[0].utility) else pair[0].utility)
    waiting.reverse()
    tried: dict[int, Regrown] = {}

    def passes(place: int) -> bool:
        regrown, subject = waiting[place]
        if place not in tried and (not tried or time.monotonic() <= end):
            with step(f"auditing the model trained with {regrown.name}"):
                tried[place] = _audited(regrown, subject)
        return place in tried and tried[place].verdict is PolicyVerdict.PASS

    reach = next((place for place in _further(len(waiting)) if passes(place)), None)
    if reach is not None:
        next(place for place in range(reach + 1) if passes(place))
    best = min((n for n in tried if tried[n].verdict is PolicyVerdict.PASS), default=len(waiting))
    failing = [(tried[place], waiting[place][1]) for place in sorted(tried) if place < best]
    found = tried[best] if best < len(waiting) else None
    if is_boosted:
        found = _rounded(failing, found, training, utility=utility, end=begun + seconds, step=step)
    shown = (*broken, *(regrown for regrown, _ in failing), *([] if found is None else [found]))
    below = [pair for place, pair in enumerate(waiting) if pair[0].learner and place not in tried]
    for regrown, subject in below:
        with step(f"auditing the model trained with {regrown.name}"):
            shown += (_audited(regrown, subject),)
    return shown


def _rounded(
    failing: Sequence[tuple[Regrown, AuditInputs]],
    best: Regrown | None,
    training: Training,
    utility: Utility,
    end: float,
    step: Step,
) -> Regrown | None:
    """Return the most useful of models that pass once their leaf values are rounded, if it is worth more than ``best``.

    Those that lack least have their turn first, as they are the likeliest to pass.
    """
    ordered = sorted(failing, key=lambda pair: _lacks(pair[0]))
    for regrown, subject in ordered:
        if time.monotonic() > end:
            break
        if best is not None and regrown.utility <= best.utility:
            continue
        with step(f"rounding leaf values of the model trained with {regrown.name}"):
            rounded = _with_rounded_leaves(regrown, subject, training, utility, end)
        if rounded is not None and (best is None or rounded.utility > best.utility):
            best = rounded
    return best


def _lacks(regrown: Regrown) -> tuple[float, float]:
    if regrown.audited is None:
        return (math.inf, 0.0)
    decision = regrown.audited.decision
    return (len(decision.failing), -(privacy(decision) or 0.0))


def _with_rounded_leaves(
    regrown: Regrown, subject: AuditInputs, training: Training, utility: Utility, end: float
) -> Regrown | None:
    """Return a model with its leaf values rounded as little as lets its file pass; None where nothing does.

    Fewest digits go first, and the search ends at the second number of them that does not pass. What rounding loses on
    the training records is taken off the cross-validated utility.
    """
    if regrown.audited is None:
        return None
    forest, best, failed = regrown.audited.audit.full.evidence.forest, None, 0
    made = remedies()["round_leaves"].propose_all(forest, subject.population, subject.pack)
    for proposal in reversed([each for each in made if isinstance(each, Proposal)]):
        try:
            file = published(subject, proposal, None)
            title = proposal.title.partition(", and ")[0]
            rounded = replace(regrown, rounding=title, file=file)
            found = _audited(rounded, subject, open_model(file, model_name(subject.file)))
        except TreewardenError:
            break
        estimator = with_file(regrown.estimator, file)
        if estimator is None or not training.agrees(estimator, proposal.model):
            break
        if found.verdict is PolicyVerdict.PASS:
            lost = lost_by(regrown.estimator, estimator, training, utility)
            accuracy = float(estimator.score(training.inputs, training.target))
            worth = regrown.utility - lost
            best = replace(found, estimator=estimator, accuracy=accuracy, utility=worth)
        else:
            failed += 1
        if failed == 2 or time.monotonic() > end:
            break
    return best


def _utility(regrown: Regrown, training: Training, utility: Utility, end: float) -> float:
    is_late = time.monotonic() > end and not regrown.learner
    return math.nan if is_late else cross_validated(regrown.estimator, training, utility)


def _under_policy(
    estimator: Any,  # noqa: ANN401  # see above
    training: Training,
    request: Request,
    *,
    grow: bool,
) -> Iterator[Regrown]:
    """Yield the same pipeline with a tree that is grown under the policy at its end, where that is asked for."""
    if not grow:
        return
    learners = importlib.import_module("treewarden.learn")
    final, before = final_of(estimator)
    is_of_classes = hasattr(final, "classes_")
    make = learners.PolicyTreeClassifier if is_of_classes else learners.PolicyTreeRegressor
    settings = {"policy": request.policy, "max_depth": int(min(tree_depth(final), 12)) or 1}
    learner = make(**settings)
    grown = learner
    if before:
        grown = sys.modules["sklearn.base"].clone(estimator)
        grown.set_params(**{before.removesuffix("__"): learner})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tree without a split is left out here
            grown.fit(training.inputs, training.target)
        accuracy = float(grown.score(training.inputs, training.target))
    except (ValueError, TypeError):  # missing values that no step fills
        return
    named = {**settings, "policy": getattr(request.policy, "name", request.policy)}
    leaves = _leaves(final_of(grown)[0])
    yield Regrown(named, grown, accuracy, leaves, None, learner=make.__name__)


def _further(size: int) -> Iterator[int]:
    """Yield places 0, 1, 3, 7 and so on, and the last."""
    place = 0
    while place < size - 1:
        yield place
        place = 2 * place + 1
    if size:
        yield size - 1


def _fitted(estimator: Any, training: Training, request: Request, end: float) -> Iterator[Regrown]:  # noqa: ANN401  # see above
    clone = importlib.import_module("sklearn.base").clone
    seen = set()
    for settings in refit_candidates(estimator, training, request.policy):
        if time.monotonic() > end:
            return
        grown = clone(estimator).set_params(**settings)
        try:
            grown.fit(training.inputs, training.target)
            said = grown.predict(training.inputs)
            accuracy = float(grown.score(training.inputs, training.target))
        except (ValueError, TypeError):  # as the library says that it cannot
            continue
        key = (np.asarray(said).tobytes(), *_shape(final_of(grown)[0]))
        if key not in seen:
            seen.add(key)
            found = Regrown(settings, grown, accuracy, _leaves(final_of(grown)[0]), None)
            yield _with_boosted_leaves(found, training, request)


def _with_boosted_leaves(regrown: Regrown, training: Training, request: Request) -> Regrown:
    """Return the same with the trees and leaves of its file, where a boosting library keeps these to itself."""
    if not boosting_library(final_of(regrown.estimator)[0]):
        return regrown
    try:
        file = opened(model_input(regrown.estimator, training.table, request.options))
    except TreewardenError:
        return regrown  # no leaves: it is left out
    trees = tuple(trees_of(file.model))
    leaves = sum(tree.leaf_count for tree in trees)
    return replace(regrown, leaves=leaves, tree_count=len(trees))


def _leaves(final: Any) -> int:  # noqa: ANN401  # see above
    if hasattr(final, "get_n_leaves"):
        return int(final.get_n_leaves())
    return sum(int(tree.get_n_leaves()) for tree in np.ravel(getattr(final, "estimators_", ())))


def _shape(final: Any) -> tuple[bytes, ...]:  # noqa: ANN401  # see above
    tree = getattr(final, "tree_", None)
    if tree is None:
        return (repr(final.get_params(deep=False)).encode(),)
    return (tree.children_left.tobytes(), tree.feature.tobytes(), tree.threshold.tobytes())


def _looked_at(
    regrown: Regrown, request: Request, training: Training
) -> tuple[Regrown, AuditInputs | None]:
    """Return what is to be audited; nothing where its leaves alone break a clause, or it cannot be read."""
    try:
        file = model_input(regrown.estimator, training.table, request.options)
        subject = read_subject(replace(request, model=file, data=training.table))
        broken = _broken(subject)
    except TreewardenError as error:
        broken = str(error)
    return (replace(regrown, problem=broken), None) if broken else (regrown, subject)


def _audited(regrown: Regrown, subject: AuditInputs, file: OpenedFile | None = None) -> Regrown:
    """Return the same with its audit; whole records are left out where it fails without them, as it would with them."""
    brief = replace(subject, options=replace(subject.options, worlds=False))
    for audit_inputs in (brief, subject):
        try:
            audit = audit_inputs.audit(file or audit_inputs.file)
        except TreewardenError as error:
            return replace(regrown, problem=str(error))
        done = JudgedAudit(audit_inputs, audit, judge(audit, audit_inputs.pack))
        if done.decision.verdict is PolicyVerdict.FAIL:
            break
    return replace(regrown, audited=done)


def _broken(subject: AuditInputs) -> str:
    """Return the first clause that breaks already on what needs no estimate, in words."""
    decision = judge(subject.glance(subject.file), subject.pack)
    broken = (finding for finding in decision.failing if finding.verdict is PolicyVerdict.FAIL)
    return next(
        (f"the check {finding.clause!r} fails already without any inference" for finding in broken),
        "",
    )


# A fitted estimator that passes: the given one, cut back as its file was, or trained again.


@dataclass(frozen=True, slots=True)
class Offer:
    """An estimator that passes, and the audit that says so; none where the one that was given needs no other.

    ``settings`` are those that it was trained again with, ``tried`` all that were; ``file`` is its own file, audited as
    read, where no change of the original passes.
    """

    estimator: Any = None
    audit: Audit | None = None
    decision: Decision | None = None
    settings: Settings | None = None
    tried: tuple[Regrown, ...] = ()
    file: bytes | None = None
    name: str = ""


def offer(
    model: object,
    data: object,
    repaired: Repaired,
    subject: AuditInputs,
    request: Request,
    step: Step,
    seconds: float,
    *,
    utility: Utility = "accuracy",
    grow: bool = False,
) -> Offer:
    """Return the estimator to go on with; nothing where the model is none of scikit-learn's, or nothing passes.

    Nor is one offered where the data do not give back what the model predicts: it was fitted on others.
    """
    if not isinstance(request.model, OpenedFile) or not _can_be_fitted_again(innermost(model)):
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
    if cut is not None and not grow:
        return cut
    options = request.options
    if options.weights is not None or options.sampling_weights is not None or seconds <= 0:
        return cut or Offer()
    tried = regrow(estimator, training, asked, step, seconds, utility=utility, grow=grow)
    best = next((regrown for regrown in tried if regrown.verdict is PolicyVerdict.PASS), None)
    if best is None:
        return cut or Offer(tried=tried)
    if cut is not None and relabelled(cut.estimator, training, utility) >= best.utility:
        return cut
    file = None
    if (repaired.file is None or grow) and best.audited is not None:
        file = best.file or _published(best.audited.subject.file, asked, step)
    done = best.audited
    assert done is not None
    offered = Offer(best.estimator, done.audit, done.decision, best.settings, tried, file)
    return replace(offered, name=best.name)


def _can_be_fitted_again(estimator: object) -> bool:
    if is_of_scikit(estimator):
        return True
    is_boosted = bool(boosting_library(final_of(estimator)[0]))
    return is_boosted and importlib.util.find_spec("sklearn") is not None


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
        with step("auditing the pruned estimator"):
            done = audit_file(replace(request, model=file))
    except TreewardenError:
        return None
    passes = done.decision.verdict is PolicyVerdict.PASS
    return Offer(found, done.audit, done.decision) if passes else None


def _is_same(file: OpenedFile, published: bytes | None) -> bool:
    """Return whether an estimator says what a file says, which was audited."""
    if published is None:
        return False
    opened_file = open_model(published, model_name(file))
    return file.model == opened_file.model and set(file.leaks) <= set(opened_file.leaks)


def _published(file: OpenedFile, request: Request, step: Step) -> bytes | None:
    """Return the file of an estimator, if it passes as whoever gets it reads it."""
    try:
        data = saved(file)
        with step("auditing the file of the model trained again"):
            done = audit_file(replace(request, model=ModelBytes(data, model_name(file))))
    except TreewardenError:
        return None
    return data if done.decision.verdict is PolicyVerdict.PASS else None
