"""A secret column, and the values it can have: one of each kind that the tests of a tree tell apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tables.routing import prepared
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.predicate import (
    CategoryTest,
    MissingTest,
    NumericTest,
    answer,
    atoms,
)
from treewarden.ppdm_models.tree.tree import Feature, Tree

if TYPE_CHECKING:
    from treewarden.audit.knowledge.adversaries import Adversary


MOST_VALUES = 10
"""So many different numbers are values by themselves; more need bins."""
MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret column: its values in words, and the place of each profile's among them, (P,).

    ``ends`` part numbers into bins, each of which holds its lower end; ``numbers`` are values by themselves. Of
    categories both are empty.
    """

    name: str
    values: tuple[str, ...]
    of: IndexArray
    ends: FloatArray
    numbers: FloatArray

    @property
    def cuts(self) -> FloatArray:
        """The numbers at which one value ends and the next begins: the ends of bins, or half way between numbers."""
        return self.ends if len(self.ends) else self.numbers[:-1] / 2 + self.numbers[1:] / 2

    def places(self, column: Column) -> IndexArray:
        """Return the place among the values of each entry of a column; a number between two values is the nearest."""
        lacks = column.missing
        if isinstance(column, CategoricalColumn):
            index = {name: place for place, name in enumerate(self.values)}
            codes = np.array([index[name] for name in column.categories], dtype=np.intp)
            found = codes[np.maximum(column.codes, 0)] if len(codes) else np.zeros(len(column), int)
        else:
            found = np.digitize(column.numbers, self.cuts)
        found = np.where(lacks, len(self.values) - 1, found)
        return np.asarray(found, dtype=np.intp)


def secret_of(
    population: Population,
    name: str,
    bins: Sequence[float] | None,
    where: str,
    further_categories: Sequence[str] = (),
) -> Secret:
    """Return a secret column of the people; ``further_categories`` are those that nobody in the table has.

    Raises:
        KnowledgeError: it holds many different numbers and there are no bins, or they part nothing.
    """
    column = population.columns[name]
    nothing = np.zeros(0)
    missing = (MISSING,) if column.missing.any() else ()
    if isinstance(column, CategoricalColumn):
        if bins:
            problem = f"bins are for numbers, but {name!r} contains categories; remove the bins"
            raise KnowledgeError(where, problem)
        names = tuple(dict.fromkeys((*column.categories, *further_categories)))
        secret = Secret(name, (*names, *missing), np.zeros(0, dtype=np.intp), nothing, nothing)
    else:
        secret = _of_numbers(column, name, bins, where, missing)
    places = secret.places(column)
    if len(np.unique(places)) < 2:
        problem = f"{name!r} has only one value in this table, so there is nothing to protect"
        raise KnowledgeError(where, f"{problem}; name another secret, or other bins")
    return Secret(name, secret.values, places, secret.ends, secret.numbers)


def _of_numbers(
    column: NumericColumn,
    name: str,
    bins: Sequence[float] | None,
    where: str,
    missing: tuple[str, ...],
) -> Secret:
    own, nowhere = np.unique(column.numbers[~column.missing]), np.zeros(0, dtype=np.intp)
    if not bins:
        if len(own) > MOST_VALUES:
            problem = (
                f"{name!r} has {len(own):,} different numbers, too many to protect each by itself; "
                "divide them into ranges with --bins NUMBER,NUMBER"
            )
            raise KnowledgeError(where, problem)
        texts = tuple(number_text(float(each)) for each in own)
        return Secret(name, (*texts, *missing), nowhere, np.zeros(0), own)
    ends = np.unique(np.array(bins, dtype=np.float64))
    texts = tuple(number_text(float(end)) for end in ends)
    inner = (f"{low} to below {high}" for low, high in zip(texts, texts[1:], strict=False))
    words = (f"below {texts[0]}", *inner, f"{texts[-1]} or more", *missing)
    return Secret(name, words, nowhere, ends, np.zeros(0))


@dataclass(frozen=True, slots=True)
class AdversaryRequest:
    """Who is asked about beside who knows all, and what they are after: the target, where ``secret`` is None."""

    everyone: tuple[Adversary, ...] = ()
    secret: Secret | None = None

    @property
    def partial(self) -> tuple[Adversary, ...]:
        """Those who are not the one that every audit asks about."""
        if self.secret is not None:
            return self.everyone
        return tuple(adversary for adversary in self.everyone if adversary.knows is not None)


# The values that a hidden column can have, as a tree's tests see them, and how common each is in the table.


@dataclass(frozen=True, slots=True)
class ValueKinds:
    """What values a column can have, D of them, one of each kind that the tests of a tree tell apart.

    ``values`` are as the table has them, ``seen`` as the tests see them; ``refused`` are values that the model refuses
    where it is asked about them. ``share`` (D,) is how many people have each, 0 for values that
    nobody in the table has. ``of`` (P,) is the place of each profile's value.
    """

    values: Column
    seen: Column
    refused: BoolArray
    share: FloatArray
    of: IndexArray

    def __len__(self) -> int:
        return len(self.share)


Test = NumericTest | CategoryTest | MissingTest
"""A test of one column."""


def column_tests(trees: Iterable[Tree]) -> defaultdict[str, set[Test]]:
    """Return the tests of each column that trees hold, by its name."""
    found: defaultdict[str, set[Test]] = defaultdict(set)
    for part in (part for tree in trees for node in tree.nodes for part in atoms(node.test)):
        if isinstance(part, Test):
            found[part.feature].add(part)
    return found


def value_kinds_of(
    tests: Collection[Test],
    feature: Feature,
    column: Column,
    counts: FloatArray,
    cuts: Iterable[float] = (),
) -> ValueKinds:
    """Return the domain of one column, given that of each profile and how many people have the profile, (P,) each.

    ``tests`` are those of the column; ``cuts`` are further ends at which numbers are told apart. Where all
    numbers of a column are whole, the others are taken for whole too.
    """
    values, of = (
        _numbers(tests, feature, column, cuts)
        if isinstance(column, NumericColumn)
        else _categories(feature, column)
    )
    columns, invalid = prepared((feature,), {feature.name: values})
    share = np.bincount(of, counts, len(values)).astype(np.float64)
    refused = invalid.get(feature.name, np.zeros(len(values), dtype=bool))
    return ValueKinds(values, columns[feature.name], refused, share, of)


def hidden_values(
    trees: Sequence[Tree], population: Population, columns: Collection[str]
) -> dict[str, ValueKinds]:
    """Return what values each column can have that some tree tests and that is not known, by its name."""
    tests = column_tests(trees)
    features: dict[str, Feature] = {}
    for tree in trees:
        for feature in tree.used_features():
            if feature.name not in columns:
                features.setdefault(feature.name, feature)
    return {
        name: value_kinds_of(tests[name], feature, population.columns[name], population.counts)
        for name, feature in features.items()
    }


def secret_kinds(trees: Sequence[Tree], population: Population, secret: Secret) -> ValueKinds:
    """Return the values that a secret column can have as tests see them, told apart as the secret's are."""
    features = (each for tree in trees for each in tree.features if each.name == secret.name)
    column, tests = population.columns[secret.name], column_tests(trees)[secret.name]
    return value_kinds_of(tests, next(features), column, population.counts, secret.cuts.tolist())


def distinguished_values(
    trees: Sequence[Tree], columns: Mapping[str, Column]
) -> dict[str, IndexArray]:
    """Return the place of each value, (P,), among those that the tests of trees tell apart, by column."""
    found, tests = {}, column_tests(trees)
    for feature in dict.fromkeys(each for tree in trees for each in tree.used_features()):
        if feature.name in columns:
            seen, refused = prepared((feature,), {feature.name: columns[feature.name]})
            places = _places(seen[feature.name], tests[feature.name])
            bad = refused.get(feature.name)
            found[feature.name] = places if bad is None else np.where(bad, places.max() + 1, places)
    return found


def _places(column: Column, tests: Collection[Test]) -> IndexArray:
    """Return the place of each value among those that these tests of its column answer differently."""
    if isinstance(column, NumericColumn):
        # An end parts numbers before it, or behind it: it belongs to one side.
        numeric_tests = [test for test in tests if isinstance(test, NumericTest)]
        before = [numeric_test.low for numeric_test in numeric_tests if numeric_test.low_closed]
        before += [
            numeric_test.high for numeric_test in numeric_tests if not numeric_test.high_closed
        ]
        behind = [numeric_test.low for numeric_test in numeric_tests if not numeric_test.low_closed]
        behind += [numeric_test.high for numeric_test in numeric_tests if numeric_test.high_closed]
        places = np.searchsorted(np.unique(before), column.numbers, side="right")
        places += np.searchsorted(np.unique(behind), column.numbers, side="left")
        return np.asarray(
            np.where(column.missing, places.max(initial=0) + 1, places), dtype=np.intp
        )
    names = CategoricalColumn(np.arange(-1, len(column.categories)), column.categories)
    test_answers = [answer(test, {test.feature: names}, len(names)) for test in tests]
    table = np.array(
        [row for test_answer in test_answers for row in (test_answer.true, test_answer.unknown)],
        dtype=bool,
    )
    places = np.unique(table.T, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(places[column.codes + 1], dtype=np.intp)


def _categories(feature: Feature, column: CategoricalColumn) -> tuple[Column, IndexArray]:
    names = (
        *column.categories,
        *(each for each in feature.values if each not in column.categories),
    )
    lacks = column.codes < 0
    codes = np.arange(len(names) + bool(lacks.any()), dtype=np.int64)
    codes[len(names) :] = -1
    of = np.where(lacks, len(names), column.codes).astype(np.intp)
    return CategoricalColumn(codes, names), of


def _numbers(
    tests: Collection[Test], feature: Feature, column: NumericColumn, cuts: Iterable[float]
) -> tuple[Column, IndexArray]:
    own = np.unique(column.numbers[~column.missing])
    found = (test for test in tests if isinstance(test, NumericTest))
    ends = {
        end
        for numeric_test in found
        for end in (numeric_test.low, numeric_test.high)
        if np.isfinite(end)
    }
    ends |= {*cuts, *_treated(feature)}
    between = _between(np.array(sorted(ends)), is_whole=bool((own == np.rint(own)).all()))
    values = np.union1d(own, between)
    of = np.searchsorted(values, column.numbers).astype(np.intp)
    if column.missing.any():
        of[column.missing] = len(values)
        values = np.append(values, np.nan)
    return NumericColumn(values), of


def _treated(feature: Feature) -> set[float]:
    """Return the numbers that a model treats otherwise than those next to them."""
    ends = [
        end
        for treatment in feature.treatments
        for end in (
            treatment.low,
            treatment.high,
            *(end for low, _, high, _ in treatment.intervals for end in (low, high)),
            *treatment.values,
            *treatment.invalid,
            *treatment.missing,
        )
    ]
    return {float(end) for end in ends if not isinstance(end, str) and np.isfinite(end)}


def _between(ends: FloatArray, *, is_whole: bool) -> FloatArray:
    """Return the ends, and a number in each gap between them and on either side: whole ones only, where all are."""
    if not len(ends):
        return np.zeros(0)
    outside = np.array([np.floor(ends[0]) - 1, np.ceil(ends[-1]) + 1])
    if not is_whole:
        return np.concatenate([ends, ends[:-1] / 2 + ends[1:] / 2, outside])
    first = np.floor(ends) + 1  # the first whole number behind an end
    inside = first[:-1][first[:-1] <= ends[1:]]
    return np.concatenate([ends[ends == np.rint(ends)], inside, outside])
