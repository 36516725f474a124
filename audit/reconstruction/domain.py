"""The public domain of a model's columns: which values each can have, as far as the model's tests tell them apart.

An option stands for values of a column that every test of every tree answers alike. Of numbers these are the intervals
between the ends of tests, of categories the sets that no test parts. Whatever is public beside the file (``--domain``)
makes the domain smaller, and with it more provable. Without it, a number may be any, a category that the file does not
declare may be another one, and any value may be missing: a larger domain only ever proves less.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import (
    MISSING_CODE,
    CategoricalColumn,
    Column,
    NumericColumn,
    number_text,
    treated,
)
from treewarden.ppdm_models.tree.nodes import Cuts, NodeTable
from treewarden.ppdm_models.tree.plain_splits import plain_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, atoms
from treewarden.ppdm_models.tree.tree import Feature, Missing, Tree

OTHER_VALUE = "\x00another value"
"""Stands for every category that neither the file nor any test names."""
Position = tuple[float, int]
"""A place between numbers: just before a number (0), or just after it (1)."""
SPREADING = frozenset({Missing.WEIGHTED_CONFIDENCE, Missing.AGGREGATE_NODES})
ROUNDING = frozenset(
    {
        *(
            "sklearn_text",
            "rpart_text",
            "rpart_summary",
            "partykit_text",
            "graphviz_dot",
            "ltr_text",
        ),
        *("weka_text", "weka_stump", "weka_java", "spark_text", "xgboost_text", "xgboost_dump"),
    }
)
"""Formats that may round a threshold to the digits that it has."""
MAY_BE_ROUNDED = "the value {1} of {0!r} is too near to a threshold to decide on which side it is"
MIXED = "the model tests the column {!r} both as numbers and as categories"
NO_COLUMNS = "the model has no columns besides its target"
MANY_LEAVES = (
    "a record with a missing value may count in several leaves; state in the domain file "
    "that no value is missing"
)


class PublicDomainError(ValueError):
    """What is declared of the domain does not fit the model."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """What is public of a column: its ``values``, all of one kind, or the ends of its numbers, and whether it has gaps.

    Without ``values`` the column is as the file says, its numbers from ``low`` to ``high``. ``is_seen`` says that the
    values are those of a table whose records were sent through the trees, and found where the file counts them.
    """

    values: tuple[float, ...] | tuple[str, ...] | None = None
    may_be_missing: bool = False
    low: float = -math.inf
    high: float = math.inf
    is_seen: bool = False

    def __post_init__(self) -> None:
        if not self.low <= self.high or self.values == ():
            raise PublicDomainError("a column has no possible value; check its low and high")


ANYTHING = DeclaredColumn(may_be_missing=True)
"""What is taken of a column of which nothing is declared."""


@dataclass(frozen=True, slots=True)
class DeclaredDomain:
    """What is public of the columns; each of ``one_of`` are columns of which exactly one is 1, and the others are 0."""

    columns: Mapping[str, DeclaredColumn] = field(default_factory=dict)
    one_of: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        named = [name for group in self.one_of for name in group]
        if len(named) != len(set(named)) or not set(named).isdisjoint(self.columns):
            raise PublicDomainError("a column is declared twice; declare each column once")

    @property
    def digest(self) -> str:
        """The SHA-256 of what is declared, in whatever order and layout, as 64 letters 0-9 a-f."""
        columns = {
            name: [
                sorted(map(str, column.values or ())),
                column.values is not None and isinstance(column.values[0], str),
                column.may_be_missing,
                str(column.low),
                str(column.high),
            ]
            for name, column in self.columns.items()
        }
        said = [columns, sorted(sorted(group) for group in self.one_of)]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class ColumnOptions:
    """K options of a column: a value of each (``samples``), how many values each stands for, and which these are.

    ``sizes`` (K,) is infinite where nobody can count them. Of numbers ``low`` and ``high`` (K,) are the ends, NaN where
    the value is missing; of categories ``names`` are the values of each option.
    """

    samples: Column
    sizes: FloatArray
    low: FloatArray
    high: FloatArray
    names: tuple[tuple[str, ...], ...] = ()

    def options_of(self, column: Column) -> BoolArray:
        """Return which options each value of a column may be, (N, K); of numbers at an edge both count."""
        is_missing = np.asarray(column.missing)[:, None] & np.asarray(self.samples.missing)[None, :]
        if isinstance(column, CategoricalColumn):
            held = [
                [name in names or OTHER_VALUE in names for names in self.names]
                for name in column.categories
            ]
            table = np.array([*held, [False] * len(self.names)], dtype=bool)
            return np.asarray(table.reshape(-1, len(self.sizes))[column.codes] | is_missing)
        numbers = column.numbers[:, None]
        room = 2.0**-22 * np.abs(numbers)
        return np.asarray(
            ((self.low <= numbers + room) & (numbers - room <= self.high)) | is_missing
        )

    def words(self, chosen: Iterable[int]) -> str:
        """Return which values some options stand for, in words."""
        options = sorted(chosen)
        missing = ["missing"] if any(self.samples.missing[options]) else []
        there = [option for option in options if not self.samples.missing[option]]
        if not there:
            return "missing"
        if self.names:
            names = dict.fromkeys(name for option in there for name in self.names[option])
            shown = ["any other" if name == OTHER_VALUE else name for name in names]
            return " or ".join([*shown, *missing])
        return " or ".join([_between(self.low[there].min(), self.high[there].max()), *missing])


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Columns whose values go together: K options, each an option of every column of ``columns``."""

    columns: Mapping[str, ColumnOptions]

    @property
    def options(self) -> int:
        """How many options there are."""
        return len(next(iter(self.columns.values())).sizes)

    @property
    def sizes(self) -> FloatArray:
        """How many values each option stands for, (K,)."""
        each = [options.sizes for options in self.columns.values()]
        return np.asarray(np.prod(each, axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """All that records can be: one option of each factor."""

    factors: tuple[Factor, ...]

    @property
    def points(self) -> int:
        """How many combinations of options there are."""
        return math.prod(factor.options for factor in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of options of each factor."""
        return tuple(factor.options for factor in self.factors)

    @property
    def starts(self) -> list[int]:
        """Where the options of each factor begin, if all stand one factor after the other."""
        return [0, *accumulate(self.shape)][:-1]


def find_domain(trees: Sequence[Tree], declared: DeclaredDomain) -> Domain | Undetermined:
    """Return the domain of the columns that some test asks for, or why it cannot be told.

    Raises:
        PublicDomainError: what is declared does not fit the model.
    """
    asked = tests_by_column(trees)
    features = {feature.name: feature for tree in trees for feature in tree.features}
    if not asked and features:
        asked = {next(iter(features)): []}
    grouped = {name: group for group in declared.one_of for name in group}
    unknown = [name for name in (*declared.columns, *grouped) if name not in features]
    if unknown:
        raise PublicDomainError(f"{unknown[0]!r} is not a column of the model")
    if not features:
        return Undetermined(NO_COLUMNS)
    is_spread = any(tree.missing in SPREADING for tree in trees)
    factors: list[Factor] = []
    done: set[str] = set()
    for name in asked:
        if name in done:
            continue
        if name in grouped:
            factors.append(_indicators(grouped[name], features))
            done.update(grouped[name])
            continue
        declared_column = declared.columns.get(name, ANYTHING)
        has_gaps = declared_column.may_be_missing
        if has_gaps and is_spread:
            return Undetermined(MANY_LEAVES)
        found = _options(features[name], trees, asked[name], declared_column)
        if isinstance(found, Undetermined):
            return found
        factors.append(Factor({name: _with_gap(found) if has_gaps else found}))
    return Domain(tuple(factors))


def tests_by_column(trees: Sequence[Tree]) -> dict[str, list[NumericTest | CategoryTest]]:
    """Return the tests of each column that some test asks for."""
    asked: dict[str, list[NumericTest | CategoryTest]] = {}
    for tree in trees:
        plain = plain_of(tree) if isinstance(tree.nodes, NodeTable) else None
        if plain is not None:
            for cut in _plain_tests(plain.cuts):
                asked.setdefault(cut.feature, []).append(cut)
            continue
        for node in tree.nodes:
            for test in atoms(node.test):
                if isinstance(test, NumericTest | CategoryTest):
                    asked.setdefault(test.feature, []).append(test)
                elif name := getattr(test, "feature", None):
                    asked.setdefault(name, [])
    return asked


def _plain_tests(cuts: Cuts) -> Iterator[NumericTest]:
    """Yield one test for each end of each column; the other side of a cut parts the same numbers."""
    kinds = np.stack((cuts.features[1:], cuts.closed[1:], cuts.ends[1:]), axis=1)
    for feature, is_closed, end in np.unique(kinds, axis=0).tolist():
        yield NumericTest(cuts.names[int(feature)], high=end, high_closed=bool(is_closed))


def _options(
    feature: Feature,
    trees: Sequence[Tree],
    tests: Sequence[NumericTest | CategoryTest],
    declared_column: DeclaredColumn,
) -> ColumnOptions | Undetermined:
    values = declared_column.values
    alike = [other for tree in trees for other in tree.features if other.name == feature.name]
    is_number = any(isinstance(test, NumericTest) for test in tests)
    is_category = any(isinstance(test, CategoryTest) for test in tests)
    is_number = is_number or (not is_category and feature.numeric)
    if is_number and is_category:
        return Undetermined(MIXED.format(feature.name))
    if values is not None and any(isinstance(value, str) == is_number for value in values):
        kind = "numbers" if is_number else "categories"
        raise PublicDomainError(
            f"the values of {feature.name!r} must be {kind}, as in the model; correct them"
        )
    if is_number:
        cuts = _positions([test for test in tests if isinstance(test, NumericTest)], alike)
        is_single = any(each.single for each in alike)
        if values is None:
            return _intervals(feature.name, cuts, is_single, declared_column)
        numbers = np.array(sorted({float(v) for v in values}))
        is_rounded = any(tree.format in ROUNDING for tree in trees) and not declared_column.is_seen
        near = _nearest_end(numbers, cuts) if is_rounded else None
        if near is not None:
            return Undetermined(MAY_BE_ROUNDED.format(feature.name, number_text(near)))
        return _declared_numbers(numbers, cuts, is_single)
    named = [test for test in tests if isinstance(test, CategoryTest)]
    return _categories(named, alike, None if values is None else [str(v) for v in values])


def _positions(tests: Iterable[NumericTest], features: Iterable[Feature]) -> list[Position]:
    """Return where tests, and what is done to values before them, part numbers, in order."""
    found: set[Position] = set()
    for test in tests:
        found |= {(test.low, int(not test.low_closed)), (test.high, int(test.high_closed))}
    for treatment in (each for feature in features for each in feature.treatments):
        ends = [end for low, _, high, _ in treatment.intervals for end in (low, high)]
        numbers = [*ends, treatment.low, treatment.high]
        numbers += [treatment.replacement, *treatment.values, *treatment.invalid]  # type: ignore[list-item]
        numbers += [*treatment.missing]  # type: ignore[list-item]
        for number in numbers:
            if isinstance(number, float):
                found |= {(number, 0), (number, 1)}
    return sorted(place for place in found if math.isfinite(place[0]))


def _intervals(
    name: str, cuts: Sequence[Position], is_single: bool, declared_column: DeclaredColumn
) -> ColumnOptions:
    """Return an option for each interval between places that holds a number.

    Raises:
        PublicDomainError: there is none within the declared ends.
    """
    first, last = (declared_column.low, 0), (declared_column.high, 1)
    within = [cut for cut in cuts if first < cut < last]
    ends = [first, *within, last]
    samples, low, high = [], [], []
    for start, stop in zip(ends, ends[1:], strict=False):
        sample = _number_between(start, stop, is_single)
        if sample is not None:
            samples.append(sample)
            low.append(start[0])
            high.append(stop[0])
    if not samples:
        raise PublicDomainError(
            f"column {name!r}: the column can have no number between low and high; check low and high"
        )
    ones = np.array(low) == np.array(high)
    return ColumnOptions(
        NumericColumn(np.array(samples)),
        np.where(ones, 1.0, math.inf),
        np.array(low),
        np.array(high),
    )


def _number_between(start: Position, stop: Position, is_single: bool) -> float | None:
    """Return a number between two places that stays what it is in 32 bits where that is asked; None without one."""
    kind = np.float32 if is_single else np.float64
    if math.isinf(start[0]) and math.isinf(stop[0]):
        return 0.0
    with np.errstate(over="ignore"):
        if math.isinf(start[0]):
            number = kind(stop[0])
            if not _is_before(float(number), stop):
                number = np.nextafter(number, kind(-math.inf))
        else:
            number = kind(start[0])
            if _is_before(float(number), start):
                number = np.nextafter(number, kind(math.inf))
    found = float(number)
    is_there = math.isfinite(found) and not _is_before(found, start) and _is_before(found, stop)
    return found if is_there else None


def _is_before(number: float, place: Position) -> bool:
    """Whether a number lies before a place."""
    return number < place[0] or (number == place[0] and place[1] == 1)


def _nearest_end(values: FloatArray, cuts: Sequence[Position]) -> float | None:
    """Return a declared number that an end of a test, rounded to its digits, may lie on either side of; or None."""
    for end, _ in cuts:
        exponent = Decimal(repr(end)).normalize().as_tuple().exponent
        room = float(Decimal(1).scaleb(int(exponent))) / 2
        near = values[np.abs(values - end) <= room]
        if len(near):
            return float(near[0])
    return None


def _declared_numbers(
    values: FloatArray, cuts: Sequence[Position], is_single: bool
) -> ColumnOptions:
    """Return an option for the declared numbers of each interval."""
    seen = values.astype(np.float32).astype(np.float64) if is_single else values
    # How many places a number is not before: those just before numbers up to it, those just after smaller ones.
    ends = [np.array(sorted(place for place, kind in cuts if kind == after)) for after in (0, 1)]
    interval = np.searchsorted(ends[0], seen, "right") + np.searchsorted(ends[1], seen, "left")
    _, first, kind, sizes = np.unique(
        interval, return_index=True, return_inverse=True, return_counts=True
    )
    last = first + sizes - 1
    return ColumnOptions(
        NumericColumn(seen[first]), sizes.astype(np.float64), values[first], values[last]
    )


def _categories(
    tests: Sequence[CategoryTest], features: Sequence[Feature], values: Sequence[str] | None
) -> ColumnOptions:
    """Return an option for each set of categories that no test parts."""
    declared = list(dict.fromkeys(name for feature in features for name in feature.values))
    named = [name for test in tests for name in test.values]
    for treatment in (each for feature in features for each in feature.treatments):
        named += [str(v) for v in (*treatment.values, *treatment.invalid, *treatment.missing)]
        named += [] if treatment.replacement is None else [str(treatment.replacement)]
    if values is not None:
        names = list(dict.fromkeys(values))
    elif declared:
        names = list(dict.fromkeys([*declared, *named]))
    else:
        names = [*dict.fromkeys(named), OTHER_VALUE]
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, seen in zip(names, _seen_names(names, features), strict=True):
        answers = tuple(bool(one) and one in test.values for one in seen for test in tests)
        groups.setdefault((*answers, *(one and True for one in seen)), []).append(name)
    kinds = list(groups.values())
    is_open = np.array([OTHER_VALUE in group for group in kinds])
    nothing = np.full(len(kinds), math.nan)
    return ColumnOptions(
        samples=CategoricalColumn(np.arange(len(kinds)), tuple(group[0] for group in kinds)),
        sizes=np.where(is_open, math.inf, [len(group) for group in kinds]),
        low=nothing,
        high=nothing,
        names=tuple(tuple(group) for group in kinds),
    )


def _seen_names(names: Sequence[str], features: Sequence[Feature]) -> list[tuple[str | None, ...]]:
    """Return as what the tests of each tree see some categories: "" missing, and None refused."""
    ways = dict.fromkeys(feature.treatments for feature in features)
    found: list[list[str | None]] = []
    column = CategoricalColumn(np.arange(len(names)), tuple(names))
    for treatments in ways:
        seen, refused = treated(column, treatments)
        assert isinstance(seen, CategoricalColumn)
        texts = [seen.text(row) or "" for row in range(len(names))]
        pairs = zip(texts, refused.tolist(), strict=True)
        found.append([None if is_bad else text for text, is_bad in pairs])
    return list(zip(*found, strict=True))


def _with_gap(options: ColumnOptions) -> ColumnOptions:
    """Return options with one more: that the value is missing."""
    samples: Column
    if isinstance(options.samples, NumericColumn):
        samples = NumericColumn(np.append(options.samples.numbers, math.nan))
    else:
        codes: IndexArray = np.append(options.samples.codes, MISSING_CODE)
        samples = CategoricalColumn(codes, options.samples.categories)
    return ColumnOptions(
        samples,
        np.append(options.sizes, 1.0),
        np.append(options.low, math.nan),
        np.append(options.high, math.nan),
        (*options.names, ()) if options.names else (),
    )


def _indicators(group: Sequence[str], features: Mapping[str, Feature]) -> Factor:
    """Return the options of indicator columns, of which exactly one is 1.

    Raises:
        PublicDomainError: one of them is no number.
    """
    if any(not features[name].numeric for name in group):
        raise PublicDomainError(
            f"{group[0]!r} and the other columns of one_of must be numeric in the model; remove the others"
        )
    ones = np.eye(len(group))
    return Factor(
        {
            name: ColumnOptions(
                NumericColumn(ones[place]), np.ones(len(group)), ones[place], ones[place]
            )
            for place, name in enumerate(group)
        }
    )


def _between(low: float, high: float) -> str:
    if low == high:
        return number_text(float(low))
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(low):
        return f"at most {number_text(float(high))}"
    if math.isinf(high):
        return f"at least {number_text(float(low))}"
    return f"{number_text(float(low))} to {number_text(float(high))}"
