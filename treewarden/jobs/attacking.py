"""Attacks by trial on membership, on demand: the user's estimator trained anew on parts of the register.

An estimator is written as in Python, with literal settings: ``sklearn.tree.DecisionTreeClassifier(max_depth=5)``. Only
classes of a few libraries are made, and nothing of the text is evaluated.
"""

from __future__ import annotations

import ast
import importlib
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.audit.membership.attacks import (
    AttackedPeople,
    AttackResult,
    Refit,
    run_attacks,
)
from treewarden.audit.membership.candidates import Candidates, find_candidates
from treewarden.audit.progress import Step
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Task

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")
EXAMPLE = "sklearn.tree.DecisionTreeClassifier(max_depth=5)"
WRITTEN = f"write it as in Python, with its settings: {EXAMPLE}"
ESTIMATOR_METHODS = ("fit", "predict_proba", "get_params")
MOST_PEOPLE = 100_000
OF_PROBABILITIES = (
    "attacks need a model that predicts probabilities of classes; remove attack for this model"
)
NO_CLASSES = "the register does not say the class of each person; add the column, or remove attack"


@dataclass(frozen=True, slots=True)
class EstimatorText:
    """An estimator as it is written: its class, by library and path, and its settings."""

    path: str
    settings: dict[str, Any]

    def make(self) -> Any:  # noqa: ANN401  # of a library that is no dependency
        """Return the estimator, not trained.

        Raises:
            TreewardenError: there is no such class, or it does not take the settings.
        """
        module, _, name = self.path.rpartition(".")
        try:
            kind = getattr(importlib.import_module(module), name)
            # A function would do what it does: only what can be made anew on each part is an estimator.
            if not isinstance(kind, type) or not hasattr(kind, "get_params"):
                problem = f"{self.path} is not an estimator class"
                example = "sklearn.tree.DecisionTreeClassifier()"
                raise TreewardenError("attack", f"{problem}; name a class, for example {example}")
            return kind(**self.settings)
        except (ImportError, AttributeError) as error:
            problem = (
                f"{self.path} was not found ({error}); check the spelling, or install the library"
            )
            raise TreewardenError("attack", problem) from error
        except (TypeError, ValueError) as error:
            raise TreewardenError("attack", f"{self.path}: {error}; check its settings") from error


def read_estimator(text: str) -> EstimatorText:
    """Return an estimator as it is written; nothing of the text is evaluated.

    Raises:
        TreewardenError: it is not written so, or is of another library.
    """
    try:
        said = ast.parse(text.strip(), mode="eval").body
        call = said if isinstance(said, ast.Call) else ast.Call(said, [], [])
        path = ast.unparse(call.func)
        if call.args or not all(part.isidentifier() for part in path.split(".")):
            raise ValueError
        settings = {
            str(each.arg): ast.literal_eval(each.value) for each in call.keywords if each.arg
        }
        if len(settings) < len(call.keywords):
            raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TreewardenError("attack", f"{text[:80]!r} names no estimator; {WRITTEN}") from error
    if path.partition(".")[0] not in LIBRARIES or "." not in path:
        problem = f"{path!r} names no library ({', '.join(LIBRARIES)}); {WRITTEN}"
        raise TreewardenError("attack", problem)
    return EstimatorText(path, settings)


def check_attack(request: Request) -> None:
    """Check that a request can be attacked, before anything is read.

    Raises:
        TreewardenError: it cannot.
    """
    if request.options.attack is None:
        return
    if request.files.population is None:
        problem = (
            "an attack needs a register of everyone who could be in the table; add "
            "--population FILE (in Python: population=)"
        )
        raise TreewardenError("attack", problem)
    if request.earlier:
        raise TreewardenError("attack", "it tries one model; audit each model by itself")
    estimator = request.estimator
    if estimator is None:
        estimator = read_estimator(request.options.attack).make()
    if not all(hasattr(estimator, name) for name in ESTIMATOR_METHODS):
        raise TreewardenError(
            "attack", f"{request.options.attack[:80]!r} is not a classifier; {WRITTEN}"
        )


def with_attacks(audit: Audit, subject: AuditInputs, request: Request, step: Step) -> Audit:
    """Return an audit with what attacks find that use the user's estimator; the same audit where none is asked.

    Raises:
        TreewardenError: the estimator cannot be trained on the register, or the model cannot be attacked.
    """
    if request.options.attack is None or subject.register is None:
        return audit
    model = subject.file.model
    if model.task is Task.REGRESSION or not model.classes:
        raise TreewardenError("attack", OF_PROBABILITIES)
    candidates = find_candidates(subject.population, subject.register, model.classes)
    if isinstance(candidates, Undetermined):
        raise TreewardenError("attack", candidates.reason)
    if candidates.class_of is None:
        raise TreewardenError("attack", NO_CLASSES)
    group = np.repeat(np.arange(len(candidates.sizes)), candidates.sizes)
    if len(group) > MOST_PEOPLE:
        problem = (
            f"the register has {len(group):,} people; attacks are run on at most {MOST_PEOPLE:,}"
        )
        raise TreewardenError("attack", problem)
    people = _attacked(model, candidates, group)
    if not 1 < int(people.is_member.sum()) < len(group) - 1:
        raise TreewardenError("attack", "needs people of the register who are not in the table")
    estimator = request.estimator or read_estimator(request.options.attack).make()
    refit = refit_of(estimator, model, candidates, group)
    with step("attacking with shadow models") as share, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[AttackResult] = []
        try:
            found.extend(run_attacks(people, refit, share))
        except TreewardenError:
            raise
        except Exception as error:  # of the user's estimator, whatever it is
            problem = (
                f"the estimator could not be trained on the register ({error!s:.200}); {WRITTEN}"
            )
            raise TreewardenError("attack", problem) from error
    return replace(audit, attacks=tuple(found))


def _attacked(model: Model, candidates: Candidates, group: IndexArray) -> AttackedPeople:
    assert candidates.class_of is not None
    scores = predict(model, candidates.columns)
    if scores.shape[1] != len(model.classes) or np.isnan(scores).any() or (scores < 0).any():
        raise TreewardenError("attack", OF_PROBABILITIES)
    scores = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-300)
    first = np.concatenate([[0], np.cumsum(candidates.sizes)])[:-1]
    number = np.arange(len(group)) - first[group]
    is_member = number < candidates.members.sum(axis=1)[group]
    return AttackedPeople(scores[group], candidates.class_of[group], is_member)


def refit_of(estimator: Any, model: Model, candidates: Candidates, group: IndexArray) -> Refit:  # noqa: ANN401  # see above
    """Return what trains copies of an estimator on some people of a register, (N,) by their groups."""
    clone = importlib.import_module("sklearn.base").clone
    frame = importlib.import_module("pandas").DataFrame
    names = [str(name) for name in getattr(estimator, "feature_names_in_", _features(model))]
    if any(name not in candidates.columns for name in names):
        names = _features(model)
    inputs = frame({name: _plain(candidates.columns[name]) for name in names})
    everybody = inputs.iloc[group].reset_index(drop=True)
    assert candidates.class_of is not None
    classes = candidates.class_of[group]
    is_seeded = "random_state" in estimator.get_params()

    def refit(rows: IndexArray, seed: int) -> FloatArray:
        copy = clone(estimator)
        if is_seeded:
            copy.set_params(random_state=seed)
        copy.fit(everybody.iloc[rows], classes[rows])
        of_groups = np.asarray(copy.predict_proba(inputs), dtype=np.float64)
        found = np.zeros((len(inputs), len(model.classes)))
        found[:, np.asarray(copy.classes_, dtype=np.intp)] = of_groups
        return np.asarray(found[group])

    return refit


def _features(model: Model) -> list[str]:
    return list(dict.fromkeys(each.name for tree in trees_of(model) for each in tree.features))


def _plain(column: Column) -> Any:  # noqa: ANN401  # of pandas
    if not isinstance(column, CategoricalColumn):
        return column.numbers
    categorical = importlib.import_module("pandas").Categorical
    return categorical.from_codes(column.codes, list(column.categories))
