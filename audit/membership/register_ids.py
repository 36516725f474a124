"""A register matched to the table by ids: who of the table is in it, whom it lacks, and where the two contradict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.membership.candidates import joined_columns, kinds_of
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import Column


@dataclass(frozen=True, slots=True, eq=False)
class IdMatch:
    """Records of a table by their ids in a register: ``lacking`` are rows of the table whose id it does not have.

    ``contradicting`` are how many others have another value there, by the column; a record may count in several.
    """

    lacking: IndexArray
    contradicting: Mapping[str, int]


def match_by_id(
    table: Population, register: Population, ids: tuple[IndexArray, IndexArray]
) -> IdMatch:
    """Return who is where; ``ids`` are the numbers of the persons of both, by record, one record each.

    Raises:
        ValueError: rows of one of the two are no people.
    """
    if table.order is None or register.order is None:
        raise ValueError("records are matched by id where each is one person")
    own, theirs = ids
    place = np.full(1 + max(int(own.max()), int(theirs.max())), -1, dtype=np.intp)
    place[theirs] = np.arange(len(theirs))
    there = place[own]
    rows = np.flatnonzero(there >= 0)
    one = table.order.profiles[rows]
    other = len(table.counts) + register.order.profiles[there[rows]]
    found: dict[str, int] = {}
    for name, column in joined_columns(table, register).items():
        kinds = kinds_of([column])[1]
        found[name] = int((kinds[one] != kinds[other]).sum())
    classes = table.order.classes, register.order.classes
    if classes[0] is not None and classes[1] is not None:
        is_other = classes[0][rows] != classes[1][there[rows]]
        found[table.sensitive] = int(is_other.sum())
    contradicting = {name: number for name, number in found.items() if number}
    return IdMatch(np.flatnonzero(there < 0), contradicting)


def with_people(register: Population, table: Population, rows: IndexArray) -> Population:
    """Return a register with some records of the table, as people of it.

    Raises:
        ValueError: rows of the table are no people.
    """
    if table.order is None:
        raise ValueError("records are added where each is one person")
    profiles = table.order.profiles[rows]
    added = np.bincount(profiles, minlength=len(table.counts)).astype(np.float64)
    truth: FloatArray | Undetermined = register.truth
    if not isinstance(truth, Undetermined):
        size = truth.shape[1]
        more = np.zeros((len(table.counts), size))
        if table.order.classes is not None:
            np.add.at(more, (profiles, table.order.classes[rows]), 1.0)
        truth = np.concatenate([more, truth])
    columns: dict[str, Column] = joined_columns(table, register)
    return replace(
        register,
        columns=columns,
        counts=np.concatenate([added, register.counts]),
        leaf=np.concatenate([table.leaf, register.leaf]),
        truth=truth,
        order=None,
    )
