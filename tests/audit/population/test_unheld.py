"""Values that a model has and nobody in the table: lists and records are told, levels that became empty are not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import flat_tree, people_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.leaf_only_audit import glance_at_file
from treewarden.audit.population.file_only_population import said_of
from treewarden.audit.population.unobserved_values import unheld_values, with_unheld
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Feature

RECORD = "30,m,Anna Schmidt,1961-03-04,HIV"
HELD = ("p0", "p1")
TREE = flat_tree([[3, 1], [1, 3]])
PEOPLE = people_of(TREE)


def having(*more, name="place"):
    """Return the tree with more values declared for a column."""
    known = tuple(feature for feature in TREE.features if feature.name != name)
    held = HELD if name == "place" else ()
    return replace(TREE, features=(*known, Feature(name, False, (*held, *more))))


def leaks(tree, people=PEOPLE):
    return list(unheld_values(tree, people))


@pytest.mark.parametrize(
    "values",
    [
        (),
        ("p2", "p3"),
        ("Outlying-US(Guam-USVI-etc)", "Holand-Netherlands"),
        ("18-24", "65 and over"),
        tuple(f"t{number}" for number in range(20)),
    ],
)
def test_levels_that_became_empty_are_none(values):
    assert leaks(having(*values)) == []


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ((RECORD, "p9"), "1 values of 'place'"),
        (("patient 4711 has hiv",), "1 values of 'place'"),
        (("30-m-Anna-Schmidt-HIV",), "1 values of 'place'"),
        (("x" * 41, "y" * 50), "2 values of 'place'"),
        (tuple(f"t{number}" for number in range(21)), "21 values of 'place'"),
    ],
)
def test_records_and_lists_are_told_by_their_number_and_not_quoted(values, count):
    (leak,) = leaks(having(*values))
    assert leak.kind is LeakKind.UNKNOWN
    assert leak.what.startswith(count)
    assert (leak.where, leak.is_possible, leak.removable) == ("column 'place'", False, False)
    assert not any(value in leak.what for value in values)


def test_a_value_that_one_person_has_is_told_where_the_model_names_it():
    (leak,) = leaks(having(), replace(PEOPLE, counts=np.array([40.0, 1.0])))
    assert (leak.kind, leak.where, leak.removable) == (
        LeakKind.CATEGORIES,
        "column 'place'",
        False,
    )
    assert leak.what.startswith("1 named values of 'place' belong to one person in the table")
    assert "p1" not in leak.what
    assert leaks(having(), replace(PEOPLE, counts=np.array([40.0, 2.0]))) == []


def test_a_value_that_a_node_tests_is_held_against_the_table_too():
    test = CategoryTest("place", ("p1", RECORD))
    tree = replace(TREE, nodes=(*TREE.nodes[:2], replace(TREE.nodes[2], test=test)))
    (leak,) = leaks(tree)
    assert "'place'" in leak.what


def test_a_value_reads_like_those_that_people_have():
    values = ("Some college, no degree (2 years)", "High school, no diploma (3 years)")
    column = CategoricalColumn(PEOPLE.columns["place"].codes, values)
    people = replace(PEOPLE, columns={"place": column})
    tree = replace(
        TREE, features=(Feature("place", False, (*values, "Left school at 9, no papers")),)
    )
    bare = replace(tree, nodes=(replace(TREE.nodes[0], children=()),))
    assert leaks(bare, people) == []
    assert leaks(replace(bare, features=(Feature("place", False, (*values, RECORD)),)), people)


def test_a_list_is_honest_where_people_have_more_values():
    values = tuple(f"t{number}" for number in range(60))
    column = CategoricalColumn(np.arange(60), values)
    people = replace(PEOPLE, columns={"place": column}, counts=np.full(60, 2.0))
    tree = replace(
        TREE, features=(Feature("place", False, (*values, *(f"u{n}" for n in range(30)))),)
    )
    assert leaks(tree, people) == []


@pytest.mark.parametrize("values", [(RECORD,), tuple(f"t{number}" for number in range(101))])
def test_a_column_that_is_no_quasi_identifier_is_not_held_against_the_table(values):
    (leak,) = leaks(having(*values, name="town"))
    assert leak.is_possible
    assert (
        "'town': not compared with the table, because the column is not a quasi-identifier (--qi)"
        in leak.what
    )
    assert leaks(having("ulm", "bonn", name="town")) == []


def test_words_of_a_column_in_which_the_table_has_numbers_are_left_open():
    numbers = NumericColumn(np.arange(len(PEOPLE.counts), dtype=float))
    people = replace(PEOPLE, columns={**PEOPLE.columns, "place": numbers})
    (leak,) = leaks(having(RECORD), people)
    assert leak.is_possible
    assert "'place': not compared with the table, which has numbers there" in leak.what


def test_numbers_and_files_that_nobody_looked_at_have_none():
    assert leaks(replace(TREE, features=(*TREE.features, Feature("age", True)))) == []
    assert with_unheld(Undetermined("not read"), having(RECORD), PEOPLE) == Undetermined("not read")


def test_without_a_table_nothing_can_be_held_against_it():
    tree = having(RECORD)
    (leak,) = leaks(tree, said_of(tree).population)
    assert leak.is_possible
    assert "because none was given (--data)" in leak.what
    assert leak in glance_at_file(tree, Knowledge(), (), ()).full.evidence.leaks


def test_an_audit_names_them_once():
    evidence = run(having(RECORD), PEOPLE, Knowledge(), leaks=()).full.evidence
    again = with_unheld(evidence.leaks, evidence.model, evidence.population)
    assert len(again) == len(evidence.leaks) == 1
