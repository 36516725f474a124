"""Whose rows a file proves: of people of a table, in groups, and however its records were drawn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.audit.reconstruction.test_proved import BOTH, HAND, forest, stump
from tests.judges.run_reconstruction import (
    CLASSES,
    TableCase,
    _file_key,
    _forest,
    _tested,
    fitting,
    is_half_way,
    model_of,
)
from tests.kit.small_audits import evidence_of, read
from tests.kit.tiers import seeds
from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables import proofs
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction import of_model, of_table, single_values
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_table import WrongProofError, rebuild_people
from treewarden.audit.reconstruction.people_rows import domain_of
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import TreeSampling
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Learner, Node

ROWS = [(0, 1, "no"), (0, 1, "no"), (1, 0, "yes"), (1, 0, "no")]


def people_of(model, rows=ROWS):
    table = table_of(
        {
            "a": [str(row[0]) for row in rows],
            "b": [str(row[1]) for row in rows],
            "ill": [row[2] for row in rows],
        }
    )
    return build_population(model, table, sensitive="ill")


def rebuilt(model, rows=ROWS, declared=None):
    people = people_of(model, rows)
    return rebuild_people(forest_of(model, people), people, FOREVER, declared)


def test_the_hand_case_proves_two_people():
    found = rebuilt(HAND)
    assert int(found.proved.sum()) == int(found.most.sum()) == 2
    assert found.tables == 2
    # Counts prove two rows; of the two other people a leaf of two may tell more by its threshold and its split.
    assert (found.rows_in_groups(2), found.rows_in_groups(3)) == ((0, 0), (2, 4))


@pytest.mark.parametrize(
    ("knows", "others", "ends"),
    [
        (("a", "b"), 0, (2, 2)),
        (("a", "b"), 1, (4, 4)),
        (("b",), 0, (2, 2)),
        (("b",), 1, (3, 4)),  # ends of cells are added up, which is more than any table has
        ((), 0, (0, 0)),
        ((), 1, (3, 3)),
    ],
)
def test_values_follow_from_the_file_and_known_columns(knows, others, ends):
    people = people_of(HAND)
    nothing = Undetermined("not estimated")
    evidence = evidence_of(HAND, people, nothing, nothing)
    less = merged(people, list(knows))[0]
    reading = read("columns_rebuilt", replace(evidence, population=less), others=others)
    assert (reading.reading.low, reading.reading.high) == ends


def test_proved_records_are_told_by_profile_with_the_number_of_tables():
    nothing = Undetermined("not estimated")
    measured = read("records_rebuilt", evidence_of(HAND, people_of(HAND), nothing, nothing))
    notes = [spot.note for spot in measured.spots]
    assert notes == ["1 person in each of the 2 tables that are consistent with the file"] * 2


def test_a_declared_domain_stands_for_the_values_of_the_table():
    assert int(rebuilt(HAND, declared=BOTH).proved.sum()) == 2


@pytest.mark.parametrize("resampled", [False, True, None])
def test_where_cells_hold_several_values_no_row_is_proved_whatever_was_drawn(resampled):
    rows = [(0, 0, "no"), (0, 1, "no"), (0, 2, "no"), (1, 0, "yes"), (1, 2, "yes")]
    model = forest(stump("b", (1, 1), (2, 1)), stump("b", (1, 1), (2, 1)), resampled=resampled)
    wide = DeclaredDomain({"b": DeclaredColumn((0.0, 0.25, 1.0, 2.0))})
    found = rebuilt(model, rows, wide)
    # Nobody can swap values with the one person of the value 1, so that the choice of splits may tell of this one.
    assert found.rows_in_groups(2) == (0, 1)
    assert found.proved.sum() == 0
    # Nor can the two people who share a value in each leaf.
    assert found.rows_in_groups(3) == (0, 5)
    assert "choice of splits" in found.left


def test_that_nobody_has_a_value_near_a_threshold_may_leave_one_row():
    rows = [(2, 0, "no"), (2, 0, "yes"), (6, 0, "yes"), (8, 0, "yes")]
    wide = DeclaredDomain({"a": DeclaredColumn((2.0, 3.0, 6.0, 8.0))})
    tree = stump("a", (1, 1), (0, 2))
    tests = (NumericTest("a", high=4.0, high_closed=True), NumericTest("a", 4.0))
    cut = zip(tree.nodes[1:], tests, strict=True)
    nodes = (tree.nodes[0], *(replace(node, test=test) for node, test in cut))
    low, high = rebuilt(replace(tree, nodes=nodes), rows, wide).rows_in_groups(np.inf)
    assert (low, high) == (0, 4)


def test_what_a_threshold_may_tell_of_a_pure_leaf_stays_open():
    rows = [(0, 0, "no"), (0, 1, "no"), (0, 2, "no"), (1, 0, "yes"), (1, 2, "no")]
    model = forest(stump("b", (1, 1), (3, 0)), stump("b", (1, 1), (3, 0)))
    found = rebuilt(model, rows)
    assert found.rows_in_groups(2) == (0, 3)
    assert "thresholds" in found.left


def test_of_draws_rows_of_single_values_stay_open():
    found = rebuilt(replace(HAND, sampling=TreeSampling(True)))
    assert (int(found.proved.sum()), int(found.most.sum())) == (0, 4)
    assert "sample" in found.left


def test_a_table_without_the_counts_is_told():
    drawn = replace(HAND, sampling=TreeSampling(True))
    people = people_of(drawn, [*ROWS[:3], (1, 1, "no")])
    found = rebuild_people(replace(forest_of(drawn, people), model=HAND), people, FOREVER)
    assert isinstance(found, Undetermined)


def test_a_wrong_proof_is_an_error_of_ours(monkeypatch):
    def wrong(*arguments, **options):
        found = of_table_reconstruct(*arguments, **options)
        return replace(found, counts=replace(found.counts, low=found.counts.low + 1))

    of_table_reconstruct = of_model.reconstruct
    monkeypatch.setattr(of_model, "reconstruct", wrong)
    with pytest.raises(WrongProofError):
        rebuilt(HAND)


def test_indicators_of_one_attribute_go_together():
    features = tuple(Feature(name, numeric=True) for name in "abc")
    trees = tuple(
        replace(stump(name, *counts), features=features)
        for name, counts in (
            ("a", ((1, 1), (1, 0))),
            ("b", ((1, 1), (1, 0))),
            ("c", ((2, 0), (0, 1))),
        )
    )
    model = replace(forest(*trees), features=features)
    columns = {name: [str(int(name == chosen)) for chosen in "abc"] for name in "abc"}
    table = table_of({**columns, "ill": ["no", "no", "yes"]})
    people = build_population(model, table, sensitive="ill")
    assert domain_of(people, trees).one_of == (("a", "b", "c"),)
    found = rebuild_people(forest_of(model, people), people, FOREVER)
    assert (found.tables, int(found.proved.sum())) == (1, 3)


LIMITS = (
    {},
    {},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 3},
    {"min_impurity_decrease": 0.02},
    {"ccp_alpha": 0.03},
)
"""By what scikit-learn may stop beside depth and size."""


def grown_tree(seed):
    """Return a table of a few values and trees that scikit-learn grows on it, with any limits."""
    random = np.random.default_rng(seed)
    sizes = [int(random.integers(2, 5)), int(random.integers(1, 4))]
    columns = {f"x{n}": tuple(map(float, range(size))) for n, size in enumerate(sizes)}
    points = tuple(sorted(random.integers(0, np.prod(sizes), size=random.integers(5, 9)).tolist()))
    codes = [0, 1, *random.integers(0, 2, size=len(points) - 2).tolist()]
    settings = {
        "n_estimators": int(random.choice([1, 1, 2])),
        "max_depth": random.choice([None, 1, 2]),
        "min_samples_leaf": int(random.choice([1, 2])),
        "criterion": str(random.choice(["gini", "entropy"])),
        "max_features": random.choice([None, None, 1]),
        "random_state": 0,
    }
    settings |= LIMITS[int(random.integers(len(LIMITS)))]
    case = TableCase(columns, DeclaredDomain(), (), points, tuple(codes), settings)
    return replace(case, trees=_forest(case, points, codes, settings))


def missed_rows(seed, most=400):
    """Return groups of people in which more rows are proved than may be, by all tables that grow a tree; None: many.

    The second number is how many rows are proved though their cell holds several values.
    """
    case = grown_tree(seed)
    tables = fitting(case, 3_000) if _tested(case) else None
    tables = [t for t in tables or () if is_half_way(case, t)]
    if not 0 < len(tables) <= most:
        return None
    key = _file_key(case.trees)
    alike = []
    for table in tables:
        places = np.repeat(np.arange(len(table)), table)
        trees = _forest(case, (places // 2).tolist(), (places % 2).tolist(), case.settings)
        alike += [table] if _file_key(trees) == key else []
    tested = [n for n, name in enumerate(case.columns) if name in _tested(case)]
    rows = [tuple(point[n] for n in tested) for point in case.domain]
    by_row = {row: np.array([row == other for other in rows]) for row in rows}
    numbers = np.array(alike).reshape(len(alike), len(rows), 2)
    seen = [{rows[point][place] for point in case.points} for place in range(len(tested))]
    known = [all(value in seen[place] for place, value in enumerate(row)) for row in rows]
    # The public domain is the values that the table has, in each column that some test asks about.
    numbers = numbers[~numbers[:, ~np.array(known)].any(axis=(1, 2))]
    least = {row: numbers[:, here].sum(axis=1).min(axis=0) for row, here in by_row.items()}
    own = [rows[point] for point in case.points]
    people = people_of_case(case)
    found = rebuild_people(forest_of(model_of(case), people), people, FOREVER, None)
    misses = []
    for group in (2, 3, 4, 5, 9):
        proved = sum(
            int(min(least[row][code], own.count(row)))
            for row in set(own)
            if own.count(row) < group
            for code in (0, 1)
        )
        low, high = found.rows_in_groups(group)
        if not low <= proved <= high:
            misses.append((seed, group, proved, found.rows_in_groups(group)))
    return misses, sum(map(sum, least.values())) - int(found.proved.sum())


def people_of_case(case):
    names = list(case.columns)
    texts = {
        name: [f"{case.domain[point][n]:g}" for point in case.points]
        for n, name in enumerate(names)
    }
    table = table_of(texts | {"ill": [CLASSES[code] for code in case.codes]})
    return build_population(model_of(case), table, sensitive="ill")


@pytest.mark.parametrize("start", seeds(60, quick=(0, 9), second=20))
def test_no_row_passes_that_thresholds_or_the_choice_of_splits_prove(start):
    judged = [missed_rows(seed) for seed in range(10 * start, 10 * start + 10)]
    told = [each for each in judged if each is not None]
    assert not [miss for misses, _ in told for miss in misses]
    assert told


SPLIT = [(0, 0, "no"), (0, 1, "yes"), (1, 0, "yes"), (1, 1, "yes"), (1, 1, "no")]
SPLIT += [(2, 1, "no"), (2, 1, "yes"), (2, 1, "yes")]


def split_tree(rows=SPLIT):
    """Return the tree of depth 2 that scikit-learn grows on rows of a and b."""
    values = np.array([row[:2] for row in rows], dtype=float)
    learner = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        values, [row[2] for row in rows]
    )
    tree = from_sklearn(learner, feature_names=["a", "b"], class_names=["no", "yes"])
    return replace(tree, format="sklearn", target="ill")


def test_a_row_that_only_the_choice_of_splits_proves_in_a_leaf_of_many_is_proved():
    found = rebuilt(split_tree(), SPLIT)
    # Five people share the largest leaf. The two at (1, 1) are in every table that grows the tree.
    assert max(found.people) == 5
    assert int(found.proved.sum()) == 2
    assert (found.rows_in_groups(3), found.rows_in_groups(np.inf)) == ((5, 5), (5, 8))
    declared = DeclaredDomain(
        {"a": DeclaredColumn((0.0, 1.0, 2.0)), "b": DeclaredColumn((0.0, 1.0))}
    )
    file_alone = of_model.reconstruct(split_tree(), FOREVER, declared)
    assert (file_alone.whole_records, file_alone.tables) == (5, found.tables)


def test_rows_that_the_choice_of_splits_proves_are_told_by_profile():
    nothing = Undetermined("not estimated")
    people = people_of(split_tree(), SPLIT)
    measured = read("records_rebuilt", evidence_of(split_tree(), people, nothing, nothing), group=3)
    assert (measured.reading.low, measured.reading.high) == (5, 5)
    both = [spot for spot in measured.spots if spot.note.startswith("2 people")]
    assert [people.columns[name].numbers[both[0].index] for name in "ab"] == [1, 1]
    assert "each of the 3 tables" in both[0].note


def test_a_table_that_breaks_a_rule_is_told_by_counts_alone():
    # As many people in each leaf, but the threshold 0.5 of b does not lie half way.
    other = [(a, 0.25 if b == 0 else b, code) for a, b, code in SPLIT]
    found = rebuilt(split_tree(), other)
    assert (found.rows_in_groups(np.inf)[0], found.values) == (2, None)


def test_a_file_without_the_criterion_or_of_drawn_columns_is_told_by_thresholds_and_counts():
    tree = split_tree()
    drew = replace(tree, learner=replace(tree.learner, all_features=False))
    assert rebuilt(drew, SPLIT).rows_in_groups(np.inf)[0] == 3


@pytest.mark.parametrize("change", [1, -1])
def test_a_wrong_proof_of_single_values_is_an_error_of_ours(monkeypatch, change):
    def wrong(*arguments, **options):
        found = prove_counts(*arguments, **options)
        low = found.low + (found.low > 0) if change > 0 else found.low
        return replace(found, low=low, high=found.high if change > 0 else low * 0)

    prove_counts = single_values.prove_counts
    monkeypatch.setattr(single_values, "prove_counts", wrong)
    with pytest.raises(WrongProofError):
        rebuilt(split_tree(), SPLIT)


def test_that_no_table_obeys_the_rules_is_an_error_where_the_owners_does(monkeypatch):
    def nothing(*arguments, **options):
        raise ContradictionError("none")

    monkeypatch.setattr(single_values, "prove_counts", nothing)
    with pytest.raises(WrongProofError):
        rebuilt(split_tree(), SPLIT)


def test_a_row_that_is_proved_and_exchanged_is_an_error_of_ours(monkeypatch):
    def nothing(*arguments, **options):
        rows = open_rows(*arguments, **options)
        return replace(rows, people=rows.people * 0)

    open_rows = of_table._open_rows
    monkeypatch.setattr(of_table, "_open_rows", nothing)
    with pytest.raises(WrongProofError):
        rebuilt(split_tree(), SPLIT)


def test_a_search_for_single_values_ends_by_its_work_and_not_by_time(monkeypatch):
    asked = []

    def limited(seconds, units):
        asked.append((seconds, units))
        return limited_solver(seconds, units)

    limited_solver = proofs.limited_solver
    monkeypatch.setattr(proofs, "limited_solver", limited)
    rebuilt(split_tree(), SPLIT)
    assert {seconds for seconds, _ in asked} == {np.inf}
    assert 0 < max(units for _, units in asked) < single_values.WORK_SECONDS


def test_of_random_columns_the_choice_of_splits_says_nothing_of_those_that_no_test_asks_about():
    rows = [(0, 0, "no"), (1, 0, "yes"), (2, 1, "yes"), (3, 1, "no"), (2, 2, "no")]
    drew = {"learner": Learner(all_features=False), "format": "pmml"}
    b = stump("b", (1, 1), (2, 1), **drew)
    wide = DeclaredDomain(
        {"a": DeclaredColumn((0.0, 1.0, 2.0, 3.0)), "b": DeclaredColumn((0.0, 1.0, 2.0))}
    )
    # No other column is tested, so all of b that is left was compared where it was cut.
    assert rebuilt(b, rows, DeclaredDomain({"b": wide.columns["b"]})).rows_in_groups(2) == (0, 1)
    deeper = replace(b, nodes=(*below_first_leaf(b),))
    # The people of the first leaf's two cells are asked about a and b, those of the other leaf not about a.
    assert rebuilt(deeper, rows, wide).rows_in_groups(2)[1] == 2
    # A file of scikit-learn holds the seed that says which columns each node compared. Two people can swap values.
    seeded = replace(deeper, format="skops_file")
    assert rebuilt(seeded, rows, wide).rows_in_groups(2)[1] == 3


def below_first_leaf(tree):
    """Return the nodes of a stump whose first leaf is cut once more, at a = 0.5."""
    root, first, second = tree.nodes
    yield root
    yield replace(first, children=(3, 4))
    yield second
    halves = ((-np.inf, 0.5, (1.0, 0.0)), (0.5, np.inf, (0.0, 1.0)))
    for place, (low, high, counts) in enumerate(halves, start=3):
        test = NumericTest("a", low, high, high_closed=high == 0.5)
        yield Node(place, str(place), 1, (), test, records=1.0, class_counts=counts)


def test_a_model_too_large_to_compare_with_the_domain_is_not_decided(monkeypatch):
    monkeypatch.setattr(of_table, "MOST_OPTIONS", 10)
    assert rebuilt(HAND) == of_table.TOO_LARGE
