"""Who is who in the tables of several releases, and who is told apart by that."""

import numpy as np
import pytest

from audit.people.population import build_population
from audit.people.shared import shared_people
from audit.reading import Undetermined
from ppdm_models.errors import TreewardenError
from ppdm_models.files.load import open_model
from ppdm_models.records.read_table import read_table_bytes
from tests.releases import a_table, a_tree


def shared(*tables, key=None, models=None, **given):
    """Return the people of releases with these tables, and their populations."""
    read = [read_table_bytes(data.encode(), f"t{n}.csv") for n, data in enumerate(tables)]
    trees = [
        open_model(data, f"m{n}.pmml").model
        for n, data in enumerate(models or [a_tree(data) for data in tables])
    ]
    people = [
        build_population(tree, table, sensitive="illness", qi=["place"], **given)
        for tree, table in zip(trees, read, strict=True)
    ]
    return shared_people(trees, read, people, key), people


BEFORE = a_table("1 north yes", "2 north no", "3 south no")
AFTER = a_table("4 south yes", "3 south no", "2 north no", "1 north yes")


@pytest.mark.parametrize("key", ["id", None])
def test_records_are_matched_by_an_id_or_by_all_that_they_hold(key):
    found, people = shared(BEFORE, AFTER, key=key)
    is_there = found.places >= 0
    assert found.counts[is_there.all(axis=0)].sum() == 3
    assert found.counts[~is_there[0] & is_there[1]].tolist() == [1]
    own = found.seen_by(1, people[1])
    assert own.qi == ("place", "in m0.pmml")
    assert own.records == 4
    said = {own.describe(profile): own.truth[profile].tolist() for profile in range(3)}
    assert said["place = south, in m0.pmml = no"] == [0, 1]
    assert said["place = south, in m0.pmml = yes"] == [1, 0]
    assert found.seen_by(0, people[0]).qi == ("place",)


def test_of_several_records_that_hold_the_same_as_many_are_shared_as_both_tables_have():
    found, _ = shared(
        "place,illness\n" + "a,yes\n" * 3 + "a,no\n", "place,illness\n" + "a,yes\n" * 2 + "a,no\n"
    )
    assert found.counts[(found.places >= 0).all(axis=0)].sum() == 3


def test_records_that_only_their_order_pairs_are_doubted():
    before = "place,age,illness\na,1,yes\na,2,yes\nb,3,no\n"
    after = "place,size,illness\na,7,yes\na,8,yes\nb,9,no\n"
    found, _ = shared(before, after)
    assert "from their order" in found.warnings[0]
    assert found.doubt
    alike, _ = shared(before, after.replace("8", "7"))
    assert not alike.doubt


def test_who_left_and_came_back_changed_is_doubted_whatever_was_published_between():
    rest = "b,no\nc,yes\nc,no\n"
    found, _ = shared(*("place,illness\n" + first + rest for first in ("a,yes\n", "", "b,yes\n")))
    assert "1 records of t0.csv are not in t2.csv, and 1 of that are new" in found.warnings[0]
    assert found.doubt


def test_classes_in_another_order_are_put_in_one():
    one, other = a_tree(BEFORE), a_tree(AFTER, ("yes", "no"))
    found, people = shared(BEFORE, AFTER, key="id", models=[one, other])
    for release, population in enumerate(people):
        own = found.seen_by(release, population)
        np.testing.assert_array_equal(own.truth.sum(axis=0), population.truth.sum(axis=0))
    assert found.orders.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("after", "key", "says"),
    [
        (a_table("1 north no", "9 south yes"), "id", "has another value of 'illness'"),
        (a_table("7 north yes", "8 south no"), "id", "no .id. of it is in t0.csv as well"),
        (a_table("1 north yes", "1 south no"), "id", "holds the same for several records"),
        (a_table("1 north yes", "? south no"), "id", "record 2: no value"),
        (a_table("1 north yes", "2 south no"), "ident", "no column 'ident'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(after, key, says):
    with pytest.raises(TreewardenError, match=says):
        shared(BEFORE, after, key=key)


def test_models_that_predict_something_else_are_refused():
    other = a_tree(AFTER).replace(b'"yes"', b'"perhaps"')
    after = AFTER.replace("yes", "perhaps")
    with pytest.raises(TreewardenError, match="does not predict what m1.pmml does"):
        shared(BEFORE, after, models=[a_tree(BEFORE), other])


def test_weights_are_refused():
    weighed = BEFORE.replace("id,", "weight,", 1)
    with pytest.raises(TreewardenError, match="write each person as a row"):
        shared(weighed, weighed, models=[a_tree(weighed, weights="weight")] * 2, weights="weight")


def test_without_a_sensitive_column_nobody_s_value_is_known():
    read = read_table_bytes(BEFORE.encode(), "t.csv")
    tree = open_model(a_tree(BEFORE), "m.pmml").model
    people = build_population(tree, read, sensitive=None)
    found = shared_people([tree, tree], [read, read], [people, people])
    assert isinstance(found.truth, Undetermined)
    assert found.names == ("m.pmml (1)", "m.pmml (2)")
