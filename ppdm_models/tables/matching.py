"""Which column of a table is which feature of a model, where the two spell its name differently.

Tools change names on the way: R makes ``X1st`` of ``1st``, LightGBM ``mean_radius`` of ``mean radius``.
A name is taken for another only where nothing but blanks, ``_``, ``.``, case or ``make.names`` parts them, and only one
to one. Values are never matched like this.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.tables.dialect import COMMA, NO_HEADER
from treewarden.ppdm_models.tables.table import RawColumn, Table, listed
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.predicate import NumericTest, atoms
from treewarden.ppdm_models.tree.tree import Task

# What the tests of a model compare one of its numbers with.


def parts_zero_from_one(model: Model, feature: str) -> bool:
    """Return whether each test of a model on a feature answers otherwise of 0 than of 1."""
    return all(map(_parts, _tests_on(model, feature)))


def compared_with(model: Model, feature: str) -> set[float]:
    """Return the finite numbers that a model's tests compare a feature with."""
    ends = (end for test in _tests_on(model, feature) for end in (test.low, test.high))
    return {end for end in ends if math.isfinite(end)}


def _tests_on(model: Model, feature: str) -> Iterator[NumericTest]:
    for tree in trees_of(model):
        for node in tree.nodes:
            for part in atoms(node.test):
                if isinstance(part, NumericTest) and part.feature == feature:
                    yield part


def _parts(test: NumericTest) -> bool:
    parts_below = test.low == -math.inf or _is_between(test.low, is_above=test.low_closed)
    parts_above = test.high == math.inf or _is_between(test.high, is_above=not test.high_closed)
    return parts_below and parts_above


def _is_between(end: float, *, is_above: bool) -> bool:
    """Return whether an end parts 0 from 1: it belongs to what is above it, or to what is below."""
    return 0 < end <= 1 if is_above else 0 <= end < 1


MARKUP = ("<", "{", "[")
"""How files begin that hold no table."""
PLACEHOLDERS = frozenset(
    {"y", "..y", ".y", ".outcome", "_target", "internal::y", "label", "prediction"}
)
"""What tools call a target that nobody named: R and sklearn2pmml, tidymodels, caret, JPMML, Spark, CatBoost."""

SEPARATORS = re.compile(r"[_.\s]+")
NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d)_|_(?!\d)")


@dataclass(frozen=True, slots=True)
class Matched:
    """A table whose columns have the model's names.

    ``sensitive`` and ``qi`` are what was asked for, by their names in it; ``notes`` say what was taken for what.
    """

    table: Table
    sensitive: str | None
    qi: tuple[str, ...] | None
    notes: tuple[str, ...]


def matched(
    model: Model,
    table: Table,
    *,
    sensitive: str | None = None,
    qi: Sequence[str] | None = None,
    taken: Iterable[str] = (),
) -> Matched:
    """Return the table under the names of the model; ``taken`` are columns that are no features, weights say.

    A name that fits exactly goes first. A sensitive column that is not found stays as it was asked for.

    Raises:
        TableError: a feature has no column, or several, or shares one with another feature; so for ``qi``.
    """
    taken = tuple(taken)
    own = _sensitive_column(model, table, sensitive)
    renamed = _target_renamed(model, table, own)
    pairs = _Pairs(model, table, {*taken, *(() if own is None else (own,))})
    asked = None if qi is None else tuple(pairs.matched_name(name) for name in qi)
    pairs.check(
        [feature.name for feature in model.features if asked is None or feature.name in asked]
    )
    renamed |= pairs.renamed
    named = sensitive if own is None else renamed.get(own, own)
    columns = {renamed.get(name, name): raw for name, raw in table.columns.items()}
    compared = _compared_as_numbers(model, named, taken)
    columns |= _numbers_proved(model, columns)
    new = replace(table, columns=columns)
    _check_named(model, new, asked)
    notes = [*_notes(model, table, renamed, pairs), *_label_notes(new, _categories(model, named))]
    notes += _style_notes(new, compared)
    if own is not None and own != sensitive and named != sensitive:
        notes.append(
            f"{table.source}: the column {own!r} was used as the sensitive column {sensitive!r}"
        )
    return Matched(new, named, asked, tuple(notes))


def target_in(model: Model, table: Table) -> str:
    """Return the name of the model's target; "" where it has none, or a tool's default that no column is called."""
    if model.target in PLACEHOLDERS and not _Index(table.columns).find(model.target):
        return ""
    return model.target


def has_column(table: Table, name: str) -> bool:
    """Return whether a table has a column of that name, however it spells it."""
    return name in table.columns or bool(_Index(table.columns).find(name))


def are_alike(one: str, second: str) -> bool:
    """Whether two names differ by nothing but blanks, ``_``, ``.``, case or R's ``make.names``."""
    return bool(_Index([second]).find(one))


def alike(names: Sequence[str], requested_names: Sequence[str]) -> set[str]:
    """Return those of the names that are wanted, or may be meant by one that is."""
    index = _Index(names)
    return {name for each in requested_names for name in index.find(each)} | (
        set(names) & set(requested_names)
    )


def _plain(name: str) -> str:
    """Return a name without what tools change in it; what parts two digits stays, as ``x1_1`` is not ``x11``."""
    text = unicodedata.normalize("NFC", name).casefold()
    return NOT_BETWEEN_DIGITS.sub("", SEPARATORS.sub("_", text))


def _made(name: str) -> str:
    """Return what R's ``make.names`` makes of a name, plain."""
    starts = re.match(r"[^\W\d_]|\.(?!\d)", name)
    return _plain(re.sub(r"[^\w.]", ".", name if starts else f"X{name}"))


class _Index:
    """Names by what they are without blanks, points and case, as they stand and as R would write them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.plain: dict[str, list[str]] = {}
        self.made: dict[str, list[str]] = {}
        for name in names:
            if not _plain(name):
                continue
            self.plain.setdefault(_plain(name), []).append(name)
            self.made.setdefault(_made(name), []).append(name)

    def find(self, name: str) -> list[str]:
        """Return the names that are the same but for spelling, in their order."""
        plain = _plain(name)
        if not plain:
            return []
        found = [*self.plain.get(plain, ()), *self.made.get(plain, ())]
        found += self.plain.get(_made(name), ())
        return list(dict.fromkeys(found))


class _Pairs:
    """The features that the table spells differently, and the columns that may be they."""

    def __init__(self, model: Model, table: Table, taken: set[str]) -> None:
        self.model, self.table = model, table
        names = [feature.name for feature in model.features]
        self.features = dict.fromkeys(names)
        self.lacking = [name for name in names if name not in table.columns]
        self.free = [
            name for name in table.columns if name not in self.features and name not in taken
        ]
        columns, features = _Index(self.free if self.lacking else ()), _Index(self.lacking)
        self.columns_of = {name: columns.find(name) for name in self.lacking}
        self.features_of = {
            column: features.find(column) for found in self.columns_of.values() for column in found
        }
        self.renamed = {
            found[0]: name
            for name, found in self.columns_of.items()
            if len(found) == 1 and len(self.features_of[found[0]]) == 1
        }
        self.said: dict[str, str] = {}

    def matched_name(self, name: str) -> str:
        """Return the name that a quasi-identifier has in the matched table."""
        if name in self.features:
            return name
        if name in self.table.columns:
            return self.renamed.get(name, name)
        found = _Index([*self.features, *self.free]).find(name)
        meant = dict.fromkeys(self.renamed.get(each, each) for each in found)
        if len(meant) > 1:
            raise TableError(
                self.table.source,
                (
                    f"no column {name!r}, and several are similar; choose one with --qi: {listed(found)}"
                ),
            )
        if meant:
            self.said[name] = next(iter(meant))
        return next(iter(meant), name)

    def check(self, needed: Sequence[str]) -> None:
        """Raise what keeps a feature that is needed from its column."""
        for name in (each for each in self.lacking if each in set(needed)):
            found = self.columns_of[name]
            if len(found) > 1:
                problem = f"the feature {name!r} matches the columns {listed(found)}; rename one of them to {name!r}"
                raise TableError(self.table.source, problem)
            rivals = self.features_of[found[0]] if found else []
            same = [feature for feature in self.features if feature in self.table.columns]
            rivals = rivals or [*_Index(same).find(name), name]
            column = found[0] if found else rivals[0]
            if len(rivals) > 1:
                problem = (
                    f"the features {listed(rivals)} match one column, {column!r}; give each its own"
                )
                raise TableError(self.table.source, problem)
        lacking = [
            name for name in self.lacking if name in set(needed) and not self.columns_of[name]
        ]
        if lacking:
            raise TableError(self.table.source, self._lack(lacking))

    def _lack(self, lacking: Sequence[str]) -> str:
        computed = {
            feature.name: feature.computation
            for feature in self.model.features
            if feature.computation
        }
        for name in lacking:
            if name in computed:
                return (
                    f"no column {name!r}, which the model computes in a way that is not repeated here "
                    f"({computed[name]}); add a column {name!r} with the computed value of each record"
                )
        others = [name for name in self.free if name not in self.renamed]
        is_label = lacking[0] in self.table.index
        near = self.table.meant(lacking[0]) if is_label else near_text(lacking[0], others)
        lack = f"no column {lacking[0]!r}, which {self.model.source} uses{near}"
        if lacking[1:]:
            lack = f"the table lacks {len(lacking)} columns that {self.model.source} uses: {listed(lacking)}{near}"
        is_none_there = len(self.lacking) == len(self.features)
        if is_none_there and next(iter(self.table.columns), "").lstrip().startswith(MARKUP):
            return "not a table, but a model or another document; did you swap MODEL and --data?"
        if is_none_there and not is_label and self.table.seems_headless():
            return f"no column {lacking[0]!r}, which {self.model.source} uses: {NO_HEADER}"
        left = "other columns of the table" if others else "columns of the table"
        return (
            f"{lack}; {left}: {listed(others or self.table.columns)}; give the table of this model, rename the "
            "table's columns as in the model, or map them with --columns"
        )


def _sensitive_column(model: Model, table: Table, requested: str | None) -> str | None:
    """Return the column that is called so, or that alone differs from it by spelling."""
    if requested is None or requested in table.columns:
        return requested
    features = {feature.name for feature in model.features}
    found = [name for name in _Index(table.columns).find(requested) if name not in features]
    if len(found) > 1:
        raise TableError(
            table.source,
            (
                f"no column {requested!r}, and several are similar; choose one: --sensitive {listed(found)}"
            ),
        )
    return found[0] if found else None


def _target_renamed(model: Model, table: Table, sensitive: str | None) -> dict[str, str]:
    """Return the sensitive column under the name of the target, where they differ by spelling."""
    target = model.target
    if (
        sensitive is None
        or not target
        or target in table.columns
        or not are_alike(sensitive, target)
    ):
        return {}
    return {sensitive: target}


def _categories(model: Model, sensitive: str | None) -> dict[str, tuple[str, ...]]:
    """Return the categories of a model's columns by name, none of those that it compares as numbers."""
    known = {feature.name: () if feature.numeric else feature.values for feature in model.features}
    return known if sensitive is None else {**known, sensitive: model.classes}


def _compared_as_numbers(model: Model, sensitive: str | None, taken: Sequence[str]) -> list[str]:
    """Return the columns whose values count as numbers: features that are compared so, weights, a number as target."""
    found = [feature.name for feature in model.features if feature.numeric] + list(taken)
    is_number = model.task is Task.REGRESSION and sensitive is not None
    return list(dict.fromkeys([*found, sensitive] if is_number and sensitive else found))


def _check_named(model: Model, table: Table, qi: Sequence[str] | None) -> None:
    """Check that the table has numbers where a model has numbers of levels that it does not name.

    Raises:
        TableError: a column has names there.
    """
    for feature in (each for each in model.features if each.naming):
        if feature.name not in table.columns or (qi is not None and feature.name not in qi):
            continue
        found = table.categories(feature.name, feature.values).categories
        if any(each not in feature.values and not each.isdigit() for each in found) or (
            max(map(int, filter(str.isdigit, found)), default=0)
            > max(map(int, feature.values), default=0)
        ):
            problem = f"column {feature.name!r} has categories that {model.source} does not name"
            raise TableError(table.source, f"{problem}; {feature.naming}")


def _numbers_proved(model: Model, columns: Mapping[str, RawColumn]) -> dict[str, RawColumn]:
    """Return the columns that have one reading as numbers by what the model's tests on them compare them with."""
    names = [
        feature.name for feature in model.features if feature.numeric and feature.name in columns
    ]
    raw_columns = {
        name: columns[name].with_words_numbered()
        for name in names
        if columns[name].holds_words() and parts_zero_from_one(model, name)
    }
    doubtful = [
        name for name in names if name not in raw_columns and columns[name].decimal_mark() is None
    ]
    if doubtful and any(column.decimal_mark() == COMMA for column in columns.values()):
        return raw_columns  # points part thousands where commas part decimals
    return raw_columns | {
        name: columns[name].with_points_proved(compared_with(model, name)) for name in doubtful
    }


def _style_notes(table: Table, compared: Sequence[str]) -> Iterable[str]:
    """Yield how the numbers of columns were read that programs would write otherwise."""
    columns_of: dict[str, list[str]] = {}
    for name in (each for each in compared if each in table.columns):
        how = table.columns[name].how_written()
        if how:
            columns_of.setdefault(how, []).append(name)
    for how, names in columns_of.items():
        yield f"{table.source}: numbers were read with {how} in {listed(names)}"


def _label_notes(table: Table, known_values: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """Yield what was taken of columns that have labels."""
    taken = {
        name: raw.taken(known_values[name])
        for name, raw in table.columns.items()
        if name in known_values
    }
    labels, codes = (
        [n for n, each in taken.items() if each == what] for what in ("labels", "codes")
    )
    if labels:
        yield f"{table.source}: value labels were used for {listed(labels)}, as in the model"
    if codes:
        yield (
            f"{table.source}: codes were used for {listed(codes)}, because the model has no labels"
        )


def _notes(model: Model, table: Table, renamed: Mapping[str, str], pairs: _Pairs) -> Iterable[str]:
    if renamed:
        said = [f"{column!r} for {name!r}" for column, name in renamed.items()]
        cut = ", ".join(said[:6]) + (f" and {len(said) - 6} more" if len(said) > 6 else "")
        yield (
            f"{table.source}: columns were matched with names of {model.source} that are spelled "
            f"differently: {cut}"
        )
    if pairs.said:
        said = [f"{name!r} for {asked!r}" for asked, name in pairs.said.items()]
        yield (
            f"{table.source}: quasi-identifiers were matched that are spelled differently: "
            f"{', '.join(said[:6])}"
        )
