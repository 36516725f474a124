"""Witness tables of several trees: people exchange all their hidden values, and so the places where they stop.

Where somebody's known values allow the place of somebody else in every tree, and the other way round, the two can
exchange all that the adversary does not know of them, the value that the model predicts with it. Then as many people of
each class, or with each number, stop at each place as before. All that trees say of their leaves follows from that:
counts, sums, means, impurities, and the values of boosted leaves, which are functions of who is at which place. So
every way to spread people over the places where somebody stops, within what their known values allow, is a table that
fits the whole file, whatever it says. Such ways form a transportation polytope, of which all is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.ensembles.ensemble_view import EnsembleView, TreeStops
from treewarden.audit.partial.fitting.flows import Network, network
from treewarden.audit.partial.unmodelled_knowledge import FACTS_NOT_USED
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble

DRAWS_KNOWN = (
    "whoever knows in which order the records stood can repeat which of them each tree drew: what that tells an "
    "adversary who knows some columns is not worked out"
)
OTHER_PARTS = "the model has parts that are no trees, which may say more"
MOST_PAIRS = 4_000_000
"""Lumps times places that are looked at; of more places only some can be taken over, which leaves tables out."""
CHUNK = 2_000_000
"""Pairs that are looked at a time, at first."""


def place_doubts(
    view: EnsembleView, knowledge: Knowledge, *, are_draws_known: bool
) -> tuple[str, ...]:
    """Return why more may be known than exchanges leave as it is."""
    model = view.forest.model
    found = [FACTS_NOT_USED] if knowledge.facts else []
    found += [view.place_doubt] if view.place_doubt else []
    found += [DRAWS_KNOWN] if are_draws_known else []
    if isinstance(model, Ensemble) and any(True for _ in model.others):
        found.append(OTHER_PARTS)
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeUnits:
    """People as exchanges see them, U units of one profile and one value: ``people`` (U,) of them.

    ``value`` (U,) is the number of each unit's value, ``own_value`` (U,) the one that the adversary knows of it, -1
    where none is known.
    """

    people: FloatArray
    profile: IndexArray
    value: IndexArray
    own_value: IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeTables:
    """All tables that exchanges lead to: ``net`` spreads rows of people over columns, each a place with a value.

    ``row_of_unit`` (U,) is the row of each unit of people, ``column_of_unit`` (U,) its column, ``value_of_column`` (V,)
    the value there, and ``unit_of_column`` (V,) a unit that is there.
    """

    net: Network
    row_of_unit: IndexArray
    column_of_unit: IndexArray
    value_of_column: IndexArray
    unit_of_column: IndexArray


def exchange_tables(stops: Sequence[TreeStops], units: ExchangeUnits) -> ExchangeTables:
    """Return all tables that exchanges of hidden values lead to from the true one."""
    lumps = np.stack([tree.lump_of_profile for tree in stops])[:, units.profile]
    leaves = np.stack([tree.leaf_of_profile for tree in stops])[:, units.profile]
    row_of_unit, row_unit = _numbered(lumps, units.own_value)
    column_of_unit, column_unit = _numbered(leaves, units.value)
    rows, columns = _pairs(stops, units, row_unit, column_unit)
    shape = len(row_unit), len(column_unit)
    ones = np.ones(len(units.people))
    arcs = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    own = sparse.coo_array((ones, (row_of_unit, column_of_unit)), shape=shape).tocsr()
    arcs = sparse.csr_array(arcs + own)
    arcs.data[:] = 1.0
    held = sparse.coo_array((units.people, (row_of_unit, column_of_unit)), shape=shape).tocsr()
    return ExchangeTables(
        net=network(arcs, sparse.csr_array(held)),
        row_of_unit=row_of_unit,
        column_of_unit=column_of_unit,
        value_of_column=units.value[column_unit],
        unit_of_column=column_unit,
    )


def _numbered(keys: IndexArray, last: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the number of each unit's keys (T, U) with its last one (U,), and the first unit of each number."""
    number = last - last.min(initial=0)
    for key in keys:
        both = number * (int(key.max(initial=0)) + 1) + key
        number = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.intp)
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return number.reshape(-1), first


def _pairs(
    stops: Sequence[TreeStops],
    units: ExchangeUnits,
    row_unit: IndexArray,
    column_unit: IndexArray,
) -> tuple[IndexArray, IndexArray]:
    """Return which rows can be at which columns, pair by pair: some of them, where there are too many."""
    most = max(MOST_PAIRS // max(len(row_unit), 1), 1)
    every = -(-len(column_unit) // most)
    chosen = np.arange(0, len(column_unit), every)
    rows, columns = [], []
    step = max(CHUNK // max(len(chosen), 1), 1)
    row_profile, column_profile = units.profile[row_unit], units.profile[column_unit]
    for start in range(0, len(row_unit), step):
        some = np.arange(start, min(start + step, len(row_unit)))
        row, column = (each.reshape(-1) for each in np.meshgrid(some, chosen, indexing="ij"))
        told = units.own_value[row_unit][row]
        is_left = (told < 0) | (told == units.value[column_unit][column])
        row, column = row[is_left], column[is_left]
        for tree in stops:
            lump = tree.lump_of_profile[row_profile[row]]
            leaf = tree.leaf_of_profile[column_profile[column]]
            is_left = tree.allows(lump, leaf)
            row, column = row[is_left], column[is_left]
        rows.append(row)
        columns.append(column)
    return np.concatenate(rows), np.concatenate(columns)
