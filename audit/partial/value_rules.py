"""Value rules: what other columns of the table imply of a secret one or of the target (a husband is a man).

A known column implies it of people; an unknown one, of the values that a path leaves open. A code of a diagnosis
implies the class without any tree. Whether an adversary knows such a rule is open, so results with it are given along
with results without it, never in their place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.knowledge.levels import words_of
from treewarden.audit.partial.functional_dependencies import (
    SURPRISE,
    AdversaryKnowledge,
    Codes,
    implied_profiles,
    implies_everywhere,
    with_implied_columns,
)
from treewarden.audit.partial.partial_view import Masks
from treewarden.audit.partial.secret_values import Secret, ValueKinds
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Model


def indicators_of_secret(table: Codes, secret: Secret, columns: Collection[str]) -> list[str]:
    """Return which of these columns are indicators of one attribute with the secret, or give one of these away."""
    group = {name for group in table.indicators if secret.name in group for name in group}
    return [
        name
        for name in columns
        if name != secret.name and (group - {secret.name}) & _and_what_it_gives(table, secret, name)
    ]


def implying_profiles(table: Codes, secret: Secret, name: str) -> BoolArray:
    """Return of which profiles, (P,), the value of a column says in the table what the secret is: its value or bin.

    What the column gives away of others counts with it.
    """
    population = table.population
    found = np.zeros(len(population.counts), dtype=bool)
    of = secret.places(population.columns[secret.name])
    for each in sorted(_and_what_it_gives(table, secret, name)):
        found |= implied_profiles(table, each, of)
    return found


def implying_columns(table: Codes, secret: Secret, columns: Collection[str]) -> list[str]:
    """Return which of these columns say in the table what the secret is: its value or bin of some people at least."""
    group = indicators_of_secret(table, secret, columns)
    return [
        name
        for name in columns
        if name in group or (name != secret.name and implying_profiles(table, secret, name).any())
    ]


def _and_what_it_gives(table: Codes, secret: Secret, name: str) -> set[str]:
    known, _ = with_implied_columns(table, [name], never=(secret.name,))
    return {name, *known} - {secret.name}


SECRET = ""
"""What the secret is called among the people's columns, by its values or bins: no column is called that."""
OPEN = -1
"""The place of a secret value that nothing is said of."""


@dataclass(frozen=True, slots=True)
class ImpliedValues:
    """The place of the secret's value that is said of each profile, (P,), and of each value of hidden columns.

    ``of_hidden`` holds one array a column, (D,), over its domain; ``of_class`` is what each class says, where
    everybody's is known. ``by`` are the columns that say something, ``people`` how many it is said of.
    """

    of_profile: IndexArray
    of_hidden: Mapping[str, IndexArray]
    of_class: tuple[int, ...]
    by: tuple[str, ...]
    people: float

    def of_rows(self, profile: IndexArray, number: IndexArray) -> ImpliedValues:
        """Return the same of people of these profiles, each of a class by its number among those that are known, (N,).

        What a class says goes before what columns say.
        """
        by_class = np.array(self.of_class, dtype=np.intp)[number]
        of_profile = np.where(by_class == OPEN, self.of_profile[profile], by_class)
        return replace(self, of_profile=of_profile, of_class=())

    def take(self, profiles: IndexArray) -> ImpliedValues:
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


def imply_values(
    table: Codes,
    secret: Secret,
    knowledge: AdversaryKnowledge,
    people_by_class: Sequence[FloatArray] = (),
    target: str = "",
    outcome: IndexArray | None = None,
) -> ImpliedValues | None:
    """Return what columns imply of a secret, for an adversary who knows some of them; None where they imply nothing.

    ``people_by_class`` is how many people of each profile have each class, (P,) each, where everybody's class is known,
    in the column ``target``, or that of some people: ``outcome`` (P,) is its place among these, ``OPEN`` of the others.
    """
    population, of = table.population, knowledge.group_of_profile
    known, values = knowledge.closure.known, knowledge.closure.values
    names = dict.fromkeys((*known, *values, *knowledge.hidden))
    told = {name: implying_profiles(table, secret, name) for name in names if name != secret.name}
    told = {name: each for name, each in told.items() if each.any()}
    of_class = _of_classes(population, secret, people_by_class)
    if not told and max(of_class, default=OPEN) == OPEN:
        return None
    of_profile = np.full(knowledge.groups, OPEN, dtype=np.intp)
    people = np.zeros(len(population.counts), bool)
    for name, each in told.items():
        if name in known or name in values:
            sure = each if name in known else each & values[name]
            of_profile[of[sure]] = secret.of[sure]
        people |= each
    of_hidden = {
        name: _of_values(
            knowledge.hidden[name], implied_profiles(table, name, secret.of), secret.of
        )
        for name in told
        if name in knowledge.hidden
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
        said = [own for own, value in zip(people_by_class, of_class, strict=True) if value != OPEN]
        number = np.where(people, number, np.sum(said, axis=0))
        people[:] = True
    return ImpliedValues(of_profile, of_hidden, of_class, by, float(number[people].sum()))


def excluding_columns(table: Codes, secret: Secret, columns: Collection[str]) -> list[str]:
    """Return which of these columns exclude some values of a secret of people whom they do not say it of.

    Who is known for no clerk by a column of yes and no may be anything else; some values of the secret say the column.
    """
    found, population = [], table.population
    as_column = CategoricalColumn(secret.of, secret.values)
    by_secret = Codes(replace(population, columns={**population.columns, SECRET: as_column}))
    for name in columns:
        if name == secret.name:
            continue
        codes = table.codes_of(name)
        is_said = implied_profiles(by_secret, SECRET, codes)
        rest = codes[~implied_profiles(table, name, secret.of)]
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
    for class_name in classes:
        held = np.bincount(secret.of, class_name, size)
        value = int(held.argmax())
        is_said = held[value] == held.sum() and -held.sum() * np.log(share[value]) >= SURPRISE
        found.append(value if is_said else OPEN)
    return tuple(found)


def _of_values(domain: ValueKinds, is_implied: BoolArray, secret: IndexArray) -> IndexArray:
    """Return what each value of a hidden column says, (D,); a number that nobody has says what those beside it do."""
    found = np.full(len(domain), OPEN, dtype=np.intp)
    found[domain.of[is_implied]] = secret[is_implied]
    if isinstance(domain.values, NumericColumn):
        there = np.flatnonzero((domain.share > 0) & ~domain.values.missing)
        nobody = np.flatnonzero((domain.share == 0) & ~domain.values.missing)
        if len(there):
            after = np.searchsorted(there, nobody)
            low = found[there[np.maximum(after - 1, 0)]]
            high = found[there[np.minimum(after, len(there) - 1)]]
            found[nobody] = np.where(low == high, low, OPEN)
    return found


# What known columns imply of the target: an adversary who knows the code of a diagnosis needs no tree.
#
# What a column that the tree tests says of some people is what the tree was grown from, and what of it is published
# is what is asked; only a code of the target, which says everybody's, is known by itself. Of other columns all counts
# that is no chance.

TARGET = ""
"""What the target is called among the people's columns here: no column is called that."""
NOTHING: Mapping[str, BoolArray] = {}
SAYING = "in this table, {} {}, for {:,.0f} people"
SPANNING = f"{SAYING}. The ranges cover an adversary who uses this and one who does not"
NOT_USED = f"{SAYING}. This is not used, and may prove more"


@dataclass(frozen=True, slots=True)
class ImpliedClasses:
    """The class that is said of each profile, (P,), ``OPEN`` where none is; by which columns, of how many people."""

    of: IndexArray
    by: tuple[str, ...]
    people: float

    def words(self, sentence: str, target: str) -> str:
        """Return in words what is said of the target."""
        values = "" if (self.of != OPEN).all() else "some values of "
        verb = "determines" if len(self.by) == 1 and not values else "determine"
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
    table, profile, klass = _by_class(population)
    told, by = np.zeros(len(profile), dtype=bool), []
    for name in dict.fromkeys((*columns, *values)):
        own = _implied_class(table, name, is_tested=name in tested)
        if name not in columns:
            own &= values[name][profile]
        if own.any():
            told |= own
            by.append(name)
    if not by:
        return None
    of = np.full(len(population.counts), OPEN, dtype=np.intp)
    of[profile[told]] = klass[told]
    return ImpliedClasses(of, tuple(by), float(table.population.counts[told].sum()))


def target_of(model: Model, population: Population) -> str:
    """Return what a model predicts, in words."""
    return population.sensitive or model.target or "the target"


def outcome_columns(
    tested: Collection[str], population: Population, columns: Collection[str]
) -> list[str]:
    """Return which of these columns say what the target of some people is."""
    table, _, _ = _by_class(population)
    return [name for name in columns if _implied_class(table, name, is_tested=name in tested).any()]


def _implied_class(table: Codes, name: str, *, is_tested: bool) -> BoolArray:
    own, _, sure = table.implied(name, TARGET)
    is_code = not is_tested or implies_everywhere(table, name, TARGET)
    return sure[own] if is_code else np.zeros(len(own), dtype=bool)


def _by_class(population: Population) -> tuple[Codes, IndexArray, IndexArray]:
    """Return the people told apart by their class too, and the profile and class of each row; nobody without truth."""
    truth = population.truth
    if isinstance(truth, Undetermined):
        truth = np.zeros((len(population.counts), 1))
    profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    names = tuple(str(each) for each in range(truth.shape[1]))
    columns = {name: column.take(profile) for name, column in population.columns.items()}
    columns[TARGET] = CategoricalColumn(klass, names)
    people = replace(population, columns=columns, counts=truth[profile, klass])
    return Codes(people), profile, klass
