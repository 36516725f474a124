"""What both layouts of a LightGBM model say beside their trees: features, categories, objective, outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.boosted import (
    BoostedColumns,
    BoostedSplits,
    differing_roots,
    gathered_notes,
)
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    Shrinkage,
    TreeSampling,
)
from treewarden.ppdm_models.tree.nodes import Flags, Numbers, Wholes
from treewarden.ppdm_models.tree.predicate import (
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Quality,
    Task,
    Tree,
)

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
class LightgbmHeader:
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
            raise TreeFormatError(
                self.source,
                f"num_tree_per_iteration is {self.outputs:,}, but must be from 1 to {limits.CLASSES:,}",
            )


def ensemble_of(
    header: LightgbmHeader,
    forest: BoostedColumns,
    features: tuple[Feature, ...],
    linear: Sequence[bool],
) -> Ensemble:
    """Return the ensemble; each tree comes with whether its leaves hold linear models.

    Raises:
        TreeFormatError: the trees are not a whole number of iterations.
    """
    source = header.source
    if not linear:
        raise TreeFormatError(source, "the file has no trees; train the model first")
    if len(linear) > limits.TREES:
        raise TreeFormatError(
            source, f"has {len(linear):,} trees; give a model with at most {limits.TREES:,}"
        )
    if len(linear) % header.outputs:
        raise TreeFormatError(
            source,
            f"the number of trees is {len(linear):,}, but it must be a multiple of {header.outputs}, because every "
            f"boosting round adds {header.outputs} trees",
        )
    if _objective(header)[0] in RENEWED:
        forest = replace(forest, scores=np.where(forest.shape.inner, np.nan, forest.scores))
    trees = forest.trees(
        features,
        [Quality.EXACT if counted else Quality.ABSENT for counted in forest.counted()],
        source,
        lambda tree: f"{source}: tree {tree}",
    )
    name, _, factor = _objective(header)
    weight = factor / (len(trees) // header.outputs if header.average else 1)
    is_classifier = name in CLASSIFIERS
    return Ensemble(
        members=tuple(
            Member(tree, weight=weight, output=index % header.outputs, name=str(index))
            for index, tree in enumerate(trees)
        ),
        combination=Combination.SUM if weight == 1.0 else Combination.WEIGHTED_SUM,
        features=features,
        target="",
        classes=tuple(map(str, range(max(2, header.outputs)))) if is_classifier else (),
        task=Task.CLASSIFICATION if is_classifier else Task.REGRESSION,
        link=Link.UNKNOWN if any(linear) else _objective(header)[1],
        sampling=TreeSampling(True if differing_roots(trees) else header.resampled),
        shrinkage=header.shrinkage
        if (name, any(linear), weight) == ("regression", False, 1.0)
        else None,
        source=source,
        notes=tuple(_notes(header, trees, sum(linear), is_classifier)),
    )


def _objective(header: LightgbmHeader) -> tuple[str, Link, float]:
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
        raise TreeFormatError(
            source, f"the sigmoid of the objective is {text[:40]!r}, which is not valid"
        )
    return number


def _notes(
    header: LightgbmHeader, trees: Sequence[Tree], linear: int, is_classifier: bool
) -> Iterator[str]:
    yield from gathered_notes(trees)
    if is_classifier:
        yield f"{header.source}: LightGBM files contain no class labels, so class numbers are used"
    if linear:
        yield (
            f"{header.source}: {linear} of {len(trees)} trees contain a linear model in "
            "each leaf, fitted to the records there. Their predictions are not evaluated"
        )
    elif _objective(header)[1] is Link.UNKNOWN:
        said = "not in the file" if header.objective is None else f"{header.objective[:60]!r}"
        yield f"{header.source}: the objective is {said}, so the step from scores to predictions is unknown"
    unnamed = [repr(feature.name) for feature in trees[0].features if feature.naming]
    if unnamed:
        which = ", ".join(unnamed[:MOST_NAMED]) + (" ..." if unnamed[MOST_NAMED:] else "")
        yield f"{header.source}: it is not certain which list of category names belongs to which of {which}"


def category_names(values: object) -> tuple[str, ...] | None:
    """Return the names of one feature's categories as text; None where the list holds something else."""
    if not isinstance(values, list):
        return None
    if not all(isinstance(value, str | int | float) for value in values):
        return None
    return tuple(number_text(value) if isinstance(value, float) else str(value) for value in values)


# What the splits of a LightGBM file ask: numbers up to a threshold (0 may count as missing), or sets of categories.

ZERO = float(np.float32(1e-35))
"""Numbers up to this far from 0 are 0 to LightGBM (kZeroThreshold)."""

MISSING = ("None", "Zero", "NaN")
"""How missing values are known."""

Branches = tuple[Predicate, Predicate, bool]
"""What leads left, what leads right, and whether a missing value goes left."""

NAMING = (
    "the file has lists of category names, and more than one feature can have them; train again on a data frame whose "
    "categorical columns are all of the type category, or write the codes of the categories into the table"
)


@dataclass(frozen=True, slots=True)
class LightgbmSplits:
    """The splits of all trees as the file has them, one entry each; ``rows`` are those of the nodes they stand in.

    ``missing`` are places in ``MISSING``. ``codes`` are the categories that go left, by the place of the split; the
    thresholds of the others are compared.
    """

    rows: Wholes
    features: Wholes
    thresholds: Numbers
    default_left: Flags
    missing: Wholes
    codes: Mapping[int, tuple[int, ...]]

    @property
    def listed(self) -> Flags:
        """Whether each split looks its feature up in a set of categories."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        found[list(self.codes)] = True
        return found


class TestMaker:
    """Turns the splits of one file into tests."""

    def __init__(self, header: LightgbmHeader, splits: LightgbmSplits) -> None:
        self.header = header
        self.lightgbm_splits = splits
        self.zeros: dict[tuple[int, float, bool], Branches] = {}
        listed = splits.listed
        used = set(np.unique(splits.features[listed]).tolist())
        compared = set(np.unique(splits.features[~listed]).tolist())
        out_of_range = [f for f in used | compared if not 0 <= f < len(header.names)]
        if out_of_range:
            raise TreeFormatError(
                header.source, f"a node tests feature {out_of_range[0]}, which does not exist"
            )
        if used & compared:
            name = header.names[min(used & compared)]
            raise TreeFormatError(
                header.source, f"{name!r} is both compared with thresholds and looked up in sets"
            )
        categorical = sorted((used | header.domains.keys()) - compared)
        self.values = _named(header, categorical, splits)
        codes = _whole(header, categorical, splits)
        has_lost_names = len(self.values) < len(header.categories)
        self.features = tuple(
            Feature(
                name,
                index not in categorical,
                self.values.get(index, codes.get(index, ())),
                naming=NAMING if has_lost_names and index in codes else "",
            )
            for index, name in enumerate(header.names)
        )

    def splits(self, size: int) -> BoostedSplits:
        """Return what the nodes ask, for as many rows as the file has."""
        lightgbm_splits = self.lightgbm_splits
        ends = lightgbm_splits.thresholds
        without_missing = lightgbm_splits.missing == MISSING.index("None")
        to_first = np.where(
            without_missing, ends >= 0.0, lightgbm_splits.default_left
        )  # it is taken as 0
        closed = (ends < -ZERO) | (ends >= 0.0)
        of_zero = lightgbm_splits.missing == MISSING.index("Zero")
        others = {}
        for place in np.flatnonzero(lightgbm_splits.listed | of_zero | np.isinf(ends)).tolist():
            left, right, to_first[place] = self._branches(place, bool(to_first[place]))
            others[int(lightgbm_splits.rows[place])] = left, right
        ends = np.where(closed, np.where(ends >= 0.0, np.maximum(ends, ZERO), ends), -ZERO)
        boosted_splits = BoostedSplits(
            np.zeros(size, dtype=np.int64),
            np.zeros(size),
            np.zeros(size, dtype=np.bool_),
            np.zeros(size, dtype=np.bool_),
            others,
        )
        boosted_splits.features[lightgbm_splits.rows] = lightgbm_splits.features
        boosted_splits.ends[lightgbm_splits.rows] = ends
        boosted_splits.closed[lightgbm_splits.rows] = closed
        boosted_splits.first_if_missing[lightgbm_splits.rows] = to_first
        return boosted_splits

    def _branches(self, place: int, to_first: bool) -> Branches:
        """Return the tests of a split that is no plain comparison, and whether a missing value goes left."""
        feature, threshold = (
            int(self.lightgbm_splits.features[place]),
            float(self.lightgbm_splits.thresholds[place]),
        )
        name = self.header.names[feature]
        if place in self.lightgbm_splits.codes:
            return _sets(name, self.lightgbm_splits.codes[place], self.values.get(feature, ()))
        if MISSING[self.lightgbm_splits.missing[place]] != "Zero":
            return *_present(name, to_first), to_first
        key = (feature, threshold, to_first)
        if key not in self.zeros:
            self.zeros[key] = zero_is_missing(name, threshold, to_first)
        return self.zeros[key]


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
        any_of = AnyOf((_up_to(name, threshold), near))
        return any_of, AnyOf((between, _above(name, ZERO))), True
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


def _named(
    header: LightgbmHeader, categorical: list[int], splits: LightgbmSplits
) -> dict[int, tuple[str, ...]]:
    """Return the names of categories by code, where only one feature each can have the lists in their order.

    A feature can have a list that names each of its codes. Those that nobody names were declared by number.
    """
    highest = {index: max(codes, default=0) for index, codes in header.domains.items()}
    for place, codes in splits.codes.items():
        feature = int(splits.features[place])
        highest[feature] = max(highest.get(feature, 0), *codes)
    ends = [highest.get(index, 0) for index in categorical]
    owners = owners_of([len(names) for names in header.categories], ends)
    are_told_apart = all(len(set(names)) == len(names) for names in header.categories)
    if owners is None or not are_told_apart:
        return {}
    return {categorical[at]: names for at, names in zip(owners, header.categories, strict=True)}


def owners_of(sizes: Sequence[int], ends: Sequence[int]) -> list[int] | None:
    """Return which feature has each list of names, in their order; None where there is no way or more than one.

    ``ends`` are the highest codes of the features, ``sizes`` how many names the lists have.
    """
    if len(sizes) > len(ends):
        return None
    first = _earliest(sizes, ends)
    last = _earliest(sizes[::-1], ends[::-1])
    if first is None or last is None:
        return None
    return first if first == [len(ends) - 1 - at for at in reversed(last)] else None


def _earliest(sizes: Sequence[int], ends: Sequence[int]) -> list[int] | None:
    """Return the first feature that each list can belong to, after that of the list before it."""
    found: list[int] = []
    places = iter(range(len(ends)))
    for size in sizes:
        place = next((at for at in places if ends[at] < size), None)
        if place is None:
            return None
        found.append(place)
    return found


def _whole(
    header: LightgbmHeader, categorical: list[int], splits: LightgbmSplits
) -> dict[int, tuple[str, ...]]:
    """Return the categories by feature where nobody named them: whole numbers, however a table writes these."""
    codes = {index: set(header.domains.get(index, ())) for index in categorical}  # -1: missing
    for place, listed in splits.codes.items():
        codes[int(splits.features[place])].update(listed)
    return {
        index: tuple(str(code) for code in sorted(found) if code >= 0)
        for index, found in codes.items()
    }


def _sets(name: str, codes: tuple[int, ...], values: tuple[str, ...]) -> Branches:
    """Listed categories go left; any other, a new one, and a missing one go right."""
    listed = tuple(values[code] if code < len(values) else str(code) for code in codes)
    return CategoryTest(name, listed), CategoryTest(name, listed, negated=True), False
