"""Synthetic people with nine attributes, as in Agrawal, Imielinski & Swami (1993), whose data many papers use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The five functions that decide who is in group A.
#
# Agrawal & Srikant (2000) print parts of functions 3 and 5 only; their other arms are those of Agrawal, Imielinski &
# Swami (1993), as the generators in use have them. MOA's generator differs in three places, which ``variant="moa"``
# repeats.

Columns = Mapping[str, NDArray[np.float64]]
Flags = NDArray[np.bool_]
VARIANTS = ("paper", "moa")


def is_in_group_a(people: Columns, function: int, variant: str = "paper") -> Flags:
    """Return who is in group A; shape (records,).

    With ``moa``, function 3 puts all other levels of education under the last salary of each age, function 4 takes two
    thirds for 0.67, and function 5 subtracts 5000 for each level of education and nothing for the loan.

    Raises:
        ValueError: there is no such function or variant.
    """
    if function not in FUNCTIONS:
        raise ValueError(f"no function {function}; have 1 to {len(FUNCTIONS)}")
    if variant not in VARIANTS:
        raise ValueError(f"no variant {variant!r}; use {', '.join(VARIANTS)}")
    return FUNCTIONS[function](people, variant == "moa")


def _first(people: Columns, is_moa: bool) -> Flags:
    age = people["age"]
    return (age < 40) | (age >= 60)


def _second(people: Columns, is_moa: bool) -> Flags:
    young, old = people["age"] < 40, people["age"] >= 60
    return np.where(
        young,
        _between(people, 50, 100),
        np.where(old, _between(people, 25, 75), _between(people, 75, 125)),
    )


def _third(people: Columns, is_moa: bool) -> Flags:
    level = people["elevel"]
    young, old = people["age"] < 40, people["age"] >= 60
    low, middle, high = (_between(people, start, start + 50) for start in (25, 50, 75))

    def within(first: float, last: float) -> Flags:
        return (level >= first) & (level <= last)

    if is_moa:
        of_young = np.where(within(0, 1), low, middle)
        of_middle = np.where(within(1, 3), middle, high)
        of_old = np.where(within(2, 4), middle, low)
    else:
        of_young = within(0, 1) & low | within(2, 3) & middle
        of_middle = within(1, 3) & middle | within(4, 4) & high
        of_old = within(2, 4) & middle | within(1, 1) & low
    return np.where(young, of_young, np.where(old, of_old, of_middle))


def _fourth(people: Columns, is_moa: bool) -> Flags:
    share = 2 / 3 if is_moa else 0.67
    income = people["salary"] + people["commission"]
    return share * income - 0.2 * people["loan"] - 20_000 > 0


def _fifth(people: Columns, is_moa: bool) -> Flags:
    share = 2 / 3 if is_moa else 0.67
    income = people["salary"] + people["commission"]
    equity = 0.1 * people["hvalue"] * np.maximum(people["hyears"] - 20, 0)
    less = 5_000 * people["elevel"] if is_moa else 0.2 * people["loan"]
    return share * income - less + 0.2 * equity - 10_000 > 0


def _between(people: Columns, low: float, high: float) -> Flags:
    """Return whose salary, in thousands, is neither below nor above."""
    salary = people["salary"]
    return (salary >= low * 1_000) & (salary <= high * 1_000)


FUNCTIONS = dict(enumerate((_first, _second, _third, _fourth, _fifth), start=1))


Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GeneratedAttribute:
    """An attribute's name and range; one that ``is_whole`` has whole numbers for values."""

    name: str
    low: float
    high: float
    is_whole: bool = False

    @property
    def width(self) -> float:
        """The width of the range, of which levels of privacy are shares."""
        return self.high - self.low


ATTRIBUTES = (
    GeneratedAttribute("salary", 20_000, 150_000),
    GeneratedAttribute("commission", 0, 75_000),
    GeneratedAttribute("age", 20, 80),
    GeneratedAttribute("elevel", 0, 4, is_whole=True),
    GeneratedAttribute("car", 1, 20, is_whole=True),
    GeneratedAttribute("zipcode", 1, 9, is_whole=True),
    GeneratedAttribute("hvalue", 50_000, 1_350_000),
    GeneratedAttribute("hyears", 1, 30),
    GeneratedAttribute("loan", 0, 500_000),
)
FULL_SALARY = 75_000
"""Whoever earns so much or more has no commission."""
HOUSE = 100_000


@dataclass(frozen=True, slots=True)
class People:
    """Generated records: each attribute's values, shape (records,), and whether each record is in group A."""

    columns: Mapping[str, Numbers]
    in_group_a: NDArray[np.bool_]


def people(
    records: int,
    function: int,
    random: np.random.Generator,
    *,
    is_balanced: bool = True,
    variant: str = "paper",
) -> People:
    """Return so many records, labelled by a function of 1 to 5; half of them in group A where ``is_balanced``.

    For the ``variant`` see ``is_in_group_a``.

    Raises:
        ValueError: there is no such function or variant, or the number of records is negative.
    """
    if records < 0:
        raise ValueError(f"{records} records; 0 or more are needed")
    if not is_balanced:
        drawn = _drawn(records, random)
        return People(drawn, is_in_group_a(drawn, function, variant))
    wanted = {True: records // 2, False: records - records // 2}
    kept: dict[bool, list[dict[str, Numbers]]] = {True: [], False: []}
    while any(wanted.values()):
        drawn = _drawn(max(1_000, records), random)
        group_a = is_in_group_a(drawn, function, variant)
        for is_a, missing in wanted.items():
            found = np.flatnonzero(group_a == is_a)[:missing]
            kept[is_a].append({name: values[found] for name, values in drawn.items()})
            wanted[is_a] = missing - len(found)
    order = random.permutation(records)
    columns = {
        generated_attribute.name: np.concatenate(
            [part[generated_attribute.name] for part in (*kept[True], *kept[False])]
        )[order]
        if records
        else np.empty(0)
        for generated_attribute in ATTRIBUTES
    }
    return People(columns, order < records // 2)


def _drawn(records: int, random: np.random.Generator) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {}
    for generated_attribute in ATTRIBUTES:
        if generated_attribute.is_whole:
            found[generated_attribute.name] = random.integers(
                int(generated_attribute.low), int(generated_attribute.high) + 1, records
            ).astype(np.float64)
        else:
            found[generated_attribute.name] = random.uniform(
                generated_attribute.low, generated_attribute.high, records
            )
    commission = random.uniform(10_000, 75_000, records)
    found["commission"] = np.where(found["salary"] >= FULL_SALARY, 0.0, commission)
    found["hvalue"] = random.uniform(0.5, 1.5, records) * (10 - found["zipcode"]) * HOUSE
    return found
