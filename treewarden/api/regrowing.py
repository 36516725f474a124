"""Grows an estimator anew under other settings, from the same records, until what it publishes passes."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.api.refits import (
    Training,
    Utility,
    boosted_candidates,
    boosting_library,
    cross_validated,
    final_of,
    innermost,
    is_of_scikit,
    pruned_copy,
    relabelled,
    training_of,
)
from treewarden.api.requests import model_input
from treewarden.audit.progress import Step
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import JudgedAudit, audit_file
from treewarden.jobs.inputs import ModelBytes, model_name, opened, read, saved
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import Repaired
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import Pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.tree import Tree

Settings = Mapping[str, Any]
KNOBS = ("min_samples_leaf", "ccp_alpha", "max_depth")
STEPS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000)
MOST_ALPHAS = 12


@dataclass(frozen=True, slots=True)
class Regrown:
    """One estimator that was trained again, by the settings that changed, and what its audit came to.

    ``accuracy`` is the share of the training records it predicts rightly (of numbers: the variance it explains), and
    ``utility`` is cross-validated (NaN where it was not asked). ``audited`` is None where a clause about leaves alone
    broke, or no audit was possible; ``problem`` says which.
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
    under the policy is one of them.
    """
    begun = time.monotonic()
    half, end = begun + seconds / 2, begun + seconds
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
    return broken + tuple(tried[place] for place in sorted(tried) if place <= best)


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
    settings = {"policy": request.policy, "max_depth": int(min(_depth(final), 12)) or 1}
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
    for settings in _candidates(estimator, training, request.policy):
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


def _candidates(estimator: Any, training: Training, policy: object) -> Iterator[Settings]:  # noqa: ANN401  # see above
    """Yield settings to try, those that change one thing first; a random choice is made the same every time."""
    final, before = final_of(estimator)
    if boosting_library(final):
        yield from boosted_candidates(final, len(training.target), before)
        return
    known = final.get_params(deep=False)
    fixed = {f"{before}random_state": 0} if known.get("random_state", 0) is None else {}
    sizes = [size for size in _sizes(policy) if size <= len(training.target) // 2]
    values: dict[str, list[Any]] = {
        "min_samples_leaf": sizes,
        "ccp_alpha": _alphas(estimator, training) if "ccp_alpha" in known else [],
        "max_depth": list(range(min(_depth(final) - 1, 12), 0, -1)),
    }
    single = [(name, value) for name in KNOBS if name in known for value in values[name]]
    for name, value in single:
        yield {f"{before}{name}": value, **fixed}
    if {"min_samples_leaf", "max_depth"} <= known.keys():
        for size, depth in itertools.product(sizes[:6], values["max_depth"][-5:]):
            yield {f"{before}min_samples_leaf": size, f"{before}max_depth": depth, **fixed}


def _sizes(policy: object) -> list[int]:
    """Return the smallest leaves to try: what the policy asks for first among them."""
    clauses = policy.clauses if isinstance(policy, Pack) else ()
    atoms = [atom for clause in clauses for atom in clause.demanded]
    wanted = {int(np.ceil(atom.limit)) for atom in atoms if atom.call.measure == "k_anonymity"}
    least = max(wanted, default=2)
    return sorted({size for size in (*STEPS, *wanted) if size >= least})


def _alphas(estimator: Any, training: Training) -> list[float]:  # noqa: ANN401  # see above
    final = final_of(estimator)[0]
    if not hasattr(final, "cost_complexity_pruning_path"):
        return [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
    inputs = training.inputs
    if final is not estimator:
        if any(getattr(step, "steps", None) for _, step in estimator.steps):
            return []
        inputs = estimator[:-1].transform(inputs)
    path = final.cost_complexity_pruning_path(inputs, training.target).ccp_alphas
    found = np.unique(path[path > 0])
    places = np.linspace(0, len(found) - 1, min(MOST_ALPHAS, len(found))).astype(int)
    # Rounded up: an alpha that is exactly where a node goes may or may not take it along.
    return [float(f"{found[place] * 1.0005:.4g}") for place in places]


def _depth(final: Any) -> int:  # noqa: ANN401  # see above
    if hasattr(final, "get_depth"):
        return int(final.get_depth())
    trees = np.ravel(getattr(final, "estimators_", ()))
    return max((int(tree.get_depth()) for tree in trees), default=8)


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


def _audited(regrown: Regrown, subject: AuditInputs) -> Regrown:
    """Return the same with its audit; whole records are left out where it fails without them, as it would with them."""
    brief = replace(subject, options=replace(subject.options, worlds=False))
    for audit_inputs in (brief, subject):
        try:
            audit = audit_inputs.audit(audit_inputs.file)
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
        file = _published(best.audited.subject.file, asked, step)
    done = best.audited
    assert done is not None
    return Offer(best.estimator, done.audit, done.decision, best.settings, tried, file)


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
