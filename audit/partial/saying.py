"""What other columns say of a secret one in the table: who is known to be a husband is known to be a man.

Of a column that somebody knows, it is said of people; of one that he does not know, of the values that a path leaves
open. Whether he knows of that is open, so it is taken beside what follows without it, never in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.partial.dependencies import SURPRISE, Codes, given_away
from treewarden.audit.partial.domains import Domain
from treewarden.audit.partial.secret import Secret, telling
from treewarden.audit.partial.walk import Masks
from treewarden.audit.people.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

SECRET = ""
"""What the secret is called among the people's columns, by its values or bins: no column is called that."""
OPEN = -1
"""The place of a secret value that nothing is said of."""


@dataclass(frozen=True, slots=True)
class Said:
    """The place of the secret's value that is said of each profile, (P,), and of each value of hidden columns.

    ``of_hidden`` holds one array a column, (D,), over its domain; ``of_class`` is what each class says, where
    everybody's is known. ``by`` are the columns that say something, ``people`` how many it is said of.
    """

    of_profile: IndexArray
    of_hidden: Mapping[str, IndexArray]
    of_class: tuple[int, ...]
    by: tuple[str, ...]
    people: float

    def for_class(self, number: int) -> Said:
        """Return what is said of the people of one class, by its number among those that are known."""
        if not self.of_class or self.of_class[number] == OPEN:
            return self
        return replace(self, of_profile=np.full_like(self.of_profile, self.of_class[number]))

    def of(self, profiles: IndexArray) -> Said:
        """Return the same for some of the profiles."""
        return replace(self, of_profile=self.of_profile[profiles])

    def left(self, masks: Masks, place: IndexArray) -> BoolArray:
        """Return which of the secret's values, at these places, (D,), a path's masks of other columns leave open."""
        left = np.ones(len(place), dtype=bool)
        for name, said in self.of_hidden.items():
            if name in masks:
                values = said[masks[name]]
                if (values != OPEN).all():
                    left &= np.isin(place, values)
        return left


def said_of(
    table: Codes,
    secret: Secret,
    known: Collection[str],
    values: Mapping[str, BoolArray],
    hidden: Mapping[str, Domain],
    of: IndexArray,
    size: int,
    classes: Sequence[FloatArray] = (),
    target: str = "",
    outcome: IndexArray | None = None,
) -> Said | None:
    """Return what columns say of a secret to somebody who knows some of them; None where they say nothing.

    ``of`` (P,) is the place among ``size`` profiles of each of the table's, by what he knows; ``values`` say of
    which of the table's profiles he knows the value of a hidden column, (P,). ``classes`` are how many people of
    each profile have each class, (P,) each, where he knows everybody's, in the column ``target``; or knows that of some
    people, ``outcome`` (P,) the place among these, ``OPEN`` of the others.
    """
    population = table.population
    names = dict.fromkeys((*known, *values, *hidden))
    told = {name: telling(table, secret, name) for name in names if name != secret.name}
    told = {name: each for name, each in told.items() if each.any()}
    of_class = _of_classes(population, secret, classes)
    if not told and max(of_class, default=OPEN) == OPEN:
        return None
    of_profile, people = np.full(size, OPEN, dtype=np.intp), np.zeros(len(population.counts), bool)
    for name, each in told.items():
        if name in known or name in values:
            sure = each if name in known else each & values[name]
            of_profile[of[sure]] = secret.of[sure]
        people |= each
    of_hidden = {
        name: _of_values(hidden[name], given_away(population, name, secret.of), secret.of)
        for name, each in told.items()
        if name in hidden
    }
    by, number = tuple(told), population.counts.copy()
    if outcome is not None:
        value = np.append(np.array(of_class, dtype=np.intp), OPEN)[outcome]
        sure = value != OPEN
        of_profile[of[sure]] = value[sure]
        people |= sure
        by = (*by, target) if sure.any() else by
        of_class = ()
    if max(of_class, default=OPEN) != OPEN:
        by = (*by, target)
        said = [own for own, value in zip(classes, of_class, strict=True) if value != OPEN]
        number = np.where(people, number, np.sum(said, axis=0))
        people[:] = True
    return Said(of_profile, of_hidden, of_class, by, float(number[people].sum()))


def excluding(population: Population, secret: Secret, columns: Collection[str]) -> list[str]:
    """Return which of these columns exclude some values of a secret of people whom they do not say it of.

    Who is known for no clerk by a column of yes and no may be anything else; some values of the secret say the column.
    """
    found = []
    as_column = CategoricalColumn(secret.of, secret.values)
    people = replace(population, columns={**population.columns, SECRET: as_column})
    for name in columns:
        if name == secret.name:
            continue
        codes = np.unique(population.columns[name].keys, return_inverse=True)[1].reshape(-1)
        is_said = given_away(people, SECRET, codes)
        rest = codes[~given_away(population, name, secret.of)]
        if any((rest != code).any() for code in np.unique(codes[is_said])):
            found.append(name)
    return found


def _of_classes(
    population: Population, secret: Secret, classes: Sequence[FloatArray]
) -> tuple[int, ...]:
    """Return the place of the secret's value that all people of each class have, and not by chance; else ``OPEN``."""
    size = len(secret.values)
    share = np.bincount(secret.of, population.counts, size) / population.records
    found = []
    for own in classes:
        held = np.bincount(secret.of, own, size)
        value = int(held.argmax())
        is_said = held[value] == held.sum() and -held.sum() * np.log(share[value]) >= SURPRISE
        found.append(value if is_said else OPEN)
    return tuple(found)


def _of_values(domain: Domain, told: BoolArray, secret: IndexArray) -> IndexArray:
    """Return what each value of a hidden column says, (D,); a number that nobody has says what those beside it do."""
    found = np.full(len(domain), OPEN, dtype=np.intp)
    found[domain.of[told]] = secret[told]
    if isinstance(domain.values, NumericColumn):
        there = np.flatnonzero((domain.share > 0) & ~domain.values.missing)
        nobody = np.flatnonzero((domain.share == 0) & ~domain.values.missing)
        if len(there):
            after = np.searchsorted(there, nobody)
            low = found[there[np.maximum(after - 1, 0)]]
            high = found[there[np.minimum(after, len(there) - 1)]]
            found[nobody] = np.where(low == high, low, OPEN)
    return found
