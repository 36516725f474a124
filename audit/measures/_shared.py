"""What is common to measures of people's numbers, and to those of whole records.

How likely an adversary guesses a value right within some tries, on average over all people, by an estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import Parameter
from treewarden.audit.reading import Interval, Undetermined, people
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.column import brief

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import ValueBounds


# What is common to measures of the numbers that people have: each person's interval, in words.

NOBODY = Undetermined("the table has no records")


def known_numbers(evidence: Evidence) -> ValueBounds | Undetermined:
    """Return between which ends people's numbers lie, of a table that has any."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        return numbers
    return numbers if (numbers.counts > 0).any() else NOBODY


def interval_note(numbers: ValueBounds, profile: int) -> str:
    """Return what is known of the people of a profile, as reports say it."""
    who = people(numbers.counts[profile])
    low, high = float(numbers.low[profile]), float(numbers.high[profile])
    if numbers.is_exact[profile]:
        return f"{who}: {brief((low + high) / 2)}, determined exactly"
    said = f"{who}: proved to lie between {brief(low)} and {brief(high)}"
    least, most = float(numbers.reached_low[profile]), float(numbers.reached_high[profile])
    if most - least < high - low:
        said += f"; tables that fit reach from {brief(least)} to {brief(most)}"
    return said


# What the measures of exact worlds share.


def known_worlds(evidence: Evidence) -> ConsistentTables | Undetermined:
    """Return the worlds, or why nothing can be read from them."""
    worlds = evidence.worlds
    if isinstance(worlds, ConsistentTables) and not worlds.counts.sum():
        return Undetermined("the table has no records")
    return worlds


def true_values(evidence: Evidence, worlds: ConsistentTables) -> BoolArray:
    """Return which values some record of each profile truly has, (P, m); where that is not known, all that may be."""
    truth = evidence.population.truth
    return np.asarray(worlds.high > 0 if isinstance(truth, Undetermined) else truth > 0)


TRIES = Parameter(1.0, "how many guesses an adversary has for each person", low=1.0, whole=True)


def vulnerability(
    evidence: Evidence, tries: int, *, is_before: bool = False
) -> Interval | Undetermined:
    """Return the sum over profiles of their share of the people times the ``tries`` largest probabilities.

    ``is_before`` asks of the estimate before the model is published.
    """
    found = evidence.estimate_before if is_before else evidence.estimate
    if isinstance(found, Undetermined):
        return found
    counts = evidence.population.counts
    return Interval(*(_mean(ends, counts, tries) for ends in _ends(found)))


def _ends(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    return posterior.low, posterior.high


def _mean(shares: FloatArray, counts: FloatArray, tries: int) -> float:
    largest = np.sort(shares, axis=1)[:, -tries:].sum(axis=1)
    return float((np.minimum(largest, 1.0) * counts).sum() / counts.sum())
