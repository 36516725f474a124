"""Small tables with outputs of all kinds, and every labelling of their people that agrees with what is printed.

Nothing here is shared with the product but the files that it reads: statistics are worked out from their definitions,
in exact arithmetic but for the logistic regression, which Newton's method fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

Labels = tuple[int, ...]
Agrees = Callable[[Labels], bool]


@dataclass(frozen=True)
class SmallTable:
    """People: a number each (None: missing), a place (the leaf of the tree) and a sort, with the true labels."""

    ages: tuple[Fraction | None, ...]
    places: tuple[int, ...]
    sorts: tuple[str, ...]
    labels: Labels
    classes: tuple[str, ...]

    def leaf_counts(self, labels: Labels) -> tuple[tuple[int, ...], ...]:
        """Return how many people of each place have each class."""
        found = [[0] * len(self.classes) for _ in range(max(self.places) + 1)]
        for place, label in zip(self.places, labels, strict=True):
            found[place][label] += 1
        return tuple(map(tuple, found))


@dataclass(frozen=True)
class PrintedOutput:
    """One output as a file, and whether labels agree with all that is printed there; ``parts`` does so cell by cell."""

    name: str
    text: str
    parts: tuple[Agrees, ...]

    def agrees(self, labels: Labels) -> bool:
        """Whether labels agree with each of its cells."""
        return all(part(labels) for part in self.parts)


def labellings(table: SmallTable, outputs: Sequence[PrintedOutput]) -> list[Labels]:
    """Return all labels of the people that agree with the tree and all outputs."""
    counts = table.leaf_counts(table.labels)
    return [
        labels
        for labels in itertools.product(range(len(table.classes)), repeat=len(table.labels))
        if table.leaf_counts(labels) == counts and all(output.agrees(labels) for output in outputs)
    ]


def is_printed_as(text: str, value: Fraction | None, unit: Fraction = Fraction(1)) -> bool:
    """Whether a number may be printed as a text; ``unit`` is what the text counts in."""
    if value is None:
        return False
    places = -int(Decimal(text).as_tuple().exponent)
    half = Fraction(1, 2) / Fraction(10) ** places
    return abs(Fraction(text) * unit - value) <= half * unit


def rounded(value: Fraction, places: int) -> str:
    """Return a number with so many decimals."""
    return f"{float(value):.{places}f}"


def members(table: SmallTable, labels: Labels, klass: int) -> list[int]:
    """Return the people of a class."""
    return [person for person, label in enumerate(labels) if label == klass]


def values(table: SmallTable, labels: Labels, klass: int) -> list[Fraction]:
    """Return the numbers of the people of a class, in order."""
    found = (table.ages[person] for person in members(table, labels, klass))
    return sorted(age for age in found if age is not None)


def mean_of(numbers: Sequence[Fraction]) -> Fraction | None:
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def variance_of(numbers: Sequence[Fraction]) -> Fraction | None:
    mean = mean_of(numbers)
    if mean is None or len(numbers) < 2:
        return None
    return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - 1)


def quantile_of(numbers: Sequence[Fraction], order: Fraction) -> Fraction | None:
    if not numbers:
        return None
    place = (len(numbers) - 1) * order
    low = int(place)
    above = numbers[min(low + 1, len(numbers) - 1)]
    return numbers[low] + (place - low) * (above - numbers[low])


def drawn_table(random: np.random.Generator, people: int, classes: int) -> SmallTable:
    """Return a table of so many people, of whom some may be alike."""
    ages = [Fraction(int(random.integers(40, 140)), 2) for _ in range(people)]
    if random.random() < 0.3:
        ages[int(random.integers(people))] = None  # type: ignore[call-overload]
    places = random.integers(0, random.integers(1, 4), people)
    _, places = np.unique(places, return_inverse=True)
    sorts = ["abc"[code] for code in random.integers(0, random.integers(1, 4), people)]
    while True:
        labels = tuple(random.integers(0, classes, people).tolist())
        if len(set(labels)) == classes:
            break
    names = ("no", "yes", "maybe")[:classes]
    return SmallTable(tuple(ages), tuple(places.tolist()), tuple(sorts), labels, names)


def drawn_outputs(random: np.random.Generator, table: SmallTable) -> list[PrintedOutput]:
    """Return some outputs of a table, of different kinds."""
    kinds: list[Callable[[np.random.Generator, SmallTable], PrintedOutput | None]]
    kinds = [characteristics, cross_table]
    if len(table.classes) == 2:
        kinds.append(logistic)
    chosen = random.permutation(len(kinds))[: int(random.integers(1, len(kinds) + 1))]
    found = (kinds[number](random, table) for number in sorted(chosen.tolist()))
    return [output for output in found if output is not None]


def characteristics(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return a table of characteristics with some rows, or None where nothing can be printed."""
    rows, parts = [], list[Agrees]()
    for number in random.permutation(4)[: int(random.integers(1, 4))].tolist():
        made = (_size_row, _mean_row, _median_row, _sort_row)[number](random, table)
        rows.append(made[0])
        parts += made[1]
    if not parts:
        return None
    header = ",".join(("", *table.classes))
    return PrintedOutput("table1.csv", "\n".join((header, *rows)) + "\n", tuple(parts))


Made = tuple[str, list[Agrees]]


def _cells(table: SmallTable, label: str, cell: Callable[[int], tuple[str, list[Agrees]]]) -> Made:
    texts, parts = [label], list[Agrees]()
    for klass in range(len(table.classes)):
        text, agreeing = cell(klass)
        texts.append(text)
        parts += agreeing
    return ",".join(f'"{text}"' for text in texts), parts


def _size_row(random: np.random.Generator, table: SmallTable) -> Made:
    def cell(klass: int) -> tuple[str, list[Agrees]]:
        size = len(members(table, table.labels, klass))
        return str(size), [lambda labels: len(members(table, labels, klass)) == size]

    return _cells(table, "n", cell)


def _mean_row(random: np.random.Generator, table: SmallTable) -> Made:
    places, has_spread = int(random.integers(0, 3)), random.random() < 0.6

    def cell(klass: int) -> tuple[str, list[Agrees]]:
        numbers = values(table, table.labels, klass)
        mean, variance = mean_of(numbers), variance_of(numbers)
        if mean is None or (has_spread and variance is None):
            return "", []
        text = rounded(mean, places)
        if not has_spread or variance is None:
            return text, [lambda labels: is_printed_as(text, mean_of(values(table, labels, klass)))]
        spread = f"{float(variance) ** 0.5:.{places}f}"

        def agrees(labels: Labels) -> bool:
            numbers = values(table, labels, klass)
            return is_printed_as(text, mean_of(numbers)) and _is_root(spread, variance_of(numbers))

        return f"{text} ({spread})", [agrees]

    return _cells(table, f"age, mean{' (SD)' * has_spread}", cell)


def _is_root(text: str, square: Fraction | None) -> bool:
    """Whether the root of a number may be printed as a text."""
    if square is None:
        return False
    half = Fraction(1, 2) / Fraction(10) ** -int(Decimal(text).as_tuple().exponent)
    low, high = max(Fraction(text) - half, Fraction(0)), Fraction(text) + half
    return low**2 <= square <= high**2


def _median_row(random: np.random.Generator, table: SmallTable) -> Made:
    places, has_quartiles = int(random.integers(0, 2)), random.random() < 0.5
    orders = [Fraction(1, 2), *([Fraction(1, 4), Fraction(3, 4)] * has_quartiles)]

    def cell(klass: int) -> tuple[str, list[Agrees]]:
        numbers = values(table, table.labels, klass)
        if not numbers:
            return "", []
        texts = [rounded(quantile_of(numbers, order) or Fraction(0), places) for order in orders]

        def agrees(labels: Labels) -> bool:
            found = values(table, labels, klass)
            return all(
                is_printed_as(text, quantile_of(found, order))
                for text, order in zip(texts, orders, strict=True)
            )

        return texts[0] + (f" [{texts[1]},{texts[2]}]" if has_quartiles else ""), [agrees]

    return _cells(table, "age, median [Q1,Q3]" if has_quartiles else "age, median", cell)


def _sort_row(random: np.random.Generator, table: SmallTable) -> Made:
    value, has_share = table.sorts[0], random.random() < 0.5

    def having(labels: Labels, klass: int) -> int:
        return sum(table.sorts[person] == value for person in members(table, labels, klass))

    def cell(klass: int) -> tuple[str, list[Agrees]]:
        count, size = having(table.labels, klass), len(members(table, table.labels, klass))
        if not has_share:
            return str(count), [lambda labels: having(labels, klass) == count]
        share = rounded(Fraction(count * 100, size), 0)

        def agrees(labels: Labels) -> bool:
            size = len(members(table, labels, klass))
            return size > 0 and is_printed_as(share, Fraction(having(labels, klass) * 100, size))

        return f"{share}%", [agrees]

    return _cells(table, f"sort = {value}, n (%)", cell)


def cross_table(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return a cross table of the sort and the class, some of whose cells are withheld or ranges."""
    is_share = random.random() < 0.3
    lines, parts = [f"sort,ill,{'share' if is_share else 'count'}"], list[Agrees]()
    for sort, klass in itertools.product(
        (*sorted(set(table.sorts)), None), range(len(table.classes))
    ):
        text, agrees = _cross_cell(random, table, sort, klass, is_share=is_share)
        lines.append(f"{sort or 'Total'},{table.classes[klass]},{text}")
        parts += [] if agrees is None else [agrees]
    return PrintedOutput("cross.csv", "\n".join(lines) + "\n", tuple(parts)) if parts else None


def _cross_cell(
    random: np.random.Generator, table: SmallTable, sort: str | None, klass: int, *, is_share: bool
) -> tuple[str, Agrees | None]:
    def count(labels: Labels) -> int:
        return sum(sort in (None, table.sorts[person]) for person in members(table, labels, klass))

    number, kind = count(table.labels), random.random()
    if kind < 0.3:
        return "*", None
    if is_share:
        size = sum(sort in (None, each) for each in table.sorts)
        text = rounded(Fraction(number, size), 1)
        return text, lambda labels: is_printed_as(text, Fraction(count(labels), size))
    if kind < 0.5 and number < 3:
        return "<3", lambda labels: count(labels) < 3
    return str(number), lambda labels: count(labels) == number


def logistic(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return the coefficients of a ridge logistic regression on the number and the first sort."""
    places = int(random.integers(2, 5))
    fit = fitted(table, table.labels)
    if fit is None:
        return None
    texts = [f"{number:.{places}f}" for number in fit]
    half = 0.5 * 10.0**-places

    def agrees(labels: Labels) -> bool:
        found = fitted(table, labels)
        return found is not None and all(
            abs(number - float(text)) <= half + 1e-9
            for number, text in zip(found, texts, strict=True)
        )

    terms = ("(Intercept)", "age", f"sort[{table.sorts[0]}]")
    rows = [f"{term},{text}" for term, text in zip(terms, texts, strict=True)]
    return PrintedOutput("model.csv", "\n".join(["term,estimate", *rows, "(C),1", ""]), (agrees,))


_FITS: dict[tuple[SmallTable, Labels], tuple[float, ...] | None] = {}


def fitted(table: SmallTable, labels: Labels) -> tuple[float, ...] | None:
    """Return the coefficients of constant, number and sort with C = 1, or None where Newton's method finds none."""
    key = table, labels
    if key not in _FITS:
        if len(_FITS) > 5_000:
            _FITS.clear()
        _FITS[key] = _newton(table, labels)
    return _FITS[key]


def _newton(table: SmallTable, labels: Labels) -> tuple[float, ...] | None:
    complete = [person for person, age in enumerate(table.ages) if age is not None]
    y = np.array([labels[person] == 1 for person in complete], dtype=float)
    if len(set(y.tolist())) < 2:
        return None
    design = np.array(
        [
            [1.0, float(table.ages[p] or 0), float(table.sorts[p] == table.sorts[0])]
            for p in complete
        ]
    )
    penalty, beta = np.diag([0.0, 1.0, 1.0]), np.zeros(3)
    for _ in range(100):
        mean = 1 / (1 + np.exp(-np.clip(design @ beta, -500, 500)))
        score = design.T @ (y - mean) - penalty @ beta
        curvature = design.T @ ((mean * (1 - mean))[:, None] * design) + penalty
        step = np.linalg.lstsq(curvature, score, rcond=None)[0]
        while np.abs(step).max() > 5:
            step = step / 2
        beta = beta + step
        if np.abs(step).max() < 1e-13:
            break
    return tuple(beta.tolist()) if np.abs(score).max() < 1e-9 else None


def profiles_of(table: SmallTable) -> Iterator[tuple[tuple[object, ...], list[int]]]:
    """Yield people who are alike, by what they have."""
    held: dict[tuple[object, ...], list[int]] = {}
    for person in range(len(table.labels)):
        key = table.ages[person], table.places[person], table.sorts[person]
        held.setdefault(key, []).append(person)
    yield from held.items()
