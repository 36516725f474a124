"""The runs of the study of ensembles: what is certain, guessed and predicted right of the people of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from benchmarks.studies.ensembles_data import ID, LABEL, Data
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import facts_of, settings_of
from treewarden.audit.joint.ensemble_inference import JoinedTrees, join_trees
from treewarden.audit.joint.releases import ReleaseView, join_releases
from treewarden.audit.population.forest import accuracy_of, forest_of, said_by
from treewarden.audit.population.linked_population import KnownGroups, shared_people
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.progress import FOREVER, work_clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import values_of
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import Proposal
from treewarden.policies.remedies.round_leaves import DIGITS
from treewarden.policies.remedies.round_leaves import REMEDY as ROUND
from treewarden.ppdm_models.files.load import OpenedFile, open_model
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tables.frames import table_of_frame
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model


@dataclass(frozen=True)
class Shares:
    """Shares of all people: proved by one leaf, by all, guessed right, predicted right; None where it is not known.

    ``recovered`` is the share of leaves with exact sums; ``problem`` why nothing could be told, "" where it could.
    """

    trees: int
    by_leaf: float | None = None
    certain: float | None = None
    guessed: float | None = None
    predicted: float | None = None
    recovered: float | None = None
    problem: str = ""


def people_of(model: Model, data: Data) -> Population:
    """Return the people of a model's table."""
    return build_population(model, table_of_frame(data.table), sensitive=LABEL)


def rounded(file: OpenedFile, data: Data, digits: int) -> tuple[OpenedFile, dict[str, float]]:
    """Return a file with leaf values of so many binary digits, and the settings that it tells no longer."""
    people = people_of(file.model, data)
    forest = forest_of(file.model, people)
    _, *made = ROUND.propose_all(forest, people, load_pack("standard"))
    proposal = made[DIGITS.index(digits)]
    assert isinstance(proposal, Proposal)
    assert isinstance(file.opened, Rewritable)
    facts = {name: fact.value for name, fact in facts_of(file.model).items()}
    settings = settings_of(file.model)
    told = {"subsample": 1.0}  # no file says that all trees saw all records
    told |= {name: value for name, value in facts.items() if value is not None and name in settings}
    return open_model(file.opened.rewrite(proposal.model), file.model.source), told


def judged(
    file: OpenedFile,
    data: Data,
    budget: float,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    seeds: Sequence[int] | None = (),
    over_trees: bool = False,
) -> tuple[list[Shares], JoinedTrees | Undetermined]:
    """Return what all trees of a model tell, and with ``over_trees`` what the first ones do before."""
    people = people_of(file.model, data)
    forest = forest_of(file.model, people)
    found = join_trees(
        forest,
        people,
        TimeBudget(work_clock(120.0), budget),
        training=training,
        seeds=seeds,
        over_trees=over_trees,
    )
    trees = len(forest.trees)
    if isinstance(found, Undetermined):
        return [Shares(trees, problem=found.reason)], found
    records = people.records
    sure = (found.bounds.low == found.cells.sizes[:, None]).any(axis=1)
    told = [
        Shares(
            each.trees,
            each.by_leaf / records,
            each.certain / records,
            None if each.guessed is None else each.guessed / records,
            None if each.predicted is None else each.predicted / records,
        )
        for each in found.inference.over_trees[:-1]
    ]
    assert isinstance(file.model, Ensemble)
    right = accuracy_of(file.model, people, said_by(file.model, people.columns))
    told.append(
        Shares(
            trees,
            float(people.counts[found.inference.by_leaf].sum()) / records,
            float(found.cells.sizes[sure].sum()) / records,
            _guessed(found),
            None if isinstance(right, Undetermined) else right.low,
            found.inference.recovered_share,
        )
    )
    return told, found


def _guessed(found: JoinedTrees) -> float | None:
    guess, units = found.bounds.estimate, found.units
    if isinstance(guess, Undetermined) or units.truth is None:
        return None
    best = guess.values.argmax(axis=1)[found.cells.of]
    return float(units.truth[np.arange(len(best)), best].sum() / units.people.sum())


def pinned(file: OpenedFile, data: Data, budget: float) -> tuple[float, float, float] | str:
    """Return of a model of numbers the shares of people whose value is exact, and pinned to 5 % of the range.

    The last one twice: proved, and not ruled out by another table that fits. Else why that could not be told.
    """
    people = people_of(file.model, data)
    found = values_of(forest_of(file.model, people), people, TimeBudget(FOREVER, budget))
    if isinstance(found, Undetermined):
        return found.reason
    of = found.counts / found.counts.sum()
    widest = 0.05 * found.span
    masks = (found.is_exact, found.width <= widest, found.reached <= widest)
    exact, sure, may_be = (float(of[each].sum()) for each in masks)
    return exact, sure, max(sure, may_be)


def accuracy(model: Model, data: Data) -> float | None:
    """Return the share of other records that a model predicts right."""
    people = people_of(model, data)
    assert isinstance(model, Ensemble)
    found = accuracy_of(model, people, said_by(model, people.columns))
    return None if isinstance(found, Undetermined) else found.low


@dataclass(frozen=True)
class Together:
    """Of several releases: the shares of all people who are certain by each alone, and by all; who is new and certain.

    ``newcomers`` are those whom only the last release holds, ``by_last`` of them are certain by it alone.
    """

    alone: tuple[float, ...]
    certain: float
    newcomers: int
    by_last: int
    by_all: int


def together(files: list[OpenedFile], tables: list[pd.DataFrame], budget: float) -> Together:
    """Return what several releases prove together of people whom an id tells apart."""
    read = [table_of_frame(each) for each in tables]
    by_table = {id(each): table for each, table in zip(tables, read, strict=True)}
    own: list[Table] = [by_table[id(each)] for each in tables]
    held, populations = [], []
    for file, table in zip(files, own, strict=True):
        features = [feature.name for feature in file.model.features]
        people = build_population(file.model, table, sensitive=LABEL, qi=features)
        populations.append(people)
        held.append(ReleaseView(forest_of(file.model, people), people))
    shared = shared_people([each.model for each in files], own, populations, ID)
    found = join_releases(held, shared, TimeBudget(work_clock(60.0), budget))
    if isinstance(found, Undetermined):
        raise ValueError(found.reason)
    everybody = float(shared.counts.sum())
    sure = (found.joined.bounds.low == found.joined.cells.sizes[:, None]).any(axis=1)
    sure = sure[found.joined.cells.of]
    new = (shared.places[-1] >= 0) & (shared.places[:-1] < 0).all(axis=0)
    last = (
        join_releases(held[-1:], _last(shared), TimeBudget(work_clock(60.0), budget))
        if new.any()
        else found
    )
    assert not isinstance(last, Undetermined)
    alone = (last.joined.bounds.low == last.joined.cells.sizes[:, None]).any(axis=1)
    return Together(
        tuple((each.alone or 0.0) / each.people for each in found.joined.inference.releases),
        float(shared.counts[sure].sum()) / everybody,
        int(shared.counts[new].sum()),
        int(shared.counts[alone[last.joined.cells.of] & new].sum()) if new.any() else 0,
        int(shared.counts[sure & new].sum()),
    )


def _last(shared: KnownGroups) -> KnownGroups:
    """Return the last release's people as if it were the only one."""
    own = {name: getattr(shared, name)[-1:] for name in ("names", "places", "orders")}
    return replace(shared, **own)
