"""Whose rows a file proves: of people of a table, in groups, and however its records were drawn."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.reconstruction.test_proved import BOTH, HAND, forest, stump
from tests.kit.small_audits import evidence_of, read
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction import of_model, of_table
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_table import WrongProofError, domain_of, rebuild_people
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import TreeSampling
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Feature

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
    assert found.rows_in_groups(2) == (0, 0)
    assert found.proved.sum() == 0
    # The choice of splits may tell more of the two people of the smaller leaf than counts do.
    assert found.rows_in_groups(3) == (0, 2)
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
    def wrong(model, until, declared, training):
        found = of_table_reconstruct(model, until, declared, training)
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


def test_a_model_too_large_to_compare_with_the_domain_is_not_decided(monkeypatch):
    monkeypatch.setattr(of_table, "MOST_OPTIONS", 10)
    assert rebuilt(HAND) == of_table.TOO_LARGE
