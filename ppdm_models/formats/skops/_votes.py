"""Estimators that vote or average over fitted trees and forests: how they are read, and what else their files hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.origin import is_name
from treewarden.ppdm_models.formats.sklearn._arrays import class_label
from treewarden.ppdm_models.formats.skops._estimator import (
    FORESTS,
    OF_VOTERS,
    TREES,
    VOTED,
    Fitted,
)
from treewarden.ppdm_models.formats.skops._parts import FilePart, SkopsPart
from treewarden.ppdm_models.formats.skops._unread import (
    LONGEST,
    Strange,
    is_of_model,
    is_version,
    strange_of_settings,
    strange_of_trees,
)

MODULE = "sklearn.ensemble._voting"
SETTINGS = frozenset(("n_jobs", "flatten_transform", "verbose", "voting"))


def voters_of(fitted: Fitted) -> list[Fitted]:
    """Return the fitted estimators that vote, each with the classes of the whole.

    Raises:
        TreeFormatError: one is no tree or forest, or knows other classes.
    """
    part = fitted.known.get("estimators_")
    voters = [] if part is None else part.items()
    if not voters:
        raise fitted.part.refused(
            f"this {fitted.part.kind} has no fitted estimators; call fit first"
        )
    found = []
    for voter in voters:
        if not voter.kind.startswith((*TREES, *FORESTS)):
            raise voter.refused(f"one of its estimators is a {voter.kind[:60]}; {OF_VOTERS}")
        known = voter.attributes()
        if fitted.classes and not _are_numbered(known, len(fitted.classes)):
            raise voter.refused("its classes differ from those of the estimator around it")
        found.append(replace(fitted, part=voter, known=known, notes=(), is_voter=True))
    return found


def _are_numbered(attributes: Mapping[str, SkopsPart], size: int) -> bool:
    classes = attributes.get("classes_")
    return classes is not None and classes.array().tolist() == list(range(size))


def weights_of(fitted: Fitted, size: int) -> tuple[float, ...]:
    """Return what each vote counts.

    Raises:
        TreeFormatError: they are no weights of the estimators.
    """
    part = fitted.known.get("weights")
    if part is None or (part.loader == "JsonNode" and part.plain() is None):
        return (1.0,) * size
    if part.loader == "NdArrayNode":
        told: list[object] = part.array().tolist()
    else:
        told = [item.plain() for item in part.items()]
    weights = tuple(float(one) for one in told if isinstance(one, int | float))
    is_sound = len(weights) == len(told) == size and all(
        np.isfinite(one) and one >= 0 for one in weights
    )
    if not is_sound or not sum(weights):
        raise fitted.part.refused("weights must be one number of 0 or more for each estimator")
    return weights


def is_of_votes(part: FilePart) -> bool:
    """Return whether an estimator in a file votes or averages over others."""
    return part.module == MODULE and part.kind.startswith(VOTED)


def strange_of_votes(part: FilePart, fitted: Fitted) -> Iterator[Strange]:
    """Yield what such an estimator has beside the trees and forests that vote, their names and weights."""
    for name, value in part.attributes().items():
        if name == "estimators_":
            for voter in value.items():
                own = replace(fitted, part=voter, known=voter.attributes(), is_voter=True)
                yield from strange_of_trees(voter, own, is_root=voter.kind.startswith(FORESTS))
        elif name == "estimators":
            yield from _of_named(value.items(), fitted)
        elif not _is_known(name, value, fitted):
            yield Strange(value.steps, f"{name!r:.40}, which is not supported")


def _of_named(named: Sequence[FilePart], fitted: Fitted) -> Iterator[Strange]:
    """Yield what stands in the list of estimators that were given beside their names and settings."""
    for entry in named:
        pair = entry.items()
        if len(pair) != 2 or not is_name(str(pair[0].plain())):
            yield Strange(entry.steps, "something that is not a name and an estimator")
        elif pair[1].loader == "JsonNode":
            if pair[1].plain() not in ("drop", "passthrough"):
                yield Strange(pair[1].steps, "something that is not an estimator")
        else:
            yield from strange_of_settings(pair[1], fitted)


def _is_known(name: str, value: FilePart, fitted: Fitted) -> bool:
    if name in SETTINGS:
        words = ("soft", "hard") if name == "voting" else (None, True, False)
        told = value.plain() if value.loader == "JsonNode" else ""
        return told in words or (name == "n_jobs" and isinstance(told, int) and abs(told) < 1000)
    if name == "weights":
        if value.loader == "NdArrayNode":
            return True
        items = [value] if value.loader == "JsonNode" else value.items()
        return all(len(repr(item.plain())) <= LONGEST for item in items)
    if name in ("classes_", "feature_names_in_"):
        return is_of_model(name, value, fitted)
    if name == "le_":
        return _is_encoder(value, fitted)
    return name == "_sklearn_version" and is_version(value.plain())


def _is_encoder(part: FilePart, fitted: Fitted) -> bool:
    """Return whether an encoder of labels holds the classes of the model and nothing else."""
    known = part.attributes()
    if part.kind != "LabelEncoder" or known.keys() - {"classes_", "_sklearn_version"}:
        return False
    version, classes = known.get("_sklearn_version"), known.get("classes_")
    if classes is None or (version is not None and not is_version(version.plain())):
        return False
    try:
        return tuple(map(class_label, classes.array().tolist())) == fitted.classes
    except TreeFormatError:
        return False
