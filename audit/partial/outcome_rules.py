"""What known columns imply of the class that the tree predicts: the code of a diagnosis says it without any tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.knowledge.declared import words_of
from treewarden.audit.partial.functional_dependencies import (
    implied_profiles,
    implies_everywhere,
)
from treewarden.audit.partial.value_rules import OPEN
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Tree

# What known columns say of what the tree predicts: who is told the code of a diagnosis needs no tree to know it.
#
# What a column that the tree tests says of some people is what the tree was grown from, and what of it is published
# is what is asked; only a code of the target, which says everybody's, is known by itself. Of other columns all counts
# that is no chance.

TARGET = ""
"""What the target is called among the people's columns here: no column is called that."""
NOTHING: Mapping[str, BoolArray] = {}
SAYING = "in this table {} what {} is, of {:,.0f} people"
SPANNING = f"{SAYING}: the readings span what follows of that and what follows without it"
NOT_USED = f"{SAYING}, which is not used: it may prove more"


@dataclass(frozen=True, slots=True)
class ImpliedClasses:
    """The class that is said of each profile, (P,), ``OPEN`` where none is; by which columns, of how many people."""

    of: IndexArray
    by: tuple[str, ...]
    people: float

    def words(self, sentence: str, target: str) -> str:
        """Return in words what is said of the target."""
        values = "" if (self.of != OPEN).all() else "some values of "
        verb = "says" if len(self.by) == 1 and not values else "say"
        return sentence.format(f"{values}{words_of(self.by)} {verb}", target, self.people)


def imply_classes(
    tested: Collection[str],
    population: Population,
    columns: Collection[str],
    values: Mapping[str, BoolArray] = NOTHING,
) -> ImpliedClasses | None:
    """Return what known columns say of people's classes; None where they say none.

    ``tested`` are the columns that the tree tests. ``values`` say of which profiles the value of a hidden column is
    known, (P,).
    """
    people, profile, klass = _by_class(population)
    told, by = np.zeros(len(profile), dtype=bool), []
    for name in dict.fromkeys((*columns, *values)):
        own = _implied_class(people, name, klass, is_tested=name in tested)
        if name not in columns:
            own &= values[name][profile]
        if own.any():
            told |= own
            by.append(name)
    if not by:
        return None
    of = np.full(len(population.counts), OPEN, dtype=np.intp)
    of[profile[told]] = klass[told]
    return ImpliedClasses(of, tuple(by), float(people.counts[told].sum()))


def target_of(tree: Tree, population: Population) -> str:
    """Return what the tree predicts, in words."""
    return population.sensitive or tree.target or "the target"


def outcome_columns(
    tested: Collection[str], population: Population, columns: Collection[str]
) -> list[str]:
    """Return which of these columns say what the target of some people is."""
    people, _, klass = _by_class(population)
    return [
        name
        for name in columns
        if _implied_class(people, name, klass, is_tested=name in tested).any()
    ]


def _implied_class(
    people: Population, name: str, klass: IndexArray, *, is_tested: bool
) -> BoolArray:
    if is_tested and not implies_everywhere(people, name, TARGET):
        return np.zeros(len(klass), dtype=bool)
    return implied_profiles(people, name, klass)


def _by_class(population: Population) -> tuple[Population, IndexArray, IndexArray]:
    """Return the people told apart by their class too, and the profile and class of each row; nobody without truth."""
    truth = population.truth
    if isinstance(truth, Undetermined):
        truth = np.zeros((len(population.counts), 1))
    profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    names = tuple(str(each) for each in range(truth.shape[1]))
    columns = {name: column.take(profile) for name, column in population.columns.items()}
    columns[TARGET] = CategoricalColumn(klass, names)
    people = replace(population, columns=columns, counts=truth[profile, klass])
    return people, profile, klass
