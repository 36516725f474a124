"""The five functions that decide who is in group A.

Agrawal & Srikant (2000) print parts of functions 3 and 5 only; their other arms are those of Agrawal, Imielinski &
Swami (1993), as the generators in use have them. MOA's generator differs in
three places, which ``variant="moa"`` repeats.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

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
        raise ValueError(f"no variant {variant!r}; have {', '.join(VARIANTS)}")
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
