"""Draws that are repeated from a seed, for records whose order is known, and held against every leaf of the file.

A replay is believed where all leaves agree with it and so many do that it cannot be by chance: had the records stood
otherwise in the table of the training, some leaf would have drawn another number of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.inverters import GrownCase, LeafSums, inverters, leaf_sums
from treewarden.audit.joint.drawn import drawn_sums
from treewarden.audit.joint.units import Units, by_record
from treewarden.audit.people.forest import Forest
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.growth import Growth, derived
from treewarden.ppdm_models.tree.tree import count_of

MOST_PLACES = 12_000_000
"""Trees times records: more draws are not kept in memory."""
FEWEST_BITS = 64.0
"""How unlikely, as a power of one half, it must be that other draws agree with all leaves."""
REPLAYED = "rows drawn, replayed from the seed in the file"
FROM_SEED = "rows drawn, replayed from the seed {}, which the file withholds"

Replay = tuple[Units, LeafSums]


def replays(
    forest: Forest, population: Population, growth: Growth | None, seeds: Sequence[int]
) -> Iterator[Replay]:
    """Yield what the leaves say of the records that a seed draws, where all leaves agree with that.

    ``seeds`` are tried beside the file's own, or where it says none, beside what the library takes by itself.
    """
    order = population.order
    if order is None or len(forest.trees) * len(order.profiles) > MOST_PLACES:
        return
    if (np.bincount(order.profiles, minlength=len(population.counts)) != population.counts).any():
        return
    found = (
        _of_forest(forest, population)
        if growth is None
        else _of_boosted(forest, population, growth, seeds)
    )
    for units, sums in found:
        assert units.draws is not None
        if not isinstance(sums, Undetermined) and bits(units, growth is None) >= FEWEST_BITS:
            yield units, sums


def bits(units: Units, with_replacement: bool) -> float:
    """Return how unlikely it is, as a power of one half, that draws of as many other records agree with all leaves.

    In each tree the last leaf holds the rest. Trees that saw the same sample are counted once.
    """
    assert units.draws is not None
    total, size, seen = 0.0, len(units.people), set[bytes]()
    for stops, often in zip(units.stops, units.draws, strict=True):
        key = often.tobytes()
        if key in seen:
            continue
        seen.add(key)
        drawn = int(often.sum())
        _, people = np.unique(stops, return_counts=True)
        for inside in np.sort(people)[:-1].tolist():
            total += _surprise(inside, size, drawn, with_replacement)
    return total


def _surprise(inside: int, size: int, drawn: int, with_replacement: bool) -> float:
    """Return the logarithm, to the base 1/2, of how likely the likeliest number of draws among some records is."""
    if with_replacement:
        share = inside / size
        k = min(int((drawn + 1) * share), drawn)
        found = _choices(drawn, k) + k * math.log(share) + (drawn - k) * math.log1p(-share)
    else:
        k = (drawn + 1) * (inside + 1) // (size + 2)
        k = min(max(k, drawn + inside - size, 0), drawn, inside)
        found = _choices(inside, k) + _choices(size - inside, drawn - k) - _choices(size, drawn)
    return max(-found / math.log(2), 0.0)


def _choices(size: int, chosen: int) -> float:
    """Return the logarithm of in how many ways some can be chosen."""
    return math.lgamma(size + 1) - math.lgamma(chosen + 1) - math.lgamma(size - chosen + 1)


def _of_forest(
    forest: Forest, population: Population
) -> Iterator[tuple[Units, LeafSums | Undetermined]]:
    """Yield what scikit-learn's bootstrap drew: see ``_generate_sample_indices`` in ``sklearn/ensemble/_forest.py``."""
    model = forest.model
    if not isinstance(model, Ensemble) or len(model.seeds) != len(forest.trees):
        return
    size = int(population.records)
    drawn = []
    for seed, tree in zip(model.seeds, forest.trees, strict=True):
        count = count_of(tree.root)
        if count is None or not 0 < count <= 10 * size or count != int(count):
            return
        chosen = np.random.RandomState(seed).randint(0, size, int(count))
        drawn.append(np.bincount(chosen, minlength=size))
    units = by_record(forest.stops, population, np.array(drawn, dtype=np.int64))
    sums = drawn_sums(forest, units)
    yield units, _saying(sums, REPLAYED)


def _of_boosted(
    forest: Forest, population: Population, growth: Growth, seeds: Sequence[int]
) -> Iterator[tuple[Units, LeafSums | Undetermined]]:
    inverter = inverters()[growth.library]
    if not inverter.seed or not _can_be_checked(growth):
        return
    told = growth.fact(inverter.seed).value
    tried = (*seeds, inverter.default_seed) if told is None else (int(told),)
    nobody = np.zeros((len(forest.trees), int(population.records)), dtype=np.int64)
    records = by_record(forest.stops, population, nobody)
    classes = len(forest.model.classes)
    case = GrownCase(growth, forest.trees, records.stops, records.people, classes)
    for seed in dict.fromkeys(tried):
        for draws in inverter.draws(case, seed):
            sums = leaf_sums(replace(case, draws=draws.often))
            said = REPLAYED
            if told is None:
                said = FROM_SEED.format(seed)
                draws = replace(draws, facts={**draws.facts, inverter.seed: derived(seed)})
            if isinstance(sums, LeafSums):
                sums = replace(sums, facts={**sums.facts, **draws.facts})
            yield replace(records, draws=_counted(draws.often)), _saying(sums, said)


def _can_be_checked(growth: Growth) -> bool:
    """Return whether each leaf says how many records, or sums of second derivatives, the draws have to agree with."""
    for tree in growth.trees:
        said = [each for each in (tree.counts, tree.hessians) if each is not None]
        if not any((np.isnan(tree.values) | ~np.isnan(each)).all() for each in said):
            return False
    return True


def _counted(often: IntArray) -> IntArray:
    return np.asarray(often, dtype=np.int64)


def _saying(sums: LeafSums | Undetermined, said: str) -> LeafSums | Undetermined:
    return sums if isinstance(sums, Undetermined) else replace(sums, said=(*sums.said, said))
