"""What both layouts of a LightGBM model say beside their trees: features, categories, objective, outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.boosted.forest import Forest
from treewarden.ppdm_models.codecs.boosted.trees import differing_roots, gathered_notes
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, Shrinkage
from treewarden.ppdm_models.tree.tree import Feature, Quality, Task, Tree

LOGISTIC = ("binary", "cross_entropy", "xentropy", "multiclassova")
EXP = ("poisson", "gamma", "tweedie")
IDENTITY = (
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "quantile",
    "mape",
    "lambdarank",
    "rank_xendcg",
)
MOST_NAMED = 12
RENEWED = ("regression_l1", "quantile", "mape")
"""Leaves get their number anew once the tree is grown, a median or other quantile; inner nodes keep that of a step."""
CLASSIFIERS = ("binary", "cross_entropy", "xentropy", "multiclass", "multiclassova")


@dataclass(slots=True)
class Header:
    """The part of a file that is not its trees; ``domains`` are the codes of features known to be categorical.

    Without an objective (None) a dump does not say what becomes of the scores; with an empty one they stay as they are.
    """

    source: str
    names: tuple[str, ...]
    outputs: int
    objective: str | None
    average: bool
    domains: dict[int, tuple[int, ...]] = field(default_factory=dict)
    categories: tuple[tuple[str, ...], ...] = ()
    resampled: bool | None = None
    shrinkage: Shrinkage | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.names) <= limits.FEATURES:
            raise TreeFormatError(self.source, f"{len(self.names):,} features")
        if len(set(self.names)) < len(self.names):
            raise TreeFormatError(self.source, "two features have the same name")
        if not 0 < self.outputs <= limits.CLASSES:
            raise TreeFormatError(self.source, f"{self.outputs:,} trees per iteration")


def ensemble_of(
    header: Header, forest: Forest, features: tuple[Feature, ...], linear: Sequence[bool]
) -> Ensemble:
    """Return the ensemble; each tree comes with whether its leaves hold linear models.

    Raises:
        TreeFormatError: the trees are not a whole number of iterations.
    """
    source = header.source
    if not linear or len(linear) > limits.TREES or len(linear) % header.outputs:
        raise TreeFormatError(
            source, f"{len(linear):,} trees are no iterations of {header.outputs} trees each"
        )
    if _objective(header)[0] in RENEWED:
        forest = replace(forest, scores=np.where(forest.shape.inner, np.nan, forest.scores))
    made = forest.trees(
        features,
        [Quality.EXACT if counted else Quality.ABSENT for counted in forest.counted()],
        source,
        lambda tree: f"{source}: tree {tree}",
    )
    name, _, factor = _objective(header)
    weight = factor / (len(made) // header.outputs if header.average else 1)
    is_classifier = name in CLASSIFIERS
    return Ensemble(
        members=tuple(
            Member(tree, weight=weight, output=index % header.outputs, name=str(index))
            for index, tree in enumerate(made)
        ),
        combination=Combination.SUM if weight == 1.0 else Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=tuple(map(str, range(max(2, header.outputs)))) if is_classifier else (),
        task=Task.CLASSIFICATION if is_classifier else Task.REGRESSION,
        link=Link.UNKNOWN if any(linear) else _objective(header)[1],
        resampled=True if differing_roots(made) else header.resampled,
        shrinkage=header.shrinkage
        if (name, any(linear), weight) == ("regression", False, 1.0)
        else None,
        source=source,
        notes=tuple(_notes(header, made, sum(linear), is_classifier)),
    )


def _objective(header: Header) -> tuple[str, Link, float]:
    """Return the objective's name, its link, and what the scores are multiplied by before it."""
    if header.objective is None:
        return "", Link.UNKNOWN, 1.0
    name, *options = header.objective.split() or [""]
    factor = 1.0
    for option in options:
        key, _, value = option.partition(":")
        if key == "sigmoid":
            factor = _positive(value, header.source)
    if name in LOGISTIC:
        return name, Link.LOGISTIC, factor
    if name == "multiclass":
        return name, Link.SOFTMAX, 1.0
    if name in EXP:
        return name, Link.EXP, 1.0
    plain = not name or (name in IDENTITY and "sqrt" not in options)
    return name, Link.IDENTITY if plain else Link.UNKNOWN, 1.0


def _positive(text: str, source: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1e30:
        raise TreeFormatError(source, f"the sigmoid of the objective is {text[:40]!r}")
    return number


def _notes(
    header: Header, trees: Sequence[Tree], linear: int, is_classifier: bool
) -> Iterator[str]:
    yield from gathered_notes(trees)
    if is_classifier:
        yield f"{header.source}: LightGBM publishes no class labels; the classes are their numbers"
    if linear:
        yield (
            f"{header.source}: {linear} of {len(trees)} trees hold a linear model in each leaf, fitted to the records "
            "there; their predictions are not evaluated"
        )
    elif _objective(header)[1] is Link.UNKNOWN:
        said = "not said" if header.objective is None else f"{header.objective[:60]!r}"
        yield f"{header.source}: the objective is {said}, so what becomes of the scores is not known"
    unnamed = [repr(feature.name) for feature in trees[0].features if feature.naming]
    if unnamed:
        which = ", ".join(unnamed[:MOST_NAMED]) + (" ..." if unnamed[MOST_NAMED:] else "")
        yield f"{header.source}: which list of category names belongs to which of {which} is not sure"


def category_names(values: object) -> tuple[str, ...] | None:
    """Return the names of one feature's categories as text; None where the list holds something else."""
    if not isinstance(values, list):
        return None
    if not all(isinstance(value, str | int | float) for value in values):
        return None
    return tuple(number_text(value) if isinstance(value, float) else str(value) for value in values)
