"""What several releases tell of a column that is to stay secret: exchanges that leave all of them as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.entropy.posterior import certain
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.attributes.witness_exchanges import values_that_stay
from treewarden.audit.partial.ensembles.ensemble_secret import (
    NO_PROOFS,
    NO_SECRET_ESTIMATE,
    TargetUnits,
    target_units,
    value_doubts,
)
from treewarden.audit.partial.ensembles.ensemble_view import ExchangeUnits, exchange_tables
from treewarden.audit.partial.ensembles.release_inference import ReleasesView, closure_said
from treewarden.audit.partial.reachability import Proofs, bound_tables, proofs
from treewarden.audit.partial.secret_column import Secret
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.value_rules import OPEN
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

SECRET_CHANGES = "“{}” differs between the releases or is missing in one, so it was not evaluated"


def infer_release_secret(
    view: ReleasesView, secret: Secret, knowledge: Knowledge, *, knows_target: bool
) -> TargetInference | Undetermined:
    """Return whose secret column could be otherwise in the last release, with all releases as they are.

    ``secret`` is that of the last release's own profiles.
    """
    truth, shared = view.shared.truth, view.shared
    units = _target_units(view, knows_target=knows_target)
    if units is None:
        return Undetermined("the tables do not contain what the models predict for each person")
    places = _secret_places(view, secret)
    if places is None:
        return Undetermined(SECRET_CHANGES.format(secret.name))
    doubts = [*view.doubts(knowledge)]
    for part in view.views:
        if secret.name in part.population.qi:
            own = replace(secret, of=secret.places(part.population.columns[secret.name]))
            known = target_units(part.forest, part.population)
            doubts += value_doubts(part, own, known, knows_target=knows_target)
    told = view.outcome() if not isinstance(truth, Undetermined) else None
    people, row_of_unit = _secret_rows(view, secret, units, places, knows_target=knows_target)
    possible = np.zeros(people.truth.shape, dtype=bool)  # type: ignore[union-attr]  # it is known
    if not doubts:
        own_value = np.full(len(units.value), OPEN, dtype=np.intp)
        if knows_target:
            own_value = units.value
        elif told is not None:
            own_value = told[units.profile]
        tables = exchange_tables(
            view.stops, ExchangeUnits(units.people, units.profile, units.value, own_value)
        )
        allowed = np.zeros((len(tables.value_of_column), len(secret.values)))
        np.logical_or.at(
            allowed, tables.column_of_unit, _staying(view, secret, places)[units.profile]
        )
        of_row = proofs(tables.net, allowed, allowed).possible[tables.row_of_unit]
        is_here = row_of_unit >= 0
        np.logical_or.at(possible, row_of_unit[is_here], of_row[is_here])
    nothing = np.zeros_like(possible)
    worlds = bound_tables(people, Proofs(nothing, nothing, possible), is_exact=not doubts)
    if worlds.open_profiles.any() or worlds.open_exclusions.any():
        left = (*dict.fromkeys(doubts), NO_PROOFS)
        worlds = replace(worlds, left=left, not_decided=left)
    here = view.last
    share = (
        np.bincount(places[here], shared.counts[here], len(secret.values))
        / shared.counts[here].sum()
    )
    return TargetInference(
        population=people,
        posterior=NO_SECRET_ESTIMATE,
        worlds=worlds,
        doubts=tuple(dict.fromkeys(doubts)),
        gap=0.0,
        said=closure_said(view),
        prior=certain(np.tile(share, (len(people.counts), 1))),
    )


def _target_units(view: ReleasesView, *, knows_target: bool) -> TargetUnits | None:
    """Return the groups of all releases by what the models predict of them; None where that is not known and has to be.

    Where nobody knows it, it goes with the places where people stop, and need not be told apart.
    """
    truth, held, counts = view.shared.truth, view.shared.each_number, view.shared.counts
    groups = np.arange(len(counts))
    if not isinstance(truth, Undetermined):
        group, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
        classes = view.views[-1].forest.model.classes
        column = CategoricalColumn(np.arange(len(classes)), classes)
        return TargetUnits(truth[group, klass], group, klass, column)
    if not knows_target:
        return TargetUnits(counts, groups, np.zeros_like(groups), NumericColumn(np.zeros(1)))
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
        target = last.population.sensitive or last.forest.model.target or "the target"
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
