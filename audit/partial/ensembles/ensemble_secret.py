"""Attribute inference of any trees, by exchanges: whose secret column could hold another value, whatever a file says.

Two people who allow each other's places in all trees can exchange all hidden values, the secret among them; and whoever
stops at the same place with another value of the secret can have that value. Tables of both kinds fit all that trees
say of their leaves, of classes or of numbers. Nothing is proved here: what counts prove is worked out tree by tree.

Of several releases, exchanges that leave all of them as they are tell the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.entropy.posterior import certain
from treewarden.audit.knowledge.levels import words_of
from treewarden.audit.partial.attributes.attribute_inference import EXCLUDING, ONE_ATTRIBUTE
from treewarden.audit.partial.attributes.witness_exchanges import values_that_stay
from treewarden.audit.partial.ensembles.ensemble_view import (
    EnsembleView,
    ExchangeUnits,
    exchange_tables,
)
from treewarden.audit.partial.ensembles.release_inference import ReleasesView
from treewarden.audit.partial.functional_dependencies import Codes
from treewarden.audit.partial.reachability import Proofs, bound_tables, proofs
from treewarden.audit.partial.secret_values import Secret, distinguished_values
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.unmodelled_knowledge import NOT_WHOLE
from treewarden.audit.partial.value_rules import (
    OPEN,
    excluding_columns,
    imply_values,
    indicators_of_secret,
    target_of,
)
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn

NO_SECRET_ESTIMATE = Undetermined(
    "no inference: probabilities of a column are not computed for this model"
)
NO_PROOFS = (
    "proofs about a column are not computed for this model. For some people, another "
    "consistent table refutes a proof; the others are not decided"
)
IMPLIED_NOT_USED = (
    "in this table, some values of {} determine {}, for {:,.0f} people. This is not used, "
    "and may prove more"
)
NO_TARGETS = Undetermined("the table does not contain what the model predicts for each person")
NO_TARGETS_OF_RELEASES = Undetermined(
    "the tables do not contain what the models predict for each person"
)


@dataclass(frozen=True, slots=True, eq=False)
class TargetUnits:
    """People of one profile and one value of what the model predicts, U units: ``value`` (U,) is its number.

    ``column`` is what the model predicts, by number of the value. Where that is not known, all have the same.
    """

    people: FloatArray
    profile: IndexArray
    value: IndexArray
    column: Column


def target_units(forest: Forest, population: Population) -> TargetUnits | None:
    """Return the people by profile and by what a model predicts of them; None where that is not known."""
    truth, own = population.truth, population.contributions
    if not isinstance(truth, Undetermined):
        profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
        classes = forest.model.classes
        return TargetUnits(
            truth[profile, klass],
            profile,
            klass,
            CategoricalColumn(np.arange(len(classes)), classes),
        )
    if own is None or own.amounts is None:
        return None
    amounts, value = np.unique(own.amounts, return_inverse=True)
    return TargetUnits(own.people, own.profiles, value.reshape(-1), NumericColumn(amounts))


def with_shown_tables(
    inference: TargetInference, exchanges: TargetInference | Undetermined
) -> TargetInference:
    """Return an inference with the tables that exchanges show, where they are of the same people and not in doubt."""
    if isinstance(exchanges, Undetermined) or exchanges.doubts:
        return inference
    own, more = inference.worlds, exchanges.worlds
    if isinstance(own, Undetermined) or isinstance(more, Undetermined):
        return inference
    is_same = inference.population.qi == exchanges.population.qi
    if not is_same or not np.array_equal(own.counts, more.counts):
        return inference
    worlds = own.reaching(more.reached_low, more.reached_high)
    return replace(inference, worlds=worlds if worlds.is_open else worlds.leaving(()))


def value_doubts(
    view: EnsembleView, secret: Secret, units: TargetUnits | None, *, knows_target: bool
) -> tuple[str, ...]:
    """Return why more may be known: other columns, or what is predicted, say or exclude values of the secret."""
    population, closure = view.population, view.told.closure
    table = Codes(population, distinguished_values(view.forest.trees, population.columns))
    names = tuple(dict.fromkeys((*closure.known, *closure.values, *view.told.hidden)))
    by_value: list[FloatArray] = []
    if knows_target and units is not None:
        size = len(population.counts)
        for value in np.unique(units.value).tolist():
            own = np.where(units.value == value, units.people, 0.0)
            by_value.append(np.bincount(units.profile, own, size).astype(np.float64))
    target = target_of(view.forest.model, population)
    implied = imply_values(table, secret, view.told, by_value, target)
    found = []
    if implied is not None:
        found.append(
            IMPLIED_NOT_USED.format(words_of(list(implied.by)), secret.name, implied.people)
        )
    parts = indicators_of_secret(table, secret, names)
    found += [ONE_ATTRIBUTE.format(words_of(parts), secret.name)] if parts else []
    excluded = excluding_columns(table, secret, names)
    found += [EXCLUDING.format(words_of(excluded), secret.name)] if excluded else []
    return tuple(found)


SECRET_CHANGES = "“{}” differs between the releases or is missing in one, so it was not evaluated"


def infer_secret_by_exchanges(
    view: ReleasesView, secret: Secret, *, knows_target: bool
) -> TargetInference | Undetermined:
    """Return whose secret column could be otherwise in the last release, with all releases as they are.

    ``secret`` is that of the last release's own profiles. The rows are people told apart by their known columns, those
    of each predicted value after the other.
    """
    shared = view.shared
    if (shared.counts != np.rint(shared.counts)).any():
        return NOT_WHOLE
    units = _target_units(view, knows_target=knows_target)
    if units is None:
        return NO_TARGETS if len(view.views) == 1 else NO_TARGETS_OF_RELEASES
    places = _secret_places(view, secret)
    if places is None:
        return Undetermined(SECRET_CHANGES.format(secret.name))
    found = [*view.doubts]
    for part in view.views:
        if secret.name in part.population.qi:
            own = replace(secret, of=secret.places(part.population.columns[secret.name]))
            known = target_units(part.forest, part.population)
            found += value_doubts(part, own, known, knows_target=knows_target)
    doubts = tuple(dict.fromkeys(found))
    people, row_of_unit = _secret_rows(view, secret, units, places, knows_target=knows_target)
    possible = np.zeros(people.truth.shape, dtype=bool)  # type: ignore[union-attr]  # it is known
    if not doubts:
        of_unit = _possible_values(view, secret, units, places, knows_target=knows_target)
        is_here = row_of_unit >= 0
        np.logical_or.at(possible, row_of_unit[is_here], of_unit[is_here])
    nothing = np.zeros_like(possible)
    worlds = bound_tables(people, Proofs(nothing, nothing, possible), is_exact=not doubts)
    counts, here = shared.counts[view.last], places[view.last]
    share = np.bincount(here, counts, len(secret.values)) / counts.sum()
    return TargetInference(
        population=people,
        posterior=NO_SECRET_ESTIMATE,
        worlds=worlds.leaving((*doubts, NO_PROOFS)),
        doubts=doubts,
        gap=0.0,
        said=view.implied_words,
        prior=certain(np.tile(share, (len(people.counts), 1))),
    )


def _possible_values(
    view: ReleasesView,
    secret: Secret,
    units: TargetUnits,
    places: IndexArray,
    *,
    knows_target: bool,
) -> BoolArray:
    """Return which values of the secret somebody of each unit has in a table that exchanges lead to, (U, B)."""
    known = np.full(len(units.value), OPEN, dtype=np.intp)
    if knows_target:
        known = units.value
    elif not isinstance(view.shared.truth, Undetermined):
        known = view.outcome()[units.profile]
    exchange_units = ExchangeUnits(units.people, units.profile, units.value, known)
    tables = exchange_tables(view.stops, exchange_units.keeping(view.is_of_fact))
    allowed = np.zeros((len(tables.value_of_column), len(secret.values)))
    stays = _staying(view, secret, places)[units.profile]
    np.logical_or.at(allowed, tables.column_of_unit, stays)
    return proofs(tables.net, allowed, allowed).possible[tables.row_of_unit]


def _target_units(view: ReleasesView, *, knows_target: bool) -> TargetUnits | None:
    """Return the groups of all releases by what the models predict of them; None where that is not known and has to be.

    Where nobody knows it, it goes with the places where people stop, and need not be told apart.
    """
    if len(view.views) == 1:
        return target_units(view.views[0].forest, view.views[0].population)
    truth, held, counts = view.shared.truth, view.shared.each_number, view.shared.counts
    groups = np.arange(len(counts))
    if not isinstance(truth, Undetermined):
        group, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
        classes = view.views[-1].forest.model.classes
        column = CategoricalColumn(np.arange(len(classes)), classes)
        return TargetUnits(truth[group, klass], group, klass, column)
    if not knows_target:
        value = np.where(view.is_of_fact, groups + 1, 0)  # whom a fact is about keeps the number
        return TargetUnits(counts, groups, value, NumericColumn(np.zeros(1)))
    if held is None:
        return None
    values, value = np.unique(held.number, return_inverse=True)
    return TargetUnits(held.people, held.group, value.reshape(-1), NumericColumn(values))


def _secret_places(view: ReleasesView, secret: Secret) -> IndexArray | None:
    """Return the place of the secret's value of each group, (U,); None where releases do not agree on it."""
    found = np.full(len(view.shared.counts), OPEN, dtype=np.intp)
    for part, places in zip(view.views, view.shared.places, strict=True):
        if secret.name not in part.population.qi:
            return None
        try:
            own = secret.places(part.population.columns[secret.name])[np.maximum(places, 0)]
        except KeyError:
            return None  # a value that nobody in the last release has
        here = places >= 0
        if ((found != own) & (found != OPEN) & here).any():
            return None
        found = np.where(here, own, found)
    return found


def _staying(view: ReleasesView, secret: Secret, places: IndexArray) -> BoolArray:
    """Return with which values of the secret each group stops where it does in all releases, (U, B)."""
    stays = np.ones((len(places), len(secret.values)), dtype=bool)
    for part, at in zip(view.views, view.shared.places, strict=True):
        population = part.population
        own = replace(secret, of=secret.places(population.columns[secret.name]))
        found = values_that_stay(part.forest.trees, population, own)
        stays &= np.where((at >= 0)[:, None], found[np.maximum(at, 0)], True)
    return stays


def _secret_rows(
    view: ReleasesView,
    secret: Secret,
    units: TargetUnits,
    places: IndexArray,
    *,
    knows_target: bool,
) -> tuple[Population, IndexArray]:
    """Return the last release's people as the adversary tells them apart, and the row of each unit, -1 of others."""
    people, row_of_group = view.told_apart
    groups, values = len(people.counts), len(secret.values)
    row = np.full(len(places), -1, dtype=np.intp)
    row[view.last] = row_of_group
    row = row[units.profile]
    here = np.flatnonzero(row >= 0)
    part = units.value[here] if knows_target else np.zeros(len(here), dtype=np.intp)
    keys, own = np.unique(part * groups + row[here], return_inverse=True)
    row[here] = own.reshape(-1)
    cell = row[here] * values + places[units.profile[here]]
    truth = np.bincount(cell, units.people[here], len(keys) * values).reshape(len(keys), values)
    columns = {name: column.take(keys % groups) for name, column in people.columns.items()}
    qi = people.qi
    if knows_target:
        last = view.views[-1]
        target = target_of(last.forest.model, last.population)
        columns[target] = units.column.take(keys // groups)
        qi = (*qi, target)
    people = replace(
        people,
        qi=qi,
        columns=columns,
        counts=truth.sum(axis=1),
        leaf=np.full(len(keys), -1, dtype=np.intp),
        truth=truth.astype(np.float64),
        weight=None if people.weight is None else people.weight[keys % groups],
    )
    return people, row
