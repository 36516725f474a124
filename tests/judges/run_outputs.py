"""Tries outputs beside a model on small tables, against a list of every labelling that agrees with all that is printed.

    python -m tests.judges.run_outputs --cases 3000 --seed 0

A case draws a table of up to eight people, a tree or two trees that publish their counts, and outputs of different
kinds. What is proved of a profile must hold in every labelling that agrees; what is shown to be possible must be so in
one of them; every row must hold in all of them; and what fulfils the stronger rows must agree. Prints the seed of
every miss, and how much of what is certain was proved; the exit code is 1 where there is a miss.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tests.judges import outputs_by_hand as by_hand
from tests.judges.more_outputs_by_hand import more_outputs
from tests.kit.small_audits import flat_tree
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import AuditOptions
from treewarden.audit.outputs.beside_rows import beside_rows, table_columns
from treewarden.audit.outputs.conditions import predictions_of
from treewarden.audit.population.population import Population
from treewarden.audit.run import run
from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.outputs.readers import read_output
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Tree

OPTIONS = AuditOptions(worlds_budget=4.0, time_limit=20.0, levels=False, jobs=1)
MOST_TRIED = 400
"""Labellings that are held against the rows of a case, drawn where there are more."""


@dataclass
class Tally:
    """What was tried and what missed, in words."""

    cases: int = 0
    certain: int = 0
    proved: int = 0
    open: int = 0
    shown: int = 0
    estimates: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take what another tally counted."""
        for name in ("cases", "certain", "proved", "open", "shown", "estimates"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.misses += other.misses


@dataclass(frozen=True)
class OutputsCase:
    """A table, its outputs, a model over it and its people by profile: ``members`` (n,) is the profile of each."""

    table: by_hand.SmallTable
    outputs: tuple[by_hand.PrintedOutput, ...]
    model: Model
    population: Population
    profile_of_person: IntArray

    def by_profile(self, labels: by_hand.Labels) -> IntArray:
        """Return labels as a table of people by profile and class."""
        found = np.zeros((len(self.population.counts), len(self.table.classes)), dtype=np.int64)
        np.add.at(found, (self.profile_of_person, np.array(labels)), 1)
        return found

    def published(self) -> list[PublishedOutput]:
        """Return the outputs as the product reads them."""
        columns = table_columns(self.population, self.table.classes, "ill")
        return [read_output(each.text.encode(), each.name, columns) for each in self.outputs]


def drawn_case(seed: int) -> OutputsCase:
    """Return a case; one seed, one case."""
    random = np.random.default_rng(seed)
    classes = 3 if random.random() < 0.2 else 2
    table = by_hand.drawn_table(random, int(random.integers(3, 7 if classes == 3 else 9)), classes)
    outputs = by_hand.drawn_outputs(random, table)
    model: Model = _tree(table, "place", [f"p{place}" for place in table.places])
    if random.random() < 0.4:
        other = _tree(table, "sort", table.sorts)
        features = (*model.features, *other.features)
        members = (Member(model), Member(other))
        model = Ensemble(members, Combination.AVERAGE, features, "ill", table.classes)
        counted = by_hand.PrintedOutput("second tree", "", (_same_counts(table),))
        more = more_outputs(np.random.default_rng([seed, 1]), table, is_tree=False)
        return _case(table, [*outputs, *more], model, counted)
    more = more_outputs(np.random.default_rng([seed, 1]), table, is_tree=True)
    return _case(table, [*outputs, *more], model, None)


def _same_counts(table: by_hand.SmallTable) -> by_hand.Agrees:
    def counts(labels: by_hand.Labels) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for key in zip(table.sorts, labels, strict=True):
            found[key] = found.get(key, 0) + 1
        return found

    true = counts(table.labels)
    return lambda labels: counts(labels) == true


def _tree(table: by_hand.SmallTable, feature: str, values: Sequence[str]) -> Tree:
    """Return a tree with a leaf for each value of a feature, which publishes its class counts."""
    known = tuple(sorted(set(values)))
    leaves = [
        [
            sum(pair == (value, klass) for pair in zip(values, table.labels, strict=True))
            for klass in range(len(table.classes))
        ]
        for value in known
    ]
    tree = flat_tree(leaves, classes=table.classes)
    nodes = [tree.nodes[0]]
    for node, value in zip(tree.nodes[1:], known, strict=True):
        nodes.append(replace(node, test=CategoryTest(feature, (value,))))
    return replace(
        tree, nodes=tuple(nodes), features=(Feature(feature, False, known),), target="ill"
    )


def _case(
    table: by_hand.SmallTable,
    outputs: Sequence[by_hand.PrintedOutput],
    model: Model,
    counted: by_hand.PrintedOutput | None,
) -> OutputsCase:
    profiles = list(by_hand.profiles_of(table))
    profile_of_person = np.zeros(len(table.labels), dtype=np.int64)
    for number, (_, people) in enumerate(profiles):
        profile_of_person[people] = number
    keys = [key for key, _ in profiles]
    places = tuple(f"p{place}" for place in sorted(set(table.places)))
    sorts = tuple(sorted(set(table.sorts)))
    columns = {
        "age": NumericColumn(
            np.array([np.nan if key[0] is None else float(key[0]) for key in keys])
        ),
        "place": CategoricalColumn(np.array([places.index(f"p{key[1]}") for key in keys]), places),
        "sort": CategoricalColumn(np.array([sorts.index(str(key[2])) for key in keys]), sorts),
    }
    truth = np.zeros((len(keys), len(table.classes)))
    np.add.at(truth, (profile_of_person, np.array(table.labels)), 1)
    first = model.members[0].model if isinstance(model, Ensemble) else model
    assert isinstance(first, Tree)
    leaf = route(first, columns) if isinstance(model, Tree) else np.full(len(keys), -1)
    people = Population(tuple(columns), columns, truth.sum(axis=1), leaf, truth, sensitive="ill")
    chosen = (*outputs, counted) if counted is not None else tuple(outputs)
    return OutputsCase(table, chosen, model, people, profile_of_person)


def judge(seed: int, *, is_of_rows: bool = False) -> Tally:
    """Return what one case came to; ``is_of_rows``: the rows alone are judged, which takes a tenth of the time."""
    case, tally = drawn_case(seed), Tally(cases=1)
    agreeing = by_hand.labellings(case.table, case.outputs)
    shown = replace(case, outputs=tuple(each for each in case.outputs if each.text))
    published = shown.published()
    tables = np.array([case.by_profile(labels) for labels in agreeing])
    tally.misses += [f"{seed}: {said}" for said in _rows_missed(shown, published, tables)]
    if is_of_rows:
        return tally
    knowledge = Knowledge(split=SplitLevel.NONE)
    audit = run(case.model, case.population, knowledge, options=OPTIONS, beside=published)
    evidence = audit.full.evidence
    if not isinstance(evidence.worlds, ConsistentTables):
        tally.misses.append(f"{seed}: nothing was proved: {evidence.worlds.reason}")
        return tally
    tally.estimates += not hasattr(evidence.estimate, "reason")
    _judge_worlds(seed, evidence.worlds, tables, tally)
    return tally


def _rows_missed(
    case: OutputsCase, published: Sequence[PublishedOutput], tables: IntArray
) -> list[str]:
    """Return rows that a table which agrees breaks, and tables that fulfil the stronger rows and do not agree."""
    predictions = predictions_of(case.model, case.population)
    has_totals = isinstance(case.model, Ensemble)
    rows = beside_rows(
        published, case.population, case.table.classes, predictions, has_totals=has_totals
    )
    said = []
    for row in rows.rows:
        values = tables[:, :, row.klass] @ row.weights
        low = -np.inf if row.low is None else row.low
        high = np.inf if row.high is None else row.high
        if ((values < low) | (values > high)).any():
            said.append(f"{rows.words(row.entry)}: a table that agrees breaks a row")
    if rows.open_entries:
        return said
    everybody = itertools.product(range(len(case.table.classes)), repeat=len(case.table.labels))
    totals = sorted(case.table.labels)  # which some rows take as known
    alike = (labels for labels in everybody if sorted(labels) == totals)
    for labels in itertools.islice(alike, MOST_TRIED):
        table = case.by_profile(labels)
        is_held = all(row.holds(table) for row in (*rows.rows, *rows.stronger))
        if is_held and not all(each.agrees(labels) for each in case.outputs):
            said.append(f"{labels}: fulfils all rows and does not agree")
    return said


def _judge_worlds(seed: int, worlds: ConsistentTables, tables: IntArray, tally: Tally) -> None:
    least, most = tables.min(axis=0), tables.max(axis=0)
    if (worlds.low > least).any() or (worlds.high < most).any():
        tally.misses.append(f"{seed}: something is proved that does not hold")
    is_seen = worlds.reached_low <= worlds.reached_high
    if ((worlds.reached_low < least) | (worlds.reached_high > most))[is_seen].any():
        tally.misses.append(f"{seed}: something is shown that cannot be")
    sizes = tables[0].sum(axis=1)
    is_certain = (least == sizes[:, None]).any(axis=1)
    tally.certain += int(is_certain.sum())
    tally.proved += int((worlds.certain & is_certain).sum())
    tally.open += int((~is_certain).sum())
    tally.shown += int((~worlds.open_profiles & ~is_certain).sum())


def main() -> None:
    """Judge cases until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", action="store_true", help="judge the rows alone")
    given = parser.parse_args()
    total = Tally()
    for seed in range(given.seed, given.seed + given.cases):
        total.add(judge(seed, is_of_rows=given.rows))
    for miss in total.misses:
        print("MISS", miss)
    print(
        f"{total.cases:,} cases, {len(total.misses)} misses; of {total.certain:,} certain profiles {total.proved:,} "
        f"were proved ({total.proved / max(total.certain, 1):.1%}); of {total.open:,} others {total.shown:,} "
        f"were shown to be open ({total.shown / max(total.open, 1):.1%}); {total.estimates:,} estimates"
    )
    sys.exit(bool(total.misses))


if __name__ == "__main__":
    main()
