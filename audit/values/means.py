"""Leaves that publish the mean of their people's numbers: times how many they are, it is their sum.

Where the file also says how far they spread, no person is further from the mean than the standard deviation times the
root of n - 1 (Samuelson 1968).
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters import ValueSums
from treewarden.audit.people.forest import Forest, sample_in_words
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble
from treewarden.ppdm_models.tree.tree import Quality, Tree

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
FULL_DIGITS = 15
"""Numbers with so many digits were not rounded for reading."""

NOT_MEANS = Undetermined(
    "the file does not say how its trees were grown, and a leaf is no mean of its people's values"
)
STOPS_EARLY = Undetermined(
    "some records stop at an inner node, which says the mean of all who passed it"
)
NO_NUMBERS = Undetermined("some leaves say no number")
WEIGHTED = Undetermined(
    "its numbers are means of weighted records, which are not turned back, with --weights or without"
)


def mean_sums(forest: Forest, population: Population, largest: float) -> ValueSums | Undetermined:
    """Return what the leaves say of the sums of a target that is at most this large, either sign."""
    model = forest.model
    if isinstance(model, Ensemble) and model.combination is not Combination.AVERAGE:
        return NOT_MEANS
    if forest.draws or (isinstance(model, Ensemble) and model.resampled):
        return Undetermined(sample_in_words(model))
    if any(tree.quality is Quality.WEIGHTED for tree in forest.trees):
        return WEIGHTED
    size = len(population.counts)
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    parts = []
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        nodes, place = np.unique(stops, return_inverse=True)
        place = place.reshape(-1)
        people = np.bincount(place, population.counts, len(nodes)).astype(np.float64)
        there = [tree.nodes[node] for node in nodes.tolist()]
        if not all(node.is_leaf for node in there):
            return STOPS_EARLY
        if any(isinstance(node.score, str) or node.score is None for node in there):
            return NO_NUMBERS
        means = np.array([node.score for node in there], dtype=np.float64)
        room = rounding(_numbers(tree))[nodes] + 4 * DOUBLE * population.records * largest
        parts.append((number, nodes, people * (means - room), people * (means + room)))
        low, high = _of_one(tree, nodes, means, room, people, largest)
        least, most = np.maximum(least, low[place]), np.minimum(most, high[place])
    return ValueSums(
        np.concatenate([np.full(len(nodes), number) for number, nodes, *_ in parts]),
        np.concatenate([nodes for _, nodes, *_ in parts]),
        np.concatenate([low for *_, low, _ in parts]),
        np.concatenate([high for *_, high in parts]),
        least,
        most,
        # What else a file says of leaves (spreads, medians, extremes) is told by their people's values, not the sums.
        is_all=False,
        facts={},
    )


def rounding(numbers: FloatArray) -> FloatArray:
    """Return how far published numbers may lie from what was computed; NaN stands for none.

    Numbers of full length are of 64 bits, or of 32 where all are such; others were rounded to so many decimals, or to
    so many digits, as the longest of them has.
    """
    told = numbers[np.isfinite(numbers)]
    size = np.abs(np.nan_to_num(numbers))
    room = np.where(_are_single(told), 2 * SINGLE, 2 * DOUBLE) * size
    digits, decimals = (
        max((each[k] for each in map(_length, told.tolist())), default=0) for k in (0, 1)
    )
    if digits >= FULL_DIGITS:
        return np.asarray(room)
    # Of a number whose last digits are 0 these need not be printed: whichever way it was cut, the wider one is taken.
    with np.errstate(divide="ignore"):
        first = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    cut = np.maximum(0.5 * 10.0**-decimals, 0.5 * 10.0 ** (first + 1 - digits))
    return np.asarray(room + cut * (1 + 2.0**-40))


def _are_single(numbers: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32).astype(np.float64) == numbers).all())


def _length(number: float) -> tuple[int, int]:
    """Return how many digits and how many decimals a number has."""
    digits, _, exponent = f"{number:.17g}".partition("e")
    digits, _, exponent = repr(float(digits + "e" + (exponent or "0"))).partition("e")
    whole, _, decimals = digits.lstrip("-").partition(".")
    decimals = "" if decimals == "0" else decimals
    shift = int(exponent or 0)
    return len((whole + decimals).strip("0")), max(len(decimals) - shift, 0)


def _numbers(tree: Tree) -> FloatArray:
    """Return what each node says, NaN where it is no number."""
    said = (node.score for node in tree.nodes)
    return np.array([one if isinstance(one, int | float) else np.nan for one in said], dtype=float)


def _of_one(
    tree: Tree,
    nodes: IndexArray,
    means: FloatArray,
    room: FloatArray,
    people: FloatArray,
    largest: float,
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends one person of each leaf lies, as its published spread says."""
    spreads = [tree.nodes[node].spread for node in nodes.tolist()]
    is_told = np.array([each is not None for each in spreads])
    highest = np.array([0.0 if each is None else each[1] for each in spreads])
    # A spread is a difference of two means of squares, each of which rounds by the size of its terms.
    highest = highest + 8 * DOUBLE * (people + 8) * (2 * largest) ** 2
    widest = np.sqrt(highest * np.maximum(people - 1, 0)) * (1 + 2.0**-40) + room
    widest = np.where(is_told, widest, np.inf)
    return means - widest, means + widest
