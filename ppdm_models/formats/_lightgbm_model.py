"""What both layouts of a LightGBM model say beside their trees: features, categories, objective, outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_models import limits
from ppdm_models.ensemble import Combination, Ensemble, Link, Member, Shrinkage
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats._boosted_trees import (
    Columns,
    Comparisons,
    differing_roots,
    gathered_notes,
)
from ppdm_models.predicate import (
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
    number_text,
)
from ppdm_models.tree import Feature, Quality, Task, Tree

ZERO = float(np.float32(1e-35))
"""Numbers up to this far from 0 are 0 to LightGBM (kZeroThreshold)."""

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
CLASSIFIERS = ("binary", "cross_entropy", "xentropy", "multiclass", "multiclassova")

Branches = tuple[Predicate, Predicate, bool]
"""What leads left, what leads right, and whether a missing value goes left."""


@dataclass(frozen=True, slots=True)
class Split:
    """One test as the file has it; ``codes`` are the categories that go left, else ``threshold`` is compared."""

    feature: int
    threshold: float
    codes: tuple[int, ...] | None
    default_left: bool
    missing: str


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


class Tests:
    """Turns the splits of one file into tests, each made once."""

    def __init__(self, header: Header, splits: Sequence[Split]) -> None:
        self.header = header
        self.comparisons = Comparisons()
        self.zeros: dict[tuple[int, float, bool], Branches] = {}
        used = {split.feature for split in splits if split.codes is not None}
        compared = {split.feature for split in splits if split.codes is None}
        out_of_range = [f for f in used | compared if not 0 <= f < len(header.names)]
        if out_of_range:
            raise TreeFormatError(
                header.source, f"tests feature {out_of_range[0]}, which is not there"
            )
        if used & compared:
            name = header.names[min(used & compared)]
            raise TreeFormatError(header.source, f"{name!r} is compared and looked up in sets")
        categorical = sorted((used | header.domains.keys()) - compared)
        self.values = _named(header, categorical, splits)
        self.features = tuple(
            Feature(name, index not in categorical, self.values.get(index, ()))
            for index, name in enumerate(header.names)
        )

    def branches(self, split: Split) -> Branches:
        """Return the tests of both children, and whether a missing value goes left."""
        name = self.header.names[split.feature]
        if split.codes is not None:
            return _sets(name, split.codes, self.values.get(split.feature, ()))
        if split.missing == "Zero":
            key = (split.feature, split.threshold, split.default_left)
            if key not in self.zeros:
                self.zeros[key] = zero_is_missing(name, split.threshold, split.default_left)
            return self.zeros[key]
        missing_left = split.default_left
        if split.missing == "None":
            missing_left = split.threshold >= 0.0  # a missing value is taken as 0
        if split.threshold == math.inf:
            return *_present(name, missing_left), missing_left
        if -ZERO <= split.threshold < 0.0:
            return *self.comparisons.below(name, -ZERO), missing_left
        end = max(split.threshold, ZERO) if split.threshold >= 0.0 else split.threshold
        return *self.comparisons.up_to(name, end), missing_left


def _present(name: str, missing_left: bool) -> tuple[Predicate, Predicate]:
    """Return the tests of a split at infinity, where every number goes left."""
    if missing_left:
        return NumericTest(name), Never()
    return MissingTest(name, negated=True), MissingTest(name)


def zero_is_missing(name: str, threshold: float, default_left: bool) -> Branches:
    """Return the tests where a number that is 0 (``ZERO`` or nearer) goes the default way, as a missing one does."""
    near = NumericTest(name, -ZERO, ZERO, low_closed=True, high_closed=True)
    if default_left:
        if threshold >= -ZERO:
            end = max(threshold, ZERO)
            return _up_to(name, end), _above(name, end), True
        between = NumericTest(name, threshold, -ZERO)
        left = AnyOf((_up_to(name, threshold), near))
        return left, AnyOf((between, _above(name, ZERO))), True
    if threshold < -ZERO:
        return _up_to(name, threshold), _above(name, threshold), False
    below = NumericTest(name, high=-ZERO)
    if threshold <= ZERO:
        return below, NumericTest(name, low=-ZERO, low_closed=True), False
    between = NumericTest(name, ZERO, threshold, high_closed=threshold < math.inf)
    return AnyOf((below, between)), AnyOf((near, _above(name, threshold))), False


def _up_to(name: str, end: float) -> Predicate:
    return NumericTest(name, high=end, high_closed=end < math.inf)


def _above(name: str, end: float) -> Predicate:
    return NumericTest(name, low=end) if end < math.inf else Never()


def ensemble_of(header: Header, trees: Sequence[tuple[Columns, bool]], tests: Tests) -> Ensemble:
    """Return the ensemble; each tree comes with whether its leaves hold linear models.

    Raises:
        TreeFormatError: the trees are not a whole number of iterations.
    """
    source = header.source
    if not trees or len(trees) > limits.TREES or len(trees) % header.outputs:
        raise TreeFormatError(
            source, f"{len(trees):,} trees are no iterations of {header.outputs} trees each"
        )
    made = [
        columns.tree(
            tests.features,
            Quality.ABSENT if not any(columns.records) else Quality.EXACT,
            source,
            f"{source}: tree {index}",
        )
        for index, (columns, _) in enumerate(trees)
    ]
    linear = sum(is_linear for _, is_linear in trees)
    name, _, factor = _objective(header)
    weight = factor / (len(trees) // header.outputs if header.average else 1)
    is_classifier = name in CLASSIFIERS
    return Ensemble(
        members=tuple(
            Member(tree, weight=weight, output=index % header.outputs, name=str(index))
            for index, tree in enumerate(made)
        ),
        combination=Combination.SUM if weight == 1.0 else Combination.WEIGHTED_SUM,
        features=tests.features,
        target="",
        classes=tuple(map(str, range(max(2, header.outputs)))) if is_classifier else (),
        task=Task.CLASSIFICATION if is_classifier else Task.REGRESSION,
        link=Link.UNKNOWN if linear else _objective(header)[1],
        resampled=True if differing_roots(made) else header.resampled,
        shrinkage=header.shrinkage if (name, linear, weight) == ("regression", 0, 1.0) else None,
        source=source,
        notes=tuple(_notes(header, made, linear, is_classifier)),
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


def _named(
    header: Header, categorical: list[int], splits: Sequence[Split]
) -> dict[int, tuple[str, ...]]:
    """Return the names of categories by code, where it is sure which list belongs to which feature."""
    highest = {index: max(codes, default=0) for index, codes in header.domains.items()}
    for split in splits:
        if split.codes:
            highest[split.feature] = max(highest.get(split.feature, 0), *split.codes)
    named = dict(zip(categorical, header.categories, strict=False))
    sure = len(categorical) == len(header.categories) and all(
        highest.get(index, 0) < len(names) and len(set(names)) == len(names)
        for index, names in named.items()
    )
    return named if sure else {}


def _sets(name: str, codes: tuple[int, ...], values: tuple[str, ...]) -> Branches:
    """Listed categories go left; any other, a new one, and a missing one go right."""
    listed = tuple(values[code] if code < len(values) else str(code) for code in codes)
    return CategoryTest(name, listed), CategoryTest(name, listed, negated=True), False


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
    if header.categories and not any(feature.values for feature in trees[0].features):
        yield f"{header.source}: which list of category names belongs to which feature is not sure"


def category_names(values: object) -> tuple[str, ...] | None:
    """Return the names of one feature's categories as text; None where the list holds something else."""
    if not isinstance(values, list):
        return None
    if not all(isinstance(value, str | int | float) for value in values):
        return None
    return tuple(number_text(value) if isinstance(value, float) else str(value) for value in values)
