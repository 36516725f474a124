"""The column that is to stay secret, where that is not the tree's target: its values, or bins of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text

# A column of the people that is to stay secret, where that is not the tree's target: its values, or bins of them.

MOST_VALUES = 10
"""So many different numbers are values by themselves; more need bins."""
MISSING = "(missing)"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret column: its values in words, and the place of each profile's among them, (P,).

    ``ends`` part numbers into bins, each of which holds its lower end; ``numbers`` are values by themselves. Of
    categories both are empty.
    """

    name: str
    values: tuple[str, ...]
    of: IndexArray
    ends: FloatArray
    numbers: FloatArray

    def places(self, column: Column) -> IndexArray:
        """Return the place among the values of each entry of a column; a number between two values is the nearest."""
        lacks = column.missing
        if isinstance(column, CategoricalColumn):
            index = {name: place for place, name in enumerate(self.values)}
            codes = np.array([index[name] for name in column.categories], dtype=np.intp)
            found = codes[np.maximum(column.codes, 0)] if len(codes) else np.zeros(len(column), int)
        elif len(self.ends):
            found = np.digitize(column.numbers, self.ends)
        else:
            between = self.numbers[:-1] / 2 + self.numbers[1:] / 2
            found = np.digitize(column.numbers, between)
        found = np.where(lacks, len(self.values) - 1, found)
        return np.asarray(found, dtype=np.intp)


def secret_of(
    population: Population,
    name: str,
    bins: Sequence[float] | None,
    where: str,
    further_categories: Sequence[str] = (),
) -> Secret:
    """Return a secret column of the people; ``further_categories`` are those that nobody in the table has.

    Raises:
        KnowledgeError: it holds many different numbers and there are no bins, or they part nothing.
    """
    column = population.columns[name]
    nothing = np.zeros(0)
    missing = (MISSING,) if column.missing.any() else ()
    if isinstance(column, CategoricalColumn):
        if bins:
            problem = f"bins divide numbers, but {name!r} contains categories; remove them"
            raise KnowledgeError(where, problem)
        names = tuple(dict.fromkeys((*column.categories, *further_categories)))
        secret = Secret(name, (*names, *missing), np.zeros(0, dtype=np.intp), nothing, nothing)
    else:
        secret = _of_numbers(column, name, bins, where, missing)
    places = secret.places(column)
    if len(np.unique(places)) < 2:
        problem = f"{name!r} has only one value in this table, so there is nothing to protect"
        raise KnowledgeError(where, f"{problem}; name another secret, or other bins")
    return Secret(name, secret.values, places, secret.ends, secret.numbers)


def _of_numbers(
    column: NumericColumn,
    name: str,
    bins: Sequence[float] | None,
    where: str,
    missing: tuple[str, ...],
) -> Secret:
    own, nowhere = np.unique(column.numbers[~column.missing]), np.zeros(0, dtype=np.intp)
    if not bins:
        if len(own) > MOST_VALUES:
            problem = (
                f"the secret {name!r} has {len(own):,} different numbers, too many to protect one by "
                "one; divide them into ranges: --bins 30,60"
            )
            raise KnowledgeError(where, problem)
        texts = tuple(number_text(float(each)) for each in own)
        return Secret(name, (*texts, *missing), nowhere, np.zeros(0), own)
    ends = np.unique(np.array(bins, dtype=np.float64))
    texts = tuple(number_text(float(end)) for end in ends)
    inner = (f"{low} to below {high}" for low, high in zip(texts, texts[1:], strict=False))
    words = (f"below {texts[0]}", *inner, f"{texts[-1]} or more", *missing)
    return Secret(name, words, nowhere, ends, np.zeros(0))
