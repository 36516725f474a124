"""Values that a file names may be of somebody: no row passes that they prove, judged by all tables of small cases."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.audit.reconstruction.test_of_table import people_of
from tests.audit.reconstruction.test_proved import forest, listed_stump
from tests.judges.run_reconstruction import CLASSES, _made, _tested, fitting, model_of, stop_of
from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_table import rebuild_people
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest

MOST = 3_000


def facts_of(case):
    """Return what of the names in a file is true: each with a column, a value, and a node, None for the whole table."""
    records = [dict(zip(case.columns, case.domain[point], strict=True)) for point in case.points]
    features = {feature.name: feature for feature in case.trees[0].features}
    facts = []
    for tree_number, tree in enumerate(case.trees):
        for node in tree.nodes:
            tests = [tree.nodes[child].test for child in node.children]
            for test in tests:
                if isinstance(test, CategoryTest):
                    facts += [(test.feature, v, (tree_number, node.index)) for v in test.values]
    facts += [(name, value, None) for name, f in features.items() for value in f.values]
    return [fact for fact in set(facts) if any(holds(case, fact, record) for record in records)]


def holds(case, fact, record):
    """Whether a record has the value of a fact, in its node."""
    name, value, where = fact
    if record[name] != value:
        return False
    if where is None:
        return True
    tree = case.trees[where[0]]
    here = stop_of(tree, record)
    while here is not None and here != where[1]:
        here = tree.nodes[here].parent
    return here is not None


def judged(seed):
    """Return the misses of one case, and whether names prove more than counts in it; None where it is left out."""
    case = _made(np.random.default_rng(seed))
    tables = fitting(case, MOST)
    tested = [n for n, name in enumerate(case.columns) if name in _tested(case)]
    if tables is None or not tested or len(set(case.codes)) < 2:
        return None
    domain, names = case.domain, list(case.columns)
    facts = facts_of(case)
    true_at = [
        [holds(case, fact, dict(zip(names, point, strict=True))) for point in domain]
        for fact in facts
    ]
    fits = np.array(tables).reshape(len(tables), len(domain), len(CLASSES))
    held = np.array(true_at, dtype=bool).reshape(len(facts), len(domain)) @ fits.sum(axis=2).T > 0
    rows = [tuple(str(point[n]) for n in tested) for point in domain]
    place_of = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    by_row = np.zeros((len(place_of), len(domain)), dtype=int)
    for place, row in enumerate(rows):
        by_row[place_of[row], place] = 1
    sums = np.einsum("rp,tpc->trc", by_row, fits)
    least = sums[held.all(axis=0)].min(axis=0)
    people = Counter(
        (place_of[rows[point]], code) for point, code in zip(case.points, case.codes, strict=True)
    )
    texts = {
        name: ["" if str(domain[p][n]) in ("", "nan") else str(domain[p][n]) for p in case.points]
        for n, name in enumerate(names)
    }
    table = table_of(texts | {"ill": [CLASSES[code] for code in case.codes]})
    model = model_of(case)
    population = build_population(model, table, sensitive="ill")
    declared = DeclaredDomain(
        {
            name: DeclaredColumn(
                tuple(v for v in values if v == v and v != ""),
                any(v != v or v == "" for v in values),
            )
            for name, values in case.columns.items()
        }
    )
    found = rebuild_people(forest_of(model, population), population, FOREVER, declared)
    if isinstance(found, Undetermined):
        return None
    misses = []
    for group in (2, 3, 4, 9, np.inf):
        small = {row: sum(people[row, code] for code in (0, 1)) < group for row, _ in people}
        proved = sum(int(least[row]) for row in people if small[row[0]])
        low, high = found.rows_in_groups(group)
        if high < proved:
            misses.append(
                f"seed {seed}: {proved} rows of groups below {group} are proved, not {high}"
            )
        if group == np.inf and low > sums.min(axis=0).sum():
            misses.append(f"seed {seed}: a wrong proof")
    return misses, int(least.sum()) > int(sums.min(axis=0).sum())


@pytest.mark.parametrize("start", seeds(20, quick=1))
def test_no_row_that_names_prove_passes(start):
    found = [judged(seed) for seed in range(start * 40, start * 40 + 40)]
    told = [each for each in found if each is not None]
    assert told
    assert list(itertools.chain.from_iterable(misses for misses, _ in told)) == []


def cut(left, counts, right_counts):
    """Return a tree that parts p, q, r and s by the names on the left."""
    return listed_stump(tuple("pqrs"), chosen=tuple(left), counts=(counts, right_counts))


def rebuilt_of(model, records):
    """Return what is rebuilt of so many records by value and class, where all four values are possible."""
    rows = [(value, 0, code) for (value, code), number in records.items() for _ in range(number)]
    people = people_of(model, rows)
    return rebuild_people(forest_of(model, people), people, FOREVER)


def by_names(rebuilt):
    """Return what is rebuilt without what the choice of splits may tell."""
    return replace(rebuilt, open_rows=None)


def test_a_row_that_only_names_prove_in_a_leaf_of_many_people_does_not_pass():
    tree = cut("pq", (12, 0), (0, 12))
    told = rebuilt_of(tree, {("p", "no"): 11, ("q", "no"): 1, ("r", "yes"): 6, ("s", "yes"): 6})
    assert told.rows_in_groups(2)[1] >= 1
    assert told.rows_in_groups(11)[0] == 0


def test_people_who_can_swap_values_pass_though_the_file_names_these():
    tree = cut("pq", (6, 6), (6, 6))
    records = {(value, code): 3 for value in "pqrs" for code in ("no", "yes")}
    assert by_names(rebuilt_of(tree, records)).rows_in_groups(11) == (0, 0)
    # One person has the value, and may swap it with somebody of the other class.
    alone = {**records, ("p", "no"): 5, ("q", "no"): 1, ("p", "yes"): 6, ("q", "yes"): 0}
    assert by_names(rebuilt_of(tree, alone)).rows_in_groups(11) == (0, 0)


def test_tables_that_lose_a_named_value_show_nothing():
    first, second = cut("pq", (21, 0), (21, 20)), cut("pr", (21, 20), (21, 0))
    records = {("p", "no"): 20, ("q", "no"): 1, ("r", "no"): 1, ("s", "no"): 20, ("r", "yes"): 20}
    told = rebuilt_of(replace(forest(first, second), features=first.features), records)
    assert by_names(told).rows_in_groups(2) == (0, 1)
