"""Settings by which boosting libraries fit a model of larger leaves, shallower trees and fewer rounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WEIGHTS = (5, 10, 20, 50, 100, 200, 500)
"""The least weight or number of records of a leaf that is tried."""
LEAST_ROUNDS = 5
FEWEST_PARTS = 10
"""A leaf takes at most this part of the records."""


@dataclass(frozen=True, slots=True)
class BoostedKnobs:
    """What a library calls the size of leaves, the depth (and what it is by default), and the number of rounds.

    ``leaves`` sets how many leaves a tree has, "" where the depth alone does.
    """

    size: str
    depth: str
    usual_depth: int
    rounds: str
    usual_rounds: int
    leaves: str = ""


KNOBS_OF_LIBRARY: Mapping[str, BoostedKnobs] = {
    "xgboost": BoostedKnobs("min_child_weight", "max_depth", 6, "n_estimators", 100),
    "lightgbm": BoostedKnobs(
        "min_child_samples", "max_depth", 5, "n_estimators", 100, leaves="num_leaves"
    ),
}
"""By the package. Of CatBoost no repaired file is written, so none is fitted again."""


def boosting_library(estimator: Any) -> str:  # noqa: ANN401  # of a library that is no dependency
    """Return the package of a boosted estimator that can be fitted again, "" where it is none."""
    package = type(estimator).__module__.partition(".")[0]
    return package if package in KNOBS_OF_LIBRARY and hasattr(estimator, "get_params") else ""


def boosted_candidates(estimator: Any, records: int, before: str = "") -> Iterator[dict[str, Any]]:  # noqa: ANN401  # see above
    """Yield settings to fit with, those that change one thing first; ``before`` stands before names of parameters."""
    knobs = KNOBS_OF_LIBRARY[boosting_library(estimator)]
    known = estimator.get_params()
    depth = _number(known, knobs.depth, knobs.usual_depth)
    rounds = _number(known, knobs.rounds, knobs.usual_rounds)
    sizes = [size for size in WEIGHTS if size <= records / FEWEST_PARTS]
    depths = list(range(min(depth - 1, 4), 0, -1))
    fewer = [rounds // part for part in (2, 4, 8) if rounds // part >= LEAST_ROUNDS]

    def named(**values: int) -> dict[str, Any]:
        said = {getattr(knobs, knob): value for knob, value in values.items()}
        if knobs.leaves and "depth" in values:
            most = _number(known, knobs.leaves, 31)
            said[knobs.leaves] = min(most, 2 ** values["depth"])
        return {f"{before}{name}": value for name, value in said.items()}

    yield from (named(size=size) for size in sizes)
    yield from (named(depth=value) for value in depths)
    yield from (named(rounds=value) for value in fewer)
    yield from (named(size=s, depth=d) for s, d in itertools.product(sizes, depths[-2:]))
    yield from (
        named(size=s, depth=d, rounds=r)
        for s, d, r in itertools.product(sizes[-3:], depths[-2:], fewer)
    )


def _number(settings: Mapping[str, Any], name: str, usual: int) -> int:
    """Return a setting as a number; what the library takes where none, or no limit, is set."""
    value = settings.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else usual
