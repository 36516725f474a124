"""The settings of the training that some XGBoost files hold: how the numbers of leaves were shrunk."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from treewarden.ppdm_models.tree.ensemble import Shrinkage, shrinkage_of
from treewarden.ppdm_models.tree.growth import Fact, known

SQUARED = ("reg:squarederror", "reg:linear")
SNAPSHOT = ("Config", "learner", "gradient_booster", "tree_train_param")
GENERIC = ("Config", "learner", "generic_param")
RATE, RIDGE = ("eta", "learning_rate"), ("lambda", "reg_lambda")
OTHERWISE = (("alpha", "reg_alpha"), ("max_delta_step",))
"""What, unless 0, makes the number of a leaf in a way that cannot be undone: an L1 penalty, a limit to the step."""

WRAPPER = ("attributes", "scikit_learn")
"""Where older versions of its scikit-learn wrapper keep the settings, as JSON inside a text."""


GROWTH = {
    "eta": RATE,
    "lambda": RIDGE,
    "alpha": OTHERWISE[0],
    "max_delta_step": OTHERWISE[1],
    "subsample": ("subsample",),
    "seed": ("seed", "random_state"),
}
"""What decides the numbers of leaves, by the name that the library gives it."""


def growth_facts(document: object, learner: Mapping[str, object]) -> dict[str, Fact]:
    """Return the settings that the file says of those that decide the numbers of leaves; most files say none."""
    found: dict[str, Fact] = {}
    for settings in _settings(document, learner, GENERIC):
        for name, keys in GROWTH.items():
            value = _number(settings, *keys)
            if value is not None:
                found.setdefault(name, known(value))
    return found


def shrinkage_in(document: object, learner: Mapping[str, object]) -> Shrinkage | None:
    """Return the shrinkage of a model for the squared error; None where the file does not say all that matters."""
    for settings in _settings(document, learner):
        rate, ridge = _number(settings, *RATE), _number(settings, *RIDGE)
        others = [_number(settings, *names) for names in OTHERWISE]
        if rate is not None and ridge is not None and others == [0.0, 0.0]:
            return shrinkage_of(rate, ridge)
    return None


def _settings(
    document: object, learner: Mapping[str, object], *more: tuple[str, ...]
) -> Iterator[dict[str, object]]:
    """Yield each place of a file that holds settings; ``more`` are places in a snapshot beside that of its trees."""
    for top, path in (
        (document, SNAPSHOT),
        (learner, WRAPPER),
        *((document, each) for each in more),
    ):
        found: object = top
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            found = _parsed(found)
        if isinstance(found, dict):
            yield found


def _parsed(text: str) -> object:
    try:
        return json.loads(text) if len(text) < 100_000 else None
    except (ValueError, RecursionError):
        return None


def _number(settings: Mapping[str, object], *names: str) -> float | None:
    said = next((settings[name] for name in names if name in settings), None)
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return None
    try:
        value = float(said)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None
