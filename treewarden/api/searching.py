"""``treewarden.search`` and ``treewarden.privacy_scorer``: the settings worth most among those that pass a policy."""

from __future__ import annotations

import importlib
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from treewarden.api.auditing import audit
from treewarden.api.frames import frame_of
from treewarden.api.refits import boosting_library, final_of
from treewarden.api.requests import (
    ArgumentError,
    FailedError,
    Listener,
    Options,
    PolicyLike,
    say_of,
)
from treewarden.api.result import Result
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import KnowledgeError, PolicyError, TreewardenError

if TYPE_CHECKING:
    import pandas as pd

Settings = Mapping[str, Any]
Scorer = Callable[[Any, Any, Any], float]
NO_SPLIT = "has no split, so it predicts the same for everybody"
_CANDIDATE = {
    "settings": pa.string(),
    "score": pa.float64(),
    "verdict": pa.string(),
    "leaves": pa.int64(),
    "problem": pa.string(),
}


@dataclass(frozen=True)
class SearchedSettings:
    """One combination of settings: its cross-validated score, and the verdict if it was audited."""

    settings: Settings
    score: float
    verdict: str = ""
    leaves: int | None = None
    problem: str = ""


@dataclass(frozen=True)
class Search:
    """The outcome of a search: the estimator that passes, fitted on all records, and its audit, or None.

    ``tried`` has all combinations, the highest score first. Combinations below the one that passes are not audited.
    ``rounds_leaves`` says that a repair can round the leaf values of such models.
    """

    estimator: Any
    result: Result | None
    settings: Settings | None
    tried: Sequence[SearchedSettings]
    rounds_leaves: bool = False

    @property
    def is_found(self) -> bool:
        """Whether some settings pass."""
        return self.result is not None

    @property
    def score(self) -> float | None:
        """The cross-validated score of the settings that pass, or None."""
        return next((one.score for one in self.tried if one.verdict == "PASS"), None)

    @property
    def candidates(self) -> pd.DataFrame:
        """One row per combination, the highest score first. The verdict is "" if it was not audited."""
        rows = [
            {
                "settings": json.dumps(dict(one.settings), default=str),
                "score": None if np.isnan(one.score) else one.score,
                "verdict": one.verdict,
                "leaves": one.leaves,
                "problem": one.problem,
            }
            for one in self.tried
        ]
        return frame_of(rows, _CANDIDATE)

    def raise_for_verdict(self) -> None:
        """Raise an error if no combination of settings passes.

        Raises:
            FailedError: none passes.
        """
        if not self.is_found:
            problem = f"none of {len(self.tried)} combinations of settings passes"
            first = self.tried[0].problem if self.tried else ""
            best = f" (with the best score: {first})" if first else ""
            advice = "add larger leaves or smaller depths to the grid, or search with PolicyTreeClassifier"
            if self.rounds_leaves:
                advice += ", or give the fitted model to treewarden.repair, which also rounds its leaf values"
            raise FailedError("search", f"{problem}{best}; {advice}")


def search(
    estimator: object,
    grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]],
    X: object,  # noqa: N803  # as scikit-learn calls it
    y: object,
    *,
    policy: PolicyLike = "standard",
    sensitive: str | None = None,
    scoring: str | Scorer | None = None,
    cv: object = 5,
    progress: Listener = None,
    **options: Unpack[Options],
) -> Search:
    """Find the settings with the highest cross-validated score whose model passes a policy.

    Each combination is scored by cross-validation. Then, from the highest score down, it is fitted on all records and
    audited on them, until one passes. A tree without a split never counts.

    Args:
        estimator: A scikit-learn estimator, or one with the same interface. It is cloned, and never fitted itself.
        grid: As for ``GridSearchCV``: names of settings with the values to try, or a list of such mappings.
        X: The records to train on, as a data frame or an array.
        y: The target of each record.
        policy: As for ``audit``.
        sensitive: The name of y, if it has none.
        scoring: As for ``GridSearchCV``.
        cv: As for ``GridSearchCV``.
        progress: As for ``audit``.
        options: Further options of ``audit``, by name.

    Returns:
        The search: ``search.is_found``, ``search.tried``, and the fitted estimator that passes.

    Raises:
        TreewardenError: an argument is not valid, or no audit is possible.

    Example:
        >>> found = tw.search(DecisionTreeClassifier(), {"min_samples_leaf": [5, 20, 50]}, X, y)
        >>> found.raise_for_verdict()
    """
    clone, say = _scikit("base").clone, say_of(progress)
    combinations = list(_scikit("model_selection").ParameterGrid(grid))
    scores = []
    for number, settings in enumerate(combinations, start=1):
        say(f"scoring settings {number} of {len(combinations)}")
        scored = clone(estimator).set_params(**settings)
        scores.append(_score(scored, (X, y), scoring, cv))
    ranked = sorted(
        zip(combinations, scores, strict=True),
        key=lambda pair: np.inf if np.isnan(pair[1]) else -pair[1],
    )
    tried: list[SearchedSettings] = []
    best: tuple[Any, Result, Settings] | None = None
    for settings, score in ranked:
        if best is not None or np.isnan(score):
            problem = "cannot be fitted or scored in at least one fold" if np.isnan(score) else ""
            tried.append(SearchedSettings(settings, score, problem=problem))
            continue
        say(f"auditing the refit with {dict(settings)}")
        model = clone(estimator).set_params(**settings).fit(X, y)
        result, found_settings = _judged(
            model, (X, y), settings, score, policy=policy, sensitive=sensitive, options=options
        )
        tried.append(found_settings)
        if result is not None and result.passed:
            best = (model, result, settings)
    if best is None:
        rounds = bool(boosting_library(final_of(estimator)[0]))
        return Search(None, None, None, tuple(tried), rounds_leaves=rounds)
    return Search(*best, tuple(tried))


def _score(
    estimator: object, data: tuple[object, object], scoring: str | Scorer | None, cv: object
) -> float:
    """Return the mean score over the folds; NaN where it cannot be fitted or scored in one."""
    score = _scikit("model_selection").cross_val_score
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds that lack a class
        try:
            scores = score(estimator, *data, scoring=scoring, cv=cv, error_score=np.nan)
        except ValueError:  # no fold could be fitted
            return math.nan
    return float(np.mean(scores))


def privacy_scorer(
    policy: PolicyLike = "standard",
    *,
    X: object,  # noqa: N803  # as scikit-learn calls it
    y: object,
    scoring: str | Scorer | None = None,
    failing: float = 0.0,
    sensitive: str | None = None,
    **options: Unpack[Options],
) -> Scorer:
    """Return a scorer for ``GridSearchCV`` and others: the score where the refit passes a policy, else ``failing``.

    Args:
        policy: As for ``audit``.
        X: All records that are trained on. A scorer is shown the records that were held out only, which a model says
            nothing about: the settings are fitted again on all of X and audited on these, once for each combination.
        y: What is predicted of each.
        scoring: As for ``GridSearchCV``.
        failing: What settings are worth whose refit does not pass; give less than any score.
        sensitive: What y is called, where it has no name.
        options: Further options of ``audit``, by name.

    Raises:
        TreewardenError: scikit-learn is not installed.
    """
    score, clone = _scikit("metrics").check_scoring, _scikit("base").clone
    passing: dict[str, bool] = {}

    def scorer(estimator: Any, held_out: Any, values: Any) -> float:  # noqa: ANN401  # of scikit-learn
        name = repr(sorted(estimator.get_params().items(), key=lambda item: item[0]))
        if name not in passing:
            model = clone(estimator).fit(X, y)
            result, _ = _judged(
                model, (X, y), {}, 0.0, policy=policy, sensitive=sensitive, options=options
            )
            passing[name] = result is not None and result.passed
        if not passing[name]:
            return failing
        return float(score(estimator, scoring=scoring)(estimator, held_out, values))

    return scorer


def _judged(
    model: Any,  # noqa: ANN401  # of scikit-learn
    data: tuple[object, object],
    settings: Settings,
    score: float,
    *,
    policy: PolicyLike,
    sensitive: str | None,
    options: Options,
) -> tuple[Result | None, SearchedSettings]:
    """Return the audit of a fitted model, None where none is possible or it has no split, and what came of it.

    No proofs are searched for of a model that fails without them, as it would with them.
    """
    final = final_of(model)[0]
    leaves = int(final.get_n_leaves()) if hasattr(final, "get_n_leaves") else None
    if leaves == 1:
        return None, SearchedSettings(settings, score, "", leaves, NO_SPLIT)
    asked: Any = {"levels": False, "worlds": True, **options}
    brief = {**asked, "worlds": False}
    try:
        result = audit(model, data, sensitive=sensitive, policy=policy, **brief)
        if result._decision.verdict is not PolicyVerdict.FAIL and asked["worlds"]:
            result = audit(model, data, sensitive=sensitive, policy=policy, **asked)
    except (ArgumentError, PolicyError, KnowledgeError):
        raise  # it is of the call, and holds for every combination
    except TreewardenError as error:
        return None, SearchedSettings(settings, score, "UNDETERMINED", leaves, str(error))
    is_brief = result._decision.verdict is PolicyVerdict.FAIL
    failing = [
        each
        for each in result._decision.failing
        if not is_brief or each.verdict is PolicyVerdict.FAIL
    ]
    lacks = ", ".join(dict.fromkeys(finding.clause for finding in failing))
    problem = f"does not pass: {lacks}" if lacks else ""
    return result, SearchedSettings(settings, score, str(result.verdict), leaves, problem)


def _scikit(module: str) -> Any:  # noqa: ANN401  # of a library that is no dependency
    """Return a module of scikit-learn.

    Raises:
        ArgumentError: it is not installed.
    """
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise ArgumentError("search", "needs scikit-learn; pip install scikit-learn") from error
