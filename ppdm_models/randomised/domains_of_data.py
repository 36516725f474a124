"""Domains as they are in the data, where nobody declared them: that gives away the least and the largest value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.errors import DomainError
from treewarden.ppdm_models.randomised.cells import Cells
from treewarden.ppdm_models.randomised.domains import Domain, impossible
from treewarden.ppdm_models.records.batches import Batches


def domains_of_data(table: Batches, names: Sequence[str]) -> dict[str, Domain]:
    """Return the domains of numeric columns as they are in the data: from the least to the largest value.

    Raises:
        TableError: the file cannot be read to its end, or a cell holds no finite number.
        DomainError: all values of a column are one, or there is none, or they are too large.
    """
    least, largest = dict.fromkeys(names, math.inf), dict.fromkeys(names, -math.inf)
    is_whole = dict.fromkeys(names, True)
    first = 1
    for batch in table.read(names):
        for name in names:
            values = Cells(table.source, name, first, batch.column(name)).numbers()
            values = values[~np.isnan(values)]
            if len(values):
                least[name] = min(least[name], float(values.min()))
                largest[name] = max(largest[name], float(values.max()))
                is_whole[name] = is_whole[name] and bool((values == np.floor(values)).all())
        first += batch.num_rows
    return {
        name: _of_data(table, name, least[name], largest[name], is_whole[name]) for name in names
    }


def _of_data(table: Batches, name: str, low: float, high: float, is_whole: bool) -> Domain:
    problem = ""
    if low > high:
        problem = "holds no value; leave it out with --drop"
    elif low == high:
        problem = (
            "holds one value only, so there is nothing to hide in it; leave it out with --drop"
        )
    elif impossible(low, high):
        problem = f"holds {impossible(low, high)}"
    if problem:
        raise DomainError(table.source, f"column {name!r} {problem}")
    return Domain(name, low, high, is_whole=is_whole, origin="data")
